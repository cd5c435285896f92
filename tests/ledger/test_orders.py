"""Renyi costs and their limits are the same in both hands: the one that prices, the one that reads back."""

import random
from fractions import Fraction

import pytest

from discreet.ledger import orders
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget, Rule
from discreet.privacy.ladder import RUNGS

EPSILONS = ("1e-40", "1e-20", "1e-9", "0.1", "1/3", "2.5", "44", "1000", "1e30")


def test_the_rungs_are_the_same():
    assert tuple(Fraction(rung, 64) for rung in orders.LADDER) == RUNGS


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_pure_release_costs_the_same(epsilon: str):
    cost = Cost.pure(epsilon)
    assert orders.steps_of(cost.epsilon, cost.rho) == cost.renyi.steps


@pytest.mark.parametrize("prices", [12, pytest.param(2000, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_any_release_costs_the_same(prices: int):
    chance = random.Random(prices)
    for _ in range(prices):
        epsilon = Fraction(chance.randint(1, 10**6), chance.choice([10**3, 10**5, 7 * 10**6]))
        rho = Cost.pure(epsilon).rho * chance.choice([Fraction(1), Fraction(1, 2), Fraction(1, 50)])
        cost = Cost(epsilon, rho)
        assert orders.steps_of(cost.epsilon, cost.rho) == cost.renyi.steps


BUDGETS: tuple[tuple[str | int, str], ...] = (
    (1, "1e-6"),
    ("0.01", "1e-6"),
    (100, "1e-9"),
    ("1e-6", "1e-9"),
    (10**6, "1e-9"),
    (1, "0.5"),
    (10**4, "1e-200"),
)


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_budget_admits_as_much_and_never_less(epsilon: str | int, delta: str, rule: Rule):
    """What one hand admits the other must not refuse; and it may not admit more than is true."""
    budget = ApproximateBudget(epsilon, delta, rule=rule)
    ours, theirs = orders.routes_of(budget), budget.routes
    assert [rung for rung, _ in ours] == [route.rung for route in theirs]
    for (_, most), route in zip(ours, theirs, strict=True):
        assert 0 <= most - route.most <= (1 + abs(route.most)) / 10**18


def test_a_pure_budget_has_no_routes():
    budget: Budget = PureBudget(1)
    assert orders.routes_of(budget) == ()
