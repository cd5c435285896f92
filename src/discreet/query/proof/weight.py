"""Weights: what bounds the sum over one person's rows, however many these are.

A fact belongs to a column.  It speaks of the rows B_p that a person p has in a part B of the statement: n_p
of them satisfy a condition F, n_pk of those lie in the cell k of some key columns.  The rules are the
theorems that join these facts to a bound; each needs the counted rows to be the summed ones, so facts name
the part and the condition, which the end of the derivation compares with what it adds up.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias

from discreet.query.plan import Call, Case, Column, Literal, Scalar, conjuncts
from discreet.query.proof.relation import Name, Relation, Restriction, restricted
from discreet.query.proof.value import Value

Parts: TypeAlias = Mapping[str, Relation]
"""The parts of a statement that come before."""

ENUMERATED = 4096
"""Combinations of key values that are compared one by one."""


@dataclass(frozen=True, slots=True)
class Count:
    """At least n_p: the number of a person's rows of `part` that satisfy `where`."""

    part: str
    where: Restriction


@dataclass(frozen=True, slots=True)
class Spread:
    """At most the number of different cells of `keys` among the rows that `Count` counts."""

    part: str
    where: Restriction
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class Share:
    """A weight w >= 0 with n_p w <= `most`."""

    part: str
    where: Restriction
    most: int


@dataclass(frozen=True, slots=True)
class BitShare:
    """A weight w >= 0 such that w times the bits set in the column `mask` is at most `most`."""

    mask: str
    most: int


@dataclass(frozen=True, slots=True)
class Crowd:
    """Exactly n_pk, in a relation of exactly those cells k in `shown` that have n_pk > `allowed`."""

    part: str
    where: Restriction
    keys: frozenset[str]
    shown: Restriction
    allowed: int


@dataclass(frozen=True, slots=True)
class Excess:
    """The sum of n_pk - `crowd.allowed` over the cells of a crowd."""

    crowd: Crowd


@dataclass(frozen=True, slots=True)
class Divisor:
    """At least t = max(`total`, sum over cells of min(n_pk, allowed))."""

    crowd: Crowd
    total: int


@dataclass(frozen=True, slots=True)
class Light:
    """floor(`parts` / t), the weight of a row outside the crowd."""

    divisor: Divisor
    parts: int


@dataclass(frozen=True, slots=True)
class Heavy:
    """floor(`parts` / (t n_pk)), the weight of a row in the crowd; the column is NULL elsewhere."""

    divisor: Divisor
    parts: int


@dataclass(frozen=True, slots=True)
class Falling:
    """A weight that is `weights[n - 1]` for a number n >= n_p, and 0 where n is beyond the last of them."""

    part: str
    where: Restriction
    weights: tuple[int, ...]


Fact: TypeAlias = Count | Spread | Share | BitShare | Falling | Crowd | Excess | Divisor | Light | Heavy


def optional(fact: Fact) -> bool:
    """Whether a fact still bounds what it did where its column is NULL for want of a partner.

    Rule.  A weight that is NULL adds nothing, and an excess that is NULL is read as 0, which only makes
    divisors larger; NULL as the weight of a crowded cell is what `Heavy` says of all others, and a crowd is
    met only by rows that have theirs (`met`).  But GREATEST passes over a count or divisor that is NULL, and
    a condition on a count or spread that is NULL drops whoever should be looked at.
    """
    return isinstance(fact, Share | BitShare | Excess | Light | Heavy)


def fact_of(scalar: Scalar, relation: Relation) -> Fact | None:
    """Return what a column of this relation is known to be."""
    if not isinstance(scalar, Column):
        return None
    return relation.facts.get((scalar.relation or "", scalar.name))


def bare(scalar: Scalar) -> Scalar:
    """Return a scalar without casts that keep its value."""
    match scalar:
        case Call("narrow" | "long", (inner,)):
            return bare(inner)
        case _:
            return scalar


def counting(relation: Relation) -> Count | None:
    """Return what count(*) for each person counts here, if every row of a part's restriction is there."""
    if relation.covers is None or len(relation.embeds) != 1:
        return None
    ((_, part),) = relation.embeds.items()
    return Count(part, relation.covers)


def grouped_fact(scalar: Scalar, relation: Relation, value: Value) -> Fact | None:
    """The facts of a query that groups by the person alone.

    Shares.  If w = min(W, floor(A / n)) (or floor(A / n)) with n = count(*) over rows that contain all of B_p
    satisfying F, then n_p w <= n floor(A / n) <= A.
    Spread.  If every bit is a function of the key columns and has one bit set, then the bits of the
    union are at most as many as there are different keys.
    Excess.  At most the sum over the crowd of n_pk - c, where each cell of the crowd has one row at most.
    Falling.  If w is told by cases of that n, one after the other from 1 on, and is 0 in every other case.
    """
    counted = counting(relation)
    match bare(scalar):
        case Call("count_rows", ()) if counted is not None:
            return counted
        case Call("least" | "quotient") as shared if counted is not None:
            most = shared_out(shared, Call("count_rows", ()))
            return None if most is None or value.low < 0 else Share(counted.part, counted.where, most)
        case Call("bits_set", (Call("bits_or", (bit,)),)) if counted is not None:
            keys = _keys_of_bit(bit, relation)
            return None if keys is None else Spread(counted.part, counted.where, keys)
        case Call("sum", (Call("subtract", (Column(alias, _) as number, Literal(int(allowed)))),)):
            crowd, once = fact_of(number, relation), alias in relation.embeds
            return Excess(crowd) if isinstance(crowd, Crowd) and crowd.allowed == allowed and once else None
        case Case(branches, Literal(0)) if counted is not None:
            weights = _by_count(branches)
            return None if weights is None else Falling(counted.part, counted.where, weights)
        case _:
            return None


def _by_count(branches: Sequence[tuple[Scalar, Scalar]]) -> tuple[int, ...] | None:
    """Return the numbers told by cases in which count(*) is 1, 2, ..., none of them negative."""
    found = []
    for place, branch in enumerate(branches, 1):
        match branch:
            case (Call("eq", (Call("count_rows", ()), Literal(number))), Literal(int(told))) if (
                type(number) is int and number == place and type(told) is int and told >= 0
            ):
                found.append(told)
            case _:
                return None
    return tuple(found)


def shared_out(scalar: Scalar, count: Scalar) -> int | None:
    """Return A where the scalar is at most floor(A / count)."""
    match scalar:
        case Call("quotient", (Literal(int(most)), divisor)) if divisor == count and most >= 0:
            return most
        case Call("least", arguments):
            found = [shared_out(argument, count) for argument in arguments]
            return min((most for most in found if most is not None), default=None)
        case _:
            return None


def _keys_of_bit(bit: Scalar, relation: Relation) -> frozenset[str] | None:
    """Return columns of the embedded part of which a bit is a function, if it has one bit set."""
    ((alias, _),) = relation.embeds.items()
    match bit:
        case Call("slot", arguments):
            own = [a for a in arguments if isinstance(a, Column) and a.relation == alias]
            return frozenset(a.name for a in own) if len(own) == len(arguments) else None
        case Column(owner, name):
            where = relation.covers
            listed = where is not None and where.tuples is not None and owner != alias
            one = relation.columns[owner or "", name].ones == 1
            return frozenset(where.tuples[0]) if listed and one and where and where.tuples else None
        case _:
            return None


def crowd_of(
    relation: Relation, where: Scalar | None, keys: frozenset[str], having: Scalar | None
) -> Crowd | None:
    """The fact of count(*) in a query that groups a part, joined with its people, by person and key.

    Crowd.  Let n and b be the person's `Count` and `Spread` over the same rows and keys, and keep people with
    n - b >= c' for some c' <= c, then cells with count(*) > c.  No cell k with n_pk > c is lost, because the
    person's n rows lie in at least b cells, so n - b >= n_pk - 1 >= c.  Needs: the join keeps every counted
    row and none twice, so that count(*) is n_pk; nothing else is filtered but keys.
    """
    if len(relation.embeds) != 1 or having is None or relation.covers is None:
        return None
    ((alias, part),) = relation.embeds.items()
    match where:
        case Call("ge", (Call("subtract", (total, spread)), Literal(int(least)))):
            count, cells = fact_of(total, relation), fact_of(spread, relation)
        case _:
            return None
    if not (isinstance(count, Count) and isinstance(cells, Spread) and count.part == cells.part == part):
        return None
    if not count.where == cells.where == relation.covers or not cells.keys <= keys:
        return None
    beyond = [c for c in conjuncts(having) if isinstance(c, Call) and c.function == "gt"]
    shown = restricted(Restriction(), [c for c in conjuncts(having) if c not in beyond], alias)
    if shown is None or shown.others or not shown.sets.keys() <= keys:
        return None
    match beyond:
        case [Call("gt", (Call("count_rows", ()), Literal(int(allowed))))] if 1 <= least <= allowed:
            return Crowd(part, count.where, keys, shown, allowed)
        case _:
            return None


def projected_fact(
    scalar: Scalar, relation: Relation, value: Value, names: Mapping[Name, str], parts: Parts
) -> Fact | None:
    """The facts of a query that computes columns of people's rows one by one; `names` are columns kept.

    Divisor.  With n = Count and e = Excess (NULL: no crowd), both of the same rows, and c the rows allowed,
    n - e >= sum over cells of min(n_pk, c), since only counted cells of the crowd lose n_pk - c each.
    Light, heavy.  floor(A / t), and floor(floor(B / t) / n_pk) = floor(B / (t n_pk)).
    Bits.  If w = min(W, floor(A / b)) with b the number of bits set in a mask, then w b <= A.
    """
    match bare(scalar):
        case Column(alias, _) as column:
            return _carried(fact_of(column, relation), alias or "", relation, names)
        case Call("greatest", (Literal(int(total)), Call("subtract", (number, Call("coalesce", over))))):
            return _divisor(total, fact_of(number, relation), over, relation, parts)
        case Call("quotient", (Literal(int(dealt)), divisor)) if dealt >= 0:
            found = projected_fact(divisor, relation, value, names, parts)
            return Light(found, dealt) if isinstance(found, Divisor) else None
        case Call(
            "quotient", (Call("quotient", (Literal(int(dealt)), divisor)), Column(alias, _) as number)
        ) if dealt >= 0:
            found, crowd = fact_of(divisor, relation), fact_of(number, relation)
            if not isinstance(found, Divisor) or not isinstance(crowd, Crowd):
                return None
            # The count must be that of the very cell whose keys stand in the row.
            known = found.crowd == crowd and relation.crowd == (alias, crowd)
            return Heavy(found, dealt) if known else None
        case Call("least", arguments) if value.low >= 0:
            return _bit_share(arguments, names)
        case _:
            return None


def _carried(fact: Fact | None, alias: str, relation: Relation, names: Mapping[Name, str]) -> Fact | None:
    """Return what is still known of a column that is only passed on.

    A share of bits speaks of another column, which must be passed on too; rows of a crowd must stay single;
    the weight of a crowded cell must stay beside the keys of that cell.
    """
    match fact:
        case BitShare(mask, most):
            kept = names.get((alias, mask))
            return None if kept is None else BitShare(kept, most)
        case Crowd():
            return fact if alias in relation.embeds else None
        case Heavy(divisor, _):
            return fact if relation.crowd == (alias, divisor.crowd) else None
        case _:
            return fact


def _divisor(
    total: int, count: Fact | None, over: Sequence[Scalar], relation: Relation, parts: Parts
) -> Divisor | None:
    excess = fact_of(over[0], relation)
    if over[1:] != (Literal(0),) or total < 1:
        return None
    if not (isinstance(count, Count) and isinstance(excess, Excess)):
        return None
    crowd = excess.crowd
    if (count.part, count.where) != (crowd.part, crowd.where):
        return None
    return Divisor(crowd, total) if implied(crowd.shown, crowd.where, crowd.part, parts) else None


def _bit_share(arguments: Sequence[Scalar], names: Mapping[Name, str]) -> BitShare | None:
    for argument in arguments:
        match argument:
            case Call("quotient", (Literal(int(most)), Call("bits_set", (Column(owner, name),)))):
                mask = names.get((owner or "", name))
                return None if mask is None else BitShare(mask, most)
    return None


def implied(inner: Restriction, outer: Restriction, part: str, parts: Parts) -> bool:
    """Whether every row of a part that satisfies `inner` satisfies `outer`.

    Rule.  A column that can only have values of a set is in every larger set; combinations of columns are
    compared one by one; any other condition must be among those of `inner` word for word.
    """
    if not outer.others <= inner.others:
        return False
    for name, wanted in outer.sets.items():
        held = _possible(name, inner, parts[part])
        if held is None or not all(value in wanted for value in held):
            return False
    if outer.tuples is None or inner.tuples == outer.tuples:
        return True
    names, rows = outer.tuples
    columns = [_possible(name, inner, parts[part]) for name in names]
    if any(column is None for column in columns) or prod(len(c or ()) for c in columns) > ENUMERATED:
        return False
    return all(row in rows for row in product(*(column or () for column in columns)))


def _possible(name: str, inner: Restriction, part: Relation) -> Collection[object] | None:
    """Return what a column of a part can be under a restriction, NULL included."""
    value = part.columns.get(("", name))
    if value is None:
        return None
    allowed, members = inner.sets.get(name), value.members
    if allowed is None:
        return None if members is None else (*members, None) if value.null else members
    return allowed if members is None else [member for member in allowed if member in members]


def present(names: Iterable[str], inner: Restriction, part: Relation) -> bool:
    """Whether columns of a part are never NULL in rows that satisfy a restriction."""
    return all(name in inner.sets or not part.columns["", name].null for name in names)
