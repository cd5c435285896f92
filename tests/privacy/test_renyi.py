"""Renyi curves against their definition, and conversions against the curve they bound."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import BoundedRangeLoss, DiscreteGaussianLoss, GaussianLoss, GeometricLoss
from discreet.privacy.renyi import delta_of_renyi, epsilon_of_renyi, renyi

ORDERS = st.fractions(Fraction(11, 10), 50, max_denominator=40)


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


@given(st.fractions(Fraction(1, 20), 4, max_denominator=50), ORDERS)
def test_pure_guarantees_have_the_curve_of_randomised_response(cost, order):
    c, a = _mpf(cost), _mpf(order)
    exact = mp.log(mp.cosh((a - mpf(1) / 2) * c) / mp.cosh(c / 2)) / (a - 1)
    bounds = renyi(Pure(cost), order)
    assert _mpf(bounds.low) <= exact <= _mpf(bounds.high)
    assert bounds.high - bounds.low <= Fraction(1, 10**10)


@given(st.integers(1, 9), st.integers(1, 4), ORDERS)
def test_geometric_noise_has_the_curve_of_its_atoms(tenths, shift, order):
    law = GeometricLoss(Fraction(tenths, 10), shift)
    a = _mpf(order)
    moment = mp.fsum(_mpf(p) ** a * _mpf(q) ** (1 - a) for p, q in law.atoms().atoms)
    bounds = renyi(Profile(law), order)
    assert _mpf(bounds.low) <= mp.log(moment) / (a - 1) <= _mpf(bounds.high)


@settings(max_examples=30)
@given(ORDERS)
def test_the_discrete_gaussian_is_no_worse_than_the_continuous_one(order):
    discrete = renyi(Profile(DiscreteGaussianLoss(Fraction(3, 4), 1)), order)
    assert discrete.low <= Fraction(2, 3) * order
    assert renyi(Profile(GaussianLoss(Fraction(4, 3))), order).low <= Fraction(2, 3) * order


@settings(max_examples=30)
@given(ORDERS)
def test_divergences_add_up_under_composition(order):
    parts = [Pure(1), Concentrated("0.25"), Profile(GaussianLoss(Fraction(1, 2)))]
    whole, separate = renyi(compose(parts), order), [renyi(part, order) for part in parts]
    assert whole.low <= sum(bounds.high for bounds in separate)
    assert whole.high >= sum(bounds.low for bounds in separate)


def test_one_point_of_the_curve_never_promises_more_than_the_whole_law():
    law = Profile(GaussianLoss(Fraction(1, 2)))
    for order in (2, 5, 20, 80):
        divergence = renyi(law, order).high
        epsilon = epsilon_of_renyi(order, divergence, "1e-6")
        assert epsilon >= law.epsilon("1e-6").low
        assert delta_of_renyi(order, divergence, epsilon) <= Fraction(1, 10**6) * (1 + Fraction(1, 2**60))


def test_bounded_range_is_between_a_member_and_its_theorem():
    bounds = renyi(Profile(BoundedRangeLoss(Fraction(1))), 2)
    assert bounds.low < bounds.high <= Fraction(1, 4) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: renyi(Pure(1), 1),
        lambda: renyi(Approximate(1, "1e-9"), 2),
        lambda: epsilon_of_renyi(2, -1, "1e-6"),
    ],
)
def test_what_has_no_divergence_is_refused(ask):
    with pytest.raises(ParameterError):
        ask()
