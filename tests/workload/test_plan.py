"""Plans: forecasts that come true, promises that are kept, answers that agree with each other."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import (
    AllRange,
    Dense,
    Hierarchy,
    Identity,
    Kronecker,
    Matrix,
    MeasuredStrategy,
    Prefix,
    Product,
    Total,
    Union,
    Wavelet,
    error,
    identity,
    plan,
    reconcile,
)
from discreet.workload.forecast import covariance, variances
from discreet.workload.reconcile import _descended, nearest_nonnegative
from discreet.workload.strategy import information, measure_exactly, sensitivity

PURE = Pure(Fraction(1))
UNIT = Concentrated(Fraction(1, 2))
WORKLOADS = [
    Identity(8),
    Prefix(24),
    AllRange(12),
    Total(6),
    Matrix.of([[1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]]),
    Matrix.of([[0, 1, 0], [0, 1, 1]]),
    Union((Prefix(9), Total(9))),
    Product((Matrix.of([[0, 1]]), Prefix(3))),
    Product((Prefix(6), AllRange(4))),
    Union((Product((Prefix(6), Total(4))), Product((Total(6), Identity(4))))),
]
ALL = [(w, g, a) for w in WORKLOADS for g in (PURE, UNIT) for a in Adjacency]
IDS = [f"{type(w).__name__}{w.cells}-{type(g).__name__}-{a}" for w, g, a in ALL]


@pytest.fixture(scope="module", params=ALL, ids=IDS)
def made(request):
    return plan(*request.param), request.param


def test_a_plan_never_promises_less_than_was_asked(made):
    chosen, (_, asked, _) = made
    match chosen.guarantee, asked:
        case Pure(cost), Pure(limit):
            assert limit * Fraction(999, 1000) <= cost <= limit
        case Concentrated(rho), Concentrated(limit):
            assert limit * Fraction(999, 1000) <= rho <= limit
        case _:
            pytest.fail("the kind of promise changed")


def test_a_plan_is_the_best_of_its_candidates_and_no_better_than_its_bound(made):
    chosen, _ = made
    assert chosen.error.total == min(candidate.error.total for candidate in chosen.candidates)
    assert chosen.gain >= 1 - 1e-12
    if chosen.lower is not None:
        assert chosen.error.total >= chosen.lower * (1 - 1e-9)


@pytest.mark.parametrize(
    "made",
    # Each workload, each promise and each kind of neighbour occurs among the few.
    [pytest.param(one, id=IDS[n], marks=() if n % 3 == 0 else pytest.mark.fuzz) for n, one in enumerate(ALL)],
    indirect=True,
)
def test_realised_error_is_the_forecast_within_sampling_error(made):
    """Each mean of squared errors has about `runs` degrees of freedom or more; 5.5 sigma is below 1e-7."""
    chosen, (workload, _, _) = made
    counts = np.random.default_rng(0).integers(0, 40, workload.cells)
    truth = workload.apply(counts)
    runs = 200
    answers = [chosen.answer(counts) for _ in range(runs)]
    forecast = answers[0].variances
    assert forecast.sum() == pytest.approx(chosen.error.total, rel=1e-6, abs=1e-6)
    errors = np.array([a.values - truth for a in answers])
    totals = np.square(errors).sum(axis=1)
    # Squared errors of heavy-tailed noise vary by at most sqrt(5) times their mean (one Laplace variable).
    slack = 5.5 * sqrt(5 / runs)
    assert totals.mean() == pytest.approx(chosen.error.total, rel=slack, abs=1e-9)
    bias = errors.mean(axis=0)
    assert np.all(np.abs(bias) <= 6.5 * np.sqrt(forecast / runs) + 1e-6)


def test_answers_agree_with_each_other():
    counts = np.random.default_rng(1).integers(0, 9, 12)
    chosen = plan(Prefix(12), PURE)
    estimate = chosen.estimate(chosen.measure(counts))
    running = estimate.answer(Prefix(12)).values
    ranges = estimate.answer(AllRange(12)).values
    first, last = np.triu_indices(12)
    assert np.allclose(ranges, running[last] - np.where(first > 0, running[first - 1], 0))


def test_under_replace_the_public_total_is_reproduced_and_must_be_given():
    counts = np.array([5, 0, 3, 9])
    chosen = plan(Prefix(4), PURE, Adjacency.REPLACE)
    answers = chosen.answer(counts)
    assert answers.values[-1] == pytest.approx(17)
    assert answers.variances[-1] == pytest.approx(0, abs=1e-9)
    with pytest.raises(ParameterError, match="total"):
        chosen.estimate(chosen.measure(counts))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("guarantee", [PURE, UNIT], ids=["pure", "concentrated"])
@pytest.mark.parametrize("workload", [AllRange(12), Prefix(12), Union((Total(12), Identity(12)))], ids=repr)
def test_non_negative_answers_are_never_farther_from_the_truth_in_total(workload, guarantee, known):
    counts = np.array([0, 0, 30, 0, 0, 2, 0, 0, 0, 50, 0, 0])
    total = int(counts.sum()) if known else None
    truth = workload.apply(counts)
    chosen = plan(workload, guarantee)
    for _ in range(10):
        measured = chosen.measure(counts)
        free = chosen.estimate(measured, total=total)
        firm = chosen.estimate(measured, total=total, nonnegative=True)
        assert firm.cells.min() >= 0
        before, after = (np.square(e.answer(workload).values - truth).sum() for e in (free, firm))
        assert after <= before * (1 + 1e-5) + 1e-5
        if known:
            assert firm.cells.sum() == pytest.approx(total)


@pytest.mark.parametrize("workload", [AllRange, Prefix], ids=["ranges", "prefixes"])
@pytest.mark.parametrize("total", [None, 0, 7, 40])
def test_pooling_neighbours_that_fall_is_as_near_as_a_long_descent(workload, total):
    rng = np.random.default_rng(11)
    for cells in (1, 2, 3, 17, 40):
        asked, drawn = workload(cells), rng.normal(1, 3, cells)
        pooled, slowly = (how(drawn, asked, total) for how in (nearest_nonnegative, _descended))
        assert pooled.min() >= 0
        assert total is None or pooled.sum() == pytest.approx(total)
        off, before = (np.square(asked.apply(found - drawn)).sum() for found in (pooled, slowly))
        assert off <= before * (1 + 1e-7) + 1e-7


def test_clipping_cell_by_cell_is_the_broken_twin_that_can_be_farther():
    counts = np.zeros(64, dtype=np.int64)
    chosen = plan(Prefix(64), PURE)
    worse = 0
    for _ in range(20):
        free = chosen.estimate(chosen.measure(counts)).cells
        before, after = (np.square(np.cumsum(x)).sum() for x in (free, np.maximum(free, 0)))
        worse += after > before
    assert worse > 0


def test_non_negative_products_work_too():
    chosen = plan(Product((Prefix(4), Identity(3))), UNIT)
    counts = np.zeros(12, dtype=np.int64)
    estimate = chosen.estimate(chosen.measure(counts), total=0, nonnegative=True)
    assert np.allclose(estimate.cells, 0, atol=1e-9)


def test_two_measurements_of_one_histogram_are_pooled_by_their_precision():
    noises = Gaussian(Fraction(1)), Gaussian(Fraction(4))
    strategies = identity(3), Hierarchy(3, 2)
    measured = [
        MeasuredStrategy(s, n, n.sample(measure_exactly(s, np.array([4, 5, 6]))))
        for s, n in zip(strategies, noises, strict=True)
    ]
    both = reconcile(measured)
    precision = sum(information(s) / float(n.sigma_squared) for s, n in zip(strategies, noises, strict=True))
    assert np.allclose(both.inverses[0], np.linalg.inv(precision))
    alone = reconcile(measured[:1])
    assert np.all(both.answer(Identity(3)).variances < alone.answer(Identity(3)).variances)


def test_every_single_variance_is_that_of_its_question():
    for workload in (
        Prefix(6),
        AllRange(6),
        Total(6),
        Matrix.of([[1, 0, 1, 0, 1, 0]]),
        Product((Prefix(2), AllRange(3))),
    ):
        for known_total in (False, True):
            inverse = covariance(Wavelet(6), known_total=known_total)
            rows = workload.apply(np.eye(6))
            assert np.allclose(variances(workload, inverse), np.diagonal(rows @ inverse @ rows.T))


def test_the_error_of_plain_noise_is_the_textbook_one():
    # Identity and geometric noise at epsilon 1: variance 2a / (1 - a)**2 per cell, a = exp(-1).
    assert error(Identity(5), identity(5), PURE).mean == pytest.approx(1.841347, rel=1e-6)
    assert error(Prefix(5), identity(5), UNIT).mean == pytest.approx(3.0)
    assert error(Prefix(4), identity(4), UNIT, Adjacency.REPLACE).mean == pytest.approx(
        2 * np.mean([j * (4 - j) / 4 for j in range(1, 5)])
    )


def test_a_forecast_that_ignores_the_sensitivity_is_caught_by_the_realised_error():
    strategy = Hierarchy(16, 2)
    broken = error(AllRange(16), identity(16), UNIT).total / error(AllRange(16), strategy, UNIT).total
    unit = float(sensitivity(strategy, Adjacency.ADD_REMOVE).l2_squared)
    assert unit == 5
    assert broken != pytest.approx(1, rel=0.2)


def test_radii_cover_what_they_promise():
    """Of 400 intervals at 95 %, fewer than 345 are covered with probability below 1e-7."""
    counts = np.random.default_rng(2).integers(0, 100, 16)
    for guarantee in (PURE, UNIT):
        chosen = plan(AllRange(16), guarantee)
        place = 37
        hits = 0
        for _ in range(400):
            answers = chosen.answer(counts)
            truth = chosen.workload.apply(counts)[place]
            hits += abs(answers.values[place] - truth) <= answers.radius("0.05")[place]
        assert hits >= 345


def test_progress_is_reported_and_too_large_attributes_are_refused():
    seen = []
    plan(Prefix(8), PURE, progress=seen.append)
    assert any("optimising" in message for message in seen)
    with pytest.raises(ParameterError, match="coarser"):
        plan(Identity(5000), PURE)


PAIRS = Dense("pairs", np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))


def test_strategies_that_cannot_answer_are_refused():
    with pytest.raises(ParameterError, match="does not determine"):
        error(Identity(4), PAIRS, UNIT)
    with pytest.raises(ParameterError, match="does not determine"):
        error(Product((Identity(4), Identity(2))), Kronecker((PAIRS, identity(2))), UNIT)
    with pytest.raises(ParameterError, match="counts no cell"):
        plan(Matrix.of([[0, 0]]), UNIT)


def test_questions_about_what_was_not_measured_are_refused_afterwards_too():
    noise = Gaussian(Fraction(1))
    flat = reconcile([MeasuredStrategy(PAIRS, noise, np.array([5, 7]))])
    assert flat.answer(Total(4)).values[0] == pytest.approx(12)
    with pytest.raises(ParameterError, match="do not determine"):
        flat.answer(Identity(4))
    product = reconcile([MeasuredStrategy(Kronecker((PAIRS, identity(2))), noise, np.array([5, 7, 1, 2]))])
    assert product.answer(Product((Total(4), Identity(2)))).values.tolist() == pytest.approx([6, 9])
    with pytest.raises(ParameterError, match="do not determine"):
        product.answer(Identity(8))
