"""Which mechanism releases a measurement at its part of the price, and what it costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, log
from typing import TypeAlias, assert_never

from discreet.errors import ParameterError, QueryError
from discreet.exact.digits import SHARPEST
from discreet.exact.number import sqrt_down
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight, squares
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.filter import Cost
from discreet.privacy.grid import below_grid, pure_within
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.key_weights import CLAUSE, most_groups
from discreet.query.check.measurement import (
    Checked,
    Joint,
    Keys,
    Measured,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    RunningGroups,
    Sort,
    families,
)
from discreet.query.check.tables import overlap
from discreet.query.plan import given
from discreet.query.price.sparse import Sparse, sparse
from discreet.query.price.together import Together, plan_for, together

Noise: TypeAlias = Geometric | Staircase | Gaussian

Choice: TypeAlias = Exponential | PermuteAndFlip

FLIP_LIMIT = 1_000

STEEP = 40
"""Beyond this epsilon the search for the best exact staircase takes longer than the better noise is worth."""

OUTSIDE = 50
"""An extreme aims so far inside the data that an empty candidate beyond it is this many times less likely."""


@dataclass(frozen=True, slots=True)
class PurePrice:
    """What a measurement may cost under a pure budget."""

    epsilon: Fraction

    def part(self, parts: int | Fraction) -> "PurePrice":
        """Return an equal part of the price."""
        return self.share(Fraction(1, parts))

    def share(self, part: Fraction) -> "PurePrice":
        """Return a part of the price."""
        return PurePrice(self.epsilon * part)


@dataclass(frozen=True, slots=True)
class RhoPrice:
    """What a measurement may cost under a budget that is kept in zCDP."""

    rho: Fraction

    def part(self, parts: int | Fraction) -> "RhoPrice":
        """Return an equal part of the price, rounded down."""
        return self.share(Fraction(1, parts))

    def share(self, part: Fraction) -> "RhoPrice":
        """Return a part of the price, rounded down."""
        return RhoPrice(below_grid(self.rho * part))


Price: TypeAlias = PurePrice | RhoPrice


@dataclass(frozen=True, slots=True)
class MeasurementShare:
    """One measurement with the mechanism that will release it; `offset` is the inward aim of an extreme."""

    measured: Measured
    mechanism: Noise | Choice | KeyCount | KeyGaussian | KeyWeight | Together | Sparse
    offset: int = 0

    @property
    def name(self) -> str:
        """What to call the mechanism."""
        made = self.mechanism
        return made.name if isinstance(made, Together | Sparse) else type(made).__name__

    def moves(self, keys: Keys) -> Sensitivity:
        """Return how far one person moves the released values while the noise stays the same.

        Where groups overlap, a row counts in several of them, and least squares returns what is counted; the
        answers are then rounded, for which a thousandth is allowed.
        """
        if not isinstance(self.mechanism, Together) or not isinstance(keys, Joint):
            return self.measured.sensitivity
        reach, times = self.mechanism.moved * Fraction(1001, 1000), overlap(keys)
        return Sensitivity(reach * times, reach**2 * times, reach)


def share_of(checked: Checked, position: int, price: Price, delta: Fraction) -> MeasurementShare:
    """Return the mechanism that releases one measurement at its part of the price."""
    measurement = checked.measurements[position]
    if isinstance(checked.keys, Joint) and isinstance(measurement, Measurement):
        joint = together(checked.keys, measurement, _promise(price), checked.rows.adjacency, position)
        return MeasurementShare(measurement, joint)
    if isinstance(measurement, Measurement) and measurement.sort is Sort.KEY_WEIGHTS:
        return MeasurementShare(measurement, _weighted_keys(measurement, checked, price, delta))
    if isinstance(checked.keys, Private) and position == checked.keys.people:
        return MeasurementShare(measurement, _counted_keys(given(measurement.sensitivity.l0), price, delta))
    match measurement:
        case Measurement():
            blocks = sparse(checked, measurement, price.epsilon) if isinstance(price, PurePrice) else None
            return MeasurementShare(measurement, blocks or noise_for(measurement, price))
        case QuantileChoice():
            mechanism = Exponential.calibrate(epsilon=_ranged(price), sensitivity=measurement.sensitivity)
            return MeasurementShare(measurement, mechanism, _offset(measurement, mechanism))
        case ModeChoice():
            flips = isinstance(price, PurePrice) and measurement.candidates <= FLIP_LIMIT
            # A selection of a few at a pure price is charged its epsilon either way.
            kind, epsilon = PermuteAndFlip if flips else Exponential, _ranged(price)
            return MeasurementShare(
                measurement,
                kind.calibrate(
                    epsilon=epsilon, sensitivity=measurement.sensitivity, monotone=measurement.monotone
                ),
            )
        case _:
            assert_never(measurement)


# One session asks at a few prices only.
@lru_cache(maxsize=64)
def _counted_keys(groups: int, price: Price, delta: Fraction) -> KeyCount | KeyGaussian:
    """Return the threshold on people at a part of the price."""
    match price:
        case PurePrice(epsilon):
            return KeyCount.calibrate(epsilon=epsilon, delta=delta, groups=groups)
        case RhoPrice(rho):
            return KeyGaussian.calibrate(rho=rho, delta=delta, groups=groups)
        case _:
            assert_never(price)


def _weighted_keys(measurement: Measurement, checked: Checked, price: Price, delta: Fraction) -> KeyWeight:
    """Return the threshold on weights at a part of the price, which has to pay for Gaussian noise."""
    match price:
        case RhoPrice(rho):
            near = checked.rows.adjacency
            groups = most_groups(measurement, near)
            return _found_by_weights(rho, delta, groups, measurement.scale, near)
        case PurePrice():
            raise QueryError(
                CLAUSE,
                "keys are found by weights under a budget with delta, whose noise is Gaussian",
                "give the budget a delta, or leave it out",
            )
        case _:
            assert_never(price)


@lru_cache(maxsize=64)
def _found_by_weights(
    rho: Fraction, delta: Fraction, groups: int, one: int, adjacency: Adjacency
) -> KeyWeight:
    return KeyWeight.calibrate(rho=rho, delta=delta, groups=groups, one=one, adjacency=adjacency)


def mean_variance(checked: Checked, position: int, price: Price) -> float | None:
    """Return the mean variance of running counts, known before the error of each of them; None for others."""
    keys, measurement = checked.keys, checked.measurements[position]
    if not isinstance(keys, RunningGroups) or not isinstance(measurement, Measurement):
        return None
    return plan_for(keys, measurement, _promise(price), checked.rows.adjacency).error.mean


def noise_for(measurement: Measurement, price: Price) -> Noise:
    """Return the least noise for one measurement at its share of the price.

    With zCDP that is Gaussian.  Without, the staircase is taken where a person moves a single number by more
    than one unit and its mean error is smaller than the geometric's.
    """
    sensitivity = measurement.sensitivity
    return _least(Sensitivity.of(1) if sensitivity.l1 == 0 else sensitivity, price)


# One session asks at a few prices only.
@lru_cache(maxsize=256)
def _least(sensitivity: Sensitivity, price: Price) -> Noise:
    match price:
        case RhoPrice(rho):
            return Gaussian.calibrate(rho=rho, sensitivity=sensitivity)
        case PurePrice(epsilon):
            # Beyond that noise of nothing is already nearly certain, and no ratio is written so small.
            epsilon = min(epsilon, SHARPEST // 2 * sensitivity.l1)
            plain = Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)
            if sensitivity.scalar and sensitivity.l1 > 1 and 1 <= epsilon <= STEEP:
                steps = Staircase.calibrate(epsilon=epsilon, sensitivity=sensitivity.l1)
                if steps.mean_error < plain.mean_error:
                    return steps
            return plain
        case _:
            assert_never(price)


def _promise(price: Price) -> Pure | Concentrated:
    match price:
        case PurePrice(epsilon):
            return Pure(epsilon)
        case RhoPrice(rho):
            return Concentrated(rho)
        case _:
            assert_never(price)


def _ranged(price: Price) -> Fraction:
    """Return the largest epsilon of a bounded-range mechanism, which is epsilon**2 / 8-zCDP."""
    match price:
        case PurePrice(epsilon):
            return epsilon
        case RhoPrice(rho):
            return max(sqrt_down(8 * rho), pure_within(rho))
        case _:
            assert_never(price)


def _offset(choice: QuantileChoice, mechanism: Exponential) -> int:
    """Return how far inside the data an extreme aims, so that all candidates beyond it weigh 1 / OUTSIDE."""
    if choice.level not in (0, 1) and not choice.inward:
        return 0
    # For alpha close to 1, ln(1 / alpha) is at least 1 - alpha, which keeps its digits.
    return ceil(log((choice.size + 1) * OUTSIDE) / float(1 - mechanism.alpha) / choice.level.denominator)


def charge(shares: tuple[MeasurementShare, ...], price: Price, delta: Fraction) -> Cost:
    """Return the cost to charge, after recomputing it from the mechanisms."""
    together = families([share.measured for share in shares])
    spent = sum((_spent([shares[position] for position in places]) for places in together), Cost.zero)
    match price:
        case PurePrice(epsilon):
            fits, charged = spent.epsilon is not None and spent.epsilon <= epsilon, Cost.pure(epsilon)
        case RhoPrice(rho):
            fits, charged = spent.rho <= rho, Cost(spent.epsilon, rho)
        case _:
            assert_never(price)
    if not fits or spent.delta > delta:
        raise ParameterError("the mechanisms cost more than was asked; this is a defect of the allocation")
    return Cost(charged.epsilon, charged.rho, delta)


def _spent(family: Sequence[MeasurementShare]) -> Cost:
    """Return what one measurement costs, or the corners of a simplex, whose change is that of all."""
    share = family[0]
    change = share.measured.sensitivity
    if any(not _same(share.mechanism, other.mechanism) for other in family[1:]):
        raise AssertionError("all corners of a simplex have the same noise")
    if any(other.measured.sensitivity != change for other in family):
        raise AssertionError("all corners of a simplex are calibrated for how far they move together")
    match share.mechanism:
        case Together() | Sparse():
            return share.mechanism.cost
        case Geometric() | Staircase() | Gaussian():
            return share.mechanism.guarantee(change).price()
        case KeyCount() | KeyGaussian():
            return share.mechanism.guarantee(given(change.l0)).price()
        case KeyWeight(one=one, adjacency=near) as weighted:
            if near is None or change.l2_squared > squares(one, near):
                raise AssertionError("weights of keys move no further than their noise is for")
            return weighted.guarantee().price()
        case Exponential():
            return share.mechanism.profile(change, monotone=_monotone(share)).price()
        case PermuteAndFlip():
            return share.mechanism.guarantee(change, monotone=_monotone(share)).price()
        case _:
            assert_never(share.mechanism)


def _same(one: object, other: object) -> bool:
    if isinstance(one, Together) and isinstance(other, Together):
        # A plan promises the same to everybody who moves cells by one, whatever it measures.
        return (one.reach, one.swaps, one.cost) == (other.reach, other.swaps, other.cost)
    return one == other


def _monotone(share: MeasurementShare) -> bool:
    return not isinstance(share.measured, Measurement) and share.measured.monotone
