"""Hostile and mistaken questions are refused before any data is touched, with advice."""

from pathlib import Path

import pytest
from tests.query.questions import clinic
from tests.query.words import parser_words

from discreet.engines.duckdb.render import render
from discreet.errors import QueryError
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.rewrite.statements import statements


def corpus() -> list[tuple[str, str]]:
    lines = Path(__file__).with_name("refused.sql").read_text(encoding="utf-8").splitlines()
    cases = []
    for line in lines:
        if "->" in line and not line.startswith("--"):
            question, _, expected = line.rpartition("->")
            cases.append((question.strip(), expected.strip()))
    return cases


CORPUS = corpus()


def test_the_corpus_is_large() -> None:
    assert len({question for question, _ in CORPUS}) >= 200


@pytest.mark.parametrize(("question", "expected"), CORPUS)
def test_refused_with_a_teaching_message(question: str, expected: str) -> None:
    with pytest.raises(QueryError) as refusal:
        check(read(question), clinic())
    error = refusal.value
    assert error.clause
    assert error.reason
    assert error.instead
    assert expected.lower() in str(error).lower()
    assert not parser_words(str(error), question)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) FROM visits" + " " * 9000,
        "SELECT COUNT(*) FROM visits WHERE " + " AND ".join(f"age > {n}" for n in range(120)),
        "SELECT COUNT(*) FROM visits WHERE " + "NOT (" * 60 + "flag" + ")" * 60,
        "SELECT SUM(" + "CLAMP(" * 20 + "age" + ", 0, 9)" * 20 + ") FROM visits",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 8 + "visits" + ") AS t" * 8,
        "SELECT COUNT(*)\u200b FROM visits",
        "SELECT COUNT(*) FROM visits WHERE city = 'a\u0000b'",
        "SELECT COUNT(*) FROM visits\u202e",
        "(" * 5000,
    ],
)
def test_oversized_and_invisible_text_is_refused(question: str) -> None:
    with pytest.raises(QueryError):
        list(map(render, statements(check(read(question), clinic()))))


def test_private_keys_without_delta_are_refused_when_priced() -> None:
    from discreet.query.price.quote import quote

    checked = check(read("SELECT city, COUNT(*) FROM visits GROUP BY city"), clinic())
    with pytest.raises(QueryError, match="declare values for city"):
        quote(checked, epsilon=1)


def test_output_names_that_double_with_each_other_are_refused() -> None:
    doubled = ", ".join(f"a{n} * a{n} AS a{n + 1}" for n in range(24))
    with pytest.raises(QueryError, match="too many parts"):
        check(read(f"SELECT COUNT(*) AS a0, {doubled} FROM visits"), clinic())
