"""The exponential mechanism: its law, its privacy in both forms, its accuracy, its levels."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.exponential import Exponential, Levels

alphas = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=40)
score_lists = st.lists(st.integers(-6, 6), min_size=1, max_size=6)
VECTORS = [*list(product(range(3), repeat=3)), (0, 9, 9), (9, 0, 0), (0, 0, 12)]


def worst_ratio(choice, moves):
    """Return the largest ratio, and the largest ratio of ratios, over neighbouring score vectors."""
    ratios, ranges = [], []
    for scores in VECTORS:
        before = choice.pmf(scores)
        for move in moves:
            after = choice.pmf([s + m for s, m in zip(scores, move, strict=True)])
            each = [p / q for p, q in zip(before, after, strict=True)]
            ratios += [max(each), 1 / min(each)]
            ranges.append(max(each) / min(each))
    return max(ratios), max(ranges)


@given(alphas, score_lists)
def test_the_law_is_proportional_to_the_power_of_the_gap(alpha, scores):
    law = Exponential(alpha).pmf(scores)
    assert sum(law) == 1
    for i, j in product(range(len(scores)), repeat=2):
        assert law[i] * alpha ** (max(scores) - scores[j]) == law[j] * alpha ** (max(scores) - scores[i])


@given(alphas, score_lists, st.integers(-(10**30), 10**30))
def test_only_differences_of_scores_matter(alpha, scores, shift):
    choice = Exponential(alpha)
    assert choice.pmf(scores) == choice.pmf([score + shift for score in scores])


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(4, 5)])
def test_privacy_and_bounded_range_are_two_sensitivities_in_general(alpha):
    ratio, spread = worst_ratio(Exponential(alpha), list(product((-1, 0, 1), repeat=3)))
    assert ratio <= alpha**-2
    assert spread == alpha**-2
    assert log(ratio) <= Exponential(alpha).guarantee(1).cost


def test_the_price_is_attained_in_the_limit_of_a_hopeless_candidate():
    choice = Exponential.calibrate(epsilon=1, sensitivity=1)
    p, q = choice.pmf([0, 30, 30])[0], choice.pmf([-1, 31, 31])[0]
    assert log(p / q) > 1 - 0.01
    assert p <= q * Fraction(exp(1) * (1 + 1e-12))


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("direction", [0, 1])
def test_monotone_scores_pay_once(alpha, direction):
    moves = list(product((0, 1) if direction else (-1, 0), repeat=3))
    ratio, spread = worst_ratio(Exponential(alpha), moves)
    assert ratio <= 1 / alpha
    assert spread == 1 / alpha
    assert Exponential(alpha).guarantee(1, monotone=True).cost * 2 == Exponential(alpha).guarantee(1).cost


@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), st.integers(1, 1000), st.booleans())
def test_calibration_never_spends_more_than_asked(epsilon, sensitivity, monotone):
    choice = Exponential.calibrate(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    cost = choice.guarantee(sensitivity, monotone=monotone).cost
    assert epsilon * (1 - Fraction(1, 2**50)) <= cost <= epsilon


@given(alphas, score_lists, st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_the_shortfall_of_given_scores_is_the_smallest(alpha, scores, beta):
    choice = Exponential(alpha)
    law, best = choice.pmf(scores), max(scores)

    def beyond(s):
        return sum(p for p, score in zip(law, scores, strict=True) if best - score > s)

    s = choice.shortfall(beta, scores=scores)
    assert beyond(s) <= beta
    assert s == 0 or beyond(s - 1) > beta
    assert s <= choice.shortfall(beta, candidates=len(scores))
    assert choice.mean_shortfall(scores=scores) == sum(
        p * (best - score) for p, score in zip(law, scores, strict=True)
    )


@given(alphas, st.integers(2, 6), st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_the_worst_shortfall_is_attained(alpha, candidates, beta):
    choice = Exponential(alpha)
    s = choice.shortfall(beta, candidates=candidates)
    if s > 0:
        # All others exactly s below the best: Pr[shortfall > s - 1] is above beta.
        assert choice.shortfall(beta, scores=[s] + [0] * (candidates - 1)) == s


@pytest.mark.parametrize(("candidates", "anchor"), [(2, 0.557), (5, 1.436), (100, 5.257)])
def test_the_worst_mean_is_the_lambert_form(candidates, anchor):
    choice = Exponential.calibrate(epsilon=1, sensitivity=1)
    worst = float(choice.mean_shortfall(candidates=candidates))
    assert worst == pytest.approx(2 * lambertw((candidates - 1) / exp(1)).real, rel=1e-12)
    assert worst == pytest.approx(anchor, abs=6e-4)
    assert worst <= 2 * log(candidates)


@given(alphas, st.lists(st.integers(0, 40), min_size=2, max_size=5))
def test_no_scores_are_worse_than_the_worst_mean(alpha, scores):
    choice = Exponential(alpha)
    assert choice.mean_shortfall(scores=scores) <= choice.mean_shortfall(candidates=len(scores))


def test_fine_scores_come_as_close_to_the_worst_mean_as_one_likes():
    choice = Exponential.calibrate(epsilon=1, sensitivity=50)
    means = [choice.mean_shortfall(scores=[gap, 0, 0, 0, 0]) for gap in range(150, 200)]
    assert float(max(means) / choice.mean_shortfall(candidates=5)) > 0.9999


@given(alphas, st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 6)), min_size=1, max_size=5))
def test_levels_are_the_candidates_counted_together(alpha, groups):
    choice = Exponential(alpha)
    scores, sizes = [s for s, _ in groups], [m for _, m in groups]
    levels = Levels.of(scores, sizes)
    flat = [score for score, size in groups for _ in range(size)]
    single = choice.pmf(flat)
    position = 0
    for probability, size in zip(choice.pmf(levels), sizes, strict=True):
        assert probability == sum(single[position : position + size])
        position += size
    assert levels.candidates == len(flat)
    assert choice.shortfall("0.1", scores=levels) == choice.shortfall("0.1", scores=flat)
    assert choice.mean_shortfall(scores=levels) == choice.mean_shortfall(scores=flat)


def fits(observed, expected):
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return chi2.sf(statistic, len(expected) - 1) > 1e-8


def test_samples_follow_the_law():
    choice, scores = Exponential(Fraction(3, 4)), [5, 3, 3, 0, -2]
    draws = np.bincount([choice.sample(scores) for _ in range(10_000)], minlength=5)
    assert fits(draws, [10_000 * float(p) for p in choice.pmf(scores)])


def test_a_sampler_that_forgets_the_sizes_of_levels_is_caught():
    choice, levels = Exponential(Fraction(3, 4)), Levels.of([5, 3, 0], [1, 2, 40])
    expected = [5_000 * float(p) for p in choice.pmf(levels)]
    level = np.searchsorted(levels.starts, [choice.sample(levels) for _ in range(5_000)], side="right") - 1
    assert fits(np.bincount(level, minlength=3), expected)
    forgetful = np.bincount([choice.sample([5, 3, 0]) for _ in range(5_000)], minlength=3)
    assert not fits(forgetful, expected)


def test_a_range_of_two_to_the_two_hundred_candidates_is_sampled_exactly():
    # Half of the weight lies in one best candidate, half in an astronomical level just as heavy together.
    size = 2**200
    choice = Exponential(Fraction(1, 2))
    levels = Levels.of([200, 0], [1, size])
    assert choice.pmf(levels) == (Fraction(1, 2), Fraction(1, 2))
    draws = [choice.sample(levels) for _ in range(400)]
    inside = [draw - 1 for draw in draws if draw > 0]
    assert 100 < len(inside) < 300
    assert len(set(inside)) == len(inside)
    assert all(0 <= draw < size for draw in inside)
    assert 0.2 < sum(draw >= size // 2 for draw in inside) / len(inside) < 0.8


@pytest.mark.parametrize("scores", [[], [[1, 2]], [1.5, 2.0], ["a"], [True, False], [Fraction(1, 2)]])
def test_scores_that_are_not_integers_are_refused(scores):
    with pytest.raises(ParameterError, match="scores"):
        Exponential(Fraction(1, 2)).sample(scores)


@pytest.mark.parametrize("arguments", [{"epsilon": 0}, {"epsilon": "inf"}, {"epsilon": 1, "sensitivity": 0}])
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(ParameterError):
        Exponential.calibrate(**arguments)


@pytest.mark.parametrize("arguments", [{}, {"candidates": 2, "scores": [1]}, {"candidates": 0}])
def test_accuracy_asks_for_exactly_one_of_candidates_and_scores(arguments):
    with pytest.raises(ParameterError, match="candidates"):
        Exponential(Fraction(1, 2)).shortfall("0.05", **arguments)
    with pytest.raises(ParameterError, match="candidates"):
        Exponential(Fraction(1, 2)).mean_shortfall(**arguments)


@pytest.mark.parametrize(("scores", "sizes"), [([1], [0]), ([], []), ([1, 2], [1])])
def test_impossible_levels_are_refused(scores, sizes):
    with pytest.raises(ParameterError, match="level"):
        Levels.of(scores, sizes)


def test_scores_beyond_machine_integers_work():
    choice = Exponential(Fraction(1, 2))
    assert choice.pmf([10**30, 10**30 - 1]) == (Fraction(2, 3), Fraction(1, 3))
    assert choice.sample([10**30, 0]) == 0
    assert choice.sample(np.array([2**63, 0], dtype=np.uint64)) == 0
    assert choice.sample([-(2**63), 2**63 - 1]) == 1


@pytest.mark.parametrize("steps", [(-1, 0, 1), (0, 1)])
def test_the_profile_lies_above_every_pair_of_neighbours(steps):
    choice = Exponential(Fraction(1, 2))
    profile = choice.profile(1, monotone=steps == (0, 1))
    assert profile.law.rho == choice.guarantee(1, monotone=steps == (0, 1)).cost ** 2 / 8
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(3, 5)):
        claimed, x = profile.delta(epsilon).high, exp(epsilon)
        for scores in VECTORS:
            before = choice.pmf(scores)
            for move in product(steps, repeat=3):
                after = choice.pmf([s + m for s, m in zip(scores, move, strict=True)])
                for p, q in ((before, after), (after, before)):
                    assert (
                        sum(max(0.0, float(a) - x * float(b)) for a, b in zip(p, q, strict=True))
                        <= claimed + 1e-12
                    )


@given(alphas, score_lists)
def test_enclosures_hold_the_exact_law(alpha, scores):
    choice = Exponential(alpha)
    for exact, around in zip(choice.pmf(scores), choice.chances(scores), strict=True):
        assert around.low <= exact <= around.high <= around.low * (1 + Fraction(1, 2**60))


def test_scores_too_far_apart_for_fractions_still_have_enclosures():
    choice = Exponential.calibrate(epsilon=1)
    with pytest.raises(ParameterError, match="use chances"):
        choice.pmf([10**9, 0])
    likely, unlikely = choice.chances([10**5, 0])
    assert likely.low > 1 - Fraction(1, 10**9)
    assert 0 < unlikely.low <= unlikely.high < Fraction(1, 10**20_000)
    levels = Levels.of([0, -3000], [1, 2**4000])
    assert sum(around.high for around in choice.chances(levels)) >= 1


@pytest.mark.parametrize(
    "scores", [[1, 2], [[1.5, 2]], [[]], [[1, 2], [3]], [[True, False]], [[2**61, 0]], "ab", None]
)
def test_rows_of_scores_are_tables_of_integers(scores):
    with pytest.raises(ParameterError, match="scores"):
        Exponential(Fraction(1, 2)).sample_each(scores)


def test_rows_of_selections_agree_with_their_law():
    choice, row = Exponential(Fraction(2, 3)), [0, 3, 1, 4]
    drawn = choice.sample_each(np.tile(row, (100_000, 1)))
    expected = np.array([float(p) for p in choice.pmf(row)]) * 100_000
    statistic = float(((np.bincount(drawn, minlength=4) - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, 3) > 1e-8
    assert choice.sample_each(np.zeros((0, 3), dtype=int)).tolist() == []
    assert choice.sample_each([[0, 10**18], [10**18, 0]]).tolist() == [1, 0]
