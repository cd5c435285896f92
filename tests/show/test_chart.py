"""Charts draw what they are given, in the caller's order, and save without reaching for any host."""

import re
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.show import bars, heatmap, html, lines, save, stacked, steps, svg
from discreet.show.save import inline_svg

ROWS = [
    {"ward": "B", "n": Fraction(241, 2), "low": 110, "high": 130, "year": 2020},
    {"ward": "A", "n": Decimal("80.5"), "low": 70, "high": 90, "year": 2020},
    {"ward": "C", "n": np.int64(150), "low": 140, "high": 160, "year": 2021},
]


def values(chart):
    return chart.to_dict()["data"]["values"]


def test_bars_keep_the_callers_order_and_exact_values():
    assert [(row["x"], row["y"]) for row in values(bars(ROWS, x="ward", y="n"))] == [
        ("B", 120.5),
        ("A", 80.5),
        ("C", 150.0),
    ]


def test_error_bars_appear_only_when_both_ends_are_named():
    assert len(bars(ROWS, x="ward", y="n").to_dict()["layer"]) == 1
    assert len(bars(ROWS, x="ward", y="n", low="low", high="high").to_dict()["layer"]) == 4


def test_column_names_with_special_characters_are_harmless():
    rows = [{"a.b[0]": 1, "c'd": 2}, {"a.b[0]": 2, "c'd": 3}]
    assert values(lines(rows, x="a.b[0]", y="c'd")) == [{"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 3.0}]


def test_rows_that_cannot_be_drawn_are_left_out():
    rows = [{"x": 1, "y": float("nan")}, {"x": 2, "y": None}, {"x": 3, "y": 10**400}, {"x": 4, "y": 5}]
    assert values(lines(rows, x="x", y="y")) == [{"x": 4.0, "y": 5.0}]
    assert values(lines([{"x": 0, "y": 1}, {"x": 1, "y": 1}], x="x", y="y", log_x=True)) == [
        {"x": 1.0, "y": 1.0}
    ]


@pytest.mark.parametrize("rows", [[], [{"x": None, "y": 1}]])
def test_an_empty_chart_is_refused(rows):
    with pytest.raises(ParameterError, match="at least one row"):
        lines(rows, x="x", y="y")


def test_a_missing_column_is_named():
    with pytest.raises(ParameterError, match="'wards'"):
        bars(ROWS, x="wards", y="n")


def test_many_days_are_an_axis_of_time_and_a_few_are_named_one_by_one():
    first = date(2025, 1, 1)
    rows = [{"d": (first + timedelta(n)).isoformat(), "n": n} for n in range(365)]
    year = lines(rows, x="d", y="n").to_dict()["layer"][0]["encoding"]["x"]
    assert (year["type"], year["scale"]) == ("temporal", {"type": "utc"})
    assert lines(rows[:12], x="d", y="n").to_dict()["layer"][0]["encoding"]["x"]["type"] == "nominal"
    words = [{"d": f"{row['d']} or so", "n": row["n"]} for row in rows]
    assert lines(words, x="d", y="n").to_dict()["layer"][0]["encoding"]["x"]["type"] == "nominal"


def test_small_heat_maps_carry_their_numbers_and_large_ones_do_not():
    small = [{"a": i, "b": j, "v": i * j} for i in range(4) for j in range(4)]
    large = [{"a": i, "b": j, "v": i * j} for i in range(20) for j in range(20)]
    assert len(heatmap(small, x="a", y="b", value="v").to_dict()["layer"]) == 2
    assert len(heatmap(large, x="a", y="b", value="v").to_dict()["layer"]) == 1


def test_large_numbers_in_a_heat_map_are_written_out():
    for largest, form in ((0.25, ".3~g"), (4987, ",.0f")):
        drawn = heatmap([{"a": 0, "b": 0, "v": 0.1}, {"a": 0, "b": 1, "v": largest}], x="a", y="b", value="v")
        assert drawn.to_dict()["layer"][1]["encoding"]["text"]["format"] == form


def test_powers_of_ten_are_written_as_people_write_them():
    far = svg(lines([{"x": 1, "y": 1e-7}, {"x": 2, "y": 3e8}], x="x", y="y", log_y=True))
    assert "10⁻⁷" in far
    assert "10⁷" in far
    near = svg(lines([{"x": 1, "y": 0.01}, {"x": 2, "y": 1000}], x="x", y="y", log_y=True))
    assert ">1000<" in near.replace("1,000", "1000")


def test_a_series_beneath_the_others_is_drawn_once_wide_and_before_them():
    rows = [{"x": x, "y": x, "series": name} for name in ("best", "mine") for x in (0, 1)]
    under, over = lines(rows, x="x", y="y", series="series", beneath="best").to_dict()["layer"]
    assert under["mark"]["strokeWidth"] > 5
    assert under["transform"] == [{"filter": {"field": "series", "equal": "best"}}]
    assert over["transform"] == [{"filter": {"not": {"field": "series", "equal": "best"}}}]


def test_steps_of_categories_are_centred_and_their_names_stay_level():
    for labels, shape in (("ab", "step"), ((1, 2), "step-after")):
        (layer,) = steps([{"x": x, "y": 1} for x in labels], x="x", y="y").to_dict()["layer"]
        assert layer["mark"]["interpolate"] == shape
    (layer,) = lines(ROWS, x="ward", y="n").to_dict()["layer"]
    assert layer["encoding"]["x"]["axis"] == {"labelAngle": 0}


def test_a_notebook_shows_a_chart_without_anything_from_elsewhere():
    shown = bars(ROWS, x="ward", y="n", title="people")._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert "http" not in str(shown["application/vnd.vegalite.v5+json"])
    assert shown["text/plain"] == "<chart: people>"


def test_a_chart_is_a_value_that_no_caller_can_change():
    chart = bars(ROWS, x="ward", y="n")
    chart.to_dict()["layer"].clear()
    chart.to_dict()["config"].clear()
    assert chart.to_dict()["layer"]
    assert chart.to_dict()["config"]["background"] == "white"


def test_a_stack_keeps_every_chart():
    parts = [lines(ROWS, x="ward", y="n"), steps([{"x": 0, "y": 0}, {"x": 1, "y": 1}], x="x", y="y")]
    assert len(stacked(parts, title="both").to_dict()["vconcat"]) == 2
    with pytest.raises(ParameterError):
        stacked([])


def test_saved_files_are_what_their_ending_says(tmp_path):
    chart = bars(ROWS, x="ward", y="n", low="low", high="high", title="Patients by ward")
    assert save(chart, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    drawing = save(chart, tmp_path / "a.svg").read_text()
    assert drawing.startswith("<svg")
    assert "Patients by ward" in drawing
    assert '"values"' in save(chart, tmp_path / "a.json").read_text()


def test_html_loads_nothing_from_anywhere(tmp_path):
    text = save(bars(ROWS, x="ward", y="n"), tmp_path / "a.html").read_text()
    assert "120.5" in text
    assert not re.search(r"<script[^>]+src=", text)
    assert not re.search(r"<link\b", text)
    assert not re.search(r"@import|url\(\s*['\"]?http", text)
    # No menu that would hand the data to an editor elsewhere.
    assert re.search(r'"embedOptions":\s*\{\s*"actions":\s*false', text)


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ParameterError, match="png"):
        save(bars(ROWS, x="ward", y="n"), tmp_path / "a.jpeg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "</script><script>alert(1)</script>", "<!--"]
)
def test_text_from_the_data_cannot_become_markup(hostile):
    chart = bars([{"k": hostile, "v": 1}], x="k", y="v", title=hostile)
    harmless = html(bars([{"k": "A", "v": 1}], x="k", y="v", title="A"))
    assert "<script" not in svg(chart)
    document = html(chart)
    assert hostile not in document
    for tag in ("<script", "</script", "<!--"):
        assert document.count(tag) == harmless.count(tag)
    # What the reader sees is still the text itself: the escape is JavaScript's for the same character.
    assert hostile.replace("<", "\\u003c") in document


def test_an_inline_chart_follows_the_page_and_a_saved_one_does_not():
    chart = bars(ROWS, x="ward", y="n", title="people")
    page = inline_svg(chart)
    assert "var(--chart-ink, #1f2933)" in page
    assert "var(--chart-paper, white)" in page
    assert not re.search(r'"(#1f2933|white|#d9dee3|#9aa5b1)"', page)
    again = re.sub(r"var\(--chart-[a-z]+, ([^)]*)\)", r"\1", page)
    assert re.sub(r"clip\d+", "clip", again) == re.sub(r"clip\d+", "clip", svg(chart))
