"""Whose row is it: unit lineage through every operator below the final aggregation.

Invariant.  A private relation R satisfies  R(D) = union over people p of R(D restricted to p),  a disjoint
union of multisets: every row belongs to one person and is computed from that person's rows, public tables
and constants.  It holds for a declared table; filters and projections keep it; joining with a public table
keeps it; joining two private relations keeps it when the condition equates their persons; grouping keeps it
when the person is among the keys.  Everything else is refused here.  So adding or removing a person only
adds or removes rows of that person, and the bounds on contributions can be enforced last, once.

`bound` is the number of rows that one person can have in the relation by construction, where one is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fractions import Fraction
from itertools import count
from typing import assert_never

from discreet.errors import QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog import manifest as declared
from discreet.query.catalog.kind import (
    Kind,
    Nothing,
    Opaque,
    Real,
    Truth,
    Typed,
    Whole,
    domain,
    hold,
    known,
    truth,
    word,
)
from discreet.query.check import function
from discreet.query.check.fixed_point import fixed_point
from discreet.query.name import folded, same
from discreet.query.plan import (
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Join,
    Literal,
    Nested,
    Relation,
    Scalar,
    Scan,
    aggregates,
    conjuncts,
    rebuilt,
    walk,
)
from discreet.query.statement import Inner, Joined, Query, Source, Stored

UNIT = "u"
"""The person's column of a relation inside a statement; the others are c0, c1, ..."""


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that a relation offers, under the alias it is reached by."""

    alias: str
    name: str
    typed: Typed
    nullable: bool = True
    auto: str | None = None


@dataclass(frozen=True, slots=True)
class Lineage:
    """A relation with its columns and its people; `units` are the columns known to equal the person."""

    source: Source
    columns: tuple[Visible, ...]
    tables: tuple[str, ...]
    private: bool
    units: tuple[Scalar, ...] = ()
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    bound: int | None = None
    rows: int | None = None
    groups: int | None = None
    per_group: int | None = None
    unique: tuple[Scalar, ...] = ()

    @property
    def unit(self) -> Scalar | None:
        """The column that identifies a row's person, or None when every row is its own person."""
        return self.units[0] if self.units else None


Names = Iterator[str]


def names() -> Names:
    """Yield the aliases of engine relations: the analyst's own never reach the engine."""
    return (f"t{number}" for number in count())


def trace(relation: Relation, catalog: declared.Catalog, fresh: Names) -> Lineage:
    """Return a relation's lineage, refusing what mixes people."""
    match relation:
        case Scan():
            return _scan(relation, catalog, next(fresh))
        case Nested():
            return _nested(relation, catalog, fresh)
        case Join():
            return _join(relation, catalog, fresh)
        case _:
            assert_never(relation)


def _scan(scan: Scan, catalog: declared.Catalog, own: str) -> Lineage:
    table = catalog.table(scan.table)
    if table is None:
        raise QueryError(
            f"FROM {scan.table}",
            "no such table is declared",
            _near(scan.table, [t.name for t in catalog.tables]),
        )
    columns = [
        Visible(
            scan.alias,
            column.name,
            Typed(Column(own, column.name), column.kind),
            column.nullable,
            table.name if column.auto else None,
        )
        for column in table.columns
    ]
    units: tuple[Scalar, ...] = ()
    if table.unit is not None:
        units = (Column(own, table.unit),)
        if table.column(table.unit) is None:
            columns.append(Visible(scan.alias, table.unit, Typed(units[0], Opaque())))
    return Lineage(
        source=Stored(table.name, own),
        columns=tuple(columns),
        tables=(table.name,),
        private=not table.public,
        units=units,
        adjacency=table.adjacency,
        bound=table.rows_per_unit if table.prepared else (1 if table.unit is None else None),
        rows=table.rows_per_unit,
        groups=table.groups_per_unit,
        per_group=table.rows_per_group,
        unique=tuple(Column(own, c.name) for c in table.columns if c.unique and table.public),
    )


def _join(join: Join, catalog: declared.Catalog, fresh: Names) -> Lineage:
    left, right = trace(join.left, catalog, fresh), trace(join.right, catalog, fresh)
    taken = {folded(column.alias) for column in left.columns}
    name = next((column.alias for column in right.columns if folded(column.alias) in taken), None)
    if name is not None:
        raise QueryError(
            f"JOIN {name}", "the name is used twice", f"give one side another name: JOIN {name} AS other"
        )
    columns = left.columns + right.columns
    scope = replace(left, columns=columns)
    on = resolve(join.on, scope, "ON")
    if not isinstance(on.kind, Truth):
        raise QueryError("ON", "must be a condition", "write ON a.person = b.person")
    equal = [
        part.arguments for part in conjuncts(on.scalar) if isinstance(part, Call) and part.function == "eq"
    ]
    equated = {frozenset(map(_bare, pair)) for pair in equal}
    joint = replace(
        left,
        source=Joined(left.source, right.source, on.scalar, join.outer),
        columns=columns,
        tables=tuple(sorted({*left.tables, *right.tables})),
    )
    if join.outer and not left.private and right.private:
        raise QueryError(
            "LEFT JOIN",
            "a public table on the left keeps rows that belong to nobody",
            "put the private table on the left",
        )
    if left.private and right.private:
        return _join_people(left, right, joint, equated)
    if not left.private and not right.private:
        return replace(joint, unique=())
    person, public = (left, right) if left.private else (right, left)
    matched = _matched(person, public, equal)
    bound = None if matched is None else person.bound
    if matched is not None and bound is not None:
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
        unique=(),
        adjacency=person.adjacency,
    )


def _join_people(left: Lineage, right: Lineage, joint: Lineage, equated: set[frozenset[Scalar]]) -> Lineage:
    if not left.units or not right.units:
        raise QueryError(
            "JOIN", "tables without a unit have no person to join on", "declare unit = COLUMN for both tables"
        )
    if left.adjacency is not right.adjacency:
        raise QueryError(
            "JOIN", "the tables declare different neighbours", "declare the same neighbours for both"
        )
    if not any(frozenset((one, other)) in equated for one in left.units for other in right.units):
        one, other = (_unit_column(side) for side in (left, right))
        raise QueryError(
            "JOIN",
            "two private tables must be joined on the person, or one person's rows meet another's",
            f"add ON {one} = {other}",
        )
    both = left.bound is not None and right.bound is not None
    return replace(
        joint,
        units=left.units
        if isinstance(joint.source, Joined) and joint.source.outer
        else left.units + right.units,
        bound=left.bound * right.bound if both else None,  # type: ignore[operator]
        rows=_product(
            left.rows if left.bound is None else left.bound,
            right.rows if right.bound is None else right.bound,
        ),
        groups=_smaller(left.groups, right.groups),
        per_group=_smaller(left.per_group, right.per_group),
        unique=(),
    )


def _matched(person: Lineage, public: Lineage, equal: Sequence[tuple[Scalar, ...]]) -> Scalar | None:
    """Return a unique public key that each private row fixes, if the condition has one.

    Let the public table have one row for each value of the key k, and let the condition imply k = e, where e
    is computed from one private row and constants alone.  Then e has one value for that row, so the row meets
    at most one public row.  If e contained a public column, as in k = k || '', it would have a value for
    every pair of rows, and nothing would follow.  Text made of the key is different for different keys.
    """
    own = _relations(person.source)
    for one, other in equal:
        for key, value in ((one, other), (other, one)):
            columns = [part for part in walk(value) if isinstance(part, Column)]
            if _bare(key) in public.unique and all(column.relation in own for column in columns):
                return _bare(key)
    return None


def _relations(source: Source) -> frozenset[str]:
    """Return the names under which a source offers columns."""
    if isinstance(source, Joined):
        return _relations(source.left) | _relations(source.right)
    return frozenset((source.alias,))


def _deduplicated(joint: Lineage, public: Lineage, key: Scalar, own: str) -> Lineage:
    """Return the join in which the public table has one row per key, so that uniqueness is a fact."""
    source, table = joint.source, public.source
    if not (isinstance(source, Joined) and isinstance(table, Stored)):
        raise AssertionError("only declared public tables have unique columns")
    stored = [column.typed.scalar for column in public.columns]
    items = [
        (f"c{n}", scalar if scalar == key else Call("min", (scalar,))) for n, scalar in enumerate(stored)
    ]
    once = Inner(Query(tuple(items), table, None, (key,)), own)
    renamed = {scalar: Column(own, name) for scalar, (name, _) in zip(stored, items, strict=True)}
    left, right = (once if side == table else side for side in (source.left, source.right))
    return replace(
        joint,
        source=Joined(left, right, rebuilt(source.on, renamed.get), source.outer),
        columns=tuple(
            replace(c, typed=replace(c.typed, scalar=rebuilt(c.typed.scalar, renamed.get)))
            for c in joint.columns
        ),
    )


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
    where = None if block.where is None else _condition(block.where, inner, "WHERE")
    grouped = bool(block.group) or block.distinct or any(aggregates(item.scalar) for item in block.items)
    if block.having is not None and not grouped:
        raise QueryError("HAVING", "needs GROUP BY", "use WHERE")
    if not grouped:
        return _projected(block, alias, own, inner, where)
    return _per_person(block, alias, own, inner, where)


def _projected(block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None) -> Lineage:
    if not block.items:
        outputs = [(column.name, column.typed, column.nullable, column.auto) for column in inner.columns]
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
                    function.settle(seen),
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
    return replace(
        inner,
        source=Inner(Query(tuple(items), inner.source, where), own),
        columns=columns,
        units=_carried(inner, own, items),
        unique=(),
    )


def _carried(inner: Lineage, alias: str, items: Sequence[tuple[str, Scalar]]) -> tuple[Scalar, ...]:
    if inner.unit is None:
        return ()
    named = tuple(Column(alias, name) for name, scalar in items if scalar in inner.units and name != UNIT)
    return (Column(alias, UNIT), *named)


def _per_person(block: Block, alias: str, own: str, inner: Lineage, where: Scalar | None) -> Lineage:
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
        if not any(key.scalar in inner.units for key in keys):
            raise QueryError(
                "GROUP BY in a subquery",
                "an aggregate over several people would have to be private itself",
                f"group by the person first: GROUP BY {_person(inner)}",
            )
    by_key = {key.scalar: key for key in keys}
    outputs: list[tuple[str, Typed]] = []
    for item in block.items:
        outputs.append((item.name, function.settle(_person_scalar(item.scalar, inner, by_key))))
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
    query = Query(tuple(items), inner.source, where, tuple(key.scalar for key in keys), having)
    return replace(
        inner,
        source=Inner(query, own),
        columns=tuple(
            Visible(alias, name, replace(typed, scalar=Column(own, f"c{n}")))
            for n, (name, typed) in enumerate(outputs)
        ),
        units=_carried(inner, own, items),
        bound=bound if inner.private else None,
        unique=(),
    )


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
            conditions = [_truth(_person_scalar(condition, inner, keys), "CASE") for condition, _ in branches]
            values = [_person_scalar(value, inner, keys) for _, value in branches] + [
                _person_scalar(otherwise, inner, keys)
            ]
            return _case(conditions, values)
        case Among(argument, values_in):
            return _among(_person_scalar(argument, inner, keys), values_in)
        case _:
            raise QueryError(
                "SELECT in a subquery",
                "a column must be grouped by or aggregated",
                "add it to GROUP BY, or use MAX(column)",
            )


def _person_aggregate(aggregate: Aggregate, inner: Lineage) -> Typed:
    limit = inner.bound if inner.bound is not None else inner.rows
    if aggregate.argument is None:
        if aggregate.where is None:
            return Typed(Call("count_rows", ()), Whole(0, limit))
        argument = known(1)
    else:
        argument = function.settle(resolve(aggregate.argument, inner, aggregate.function.upper()))
    if aggregate.where is not None:
        condition = _condition(aggregate.where, inner, "FILTER")
        argument = replace(argument, scalar=Case(((condition, argument.scalar),), Literal(None)))
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
            # An extreme is one of the values.
            return Typed(Call(aggregate.function, (argument.scalar,)), argument.kind, argument.held)
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


def resolve(scalar: Scalar, scope: Lineage, clause: str) -> Typed:
    """Return a row-level scalar with its columns found, its kind inferred and every function made total."""
    match scalar:
        case Literal(value):
            return known(value)
        case Column():
            return find(scalar, scope).typed
        case Call(name, arguments):
            return function.apply(name, [resolve(argument, scope, clause) for argument in arguments])
        case Case(branches, otherwise):
            conditions = [_truth(resolve(condition, scope, clause), "CASE WHEN") for condition, _ in branches]
            values = [resolve(value, scope, clause) for _, value in branches] + [
                resolve(otherwise, scope, clause)
            ]
            return _case(conditions, values)
        case Among(argument, values_in):
            return _among(resolve(argument, scope, clause), values_in)
        case Aggregate():
            raise QueryError(
                clause, "an aggregate is not allowed here", "aggregate per person in a subquery first"
            )
        case _:
            assert_never(scalar)


def find(column: Column, scope: Lineage) -> Visible:
    """Return the one visible column that a name means."""
    matches = [
        visible
        for visible in scope.columns
        if same(visible.name, column.name)
        and (column.relation is None or same(visible.alias, column.relation))
    ]
    if len(matches) == 1:
        return matches[0]
    shown = _show(column)
    if matches:
        # The person's column of joined private tables is the same value on both sides.
        if all(match.typed.scalar in scope.units for match in matches):
            return matches[0]
        raise QueryError(shown, "is a column of several tables", f"write {matches[0].alias}.{column.name}")
    raise QueryError(
        shown, "no such column is declared", _near(column.name, [visible.name for visible in scope.columns])
    )


def _case(conditions: list[Scalar], values: list[Typed]) -> Typed:
    parts, kind = function.agree("CASE", values)
    branches = tuple(zip(conditions, (part.scalar for part in parts[:-1]), strict=True))
    # The value is that of a branch, and the joint kind contains them all.
    return Typed(Case(branches, parts[-1].scalar), kind, parts[0].held)


def _among(argument: Typed, values: Sequence[Literal]) -> Typed:
    parts, kind = function.agree("IN", [argument, *(known(value.value) for value in values)])
    if isinstance(kind, Opaque | Nothing):
        raise QueryError("IN", "needs a column of declared type", "declare the column's type")
    constants = tuple(part.scalar for part in parts[1:] if isinstance(part.scalar, Literal))
    if len(constants) != len(values):
        raise QueryError(
            "IN", f"cannot compare {word(argument.kind)} with these constants", "use constants of its type"
        )
    return truth(Among(parts[0].scalar, constants))


def _truth(typed: Typed, clause: str) -> Scalar:
    if not isinstance(typed.kind, Truth | Nothing):
        raise QueryError(clause, f"needs a condition but got {word(typed.kind)}", "compare it with something")
    return typed.scalar


def _condition(scalar: Scalar, scope: Lineage, clause: str) -> Scalar:
    return _truth(resolve(scalar, scope, clause), clause)


def condition(scalar: Scalar, scope: Lineage, clause: str) -> Scalar:
    """Return a resolved condition, refusing what is not true or false."""
    return _condition(scalar, scope, clause)


def held(typed: Typed) -> Typed:
    """Return a number with its declared interval enforced."""
    return hold(function.settle(typed))


def _bare(scalar: Scalar) -> Scalar:
    match scalar:
        # Text keeps identifiers apart; a conversion to floating point could make two people one.
        case Call("to_text", (inner,)):
            return inner
        case _:
            return scalar


def _unit_column(lineage: Lineage) -> str:
    visible = [f"{c.alias}.{c.name}" for c in lineage.columns if c.typed.scalar in lineage.units]
    return visible[0] if visible else "the person's column"


def _person(lineage: Lineage) -> str:
    visible = [column.name for column in lineage.columns if column.typed.scalar in lineage.units]
    return visible[0] if visible else "the person's column"


def _show(column: Column) -> str:
    return column.name if column.relation is None else f"{column.relation}.{column.name}"


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1, 0.5)
    if near:
        return f"did you mean {near[0]}?"
    return f"declared: {', '.join(known[:12])}" if known else "declare it in the manifest"


def _product(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one * other


def _smaller(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return min(known) if known else None
