"""The price of a question is split by the analyst's weights, to the last unit and no further."""

from fractions import Fraction
from math import prod
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.questions import clinic

from discreet.errors import ParameterError
from discreet.privacy.filter import ApproximateBudget
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.expected import Quote
from discreet.query.price.mechanism import _spent
from discreet.query.price.quote import quote
from discreet.query.price.split import parts
from discreet.release.opening import open as open_session
from discreet.release.pricing import weighed

TWO = "SELECT COUNT(*) AS n, SUM(age) AS total FROM visits"
SHARED = "SELECT COUNT(*) AS n, SUM(age) / (COUNT(*) + 1) AS mean, MEDIAN(age) AS m FROM visits"
AVERAGE = "SELECT AVG(age) AS a, SUM(score) AS s FROM visits"


def asked(text: str, weights: Any, **given: Any) -> Quote:
    return quote(weighed(check(read(text), clinic()), weights), **{"epsilon": 1, **given})


def test_a_measurement_has_the_weight_of_the_column_that_minds_most() -> None:
    def split(text: str, weights: Any) -> list[Fraction]:
        return list(parts(weighed(check(read(text), clinic()), weights)))

    assert split(TWO, None) == split(TWO, {"n": 7, "total": 7}) == [Fraction(1, 2)] * 2
    assert split(TWO, {"n": 3}) == [Fraction(3, 4), Fraction(1, 4)]
    assert split(SHARED, {"mean": "0.5"}) == [Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)]
    assert split(AVERAGE, {"a": 4}) == [Fraction(4, 5), Fraction(1, 5)]


@pytest.mark.parametrize("text", [TWO, SHARED, AVERAGE])
@pytest.mark.parametrize("conversion", [None, Fraction(1, 10**6)])
def test_the_whole_is_charged_and_never_exceeded(text: str, conversion: Fraction | None) -> None:
    first = check(read(text), clinic()).columns[0].name
    for weights in (None, {first: 5}, {first: "0.001"}, {first: 10**6}):
        priced = asked(text, weights, conversion=conversion)
        plain = asked(text, None, conversion=conversion)
        assert priced.cost == plain.cost
        families = {share.measured.name: share for share in priced.shares if not _follows(share.measured)}
        spent = [_spent([share]) for share in families.values()]
        if conversion is None:
            assert sum(cost.epsilon for cost in spent) <= 1  # type: ignore[misc]
        else:
            assert sum(cost.rho for cost in spent) <= priced.cost.rho
        assert identity(priced.checked) == identity(plain.checked)
    # What matters more errs less, and the other more.
    heavy = asked(TWO, {"n": 5})
    even = asked(TWO, None)
    assert heavy.expected[0].radius < even.expected[0].radius  # type: ignore[operator]
    assert heavy.expected[1].radius > even.expected[1].radius  # type: ignore[operator]


def _follows(measured: Any) -> bool:
    return bool(getattr(measured, "corner", 0))


@given(
    st.lists(st.integers(1, 5), min_size=2, max_size=4),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
)
def test_no_other_parts_have_a_smaller_weighted_product_of_errors(
    weights: list[int], other: list[int]
) -> None:
    """Errors are 1 over parts: by exact rationals, the product of parts to their weights is the largest."""
    best = [Fraction(weight, sum(weights)) for weight in weights]
    rival = [Fraction(part, sum(other[: len(weights)])) for part in other[: len(weights)]]

    def kept(parts: list[Fraction]) -> Fraction:
        return prod((part**weight for part, weight in zip(parts, weights, strict=True)), start=Fraction(1))

    assert kept(rival) <= kept(best)


def test_the_kind_of_noise_is_judged_by_the_parts_that_are_paid() -> None:
    budget = ApproximateBudget(Fraction(1), Fraction(1, 10**5))
    for weights in (None, {"n": 100}, {"total": 100}):
        priced = asked(TWO, weights, budget=budget)
        assert priced.cost.epsilon == 1


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ({"x": 1}, "no measured column 'x'; there are n, total"),
        ({"n": 0}, "the weight of n"),
        ({"n": -1}, "the weight of n"),
        ({"n": 10**7}, "between 1/1000000 and 1000000"),
        ({"n": "nan"}, "the weight of n"),
        ([3], "by the names of columns"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: Any, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        asked(TWO, weights)


GROUPED = ("", " GROUP BY CUBE(g, h)", " GROUP BY GROUPING SETS ((g), (h), ())")


@pytest.mark.parametrize("groups", GROUPED)
def test_a_session_splits_by_weights_and_tells_such_answers_apart(groups: str) -> None:
    frame = pd.DataFrame({"person": range(50), "x": [1] * 50, "g": ["a", "b"] * 25, "h": ["a"] * 50})
    both = {name: {"values": ["a", "b"]} for name in "gh"}
    columns = {"x": {"type": "integer", "low": 0, "high": 9}, **both}
    text = f"SELECT COUNT(*) AS n, SUM(x) AS total FROM t{groups}"
    with open_session(t=frame, unit="person", rows_per_unit=1, epsilon=9, columns=columns) as data:
        plain = data.query(text, epsilon=1)
        heavy = data.query(text, epsilon=1, weights={"n": 9})
        assert not heavy.free
        assert data.query(text, epsilon=1, weights={"n": 9}).free
        assert data.query(text, epsilon=1, weights={"n": 1}).free
        assert heavy.quote.expected[0].radius < plain.quote.expected[0].radius  # type: ignore[operator]
        with pytest.raises(ParameterError, match="one question"):
            data.quote([text], epsilon=1, weights={"n": 9})
