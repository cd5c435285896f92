"""Records by exchanges: every column as dealt, all pairs as nearly as whole records can."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.workload import (
    Expansion,
    GroupedTables,
    KnownTables,
    draw_records,
    even_groups,
    groups_of,
    swap,
    tabulate,
)
from discreet.workload.grouped import GROUPS
from discreet.workload.marginal import subsets
from discreet.workload.swap import apportioned
from discreet.workload.table import centred

SIZES = (4, 3, 3, 2)
PAIRS = tuple(combinations(range(4), 2))


def exactly(records, sizes=SIZES, variance=0.0):
    """Return tables known without any noise."""
    pairs = tuple(combinations(range(len(sizes)), 2))
    found = {a: None for pair in pairs for a in subsets(pair)}
    tables = tabulate(records, sizes, list(found))
    pieces = {a: centred(tables[a].astype(float)) for a in found}
    return KnownTables(sizes, pieces, dict.fromkeys(found, variance))


def circle_of(rng, rows=500):
    """Return columns of which each hangs on the one before it, and the first on the last."""
    first = rng.integers(0, 4, rows)
    second = np.where(rng.random(rows) < 0.8, first % 3, rng.integers(0, 3, rows))
    third = np.where(rng.random(rows) < 0.6, second, rng.integers(0, 3, rows))
    last = np.where(rng.random(rows) < 0.5, (first + third) % 2, rng.integers(0, 2, rows))
    return np.column_stack([first, second, third, last])


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


def test_all_pairs_and_columns_are_those_of_the_records():
    records = circle_of(np.random.default_rng(3), 3000)
    made = draw_records(GroupedTables.of(exactly(records)), 3000, Expansion(b"3" * 32))
    for chosen in (*PAIRS, *((i,) for i in range(4))):
        one, other = (tabulate(rows, SIZES, [chosen])[chosen] for rows in (made, records))
        # A column is met exactly; a pair up to what no exchange of two records makes better.
        assert np.abs(one - other).max() <= (0 if len(chosen) == 1 else 4)


def test_exchanges_that_overshoot_are_taken_back():
    rng, sizes = np.random.default_rng(2), (2, 2)
    columns = [rng.permutation(np.repeat([0, 1], 50)) for _ in sizes]
    pairs = swap._Pairs(sizes, {(0, 1): np.array([27.0, 23.0, 23.0, 27.0])})
    columns[1][:] = columns[0]
    share, known = 1.0, [swap._off(pairs.beside(columns, 0))]
    for _ in range(40):
        tried = share
        share = swap._exchange(pairs, columns, 1, rng.permutation(100), tried)
        known.append(swap._off(pairs.beside(columns, 0)))
        assert known[-1] <= known[-2]
        assert share == tried / 2 or share == min(1, tried * 1.5)
        assert columns[1].sum() == 50
    assert known[-1] == 0 < known[0]


def test_an_exchange_is_made_exactly_if_it_lessens_what_is_weighed():
    """Against the sum itself, counted anew after each single exchange."""
    rng, sizes = np.random.default_rng(4), (3, 4, 2)
    pairs = list(combinations(range(3), 2))
    columns = [rng.integers(0, size, 12) for size in sizes]
    expected = {(i, j): rng.exponential(2.0, sizes[i] * sizes[j]) for i, j in pairs}

    def weighed(rows):
        counts = tabulate(np.column_stack(rows), sizes, pairs)
        return sum(float(((counts[p].reshape(-1) - t) ** 2 / (t + 1)).sum()) for p, t in expected.items())

    before, seen = weighed(columns), set()
    for place in range(3):
        one, other = np.array(list(combinations(range(12), 2))).T
        tables = swap._Pairs(sizes, expected).beside(columns, place)
        gains = swap._changes(tables, columns, place, one, other) < 0
        for left, right, better in zip(one.tolist(), other.tolist(), gains.tolist(), strict=True):
            moved = [column.copy() for column in columns]
            moved[place][[left, right]] = moved[place][[right, left]]
            assert better == (weighed(moved) < before - 1e-9)
            seen.add(better)
    assert seen == {True, False}


def test_more_records_than_are_fitted_repeat_them_equally_often(monkeypatch):
    tables = GroupedTables.of(exactly(circle_of(np.random.default_rng(5))))
    monkeypatch.setattr(swap, "MOST_WORK", 16 * 30)
    made = draw_records(tables, 100, Expansion(b"5" * 32))
    fitted = draw_records(tables, 30, Expansion(b"5" * 32))
    assert made.shape == (100, 4)
    times = {tuple(row): sum(map(tuple(row).__eq__, map(tuple, fitted.tolist()))) for row in fitted.tolist()}
    for row, often in times.items():
        assert 3 * often <= sum(map(row.__eq__, map(tuple, made.tolist()))) <= 4 * often


def test_no_rows_and_values_that_no_table_knows_are_drawn_all_the_same():
    expansion = Expansion(b"4" * 32)
    lone = GroupedTables.of(exactly(np.zeros((10, 4), dtype=np.int64)))
    assert draw_records(lone, 0, expansion).shape == (0, 4)
    assert not draw_records(lone, 5, expansion).any()
    empty = GroupedTables.of(exactly(np.zeros((0, 4), dtype=np.int64)))
    assert draw_records(empty, 50, expansion).max() == 3
    with pytest.raises(ParameterError, match="negative"):
        draw_records(empty, -1, expansion)


@pytest.mark.parametrize("missing", [False, True])
def test_groups_hold_little_each_and_two_neighbours_more(missing):
    rng = np.random.default_rng(6)
    for size in (1, GROUPS, 17, 60, 200):
        for counts in (rng.pareto(0.5, size), rng.exponential(1, size), np.zeros(size), np.eye(1, size)[0]):
            starts, even = groups_of(counts, missing=missing), even_groups(size, missing=missing and size > 1)
            for found in (starts, even):
                assert found[0] == 0
                assert list(found) == sorted({*found})
                assert found[-1] < size
                assert not missing or size == 1 or found[-1] == size - 1
            assert len(even) <= GROUPS + missing
            if size <= GROUPS:
                assert starts == tuple(range(size))
                continue
            held = np.add.reduceat(counts, starts)
            wide = np.diff([*starts, size]) > 1
            most = counts.sum() / GROUPS * (1 + 1e-9)
            # A cell that is large by itself may follow cells that hold nobody.
            assert all(
                h <= most or counts[a : a + n].max() > 0.999 * h
                for h, a, n, w in zip(held, starts, np.diff([*starts, size]), wide, strict=True)
                if w
            )
            assert len(starts) <= 2 * GROUPS + 1 + missing


def test_cells_are_estimated_by_least_squares_from_both_counts():
    rng, groups = np.random.default_rng(7), ((0, 3, 4), (0, 1, 2))
    alone = KnownTables(
        (6, 3),
        {(): np.array(90.0), (0,): centred(rng.normal(0, 9, 6)), (1,): np.zeros(3)},
        {(): 4.0, (0,): 24.0, (1,): 24.0},
    )
    pieces = {
        (): np.array(96.0),
        (0,): centred(rng.normal(0, 9, 3)),
        (1,): np.zeros(3),
        (0, 1): np.zeros((3, 3)),
    }
    pairs = KnownTables((3, 3), pieces, {(): 6.0, (0,): 15.0, (1,): 15.0, (0, 1): 15.0})
    tables = GroupedTables.of(pairs, groups, alone)
    sums = np.repeat(np.eye(3), [3, 1, 2], axis=1)
    weigh = np.concatenate([np.full(6, alone.variance((0,))), np.full(3, pairs.variance((0,)))]) ** -0.5
    told = np.concatenate([alone.table((0,)), pairs.table((0,))])
    best, *_ = np.linalg.lstsq(np.vstack([np.eye(6), sums]) * weigh[:, None], told * weigh, rcond=None)
    shift = tables.singles[0] - best
    assert tables.singles[0].min() > 0
    assert np.ptp(shift) < 1e-9
    assert tables.singles[0].sum() == pytest.approx(tables.total)
    table = tables.table((0, 1))
    assert np.allclose(np.add.reduceat(table, groups[0]), tables.shrunk.table((0, 1)))
    shares = tables.singles[0] / (sums.T @ (sums @ tables.singles[0]))
    assert np.allclose(table, (sums.T @ tables.shrunk.table((0, 1))) * shares[:, None])
    with pytest.raises(ParameterError, match="groups"):
        GroupedTables.of(pairs, ((0, 3), (0, 1, 2)), alone)


def test_groups_bring_tables_of_wide_columns_nearer_to_the_truth():
    """Noise of the same deviation in all cells, or in those of groups."""
    rng = np.random.default_rng(8)
    first = rng.integers(0, 100, 40_000)
    records = np.column_stack([first, first // 2 + rng.binomial(50, 0.5, 40_000)])
    truth = tabulate(records, (100, 100), [(0, 1)])[0, 1]

    def noisy(known):
        return KnownTables(
            known.sizes,
            {
                a: piece + centred(rng.normal(0, 60, piece.shape)) if a else piece
                for a, piece in known.centred.items()
            },
            dict.fromkeys(known.centred, 3600.0),
        )

    cells = noisy(exactly(records, (100, 100)))
    groups = [groups_of(np.maximum(cells.table((i,)), 0)) for i in range(2)]
    coded = np.column_stack(
        [np.searchsorted(g, records[:, i], side="right") - 1 for i, g in enumerate(groups)]
    )
    grouped = GroupedTables.of(noisy(exactly(coded, tuple(map(len, groups)))), groups, cells)
    one, other = (np.abs(t.table((0, 1)) - truth).sum() for t in (GroupedTables.of(cells), grouped))
    assert other < one / 2
