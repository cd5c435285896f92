"""The end of a derivation: what one person adds to the integers that leave the engine."""

from dataclasses import dataclass
from itertools import pairwise
from math import prod

from discreet.errors import ProofError
from discreet.query.plan import Call, Case, Column, Literal, Scalar, conjuncts
from discreet.query.proof.declared import Keys
from discreet.query.proof.demand import written
from discreet.query.proof.derivation import Step
from discreet.query.proof.function import aggregate, evaluate
from discreet.query.proof.reach import Reach
from discreet.query.proof.relation import Owner, Relation, Restriction, restricted, used
from discreet.query.proof.value import Kind, Value
from discreet.query.proof.weight import (
    BitShare,
    Falling,
    Heavy,
    Light,
    Parts,
    Share,
    fact_of,
    implied,
    present,
)
from discreet.query.statement import Query, Statement

BITS = frozenset(range(63))
"""The places of a 64-bit integer that is not negative."""


TOLD_APART = frozenset((Kind.WHOLE, Kind.TEXT, Kind.TRUTH, Kind.DAY, Kind.MOMENT, Kind.NULL))
"""Kinds whose values stay different outside of an engine."""


@dataclass(frozen=True, slots=True)
class Body:
    """The final query of a statement over its filtered rows, and which groups leave."""

    query: Query
    rows: Relation
    owner: Owner
    parts: Parts
    keys: Keys
    cells: bool

    @property
    def places(self) -> int | None:
        """How many different integers can leave, where that is known; candidates are not counted."""
        return None if self.cells else self.size

    @property
    def size(self) -> int | None:
        """How many groups can leave."""
        return None if self.keys is None else prod(len(values) for values in self.keys)

    @property
    def group(self) -> frozenset[tuple[str, str]]:
        """The columns that are grouped by."""
        return frozenset((c.relation or "", c.name) for c in self.query.group if isinstance(c, Column))


def added(body: Body, statement: Statement, scalar: Scalar) -> tuple[Reach, Step]:
    """An aggregate of groups.

    Rule.  Where the groups are exactly the key columns, each row is added to one group's integer, and that
    is a count of rows, of rows with a value, of different values, or a sum of integers w q: in every case a
    person moves a group by no more than the sum of w |q| over that person's rows in it.

    A sum of different integers is such a sum.  Let S be the values that the rows of others hold in a group
    and T those that the t rows of a person do; the sums with and without that person differ by the sum of
    T - S, which are at most t integers of the same interval, each once.
    """
    by_keys(body, statement)
    match scalar:
        case Call("count_rows", ()):
            return _unweighted(body, 0, 1, "counts rows")
        case Call("count_values" | "count_distinct", (argument,)):
            evaluate(argument, body.rows.leaf)
            return _unweighted(body, 0, 1, "counts rows with a value, or different values of them")
        case Call("sum", (argument,)):
            return _summed(body, argument)
        case Call("sum_distinct", (argument,)):
            value = _whole(argument, body)
            return _unweighted(
                body, value.low, value.high, f"adds different integers from {value.low} to {value.high}"
            )
        case _:
            raise ProofError("an output", "is neither a count nor a sum of integers")


def by_keys(body: Body, statement: Statement) -> None:
    """Refuse groups that are not exactly the key columns, each told apart."""
    keys = tuple(scalar for _, scalar in body.query.items[: statement.keys])
    if body.query.group != keys or not all(isinstance(key, Column) for key in keys):
        raise ProofError("the groups", "are not exactly the key columns")
    for key in keys:
        _told_apart(key, body)


def _told_apart(key: Scalar, body: Body) -> None:
    """Refuse a key of which different values may be equal once they have left the engine.

    Rule.  Whole numbers, texts, truth values, dates and moments keep their identity (an infinite date would
    become the last day of the calendar, but no function yields one).  Doubles do not, nor do identifiers,
    whose type is not declared.
    """
    if body.rows.value(key).kind not in TOLD_APART:
        raise ProofError("a group key", "has values that are not told apart outside of the engine")


def _whole(scalar: Scalar, body: Body) -> Value:
    """Return what is known of integers that are added up."""
    value = evaluate(scalar, body.rows.leaf)
    if value.kind is not Kind.WHOLE:
        raise ProofError("a sum", "does not add up integers")
    if max(abs(value.low), abs(value.high)) >= 2**78:
        raise ProofError("a sum", "may leave the integers of 128 bits")
    return value


def _summed(body: Body, scalar: Scalar) -> tuple[Reach, Step]:
    value = _whole(scalar, body)
    match scalar:
        case Case(((_, weight),), Literal(None)) if is_weight(weight, body.rows):
            return _weighted(body, weight, 0, 1)
        case Call("multiply" | "multiply_long" | "multiply_wide", (factor, weight)) if is_weight(
            weight, body.rows
        ):
            held = evaluate(factor, body.rows.leaf)
            return _weighted(body, weight, held.low, held.high)
        case _ if is_weight(scalar, body.rows):
            return _weighted(body, scalar, 0, 1)
        case _:
            return _unweighted(body, value.low, value.high, f"adds integers from {value.low} to {value.high}")


def is_weight(scalar: Scalar, rows: Relation) -> bool:
    """Whether a scalar is a weight that bounds what a person adds."""
    match scalar:
        case Column():
            return isinstance(fact_of(scalar, rows), Share)
        case Call("coalesce", (heavy, light)):
            return isinstance(fact_of(heavy, rows), Heavy) and isinstance(fact_of(light, rows), Light)
        case _:
            return False


def _cell_rows(body: Body) -> int | None:
    """How many rows of a person can lie in one group: one, where its columns are unique for a person."""
    single = any(names <= body.group for names in body.rows.unique)
    return 1 if single else body.rows.rows


def _groups(body: Body) -> int | None:
    known = [bound for bound in (body.places, body.rows.rows) if bound is not None]
    return min(known, default=None)


def _unweighted(body: Body, low: int, high: int, what: str) -> tuple[Reach, Step]:
    total, cell = body.rows.rows, _cell_rows(body)
    if cell == 1 and body.places is not None:
        # At most one row of a person in each group that leaves.
        total = body.places if total is None else min(total, body.places)
    if total is None or cell is None:
        raise ProofError("an output", "adds up any number of rows of one person")
    reach = Reach(total, min(cell, total), _groups(body), low, high)
    return reach, Step("rows of a person", f"{what}: at most {total} in all, {reach.cell} in one group")


def _weighted(body: Body, weight: Scalar, low: int, high: int) -> tuple[Reach, Step]:
    if isinstance(weight, Call):
        return _dealt(body, weight, low, high)
    share = fact_of(weight, body.rows)
    if not isinstance(share, Share):
        raise ProofError("a weight", "is not one that the checker knows")
    _counted(body, share.part, share.where)
    value = evaluate(weight, body.rows.leaf)
    totals = [share.most] + ([] if body.rows.rows is None else [body.rows.rows * value.high])
    cells = _cell_rows(body)
    total = min(totals)
    cell = total if cells is None else min(total, cells * value.high)
    reach = Reach(total, cell, _groups(body), low, high)
    says = (
        f"n rows of {share.part} weigh at most {share.most} / n each, so {total} in all, {cell} in one group"
    )
    return reach, Step("shares", says)


def _counted(body: Body, part: str, where: Restriction) -> tuple[str, Restriction]:
    """Refuse weights that count other rows than those that are added up.

    Rule.  The rows added up are different rows of the part (`embeds`), and all of them satisfy the condition
    under which the weight counted; so they are at most as many as were counted.
    """
    alias = next((alias for alias, embedded in body.rows.embeds.items() if embedded == part), None)
    if alias is None:
        raise ProofError("the weights", "count other rows than the sum adds up")
    allowed = _allowed(body, alias)
    if not implied(allowed, where, part, body.parts):
        raise ProofError("the weights", "leave out rows that the sum adds up")
    return alias, allowed


def _dealt(body: Body, weight: Call, low: int, high: int) -> tuple[Reach, Step]:
    """Weights that bound each group and the total.

    Theorem.  Let t >= max(m, sum over k of min(n_pk, c)), let a row weigh floor(A / t) in cells with
    n_pk <= c and floor(B / (t n_pk)) in the others, with B <= c A.  Cell k weighs at most min(n_pk, c) A / t,
    hence at most c A / m, and all cells at most A.  Needs: cells are groups or finer; the crowd contains
    every cell that leaves with more than c rows, and its rows do find their weight.
    """
    heavy, light = (fact_of(argument, body.rows) for argument in weight.arguments)
    if not isinstance(heavy, Heavy) or not isinstance(light, Light) or heavy.divisor != light.divisor:
        raise ProofError("the weights", "do not belong together")
    crowd = light.divisor.crowd
    column = weight.arguments[0]
    if not isinstance(column, Column) or body.rows.met.get(column.relation or "") != crowd:
        raise ProofError("the weights", "do not reach the rows of crowded cells")
    alias, allowed = _counted(body, crowd.part, crowd.where)
    if not frozenset((alias, key) for key in crowd.keys) <= body.group:
        raise ProofError("the weights", "are for other groups")
    if not implied(allowed, crowd.shown, crowd.part, body.parts):
        raise ProofError("the weights", "leave out crowded cells")
    if not present(crowd.keys, allowed, body.parts[crowd.part]):
        raise ProofError("the weights", "do not reach cells without a key")
    if heavy.parts > crowd.allowed * light.parts:
        raise ProofError("the weights", "of crowded cells are too large")
    total, cell = light.parts, crowd.allowed * light.parts // light.divisor.total
    reach = Reach(total, min(cell, total), _groups(body), low, high)
    says = f"a person's weights sum to at most {total}, in one group to {reach.cell}"
    return reach, Step("shares per group", says)


def fallen(body: Body, statement: Statement, scalar: Scalar) -> tuple[tuple[int, ...], Step]:
    """Weights of keys that fall with the number of a person's keys: what m rows of a person add to each.

    Theorem.  Let w(n) be the weight of a person for whom n rows were counted, w(1) >= w(2) >= ... >= 0.  If
    the m rows that are added up are all counted, n >= m, so each of them adds w(n) <= w(m).  With one row of
    a person in a group, that is what the person adds to m groups.
    Needs: at most as many rows of a person as there are weights, so that nobody is in a group unweighed.
    """
    by_keys(body, statement)
    match scalar:
        case Call("sum", (Column() as weight,)):
            _whole(weight, body)
            falling = fact_of(weight, body.rows)
        case _:
            falling = None
    if not isinstance(falling, Falling):
        raise ProofError("weights of keys", "are not told by the number of a person's keys")
    _counted(body, falling.part, falling.where)
    if _cell_rows(body) != 1:
        raise ProofError("weights of keys", "may count somebody twice in one group")
    most, told = body.rows.rows, falling.weights
    if most is None or most > len(told):
        raise ProofError("weights of keys", "leave out people in many groups, who are there all the same")
    if any(lighter > heavier for heavier, lighter in pairwise(told)):
        raise ProofError("weights of keys", "grow with the number of a person's groups")
    return told[:most], Step("weights of keys", f"one row of a person in a group, in at most {most} groups")


def masked(body: Body, statement: Statement, scalar: Scalar) -> tuple[Reach, Step]:
    """Groups as bits.

    Theorem.  Let each person have at most one row with a mask and a weight w >= 0, and let output i sum w
    times the bit at place z_i of the mask, the z_i being different.  A person adds w for each of these bits
    that is set, so at most w b in all with b the bits set in the mask, and at most w to one output.  The keys
    of the outputs are constants; nothing else is grouped or filtered by group.
    """
    size = _series_keys(body, statement)
    sums = scalar.arguments if isinstance(scalar, Call) else ()
    if len(sums) != size or (body.size is not None and body.size < size) or body.keys is None:
        raise ProofError("groups as bits", "need one sum for each declared key")
    if body.rows.rows is None or body.rows.rows > 1:
        raise ProofError("groups as bits", "need one row for each person")
    read = [_bit(part) for part in sums]
    weight, mask, _ = read[0]
    if any((one, other) != (weight, mask) for one, other, _ in read):
        raise ProofError("groups as bits", "must read one mask with one weight")
    places = {place for *_, place in read}
    if len(places) != size or not places <= BITS:
        raise ProofError("groups as bits", "must read different bits")
    aggregate(sums[0], body.rows.leaf, body.rows.rows, grouped=False)
    held, word = evaluate(weight, body.rows.leaf), evaluate(mask, body.rows.leaf)
    if held.kind is not Kind.WHOLE or held.low < 0:
        raise ProofError("groups as bits", "need weights that are not negative")
    bits = size if word.ones is None else min(size, word.ones)
    fact, total = fact_of(weight, body.rows), bits * held.high
    beside = isinstance(mask, Column) and isinstance(weight, Column) and mask.relation == weight.relation
    if isinstance(fact, BitShare) and isinstance(mask, Column) and beside and fact.mask == mask.name:
        total = min(total, fact.most)
    reach = Reach(total, min(held.high, total), bits, 0, 1)
    return reach, Step(
        "bits of groups", f"a person's weights sum to at most {total}, in one group to {reach.cell}"
    )


def _series_keys(body: Body, statement: Statement) -> int:
    keys = [scalar for _, scalar in body.query.items[: statement.keys]]
    columns: list[tuple[object, ...]] = []
    for key in keys:
        match key:
            case Call("series", parts) if all(isinstance(part, Literal) for part in parts):
                held = [part for part in parts if isinstance(part, Literal)]
                kinds = {written(part).kind for part in held} - {Kind.NULL}
                if len(kinds) > 1 or not kinds <= TOLD_APART:
                    raise ProofError("groups as bits", "have keys of different types")
                columns.append(tuple(part.value for part in held))
            case _:
                raise ProofError("groups as bits", "have keys that are not constants")
    rows = list(zip(*columns, strict=True))
    if not rows or len(set(rows)) != len(rows):
        raise ProofError("groups as bits", "have keys that are not different")
    return len(rows)


def _bit(scalar: Scalar) -> tuple[Scalar, Scalar, int]:
    match scalar:
        case Call("sum", (Call("multiply", (weight, Call("bit_at", (mask, Literal(int(place)))))),)):
            return weight, mask, place
    raise ProofError("groups as bits", "must sum a weight times a bit")


def _allowed(body: Body, alias: str) -> Restriction:
    """Return what the rows of groups that leave satisfy, by the columns under an alias.

    Rule.  Only groups whose keys are declared values are ever read, and only those that pass the condition on
    groups; and every row passes the filter.
    """
    about = (*conjuncts(body.query.having), *conjuncts(body.query.where))
    found = restricted(Restriction(), [p for p in about if all(a == alias for a, _ in used(p))], alias)
    sets = dict(found.sets) if found is not None else {}
    for key, values in zip(body.query.group, body.keys or (), strict=False):
        if isinstance(key, Column) and key.relation == alias:
            held = sets.get(key.name)
            sets[key.name] = frozenset(v for v in values if held is None or v in held)
    return Restriction(sets, None, found.others if found is not None else frozenset())
