"""What people see of an answer: points inside their intervals, limits said aloud, few lines of text."""

import json
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from discreet.cli.report import page
from discreet.errors import CatalogError
from discreet.query.catalog.manifest import declare
from discreet.release.opening import open as open_session
from discreet.release.picture import _crossed
from discreet.release.sight import OpenData

COLUMNS = {"ward": {"values": ["A", "B", "[/x]"]}, "cost": {"type": "integer", "low": 0, "high": 50}}


def opened(people=40, each=4):
    place = np.arange(people * each)
    frame = pd.DataFrame(
        {"person": place % people, "ward": np.where(place % 2, "A", "B"), "cost": place % 50}
    )
    return open_session(visits=frame, unit="person", columns=COLUMNS, rows_per_unit=2, epsilon=400)


def test_no_point_is_shown_outside_its_own_interval():
    """Empty groups at a small epsilon are drawn below zero half the time."""
    with opened() as data:
        drawn = set()
        for turn in range(30):
            answer = data.query(
                f"SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost <> {turn} GROUP BY ward",
                epsilon="0.05",
            )
            for row in answer.rows:
                for cell, (low, high) in zip(row.cells[1:], row.spans[1:], strict=True):
                    assert cell is None or low is None or low <= cell
                    assert cell is None or high is None or cell <= high
            drawn |= {row.cells[1] < 0 for row in answer.as_drawn().rows}
            for record in answer.intervals("0.5"):
                assert record["n_low"] <= record["n"] <= record["n_high"]
        assert drawn == {True, False}


def test_an_interval_is_that_of_its_confidence_and_group_however_often_it_is_asked_for():
    with opened() as data:
        answer = data.query("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)", epsilon="0.1")
        drawn, widths = answer.as_drawn(), {}
        spans = [row.spans for row in answer.as_drawn().rows]
        for sure in ("0.999", "0.5", "0.95", "0.5", "0.999", "0.95"):
            found = drawn.intervals(sure)
            assert [row.spans for row in drawn.rows] == spans
            reach = [record["n_high"] - max(record["n_low"], 0) for record in found]
            assert widths.setdefault(sure, reach) == reach
        assert sum(widths["0.5"]) < sum(widths["0.95"]) < sum(widths["0.999"])
        # The total is measured with its parts, and not as well as each of them.
        radii = {answer.quote.radius(0, Fraction(1, 20), row.key) for row in answer.rows}
        assert len(radii) > 1
        for row in answer.as_drawn().rows:
            assert row.spans[-1][1] == max(
                row.cells[-1] + answer.quote.radius(0, Fraction(1, 20), row.key), 0
            )


def test_limits_that_may_bind_are_said_beside_the_error_bars():
    with opened() as data:
        quote = data.quote("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        answer = data.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert "people with more than 2 rows count as 2" in repr(quote)
        assert "people with more than 2 rows count as 2" in repr(answer)
        assert "people with more than 2 rows count as 2" in answer._repr_html_()
        per_person = data.quote("SELECT COUNT(DISTINCT person) AS n FROM visits", epsilon=1)
        assert "more than" not in repr(per_person)


def test_how_many_people_are_above_the_limit_can_be_learnt_privately():
    with opened() as data:
        assert abs(data.over_limit("visits", epsilon=50).value - 40) <= 2
        assert data.budget.limits[0].spent.epsilon == 50
        with pytest.raises(CatalogError):
            data.over_limit("nowhere", epsilon=1)
    with opened(each=2) as data:
        assert abs(data.over_limit("visits", epsilon=50).value) <= 2


def test_values_print_themselves_in_a_few_lines():
    with opened() as data:
        question = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
        values = (data, data.quote(question, epsilon=1), data.query(question, epsilon=1), data.budget)
        for value in values:
            text = repr(value)
            assert len(text.splitlines()) <= 6
            assert len(text) < 600
        assert "[/x]" in repr(data.query(question, epsilon=1))


def test_a_session_shows_what_is_declared():
    """No dump of its parts: its tables, whose rows they hold, every column in words."""
    ward = {"type": "text", "values": ["A", "B", "[/x]"]}
    columns = {**COLUMNS, "ward": ward, **{f"c{number}": "boolean" for number in range(20)}}
    tables = {
        "visits": {"unit": "person", "rows_per_unit": 1000, "columns": columns},
        "wards": {"public": True, "columns": {"size": {"type": "decimal", "low": "0.5", "high": 9}}},
    }
    data = OpenData()
    data.catalog, data.analyst = (
        declare({"dataset": {"name": "<clinic>"}, "tables": tables, "budget": {"epsilon": 3}}),
        "ann",
    )
    lines = repr(data).splitlines()
    assert lines[0] == "Dataset <clinic>, asked by ann; it may cost epsilon 3"
    assert lines[2].split("  ") == [
        "visits",
        "people by person, at most 1,000 each",
        "ward",
        "",
        "text, 3 values",
    ]
    assert lines[3].split() == ["cost", "integer", "0", "to", "50"]
    assert lines[-2].split() == ["…", "10", "more"]
    assert lines[-1].split() == ["wards", "public", "size", "decimal", "0.5", "to", "9"]
    assert "&lt;clinic&gt;" in data._repr_html_()


def test_a_report_stands_alone_and_escapes_what_it_shows():
    with opened() as data:
        asked = [
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
            'SELECT COUNT(*) AS "<b>" FROM visits',
        ]
        text = page([data.query(question, epsilon=1) for question in asked], data.budget, "SELECT '<script>'")
    assert "<script>" not in text
    assert "&lt;b&gt;" in text
    assert not re.search(r"(src|href)\s*=", text)
    assert text.count("<svg") == 1, "a single value is a figure, not a chart with one bar"
    assert "prefers-color-scheme:dark" in text.replace(" ", "")


def test_a_chart_of_one_row_is_a_dot_with_its_interval():
    with opened() as data:
        drawn = data.query("SELECT COUNT(*) AS n, SUM(cost) AS c FROM visits", epsilon=1).plot().to_dict()
    marks = {layer["mark"]["type"] for layer in drawn["layer"]}
    assert marks == {"rule", "point"}
    assert len(json.dumps(drawn["data"])) > 0


def test_two_crossed_keys_are_a_map_that_says_how_far_off_its_cells_may_be():
    sql = "SELECT ward, CASE WHEN cost > 25 THEN 'much' ELSE 'little' END AS price, COUNT(*) AS n FROM visits"
    with opened() as data:
        drawn = data.query(f"{sql} GROUP BY ward, price", epsilon=1).plot().to_dict()
    assert drawn["layer"][0]["mark"]["type"] == "rect"
    assert {(row["x"], row["y"]) for row in drawn["data"]["values"]} == {
        (ward, price) for ward in ("A", "B", "[/x]") for price in ("little", "much")
    }
    assert re.search(r"each cell ± [\d.]+( to [\d.]+)? at 95% confidence", drawn["title"]["subtitle"][0])


def test_keys_of_which_one_is_finer_than_the_other_are_bars_and_no_map_of_holes():
    rows = [SimpleNamespace(key=(place // 3, place)) for place in range(12)]
    assert not _crossed(rows)
    assert not _crossed([SimpleNamespace(key=("all", place)) for place in range(12)])
    assert _crossed([SimpleNamespace(key=(place // 3, place % 3)) for place in range(9)])
