"""Whole queries: sources, filters, projections and groups, each turned into a judgement about its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from discreet.errors import ProofError
from discreet.query.plan import Call, Column, Literal, Scalar, walk
from discreet.query.proof.declared import Declarations
from discreet.query.proof.demand import TRUTHS
from discreet.query.proof.derivation import Step
from discreet.query.proof.function import COUNTED, aggregate, evaluate
from discreet.query.proof.join import PLAIN, joined
from discreet.query.proof.own import own_count
from discreet.query.proof.path import attributed
from discreet.query.proof.relation import (
    Name,
    Owner,
    Relation,
    apart,
    bounded,
    filtered,
    fold,
    read_list,
    read_table,
    rename,
)
from discreet.query.proof.series import is_window, windowed
from discreet.query.proof.stack import stacked
from discreet.query.proof.value import MOST_ROWS, Value, whole
from discreet.query.proof.weight import Excess, Fact, Parts, counting, crowd_of, grouped_fact, projected_fact
from discreet.query.statement import Inner, JoinedRows, Listed, Named, Query, Source, Stacked, StoredTable

AGGREGATES = frozenset(
    (
        *("count_rows", "count_values", "count_distinct", "sum", "sum_distinct", "min", "max", "bits_or"),
        "grouped",
    )
)


@dataclass(frozen=True, slots=True)
class ReadScope:
    """What a query may read: the declared tables and the parts before it."""

    declarations: Declarations
    parts: Parts
    hidden: frozenset[str]
    """The names of parts so far, folded: a table of such a name can no longer be meant."""


def source_of(source: Source, scope: ReadScope) -> Relation:
    """Return the judgement about the rows of a FROM clause."""
    match source:
        case StoredTable(name, alias):
            table = scope.declarations.find(name)
            if table is None:
                raise ProofError(f"the table {name}", "is not declared")
            if fold(name) in scope.hidden:
                raise ProofError(f"the table {name}", "is hidden by a part of the same name")
            return read_table(table, alias)
        case Named(name, alias):
            if name not in scope.parts:
                raise ProofError(f"the part {name}", "is read before it is defined")
            return rename(scope.parts[name], alias, name)
        case Inner(query, alias):
            return rename(select(query, scope), alias, None)
        case Stacked(queries, alias):
            names = [[name for name, _ in query.items] for query in queries]
            if len(queries) < 2 or any(other != names[0] for other in names):
                raise ProofError("a union", "has columns of other names, or of another order, in some part")
            return rename(stacked([select(query, scope) for query in queries]), alias, None)
        case Listed():
            return read_list(source)
        case JoinedRows(StoredTable(name, _)) if (
            table := scope.declarations.find(name)
        ) is not None and table.through is not None:
            return attributed(source, scope.declarations, scope.hidden)
        case JoinedRows(left, right, on, outer):
            return joined(source_of(left, scope), source_of(right, scope), on, right, outer=outer)


def select(query: Query, scope: ReadScope) -> Relation:
    """Return the judgement about the rows of one query; its columns have the alias ''."""
    apart([name for name, _ in query.items], "a query")
    source = source_of(query.source, scope)
    aggregated = any(
        isinstance(part, Call) and part.function in AGGREGATES
        for _, scalar in query.items
        for part in walk(scalar)
    )
    if query.group or aggregated or query.having is not None:
        return _grouped(query, source, scope)
    if any(isinstance(scalar, Call) and scalar.function == "rank" for _, scalar in query.items):
        return _ranked(query, filtered(source, query.where))
    if any(is_window(scalar) for _, scalar in query.items):
        return _windowed(query, filtered(source, query.where))
    return _projected(query, filtered(source, query.where), scope)


def _windowed(query: Query, source: Relation) -> Relation:
    columns, numbers = windowed(query, source)
    return Relation(
        columns,
        _people(query, source),
        Step("windows of a person", "each row beside others of its person", (source.step,)),
        source.rows,
        (*_kept(source.unique, _outputs(query)), *numbers),
    )


def _outputs(query: Query) -> dict[Name, str]:
    """Return under which name columns of the source are kept; the first where there are several."""
    found: dict[Name, str] = {}
    for name, scalar in query.items:
        if isinstance(scalar, Column):
            found.setdefault((scalar.relation or "", scalar.name), name)
    return found


def _people(query: Query, source: Relation) -> Owner | None:
    """Whose rows are left after a projection.

    Rule.  A column that holds the person still does under another name, and as a text too, where different
    values of its type have different texts.
    """
    owner = source.owner
    if owner is None:
        return None

    def person(scalar: Scalar) -> bool:
        match scalar:
            case Call("to_text", (Column() as inner,)):
                return _is_person(inner, owner) and source.value(inner).kind in PLAIN
            case Column():
                return _is_person(scalar, owner)
            case _:
                return False

    return replace(owner, people=frozenset(("", name) for name, scalar in query.items if person(scalar)))


def _kept(unique: tuple[frozenset[Name], ...], names: Mapping[Name, str]) -> tuple[frozenset[Name], ...]:
    return tuple(
        frozenset(("", names[column]) for column in columns)
        for columns in unique
        if all(column in names for column in columns)
    )


def _projected(query: Query, source: Relation, scope: ReadScope) -> Relation:
    """A projection.

    Rule.  Columns computed from one row by the functions of `discreet.query.proof.function` keep a relation
    personal, row by row, so every bound on rows stays; what was unique stays so where its columns are kept.
    """
    columns = {("", name): source.value(scalar) for name, scalar in query.items}
    names = _outputs(query)
    facts: dict[Name, Fact] = {}
    for name, scalar in query.items:
        fact = projected_fact(scalar, source, columns["", name], names, scope.parts)
        if fact is not None:
            facts["", name] = fact
    crowd = source.crowd
    if crowd is not None and not all(names.get((crowd[0], key)) == key for key in crowd[1].keys):
        crowd = None
    return Relation(
        columns,
        _people(query, source),
        source.step if query.where is None else Step("filter", "keeps some rows", (source.step,)),
        source.rows,
        _kept(source.unique, names),
        facts,
        everyone=source.everyone,
        crowd=None if crowd is None else ("", crowd[1]),
    )


def _ranked(query: Query, source: Relation) -> Relation:
    """A keyed choice, or a person's rows in the order of their columns.

    Rule.  Let j number the rows of each person in an order that a key and the row's columns determine, up to
    rows that are equal in all columns kept.  Then the numbered rows of p are a function of R_p and the key,
    so the relation is personal, and j is unique for a person.  Needs: numbered by the person alone; all
    columns kept are ordered by, so that a tie decides nothing.
    """
    if source.owner is None or not source.owner.people:
        raise ProofError("a rank", "has no person to count within")
    ranks = [(name, scalar) for name, scalar in query.items if isinstance(scalar, Call)]
    plain = [(name, scalar) for name, scalar in query.items if isinstance(scalar, Column)]
    match ranks:
        case [(rank, Call("rank", (Column(alias, name), *order)))]:
            person = (alias or "", name)
        case _:
            raise ProofError("a rank", "must stand alone beside plain columns")
    if len(plain) + 1 != len(query.items):
        raise ProofError("a rank", "must stand alone beside plain columns")
    if person not in source.owner.people:
        raise ProofError("a rank", "does not count within a person")
    for scalar in order:
        _order(scalar, source)
    if not all(scalar in order or scalar == Column(alias, name) for _, scalar in plain):
        raise ProofError("a rank", "may be decided by a tie between different rows")
    columns = {("", name): source.value(scalar) for name, scalar in plain}
    columns["", rank] = whole(1, MOST_ROWS, null=False)
    return Relation(
        columns,
        _people(query, source),
        Step("keyed choice", f"{rank} numbers the rows of each person", (source.step,)),
        source.rows,
        (*_kept(source.unique, _outputs(query)), frozenset((("", rank),))),
    )


def _order(scalar: Scalar, source: Relation) -> None:
    match scalar:
        case Call("choice", ()):
            return
        case Call("hash", arguments):
            for argument in arguments:
                _order(argument, source)
        case Call("descending", (argument,)):
            evaluate(argument, source.leaf)
        case _:
            evaluate(scalar, source.leaf)


def _grouped(query: Query, source: Relation, scope: ReadScope) -> Relation:
    """Groups inside a statement: public ones, or groups of one person's rows.

    Rule.  If a person column is among the keys, every group holds rows of one person, so each of its
    aggregates and conditions is a function of R_p: the result is personal.  The other keys are unique for a
    person, there are at most as many groups as rows, and with no other key there is one.  Groups that may
    mix people are refused.
    """
    kept = filtered(source, query.where)
    if any(isinstance(key, Literal) for key in query.group):
        raise ProofError("a group key", "is a constant, which an engine may read as the number of a column")
    keys = {key: kept.value(key) for key in query.group}
    grouped = bool(query.group)

    def leaf(scalar: Scalar) -> Value | None:
        if scalar in keys:
            return keys[scalar]
        if isinstance(scalar, Call) and scalar.function == "grouped":
            return keys.get(scalar.arguments[0])
        if isinstance(grouped_fact(scalar, kept, COUNTED), Excess):
            # The crowd's rows are rows of the part, so all together they are no more than those.
            return whole(0, MOST_ROWS, 128)
        own = own_count(scalar, leaf)
        if own is not None:
            return own
        return aggregate(scalar, kept.leaf, kept.rows, grouped=grouped)

    columns = {("", name): evaluate(scalar, leaf) for name, scalar in query.items}
    if query.having is not None and evaluate(query.having, leaf).kind not in TRUTHS:
        raise ProofError("a condition on groups", "is not a condition")
    names = {scalar: name for name, scalar in reversed(query.items)}
    if kept.owner is None:
        unique = (frozenset(("", names[key]) for key in keys),) if all(key in names for key in keys) else ()
        step = Step("public groups", "one row for each key", (kept.step,))
        return Relation(columns, None, step, unique=unique)
    owners = [key for key in keys if isinstance(key, Column) and _is_person(key, kept.owner)]
    if not owners:
        raise ProofError("groups of private rows", "may mix people: no key is the person")
    others = [key for key in keys if key not in owners]
    varieties = [keys[key].variety for key in others]
    known = [prod(v or 0 for v in varieties)] if None not in varieties else []
    known += [] if kept.rows is None else [kept.rows]
    rows = min(known, default=None)
    says = f"one row for each person{' and key' if others else ''}" + (f", at most {rows}" if rows else "")
    return _with_facts(
        query,
        source,
        kept,
        others,
        Relation(
            columns,
            _people(query, kept),
            Step("groups of a person", says, (kept.step,)),
            rows,
            (frozenset(("", names[key]) for key in others),) if all(key in names for key in others) else (),
        ),
    )


def _with_facts(
    query: Query, source: Relation, kept: Relation, others: list[Scalar], found: Relation
) -> Relation:
    """Return groups of a person with what is known of their counts."""
    if not others:
        facts: dict[Name, Fact] = {}
        for name, scalar in query.items:
            fact = grouped_fact(scalar, kept, found.columns["", name])
            if fact is not None:
                facts["", name] = fact
        counted = counting(kept)
        everyone = None if counted is None or query.having is not None else (counted.part, counted.where)
        return replace(found, facts=facts, everyone=everyone)
    plain = [key.name for key in others if isinstance(key, Column) and (key.relation or "") in source.embeds]
    named = {(name, scalar.name) for name, scalar in query.items if isinstance(scalar, Column)}
    if len(plain) != len(others) or not all((name, name) in named for name in plain):
        return found
    crowd = crowd_of(source, query.where, frozenset(plain), query.having)
    if crowd is None:
        return found
    counts: dict[Name, Fact] = {
        ("", name): crowd for name, scalar in query.items if scalar == Call("count_rows", ())
    }
    return replace(found, facts=counts, crowd=("", crowd))


def _is_person(column: Column, owner: Owner) -> bool:
    return (column.relation or "", column.name) in owner.people


def prepared(relation: Relation) -> Relation:
    """Return a relation whose rows may be kept: a person's, with the person told and known."""
    owner = relation.owner
    if owner is None or not owner.people or not owner.known:
        raise ProofError("a prepared table", "must keep the person of every row")
    return bounded(relation)
