"""Whether a polynomial is non-negative on an interval, decided exactly by Sturm's theorem.

Theorem (Sturm).  For a square-free p, the number of roots in (a, b] is the number of sign changes of the
sequence p, p', -rem(p, p'), ... at a minus that at b.

A polynomial keeps its sign between two neighbouring roots, so it suffices to look at one point of each gap
between the roots of its square-free part, at none of which it vanishes.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from flint import fmpq, fmpq_poly

from discreet.verify.limit import tick


def _rational(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _at(p: fmpq_poly, x: Fraction) -> Fraction:
    return _rational(fmpq(p(fmpq(x.numerator, x.denominator))))


def _square_free(p: fmpq_poly) -> fmpq_poly:
    """Return the product of the distinct factors."""
    result = fmpq_poly([1])
    for factor, _ in p.factor_squarefree()[1]:
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
    return negative_between(coefficients, Fraction(1), None)


def negative_between(coefficients: list[Fraction], low: Fraction, high: Fraction | None) -> Fraction | None:
    """Return some x with low < x < high (or beyond low) at which a polynomial is negative, or None."""
    p = fmpq_poly([fmpq(c.numerator, c.denominator) for c in coefficients])
    if p.is_zero():
        return None
    end = max(root_bound(p), low) + 1 if high is None else high
    points = _samples(_sturm(_square_free(p)), low, end)
    return next((x for x in points if _at(p, x) < 0), None)


def _samples(chain: list[fmpq_poly], low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """Yield a point of (low, high) from each gap between the roots of a Sturm chain's first member."""
    pending = [(low, high)]
    while pending:
        a, b = pending.pop()
        tick()
        count = roots_between(chain, a, b)
        middle = (a + b) / 2
        if count == 0:
            yield middle
        elif count > 1:
            pending += [(a, middle), (middle, b)]
        else:
            yield from _around(chain, a, b)


def _around(chain: list[fmpq_poly], a: Fraction, b: Fraction) -> Iterator[Fraction]:
    """Yield points of (a, b) on both sides of the only root in (a, b]."""
    left = (a + b) / 2
    while roots_between(chain, a, left):
        left = (a + left) / 2
    yield left
    if not _at(chain[0], b):
        return
    right = (a + b) / 2
    while roots_between(chain, right, b):
        right = (right + b) / 2
    yield (right + b) / 2
