"""Groups of one person's rows: what a subquery may compute before people are mixed."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Kind, Opaque, Real, Truth, Typed, Whole, domain, known, truth
from discreet.query.check import function
from discreet.query.check.fixed_point import fixed_point
from discreet.query.check.scope import (
    UNIT,
    Lineage,
    Visible,
    as_condition,
    carried,
    condition,
    first_that_holds,
    one_of,
    renamed,
    resolve,
)
from discreet.query.plan import (
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Literal,
    Scalar,
    aggregates,
    given,
)
from discreet.query.statement import Inner, Query


def per_person(block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None) -> Lineage:
    """Return the lineage of a subquery that groups the rows of each person."""
    if block.distinct and (block.group or any(aggregates(item.scalar) for item in block.items)):
        raise QueryError("DISTINCT in a subquery", "is already implied by GROUP BY", "leave DISTINCT out")
    terms = [item.scalar for item in block.items] if block.distinct else list(block.group)
    keys = [function.settle(resolve(term, inner, "GROUP BY")) for term in terms]
    if inner.private:
        if not inner.units:
            raise QueryError(
                "GROUP BY in a subquery",
                "every row is its own person here, so groups would mix people",
                "declare a unit",
            )
        if not any(key.scalar in inner.units for key in keys) and any(
            inner.personal(key.scalar) for key in keys
        ):
            # A key of a table has one person, who is then the same in the whole group.
            keys.append(Typed(given(inner.unit), Opaque()))
        if not any(key.scalar in inner.units for key in keys):
            raise QueryError(
                "GROUP BY in a subquery",
                "an aggregate over several people would have to be private itself",
                f"group by the person first: GROUP BY {_person(inner)}",
            )
    by_key = {key.scalar: key for key in keys}
    outputs: list[tuple[str, Typed]] = []
    for item in block.items:
        outputs.append(
            (item.name, function.graded(function.settle(_person_scalar(item.scalar, inner, by_key))))
        )
    items = [(f"c{n}", typed.scalar) for n, (_, typed) in enumerate(outputs)]
    if inner.unit is not None:
        key = next(key.scalar for key in keys if key.scalar in inner.units)
        items.append((UNIT, key))
    having = None
    if block.having is not None:
        condition = _person_scalar(block.having, inner, by_key)
        if not isinstance(condition.kind, Truth):
            raise QueryError("HAVING", "must be a condition", "compare an aggregate with a constant")
        having = condition.scalar
    bound: int | None = 1
    for key_typed in keys:
        if inner.private and key_typed.scalar not in inner.units:
            values = domain(key_typed.kind) if key_typed.held else None
            bound = None if values is None or bound is None else bound * (len(values) + 1)
    if bound is not None and inner.bound is not None:
        bound = min(bound, inner.bound)
    # A constant tells no groups apart, and an engine may take it for the number of a column.
    grouping = tuple(key.scalar for key in keys if not isinstance(key.scalar, Literal))
    query = Query(tuple(items), inner.source, where, grouping, having)
    return replace(
        inner,
        source=Inner(query, own),
        columns=tuple(
            Visible(alias, name, replace(typed, scalar=Column(own, f"c{n}")))
            for n, (name, typed) in enumerate(outputs)
        ),
        units=carried(inner, own, items),
        bound=bound if inner.private else None,
        unique=tuple(_once(own, items, keys, inner)),
        keyed=renamed([pair for pair in inner.keyed if pair[0] in by_key], own, items),
        ranks=(),
        once=() if inner.private else _keys_of(own, items, grouping),
    )


def _once(own: str, items: list[tuple[str, Scalar]], keys: list[Typed], inner: Lineage) -> tuple[Scalar, ...]:
    """Return the column that each person has once: the only key besides the person."""
    others = {key.scalar for key in keys} - set(inner.units)
    if not inner.private or len(others) != 1:
        return ()
    return tuple(Column(own, name) for name, scalar in items if scalar in others)


def _keys_of(own: str, items: list[tuple[str, Scalar]], grouping: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Return the columns of a grouped subquery that hold its keys, or none where one is not selected."""
    names = {scalar: name for name, scalar in reversed(items)}
    return tuple(Column(own, names[key]) for key in grouping) if all(k in names for k in grouping) else ()


def _person_scalar(scalar: Scalar, inner: Lineage, keys: dict[Scalar, Typed]) -> Typed:
    """Return an expression over one person's aggregates and group keys."""
    if not aggregates(scalar):
        typed = function.settle(resolve(scalar, inner, "SELECT"))
        if typed.scalar in keys or isinstance(scalar, Literal):
            return keys.get(typed.scalar, typed)
        for unit in inner.units:
            if typed.scalar == unit and any(key in inner.units for key in keys):
                return next(key for position, key in keys.items() if position in inner.units)
    match scalar:
        case Aggregate():
            return _person_aggregate(scalar, inner)
        case Call(name, arguments):
            return function.apply(name, [_person_scalar(argument, inner, keys) for argument in arguments])
        case Case(branches, otherwise):
            conditions = [as_condition(_person_scalar(when, inner, keys), "CASE") for when, _ in branches]
            values = [_person_scalar(value, inner, keys) for _, value in branches] + [
                _person_scalar(otherwise, inner, keys)
            ]
            return first_that_holds(conditions, values)
        case Among(argument, values_in):
            return one_of(_person_scalar(argument, inner, keys), values_in)
        case _:
            raise QueryError(
                "SELECT in a subquery",
                "a column must be grouped by or aggregated",
                "add it to GROUP BY, or use MAX(column)",
            )


def counted(name: str, argument: Typed) -> Typed:
    """Return a condition that is added up as the number 1 where it is true and 0 where it is false."""
    added = ("sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
    return (
        function.apply("to_whole", [argument])
        if isinstance(argument.kind, Truth) and name in added
        else argument
    )


def true_of(extreme: Callable[[Scalar], Scalar], condition: Scalar) -> Scalar:
    """Return an extreme of truth values as that of 0 and 1: some engines have none of truth values."""
    return Call("eq", (extreme(Call("to_whole", (condition,))), Literal(1)))


def _person_aggregate(aggregate: Aggregate, inner: Lineage) -> Typed:
    limit = inner.bound if inner.bound is not None else inner.rows
    if aggregate.within is not None:
        raise QueryError(
            "contribution_bounds_per_group",
            "bounds what people add to the groups that are released",
            "write CLAMP(SUM(x), 0, 100) in a subquery",
        )
    if aggregate.argument is None:
        if aggregate.where is None:
            return Typed(Call("count_rows", ()), Whole(0, limit))
        argument = known(1)
    else:
        argument = counted(
            aggregate.function,
            function.settle(resolve(aggregate.argument, inner, aggregate.function.upper())),
        )
    if aggregate.where is not None:
        kept = condition(aggregate.where, inner, "FILTER")
        argument = replace(argument, scalar=Case(((kept, argument.scalar),), Literal(None)))
    match aggregate.function:
        case "count":
            name = "count_distinct" if aggregate.distinct else "count_values"
            return Typed(Call(name, (argument.scalar,)), Whole(0, limit))
        case "min" | "max":
            if isinstance(argument.kind, Opaque):
                raise QueryError(
                    aggregate.function.upper(),
                    "an identifier of undeclared type has no order",
                    "declare its type",
                )
            if isinstance(argument.kind, Truth):
                return truth(true_of(lambda number: Call(aggregate.function, (number,)), argument.scalar))
            # An extreme is one of the values.
            return Typed(Call(aggregate.function, (argument.scalar,)), argument.kind, argument.held)
        case "sum" | "avg" if aggregate.distinct:
            raise QueryError(
                f"{aggregate.function.upper()}(DISTINCT) in a subquery",
                "is not supported per person",
                "take SELECT DISTINCT person, x FROM t first, and sum that",
            )
        case "sum" | "avg":
            return _person_total(aggregate.function, argument, limit)
        case _:
            raise QueryError(
                f"{aggregate.function.upper()} in a subquery",
                "is not supported per person",
                "use COUNT, SUM, AVG, MIN or MAX per person",
            )


def _person_total(name: str, argument: Typed, limit: int | None) -> Typed:
    """Sum in integers inside one person too: a sum of doubles may depend on the order of other rows."""
    integer = fixed_point(name, argument, None)
    total = Call("sum", (integer.scalar,))
    low, high = integer.low, integer.high
    if name == "avg":
        kind: Kind = Real(Fraction(low, integer.scale), Fraction(high, integer.scale))
        return Typed(
            Call("mean", (total, Call("count_values", (integer.scalar,)), Literal(Fraction(integer.scale)))),
            kind,
        )
    ends = (None, None) if limit is None else (min(low, 0) * limit, max(high, 0) * limit)
    if integer.scale == 1 and isinstance(argument.kind, Whole):
        return Typed(Call("to_whole", (total,)), Whole(*ends))
    least, most = (None if end is None else Fraction(end, integer.scale) for end in ends)
    return Typed(
        Call("divide", (Call("to_real", (total,)), Literal(Fraction(integer.scale)))),
        Real(least, most),
    )


def _person(lineage: Lineage) -> str:
    visible = [column.name for column in lineage.columns if column.typed.scalar in lineage.units]
    return visible[0] if visible else "the person's column"
