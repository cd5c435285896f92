"""A price is told in all its meanings: alone, as a part of the budget, by what fits and what it closes."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.privacy.zcdp import delta_of_rho
from discreet.release.opening import open as open_session

DELTA = Fraction("1e-6")
MANY = "SELECT " + ", ".join(f"COUNT_IF(x = {i})" for i in range(20)) + " FROM t"
"""Gaussian noise errs less for so many counts of the same people."""
ALONE = "(alone: epsilon 0.2, delta 1e-06)"


def opened(delta: Fraction | None = DELTA):
    place = np.arange(2000)
    people = pd.DataFrame({"id": place, "x": place % 30})
    given = {} if delta is None else {"delta": delta}
    columns = {"x": {"type": "integer", "low": 0, "high": 29}}
    return open_session(t=people, unit="id", epsilon=1, rows_per_unit=1, columns=columns, **given)


@pytest.fixture
def data():
    with opened() as session:
        yield session


def test_gaussian_noise_says_what_it_promises_alone(data):
    priced, answer = (ask(MANY, epsilon="0.2") for ask in (data.quote, data.query))
    assert priced.cost.epsilon is None
    assert priced.alone == (Fraction("0.2"), DELTA)
    for said in (repr(priced), priced._repr_html_(), repr(answer), answer._repr_html_(), answer.card()):
        assert f"rho 0.001167 {ALONE}" in said


def test_what_is_promised_alone_is_kept(data):
    for epsilon in ("0.01", "0.2", "1"):
        priced = data.quote(MANY, epsilon=epsilon)
        assert delta_of_rho(priced.cost.rho, priced.alone[0]) <= priced.alone[1]
        assert delta_of_rho(priced.cost.rho * Fraction(21, 20), priced.alone[0]) > priced.alone[1] * Fraction(
            9, 10
        )


def test_what_is_pure_says_so_itself(data):
    assert data.quote("SELECT COUNT(*) FROM t", epsilon="0.2").alone is None
    with opened(None) as pure:
        assert pure.quote(MANY, epsilon="0.2").alone is None
        assert "alone" not in repr(pure.quote(MANY, epsilon="0.2"))


def test_whoever_asks_first_for_gaussian_noise_is_told_that_it_closes_the_pure_sum(data):
    first = data.quote(MANY, epsilon="0.2")
    assert first.closes
    for said in (repr(first), first._repr_html_()):
        assert "first that is not pure" in said
    assert not data.quote("SELECT COUNT(*) FROM t", epsilon="0.2").closes
    data.query(MANY, epsilon="0.2")
    again = data.quote(MANY, epsilon="0.1")
    assert not again.closes
    assert "first that is not pure" not in repr(again)


def test_what_it_closes_is_true(data):
    fits = data.quote("SELECT COUNT(*) FROM t", epsilon="0.25").copies
    assert fits == 4
    data.query(MANY, epsilon="0.01")
    assert data.quote("SELECT COUNT(*) FROM t", epsilon="0.25").copies < fits


WHY = "is NULL (-) where its number of rows cannot be told from zero"


def grouped(column: str) -> str:
    return f"SELECT g, {column} AS v, COUNT(*) AS n FROM t GROUP BY g"


@pytest.fixture
def halves():
    place = np.arange(2000)
    people = pd.DataFrame({"id": place, "x": place % 30, "g": "a"})
    columns = {"x": {"type": "integer", "low": 0, "high": 29}, "g": {"values": ["a", "b"]}}
    with open_session(t=people, unit="id", epsilon=100, rows_per_unit=1, columns=columns) as session:
        yield session


@pytest.mark.parametrize("column", ["AVG(x)", "VAR_SAMP(x)", "STDDEV(x) + 1", "AVG(x) FILTER (WHERE x > 3)"])
def test_a_mean_of_nobody_says_why_it_is_null(halves, column):
    # The noise reaches its `least` once in twenty times: some of these draws show the empty group as NULL.
    answers = [halves.query(grouped(column), epsilon=1 + Fraction(k, 100)) for k in range(8)]
    missing = [answer for answer in answers if None in answer.rows[1].cells]
    assert missing
    for answer in answers:
        told = [WHY in said for said in (repr(answer), answer._repr_html_(), answer.card())]
        assert told == [answer in missing] * 3


def test_a_null_of_the_analysts_own_making_has_no_such_reason(halves):
    answer = halves.query(grouped("CASE WHEN COUNT(*) < -1000000 THEN 1 END"), epsilon=1)
    assert [row.cells[1] for row in answer.rows] == [None, None]
    assert WHY not in repr(answer) + answer.card()


def test_the_reason_stays_with_a_mean_that_was_asked_inside(halves):
    inner = grouped("AVG(x)")
    answers = [
        halves.query(f"SELECT g, v * 2 AS w FROM ({inner}) AS a", epsilon=1 + Fraction(k, 100))
        for k in range(8)
    ]
    assert any(None in answer.rows[1].cells for answer in answers)
    assert all((None in answer.rows[1].cells) == (WHY in repr(answer)) for answer in answers)
