"""Thousands of cells: everything known of cells and blocks is what the written-out matrix says."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import (
    AllRange,
    Dense,
    Identity,
    MeasuredStrategy,
    Prefix,
    Total,
    Union,
    plan,
    reconcile,
)
from discreet.workload.block import cells_and_blocks
from discreet.workload.certified import lower_bound, spectral_bound
from discreet.workload.forecast import block_gram, covariance, questions_of_cells, unit_error
from discreet.workload.noise import calibrated
from discreet.workload.pidentity import error_and_gradient, p_identity_of_blocks
from discreet.workload.strategy import CellsAndBlocks, matrix_of, measure_exactly, plain_cells, sensitivity

PURE, UNIT = Pure(Fraction(1)), Concentrated(Fraction(1, 2))
WORKLOADS = [AllRange(11), Prefix(11), Identity(11), Union((Total(11), Prefix(11)))]
RNG = np.random.default_rng(5)
STRATEGIES = [
    CellsAndBlocks(11, 3, RNG.integers(1, 6, 4), Dense("any", RNG.integers(-5, 9, (3, 4)))),
    CellsAndBlocks(11, 4, np.array([2, 7, 1]), None),
    plain_cells(11),
]


def written(strategy):
    return Dense("the same, written out", matrix_of(strategy))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("known", [False, True])
def test_errors_and_covariances_are_those_of_the_written_out_matrix(strategy, known):
    whole = written(strategy)
    assert np.allclose(covariance(strategy, known_total=known), covariance(whole, known_total=known))
    for workload in WORKLOADS:
        found = unit_error(workload, strategy, known_total=known)
        assert found == pytest.approx(unit_error(workload, whole, known_total=known))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("total", [None, 40])
def test_answers_are_reconciled_as_from_the_written_out_matrix(strategy, total):
    noise = calibrated(PURE, sensitivity(strategy, Adjacency.ADD_REMOVE))
    noisy = noise.sample(measure_exactly(strategy, RNG.integers(0, 9, 11)))
    made = [
        reconcile([MeasuredStrategy(s, noise, noisy)], total=total).answer(AllRange(11))
        for s in (strategy, written(strategy))
    ]
    assert np.allclose(made[0].values, made[1].values)
    assert np.allclose(made[0].variances, made[1].variances)


@pytest.mark.parametrize("workload", WORKLOADS, ids=repr)
def test_blocks_are_asked_about_as_often_as_their_cells(workload):
    which = (np.arange(11)[:, None] // 3 == np.arange(4)).astype(float)
    assert np.array_equal(block_gram(workload, 3), which.T @ workload.gram() @ which)
    assert np.array_equal(questions_of_cells(workload), np.diagonal(workload.gram()))


def test_the_descent_sees_the_error_that_its_strategy_has():
    workload, width = AllRange(12), 3
    gram = block_gram(workload, width)
    diagonal = questions_of_cells(workload).reshape(-1, width).sum(axis=1)
    sums = RNG.random((2, 4))
    value, slope = error_and_gradient(sums, lambda x: gram @ x, diagonal, width)
    whole = np.repeat(sums, width, axis=1)
    strategy = np.vstack([np.eye(12), whole]) / (1 + whole.sum(axis=0))
    assert value == pytest.approx(np.trace(workload.gram() @ np.linalg.inv(strategy.T @ strategy)))
    for place in np.ndindex(*sums.shape):
        step = np.zeros_like(sums)
        step[place] = 1e-6
        up, down = (
            error_and_gradient(sums + d, lambda x: gram @ x, diagonal, width)[0] for d in (step, -step)
        )
        assert slope[place] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-4)
    made = p_identity_of_blocks(12, width, gram, diagonal, 2)
    assert len(set(np.abs(matrix_of(made)).sum(axis=0))) == 1


def test_singular_values_in_closed_form_give_the_same_bound():
    for workload in (AllRange(40), Prefix(40), Identity(40)):
        assert spectral_bound(workload) == pytest.approx(lower_bound(workload.gram()), rel=1e-9)
    assert spectral_bound(Total(4)) is None


@pytest.mark.parametrize("guarantee", [PURE, UNIT], ids=["pure", "concentrated"])
def test_sums_of_blocks_are_nearly_as_good_as_sums_of_cells(guarantee):
    """On a size that is small enough to be planned cell by cell, with a last block that is not full."""
    workload = AllRange(130)
    made = cells_and_blocks(workload, guarantee)
    noise = calibrated(guarantee, sensitivity(made, Adjacency.ADD_REMOVE))
    best = plan(workload, guarantee).error.total
    assert 0.95 * best < unit_error(workload, made) * float(noise.variance) < 1.2 * best


@pytest.mark.parametrize(
    ("cells", "guarantee", "near"),
    [
        (1100, PURE, 6.3),
        pytest.param(4096, PURE, 7.1, marks=pytest.mark.fuzz),
        pytest.param(4096, UNIT, 1.15, marks=pytest.mark.fuzz),
    ],
)
def test_thousands_of_cells_are_planned_without_writing_them_out(cells, guarantee, near, monkeypatch):
    written_out = AllRange.gram

    def small(workload):
        assert workload.cells < cells
        return written_out(workload)

    monkeypatch.setattr(AllRange, "gram", small)
    made = plan(AllRange(cells), guarantee)
    assert 1 < made.error.mean / (made.lower / made.workload.queries) < near
    assert made.gain > 5
    assert [candidate.name for candidate in made.candidates][1:] == ["identity"]
    answered = made.answer(RNG.integers(0, 3, cells))
    assert answered.values.shape == (made.workload.queries,)


def test_a_histogram_of_thousands_of_cells_is_its_own_best_strategy():
    made = plan(Identity(4000), UNIT)
    assert made.strategy.name == "identity"
    assert made.error.total == pytest.approx(made.lower)


def test_weights_that_do_not_fit_are_refused():
    for wrong in ((5, 2, [1, 1]), (5, 2, [1, 0, 1]), (0, 1, []), (5, 0, [1] * 5)):
        with pytest.raises(ParameterError):
            CellsAndBlocks(wrong[0], wrong[1], np.array(wrong[2], dtype=np.int64))
