"""Renyi costs on the ladder: never below the truth, additive in any order, worth what is claimed."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, workdps

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.filter import ApproximateBudget, Cost, Filter, FilterRoute, Rule
from discreet.privacy.ladder import RUNGS, UNIT, Curve, curve_of, most_at, response_up
from discreet.privacy.zcdp import largest_rho, pure_rho

BUDGETS = [
    (Fraction(epsilon), Fraction(delta))
    for epsilon in ("1/1000", "1/10", "1/2", "1", "3", "10")
    for delta in ("1e-3", "1e-5", "1e-9", "1e-15")
    if 10 * Fraction(delta) <= Fraction(epsilon)
]
"""A delta as large as epsilon would be a budget of failures."""


def _mpf(x: Fraction) -> mpf:
    return mpf(x.numerator) / mpf(x.denominator)


def test_the_ladder_never_changes() -> None:
    """Stored sums mean nothing without it."""
    assert len(RUNGS) == 60
    assert RUNGS[:5] == (Fraction(1, 2), Fraction(19, 32), Fraction(45, 64), Fraction(27, 32), Fraction(1))
    assert RUNGS[-1] == 13824
    assert all(four * 2 == eight for four, eight in zip(RUNGS, RUNGS[4:], strict=False))
    assert UNIT == 2**64


@given(st.fractions(Fraction(1, 10**6), 30), st.sampled_from(RUNGS))
def test_randomised_response_costs_its_divergence_and_hardly_more(epsilon: Fraction, t: Fraction) -> None:
    with workdps(60):
        e, at = _mpf(epsilon), _mpf(t)
        exact = mp.log(mp.cosh((at + mpf(1) / 2) * e) / mp.cosh(e / 2)) / at
        found = response_up(epsilon, t)
        assert exact * (1 - mpf(10) ** -50) <= _mpf(found) <= exact + mpf(1) / UNIT
        assert found <= epsilon + Fraction(1, UNIT)
        step = curve_of(epsilon, pure_rho(epsilon)).at(RUNGS.index(t))
        assert exact * (1 - mpf(10) ** -50) <= _mpf(step) <= exact + mpf(1) / UNIT


@given(st.fractions(Fraction(1, 1000), 3), st.fractions(Fraction(1, 1000), 3), st.sampled_from(RUNGS))
def test_a_remembered_total_is_never_counted_for_too_little(
    one: Fraction, other: Fraction, t: Fraction
) -> None:
    both = response_up(one, t) + response_up(other, t)
    assert both <= response_up(one + other, t) + Fraction(2, UNIT)


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(
            st.fractions("1/1000", 1).map(Cost.pure),
            st.fractions("1/1000", 1).map(lambda e: Cost.pure(e).plain),
            st.fractions("1/1000", 1).map(Cost.concentrated),
            st.fractions("1/1000", 1).map(lambda e: Cost.approximate(e, "1e-9")),
        ),
        min_size=3,
        max_size=3,
    )
)
def test_costs_add_up_in_any_order(costs: list[Cost]) -> None:
    """Ledgers add them by analyst, by project and by history, and must come to the same."""
    one, two, three = costs
    assert (one + two) + three == one + (two + three)
    assert len({sum(order, Cost.zero) for order in permutations(costs)}) == 1


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_routes_share_one_delta_between_them(epsilon: Fraction, delta: Fraction) -> None:
    """By inverting the conversion: what each limit costs in delta adds up to what slack leaves."""
    budget = ApproximateBudget(epsilon, delta)
    with workdps(60):
        total = mpf(0)
        for route in budget.routes:
            if route.rung is None:
                total += _mpf(delta - budget.slack) * mpf("0.97")
                assert route.most <= largest_rho(epsilon, (delta - budget.slack) * Fraction(97, 100))
                continue
            t, limit = _mpf(RUNGS[route.rung]), _mpf(route.most)
            constant = (1 - 1 / (1 + t)) ** (1 + t) / t
            total += constant * mp.exp(t * (limit - _mpf(epsilon)))
        assert total <= _mpf(delta - budget.slack) * (1 + mpf(10) ** -50)
        assert total >= _mpf(delta - budget.slack) * mpf("0.97")


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_budget_is_worth_as_much_concentrated_privacy_as_before(epsilon: Fraction, delta: Fraction) -> None:
    before = ApproximateBudget(epsilon, delta, rule=Rule.CONCENTRATED)
    same_slack = ApproximateBudget(epsilon, delta, before.slack)
    assert before.rho == ApproximateBudget(epsilon, delta, delta / 2, Rule.CONCENTRATED).rho
    assert same_slack.rho >= before.rho * Fraction(98, 100)
    assert ApproximateBudget(epsilon, delta).rho >= before.rho
    assert Filter(same_slack).can_spend(Cost.concentrated(same_slack.rho))


@pytest.mark.parametrize(("first", "then"), [("0.2", 44), ("0.3", 30), ("0.5", 13)])
def test_sessions_that_mix_pure_and_gaussian_noise_go_on_longer(first: str, then: int) -> None:
    gaussian = Gaussian(2500).guarantee(1).price()
    pure = Geometric.calibrate(epsilon=first).guarantee(1).price()
    before = Filter(ApproximateBudget(1, "1e-9", rule=Rule.CONCENTRATED))
    after = Filter(ApproximateBudget(1, "1e-9"))
    assert before.spend(pure).copies(gaussian) == 0
    assert (after.spend(pure).copies(gaussian) or 0) >= then


@pytest.mark.parametrize(
    ("each", "delta", "before", "least"),
    [
        ("0.05", "1e-9", 20, 20),
        ("0.02", "1e-9", 72, 76),
        ("0.01", "1e-9", 288, 292),
        ("0.02", "1e-6", 114, 117),
    ],
)
def test_more_small_counts_fit(each: str, delta: str, before: int, least: int) -> None:
    cost = Cost.pure(each)
    assert Filter(ApproximateBudget(1, delta, rule=Rule.CONCENTRATED)).copies(cost) == before
    assert (Filter(ApproximateBudget(1, delta)).copies(cost) or 0) >= least


COSTS = st.one_of(
    st.fractions("1/1000", "1/4", max_denominator=1000).map(Cost.pure),
    st.fractions("1/100000", "1/300", max_denominator=10**5).map(Cost.concentrated),
    st.fractions("1/1000", "1/10", max_denominator=1000).map(lambda e: Cost.approximate(e, "1e-8")),
)


@given(st.lists(COSTS, max_size=40), st.sampled_from(["1e-5", "1e-7"]))
def test_a_session_that_was_admitted_keeps_the_promise_by_another_computation(
    costs: list[Cost], delta: str
) -> None:
    """From the definitions: some order's bound is within its own part of delta, or the epsilons sum to 1."""
    budget = ApproximateBudget(1, delta)
    filtered, admitted = Filter(budget), []
    for cost in costs:
        if filtered.can_spend(cost):
            filtered = filtered.spend(cost)
            admitted.append(cost)
    if not admitted:
        return
    assert sum(cost.delta for cost in admitted) <= budget.slack
    epsilons = [cost.epsilon for cost in admitted]
    if None not in epsilons and sum(epsilons) <= 1:  # type: ignore[arg-type]
        return
    with workdps(40):
        parts = _parts(budget.routes)
        assert sum(parts.values()) <= _mpf(budget.delta - budget.slack)
        spent = {t: sum(_divergence(cost, t) for cost in admitted) for t in parts}
        assert any(_tail(spent[t], t) <= part for t, part in parts.items())


def _tail(spent: mpf, t: mpf) -> mpf:
    """Return the delta at epsilon 1 of what costs so much at the order 1 + t."""
    return (1 - 1 / (1 + t)) ** (1 + t) / t * mp.exp(t * (spent - 1))


def _parts(routes: Sequence[FilterRoute]) -> dict[mpf, mpf]:
    """Return the part of delta that each order takes when it is used up."""
    orders = {_mpf(RUNGS[route.rung]): _mpf(route.most) for route in routes if route.rung is not None}
    assert len(orders) == len(routes)
    return {t: _tail(most, t) for t, most in orders.items()}


@pytest.mark.parametrize("delta", ["1e-5", "1e-7", "1e-9"])
def test_the_orders_share_delta_and_a_filter_that_gives_all_of_it_to_each_is_caught(delta: str) -> None:
    budget = ApproximateBudget(1, delta)
    left = budget.delta - budget.slack
    with workdps(40):
        assert _mpf(left * Fraction(97, 100)) <= sum(_parts(budget.routes).values()) <= _mpf(left)
        greedy = [FilterRoute(one.rung, most_at(Fraction(1), left, RUNGS[one.rung])) for one in budget.routes]
        assert sum(_parts(greedy).values()) > _mpf(left) * 3


def _divergence(cost: Cost, t: mpf) -> mpf:
    known = (1 + t) * _mpf(cost.rho)
    if cost.epsilon is None:
        return known
    e = _mpf(cost.epsilon)
    return min(known, mp.log(mp.cosh((t + mpf(1) / 2) * e) / mp.cosh(e / 2)) / t)


def test_old_sums_count_as_concentrated_and_nothing_better() -> None:
    old = Cost.pure("0.5").plain
    assert old.renyi == Curve(old.rho)
    assert all(old.renyi.at(rung) >= Cost.pure("0.5").renyi.at(rung) for rung in range(len(RUNGS)))


@given(st.sampled_from(BUDGETS), st.sampled_from(RUNGS))
def test_limits_of_routes_are_rounded_down(budget: tuple[Fraction, Fraction], t: Fraction) -> None:
    epsilon, delta = budget
    with workdps(60):
        at = _mpf(t)
        exact = _mpf(epsilon) + (mp.log(_mpf(delta)) - at * mp.log(at / (1 + at)) + mp.log(1 + at)) / at
        assert exact - abs(exact) * mpf(10) ** -20 <= _mpf(most_at(epsilon, delta, t)) <= exact
