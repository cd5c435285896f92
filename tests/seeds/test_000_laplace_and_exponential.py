"""The lecture on the Laplace and exponential mechanisms; neighbours differ by the presence of one record."""

from fractions import Fraction
from itertools import product
from math import ceil, exp, log, log10

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw
from tests.seeds.covered import covers

import discreet as dp
from discreet.privacy.sensitivity import workload

ADD_REMOVE = dp.Adjacency.ADD_REMOVE
HALF = Fraction(1, 2)
UNITS = 1000
"""Score units in one person, where the lecture's scores are real numbers."""


def failure(choice, gap, candidates):
    """Return the probability of missing the one best candidate when all others lie `gap` below it."""
    return 1 - choice.chances([gap] + [0] * (candidates - 1))[0].low


# The Laplace law and mechanism.


@covers("000-D1")
@pytest.mark.parametrize("b", [Fraction(1, 2), 1, 7])
def test_the_laplace_law_has_this_density_mean_size_tail_and_variance(b):
    noise = dp.Laplace.calibrate(epsilon=Fraction(1) / b)
    assert float(noise.scale) == pytest.approx(b, rel=1e-5)
    for x in (-3 * b, 0, Fraction(b) / 7, 5 * b):
        assert noise.density(float(x)) == pytest.approx(exp(-abs(x) / b) / (2 * b), rel=1e-4)
    # What is drawn: an exact law on a fine grid, with the moments and tails of the continuous one.
    assert float(noise.mean_error) == pytest.approx(b, rel=1e-5)
    assert float(noise.variance) == pytest.approx(2 * b * b, rel=1e-5)
    for t in (Fraction(1, 3), 1, 3):
        inside = noise.cdf(t * b).low - noise.cdf(-t * b).high
        assert float(1 - inside) == pytest.approx(exp(-t), rel=1e-5)


@covers("000-M1")
def test_the_laplace_mechanism_puts_independent_noise_of_scale_delta_over_epsilon_on_each_coordinate():
    moved = dp.Sensitivity.spread(3, 1)
    noise = dp.Laplace.calibrate(epsilon=2, sensitivity=moved)
    assert float(noise.scale) == pytest.approx(moved.l1 / 2, rel=1e-5)
    assert noise.guarantee(moved).cost <= 2
    answers = noise.sample(np.array([10.0, 20.0, 30.0]))
    assert answers.shape == (3,)
    assert len({float(z) for z in answers - np.array([10.0, 20.0, 30.0])}) == 3
    assert all((Fraction(float(z)) / noise.step).denominator == 1 for z in answers)


@covers("000-T1")
def test_the_chain_of_ratios_ends_at_e_to_the_epsilon_and_reaches_it():
    """The ratio of joint laws is a product of ratios, at most alpha**-(sum of changes), exactly."""
    noise = dp.Geometric(HALF)
    here, there = (0, 0), (2, -1)
    change = sum(abs(a - b) for a, b in zip(here, there, strict=True))
    ratios = [
        noise.pmf(x - here[0]) * noise.pmf(y - here[1]) / (noise.pmf(x - there[0]) * noise.pmf(y - there[1]))
        for x, y in product(range(-6, 7), repeat=2)
    ]
    assert max(ratios) == noise.alpha**-change
    assert min(ratios) == noise.alpha**change
    # The guarantee is the logarithm of that ratio, and a claim one hundredth smaller is false.
    cost = noise.guarantee(change).cost
    assert float(cost) == pytest.approx(change * log(2), rel=1e-12)
    assert max(ratios) > Fraction(exp(cost - Fraction(1, 100)))


@covers("000-T1")
@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.floats(-9, 9)] * 3), min_size=1, max_size=5))
def test_continuous_densities_never_differ_by_more_than_e_to_the_epsilon(coordinates):
    total = sum(abs(a - b) for a, b, _ in coordinates)
    noise = dp.Laplace.calibrate(epsilon=1, sensitivity=Fraction(max(total, 1)))
    ratio = 1.0
    for a, b, x in coordinates:
        ratio *= noise.density(x - a) / noise.density(x - b)
    assert ratio <= exp(1) * (1 + 1e-9)


@covers("000-W1", "000-S2")
@pytest.mark.parametrize("k", [1, 4, 16])
def test_k_subset_sums_have_joint_sensitivity_k_and_error_exactly_k_over_epsilon(k):
    """Not o(k / epsilon): the mean error of each sum is k / epsilon, that of the worst (k / epsilon) H_k."""
    subsets = [lambda person, j=j: int(person == 0 or person % (j + 2) == 0) for j in range(k)]
    assert all(workload([one], range(24), ADD_REMOVE).l1 == 1 for one in subsets)
    moved = workload(subsets, range(24), ADD_REMOVE)
    assert moved.l1 == k
    epsilon = HALF
    noise = dp.Laplace.calibrate(epsilon=epsilon, sensitivity=moved)
    scale = float(k / epsilon)
    assert float(noise.mean_error) / scale == pytest.approx(1, rel=1e-4)
    t = np.linspace(0, 30 * scale, 3001)
    tails = 1 - np.array([2 * noise.distribution(x) - 1 for x in t]) ** k
    harmonic = sum(1 / j for j in range(1, k + 1))
    assert np.trapezoid(tails, t) == pytest.approx(scale * harmonic, rel=1e-3)


@covers("000-S1")
def test_laplace_noise_has_mean_zero_and_mean_size_one_over_epsilon():
    for epsilon in (HALF, 1, 4):
        noise = dp.Laplace.calibrate(epsilon=epsilon)
        # As printed, E[Lap(1/epsilon)] = 1/epsilon; but the law is symmetric and the mean exists, so it is 0.
        for x in (noise.step, Fraction(1, 4), 3):
            assert noise.pmf(x) == noise.pmf(-x)
        window = sum(k * noise.noise.pmf(k) for k in range(-20, 21))
        assert window == 0 != 1 / Fraction(epsilon)
        assert float(noise.mean_error) == pytest.approx(1 / epsilon, rel=1e-5)


# The exponential mechanism: definitions and privacy.


@covers("000-D2")
def test_the_sensitivity_of_a_score_is_the_largest_change_over_candidates_and_neighbours():
    """By brute force for the revenue of a price, against what the library states."""
    prices = dp.Revenue(cap=6)
    moved = 0
    for buyers in product(range(7), repeat=2):
        for extra in range(7):
            before, after = (
                np.repeat(levels.scores, levels.sizes.tolist())
                for levels in (prices.levels(list(buyers)), prices.levels([*buyers, extra]))
            )
            moved = max(moved, int(np.abs(after - before).max()))
    assert prices.sensitivity(ADD_REMOVE).linf == moved == 6


@covers("000-D3", "000-M2")
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_the_exponential_mechanism_has_the_printed_law(scores):
    """exp(epsilon q / 2 Delta) over the sum; the candidates that attain the optimum are equally likely."""
    epsilon, delta = 1.5, 2
    law = dp.Exponential.calibrate(epsilon=epsilon, sensitivity=delta).pmf(scores)
    weights = [exp(epsilon * q / (2 * delta)) for q in scores]
    assert [float(p) for p in law] == pytest.approx([w / sum(weights) for w in weights], rel=1e-9)
    assert sum(law) == 1
    best = {p for p, q in zip(law, scores, strict=True) if q == max(scores)}
    assert best == {max(law)}


@covers("000-D3", "000-T3")
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6), st.lists(st.integers(1, 9), min_size=6))
def test_the_optimum_and_the_number_of_candidates_that_attain_it(scores, sizes):
    """As functions of the scores; candidates that fall far behind are as few as |R| / |R_OPT| says."""
    best = dp.optimum(scores)
    assert best.score == max(scores)
    assert best.candidates == scores.count(max(scores))
    levels = dp.Levels.of(scores, sizes[: len(scores)])
    assert levels.optimum.score == best.score
    winners = [size for score, size in zip(scores, sizes, strict=False) if score == max(scores)]
    assert levels.optimum.candidates == sum(winners)
    # Pr[q <= OPT - 2 (ln(|R| / |R_OPT|) + t) / epsilon] <= exp(-t), here for alpha = exp(-epsilon / 2) = 1/2.
    law = dp.Exponential(HALF).pmf(levels)
    for gap in range(1, 8):
        behind = sum(p for p, q in zip(law, scores, strict=True) if q <= best.score - gap)
        assert behind <= Fraction(levels.candidates, levels.optimum.candidates) * HALF**gap


@covers("000-D3")
def test_an_optimum_needs_scores_and_a_size_for_each():
    assert dp.optimum([3, 7, 7], [2, 5, 1]).candidates == 6
    for scores, sizes in (([], None), ([1, 2], [1]), ([1, 2], [1, 0]), ([0.5], None)):
        with pytest.raises(dp.ParameterError):
            dp.optimum(scores, sizes)


@covers("000-T2", "000-S5")
def test_the_ratio_is_two_factors_of_at_most_e_to_half_epsilon_each():
    """The ratio of probabilities is (*) times (**), printed as three stars; each is at most 1 / alpha."""
    choice = dp.Exponential(HALF)
    worst = Fraction(0)
    for before in product(range(3), repeat=3):
        for move in product((-1, 0, 1), repeat=3):
            after = [q + m for q, m in zip(before, move, strict=True)]
            sums = [sum(HALF**-q for q in scores) for scores in (before, after)]
            for r in range(3):
                own, normalising = HALF ** (after[r] - before[r]), sums[1] / sums[0]
                ratio = choice.pmf(before)[r] / choice.pmf(after)[r]
                assert ratio == own * normalising
                assert own <= 2
                assert normalising <= 2
                worst = max(worst, ratio)
    assert 2 < worst < 2 * 2
    assert float(choice.guarantee(1).cost) == pytest.approx(2 * log(2))


@covers("000-T2")
def test_no_smaller_epsilon_will_do_for_many_candidates():
    choice, many = dp.Exponential(HALF), 10**9
    flat = choice.pmf(dp.Levels.of([0, 0], [1, many]))[0]
    moved = choice.pmf(dp.Levels.of([1, -1], [1, many]))[0]
    assert 4 * (1 - Fraction(1, 10**8)) < moved / flat < 4
    # Scores that can only rise together need half of it.
    assert choice.guarantee(1, monotone=True).cost * 2 == choice.guarantee(1).cost


@covers("000-S5", "000-D4")
def test_a_score_belongs_to_a_candidate_and_the_vector_of_scores_has_one_entry_for_each():
    choice = dp.Exponential.calibrate(epsilon=1)
    with pytest.raises(dp.ParameterError, match="one for each candidate"):
        choice.pmf(3)
    assert len(choice.pmf([3, 1, 4, 1, 5])) == 5


@covers("000-D4")
def test_the_vector_of_scores_may_be_r_times_as_sensitive_as_one_score():
    likes = [lambda person, bit=bit: person >> bit & 1 for bit in range(6)]
    moved = workload(likes, range(64), ADD_REMOVE)
    assert (moved.l1, moved.linf) == (6, 1)
    # Selecting needs noise for the sensitivity of one score, perturbing the whole vector for six times it.
    assert (
        dp.Exponential.calibrate(epsilon=1, sensitivity=moved).alpha
        == dp.Exponential.calibrate(epsilon=1).alpha
    )
    assert float(dp.Laplace.calibrate(epsilon=1, sensitivity=moved).scale) == pytest.approx(6, rel=1e-4)


# Accuracy.


@covers("000-T3", "000-T4")
@given(st.lists(st.integers(0, 9), min_size=1, max_size=7), st.integers(0, 12))
def test_bad_candidates_are_exponentially_unlikely(scores, g):
    """With alpha**g = exp(-t) |R_OPT| / |R|, Pr[gap >= g] <= exp(-t)."""
    alpha = Fraction(2, 3)
    law, best = dp.Exponential(alpha).pmf(scores), max(scores)
    missed = sum(p for p, q in zip(law, scores, strict=True) if best - q >= g)
    assert missed <= Fraction(len(scores), scores.count(best)) * alpha**g <= len(scores) * alpha**g


@covers("000-T3", "000-T4", "000-T7")
def test_the_accuracy_bound_is_attained_up_to_a_factor_that_tends_to_one():
    """All of a large range but m candidates at one gap, of probability far below 1."""
    size, alpha, g = 10**9, HALF, 60
    for optimal in (1, 1000):
        missed = dp.Exponential(alpha).pmf(dp.Levels.of([g, 0], [optimal, size - optimal]))[1]
        bound = Fraction(size, optimal) * alpha**g
        assert bound * (1 - Fraction(1, 10**5)) < missed < bound
    # Multiplying the range by itself adds the same again: the dependence is logarithmic.
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=UNITS)
    quantiles = [choice.shortfall("0.001", candidates=10**j) / UNITS for j in (3, 6, 9)]
    assert np.diff(quantiles) == pytest.approx([2 * log(1000)] * 2, abs=0.01)


@covers("000-T5", "000-S4")
def test_the_expected_quality_needs_no_assumption_on_the_optimum():
    """OPT - E[q] <= (2 Delta / epsilon) ln|R|, and exactly (2 Delta / epsilon) W((|R| - 1) / e) at worst."""
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=UNITS)
    for size, printed in ((2, 0.557), (5, 1.436), (100, 5.257)):
        exact = 2 * lambertw((size - 1) / exp(1)).real
        assert exact == pytest.approx(printed, abs=5e-4)
        assert float(choice.mean_shortfall(candidates=size)) / UNITS == pytest.approx(exact, rel=1e-9)
        # Brute force: all but one candidate at the same gap, over all gaps.
        worst = max(g * float(failure(choice, g, size)) for g in range(0, 10 * UNITS, UNITS // 4))
        assert exact * 0.99 < worst / UNITS <= exact < 2 * log(size)


@covers("000-S4")
def test_the_printed_corollary_on_the_mean_is_false_for_small_optima():
    def printed(optimum, size):
        return optimum - 2 * (log(size) + log(optimum)) - 1  # Delta / epsilon = 1

    # No expectation exceeds the optimum, but the printed lower bound does.
    assert printed(0.01, 2) == pytest.approx(6.83, abs=0.01)
    assert printed(0.01, 2) > 0.01
    with pytest.raises(ValueError, match=r"math domain error|positive"):
        printed(-1, 2)
    # Nor does it follow a change of units: scores and sensitivity in cents instead of dollars.
    cents = 400 - 100 * 2 * (log(5) + log(400)) - 1
    assert cents / 100 != pytest.approx(printed(4, 5), abs=1)


@covers("000-T6")
def test_the_error_does_not_depend_on_the_number_of_people():
    choice = dp.Exponential.calibrate(epsilon=1)
    assert choice.pmf([50, 40, 30]) == choice.pmf([10**12 + 50, 10**12 + 40, 10**12 + 30])


# Eye colours.


@covers("000-W3", "000-S3", "000-S7")
def test_seven_point_four_is_a_decimal_logarithm_and_fails_where_nine_point_two_two_holds():
    assert exp(-3) == pytest.approx(0.0498, abs=5e-5)
    assert exp(-3) < 0.05
    assert 2 * (log10(5) + 3) == pytest.approx(7.398, abs=5e-4)
    meant = 2 * (log(5) + 3)
    assert meant == pytest.approx(9.2189, abs=5e-5)
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=UNITS)
    as_printed = failure(choice, 7400, 5)
    assert float(as_printed) == pytest.approx(0.0900, abs=5e-5)
    assert as_printed > Fraction(1, 20)
    for gap in range(ceil(meant * UNITS), 12 * UNITS, 400):
        assert float(failure(choice, gap, 5)) <= exp(-3)


@covers("000-S3")
def test_the_exact_quantiles_are_smaller_than_the_theorem_says():
    beta = Fraction(exp(-3))
    general = dp.Exponential.calibrate(epsilon=1, sensitivity=UNITS)
    exact = 2 * (log(4) + log(exp(3) - 1))
    assert exact == pytest.approx(8.670, abs=5e-4)
    assert general.shortfall(beta, candidates=5) / UNITS == pytest.approx(exact, abs=2 / UNITS)
    # The count of a colour only rises when a person is added, so half of everything is enough.
    monotone = dp.Exponential.calibrate(epsilon=1, sensitivity=UNITS, monotone=True)
    assert monotone.shortfall(beta, candidates=5) / UNITS == pytest.approx(4.335, abs=2 / UNITS)
    assert log(5) + 3 == pytest.approx(4.609, abs=5e-4)
    # Permute-and-flip makes the printed number true.
    flip = dp.PermuteAndFlip.calibrate(epsilon=1, sensitivity=UNITS)
    assert float(failure(flip, 7400, 5)) == pytest.approx(0.0482, abs=5e-5)
    assert float(failure(flip, 7400, 5)) < exp(-3)
    assert flip.shortfall(beta, candidates=5) / UNITS == pytest.approx(7.335, abs=2 / UNITS)


@covers("000-S7")
def test_the_inequality_of_the_slide_points_the_wrong_way():
    """The selected colour is shared by at least OPT - 9.22 people, except with probability exp(-3)."""
    decimal, natural = 2 * (log10(5) + 3), 2 * (log(5) + 3)
    # With the logarithm that gives 7.4 the printed "<" is false; with the one that is meant, it says less.
    assert not -decimal < -7.4
    assert -natural < -7.4
    counts = [100, 95, 91, 90, 89]
    law = dp.Exponential.calibrate(epsilon=1).pmf(counts)
    enough = sum(p for p, people in zip(law, counts, strict=True) if people >= 100 - natural)
    assert enough >= 1 - exp(-3)


# Apples.


APPLES = dp.Revenue(cap=500, low=100)
BUYERS = [100, 100, 100, 401]


def revenue(price):
    """Return what a price in cents brings."""
    return price * sum(value >= price for value in BUYERS)


@covers("000-W2")
def test_the_four_printed_revenues():
    levels = APPLES.levels(BUYERS)
    scored = {}
    for score, start, size in zip(levels.scores, levels.starts, levels.sizes, strict=True):
        scored |= dict.fromkeys(range(start, start + size), int(score))
    assert [scored[price] for price in (100, 401, 402, 101)] == [400, 401, 0, 101]
    assert scored == {price: revenue(price) for price in range(100, 501)}


@covers("000-S6")
def test_the_second_best_price_is_a_tie_and_prices_need_a_cap():
    prices = range(100, 501)
    best = max(prices, key=revenue)
    second = max(revenue(price) for price in prices if price != best)
    assert (best, second) == (401, 400)
    assert [price for price in prices if revenue(price) == second] == [100, 400]
    # One buyer moves the revenue of the highest price by that price: no cap, no bound.
    assert [dp.Revenue(cap=cap).sensitivity(ADD_REMOVE).linf for cap in (500, 10**6)] == [500, 10**6]
    with pytest.raises(TypeError, match="cap"):
        dp.Revenue()


@covers("000-W4")
@pytest.mark.parametrize(("epsilon", "mean", "best"), [(1, 2.066, 0.00305), (10, 3.122, 0.01017)])
def test_the_exponential_mechanism_on_apples(epsilon, mean, best):
    levels = APPLES.levels(BUYERS)
    law = dp.Exponential.calibrate(epsilon=epsilon, sensitivity=APPLES.sensitivity(ADD_REMOVE)).chances(
        levels
    )
    expected = sum(float(p) * int(score) for p, score in zip(law, levels.scores, strict=True))
    weight = [exp(epsilon * revenue(price) / 1000) for price in range(100, 501)]  # 2 Delta = 1000
    independent = sum(w * revenue(price) for price, w in enumerate(weight, 100)) / sum(weight)
    assert float(expected) == pytest.approx(independent, rel=1e-9)
    assert independent / 100 == pytest.approx(mean, abs=5e-4)
    top = int(np.flatnonzero(levels.scores == 401).item())
    assert levels.sizes[top] == 1
    assert float(law[top]) == pytest.approx(best, abs=5e-6)


# Large ranges.


@covers("000-R1")
def test_a_range_of_two_to_the_two_hundred_candidates_is_sampled_by_its_levels():
    sizes = [1, 2**100, 2**200]
    levels = dp.Levels.of([250, 120, 0], sizes)
    law = dp.Exponential(HALF).pmf(levels)
    weights = [size * 2**score for size, score in zip(sizes, (250, 120, 0), strict=True)]
    assert law == tuple(Fraction(w, sum(weights)) for w in weights)
    assert 0 <= dp.Exponential(HALF).sample(levels) < levels.candidates == sum(sizes)


@covers("000-R1")
def test_intervals_are_levels_of_a_quantile():
    """The median of five records on a grid of 2**10 values: levels against one score for each value."""
    target, records = dp.Quantile.of("0.5"), [3, 3, 200, 700, 1000]
    levels = target.levels([3, 200, 700, 1000], [2, 1, 1, 1], 1024)
    written = [
        -max(0, 2 * sum(r < x for r in records) - 5, 5 - 2 * sum(r <= x for r in records))
        for x in range(1024)
    ]
    assert len(levels.scores) <= 2 * 4 + 1
    by_level = dp.Exponential(HALF).pmf(levels)
    by_value = dp.Exponential(HALF).pmf(written)
    for p, start, size in zip(by_level, levels.starts, levels.sizes, strict=True):
        assert p == sum(by_value[start : start + size])


@covers("000-R1")
def test_products_factor_and_the_integers_themselves_are_geometric():
    choice = dp.Exponential(HALF)
    first, second = [3, 1, 0], [2, 2, 0, 1]
    joint = choice.pmf([a + b for a in first for b in second])
    apart = [p * q for p in choice.pmf(first) for q in choice.pmf(second)]
    assert list(joint) == apart
    # Scores -|z - y| on ever longer intervals: the law tends to the geometric mechanism's.
    law = choice.pmf([-abs(z) for z in range(-60, 61)])
    noise = dp.Geometric(HALF)
    assert all(abs(law[60 + z] - noise.pmf(z)) < Fraction(1, 2**58) for z in range(-3, 4))
    assert noise.mean_error == Fraction(4, 3)  # 2 a / (1 - a**2)
