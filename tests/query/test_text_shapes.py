"""What is remembered of texts: that a tree survived, never a tree, and only for other numbers."""

import re
from itertools import cycle
from pathlib import Path

import pytest

from discreet.errors import QueryError
from discreet.query.language import text
from discreet.query.language.text import SHAPES, parsed

NUMBERS = re.compile(r"(?<![\w.'-])\d+(?:\.\d+)?(?![\w.'-])")
TEXTS = re.compile(r"(?<=[=<>] )'[A-Za-z0-9 _.:-]+'")
OTHERS = ("0", "1", "7", "12345", "0.5", "2.50", "31", "999999999999999")
CORPUS = [
    line
    for place in sorted((Path(__file__).parent / "corpus").glob("*.sql"))
    for line in place.read_text().splitlines()
    if line.startswith(("SELECT", "WITH")) and (NUMBERS.search(line) or TEXTS.search(line))
]


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_survived", type(text._survived)())


def outcome(question: str) -> str:
    try:
        written = parsed(question)
    except QueryError as refused:
        return f"refused: {refused}"
    return f"{written.tree!r} {written.privacy}"


def variants(question: str) -> list[str]:
    found = []
    for shift in (0, 3):
        numbers = cycle(OTHERS[shift:] + OTHERS[:shift])
        other = NUMBERS.sub(lambda _, numbers=numbers: next(numbers), question)  # type: ignore[misc]
        found.append(TEXTS.sub(("'2024-02-29'", "'NULL'")[shift == 0], other))
    return found


def test_a_text_is_read_alike_whether_or_not_its_shape_was_seen_before() -> None:
    assert len(CORPUS) > 50
    for question in CORPUS[::6]:
        for other in variants(question):
            text._survived.clear()
            fresh = outcome(other)
            text._survived.clear()
            outcome(question)
            assert outcome(other) == fresh


def test_what_has_two_readings_is_refused_beside_any_shape_that_survived() -> None:
    for number in (5, 6):
        assert "refused" not in outcome(f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}")
        assert "more than one way" in outcome(f"SELECT COUNT(*) AS n FROM visits {{a}} WHERE age > {number}")


@pytest.mark.parametrize(
    "words",
    [
        "age > 05",
        "ward = 'it''s'",
        "ward IN ('A')",
        "ward LIKE 'A'",
        "age > 5e0",
        "age > '5'",
        "age > 5 AND 1 = 1",
        "age >= 5",
        "aga > 5",
        "age > 5.",
    ],
)
def test_only_plain_numbers_make_no_other_shape(words: str) -> None:
    outcome("SELECT COUNT(*) AS n FROM visits WHERE age > 5")
    outcome("SELECT COUNT(*) AS n FROM visits WHERE age > 60.25")
    assert len(text._survived) == 1
    outcome(f"SELECT COUNT(*) AS n FROM visits WHERE {words}")
    assert len(text._survived) == 2


def test_plain_texts_that_something_is_compared_with_make_no_other_shape() -> None:
    for word in ("A", "2024-01-31", "north west"):
        outcome(f"SELECT COUNT(*) AS n FROM visits WHERE ward = '{word}'")
    assert len(text._survived) == 1
    for word in ("%", "a%b", "$.x", "", "x" * 61, "\N{SNOWMAN}"):
        outcome(f"SELECT COUNT(*) AS n FROM visits WHERE ward = '{word}'")
    assert len(text._survived) == 7


def test_no_more_shapes_are_remembered_than_stated() -> None:
    for number in range(SHAPES + 9):
        outcome(f"SELECT c{number}")
    assert len(text._survived) == SHAPES
    outcome("SELECT " + ", ".join(f"c{number}" for number in range(300)))
    assert len(text._survived) == SHAPES
