"""Optimal composition of pure guarantees against brute force over every pattern of answers."""

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.privacy.loss import GeometricLoss, ResponseLoss
from discreet.privacy.optimal import Responses


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def _every_pattern(costs, epsilon):
    """delta(epsilon) of independent randomised responses, from the definition."""
    total, x = mpf(0), mp.exp(_mpf(epsilon))
    chances = [mp.exp(_mpf(cost)) / (1 + mp.exp(_mpf(cost))) for cost in costs]
    for pattern in product((True, False), repeat=len(costs)):
        p = mp.fprod(chance if true else 1 - chance for chance, true in zip(chances, pattern, strict=True))
        q = mp.fprod(1 - chance if true else chance for chance, true in zip(chances, pattern, strict=True))
        total += max(p - x * q, mpf(0))
    return total


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 40).map(lambda n: Fraction(n, 20)), min_size=1, max_size=7),
    st.fractions(0, 6, max_denominator=50),
)
def test_unequal_costs_agree_with_every_pattern_of_answers(costs, epsilon):
    found = Responses.of([(ResponseLoss(cost), 1) for cost in costs])
    assert found is not None
    low, high = found.delta(epsilon)
    exact = _every_pattern(costs, epsilon)
    # Where the costs add up to epsilon itself the sum of patterns is zero but for its own rounding.
    assert _mpf(low) * (1 - mpf(10) ** -40) <= exact + mpf(10) ** -50
    assert exact <= _mpf(high) * (1 + mpf(10) ** -40) + mpf(10) ** -50


def _rational_delta(alpha, k, x):
    """k releases of geometric noise on a count, at exp(epsilon) = x, all in rationals."""
    p, q = 1 / (1 + alpha), alpha / (1 + alpha)
    return sum(
        (max(comb(k, lies) * (p ** (k - lies) * q**lies - x * q ** (k - lies) * p**lies), Fraction(0)))
        for lies in range(k + 1)
    )


@given(
    st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=12),
    st.integers(1, 40),
    st.fractions(Fraction(1, 10**40), Fraction(9, 10)),
)
def test_geometric_releases_meet_delta_exactly_where_rationals_say(alpha, k, delta):
    found = Responses.of([(GeometricLoss(alpha, 1), k)])
    assert found is not None
    low, high = found.epsilon(delta)
    if high == 0:
        assert _rational_delta(alpha, k, Fraction(1)) <= delta
        return
    from discreet.exact.number import exp_down, exp_up

    assert _rational_delta(alpha, k, exp_down(low)) >= delta
    assert _rational_delta(alpha, k, exp_up(high)) <= delta
    assert high - low <= high / 2**60


@pytest.mark.parametrize(
    ("cost", "k", "delta", "expected"),
    [
        ("0.05", 20, "1e-3", 0.49799),
        ("0.1", 100, "1e-6", 4.7746),
        ("0.1", 1000, "1e-6", 19.3447),
        ("0.01", 1000, "1e-6", 1.36545),
        ("0.5", 50, "1e-5", 18.933),
        ("1", 8, "1e-6", 7.999988),
    ],
)
def test_the_published_table_is_the_exact_sum(cost, k, delta, expected):
    found = Responses.of([(ResponseLoss(Fraction(cost)), k)])
    low, high = found.epsilon(Fraction(delta))
    assert float(high) == pytest.approx(expected, rel=2e-5)
    assert _binomial_delta(Fraction(cost), k, high) <= _mpf(Fraction(delta)) * (1 + mpf(10) ** -25)
    assert _binomial_delta(Fraction(cost), k, low) >= _mpf(Fraction(delta)) * (1 - mpf(10) ** -25)


def _binomial_delta(cost, k, epsilon):
    c, x = _mpf(cost), mp.exp(_mpf(epsilon))
    with mp.workdps(120):
        total = mp.fsum(
            comb(k, lies) * max(mp.exp((k - lies) * c) - x * mp.exp(lies * c), mpf(0))
            for lies in range(k + 1)
        )
        return total / (1 + mp.exp(c)) ** k


def test_costs_without_a_usable_unit_are_left_to_other_routes():
    assert (
        Responses.of([(ResponseLoss(Fraction(1, 10**9 + 7)), 4), (ResponseLoss(Fraction(1, 10**9 + 9)), 1)])
        is None
    )
    assert Responses.of([(ResponseLoss(Fraction(1)), 10**6)]) is None
    assert Responses.of([(GeometricLoss(Fraction(1, 2), 2), 1)]) is None
    assert (
        Responses.of([(GeometricLoss(Fraction(1, 2), 1), 1), (GeometricLoss(Fraction(1, 3), 1), 1)]) is None
    )


@pytest.mark.parametrize("left", ["1/4", "1/5", "1/1000", "1/1000000", "2/3"])
def test_costs_near_what_delta_hides_are_told_from_those_above(left):
    """Around ln((1 + d) / (1 - d)), below which epsilon is zero, and around three times d."""
    d = Fraction(left)
    with mp.workdps(40):
        edge = Fraction(str(mp.nstr(mp.log((1 + _mpf(d)) / (1 - _mpf(d))), 30)))
        for cost in (edge * Fraction(99, 100), edge * Fraction(101, 100), 3 * d, 3 * d + Fraction(1, 10**9)):
            exact = max(mp.log(mp.exp(_mpf(cost)) * (1 - _mpf(d)) - _mpf(d)), mpf(0))
            low, high = ResponseLoss(cost).epsilon(d)
            assert _mpf(low) <= exact * (1 + mpf(10) ** -25)
            assert exact <= _mpf(high) * (1 + mpf(10) ** -25)
            assert (high == 0) == (cost <= edge)
            twice = Responses.of([(ResponseLoss(cost), 2)])
            low, high = twice.epsilon(d)
            # Of two responses, by the four patterns of their answers.
            at = _every_pattern([cost, cost], (low + high) / 2)
            assert abs(at - _mpf(d)) < mpf(10) ** -20 or (high == 0 and at <= _mpf(d))


def test_a_few_different_responses_are_what_their_patterns_say():
    """Up to four of them, of costs with nothing in common, also where several patterns lose the same."""
    for costs in (
        ["0.741660", "1.715989"],
        ["1/7", "2/7", "3/7"],
        ["0.1", "0.1", "0.30000001", "5"],
        ["1e-9", "20", "1/3"],
    ):
        exact = [Fraction(cost) for cost in costs]
        laws = {ResponseLoss(cost): exact.count(cost) for cost in exact}
        found = Responses.of(list(laws.items()))
        for epsilon in (Fraction(0), Fraction(1, 3), exact[0], sum(exact) - exact[0] / 3):
            low, high = found.delta(epsilon)
            there = _every_pattern(exact, epsilon)
            assert abs(there - _mpf(low)) <= there * mpf(10) ** -24
            assert high - low <= high / 2**90
            if low:
                around = found.epsilon((low + high) / 2)
                assert around[0] - Fraction(1, 10**18) <= epsilon <= around[1] + Fraction(1, 10**18)
