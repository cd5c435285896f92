"""Records along a forest: the best one, drawn so that its tables are met as nearly as whole records can."""

from itertools import chain, combinations

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.workload import Expansion, KnownTables, ShrunkTables, draw_records, spanning_forest, tabulate
from discreet.workload.forest import apportioned
from discreet.workload.marginal import subsets
from discreet.workload.shrink import dependence
from discreet.workload.table import centred

SIZES = (4, 3, 3, 2)
PAIRS = tuple(combinations(range(4), 2))


def exactly(records, sizes=SIZES):
    """Return tables known without any noise."""
    pairs = tuple(combinations(range(len(sizes)), 2))
    found = {a: None for pair in pairs for a in subsets(pair)}
    tables = tabulate(records, sizes, list(found))
    return KnownTables(sizes, {a: centred(tables[a].astype(float)) for a in found}, dict.fromkeys(found, 0.0))


def chain_of(rng, rows=500):
    first = rng.integers(0, 4, rows)
    second = np.where(rng.random(rows) < 0.8, first % 3, rng.integers(0, 3, rows))
    third = np.where(rng.random(rows) < 0.6, second, rng.integers(0, 3, rows))
    return np.column_stack([first, second, third, rng.integers(0, 2, rows)])


def is_forest(edges):
    groups = {i: i for i in range(4)}
    for one, other in edges:
        if groups[one] == groups[other]:
            return False
        groups = {i: groups[one] if g == groups[other] else g for i, g in groups.items()}
    return True


def test_the_forest_is_the_best_of_all_forests():
    rng = np.random.default_rng(1)
    for _ in range(5):
        shrunk = ShrunkTables(exactly(chain_of(rng)))
        value = {pair: dependence(shrunk.table(pair)) for pair in PAIRS}
        every = chain.from_iterable(combinations(PAIRS, size) for size in range(4))
        best = max(sum(value[pair] for pair in edges) for edges in every if is_forest(edges))
        found = spanning_forest(shrunk, PAIRS)
        assert is_forest(found)
        assert sum(value[pair] for pair in found) == pytest.approx(best)


def test_ties_fall_to_the_first_pairs_and_independent_columns_get_no_edge():
    same = np.repeat(np.arange(3), 4)
    tied = ShrunkTables(exactly(np.column_stack([same, same, same, same * 0]), (3, 3, 3, 2)))
    assert spanning_forest(tied, PAIRS) == ((0, 1), (0, 2))
    grid = np.array(list(np.ndindex(*SIZES)))
    assert spanning_forest(ShrunkTables(exactly(grid)), PAIRS) == ()
    assert spanning_forest(ShrunkTables(exactly(grid)), ()) == ()


def test_every_share_is_rounded_up_or_down_and_none_is_favoured():
    expansion = Expansion(b"2" * 32)
    shares = np.array([0.5, 0.0, 2.25, 1.0, 0.05])
    drawn = np.array([apportioned(shares, 7, expansion) for _ in range(2000)])
    wanted = shares / shares.sum() * 7
    assert np.all(drawn.sum(axis=1) == 7)
    assert np.all(np.abs(drawn - wanted) < 1)
    for value, mean in zip(drawn.T, wanted, strict=True):
        above, part = int((value - np.floor(mean)).sum()), mean % 1
        low, high = binom.ppf([1e-9, 1 - 1e-9], 2000, part)
        assert low <= above <= high
    assert apportioned(np.zeros(3), 6, expansion).tolist() == [2, 2, 2]
    assert apportioned(np.array([0.0]), 4, expansion).tolist() == [4]


def test_the_tables_of_the_edges_are_those_of_the_records():
    rng = np.random.default_rng(3)
    records = chain_of(rng, 3000)
    shrunk = ShrunkTables(exactly(records))
    edges = spanning_forest(shrunk, PAIRS)
    made = draw_records(shrunk, edges, 3000, Expansion(b"3" * 32))
    for pair in edges:
        apart = tabulate(made, SIZES, [pair])[pair] - tabulate(records, SIZES, [pair])[pair]
        # Each table is met up to one record for each value of the parent, along a path of at most three.
        assert np.abs(apart).max() <= 4
    one = tabulate(made, SIZES, [(3,)])[(3,)]
    assert np.abs(one - tabulate(records, SIZES, [(3,)])[(3,)]).max() <= 4


def test_no_rows_and_values_that_no_table_knows_are_drawn_all_the_same():
    expansion = Expansion(b"4" * 32)
    shrunk = ShrunkTables(exactly(np.zeros((10, 4), dtype=np.int64)))
    assert draw_records(shrunk, (), 0, expansion).shape == (0, 4)
    assert not draw_records(shrunk, ((0, 1),), 5, expansion).any()
    empty = ShrunkTables(exactly(np.zeros((0, 4), dtype=np.int64)))
    assert draw_records(empty, ((0, 1), (1, 3)), 50, expansion).max() == 3
    with pytest.raises(ParameterError, match="negative"):
        draw_records(empty, (), -1, expansion)
