"""Means and variances are as close as was asked for, wherever there are as many rows as was assumed."""

from fractions import Fraction
from random import Random

import pytest
from tests.query.questions import clinic

from discreet.errors import QueryError
from discreet.privacy.filter import ApproximateBudget
from discreet.query.check.formula import evaluate, measured
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.interval import Intervals
from discreet.query.price.quote import quote

CATALOG = clinic()
BUDGET = ApproximateBudget(Fraction(10), Fraction(1, 10**6))
COUNT = 400

ASKED = [
    ("SELECT AVG(age) AS m FROM visits", 2),
    ("SELECT AVG(temp) AS m FROM visits", Fraction(1, 2)),
    ("SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward", 1),
    ("SELECT VARIANCE(age) AS m FROM visits", 150),
    ("SELECT VAR_POP(cost) AS m FROM visits", 20),
    ("SELECT STDDEV(age) AS m FROM visits", 12),
]


@pytest.mark.parametrize("budget", [None, BUDGET], ids=["pure", "delta"])
@pytest.mark.parametrize(("text", "within"), ASKED)
def test_an_interval_is_as_narrow_as_asked_where_the_rows_are_as_many(
    text: str, within: Fraction, budget: ApproximateBudget | None
) -> None:
    priced = quote(check(read(text), CATALOG), within=within, count=COUNT, budget=budget)
    column = priced.checked.columns[-1]
    assert priced.expected[-1].radius is not None
    assert priced.expected[-1].radius <= within
    assert f"where at least {COUNT} rows count" in repr(priced)
    key = tuple("A" for _ in priced.checked.keys.columns)
    random, widest = Random(text), Fraction(0)
    places = sorted(measured(column.formula))
    for _ in range(12):
        # Shares of the count, at the corners of what can be measured and between them.
        sizes = [random.choice((0, 1, 5, 20)) for _ in places]
        whole = sum(sizes) or 1
        scale = COUNT * Fraction(random.choice((100, 101, 300)), 100) * _unit(priced, places)
        noisy = {
            place: scale * (size if sum(sizes) else 1) / whole
            for place, size in zip(places, sizes, strict=True)
        }
        low, high = Intervals(priced).of(column.formula, key, noisy)
        point = evaluate(column.formula, key, noisy)
        assert low is not None
        assert high is not None
        assert isinstance(point, int | Fraction)
        widest = max(widest, high - point, point - low)
    assert widest <= within
    # The bound means something: the worst case of a mean is reached, that of a variance nearly.
    assert widest >= Fraction(within) * Fraction(95 if "AVG" in text else 12, 100)


def _unit(priced: object, places: list[int]) -> Fraction:
    """Return what one row measures, all its corners together."""
    formula = priced.checked.columns[-1].formula  # type: ignore[attr-defined]
    inner = formula if hasattr(formula, "count") else formula.arguments[0]
    return 1 / dict(inner.count.terms)[places[0]]


def test_more_rows_cost_less_and_without_them_nothing_is_known() -> None:
    checked = check(read("SELECT AVG(age) FROM visits"), CATALOG)
    few, many = (quote(checked, within=2, count=rows).epsilon for rows in (100, 10_000))
    assert few > 50 * many
    with pytest.raises(QueryError, match="count=1000"):
        quote(checked, within=2)
    assert quote(checked, epsilon=1).expected[0].radius is None
    assert quote(checked, epsilon=1, count=1000).expected[0].count == 1000
