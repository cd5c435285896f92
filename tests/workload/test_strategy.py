"""Strategies as integer matrices: implicit forms, rounding, exact measurement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.workload import Dense, Hierarchy, Kronecker, Wavelet, rounded
from discreet.workload.strategy import (
    CellsAndBlocks,
    adjoint,
    information,
    matrix_of,
    measure_exactly,
    measured_rows,
)


@st.composite
def cells_and_blocks(draw):
    cells, width = draw(st.integers(1, 20)), draw(st.integers(1, 7))
    rng, count = np.random.default_rng(draw(st.integers(0, 2**32))), -(-cells // width)
    blocks = Dense("any", rng.integers(-3, 4, (draw(st.integers(1, 4)), count)))
    return CellsAndBlocks(cells, width, rng.integers(1, 5, count), draw(st.sampled_from([None, blocks])))


LEVELLED = st.one_of(
    st.builds(Hierarchy, st.integers(1, 20), st.integers(2, 5), st.booleans()),
    st.builds(Wavelet, st.integers(1, 20)),
    cells_and_blocks(),
)


@settings(max_examples=50, deadline=None)
@given(LEVELLED, st.integers(0, 2**32))
def test_levelled_strategies_measure_their_matrix(strategy, seed):
    rng = np.random.default_rng(seed)
    matrix = matrix_of(strategy)
    x, y = rng.integers(0, 100, strategy.cells), rng.normal(size=measured_rows(strategy))
    assert matrix.shape == (measured_rows(strategy), strategy.cells)
    assert np.array_equal(measure_exactly(strategy, x), matrix @ x)
    assert np.allclose(adjoint(strategy, y), matrix.T @ y)
    assert np.array_equal(information(strategy), matrix.T @ matrix)
    assert np.linalg.matrix_rank(matrix) == strategy.cells


def test_the_wavelet_of_four_cells_is_haars():
    assert matrix_of(Wavelet(4)).tolist() == [[1, -1, 0, 0], [0, 0, 1, -1], [1, 1, -1, -1], [1, 1, 1, 1]]


def test_kronecker_strategies_measure_the_product():
    rng = np.random.default_rng(0)
    factors = (Hierarchy(3, 2), Dense("any", rng.integers(-5, 5, (2, 4))), Wavelet(2))
    strategy = Kronecker(factors)
    whole = np.kron(np.kron(matrix_of(factors[0]), factors[1].rows), matrix_of(factors[2]))
    x, y = rng.integers(0, 100, 24), rng.normal(size=whole.shape[0])
    assert np.array_equal(measure_exactly(strategy, x), whole @ x)
    assert np.allclose(adjoint(strategy, y), whole.T @ y)


def test_rounding_keeps_the_strategy_to_the_bits_asked_for():
    matrix = np.random.default_rng(1).normal(size=(5, 4))
    strategy = rounded("real", matrix, bits=16)
    assert np.abs(strategy.rows / strategy.scale - matrix).max() <= 0.5 / strategy.scale
    assert np.abs(strategy.rows).max() == 2**16


def test_measuring_refuses_floats_and_the_wrong_size():
    with pytest.raises(ParameterError, match="integers"):
        measure_exactly(Wavelet(2), np.array([0.5, 1.0]))
    with pytest.raises(ParameterError, match="2 cells"):
        measure_exactly(Wavelet(2), np.array([1, 2, 3]))


@pytest.mark.parametrize("counts", [[2**40, 3], [2**90, -3], [-(2**61), 2**61]])
def test_measuring_is_exact_however_large_the_counts_are(counts):
    """Whether integers fit into 64 bits depends on the data, so it must not decide on an answer."""
    rows = np.array([[2**30, 1], [-1, 2**20]])
    held = np.array(counts, dtype=object if max(counts) > 2**62 else np.int64)
    dense = measure_exactly(Dense("big", rows), held)
    assert dense.tolist() == [2**30 * counts[0] + counts[1], -counts[0] + 2**20 * counts[1]]
    assert measure_exactly(Wavelet(2), held).tolist().count(sum(counts)) >= 1
    squared = measure_exactly(
        Kronecker((Dense("a", rows), Dense("b", rows))), np.array([*counts, *counts], dtype=object)
    )
    assert squared.tolist() == [one * other for one in (2**30 + 1, 2**20 - 1) for other in dense.tolist()]


def test_a_strategy_cannot_be_changed_after_its_sensitivity_was_computed():
    strategy = Dense("fixed", np.ones((2, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="read-only"):
        strategy.rows[0, 0] = 7
