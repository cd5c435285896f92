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

Theorem (both signs).  Let each person's integers be sums of n_i q_i with n_i >= 0 of sum at most n and
-r b <= q_i <= b, or -b <= q_i <= r b, for an r <= 1, and k = n b.  Then v / k is in the convex hull of 0, the
e_i and the -r e_j, or of their negatives, and the difference of two such in that of all differences of these.
A norm is largest at corners: so A h is at most k times the largest of A (e_i - e_j), A e_i and
A (e_i + r e_j), where i and j may be the same.  With r = 0 these are swaps; with r = 1 it is as if 2 k units
came or went.

Theorem (corners).  Let the same A measure each of d >= 2 integers of every cell, as the corners of a simplex
are, and let a person's integers, all d of every cell together, be v >= 0 of |v|_1 <= k.  Whoever is replaced
swaps at most k units.  One that leaves a cell for another in the same corner moves one A h by A (e_i - e_j);
one that leaves it for a cell in another corner moves two of them, by A e_i and by -A e_j, whose squares add
up.  So what is measured of all corners moves, in l2, by at most k times the root of the largest
|A (e_i - e_j)|**2 and |A e_i|**2 + |A e_j|**2: by the root of 2 less than with 2 k units that come or go,
unless columns point against each other.  In l1 it is as much as with those: no difference of two columns is
longer than both of them together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.formula import Public
from discreet.query.check.measurement import Classes, Declared, Joint, Measurement, RunningGroups, Sets
from discreet.query.price.tail import NoiseLaw, Peaked, Planned, Round, rate_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.workload import Estimate, MarginalPlan, Plan, Strategy, Workload
    from discreet.workload.noise import Noise

Promise: TypeAlias = Pure | Concentrated
Key: TypeAlias = tuple[Public, ...]

GRID = 2**20
"""Consistent answers are rounded to this fraction of a unit before they are stored."""

PAIRS = 1_024
"""Up to so many cells all pairs of them are compared where people are replaced."""

SHARP = 256
"""At this epsilon for each unit that a person moves, noise other than nothing has probability exp(-256)."""


@dataclass(frozen=True, slots=True)
class Swaps:
    """How units are swapped where people are replaced.

    `back` is how much of a unit somebody can take away for each that somebody can add.  `corners` says that
    other integers of the same cells are measured alike, and that a unit may leave these for those.
    """

    back: Fraction = Fraction(0)
    corners: bool = False

    @property
    def stored(self) -> list[str]:
        """The name of what is promised, and what it depends on."""
        if self.corners:
            return ["together/4"]
        return ["together/3", str(self.back)] if self.back else ["together/2"]


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
    swaps: "Swaps | None" = None
    """Set where `reach` counts units that are swapped for others, and not units that come or go."""
    merged: "Merged | None" = None
    """Where groups are unions of cells: which of them are asked, and which cells they do not tell apart."""

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
        if chosen and (noise := self._plain) is not None:
            return Fraction(noise.radius(beta))
        return Fraction(float(half_widths(chosen**0.5, beta, bell=self.bell, grain=self.grain)))

    @property
    def _plain(self) -> "Noise | None":
        """The noise of every answer, where groups are apart and each is measured by itself."""
        from discreet.workload import Plan

        apart = self.merged is not None and self.merged.apart and isinstance(self.plan, Plan)
        return self.plan.noise if apart and isinstance(self.plan, Plan) else None

    def law(self, key: Key | None = None) -> NoiseLaw:
        """Return the law of an answer in integer units; without a key, of the worst."""
        chosen = self.variances.max() if key is None else self.variances[self.places[key]]
        match self._plain if chosen else None:
            case Geometric(alpha=alpha):
                return Peaked(rate_of(alpha))
            case Gaussian(sigma_squared=variance):
                return Round(float(variance) ** 0.5)
        return Planned(float(chosen) ** 0.5, self.bell, self.grain)

    def release(self, counts: "Mapping[tuple[int, ...], NDArray[Any]]", scale: int) -> tuple[Public, ...]:
        """Draw the noise, once, and return consistent answers for all groups in natural units."""
        from discreet.workload import MarginalPlan, answer_marginals, measure_marginals

        if isinstance(self.plan, MarginalPlan):
            answers = answer_marginals(measure_marginals(self.plan, counts))
            found = [value for chosen in self.plan.workload.sets for value in answers.table(chosen).flat]
        else:
            (table,) = counts.values()
            histogram = table.reshape(-1) if self.merged is None else self.merged.cells(table.reshape(-1))
            found = list(self.plan.estimate(self.plan.measure(histogram)).answer(self.plan.workload).values)
            found = found if self.merged is None else self.merged.spread(found)
        return tuple(rounded(Fraction(float(value)) / scale) for value in found)

    def stored(self) -> str:
        """Return the promise and the workload as text: the same question always has the same."""
        from discreet.workload import describe

        about = describe(self.plan)
        asked = {key: about[key] for key in ("workload", "adjacency")}
        form = ["together/1"] if self.swaps is None else self.swaps.stored
        return json.dumps(
            [form[0], asked, "gaussian" if self.bell else "geometric", str(self.reach), *form[1:]]
        )


def rounded(value: Fraction) -> int | Fraction:
    """Return the nearest number that is stored; a whole one is an int."""
    nearest = Fraction(round(value * GRID), GRID)
    return nearest.numerator if nearest.denominator == 1 else nearest


def together(
    keys: Joint,
    measurement: Measurement,
    promise: Promise,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    position: int = 0,
) -> Together:
    """Return the plan that releases one measurement of overlapping groups within a promise."""
    import numpy as np

    from discreet.workload import Marginals, plan_marginals
    from discreet.workload.noise import grain as coarseness
    from discreet.workload.noise import towards_one

    bell = isinstance(promise, Concentrated)
    places = {key: place for place, key in enumerate(keys.product())}
    if isinstance(keys, Sets):
        reach = _reach(measurement)
        unit = towards_one(_blunted(promise, reach), reach)
        workload = Marginals(tuple(len(column.values or ()) for column in keys.columns), keys.sets)
        tables = plan_marginals(workload, unit)
        each = tables.variances()
        spread = [np.full(workload.table_cells(chosen), each[chosen]) for chosen in keys.sets]
        grain = max(coarseness(table.noise) for table in tables.tables)
        return Together(tables, reach, np.concatenate(spread), bell, places, grain)
    asked = _asked(keys, measurement, adjacency, position, bell=bell)
    chosen = asked.at(promise)
    ahead = foreseen(asked.workload, bell, asked.swaps, asked.parts)
    known = ahead.variances * ahead.scale_to(chosen)
    if asked.merged is not None:
        known = np.array(asked.merged.spread(list(known)))
    grain = coarseness(chosen.noise)
    return Together(chosen, asked.reach, known, bell, places, grain, asked.swaps, asked.merged)


def plan_for(keys: RunningGroups, measurement: Measurement, promise: Promise, adjacency: Adjacency) -> "Plan":
    """Return what is measured for running counts, without the error of every single answer."""
    bell = isinstance(promise, Concentrated)
    return _asked(keys, measurement, adjacency, 0, bell=bell).at(promise)


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Groups that are unions of cells, of which a measurement is asked for some.

    `kinds` says of every cell which of the `count` kinds it is, or `count` where no asked group has it: cells
    of one kind are in the same groups, so their sums are all that is measured.  `shown` are the places of the
    answers among all `size` groups.  A person moves sums of cells by no more than the cells themselves.
    """

    kinds: "NDArray[Any]"
    count: int
    shown: tuple[int, ...]
    size: int
    apart: bool

    def cells(self, counts: "NDArray[Any]") -> "NDArray[Any]":
        """Return the sums over cells of each kind, in exact integers."""
        import numpy as np

        sums = np.zeros(self.count + 1, dtype=object)
        np.add.at(sums, self.kinds, counts)
        return sums[:-1]

    def spread(self, answers: "Sequence[Any]") -> list[Any]:
        """Return answers in the places of their groups; zero stands where nothing was asked."""
        found = [0.0] * self.size
        for place, answer in zip(self.shown, answers, strict=True):
            found[place] = answer
        return found


@dataclass(frozen=True, slots=True, eq=False)
class AskedWorkload:
    """What is asked of one measurement: a workload in parts of the price, and how far a person moves it."""

    workload: "Workload"
    parts: tuple[Fraction, ...]
    reach: int
    swaps: Swaps | None
    merged: Merged | None

    def at(self, promise: Promise) -> "Plan":
        """Return the plan that keeps a promise to one person."""
        from discreet.workload.noise import towards_one

        bell = isinstance(promise, Concentrated)
        made = planned(self.workload, bell, self.swaps, self.parts)
        return made.at(towards_one(_blunted(promise, self.reach), self.reach))


def _asked(
    keys: RunningGroups | Classes,
    measurement: Measurement,
    adjacency: Adjacency,
    position: int,
    *,
    bell: bool,
) -> AskedWorkload:
    workload, parts, merged = _workload(keys, position)
    replaced = adjacency is Adjacency.REPLACE
    swaps = _swaps(workload.cells, measurement, bell=bell) if replaced else None
    return AskedWorkload(workload, parts, _reach(measurement, swaps), swaps, merged)


def _reach(measurement: Measurement, swaps: Swaps | None = None) -> int:
    """Return how far one person moves the cells in l1, or how many units are swapped."""
    return max(ceil(measurement.sensitivity.l1 / (2 if swaps else 1)), 1)


def _swaps(cells: int, measurement: Measurement, *, bell: bool) -> Swaps | None:
    """Return how what one person leaves is swapped for what another brings, where that is any gain."""
    if measurement.fixed.degree:
        # In l1 units of different corners move what is measured as far as if they came or went.
        return Swaps(corners=True) if bell else None
    back = _back(measurement)
    adds = not measurement.sensitivity.scalar and cells <= PAIRS and back < 1
    return Swaps(back) if adds else None


def _back(measurement: Measurement) -> Fraction:
    """Return how far what a row adds reaches to its smaller side, as a part of the larger."""
    sides = max(measurement.high, Fraction(0)), max(-measurement.low, Fraction(0))
    return min(sides) / max(sides) if any(sides) else Fraction(0)


def moved(strategy: "Strategy", *, swaps: Swaps | None) -> Sensitivity:
    """Return how far a unit moves what is measured, as it comes or goes or leaves one cell for another."""
    from discreet.workload.column import beside, swapped
    from discreet.workload.strategy import Kronecker, matrix_of, sensitivity

    if swaps is not None and not isinstance(strategy, Kronecker):
        matrix = matrix_of(strategy)
        return Sensitivity(*(beside(matrix) if swaps.corners else swapped(matrix, swaps.back)))
    alone = sensitivity(strategy, Adjacency.ADD_REMOVE)
    if swaps is None:
        return alone
    # Written out it may be large: no two columns are longer together than the longest twice.
    times = 2 if swaps.corners else 1 + swaps.back
    both = sensitivity(strategy, Adjacency.REPLACE)
    l1, square, linf = times * alone.l1, times**2 * alone.l2_squared, times * alone.linf
    return Sensitivity(max(both.l1, l1), max(both.l2_squared, square), max(both.linf, linf))


def _blunted(promise: Promise, reach: int) -> Promise:
    """Return a promise at which floats still tell variances from zero."""
    if isinstance(promise, Concentrated):
        return promise
    return Pure(min(promise.cost, Fraction(SHARP * reach)))


def _workload(
    keys: RunningGroups | Classes, position: int
) -> "tuple[Workload, tuple[Fraction, ...], Merged | None]":
    from discreet.workload import Identity, Prefix, Product

    match keys:
        case RunningGroups(columns):
            *groups, last = columns
            running = Prefix(len(last.values or ()))
            size = Declared(tuple(groups)).size
            return running if size == 1 else Product((Identity(size), running)), (), None
        case Classes():
            return _classes(keys, position)
        case _:
            assert_never(keys)


@lru_cache(maxsize=64)  # prices are compared, and all corners of a simplex are asked alike
def _classes(keys: Classes, position: int) -> "tuple[Workload, tuple[Fraction, ...], Merged]":
    """Return what questions ask of one measurement, over as few kinds of cells as tell the answers apart."""
    import numpy as np

    from discreet.workload import Matrix, Union

    stretches = keys.asked[position]
    shown = tuple(place for one in stretches for place in range(one.start, one.stop))
    cells = keys.columns[0].values or ()
    among = [tuple(n for n, place in enumerate(shown) if cell in keys.groups[place]) for cell in cells]
    kinds = {kind: place for place, kind in enumerate(sorted(set(among) - {()}))} or {(): 0}
    rows = np.zeros((len(shown), len(kinds)), dtype=np.int64)
    for kind, place in kinds.items():
        rows[list(kind), place] = 1
    stops = np.cumsum([one.stop - one.start for one in stretches])[:-1]
    asked = Union(tuple(Matrix.of(part) for part in np.split(rows, stops)))
    total = sum((one.weight for one in stretches), Fraction(0))
    apart = len(stretches) == 1 and bool((rows.sum(axis=0) <= 1).all())
    places = np.array([kinds.get(kind, len(kinds)) for kind in among])
    merged = Merged(places, len(kinds), shown, keys.size, apart)
    return asked, tuple(one.weight / total for one in stretches), merged


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
def planned(
    workload: "Workload",
    bell: bool,
    swaps: Swaps | None = None,
    parts: tuple[Fraction, ...] = (),
) -> "Plan":
    """Return the best plan for a workload; only the amount of noise depends on the price."""
    from discreet.workload import Matrix, Union, plan
    from discreet.workload.several import plan_several

    price = Concentrated(Fraction(1, 2)) if bell else Pure(Fraction(1))
    if parts and isinstance(workload, Union):
        asked = [part for part in workload.parts if isinstance(part, Matrix)]
        return plan_several(asked, parts, price, partial(moved, swaps=swaps))
    made = plan(workload, price)
    return made if swaps is None else replace(made, sensitivity=moved(made.strategy, swaps=swaps))


@lru_cache(maxsize=16)
def foreseen(
    workload: "Workload",
    bell: bool,
    swaps: Swaps | None = None,
    parts: tuple[Fraction, ...] = (),
) -> Foreseen:
    """Return a plan with what is known of its answers."""
    made = planned(workload, bell, swaps, parts)
    estimate = made.foresee()
    return Foreseen(made, estimate, estimate.answer(workload).variances)
