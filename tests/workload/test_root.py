"""The square root of summation: exact columns, exact algebra, near-optimal error."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated
from discreet.workload import Prefix, certified_optimum
from discreet.workload.root import (
    LONGEST_STREAM,
    DyadicBlock,
    RootCounter,
    coefficient_bits,
    coefficients,
    column_squares,
    column_weights,
    line,
    longest_column,
    merged,
)

UNIT = Concentrated(Fraction(1, 2))


def matrix(length: int) -> np.ndarray:
    """Every coefficient of every step at every time, by running the blocks, in Python integers."""
    out = np.zeros((length, length), dtype=object)
    blocks: tuple[DyadicBlock, ...] = ()
    for step in range(1, length + 1):
        blocks = merged(blocks, step)
        for block in blocks:
            value, slope = line(length, block.level, step - block.last)
            out[step - 1, block.first - 1 : block.last] = [
                value + slope * (s - block.last) for s in range(block.first, block.last + 1)
            ]
        out[step - 1, step - 1] = line(length, 0, 0)[0]
        blocks = (*blocks, DyadicBlock(0, step, 0, 0, 0.0, 0.0))
    return out


@dataclass(frozen=True)
class Silent:
    """Noise that is not there, to see the algebra."""

    sigma_squared: Fraction = Fraction(1)

    def sample(self, value: int) -> int:
        return value


@pytest.mark.parametrize("length", [1, 2, 17, 64, 100, 333])
def test_column_lengths_are_those_of_the_integer_matrix_rounded_up(length):
    columns = matrix(length)
    squares = (columns * columns).sum(axis=0)
    assert np.allclose(squares.astype(float), column_squares(length), rtol=2.0**-30, atol=0)
    weighted = columns * column_weights(length).astype(object)
    longest = (weighted * weighted).sum(axis=0).max()
    assert longest <= longest_column(length) <= longest * (1 + Fraction(1, 2**19))


def test_within_a_block_the_coefficients_follow_the_series():
    series = coefficients(600).astype(float)
    out = matrix(600).astype(float)
    lags = np.subtract.outer(np.arange(600), np.arange(600))
    ratio = out[lags >= 0] / series[lags[lags >= 0]]
    assert 0.98 < ratio.min() <= ratio.max() < 1.0001  # a convex curve lies above its tangents


def test_blocks_partition_the_past_and_stay_few():
    blocks: tuple[DyadicBlock, ...] = ()
    most = 0
    for step in range(1, 3000):
        blocks = (*merged(blocks, step), DyadicBlock(0, step, 1, 0, 1.0, 0.0))
        assert [b.first for b in blocks] == [1, *[b.last + 1 for b in blocks[:-1]]]
        assert sum(b.exact for b in blocks) == step
        assert all(b.exact_moment == -(4**b.level - 2**b.level) // 2 for b in blocks)
        most = max(most, len(blocks))
    assert most <= 10 + 5 * np.log2(3000)


def test_without_noise_the_answers_are_the_running_counts():
    counter = RootCounter(500, Silent())  # type: ignore[arg-type]
    increments = np.random.default_rng(0).integers(0, 9, 500)
    state = counter.start()
    for step, increment in enumerate(increments, start=1):
        state, answer = counter.step(state, int(increment))
        assert answer == pytest.approx(increments[:step].sum(), abs=1e-6)


def exact_variances(length: int) -> np.ndarray:
    strategy = matrix(length).astype(np.float64) * column_weights(length)
    back = np.linalg.solve(strategy.T, np.tril(np.ones((length, length))).T).T
    return np.square(back).sum(axis=1) * longest_column(length)


@pytest.mark.parametrize(("length", "plain", "tree"), [(256, 7.122, 9.624), (512, 8.36, 11.6)])
def test_the_error_is_between_the_certified_optimum_and_the_plain_square_root(length, plain, tree):
    variances = exact_variances(length)
    assert certified_optimum(Prefix(length)).lower / length <= variances.mean() <= plain * 0.95
    assert variances.mean() < tree
    counter = RootCounter.calibrate(length, UNIT)
    forecast = [counter.variance(step) for step in range(1, length + 1)]
    assert np.all(variances <= np.array(forecast) * 1.0001)
    assert counter.mean_squared_error() == pytest.approx(np.mean(forecast))


def test_realised_error_is_the_exact_one():
    length, runs = 48, 300
    counter = RootCounter.calibrate(length, UNIT)
    errors = np.zeros((runs, length))
    for run in range(runs):
        state = counter.start()
        for step in range(length):
            state, answer = counter.step(state, 1)
            errors[run, step] = answer - (step + 1)
    variances = exact_variances(length)
    assert np.square(errors).mean() == pytest.approx(variances.mean(), rel=5.5 * (2 / runs) ** 0.5)
    assert np.all(np.abs(errors.mean(axis=0)) <= 6.5 * np.sqrt(variances / runs))


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_calibration_keeps_the_promise_for_every_step(adjacency):
    counter = RootCounter.calibrate(100, UNIT, adjacency)
    assert counter.guarantee.rho <= Fraction(1, 2)
    columns = matrix(100) * column_weights(100).astype(object)
    if adjacency is Adjacency.REPLACE:
        pairs = [(columns[:, i] - columns[:, j]) for i in range(0, 100, 7) for j in range(i)]
    else:
        pairs = [columns[:, i] for i in range(100)]
    worst = max(int((move * move).sum()) for move in pairs)
    assert Fraction(worst) / (2 * counter.noise.sigma_squared) <= counter.guarantee.rho


def test_a_promise_that_forgot_the_column_weights_would_be_caught():
    broken = int(column_squares(100).max())
    assert longest_column(100) > broken * 2**20


def test_the_first_coefficients_are_those_of_the_square_root():
    assert coefficients(4)[:4].tolist() == [2 ** coefficient_bits(4) * n // 16 for n in (16, 8, 6, 5)]


def test_a_stream_has_an_end():
    counter = RootCounter.calibrate(1, UNIT)
    state, _ = counter.step(counter.start(), 1)
    with pytest.raises(ParameterError, match="1 steps"):
        counter.step(state, 1)
    with pytest.raises(ParameterError, match="between 1"):
        RootCounter(LONGEST_STREAM + 1, counter.noise)
