"""Permute-and-flip: exact law against its definition, its own theorem, and no more than its theorem."""

from fractions import Fraction
from itertools import permutations, product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip

alphas = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=40)
score_lists = st.lists(st.integers(-6, 6), min_size=1, max_size=6)
VECTORS = [*list(product(range(3), repeat=3)), (0, 9, 9), (9, 0, 0), (0, 0, 12)]


def by_definition(alpha, scores):
    """Walk through every order of the candidates and every coin."""
    weights = [alpha ** (max(scores) - score) for score in scores]
    law = [Fraction(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        still = Fraction(1, len(orders))
        for candidate in order:
            law[candidate] += still * weights[candidate]
            still *= 1 - weights[candidate]
    return tuple(law)


@given(alphas, st.lists(st.integers(-6, 6), min_size=1, max_size=5))
def test_the_law_is_that_of_permuting_and_flipping(alpha, scores):
    assert PermuteAndFlip(alpha).pmf(scores) == by_definition(alpha, scores)


@given(alphas, score_lists)
def test_it_is_never_worse_than_the_exponential_mechanism_and_at_most_twice_as_good(alpha, scores):
    flip = PermuteAndFlip(alpha).mean_shortfall(scores=scores)
    exponential = Exponential(alpha).mean_shortfall(scores=scores)
    assert exponential / 2 <= flip <= exponential


def extremes(choice, moves):
    ratios, ranges = [], []
    for scores in VECTORS:
        before = choice.pmf(scores)
        for move in moves:
            after = choice.pmf([s + m for s, m in zip(scores, move, strict=True)])
            each = [p / q for p, q in zip(before, after, strict=True)]
            ratios += [max(each), 1 / min(each)]
            ranges.append(max(each) / min(each))
    return max(ratios), max(ranges)


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(4, 5)])
def test_it_is_private_at_its_price_and_at_nothing_less(alpha):
    ratio, _ = extremes(PermuteAndFlip(alpha), list(product((-1, 0, 1), repeat=3)))
    assert ratio == alpha**-2
    assert log(ratio) > PermuteAndFlip(alpha).guarantee(1).cost - Fraction(1, 100)


@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("steps", [(0, 1), (-1, 0)])
def test_monotone_scores_pay_once(alpha, steps):
    ratio, _ = extremes(PermuteAndFlip(alpha), list(product(steps, repeat=3)))
    assert ratio == 1 / alpha


def test_it_does_not_have_bounded_range():
    # The exponential mechanism's loss lies in an interval of length epsilon; this one's does not.
    alpha = Fraction(1, 2)
    _, spread = extremes(PermuteAndFlip(alpha), list(product((-1, 0, 1), repeat=3)))
    _, bounded = extremes(Exponential(alpha), list(product((-1, 0, 1), repeat=3)))
    assert bounded == alpha**-2
    assert spread > alpha**-2 * Fraction(5, 4)


@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), st.integers(1, 1000), st.booleans())
def test_calibration_never_spends_more_than_asked(epsilon, sensitivity, monotone):
    choice = PermuteAndFlip.calibrate(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    cost = choice.guarantee(sensitivity, monotone=monotone).cost
    assert epsilon * (1 - Fraction(1, 2**50)) <= cost <= epsilon


@given(alphas, st.integers(2, 6), st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_the_worst_shortfall_is_attained_and_never_exceeded(alpha, candidates, beta):
    choice = PermuteAndFlip(alpha)
    s = choice.shortfall(beta, candidates=candidates)
    if s > 0:
        assert choice.shortfall(beta, scores=[s] + [0] * (candidates - 1)) == s
    assert choice.shortfall(beta, scores=[s + 1] + [0] * (candidates - 1)) == 0


@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(3, 4)])
@pytest.mark.parametrize("candidates", [2, 3, 4])
def test_the_worst_mean_is_the_worst_over_all_scores(alpha, candidates):
    choice = PermuteAndFlip(alpha)
    every = [
        choice.mean_shortfall(scores=[0, *(-g for g in gaps)])
        for gaps in product(range(9), repeat=candidates - 1)
    ]
    worst = choice.mean_shortfall(candidates=candidates)
    assert max(every) <= worst <= max(every) * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize(("candidates", "anchor"), [(2, 0.368), (5, 1.082), (100, 4.856), (1000, 8.531)])
def test_the_worst_mean_on_a_fine_scale_is_the_published_one(candidates, anchor):
    choice = PermuteAndFlip.calibrate(epsilon=1, sensitivity=10_000)
    assert float(choice.mean_shortfall(candidates=candidates)) / 10_000 == pytest.approx(anchor, abs=6e-4)


def test_samples_follow_the_law_and_not_the_exponential_mechanisms():
    alpha, scores = Fraction(5, 7), [5, 3, 3, 0, -2]
    draws = np.bincount([PermuteAndFlip(alpha).sample(scores) for _ in range(20_000)], minlength=5)

    def misfit(law):
        return sum(
            (o - 20_000 * float(p)) ** 2 / (20_000 * float(p)) for o, p in zip(draws, law, strict=True)
        )

    assert chi2.sf(misfit(PermuteAndFlip(alpha).pmf(scores)), 4) > 1e-8
    assert chi2.sf(misfit(Exponential(alpha).pmf(scores)), 4) < 1e-8


def test_one_candidate_is_certain():
    assert PermuteAndFlip(Fraction(1, 2)).pmf([7]) == (1,)
    assert PermuteAndFlip(Fraction(2, 3)).sample([7]) == 0
    assert PermuteAndFlip(Fraction(1, 2)).shortfall(candidates=1) == 0
    assert PermuteAndFlip(Fraction(1, 2)).mean_shortfall(candidates=1) == 0


def test_thousands_of_candidates_and_huge_scores_are_sampled():
    choice = PermuteAndFlip.calibrate(epsilon=1, sensitivity=1)
    scores = np.zeros(5000, dtype=np.int64)
    scores[17] = 200
    assert choice.sample(scores) == 17
    assert choice.sample([10**40, 0, 10**40 - 10**20]) == 0


@pytest.mark.parametrize("scores", [[], [0.5], ["x"], [None]])
def test_bad_scores_are_refused(scores):
    with pytest.raises(ParameterError, match="scores"):
        PermuteAndFlip(Fraction(1, 2)).pmf(scores)


@pytest.mark.parametrize("alpha", [0, 1, -1, 2])
def test_bad_ratios_are_refused(alpha):
    with pytest.raises(ParameterError, match="alpha"):
        PermuteAndFlip(Fraction(alpha))


@given(alphas, score_lists)
def test_enclosures_hold_the_exact_law(alpha, scores):
    choice = PermuteAndFlip(alpha)
    for exact, around in zip(choice.pmf(scores), choice.chances(scores), strict=True):
        assert around.low <= exact <= around.high <= around.low * (1 + Fraction(1, 2**60))


def test_hundreds_of_candidates_far_apart_have_enclosures():
    choice = PermuteAndFlip.calibrate(epsilon="0.01")
    scores = [37 * place % 1000 for place in range(300)]
    with pytest.raises(ParameterError, match="use chances"):
        choice.pmf(scores)
    around = choice.chances(scores)
    assert sum(each.low for each in around) <= 1 <= sum(each.high for each in around)
    assert max(range(300), key=lambda place: around[place].low) == scores.index(max(scores))
