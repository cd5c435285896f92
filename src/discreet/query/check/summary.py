"""Aggregates of released rows: SELECT AVG(n) FROM (SELECT k, COUNT(*) AS n ... GROUP BY k).

The subquery mixes people, so it is the release, and what is made of its rows afterwards is free.  Groups of
released rows are said with windows: each row gets the aggregate of its group, and one row of each is kept.
Nothing here decides about privacy: the block that comes out is checked like any other.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check import function
from discreet.query.check.lineage import trace
from discreet.query.check.scope import names, resolve
from discreet.query.name import folded
from discreet.query.plan import (
    LISTED,
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Item,
    Literal,
    Nested,
    Order,
    Scalar,
    Window,
    aggregates,
    children,
    rebuilt,
    window_of,
    windowed,
)

FUNCTIONS = frozenset(
    ("count", "sum", "avg", "min", "max", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
)


def summarised(block: Block, catalog: Catalog) -> Block:
    """Return a block that aggregates released rows as one that has windows over them, any other as it is."""
    source = block.source
    if not isinstance(source, Nested) or not groups(block):
        return block
    inner = source.block
    if not inner.items or inner.sets is not None or not releases(inner, catalog):
        return block
    return by_windows(block)


def by_windows(block: Block) -> Block:
    """Return a block that aggregates released rows as one with windows, of which one row a group is kept."""
    if block.sets is not None or block.distinct or block.qualify is not None:
        raise QueryError(
            "GROUP BY over released rows", "is plain there", "leave out CUBE, ROLLUP, DISTINCT and QUALIFY"
        )
    _check_groups(block)

    def meant(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, lambda part: _window(part, block) if isinstance(part, Aggregate) else None)

    first = windowed(Window("row_number", (), block.group, (), ("rows", None, None)))
    only = Call("eq", (first, Literal(1)))
    return replace(
        block,
        items=tuple(Item(item.name, meant(item.scalar)) for item in block.items),
        group=(),
        having=None,
        qualify=only if block.having is None else Call("and", (only, meant(block.having))),
        order=tuple(Order(meant(one.scalar), one.descending, one.nulls_first) for one in block.order),
    )


def _check_groups(block: Block) -> None:
    """Refuse what has several values in one group of released rows: a column that is not grouped by."""
    if not block.items:
        raise QueryError("SELECT *", "has no value for a group", "list what GROUP BY has, and aggregates")
    group = frozenset(map(_spelt, block.group))
    clauses = (*(item.scalar for item in block.items), block.having, *(one.scalar for one in block.order))
    for scalar in clauses:
        loose = None if scalar is None else _loose(scalar, group)
        if loose is not None:
            raise QueryError(
                loose.name,
                "is neither grouped by nor inside an aggregate",
                "add it to GROUP BY, or aggregate it",
            )


def _loose(scalar: Scalar, group: frozenset[Scalar]) -> Column | None:
    """Return a column that a group of rows does not determine."""
    if _spelt(scalar) in group or isinstance(scalar, Aggregate):
        return None
    if isinstance(scalar, Column):
        return scalar
    return next((found for part in children(scalar) if (found := _loose(part, group))), None)


def _spelt(scalar: Scalar) -> Scalar:
    """Return a scalar over the one subquery there is, its columns spelt in one way."""
    return rebuilt(scalar, lambda part: Column(None, folded(part.name)) if isinstance(part, Column) else None)


def groups(block: Block) -> bool:
    """Whether a block makes groups of its rows."""
    return bool(block.group) or any(aggregates(item.scalar) for item in block.items)


def releases(block: Block, catalog: Catalog) -> bool:
    """Whether a subquery mixes people: it groups private rows, and not by the person."""
    if not groups(block):
        return False
    try:
        scope = trace(block.source, catalog, names())
        keys = [function.settle(resolve(term, scope, "GROUP BY")).scalar for term in block.group]
    except QueryError:
        # It is refused, with its own words, where it is checked.
        return False
    return scope.private and not any(map(scope.personal, keys))


def _window(aggregate: Aggregate, block: Block) -> Scalar:
    name = aggregate.function
    if name == LISTED and isinstance(aggregate.argument, Call):
        return _listed(aggregate, window_of(aggregate.argument), block)
    if name == "quantile" and aggregate.parameter == Fraction(1, 2):
        name = "median"
    elif name not in FUNCTIONS or aggregate.distinct or aggregate.within is not None:
        raise QueryError(
            f"{name.upper()} over released rows",
            "is not supported",
            "use COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, MIN, MAX or STRING_AGG there",
        )
    value = Literal(1) if aggregate.argument is None else aggregate.argument
    if aggregate.where is not None:
        value = Case(((aggregate.where, value),), Literal(None))
    return windowed(Window(name, (value,), block.group, (), ("rows", None, None)))


def _listed(aggregate: Aggregate, window: Window, block: Block) -> Scalar:
    value, between = window.arguments
    if aggregate.where is not None:
        value = Case(((aggregate.where, value),), Literal(None))
    return windowed(replace(window, arguments=(value, between), partition=block.group))
