"""Counts beside averages: whole where rows count whole, in intervals that hold, averages as they were."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.query.check.formula import Combination, Mean, evaluate, span
from discreet.query.check.formula import Operation as Op
from discreet.query.check.measurement import Measurement
from discreet.release import whole as module
from discreet.release.noisy import Noisy
from discreet.release.opening import open as open_session
from discreet.release.table import rows

PEOPLE = 50
COLUMNS = {
    "wide": {"type": "integer", "low": 0, "high": 100, "nullable": False},
    "few": {"type": "integer", "low": 1, "high": 5, "nullable": False},
    "ward": {"type": "text", "values": ["north", "south"]},
}


def people(times: int = 1) -> pd.DataFrame:
    random = np.random.default_rng(1)
    person = np.repeat(np.arange(PEOPLE), times)
    many = len(person)
    return pd.DataFrame(
        {
            "person": person,
            "wide": random.integers(0, 101, many),
            "few": random.integers(1, 6, many),
            "ward": np.where(np.arange(many) % 2, "north", "south"),
        }
    )


def opened(frame=None, **declared):
    table = people() if frame is None else frame
    options = {"unit": "person", "rows_per_unit": 1, "columns": COLUMNS, "epsilon": 10**6, **declared}
    return open_session(visits=table, **options)


def drawn(answer, count: Fraction, mean: Fraction):
    """Return a released row as it would be if the corners had come out at this count and mean."""
    (formula,) = [one.formula for one in answer.quote.checked.columns if isinstance(one.formula, Mean)]
    width, low = formula.high - formula.low, formula.low
    above = count * (mean - low)
    corners = {0: width * count - above, 1: above}
    values = tuple((corners.get(place, Fraction(0)),) for place in range(len(answer.noisy.values)))
    noisy = Noisy(answer.noisy.keys, values)
    return (rows(answer.quote, noisy), rows(answer.quote, noisy, as_drawn=True))


@pytest.fixture(scope="module")
def answers():
    with opened() as session:
        text = "SELECT COUNT(*) AS n, AVG({}) AS m FROM visits"
        yield {
            (column, epsilon): session.query(text.format(column), epsilon=epsilon)
            for column in ("wide", "few")
            for epsilon in ("0.1", "1", "3", "8", "40")
        }


FRACTIONS = st.fractions(-5, 120, max_denominator=400)


@given(FRACTIONS, FRACTIONS, st.sampled_from(["0.1", "1", "3", "8", "40"]))
@example(Fraction(52, 5), Fraction(50), "40")
@example(Fraction(52, 5), Fraction(50), "1")
def test_a_count_of_whole_rows_is_whole_with_the_whole_numbers_of_its_interval(answers, count, mean, epsilon):
    answer = answers["few", epsilon]
    assert {one.weight for one in answer.quote.checked.measurements} == {1}
    ((shown,), (raw,)) = drawn(answer, count, mean)
    (low, high), (before, after) = shown.spans[0], raw.spans[0]
    assert raw.cells[0] == count
    assert all(value == int(value) for value in (shown.cells[0], low, high))
    assert low <= shown.cells[0] <= high
    for truth in range(-2, 130):
        # No whole number that the interval held before is lost, and none is added where there was one.
        assert (low <= truth <= high) == (before <= truth <= after) or before.__ceil__() > after.__floor__()
    assert abs(shown.cells[0] - max(count, Fraction(0))) <= Fraction(1, 2)
    # What is computed from the count uses it as it was drawn.
    assert shown.cells[1] == (raw.cells[1] if raw.cells[1] is None else min(max(raw.cells[1], 1), 5))
    assert shown.spans[1] == raw.spans[1]


@given(FRACTIONS, FRACTIONS, st.sampled_from(["0.1", "1", "3", "8", "40"]))
@example(Fraction(52, 5), Fraction(50), "40")
@example(Fraction(52, 5), Fraction(50), "1")
def test_where_people_are_weighed_the_point_is_whole_and_the_interval_covers_any_number(
    answers, count, mean, epsilon
):
    answer = answers["wide", epsilon]
    assert {one.weight for one in answer.quote.checked.measurements} == {2**16}
    ((shown,), (raw,)) = drawn(answer, count, mean)
    (low, high), (before, after) = shown.spans[0], raw.spans[0]
    assert shown.cells[0] == int(shown.cells[0])
    assert low <= shown.cells[0] <= high
    assert (low, high) == (min(before, shown.cells[0]), max(after, shown.cells[0]))


def test_other_counts_stay_as_they_were():
    """Rows of people with several are weighed in parts; groups that overlap have to add up."""
    with opened(people(3), rows_per_unit=2) as session:
        answer = session.query("SELECT COUNT(*) AS n, AVG(few) AS m FROM visits", epsilon=1)
        ((shown,), (raw,)) = drawn(answer, Fraction(401, 10), Fraction(3))
        assert shown.cells == raw.cells
    with opened() as session:
        cube = "SELECT ward, COUNT(*) AS n, AVG(few) AS m FROM visits GROUP BY CUBE(ward)"
        answer = session.query(cube, epsilon=1)
        assert module.with_whole_counts(answer.quote.checked) is answer.quote.checked
        found = {row.key[0]: row.cells[1] for row in answer.rows}
        assert found[None] == found["north"] + found["south"]
        plain = session.query("SELECT COUNT(*) AS n FROM visits", epsilon=1)
        assert module.with_whole_counts(plain.quote.checked) is plain.quote.checked


def test_having_compares_what_is_shown():
    with opened() as session:
        text = "SELECT COUNT(*) AS n, AVG(few) AS m FROM visits HAVING COUNT(*) > 40"
        answer = session.query(text, epsilon=1)
        for count, kept in ((Fraction(403, 10), False), (Fraction(407, 10), True)):
            shown, raw = drawn(answer, count, Fraction(3))
            assert bool(shown) is kept
            assert raw


def test_a_batch_and_groups_show_whole_counts_and_json_has_integers():
    with opened() as session:
        texts = [
            "SELECT COUNT(*) AS n, AVG(wide) AS m FROM visits",
            "SELECT ward, COUNT(*) AS n, AVG(few) AS m FROM visits GROUP BY ward",
        ]
        for answer in (*session.batch(texts, epsilon=2), session.query(texts[1], epsilon=1)):
            assert all(isinstance(record["n"], int) for record in answer.records())
        raw = session.query(texts[1], epsilon=1, postprocess=False)
        assert raw.free
        assert all(
            abs(one["n"] - other["n"]) <= 0.5
            for one, other in zip(raw.records(), session.query(texts[1], epsilon=1).records(), strict=True)
        )


@pytest.mark.parametrize("column", ["few", "wide"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3", "8"])
def test_rounding_costs_no_more_accuracy_than_it_can(answers, column, epsilon):
    """Of whole truths: the mean square error grows by a twelfth at most, and falls where noise is small.

    The law of the sum of two corners is added up, on the grid of the noise or on 400 steps to a unit.
    """
    quote = answers[column, epsilon].quote
    alpha, scale = quote.shares[0].mechanism.alpha, quote.checked.measurements[0].scale
    terms = quote.checked.columns[0].formula.terms
    assert [place for place, _ in terms] == [0, 1]
    units = int(scale / terms[0][1])
    steps = min(units, 400)
    ratio = float(alpha) ** (units / steps)
    place = np.arange(-400 * steps, 400 * steps + 1) if epsilon == "0.1" else np.arange(-9000, 9001)
    # Both geometric numbers together are k with this chance, times (1 - a)**2 / (1 + a)**2.
    law = (np.abs(place) + (1 + ratio**2) / (1 - ratio**2)) * ratio ** np.abs(place)
    law /= law.sum()
    off = place / steps
    before, after = (law * off**2).sum(), (law * np.rint(off) ** 2).sum()
    assert before == pytest.approx(4 / float(epsilon) ** 2, rel=0.35)
    # On so many steps to a unit, rounding to the nearest unit alone has this mean square.
    assert after <= before + (1 + 2 / steps**2) / 12 + 1e-3
    assert after < before or epsilon != "8"


def test_whole_ends_of_any_interval():
    """The broken twin rounds ends outwards, as for a number that may be anything."""
    one = Combination(((0, Fraction(1)),), counts=True)
    known = {one: (Fraction(17, 10), Fraction(43, 10))}
    assert span(Op("whole_number", (one,)), (), {}, known) == (2, 4)
    assert span(Op("round", (one,)), (), {}, known) == (1, 5)
    assert span(Op("whole_number", (one,)), (), {}, {one: (Fraction(12, 10), Fraction(14, 10))}) == (1, 1)
    assert span(Op("whole_number", (one,)), (), {}, {one: (None, Fraction(5, 2))}) == (None, 2)
    assert evaluate(Op("whole_number", (one,)), (), {0: Fraction(26, 10)}) == 3


def test_every_corner_must_weigh_one(answers, monkeypatch):
    """A broken twin that takes every count for whole loses truths that are not."""
    answer = answers["wide", "40"]
    monkeypatch.setattr(Measurement, "weight", property(lambda one: 1))
    ((shown,), (raw,)) = drawn(answer, Fraction(201, 4), Fraction(50))
    low, high = raw.spans[0]
    assert low <= Fraction(201, 4) <= high
    assert not shown.spans[0][0] <= Fraction(201, 4) <= shown.spans[0][1]
