"""Aggregates as measurements and formulas: what to count or sum, and how the statistic follows.

Measurements are shared: an average reuses the sum and the count that the question asks for anyway, and
otherwise sums distances from the middle of the interval, whose sensitivity is half as large.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

from discreet.errors import QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.kind import Typed, Whole, domain, known
from discreet.query.check import function
from discreet.query.check.contribution import claim
from discreet.query.check.distribution import cells
from discreet.query.check.fixed_point import bounds, cell, units
from discreet.query.check.formula import Constant, Formula, NoisyTerm, Operation
from discreet.query.check.limits import Bounding
from discreet.query.check.measurement import (
    Fixed,
    KeyColumn,
    Measured,
    Measurement,
    ModeChoice,
    QuantileChoice,
    Sort,
)
from discreet.query.check.per_person import counted
from discreet.query.check.scope import condition, find, resolve
from discreet.query.plan import Aggregate, Case, Column, Literal, Scalar, given

CHOICE_LIMIT = 20_000
SQUARE_REACH = 2**25
"""Variances sum squares of integers up to about this, so that they fit into 64 bits."""

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass
class Measuring:
    """The measurements found so far, in the order in which the question needs them."""

    bounding: Bounding
    asked: frozenset[Aggregate]
    found: list[Measured] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def formula(self, aggregate: Aggregate) -> Formula:
        """Return how an aggregate follows from measurements, adding those that are missing."""
        match aggregate.function:
            case "count" if aggregate.argument is None:
                return NoisyTerm(self.count(aggregate.where))
            case "count" if aggregate.distinct:
                return NoisyTerm(self._distinct(aggregate))
            case "count":
                return NoisyTerm(self._present(aggregate))
            case "sum":
                return NoisyTerm(self._sum(aggregate, centred=False))
            case "avg":
                return self._average(aggregate)
            case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
                return self._variance(aggregate)
            case "quantile" | "min" | "max":
                return NoisyTerm(self._quantile(aggregate))
            case "mode":
                return NoisyTerm(self._mode(aggregate))
            case "cdf" | "histogram" | "quantiles":
                # The cell of the argument is a group key, so rows without a value are left out already.
                return NoisyTerm(self.count(aggregate.where))
        raise QueryError(
            aggregate.function.upper(), "is not supported", "use COUNT, SUM, AVG, VARIANCE, MEDIAN or MODE"
        )

    def cells(self, aggregate: Aggregate, place: int) -> KeyColumn:
        """Return the cells of a distribution, which are one more group key in this place."""
        typed, auto = self._argument(replace(aggregate, where=None))
        found = cells(aggregate, typed, auto, place)
        self._clamped(aggregate, *bounds(aggregate.function, typed.kind, auto))
        return found

    def count(self, where: Scalar | None = None) -> int:
        """Add the count of rows."""
        if where is None:
            return self._weighed("count(*)", Sort.ROWS, Fixed(None), ZERO, ONE)
        kept = self._filtered(known(1), where)
        return self._weighed("count(*) filter", Sort.ROWS, Fixed(kept.scalar, present=True), ZERO, ONE)

    def people(self) -> int:
        """Add the count of people: each adds 1 to every group kept for them."""
        return self.count() if self.bounding.scope.unit is None else self._add(self._people())

    def selector(self) -> int:
        """Add one more count of people, only to decide which keys may be shown."""
        if self.bounding.scope.unit is None:
            fixed, sort, limits = Fixed(None), Sort.ROWS, self.bounding.sums()
            selector = Measurement("people per key", sort, claim(limits, 0, 1), 1, ZERO, ONE, fixed)
        else:
            selector = replace(self._people(), name="people per key")
        self.found.append(selector)
        return len(self.found) - 1

    def _people(self) -> Measurement:
        fixed, whole = Fixed(self.bounding.scope.unit, present=True), self.bounding.person
        sensitivity = claim(self.bounding.people(), 0, whole)
        return Measurement("count(distinct person)", Sort.PEOPLE, sensitivity, whole, ZERO, ONE, fixed)

    def _argument(self, aggregate: Aggregate) -> tuple[Typed, str | None]:
        scope = self.bounding.scope
        typed = function.settle(resolve(given(aggregate.argument), scope, aggregate.function.upper()))
        typed = counted(aggregate.function, typed)
        auto = find(aggregate.argument, scope).auto if isinstance(aggregate.argument, Column) else None
        return self._filtered(typed, aggregate.where), auto

    def _filtered(self, typed: Typed, where: Scalar | None) -> Typed:
        if where is None:
            return typed
        kept = condition(where, self.bounding.scope, "FILTER")
        return replace(typed, scalar=Case(((kept, typed.scalar),), Literal(None)))

    def _average(self, aggregate: Aggregate) -> Formula:
        shared = replace(aggregate, function="sum") in self.asked
        total = self._sum(aggregate, centred=not shared)
        count = self._present(aggregate)
        fixed = self._fixed(total)
        mean: Formula = Operation("ratio", (NoisyTerm(total), NoisyTerm(count)))
        if fixed.centre:
            mean = Operation("add", (Constant(Fraction(fixed.centre, fixed.scale)), mean))
        ends = (Constant(Fraction(end, fixed.scale)) for end in (fixed.low, fixed.high))
        return Operation("clamp", (mean, *ends))

    def _variance(self, aggregate: Aggregate) -> Formula:
        first = self._moment(aggregate, square=False)
        second = self._moment(aggregate, square=True)
        count = NoisyTerm(self._present(aggregate))
        fixed = self._fixed(second)
        offset = Constant(Fraction(fixed.offset, fixed.scale**2))
        # With c the count: squares = released + offset * c, and squared deviations = squares - first**2 / c.
        squares = Operation("add", (NoisyTerm(second), Operation("multiply", (offset, count))))
        mean = Operation("ratio", (NoisyTerm(first), count))
        deviations = Operation("subtract", (squares, Operation("multiply", (mean, NoisyTerm(first)))))
        sample = aggregate.function.endswith("samp")
        size: Formula = Operation("subtract", (count, Constant(1))) if sample else count
        half = Fraction(fixed.high - fixed.low, 2 * fixed.scale)
        # Two values at the ends have the largest variance: half**2, or twice that with n - 1 below.
        top = Constant(half**2 * 2 if sample else half**2)
        variance = Operation("clamp", (Operation("ratio", (deviations, size)), Constant(0), top))
        return Operation("sqrt", (variance,)) if aggregate.function.startswith("stddev") else variance

    def _fixed(self, position: int) -> Fixed:
        measurement = self.found[position]
        if not isinstance(measurement, Measurement):
            raise AssertionError("sums are measurements with noise")
        return measurement.fixed

    def _add(self, measured: Measured) -> int:
        if measured not in self.found:
            self.found.append(measured)
        return self.found.index(measured)

    def _present(self, aggregate: Aggregate) -> int:
        argument, scope = aggregate.argument, self.bounding.scope
        if isinstance(argument, Column) and not find(argument, scope).nullable:
            return self.count(aggregate.where)
        typed, _ = self._argument(aggregate)
        name = f"count({self._name(aggregate)})"
        return self._weighed(name, Sort.ROWS, Fixed(typed.scalar, present=True), ZERO, ONE)

    def _sum(self, aggregate: Aggregate, *, centred: bool) -> int:
        fixed = self._integers(aggregate, squares=False)
        if centred:
            fixed = replace(fixed, centre=(fixed.low + fixed.high) // 2)
        return self._weighed(self._sum_name(aggregate, fixed), Sort.SUM, fixed, *self._ends(fixed))

    def _moment(self, aggregate: Aggregate, *, square: bool) -> int:
        fixed = self._integers(aggregate, squares=True)
        centre = (fixed.low + fixed.high) // 2
        reach = max(fixed.high - centre, centre - fixed.low)
        # Half the largest square is taken off each, which halves how far one row can move their sum.
        fixed = replace(fixed, centre=centre, square=square, offset=reach**2 // 2 if square else 0)
        name = self._sum_name(aggregate, fixed) + (" squared" if square else "")
        return self._weighed(name, Sort.SUM, fixed, *self._ends(fixed))

    def _integers(self, aggregate: Aggregate, *, squares: bool) -> Fixed:
        typed, auto = self._argument(aggregate)
        low, high = bounds(aggregate.function, typed.kind, auto)
        scale, reach = units(typed.kind, low, high), max(abs(low), abs(high))
        while squares and scale > 1 and reach * scale > SQUARE_REACH:
            scale = max(scale // 2, 1)
        if squares and reach * scale > 2**30:
            raise QueryError(
                aggregate.function.upper(),
                "the bounds are too wide for squares",
                "narrow them with CLAMP(x, low, high)",
            )
        self._clamped(aggregate, low, high)
        return Fixed(
            typed.scalar, isinstance(typed.kind, Whole), scale, floor(low * scale), ceil(high * scale)
        )

    def _ends(self, fixed: Fixed) -> Iterable[Fraction]:
        return (Fraction(end, fixed.scale**2 if fixed.square else fixed.scale) for end in fixed.ends)

    def _sum_name(self, aggregate: Aggregate, fixed: Fixed) -> str:
        middle = f" - {float(Fraction(fixed.centre, fixed.scale)):g}" if fixed.centre else ""
        return f"sum({self._name(aggregate)}{middle})"

    def _clamped(self, aggregate: Aggregate, low: Fraction, high: Fraction) -> None:
        self.notes.append(
            f"values of {self._name(aggregate)} are clamped to [{float(low):g}, {float(high):g}]"
        )

    def _weighed(self, name: str, sort: Sort, fixed: Fixed, low: Fraction, high: Fraction) -> int:
        weight = self.bounding.weight
        least, most = fixed.ends
        sensitivity = claim(self.bounding.sums(), least * weight, most * weight)
        scale = weight * (fixed.scale**2 if fixed.square else fixed.scale)
        return self._add(Measurement(name, sort, sensitivity, scale, low, high, fixed))

    def _distinct(self, aggregate: Aggregate) -> int:
        typed, _ = self._argument(aggregate)
        if typed.scalar in self.bounding.scope.units:
            return self.people()
        fixed = Fixed(typed.scalar, present=True)
        sensitivity = claim(self.bounding.pairs(), 0, 1)
        name = f"count(distinct {self._name(aggregate)})"
        return self._add(Measurement(name, Sort.DISTINCT, sensitivity, 1, ZERO, ONE, fixed))

    def _quantile(self, aggregate: Aggregate) -> int:
        fixed = self._integers(aggregate, squares=False)
        extremes = {"min": ZERO, "max": ONE}
        level: Fraction = given(extremes.get(aggregate.function, aggregate.parameter))
        if level in (0, 1):
            self.notes.append("a true extreme belongs to one person: MIN and MAX aim a few people inside")
        up, down = level.numerator, level.denominator - level.numerator
        choice = QuantileChoice(
            name=f"quantile({self._name(aggregate)}, {float(level):g})",
            level=level,
            low=fixed.low,
            size=fixed.high - fixed.low + 1,
            units=fixed.scale,
            sensitivity=self._score(max(up, down), up + down),
            scale=self.bounding.weight,
            argument=cell(fixed),
        )
        return self._add(choice)

    def _mode(self, aggregate: Aggregate) -> int:
        typed, _ = self._argument(aggregate)
        values = domain(typed.kind)
        if values is None or len(values) > CHOICE_LIMIT:
            raise QueryError(
                "MODE",
                "needs a column whose values are declared",
                "declare values = [...] for the column, or low and high",
            )
        monotone = self.bounding.scope.adjacency is Adjacency.ADD_REMOVE
        name = f"mode({self._name(aggregate)})"
        return self._add(
            ModeChoice(name, values, self._score(1, 1), self.bounding.weight, monotone, typed.scalar)
        )

    def _score(self, one: int, both: int) -> Sensitivity:
        """Return how far a person moves the scores of all groups, where a row moves them by `one`.

        Replacing rows within one group moves its scores by at most `both` for each; otherwise two groups
        move by `one` each.
        """
        limits = self.bounding.sums()
        total = limits.total * self.bounding.weight
        match limits.adjacency:
            case Adjacency.ADD_REMOVE:
                return Sensitivity.of(one * total)
            case Adjacency.REPLACE if limits.single:
                return Sensitivity.of(both * total)
            case Adjacency.REPLACE:
                return Sensitivity.of(max(2 * one, both) * total)

    def _name(self, aggregate: Aggregate) -> str:
        match aggregate.argument:
            case Column(_, name):
                return name if aggregate.where is None else f"{name} filter"
            case _:
                return "expression"
