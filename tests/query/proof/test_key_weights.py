"""Weights of keys that fall with the number of a person's keys: what is proved of them, and what is not."""

from dataclasses import replace
from math import isqrt

import pytest
from tests.query.proof.world import (
    TABLES,
    Case,
    W,
    c,
    f,
    inner,
    moves,
    noised,
    rows,
    statement,
    total,
    violated,
)

from discreet.errors import ProofError
from discreet.query.plan import Among, Literal, Scalar
from discreet.query.plan import Case as When
from discreet.query.proof import Claim, Declarations, Kept, KeptByWeight, Noised, prove
from discreet.query.statement import JoinedRows, Named, Query, Source, Statement

COUNT = f("count_rows")
SAME = f("eq", c("c", "u"), c("p", "u"))


def falling(groups: int, one: int = W) -> tuple[int, ...]:
    return tuple(isqrt(one * one // m) for m in range(1, groups + 1))


THREE = falling(3)
FEW = Among(c("c", "k"), (Literal("a"), Literal("b"), Literal("c")))


def told(weights: tuple[int, ...], count: Scalar = COUNT, otherwise: int = 0) -> Scalar:
    """Return the weight of somebody by cases of how many keys they have."""
    cases = tuple((f("eq", count, m), Literal(w)) for m, w in enumerate(weights, 1))
    return f("narrow", When(cases, Literal(otherwise)))


def told_by(numbers: tuple[int, ...], weights: tuple[int, ...] = THREE, test: str = "eq") -> Scalar:
    """Return the weight of somebody by other cases."""
    cases = tuple((f(test, COUNT, m), Literal(w)) for m, w in zip(numbers, weights, strict=True))
    return f("narrow", When(cases, Literal(0)))


def cells(
    limit: int | None = 3, *, keyed: bool = True, where: Scalar | None = None, table: str = "visits"
) -> Query:
    """Return everybody's keys, one row for each, of which at most so many are kept."""
    own = (c("r", "u"), c("r", "k")) if keyed else (c("r", "u"), c("r", "k"), c("r", "x"))
    items = tuple((column.name, column) for column in own)
    found = Query(items, inner(rows(table)), where, own)
    if limit is None:
        return found
    plain = tuple(c("c", name) for name, _ in items)
    rank = f("rank", plain[0], f("hash", f("hash", f("choice"), *plain)), *plain[1:])
    ranked = Query((*((column.name, column) for column in plain), ("j", rank)), inner(found, "c"))
    return Query(
        tuple((name, c("j", name)) for name, _ in items), inner(ranked, "j"), f("le", c("j", "j"), limit)
    )


def weighed(
    weight: Scalar | None = None,
    *,
    part: Query | None = None,
    counted: str = "cells",
    among: Scalar | None = None,
    scalar: Scalar | None = None,
    where: Scalar | None = None,
    source: Source | None = None,
    more: tuple[tuple[str, Query], ...] = (),
) -> Statement:
    """Return the weight of each key: those of at most three keys of everybody, by how many there are."""
    people = Query(
        (("u", c("c", "u")), ("w", told(THREE) if weight is None else weight)),
        Named(counted, "c"),
        among,
        (c("c", "u"),),
    )
    joined = source or JoinedRows(Named("cells", "c"), Named("people", "p"), SAME)
    body = total(scalar or f("sum", c("p", "w")), joined, where, c("c", "k"))
    return statement(body, *more, ("cells", part or cells()), ("people", people))


def claim(weights: tuple[int, ...] = THREE, squares: int = W * W) -> Claim:
    return Claim(None, (KeptByWeight("m0", weights, squares),))


GOOD = (
    Case("weights of keys", weighed(), claim()),
    Case("smaller ones than claimed", weighed(told(falling(3, W // 2))), claim()),
    Case("fewer keys than weights", weighed(told(falling(5))), claim()),
    Case("as many as are claimed at least", weighed(), claim(falling(4))),
    Case("few keys of people with many", weighed(part=cells(None), where=FEW), claim()),
    Case("a filter after counting", weighed(where=f("eq", c("c", "k"), "a")), claim()),
)

FLAT, ONE_ABOVE = (W,) * 3, tuple(w + 1 for w in THREE)

HOSTILE = (
    Case("the same weight for everybody", weighed(told(FLAT)), claim()),
    Case("the same weight, claimed", weighed(told(FLAT)), claim(FLAT)),
    Case("a weight above the claimed one", weighed(told(ONE_ABOVE)), claim()),
    Case("a key above the claimed weight, within the squares", weighed(), claim((W, W // 2, W // 2))),
    Case("rounded up", weighed(told(ONE_ABOVE)), claim(ONE_ABOVE)),
    Case("squares claimed too small", weighed(), claim(squares=3 * THREE[2] ** 2 - 1)),
    Case("keys without limit", weighed(part=cells(None)), claim()),
    Case("more keys than weights", weighed(told(THREE[:2]), part=cells(8)), claim(THREE[:2])),
    Case("more keys than weights, claimed", weighed(told(THREE[:2])), claim(), seen=False),
    Case("more keys than claimed", weighed(told(falling(5)), part=cells(5)), claim(THREE)),
    Case(
        "few keys of people with many, who weigh the whole",
        weighed(told(THREE, otherwise=W), part=cells(None), where=FEW),
        claim(),
    ),
    Case("more for people beyond", weighed(told(THREE[:2], otherwise=W)), claim()),
    Case(
        "counted under a condition that the sum does not have",
        weighed(among=f("eq", c("c", "k"), "a")),
        claim(),
        seen=False,
    ),
    Case("a row for each visit", weighed(part=cells(3, keyed=False)), claim(), seen=False),
    Case(
        "counts of other rows",
        weighed(counted="other", more=(("other", cells(1)),)),
        claim(),
    ),
    Case("twice the weight", weighed(scalar=f("sum", f("multiply", c("p", "w"), 2))), claim()),
    Case("growing weights", weighed(told((1, 1, W))), claim((W, W, W), 3 * W * W), seen=False),
    Case("cases out of order", weighed(told_by((3, 2, 1))), claim()),
    Case("a case left out", weighed(told_by((1, 3), THREE[:2])), claim()),
    Case("cases that overlap", weighed(told_by((1, 2, 3), test="ge")), claim()),
    Case(
        "swapped people at the price of one",
        weighed(part=cells(table="swaps")),
        claim(),
        seen=False,
    ),
    Case(
        "without a partner",
        weighed(
            source=JoinedRows(Named("cells", "c"), Named("people", "p"), SAME, outer=True),
        ),
        claim(),
        seen=False,
    ),
    Case("different values alone", weighed(scalar=f("sum_distinct", c("p", "w"))), claim(), seen=False),
    Case("the number of keys", weighed(scalar=COUNT), claim((1, 1, 0), 3)),
)


def proved(case: Case, tables: Declarations = TABLES) -> None:
    prove([case.statement], tables, [case.claim])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in GOOD])
def test_weights_that_keep_their_claim_are_proved(case: Case) -> None:
    assert not violated(case)
    proved(case)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in HOSTILE])
def test_weights_that_break_their_claim_are_refused(case: Case) -> None:
    with pytest.raises(ProofError):
        proved(case)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in HOSTILE if case.seen])
def test_the_break_shows_in_the_weights_of_two_neighbours(case: Case) -> None:
    assert violated(case)


def test_weights_of_people_who_are_replaced_move_twice_as_far() -> None:
    found = weighed(part=cells(table="swaps"))
    proved(Case("", found, claim(squares=2 * W * W)))
    with pytest.raises(ProofError, match="l2 squared"):
        proved(Case("", found, claim(squares=2 * W * W - 1)))


def test_declared_keys_are_not_found_by_weights() -> None:
    with pytest.raises(ProofError, match="declared"):
        proved(Case("", weighed(), Claim((("a", "b", "c"),), claim().releases)))


def test_declared_keys_are_not_found_by_two_thresholds_either() -> None:
    found, keys = weighed(), (("a", "b", "c"),)
    other = replace(
        found,
        outputs=("m1",),
        body=replace(found.body, items=(found.body.items[0], ("m1", found.body.items[1][1]))),
    )
    claims = [Claim(keys, (KeptByWeight(output, THREE, W * W),)) for output in ("m0", "m1")]
    with pytest.raises(ProofError, match="declared"):
        prove([found, other], TABLES, claims)


def test_one_threshold_finds_the_keys_of_all() -> None:
    found = weighed()
    other = replace(
        found, outputs=("m1",), body=replace(found.body, items=(found.body.items[0], ("m1", COUNT)))
    )
    with pytest.raises(ProofError, match="one threshold"):
        prove([found, other], TABLES, [claim(), Claim(None, (Kept("m1", 3),))])
    counts = Claim(None, (Noised("m1", moves(3, 1, 3)),))
    assert len(prove([found, other], TABLES, [claim(), counts]).statements) == 2


def test_a_weight_of_keys_is_no_share() -> None:
    """What bounds squares does not bound sums: the weights of one person add up to more than one."""
    with pytest.raises(ProofError):
        prove([weighed()], TABLES, [replace(noised(W, output="m0"), keys=(("a", "b", "c"),))])
