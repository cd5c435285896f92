"""Whether a polynomial is non-negative beyond 1, decided exactly by Sturm's theorem.

Theorem (Sturm).  For a square-free p, the number of roots in (a, b] is the number of sign changes of the
sequence p, p', -rem(p, p'), ... at a minus that at b.  A polynomial changes sign only at roots of odd
multiplicity, so it suffices to count the roots of the product of those factors.
"""

from fractions import Fraction
from itertools import pairwise

from flint import fmpq, fmpq_poly


def _rational(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _at(p: fmpq_poly, x: Fraction) -> Fraction:
    return _rational(fmpq(p(fmpq(x.numerator, x.denominator))))


def _odd_part(p: fmpq_poly) -> fmpq_poly:
    """Return the product of the square-free factors of odd multiplicity, with the sign of p at infinity."""
    leading, factors = p.factor_squarefree()
    result = fmpq_poly([1 if leading > 0 else -1])
    for factor, exponent in factors:
        if exponent % 2:
            result *= factor
    return result


def _sturm(p: fmpq_poly) -> list[fmpq_poly]:
    chain = [p, p.derivative()]
    while chain[-1].degree() > 0:
        remainder = -(chain[-2] % chain[-1])
        if remainder.is_zero():
            break
        chain.append(remainder)
    return chain


def _changes(values: list[Fraction]) -> int:
    signs = [v > 0 for v in values if v]
    return sum(a != b for a, b in pairwise(signs))


def roots_between(chain: list[fmpq_poly], low: Fraction, high: Fraction) -> int:
    """Return the number of distinct roots in (low, high], given a Sturm chain."""
    return _changes([_at(p, low) for p in chain]) - _changes([_at(p, high) for p in chain])


def root_bound(p: fmpq_poly) -> Fraction:
    """Return a number beyond every root (Cauchy's bound)."""
    coefficients = [abs(_rational(c)) for c in p.coeffs()]
    return 1 + max(coefficients[:-1], default=Fraction(0)) / coefficients[-1]


def negative_beyond_one(coefficients: list[Fraction]) -> Fraction | None:
    """Return some x > 1 at which a polynomial (constant term first) is negative, or None if there is none."""
    p = fmpq_poly([fmpq(c.numerator, c.denominator) for c in coefficients])
    if p.is_zero():
        return None
    one = Fraction(1)
    odd = _odd_part(p)
    end = max(root_bound(p), Fraction(2)) + 1
    if odd.degree() < 1:
        return _negative_near(p, Fraction(2))
    chain = _sturm(odd)
    if roots_between(chain, one, end) == 0:
        return _negative_near(p, end)
    for point in _separators(chain, one, end):
        if _at(p, point) < 0:
            return point
    raise AssertionError("a polynomial with a root of odd multiplicity is negative on one side of it")


def _negative_near(p: fmpq_poly, x: Fraction) -> Fraction | None:
    """Return a point near x where p is negative, for a p that does not change sign beyond 1."""
    while not _at(p, x):
        x += Fraction(1, 3)
    return x if _at(p, x) < 0 else None


def _separators(chain: list[fmpq_poly], low: Fraction, high: Fraction) -> list[Fraction]:
    """Return points of (low, high] between, before and after the roots of a Sturm chain's first member."""
    p = chain[0]
    first = (low + high) / 2
    while roots_between(chain, low, first) or not _at(p, first):
        first = (low + first) / 2
    points = [first, high]
    pending = [(first, high)]
    while pending:
        a, b = pending.pop()
        if roots_between(chain, a, b) <= 1:
            continue
        middle = (a + b) / 2
        while not _at(p, middle):
            middle = (a + middle) / 2
        points.append(middle)
        pending += [(a, middle), (middle, b)]
    return points
