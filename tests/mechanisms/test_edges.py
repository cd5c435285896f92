"""At the edges of what floats and machine words hold: a right answer, or a refusal in words, and soon."""

from decimal import Decimal
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from scipy.special import ndtri

import discreet as dp
from discreet.errors import ParameterError
from discreet.exact.choice import choose_exponents, choose_powers
from discreet.exact.number import LONGEST, enclose, ends, log_quotient, rational, shown, whole
from discreet.exact.sample import two_sided_geometric

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


class Planted:
    """Coins that begin with a given word and go on with zeros."""

    def __init__(self, word):
        self.word = word

    def bits(self, count):
        word, self.word = self.word, 0
        return word


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (np.array(1.9), Fraction(19, 10)),
        (np.array(3), Fraction(3)),
        (np.array("1/3", dtype=object), Fraction(1, 3)),
        (np.uint8(3), Fraction(3)),
    ],
)
def test_an_array_of_no_dimension_is_the_number_in_it(given, meant):
    assert rational(given) == meant
    assert dp.Geometric.calibrate(epsilon=1, sensitivity=given).sensitivity.l1 == meant


@pytest.mark.parametrize(
    "odd",
    [
        "1e100000000", "1e-100000000", Decimal("1e999999"), Decimal("1e-999999"), 1 << (LONGEST + 1),
        "9" * 5000, "1e99999999999999999999", "１", "1e", "e5", ".", "1/2/3", "0x10", "1__0e", "nan",
        np.array([1.9]), np.array([3]), np.longdouble("1.9"), np.datetime64(5, "ns"), np.timedelta64(5, "ns"),
        np.array(1j), np.array(True), np.bool_(True), np.float64("nan"), np.array(None), b"1", {1}, object(),
    ],
    ids=lambda odd: type(odd).__name__,
)  # fmt: skip
def test_what_cannot_be_a_parameter_is_refused_at_the_door(odd):
    with pytest.raises(ParameterError, match="sensitivity must be"):
        dp.Geometric.calibrate(epsilon=1, sensitivity=odd)


def test_messages_cut_long_numbers_short():
    assert len(shown(Fraction(1, 3**10000))) < 80
    assert len(shown("x" * 10000)) < 80
    with pytest.raises(ParameterError, match="thousands of digits"):
        whole(Fraction(1, 3**20000), "answers")


def test_enclosures_end_where_nothing_can_be_told_or_written():
    from flint import arb

    low, high = enclose(lambda: arb(2).sqrt() ** 2 - 2)
    assert low <= 0 <= high < Fraction(1, 2**10000)
    low, high = enclose(lambda: arb(-(10**9)).exp())
    assert 0 == low < high < Fraction(1, 2**1000000)
    assert ends(-(arb(-(10**9)).exp())) == (-high, 0)
    with pytest.raises(ParameterError, match="too large"):
        enclose(lambda: arb(10**9).exp())
    with pytest.raises(ParameterError, match="too large or too small"):
        enclose(lambda: arb(1) / arb(0))


def test_quotients_of_logarithms_need_no_floats():
    assert log_quotient(Fraction(1, 2**5000), HALF) in (5000, 5001)
    assert log_quotient(1 - Fraction(1, 2**600), 1 - Fraction(1, 2**601)) in (2, 3)


TIES = {
    "geometric": (dp.Geometric(THIRD).radius, lambda r: 2 * dp.Geometric(THIRD).cdf(-r - 1)),
    "staircase": (dp.Staircase(THIRD, 3, 2).radius, lambda r: 2 * dp.Staircase(THIRD, 3, 2).tail(r + 1)),
    "truncated geometric": (
        dp.TruncatedGeometric(THIRD, 0, 100).radius, lambda r: 2 * dp.Geometric(THIRD).cdf(-r - 1)
    ),
    "exponential": (
        lambda beta: dp.Exponential(THIRD).shortfall(beta, candidates=4),
        lambda s: 3 * THIRD ** (s + 1) / (1 + 3 * THIRD ** (s + 1)),
    ),
    "permute and flip": (
        lambda beta: dp.PermuteAndFlip(THIRD).shortfall(beta, candidates=2),
        lambda s: THIRD ** (s + 1) / 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIES)
@pytest.mark.parametrize("r", [2, 3, 4, 11])
def test_the_smallest_is_smallest_also_where_the_probability_is_met_exactly(name, r):
    smallest, beyond = TIES[name]
    assert smallest(beyond(r)) == r
    assert smallest(beyond(r) - Fraction(1, 10**30)) == r + 1


def test_the_noisy_threshold_is_lowest_also_at_a_tie():
    noise = dp.NoisyThreshold.calibrate(epsilon=1, delta="1e-6")
    lone = noise.alpha ** (noise.threshold - 1) / (1 + noise.alpha)
    assert dp.NoisyThreshold.calibrate(epsilon=1, delta=lone) == noise


@pytest.mark.parametrize("bits", [122, 300, 500])
def test_gaussian_radii_of_any_size_are_found(bits):
    sigma = isqrt(2**bits)
    radius = dp.Gaussian(2**bits).radius("0.05")
    assert abs(Fraction(radius, sigma) - Fraction(float(-ndtri(0.025)))) < Fraction(1, 10**12)
    mean = dp.Gaussian(2**bits).variance
    assert mean.low <= 2**bits <= mean.high * (1 + Fraction(1, 10**30))


def test_tiny_probabilities_of_failure_have_their_radius():
    tiny = Fraction(1, 10**400)
    assert dp.Geometric(HALF).radius("1e-400") == 1329
    assert 2 * dp.Geometric(HALF).cdf(-1330) <= tiny < 2 * dp.Geometric(HALF).cdf(-1329)
    assert dp.Exponential(HALF).shortfall("1e-400", candidates=5) == 1330
    assert (
        tiny * (1 - Fraction(1, 2**100)) < dp.Threshold.calibrate(epsilon=1, delta="1e-400").keep(1) <= tiny
    )
    gauss = dp.Gaussian.calibrate(epsilon=1, delta="1e-400")
    assert dp.compose([gauss]).delta(1).high <= tiny
    assert dp.Gaussian(4).radius("1e-400") == 85


def test_noise_of_astronomic_scale_is_drawn_and_beyond_refused():
    noise = dp.Geometric.calibrate(epsilon="1e-40")
    draws = [abs(noise.sample(0)) for _ in range(40)]
    # Forty draws all within a billionth of the scale would be a miracle of 2**-1100.
    assert max(draws) > 10**31
    assert max(draws) < 10**43
    for odd in (1 - Fraction(1, 2**600), Fraction(1, 2**9000)):
        with pytest.raises(ParameterError, match="alpha"):
            dp.Geometric(odd)
        with pytest.raises(ParameterError, match="alpha"):
            two_sided_geometric(odd)
    for refused in (
        lambda: dp.Geometric.calibrate(epsilon="1e-200"),
        lambda: dp.Geometric.calibrate(epsilon="1e9"),
        lambda: dp.Gaussian("1e400"),
        lambda: dp.Gaussian("1e-400"),
        lambda: dp.Threshold.calibrate(epsilon="1e-20", delta="1e-6"),
        lambda: dp.Geometric(HALF).pmf(10**8),
        lambda: dp.Geometric(HALF).cdf(-(10**8)),
        lambda: dp.Staircase(HALF, 3, 2).pmf(10**9),
    ):
        with pytest.raises(ParameterError):
            refused()


def test_a_huge_epsilon_selects_groups_as_if_without_privacy():
    selection = dp.Threshold.calibrate(epsilon=1000, delta="1e-6")
    assert Fraction("0.999999e-6") < selection.keep(1) <= Fraction(1, 10**6)
    assert selection.keep(3.0) == 1
    assert "10^434" in str(selection)


@pytest.mark.parametrize(
    "law", [dp.Geometric(HALF), dp.Staircase(HALF, 3, 2), dp.Gaussian(4)], ids=lambda law: type(law).__name__
)
def test_integer_laws_have_no_probability_between_integers(law):
    for ask in (law.pmf, law.cdf):
        assert ask(2.0) == ask(2)
        with pytest.raises(ParameterError, match="whole number"):
            ask(0.5)
    clamped = dp.TruncatedGeometric(HALF, 0, 5)
    for ask in (clamped.pmf, clamped.cdf):
        for report, answer in ((0.5, 1), (1, 0.5)):
            with pytest.raises(ParameterError, match="whole number"):
                ask(report, answer)


def test_limits_and_gaps_beyond_machine_words():
    wide = dp.TruncatedGeometric(HALF, -(2**80), 2**80)
    drawn = wide.sample(np.array([5] * 50))
    assert drawn.dtype == np.int64
    assert set(wide.sample(np.array([2**90, -(2**90)], dtype=object)) // 2**79) <= {1, 2, -2, -1}
    assert dp.Exponential(HALF).sample([0, 10**400]) == 1
    assert dp.Exponential(HALF).sample([10**400, 0, 10**400 - 1]) in (0, 2)
    chances = dp.Exponential(HALF).chances([0, 10**400])
    assert chances[0].low == 0 < chances[0].high < Fraction(1, 2**1000000)
    assert choose_exponents([Fraction(10**400), Fraction(0)]) == 1


def test_laplace_arrays_stay_exact_and_finite():
    noise = dp.Laplace(Fraction(1, 10**6), 1)
    # Neighbours at distance one must stay at distance one, also where floats are 256 apart.
    big = 2**60 + 127
    assert noise.round(np.array([big, big + 1])).tolist() == [big, big + 1]
    assert noise.round(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [2**64 - 1]
    assert noise.round(np.array([Fraction(7, 2), 3], dtype=object)).tolist() == [4, 3]
    largest = np.finfo(np.float64).max
    assert np.isfinite(noise.sample(np.array([largest, -largest, 1e308]))).all()
    assert noise.sample(largest) == largest
    fine = dp.Laplace.calibrate(epsilon=1, step="0.1")
    grid = {float(Fraction(k, 10)) for k in range(-2000, 2000)}
    assert set(fine.sample(np.full(300, 0.3)).tolist()) <= grid
    assert {fine.sample(0.3) for _ in range(50)} <= grid
    for odd in (np.array([1j]), np.array(["3"]), np.array([True]), np.array([1.0], dtype=np.longdouble)):
        with pytest.raises(ParameterError, match="values must be"):
            noise.sample(odd)
    assert isinstance(noise.sample(np.array(3.2)), float)


def test_truncated_laplace_arrays_hold_one_float_for_each_point():
    noise = dp.TruncatedLaplace.calibrate(epsilon=1, low=0, high=1, step="0.1")
    grid = {float(Fraction(k, 10)) for k in range(11)}
    assert set(noise.sample(np.full(500, 0.3)).tolist()) <= grid
    assert set(noise.sample(np.array([-5.0, 7.0] * 50)).tolist()) <= grid
    for ask in (
        lambda: noise.pmf("0.3", "1.1"),
        lambda: noise.cdf("0.3", -1),
        lambda: noise.mean_error(5),
        lambda: noise.atoms(5),
    ):
        with pytest.raises(ParameterError, match="must lie in"):
            ask()


def test_cancelling_weights_are_decided_exactly():
    """Two levels of equal weight, 1 and 2**n 2**-n: the word says which, however near to the middle."""
    for n in range(10**6, 10**6 + 12):
        for step in (1, 2**20, 2**29, 2**31):
            for word, index in ((2**63 - step, 0), (2**63 + step, 1)):
                assert choose_powers(HALF, [0, n], [1, 2**n], coins=Planted(word)) == index


def test_printing_never_fails():
    for value in (dp.Gaussian(2**500), dp.Geometric.calibrate(epsilon="1e-100"), dp.Pure("1e2000")):
        assert str(value)
        assert repr(value)
        assert value._repr_html_()
    assert repr(dp.Bounds.exactly(Fraction(1, 3**20000)))
    assert "10^-400" in str(dp.Threshold(3, "1e-400", groups=1))


def test_a_step_beyond_every_integer_never_fails_by_what_was_drawn():
    """Nothing may depend on whether all the noise happens to be zero."""
    nearly_silent = dp.Laplace(Fraction(1, 10**9), 10**400)
    assert nearly_silent.sample(np.array([1.5, 0.0])).tolist() == [0.0, 0.0]
