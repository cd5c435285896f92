"""How statements are laid out for PostgreSQL: people are put in order before anything is told of each.

A hash table of a million people is larger than the caches of a processor, and every row waits for memory
several times; a sort goes through memory in order, is shared by parallel workers, and took a third to two
thirds of the time.  So rows whose people are integers are sorted, in three places.

*Counted.*  Rows that are joined with the number of rows of their person have that number told beside each of
them by a window, from one sort of all that is needed of them, instead of being looked up.  Where only some
rows count, those in groups that are shown, the others are left out beforehand: they were in no group that is.

*Grouped.*  A part that groups rows by the person alone groups those rows of its source, put in order of the
person: the same groups of the same rows.

*Ranked.*  Cells that differ are ranked within each person by a key that is a function of the cell.  The key
is worked out for every row, so one order by person, key and cell puts equal cells beside each other, and is
that of the rank too: cells that agree in all but the key agree in it.

Orders say nothing about which rows there are; what groups and ranks of them mean does not depend on any.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from discreet.engines.kinds import known, scope
from discreet.query.plan import (
    Call,
    Column,
    Literal,
    Scalar,
    Window,
    conjunction,
    conjuncts,
    rebuilt,
    walk,
    windowed,
)
from discreet.query.statement import ROWS, Inner, JoinedRows, Named, Query, Source, Statement

KEY = "__key"
"""The column of a cell's key; no other has such a name."""

ROWS_OF = Call("count_rows", ())
"""How many rows a person has, where rows are grouped by the person."""

OF_COUNTS = {"least", "greatest", "quotient", "narrow", "long"}
"""Functions of a number of rows that are the same whether it was grouped or told beside each row."""

Orders = Mapping[Query, tuple[str, ...]]
"""The queries inside of a statement that are put in order, each with the columns that say which."""

Whole = Callable[[Scalar, Source], bool]
"""Whether a scalar over a source is a column of integers."""


def laid_out(statement: Statement, tables: Mapping[str, Mapping[str, str]]) -> tuple[Statement, Orders]:
    """Return a statement of the same meaning, and which of its queries are to be put in order."""
    parts, orders = dict(statement.parts), dict[Query, tuple[str, ...]]()

    def whole(scalar: Scalar, source: Source) -> bool:
        return isinstance(scalar, Column) and known(scalar, scope(source, parts, tables)).kind == "integer"

    statement = _counted(statement, whole)
    kept = list[tuple[str, Query]]()
    for name, part in statement.parts:
        query, order = (part, {}) if name == ROWS else _grouped(part, whole)
        kept.append((name, query))
        orders |= order
    body = statement.body
    if isinstance(body.source, Inner):
        query, order = _ranked(body.source.query, whole)
        body = replace(body, source=Inner(query, body.source.alias))
        orders |= order
    return replace(statement, parts=tuple(kept), body=body), orders


def _counted(statement: Statement, whole: Whole) -> Statement:
    """Return a statement that has the number of a person's rows beside each of them, instead of joined."""
    body = statement.body
    match statement.parts, body.source:
        case (
            ((_, _), (name, Query(items, Named(read, alias), where, (Column() as person,), None))),
            JoinedRows(Named(rows, left), Named(joined, right), on, False),
        ) if (read, rows, joined) == (ROWS, ROWS, name):
            own, facts = Named(read, alias), dict(items)
        case _:
            return statement
    whose = Column(left, person.name)
    same = [Call("eq", (whose, Column(right, one))) for one in facts if facts[one] == person]
    if on not in same or not whole(person, own) or not all(_of_count(one, person) for one in facts.values()):
        return statement
    if where is not None and not _keeps(body, _moved(where, lambda column: Column(left, column.name))):
        return statement
    scalars = [
        *(scalar for _, scalar in body.items),
        *body.group,
        *conjuncts(body.where),
        *conjuncts(body.having),
    ]
    used = dict.fromkeys(part for one in scalars for part in walk(one) if isinstance(part, Column))
    if {column.relation for column in used} - {left, right}:
        return statement
    count = windowed(Window("count", (person,), (person,), (), ("rows", None, None)))

    def told(column: Column) -> Scalar:
        if column.relation == left:
            return Column(alias, column.name)
        return rebuilt(facts[column.name], lambda part: count if part == ROWS_OF else None)

    names = {column: f"c{place}" for place, column in enumerate(used)}
    some = conjunction((Call("not", (Call("is_null", (person,)),)), *conjuncts(where)))
    rows_told = Query(tuple((name, told(column)) for column, name in names.items()), own, some)

    def beside(scalar: Scalar) -> Scalar:
        return _moved(scalar, lambda column: Column("o", names[column]))

    changed = Query(
        tuple((name, beside(scalar)) for name, scalar in body.items),
        Inner(rows_told, "o"),
        None if body.where is None else beside(body.where),
        tuple(map(beside, body.group)),
        None if body.having is None else beside(body.having),
    )
    return replace(statement, parts=statement.parts[:1], body=changed)


def _keeps(body: Query, condition: Scalar) -> bool:
    """Whether a query shows only groups whose every row meets a condition, since their keys do."""
    columns = (part for part in walk(condition) if isinstance(part, Column))
    asked = [rebuilt(one, _of_group) for one in conjuncts(body.having)]
    return all(one in body.group for one in columns) and all(one in asked for one in conjuncts(condition))


def _moved(scalar: Scalar, place: Callable[[Column], Scalar]) -> Scalar:
    """Return a scalar over other columns."""
    return rebuilt(scalar, lambda part: place(part) if isinstance(part, Column) else None)


def _of_group(part: Scalar) -> Scalar | None:
    """Return a key of a group as it is of each row."""
    return part.arguments[0] if isinstance(part, Call) and part.function == "grouped" else None


def _of_count(scalar: Scalar, person: Column) -> bool:
    """Whether a scalar says who a person is, or is a function of how many rows they have."""
    match scalar:
        case Column():
            return scalar == person
        case Literal() | Call("count_rows"):
            return True
        case Call(name, arguments):
            return name in OF_COUNTS and all(_of_count(one, person) for one in arguments)
        case _:
            return False


def _grouped(query: Query, whole: Whole) -> tuple[Query, Orders]:
    """Return a grouping by one column, over the columns that it needs in order of that one."""
    if len(query.group) != 1 or not whole(query.group[0], query.source):
        return query, {}
    scalars = [*query.group, *(scalar for _, scalar in query.items)]
    scalars += [] if query.having is None else [query.having]
    used = dict.fromkeys(part for one in scalars for part in walk(one) if isinstance(part, Column))
    names: dict[Scalar, str] = {column: f"c{place}" for place, column in enumerate(used)}
    rows = Query(tuple((name, column) for column, name in names.items()), query.source, query.where)

    def within(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, lambda part: Column("o", names[part]) if part in names else None)

    return Query(
        tuple((name, within(scalar)) for name, scalar in query.items),
        Inner(rows, "o"),
        None,
        tuple(map(within, query.group)),
        None if query.having is None else within(query.having),
    ), {rows: (names[query.group[0]],)}


def _ranked(query: Query, whole: Whole) -> tuple[Query, Orders]:
    """Return a ranking of cells that differ, over rows in the order of the rank."""
    match query:
        case Query(items, Inner(Query(cells, source, where, group, None), alias), None, (), None):
            own = dict(cells)
        case _:
            return query, {}
    ranks = [scalar for _, scalar in items if isinstance(scalar, Call) and scalar.function == "rank"]
    if len(ranks) != 1 or set(group) != set(own.values()):
        return query, {}
    person, key, *rest = ranks[0].arguments
    terms = [term.name for term in (person, *rest) if isinstance(term, Column)]
    if set(terms) != set(own) or not whole(own[terms[0]], source):
        return query, {}
    keyed = rebuilt(key, lambda part: own[part.name] if isinstance(part, Column) else None)
    rows, order = Query((*cells, (KEY, keyed)), source, where), (terms[0], KEY, *terms[1:])
    each = tuple((name, Column("o", name)) for name in order)
    apart = Query(each, Inner(rows, "o"), None, tuple(column for _, column in each))
    rank = Call("rank", (person, Column(alias, KEY), *rest))
    found = tuple((name, rank if scalar == ranks[0] else scalar) for name, scalar in items)
    return Query(found, Inner(apart, alias)), {rows: order}
