"""Units through keys: whose a row is that belongs to a person only through the rows of other tables.

Promise.  Let a table C refer by its column f to the key k of a table P, whose rows belong to people.  A row c
of C belongs to  a(c) = min { a(r) : r in P, k(r) = f(c), a(r) not NULL },  the first of the people who hold
that key, and to nobody where there are none.  A table with a unit is the beginning: a(r) is the unit of r.
Databases are neighbours if one is the other without all rows, of all tables, that belong to one person there
(or, where people are replaced, if they are the same without one person each).

Theorem.  Whoever stays keeps all rows: if D' is D without the rows of p, every row of D' belongs to the same
person, or to nobody, as in D.
Proof.  By induction on the length of the path.  With a unit there is nothing to show.  Let c stay in C, with
a(c) = q other than p.  Some r in P with k(r) = f(c) has a(r) = q; it stays, and by induction still belongs to
q.  All other rows of that key that stay belong to whom they did, none of whom comes before q; so q is still
the first.  If c belonged to nobody, then no row of its key did, and those that stay still do not.
So the rows of C with their people are the disjoint union over people p of rows that are all removed with p
and that nobody else's removal touches, which is what a personal relation is.  Nothing is assumed about keys:
one that several people hold gives its rows to the first of them, so that no row belongs to two; were they
dropped instead, the removal of one would bring them back for another.

Rule.  C join (SELECT k, min(a) FROM P GROUP BY k) ON f = k  is C with its people.  Needs: P whole,
unfiltered, with its people by the same rule; both columns of one type, whose values are compared as they
are; an inner join on nothing else.
"""

from discreet.errors import ProofError
from discreet.query.plan import Call, Column
from discreet.query.proof.declared import Declarations, TableDeclaration
from discreet.query.proof.derivation import Step
from discreet.query.proof.relation import Owner, Relation, apart, fold
from discreet.query.proof.value import Kind, stored
from discreet.query.statement import Inner, JoinedRows, Query, Source, StoredTable

TOLD = frozenset((Kind.WHOLE, Kind.TEXT, Kind.DAY))
"""Types of keys and people: equal where they are the same, and in an order."""

LONGEST = 8
"""Tables on a path."""


def attributed(source: JoinedRows, declarations: Declarations, hidden: frozenset[str]) -> Relation:
    """Return the judgement about a table's rows with their people."""
    table, alias, person, steps = _owned(source, declarations, hidden, LONGEST)
    apart([alias, person[0]], "a path of keys")
    columns = {(alias, name): stored(kind, f"{table.name}.{name}") for name, kind in table.columns}
    kinds, unit = _end(table, declarations)
    apart([name for name, _ in table.columns], f"the table {table.name}")
    if not isinstance(source.right, Inner):
        raise ProofError("a path of keys", "does not look keys up")
    key = source.right.query.items[0][0]
    columns[person[0], key] = stored(kinds[0], "")
    columns[person] = stored(kinds[1], unit)
    says = f"{table.name}: each row belongs to the first person who holds its key in {steps}"
    owner = Owner(table.adjacency, frozenset((person,)), known=False, united=True, told=kinds[1])
    return Relation(columns, owner, Step("rows through keys", says))


def _owned(
    source: Source, declarations: Declarations, hidden: frozenset[str], left: int
) -> tuple[TableDeclaration, str, tuple[str, str], str]:
    """Return the table that a source is all rows of, its alias, the person's column, and the way there."""
    match source:
        case StoredTable(name, alias):
            table = _declared(name, declarations, hidden)
            if table.unit is None or table.through is not None:
                raise ProofError("a path of keys", "ends at a table that does not say whose its rows are")
            return table, alias, (alias, table.unit), table.name
        case JoinedRows(StoredTable(name, alias), Inner(query, keys), on, False) if left:
            table = _declared(name, declarations, hidden)
            way = _lookup(table, query, declarations, hidden, left)
            (key, _), (person, _) = query.items
            found = {Column(alias, table.through.column if table.through else ""), Column(keys, key)}
            if not (isinstance(on, Call) and on.function == "eq" and set(on.arguments) == found):
                raise ProofError("a path of keys", "is joined on something else than the key")
            if fold(alias) == fold(keys):
                raise ProofError("a path of keys", "has two names that differ only by case or not at all")
            return table, alias, (keys, person), f"{table.name}, {way}"
        case _:
            raise ProofError("a path of keys", "is not the whole of a table with its people")


def _lookup(
    table: TableDeclaration, query: Query, declarations: Declarations, hidden: frozenset[str], left: int
) -> str:
    """Check that a query is the first person of every key of the table that another one refers to."""
    through = table.through
    if through is None or table.unit is not None or table.public or table.kept is not None:
        raise ProofError(f"the table {table.name}", "does not belong to people through another one")
    parent, alias, person, way = _owned(query.source, declarations, hidden, left - 1)
    key = Column(alias, through.key)
    match query.items:
        case ((one, Column() as shown), (two, Call("min", (Column() as first,)))) if one != two:
            plain = shown == key and first == Column(*person) and query.group == (key,)
        case _:
            plain = False
    if not plain or query.where is not None or query.having is not None:
        raise ProofError("a path of keys", "does not look up the first person of every key")
    apart([name for name, _ in query.items], "a path of keys")
    if parent.name != through.table or parent.public or parent.kept is not None:
        raise ProofError("a path of keys", "leads through another table than declared")
    if parent.adjacency is not table.adjacency:
        raise ProofError("a path of keys", "mixes different neighbours")
    kinds = {_kind(table, through.column), _kind(parent, through.key)}
    if len(kinds) != 1 or not kinds <= TOLD:
        raise ProofError(
            "a path of keys", "compares keys of different types, or of such that are not told apart"
        )
    return way


def _declared(name: str, declarations: Declarations, hidden: frozenset[str]) -> TableDeclaration:
    table = declarations.find(name)
    if table is None:
        raise ProofError(f"the table {name}", "is not declared")
    if fold(name) in hidden:
        raise ProofError(f"the table {name}", "is hidden by a part of the same name")
    return table


def _kind(table: TableDeclaration, column: str) -> Kind:
    found = dict(table.columns).get(column)
    if found is None:
        raise ProofError(f"the column {table.name}.{column}", "does not exist there")
    return Kind(found)


def _end(table: TableDeclaration, declarations: Declarations) -> tuple[tuple[str, str], str]:
    """Return the types of the key and of the person at the end of the path, and where that one stands."""
    through = table.through
    if through is None:
        raise ProofError(f"the table {table.name}", "does not belong to people through another one")
    key = dict(table.columns)[through.column]
    parent = declarations.find(through.table)
    while parent is not None and parent.through is not None:
        parent = declarations.find(parent.through.table)
    if parent is None or parent.unit is None or _kind(parent, parent.unit) not in TOLD:
        raise ProofError("a path of keys", "ends at people without an order")
    return (key, dict(parent.columns)[parent.unit]), f"{parent.name}.{parent.unit}"
