"""Gaussian noise within a bound: its law, what it costs, and that it is drawn as it is accounted for."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import chisquare

import discreet as dp
from discreet.cli.compose import read_release
from discreet.errors import DiscreetError, ParameterError
from discreet.exact.coins import source

CASES = [
    (Fraction(1), 2),
    (Fraction(100), 5),
    (Fraction(7, 3), 40),
    (Fraction(1, 50), 3),
    (Fraction(10**6), 9),
]


@pytest.mark.parametrize(("variance", "bound"), CASES)
def test_probabilities_are_the_rounded_bell(variance, bound):
    noise = dp.TruncatedGaussian(variance, bound)
    with mp.workdps(60):
        v = mpf(variance.numerator) / variance.denominator
        weights = [
            1 + int(mp.floor(mpf(2) ** 64 * mp.exp(-mpf(k * k) / (2 * v)))) for k in range(-bound, bound + 1)
        ]
    assert [noise.pmf(k) for k in range(-bound, bound + 1)] == [Fraction(w, sum(weights)) for w in weights]
    assert noise.pmf(bound + 1) == noise.pmf(-bound - 1) == noise.cdf(-bound - 1) == 0
    assert noise.cdf(bound) == noise.cdf(bound + 7) == 1
    assert noise.cdf(0) == sum(noise.pmf(k) for k in range(-bound, 1))
    assert noise.radius("0.3") == next(
        r for r in range(bound + 1) if 2 * noise.cdf(-r - 1) <= Fraction(3, 10)
    )
    assert noise.variance == sum(k * k * noise.pmf(k) for k in range(-bound, bound + 1))


def _seen(noise, moves, x):
    """Return the largest P(E) - x Q(E) over events and moves in both directions, outcome by outcome."""
    reach = range(-noise.bound - moves, noise.bound + moves + 1)
    return max(
        sum((max(noise.pmf(k) - x * noise.pmf(k - s), Fraction(0)) for k in reach), Fraction(0))
        for s in range(-moves, moves + 1)
    )


@pytest.mark.parametrize(("variance", "bound"), CASES[:4])
@pytest.mark.parametrize("moves", [1, 3])
def test_the_law_is_the_worst_of_all_events_and_moves(variance, bound, moves):
    noise = dp.TruncatedGaussian(variance, bound)
    law = noise.profile(moves).law
    for x in (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(20), Fraction(10**12)):
        assert law.hockey_stick(x) == _seen(noise, moves, x)
    assert noise.guarantee(moves).slack == noise.cdf(moves - bound - 1)


@pytest.mark.parametrize(
    ("sigma", "bound", "move", "rate", "epsilon", "published"),
    [
        (1, 2, 1, "1", "1", 0.150574425),
        (1, 2, 1, "1", "2", 0.054488685),
        (10, 5, 3, "1", "0", 0.285480872),
        (1, 2, 1, "0.8", "1", 0.101734157),
        (5, 5, 3, "0.4", "0.2", 0.094851204),
    ],
)
def test_published_deltas_of_others_come_out(sigma, bound, move, rate, epsilon, published):
    """Google's tests state these for a discrete Gaussian cut off at a bound, sampled or not."""
    found = dp.sampled(dp.TruncatedGaussian(sigma**2, bound, sensitivity=move), rate).delta(epsilon)
    assert float(found.low) <= published + 1e-9
    assert published - 1e-9 <= float(found.high)


def test_compositions_are_what_a_convolution_of_losses_says():
    noise = dp.TruncatedGaussian(9, 14)
    k = np.arange(-13, 15)
    p, q = (np.array([float(noise.pmf(int(j))) for j in k - s]) for s in (0, 1))
    losses, weights = np.zeros(1), np.ones(1)
    for _ in range(3):
        losses = np.add.outer(losses, np.log(p / q)).ravel()
        weights = np.multiply.outer(weights, p).ravel()
    told = 1 - (1 - float(noise.pmf(-14))) ** 3
    for epsilon in (0.4, 1.5):
        exact = told + float((weights * np.maximum(-np.expm1(epsilon - losses), 0)).sum())
        found = dp.compose([(noise.profile(1), 3)]).delta(epsilon)
        assert float(found.low) <= exact * (1 + 1e-9)
        assert exact <= float(found.high) * (1 + 1e-9)
        assert float(found.high - found.low) <= 1e-3 * exact
    sampled = dp.compose([(dp.sampled(noise.profile(1), "0.1"), 20)]).epsilon("1e-3")
    assert 0 < sampled.low <= sampled.high < dp.compose([(noise.profile(1), 20)]).epsilon("0.1").high
    assert dp.compose([noise.profile(1)]).epsilon(0).high is None  # a bound is sometimes seen through


def test_noise_is_drawn_as_it_is_stated_and_stays_within_its_bound():
    noise = dp.TruncatedGaussian(16, 9)
    found = np.append(noise.sample(np.zeros(20_000, dtype=np.int64)), [noise.sample(0) for _ in range(5_000)])
    assert int(np.abs(found).max()) <= 9
    expected = [float(noise.pmf(k)) * found.size for k in range(-9, 10)]
    assert chisquare(np.bincount(found + 9, minlength=19), expected).pvalue > 1e-7
    assert noise.sample(10**30) - 10**30 in range(-9, 10)
    assert source() is not None


def test_calibrated_noise_is_private_and_hardly_more_than_that():
    noise = dp.TruncatedGaussian.calibrate(epsilon=1, delta="1e-3", bound=20)
    assert noise.profile().delta(1).high <= Fraction(1, 1000)
    less = dp.TruncatedGaussian(noise.sigma_squared * Fraction(98, 100), 20, sensitivity=1)
    assert less.profile().delta(1).low > Fraction(1, 1000)
    with pytest.raises(ParameterError, match="larger bound"):
        dp.TruncatedGaussian.calibrate(epsilon="0.1", delta="1e-9", bound=5)


def test_the_command_reads_it_and_odd_arguments_are_refused():
    read, number = read_release("truncated-gaussian:9:14:2x5")
    assert (read, number) == (dp.TruncatedGaussian(9, 14).profile(2), 5)
    assert read_release("truncated-gaussian:9:14")[0] == dp.TruncatedGaussian(9, 14).profile(1)
    still = dp.TruncatedGaussian(9, 14).profile(0)
    assert still.epsilon().high == 0
    far = dp.TruncatedGaussian(9, 3).profile(100)
    assert far.delta(5).low == 1
    for odd in (
        "truncated-gaussian:9",
        "truncated-gaussian:9:0",
        "truncated-gaussian:0:4",
        "truncated-gaussian:9:4:1/2",
    ):
        with pytest.raises(DiscreetError):
            read_release(odd)
    for arguments in ((1, 10**6), (1, -1), (0, 3), ("nan", 3), (1, 2.5), (True, 3), (1, None), (10**200, 3)):
        with pytest.raises(DiscreetError):
            dp.TruncatedGaussian(*arguments)
    with pytest.raises(ParameterError, match="outcomes"):
        dp.TruncatedGaussian(9, 1024).profile(100)
    with pytest.raises(ParameterError, match="single integer"):
        dp.TruncatedGaussian(9, 14).profile(dp.Sensitivity.spread(2, 1))
