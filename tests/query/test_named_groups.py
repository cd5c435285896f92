"""Groups that a question names are shown whoever is in them, and a value of one row is that of the row."""

from datetime import date, timedelta
from random import Random

import pandas as pd
import pytest

import discreet as dp
from discreet.errors import QueryError

RANDOM = Random(11)
ROWS = pd.DataFrame(
    {
        "person": [n // 3 for n in range(180)],
        "ward": [RANDOM.choice("ABC") for _ in range(180)],
        "page": [RANDOM.choice(("/a", "/b", "/c", "/d")) for _ in range(180)],
        "day": [date(2024, 1, 1) + timedelta(days=RANDOM.randrange(366)) for _ in range(180)],
        "place": RANDOM.sample(range(1000), 180),
        "flag": [RANDOM.random() < 0.6 for _ in range(180)],
    }
)


@pytest.fixture(scope="module")
def data():
    columns = {
        "person": {"type": "integer"},
        "ward": {"type": "text", "values": ["A", "B", "C"]},
        "page": {"type": "text"},
        "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
        "place": {"type": "integer", "low": 0, "high": 999},
        "flag": {"type": "boolean"},
    }
    # A price without delta: no group is found, all of them are known.
    with dp.open(visits=ROWS, unit="person", rows_per_unit=3, columns=columns, epsilon=10**8) as opened:
        yield opened


def counts(data, text: str) -> dict[object, int]:
    rows = data.query(text, epsilon=10**5).to_pandas().itertuples(index=False)
    return {key: round(n) for key, n in rows}


def test_groups_that_a_condition_lists_need_not_be_found(data):
    text = (
        "SELECT page, COUNT(*) FROM visits WHERE page IN ('/a', '/c', '/none') AND ward <> 'B' GROUP BY page"
    )
    kept = ROWS[ROWS.ward != "B"].page.value_counts()
    assert counts(data, text) == {"/a": kept["/a"], "/c": kept["/c"], "/none": 0}
    joined = "UNNEST(['/b', '/none']) AS k LEFT JOIN visits v ON v.page = k"
    listed = f"SELECT k, COUNT(v.place) FROM {joined} GROUP BY k"
    twice = listed.replace("v.page = k", "v.page = k AND LOWER(v.ward) = k AND k = v.page")
    assert counts(data, twice) == {"/b": 0, "/none": 0}
    assert counts(data, listed) == {"/b": int((ROWS.page == "/b").sum()), "/none": 0}


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("day >= '2024-03-05' AND day < '2024-05-02'", lambda d: date(2024, 3, 5) <= d < date(2024, 5, 2)),
        ("DATE '2024-11-30' < day", lambda d: d > date(2024, 11, 30)),
        ("day IN ('2024-02-03', '2024-02-29')", lambda d: d in (date(2024, 2, 3), date(2024, 2, 29))),
    ],
)
@pytest.mark.parametrize("unit", ["week", "month", "quarter"])
def test_groups_that_a_condition_rules_out_are_not_shown(data, where: str, kept, unit: str):
    found = counts(
        data, f"SELECT DATE_TRUNC('{unit}', day) AS k, COUNT(*) FROM visits WHERE {where} GROUP BY k"
    )
    year = [date(2024, 1, 1) + timedelta(days=n) for n in range(366)]
    inside = [day for day in year if kept(day)]
    begun = {day: pd.Timestamp(day).to_period(unit[0].upper()).start_time.date() for day in year}
    first, last = begun[min(inside)], begun[max(inside)]
    assert set(found) == {begun[day] for day in year if first <= begun[day] <= last}
    expected = ROWS[ROWS.day.map(kept)].day.map(begun).value_counts()
    assert {key: n for key, n in found.items() if n} == expected.to_dict()


@pytest.mark.parametrize(
    ("pick", "rows", "first"),
    [
        ("ARG_MIN(ward, place)", ROWS, True),
        ("MAX_BY(ward, place)", ROWS, False),
        ("FIRST(ward ORDER BY place DESC)", ROWS, False),
        ("LAST(ward ORDER BY place DESC)", ROWS, True),
        ("ARG_MAX(ward, place) FILTER (WHERE flag)", ROWS[ROWS.flag], False),
    ],
)
def test_a_value_of_one_row_is_that_of_the_row(data, pick: str, rows, first: bool):
    chosen = rows.sort_values("place", ascending=first).groupby("person").ward.first().value_counts()
    text = f"SELECT w, COUNT(*) FROM (SELECT person, {pick} AS w FROM visits GROUP BY person) t GROUP BY w"
    assert counts(data, text) == {ward: int(chosen.get(ward, 0)) for ward in "ABC"}


LISTED = "FROM (VALUES ('/b'), ('/none')) AS s (k) LEFT JOIN visits v ON v.page = s.k GROUP BY s.k"


@pytest.mark.parametrize(
    "value",
    [
        *("COUNT(*)", "COUNT(1)", "COUNT(s.k)", "SUM(1)", "COUNT(CASE WHEN v.flag THEN 1 ELSE 0 END)"),
        *("SUM(CASE WHEN v.place IS NULL THEN 1 ELSE 0 END)", "SUM(COALESCE(v.place, 1))"),
        *("SUM(LEAST(v.place, 9))", "COUNT(*) FILTER (WHERE v.flag IS NULL)", "COUNT_IF(v.flag IS NOT TRUE)"),
        "COUNT(CASE v.place WHEN 7 THEN 1 ELSE 0 END)",
    ],
)
def test_what_counts_a_value_that_nobody_has_is_refused(data, value: str):
    with pytest.raises(QueryError, match="one row for a value that nobody has"):
        data.quote(f"SELECT s.k, {value} {LISTED}", epsilon=1)


@pytest.mark.parametrize(
    "value",
    [
        *("COUNT(v.person)", "COUNT(DISTINCT v.person)", "SUM(CASE WHEN v.flag THEN 1 ELSE 0 END)"),
        *("SUM(COALESCE(v.place, 0))", "COUNT_IF(v.flag AND s.k = '/b')", "COUNT(v.place + 1)"),
        *("COUNT(*) FILTER (WHERE v.place BETWEEN 3 AND 700)", "SUM(CASE v.ward WHEN 'A' THEN 1 END)"),
    ],
)
def test_what_passes_over_a_value_that_nobody_has_is_what_sql_says(data, value: str):
    import duckdb

    text = f"SELECT s.k, {value} {LISTED}"
    with duckdb.connect() as plain:
        plain.register("visits", ROWS)
        meant = {key: int(n or 0) for key, n in plain.execute(text).fetchall()}
    assert counts(data, text) == meant


@pytest.mark.parametrize(
    "rows",
    [
        "(VALUES ('/b'), ('/b')) AS s (k) JOIN visits v",
        *(f"(VALUES ('/b'), ('/c')) AS s (k) {side} JOIN visits v" for side in ("RIGHT", "FULL", "ANTI")),
    ],
)
def test_lists_that_would_not_only_say_which_groups_are_shown_are_refused(data, rows: str):
    with pytest.raises(QueryError, match=r"twice|joined with JOIN or LEFT JOIN"):
        data.quote(f"SELECT COUNT(s.k) FROM {rows} ON v.page = s.k", epsilon=1)


def test_keys_that_are_moved_by_constants_are_told_apart_as_they_were(data):
    """What is shown is the moved key, and what a factor of 0 makes equal is one group."""
    moved = counts(
        data, "SELECT 100 - place / 10 * 5 AS d, COUNT(*) AS n FROM visits WHERE place < 30 GROUP BY d"
    )
    assert {key: n for key, n in moved.items() if n} == {
        100 - place / 2: 1 for place in ROWS.place if place < 30
    }
    assert len(moved) == 30
    assert counts(data, "SELECT 0 * ROUND(place / 4, 2) AS d, COUNT(*) AS n FROM visits GROUP BY d") == {
        0: 180
    }


def test_the_commonest_of_values_that_a_condition_lists(data):
    for listed in (("/a", "/b"), ("/c", "/d", "/nowhere")):
        words = ", ".join(f"'{page}'" for page in listed)
        text = f"SELECT MODE(page) AS m FROM visits WHERE page IN ({words})"
        (row,) = data.query(text, epsilon=10**5).to_pandas().to_dict("records")
        assert row["m"] == max(listed, key=lambda page: sum(ROWS.page == page))
