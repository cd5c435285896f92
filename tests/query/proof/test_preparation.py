"""A prepared table keeps its promise, or is not made; and nothing unproved reaches an engine."""

import copy
import pickle
from dataclasses import replace

import pytest
from tests.query.proof.hostile import COUNT, VOTES, noised
from tests.query.proof.world import TABLES, VISITS, c, engine, f, inner, run, statement, there, total

from discreet.engines.exact import EngineRequest
from discreet.errors import ProofError
from discreet.privacy.adjacency import Adjacency
from discreet.query.plan import Column, Literal, Scalar
from discreet.query.proof import (
    Declarations,
    Noised,
    ProvedStatement,
    TableDeclaration,
    prove,
    prove_preparation,
    sealed,
)
from discreet.query.proof.declared import Claim
from discreet.query.proof.derivation import Step
from discreet.query.statement import Query, Statement, StoredTable

NAMES = tuple(name for name, _ in VISITS)
READY = TableDeclaration("visits", VISITS, "person", kept=2)


def kept(
    *,
    names: tuple[str, ...] = NAMES,
    limit: int = 2,
    person: Column | None = None,
    where: Scalar | None = None,
) -> Statement:
    """Return the statement that keeps two rows of each person."""
    own = [c("t", name) for name in NAMES]
    rank = f("rank", person or c("t", "person"), f("hash", f("hash", f("choice"), *own)), *own)
    ranked = Query(
        (*((name, c("t", name)) for name in NAMES), ("j", rank)),
        StoredTable("visits", "t"),
        there(c("t", "person")) if where is None else where,
    )
    chosen = Query(
        tuple((name, c("r", source)) for name, source in zip(NAMES, names, strict=True)),
        inner(ranked),
        f("le", c("r", "j"), limit),
    )
    return Statement((), chosen, 0, ())


def test_a_preparation_that_keeps_few_rows_is_proved() -> None:
    assert "at most 2 rows" in str(prove_preparation(kept(), TABLES, READY))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(kept(limit=3), id="more rows"),
        pytest.param(kept(person=c("t", "k")), id="numbered within wards"),
        pytest.param(kept(where=Literal(True)), id="rows of nobody"),
        pytest.param(kept(names=("k", "person", *NAMES[2:])), id="the person under another name"),
        pytest.param(kept(names=("person", "a", "k", *NAMES[3:])), id="columns of other types"),
        pytest.param(replace(kept(), outputs=("m0",)), id="with outputs"),
    ],
)
def test_a_preparation_that_breaks_its_promise_is_refused(broken: Statement) -> None:
    with pytest.raises(ProofError):
        prove_preparation(broken, TABLES, READY)


FRIENDS = TableDeclaration("friends", (("person", "identifier"), ("friend", "identifier")), "person")


@pytest.mark.parametrize("swapped", [False, True])
def test_a_preparation_keeps_the_person_in_the_column_of_the_unit(swapped: bool) -> None:
    own = (c("t", "person"), c("t", "friend"))
    ranked = Query(
        (("person", own[0]), ("friend", own[1]), ("j", f("rank", own[0], *own))),
        StoredTable("friends", "t"),
        there(own[0]),
    )
    names = ("friend", "person") if swapped else ("person", "friend")
    items = tuple((name, c("r", source)) for name, source in zip(("person", "friend"), names, strict=True))
    chosen = Statement((), Query(items, inner(ranked), f("le", c("r", "j"), 2)), 0, ())
    tables = Declarations((FRIENDS,))
    if not swapped:
        assert prove_preparation(chosen, tables, replace(FRIENDS, kept=2))
        return
    with pytest.raises(ProofError, match="column of its unit"):
        prove_preparation(chosen, tables, replace(FRIENDS, kept=2))


def test_a_preparation_has_the_neighbours_of_its_table() -> None:
    with pytest.raises(ProofError):
        prove_preparation(kept(), TABLES, replace(READY, adjacency=Adjacency.REPLACE))


def test_only_the_checker_makes_proved_statements() -> None:
    plain = statement(total(COUNT, VOTES))
    proved = prove([plain], TABLES, [noised(1)]).statements[0]
    with pytest.raises(ProofError):
        ProvedStatement(plain, Step("statement", "trust me"))
    with pytest.raises(ProofError):
        pickle.dumps(proved)
    with pytest.raises(ProofError):
        copy.copy(proved)


def test_a_proof_is_of_one_statement_alone() -> None:
    plain, evil = statement(total(COUNT, VOTES)), statement(total(f("sum", c("t", "a")), VOTES))
    proved = prove([plain], TABLES, [noised(1)]).statements[0]
    assert sealed(proved) is plain
    with pytest.raises(ProofError):
        replace(proved, statement=evil)
    empty = object.__new__(ProvedStatement)
    with pytest.raises(ProofError):
        sealed(empty)
    object.__setattr__(proved, "statement", evil)
    with pytest.raises(ProofError):
        sealed(proved)
    with pytest.raises(ProofError):
        engine(eve=True).run([proved], 1)


def test_an_engine_runs_nothing_unproved() -> None:
    plain = statement(total(COUNT, VOTES))
    proved = prove([plain], TABLES, [noised(1)]).statements[0]
    known = run(plain, eve=True)
    assert known is not None
    assert engine(eve=True).run([proved], 1)._totals == known._totals
    for offered in (plain, EngineRequest("SELECT 1", 0, ("m0",)), "SELECT 1", None):
        with pytest.raises(ProofError):
            engine(eve=True).run([offered], 1)  # type: ignore[list-item]


def test_a_refusal_names_the_part_and_the_reason() -> None:
    with pytest.raises(ProofError, match="m0 moves") as refused:
        prove([statement(total(COUNT, VOTES))], TABLES, [noised(0)])
    assert refused.value.part == "the output m0"


def test_claims_and_outputs_must_be_the_same() -> None:
    plain, claim = statement(total(COUNT, VOTES)), noised(1)
    one = claim.releases[0]
    assert isinstance(one, Noised)
    other = Claim((), (replace(one, output="m1"),))
    for claims in ([], [claim, claim], [Claim((), (one, one))], [other], [Claim((), ())]):
        with pytest.raises(ProofError):
            prove([plain], TABLES, claims)
