"""Composition read backwards: shares and least noise, checked by composing forwards."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy.allocate import budget_each, corollary_each, least_noise
from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.loss import GaussianLoss, GeometricLoss, LaplaceLoss


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 60),
    st.fractions(Fraction(1, 20), 3, max_denominator=50),
    st.sampled_from(["1e-3", "1e-6", "1e-20"]),
)
def test_a_share_fits_and_a_visibly_larger_one_does_not(k, epsilon, delta):
    share = budget_each(k, epsilon, delta)
    assert compose([(Pure(share), k)]).delta(epsilon).high <= Fraction(delta)
    assert compose([(Pure(share * (1 + Fraction(1, 10**8))), k)]).delta(epsilon).low > Fraction(delta)


def test_shares_beat_basic_composition_and_the_corollary():
    for k, epsilon, delta in product((2, 10, 100, 1000), ("0.5", "1"), ("1e-6", "1e-9")):
        share = budget_each(k, epsilon, delta)
        assert share > Fraction(epsilon) / k
        assert share > corollary_each(k, epsilon, delta)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "corollary", "exact"),
    [(100, "0.5", "1e-6", 0.004756, 0.012581), (10, "0.99", "1e-6", 0.02978, 0.09906)],
)
def test_the_corollary_and_its_exact_inverse(k, epsilon, delta, corollary, exact):
    assert float(corollary_each(k, epsilon, delta)) == pytest.approx(corollary, rel=2e-4)
    assert float(budget_each(k, epsilon, delta)) == pytest.approx(exact, rel=1e-4)


def test_without_delta_the_share_is_an_equal_part():
    assert budget_each(8, "0.5") == Fraction(1, 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda noise: Profile(GaussianLoss(1 / noise)),
        lambda noise: Profile(LaplaceLoss(1 / noise)),
        lambda noise: Profile(GeometricLoss(noise / (1 + noise), 1)),
    ],
    ids=["gaussian", "laplace", "geometric"],
)
def test_the_least_noise_fits_and_visibly_less_does_not(make):
    noise = least_noise(make, 20, 1, "1e-6")
    assert compose([(make(noise), 20)]).delta(1).high <= Fraction(1, 10**6)
    assert compose([(make(noise * (1 - Fraction(1, 10**6))), 20)]).delta(1).high > Fraction(1, 10**6)


def test_pure_noise_needs_no_delta():
    noise = least_noise(lambda scale: Profile(LaplaceLoss(1 / scale)), 10, 1)
    assert 10 <= noise <= 10 * (1 + Fraction(1, 2**30))
    with pytest.raises(ParameterError, match="no amount of noise"):
        least_noise(lambda variance: Profile(GaussianLoss(1 / variance)), 10, 1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: budget_each(0, 1, "1e-6"),
        lambda: budget_each("1.5", 1, "1e-6"),
        lambda: budget_each(2, 0, "1e-6"),
        lambda: budget_each(2, 1, 1),
        lambda: corollary_each(2, 1, 0),
    ],
)
def test_meaningless_shares_are_refused(ask):
    with pytest.raises(ParameterError):
        ask()
