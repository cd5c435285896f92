"""Quotients of sums and counts are means where they are equal for all rows, and stay quotients where not."""

import pandas as pd
import pytest

from discreet.query.check.formula import Mean
from discreet.query.check.identity import identity
from discreet.release.opening import open as open_session
from discreet.release.pricing import check_question

ROWS = pd.DataFrame(
    {
        "id": range(240),
        "x": pd.array([7, None, 40, 120, -3, 11] * 40, dtype="Int64"),
        "z": [5, 9, 20, 31, 2, 8] * 40,
        "w": pd.array([6, None, 9, 2, 7, 30] * 40, dtype="Int64"),
        "g": ["a", "b", "a", "a", "c", "b"] * 40,
    }
)
COLUMNS = {
    "x": {"type": "integer", "low": 0, "high": 99},
    "z": {"type": "integer", "low": 5, "high": 20, "nullable": False},
    "w": {"type": "integer", "low": 5, "high": 20},
    "g": {"values": ["a", "b", "c", "d"]},
}
TOTALS = {"x": 7 + 0 + 40 + 99 + 0 + 11, "z": 5 + 9 + 20 + 20 + 5 + 8, "w": 6 + 9 + 5 + 7 + 20}
"""The sum of one of the forty repeats, of clamped values."""

MEANS = {
    "SUM(x) / COUNT(x)": TOTALS["x"] / 5,
    "SUM(x) / COUNT(*)": TOTALS["x"] / 6,
    "1.0 * SUM(x) / COUNT(*)": TOTALS["x"] / 6,
    "SUM(x) * 1.0 / NULLIF(COUNT(*), 0)": TOTALS["x"] / 6,
    "CAST(SUM(x) AS DOUBLE) / COUNT(x)": TOTALS["x"] / 5,
    "SUM(x) / NULLIF(COUNT(x), 0) + 1": TOTALS["x"] / 5 + 1,
    "100 * SUM(x) / COUNT(x)": 20 * TOTALS["x"],
    "SUM(z) / COUNT(*)": TOTALS["z"] / 6,
    "SUM(w) / COUNT(w)": TOTALS["w"] / 5,
    "SUM(COALESCE(x, 3)) / COUNT(*)": (TOTALS["x"] + 3) / 6,
    "SUM(CASE WHEN g = 'a' THEN 1 ELSE 0 END) / COUNT(*)": 1 / 2,
    "SUM(x) FILTER (WHERE g = 'b') / COUNT(*) FILTER (WHERE g = 'b')": 11 / 2,
    "SUM(x) FILTER (WHERE g = 'b') / COUNT(x) FILTER (WHERE g = 'b')": 11.0,
}
QUOTIENTS = {
    # The lower bound is not 0, so that a 0 for what is missing would change what others are clamped to.
    "SUM(w) / COUNT(*)": TOTALS["w"] / 6,
    "SUM(CASE WHEN g = 'a' THEN z END) / COUNT(*)": (5 + 20 + 20) / 6,
    "SUM(x) FILTER (WHERE g = 'b') / COUNT(*)": 11 / 6,
    "SUM(x) / COUNT(*) FILTER (WHERE g = 'b')": TOTALS["x"] / 2,
    "SUM(x) / (COUNT(*) + 0)": TOTALS["x"] / 6,
    "SUM(x) / COUNT(w)": TOTALS["x"] / 5,
    "NULLIF(SUM(x), 0) / COUNT(x)": TOTALS["x"] / 5,
    "SUM(x) / SUM(z)": TOTALS["x"] / TOTALS["z"],
    "COUNT(x) / COUNT(*)": 5 / 6,
}


@pytest.fixture(scope="module")
def data():
    with open_session(t=ROWS, unit="id", epsilon=10**12, rows_per_unit=1, columns=COLUMNS) as session:
        yield session


def formulas(data, column: str):
    checked = check_question(data.catalog, f"SELECT {column} AS v FROM t", None)
    (output,) = checked.columns
    found = [output.formula]
    for formula in found:
        found += getattr(formula, "arguments", ())
    return found


def value(data, column: str) -> float:
    return float(data.query(f"SELECT {column} AS v FROM t", epsilon=10**9).value)


@pytest.mark.parametrize("column", MEANS)
def test_a_sum_over_the_count_of_its_rows_is_a_mean(data, column):
    assert any(isinstance(formula, Mean) for formula in formulas(data, column))
    assert value(data, column) == pytest.approx(MEANS[column])


@pytest.mark.parametrize("column", QUOTIENTS)
def test_what_is_no_mean_stays_a_quotient(data, column):
    assert not any(isinstance(formula, Mean) for formula in formulas(data, column))
    assert value(data, column) == pytest.approx(QUOTIENTS[column])


def test_different_values_stay_as_they_are_written(data):
    column = "SUM(DISTINCT z) / COUNT(DISTINCT z)"
    assert not any(isinstance(formula, Mean) for formula in formulas(data, column))


def test_a_mean_is_the_same_question_however_it_is_written(data):
    one, other, filled = (
        identity(check_question(data.catalog, f"SELECT {column} AS v FROM t", None))
        for column in ("AVG(x)", "SUM(x) / COUNT(x)", "SUM(x) / COUNT(*)")
    )
    assert one == other != filled


def test_it_is_as_near_as_the_mean_and_no_one_is_no_mean(data):
    for column in ("SUM(x) / COUNT(x)", "SUM(x) / COUNT(*)"):
        grouped = f"SELECT g, {column} AS v FROM t GROUP BY g"
        assert data.query(grouped, epsilon=10**9).rows[3].cells == ("d", None)
    mean, quotient = (
        data.query(f"SELECT g, {column} AS v FROM t GROUP BY g", epsilon=2).rows[0].spans[1]
        for column in ("AVG(z)", "SUM(z) / COUNT(*)")
    )
    assert quotient == mean


def test_a_sum_that_is_asked_for_besides_is_measured_once(data):
    asked = "SELECT SUM(x) AS s, COUNT(*) AS n, SUM(x) / COUNT(*) AS v FROM t"
    assert len(data.quote(asked, epsilon=1).shares) == 2
    simplex = data.quote(asked.replace("x", "z"), epsilon=1)
    assert [share.measured.name for share in simplex.shares] == ["sum(20 - z)", "sum(z - 5)"]
