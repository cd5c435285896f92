"""Judgements about relations, and the rules that derive them from the operators of a statement.

Judgement.  A relation is *public*: a function of public tables and constants; or *personal*:

    R(D) = disjoint union over people p of R_p,   R_p a function of the rows of p, public tables and a key
                                                  that is drawn before the data is seen,

where rows without a person (NULL) form a part of their own, which `known` says is empty.  So whoever adds or
removes p adds or removes exactly R_p, and whoever replaces p replaces it.  Of R_p the judgement says:

    people    columns that hold the person in every row (none where rows are people themselves),
    rows      |R_p| <= rows,
    unique    sets of columns in which no two rows of R_p agree (of a public relation: no two rows at all),
    embeds    aliases a with a part B of the statement such that the rows of R_p are different rows of B_p,
              extended by further columns,
    covers    of that part, which rows are all there,
    everyone  a part and a condition such that every person with such a row has a row here,
    crowd     an alias under which every cell of a crowd has a row here, with its keys under their names,
    met       aliases whose row is there whenever a row's cell is in the crowd,
    facts     what the rules of weights know about columns (`discreet.query.proof.weight`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from discreet.errors import ProofError
from discreet.privacy.adjacency import Adjacency
from discreet.query.plan import Among, Call, Column, Literal, Scalar, children, conjuncts
from discreet.query.plan import Value as Constant
from discreet.query.proof.declared import TableDeclaration
from discreet.query.proof.demand import TRUTHS, written
from discreet.query.proof.derivation import Step
from discreet.query.proof.function import evaluate
from discreet.query.proof.value import Domain, Kind, Value, above, below, constant, restrict, stored
from discreet.query.statement import Listed

if TYPE_CHECKING:
    from discreet.query.proof.weight import Crowd, Fact

Name = tuple[str, str]
"""A column of a relation: the alias it is reached by, and its name."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows a personal relation holds."""

    adjacency: Adjacency
    people: frozenset[Name]
    known: bool
    united: bool
    """Whether people are told apart by a column; otherwise every row is a person of its own."""
    told: str | None = None
    """The declared type of that column; None where tables that declare it differently were joined."""


@dataclass(frozen=True, slots=True)
class Restriction:
    """A condition on the rows of a part: columns among values, tuples of columns among tuples, and others."""

    sets: Mapping[str, Domain] = field(default_factory=dict)
    tuples: tuple[tuple[str, ...], frozenset[tuple[object, ...]]] | None = None
    others: frozenset[Scalar] = frozenset()


EVERY = Restriction()


@dataclass(frozen=True, slots=True)
class Relation:
    """What has been derived about one relation."""

    columns: Mapping[Name, Value]
    owner: Owner | None
    step: Step
    rows: int | None = None
    unique: tuple[frozenset[Name], ...] = ()
    facts: Mapping[Name, "Fact"] = field(default_factory=dict)
    embeds: Mapping[str, str] = field(default_factory=dict)
    covers: Restriction | None = None
    everyone: tuple[str, Restriction] | None = None
    crowd: "tuple[str, Crowd] | None" = None
    met: Mapping[str, "Crowd"] = field(default_factory=dict)
    refined: Mapping[Scalar, Value] = field(default_factory=dict)
    """What a filter left of expressions."""

    def leaf(self, scalar: Scalar) -> Value | None:
        """Return what is known of a column."""
        if not isinstance(scalar, Column):
            return None
        found = None if scalar.relation is None else self.columns.get((scalar.relation, scalar.name))
        if found is None:
            raise ProofError(f"the column {scalar.relation}.{scalar.name}", "does not exist there")
        return found

    def value(self, scalar: Scalar) -> Value:
        """Return what is known of an expression over the columns, after the filters."""
        found = evaluate(scalar, self.leaf)
        return self.refined.get(scalar, found)


def fold(name: str) -> str:
    """Return what is the same for names that an engine may confuse."""
    return name.casefold()


def apart(names: Sequence[str], what: str) -> None:
    """Refuse names of which two differ only by case.

    Rule.  Engines compare identifiers without case, and resolve one that fits twice to either; so names in
    one scope must differ in more than case for the statement to mean what it says.
    """
    if len({fold(name) for name in names}) != len(names):
        raise ProofError(what, "has two names that differ only by case or not at all")


def read_table(table: TableDeclaration, alias: str) -> Relation:
    """A stored table.

    Rule.  A table with a unit is personal by declaration: each row belongs to the person in that column.
    Without a unit every row is a person, so each has one row.  A prepared table holds at most `kept` rows of
    each (`discreet.query.proof.check.prove_preparation`).
    """
    apart([name for name, _ in table.columns], f"the table {table.name}")
    if table.through is not None:
        raise ProofError(f"the table {table.name}", "is read without the keys that tell whose its rows are")
    columns = {(alias, name): stored(kind, f"{table.name}.{name}") for name, kind in table.columns}
    if table.public:
        return Relation(columns, None, Step("public table", table.name))
    if table.unit is None:
        step = Step("private table", f"{table.name}: every row is a person")
        return Relation(columns, Owner(table.adjacency, frozenset(), True, False), step, rows=1)
    person = (alias, table.unit)
    if person not in columns:
        raise ProofError(f"the table {table.name}", "does not offer the column of its unit")
    bound = "any number of rows" if table.kept is None else f"at most {table.kept} rows, prepared"
    step = Step("private table", f"{table.name}: each person in {table.unit} has {bound}")
    owner = Owner(table.adjacency, frozenset((person,)), False, True, dict(table.columns)[table.unit])
    return Relation(columns, owner, step, rows=table.kept)


def read_list(listed: Listed) -> Relation:
    """Constants: public; a set of columns in which the listed rows differ is unique."""
    apart(listed.names, "a list of constants")
    if any(len(row) != len(listed.names) for row in listed.rows) or not listed.rows:
        raise ProofError("a list of constants", "is not a table")
    columns = {}
    for place, name in enumerate(listed.names):
        held = [written(Literal(row[place])) for row in listed.rows]
        kinds = {value.kind for value in held}
        if len(kinds) != 1 or Kind.REAL in kinds:
            # Different fractions may be one double.
            raise ProofError("a list of constants", "mixes types, or holds doubles")
        ones = [value.ones for value in held]
        columns[listed.alias, name] = replace(
            held[0],
            low=min(value.low for value in held),
            high=max(value.high for value in held),
            bits=max(value.bits for value in held),
            domain=frozenset(row[place] for row in listed.rows),
            ones=None if None in ones else max(one or 0 for one in ones),
        )
    names = [(listed.alias, name) for name in listed.names]
    places = range(len(names) - 1), range(len(names))
    unique = tuple(
        frozenset(names[place] for place in chosen)
        for chosen in places
        if len({tuple(row[place] for place in chosen) for row in listed.rows}) == len(listed.rows)
    )
    return Relation(columns, None, Step("constants", f"{len(listed.rows)} public rows"), unique=unique)


def rename(relation: Relation, alias: str, part: str | None) -> Relation:
    """The same rows under an alias; a named part is remembered, so that its rows are known again."""

    def moved(name: Name) -> Name:
        return alias, name[1]

    owner = relation.owner
    return Relation(
        {moved(name): value for name, value in relation.columns.items()},
        owner and replace(owner, people=frozenset(map(moved, owner.people))),
        relation.step if part is None else Step("rows of a part", part),
        relation.rows,
        tuple(frozenset(map(moved, names)) for names in relation.unique),
        {moved(name): fact for name, fact in relation.facts.items()},
        {} if part is None else {alias: part},
        None if part is None else EVERY,
        relation.everyone,
        None if relation.crowd is None else (alias, relation.crowd[1]),
    )


def used(scalar: Scalar) -> frozenset[Name]:
    """Return the columns that a scalar reads."""
    match scalar:
        case Column(relation, name):
            return frozenset(((relation or "", name),))
        case Among(argument):
            # What it is compared with are constants, often many, and nothing else is ever written there.
            return used(argument)
        case _:
            return frozenset(name for part in children(scalar) for name in used(part))


def filtered(relation: Relation, condition: Scalar | None) -> Relation:
    """A filter.

    Rule.  A condition that is a function of one row keeps R personal: it filters every R_p by itself.  What
    was unique or bounded stays so; a condition `x IS NOT NULL`, `x IN (...)` or a comparison of x with a
    constant says what x can still be; one about the person says that there is a person.
    """
    if condition is None:
        return relation
    if evaluate(condition, relation.leaf).kind not in TRUTHS:
        raise ProofError("a filter", "is not a condition")
    refined, columns, owner = dict(relation.refined), dict(relation.columns), relation.owner
    for part in conjuncts(condition):
        about, left = _left(part, relation, refined, columns)
        if about is None:
            continue
        refined[about] = left
        if isinstance(about, Column):
            name = (about.relation or "", about.name)
            columns[name] = left
            if owner is not None and name in owner.people:
                owner = replace(owner, known=True)
    return bounded(
        replace(
            relation,
            columns=columns,
            refined=refined,
            owner=owner,
            covers=covered(relation, condition),
            everyone=None,
            crowd=None,
        )
    )


def _left(
    part: Scalar, relation: Relation, refined: Mapping[Scalar, Value], columns: Mapping[Name, Value]
) -> tuple[Scalar | None, Value]:
    """Return which expression a condition is about, and what is left of it."""

    def known(scalar: Scalar) -> Value:
        if isinstance(scalar, Column):
            return columns[scalar.relation or "", scalar.name]
        return refined.get(scalar) or relation.value(scalar)

    match part:
        case Call("not", (Call("is_null", (about,)),)):
            return about, restrict(known(about))
        case Among(about, values):
            held = frozenset(value.value for value in values if value.value is not None)
            return about, restrict(known(about), held if _exact(known(about), held) else None)
        case Call("ge", (about, Literal(int(low)))) if known(about).kind is Kind.WHOLE:
            return about, above(known(about), low)
        case Call("le", (about, Literal(int(high)))) if known(about).kind is Kind.WHOLE:
            return about, below(known(about), high)
        case Call("eq", (about, Literal(value))) if value is not None:
            one = frozenset((value,))
            return about, restrict(known(about), one if _exact(known(about), one) else None)
        case Call("lt" | "le" | "gt" | "ge" | "ne", (about, Literal(value))) if value is not None:
            return about, restrict(known(about))
        case _:
            return None, Value(Kind.NULL)


def _exact(value: Value, constants: frozenset[Constant]) -> bool:
    """Whether equality with constants tells all values apart: no cast to doubles makes two of them equal."""
    return value.kind is not Kind.REAL and all(constant(one).kind is value.kind for one in constants)


def bounded(relation: Relation) -> Relation:
    """Columns that are unique for a person and can have few values bound the rows of a person.

    Rule.  If no two rows of R_p agree in the columns U, and column c can have v_c values (NULL included),
    then |R_p| is at most the product of v_c over U; with U empty, at most 1.
    """
    if relation.owner is None:
        return relation
    known = [] if relation.rows is None else [relation.rows]
    for names in relation.unique:
        varieties = [relation.columns[name].variety for name in names]
        if all(variety is not None for variety in varieties):
            known.append(prod(variety or 0 for variety in varieties))
    return replace(relation, rows=min(known)) if known else relation


def covered(relation: Relation, condition: Scalar) -> Restriction | None:
    """Return which rows of the embedded part are still all there after a filter."""
    if relation.covers is None or len(relation.embeds) != 1:
        return None
    ((alias, _),) = relation.embeds.items()
    return restricted(relation.covers, conjuncts(condition), alias)


def restricted(held: Restriction, parts: Sequence[Scalar], alias: str) -> Restriction | None:
    """Return a condition on a part's rows with further conjuncts, or None where one reads other columns."""
    sets, others = dict(held.sets), set(held.others)
    for part in parts:
        if any(owner != alias for owner, _ in used(part)):
            return None
        match part:
            case Among(Column(_, name) | Call("grouped", (Column(_, name),)), values) if _telling(values):
                allowed = frozenset(value.value for value in values if value.value is not None)
                before = sets.get(name)
                sets[name] = allowed if before is None else frozenset(v for v in allowed if v in before)
            case _:
                others.add(unnamed(part))
    return Restriction(sets, held.tuples, frozenset(others))


def _telling(values: Sequence[Literal]) -> bool:
    """Whether constants stay different when an engine compares them as doubles."""
    return not any(
        isinstance(value.value, Fraction) or (isinstance(value.value, int) and abs(value.value) > 2**53)
        for value in values
    )


def unnamed(scalar: Scalar) -> Scalar:
    """Return a scalar with the aliases of its columns left out."""
    match scalar:
        case Column(_, name):
            return Column(None, name)
        case Call(name, arguments):
            return Call(name, tuple(map(unnamed, arguments)))
        case Among(argument, values):
            return Among(unnamed(argument), values)
        case _:
            return scalar
