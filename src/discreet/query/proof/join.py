"""Joins: which pairs of rows keep one person's rows together, and how many there can be."""

from collections.abc import Sequence
from dataclasses import replace

from discreet.errors import ProofError
from discreet.query.plan import Call, Column, Scalar, conjuncts
from discreet.query.proof.demand import TRUTHS
from discreet.query.proof.derivation import Step
from discreet.query.proof.function import evaluate
from discreet.query.proof.relation import (
    EVERY,
    Name,
    Owner,
    Relation,
    Restriction,
    apart,
    bounded,
    used,
)
from discreet.query.proof.value import Kind, Value, alike
from discreet.query.proof.weight import Crowd, optional
from discreet.query.statement import Listed, Source

PLAIN = frozenset((Kind.WHOLE, Kind.TEXT, Kind.OPAQUE, Kind.TRUTH, Kind.DAY))
"""Kinds of which different values have different texts."""

Pair = tuple[Scalar, Scalar]


def joined(left: Relation, right: Relation, on: Scalar, right_source: Source, *, outer: bool) -> Relation:
    """A join: public with public, a person's rows with public ones, or two relations on the person."""
    aliases = {alias for alias, _ in left.columns}, {alias for alias, _ in right.columns}
    apart([*aliases[0], *aliases[1]], "a join")
    pairs = Relation({**left.columns, **right.columns}, None, Step("pairs", ""))
    if evaluate(on, pairs.leaf).kind not in TRUTHS:
        raise ProofError("a join", "needs a condition")
    equal: list[Pair] = [
        (part.arguments[0], part.arguments[1])
        for part in conjuncts(on)
        if isinstance(part, Call) and part.function == "eq"
    ]
    if outer:
        nullable = {name: replace(value, null=True) for name, value in right.columns.items()}
        pairs = replace(pairs, columns={**left.columns, **nullable})
    known = {name: fact for name, fact in right.facts.items() if not outer or optional(fact)}
    pairs = replace(pairs, facts={**left.facts, **known})
    match left.owner, right.owner:
        case None, None:
            return replace(pairs, step=Step("public join", "no person in it", (left.step, right.step)))
        case Owner(), Owner():
            return _on_person(left, right, pairs, on, equal, outer=outer)
        case Owner(), None:
            found = _with_public(left, right, pairs, equal)
            plain = len(equal) == len(conjuncts(on)) and not outer
            return replace(found, covers=_listed(found, left, right_source, equal) if plain else None)
        case _ if outer:
            raise ProofError("an outer join", "keeps public rows on the left, which belong to nobody")
        case _:
            return replace(_with_public(right, left, pairs, equal), covers=None)


def once(keyed: Relation, other: Relation, equal: Sequence[Pair]) -> bool:
    """Whether every row of `other` meets at most one row of `keyed` (of the same person).

    Rule.  Let no two rows of `keyed` agree in the columns U, and let the join equate each u in U with an
    expression e_u of the same type over columns of `other` and constants alone.  A row of `other` fixes all
    e_u, hence all of U, hence at most one row.  Needs: e_u reads no column of `keyed` (w.k = w.k || '' fixes
    nothing); no cast that makes different keys equal (a comparison of texts does not).
    """
    return any(all(_fixed(name, keyed, other, equal) for name in names) for names in keyed.unique)


def _fixed(name: Name, keyed: Relation, other: Relation, equal: Sequence[Pair]) -> bool:
    for one, two in equal:
        for key, value in ((one, two), (two, one)):
            match key, value:
                case Call("to_text", (Column() as inner,)), Call("to_text", (_,)):
                    column, plain = inner, True
                case Column() as column, _:
                    plain = False
                case _:
                    continue
            if (column.relation or "", column.name) != name or not used(value) <= other.columns.keys():
                continue
            own = keyed.columns[name]
            if own.kind in PLAIN if plain else _typed_alike(own, evaluate(value, other.leaf)):
                return True
    return False


def _with_public(person: Relation, public: Relation, pairs: Relation, equal: Sequence[Pair]) -> Relation:
    """A personal relation with a public one.

    Rule.  R join P is the union over p of R_p join P, so it is personal; with an outer join too, if R is on
    the left.  Where every row of R meets at most one of P (`once`), a person has no more rows than before,
    what was unique in R stays so, and rows of the embedded part are still different ones.
    """
    single = once(public, person, equal)
    says = "each row meets at most one public row" if single else "a row may meet many public rows"
    return bounded(
        replace(
            pairs,
            owner=person.owner,
            step=Step("join with public rows", says, (person.step, public.step)),
            rows=person.rows if single else None,
            unique=person.unique if single else (),
            embeds=person.embeds if single else {},
        )
    )


def _listed(found: Relation, person: Relation, source: Source, equal: Sequence[Pair]) -> Restriction | None:
    """Which rows of the embedded part meet a row of constants: those whose columns are listed."""
    if not isinstance(source, Listed) or person.covers != EVERY or len(found.embeds) != 1:
        return None
    ((alias, _),) = found.embeds.items()
    names: dict[str, str] = {}
    for one, two in equal:
        for key, value in ((one, two), (two, one)):
            match key, value:
                case Column(owner, name), Column(of, column) if owner == source.alias and of == alias:
                    if _typed_alike(found.value(key), found.value(value)):
                        names[name] = column
    places = [place for place, name in enumerate(source.names) if name in names]
    if len(places) != len(equal):
        return None
    rows = frozenset(tuple(row[place] for place in places) for row in source.rows)
    return Restriction(tuples=(tuple(names[source.names[place]] for place in places), rows))


def _on_person(
    left: Relation, right: Relation, pairs: Relation, on: Scalar, equal: Sequence[Pair], *, outer: bool
) -> Relation:
    """Two personal relations, on the person.

    Rule.  If the condition implies that both rows have the same person, pairs of rows of different people do
    not occur, so the join is the union over p of R_p join S_p.  A person has at most as many rows as the
    product, and no more than R_p has where every row of R meets at most one of S (`once`).  An inner join
    leaves nobody unknown, because NULL equals nothing; an outer one keeps the rows of R without a partner,
    one each even where S_p has none; their columns of S are NULL, so only R's columns tell the person.
    """
    one, other = left.owner, right.owner
    if one is None or other is None or not one.united or not other.united:
        raise ProofError("a join of private relations", "has no person to join on")
    if one.adjacency is not other.adjacency:
        raise ProofError("a join of private relations", "mixes different neighbours")
    if not any(_same_person(a, b, left, right) for a, b in equal):
        raise ProofError("a join of private relations", "does not equate their people")
    single, back = once(right, left, equal), once(left, right, equal) and not outer
    people = [pair for pair in equal if _same_person(*pair, left, right)]
    plain = len(people) == len(equal) == len(conjuncts(on))
    rows = None if left.rows is None or right.rows is None else left.rows * max(right.rows, int(outer))
    rows = left.rows if single and left.rows is not None else rows
    says = "pairs of rows of one person" + (", at most one for each left row" if single else "")
    return bounded(
        replace(
            pairs,
            owner=Owner(
                one.adjacency,
                one.people if outer else one.people | other.people,
                one.known or not outer,
                True,
                one.told if outer or one.told == other.told else None,
            ),
            step=Step("join on the person", says, (left.step, right.step)),
            rows=rows,
            unique=(*(left.unique if single else ()), *(right.unique if back else ())),
            embeds={**(left.embeds if single else {}), **(right.embeds if back else {})},
            covers=_still_covered(left, right) if plain and not outer else None,
            everyone=left.everyone if outer else None,
            crowd=left.crowd if plain and _has_crowd(left, right) else None,
            met=_met(left, right, on, people, equal) if outer else {},
        )
    )


def _still_covered(left: Relation, right: Relation) -> Restriction | None:
    """Which rows of the left part find their person on the right, if the join asks for nothing else.

    Rule.  Everyone with a row of the part that satisfies F has a row on the right, so such rows are all kept.
    """
    if left.covers != EVERY or right.everyone is None or len(left.embeds) != 1:
        return None
    part, where = right.everyone
    return where if part in left.embeds.values() else None


def _has_crowd(left: Relation, right: Relation) -> bool:
    """Whether everyone with a cell in the left crowd has a row on the right."""
    return left.crowd is not None and right.everyone == (left.crowd[1].part, left.crowd[1].where)


def _met(
    left: Relation, right: Relation, on: Scalar, people: Sequence[Pair], equal: Sequence[Pair]
) -> dict[str, Crowd]:
    """Whether a left row meets its cell of the right crowd: the join asks for person and keys, no more."""
    if right.crowd is None or not people or len(equal) != len(conjuncts(on)):
        return {}
    alias, crowd = right.crowd
    owner = next((own for own, part in left.embeds.items() if part == crowd.part), None)
    wanted = {frozenset((Column(owner, key), Column(alias, key))) for key in crowd.keys}
    found = {frozenset(pair) for pair in equal if pair not in people}
    return {alias: crowd} if owner is not None and found == wanted else {}


def _same_person(one: Scalar, other: Scalar, left: Relation, right: Relation) -> bool:
    """Whether two equal scalars mean that two rows have the same person.

    Columns of one declared type are compared as they are; others as texts, which differ where people do.
    """
    match one, other:
        case Call("to_text", (Column() as a,)), Call("to_text", (Column() as b,)):
            texts = True
        case Column() as a, Column() as b:
            texts = False
        case _:
            return False
    for x, y in ((a, b), (b, a)):
        if _owns(left, x) and _owns(right, y):
            one_value, other_value = left.value(x), right.value(y)
            if texts:
                return {one_value.kind, other_value.kind} <= PLAIN
            return _typed_alike(one_value, other_value)
    return False


def _typed_alike(one: Value, other: Value) -> bool:
    """Whether two values are compared as they are, without a cast that could make different ones equal."""
    return one.kind is other.kind and alike((one, other))


def _owns(relation: Relation, column: Column) -> bool:
    owner = relation.owner
    return owner is not None and (column.relation or "", column.name) in owner.people
