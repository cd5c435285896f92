"""Exact sensitivities against all neighbours of small datasets, and a broken twin that the check catches."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload import (
    AllRange,
    Dense,
    Hierarchy,
    Identity,
    Kronecker,
    Marginals,
    Prefix,
    Product,
    Total,
    Union,
    Wavelet,
    column,
)
from discreet.workload.column import beside, matrix_sensitivity, swapped, workload_sensitivity
from discreet.workload.strategy import CellsAndBlocks, measure_exactly, sensitivity


def exhaustive(answer: Callable[[np.ndarray], np.ndarray], cells: int, adjacency: Adjacency) -> Sensitivity:
    """The largest change over all neighbours of datasets of at most two people, by running the question."""
    changes = []
    for people in range(3):
        for dataset in combinations_with_replacement(range(cells), people):
            base = np.bincount(dataset, minlength=cells).astype(np.int64)
            if adjacency is Adjacency.ADD_REMOVE:
                neighbours = [base + np.eye(cells, dtype=np.int64)[i] for i in range(cells)]
            else:
                neighbours = [
                    base - np.eye(cells, dtype=np.int64)[i] + np.eye(cells, dtype=np.int64)[j]
                    for i in set(dataset)
                    for j in range(cells)
                ]
            changes += [answer(other) - answer(base) for other in neighbours]
    return Sensitivity(
        *(Fraction(int(max(measure(c) for c in changes))) for measure in (l1, l2_squared, linf)),
        max(int(np.count_nonzero(c)) for c in changes),
    )


def l1(change: np.ndarray) -> int:
    return int(np.abs(change).sum())


def l2_squared(change: np.ndarray) -> int:
    return int((change * change).sum())


def linf(change: np.ndarray) -> int:
    return int(np.abs(change).max())


SMALL = [
    Identity(4),
    Identity(1),
    Total(3),
    Prefix(5),
    AllRange(5),
    AllRange(4),
    Product((Prefix(3), Identity(2))),
    Union((Prefix(4), Total(4), Identity(4))),
    Union((Product((AllRange(2), Total(3))), Product((Total(2), Prefix(3))))),
    Marginals.of_order((2, 3, 1), 1, 2),
]
RNG = np.random.default_rng(3)
STRATEGIES = [
    Hierarchy(5, 2),
    Hierarchy(6, 3),
    Hierarchy(6, 3, rooted=False),
    Hierarchy(7, 2, rooted=False),
    Hierarchy(1, 2, rooted=False),
    Hierarchy(1, 2),
    Wavelet(4),
    Wavelet(6),
    Dense("any", RNG.integers(-9, 10, (4, 5))),
    Kronecker((Wavelet(2), Dense("any", RNG.integers(-9, 10, (3, 3))))),
    Kronecker((Hierarchy(2, 2), Hierarchy(3, 2))),
    CellsAndBlocks(5, 2, np.array([2, 1, 3]), Dense("any", RNG.integers(-9, 10, (2, 3)))),
    CellsAndBlocks(5, 2, np.array([9, 1, 1]), Dense("few", np.array([[1, 1, 1]]))),
    CellsAndBlocks(4, 2, np.array([1, 5])),
    CellsAndBlocks(1, 2, np.array([3])),
]


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("workload", SMALL, ids=repr)
def test_workload_sensitivity_is_the_largest_change_over_all_neighbours(workload, adjacency):
    assert workload_sensitivity(workload, adjacency) == exhaustive(workload.apply, workload.cells, adjacency)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name + str(s.cells))
def test_strategy_sensitivity_is_the_largest_change_over_all_neighbours(strategy, adjacency):
    found = exhaustive(lambda x: measure_exactly(strategy, x), strategy.cells, adjacency)
    assert sensitivity(strategy, adjacency) == found


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32), st.sampled_from(list(Adjacency)))
def test_any_integer_matrix_has_the_sensitivity_of_its_columns(rows, cells, seed, adjacency):
    matrix = np.random.default_rng(seed).integers(-(2**20), 2**20, (rows, cells))
    assert matrix_sensitivity(matrix, adjacency) == exhaustive(lambda x: matrix @ x, cells, adjacency)


def test_the_check_catches_a_sensitivity_that_forgets_where_a_replaced_person_came_from():
    def one_column_only(workload):
        return Sensitivity.spread(int(workload.apply(np.eye(workload.cells, dtype=int)).sum(axis=0).max()), 1)

    caught = [
        one_column_only(w) != exhaustive(w.apply, w.cells, Adjacency.REPLACE)
        for w in SMALL
        if not isinstance(w, Total)
    ]
    assert sum(caught) >= 7


def test_the_check_catches_a_rounded_strategy_with_the_sensitivity_of_the_real_one():
    real = np.array([[0.5, 0.5, 0.5], [0.3, 0.3, 0.3]])
    integers = np.rint(real * 3).astype(np.int64)
    promised = float(np.abs(real * 3).sum(axis=0).max())
    assert float(exhaustive(lambda x: integers @ x, 3, Adjacency.ADD_REMOVE).l1) > promised
    assert matrix_sensitivity(integers, Adjacency.ADD_REMOVE).l1 == 3


@pytest.mark.parametrize("low", [0, -9])
def test_products_too_large_to_write_out_are_bounded_from_above_under_replace(low, monkeypatch):
    strategy = Kronecker(tuple(Dense("any", RNG.integers(low, 10, (5, 4))) for _ in range(2)))
    exact = sensitivity(strategy, Adjacency.REPLACE)
    monkeypatch.setattr(column, "WRITTEN_OUT", 0)
    bound = sensitivity(strategy, Adjacency.REPLACE)
    assert bound.l1 >= exact.l1
    assert bound.l2_squared >= exact.l2_squared
    assert bound.linf >= exact.linf
    assert bound.l0 >= exact.l0


def test_entries_too_large_for_exact_arithmetic_are_refused():
    with pytest.raises(ParameterError, match="fewer bits"):
        matrix_sensitivity(np.full((2, 2), 2**40), Adjacency.ADD_REMOVE)
    for measure in (swapped, beside, partial(matrix_sensitivity, adjacency=Adjacency.REPLACE)):
        # The absolute value of the least integer of 64 bits is itself.
        with pytest.raises(ParameterError, match="fewer bits"):
            measure(np.array([[-(2**63)]]))
        with pytest.raises(ParameterError, match="moves nothing"):
            measure(np.zeros((0, 3), dtype=np.int64))


def test_nobody_takes_away_more_than_somebody_can_add():
    for back in (Fraction(-1, 3), Fraction(10**12, 7)):
        with pytest.raises(ParameterError, match="from 0 to 1"):
            swapped(np.array([[1, 2]]), back)
    assert swapped(np.zeros((2, 2), dtype=np.int64), Fraction(1, 10**30)) == (0, 0, 0)


def furthest_swaps(rows: np.ndarray, back: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The largest norms over all units that come alone, for another, or beside one that is taken away."""
    columns = [[Fraction(int(entry)) for entry in column] for column in rows.T]
    nothing = [Fraction(0)] * rows.shape[0]
    points = [nothing, *columns, *([-back * entry for entry in column] for column in columns)]
    changes = [[a - b for a, b in zip(one, other, strict=True)] for one in points for other in points]
    return (
        max(sum(map(abs, change), Fraction(0)) for change in changes),
        max(sum((entry * entry for entry in change), Fraction(0)) for change in changes),
        max(max(map(abs, change)) for change in changes),
    )


@given(
    rows=st.integers(1, 6).flatmap(
        lambda cells: st.lists(
            st.lists(st.integers(-5, 9), min_size=cells, max_size=cells), min_size=1, max_size=5
        )
    ),
    back=st.fractions(0, 1, max_denominator=7) | st.just(Fraction(2**60, 2**60 + 1)),
)
@settings(max_examples=200, deadline=None)
def test_units_that_are_swapped_move_a_matrix_by_the_widest_pair_of_its_columns(
    rows: list[list[int]], back: Fraction
) -> None:
    matrix = np.array(rows, dtype=np.int64)
    assert swapped(matrix, back) == furthest_swaps(matrix, back)


@pytest.mark.parametrize("back", [Fraction(0), Fraction(1, 3)])
def test_pairs_that_are_passed_over_are_no_further_apart(back: Fraction) -> None:
    """Many cells, of which few are far from all others: the pruned search against all pairs."""
    random = np.random.default_rng(3)
    matrix = random.integers(-3, 30, (12, 60)) * (random.random((12, 60)) < 0.3)
    assert swapped(matrix, back) == furthest_swaps(matrix, back)
    alone, both = (matrix_sensitivity(matrix, adjacency) for adjacency in Adjacency)
    if not back:
        assert swapped(matrix)[0] == max(alone.l1, both.l1)
        assert swapped(matrix)[1] == max(alone.l2_squared, both.l2_squared)
        assert swapped(matrix)[2] == max(alone.linf, both.linf)
