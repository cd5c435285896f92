"""Finite privacy-loss laws in exact rational arithmetic.

A pair (P, Q) of laws on finitely many outcomes is described by its atoms (p, q).  Its hockey-stick curve

    H(x) = sum of max(p - x q, 0),        x = exp(epsilon),

is convex and piecewise linear, with kinks at the ratios p / q, and says everything there is to know about
the pair: two pairs with the same curve are post-processings of each other (Blackwell).

Theorem (envelope).  The pointwise maximum of such curves is again such a curve.  So a mechanism on a finite
domain has a single exact dominating pair, and the adaptive composition of mechanisms is dominated by the
product of their dominating pairs.
Proof.  A curve comes from a pair exactly when it is convex, starts at H(0) = 1 and stays between max(1 -
x, 0) and 1; maxima keep this.  A kink at x where the slope rises by q is an atom (x q, q), the slope at
infinity being zero, and what remains of H at infinity is an atom (p, 0).

Theorem (groups).  Write f for the trade-off curve of a dominating pair: the least type II error at a given
type I error.  For two units at once the curve x -> 1 - f(x), iterated, gives a valid trade-off, because
rejecting between D and D'' can be done no better than through D'; and likewise for k units.

References.  Dominating pairs: Zhu, Dong, Wang, AISTATS 2022.  Trade-off curves and groups: Dong, Roth, Su,
JRSS B 84(1), 2022.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.exact.number import Real, exp_bounds, log_bounds, non_negative, shown
from discreet.privacy.zcdp import pure_rho

Atom = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class AtomsLoss:
    """The loss law of a finite pair: atoms (p, q) in falling order of p / q, both columns summing to 1."""

    atoms: tuple[Atom, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(p < 0 or q < 0 for p, q in self.atoms):
            raise ParameterError("probabilities must not be negative")
        if (
            sum((p for p, _ in self.atoms), Fraction(0)) != 1
            or sum((q for _, q in self.atoms), Fraction(0)) != 1
        ):
            raise ParameterError("each of the two laws of a pair must sum to exactly 1")
        object.__setattr__(self, "atoms", _merged(self.atoms))
        # The hash of a fraction inverts its denominator, which long ones make slow; laws are looked up often.
        object.__setattr__(self, "_hash", hash(tuple((p.numerator, q.numerator) for p, q in self.atoms)))

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, pairs: Iterable[tuple[Real, Real]]) -> "AtomsLoss":
        """Return the law of a pair given outcome by outcome as (probability under P, under Q)."""
        return cls(tuple((non_negative(p, "probability"), non_negative(q, "probability")) for p, q in pairs))

    @classmethod
    def envelope(cls, pairs: Iterable[Iterable[tuple[Fraction, Fraction]]]) -> "AtomsLoss":
        """Return the smallest law that dominates each of the given pairs; give both orders of each."""
        lines = {line for pair in pairs for line in _lines(_merged(pair))}
        if not lines:
            raise ParameterError("an envelope needs at least one pair")
        return cls(tuple(_atoms_of(_upper_hull(lines))))

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return sum((p for p, q in self.atoms if q == 0), Fraction(0))

    @property
    def ratio(self) -> Fraction:
        """Return the largest finite ratio p / q: the exponential of the largest finite loss."""
        # The atoms are in falling order.
        return next((p / q for p, q in self.atoms if q), Fraction(1))

    @property
    def pure(self) -> Fraction:
        """Return the largest finite loss, rounded up."""
        return _log(self)[1]

    @property
    def rho(self) -> Fraction:
        """Return a zCDP of the law without its slack, rounded up: that of its largest loss."""
        return pure_rho(self.pure)

    def hockey_stick(self, x: Fraction) -> Fraction:
        """Return H(x) exactly."""
        return sum((p - x * q for p, q in self.atoms if p > x * q), Fraction(0))

    def delta(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Return rationals around H(exp(epsilon))."""
        if epsilon == 0:
            exact = self.hockey_stick(Fraction(1))
            return exact, exact
        low, high = exp_bounds(epsilon)
        return self.hockey_stick(high), self.hockey_stick(low)

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return rationals around the smallest epsilon >= 0 with H(exp(epsilon)) <= delta."""
        if delta < self.slack:
            return Fraction(0), None
        above = below = Fraction(0)
        for p, q in self.atoms:
            # The curve is above - x * below until the next ratio; stop where it first exceeds delta.
            if below and above - (p / q if q else 0) * below > delta:
                break
            above, below = above + p, below + q
        x = (above - delta) / below if below else self.ratio
        if x <= 1:
            return Fraction(0), Fraction(0)
        return log_bounds(x)

    def group(self, size: int) -> "AtomsLoss":
        """Return the law that dominates `size` units changing at once."""
        curve = _power(_trade_off(self.atoms), size)
        return AtomsLoss(tuple(_pair_of(curve)))


@lru_cache(maxsize=4096)
def _log(law: AtomsLoss) -> tuple[Fraction, Fraction]:
    """Return rationals around the largest finite loss."""
    return log_bounds(law.ratio) if law.ratio > 1 else (Fraction(0), Fraction(0))


@lru_cache(maxsize=64)
def multiplied(laws: tuple[tuple[AtomsLoss, int], ...], effort: int) -> AtomsLoss | None:
    """Return the exact law of independent releases, or None if that takes more than `effort`.

    A product of two probabilities costs one, and as much again for every 256 bits that they have.
    """
    atoms: tuple[Atom, ...] = ((Fraction(1), Fraction(1)),)
    bits = 0
    for law, n in laws:
        longest = max(p.denominator.bit_length() for p, _ in law.atoms)
        for _ in range(n):
            bits += longest
            effort -= len(atoms) * len(law.atoms) * (1 + bits // 256)
            if effort < 0:
                return None
            # An outcome impossible under both laws of the pair drops out by itself.
            atoms = _merged((p * a, q * b) for p, q in atoms for a, b in law.atoms)
    return AtomsLoss(atoms)


def _merged(pairs: Iterable[Atom]) -> tuple[Atom, ...]:
    """Return the atoms with equal ratios added up, in falling order of ratio."""
    table: dict[Fraction | None, list[Fraction]] = {}
    for p, q in pairs:
        if p or q:
            entry = table.setdefault(p / q if q else None, [Fraction(0), Fraction(0)])
            entry[0] += p
            entry[1] += q
    infinite = table.pop(None, None)
    finite = [(p, q) for _, (p, q) in sorted(table.items(), key=lambda item: _key(item[0]), reverse=True)]
    return tuple(([(infinite[0], infinite[1])] if infinite else []) + finite)


def _key(ratio: Fraction | None) -> Fraction:
    if ratio is None:
        raise AssertionError("an infinite ratio was set aside before sorting")
    return ratio


Line = tuple[Fraction, Fraction]


def _lines(atoms: Sequence[Atom]) -> list[Line]:
    """Return the linear pieces of H as (slope, value at 0): one for each set of outcomes above a ratio."""
    slope = value = Fraction(0)
    lines = [(slope, value)]
    for p, q in atoms:
        slope, value = slope - q, value + p
        lines.append((slope, value))
    return lines


def _upper_hull(lines: Iterable[Line]) -> list[Line]:
    """Return the lines on the upper envelope over x >= 0, from the steepest fall to the flattest."""
    hull: list[Line] = []
    for slope, value in sorted(lines):
        if hull and hull[-1][0] == slope:
            hull.pop()
        while len(hull) > 1 and _crossing(hull[-2], (slope, value)) <= _crossing(hull[-2], hull[-1]):
            hull.pop()
        while len(hull) == 1 and hull[0][1] <= value:
            hull.pop()
        hull.append((slope, value))
    return hull


def _crossing(left: Line, right: Line) -> Fraction:
    return (left[1] - right[1]) / (right[0] - left[0])


def _atoms_of(hull: Sequence[Line]) -> list[Atom]:
    atoms = [(hull[-1][1], Fraction(0))]
    for left, right in pairwise(hull):
        q = right[0] - left[0]
        atoms.append((_crossing(left, right) * q, q))
    missing = 1 - sum((q for _, q in atoms), Fraction(0))
    return [*atoms, (Fraction(0), missing)]


Point = tuple[Fraction, Fraction]


def _trade_off(atoms: Sequence[Atom]) -> list[Point]:
    """Return the corners of x -> 1 - f(x): the largest P-probability of an event of Q-probability x."""
    corners = [(Fraction(0), Fraction(0))]
    for p, q in atoms:
        x, y = corners[-1]
        corners.append((x + q, y + p))
    return corners


def _power(curve: list[Point], size: int) -> list[Point]:
    if size < 1:
        raise ParameterError(f"a group has at least one member, got {shown(size)}")
    result = curve
    for _ in range(size - 1):
        result = _composed(result, curve)
    return result


def _composed(inner: Sequence[Point], outer: Sequence[Point]) -> list[Point]:
    """Return the corners of outer(inner(x)), both concave and increasing, possibly with a jump at 0."""
    knots = {x for x, _ in inner} | {_inverse(inner, x) for x, _ in outer if x > _value(inner, Fraction(0))}
    start = _value(outer, _value(inner, Fraction(0)))
    corners = [(Fraction(0), Fraction(0))] + ([(Fraction(0), start)] if start else [])
    return corners + [(x, _value(outer, _value(inner, x))) for x in sorted(knots) if x > 0]


def _value(curve: Sequence[Point], x: Fraction) -> Fraction:
    """Return the curve at x, at a jump its upper end."""
    best = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(curve):
        if x0 <= x <= x1:
            best = max(best, y1 if x0 == x1 else y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return best


def _inverse(curve: Sequence[Point], y: Fraction) -> Fraction:
    """Return the smallest x at which the curve reaches y <= 1."""
    for (x0, y0), (x1, y1) in pairwise(curve):
        if y0 < y1 and y0 <= y <= y1:
            return x0 if x0 == x1 else x0 + (x1 - x0) * (y - y0) / (y1 - y0)
    return Fraction(1)


def _pair_of(curve: Sequence[Point]) -> list[Atom]:
    return [(y1 - y0, x1 - x0) for (x0, y0), (x1, y1) in pairwise(curve)]
