"""Under a budget with delta a question takes the noise that errs less for it, within its price."""

from dataclasses import replace
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.gate.questions import QUESTIONS
from tests.query.gate.walk import declared
from tests.query.questions import clinic

from discreet.errors import CatalogError, ParameterError
from discreet.exact.number import log_bounds
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.filter import ApproximateBudget, Filter
from discreet.privacy.grid import pure_within
from discreet.privacy.zcdp import pure_rho
from discreet.query.catalog.manifest import declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price import either
from discreet.query.price.either import error, kinds
from discreet.query.price.mechanism import PurePrice, RhoPrice, charge, share_of
from discreet.query.price.quote import quote
from discreet.release.opening import open as open_session
from discreet.release.pricing import price_question

BUDGET = ApproximateBudget(1, "1e-5")
COUNT = check(read("SELECT COUNT(*) FROM people"), clinic())
SMALL = Fraction(1, 10**9)


def test_a_count_under_a_budget_with_delta_is_as_exact_as_under_a_pure_one() -> None:
    """A root of the mean squared error of 1.4, where Gaussian noise of the same promise has 4.4."""
    catalog = declare(
        {
            "budget": {"epsilon": 1, "delta": "1e-5"},
            "tables": {"people": {"unit": "person", "rows_per_unit": 1, "columns": {"age": "integer"}}},
        }
    )
    priced = price_question(catalog, check(read("SELECT COUNT(*) FROM people"), catalog), 1)
    (share,) = priced.shares
    assert isinstance(share.mechanism, Geometric | Staircase)
    assert sqrt(share.mechanism.variance) / share.measured.scale < 1.42
    bell = quote(COUNT, epsilon=1, conversion=BUDGET.delta - BUDGET.slack).shares[0]
    assert isinstance(bell.mechanism, Gaussian)
    assert sqrt(bell.mechanism.sigma_squared) / bell.measured.scale > 4


@given(st.fractions(Fraction(1, 10**6), Fraction(999, 1000)))
def test_geometric_noise_is_within_the_root_of_two_of_gaussian_noise_at_equal_cost(alpha: Fraction) -> None:
    """Exactly: Var <= 2 / ln(1/a)**2, whose rho is at most ln(1/a)**2 / 2."""
    _, cost = log_bounds(1 / alpha)
    variance = Geometric(alpha).variance
    assert variance * cost**2 <= 2 * (1 + Fraction(1, 10**12))
    assert pure_rho(cost) <= cost**2 / 2
    same_cost = Gaussian.calibrate(rho=pure_rho(cost), sensitivity=1)
    assert variance <= 2 * same_cost.sigma_squared * (1 + Fraction(1, 10**12))


def wrong_choices(questions: int = 9) -> int:
    """Count how often another noise than the chosen one would have erred less at the price that was asked."""
    wrong = 0
    for asked in QUESTIONS[::questions]:
        checked = asked.checked(declared(asked.clinic))
        for epsilon in (Fraction(1), Fraction(1, 20)):
            chosen = either.better(checked, epsilon, SMALL, BUDGET, None)
            found = [error(checked, terms(epsilon), SMALL) for terms in kinds(BUDGET)]
            wrong += error(checked, chosen(epsilon), SMALL) > min(found)
    return wrong


def test_no_other_noise_would_have_erred_less(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_choices() == 0
    # The broken twin always takes the noise that such a budget always took.
    monkeypatch.setattr(either, "better", lambda checked, *_: kinds(BUDGET)[-1])
    assert wrong_choices() > 0


def widest(cells: int, epsilon: Fraction) -> float:
    """Return by how much the interval of a distribution is wider than that of the better noise."""
    checked = check(read(f"SELECT CDF(cost, {cells}) FROM visits"), clinic(rows=1, groups=None))
    small = ApproximateBudget(100, "1e-9")
    radii = [
        quote(checked, epsilon=epsilon, terms=terms).expected[-1].radius
        for terms in (either.better(checked, epsilon, SMALL, small, None), *kinds(small))
    ]
    return float(radii[0] / min(radii[1:]))  # type: ignore[operator, type-var]


@pytest.mark.parametrize("cells", [100, 256, 257, 400])
def test_distributions_of_any_size_take_the_better_noise(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for epsilon in (Fraction(1, 5), Fraction(3)):
        assert widest(cells, epsilon) <= 1.1
    # The broken twin takes Gaussian noise under any budget with delta.
    monkeypatch.setattr(either, "better", lambda *_: kinds(ApproximateBudget(100, "1e-9"))[-1])
    assert widest(cells, Fraction(1, 5)) > 1.4


@pytest.mark.parametrize(("groups", "kind"), [(1, Geometric), (2, Geometric), (40, Gaussian)])
def test_people_in_many_groups_are_better_served_by_gaussian_noise(groups: int, kind: type) -> None:
    catalog = clinic(rows=groups, groups=groups, per_group=1)
    text = "SELECT day, COUNT(*) FROM visits GROUP BY day"
    priced = quote(check(read(text), catalog), epsilon=1, budget=BUDGET)
    assert isinstance(priced.shares[0].mechanism, kind)


def test_many_declared_questions_are_better_served_by_gaussian_noise() -> None:
    kinds = [
        type(quote(COUNT, epsilon="0.1", budget=BUDGET, questions=k).shares[0].mechanism) for k in (5, 50)
    ]
    assert kinds == [Geometric, Gaussian]
    few, many = (quote(COUNT, epsilon="0.1", budget=BUDGET, questions=k).cost for k in (5, 50))
    assert Filter(BUDGET).copies(few) == 10
    assert (Filter(BUDGET).copies(many) or 0) > 50


@pytest.mark.parametrize("epsilon", ["1", "0.3", "0.01"])
def test_either_noise_costs_what_it_would_promise_alone(epsilon: str) -> None:
    """One question at the whole epsilon fits into the whole budget, and fills it."""
    whole = ApproximateBudget(epsilon, "1e-5")
    for text in ("SELECT COUNT(*), SUM(age) FROM visits", "SELECT MEDIAN(age) FROM visits"):
        for questions in (None, 1, 10**5):
            priced = quote(check(read(text), clinic()), epsilon=epsilon, budget=whole, questions=questions)
            assert Filter(whole).can_spend(priced.cost)
            # A selection has a pure guarantee besides its zCDP, and takes the smaller part.
            assert whole.share(priced.cost) > (0 if "MEDIAN" in text else Fraction(999, 1000))


def test_keys_found_in_the_data_get_their_share_of_the_whole_epsilon() -> None:
    catalog = clinic(groups=1)
    checked = check(read("SELECT city, COUNT(*) FROM visits GROUP BY city"), catalog)
    priced = quote(checked, epsilon=1, budget=BUDGET, delta=SMALL)
    keys = next(share.mechanism for share in priced.shares if isinstance(share.mechanism, KeyCount))
    assert keys.guarantee().cost > Fraction(499, 1000)
    assert priced.cost.epsilon == 1
    assert priced.cost.delta == SMALL


@pytest.mark.parametrize("within", [3, 10, 60, 400])
def test_an_error_that_is_asked_for_takes_the_smaller_part_of_the_budget(within: int) -> None:
    priced = quote(COUNT, within=within, budget=BUDGET)
    assert priced.expected[0].radius is not None
    assert priced.expected[0].radius <= within
    for other in (None, BUDGET.delta - BUDGET.slack):
        alone = BUDGET.share(quote(COUNT, within=within, conversion=other).cost)
        assert BUDGET.share(priced.cost) <= alone * Fraction(102, 100)
    assert isinstance(priced.shares[0].mechanism, Geometric if within < 20 else Gaussian)


def test_a_session_draws_the_noise_that_its_quote_names() -> None:
    people = pd.DataFrame({"person": range(500), "age": [n % 90 for n in range(500)]})
    columns = {"age": {"type": "integer", "low": 0, "high": 90}}
    opened = open_session(
        people=people, unit="person", columns=columns, epsilon=2, delta="1e-6", rows_per_unit=1
    )
    with opened as data:
        answers = [data.query(f"SELECT COUNT(*) FROM people WHERE age >= -{n}", epsilon=1) for n in (1, 2)]
        assert all("Gaussian" not in repr(answer.quote) for answer in answers)
        # Noise of 30 has a probability of e**-30.
        assert all(abs(answer.value - 500) < 30 for answer in answers)
        assert data.budget.limits[0].spent.epsilon == 2


@pytest.mark.parametrize("wrong", [0, -3, "many", True, 1.5])
def test_a_number_of_questions_is_a_whole_number(wrong: object) -> None:
    with pytest.raises(CatalogError, match=r"budget\.questions"):
        declare(
            {
                "budget": {"epsilon": 1, "delta": "1e-6", "questions": wrong},
                "tables": {"t": {"columns": {"x": "integer"}}},
            }
        )


def test_keys_that_are_found_bring_their_counts_for_nothing() -> None:
    """87 cities of 3,000 people, most of them small: some 37 are found at (1, 1e-6), where seven were."""
    weights = [1 / rank for rank in range(1, 88)]
    cities = [rank for rank, w in enumerate(weights) for _ in range(round(3000 * w / sum(weights)))]
    frame = pd.DataFrame({"person": range(len(cities)), "city": [f"c{rank}" for rank in cities]})
    opened = {"people": frame, "unit": "person", "rows_per_unit": 1, "columns": {"city": "text"}}
    text = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
    with open_session(**opened, epsilon=1, delta="1e-6") as data:
        priced = data.quote(text, epsilon=1)
        (share,) = priced.shares
        assert isinstance(share.mechanism, KeyCount)
        assert (priced.cost.epsilon, priced.cost.delta) == (1, Fraction(1, 10**7))
        sizes = [cities.count(rank) for rank in range(87)]
        assert 37 < sum(share.mechanism.keep(n) for n in sizes) < 38
        whole = KeyCount.calibrate(epsilon=1, delta="1e-6")
        assert sum(whole.keep(n) for n in sizes) > 40
        answer = data.query(text, epsilon=1)
        found = {row[0]: row[1] for row in answer}
        # Fewer than 25 are as unlikely as one in 10**9.
        assert 25 <= len(found) <= 60
        assert all(abs(n - cities.count(int(city[1:]))) <= 40 for city, n in found.items())
        assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in answer.intervals())


def found_by(groups: int, questions: int | None, epsilon: str = "1") -> KeyCount | KeyGaussian:
    """Return how keys are found for people in so many groups, under a budget for so many questions."""
    catalog = clinic(rows=groups, groups=groups, per_group=1)
    checked = check(read("SELECT city FROM visits GROUP BY city"), catalog)
    priced = quote(
        checked, epsilon=epsilon, budget=ApproximateBudget(1, "1e-6"), questions=questions, delta="1e-7"
    )
    (share,) = priced.shares
    assert isinstance(share.mechanism, KeyCount | KeyGaussian)
    return share.mechanism


def test_keys_take_the_noise_that_finds_smaller_groups() -> None:
    """Pure noise for the only question about people in one group, Gaussian for many of either."""
    assert isinstance(found_by(1, None), KeyCount)
    assert isinstance(found_by(1, 20, "0.2"), KeyGaussian)
    assert isinstance(found_by(8, None), KeyGaussian)
    # What was offered: the curve for the epsilon whose rho is that of a twentieth.
    part = ApproximateBudget(1, "1e-6").rho / 20
    before = KeyCount.calibrate(epsilon=pure_within(part), delta="1e-7").threshold
    assert found_by(1, 20, "0.2").threshold * 2 < before


@pytest.mark.parametrize("groups", [1, 3, 8, 30])
@pytest.mark.parametrize("epsilon", ["3", "1", "0.1", "0.01"])
def test_how_many_people_a_group_needs_is_judged_nearly_as_it_is(groups: int, epsilon: str) -> None:
    budget = ApproximateBudget(epsilon, "1e-6")
    for terms in kinds(budget):
        price = terms(Fraction(epsilon))
        needed = exp(either._needed(groups, price, SMALL))
        if isinstance(price, PurePrice):
            curve = KeyCount.calibrate(epsilon=epsilon, delta=SMALL, groups=groups)
            assert needed == pytest.approx(curve.threshold, rel=0.05, abs=2)
        else:
            bell = KeyGaussian.calibrate(rho=price.rho, delta=SMALL, groups=groups)
            assert needed == pytest.approx(bell.threshold, rel=0.02, abs=2)


def test_keys_found_with_gaussian_noise_bring_their_counts(tmp_path: Path) -> None:
    cities = [f"c{n % 8 if n < 3900 else n}" for n in range(4000)]
    pd.DataFrame({"person": range(4000), "city": cities}).to_parquet(tmp_path / "people.parquet")
    manifest = tmp_path / "people.toml"
    manifest.write_text(
        """
        budget = { epsilon = 1, delta = "1e-6", questions = 20 }
        [tables.people]
        source = "people.parquet"
        unit = "person"
        rows_per_unit = 1
        columns = { city = "text" }
        """
    )
    text = "SELECT city, COUNT(*) AS n FROM people GROUP BY city"
    with open_session(manifest) as data:
        priced = data.quote(text, epsilon="0.2")
        (share,) = priced.shares
        assert isinstance(share.mechanism, KeyGaussian)
        assert priced.cost.delta <= Fraction(1, 10**7)
        answer = data.query(text, epsilon="0.2")
        # Noise of 300 is ten deviations, and a lone person is shown once in ten million times.
        assert {row[0] for row in answer} == {f"c{n}" for n in range(8)}
        for row in answer.intervals():
            assert row["n_low"] <= row["n"] <= row["n_high"]
            assert abs(row["n"] - 487.5) < 300
        assert "noisy count of their people reaches" in answer.card()
        again = data.query(text, epsilon="0.2")
        assert again.free
        assert again.rows == answer.rows


@pytest.mark.parametrize("terms", kinds(BUDGET))
def test_found_keys_of_people_in_many_groups_cannot_be_charged_as_one(terms: either.Terms) -> None:
    checked = check(read("SELECT city FROM visits GROUP BY city"), clinic(rows=8, groups=8, per_group=1))
    price = terms(Fraction(1))
    shares = (share_of(checked, 0, price, SMALL),)
    assert charge(shares, price, SMALL).delta == SMALL
    match price:
        case PurePrice(epsilon):
            narrow: KeyCount | KeyGaussian = KeyCount.calibrate(epsilon=epsilon, delta=SMALL)
        case RhoPrice(rho):
            narrow = KeyGaussian.calibrate(rho=rho, delta=SMALL)
    with pytest.raises(ParameterError, match="cost more than was asked"):
        charge((replace(shares[0], mechanism=narrow),), price, SMALL)


def test_other_statistics_of_found_keys_share_the_price_with_them() -> None:
    checked = check(read("SELECT city, COUNT(DISTINCT person), AVG(age) FROM visits GROUP BY city"), clinic())
    priced = quote(checked, epsilon=1, delta=SMALL)
    assert [type(share.mechanism).__name__ for share in priced.shares] == [
        "KeyCount",
        "Geometric",
        "Geometric",
    ]
    assert priced.shares[0].mechanism.guarantee().cost > Fraction(499, 1000)


def test_a_choice_beside_sums_has_a_price_however_much_is_paid() -> None:
    """A choice is charged as one of bounded range, or as a pure one where that is less: beyond rho 8."""
    checked = check(read("SELECT MEDIAN(age), SUM(DISTINCT score) FROM visits"), clinic())
    assert quote(checked, epsilon=64, conversion=SMALL).cost.rho > 8
    near = quote(checked, within=2, conversion=SMALL)
    assert near.expected[1].radius <= 2
