"""Adaptive histograms: within the price on either way, and on the better one where the data is sparse."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Pure
from discreet.workload import AdaptivePlan, SplitTree
from discreet.workload.adaptive import MeasuredBlocks, MeasuredSums, least_squares, possible
from discreet.workload.forecast import error
from discreet.workload.linear import AllRange
from discreet.workload.plan import plan as planned
from discreet.workload.reconcile import MeasuredStrategy
from discreet.workload.strategy import Hierarchy, information, matrix_of


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


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("cells", [100, 1000, 5000])
@pytest.mark.parametrize(("people", "total"), [(0, None), (0, 10), (120, None), (120, 120), (10**5, None)])
def test_what_is_drawn_adds_up_to_the_price_at_most(ranges, cells, people, total, monkeypatch):
    """Trees of sections share no cell, so the dearest counts; looks, counts and levels of sums add up."""
    drawn, trees = [], []
    sample, split = Geometric.sample, SplitTree.sample

    def noted(noise, *given):
        drawn.append(noise.guarantee(1).cost)
        return sample(noise, *given)

    def looked(tree, histogram):
        before = len(drawn)
        found = split(tree, histogram)
        del drawn[before:]
        trees.append(tree.guarantee().cost)
        return found

    plan = AdaptivePlan.calibrate(epsilon=1, cells=cells, total=total, ranges=ranges)
    monkeypatch.setattr(Geometric, "sample", noted)
    monkeypatch.setattr(SplitTree, "sample", looked)
    counts = np.random.default_rng(8).multinomial(people, np.ones(cells) / cells)
    for _ in range(10):
        drawn.clear()
        trees.clear()
        found = plan.measure(counts)
        if isinstance(found, MeasuredStrategy):
            moved = int(np.abs(matrix_of(found.strategy)).sum(axis=0).max())
            drawn[-1] = found.noise.guarantee(moved).cost
        assert Fraction(9, 10) < sum(drawn) + max(trees, default=0) <= plan.guarantee.cost <= 1


def test_few_rows_are_split_and_many_are_summed():
    plan = AdaptivePlan.calibrate(epsilon=1, cells=1000)
    assert plan.splits(2000)
    assert not plan.splits(3000)
    few = plan.measure(np.zeros(1000, dtype=np.int64))
    assert isinstance(few, MeasuredBlocks)
    assert few.counts.shape == few.starts.shape
    many = plan.measure(np.full(1000, 50))
    assert isinstance(many, MeasuredStrategy)
    wide = AdaptivePlan.calibrate(epsilon=1, cells=8000).measure(np.full(8000, 50))
    # Blocks of 1, 20 and 400 cells: the sum of everything is not measured.
    assert [level.size for level in wide.levels] == [8000, 400, 20]
    # What is public costs nothing and decides alone.
    public = AdaptivePlan.calibrate(epsilon=1, cells=1000, total=50_000)
    assert public.counting is None
    assert isinstance(public.measure(np.zeros(1000, dtype=np.int64)), MeasuredStrategy)
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


@pytest.mark.parametrize("cells", [1, 7, 300, 600])
def test_many_rows_are_measured_as_a_plan_for_all_ranges_would(cells):
    """Nothing is lost but the look at the number of rows: a tree of sums erred by a tenth to a fifth more."""
    found, best = AdaptivePlan.calibrate(epsilon=1, cells=cells), planned(AllRange(cells), Pure(Fraction(1)))
    made = error(AllRange(cells), found.planned, Pure(found.rest)).root
    assert made <= best.error.root * 1.04
    tree = error(AllRange(cells), Hierarchy(cells, found.branching, rooted=False), Pure(found.rest)).root
    assert made <= tree * (0.93 if cells >= 300 else 1)
    assert AdaptivePlan.calibrate(epsilon=1, cells=5000).planned is None


@pytest.mark.parametrize("branching", [3, 16])
def test_one_walk_up_and_one_down_is_least_squares(branching):
    rng = np.random.default_rng(2)
    cells = branching**3
    levels = [rng.normal(0, 1, cells // branching**k) for k in range(3)]
    found = least_squares(levels, branching)
    tree = Hierarchy(cells, branching, rooted=False)
    rows = [np.kron(np.eye(level.size), np.ones(cells // level.size)) for level in levels]
    target = sum(row.T @ level for row, level in zip(rows, levels, strict=True))
    assert np.allclose(found[0], np.linalg.solve(information(tree), target))
    for finer, coarser in pairwise(found):
        assert np.allclose(finer.reshape(-1, branching).sum(axis=1), coarser)


def test_possible_counts_keep_the_sums_above_them():
    rng = np.random.default_rng(3)
    drawn = least_squares([rng.normal(1, 4, 256), rng.normal(16, 4, 16)], 16)
    cells = possible(drawn, 16)
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(float(drawn[-1].sum()))
    assert possible([np.ones(16), np.array([-5.0])], 16).tolist() == [0.0] * 16


@pytest.mark.parametrize("cells", [1, 2, 7, 100, 256, 1000, 4096, 2**20])
def test_sums_have_the_shape_that_is_expected_to_err_least(cells):
    plan = AdaptivePlan.calibrate(epsilon=1, cells=cells)
    assert plan.branching**plan.height >= cells

    def forecast(branching, height):
        return height**3 * (branching - 1)

    for height in range(1, 12):
        fewest = next(b for b in range(2, cells + 2) if b**height >= cells)
        assert forecast(plan.branching, plan.height) <= forecast(fewest, height)


@pytest.mark.parametrize("cells", [1, 100, 256, 1000, 4096])
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("total", [-(10**6), 0, 10, 1_000, 10**5])
def test_sections_are_a_power_of_two_and_none_is_narrow(cells, ranges, total):
    plan = AdaptivePlan.calibrate(epsilon="0.1", cells=cells, ranges=ranges)
    found = plan.sections(total)
    assert found & (found - 1) == 0
    assert found == 1 or cells / found >= 16


def test_a_tree_of_a_section_loses_no_more_than_that_of_all_cells():
    for epsilon, cells in (("0.01", 256), (1, 1000), (3, 4096)):
        whole = AdaptivePlan.calibrate(epsilon=epsilon, cells=cells).tree
        costs = [replace(whole, cells=k).guarantee().cost for k in (1, 2, 3, 16, cells // 4, cells)]
        assert costs == sorted(costs)


def test_whoever_asks_about_hidden_people_has_equal_blocks_and_all_of_the_price():
    plan = AdaptivePlan.calibrate(epsilon=1, cells=1000, total=30)
    assert plan.again is None
    assert plan.hidden(30)
    assert not plan.hidden(50)
    assert plan.measure(np.zeros(1000, dtype=np.int64)).starts.tolist() == list(range(0, 1000, 125))
    private = AdaptivePlan.calibrate(epsilon=1, cells=1000)
    # Three looks are paid for: the total, the total again, and what is counted.
    assert private.again == Geometric.calibrate(epsilon=Fraction(49, 500))
    cells = AdaptivePlan.calibrate(epsilon=1, cells=1000, ranges=False)
    assert cells.again is None
    assert not cells.hidden(0)


def test_blocks_of_sections_cover_all_cells_and_never_cross_a_border():
    counts = np.random.default_rng(6).poisson(0.05, 1000)
    for total, ranges in ((200, True), (200, False), (10, True)):
        plan = AdaptivePlan.calibrate(epsilon=1, cells=1000, total=total, ranges=ranges)
        starts = plan.measure(counts).starts
        assert starts[0] == 0
        assert (np.diff(starts) > 0).all()
        width = -(-1000 // plan.sections(total))
        assert set(range(0, 1000, width)) <= set(starts.tolist())


def test_more_people_than_blocks_can_tell_apart_are_summed():
    plan = AdaptivePlan.calibrate(epsilon=1, cells=4096, total=2000)
    assert not plan.splits(2000)
    assert plan.splits(1999)


def test_a_crowd_at_one_end_that_noise_hides_is_not_spread_over_everything():
    """A thousand people in the first cells at epsilon .01: one block said that they were everywhere."""
    counts = np.zeros(1024, dtype=np.int64)
    counts[:64] = np.random.default_rng(7).multinomial(1000, np.ones(64) / 64)
    truth = np.cumsum(counts)
    plan = AdaptivePlan.calibrate(epsilon="0.01", cells=1024, total=1000)
    made = [np.cumsum(plan.estimate(plan.measure(counts))) for _ in range(60)]
    spread = np.linspace(1000 / 1024, 1000, 1024)
    assert np.mean([np.square(one - truth).mean() for one in made]) < np.square(spread - truth).mean() * 0.8


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
