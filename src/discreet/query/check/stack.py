"""Rows one after the other: UNION ALL, and FULL JOIN, which is one.

Invariant.  If R and S are unions over people p of R_p and S_p, then R with S below it is the union of R_p
with S_p below it.  So the rows of a union belong to people wherever those of all its parts do, and a person
may have as many rows as in all of them together: limits add up.

A FULL JOIN is a left join with, below it, the rows of the right side that met nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.errors import QueryError
from discreet.query.catalog.kind import Kind, Nothing, Opaque, Real, Text, Typed, Whole, word
from discreet.query.check import function
from discreet.query.check.scope import UNIT, Lineage, Visible
from discreet.query.name import HIDDEN, same
from discreet.query.plan import Call, Column, Scalar, given
from discreet.query.statement import Query, Source, Stacked

BOTH = f"{HIDDEN}both"
"""The alias of columns that a FULL JOIN equates: whichever side has them."""


@dataclass(frozen=True, slots=True)
class Pile:
    """One part of a union: its rows, which of them, and what it offers in each place."""

    source: Source
    columns: tuple[Typed, ...]
    unit: Scalar | None
    where: Scalar | None = None


def stacked(parts: Sequence[Lineage], alias: str, own: str) -> Lineage:
    """Return the rows of several subqueries, one after the other."""
    first = parts[0]
    _require_alike(parts)
    piles = [Pile(part.source, tuple(c.typed for c in part.columns), part.unit) for part in parts]
    source, kinds = _piled(piles, own)
    people = [
        place
        for place in range(len(first.columns))
        if all(part.columns[place].typed.scalar in part.units for part in parts)
    ]
    return replace(
        first,
        source=source,
        columns=tuple(
            Visible(alias, column.name, kind, any(part.columns[place].nullable for part in parts))
            for place, (column, kind) in enumerate(zip(first.columns, kinds, strict=True))
        ),
        tables=tuple(sorted({name for part in parts for name in part.tables})),
        units=_units(first, own, people),
        bound=_total([part.bound for part in parts]) if first.private else None,
        rows=_total([part.rows for part in parts]),
        groups=_total([part.groups for part in parts]),
        per_group=_total([part.per_group for part in parts]),
        unique=(),
        once=(),
        keyed=(),
        ranks=(),
    )


def full(left: Lineage, right: Lineage, met: Lineage, alone: Lineage, own: str) -> Lineage:
    """Return a full join: `met` is the left join of both sides, and `alone` that of the right with the left.

    Of the second only rows are taken that met nobody: their column of the left person is NULL, which no row
    that was met has, because the people are equal.
    """
    visible = (*left.columns, *right.columns)
    columns = tuple(column.typed for column in visible)
    nobody = Call("is_null", (given(left.unit),))
    extra = _shared(left, right)
    piles = [
        Pile(met.source, (*columns, *(one for _, one, _ in extra)), met.unit),
        Pile(alone.source, (*columns, *(other for _, _, other in extra)), alone.unit, nobody),
    ]
    source, kinds = _piled(piles, own)
    count = len(visible)
    shown = [Visible(c.alias, c.name, kind) for c, kind in zip(visible, kinds[:count], strict=True)]
    shown += [Visible(BOTH, name, kind) for (name, _, _), kind in zip(extra, kinds[count:], strict=True)]
    people = [
        count + place
        for place, (_, one, other) in enumerate(extra)
        if one.scalar in left.units and other.scalar in right.units
    ]
    return replace(
        met,
        source=source,
        columns=tuple(shown),
        units=_units(met, own, people),
        bound=_total([met.bound, alone.bound]),
        rows=_pair_rows(left, right),
        unique=(),
        once=(),
        keyed=(),
        ranks=(),
    )


def _shared(left: Lineage, right: Lineage) -> list[tuple[str, Typed, Typed]]:
    """Return the columns of one name that both sides have."""
    return [
        (one.name, one.typed, other.typed)
        for one in left.columns
        for other in right.columns
        if same(one.name, other.name) and (type(one.typed.kind) is type(other.typed.kind))
    ]


def _pair_rows(left: Lineage, right: Lineage) -> int | None:
    """Return the limit of rows: all of them may meet, or none."""
    mine, theirs = (side.rows if side.bound is None else side.bound for side in (left, right))
    return None if mine is None or theirs is None else max(mine * theirs, mine + theirs)


def _require_alike(parts: Sequence[Lineage]) -> None:
    first = parts[0]
    if any(len(part.columns) != len(first.columns) for part in parts):
        raise QueryError("UNION ALL", "the parts have different numbers of columns", "select as many in each")
    if any(part.private != first.private for part in parts):
        raise QueryError(
            "UNION ALL", "puts public rows, which belong to nobody, among people's", "join them instead"
        )
    if any(bool(part.units) != bool(first.units) for part in parts):
        raise QueryError(
            "UNION ALL",
            "mixes tables with a unit and without one",
            "declare unit = COLUMN for all of them",
        )
    if any(part.adjacency is not first.adjacency for part in parts):
        raise QueryError(
            "UNION ALL", "the tables declare different neighbours", "declare the same neighbours for all"
        )


def _piled(piles: Sequence[Pile], own: str) -> tuple[Source, list[Typed]]:
    """Return the rows of all piles, and what is known of each column."""
    places = [_agreed([pile.columns[place] for pile in piles]) for place in range(len(piles[0].columns))]
    people = [None if pile.unit is None else Call("to_text", (pile.unit,)) for pile in piles]
    queries = []
    for number, (pile, person) in enumerate(zip(piles, people, strict=True)):
        items = [(f"c{place}", column[number].scalar) for place, (column, _) in enumerate(places)]
        items += [] if person is None else [(UNIT, person)]
        queries.append(Query(tuple(items), pile.source, pile.where))
    found = [
        replace(column[0], scalar=Column(own, f"c{place}"), kind=kind)
        for place, (column, kind) in enumerate(places)
    ]
    return Stacked(tuple(queries), own), found


def _agreed(columns: Sequence[Typed]) -> tuple[list[Typed], Kind]:
    """Return one column of all parts, of one type.

    Identifiers of undeclared type may be stored differently, so they stand here as texts, which differ where
    they do.
    """
    opaque = [isinstance(column.kind, Opaque) for column in columns]
    if any(opaque) and all(isinstance(c.kind, Opaque | Whole | Text) for c in columns):
        texts = [replace(column, scalar=Call("to_text", (column.scalar,)), held=False) for column in columns]
        return texts, Opaque() if all(opaque) else Text()
    if any(opaque):
        others = next(word(c.kind) for c in columns if not isinstance(c.kind, Opaque))
        raise QueryError("UNION ALL", f"mixes an identifier and {others}", "declare its type")
    parts, kind = function.agree("UNION ALL", columns)
    if isinstance(kind, Nothing):
        raise QueryError("UNION ALL", "has a column of NULL alone", "leave it out, or CAST(NULL AS TEXT)")
    if isinstance(kind, Real):
        parts = [function.graded(function.settle(part)) for part in parts]
    return [replace(part, held=all(column.held for column in columns)) for part in parts], kind


def _units(first: Lineage, own: str, people: Sequence[int]) -> tuple[Scalar, ...]:
    if not first.units:
        return ()
    return (Column(own, UNIT), *(Column(own, f"c{place}") for place in people))


def _total(limits: Sequence[int | None]) -> int | None:
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None
