"""Randomized response: exact channel, unbiased estimates, the sample sizes of the lectures."""

from fractions import Fraction
from itertools import product
from math import ceil, comb, exp, log, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.exact.number import log_bounds
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.table import Table
from discreet.privacy.compose import compose
from discreet.privacy.geometric import GeometricLoss

responses = st.builds(
    RandomizedResponse, st.fractions(Fraction(21, 20), 30, max_denominator=20), st.integers(2, 6)
)


@given(responses)
def test_the_channel_is_private_at_exactly_its_odds(response):
    table = Table.of(response.channel())
    assert table.ratio() == response.odds
    low, high = table.epsilon().low, response.guarantee().cost
    assert low <= high <= low + Fraction(1, 2**60)


@given(responses)
def test_a_slightly_smaller_epsilon_is_refused(response):
    table = Table.of(response.channel())
    smaller = response.odds * Fraction(99, 100)
    if smaller >= 1:
        assert table.delta_at_ratio(smaller) > 0
    assert table.delta_at_ratio(response.odds) == 0


@given(st.fractions(Fraction(1, 1000), 20, max_denominator=1000), st.integers(2, 9), st.integers(1, 20))
def test_calibration_never_spends_more_than_asked(epsilon, categories, questions):
    response = RandomizedResponse.calibrate(epsilon=epsilon, categories=categories, questions=questions)
    cost = response.guarantee(questions).cost
    assert epsilon * (1 - Fraction(1, 2**50)) <= cost <= epsilon


@given(responses, st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_the_estimate_is_unbiased_with_the_stated_variance(response, raw):
    truths = [raw[j] for j in range(response.categories)]
    # Each person adds her own indicator to the count of report 0: enumerate its law exactly.
    p, q, everyone = response.truth, response.lie, sum(truths)
    mean = square = Fraction(0)
    for yes, wrong in product(range(truths[0] + 1), range(everyone - truths[0] + 1)):
        chance = comb(truths[0], yes) * p**yes * (1 - p) ** (truths[0] - yes)
        chance *= comb(everyone - truths[0], wrong) * q**wrong * (1 - q) ** (everyone - truths[0] - wrong)
        rest = [0] * (response.categories - 2)
        estimate = response.estimate([yes + wrong, everyone - yes - wrong, *rest])[0]
        mean += chance * estimate
        square += chance * estimate**2
    assert mean == truths[0]
    assert square - mean**2 == response.variance(truths)[0]


@given(responses, st.lists(st.integers(0, 1000), min_size=6, max_size=6))
def test_estimates_add_up_to_the_number_of_people(response, raw):
    reports = raw[: response.categories]
    assert sum(response.estimate(reports)) == sum(reports)


@pytest.mark.parametrize(("questions", "people"), [(1, 3455), (10, 480_117), (100, 66_350_000)])
def test_the_number_of_people_needed_is_the_lectures(questions, people):
    response = RandomizedResponse.calibrate(epsilon=1, questions=questions)
    needed = response.records_needed(within="0.05", beta="0.05", questions=questions)
    width = 1 / tanh(1 / (2 * questions))
    assert needed == ceil(width**2 / (2 * 0.05**2) * log(2 * questions / 0.05))
    assert needed == pytest.approx(people, rel=1e-4 if questions == 100 else 1e-9)


def test_noise_on_the_count_needs_far_fewer_people():
    # Laplace noise of scale k / (n epsilon) on k shares: n >= k ln(k / b) / (t epsilon), exactly fewer.
    for k, bound, exact in [(1, 60, 60), (10, 1060, 1056), (100, 15_202, 15_152)]:
        assert ceil(k * log(k / 0.05) / 0.05) == bound
        at = [n for n in range(exact - 3, exact + 3) if 1 - (1 - exp(-0.05 * n / k)) ** k <= 0.05]
        assert at[0] == exact
        response = RandomizedResponse.calibrate(epsilon=1, questions=k)
        assert response.records_needed(within="0.05", questions=k) > 50 * bound
    for k, bound in [(10, 212), (100, 305)]:
        assert ceil(2 * log(k / 0.05) / 0.05) == bound


def test_the_sample_size_is_sufficient_by_exact_binomial_sums():
    response = RandomizedResponse.calibrate(epsilon=2)
    people = response.records_needed(within="0.2", beta="0.05")
    for yes in (0, people // 2, people):
        outside = 0.0
        law = np.convolve(binomial(yes, float(response.truth)), binomial(people - yes, float(response.lie)))
        for count, chance in enumerate(law):
            share = response.estimate([people - count, count])[1] / people
            outside += chance * (abs(share - Fraction(yes, people)) > Fraction(1, 5))
        assert outside <= 0.05


def binomial(n, p):
    return np.array([comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)])


@pytest.mark.parametrize("categories", [2, 5])
def test_reports_follow_the_channel(categories):
    response = RandomizedResponse(Fraction(3), categories)
    for truth in range(categories):
        reports = np.bincount(response.sample(np.full(50_000, truth)), minlength=categories)
        expected = [50_000 * float(p) for p in response.pmf(truth)]
        statistic = sum((o - e) ** 2 / e for o, e in zip(reports, expected, strict=True))
        assert chi2.sf(statistic, categories - 1) > 1e-8


def test_shapes_and_single_truths_are_kept():
    response = RandomizedResponse(Fraction(5))
    assert response.sample(1) in (0, 1)
    assert isinstance(response.sample(1), int)
    assert response.sample(np.zeros((30, 4), dtype=np.int64)).shape == (30, 4)
    assert response.sample([]).size == 0


@pytest.mark.parametrize("values", [2, -1, [0, 1, 2]])
def test_truths_outside_the_categories_are_refused(values):
    with pytest.raises(ParameterError, match="truths"):
        RandomizedResponse(Fraction(5)).sample(values)


@pytest.mark.parametrize(
    "build",
    [
        lambda: RandomizedResponse(Fraction(1)),
        lambda: RandomizedResponse(Fraction(3), 1),
        lambda: RandomizedResponse.calibrate(epsilon=0),
        lambda: RandomizedResponse.calibrate(epsilon=1, questions=0),
        lambda: RandomizedResponse(Fraction(3)).estimate([1, 2, 3]),
        lambda: RandomizedResponse(Fraction(3)).estimate([1, -2]),
        lambda: RandomizedResponse(Fraction(3), 3).records_needed(within="0.1"),
        lambda: RandomizedResponse(Fraction(3)).records_needed(within=0),
    ],
)
def test_bad_parameters_are_refused(build):
    with pytest.raises(ParameterError):
        build()


@given(responses)
def test_the_profile_is_the_channels(response):
    table = Table.of(response.channel())
    law = response.profile().law
    law = law.atoms() if isinstance(law, GeometricLoss) else law
    for x in (Fraction(1), (1 + response.odds) / 2, response.odds):
        assert law.hockey_stick(x) == table.delta_at_ratio(x)


@pytest.mark.parametrize("categories", [2, 5])
def test_many_reports_compose_to_the_sum_over_their_numbers_of_lies(categories):
    """Among n reports, a truths more than lies about one given value have loss a ln(odds)."""
    response = RandomizedResponse(Fraction(11, 10), categories)
    n, x = 60, Fraction(3, 2)
    p, q, same = response.truth, response.lie, (categories - 2) * response.lie
    law = {0: Fraction(1)}
    for _ in range(n):
        after = {}
        for loss, weight in law.items():
            for step, chance in ((1, p), (-1, q), (0, same)):
                after[loss + step] = after.get(loss + step, Fraction(0)) + weight * chance
        law = after
    truth = sum(
        (w * (1 - x / response.odds**loss) for loss, w in law.items() if response.odds**loss > x), Fraction(0)
    )
    together = compose([(response, n)])
    low, high = together.delta(log_bounds(x)[0]), together.delta(log_bounds(x)[1])
    assert high.low <= truth <= low.high
    assert low.width < Fraction(1, 10**9)
    assert compose([(response, 300)]).epsilon("1e-6").width < Fraction(1, 10**9)
    different = [RandomizedResponse(1 + Fraction(1, k), categories) for k in range(5, 12)]
    both = compose(different).epsilon("1e-6")
    assert both.low <= both.high <= sum(each.guarantee().cost for each in different)
