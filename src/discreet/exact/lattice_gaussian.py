"""Sums of the Gaussian function over the integers, enclosed.

The probability that a discrete Gaussian is at most m is a sum of exp(-k**2 / (2 v)).  Two exact ways:

 - directly, outwards from the largest term, each term being the last times a factor that itself shrinks
   by the constant exp(-1/v); what is cut off is less than a geometric series;
 - by Euler and Maclaurin, where v is large and m / v small: with f(x) = exp(-x**2 / (2 v)) and s = sqrt(v),

       sum over k <= m of f(k) = integral up to m + f(m)/2 + sum over j of B_2j / (2j)! f^(2j-1)(m) + R,

   where |R| <= 2 zeta(p) / (2 pi)**p times the integral of |f^(p)| up to m, p = 2 J.  Derivatives are
   Hermite polynomials times f over powers of s, and the integral is bounded by taking their coefficients
   positive.

References.  Canonne, Kamath, Steinke, NeurIPS 2020.  Euler-Maclaurin with remainder: Olver, 1974, section
8.1.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt

from flint import arb, ctx, fmpq

from discreet.exact.number import ball

_MOST_TERMS = 4096
"""Sums of at most this many terms are taken directly."""

_WIDE = 2**13
"""From this variance on, the mean absolute value is taken from Euler and Maclaurin's formula."""


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """The discrete Gaussian of this variance parameter, for tables."""

    variance: Fraction

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[Z <= k]."""
        return gaussian_mass(k, self.variance)

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[Z <= k] for every k from low to high: one tail, and terms added to it."""
        last = max(-low, high + 1, 1)
        tails = {last: gaussian_tail(last, self.variance)}
        for n in range(last - 1, 0, -1):
            tails[n] = tails[n + 1] + (-(arb(n) ** 2) / (2 * ball(self.variance))).exp()
        total = gaussian_total(self.variance)
        return [tails[-k] / total if k < 0 else 1 - tails[k + 1] / total for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return more bits than any ball has: no probability is taken for a fraction that it is near to."""
        return 1 << 40


def gaussian_mass(m: int, variance: Fraction) -> arb:
    """Return a ball around Pr[Z <= m] for the discrete Gaussian of this variance parameter."""
    total = gaussian_total(variance)
    if m >= 0:
        return 1 - gaussian_tail(m + 1, variance) / total
    return gaussian_tail(-m, variance) / total


def gaussian_total(variance: Fraction) -> arb:
    """Return a ball around the sum of exp(-k**2 / (2 v)) over all integers, by the shorter series."""
    v = ball(variance)
    if variance < 1:
        return _near_one() if _negligible(1 / (2 * variance)) else _theta((-1 / (2 * v)).exp())
    dual = _near_one() if _negligible(19 * variance) else _theta((-2 * arb.pi() ** 2 * v).exp())
    return (2 * arb.pi() * v).sqrt() * dual


def _negligible(exponent: Fraction) -> bool:
    """Whether exp(-exponent), and all that falls at least as fast after it, vanishes at this precision."""
    return bool(exponent > ctx.prec + 32)


def _near_one() -> arb:
    return arb(1, arb(2) ** (-ctx.prec - 8))


def _theta(q: arb) -> arb:
    """Return 1 + 2 sum q**(k*k), k >= 1, for a small q; the tail is below twice its first term."""
    total, k = arb(1), 1
    limit = arb(2) ** (-ctx.prec - 8)
    while True:
        term = 2 * q ** (k * k)
        total += term
        k += 1
        if term < limit:
            return total + arb(0, (4 * term).upper())


def gaussian_tail(start: int, variance: Fraction) -> arb:
    """Return a ball around the sum of exp(-k**2 / (2 v)) over k >= start, for start >= 1."""
    # Terms fall at least like exp(-j start / v) and like exp(-j**2 / (2 v)); either must pass 2**-prec.
    terms = min(isqrt(int(2 * variance * ctx.prec)), int(ctx.prec * variance / start)) + 2
    if terms <= _MOST_TERMS:
        return _direct_tail(start, variance, terms)
    return _euler_maclaurin_tail(start, variance)


def _direct_tail(start: int, variance: Fraction, terms: int) -> arb:
    v = ball(variance)
    shrink = (-1 / v).exp()
    term = total = (-(arb(start) ** 2) / (2 * v)).exp()
    factor = (-(arb(2 * start) + 1) / (2 * v)).exp()
    for _ in range(terms):
        term *= factor
        factor *= shrink
        total += term
    # What is left falls faster than a geometric series with the current factor.
    return total + arb(0, (term * factor / (1 - factor)).upper())


def _euler_maclaurin_tail(start: int, variance: Fraction) -> arb:
    sigma = ball(variance).sqrt()
    y = arb(start) / sigma
    gauss = (-y * y / 2).exp()
    integral = sigma * (arb.pi() / 2).sqrt() * (y / arb(2).sqrt()).erfc()
    total = integral + gauss / 2
    corrections = ctx.prec // 12
    hermite = _hermite_coefficients(2 * corrections)
    for j in range(1, corrections + 1):
        # Corrections over k >= start are -B_2j / (2j)! f^(2j-1), and f^(n) = (-1)^n He_n(y) f / sigma^n.
        derivative = -_evaluate(hermite[2 * j - 1], y) * gauss / sigma ** (2 * j - 1)
        total -= ball(_bernoulli(2 * j) / factorial(2 * j)) * derivative
    order = 2 * corrections
    size = sum((abs(c) * _moment(n, y) for n, c in enumerate(hermite[order]) if c), arb(0))
    remainder = 2 * arb(order).zeta() / (2 * arb.pi()) ** order * size / sigma ** (order - 1)
    return total + arb(0, remainder.upper())


def _moment(n: int, y: arb) -> arb:
    """Return the integral of x**n exp(-x**2 / 2) over x >= y, by parts, for even n."""
    gauss = (-y * y / 2).exp()
    value = (arb.pi() / 2).sqrt() * (y / arb(2).sqrt()).erfc()
    for k in range(2, n + 1, 2):
        value = y ** (k - 1) * gauss + (k - 1) * value
    return value


@lru_cache(maxsize=8)
def _hermite_coefficients(order: int) -> list[list[int]]:
    """Return the coefficients of He_0 ... He_order, lowest power first."""
    table = [[1], [0, 1]]
    for n in range(1, order):
        up = [0, *table[n]]
        for power, c in enumerate(table[n - 1]):
            up[power] -= n * c
        table.append(up)
    return table


def _evaluate(coefficients: list[int], y: arb) -> arb:
    value = arb(0)
    for c in reversed(coefficients):
        value = value * y + c
    return value


def _bernoulli(n: int) -> Fraction:
    number = fmpq.bernoulli(n)
    return Fraction(int(number.p), int(number.q))


def absolute_moment(variance: Fraction) -> arb:
    """Return a ball around E|Z|, twice the sum of j f(j) over j >= 1, divided by the whole sum.

    For a large variance the same formula applied to x f(x) on [0, oo) gives s - 1/12 - 1/(240 s) + R with
    |R| <= 2 zeta(4) / (2 pi)**4 * 43 / s.
    """
    s = ball(variance)
    if variance > _WIDE:
        remainder = 2 * arb(4).zeta() / (2 * arb.pi()) ** 4 * 43 / s
        half = s - arb(1) / 12 - 1 / (240 * s) + (-remainder).union(remainder)
    else:
        half = _weighted_sum(s, 1)
    return 2 * half / gaussian_total(variance)


def second_moment(variance: Fraction) -> arb:
    """Return a ball around Var Z, by differentiating Poisson's formula when the variance is not small."""
    s = ball(variance)
    if variance < 1:
        return 2 * _weighted_sum(s, 2) / gaussian_total(variance)
    if _negligible(16 * variance):
        return s * _near_one()
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
