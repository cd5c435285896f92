from fractions import Fraction
from math import comb, exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit.evidence import Tally, epsilon_lower, lower_limit, upper_count
from discreet.errors import ParameterError


def tail(k: int, n: int, p: Fraction) -> Fraction:
    """Return Pr[Binomial(n, p) >= k], exactly."""
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)), Fraction(0))


@settings(deadline=None)
@given(st.integers(1, 60), st.data(), st.sampled_from([0.2, 0.05, 1e-3, 1e-9]))
def test_lower_limit_is_below_clopper_and_pearsons_and_hardly_so(n, data, alpha):
    k = data.draw(st.integers(1, n))
    p = Fraction(lower_limit(k, n, alpha))
    assert tail(k, n, p) <= Fraction(alpha)
    assert tail(k, n, p * (1 + Fraction(1, 10**5))) > Fraction(alpha)


@settings(deadline=None)
@given(st.integers(1, 40), st.fractions(Fraction(1, 1000), Fraction(1, 2)), st.sampled_from([0.05, 1e-4]))
def test_upper_count_is_the_least_that_holds(n, p, alpha):
    f = upper_count(n, float(p), alpha)
    assert tail(f + 1, n, Fraction(float(p))) <= Fraction(alpha)
    assert f == 0 or tail(f, n, Fraction(float(p))) > Fraction(alpha) * (1 - Fraction(1, 10**8))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
@pytest.mark.parametrize("guesses", [1, 7, 40, 150])
def test_pure_bound_exceeds_the_truth_no_more_often_than_promised(epsilon, guesses):
    q = exp(epsilon) / (1 + exp(epsilon))
    wrongly = sum(
        comb(guesses, k) * q**k * (1 - q) ** (guesses - k)
        for k in range(guesses + 1)
        if epsilon_lower(Tally(guesses, k, guesses - k), 0.05) > epsilon
    )
    assert wrongly <= 0.05


@pytest.mark.parametrize(
    ("epsilon", "delta", "wrong"),
    [(0.5, 0.1, 0.2), pytest.param(1.0, 0.02, 0.1, marks=pytest.mark.fuzz), (1.0, 0.3, 0.02)],
)
def test_bound_with_delta_exceeds_the_truth_no_more_often_than_promised(epsilon, delta, wrong):
    """Enumerate every outcome of a game at the limit c = exp(epsilon) w + delta."""
    trials, alpha = 60, 0.1
    correct = exp(epsilon) * wrong + delta
    passed = 1 - correct - wrong
    wrongly = 0.0
    for k in range(trials + 1):
        for w in range(trials - k + 1):
            if epsilon_lower(Tally(trials, k, w), alpha, delta) > epsilon:
                ways = comb(trials, k) * comb(trials - k, w)
                wrongly += ways * correct**k * wrong**w * passed ** (trials - k - w)
    assert wrongly <= alpha


def test_a_bound_that_forgets_delta_is_wrong_too_often():
    """The twin of the test above: without the free guesses the promise breaks."""
    trials, wrong, delta, epsilon = 60, 0.02, 0.3, 1.0
    correct = exp(epsilon) * wrong + delta
    passed = 1 - correct - wrong
    wrongly = sum(
        comb(trials, k) * comb(trials - k, w) * correct**k * wrong**w * passed ** (trials - k - w)
        for k in range(trials + 1)
        for w in range(trials - k + 1)
        if epsilon_lower(Tally(trials, k, w), 0.1) > epsilon
    )
    assert wrongly > 0.5


def test_a_game_without_errors_proves_what_its_length_allows():
    bound = epsilon_lower(Tally(1000, 1000, 0), 0.05)
    q = 0.05 ** (1 / 1000)
    assert bound == pytest.approx(log(q / (1 - q)), rel=1e-6)
    assert bound <= log(q / (1 - q))


def test_guessing_worse_than_chance_proves_nothing():
    assert epsilon_lower(Tally(100, 20, 80), 0.05) == 0
    assert epsilon_lower(Tally(0, 0, 0), 0.05) == 0


def test_impossible_tallies_are_refused():
    with pytest.raises(ParameterError, match="tally"):
        Tally(10, 8, 3)
