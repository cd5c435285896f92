"""Groups that overlap, measured together and made consistent.

Grouping sets, running counts and unions of cells are 0/1 workloads W over disjoint cells of the data.  The
engine counts cells; a plan of `discreet.workload` measures what serves W best, with exact noise, and least
squares makes answers of it that cannot contradict each other.

Theorem.  Let one person move the vector of cells by at most k in l1, and let the plan promise epsilon / k
(or rho / k**2) where a person moves one cell by one.  Then the release keeps epsilon (or rho).  For A the
measured matrix, the change A h is a combination of columns of A with coefficients of total size k; norms are
convex, so its l1 and l2 norms are at most k times those of the largest column, and both noises charge for the
norm: the geometric in proportion, the Gaussian in proportion to its square.

Theorem (swaps).  Let somebody else come for a person, each with integers v >= 0 of |v|_1 <= k.  Their
difference is a sum of k changes, each by a unit that leaves one cell and one that comes into another, or by
one of both alone.  So the norms of A h are at most k times the largest of A (e_i - e_j) and A e_i: never more
than with 2 k units that come or go, and in l2 by about the root of 2 less where columns share little.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from discreet.privacy.adjacency import Adjacency
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.formula import Public
from discreet.query.check.measurement import Classes, Declared, Joint, Measurement, RunningGroups, Sets
from discreet.query.price.tail import Planned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.workload import Estimate, MarginalPlan, Plan, Workload

Promise: TypeAlias = Pure | Concentrated
Key: TypeAlias = tuple[Public, ...]

GRID = 2**20
"""Consistent answers are rounded to this fraction of a unit before they are stored."""

PAIRS = 512
"""Up to so many cells all pairs of them are compared where people are replaced."""

SHARP = 256
"""At this epsilon for each unit that a person moves, noise other than nothing has probability exp(-256)."""


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """How one measurement is released for all overlapping groups: a plan, its reach, and what to expect.

    `reach` is how far one person moves the cells in l1; `variances` are those of the answers, in squared
    integer units and in the order of the groups; `grain` is one step of the noise in standard deviations.
    """

    plan: "Plan | MarginalPlan"
    reach: int
    variances: "NDArray[Any]"
    bell: bool
    places: dict[Key, int]
    grain: float
    swaps: bool = False
    """Whether `reach` counts units that are swapped for others, and not units that come or go."""

    @property
    def moved(self) -> int:
        """How far one person moves the cells in l1."""
        return 2 * self.reach if self.swaps else self.reach

    @property
    def name(self) -> str:
        """What to call the strategy in a table."""
        from discreet.workload import MarginalPlan

        noise = "Gaussian" if self.bell else "Geometric"
        strategy = "tables" if isinstance(self.plan, MarginalPlan) else self.plan.strategy.name
        return f"{noise} ({strategy}, together)"

    @property
    def cost(self) -> Cost:
        """What one person can lose: the plan's promise, for someone who moves cells by `reach`."""
        return self.plan.guarantee.group(self.reach).price()

    def radius(self, beta: Fraction, key: Key | None = None) -> Fraction:
        """Return how far an answer may be off in integer units but for probability beta; without key, any."""
        from discreet.workload.noise import half_widths

        chosen = self.variances.max() if key is None else self.variances[self.places[key]]
        return Fraction(float(half_widths(chosen**0.5, beta, bell=self.bell, grain=self.grain)))

    def law(self, key: Key | None = None) -> Planned:
        """Return the law of an answer in integer units; without a key, of the worst."""
        chosen = self.variances.max() if key is None else self.variances[self.places[key]]
        return Planned(float(chosen) ** 0.5, self.bell, self.grain)

    def release(self, counts: "Mapping[tuple[int, ...], NDArray[Any]]", scale: int) -> tuple[Public, ...]:
        """Draw the noise, once, and return consistent answers for all groups in natural units."""
        from discreet.workload import MarginalPlan, answer_marginals, measure_marginals

        if isinstance(self.plan, MarginalPlan):
            answers = answer_marginals(measure_marginals(self.plan, counts))
            found = [value for chosen in self.plan.workload.sets for value in answers.table(chosen).flat]
        else:
            (histogram,) = counts.values()
            estimate = self.plan.estimate(self.plan.measure(histogram.reshape(-1)))
            found = list(estimate.answer(self.plan.workload).values)
        return tuple(rounded(Fraction(float(value)) / scale) for value in found)

    def stored(self) -> str:
        """Return the promise and the workload as text: the same question always has the same."""
        from discreet.workload import describe

        about = describe(self.plan)
        asked = {key: about[key] for key in ("workload", "adjacency")}
        name = "together/2" if self.swaps else "together/1"
        return json.dumps([name, asked, "gaussian" if self.bell else "geometric", str(self.reach)])


def rounded(value: Fraction) -> int | Fraction:
    """Return the nearest number that is stored; a whole one is an int."""
    nearest = Fraction(round(value * GRID), GRID)
    return nearest.numerator if nearest.denominator == 1 else nearest


def together(
    keys: Joint, measurement: Measurement, promise: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Together:
    """Return the plan that releases one measurement of overlapping groups within a promise."""
    import numpy as np

    from discreet.workload import Marginals, plan_marginals
    from discreet.workload.noise import grain as coarseness
    from discreet.workload.noise import towards_one

    reach = max(ceil(measurement.sensitivity.l1), 1)
    unit = towards_one(_blunted(promise, reach), reach)
    bell = isinstance(promise, Concentrated)
    places = {key: place for place, key in enumerate(keys.product())}
    if isinstance(keys, Sets):
        workload = Marginals(tuple(len(column.values or ()) for column in keys.columns), keys.sets)
        planned = plan_marginals(workload, unit)
        known = planned.variances()
        spread = [np.full(workload.table_cells(chosen), known[chosen]) for chosen in keys.sets]
        grain = max(coarseness(table.noise) for table in planned.tables)
        return Together(planned, reach, np.concatenate(spread), bell, places, grain)
    asked = _workload(keys)
    ahead = foreseen(asked, bell)
    planned_for = ahead.plan
    swaps = adjacency is Adjacency.REPLACE and _swaps(keys, measurement)
    if swaps:
        reach = max(ceil(measurement.sensitivity.l1 / 2), 1)
        unit = towards_one(_blunted(promise, reach), reach)
        planned_for = replace(planned_for, sensitivity=_swapped(asked, bell))
    chosen = planned_for.at(unit)
    variances = ahead.variances * ahead.scale_to(chosen)
    return Together(chosen, reach, variances, bell, places, coarseness(chosen.noise), swaps)


def _swaps(keys: RunningGroups | Classes, measurement: Measurement) -> bool:
    """Whether what one person leaves and another brings are counts or sums of what is never negative."""
    adds = measurement.low >= 0 and not measurement.fixed.degree and not measurement.sensitivity.scalar
    return adds and Declared(keys.columns).size <= PAIRS


@lru_cache(maxsize=64)
def _swapped(workload: "Workload", bell: bool) -> Sensitivity:
    """Return how far one unit that leaves one cell, comes into another, or both, moves what is measured."""
    from discreet.workload.strategy import sensitivity

    strategy = foreseen(workload, bell).plan.strategy
    alone, both = (sensitivity(strategy, one) for one in (Adjacency.ADD_REMOVE, Adjacency.REPLACE))
    return Sensitivity(
        max(alone.l1, both.l1), max(alone.l2_squared, both.l2_squared), max(alone.linf, both.linf)
    )


def _blunted(promise: Promise, reach: int) -> Promise:
    """Return a promise at which floats still tell variances from zero."""
    if isinstance(promise, Concentrated):
        return promise
    return Pure(min(promise.cost, Fraction(SHARP * reach)))


def _workload(keys: RunningGroups | Classes) -> "Workload":
    from discreet.workload import Identity, Matrix, Prefix, Product

    match keys:
        case RunningGroups(columns):
            *groups, last = columns
            running = Prefix(len(last.values or ()))
            size = Declared(tuple(groups)).size
            return running if size == 1 else Product((Identity(size), running))
        case Classes(columns, groups):
            every = columns[0].values or ()
            return Matrix.of([[int(cell in group) for cell in every] for group in groups])
        case _:
            assert_never(keys)


@dataclass(frozen=True, slots=True, eq=False)
class Foreseen:
    """A plan at a reference price with the error that its answers will have, known before any data."""

    plan: "Plan"
    estimate: "Estimate"
    variances: "NDArray[Any]"

    def scale_to(self, other: "Plan") -> float:
        """Return by how much variances change with the noise of another price."""
        from discreet.workload.noise import spread

        return spread(other.noise) / spread(self.plan.noise)


@lru_cache(maxsize=16)  # a plan of a thousand cells holds tens of megabytes
def foreseen(workload: "Workload", bell: bool) -> Foreseen:
    """Return the best plan for a workload; only the amount of noise depends on the price."""
    from discreet.workload import plan

    made = plan(workload, Concentrated(Fraction(1, 2)) if bell else Pure(Fraction(1)))
    estimate = made.foresee()
    return Foreseen(made, estimate, estimate.answer(workload).variances)
