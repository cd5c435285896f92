"""The two orders of sampled pairs, and for each the laws that stand for it from above and from below.

Neighbours are compared in two orders, removing and adding a unit; every release of a composition is in the
same one.  A law of one release about everybody covers both orders.  A sampled law is, in one order, exactly a
finite law if its base is one; otherwise it lies between two laws on a mesh that all releases share.

Where units are replaced, a promise of epsilon alone is kept by a response of three categories: the first
where the sample holds the unit that left, the second where it holds the one that came, the third otherwise.
Between the two neighbours it compares q P_1 + (1 - q) P_3 with q P_2 + (1 - q) P_3, which both orders have in
common; over many releases of a large epsilon that is more than what either of the pairs above attains.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, sqrt

import numpy as np

from discreet.exact.number import exp_bounds, log_bounds
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.atoms import Atom, AtomsLoss
from discreet.privacy.gaussian import DiscreteGaussianLoss, GaussianLoss
from discreet.privacy.geometric import GeometricLoss
from discreet.privacy.loss import Base, BoundedRangeLoss, LaplaceLoss, Law, ResponseLoss, Summand
from discreet.privacy.mesh import ADD, REMOVE, MeshLoss, Sampling, dominated, dominating
from discreet.privacy.sampled import SampledLoss
from discreet.privacy.steep import (
    DEEP,
    Steep,
    SteepGaussian,
    SteepGeometric,
    SteepLaplace,
    SteepLattice,
    SteepRange,
)

WAYS = (REMOVE, ADD)

CORNERS, ROUGH = 2**17, 2**13
"""How many corners the mesh has over the losses of one release; and how many it has
where only the size of an answer is asked; the window of all releases has four times as many."""

_FINE, _FEWEST = 2.0**-22, 2**11
"""Each release on a mesh costs about the square of its step in epsilon; less in all is not sought where every
law has so many corners."""

_WRITTEN_OUT = 64
"""Geometric noise moved by at most this much is a finite law of so many atoms."""

_LEAST_RATE, _LEAST_BOUNDED_RATE = Fraction(1, 2**80), Fraction(1, 2**24)
"""Rates below these are taken for them: corners counted from a largest loss are rounded by parts of that."""

_LEAST_LOSS, _FARTHEST = Fraction(1, 2**20), 600.0
_MOST_VARIANCE = 10**8


@dataclass(frozen=True, slots=True)
class PairOrder:
    """One order of all pairs, one side of the truth, and the mesh for the laws that need one."""

    way: str
    above: bool
    step: Fraction
    deep: float = DEEP
    """How many standard deviations of a Gaussian are looked at."""
    aligned: bool = False
    """Whether the mesh is made to carry the largest and the smallest loss of the only law there is."""
    three: bool = False
    """Whether promises of epsilon alone are kept by responses of three categories."""


def orders(
    laws: Sequence[tuple[Law, int]], delta: Fraction, corners: int = CORNERS
) -> tuple[tuple[PairOrder, PairOrder], ...]:
    """Return each order from above and from below, made for deltas of about this size."""
    found, deep = [], _deep(delta, sum(n for _, n in laws))
    for way in WAYS:
        step, aligned = _mesh(tuple(laws), way, corners, deep)
        found.append(tuple(PairOrder(way, above, step, deep, aligned) for above in (True, False)))
    return tuple((above, below) for above, below in found)


def _deep(delta: Fraction, count: int) -> float:
    """Return how deep to look so that what lies beyond is nothing to this delta, in steps of a half."""
    tail = float(log_bounds(delta / count)[0]) - 25.0 if delta else -inf
    return min(ceil(2 * sqrt(-2 * tail)) / 2, DEEP) if tail > -1e4 else DEEP


def summand(law: Law, order: PairOrder) -> Summand | None:
    """Return what stands for a law in an order; None where nothing is known from below."""
    if not isinstance(law, SampledLoss):
        return law
    base = law.base
    if order.three and isinstance(base, ResponseLoss):
        return _three(base, law.rate)
    if isinstance(base, BoundedRangeLoss) and not order.above:
        # The range is an envelope; randomised response of half its length is a mechanism that keeps it.
        base = ResponseLoss(base.cost / 2)
    atoms = _atoms(base, order.above)
    if atoms is not None:
        return _finite(atoms, law, order)
    rate = _mesh_rate(law)
    if rate is None or (rate > law.rate and not order.above):
        return base if order.above else None
    return _meshed(SampledLoss(base, rate, law.adjacency), order)


def _mesh_rate(law: SampledLoss) -> Fraction | None:
    """Return the rate of the law on a mesh that stands for this one from above; None where there is none.

    It may be larger: who sees q P + (1 - q) Q or Q, keeps it with probability r / q and otherwise replaces it
    by a draw of Q, sees r P + (1 - r) Q or Q, so that a smaller rate loses less in either order.
    """
    steep = _steep(law.base)
    if steep is None:
        return None
    return max(law.rate, _LEAST_BOUNDED_RATE if steep.bounded else _LEAST_RATE)


def _atoms(base: Base, above: bool) -> tuple[Atom, ...] | None:
    """Return the atoms of a finite base; an irrational ratio is rounded to the side asked for."""
    match base:
        case AtomsLoss(atoms):
            return atoms
        case ResponseLoss(cost, slack):
            odds = exp_bounds(cost)[1 if above else 0] if cost else Fraction(1)
            true, false = (1 - slack) * odds / (1 + odds), (1 - slack) / (1 + odds)
            return (slack, Fraction(0)), (true, false), (false, true), (Fraction(0), slack)
        case GeometricLoss(_, shift) if shift <= _WRITTEN_OUT:
            return base.atoms().atoms
        case _:
            return None


def _three(base: ResponseLoss, rate: Fraction) -> AtomsLoss:
    """Return the pair of a response of three categories about a sample, its odds rounded down."""
    odds = exp_bounds(base.cost)[0] if base.cost else Fraction(1)
    true, false = (1 - base.slack) * odds / (odds + 2), (1 - base.slack) / (odds + 2)
    mine, other = rate * true + (1 - rate) * false, false
    third, shown = rate * false + (1 - rate) * true, rate * base.slack
    # With the slack the category itself is told, by a sign of its own.
    told = (1 - rate) * base.slack
    return AtomsLoss(
        (
            (shown, Fraction(0)),
            (mine, other),
            (third, third),
            (told, told),
            (other, mine),
            (Fraction(0), shown),
        )
    )


def _finite(atoms: tuple[Atom, ...], law: SampledLoss, order: PairOrder) -> AtomsLoss:
    q = law.rate
    removed = tuple((q * p + (1 - q) * r, r) for p, r in atoms)
    added = tuple((p, (1 - q) * p + q * r) for p, r in atoms)
    if law.adjacency is Adjacency.REPLACE and order.above:
        return AtomsLoss.envelope((removed, added))
    return AtomsLoss(removed if order.way == REMOVE else added)


def _steep(base: Base, deep: float = DEEP) -> Steep | None:
    """Return a base as whole arrays of events, where its numbers are no strain on floats."""
    found: Steep
    match base:
        case GaussianLoss(mu_squared) if mu_squared >= _LEAST_LOSS**2:
            found = SteepGaussian(sqrt(mu_squared), deep)
        case DiscreteGaussianLoss(variance, shift) if (
            Fraction(1, 100) <= variance <= _MOST_VARIANCE and 0 < shift <= 2**40
        ):
            found = SteepLattice(float(variance), shift, deep)
        case LaplaceLoss(ratio) if ratio >= _LEAST_LOSS:
            found = SteepLaplace(float(ratio))
        case BoundedRangeLoss(cost) if cost >= _LEAST_LOSS:
            found = SteepRange(float(cost))
        case GeometricLoss(alpha, shift) if shift <= 2**40 and base.pure >= _LEAST_LOSS:
            found = SteepGeometric(float(log_bounds(1 / alpha)[0]), shift)
        case _:
            return None
    return found if found.end <= _FARTHEST else None


@lru_cache(maxsize=32)
def _meshed(law: SampledLoss, order: PairOrder) -> MeshLoss:
    steep = _steep(law.base, order.deep)
    if steep is None:
        raise AssertionError("only laws with a mesh are put on one")
    sides = {way: Sampling(steep, float(law.rate), way) for way in WAYS}
    key = (law, order)
    if law.adjacency is Adjacency.REPLACE and order.above:
        return dominating(key, (sides[REMOVE], sides[ADD]), order.step, Fraction(0), law.rho)
    side = sides[order.way]
    offset = side.top() if order.aligned else Fraction(0)
    if order.above:
        return dominating(key, (side,), order.step, offset, law.rho)
    return dominated(key, side, order.step, offset, law.rho)


@lru_cache(maxsize=64)
def _mesh(laws: tuple[tuple[Law, int], ...], way: str, corners: int, deep: float) -> tuple[Fraction, bool]:
    """Return the step of the mesh for these laws, and whether it is made to fit the only one of them."""
    sides = [(side, n) for side, n in ((_side(law, way, deep), n) for law, n in laws) if side is not None]
    if not sides:
        return Fraction(1), False
    widths = [high - low for low, high in (side.ends() for side, _ in sides)]
    spread = sqrt(sum(n * _variance(side) for side, n in sides))
    enough = min(sqrt(_FINE / sum(n for _, n in sides)), min(widths) / _FEWEST)
    # Losses with atoms are off by a part of the step itself.
    smooth = not any(isinstance(side.steep, SteepLattice | SteepGeometric) for side, _ in sides)
    step = max(min(widths) / corners, (max(widths) + 20 * spread) / (4 * corners), enough if smooth else 0.0)
    alone = len(laws) == 1 and sides[0][0].steep.bounded
    if alone and not any(
        isinstance(law, SampledLoss) and law.adjacency is Adjacency.REPLACE for law, _ in laws
    ):
        return Fraction(widths[0]) / max(1, round(widths[0] / step)), True
    return Fraction(step), False


def _side(law: Law, way: str, deep: float) -> Sampling | None:
    if not isinstance(law, SampledLoss) or _atoms(law.base, True) is not None:
        return None
    steep, rate = _steep(law.base, deep), _mesh_rate(law)
    return None if steep is None or rate is None else Sampling(steep, float(rate), way)


def _variance(side: Sampling) -> float:
    """Return about the variance of the loss."""
    low, high = side.ends()
    losses = np.linspace(low, high, 4096)
    mass = -np.diff(side.first(*side.event(losses)))
    middles = (losses[1:] + losses[:-1]) / 2
    mean = float((mass * middles).sum())
    return float((mass * (middles - mean) ** 2).sum())
