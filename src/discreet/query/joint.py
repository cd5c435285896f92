"""Groups that overlap, measured together and made consistent.

Grouping sets, running counts and unions of cells are 0/1 workloads W over disjoint cells of the data.  The
engine counts cells; a plan of `discreet.workload` measures what serves W best, with exact noise, and least
squares makes answers of it that cannot contradict each other.

Theorem.  Let one person move the vector of cells by at most k in l1, and let the plan promise epsilon / k
(or rho / k**2) where a person moves one cell by one.  Then the release keeps epsilon (or rho).  For A the
measured matrix, the change A h is a combination of columns of A with coefficients of total size k; norms are
convex, so its l1 and l2 norms are at most k times those of the largest column, and both noises charge for the
norm: the geometric in proportion, the Gaussian in proportion to its square.

Rows without a declared value in every column of a grouping set are left out of all sets: only so do the
totals of one set agree with another's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.query import rewrite
from discreet.query.formula import Public
from discreet.query.measure import Checked, Classes, Declared, Joint, Measurement, Private, Running, Sets
from discreet.query.plan import conjunction
from discreet.query.rows import admitted
from discreet.query.statement import Statement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.workload import Estimate, MarginalPlan, Plan, Workload
    from discreet.workload.noise import Noise

Promise: TypeAlias = Pure | Concentrated
Key: TypeAlias = tuple[Public, ...]

GRID = 2**20
"""Consistent answers are rounded to this fraction of a unit before they are stored."""


def tables(keys: Joint) -> tuple[tuple[int, ...], ...]:
    """Return the sets of columns by which the engine counts: the largest ones, which contain the others."""
    match keys:
        case Sets(_, sets):
            return tuple(chosen for chosen in sets if not any(set(chosen) < set(other) for other in sets))
        case Running(columns) | Classes(columns):
            return (tuple(range(len(columns))),)
        case _:
            assert_never(keys)


def cells(keys: Joint, chosen: tuple[int, ...]) -> Declared:
    """Return the disjoint groups of one table."""
    return Declared(tuple(keys.columns[position] for position in chosen))


def overlap(keys: Joint) -> int:
    """Return the most groups in which one row counts."""
    match keys:
        case Sets(_, sets):
            return len(sets)
        case Running(columns):
            return len(columns[-1].values or ())
        case Classes(columns, groups):
            return max(sum(cell in group for group in groups) for cell in columns[0].values or ())
        case _:
            assert_never(keys)


def output(position: int, table: int) -> str:
    """Return the name of a measurement's integers in one table."""
    return f"m{position}" if table == 0 else f"m{position}t{table}"


def statements(checked: Checked) -> tuple[Statement, ...]:
    """Return the engine statements of a question, one or more for each table where groups overlap."""
    if isinstance(checked.keys, Declared | Private):
        return rewrite.statements(checked)
    return tuple(
        replace(
            statement,
            outputs=tuple(output(int(name.removeprefix("m")), place) for name in statement.outputs),
        )
        for place, chosen in enumerate(tables(checked.keys))
        for statement in rewrite.statements(_table(checked, checked.keys, chosen))
    )


def _table(checked: Checked, keys: Joint, chosen: tuple[int, ...]) -> Checked:
    """Return the question with the disjoint groups of one table."""
    left_out = [column for place, column in enumerate(keys.columns) if place not in chosen]
    conditions = [] if checked.rows.where is None else [checked.rows.where]
    conditions += [part for column in left_out for part in admitted(column, column.scalar, checked)]
    rows = replace(checked.rows, where=conjunction(tuple(conditions)))
    return replace(checked, keys=cells(keys, chosen), rows=rows)


def canonical(checked: Checked) -> str:
    """Return the question as text that does not depend on how it was written."""
    if isinstance(checked.keys, Declared | Private):
        return rewrite.canonical(checked)
    parts = [rewrite.canonical(_table(checked, checked.keys, chosen)) for chosen in tables(checked.keys)]
    return "\n".join((*parts, f"together {_shape(checked.keys)!r}"))


def _shape(keys: Joint) -> tuple[Any, ...]:
    match keys:
        case Sets(_, sets):
            return ("sets", sets)
        case Running(columns, levels):
            return ("running", columns[-1].ends, levels)
        case Classes(_, groups):
            return ("classes", tuple(tuple(sorted(group)) for group in groups))
        case _:
            assert_never(keys)


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
        """Return how far an answer may be off in integer units but for probability beta; without key, any.

        An answer is a sum of c_i Z_i with integers Z_i of variance v at least, so it moves in steps of at
        most max |c_i| <= deviation / sqrt(v): where that is coarse, a quantile of a continuous law may be
        short by one step.  Chebyshev's inequality needs no law.
        """
        from discreet.workload import Answers

        chosen = self.variances.max() if key is None else self.variances[self.places[key]]
        deviation, usual = sqrt(chosen), float(Answers(chosen, chosen, self.bell).radius(beta))
        return Fraction(min(usual + deviation * self.grain, deviation / sqrt(beta)))

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
        return tuple(_rounded(Fraction(float(value)) / scale) for value in found)

    def stored(self) -> str:
        """Return the promise and the workload as text: the same question always has the same."""
        from discreet.workload import describe

        about = describe(self.plan)
        asked = {key: about[key] for key in ("workload", "adjacency")}
        return json.dumps(["together/1", asked, "gaussian" if self.bell else "geometric", str(self.reach)])


def _rounded(value: Fraction) -> int | Fraction:
    rounded = Fraction(round(value * GRID), GRID)
    return rounded.numerator if rounded.denominator == 1 else rounded


def together(keys: Joint, measurement: Measurement, promise: Promise) -> Together:
    """Return the plan that releases one measurement of overlapping groups within a promise."""
    import numpy as np

    from discreet.workload import Marginals, plan_marginals
    from discreet.workload.noise import towards_one

    reach = max(ceil(measurement.sensitivity.l1), 1)
    unit = towards_one(promise, reach)
    bell = isinstance(promise, Concentrated)
    places = {key: place for place, key in enumerate(keys.product())}
    if isinstance(keys, Sets):
        workload = Marginals(tuple(len(column.values or ()) for column in keys.columns), keys.sets)
        planned = plan_marginals(workload, unit)
        known = planned.variances()
        spread = [np.full(workload.table_cells(chosen), known[chosen]) for chosen in keys.sets]
        grain = max(_grain(table.noise) for table in planned.tables)
        return Together(planned, reach, np.concatenate(spread), bell, places, grain)
    ahead = foreseen(_workload(keys), bell)
    chosen = ahead.plan.at(unit)
    variances = ahead.variances * ahead.scale_to(chosen)
    return Together(chosen, reach, variances, bell, places, _grain(chosen.noise))


def _grain(noise: "Noise") -> float:
    from discreet.workload.noise import spread

    variance = spread(noise)
    return 1 / sqrt(variance) if variance else 0.0


def _workload(keys: Running | Classes) -> "Workload":
    from discreet.workload import Identity, Matrix, Prefix, Product

    match keys:
        case Running(columns):
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
