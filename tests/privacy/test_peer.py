"""Google's accountant as a cross-check: never below our lower bound, never far below our upper one."""

from fractions import Fraction

import pytest
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as peer

from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Approximate, Profile, Pure
from discreet.privacy.loss import DiscreteGaussianLoss, GaussianLoss, GeometricLoss, LaplaceLoss

SIX = Fraction(1, 10**6)
FINE = 1e-4


def _peer_pure(epsilon, delta=0.0):
    return peer.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta), FINE)


def _laplace(ratio):
    return Profile(LaplaceLoss(ratio)), peer.from_laplace_mechanism(
        float(1 / ratio), value_discretization_interval=FINE
    )


def _gaussian(sigma):
    return Profile(GaussianLoss(1 / sigma**2)), peer.from_gaussian_mechanism(
        float(sigma), value_discretization_interval=FINE
    )


CASES = {
    "laplace": ([(_laplace(Fraction(1, 10)), 200)]),
    "gaussian": ([(_gaussian(Fraction(20)), 400)]),
    "pure": ([((Pure(Fraction(1, 10)), _peer_pure(0.1)), 300)]),
    "approximate": ([((Approximate(Fraction(1, 10), Fraction(1, 10**9)), _peer_pure(0.1, 1e-9)), 50)]),
    "mixed": (
        [
            (_laplace(Fraction(1, 20)), 60),
            (_gaussian(Fraction(30)), 60),
            ((Pure(Fraction(1, 10)), _peer_pure(0.1)), 20),
        ]
    ),
    "discrete laplace": (
        [
            (
                (
                    Profile(GeometricLoss(Fraction(9, 10), 2)),
                    peer.from_discrete_laplace_mechanism(0.10536051565782628, 2, use_connect_dots=True),
                ),
                60,
            )
        ]
    ),
    "discrete gaussian": (
        [
            (
                (
                    Profile(DiscreteGaussianLoss(Fraction(25), 1)),
                    peer.from_discrete_gaussian_mechanism(5.0, use_connect_dots=True),
                ),
                40,
            )
        ]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_peer_agrees_from_above(name):
    theirs = None
    for (_, law), n in CASES[name]:
        several = law.self_compose(n)
        theirs = several if theirs is None else theirs.compose(several)
    epsilon = theirs.get_epsilon_for_delta(1e-6)
    bounds = compose([(ours, n) for (ours, _), n in CASES[name]]).epsilon(SIX)
    assert float(bounds.low) <= epsilon * (1 + 1e-9)
    assert float(bounds.high) <= epsilon * (1 + 1e-4)
    assert epsilon <= float(bounds.high) * (1 + 1e-2)


def test_the_peer_cannot_see_below_its_floor_and_we_can():
    theirs = _peer_pure(0.1).self_compose(1000)
    assert theirs.get_epsilon_for_delta(1e-16) == float("inf")
    ours = compose([(Pure(Fraction(1, 10)), 1000)])
    assert float(ours.epsilon("1e-16")) == pytest.approx(30.2, abs=0.1)
    assert ours.delta(ours.epsilon("1e-100").high).high <= Fraction(1, 10**100)
