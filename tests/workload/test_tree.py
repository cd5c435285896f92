"""The balanced tree: its answers, its blocks, its privacy by enumeration, its error."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.dummy import EachItem, EachPrefix
from discreet.workload.noise import calibrated, towards_one
from discreet.workload.tree import TreeCounter, exact_uses, noise_now

PURE = Pure(Fraction(1))
SHAPES = st.lists(st.integers(2, 6), max_size=3).map(tuple)


def tree(length: int, radices: tuple[int, ...], alpha: Fraction = Fraction(1, 2)) -> TreeCounter:
    return TreeCounter(length, radices, (Geometric(alpha),) * (len(radices) + 1))


def matrices(counter: TreeCounter) -> tuple[np.ndarray, np.ndarray]:
    """The blocks C and the signed digits B, from the meaning of a digit alone."""
    blocks: dict[tuple[int, int], int] = {}
    rows = []
    places = np.cumprod([1, *counter.radices])
    for step in range(1, counter.length + 1):
        row = {}
        upto = step
        for level, digit in enumerate(counter.digits(step)):
            base = upto - digit * places[level]
            for k in range(abs(digit)):
                number = (base // places[level] + k) if digit > 0 else (base // places[level] - 1 - k)
                row[blocks.setdefault((level, int(number)), len(blocks))] = 1 if digit > 0 else -1
            upto = base
        assert upto == 0
        rows.append(row)
    signed = np.zeros((counter.length, len(blocks)), dtype=int)
    for t, row in enumerate(rows):
        for column, sign in row.items():
            signed[t, column] = sign
    cells = np.zeros((len(blocks), counter.length + int(places[-1])), dtype=int)
    for (level, number), row in blocks.items():
        cells[row, number * places[level] : (number + 1) * places[level]] = 1
    return signed, cells


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), SHAPES)
def test_signed_blocks_add_up_to_running_counts_and_every_step_is_in_one_block_per_level(length, radices):
    counter = tree(length, radices)
    signed, cells = matrices(counter)
    running = np.tril(np.ones((length, length), dtype=int))
    assert np.array_equal((signed @ cells)[:, :length], running)
    assert not (signed @ cells)[:, length:].any()  # blocks that reach into the future cancel
    assert cells.sum(axis=0).max() <= len(radices) + 1
    assert np.allclose(np.abs(signed).sum(axis=1).mean(), sum(exact_uses(length, radices)))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 80), SHAPES)
def test_the_noise_in_force_is_one_draw_per_block_of_the_digits(length, radices):
    counter = tree(length, radices)
    state = counter.start()
    for step in range(1, length + 1):
        before = state
        state, answer = counter.step(state, 3)
        assert answer == 3 * step + noise_now(state)
        for level, (now, digit) in enumerate(zip(state.levels, counter.digits(step), strict=True)):
            assert len(now.pending) == max(0, -digit)
            if digit <= 0:
                assert now.settled == 0
            elif digit > 1 and counter.digits(step - 1)[level] == digit:
                assert now == before.levels[level]  # a block still named keeps its noise


def worst_ratio(signed: np.ndarray, noise: Geometric, reach: int) -> float:
    """The largest ratio of probabilities of whole streams of answers, over neighbouring streams."""
    draws = np.array(list(product(range(-reach, reach + 1), repeat=signed.shape[1])))
    weights = np.array([float(noise.pmf(z)) for z in range(-reach, reach + 1)])
    chances = np.prod(weights[draws + reach], axis=1)
    errors = draws @ signed.T

    def law(stream):
        out: dict[tuple[int, ...], float] = {}
        for answer, chance in zip(map(tuple, errors + np.cumsum(stream)), chances, strict=True):
            out[answer] = out.get(answer, 0.0) + chance
        return out

    steps = signed.shape[0]
    base, worst = law([0] * steps), 1.0
    for step in range(steps):
        moved = law([int(k == step) for k in range(steps)])
        for answer in product(range(-2, 3), repeat=steps):
            if base.get(answer, 0) > 1e-6 and moved.get(answer, 0) > 1e-6:
                worst = max(worst, base[answer] / moved[answer], moved[answer] / base[answer])
    return worst


def test_the_stream_of_answers_is_private_for_neighbouring_streams_and_tightly_so():
    """Enumerated over the noise of every block, cut where what is left out is below one part in 10**4."""
    counter = tree(3, (3,), Fraction(1, 4))
    worst = worst_ratio(matrices(counter)[0], counter.noises[0], 9)
    promised = exp(float(counter.guarantee.cost))
    assert promised * 0.99 <= worst <= promised * 1.001


def test_a_tree_that_draws_the_noise_of_a_block_anew_is_caught():
    """The broken twin: each answer gets fresh noise for the blocks it names."""
    counter = tree(3, (3,), Fraction(1, 4))
    signed, _ = matrices(counter)
    uses = [(t, b) for t in range(3) for b in range(signed.shape[1]) if signed[t, b]]
    fresh = np.zeros((3, len(uses)), dtype=int)
    for column, (t, b) in enumerate(uses):
        fresh[t, column] = signed[t, b]
    assert fresh.shape[1] > signed.shape[1]
    assert worst_ratio(fresh, counter.noises[0], 5) > 1.5 * exp(float(counter.guarantee.cost))


@pytest.mark.parametrize(("power", "published"), [(10, 174), (16, 670), (20, 1184)])
def test_the_mean_error_is_below_that_of_equal_shares_and_a_fifth_of_the_binary_tree(power, published):
    counter = TreeCounter.calibrate(2**power, PURE)
    error = counter.mean_squared_error()
    assert error < published
    binary = power / 2 * 2 * (power + 1) ** 2  # half the bits of the time, Laplace noise, all levels alike
    assert error <= binary / 5
    assert counter.guarantee.cost <= 1
    assert error < EachItem.calibrate(2**power, PURE).mean_squared_error()


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_calibration_never_spends_more_than_asked(adjacency):
    for length in (1, 2, 7, 1000):
        for epsilon in ("0.01", "1", "7"):
            counter = TreeCounter.calibrate(length, Pure(Fraction(epsilon)), adjacency)
            assert Fraction(epsilon) * Fraction(99, 100) <= counter.guarantee.cost <= Fraction(epsilon)


def blocks_moved(counter: TreeCounter, before: int, after: int | None) -> list[int]:
    """Per level, how many blocks change when an event leaves one step and, if any, enters another."""
    _, cells = matrices(counter)
    moved = cells[:, before] - (0 if after is None else cells[:, after])
    sizes = np.cumprod([1, *counter.radices])
    level = [int(np.searchsorted(sizes, row.sum())) for row in cells]
    return [int(np.abs(moved[[at == place for at in level]]).sum()) for place in range(len(sizes))]


@pytest.mark.parametrize("length", [7, 20])
def test_a_replaced_event_is_paid_for_at_the_step_it_leaves_and_at_the_one_it_enters(length):
    """The cost of the worst neighbour, counted block by block, without the counter's own word for it."""
    for adjacency in Adjacency:
        counter = TreeCounter.calibrate(length, PURE, adjacency)
        places = [None] if adjacency is Adjacency.ADD_REMOVE else list(range(length))
        pairs = [(a, b) for a in range(length) for b in places if a != b]
        unit = [noise.guarantee(1).cost for noise in counter.noises]
        worst = max(
            sum(n * cost for n, cost in zip(blocks_moved(counter, a, b), unit, strict=True)) for a, b in pairs
        )
        assert Fraction(9, 10) < worst <= PURE.cost
        for textbook in (EachItem, EachPrefix):
            assert textbook.calibrate(length, PURE, adjacency).guarantee.cost <= PURE.cost


def test_every_block_has_a_draw_of_its_own():
    """Noise so wide that two equal draws have a chance of one in a thousand million."""
    counter = tree(60, (7, 5), Fraction(10**10 - 1, 10**10))
    state = counter.start()
    drawn = set()
    for _ in range(60):
        state, _ = counter.step(state, 0)
        for level in state.levels:
            assert len(set(level.pending)) == len(level.pending)
            drawn.update(level.pending)
    assert len(drawn) > 20


@pytest.mark.parametrize("promise", [PURE, Concentrated(Fraction(1, 2))])
@pytest.mark.parametrize("changes", [1, 2, 5])
def test_what_is_promised_to_one_change_is_kept_for_several(promise, changes):
    """Epsilon adds up, rho grows with the square of the distance."""
    noise = calibrated(towards_one(promise, changes), Sensitivity.of(1))
    together = noise.guarantee(changes)
    if isinstance(promise, Pure):
        assert Fraction(99, 100) * promise.cost < together.cost <= promise.cost
    else:
        assert Fraction(99, 100) * promise.rho < together.rho <= promise.rho


def test_realised_error_is_the_forecast():
    """300 streams of 40 steps; the mean of squared errors varies by far less than its mean per stream."""
    counter = TreeCounter.calibrate(40, PURE)
    squares = []
    for _ in range(300):
        state, total = counter.start(), 0
        for step in range(1, 41):
            state, answer = counter.step(state, 2)
            total += (answer - 2 * step) ** 2
        squares.append(total / 40)
    assert np.mean(squares) == pytest.approx(counter.mean_squared_error(), rel=5.5 * (5 / 300) ** 0.5)
    assert np.mean([counter.variance(t) for t in range(1, 41)]) == pytest.approx(counter.mean_squared_error())


def test_both_textbook_sums_have_the_errors_of_the_lecture():
    """Ten values at total epsilon 1: noise on each prefix gives 200, on each item 2 i (on average 11)."""
    each_prefix, each_item = EachPrefix.calibrate(10, PURE), EachItem.calibrate(10, PURE)
    assert each_prefix.mean_squared_error() == pytest.approx(200, rel=0.001)
    assert each_item.mean_squared_error() == pytest.approx(11, rel=0.09)  # exact integer noise: 10.13
    assert each_item.variance(10) == 10 * each_item.variance(1)
    plain = EachPrefix(10, Geometric.calibrate(epsilon=1))
    assert float(plain.guarantee.cost) == pytest.approx(10)  # ten prefixes with noise for one cost ten times
    assert float(EachItem(10, Geometric.calibrate(epsilon=1)).guarantee.cost) == pytest.approx(1)
    for counter in (each_prefix, each_item):
        state = counter.start()
        for step in range(1, 11):
            state, _ = counter.step(state, 1)
            assert state.count == step
        with pytest.raises(ParameterError, match="10 steps"):
            counter.step(state, 1)


def test_a_tree_refuses_nonsense():
    with pytest.raises(ParameterError):
        TreeCounter.calibrate(0, PURE)
    with pytest.raises(ParameterError):
        tree(5, (1,))
    with pytest.raises(ParameterError, match="greater than 0"):
        TreeCounter.calibrate(5, Pure(Fraction(0)))
