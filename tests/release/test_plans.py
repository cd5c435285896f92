"""A plan is used again for the same question under the same declarations, and for no other."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import pytest

import discreet as dp
from discreet.release import plans

COUNT = "SELECT COUNT(*) AS n FROM visits WHERE stay > ?"
DAYS = "SELECT COUNT(*) AS n FROM visits WHERE day < CURRENT_DATE"


@pytest.fixture
def data():
    rows = pd.DataFrame(
        {"person": range(30), "stay": [p % 7 for p in range(30)], "day": [datetime(2020, 1, 1)] * 30}
    )
    columns = {
        "stay": {"type": "integer", "low": 0, "high": 9},
        "day": {"type": "date", "low": "2020-01-01", "high": "2030-01-01"},
    }
    with dp.open(visits=rows, unit="person", rows_per_unit=1, epsilon=100, columns=columns) as opened:
        yield opened


def made(data, monkeypatch) -> list[object]:
    """Return what is planned from here on, as it is planned."""
    found: list[object] = []
    plan = type(data)._quote
    monkeypatch.setattr(type(data), "_quote", lambda *given: found.append(given[1]) or plan(*given))
    return found


def test_a_question_that_was_quoted_is_not_planned_again(data, monkeypatch):
    planned = made(data, monkeypatch)
    priced = data.quote(COUNT, epsilon="0.5", parameters=[3])
    answer = data.query(COUNT, epsilon="0.5", parameters=[3])
    assert data.query(COUNT, epsilon="0.5", parameters=[3]).noisy == answer.noisy
    assert answer.quote.cost == priced.cost
    assert answer.quote.proof is priced.proof
    assert len(planned) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": "0.6"},
        {"epsilon": 1},
        {"epsilon": None, "within": 30},
        {"confidence": "0.9"},
        {"parameters": [4]},
        {"parameters": [True]},
        {"parameters": ["3"]},
        {"limits": dp.Limits(rows_per_unit=1)},
    ],
)
def test_another_price_value_or_limit_is_another_plan(data, other: dict[str, object], monkeypatch):
    asked = {"epsilon": "0.5", "confidence": "0.95", "parameters": [3]}
    data.quote(COUNT, **asked)
    planned = made(data, monkeypatch)
    try:
        data.quote(COUNT, **{**asked, **other})
    except dp.QueryError:
        assert planned == []  # refused anew, and not answered with the plan of a number
        return
    assert len(planned) == 1


def test_the_same_number_in_another_form_is_never_mistaken(data):
    quotes = [data.quote(COUNT, epsilon=epsilon, parameters=[3]) for epsilon in ("0.5", 0.5, Decimal("0.5"))]
    assert len({quote.epsilon for quote in quotes}) == 1
    key = plans._key(("q", "1", None, "0.95", None, None, [1]))
    assert key != plans._key(("q", 1, None, "0.95", None, None, [1]))
    assert key != plans._key(("q", "1", None, "0.95", None, None, [1.0]))
    assert key != plans._key(("q", "1", None, "0.95", None, None, [True]))
    assert key != plans._key(("q", "1", None, "0.95", None, None, {0: 1}))
    assert plans._key(("q", Decimal(1), None, "0.95", None, None, None)) is None
    assert plans._key(("q", "1", None, "0.95", None, None, [object()])) is None


def test_new_declarations_are_planned_anew(data, monkeypatch):
    asked = {"epsilon": "0.5", "parameters": [3]}
    before = data.quote(COUNT, **asked)
    data.catalog = replace(data.catalog, budget=replace(data.catalog.budget, epsilon=200))
    after = data.quote(COUNT, **asked)
    assert after.share == before.share / 2


def test_tomorrow_the_same_words_are_another_question(data, monkeypatch):
    class Later(datetime):
        at = datetime(2026, 1, 1, tzinfo=UTC)

        @classmethod
        def now(cls, zone=None):
            return cls.at

    from discreet.query.language import clock

    monkeypatch.setattr(clock, "datetime", Later)
    first = data.query(DAYS, epsilon=1)
    assert data.query(DAYS, epsilon=1).free
    Later.at = datetime(2026, 1, 2, tzinfo=UTC)
    assert not data.query(DAYS, epsilon=1).free
    Later.at = datetime(2026, 1, 1, tzinfo=UTC)
    assert data.query(DAYS, epsilon=1).noisy == first.noisy


def test_only_the_newest_small_plans_are_kept(data, monkeypatch):
    monkeypatch.setattr(plans, "MOST", 2)
    for value in (1, 2, 3):
        data.quote(COUNT, epsilon=1, parameters=[value])
    planned = made(data, monkeypatch)
    for value in (3, 2, 1):
        data.quote(COUNT, epsilon=1, parameters=[value])
    assert len(planned) == 1
    monkeypatch.setattr(plans, "WIDEST", 0)
    for _ in range(2):
        data.quote(COUNT, epsilon=2, parameters=[1])
    assert len(planned) == 3


def test_what_a_question_means_is_kept_for_the_very_quote(data):
    kept, priced = plans.Plans(), data.quote(COUNT, epsilon=1, parameters=[3])
    assert kept.meaning(priced, lambda: ("a", ())) == kept.meaning(priced, lambda: ("b", ())) == ("a", ())
    # Where a quote is gone, another one may get its number.
    kept._meanings[id(priced)] = replace(priced), ("b", ())
    assert kept.meaning(priced, lambda: ("c", ())) == ("c", ())
    for number in range(2 * plans.MOST):
        kept.meaning(replace(priced, copies=number), lambda: ("d", ()))
    assert len(kept._meanings) == plans.MOST
