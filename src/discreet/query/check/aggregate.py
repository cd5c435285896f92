"""Aggregates as measurements and formulas: what to count or sum, and how the statistic follows.

Measurements are shared.  An average is measured on a simplex (`check.contribution`): the distances of a value
from both of its bounds add up to the width of the interval, so their sums get noise for the whole price
instead of half of it, and the number of rows and their sum follow from the same two sums.  A variance needs
the three terms of the squared width, and gives the average as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, comb, floor, isqrt
from typing import Any

from discreet.errors import QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.kind import Real, Typed, Whole, domain, known
from discreet.query.check import function, shape
from discreet.query.check.contribution import claim, claim_simplex
from discreet.query.check.distribution import cells
from discreet.query.check.fixed_point import bounds, cell, units
from discreet.query.check.formula import Constant, Formula, Mean, NoisyTerm, Operation, Variance
from discreet.query.check.key_weights import WEIGHED, key_weights
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
from discreet.query.check.simplex import ONE, ZERO, Simplex
from discreet.query.check.within import left, within
from discreet.query.plan import Aggregate, Case, Column, Literal, Scalar, conjunction, conjuncts, given

CHOICE_LIMIT = 20_000
SQUARE_REACH = 2**25
"""Variances sum squares of integers up to about this, so that they fit into 64 bits."""

SQUARE_WIDTH = isqrt(2**61 - 1)
"""Twice the square of how far bounds are apart, times the weight of a row, stays within 78 bits."""

WIDTHS = {3: 2**19, 4: 2**14}
"""Third and fourth powers are those of integers up to about this, for the same reason."""

DEGREES = {
    "avg": 1,
    **dict.fromkeys(("var_samp", "var_pop", "stddev_samp", "stddev_pop"), 2),
    "skewness": 3,
    **dict.fromkeys(("kurtosis", "kurtosis_pop"), 4),
}
"""The statistics that are measured on a simplex, and the powers of a value that they need."""


@dataclass
class Measuring:
    """The measurements found so far, in the order in which the question needs them."""

    bounding: Bounding
    asked: tuple[Aggregate, ...]
    alone: bool = False
    """Whether all rows are one group that is measured by itself."""
    kept: Scalar | None = None
    """What holds for every row that is measured."""
    found: list[Measured] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    weighted: bool = False
    """Whether keys are found by weights, where somebody may be in several of them."""

    def formula(self, aggregate: Aggregate) -> Formula:
        """Return how an aggregate follows from measurements, adding those that are missing."""
        if aggregate.within is not None:
            raise AssertionError("bounds of what a person adds are said with subqueries before")
        match aggregate.function:
            case "count" if aggregate.argument is None and aggregate.where is None:
                return self._rows()
            case "count" if aggregate.argument is None:
                return NoisyTerm(self.count(aggregate.where))
            case "count" if aggregate.distinct:
                return NoisyTerm(self._distinct(aggregate))
            case "count":
                simplex = self._measured_by(aggregate)
                return NoisyTerm(self._present(aggregate)) if simplex is None else simplex.count
            case "sum" if aggregate.distinct:
                return NoisyTerm(self._each(aggregate))
            case "avg" if aggregate.distinct:
                return self._mean_of_each(aggregate)
            case "sum":
                simplex = self._measured_by(aggregate)
                return NoisyTerm(self._sum(aggregate)) if simplex is None else simplex.total
            case "avg":
                return self._average(aggregate)
            case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
                return self._variance(aggregate)
            case "skewness" | "kurtosis" | "kurtosis_pop":
                return self._shape(aggregate)
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
        """Add the count of rows; where everybody counts for one row, that of people, a whole number."""
        scope = self.bounding.scope
        apart = (self.alone and self.bounding.weight != 1) or self.bounding.size is None
        if where is None and apart and scope.unit is not None and self.bounding.sums().total == 1:
            if not self.bounding.structural:
                self.notes.append("people with more than 1 row count as 1")
            return self._add(self._people())
        if where is None:
            return self._weighed("count(*)", Sort.ROWS, Fixed(None), ZERO, ONE)
        kept = self._filtered(known(1), where)
        return self._weighed("count(*) filter", Sort.ROWS, Fixed(kept.scalar, present=True), ZERO, ONE)

    def people(self) -> int:
        """Add the count of people: each adds 1 to every group kept for them."""
        return self.count() if self.bounding.scope.unit is None else self._add(self._people())

    def selector(self) -> int:
        """Return what decides which keys are shown: the count of people asked for, one more, or weights."""
        if self.weighted and self.bounding.scope.unit is not None and self.bounding.people().total > 1:
            self.found.append(key_weights(self.bounding.people(), self.bounding.scope.unit))
            self.notes.append(WEIGHED)
            return len(self.found) - 1
        if self.bounding.scope.unit is None:
            fixed, sort, limits = Fixed(None), Sort.ROWS, self.bounding.sums()
            selector = Measurement("count(*)", sort, claim(limits, 0, 1), 1, ZERO, ONE, fixed)
        else:
            selector = self._people()
        if selector in self.found:
            self.notes.append("a key is shown where its count is large, so a small count is rather too large")
            return self.found.index(selector)
        self.found.append(replace(selector, name="people per key"))
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
        simplex = self._simplex(aggregate)
        if simplex is None:
            # All values are the same one: the mean is known where there are any.
            total, count = self._sum(aggregate), self._present(aggregate)
            fixed = self._integers(aggregate)
            only = Constant(Fraction(fixed.low, fixed.scale))
            return Operation("clamp", (Operation("ratio", (NoisyTerm(total), NoisyTerm(count))), only, only))
        return Mean(simplex.total, simplex.count, simplex.low, simplex.high)

    def _variance(self, aggregate: Aggregate) -> Formula:
        simplex = self._simplex(aggregate)
        if simplex is None:
            count = NoisyTerm(self._present(aggregate))
            return Operation("clamp", (Operation("ratio", (count, count)), Constant(0), Constant(0)))
        sample = aggregate.function.endswith("samp")
        variance: Formula
        if simplex.degree == 2:
            low, middle, high = simplex.corners
            variance = Variance((low, middle, high), simplex.width, sample)
        else:
            variance = shape.variance(simplex.moment, simplex.count, simplex.width, sample=sample)
        return Operation("sqrt", (variance,)) if aggregate.function.startswith("stddev") else variance

    def _shape(self, aggregate: Aggregate) -> Formula:
        simplex = self._simplex(aggregate)
        if simplex is None:
            # All values are the same one, and have no shape.
            count = NoisyTerm(self._present(aggregate))
            return Operation("nullif", (count, count))
        return shape.SHAPES[aggregate.function](simplex.moment, simplex.count)

    def _simplex(self, aggregate: Aggregate) -> Simplex | None:
        """Return the simplex from which statistics of a column follow, or None where all values are the same.

        Squares are in it where any statistic needs them; a corner for rows without a value is in the first
        simplex of a question that counts all rows.
        """
        alike = [one for one in self._statistics if self._subject(one) == self._subject(aggregate)]
        degree = max(DEGREES[one.function] for one in alike)
        fixed = self._integers(aggregate, degree)
        if fixed.low == fixed.high:
            return None
        complete = self._completed(aggregate)
        own = [replace(fixed, degree=degree, corner=corner) for corner in range(degree + 1 + complete)]
        top = own[0].top
        weight = self.bounding.weight_for(top)
        sensitivity = claim_simplex(self.bounding.sums(), top * weight, len(own))
        scale = fixed.scale**degree
        names = self._corner_names(aggregate, fixed, degree)
        first = self._add_all(
            Measurement(name, Sort.SUM, sensitivity, weight * scale, ZERO, Fraction(top, scale), corner)
            for name, corner in zip(names, own, strict=False)
        )
        width = Fraction(fixed.high - fixed.low, fixed.scale)
        return Simplex(first, degree, Fraction(fixed.low, fixed.scale), width, complete)

    def _corner_names(self, aggregate: Aggregate, fixed: Fixed, degree: int) -> tuple[str, ...]:
        name = self._name(aggregate)
        low, high = (f"{float(Fraction(end, fixed.scale)):g}" for end in (fixed.low, fixed.high))
        below, above = f"{high} - {name}", f"{name} - {low}" if fixed.low else name
        missing = f"{name} missing"
        if degree == 1:
            return f"sum({below})", f"sum({above})", missing
        if degree == 2:
            return f"sum(({below})^2)", f"sum(2 ({below}) ({above}))", f"sum(({above})^2)", missing
        terms = ((comb(degree, corner), degree - corner, corner) for corner in range(degree + 1))
        return *(f"sum({n} ({below})^{one} ({above})^{other})" for n, one, other in terms), missing

    def _measured_by(self, aggregate: Aggregate) -> Simplex | None:
        """Return the simplex that gives a column's count and sum, where one is measured anyway."""
        same = (one for one in self._statistics if self._subject(one) == self._subject(aggregate))
        found = next(same, None)
        return None if found is None else self._simplex(found)

    def _rows(self) -> Formula:
        """Return the count of rows, from a simplex where that is measured anyway."""
        known = [one for one in self._statistics if self._everywhere(one)] or self._statistics[:1]
        simplex = self._simplex(known[0]) if known else None
        return NoisyTerm(self.count()) if simplex is None else simplex.rows

    @property
    def _statistics(self) -> list[Aggregate]:
        """The aggregates that are measured on a simplex."""
        return [one for one in self.asked if one.function in DEGREES and not one.distinct]

    def _completed(self, aggregate: Aggregate) -> bool:
        """Whether a column's simplex also counts rows without a value, because COUNT(*) follows from it."""
        if Aggregate("count") not in self.asked or any(map(self._everywhere, self._statistics)):
            return False
        return self._subject(self._statistics[0]) == self._subject(aggregate)

    def _everywhere(self, aggregate: Aggregate) -> bool:
        """Whether every row has a value of a column."""
        argument = aggregate.argument
        there = isinstance(argument, Column) and not find(argument, self.bounding.scope).nullable
        return there and aggregate.where is None

    def _subject(self, aggregate: Aggregate) -> Scalar:
        """Return what an aggregate is about, whatever it is called."""
        clause = aggregate.function.upper()
        typed = function.settle(resolve(given(aggregate.argument), self.bounding.scope, clause))
        return self._filtered(typed, aggregate.where).scalar

    def _add(self, measured: Measured) -> int:
        if measured not in self.found:
            self.found.append(measured)
        return self.found.index(measured)

    def _add_all(self, corners: Iterable[Measurement]) -> int:
        """Add the corners of a simplex, one after the other, and return the place of the first."""
        first, *_ = [self._add(corner) for corner in corners]
        return first

    def _present(self, aggregate: Aggregate) -> int:
        argument, scope = aggregate.argument, self.bounding.scope
        if isinstance(argument, Column) and not find(argument, scope).nullable:
            return self.count(aggregate.where)
        typed, _ = self._argument(aggregate)
        name = f"count({self._name(aggregate)})"
        return self._weighed(name, Sort.ROWS, Fixed(typed.scalar, present=True), ZERO, ONE)

    def _sum(self, aggregate: Aggregate) -> int:
        fixed = self._integers(aggregate)
        ends = (Fraction(end, fixed.scale) for end in fixed.ends)
        return self._weighed(f"sum({self._name(aggregate)})", Sort.SUM, fixed, *ends)

    def _integers(self, aggregate: Aggregate, degree: int = 1) -> Fixed:
        typed, auto = self._argument(aggregate)
        low, high = bounds(aggregate.function, typed.kind, auto)
        scale, reach = units(typed.kind, low, high), max(abs(low), abs(high))
        while degree == 2 and scale > 1 and reach * scale > SQUARE_REACH:
            scale = max(scale // 2, 1)
        if degree == 2 and (reach * scale > 2**30 or ceil(high * scale) - floor(low * scale) > SQUARE_WIDTH):
            raise QueryError(
                aggregate.function.upper(),
                "the bounds are too wide for squares",
                "narrow them with CLAMP(x, low, high)",
            )
        while degree in WIDTHS and scale > 1 and (high - low) * scale > WIDTHS[degree]:
            scale = max(scale // 2, 1)
        if degree in WIDTHS and (high - low) * scale > WIDTHS[degree]:
            raise QueryError(
                aggregate.function.upper(),
                f"the bounds are too wide for powers of {degree}",
                "the shape of x / 1000.0 is the same: ask for that, or narrow the bounds with CLAMP",
            )
        self._clamped(aggregate, low, high)
        return Fixed(
            typed.scalar, isinstance(typed.kind, Whole), scale, floor(low * scale), ceil(high * scale)
        )

    def _clamped(self, aggregate: Aggregate, low: Fraction, high: Fraction) -> None:
        self.notes.append(
            f"values of {self._name(aggregate)} are clamped to [{float(low):g}, {float(high):g}]"
        )

    def _weighed(self, name: str, sort: Sort, fixed: Fixed, low: Fraction, high: Fraction) -> int:
        least, most = fixed.ends
        weight = self.bounding.weight_for(max(-least, most))
        sensitivity = claim(self.bounding.sums(), least * weight, most * weight)
        return self._add(Measurement(name, sort, sensitivity, weight * fixed.scale, low, high, fixed))

    def _distinct(self, aggregate: Aggregate) -> int:
        typed, _ = self._argument(aggregate)
        if typed.scalar in self.bounding.scope.units:
            return self.people()
        fixed = Fixed(typed.scalar, present=True)
        sensitivity = claim(self.bounding.pairs(), 0, 1)
        name = f"count(distinct {self._name(aggregate)})"
        return self._add(Measurement(name, Sort.DISTINCT, sensitivity, 1, ZERO, ONE, fixed))

    def _each(self, aggregate: Aggregate) -> int:
        """Add the sum of the different values that there are, each of which counts once."""
        typed, _ = self._argument(aggregate)
        if isinstance(typed.kind, Real) and typed.kind.step is None:
            raise QueryError(
                f"{aggregate.function.upper()}(DISTINCT)",
                "needs values on a grid: which decimals are equal would depend on their last digits",
                "write SUM(DISTINCT ROUND(x, 2)), or declare a step",
            )
        fixed = self._integers(aggregate)
        sensitivity = claim(self.bounding.pairs(), *fixed.ends)
        low, high = (Fraction(end, fixed.scale) for end in fixed.ends)
        name = f"sum(distinct {self._name(aggregate)})"
        return self._add(Measurement(name, Sort.EACH, sensitivity, fixed.scale, low, high, fixed))

    def _mean_of_each(self, aggregate: Aggregate) -> Formula:
        total = NoisyTerm(self._each(aggregate))
        count = NoisyTerm(self._distinct(replace(aggregate, function="count")))
        fixed = self._integers(aggregate)
        ends = (Constant(Fraction(end, fixed.scale)) for end in (fixed.low, fixed.high))
        return Operation("clamp", (Operation("ratio", (total, count)), *ends))

    def _quantile(self, aggregate: Aggregate) -> int:
        fixed = self._integers(aggregate)
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
        values = self._candidates(aggregate)
        if values is None or len(values) > CHOICE_LIMIT:
            raise QueryError(
                "MODE",
                "needs a column whose values are declared, or listed by WHERE",
                "declare values = [...] for the column, or low and high, or say WHERE x IN ('a', 'b')",
            )
        monotone = self.bounding.scope.adjacency is Adjacency.ADD_REMOVE
        name = f"mode({self._name(aggregate)})"
        return self._add(
            ModeChoice(name, values, self._score(1, 1), self.bounding.weight, monotone, typed.scalar)
        )

    def _candidates(self, aggregate: Aggregate) -> tuple[Any, ...] | None:
        """Return the values that may be the commonest one: those that are declared, or that conditions leave.

        They are in the declarations and in the question, so which there are tells nothing of the data.
        """
        scope = self.bounding.scope
        own = None if aggregate.where is None else condition(aggregate.where, scope, "FILTER")
        kept = conjunction((*conjuncts(self.kept), *conjuncts(own)))
        argument = given(aggregate.argument)
        named = function.settle(resolve(argument, scope, "MODE"))
        narrow = function.settle(resolve(argument, within(scope, kept), "MODE"))
        return left(named.scalar, domain(narrow.kind), kept)

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
