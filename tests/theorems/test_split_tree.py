"""The split tree: its stated loss covers every partition of every pair of neighbours, in exact rationals.

The law of all partitions is enumerated by hands of their own: scores by trying every m, probabilities by the
distribution function of the noise.
"""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.exact.number import exp_down
from discreet.mechanisms.geometric import Geometric
from discreet.workload import split
from discreet.workload.split import SplitTree, unevenness


def uneven(cells):
    return min(sum(abs(x - m) for x in cells) for m in range(min(cells), max(cells) + 1))


def law(tree, cells, *, clamped=True, falling=True):
    """Return the probability of every partition, as the places where blocks begin."""
    noise = Geometric(tree.alpha)
    whole = (*cells, *[0] * (2**tree.depth - len(cells)))

    def within(start, width, depth):
        if width == 1:
            return {(start,): Fraction(1)}
        score = uneven(whole[start : start + width]) - (tree.kappa * depth if falling else 0)
        score = max(score, tree.theta - tree.kappa) if clamped else score
        split = 1 - noise.cdf(tree.theta - score)
        found = {(start,): 1 - split}
        left, right = (within(start + k, width // 2, depth + 1) for k in (0, width // 2))
        for one, p in left.items():
            for other, q in right.items():
                found[one + other] = found.get(one + other, 0) + split * p * q
        return found

    shown = {}
    for starts, p in within(0, 2**tree.depth, 0).items():
        kept = tuple(s for s in starts if s < tree.cells)
        shown[kept] = shown.get(kept, 0) + p
    return shown


def worst(tree, cells, **broken):
    """Return the largest ratio of a partition's probabilities over all additions of one row."""
    mine = law(tree, cells, **broken)
    assert sum(mine.values()) == 1
    found = Fraction(1)
    for place in range(len(cells)):
        theirs = law(tree, [x + (k == place) for k, x in enumerate(cells)], **broken)
        found = max(found, *(max(p / theirs[t], theirs[t] / p) for t, p in mine.items()))
    return found


TREES = [
    SplitTree(Fraction(7, 10), 2, 1, 8),
    SplitTree(Fraction(4, 5), 4, 3, 8),
    SplitTree(Fraction(1, 2), 1, 0, 8),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_no_partition_of_any_neighbours_loses_more_than_is_stated(tree):
    random = Random(3)
    odds = exp_down(tree.guarantee().cost)
    largest = Fraction(1)
    for top in (1, 3, 8, 30):
        cells = [random.randrange(top + 1) for _ in range(tree.cells)]
        largest = max(largest, worst(tree, cells))
    for lone in (1, tree.theta, tree.theta + 2 * tree.kappa, 30):
        largest = max(largest, worst(tree, [lone] + [0] * (tree.cells - 1)))
    assert 1 / tree.alpha <= largest <= odds


def test_the_check_catches_scores_that_do_not_fall_and_ones_that_fall_without_an_end():
    """Both weaker trees lose more than the sound one states: on a path of many levels it adds up."""
    tree = SplitTree(Fraction(4, 5), 4, 3, 8)
    odds = exp_down(tree.guarantee().cost)
    lone = [[k] + [0] * 7 for k in (2, 3, 4, 5)]
    assert max(worst(tree, cells, falling=False) for cells in lone) > odds
    far = SplitTree(Fraction(4, 5), 4, 12, 8)
    assert max(worst(far, cells, clamped=False) for cells in lone) > exp_down(far.guarantee().cost)


def test_the_sampler_draws_from_the_enumerated_law():
    tree = SplitTree(Fraction(7, 10), 2, 2, 6)
    cells = np.array([0, 5, 0, 1, 2, 0])
    expected, draws = law(tree, cells.tolist()), 500
    seen = {}
    for _ in range(draws):
        starts = tuple(tree.sample(cells).tolist())
        seen[starts] = seen.get(starts, 0) + 1
    assert set(seen) <= set(expected)
    for starts, p in expected.items():
        low, high = binom.ppf([1e-10, 1 - 1e-10], draws, float(p))
        assert low <= seen.get(starts, 0) <= high


@pytest.mark.parametrize("above", [0, 1])
def test_blocks_are_scored_as_the_law_says_and_split_above_the_threshold_only(monkeypatch, above):
    tree, cells, scored = SplitTree(Fraction(7, 10), 3, 4, 6), (0, 9, 0, 1, 2, 0), []

    class Planned:
        def __init__(self, alpha):
            assert alpha == tree.alpha

        def sample(self, scores):
            scored.append(scores.tolist())
            return np.full(scores.shape, tree.theta + above)

    monkeypatch.setattr(split, "Geometric", Planned)
    whole = (*cells, 0, 0)
    expected = [
        [max(tree.theta - 3, uneven(whole[k : k + width]) - 3 * depth) for k in range(0, 8, width)]
        for depth, width in enumerate((8, 4, 2))
    ]
    starts = tree.sample(np.array(cells)).tolist()
    assert starts == (list(range(6)) if above else [0])
    assert scored == (expected if above else [expected[0], [], []])
    assert min(map(min, expected)) == tree.theta - tree.kappa


def test_probabilities_of_a_split_and_unevenness_are_those_of_their_definitions():
    random = Random(5)
    for tree in TREES:
        noise = Geometric(tree.alpha)
        for _ in range(10):
            c, depth = random.randrange(40), random.randrange(3)
            score = max(tree.theta - tree.kappa, c - tree.kappa * depth)
            assert tree.splits(c, depth) == 1 - noise.cdf(tree.theta - score)
    blocks = [[random.randrange(20) for _ in range(width)] for width in (1, 2, 3, 8) for _ in range(5)]
    for block in blocks:
        assert unevenness(np.array([block])).tolist() == [uneven(block)]


@pytest.mark.parametrize("epsilon", ["0.001", "0.25", "3"])
def test_calibration_takes_what_is_asked_and_hardly_less(epsilon):
    tree = SplitTree.calibrate(epsilon=epsilon, cells=4096, theta=10)
    asked = Fraction(epsilon)
    assert asked * Fraction(9, 10) < tree.guarantee().cost <= asked
    assert tree.guarantee(3).cost == 3 * tree.guarantee().cost


def test_one_cell_empty_cells_and_wrong_shapes():
    lone = SplitTree(Fraction(1, 2), 1, 1, 1)
    assert lone.sample(np.array([7])).tolist() == [0]
    assert lone.depth == 0
    empty = SplitTree.calibrate(epsilon=1, cells=100, theta=500).sample(np.zeros(100, dtype=np.int64))
    assert empty[0] == 0
    huge = np.array([2**62, 0, 2**62 - 1], dtype=object)
    assert SplitTree(Fraction(1, 2), 1, 1, 3).sample(huge)[0] == 0
    for wrong in ({"alpha": Fraction(1)}, {"kappa": 0}, {"cells": 0}):
        with pytest.raises(ParameterError):
            SplitTree(**({"alpha": Fraction(1, 2), "kappa": 1, "theta": 1, "cells": 4} | wrong))
    with pytest.raises(ParameterError, match="expected 3 counts"):
        SplitTree(Fraction(1, 2), 1, 1, 3).sample(np.array([1, 2]))
    with pytest.raises(ParameterError, match="too small"):
        SplitTree.calibrate(epsilon="1e-14", cells=4, theta=1)
