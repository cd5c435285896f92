"""One row of each person's: FIRST(x ORDER BY d), ARG_MIN(x, d), MAX_BY(x, d) and ANY_VALUE(x).

In a subquery that groups by the person they pick a value of that person's own rows, which is the first value
of a window over the group: all rows of a group have it, so its maximum is it.  Anywhere else such a value
would be one row's, and is refused.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.name import HIDDEN
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Literal,
    Order,
    Scalar,
    Window,
    change_asked,
    has_window,
    rebuilt,
    walk,
    window_of,
    windowed,
)

Reader = Callable[[object], Scalar]

GROUP = Column(f"{HIDDEN}group", "all")
"""Stands for the terms of GROUP BY until they are known."""


def picked(value: Scalar, *order: Order) -> Scalar:
    """Return the first of a group's values in an order; without one, any of them."""
    for scalar in (value, *(term.scalar for term in order)):
        if any(isinstance(part, Aggregate) for part in walk(scalar)) or has_window(scalar):
            raise QueryError(
                "the first, last or any value of some rows",
                "is picked among rows, before aggregates are made of them",
                "pick it in a subquery of its own, as in FIRST(x ORDER BY day)",
            )
    return Aggregate("max", windowed(Window("first_value", (value,), (GROUP,), order, ("rows", None, None))))


def _beside(node: exp.Expr, read: Reader) -> Scalar:
    """ARG_MIN(x, d) and MAX_BY(x, d)."""
    parts = fields(node, "this", "expression")
    place = read(parts["expression"])
    # Rows without a place count only where there are no others.
    value = Case(((Call("is_null", (place,)), Literal(None)),), read(parts["this"]))
    return picked(value, Order(place, descending=isinstance(node, exp.ArgMax)))


def _end(node: exp.Expr, read: Reader) -> Scalar:
    """FIRST(x ORDER BY d) and LAST(x ORDER BY d)."""
    inner = fields(node, "this")["this"]
    if not isinstance(inner, exp.Order):
        return picked(read(inner))
    parts = fields(inner, "this", "expressions")
    terms = [fields(term, "this", "desc", "nulls_first") for term in parts["expressions"]]
    last = isinstance(node, exp.Last)
    order = [
        Order(
            read(term["this"]),
            bool(term.get("desc")) is not last,
            bool(term.get("nulls_first")) is not last,
        )
        for term in terms
    ]
    return picked(read(parts["this"]), *order)


def from_groups(block: Block, level: int) -> Block:
    """Return a block whose picks are from its own groups, refusing those that are nobody's."""
    grouped = level > 0 and bool(block.group) and block.sets is None

    def meant(scalar: Scalar) -> Scalar | None:
        if not (isinstance(scalar, Aggregate) and isinstance(scalar.argument, Call)):
            return None
        if not has_window(scalar.argument) or GROUP not in walk(scalar.argument):
            return None
        found = window_of(scalar.argument)
        if not grouped:
            raise QueryError(
                "the first, last or any value of some rows",
                "belongs to one row, and so to one person",
                "pick it in a subquery that groups by the person, or ask for MODE(x)",
            )
        if not found.order:
            return replace(scalar, argument=found.arguments[0])
        if scalar.where is not None:
            # The first of the rows that count: those come before all others.
            late = Order(Case(((scalar.where, Literal(0)),), Literal(1)))
            value = Case(((scalar.where, found.arguments[0]),), Literal(None))
            found = replace(found, arguments=(value,), order=(late, *found.order))
        return replace(scalar, argument=windowed(replace(found, partition=block.group)), where=None)

    return change_asked(block, lambda scalar: rebuilt(scalar, meant))


PICKS: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {
    exp.ArgMin: _beside,
    exp.ArgMax: _beside,
    exp.First: _end,
    exp.Last: _end,
}
