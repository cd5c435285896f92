"""Worked out by hand or by brute force: groups, prices, sums, half-lines, and the safe side of rounding."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.exact.sample import uniform_below
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.compose import compose
from discreet.privacy.filter import ApproximateBudget, Cost, Filter
from discreet.privacy.gaussian import GaussianLoss, inverted
from discreet.privacy.geometric import GeometricLoss
from discreet.privacy.guarantee import Approximate, Concentrated
from discreet.privacy.sensitivity import total

THIRD = Fraction(1, 3)


def exact(x):
    return mpf(x.numerator) / x.denominator


def test_a_uniform_number_is_below_its_bound():
    """Two bits hold 0 to 3: if the bound 3 could be drawn, ten thousand draws would show it."""
    assert set(uniform_below(3, 10_000).tolist()) == {0, 1, 2}


def test_sums_at_the_lower_end_of_64_bits_do_not_wrap():
    drawn = Geometric(Fraction(1, 2)).sample(np.full(300, -(2**63)))
    assert all(-(2**63) - 1000 < int(x) < -(2**63) + 1000 for x in drawn)
    assert any(int(x) < -(2**63) for x in drawn)


def test_slacks_add_up_until_the_budget_refuses():
    slack = Fraction(1, 10**7)
    assert (Cost(THIRD, THIRD, slack) + Cost(THIRD, THIRD, slack)).delta == 2 * slack
    cost, filtered = Cost(Fraction(1, 100), Fraction(1, 10**6), slack), Filter(ApproximateBudget(1, "1e-6"))
    spent = 0
    while filtered.can_spend(cost):
        filtered, spent = filtered.spend(cost), spent + 1
    assert spent * slack <= Fraction(1, 10**6) < 20 * slack
    assert 1 <= spent <= 10


def test_the_price_of_repeated_releases_repeats_every_part():
    price = compose([(Approximate(THIRD, "1e-6"), 5)]).price()
    assert (price.epsilon, price.delta) == (5 * THIRD, Fraction(5, 10**6))


@pytest.mark.parametrize("size", [2, 3, 7])
def test_gaussian_and_concentrated_groups_grow_with_the_square(size):
    """Noise for one unit, moved by k of them, is noise moved k times as far."""
    assert GaussianLoss(THIRD).group(size) == GaussianLoss(THIRD * size**2)
    assert Concentrated(THIRD).group(size) == Concentrated(THIRD * size**2)


@pytest.mark.parametrize(("low", "high", "moves"), [(-10, 3, 10), (-1, 7, 7), (-5, -2, 5), (0, 4, 4)])
def test_one_record_moves_a_sum_by_its_largest_size(low, high, moves):
    assert total(low, high, Adjacency.ADD_REMOVE).l1 == moves


@pytest.mark.parametrize("shift", [1, 2, 5, 8])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(9, 10)])
def test_the_curve_of_geometric_noise_is_its_best_half_line(alpha, shift):
    law, a = GeometricLoss(alpha, shift), exact(alpha)

    def below(m):
        return a**-m / (1 + a) if m < 0 else 1 - a ** (m + 1) / (1 + a)

    for tenth in range(11):
        epsilon = law.pure * Fraction(tenth, 11)
        best = max(below(m) - mp.exp(exact(epsilon)) * below(m - shift) for m in range(-60, 60))
        low, high = law.delta(epsilon)
        assert exact(low) - mpf(10) ** -25 <= best <= exact(high) + mpf(10) ** -25


@pytest.mark.parametrize("alpha", [THIRD, Fraction(9, 10), Fraction(2, 7)])
def test_the_largest_loss_is_not_rounded_below_the_truth(alpha):
    with mp.workdps(80):
        assert exact(GeometricLoss(alpha, 3).pure) >= 3 * mp.log(1 / exact(alpha))


def test_a_curve_that_is_only_enclosed_is_inverted_on_the_safe_side():
    """Whatever lies between the ends of an enclosure, the epsilon returned keeps delta at its upper end."""

    def curve(epsilon):
        middle, width = max(Fraction(0), Fraction(1, 2) - epsilon / 8), Fraction(1, 32)
        return max(Fraction(0), middle - width), middle + width

    for delta in (Fraction(1, 4), Fraction(1, 3), Fraction(1, 10)):
        low, high = inverted(curve, Fraction(4), delta)
        assert curve(high)[1] <= delta
        assert curve(low)[0] >= delta or low == 0
