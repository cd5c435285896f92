"""The filter's promises: exact sums, every adaptive adversary of three steps, and refusals that explain."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import BudgetError, ParameterError
from discreet.privacy.filter import ApproximateBudget, Cost, Filter, PureBudget
from discreet.privacy.grid import GRID
from discreet.privacy.zcdp import delta_of_rho, epsilon_of_rho, largest_rho, pure_rho

EPSILONS = st.fractions(Fraction(1, 1000), 5, max_denominator=1000)
DELTAS = st.integers(1, 60).map(lambda k: Fraction(1, 10**k))


def test_ten_tenths_fill_a_budget_of_one_exactly():
    account = Filter(PureBudget("1"))
    for _ in range(10):
        account = account.spend(Cost.pure(0.1))
    assert account.spent.epsilon == 1
    assert account.remaining.epsilon == 0
    assert not account.can_spend(Cost.pure(Fraction(1, 10**30)))


def test_thirds_and_sevenths_fill_a_budget_exactly_too():
    account = Filter(PureBudget(2))
    for cost in [Cost.pure(Fraction(1, 3))] * 3 + [Cost.pure(Fraction(1, 7))] * 7:
        account = account.spend(cost)
    assert account.remaining.epsilon == 0


@given(st.lists(st.fractions(0, 1, max_denominator=10**60), max_size=30))
def test_costs_never_round_down_and_never_grow(parts):
    total = Cost.zero
    for part in parts:
        total = total + Cost.pure(part)
    assert total.epsilon is not None
    assert total.epsilon >= sum(parts)
    assert GRID % total.epsilon.denominator == 0
    assert GRID % total.rho.denominator == 0


@settings(max_examples=40)
@given(EPSILONS, DELTAS)
def test_what_remains_can_be_spent_and_nothing_visibly_larger(epsilon, delta):
    account = Filter(ApproximateBudget(epsilon, delta)).spend(Cost.pure(epsilon / 7))
    rest = account.remaining
    assert account.can_spend(Cost.pure(rest.epsilon))
    assert account.can_spend(Cost.concentrated(rest.rho, rest.delta))
    assert not account.can_spend(Cost.pure(rest.epsilon + Fraction(1, 10**15)))
    assert account.spent.epsilon <= epsilon
    assert not account.can_spend(Cost.concentrated(rest.rho + Fraction(1, 10**39)))
    assert not account.can_spend(Cost.concentrated(0, rest.delta + Fraction(1, 10**39)))


@given(EPSILONS, DELTAS)
def test_the_three_conversions_agree_and_err_on_the_safe_side(epsilon, delta):
    rho = largest_rho(epsilon, delta)
    assert delta_of_rho(rho, epsilon) <= delta * (1 + Fraction(1, 2**60))
    assert epsilon_of_rho(rho, delta) <= epsilon * (1 + Fraction(1, 2**40))
    for order in (mpf("1.01"), mpf(2), mpf(10), mpf(300)):
        at = (
            (order - 1) * (order * _mpf(rho) - _mpf(epsilon))
            + order * mp.log(1 - 1 / order)
            - mp.log(order - 1)
        )
        assert _mpf(delta_of_rho(rho, epsilon)) <= mp.exp(at) * (1 + mpf(2) ** -60)


@given(st.fractions(Fraction(1, 1000), 20), st.fractions(Fraction(101, 100), 1000))
def test_randomised_response_is_concentrated_at_the_stated_rho_and_not_below(epsilon, order):
    e, a = _mpf(epsilon), _mpf(order)
    divergence = mp.log(mp.cosh((a - mpf(1) / 2) * e) / mp.cosh(e / 2)) / (a - 1)
    rho = _mpf(pure_rho(epsilon))
    assert divergence <= a * rho
    near_one = 1 + mpf(10) ** -20
    at_one = mp.log(mp.cosh((near_one - mpf(1) / 2) * e) / mp.cosh(e / 2)) / (near_one - 1)
    assert at_one >= near_one * rho * (1 - mpf(10) ** -12)


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def _response(epsilon):
    """Binary randomised response as {output: (probability under D, under D')}."""
    p = mp.exp(_mpf(epsilon)) / (1 + mp.exp(_mpf(epsilon)))
    return {0: (p, 1 - p), 1: (1 - p, p)}


def _worst_delta(admit, epsilon, prices, steps):
    """The largest hockey-stick divergence of a greedy adversary who picks the next price from the history."""
    worst = mpf(0)
    for policy in product(range(len(prices)), repeat=2**steps - 1):
        total = mpf(0)

        def walk(depth, node, up, down, spent, policy=policy):
            nonlocal total
            price = prices[policy[node]] if depth < steps else None
            if price is None or not admit(spent + Cost.pure(price)):
                total += max(mpf(0), up - mp.exp(_mpf(epsilon)) * down)
                return
            for bit, (p, q) in _response(price).items():
                walk(depth + 1, 2 * node + 1 + bit, up * p, down * q, spent + Cost.pure(price))

        walk(0, 0, mpf(1), mpf(1), Cost.zero)
        worst = max(worst, total)
    return worst


def test_no_adaptive_choice_of_prices_breaks_the_filter_and_a_broken_filter_is_caught():
    epsilon, delta = Fraction(1), Fraction(1, 100)
    budget = ApproximateBudget(epsilon, delta, 0)
    prices = [Fraction(1, 2), Fraction(1)]

    def sound(total):
        return Filter(budget, Cost.zero).can_spend(total)

    def charges_half(total):
        return Filter(budget, Cost.zero).can_spend(Cost(total.epsilon / 2, total.rho / 2, total.delta / 2))

    assert _worst_delta(sound, epsilon, prices, 3) <= _mpf(delta)
    assert _worst_delta(charges_half, epsilon, prices, 3) > _mpf(delta)


def test_a_refusal_says_what_was_asked_and_what_remains():
    account = Filter(PureBudget(1)).spend(Cost.pure("0.75"))
    with pytest.raises(BudgetError, match=r"costs epsilon 0\.5, .*only epsilon 0\.25"):
        account.spend(Cost.pure("0.5"))
    with pytest.raises(BudgetError, match="give the budget a delta"):
        account.spend(Cost.concentrated("0.01"))
    with pytest.raises(BudgetError, match="no pure guarantee"):
        account.spend(Cost.approximate("0.01", "1e-9"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureBudget(0),
        lambda: PureBudget(-1),
        lambda: ApproximateBudget(1, 0),
        lambda: ApproximateBudget(1, 1),
        lambda: ApproximateBudget(1, "1e-6", "1e-6"),
        lambda: Cost.pure(-1),
        lambda: Cost.concentrated(-1),
        lambda: Cost.approximate(1, -1),
    ],
)
def test_meaningless_budgets_and_costs_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@given(
    budget=st.sampled_from([PureBudget(1), ApproximateBudget(1, "1e-6"), ApproximateBudget(2, "1e-9")]),
    cost=st.builds(
        Cost,
        st.none() | st.fractions("1/10", 1, max_denominator=50),
        st.fractions("1/1000", "1/10", max_denominator=1000),
        st.sampled_from([Fraction(0), Fraction(1, 10**7)]),
    ),
    spent=st.integers(0, 3),
)
def test_so_many_copies_fit_and_not_one_more(budget, cost, spent):
    """The number promised in a quote is the number that the filter will admit."""
    filter_ = Filter(budget)
    for _ in range(spent):
        if filter_.can_spend(cost):
            filter_ = filter_.spend(cost)
    copies = filter_.copies(cost)
    for _ in range(copies):
        filter_ = filter_.spend(cost)
    assert not filter_.can_spend(cost)


def test_what_costs_nothing_fits_for_ever():
    assert Filter(PureBudget(1)).copies(Cost.zero) is None
    assert Filter(ApproximateBudget(1, "1e-6")).copies(Cost.zero) is None
