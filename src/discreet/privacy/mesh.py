"""A sampled law between two laws on a mesh: one that dominates it and one that it dominates.

Losses that are multiples of a step (plus an offset) can be composed by one Fourier transform, however many
there are.  A measure with mass p_j at the losses l_j has the curve, for x = exp(epsilon),

    h(x) = sum over j of p_j (1 - x exp(-l_j))+  +  s,

piecewise linear with its corners at exp(l_j); s is the mass of an infinite loss.

Theorem (comparison).  Let h_1, ..., h_k be curves of measures, normalised or not, each above (below) the
curve H_i of a pair.  Then the curve of their product is above (below) that of the product of the pairs.
Proof.  The curve of a product is the sum over the atoms (p, q) of one factor of p h(x q / p), h the curve of
the other: it grows with h, so the factors can be exchanged one by one.

Checking.  H is convex.  So h lies above H as soon as it does so at the corners, at 0 and at infinity; and it
lies below H as soon as for every stretch between two corners there is an event E with h(x) at most
P(E) - x Q(E) at both ends.  Weights are made by splitting the mass of each cell between its two corners
(above) or by moving what lies around a corner to it (below), keeping the probabilities under both laws: a
good guess, made in floats.  Then every corner is compared with H, the errors of both sides counted, and the
weights are multiplied by the least factor with which all comparisons hold.  So only the comparison has to be
right.  The gap between the two laws is of the order of the step squared.

References.  Splitting is "connect the dots": Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, PETS 2022.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

import numpy as np

from discreet.privacy.normal import Reals
from discreet.privacy.steep import Event, Steep, suffix_sums

_SUMS = 2.0**-40
"""Two rounds of sums in blocks err by less than this fraction for up to 2**20 corners."""

_SPLIT = 2.0**-48
_GONE = 2.0**-200
"""Events less likely than this are left to the mass of infinite loss, or left out."""

_SMOOTH, _TIE = 0.125, 2.0**-36
"""Ends are moved where masses lie within an eighth of a step from balance, and then by a hair more."""

_PARTS = tuple(2.0**-bits for bits in range(44, 20, -2))

REMOVE, ADD = "remove", "add"


@dataclass(frozen=True, eq=False)
class MeshLoss:
    """A measure of finite losses top, top - step, top - 2 step, ..., and a mass of infinite loss.

    The weights of the finite ones are those given that the loss is not infinite: 1 - slack of the measure's.
    """

    key: tuple[object, ...]
    """What the measure was made from: equal keys mean equal measures."""
    step: Fraction
    top: Fraction
    weights: Reals = field(repr=False)
    slack: Fraction
    rho: Fraction
    """A zCDP of the law that this one stands for."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshLoss) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def pure(self) -> Fraction:
        """Return the largest finite loss."""
        return max(self.top, Fraction(0))

    @cached_property
    def coarse(self) -> tuple[float, Reals]:
        """Return the step and the weights of a mesh with fewer corners that dominates this one."""
        block = max(1, len(self.weights) // 512)
        return float(self.step) * block, self._blocks(block)

    def coarser(self, block: int) -> "MeshLoss":
        """Return the measure that dominates this one on every so-manieth corner only."""
        key = (*self.key, "blocks", block)
        return MeshLoss(key, self.step * block, self.top, self._blocks(block), self.slack, self.rho)

    def _blocks(self, block: int) -> Reals:
        rows = -(-len(self.weights) // block)
        inside = np.zeros(rows * block)
        inside[: len(self.weights)] = self.weights
        step = float(self.step) * block
        # Keeping both masses of an atom that lies a part f below the upper corner.
        falls = np.expm1(step * (np.arange(block) / block)) / np.expm1(step) if block > 1 else np.zeros(1)
        down = (inside.reshape(rows, block) * falls).sum(axis=1)
        weights = np.zeros(rows + 1)
        weights[:-1] = inside.reshape(rows, block).sum(axis=1) - down
        weights[1:] += down
        return np.maximum(weights, 0.0)


@dataclass(frozen=True, slots=True)
class Sampling:
    """One order of a sampled pair: removing a unit, or adding one."""

    steep: Steep
    rate: float
    way: str

    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest loss that matter."""
        r, far = self.rate, self.steep.end
        low, high = float(np.log1p(r * np.expm1(-far))), float(np.log1p(r * np.expm1(min(far, 700.0))))
        return (low, high) if self.way == REMOVE else (-high, -low)

    def top(self) -> Fraction:
        """Return the largest loss, rounded up by more than floats err, so that nothing lies above it."""
        return Fraction(self.ends()[1]) * (1 + Fraction(1, 2**42))

    def ratio(self, losses: Reals) -> Reals:
        """Return the likelihood ratio of the base at which the sampled loss is this one."""
        return np.asarray(1 + np.expm1(losses if self.way == REMOVE else -losses) / self.rate)

    def event(self, losses: Reals) -> tuple[Reals, Reals]:
        """Return the base's probabilities, under P and Q, of the event of a sampled loss above."""
        level = self._level(losses)
        return self.steep.above(level) if self.way == REMOVE else self.steep.above(-level)[::-1]

    def sides(self, losses: Reals) -> tuple[Event, Event]:
        """Return the base's probabilities of this event and of its complement."""
        level = self._level(losses)
        if self.way == REMOVE:
            return self.steep.sides(level)
        (p, q), (p_below, q_below) = self.steep.sides(-level)
        return (q, p), (q_below, p_below)

    def first(self, p: Reals, q: Reals) -> Reals:
        """Return the probability under the first law of the sampled pair of what has p and q in the base."""
        return self.rate * p + (1 - self.rate) * q if self.way == REMOVE else q

    def excess(self, losses: Reals, p: Reals, q: Reals) -> tuple[Reals, Reals]:
        """Return P'(E) - exp(loss) Q'(E) of what has p and q in the base, and a bound on its error."""
        y = self.ratio(losses)
        value, scale = (
            (p - y * q, self.rate) if self.way == REMOVE else (y * q - p, self.rate * np.exp(losses))
        )
        slip = self.steep.unit * (p + np.abs(y) * q) + 2.0**-49 * (1 + np.abs(losses)) * (1 + np.abs(y)) * q
        return scale * value, scale * slip + self._moved(losses, p, q)

    def curve(self, losses: Reals) -> tuple[Reals, Reals]:
        """Return the hockey-stick curve at exp(loss), and a bound on its error."""
        y, level = self.ratio(losses), self._level(losses)
        near, error = self.steep.curve(np.minimum(np.abs(level), 1e4))
        p, q = self.event(losses)
        size = np.maximum(y, 0.0)
        if self.way == REMOVE:
            high = np.where(level >= 0, near, 1 - y + np.where(size > 0, size * near, 0.0))
            scale = np.full(y.shape, self.rate)
        else:
            high = np.where(level > 0, y - 1 + near, np.where(size > 0, size * near, 0.0))
            scale = self.rate * np.exp(losses)
        inside = np.where(np.isfinite(level), error * np.minimum(1.0, size), 0.0)
        slip = inside + 2.0**-49 * (1 + np.abs(losses)) * (p + (1 + np.abs(y)) * q)
        return scale * np.maximum(high, 0.0), scale * slip + self._moved(losses, p, q)

    def _moved(self, losses: Reals, p: Reals, q: Reals) -> Reals:
        """Return what it costs that corners counted from the largest loss are rounded by parts of that."""
        if not self.steep.bounded:
            return np.zeros(losses.shape)
        second = q if self.way == REMOVE else self.rate * p + (1 - self.rate) * q
        return 2.0**-51 * max(map(abs, self.ends())) * np.exp(losses) * second

    def _level(self, losses: Reals) -> Reals:
        with np.errstate(divide="ignore"):
            grown = np.expm1(losses if self.way == REMOVE else -losses) / self.rate
            return np.asarray(np.log1p(np.maximum(grown, -1.0)))


def nodes(sampling: Sampling, step: Fraction, offset: Fraction) -> range:
    """Return the multiples of the step that, with the offset, reach beyond all losses that matter."""
    low, high = sampling.ends()
    start, h = float(offset), float(step)
    return range(floor((low - start) / h) - 1, ceil((high - start) / h) + 2)


def dominating(
    key: tuple[object, ...], sides: tuple[Sampling, ...], step: Fraction, offset: Fraction, rho: Fraction
) -> MeshLoss:
    """Return a mesh law above the curve of a sampled pair, or of both orders if both are given.

    Of both orders the first (removing) counts for positive losses and the second for negative ones; the
    offset is then zero, so that the two meet in a corner.
    """
    h = float(step)
    if len(sides) == 1:
        places = nodes(sides[0], step, offset)
        pieces = [(sides[0], np.arange(places.start, places.stop))]
    else:
        pieces = [
            (sides[1], np.arange(nodes(sides[1], step, offset).start, 1)),
            (sides[0], np.arange(0, nodes(sides[0], step, offset).stop)),
        ]
    first = int(pieces[0][1][0])
    count = int(pieces[-1][1][-1]) - first + 1
    weights, heights, slips = np.zeros(count), np.zeros(count), np.zeros(count)
    above: float | None = None
    for side, numbers in pieces:
        losses = float(offset) + numbers * h
        inside = slice(int(numbers[0]) - first, int(numbers[-1]) - first + 1)
        heights[inside], slips[inside] = side.curve(losses)
        weights[inside] += _split(side, losses, h)
        p, q = side.event(losses[[0, -1]])
        ends = side.first(p, q)
        if above is None:
            weights[0] += float(side.first(*side.sides(losses[:1])[1])[0])
        else:
            # The two orders have the same curve where they meet, and the second falls more steeply.
            weights[inside.start] += max(above - float(ends[0]), 0.0)
        above = float(ends[1])
    slack = max(float(heights[-1] + slips[-1]), 0.0 if sides[0].steep.bounded else _GONE)
    weights[-1] += max((above or 0.0) - slack, 0.0)
    x = np.exp(float(offset) + (first + np.arange(count)) * h)
    built = _curve_of(weights, x, h)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = (heights + slips - slack) / (built * (1 - _SUMS))
    needed = np.where(heights + slips <= slack, 0.0, needed)
    factor = max(float(needed.max()), (1 - slack) / (float(suffix_sums(weights)[0]) * (1 - _SUMS)), 0.5)
    # Whoever sets the slack aside takes the finite losses for what happens otherwise.
    otherwise = max(1 - 2 * slack, _GONE)
    finite = weights * (factor / otherwise) * (1 + _SPLIT)
    return _measure(key, step, offset + first * step, finite, 2 * Fraction(slack), rho)


def _measure(
    key: tuple[object, ...], step: Fraction, start: Fraction, weights: Reals, slack: Fraction, rho: Fraction
) -> MeshLoss:
    """Return the measure with these weights from the start upwards, without the empty corners at its ends."""
    filled = np.flatnonzero(weights)
    low, high = (int(filled[0]), int(filled[-1])) if len(filled) else (0, 0)
    return MeshLoss(key, step, start + high * step, weights[low : high + 1][::-1].copy(), slack, rho)


def _split(side: Sampling, losses: Reals, h: float) -> Reals:
    """Return the mass of each cell split between its two corners, both probabilities kept."""
    p, q = _between(side, losses)
    mass = side.first(p, q)
    value, slip = side.excess(losses[:-1], p, q)
    # A little more is lifted than asked, so that rounding leaves no corner without anything above it.
    lifted = np.clip((value + 4 * slip) / -np.expm1(-h), 0.0, mass)
    weights = np.zeros(len(losses))
    weights[1:] += lifted
    weights[:-1] += mass - lifted
    return weights


def _between(side: Sampling, losses: Reals) -> tuple[Reals, Reals]:
    """Return the base's probabilities between neighbouring losses, from the side on which they are small."""
    found = []
    for event, rest in zip(*side.sides(losses), strict=True):
        found.append(np.where(event[:-1] > 0.5, rest[1:] - rest[:-1], event[:-1] - event[1:]))
    return np.maximum(found[0], 0.0), np.maximum(found[1], 0.0)


def _curve_of(weights: Reals, x: Reals, h: float) -> Reals:
    """Return the curve of a measure at its corners, without the mass of infinite loss."""
    later = np.zeros(len(x))
    later[:-1] = suffix_sums(weights / x)[1:]
    return suffix_sums(later * x * np.expm1(h))


def dominated(
    key: tuple[object, ...], side: Sampling, step: Fraction, offset: Fraction, rho: Fraction
) -> MeshLoss:
    """Return a mesh law below the curve of a sampled pair."""
    h, places = float(step), nodes(side, step, offset)
    numbers = np.arange(places.start, places.stop)
    losses = float(offset) + numbers * h
    middles = _balanced(side, losses, h)
    weights = _moved(side, losses, middles, h)
    x = np.exp(losses)
    built = _curve_of(weights, x, h) * (1 + _SUMS)
    p, q = side.event(middles)
    factor = _fitting(side, losses, built, p, q)
    everything = float(side.first(p[:1], q[:1])[0]) * (1 - side.steep.unit)
    start = _over(side, losses[:1], p[:1], q[:1], built[:1])
    factor = min(factor, float(start[0]), everything / (float(suffix_sums(weights)[0]) * (1 + _SUMS)), 1.0)
    return _measure(
        key, step, offset + places.start * step, weights * max(factor, 0.0) * (1 - _SPLIT), Fraction(0), rho
    )


def _balanced(side: Sampling, losses: Reals, h: float) -> Reals:
    """Return ends between the corners so that what lies around a corner has its ratio, or hardly more."""
    middles = np.append(losses, losses[-1] + h) - h / 2
    for _ in range(4):
        p, q = _between(side, middles)
        mass = side.first(p, q)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.where(mass > 0, side.excess(losses, p, q)[0] / mass, 0.0)
        off = np.where(np.abs(off) < _SMOOTH * h, off, 0.0)
        middles[1:-1] -= (off[1:] + off[:-1]) / 2
    middles[1:-1] += max(_TIE, h * h / 64)
    return middles


def _moved(side: Sampling, losses: Reals, middles: Reals, h: float) -> Reals:
    """Return the mass around each corner moved to it, its loss lowered a little where that was higher.

    Where it was lower, what both probabilities ask for goes to the corner below if that is next to nothing,
    and otherwise all of it.
    """
    p, q = _between(side, middles)
    mass = side.first(p, q)
    mass = np.where(side.first(*side.event(middles[:-1])) < _GONE, 0.0, mass)
    excess = np.where(mass > 0, side.excess(losses, p, q)[0], 0.0)
    part = -excess / np.maximum(side.curve(losses)[0], _GONE)
    # Moving all down costs a step of loss on so much mass; moving parts costs the largest one in the factor.
    most = min(_PARTS, key=lambda limit: limit + h * float(mass[part > limit].sum()))
    little = part <= most
    if mass.any():
        # Nothing lies above the highest corner, so what is moved from there may be any part.
        little[np.flatnonzero(mass)[-1]] = True
    down = np.where(excess < 0, np.where(little, np.minimum(-excess / np.expm1(h), mass), mass), 0.0)
    weights = mass - down
    weights[:-1] += down[1:]
    return np.maximum(weights, 0.0)


def _fitting(side: Sampling, losses: Reals, built: Reals, p: Reals, q: Reals) -> float:
    """Return the largest factor with which every stretch lies below the line of one of three events."""
    best = np.zeros(len(losses) - 1)
    for shift in (0, 1, 2):
        # Stretch j lies between the corners j and j + 1; event j + 1 ends in its middle.
        a, b = p[shift : shift + len(best)], q[shift : shift + len(best)]
        lines = np.minimum(
            _over(side, losses[:-1], a, b, built[:-1]), _over(side, losses[1:], a, b, built[1:])
        )
        best = np.maximum(best, lines)
    return float(best.min())


def _over(side: Sampling, losses: Reals, p: Reals, q: Reals, built: Reals) -> Reals:
    """Return how many times the built curve fits below the line of an event, infinite where it is zero."""
    value, slip = side.excess(losses, p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(built > 0, (value - slip) / built, np.inf)
