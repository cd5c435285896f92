"""Adaptive histograms: within the price on either way, and on the better one where the data is sparse."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.workload import AdaptivePlan
from discreet.workload.adaptive import BRANCHING, MeasuredBlocks, MeasuredSums, least_squares, possible
from discreet.workload.strategy import Hierarchy, information


@pytest.mark.parametrize("epsilon", ["0.01", "1", "7/3"])
@pytest.mark.parametrize("total", [None, 0, 10**6])
def test_either_way_costs_what_was_asked_at_most(epsilon, total):
    for cells, changes in ((1, 1), (300, 2), (4096, 1)):
        for ranges in (True, False):
            plan = AdaptivePlan.calibrate(
                epsilon=epsilon, cells=cells, total=total, sensitivity=changes, ranges=ranges
            )
            asked = Fraction(epsilon)
            assert asked * Fraction(9, 10) < plan.guarantee.cost <= asked


def test_few_rows_are_split_and_many_are_summed():
    plan = AdaptivePlan.calibrate(epsilon=1, cells=1000)
    assert plan.splits(2000)
    assert not plan.splits(3000)
    few = plan.measure(np.zeros(1000, dtype=np.int64))
    assert isinstance(few, MeasuredBlocks)
    assert few.counts.shape == few.starts.shape
    many = plan.measure(np.full(1000, 50))
    assert isinstance(many, MeasuredSums)
    assert [level.size for level in many.levels] == [4096, 256, 16, 1]
    # What is public costs nothing and decides alone.
    public = AdaptivePlan.calibrate(epsilon=1, cells=1000, total=50_000)
    assert public.counting is None
    assert isinstance(public.measure(np.zeros(1000, dtype=np.int64)), MeasuredSums)
    for measured in (few, many):
        cells = plan.estimate(measured)
        assert cells.shape == (1000,)
        assert cells.min() >= 0


def test_where_cells_are_asked_each_is_measured_or_blocks_of_them():
    plan = AdaptivePlan.calibrate(epsilon=1, cells=100, ranges=False)
    # At a large epsilon cells that chance makes uneven are measured one by one.
    assert plan.splits(50)
    assert not plan.splits(60)
    small = AdaptivePlan.calibrate(epsilon="0.1", cells=100, ranges=False)
    assert small.splits(1000)
    assert not small.splits(1100)
    many = plan.measure(np.full(100, 50))
    assert isinstance(many, MeasuredSums)
    assert [level.size for level in many.levels] == [100]
    # Nothing is spent on sums: 49 of 50 parts of the price are left for the cells.
    assert plan.sums == Geometric.calibrate(epsilon=Fraction(49, 50))
    cells = plan.estimate(MeasuredSums((np.array([3, -4] * 50),)))
    assert cells.tolist() == [3, 0] * 50


def test_one_walk_up_and_one_down_is_least_squares():
    rng = np.random.default_rng(2)
    levels = [rng.normal(0, 1, BRANCHING**2), rng.normal(0, 1, BRANCHING), rng.normal(0, 1, 1)]
    found = least_squares(levels)
    tree = Hierarchy(BRANCHING**2, BRANCHING)
    rows = [np.kron(np.eye(level.size), np.ones(BRANCHING**2 // level.size)) for level in levels]
    target = sum(row.T @ level for row, level in zip(rows, levels, strict=True))
    assert np.allclose(found[0], np.linalg.solve(information(tree), target))
    for finer, coarser in pairwise(found):
        assert np.allclose(finer.reshape(-1, BRANCHING).sum(axis=1), coarser)


def test_possible_counts_keep_the_sums_above_them():
    rng = np.random.default_rng(3)
    drawn = least_squares([rng.normal(1, 4, 256), rng.normal(16, 4, 16), rng.normal(256, 4, 1)])
    cells = possible(drawn)
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(float(drawn[-1][0]))
    assert possible([np.ones(16), np.array([-5.0])]).tolist() == [0.0] * 16


def test_thin_data_is_measured_better_than_by_sums():
    counts = np.full(4096, 3)
    truth = np.cumsum(counts)
    errors = []
    for total in (0, 10**9):
        plan = AdaptivePlan.calibrate(epsilon="0.03", cells=4096, total=total)
        made = [np.cumsum(plan.estimate(plan.measure(counts))) for _ in range(4)]
        errors.append(np.mean([np.square(one - truth).mean() for one in made]))
    assert errors[0] < errors[1]


def test_what_cannot_be_measured_is_refused():
    for wrong in ({"cells": 0}, {"cells": 2**21}, {"epsilon": 0}, {"sensitivity": -1}):
        with pytest.raises(ParameterError):
            AdaptivePlan.calibrate(**({"epsilon": 1, "cells": 8} | wrong))
    with pytest.raises(ParameterError, match="expected 8 counts"):
        AdaptivePlan.calibrate(epsilon=1, cells=8).measure(np.zeros(9, dtype=np.int64))
    with pytest.raises(ParameterError, match="integers"):
        AdaptivePlan.calibrate(epsilon=1, cells=8).measure(np.zeros(8))
