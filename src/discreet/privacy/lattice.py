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

from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt

from flint import arb, ctx, fmpq

from discreet.exact.number import ball

_MOST_TERMS = 4096
"""Sums of at most this many terms are taken directly."""


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
        return _theta((-1 / (2 * v)).exp())
    return (2 * arb.pi() * v).sqrt() * _theta((-2 * arb.pi() ** 2 * v).exp())


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
