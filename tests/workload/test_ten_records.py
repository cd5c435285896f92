"""Ten records of three bits: cumulative values, marginals, and what releasing them costs."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Pure
from discreet.workload import (
    Identity,
    Marginals,
    Prefix,
    error,
    identity,
    plan,
    tabulate,
    workload_sensitivity,
)

RECORDS = ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
COUNTS = np.bincount([int(r, 2) for r in RECORDS], minlength=8)
BITS = np.array([[int(b) for b in r] for r in RECORDS])


def test_the_histogram_the_cumulative_values_and_the_marginals_are_those_of_the_slides():
    assert COUNTS.tolist() == [3, 1, 2, 0, 0, 3, 1, 0]
    assert (Prefix(8).apply(COUNTS) / 10).tolist() == [0.3, 0.4, 0.6, 0.6, 0.6, 0.9, 1.0, 1.0]
    tables = tabulate(BITS, (2, 2, 2), [(0,), (1,), (2,)])
    assert [int(tables[a][1]) for a in ((0,), (1,), (2,))] == [4, 3, 4]


def test_eight_cumulative_values_cost_seven_epsilon_and_three_marginals_three():
    """One noise of scale 1 / epsilon per value; the last cumulative value is the public number of records."""
    cumulative = workload_sensitivity(Prefix(8), Adjacency.REPLACE)
    assert cumulative.l1 == 7
    ones = [[int(bool(cell & bit)) for cell in range(8)] for bit in (4, 2, 1)]
    from discreet.workload import Matrix

    marginals = workload_sensitivity(Matrix.of(ones), Adjacency.REPLACE)
    assert marginals.l1 == 3
    noise = Geometric.calibrate(epsilon=1, sensitivity=1)
    assert float(noise.guarantee(cumulative).cost) == pytest.approx(7)
    assert float(noise.guarantee(marginals).cost) == pytest.approx(3)


def test_the_histogram_with_least_squares_beats_eight_separate_releases_eightfold():
    separate = float(Geometric.calibrate(epsilon=Fraction(1, 8), sensitivity=1).variance)
    seven = float(Geometric.calibrate(epsilon=Fraction(1, 7), sensitivity=1).variance)
    assert separate / 100 == pytest.approx(1.28, abs=0.01)
    assert seven / 100 == pytest.approx(0.98, abs=0.01)
    together = error(Prefix(8), identity(8), Pure(Fraction(1)), Adjacency.REPLACE)
    mean = together.total / 7 / 100
    # Laplace noise of scale 2 gives 0.08 j (8 - j) / 8, on average 0.12; exact integer noise a little less.
    assert mean == pytest.approx(0.12, abs=0.003)
    assert separate / 100 / mean > 8
    chosen = plan(Prefix(8), Pure(Fraction(1)), Adjacency.REPLACE)
    assert chosen.error.total <= together.total


def test_released_cumulative_values_end_at_the_public_total():
    answers = plan(Prefix(8), Pure(Fraction(1)), Adjacency.REPLACE).answer(COUNTS, nonnegative=True)
    assert answers.values[-1] == pytest.approx(10)
    assert np.all(np.diff(answers.values) >= -1e-9)


def test_marginals_of_the_full_table_agree_with_it():
    whole = Marginals.of_order((2, 2, 2), 1)
    assert np.array_equal(whole.apply(COUNTS), np.concatenate([np.bincount(BITS[:, i]) for i in range(3)]))
    assert np.array_equal(Identity(8).apply(COUNTS), COUNTS)
