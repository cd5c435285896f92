"""The checker refuses what the exact integers of two neighbours contradict, and accepts what they do not."""

import ast
from pathlib import Path

import pytest
from tests.query.proof.hostile import GOOD
from tests.query.proof.hostile import HOSTILE as EDITED
from tests.query.proof.missing import MISSING
from tests.query.proof.world import TABLES, Case, violated

import discreet.query.proof
from discreet.errors import ProofError
from discreet.query.proof import prove

HOSTILE = EDITED + MISSING


def named(cases: tuple[Case, ...]) -> list[object]:
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named(GOOD))
def test_a_statement_that_keeps_its_claim_is_proved(case: Case) -> None:
    assert not violated(case)
    assert prove([case.statement], TABLES, [case.claim]).statements[0].statement == case.statement


@pytest.mark.parametrize("case", named(HOSTILE))
def test_a_statement_that_breaks_its_claim_is_refused(case: Case) -> None:
    with pytest.raises(ProofError):
        prove([case.statement], TABLES, [case.claim])


@pytest.mark.parametrize("case", named(tuple(case for case in HOSTILE if case.seen)))
def test_the_break_shows_in_the_exact_integers_of_two_neighbours(case: Case) -> None:
    assert violated(case)


def test_enough_is_tried() -> None:
    assert len({case.name for case in HOSTILE}) == len(HOSTILE) >= 60
    assert sum(case.seen for case in HOSTILE) >= 50


ALLOWED = (
    "discreet.errors",
    "discreet.privacy.adjacency",
    "discreet.privacy.sensitivity",
    "discreet.query.plan",
    "discreet.query.statement",
    "discreet.query.proof",
)


def test_whoever_checks_imports_nothing_of_whoever_made_the_statements() -> None:
    folder = Path(discreet.query.proof.__file__).parent
    for module in folder.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                own = name is not None and name.split(".")[0] == "discreet"
                assert not own or str(name).startswith(ALLOWED), (module.name, name)
