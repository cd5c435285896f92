"""Cells, or blocks of like cells: the whole release, with its choice, in exact rationals.

The law is computed by hands of their own for histograms of two cells: how the total decides, whether the
block of both is split, and what is counted then.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from discreet.exact.number import log_down
from discreet.query.price.sparse import Sparse
from discreet.workload import AdaptivePlan

HIGH = 6
EPSILON = Fraction(3, 2)


def geometric(alpha, k):
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


def above(alpha, k):
    """Return Pr[Z > k]."""
    return alpha ** (k + 1) / (1 + alpha) if k >= 0 else 1 - alpha ** (-k) / (1 + alpha)


def sparse(epsilon=EPSILON, changes=1):
    plan = AdaptivePlan.calibrate(epsilon=epsilon, cells=2, sensitivity=changes, ranges=False)
    return Sparse(plan)


def law(made, cells, *, exact_total=False):
    """Return the probability of every way and of all counts in a window of it."""
    plan, total = made.plan, sum(cells)
    few = -(-plan.cells // plan.rest) - 1  # the largest whole number with rest * number < cells
    split = 1 - above(plan.counting.alpha, few - total)
    if exact_total:
        split = Fraction(total <= few)
    tree = plan.tree
    score = max(tree.theta - tree.kappa, abs(cells[0] - cells[1]))
    apart = above(tree.alpha, tree.theta - score)
    window = range(-HIGH, HIGH + 1)
    found = {}
    for one in window:
        found["block", one] = split * (1 - apart) * geometric(plan.blocks.alpha, one - total)
        for other in window:
            ways = {"cells": (1 - split, plan.sums.alpha), "blocks": (split * apart, plan.blocks.alpha)}
            for way, (p, alpha) in ways.items():
                each = geometric(alpha, one - cells[0]) * geometric(alpha, other - cells[1])
                found[way, one, other] = p * each
    return found


def worst(made, cells, **broken):
    mine, found = law(made, cells, **broken), Fraction(1)
    for place in (0, 1):
        theirs = law(made, tuple(x + (k == place) for k, x in enumerate(cells)), **broken)
        for outcome, p in mine.items():
            q = theirs[outcome]
            if min(p, q) == 0 < max(p, q):
                return None
            if p:
                found = max(found, p / q, q / p)
    return found


@pytest.mark.parametrize("cells", [(0, 0), (1, 0), (2, 0), (0, 3), (1, 1)], ids=str)
def test_no_outcome_of_any_neighbours_loses_more_than_is_charged(cells):
    made = sparse()
    assert 0 < log_down(worst(made, cells)) <= made.cost.epsilon <= EPSILON


def test_a_choice_by_the_exact_total_is_caught():
    assert worst(sparse(), (1, 0), exact_total=True) is None


def test_whoever_moves_cells_further_is_charged_for_each_step():
    """Two cells of a person who adds two rows: the worst pair is two steps away."""
    made = sparse(changes=2)
    mine, theirs = law(made, (0, 0)), law(made, (2, 0))
    odds = max(max(p / theirs[o], theirs[o] / p) for o, p in mine.items())
    assert log_down(odds) <= made.cost.epsilon <= EPSILON


@pytest.mark.parametrize("cells", [(0, 0), (3, 0)], ids=str)
def test_the_release_draws_from_that_law(cells):
    made, draws = sparse(), 1000
    expected, seen = law(made, cells), Counter()
    for _ in range(draws):
        shown, widths = made.release(np.array(cells))
        if not widths:
            seen["cells", int(shown[0]), int(shown[1])] += 1
        elif widths == (2, 2):
            assert shown[0] == shown[1]
            seen["block", int(2 * shown[0])] += 1
        else:
            assert widths == (1, 1)
            seen["blocks", int(shown[0]), int(shown[1])] += 1
    for outcome, p in expected.items():
        low, high = binom.ppf([1e-11, 1 - 1e-11], draws, float(p))
        assert low <= seen[outcome] <= high


def test_a_cell_holds_at_most_what_its_block_does():
    """Exactly: noise of a block is below the lower end with the stated probability at most."""
    made = sparse()
    noise = made.plan.blocks
    for beta in (Fraction(1, 20), Fraction(1, 3), Fraction(2, 3)):
        low, high = made.holds(Fraction(10), 4, beta)
        assert low == 0
        reach = high - 10
        assert noise.cdf(-int(reach) - 1) <= beta
        if 4 * beta < 1:
            # One step less would be missed too often.
            assert noise.cdf(-int(reach)) > beta
        low, high = made.holds(Fraction(10), 1, beta)
        assert high - 10 == noise.radius(beta)
        assert low == max(0, 20 - high)
    assert made.holds(Fraction(-50), 4, Fraction(1, 20)) == (0, 0)
