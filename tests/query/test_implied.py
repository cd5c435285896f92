"""Conditions imply bounds, years of weeks are those of the calendar, views are tables of every face."""

from datetime import date, timedelta

import pandas as pd
import pytest
from tests.query.questions import clinic

import discreet as dp
from discreet.errors import QueryError
from discreet.query.check.measurement import Declared
from discreet.query.check.question import check
from discreet.query.language.sql import read

DAYS = [date(2019, 12, 20) + timedelta(days=n) for n in range(20)]
DAYS += [date(year, 1, n) for year in (2021, 2022) for n in range(1, 8)]
ROWS = pd.DataFrame(
    {"person": range(len(DAYS)), "x": [n * n - 200 for n in range(len(DAYS))], "day": DAYS, "ward": "A"}
)
MANIFEST = """
[dataset]
name = "days"
[budget]
epsilon = 1000000
[tables.visits]
source = "rows.parquet"
unit = "person"
rows_per_unit = 1
[tables.visits.columns]
x = "integer"
ward = {type = "text", values = ["A", "B"]}
day = {type = "date", low = "2019-01-01", high = "2022-12-31"}
[views]
late = "SELECT * FROM visits WHERE day >= DATE '2021-01-01'"
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("days")
    ROWS.to_parquet(folder / "rows.parquet")
    (folder / "days.toml").write_text(MANIFEST)
    with dp.open(folder / "days.toml") as opened:
        yield opened


def test_what_a_condition_keeps_is_added_up_as_it_is(data):
    kept = ROWS.x[(ROWS.x >= 0) & (ROWS.x < 300)]
    text = (
        "SELECT SUM(x) FILTER (WHERE x BETWEEN 0 AND 299) AS a, "
        "SUM(CASE WHEN x < -50 THEN -50 WHEN NOT x <= 60 THEN 60 ELSE x END) AS b FROM visits"
    )
    (row,) = data.query(text, epsilon=50000).to_pandas().to_dict("records")
    assert (round(row["a"]), round(row["b"])) == (kept.sum(), ROWS.x.clip(-50, 60).sum())


def test_the_year_of_a_week_is_that_of_the_calendar(data):
    found = data.query("SELECT ISOYEAR(day) AS y, COUNT(*) AS n FROM visits GROUP BY y", epsilon=1000)
    counted = {row["y"]: round(row["n"]) for row in found.to_pandas().to_dict("records")}
    assert {year: n for year, n in counted.items() if n} == {
        year: sum(day.isocalendar().year == year for day in DAYS) for year in (2019, 2020, 2021, 2022)
    }


def test_years_of_weeks_are_few_keys():
    keys = check(read("SELECT ISOYEAR(day) AS y, COUNT(*) FROM visits GROUP BY y"), clinic()).keys
    assert isinstance(keys, Declared)
    assert keys.columns[0].values == (2023, 2024, 2025)


def test_groups_between_negative_ends_are_named():
    text = "SELECT huge, COUNT(*) FROM visits WHERE huge > -3 AND -1 >= huge GROUP BY huge"
    keys = check(read(text), clinic()).keys
    assert isinstance(keys, Declared)
    assert keys.columns[0].values == (-2, -1)


def test_a_view_is_a_table_of_every_face(data):
    asked = [
        "SELECT COUNT(*) AS n FROM late WHERE ward = 'A'",
        data.table("late").where(ward="A").count(),
        data.ibis("late").filter(lambda t: t.ward == "A").count(),
    ]
    for question in asked:
        (row,) = data.query(question, epsilon=1000).to_pandas().to_dict("records")
        assert round(next(iter(row.values()))) == 14


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT COUNT(*)\nFROM visits TABLESAMPLE (10 PERCENT)", (2, 13)),
        ("SELECT LISTAGG(ward, ',') FROM visits", (1, 8)),
        (
            "SELECT COUNT(*) FROM visits WHERE x > (SELECT AVG(x) FROM visits WHERE x BETWEEN 0 AND 9)",
            (1, 39),
        ),
        ("SELECT COUNT(*) FROM GENERATE_SERIES(1, 12)", (1, 22)),
        ("SELECT ward, SUM(x) OVER (ORDER BY day) FROM visits", (1, 21)),
    ],
)
def test_a_refusal_says_where(data, text, place):
    with pytest.raises(QueryError) as refused:
        data.quote(text, epsilon=1)
    assert refused.value.place == place
