"""Questions and the engine statements they become, side by side.

Each file tells one part of the story.  A paragraph begins with a comment in plain words, then the question,
then a line "-- becomes", then the statement that runs (several are separated by a line "-- and").
After an intended change run `python -m tests.flow.test_flow` to write the new statements, and read the diff.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.engines.duckdb.render import render
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.rewrite.statements import statements

FOLDER = Path(__file__).parent
BECOMES, AND = "\n-- becomes\n", "\n-- and\n"


@dataclass(frozen=True)
class Pair:
    """One question with its comment and its statements."""

    words: str
    question: str
    becomes: tuple[str, ...]


def clinic() -> Catalog:
    """Return the declarations that the files are about."""
    visits = {
        "unit": "patient_id",
        "rows_per_unit": 8,
        "groups_per_unit": 4,
        "columns": {
            "ward": {"type": "text", "values": ["A", "B", "C"]},
            "city": "text",
            "age": {"type": "integer", "low": 0, "high": 120},
            "cost": {"type": "decimal", "low": 0, "high": 5000, "step": "0.01"},
            "temperature": {"type": "decimal", "low": 30, "high": 45},
            "note": "decimal",
            "stay": {"type": "integer", "low": 0, "high": 60, "nullable": False},
            "day": {"type": "date", "low": "2024-01-01", "high": "2024-03-31"},
            "arrived": "timestamp",
            "urgent": "boolean",
        },
    }
    cellwise = {**visits, "rows_per_group": 2}
    patients = {
        "unit": "patient_id",
        "rows_per_unit": 1,
        "columns": {"born": {"type": "integer", "low": 1900, "high": 2024}, "patient_id": "integer"},
    }
    wards = {
        "public": True,
        "columns": {
            "ward": {"type": "text", "unique": True},
            "floor": {"type": "integer", "low": 0, "high": 3},
        },
    }
    votes = {
        "unit": "row",
        "columns": {
            "party": {"type": "text", "values": ["x", "y"]},
            "age": {"type": "integer", "low": 18, "high": 99},
        },
    }
    prepared = {**visits, "prepared": True}
    tables = {
        "visits": visits,
        "limited": cellwise,
        "patients": patients,
        "wards": wards,
        "votes": votes,
        "ready": prepared,
    }
    return declare({"tables": tables})


def pairs(path: Path) -> Iterator[Pair]:
    for paragraph in path.read_text(encoding="utf-8").strip().split("\n\n\n"):
        head, _, becomes = paragraph.partition(BECOMES)
        lines = head.splitlines()
        words = [line for line in lines if line.startswith("--")]
        question = "\n".join(line for line in lines if not line.startswith("--"))
        yield Pair("\n".join(words), question, tuple(becomes.strip().split(AND)))


def rewritten(question: str) -> tuple[str, ...]:
    return tuple(render(statement) for statement in statements(check(read(question), clinic())))


FILES = sorted(FOLDER.glob("*.sql"))
CASES = [pytest.param(pair, id=f"{path.stem}: {pair.words[3:60]}") for path in FILES for pair in pairs(path)]


@pytest.mark.parametrize("pair", CASES)
def test_the_question_becomes_exactly_this(pair: Pair) -> None:
    assert pair.words.startswith("-- ")
    assert rewritten(pair.question) == pair.becomes


@pytest.mark.parametrize("pair", CASES)
def test_no_statement_holds_the_names_the_analyst_chose(pair: Pair) -> None:
    for statement in pair.becomes:
        assert " AS v " not in statement
        assert "--" not in statement
        assert ";" not in statement


def test_there_are_enough_pairs_to_learn_from() -> None:
    assert len(CASES) >= 60


def bless() -> None:
    """Write the statements that the questions become now."""
    for path in FILES:
        text = []
        for pair in pairs(path):
            text.append(f"{pair.words}\n{pair.question}{BECOMES}{AND.join(rewritten(pair.question))}")
        path.write_text("\n\n\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    bless()
