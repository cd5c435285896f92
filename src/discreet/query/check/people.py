"""Rows of people beside each other: who owns a row through keys, and what joins two private relations.

A table whose unit leads through another one is joined with the keys of that one, each with its person, so
that every row has its person beside it (`discreet.query.catalog.link` says what is promised, and
`discreet.query.proof.path` proves it).  Two private relations are joined on the person.  Where the condition
equates a key with a column that refers to it, the person is the same wherever keys are unique, so the
equation of the people is added; where a key is not unique, rows of different people are kept apart by it.

A limit of rows that a join needs is one side's where each of its rows meets the key of the other side at most
once.  That is taken from the declarations and costs nothing to believe: whatever the data, the weights of the
statement keep everybody within the limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from discreet.errors import QueryError
from discreet.query.catalog.link import KeyLink
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.check.scope import Lineage, Names
from discreet.query.plan import Call, Column, Scalar, given, walk
from discreet.query.statement import Inner, JoinedRows, Query, Source, StoredTable


def attributed(table: DeclaredTable, catalog: Catalog, own: str, fresh: Names) -> tuple[Source, Scalar]:
    """Return the rows of a table, each beside its person, and the person's column."""
    link, keys = given(table.link), next(fresh)
    parent = given(catalog.table(link.table))
    inner = next(fresh)
    source: Source = StoredTable(parent.name, inner)
    person: Scalar = Column(inner, parent.unit or "")
    if parent.link is not None:
        source, person = attributed(parent, catalog, inner, fresh)
    key = Column(inner, link.key)
    lookup = Query((("k", key), ("u", Call("min", (person,)))), source, None, (key,))
    on = Call("eq", (Column(own, link.column), Column(keys, "k")))
    return JoinedRows(StoredTable(table.name, own), Inner(lookup, keys), on), Column(keys, "u")


def keys_of(table: DeclaredTable, catalog: Catalog, own: str) -> tuple[tuple[Scalar, str], ...]:
    """Return the columns that determine a row's person, each with the key that it is or refers to."""
    found: list[tuple[Scalar, str]] = [
        (Column(own, link.key), f"{link.table}.{link.key}")
        for link in _links(catalog)
        if link.table == table.name
    ]
    if table.link is not None:
        found.append((Column(own, table.link.column), f"{table.link.table}.{table.link.key}"))
    return tuple(found)


def keyed_once(table: DeclaredTable, catalog: Catalog, own: str) -> Iterator[Scalar]:
    """Yield the columns that other tables' paths refer to: a key that is referred to is there once."""
    return (Column(own, link.key) for link in _links(catalog) if link.table == table.name)


def _links(catalog: Catalog) -> list[KeyLink]:
    return [table.link for table in catalog.tables if table.link is not None]


def join_people(
    left: Lineage,
    right: Lineage,
    joint: Lineage,
    equal: Sequence[tuple[Scalar, ...]],
    equated: set[frozenset[Scalar]],
) -> Lineage:
    """Return the join of two private relations, refusing one that mixes people."""
    if not left.units or not right.units:
        raise QueryError(
            "JOIN", "tables without a unit have no person to join on", "declare unit = COLUMN for both tables"
        )
    if left.adjacency is not right.adjacency:
        raise QueryError(
            "JOIN", "the tables declare different neighbours", "declare the same neighbours for both"
        )
    source = joint.source
    if not isinstance(source, JoinedRows):
        raise AssertionError("what is joined is a join")
    if not any(frozenset((one, other)) in equated for one in left.units for other in right.units):
        if not _same_key(left, right, equated):
            one, other = (_unit_column(side) for side in (left, right))
            raise QueryError(
                "JOIN",
                "two private tables must be joined on the person, or one person's rows meet another's",
                f"add ON {one} = {other}",
            )
        people = Call("eq", (given(left.unit), given(right.unit)))
        source = replace(source, on=Call("and", (source.on, people)))
    both = left.bound is not None and right.bound is not None
    return replace(
        joint,
        source=source,
        units=left.units if source.outer else left.units + right.units,
        bound=left.bound * right.bound if both else None,  # type: ignore[operator]
        rows=_rows(left, right, equal, outer=source.outer),
        groups=_smaller(left.groups, right.groups),
        per_group=_smaller(left.per_group, right.per_group),
        unique=_still_once(left, right, equal, outer=source.outer),
        keyed=left.keyed if source.outer else left.keyed + right.keyed,
        ranks=(),
    )


def _same_key(left: Lineage, right: Lineage, equated: set[frozenset[Scalar]]) -> bool:
    """Whether a join equates two columns that are, or refer to, one key: its person is that of both."""
    return any(
        node == other and frozenset((one, two)) in equated
        for one, node in left.keyed
        for two, other in right.keyed
    )


def _rows(left: Lineage, right: Lineage, equal: Sequence[tuple[Scalar, ...]], *, outer: bool) -> int | None:
    """Return the limit of a person's pairs of rows."""
    mine, theirs = (side.rows if side.bound is None else side.bound for side in (left, right))
    if _meets_once(left, right, equal):
        return _smaller(mine, theirs) if not outer and _meets_once(right, left, equal) else mine
    if not outer and _meets_once(right, left, equal):
        return theirs
    return None if mine is None or theirs is None else mine * theirs


def _still_once(
    left: Lineage, right: Lineage, equal: Sequence[tuple[Scalar, ...]], *, outer: bool
) -> tuple[Scalar, ...]:
    """Return the columns that a person still has once: those of a side whose rows meet one other at most."""
    kept = left.unique if _meets_once(left, right, equal) else ()
    return (*kept, *(right.unique if not outer and _meets_once(right, left, equal) else ()))


def _meets_once(rows: Lineage, other: Lineage, equal: Sequence[tuple[Scalar, ...]]) -> bool:
    """Whether a row meets one row of the same person at most: it fixes a column that is there once."""
    only = other.rows if other.bound is None else other.bound
    return only == 1 or any(
        bare(key) in other.unique and not (_columns(value) & _columns_of(other))
        for pair in equal
        for key, value in (pair, pair[::-1])
    )


def _columns(scalar: Scalar) -> set[str | None]:
    return {part.relation for part in walk(scalar) if isinstance(part, Column)}


def _columns_of(side: Lineage) -> frozenset[str | None]:
    return frozenset(relations(side.source))


def relations(source: Source) -> frozenset[str]:
    """Return the names under which a source offers columns."""
    if isinstance(source, JoinedRows):
        return relations(source.left) | relations(source.right)
    return frozenset((source.alias,))


def bare(scalar: Scalar) -> Scalar:
    """Return a scalar without a conversion that keeps different values apart."""
    match scalar:
        # Text keeps identifiers apart; a conversion to floating point could make two people one.
        case Call("to_text", (inner,)):
            return inner
        case _:
            return scalar


def _unit_column(lineage: Lineage) -> str:
    visible = [f"{c.alias}.{c.name}" for c in lineage.columns if c.typed.scalar in lineage.units]
    visible += [
        f"{c.alias}.{c.name}"
        for c in lineage.columns
        if any(c.typed.scalar == column for column, _ in lineage.keyed)
    ]
    return visible[0] if visible else "the person's column"


def _smaller(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known) if known else None
