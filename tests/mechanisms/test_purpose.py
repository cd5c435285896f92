"""A mechanism remembers what it was calibrated for, and nothing is assumed of one that does not know."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.mechanisms.codec import decode, encode
from discreet.privacy.allocate import least_noise
from discreet.workload import Stream

WIDE = dp.Sensitivity.spread(3, 2)

CALIBRATED = {
    "geometric": dp.Geometric.calibrate(epsilon=1, sensitivity=10),
    "geometric vector": dp.Geometric.calibrate(epsilon=1, sensitivity=WIDE),
    "geometric between whole numbers": dp.Geometric.calibrate(epsilon=1, sensitivity="3/2"),
    "laplace": dp.Laplace.calibrate(epsilon=1, sensitivity=10),
    "laplace vector": dp.Laplace.calibrate(epsilon=1, sensitivity=WIDE, step="1/7"),
    "truncated geometric": dp.TruncatedGeometric.calibrate(epsilon=1, low=0, high=50, sensitivity=10),
    "truncated laplace": dp.TruncatedLaplace.calibrate(epsilon=1, low=0, high=50, sensitivity=10, step=1),
    "staircase": dp.Staircase.calibrate(epsilon=1, sensitivity=10),
    "exponential": dp.Exponential.calibrate(epsilon=1, sensitivity=10),
    "exponential one way": dp.Exponential.calibrate(epsilon=1, sensitivity=10, monotone=True),
    "permute and flip": dp.PermuteAndFlip.calibrate(epsilon=1, sensitivity=10),
    "permute and flip one way": dp.PermuteAndFlip.calibrate(epsilon=1, sensitivity=10, monotone=True),
    "noisy max": dp.NoisyMax.calibrate(epsilon=1, sensitivity=10, two_sided=True),
    "noisy max one way": dp.NoisyMax.calibrate(epsilon=1, sensitivity=10, monotone=True),
    "k-norm": dp.KNorm.calibrate(epsilon=1, dimension=2, sensitivity=10),
    "k-norm cube": dp.KNorm.calibrate(epsilon=1, dimension=2, ball="linf", sensitivity=WIDE),
    "sparse vector": dp.SparseVector.calibrate(epsilon=1, sensitivity=10, answers=3),
    "sparse vector one way": dp.SparseVector.calibrate(
        epsilon=1, sensitivity=10, answers=3, monotone=True, values="1/4"
    ),
    "randomized response": dp.RandomizedResponse.calibrate(epsilon=1, categories=3, questions=10),
}
"""Everything that is pure, calibrated to cost one at something other than the smallest sensitivity."""

UNKNOWN = [
    dp.Geometric("1/2"),
    dp.Laplace("1/2", 1),
    dp.Gaussian(2),
    dp.TruncatedGeometric("1/2", 0, 5),
    dp.TruncatedLaplace("1/2", 1, 0, 5),
    dp.Exponential("1/2"),
    dp.PermuteAndFlip("1/2"),
    dp.NoisyMax("1/2"),
    dp.KNorm("1/2", 2),
    dp.SparseVector("1/2", "1/2"),
    dp.Threshold(2, "1e-3"),
    dp.NoisyThreshold("1/2", 20),
]
"""Everything built by hand from its law alone."""


@pytest.mark.parametrize("name", CALIBRATED)
def test_composition_charges_for_the_sensitivity_that_was_calibrated(name):
    high = dp.compose([CALIBRATED[name]]).epsilon().high
    assert Fraction(99, 100) < high <= 1
    assert abs(CALIBRATED[name].guarantee().cost - high) < Fraction(1, 2**80)


@pytest.mark.parametrize("name", CALIBRATED)
def test_a_mechanism_printed_says_what_it_promises(name):
    assert CALIBRATED[name].guarantee().words in str(CALIBRATED[name])


def test_a_mechanism_printed_says_what_it_was_made_for():
    assert "sensitivity 10" in str(CALIBRATED["geometric"])
    assert "in 3 coordinates" in str(CALIBRATED["laplace vector"])
    assert "questions 10" in str(CALIBRATED["randomized response"])
    assert "if sensitivity is 1" in str(dp.Geometric("1/2"))
    assert "l0=3" in repr(CALIBRATED["laplace vector"])


@pytest.mark.parametrize("mechanism", UNKNOWN, ids=lambda each: type(each).__name__)
def test_an_unknown_sensitivity_is_refused_and_never_one(mechanism):
    for ask in (
        lambda: dp.compose([mechanism]),
        lambda: dp.compose([(mechanism, 3)]),
        mechanism.guarantee,
        lambda: least_noise(lambda _: mechanism, 2, 1, "1e-6"),
    ):
        with pytest.raises(dp.ParameterError, match=r"guarantee\(1\)"):
            ask()
    assert dp.compose([mechanism.guarantee(1)])


def test_gaussian_noise_composes_by_its_law_where_one_move_is_the_worst_and_else_by_zcdp():
    number = dp.Gaussian.calibrate(rho="1/2", sensitivity=10)
    assert dp.compose([number]).parts == ((number.profile(10), 1),)
    vector = dp.Gaussian.calibrate(rho="1/2", sensitivity=WIDE)
    assert dp.compose([vector]).parts == ((dp.Gaussian(vector.sigma_squared).profile(2), 3),)
    uneven = dp.Gaussian.calibrate(rho="1/2", sensitivity=dp.Sensitivity(3, 5, 2, 2))
    assert dp.compose([uneven]).parts == ((dp.Concentrated("1/2"), 1),)
    both = dp.Gaussian.calibrate(epsilon=1, delta="1e-6", sensitivity=10)
    assert dp.compose([both]).delta(1).high <= Fraction("1e-6")
    assert dp.compose([both]).delta(1).high > Fraction("0.99e-6")


def test_groups_are_remembered():
    for kind in (dp.Threshold, dp.NoisyThreshold):
        selection = kind.calibrate(epsilon=1, delta="1e-6", groups=10)
        together = dp.compose([selection])
        assert Fraction(99, 100) < together.epsilon("1e-6").high <= 1
        assert selection.guarantee(1).cost < Fraction(11, 100)


def test_what_is_named_goes_before_what_is_remembered():
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=10, monotone=True)
    # Of other scores it is not known that they all move one way.
    assert choice.guarantee(10).cost == 2 * choice.guarantee().cost
    assert choice.guarantee(monotone=False).cost == 2 * choice.guarantee().cost
    assert choice.guarantee(5, monotone=True).cost == choice.guarantee().cost / 2
    noise = dp.Geometric("1/2", sensitivity=3)
    assert dp.compose([noise]) == dp.compose([noise.profile(3)])


def test_mechanisms_of_different_purpose_differ():
    assert dp.Geometric("1/2", sensitivity=1) != dp.Geometric("1/2", sensitivity=2)
    assert dp.Exponential("1/2", sensitivity=1) != dp.Exponential("1/2", sensitivity=1, monotone=True)


def test_the_stored_form_is_the_law_alone_and_must_be_told_its_sensitivity():
    noise = CALIBRATED["geometric"]
    restored = decode(encode(noise))
    assert restored == dp.Geometric(noise.alpha)
    with pytest.raises(dp.ParameterError, match="does not know"):
        dp.compose([restored])
    assert decode('["geometric/1","1/2"]') == dp.Geometric("1/2")


def test_a_stream_composes_by_the_promise_it_states():
    stream = Stream.create(100, dp.Pure(1))
    assert dp.compose([stream]).epsilon().high == stream.guarantee.cost


def test_a_class_or_an_incomplete_mechanism_is_no_release():
    class Needy:
        def guarantee(self, sensitivity):
            return dp.Pure(sensitivity)

    for odd in (dp.Geometric, Needy()):
        with pytest.raises(dp.ParameterError, match="compose"):
            dp.compose([odd])
