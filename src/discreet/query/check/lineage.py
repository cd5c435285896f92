"""Whose row is it: unit lineage through every operator below the final aggregation.

Invariant.  A private relation R satisfies  R(D) = union over people p of R(D restricted to p),  a disjoint
union of multisets: every row belongs to one person and is computed from that person's rows, public tables
and constants.  It holds for a declared table; filters and projections keep it; joining with a public table
keeps it; joining two private relations keeps it when the condition equates their persons; grouping keeps it
when the person is among the keys.  Everything else is refused here.  So adding or removing a person only
adds or removes rows of that person, and the bounds on contributions can be enforced last, once.

`bound` is the number of rows that one person can have in the relation by construction, where one is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from discreet.errors import QueryError
from discreet.query.catalog import manifest as declared
from discreet.query.catalog.kind import Opaque, Truth, Typed, word
from discreet.query.check import function
from discreet.query.check.function.zone import as_declared
from discreet.query.check.people import attributed, bare, join_people, keyed_once, keys_of, relations
from discreet.query.check.per_person import per_person, true_of
from discreet.query.check.ranking import narrowed, numbered, numbers_only
from discreet.query.check.scope import (
    UNIT,
    Lineage,
    Names,
    Visible,
    carried,
    condition,
    nearest,
    renamed,
    resolve,
)
from discreet.query.check.series import (
    above_rows,
    below_groups,
    dates_of_aggregates,
    inside_aggregates,
    serial,
    windows_of,
)
from discreet.query.check.stack import full, stacked
from discreet.query.name import HIDDEN, folded
from discreet.query.plan import (
    Block,
    Call,
    Column,
    Join,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    aggregates,
    conjuncts,
    rebuilt,
    walk,
)
from discreet.query.statement import Inner, JoinedRows, Query, Source, StoredTable


def trace(relation: Relation, catalog: declared.Catalog, fresh: Names) -> Lineage:
    """Return a relation's lineage, refusing what mixes people."""
    match relation:
        case Scan():
            return _scan(relation, catalog, next(fresh), fresh)
        case Nested():
            return _nested(relation, catalog, fresh)
        case Join():
            return _join(relation, catalog, fresh)
        case UnionAll(blocks, alias):
            parts = [_nested(Nested(block, alias), catalog, fresh) for block in blocks]
            _require_one_spelling("UNION ALL", parts, catalog)
            return stacked(parts, alias, next(fresh))
        case _:
            assert_never(relation)


def _scan(scan: Scan, catalog: declared.Catalog, own: str, fresh: Names) -> Lineage:
    table = catalog.meant(scan.table)
    if table is None:
        raise QueryError(
            f"FROM {scan.table}",
            "no such table is declared",
            nearest(scan.table.rpartition(".")[2], [t.name for t in catalog.tables]),
        )
    columns = [
        Visible(
            scan.alias,
            column.name,
            as_declared(Typed(Column(own, column.name), column.kind)),
            column.nullable,
            table.name if column.auto else None,
        )
        for column in table.columns
    ]
    units: tuple[Scalar, ...] = ()
    source: Source = StoredTable(table.name, own)
    if table.link is not None:
        source, person = attributed(table, catalog, own, fresh)
        units = (person,)
    elif table.unit is not None:
        units = (Column(own, table.unit),)
        if table.column(table.unit) is None:
            columns.append(Visible(scan.alias, table.unit, Typed(units[0], Opaque())))
    return Lineage(
        source=source,
        columns=tuple(columns),
        tables=(table.name,),
        private=not table.public,
        units=units,
        adjacency=table.adjacency,
        bound=table.rows_per_unit if table.prepared else (None if units else 1),
        rows=table.rows_per_unit,
        groups=table.groups_per_unit,
        per_group=table.rows_per_group,
        unique=tuple(Column(own, c.name) for c in table.columns if c.unique)
        + tuple(keyed_once(table, catalog, own)),
        keyed=keys_of(table, catalog, own) if units else (),
    )


def _join(join: Join, catalog: declared.Catalog, fresh: Names) -> Lineage:
    left, right = trace(join.left, catalog, fresh), trace(join.right, catalog, fresh)
    taken = {folded(column.alias) for column in left.columns}
    name = next((column.alias for column in right.columns if folded(column.alias) in taken), None)
    if name is not None:
        raise QueryError(
            f"JOIN {name}", "the name is used twice", f"give one side another name: JOIN {name} AS other"
        )
    on = resolve(join.on, replace(left, columns=left.columns + right.columns), "ON")
    if not isinstance(on.kind, Truth):
        raise QueryError("ON", "must be a condition", "write ON a.person = b.person")
    if not join.full:
        return _paired(left, right, on.scalar, fresh, outer=join.outer)
    if not (left.private and right.private):
        raise QueryError(
            "FULL JOIN", "keeps rows of a public table that belong to nobody", "write LEFT JOIN instead"
        )
    _require_one_spelling("FULL JOIN", (left, right), catalog)
    met, alone = (
        _paired(one, other, on.scalar, fresh, outer=True) for one, other in ((left, right), (right, left))
    )
    return full(left, right, met, alone, next(fresh))


def _require_one_spelling(clause: str, parts: Sequence[Lineage], catalog: declared.Catalog) -> None:
    """Refuse tables that declare the person differently: who is 7 in one could be 007 in another."""
    found = {_spelling(name, catalog) for part in parts if part.private for name in part.tables} - {None}
    if len(found) > 1:
        raise QueryError(
            clause,
            f"the tables declare the person differently ({', '.join(sorted(map(str, found)))}), "
            "so one person could count as two",
            "declare the unit's type alike in all of them",
        )


def _spelling(name: str, catalog: declared.Catalog) -> str | None:
    """Return how a table declares its people; None where it has none, or where every row is a person."""
    table = catalog.table(name)
    while table is not None and table.link is not None:
        table = catalog.table(table.link.table)
    if table is None or table.public or table.unit is None:
        return None
    column = table.column(table.unit)
    return "undeclared" if column is None else word(column.kind)


def _paired(left: Lineage, right: Lineage, on: Scalar, fresh: Names, *, outer: bool) -> Lineage:
    """Return two relations joined on a condition."""
    columns = left.columns + right.columns
    equal = [part.arguments for part in conjuncts(on) if isinstance(part, Call) and part.function == "eq"]
    equated = {frozenset(map(bare, pair)) for pair in equal}
    joint = replace(
        left,
        source=JoinedRows(left.source, right.source, on, outer),
        columns=columns,
        tables=tuple(sorted({*left.tables, *right.tables})),
    )
    if outer and not left.private and right.private:
        raise QueryError(
            "LEFT JOIN",
            "a public table on the left keeps rows that belong to nobody",
            "put the private table on the left",
        )
    if left.private and right.private:
        return join_people(left, right, joint, equal, equated)
    if not left.private and not right.private:
        return replace(joint, unique=(), once=())
    person, public = (left, right) if left.private else (right, left)
    matched = _matched(person, public, equal)
    once = matched is not None or _met_once(person, public, equal)
    bound = person.bound if once else None
    if matched is not None and (bound is not None or person.ranks):
        joint = _deduplicated(joint, public, matched, next(fresh))
    if bound is None and not person.units:
        raise QueryError(
            "JOIN",
            "one row may match many public rows, and without a unit nothing bounds them",
            "join on a public column declared unique = true, equal to columns of the private table alone, "
            "or declare a unit on the private table",
        )
    return replace(
        person,
        source=joint.source,
        columns=joint.columns,
        tables=joint.tables,
        bound=bound,
        unique=person.unique if once else (),
        once=(),
        adjacency=person.adjacency,
        ranks=person.ranks if once else (),
    )


def _matched(person: Lineage, public: Lineage, equal: Sequence[tuple[Scalar, ...]]) -> Scalar | None:
    """Return a unique public key that each private row fixes, if the condition has one.

    Let the public table have one row for each value of the key k, and let the condition imply k = e, where e
    is computed from one private row and constants alone.  Then e has one value for that row, so the row meets
    at most one public row.  If e contained a public column, as in k = k || '', it would have a value for
    every pair of rows, and nothing would follow.  Text made of the key is different for different keys.
    """
    own = relations(person.source)
    for one, other in equal:
        for key, value in ((one, other), (other, one)):
            columns = [part for part in walk(value) if isinstance(part, Column)]
            if bare(key) in public.unique and all(column.relation in own for column in columns):
                return bare(key)
    return None


def _met_once(person: Lineage, public: Lineage, equal: Sequence[tuple[Scalar, ...]]) -> bool:
    """Whether each private row fixes all columns that a public subquery is grouped by.

    The argument is that of `_matched`, for several columns at once: the rows of the subquery differ in them.
    """
    own = relations(person.source)

    def fixed(key: Scalar) -> bool:
        return any(
            key == one and all(part.relation in own for part in walk(other) if isinstance(part, Column))
            for pair in equal
            for one, other in (pair, pair[::-1])
        )

    return bool(public.once) and all(map(fixed, public.once))


def _deduplicated(joint: Lineage, public: Lineage, key: Scalar, own: str) -> Lineage:
    """Return the join in which the public table has one row per key, so that uniqueness is a fact."""
    source, table = joint.source, public.source
    if not (isinstance(source, JoinedRows) and isinstance(table, StoredTable)):
        raise AssertionError("only declared public tables have unique columns")
    stored = [column.typed.scalar for column in public.columns]
    least = [_least(column.typed) for column in public.columns]
    items = [(f"c{n}", scalar if scalar == key else least[n]) for n, scalar in enumerate(stored)]
    once = Inner(Query(tuple(items), table, None, (key,)), own)
    renamed = {scalar: Column(own, name) for scalar, (name, _) in zip(stored, items, strict=True)}
    left, right = (once if side == table else side for side in (source.left, source.right))
    return replace(
        joint,
        source=JoinedRows(left, right, rebuilt(source.on, renamed.get), source.outer),
        columns=tuple(
            replace(c, typed=replace(c.typed, scalar=rebuilt(c.typed.scalar, renamed.get)))
            for c in joint.columns
        ),
    )


def _least(typed: Typed) -> Scalar:
    """Return one of a column's values."""
    if isinstance(typed.kind, Truth):
        return true_of(lambda number: Call("min", (number,)), typed.scalar)
    return Call("min", (typed.scalar,))


def _nested(nested: Nested, catalog: declared.Catalog, fresh: Names) -> Lineage:
    block, alias = nested.block, nested.alias
    if block.sets is not None:
        raise QueryError(
            "GROUP BY in a subquery",
            "CUBE, ROLLUP and GROUPING SETS put one row of a person into several groups",
            "use them in the outermost SELECT",
        )
    own = next(fresh)
    inner = trace(block.source, catalog, fresh)
    where = None if block.where is None else condition(block.where, inner, "WHERE")
    grouped = bool(block.group) or block.distinct or any(aggregates(item.scalar) for item in block.items)
    if block.having is not None and not grouped:
        raise QueryError("HAVING", "needs GROUP BY", "use WHERE")
    inner = narrowed(inner, where)
    if inside_aggregates(block):
        return _nested(Nested(above_rows(block), alias), catalog, fresh)
    if grouped and (windows_of(block) or (dates_of_aggregates(block) and not block.distinct)):
        return _nested(Nested(below_groups(block), alias), catalog, fresh)
    if numbers_only(block, inner):
        return numbered(block, alias, own, inner, where, fresh)
    if windows_of(block):
        block, inner = serial(block, inner, where, fresh)
        kept = None if block.where is None else condition(block.where, inner, "QUALIFY")
        return _projected(block, alias, own, narrowed(inner, kept), kept)
    if not grouped:
        return _projected(block, alias, own, inner, where)
    return per_person(block, alias, own, inner, where)


def _projected(block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None) -> Lineage:
    if not block.items:
        # What a row met in the subqueries of its conditions is nobody's column.
        shown = [column for column in inner.columns if not column.alias.startswith(f"{HIDDEN}in")]
        outputs = [(column.name, column.typed, column.nullable, column.auto) for column in shown]
        if len({folded(name) for name, *_ in outputs}) != len(outputs):
            raise QueryError(
                "SELECT *", "two joined tables have a column of the same name", "list the columns you need"
            )
    else:
        outputs = []
        for item in block.items:
            seen = resolve(item.scalar, inner, "SELECT")
            origin = next((c for c in inner.columns if c.typed.scalar == seen.scalar), None)
            outputs.append(
                (
                    item.name,
                    function.graded(function.settle(seen)),
                    origin is None or origin.nullable,
                    None if origin is None else origin.auto,
                )
            )
    items = [(f"c{n}", typed.scalar) for n, (_, typed, *_) in enumerate(outputs)]
    if inner.unit is not None:
        items.append((UNIT, inner.unit))
    columns = tuple(
        Visible(alias, name, replace(typed, scalar=Column(own, f"c{n}")), nullable, auto)
        for n, (name, typed, nullable, auto) in enumerate(outputs)
    )
    # A public subquery is no declared table any more, whose rows the join could keep apart by their key.
    unique = renamed([(scalar, "") for scalar in inner.unique if inner.private], own, items)
    return replace(
        inner,
        source=Inner(Query(tuple(items), inner.source, where), own),
        columns=columns,
        units=carried(inner, own, items),
        unique=tuple(column for column, _ in unique),
        once=(),
        keyed=renamed(inner.keyed, own, items),
        ranks=tuple(column for column, _ in renamed([(one, "") for one in inner.ranks], own, items)),
    )
