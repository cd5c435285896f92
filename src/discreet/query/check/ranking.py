"""The rows of each person in an order: the first, the last, the n-th.

ROW_NUMBER() OVER (PARTITION BY person ORDER BY ...) numbers one person's rows, so nobody's number depends on
anybody else.  Ties are broken by the other columns that are selected, so that the number is a function of the
rows whatever the order in which an engine reads them; rows that are equal in all of them are interchangeable.
Whoever keeps the numbers up to n keeps at most n rows of each person.
"""

from dataclasses import replace

from discreet.errors import QueryError
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
    Window,
    conjuncts,
    constant,
    given,
    has_window,
    window_of,
)
from discreet.query.statement import Inner, Query


def numbered(
    block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None, fresh: Names
) -> Lineage:
    """Return the lineage of a subquery that numbers the rows of each person."""
    windows = [item for item in block.items if has_window(item.scalar)]
    call = windows[0].scalar
    if len(windows) != 1 or not isinstance(call, Call) or call.function != "window":
        raise _refused("stands alone, once, in a column of its own")
    window = window_of(call)
    _require_person(window, inner)
    outputs = [
        (item.name, function.graded(function.settle(resolve(item.scalar, inner, "SELECT"))))
        for item in block.items
        if item is not windows[0]
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
    columns.append(Visible(alias, windows[0].name, Typed(place, Whole(1, None)), nullable=False))
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


def _require_person(window: Window, inner: Lineage) -> None:
    if window.function != "row_number":
        raise _refused("numbers rows; other windows would need more of a person's rows at once")
    if not inner.private or not inner.units:
        raise _refused("needs a table with a unit")
    keys = [function.settle(resolve(term, inner, "PARTITION BY")).scalar for term in window.partition]
    if len(keys) != 1 or keys[0] not in inner.units:
        raise _refused("must number the rows of each person: PARTITION BY the person alone")
    if any(term.nulls_first for term in window.order):
        raise QueryError("NULLS FIRST", "is not supported there", "leave it out: missing values come last")


def _refused(reason: str) -> QueryError:
    return QueryError(
        "a window function over rows of people",
        reason,
        "write ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n in a subquery, and WHERE n = 1",
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
