"""Vendors' privacy clauses: what they say is done where it agrees with the manifest, else refused."""

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
from tests.query.questions import clinic

import discreet as dp
from discreet.errors import QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import Limits, check
from discreet.query.language.sql import read

CLAUSE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({0}) ward, COUNT(*) AS n FROM visits GROUP BY ward"
PLAIN = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def data() -> Iterator[dp.Session]:
    rows = pyarrow.table({"person": [f"p{n}" for n in range(100)], "ward": ["A", "B"] * 50})
    columns = {"ward": {"type": "text", "values": ["A", "B"]}}
    with dp.open(visits=rows, unit="person", rows_per_unit=2, epsilon=10, columns=columns) as opened:
        yield opened


def test_the_price_in_the_text_is_the_price(data: dp.Session) -> None:
    asked = data.quote(CLAUSE.format("epsilon = 0.5, delta = 1e-9, privacy_unit_column = person"))
    assert asked.cost == data.quote(PLAIN, epsilon="0.5").cost
    assert data.quote(CLAUSE.format("epsilon = 0.5"), epsilon="0.5").cost == asked.cost


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"within": 5}, {"epsilon": "0.5", "delta": "1e-6"}])
def test_two_prices_are_refused(data: dp.Session, price: dict[str, object]) -> None:
    text = CLAUSE.format("epsilon = 0.5, delta = 1e-9")
    with pytest.raises(QueryError, match="say it in one place"):
        data.quote(text, **price)  # type: ignore[arg-type]


def test_a_batch_has_one_price(data: dp.Session) -> None:
    with pytest.raises(QueryError, match="a batch has one price"):
        data.quote([CLAUSE.format("epsilon = 0.5"), PLAIN], epsilon=1)


def test_limits_in_the_text_are_limits() -> None:
    said = check(read(CLAUSE.format("max_groups_contributed = 1, max_rows_contributed = 2")), clinic())
    meant = check(read(PLAIN), clinic(), Limits(rows_per_unit=2, groups_per_unit=1))
    assert identity(said) == identity(meant)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("max_groups_contributed = 9", "can only be lowered"),
        ("max_rows_contributed = 4", "can only be lowered"),
        ("max_rows_contributed = 0", "can only be lowered"),
        ("max_rows_contributed = -1", "whole number"),
        ("privacy_unit_column = ward", "not the person that is declared"),
        ("kapa = 3", "not an option"),
        ("epsilon = 0", "greater than 0"),
        ("epsilon = -1", "greater than 0"),
        ("epsilon = 1e9999999", "greater than 0"),
        ("epsilon = 1e-9999999", "greater than 0"),
        ("epsilon = nan", "greater than 0"),
        ("epsilon = inf", "greater than 0"),
        ("epsilon = (SELECT 1)", "more than one value"),
        ("epsilon = '1_0'", "greater than 0"),
        ("epsilon = '\uff11'", "greater than 0"),
        ("epsilon = 0.00 1", "more than one value"),
        ("epsilon = - 1", "more than one value"),
        ("epsilon = 1, epsilon = 2", "given twice"),
        ("epsilon", "name = value"),
        ("epsilon = 1,", "name = value"),
    ],
)
def test_what_contradicts_the_manifest_is_refused(options: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        check(read(CLAUSE.format(options)), clinic())


def test_the_clause_is_said_once_and_for_the_whole() -> None:
    twice = (
        "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM (SELECT WITH DIFFERENTIAL_PRIVACY * FROM visits) AS t"
    )
    with pytest.raises(QueryError, match="said twice"):
        read(twice)
    view = (("v", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) * FROM visits"),)
    with pytest.raises(QueryError, match="belongs to a whole question"):
        read("SELECT COUNT(*) FROM v", (), view)
    text = "SELECT COUNT(*) FROM visits WHERE city = 'WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9)'"
    assert check(read(text), clinic()).asks == ()


def test_the_ends_of_an_interval_can_be_selected(data: dp.Session) -> None:
    text = (
        "SELECT ward, COUNT(*) AS n, DP_INTERVAL_LOW(COUNT(*)) AS low, DP_INTERVAL_HIGH(COUNT(*)) AS high "
        "FROM visits GROUP BY ward"
    )
    found = data.query(text, epsilon=2).to_arrow().to_pylist()
    assert all(row["low"] < row["n"] < row["high"] for row in found)
    assert identity(check(read(text), clinic())) == identity(check(read(PLAIN), clinic()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE DP_INTERVAL_LOW(age) > 3",
        "SELECT DP_INTERVAL_LOW(age) FROM visits",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING DP_INTERVAL_LOW(COUNT(*)) > 3",
        "SELECT DP_INTERVAL_LOW(COUNT(*)) + 1 FROM visits",
        "SELECT DP_INTERVAL_LOW(DP_INTERVAL_LOW(COUNT(*))) FROM visits",
        "SELECT MAX(DP_INTERVAL_LOW(age)) FROM visits",
    ],
)
def test_ends_of_intervals_are_of_released_values_alone(text: str) -> None:
    with pytest.raises(QueryError):
        check(read(text), clinic())


@pytest.mark.parametrize("name", ["rows_per_unit", "groups_per_unit", "rows_per_group"])
@pytest.mark.parametrize("value", [True, 1.5, "2", float("nan")])
def test_limits_are_whole_numbers(name: str, value: Any) -> None:
    with pytest.raises(QueryError, match="whole numbers"):
        check(read(PLAIN), clinic(), Limits(**{name: value}))
