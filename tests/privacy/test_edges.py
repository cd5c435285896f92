"""The accountant where bounds meet: ties, one-directional laws, and the ends of its float route."""

from fractions import Fraction
from math import e

import numpy as np
import pytest
from mpmath import mp, mpf

import discreet as dp
from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import (
    AtomsLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    ResponseLoss,
)
from discreet.privacy.moment import chernoff_constant
from discreet.privacy.optimal import Responses
from discreet.privacy.total import LossSum

ONE_WAY = AtomsLoss(((Fraction(2, 5), Fraction(0)), (Fraction(3, 5), Fraction(1))))
"""Finite losses below zero only: nothing is lost but with probability 2/5, when all is."""


def test_a_delta_equal_to_the_rounded_slack_leaves_room_below():
    whole = compose([(Approximate(Fraction(1, 10), Fraction(1, 300000)), 400)])
    at_slack = whole.epsilon(whole.delta(41).high)
    # The slack is known to 96 bits; what these leave of delta already admits 25.70.
    assert at_slack.low <= Fraction("25.71")
    assert at_slack.high == 40
    just_above = whole.epsilon(whole.delta(41).high + Fraction(1, 2**140))
    assert just_above.low <= at_slack.high


@pytest.mark.parametrize("cost", ["0.1", "1", "3"])
def test_laws_that_only_lower_the_loss_leave_nothing_claimed_from_below(cost):
    whole = compose([Profile(ONE_WAY), Pure(cost), Profile(LaplaceLoss(Fraction(1, 10**9)))])
    c = float(cost)
    kept = 1 / (1 + e**-c)
    truth = 0.4 + max(0.6 * kept - (1 - kept), 0) + max(0.6 * (1 - kept) - kept, 0)
    bounds = whole.delta(0)
    assert float(bounds.low) <= truth + 1e-8
    assert float(bounds.high) >= truth - 1e-8
    assert whole.epsilon("0.5").low == 0


def test_the_smallest_epsilon_is_zero_only_if_zero_is_proved():
    for law in (BoundedRangeLoss(Fraction(1)), Responses.of([(ResponseLoss(Fraction(1)), 3)])):
        low, high = law.delta(Fraction(0))
        assert low < high
        assert law.epsilon(low)[1] > 0
        assert law.epsilon(high)[1] == 0
    # Geometric laws have a rational curve, which may meet delta exactly.
    exact = Responses.of([(GeometricLoss(Fraction(1, 2), 1), 2)])
    met = Fraction(1, 3)
    assert exact.delta(Fraction(0))[0] <= met <= exact.delta(Fraction(0))[1]
    low, high = exact.epsilon(met)
    assert 0 <= low <= high < Fraction(1, 10**20)


@pytest.mark.parametrize("delta", ["0.977", "0.5", "1e-9"])
def test_smoothing_too_wide_to_say_anything_says_nothing(delta):
    laws = [(Profile(DiscreteGaussianLoss(Fraction(1, 100), 2)), 6)]
    together = compose([*laws, Profile(DiscreteGaussianLoss(Fraction(1, 100), 1))]).epsilon(delta)
    assert together.low <= together.high
    assert compose(laws).epsilon(delta).low <= compose(laws).epsilon(delta).high


def test_the_best_half_line_of_an_enormous_shift_is_found():
    """A shift of 2**100 at a loss ten units below the largest: half-lines four and five are the best."""
    with mp.workprec(400):
        numerator = int(mp.floor((2**100 - 10) * mp.log(2) * mpf(2) ** 200))
    epsilon = Fraction(numerator, 2**200)
    law = GeometricLoss(Fraction(1, 2), 2**100)
    truth = 1 - (Fraction(1, 2**5) + Fraction(1, 2**6)) / Fraction(3, 2)
    low, high = law.delta(epsilon)
    assert low <= truth + Fraction(1, 2**90)
    assert high >= truth - Fraction(1, 2**90)
    around = law.epsilon(truth)
    assert abs(around[0] - epsilon) < Fraction(1, 2**20)
    assert abs(around[1] - epsilon) < Fraction(1, 2**20)


@pytest.mark.parametrize("theta", [1e-9, 1.0, 1e6, 1e12])
def test_the_constant_of_the_conversion_is_accurate_at_every_tilt(theta):
    with mp.workprec(200):
        t = mpf(theta)
        truth = t * mp.log(t / (1 + t)) - mp.log(1 + t)
        found = mpf(float(chernoff_constant(np.array([theta]))[0]))
        assert abs(found - truth) <= abs(truth) * mpf(2) ** -48


@pytest.mark.parametrize("theta", [0.5, 40.0, 5000.0, 1e6])
def test_log_moments_err_by_less_than_they_say(theta):
    laws = [(DiscreteGaussianLoss(Fraction(9), 2), 3), (GeometricLoss(Fraction(1, 3), 4), 2)]
    laws += [(ResponseLoss(Fraction(k, 997)), 1 + k % 3) for k in range(1, 200)]
    laws += [(AtomsLoss(((Fraction(1), Fraction(1, 10**40)), (Fraction(0), 1 - Fraction(1, 10**40)))), 5)]
    total = LossSum(tuple(laws))
    with mp.workprec(400):
        t = mpf(theta)
        truth = mpf(0)
        for law, n in laws:
            match law:
                case DiscreteGaussianLoss():
                    around = round(theta * law.shift)
                    terms = [
                        mp.exp(-mpf(k * k) / 18 + t * (mpf(4) - 4 * k) / 18)
                        for k in range(-around - 80, -around + 81)
                    ]
                    mass = mp.fsum(mp.exp(-mpf(k * k) / 18) for k in range(-80, 81))
                    truth += n * mp.log(mp.fsum(terms) / mass)
                case GeometricLoss():
                    atoms = law.atoms().atoms
                    truth += n * mp.log(mp.fsum(_mpf(p) * (_mpf(p) / _mpf(q)) ** t for p, q in atoms))
                case ResponseLoss(cost):
                    c = _mpf(cost)
                    truth += n * mp.log((mp.exp(t * c) + mp.exp(-c - t * c)) / (1 + mp.exp(-c)))
                case AtomsLoss():
                    truth += n * t * 40 * mp.log(10)
        found = mpf(float(total.log_moment(np.array([theta]))[0]))
        assert abs(found - truth) <= total.log_moment_error(theta)


def _mpf(x):
    return mpf(x.numerator) / x.denominator


@pytest.mark.parametrize(
    "parts",
    [
        [(Pure("1e20"), 3), (Profile(LaplaceLoss(Fraction(1, 3))), 2)],
        [(Pure("1e-30"), 3), (Profile(LaplaceLoss(Fraction(10**12))), 2)],
        [(Profile(DiscreteGaussianLoss(Fraction(1, 10**6), 1)), 3)],
        [(Profile(DiscreteGaussianLoss(Fraction(1, 10**6), 1)), 3), (Pure(1), 2)],
        [(Profile(GeometricLoss(Fraction(1, 2), 2**300)), 2), (Pure(1), 1)],
        [(Pure("1e-2000"), 5), (Profile(LaplaceLoss(Fraction(1))), 10**15)],
        [(Concentrated("1e100"), 2), (Pure(1), 1)],
    ],
)
def test_beyond_the_float_route_the_exact_routes_stand_in(parts):
    whole = compose(parts)
    for bounds in (whole.epsilon("1e-6"), whole.delta(1), whole.delta("1e30"), whole.epsilon("1e-400")):
        assert bounds.high is None or bounds.low <= bounds.high
    assert whole.explain("1e-6").lines
    pure = whole.epsilon().high
    if pure is not None:
        assert whole.epsilon("1e-6").high <= pure


def test_extreme_guarantees_answer():
    assert dp.Pure("1e300").delta(1).low > Fraction(99, 100)
    assert dp.Pure("1e30").epsilon("1e-6").high <= 10**30
    assert dp.Approximate("1e-300", "1e-300").group(3).slack <= Fraction(4, 10**300)
    for odd in (dp.Pure("1e300"), dp.Approximate(1, "1e-400"), dp.Concentrated("1e300")):
        assert odd.price().rho >= 0
