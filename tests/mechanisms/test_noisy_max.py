"""The noisy maximum: ties cost nothing when they are broken uniformly, and too little noise is noticed."""

from fractions import Fraction
from itertools import chain, combinations, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip

alphas = st.fractions(Fraction(1, 4), Fraction(3, 4), max_denominator=8)
VECTORS = [*product(range(3), repeat=3), (0, 6, 6), (6, 0, 0)]
REACH = 40


def enumerated(alpha, scores, *, two_sided):
    """Sum over the value of the maximum and the set of those who tie there, cut off REACH away."""
    centre = (1 - alpha) / (1 + alpha)

    def equal(k):
        return centre * alpha ** abs(k) if two_sided else (1 - alpha) * alpha**k if k >= 0 else Fraction(0)

    def less(k):
        if two_sided:
            return alpha ** (1 - k) / (1 + alpha) if k <= 0 else 1 - alpha**k / (1 + alpha)
        return 1 - alpha**k if k > 0 else Fraction(0)

    law = [Fraction(0)] * len(scores)
    people = range(len(scores))
    for v in range(min(scores) - REACH, max(scores) + REACH):
        for tied in chain.from_iterable(combinations(people, size) for size in range(1, len(scores) + 1)):
            chance = Fraction(1)
            for j in people:
                chance *= equal(v - scores[j]) if j in tied else less(v - scores[j])
            for j in tied:
                law[j] += chance / len(tied)
    return law


@settings(max_examples=15)
@given(alphas, st.lists(st.integers(-4, 4), min_size=1, max_size=4), st.booleans())
def test_the_law_is_that_of_the_largest_noisy_score(alpha, scores, two_sided):
    law = NoisyMax(alpha, two_sided=two_sided).pmf(scores)
    assert sum(law) == 1
    for exact, cut in zip(law, enumerated(alpha, scores, two_sided=two_sided), strict=True):
        assert 0 <= exact - cut <= 5 * alpha**REACH


@given(alphas, st.lists(st.integers(-4, 4), min_size=1, max_size=5))
def test_one_sided_noise_gives_permute_and_flip(alpha, scores):
    assert NoisyMax(alpha).pmf(scores) == PermuteAndFlip(alpha).pmf(scores)


def extreme(law, moves):
    ratios = []
    for scores in VECTORS:
        before = law(scores)
        for move in moves:
            after = law([s + m for s, m in zip(scores, move, strict=True)])
            ratios += [max(p / q, q / p) for p, q in zip(before, after, strict=True)]
    return max(ratios)


@pytest.mark.parametrize("two_sided", [False, True])
def test_privacy_holds_with_ties_and_is_nearly_attained(two_sided):
    choice = NoisyMax(Fraction(1, 2), two_sided=two_sided)
    general = extreme(choice.pmf, list(product((-1, 0, 1), repeat=3)))
    monotone = extreme(choice.pmf, list(product((0, 1), repeat=3)))
    assert general <= 4
    assert monotone <= 2
    assert log(general) > 0.85 * choice.guarantee(1).cost
    assert log(monotone) > 0.85 * choice.guarantee(1, monotone=True).cost


@pytest.mark.parametrize("two_sided", [False, True])
def test_a_slightly_smaller_epsilon_is_refused_by_a_hopeless_candidate(two_sided):
    choice = NoisyMax.calibrate(epsilon=1, two_sided=two_sided)
    p, q = choice.pmf([0, 12, 12])[0], choice.pmf([-1, 13, 13])[0]
    assert 1 - 0.01 < log(p / q) < 1 + 1e-12


def test_too_little_noise_is_caught_by_the_same_check():
    moves = list(product((-1, 0, 1), repeat=3))
    assert extreme(NoisyMax(Fraction(2, 5)).pmf, moves) > 4
    assert extreme(NoisyMax(Fraction(2, 5), two_sided=True).pmf, moves) > 4


@given(alphas, st.lists(st.integers(-4, 4), min_size=1, max_size=4))
def test_two_sided_noise_is_never_better(alpha, scores):
    assert NoisyMax(alpha).mean_shortfall(scores=scores) <= NoisyMax(alpha, two_sided=True).mean_shortfall(
        scores=scores
    )


@pytest.mark.parametrize("two_sided", [False, True])
def test_the_worst_shortfall_is_attained_and_never_exceeded(two_sided):
    choice = NoisyMax(Fraction(2, 3), two_sided=two_sided)
    s = choice.shortfall("0.1", candidates=4)
    assert s > 0
    assert choice.shortfall("0.1", scores=[s, 0, 0, 0]) == s
    assert choice.shortfall("0.1", scores=[s + 1, 0, 0, 0]) == 0
    assert (
        max(
            choice.shortfall("0.1", scores=[0, *(-g for g in gaps)])
            for gaps in product(range(0, 12, 3), repeat=3)
        )
        <= s
    )


@pytest.mark.parametrize("two_sided", [False, True])
def test_samples_follow_the_law(two_sided):
    choice, scores = NoisyMax(Fraction(5, 7), two_sided=two_sided), [5, 3, 3, 0]
    draws = np.bincount([choice.sample(scores) for _ in range(10_000)], minlength=4)
    expected = [10_000 * float(p) for p in choice.pmf(scores)]
    assert chi2.sf(sum((o - e) ** 2 / e for o, e in zip(draws, expected, strict=True)), 3) > 1e-8


@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), st.integers(1, 1000), st.booleans())
def test_calibration_never_spends_more_than_asked(epsilon, sensitivity, monotone):
    choice = NoisyMax.calibrate(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    assert choice.guarantee(sensitivity, monotone=monotone).cost <= epsilon


def test_huge_scores_are_handled():
    assert NoisyMax(Fraction(2, 3)).sample([0, 10**50]) == 1
    with pytest.raises(ParameterError, match="scores"):
        NoisyMax(Fraction(2, 3)).sample([0.1])
