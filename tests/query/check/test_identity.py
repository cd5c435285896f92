"""The identity of a question is what it measures: pinned texts, and what may and may not change them."""

import json
from pathlib import Path

import pytest
from tests.query.questions import clinic

from discreet.query.check.identity import VERSION, identity
from discreet.query.check.question import check
from discreet.query.language.frame import col, count, table
from discreet.query.language.sql import read

PINNED = [json.loads(line) for line in (Path(__file__).parent / "identities.jsonl").read_text().splitlines()]


def asked(question: str, **declared: object) -> str:
    return identity(check(read(question), clinic(**declared)))  # type: ignore[arg-type]


def test_there_are_enough_pinned_questions() -> None:
    assert len(PINNED) >= 60
    assert len({pinned["question"] for pinned in PINNED}) == len(PINNED)


@pytest.mark.parametrize("pinned", PINNED, ids=lambda pinned: pinned["question"])
def test_a_stored_identity_never_changes(pinned: dict[str, object]) -> None:
    """If this fails the stored form has changed: count VERSION up, or earlier answers are charged again."""
    assert json.loads(asked(str(pinned["question"]))) == pinned["identity"]


def test_no_engine_and_no_analyst_enters_an_identity() -> None:
    for pinned in PINNED:
        text = json.dumps(pinned["identity"])
        assert "SELECT" not in text
        assert "CAST" not in text
        assert pinned["identity"]["question"] == VERSION


SAME = [
    ("SELECT COUNT(*) FROM visits", "select  count( * )\nfrom VISITS"),
    ("SELECT COUNT(*) AS n FROM visits", "SELECT COUNT(*) AS patients FROM visits AS v"),
    (
        "SELECT COUNT(*) FROM visits WHERE age > 3 AND ward = 'A'",
        "SELECT COUNT(*) FROM visits WHERE 'A' = ward AND 3 < age",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE (age > 3 AND ward = 'A') AND age > 3",
        "SELECT COUNT(*) FROM visits WHERE ward = 'A' AND age > 3",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE ward IN ('A', 'B')",
        "SELECT COUNT(*) FROM visits WHERE ward IN ('B', 'A', 'B')",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 100",
    ),
    ("SELECT AVG(age) FROM visits", "SELECT AVG(age) * 12 AS months FROM visits"),
    ("SELECT COUNT(*) FROM visits", "SELECT COUNT(*) + 1 FROM visits"),
    (
        "SELECT AVG(m) FROM (SELECT person, COUNT(*) AS m FROM visits GROUP BY person) AS q",
        "WITH often AS (SELECT Person, COUNT(*) AS n FROM visits GROUP BY PERSON) SELECT AVG(n) FROM often",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spelling_and_what_is_computed_afterwards_do_not_matter(one: str, other: str) -> None:
    assert asked(one) == asked(other)


def test_the_dataframe_asks_the_same_question() -> None:
    built = table("visits").where(col("age") > 3).group("ward").agg(n=count())
    sql = "SELECT ward, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY ward"
    assert identity(check(built.block, clinic())) == asked(sql)


def test_whatever_is_measured_otherwise_is_another_question() -> None:
    texts = [asked(str(pinned["question"])) for pinned in PINNED]
    # Told apart by HAVING, ORDER BY and LIMIT, by arithmetic on the same numbers, by WITH alone, and by a
    # quotient that is a mean.
    assert len(texts) - len(set(texts)) == 4
    plain = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    for declared in (
        {"rows": 4},
        {"per_group": 1},
        {"neighbours": "replace"},
        {"unit": False},
    ):
        assert asked(plain, **declared) != asked(plain)
    for other in (
        "SELECT COUNT(*) FROM visits WHERE age > 3",
        "SELECT COUNT(*) FROM visits WHERE age >= 3",
        "SELECT COUNT(*) FROM visits WHERE 3 > age",
        "SELECT COUNT(*) FROM visits WHERE age > 3 OR ward = 'A'",
        "SELECT COUNT(*) FROM visits WHERE cost > 3",
        "SELECT COUNT(*) FROM visits WHERE city = '3'",
    ):
        assert asked(other) not in texts
        texts.append(asked(other))
