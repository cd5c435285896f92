"""From a plan to a checked question: what to measure, how far one person moves it, what to make of it.

Everything here is a function of the question and the declarations; the data is never looked at, so a
refusal reveals nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query import catalog as declared
from discreet.query import function, rewrite
from discreet.query.claim import Contribution, claim, contribution
from discreet.query.fixed import bounds, units
from discreet.query.formula import Constant, Formula, Key, Noisy, Operation
from discreet.query.kind import Day, Moment, Opaque, Real, Typed, Whole, domain, word
from discreet.query.lineage import Lineage, condition, find, names, resolve, trace
from discreet.query.measure import (
    Checked,
    Declared,
    Fixed,
    KeyColumn,
    Keys,
    Measured,
    Measurement,
    ModeChoice,
    Ordering,
    Output,
    Private,
    QuantileChoice,
    Rows,
    Sort,
)
from discreet.query.plan import (
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Item,
    Literal,
    Scalar,
    aggregates,
    conjunction,
    given,
    walk,
)

WEIGHT = 2**16
"""Integer units that stand for one whole row when people above their limit are weighted down."""

GROUP_LIMIT = 200_000
CHOICE_LIMIT = 20_000
SQUARE_REACH = 2**25


@dataclass(frozen=True, slots=True)
class Limits:
    """A question's own contribution limits; each can only tighten what the table declares."""

    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    rows_per_group: int | None = None


def check(block: Block, catalog: declared.Catalog, limits: Limits | None = None) -> Checked:
    """Return the checked question, or refuse with the clause, the reason and a way out."""
    block, limits = _lift(block), limits or Limits()
    scope = trace(block.source, catalog, names())
    if not scope.private:
        raise QueryError("FROM", "only public tables are named, which need no privacy", "query them directly")
    scope = replace(
        scope,
        rows=_tighter(scope.rows, limits.rows_per_unit),
        groups=_tighter(scope.groups, limits.groups_per_unit),
        per_group=_tighter(scope.per_group, limits.rows_per_group),
    )
    if not block.items:
        raise QueryError("SELECT *", "a private row cannot be released", "list aggregates such as COUNT(*)")
    asked = [item.scalar for item in block.items] + [order.scalar for order in block.order]
    if not block.group and not any(aggregates(scalar) for scalar in asked):
        raise QueryError(
            "SELECT", "asks for rows of people", "ask for aggregates, such as COUNT(*) or AVG(x)"
        )
    return _Question(scope, block).checked()


def _tighter(declared_limit: int | None, own: int | None) -> int | None:
    if own is None:
        return declared_limit
    if own < 1 or (declared_limit is not None and own > declared_limit):
        raise QueryError(
            "contribution limits",
            "can only be lowered by a question, to 1 at least",
            "ask the curator to raise them",
        )
    return own


def _lift(block: Block) -> Block:
    """Merge an outer block that only selects, filters and sorts a released table into that table's block."""
    from discreet.query.plan import Nested

    if (
        not isinstance(block.source, Nested)
        or block.group
        or any(aggregates(item.scalar) for item in block.items)
    ):
        return block
    inner = _lift(block.source.block)
    if not inner.items or not (inner.group or any(aggregates(item.scalar) for item in inner.items)):
        return block
    if inner.distinct or inner.limit is not None:
        return block
    outputs = {item.name.lower(): item.scalar for item in inner.items}

    def substitute(scalar: Scalar) -> Scalar:
        match scalar:
            case Column(_, name):
                if name.lower() not in outputs:
                    raise QueryError(name, "no such column in the subquery", f"it has {', '.join(outputs)}")
                return outputs[name.lower()]
            case Call(name, arguments):
                return Call(name, tuple(map(substitute, arguments)))
            case Case(branches, otherwise):
                return Case(tuple((substitute(a), substitute(b)) for a, b in branches), substitute(otherwise))
            case Among(argument, values):
                return Among(substitute(argument), values)
            case _:
                return scalar

    having = tuple(
        part
        for part in (inner.having, None if block.where is None else substitute(block.where))
        if part is not None
    )
    return replace(
        inner,
        items=tuple(Item(item.name, substitute(item.scalar)) for item in block.items) or inner.items,
        having=conjunction(having),
        order=tuple(replace(order, scalar=substitute(order.scalar)) for order in block.order),
        limit=block.limit,
        distinct=block.distinct,
    )


@dataclass
class _Question:
    """The working state of one check: the measurements found so far, shared between output columns."""

    scope: Lineage
    block: Block
    measurements: list[Measured] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def checked(self) -> Checked:
        scope, block = self.scope, self.block
        self.where = None if block.where is None else condition(block.where, scope, "WHERE")
        self.columns = self._keys()
        self.private = any(column.values is None for column in self.columns)
        self.size = None if self.private else Declared(self.columns).size
        if self.size is not None and self.size > GROUP_LIMIT:
            raise QueryError(
                "GROUP BY",
                f"has more than {GROUP_LIMIT} declared groups",
                "group by fewer or coarser columns",
            )
        self.asked = {
            (part.function, part.argument, part.where)
            for scalar in self._scalars()
            for part in walk(scalar)
            if isinstance(part, Aggregate)
        }
        outputs = tuple(Output(item.name, self._formula(item.scalar, "SELECT")) for item in block.items)
        having = None if block.having is None else self._formula(block.having, "HAVING")
        order = tuple(
            Ordering(self._formula(o.scalar, "ORDER BY"), o.descending, o.nulls_first) for o in block.order
        )
        keys: Keys = Private(self.columns, self._people()) if self.private else Declared(self.columns)
        if not self.measurements:
            self._people() if scope.units else self._count(None)
        limits = self._weighted_limits() if self._weighs() else None
        checked = Checked(
            keys=keys,
            measurements=tuple(self.measurements),
            columns=outputs,
            having=having,
            order=order,
            limit=block.limit,
            distinct=block.distinct,
            rows=self._rows(),
            contribution=None if limits is None else limits,
            tables=scope.tables,
            canonical="",
            notes=tuple(dict.fromkeys(self.notes)),
        )
        return replace(checked, canonical=rewrite.canonical(checked))

    def _scalars(self) -> Iterable[Scalar]:
        yield from (item.scalar for item in self.block.items)
        yield from (order.scalar for order in self.block.order)
        if self.block.having is not None:
            yield self.block.having

    # ---- keys ----

    def _keys(self) -> tuple[KeyColumn, ...]:
        columns = []
        for position, term in enumerate(self.block.group):
            if aggregates(term):
                raise QueryError("GROUP BY", "cannot contain an aggregate", "group by columns")
            typed = function.settle(resolve(term, self.scope, "GROUP BY"))
            if typed.scalar in self.scope.units:
                raise QueryError(
                    "GROUP BY", "one group per person would release people", "group by something they share"
                )
            match typed.kind:
                case Real() | Moment() | Opaque():
                    raise QueryError(
                        "GROUP BY",
                        f"{word(typed.kind)} values are too fine to be group keys",
                        "use FLOOR(x), a CASE with ranges, or DATE_TRUNC('month', d)",
                    )
            name = next((item.name for item in self.block.items if item.scalar == term), f"key{position + 1}")
            columns.append(KeyColumn(name, typed.scalar, domain(typed.kind), isinstance(typed.kind, Day)))
        return tuple(columns)

    # ---- formulas ----

    def _formula(self, scalar: Scalar, clause: str) -> Formula:
        if not aggregates(scalar):
            found = self._key(scalar)
            if found is not None:
                return found
        match scalar:
            case Literal(value):
                return Constant(value)
            case Aggregate():
                return self._aggregate(scalar)
            case Column(None, name) if (item := self._item(name)) is not None and item.scalar != scalar:
                return self._formula(item.scalar, clause)
            case Call(
                "shift" | "part" | "trunc" | "difference" | "like" | "ilike" | "lower" | "upper" | "concat", _
            ):
                raise QueryError(
                    clause,
                    "text and date functions of released values are not supported",
                    "apply them to the answer",
                )
            case Call(name, arguments) if name in _OPERATIONS:
                operands = tuple(self._formula(argument, clause) for argument in arguments)
                if name == "negate":
                    return Operation("subtract", (Constant(0), *operands))
                return Operation(_OPERATIONS[name], operands)
            case Case(branches, otherwise):
                parts = [self._formula(part, clause) for branch in branches for part in branch]
                return Operation("case", (*parts, self._formula(otherwise, clause)))
            case Among(argument, values):
                return Operation(
                    "among", (self._formula(argument, clause), *(Constant(value.value) for value in values))
                )
            case _:
                raise QueryError(
                    clause,
                    "every column must be grouped by or aggregated",
                    "add it to GROUP BY, or aggregate it",
                )

    def _item(self, name: str) -> Item | None:
        return next((item for item in self.block.items if item.name.lower() == name.lower()), None)

    def _key(self, scalar: Scalar) -> Formula | None:
        for position, term in enumerate(self.block.group):
            if term == scalar:
                return Key(position)
        if isinstance(scalar, Literal):
            return None
        try:
            resolved = function.settle(resolve(scalar, self.scope, "SELECT")).scalar
        except QueryError:
            if isinstance(scalar, Column) and self._item(scalar.name) is None:
                raise
            return None
        for position, column in enumerate(self.columns):
            if column.scalar == resolved:
                return Key(position)
        return None

    def _aggregate(self, aggregate: Aggregate) -> Formula:
        match aggregate.function:
            case "count" if aggregate.argument is None:
                return Noisy(self._count(aggregate.where))
            case "count" if aggregate.distinct:
                return Noisy(self._distinct(aggregate))
            case "count":
                return Noisy(self._present(aggregate))
            case "sum":
                return Noisy(self._sum(aggregate, centred=False))
            case "avg":
                return self._average(aggregate)
            case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
                return self._variance(aggregate)
            case "quantile" | "min" | "max" | "mode":
                return Noisy(self._selection(aggregate))
        raise QueryError(
            aggregate.function.upper(), "is not supported", "use COUNT, SUM, AVG, VARIANCE, MEDIAN or MODE"
        )

    def _argument(self, aggregate: Aggregate) -> tuple[Typed, str | None]:
        typed = function.settle(resolve(given(aggregate.argument), self.scope, aggregate.function.upper()))
        auto = None
        if isinstance(aggregate.argument, Column):
            auto = find(aggregate.argument, self.scope).auto
        return self._filtered(typed, aggregate.where), auto

    def _filtered(self, typed: Typed, where: Scalar | None) -> Typed:
        if where is None:
            return typed
        kept = condition(where, self.scope, "FILTER")
        return replace(typed, scalar=Case(((kept, typed.scalar),), Literal(None)))

    def _average(self, aggregate: Aggregate) -> Formula:
        shared = ("sum", aggregate.argument, aggregate.where) in self.asked
        total = self._sum(aggregate, centred=not shared)
        count = self._present(aggregate)
        fixed = self._fixed(total)
        scale = fixed.scale
        mean: Formula = Operation("ratio", (Noisy(total), Noisy(count)))
        if fixed.centre:
            mean = Operation("add", (Constant(Fraction(fixed.centre, scale)), mean))
        return Operation(
            "clamp", (mean, Constant(Fraction(fixed.low, scale)), Constant(Fraction(fixed.high, scale)))
        )

    def _variance(self, aggregate: Aggregate) -> Formula:
        first = self._moment(aggregate, square=False)
        second = self._moment(aggregate, square=True)
        count = Noisy(self._present(aggregate))
        fixed = self._fixed(second)
        offset = Constant(Fraction(fixed.offset, fixed.scale**2))
        # With c the count: squares = released + offset * c, and squared deviations = squares - first**2 / c.
        squares = Operation("add", (Noisy(second), Operation("multiply", (offset, count))))
        mean = Operation("ratio", (Noisy(first), count))
        deviations = Operation("subtract", (squares, Operation("multiply", (mean, Noisy(first)))))
        sample = aggregate.function.endswith("samp")
        size: Formula = Operation("subtract", (count, Constant(1))) if sample else count
        half = Fraction(fixed.high - fixed.low, 2 * fixed.scale)
        top = half**2 * 2 if sample else half**2
        variance = Operation("clamp", (Operation("ratio", (deviations, size)), Constant(0), Constant(top)))
        return Operation("sqrt", (variance,)) if aggregate.function.startswith("stddev") else variance

    # ---- measurements ----

    def _fixed(self, position: int) -> Fixed:
        measurement = self.measurements[position]
        if not isinstance(measurement, Measurement):
            raise AssertionError("sums are measurements with noise")
        return measurement.fixed

    def _add(self, measurement: Measured) -> int:
        for position, known in enumerate(self.measurements):
            if known == measurement:
                return position
        self.measurements.append(measurement)
        return len(self.measurements) - 1

    def _count(self, where: Scalar | None) -> int:
        if where is None:
            return self._weighed("count(*)", Sort.ROWS, Fixed(None), Fraction(0), Fraction(1))
        typed = self._filtered(Typed(Literal(1), Whole(1, 1)), where)
        return self._weighed(
            "count(*) filter", Sort.ROWS, Fixed(typed.scalar, present=True), Fraction(0), Fraction(1)
        )

    def _present(self, aggregate: Aggregate) -> int:
        if isinstance(aggregate.argument, Column) and not find(aggregate.argument, self.scope).nullable:
            return self._count(aggregate.where)
        typed, _ = self._argument(aggregate)
        return self._weighed(
            f"count({self._name(aggregate)})",
            Sort.ROWS,
            Fixed(typed.scalar, present=True),
            Fraction(0),
            Fraction(1),
        )

    def _sum(self, aggregate: Aggregate, *, centred: bool) -> int:
        typed, auto = self._argument(aggregate)
        low, high = bounds(aggregate.function, typed.kind, auto)
        scale = units(typed.kind, low, high)
        bottom, top = (low * scale).__floor__(), (high * scale).__ceil__()
        centre = (bottom + top) // 2 if centred else 0
        fixed = Fixed(typed.scalar, isinstance(typed.kind, Whole), scale, bottom, top, centre)
        name = (
            f"sum({self._name(aggregate)})"
            if not centre
            else f"sum({self._name(aggregate)} - {float(Fraction(centre, scale)):g})"
        )
        self.notes.append(
            f"values of {self._name(aggregate)} are clamped to [{float(low):g}, {float(high):g}]"
        )
        return self._weighed(name, Sort.SUM, fixed, *(Fraction(end, scale) for end in fixed.ends))

    def _moment(self, aggregate: Aggregate, *, square: bool) -> int:
        typed, auto = self._argument(aggregate)
        low, high = bounds(aggregate.function, typed.kind, auto)
        scale = units(typed.kind, low, high)
        # Squares of the integers must stay inside 64 bits: coarser units where the declared step is too fine.
        while scale > 1 and max(abs(low), abs(high)) * scale > SQUARE_REACH:
            scale = max(scale // 2, 1)
        if max(abs(low), abs(high)) * scale > 2**30:
            raise QueryError(
                aggregate.function.upper(),
                "the bounds are too wide for squares",
                "narrow them with CLAMP(x, low, high)",
            )
        bottom, top = (low * scale).__floor__(), (high * scale).__ceil__()
        centre = (bottom + top) // 2
        reach = max(top - centre, centre - bottom)
        offset = reach**2 // 2 if square else 0
        fixed = Fixed(typed.scalar, isinstance(typed.kind, Whole), scale, bottom, top, centre, square, offset)
        name = (
            f"sum({self._name(aggregate)} - {float(Fraction(centre, scale)):g}){' squared' if square else ''}"
        )
        self.notes.append(
            f"values of {self._name(aggregate)} are clamped to [{float(low):g}, {float(high):g}]"
        )
        ends = (Fraction(end, scale**2 if square else scale) for end in fixed.ends)
        return self._weighed(name, Sort.SUM, fixed, *ends)

    def _weighed(self, name: str, sort: Sort, fixed: Fixed, low: Fraction, high: Fraction) -> int:
        limits = self._weighted_limits()
        weight = self._weight()
        sensitivity = claim(limits, fixed.ends[0] * weight, fixed.ends[1] * weight)
        scale = weight * (fixed.scale**2 if fixed.square else fixed.scale)
        return self._add(Measurement(name, sort, sensitivity, scale, low, high, fixed))

    def _people(self) -> int:
        """Count people per group: each adds 1 to every group kept for them."""
        if not self.scope.units:
            return self._count(None)
        limits = self._people_limits()
        fixed = Fixed(self.scope.unit, present=True)
        return self._add(
            Measurement(
                "count(distinct person)", Sort.PEOPLE, claim(limits, 0, 1), 1, Fraction(0), Fraction(1), fixed
            )
        )

    def _distinct(self, aggregate: Aggregate) -> int:
        typed, _ = self._argument(aggregate)
        if typed.scalar in self.scope.units:
            return self._people()
        limits = self._pair_limits()
        fixed = Fixed(typed.scalar, present=True)
        name = f"count(distinct {self._name(aggregate)})"
        return self._add(
            Measurement(name, Sort.DISTINCT, claim(limits, 0, 1), 1, Fraction(0), Fraction(1), fixed)
        )

    def _selection(self, aggregate: Aggregate) -> int:
        typed, auto = self._argument(aggregate)
        if aggregate.function == "mode":
            return self._mode(aggregate, typed)
        low, high = bounds(aggregate.function, typed.kind, auto)
        scale = units(typed.kind, low, high)
        bottom, top = (low * scale).__floor__(), (high * scale).__ceil__()
        level = {"min": Fraction(0), "max": Fraction(1)}.get(aggregate.function, aggregate.parameter)
        level = given(level)
        if level in (0, 1):
            self.notes.append(
                "a true extreme belongs to one person, so MIN and MAX aim a few people inside the data"
            )
        self.notes.append(
            f"values of {self._name(aggregate)} are clamped to [{float(low):g}, {float(high):g}]"
        )
        fixed = Fixed(typed.scalar, isinstance(typed.kind, Whole), scale, bottom, top)
        up, down = level.numerator, level.denominator - level.numerator
        name = f"quantile({self._name(aggregate)}, {float(level):g})"
        sensitivity = self._choice(max(up, down), up + down)
        size = top - bottom + 1
        return self._add(
            QuantileChoice(name, level, bottom, size, scale, sensitivity, self._weight(), rewrite.cell(fixed))
        )

    def _mode(self, aggregate: Aggregate, typed: Typed) -> int:
        values = domain(typed.kind)
        if values is None or len(values) > CHOICE_LIMIT:
            raise QueryError(
                "MODE",
                "needs a column whose values are declared",
                "declare values = [...] for the column, or low and high",
            )
        name = f"mode({self._name(aggregate)})"
        monotone = self.scope.adjacency is Adjacency.ADD_REMOVE
        return self._add(ModeChoice(name, values, self._choice(1, 1), self._weight(), monotone, typed.scalar))

    def _choice(self, one: int, both: int) -> Sensitivity:
        limits = self._weighted_limits()
        total = limits.total * self._weight()
        match limits.adjacency:
            case Adjacency.ADD_REMOVE:
                change = one * total
            case Adjacency.REPLACE if limits.single:
                change = both * total
            case Adjacency.REPLACE:
                change = 2 * one * total
        return Sensitivity.of(change)

    def _name(self, aggregate: Aggregate) -> str:
        match aggregate.argument:
            case Column(_, name):
                return name if aggregate.where is None else f"{name} filter"
            case _:
                return f"expression {1 + list(self._arguments()).index(aggregate.argument)}"

    def _arguments(self) -> Iterable[Scalar | None]:
        return dict.fromkeys(
            part.argument
            for scalar in self._scalars()
            for part in walk(scalar)
            if isinstance(part, Aggregate)
        )

    # ---- contribution limits ----

    @property
    def single(self) -> bool:
        """Whether there is exactly one group."""
        return self.size == 1

    def _weighs(self) -> bool:
        return any(
            not isinstance(m, Measurement) or m.sort in (Sort.ROWS, Sort.SUM) for m in self.measurements
        )

    def _structural(self) -> bool:
        """Whether people are within their limit of rows by construction."""
        bound, rows = self.scope.bound, self.scope.rows
        return bound is not None and (rows is None or bound <= rows)

    def _cellwise(self) -> bool:
        """Whether limits per group have to be enforced, rather than the total alone."""
        scope = self.scope
        if scope.per_group is None or not scope.units:
            return False
        rows = scope.bound if self._structural() else scope.rows
        return rows is None or scope.per_group < rows

    def _weight(self) -> int:
        return 1 if self._structural() and not self._cellwise() else WEIGHT

    def _weighted_limits(self) -> Contribution:
        scope = self.scope
        rows = scope.bound if self._structural() else scope.rows
        if self._cellwise():
            groups = min(
                (limit for limit in (scope.groups, self.size, rows) if limit is not None), default=None
            )
            found = contribution(scope.adjacency, rows, scope.per_group, groups, single=self.single)
        else:
            groups = scope.bound if self._structural() else None
            found = contribution(scope.adjacency, rows, None, groups, single=self.single)
        if found is None:
            raise QueryError(
                "the table",
                "does not say how many rows one person may have",
                "declare rows_per_unit (or groups_per_unit and rows_per_group), or pass rows_per_unit=...",
            )
        return found

    def _people_limits(self) -> Contribution:
        limit = min(
            (n for n in (self.scope.bound, self.size, self.scope.groups, self.scope.rows) if n is not None),
            default=None,
        )
        if limit is None:
            raise QueryError(
                "GROUP BY",
                "does not say in how many groups one person may count",
                "declare groups_per_unit (or rows_per_unit) in the manifest, or pass groups_per_unit=...",
            )
        return Contribution(self.scope.adjacency, limit, 1, limit, self.single)

    def _pair_limits(self) -> Contribution:
        rows = self.scope.bound if self._structural() else self.scope.rows
        found = contribution(self.scope.adjacency, rows, None, rows, single=self.single)
        if found is None:
            raise QueryError(
                "COUNT(DISTINCT)",
                "the table does not say how many rows one person may have",
                "declare rows_per_unit in the manifest, or pass rows_per_unit=...",
            )
        return found

    def _rows(self) -> Rows:
        scope = self.scope
        people = self._people_limits().total if self._has(Sort.PEOPLE) else None
        free = [limit for limit in (scope.bound, self.size) if limit is not None]
        cellwise = self._cellwise()
        return Rows(
            source=scope.source,
            where=self.where,
            unit=scope.unit,
            adjacency=scope.adjacency,
            bound=scope.bound,
            rows=None if self._structural() else scope.rows,
            groups=scope.groups if cellwise else None,
            per_group=scope.per_group if cellwise else None,
            people=None if people is None or (free and people >= min(free)) else people,
        )

    def _has(self, sort: Sort) -> bool:
        return any(isinstance(m, Measurement) and m.sort is sort for m in self.measurements)


_OPERATIONS = {
    name: name
    for name in (
        *(
            "add",
            "subtract",
            "multiply",
            "divide",
            "negate",
            "absolute",
            "least",
            "greatest",
            "clamp",
            "sqrt",
        ),
        *(
            "round",
            "floor",
            "ceil",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "and",
            "or",
            "not",
            "is_null",
            "coalesce",
        ),
    )
}
"""What may be computed from released values."""
