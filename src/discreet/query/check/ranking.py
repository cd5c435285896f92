"""The rows of each person in an order: the first, the last, the n-th.

ROW_NUMBER() OVER (PARTITION BY person ORDER BY ...) numbers one person's rows, so nobody's number depends on
anybody else.  Ties are broken by the other columns that are selected, so that the number is a function of the
rows whatever the order in which an engine reads them; rows that are equal in all of them are interchangeable.
Whoever keeps the numbers up to n keeps at most n rows of each person.
"""

from dataclasses import replace

from discreet.query.catalog.kind import Typed, Whole
from discreet.query.check import function
from discreet.query.check.scope import UNIT, Lineage, Names, Visible, carried, renamed, resolve
from discreet.query.plan import (
    Among,
    Block,
    Call,
    Column,
    Literal,
    Scalar,
    conjuncts,
    constant,
    given,
    has_window,
    window_of,
)
from discreet.query.statement import Inner, Query


def numbers_only(block: Block, inner: Lineage) -> bool:
    """Whether a block numbers the rows of each person in one column, and asks for no other window."""
    windows = [item.scalar for item in block.items if has_window(item.scalar)]
    if len(windows) != 1 or block.qualify is not None:
        return False
    call = windows[0]
    window = window_of(call) if isinstance(call, Call) and call.function == "window" else None
    if window is None or window.function != "row_number" or len(window.partition) != 1:
        return False
    key = function.settle(resolve(window.partition[0], inner, "PARTITION BY")).scalar
    return key in inner.units and not any(term.nulls_first for term in window.order)


def numbered(
    block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None, fresh: Names
) -> Lineage:
    """Return the lineage of a subquery that numbers the rows of each person."""
    item = next(item for item in block.items if has_window(item.scalar))
    if not isinstance(item.scalar, Call):
        raise AssertionError("a block that only numbers rows has the number in a column of its own")
    window = window_of(item.scalar)
    outputs = [
        (one.name, function.graded(function.settle(resolve(one.scalar, inner, "SELECT"))))
        for one in block.items
        if one is not item
    ]
    below = next(fresh)
    items = [(f"c{n}", typed.scalar) for n, (_, typed) in enumerate(outputs)]
    terms = [function.settle(resolve(term.scalar, inner, "ORDER BY")).scalar for term in window.order]
    sorted_by = [(f"o{n}", scalar) for n, scalar in enumerate(terms)]
    selected = Query((*items, *sorted_by, (UNIT, given(inner.unit))), inner.source, where)
    order = [
        Call("descending", (Column(below, f"o{n}"),)) if term.descending else Column(below, f"o{n}")
        for n, term in enumerate(window.order)
    ]
    kept = [Column(below, name) for name, _ in items]
    rank = Call("rank", (Column(below, UNIT), *order, *kept))
    passed = [(name, Column(below, name)) for name, _ in items]
    ranked = Query((*passed, (UNIT, Column(below, UNIT)), ("j", rank)), Inner(selected, below))
    columns = [
        Visible(alias, name, replace(typed, scalar=Column(own, f"c{n}")))
        for n, (name, typed) in enumerate(outputs)
    ]
    place = Column(own, "j")
    columns.append(Visible(alias, item.name, Typed(place, Whole(1, None)), nullable=False))
    return replace(
        inner,
        source=Inner(ranked, own),
        columns=tuple(columns),
        units=carried(inner, own, items),
        unique=(place,),
        once=(),
        keyed=renamed(inner.keyed, own, items),
        ranks=(place,),
    )


def narrowed(scope: Lineage, where: Scalar | None) -> Lineage:
    """Return a relation of which a condition keeps the first rows of each person only."""
    limits = [limit for part in conjuncts(where) if (limit := _kept(part, scope)) is not None]
    if not limits:
        return scope
    return replace(scope, bound=min([*limits, *([] if scope.bound is None else [scope.bound])]))


def _kept(part: Scalar, scope: Lineage) -> int | None:
    """Return how many numbers of rows satisfy a condition."""
    match part:
        case Call("eq", (place, Literal(int()))) if place in scope.ranks:
            return 1
        case Call("le", (place, last)) if place in scope.ranks and (number := constant(last)) is not None:
            return max(number, 1)
        case Among(place, values) if place in scope.ranks:
            return len(values)
        case _:
            return None
