"""Several questions at one price: Gram matrices over many cells are multiplied by without their entries."""

import numpy as np
import pytest

from discreet.workload.linear import Matrix
from discreet.workload.several import _applied


def rows(cells: int, order: np.ndarray) -> np.ndarray:
    """Return running counts that take some of the cells in this order."""
    found = np.zeros((order.size, cells), dtype=np.int64)
    found[:, order] = np.tri(order.size, dtype=np.int64)
    return found


@pytest.mark.parametrize("left_out", [0, 1, 5])
def test_running_counts_and_a_few_sums_are_multiplied_by_as_their_gram_matrices_would_be(left_out):
    random = np.random.default_rng(left_out)
    cells = 600
    running = Matrix.of(rows(cells, random.permutation(cells)[left_out:]))
    few = Matrix.of(random.integers(0, 2, (7, cells)))
    x = random.normal(size=(cells, 3))
    apply = _applied([running, few], [0.3, 2.5])
    assert apply is not None
    assert np.allclose(apply(x), (0.3 * running.gram() + 2.5 * few.gram()) @ x, rtol=1e-12)


def test_where_it_would_be_no_faster_all_entries_are_used():
    random = np.random.default_rng(1)
    assert _applied([Matrix.of(random.integers(0, 2, (3, 100)))], [1.0]) is None
    # Sums up to each cell, but one of them twice: these are no running counts.
    almost = rows(600, np.arange(600))
    almost[5] = almost[6]
    assert _applied([Matrix.of(almost)], [1.0]) is None
