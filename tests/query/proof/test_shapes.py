"""Sums of different values and corners of higher degree: what is proved of them, and what is not."""

from math import comb

import pytest
from tests.query.proof.world import TABLES, Case, c, f, noised, run, statement, there, total, violated

from discreet.errors import ProofError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.plan import Call, Literal, Scalar
from discreet.query.proof import Blended, Claim, prove
from discreet.query.statement import Inner, Query, Statement, StoredTable

VOTES = StoredTable("votes", "t")
HELD = f("clamp", c("t", "a"), 0, 9)


def proved(found: Statement, claim: Claim) -> None:
    prove([found], TABLES, [claim])


def test_a_sum_of_different_values_moves_by_the_largest() -> None:
    found = statement(total(f("sum_distinct", HELD), VOTES))
    proved(found, noised(9))
    assert not violated(Case("different values", found, noised(9)))
    assert violated(Case("different values", found, noised(8)))
    with pytest.raises(ProofError):
        proved(found, noised(8))


@pytest.mark.parametrize(
    ("scalar", "words"),
    [
        (f("sum_distinct", c("t", "c")), "does not add up integers"),
        (f("sum_distinct", c("t", "k")), "does not add up integers"),
        (f("sum_distinct", c("t", "a")), "claim"),
        (f("sum_distinct", HELD, HELD), "neither a count nor a sum"),
        (f("sum", f("sum_distinct", HELD)), "not one that the checker knows"),
    ],
)
def test_other_sums_of_different_values_are_refused(scalar: Scalar, words: str) -> None:
    with pytest.raises(ProofError) as refused:
        proved(statement(total(scalar, VOTES)), noised(9))
    assert words == "claim" or words in str(refused.value)


def test_a_person_with_many_rows_may_add_many_values() -> None:
    rows = StoredTable("visits", "t")
    with pytest.raises(ProofError, match="any number of rows"):
        proved(statement(total(f("sum_distinct", HELD), rows, there(c("t", "person")))), noised(9))


def corners(degree: int, change: dict[int, Scalar] | None = None) -> Statement:
    """Return the sums of the terms of ((9 - x) + x)**degree."""
    found: list[tuple[str, Scalar]] = []
    for place in range(degree + 1):
        term: Scalar = Literal(comb(degree, place))
        for _ in range(place):
            term = Call("multiply", (term, c("r", "x")))
        for _ in range(degree - place):
            term = Call("multiply", (term, Call("subtract", (Literal(9), c("r", "x")))))
        found.append((f"m{place}", f("sum", (change or {}).get(place, term))))
    held = Inner(Query((("x", HELD),), VOTES), "r")
    return Statement((), Query(tuple(found), held), 0, tuple(name for name, _ in found))


def joint(degree: int, top: int) -> Claim:
    moved = Sensitivity(top, top**2, top, degree + 1)  # type: ignore[arg-type]
    return Claim((), (Blended(tuple(f"m{place}" for place in range(degree + 1)), moved),))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_corners_move_together_by_the_power_of_the_width(degree: int) -> None:
    found = corners(degree)
    proved(found, joint(degree, 9**degree))
    assert run(found, eve=True) is not None
    with pytest.raises(ProofError):
        proved(found, joint(degree, 9**degree - 1))


X = c("r", "x")
CUBE = f("multiply", f("multiply", X, X), X)


@pytest.mark.parametrize(
    ("degree", "change"),
    [
        # Without one of its terms the sum has a third power left, whose largest value no rule knows.
        (3, {1: Literal(0)}),
        (3, {3: f("multiply", Literal(2), CUBE)}),
        (4, {2: Literal(1)}),
        (4, {4: f("multiply", CUBE, f("multiply", X, X))}),
    ],
)
def test_terms_that_do_not_cancel_are_refused(degree: int, change: dict[int, Scalar]) -> None:
    with pytest.raises(ProofError, match="degree"):
        proved(corners(degree, change), joint(degree, 9**degree * 10**6))
