"""Every rounding goes the safe way: checked against the theorems at a precision far beyond the code's own."""

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from discreet.exact.number import BITS, HAIR, exp_bounds, float_down, float_up, log_bounds, sqrt_down, sqrt_up
from discreet.mechanisms.table import Table
from discreet.privacy.filter import ApproximateBudget, Cost, Rule
from discreet.privacy.grid import GRID, below_grid, on_grid, pure_within
from discreet.privacy.loss import AtomsLoss, BoundedRangeLoss, GeometricLoss, LaplaceLoss, ResponseLoss
from discreet.privacy.odometer import Odometer
from discreet.privacy.optimal import Responses
from discreet.privacy.renyi import delta_of_renyi, epsilon_of_renyi
from discreet.privacy.zcdp import (
    _epsilon_at,
    _log_delta_at,
    _rho_at,
    best_order,
    delta_of_rho,
    epsilon_of_rho,
    largest_rho,
    pure_rho,
)

CASES = [
    (Fraction(1, 7), Fraction(1, 10**6)),
    (Fraction(3), Fraction(1, 1000)),
    (Fraction(1, 97), Fraction(1, 99)),
]
NEAR = mpf(2) ** -80


def _mpf(x):
    return mpf(x.numerator) / x.denominator


@pytest.fixture(autouse=True)
def precisely():
    with mp.workprec(500):
        yield


def conversion(order, rho, epsilon):
    """The delta of the theorem on leaving zCDP, at this order."""
    a = _mpf(order)
    return mp.exp((a - 1) * (a * _mpf(rho) - _mpf(epsilon))) * (1 - 1 / a) ** a / (a - 1)


@pytest.mark.parametrize(("size", "delta"), CASES)
def test_a_rho_is_worth_no_more_epsilon_and_delta_than_it_says(size, delta):
    epsilon = epsilon_of_rho(size, delta)
    order = best_order(lambda a: _epsilon_at(a, size, delta))
    assert conversion(order, size, epsilon) <= _mpf(delta)
    assert conversion(order, size, epsilon * (1 - Fraction(1, 2**80))) > _mpf(delta)
    slack = delta_of_rho(size, epsilon + 1)
    order = best_order(lambda a: _log_delta_at(a, size, epsilon + 1))
    assert (
        conversion(order, size, epsilon + 1)
        <= _mpf(slack)
        <= conversion(order, size, epsilon + 1) * (1 + NEAR)
    )


@pytest.mark.parametrize(("size", "delta"), CASES)
def test_the_largest_rho_fits_its_budget(size, delta):
    rho = largest_rho(size, delta)
    order = best_order(lambda a: -_rho_at(a, size, delta))
    assert conversion(order, rho, size) <= _mpf(delta)
    assert conversion(order, rho * (1 + Fraction(1, 2**80)), size) > _mpf(delta)


@pytest.mark.parametrize("cost", [Fraction(1, 1000), Fraction(1, 3), Fraction(7)])
def test_the_price_of_a_law_in_zcdp_is_rounded_up(cost):
    c = _mpf(cost)
    for found, truth in (
        (pure_rho(cost), c * mp.tanh(c / 2)),
        (ResponseLoss(cost).rho, c * mp.tanh(c / 2)),
        (LaplaceLoss(cost).rho, c + mp.exp(-c) - 1),
        (GeometricLoss(Fraction(1, 3), 5).rho, _divergence(Fraction(1, 3), 5)),
    ):
        assert truth <= _mpf(found) <= truth * (1 + NEAR)


def _divergence(alpha, shift):
    a, step = _mpf(alpha), (1 - _mpf(alpha)) / (1 + _mpf(alpha))
    return (
        mp.fsum(step * a ** abs(k) * (abs(k - shift) - abs(k)) * -mp.log(a) for k in range(-400, 401))
        + mpf(10) ** -170
    )


@pytest.mark.parametrize("cost", [Fraction(1, 1000), Fraction(1, 3), Fraction(7)])
def test_curves_are_enclosed_from_both_sides(cost):
    c, at = _mpf(cost), _mpf(cost) / 3
    curves = {
        ResponseLoss(cost): (mp.exp(c) - mp.exp(at)) / (1 + mp.exp(c)),
        LaplaceLoss(cost): 1 - mp.exp((at - c) / 2),
        BoundedRangeLoss(cost): (mp.exp(c / 2) - mp.exp(at / 2)) ** 2 / (mp.exp(c) - 1),
        Responses.of([(ResponseLoss(cost), 2)]): (mp.exp(2 * c) - mp.exp(at)) / (1 + mp.exp(c)) ** 2,
    }
    for law, truth in curves.items():
        low, high = law.delta(cost / 3)
        assert _mpf(low) <= truth <= _mpf(high) <= truth * (1 + NEAR)
        below, above = law.epsilon(high)
        assert below <= cost / 3
        assert law.epsilon(low)[1] >= cost / 3 >= below
        assert above - below < cost * Fraction(1, 2**60)


def test_the_delta_of_a_table_is_enclosed_from_both_sides():
    quarter, rest = Fraction(1, 4), Fraction(3, 4)
    bounds = Table.of([[rest, quarter], [quarter, rest]]).delta("1/2")
    truth = mpf(3) / 4 - mp.exp(mpf(1) / 2) / 4
    assert _mpf(bounds.low) < truth < _mpf(bounds.high) < truth * (1 + NEAR)
    law = AtomsLoss(((rest, quarter), (quarter, rest)))
    low, high = law.delta(Fraction(1, 2))
    assert _mpf(low) < truth < _mpf(high)


def test_slack_and_group_grow_on_the_safe_side():
    law = ResponseLoss(Fraction(1, 3), Fraction(1, 10**6)).group(4)
    growth = (mp.exp(mpf(4) / 3) - 1) / (mp.exp(mpf(1) / 3) - 1)
    assert law.cost == Fraction(4, 3)
    assert growth / 10**6 <= _mpf(law.slack) <= growth / 10**6 * (1 + NEAR)
    shifted = ResponseLoss(Fraction(1, 3), Fraction(1, 10))
    low, high = shifted.delta(Fraction(1, 9))
    inner = (mp.exp(mpf(1) / 3) - mp.exp(mpf(1) / 9)) / (1 + mp.exp(mpf(1) / 3))
    assert _mpf(low) <= mpf(1) / 10 + mpf(9) / 10 * inner <= _mpf(high)


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(40)])
def test_renyi_conversions_are_rounded_up(order):
    a, r, d = _mpf(order), mpf(1) / 8, mpf(1) / 10**5
    epsilon = epsilon_of_renyi(order, Fraction(1, 8), Fraction(1, 10**5))
    truth = r + mp.log(1 - 1 / a) - (mp.log(d) + mp.log(a)) / (a - 1)
    assert truth <= _mpf(epsilon) <= truth * (1 + NEAR)
    delta = delta_of_renyi(order, Fraction(1, 8), epsilon)
    exact = mp.exp((a - 1) * (r - _mpf(epsilon) + mp.log(1 - 1 / a)) - mp.log(a))
    assert exact <= _mpf(delta) <= exact * (1 + NEAR)


@pytest.mark.parametrize("delta", ["1e-6", "0.01"])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10)])
@pytest.mark.parametrize(("rule", "near"), [(Rule.CONCENTRATED, "1.001"), (Rule.ORDERS, "1.02")])
def test_a_budget_keeps_the_slack_of_its_releases_apart_from_the_conversion(delta, share, rule, near):
    whole = Fraction(delta)
    budget = ApproximateBudget(Fraction(1), whole, whole * share, rule)
    # The delta is rounded up, and its order need not be the one that found rho.
    assert delta_of_rho(budget.rho, Fraction(1)) <= (whole - budget.slack) * (1 + Fraction(1, 2**80))
    assert delta_of_rho(budget.rho * Fraction(near), Fraction(1)) > whole - budget.slack
    usual = whole / 2 if rule is Rule.CONCENTRATED else whole / 10
    assert ApproximateBudget(Fraction(1), whole, rule=rule).slack == usual


def test_costs_are_rounded_up_and_budgets_down():
    odd = Fraction(1, 61**3)
    assert on_grid(odd) > odd > below_grid(odd)
    assert on_grid(odd) - below_grid(odd) == Fraction(1, GRID)
    cost = Cost(odd, odd, odd)
    assert min(cost.epsilon, cost.rho, cost.delta) > odd
    rho = Cost.pure(Fraction(1, 3)).rho
    assert Cost.pure(pure_within(rho)).rho <= rho < Cost.pure(pure_within(rho) + Fraction(1, 2**70)).rho


@pytest.mark.parametrize("steps", [0, 1, 3, 10])
def test_an_odometer_pays_for_every_level_it_might_pass(steps):
    """The bound at level j holds but for a share of delta that all levels together do not exceed."""
    unit, delta = Fraction(1, 10**6), Fraction(1, 10**5)
    level = unit * Fraction(5, 4) ** steps
    found = Odometer(Cost(None, level)).epsilon(delta).high
    share = _mpf(delta) / (2 * (steps + 1) * (steps + 2))
    least = _mpf(level) + 2 * mp.sqrt(_mpf(level) * mp.log(1 / share))
    assert least <= _mpf(found) <= least * mpf("1.0000001") or found >= least
    assert _mpf(found) <= _mpf(level * Fraction(5, 4)) + 2 * mp.sqrt(
        _mpf(level * Fraction(5, 4)) * mp.log(1 / (_mpf(delta) / (2 * (steps + 2) * (steps + 3))))
    )
    with pytest.raises(ValueError, match="slacks"):
        Odometer(Cost(None, level, delta * Fraction(51, 100))).epsilon(delta)
    assert Odometer(Cost(None, level, delta / 2)).epsilon(delta).high == found


def test_elementary_functions_stay_on_their_side():
    x = Fraction(22, 7)
    for (low, high), truth in ((exp_bounds(x), mp.exp(_mpf(x))), (log_bounds(x), mp.log(_mpf(x)))):
        assert _mpf(low) < truth < _mpf(high)
        assert high - low <= high / 2**BITS
    near = 1 + Fraction(1, 3**300)
    low, high = log_bounds(near)
    assert _mpf(low) <= mp.log1p(_mpf(near - 1)) <= _mpf(high)
    assert sqrt_down(x) ** 2 < x < sqrt_up(x) ** 2
    assert Fraction(float_down(x)) < x < Fraction(float_up(x))
    assert Fraction(4, 2**BITS) < HAIR
