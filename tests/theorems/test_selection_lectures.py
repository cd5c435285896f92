"""What the lectures say about selection: theorems hold, figures are recomputed, slips are slips."""

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.exact.number import exp_down
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import workload

BUYERS = (100, 100, 100, 401)
CUBED = exp_down(Fraction(-3))
FINE = 1000
"""Score units per unit of the lectures' real-valued scores, where a quantile is compared."""


def revenue(cents):
    return cents * sum(value >= cents for value in BUYERS)


def failure(choice, gap, candidates):
    """The probability of missing the one best candidate when all others lie `gap` below it."""
    return 1 - choice.pmf([gap] + [0] * (candidates - 1))[0]


# Apples: which price would bring the most money?


def test_the_four_printed_revenues_are_right():
    assert [revenue(price) for price in (100, 401, 402, 101)] == [400, 401, 0, 101]


def test_the_second_best_price_is_a_tie_that_the_slide_overlooks():
    prices = range(100, 501)
    best = max(prices, key=revenue)
    second = max(revenue(price) for price in prices if price != best)
    assert best == 401
    assert [price for price in prices if revenue(price) == second] == [100, 400]


@pytest.mark.parametrize(
    ("epsilon", "mean", "best"),
    [pytest.param(1, 2.066, 0.00305, marks=pytest.mark.fuzz), (10, 3.122, 0.01017)],
)
def test_the_exponential_mechanism_on_apples(epsilon, mean, best):
    # One buyer moves the revenue of a price by at most that price: the cap of $5.00.
    prices = range(100, 501)
    choice = Exponential.calibrate(epsilon=epsilon, sensitivity=500)
    law = choice.pmf([revenue(price) for price in prices])
    expected = sum(p * revenue(price) for p, price in zip(law, prices, strict=True))
    assert float(expected) / 100 == pytest.approx(mean, abs=6e-4)
    assert float(law[401 - 100]) == pytest.approx(best, abs=6e-6)


# Eye colours: five candidates, failure at most e**-3 < 0.05.


def test_e_to_the_minus_three_is_below_one_in_twenty():
    assert Fraction(1, 20) > CUBED
    assert float(CUBED) == pytest.approx(0.0498, abs=5e-5)


def test_the_printed_7_4_is_a_decimal_logarithm_and_false():
    from math import log10

    assert 2 * (log10(5) + 3) == pytest.approx(7.398, abs=5e-4)
    assert 2 * (log(5) + 3) == pytest.approx(9.2189, abs=5e-5)
    # Scores in tenths of a person: four colours exactly 7.4 / epsilon below the best, at epsilon = 1.
    choice = Exponential.calibrate(epsilon=1, sensitivity=10)
    assert float(failure(choice, 74, 5)) == pytest.approx(0.0900, abs=5e-5)
    assert failure(choice, 74, 5) > Fraction(1, 20)


def test_the_corrected_bound_holds_and_the_exact_quantile_is_smaller():
    general = Exponential.calibrate(epsilon=1, sensitivity=FINE)
    monotone = Exponential.calibrate(epsilon=1, sensitivity=FINE, monotone=True)
    assert general.shortfall(CUBED, candidates=5) / FINE == pytest.approx(8.670, abs=2e-3)
    assert monotone.shortfall(CUBED, candidates=5) / FINE == pytest.approx(4.335, abs=2e-3)
    assert general.shortfall(CUBED, candidates=5) / FINE < 2 * (log(5) + 3)
    assert monotone.shortfall(CUBED, candidates=5) / FINE < log(5) + 3 == pytest.approx(4.609, abs=5e-4)


def test_permute_and_flip_makes_the_slides_number_true():
    tenths = PermuteAndFlip.calibrate(epsilon=1, sensitivity=10)
    assert float(failure(tenths, 74, 5)) == pytest.approx(0.0482, abs=5e-5)
    assert failure(tenths, 74, 5) < CUBED
    fine = PermuteAndFlip.calibrate(epsilon=1, sensitivity=FINE)
    assert fine.shortfall(CUBED, candidates=5) / FINE == pytest.approx(7.335, abs=2e-3)


# The accuracy theorem, its corollaries, and the misprint in its second statement.


@given(
    st.fractions(Fraction(1, 5), Fraction(9, 10), max_denominator=20),
    st.lists(st.integers(0, 8), min_size=1, max_size=7),
)
def test_the_accuracy_theorem(alpha, scores):
    """Pr[gap >= g] <= (|R| / |R_OPT|) alpha**g: the theorem with alpha**g = e**-t |R_OPT| / |R|."""
    law, best = Exponential(alpha).pmf(scores), max(scores)
    for g in range(10):
        missed = sum(p for p, score in zip(law, scores, strict=True) if best - score >= g)
        assert missed <= Fraction(len(scores), scores.count(best)) * alpha**g


def test_the_bound_with_t_inside_the_logarithm_is_false():
    # As printed: Pr[q <= OPT - (2 D / eps) ln(|R| + t)] <= e**-t, here with |R| = 2 and t = 5.
    choice = Exponential.calibrate(epsilon=1, sensitivity=100)
    gap = int(200 * log(2 + 5))
    assert float(failure(choice, gap, 2)) == pytest.approx(0.125, abs=1e-3)
    assert failure(choice, gap, 2) > Fraction(68, 10_000) > exp(-5)
    # As meant, ln|R| + t, it holds.
    assert float(failure(choice, int(200 * (log(2) + 5)), 2)) < exp(-5)


def test_the_printed_corollary_on_the_mean_fails_for_small_optima():
    # E[q] >= OPT - (2 D / eps) (ln|R| + ln OPT) - 1 with OPT = 1/100, |R| = 2, D / eps = 1.
    right = 0.01 - 2 * (log(2) + log(0.01)) - 1
    assert right == pytest.approx(6.8, abs=0.05)
    assert right > 0.01  # no expectation can exceed the optimum


@settings(max_examples=50)
@given(
    st.fractions(Fraction(1, 5), Fraction(9, 10), max_denominator=20),
    st.lists(st.integers(0, 30), min_size=1, max_size=6),
)
def test_the_corrected_corollary_holds_without_assumptions(alpha, scores):
    """E[best - selected] <= ln|R| / ln(1 / alpha), which is (2 D / eps) ln|R|."""
    bound = log(len(scores)) / -log(alpha)
    assert float(Exponential(alpha).mean_shortfall(scores=scores)) <= bound + 1e-9


def test_the_error_does_not_depend_on_the_number_of_people():
    choice = Exponential.calibrate(epsilon=1, sensitivity=1)
    assert choice.pmf([50, 40, 30]) == choice.pmf([10**12 + 50, 10**12 + 40, 10**12 + 30])


def test_the_vector_of_all_scores_may_be_far_more_sensitive_than_each_score():
    # One record scores one for every candidate it likes: here all four of them.
    likes = [lambda record, bit=bit: record >> bit & 1 for bit in range(4)]
    moved = workload(likes, range(16), Adjacency.ADD_REMOVE)
    assert (moved.l1, moved.linf) == (4, 1)
    selecting = Exponential.calibrate(epsilon=1, sensitivity=moved)
    assert selecting.guarantee(moved).cost <= 1
    adding = Geometric.calibrate(epsilon=1, sensitivity=moved)
    assert adding.alpha > selecting.alpha


# A counting query on {0, ..., 100}: mechanisms of the same privacy and lower utility.


def test_randomized_response_serves_a_count_badly():
    report = RandomizedResponse.calibrate(epsilon=1, categories=101)
    assert float(report.truth) == pytest.approx(0.02646, abs=5e-6)
    assert float(report.truth) == pytest.approx(exp(1) / (exp(1) + 100), rel=1e-12)


def test_the_exponential_mechanism_serves_a_count_less_well_than_geometric_noise():
    choice = Exponential.calibrate(epsilon=1, sensitivity=1)
    rows = [[float(p) for p in choice.pmf([-abs(y - z) for z in range(101)])] for y in range(101)]
    guessing = sum(max(rows[y][z] for y in range(101)) for z in range(101)) / 101
    assert guessing == pytest.approx(0.25118, abs=5e-6)
    # With the best guess w for each answer z, the gain 100 - |w - y|.
    regret = sum(
        min(sum(rows[y][z] * abs(w - y) for y in range(101)) for w in range(101)) for z in range(101)
    )
    assert 100 - regret / 101 == pytest.approx(98.1303, abs=5e-5)
    a = float(Geometric.calibrate(epsilon=1).alpha)
    assert guessing < (101 - 99 * a) / (101 * (1 + a)) == pytest.approx(0.467443, abs=5e-7)
