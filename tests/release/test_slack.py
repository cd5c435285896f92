"""Which part of delta is for finding keys is the curator's choice, made once."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import BudgetError, CatalogError
from discreet.privacy.filter import ApproximateBudget
from discreet.query.catalog.manifest import Catalog, declare
from discreet.release.noisy import draw
from discreet.release.pricing import budget_like, declared_budget
from discreet.release.session import proved
from discreet.service.catalogue import known, published

KEYS = "SELECT city, COUNT(*) FROM people GROUP BY city"


def declared(**budget: object) -> Catalog:
    return declare(
        {"budget": budget, "tables": {"t": {"unit": "p", "rows_per_unit": 1, "columns": {"c": "text"}}}}
    )


def zipf() -> pd.DataFrame:
    weights = 1 / np.arange(1, 88)
    cities = np.repeat(np.arange(87), np.round(3000 * weights / weights.sum()).astype(int))
    return pd.DataFrame({"person": np.arange(cities.size), "city": [f"c{city}" for city in cities]})


def test_most_of_delta_finds_forty_of_the_87_keys_and_costs_no_more() -> None:
    given = {"unit": "person", "rows_per_unit": 1, "columns": {"city": "text"}, "epsilon": 1}
    with dp.open(people=zipf(), delta="1e-6", slack="9e-7", **given) as data:
        priced = data.quote(KEYS, epsilon=1)
        assert (priced.cost.epsilon, priced.cost.delta) == (1, Fraction(9, 10**7))
        exact = data.engine.run(proved(priced), 1)
        assert np.mean([len(draw(priced, exact).keys) for _ in range(30)]) >= 40
        data.query(KEYS, epsilon=1)
        with pytest.raises(BudgetError):
            data.query(
                "SELECT city, COUNT(*) AS m FROM people WHERE city > 'c3' GROUP BY city", epsilon="0.1"
            )


def test_the_rest_of_delta_pays_for_the_routes() -> None:
    catalog = declared(epsilon=1, delta="1e-6", slack="9e-7")
    assert declared_budget(catalog) == ApproximateBudget(1, "1e-6", "9e-7")
    assert catalog.budget is not None
    assert budget_like(catalog.budget, Fraction(1, 2)) == ApproximateBudget("0.5", "1e-6", "9e-7")
    assert declared_budget(catalog).rho < ApproximateBudget(1, "1e-6").rho  # type: ignore[union-attr]
    assert known(published(catalog)).budget == catalog.budget


@pytest.mark.parametrize("slack", ["1e-6", "2e-6", "-1e-9"])
def test_a_slack_is_a_part_of_delta(slack: str) -> None:
    with pytest.raises(CatalogError, match="slack"):
        declared(epsilon=1, delta="1e-6", slack=slack)
    with pytest.raises(CatalogError, match="slack"):
        declared(epsilon=1, slack="0")


def test_a_ledger_keeps_the_slack_it_began_with(tmp_path: Path) -> None:
    given = {"unit": "person", "rows_per_unit": 1, "columns": {"city": "text"}, "epsilon": 1, "delta": "1e-6"}
    home = tmp_path / "book.ledger"
    with dp.open(people=zipf(), ledger=home, slack="5e-7", **given):
        pass
    with dp.open(people=zipf(), ledger=home, slack="5e-7", **given):
        pass
    with pytest.raises(CatalogError, match="as it began with"):
        dp.open(people=zipf(), ledger=home, slack="9e-7", **given)
