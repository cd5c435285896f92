"""Certified sums of exp(-j**2 / (2 s)) over integers: the discrete Gaussian's probabilities.

The whole sum, by Poisson summation, is sqrt(2 pi s) times the sum over integers m of
exp(-2 pi**2 s m**2), of which a few terms suffice as soon as s >= 1.

A tail, the sum over j >= n with n >= 1, is added term by term while the standard deviation is small.
For a large one Euler and Maclaurin's formula is used: with f(x) = exp(-x**2 / (2 s)),

    sum = integral over [n, oo) of f  +  f(n)/2  -  f1(n)/12  +  f3(n)/720  -  f5(n)/30240  +  R,
    |R| <= 2 zeta(6) / (2 pi)**6 * (integral over [n, oo) of |f6|),

where f1, f3, f5, f6 are derivatives: Hermite polynomials in z = x / sqrt(s) times powers of 1 / sqrt(s)
and f.  The last integral is at most that of z**6 + 15 z**4 + 45 z**2 + 15 times f, which is closed.
The result is a ball around the true sum either way.
"""

from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.exact.number import ball

LARGE = 2**13
"""Variances above this use Euler and Maclaurin's formula, whose error is then below 2**-30 relative."""


def total(variance: Fraction) -> arb:
    """Return a ball around the sum over all integers."""
    return _total(variance, ctx.prec)


@lru_cache(maxsize=256)
def _total(variance: Fraction, precision: int) -> arb:
    with ctx.workprec(precision + 32):
        s = ball(variance)
        if variance < 1:
            return 1 + 2 * _term_by_term(s, 1, precision)
        decay = (-2 * arb.pi() ** 2 * s).exp()
        # The terms decay**(m*m), m >= 3, sum to less than twice the first of them.
        rest = decay**9
        series = 1 + 2 * (decay + decay**4) + arb(0).union(4 * rest)
        return (2 * arb.pi() * s).sqrt() * series


def tail(variance: Fraction, n: int) -> arb:
    """Return a ball around the sum over j >= n, for n >= 1."""
    return _tail(variance, n, ctx.prec)


@lru_cache(maxsize=4096)
def _tail(variance: Fraction, n: int, precision: int) -> arb:
    with ctx.workprec(precision + 32):
        s = ball(variance)
        return _term_by_term(s, n, precision) if variance <= LARGE else _euler_maclaurin(s, n)


def _term_by_term(s: arb, n: int, precision: int) -> arb:
    first = (-(arb(n) ** 2) / (2 * s)).exp()
    # term(j+1) / term(j) = exp(-(2j+1) / (2s)), itself shrinking by exp(-1/s) at each step.
    ratio, shrink = (-arb(2 * n + 1) / (2 * s)).exp(), (-1 / s).exp()
    term, partial = arb(1), arb(1)
    negligible = arb(2) ** (-precision - 16)
    while not (term < negligible and ratio < 0.5):
        term *= ratio
        ratio *= shrink
        partial += term
    # From here on each ratio is below one half, so what is left is less than the last term.
    return first * (partial + arb(0).union(term))


def _euler_maclaurin(s: arb, n: int) -> arb:
    sigma = s.sqrt()
    z = arb(n) / sigma
    value = (-z * z / 2).exp()
    mass = (arb.pi() / 2).sqrt() * (z / arb(2).sqrt()).erfc()
    first = -z * value / sigma
    third = -(z**3 - 3 * z) * value / sigma**3
    fifth = -(z**5 - 10 * z**3 + 15 * z) * value / sigma**5
    # Moments of exp(-z*z/2) over [z, oo), by parts.
    second = z * value + mass
    fourth = z**3 * value + 3 * second
    sixth = z**5 * value + 5 * fourth
    bound = (sixth + 15 * fourth + 45 * second + 15 * mass) / sigma**5
    remainder = 2 * arb(6).zeta() / (2 * arb.pi()) ** 6 * bound
    return sigma * mass + value / 2 - first / 12 + third / 720 - fifth / 30240 + (-remainder).union(remainder)


def cumulative(variance: Fraction, k: int) -> arb:
    """Return a ball around Pr[Z <= k] for the discrete Gaussian Z."""
    if k < 0:
        return tail(variance, -k) / total(variance)
    return 1 - tail(variance, k + 1) / total(variance)


def absolute_moment(variance: Fraction) -> arb:
    """Return a ball around E|Z|, twice the sum of j f(j) over j >= 1, divided by the whole sum.

    For a large variance the same formula applied to x f(x) on [0, oo) gives s - 1/12 - 1/(240 s) + R with
    |R| <= 2 zeta(4) / (2 pi)**4 * 43 / s.
    """
    s = ball(variance)
    if variance > LARGE:
        remainder = 2 * arb(4).zeta() / (2 * arb.pi()) ** 4 * 43 / s
        half = s - arb(1) / 12 - 1 / (240 * s) + (-remainder).union(remainder)
    else:
        half = _weighted_sum(s, 1)
    return 2 * half / total(variance)


def second_moment(variance: Fraction) -> arb:
    """Return a ball around Var Z, by differentiating Poisson's formula when the variance is not small."""
    s = ball(variance)
    if variance < 1:
        return 2 * _weighted_sum(s, 2) / total(variance)
    decay = (-2 * arb.pi() ** 2 * s).exp()
    # The terms m*m decay**(m*m), m >= 3, sum to less than 10 decay**9.
    dual = 2 * (decay + 4 * decay**4) + arb(0).union(20 * decay**9)
    series = 1 + 2 * (decay + decay**4) + arb(0).union(4 * decay**9)
    return s * (1 - 4 * arb.pi() ** 2 * s * dual / series)


def _weighted_sum(s: arb, power: int) -> arb:
    """Return a ball around the sum of j**power * exp(-j**2 / (2 s)) over j >= 1, power 1 or 2."""
    partial, j = arb(0), 0
    negligible = arb(2) ** (-ctx.prec - 16)
    while True:
        j += 1
        term = arb(j) ** power * (-(arb(j) ** 2) / (2 * s)).exp()
        partial += term
        # Term j+1 is at most exp(power / j - (2j+1) / (2s)) times term j: below one half once the exponent
        # is below -0.7, and then everything left is below the last term.
        if term < negligible and arb(power) / j - arb(2 * j + 1) / (2 * s) < -0.7:
            return partial + arb(0).union(term)
