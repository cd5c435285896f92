"""What a plan must fulfil whichever face built it, before anything is checked.

A subquery says nothing that would be ignored, every name in it means one thing, and constants are values.
"""

from datetime import date, datetime
from fractions import Fraction
from itertools import chain

from discreet.errors import QueryError
from discreet.query.catalog import manifest as declared
from discreet.query.name import folded
from discreet.query.plan import (
    LISTED,
    Block,
    Join,
    Literal,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    Value,
    aggregates_of,
    walk,
)


def require_wellformed(block: Block, catalog: declared.Catalog) -> None:
    """Refuse a plan with a clause that would be ignored or a name with two meanings."""
    _constants(block)
    for nested in _nested(block.source):
        inner = nested.block
        if nested.name is not None and catalog.table(nested.name) is not None:
            raise QueryError(f"WITH {nested.name}", "shadows a declared table", "give it another name")
        check_names(inner)
        require_wellformed(inner, catalog)


def require_whole(block: Block) -> None:
    """Refuse a subquery about people of which ORDER BY or LIMIT would keep some rows, and lists of rows."""
    if any(one.function == LISTED for one in aggregates_of(block)):
        raise QueryError(
            "STRING_AGG",
            "lists values, and shows what single rows hold",
            "group by the column, and count: SELECT x, COUNT(*) AS n FROM t GROUP BY x",
        )
    for nested in _nested(block.source):
        inner = nested.block
        if inner.order or inner.limit is not None or inner.offset:
            raise QueryError(
                ("ORDER BY" if inner.order else "OFFSET" if inner.offset else "LIMIT") + " in a subquery",
                "would make one person's rows depend on another's",
                "order and limit the final answer",
            )
        require_whole(inner)


def _nested(relation: Relation) -> list[Nested]:
    match relation:
        case Scan():
            return []
        case Nested():
            return [relation]
        case Join(left, right, _):
            return _nested(left) + _nested(right)
        case UnionAll(blocks, alias):
            return [Nested(block, alias) for block in blocks]


def check_names(block: Block) -> None:
    """Refuse a subquery of which two columns have one name."""
    taken: set[str] = set()
    for item in block.items:
        if folded(item.name) in taken:
            raise QueryError(
                f"{item.name} in a subquery",
                "is the name of two columns; names that differ only by case are one",
                "name one of them differently with AS",
            )
        taken.add(folded(item.name))


def _constants(block: Block) -> None:
    clauses = chain((block.where, block.having), block.group, (order.scalar for order in block.order))
    for scalar in (*(item.scalar for item in block.items), *(part for part in clauses if part is not None)):
        _values(scalar)


def _values(scalar: Scalar) -> None:
    for part in walk(scalar):
        if isinstance(part, Literal) and not _plain(part.value):
            raise QueryError(
                "a constant",
                "is not a number, text, truth value, date or time without a zone",
                "convert it to a plain Python value",
            )


def _plain(value: Value) -> bool:
    if isinstance(value, datetime):
        return value.tzinfo is None
    return value is None or type(value) in (bool, int, Fraction, str, date)
