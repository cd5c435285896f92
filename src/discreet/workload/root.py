"""Continual counting under concentrated privacy: the square root of summation, in exact integers.

The matrix of running counts is the square of the lower triangular matrix R with entries r_{t-s}, r_k =
binomial(2k, k) / 4**k.  Measuring R x with Gaussian noise and multiplying by R again answers all running
counts with nearly the least possible error.  Three changes make it exact, streamable and better:

1. Blocks.  At time t the past is divided into aligned dyadic blocks, of size 2**j where the lag is about
   m 2**j; blocks only ever merge as they age.  Within a block the coefficient of a step with lag k is the
   integer a + b (mu - k), with a the rounded 2**q r_mu at the block's middle lag mu and b the rounded slope
   there.  So a row needs of each block only its sum and its first moment, and that is the state.
2. Columns.  Later steps appear in fewer rows and would be over-protected, so step s is multiplied by an
   integer D_s that makes all columns equally long (which also lowers the error).
3. Integers. The measurement of time t is y_t = sum over s <= t of c(t, s) D_s x_s + z_t with discrete
   Gaussian z_t. Solving the triangular system for x, block by block, and adding up is post-processing.

Theorem.  Releasing y_1, ..., y_n, and so every answer computed from them, is rho-zCDP with rho = max over s
of D_s**2 sum over t of c(t, s)**2 / (2 sigma**2) towards a change by one of one increment, even if
increments are chosen after seeing earlier answers.
Proof.  Given the past, y_t is one integer moved by c(t, s) D_s, so step t costs (c(t, s) D_s)**2 / (2
sigma**2), and concentrated privacy adds up under adaptive composition.  The sums are computed for every s,
in floats whose error is far below the margin by which they are rounded up.

References.  Fichtenberger, Henzinger, Upadhyay, ICML 2023 (the square root); Andersson and Pagh, "Streaming
private continual counting via binning", 2024; Henzinger, Kalinin, Upadhyay, "Normalized square root", 2025.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.noise import bare

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

COLUMN_BITS = 12
LONGEST_STREAM = 2**26
BLOCKS_PER_SIZE = 4
"""m: how many blocks of each size are kept, at least; the finest resolution is one part in m."""

_MARGIN = Fraction(1, 2**20)


@dataclass(frozen=True, slots=True)
class DyadicBlock:
    """Steps first .. first + 2**level - 1: weighted sum and moment about the last, exact and estimated."""

    level: int
    first: int
    exact: int
    exact_moment: int
    estimate: float
    estimate_moment: float

    @property
    def last(self) -> int:
        """The newest step of the block."""
        return self.first + (1 << self.level) - 1

    def joined(self, right: "DyadicBlock") -> "DyadicBlock":
        """Return this block and its right neighbour of the same size as one."""
        shift = 1 << self.level
        return DyadicBlock(
            self.level + 1,
            self.first,
            self.exact + right.exact,
            self.exact_moment - shift * self.exact + right.exact_moment,
            self.estimate + right.estimate,
            self.estimate_moment - shift * self.estimate + right.estimate_moment,
        )


@dataclass(frozen=True, slots=True)
class RootState:
    """How far the stream has come.  Confidential: it holds exact sums."""

    step: int
    released: float
    blocks: tuple[DyadicBlock, ...]


@dataclass(frozen=True, slots=True)
class RootCounter:
    """A stream of `length` steps measured through the square root of summation with this noise."""

    length: int
    noise: Gaussian
    each: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.length <= LONGEST_STREAM:
            raise ParameterError(f"a stream has between 1 and {LONGEST_STREAM} steps, got {self.length}")

    @classmethod
    def calibrate(
        cls, length: int, guarantee: Concentrated, adjacency: Adjacency = Adjacency.ADD_REMOVE
    ) -> "RootCounter":
        """Return the counter with the least noise that keeps the promise."""
        each = 1 if adjacency is Adjacency.ADD_REMOVE else 2
        change = Sensitivity(*_change(length, each))
        return cls(length, bare(Gaussian.calibrate(rho=guarantee.rho, sensitivity=change)), each)

    @property
    def guarantee(self) -> Concentrated:
        """The privacy of the whole stream of answers.

        A replaced event adds one to another increment instead.  All coefficients are non-negative, so two
        columns are at most sqrt(2) times as far apart as long.
        """
        return self.noise.guarantee(Sensitivity(*_change(self.length, self.each)))

    def start(self) -> RootState:
        """Return the state before the first step."""
        return RootState(0, 0.0, ())

    def step(self, state: RootState, increment: int) -> tuple[RootState, float]:
        """Return the state after one more increment and the noisy count to release, in O(log n) time."""
        if state.step >= self.length:
            raise ParameterError(
                f"the stream was planned for {self.length} steps and they have all been taken"
            )
        step = state.step + 1
        scale = column_weight(self.length, step)
        past = merged(state.blocks, step)
        lines = [line(self.length, block.level, step - block.last) for block in past]
        front = line(self.length, 0, 0)[0]
        own = scale * int(increment)
        exact = front * own
        for (value, slope), block in zip(lines, past, strict=True):
            exact += value * block.exact + slope * block.exact_moment
        # From here on only the noisy measurement and earlier estimates are used.
        left = float(self.noise.sample(exact))
        for (value, slope), block in zip(lines, past, strict=True):
            left -= value * block.estimate + slope * block.estimate_moment
        guess = left / front
        released = state.released + guess / scale
        return RootState(step, released, (*past, DyadicBlock(0, step, own, 0, guess, 0.0))), released

    def variance(self, step: int) -> float:
        """Return about the variance of the answer at one time: that of the plain square root.

        On all lengths where the exact variance can be computed, it is smaller.
        """
        return self._unit() * float(_plain_variances(self.length)[step - 1])

    def mean_squared_error(self) -> float:
        """Return about the mean over all times of the variance of the answer, likewise."""
        return self._unit() * float(_plain_variances(self.length).mean())

    def _unit(self) -> float:
        return float(self.noise.sigma_squared) / 2.0 ** (2 * coefficient_bits(self.length) + 2 * COLUMN_BITS)


def merged(blocks: tuple[DyadicBlock, ...], step: int) -> tuple[DyadicBlock, ...]:
    """Return the blocks of the past as they stand at this step: old neighbours joined, oldest first."""
    out: list[DyadicBlock] = []
    for block in blocks:
        out.append(block)
        while len(out) > 1 and _siblings(out[-2], out[-1]) and _old_enough(out[-1], step):
            out[-2:] = [out[-2].joined(out[-1])]
    return tuple(out)


def _siblings(left: DyadicBlock, right: DyadicBlock) -> bool:
    """Whether two neighbours are the halves of one aligned block; steps are numbered from 1."""
    return left.level == right.level and (left.first - 1) % (2 << left.level) == 0


def _old_enough(right: DyadicBlock, step: int) -> bool:
    return step - right.last >= BLOCKS_PER_SIZE * (2 << right.level)


def coefficient_bits(length: int) -> int:
    """Return q: enough for the slope of the largest blocks to be a good integer too."""
    return 20 + (length - 1).bit_length()


@lru_cache(maxsize=8)
def coefficients(length: int) -> Integers:
    """Return round(2**q r_k) for every lag.

    Only correctly rounded operations in a fixed order: a stored stream means the same on any machine.
    """
    lags = np.arange(1, length + 2, dtype=np.float64)
    series = np.concatenate([[1.0], np.cumprod((2 * lags - 1) / (2 * lags))])
    return np.asarray(np.rint(series * 2.0 ** coefficient_bits(length)), dtype=np.int64)


def line(length: int, level: int, lag: int) -> tuple[int, int]:
    """Return the value a + b 2**level / 2 at the newest step of a block with this lag, and the slope b."""
    table = coefficients(length)
    half = (1 << level) // 2
    if half == 0:
        return int(table[lag]), 0
    slope = (int(table[lag + half - 1]) - int(table[lag + half + 1])) // 2
    return int(table[lag + half]) + slope * half, slope


@lru_cache(maxsize=8)
def _plain_variances(length: int) -> Floats:
    return np.asarray(np.cumsum(np.square(coefficients(length)[:length] / 2.0 ** coefficient_bits(length))))


@lru_cache(maxsize=8)
def column_squares(length: int) -> Floats:
    """Return, for every step s, the sum over t of c(t, s)**2, to a relative error below 2**-21.

    Step s lies in the aligned block of level j from the time its last step has lag m 2**j until the block of
    level j + 1 has lag m 2**(j + 1).  There its coefficient is value + slope (s - last), so each level adds
    differences of running sums of value**2, value slope and slope**2.  A running sum of at most 2**26 floats
    is right to 2**-27 of itself, and an octave of lags contributes at least a 32nd of it.  The operations and
    their order are fixed and correctly rounded, so that all machines agree.
    """
    steps = np.arange(1, length + 1, dtype=np.int64)
    table = coefficients(length)
    total = np.zeros(length)
    level = 0
    while True:
        last = _last_of_block(steps, level)
        begin = steps if level == 0 else last + BLOCKS_PER_SIZE * 2**level
        end = _last_of_block(steps, level + 1) + BLOCKS_PER_SIZE * 2 ** (level + 1)
        begin, end = np.minimum(begin, length + 1), np.minimum(end, length + 1)
        if np.all(begin > length):
            return total
        values, slopes = _lines(table, level)
        offset = (steps - last).astype(np.float64)
        span = [np.clip(edge - last, 0, values.size) for edge in (begin, end)]
        moments = [
            _between(terms, *span) for terms in (values * values, 2 * values * slopes, slopes * slopes)
        ]
        total += np.where(begin <= length, moments[0] + offset * (moments[1] + offset * moments[2]), 0)
        level += 1


def _lines(table: Integers, level: int) -> tuple[Floats, Floats]:
    """Return `line` for every lag at once; integers below 2**53, hence exact."""
    half = 2**level // 2
    if half == 0:
        return table[:-2].astype(np.float64), np.zeros(table.size - 2)
    slopes = (table[half - 1 : -2] - table[half + 1 :]) // 2
    return (table[half:-1] + slopes * half).astype(np.float64), slopes.astype(np.float64)


def _between(terms: Floats, begin: Integers, end: Integers) -> Floats:
    running = np.concatenate([[0.0], np.cumsum(terms)])
    return np.asarray(running[end] - running[begin])


def _last_of_block(steps: Integers, level: int) -> Integers:
    return np.asarray(((steps - 1) // 2**level + 1) * 2**level)


@lru_cache(maxsize=8)
def column_weights(length: int) -> Integers:
    """Return D_s for every step: 2**COLUMN_BITS for the longest column, more for shorter ones."""
    squares = column_squares(length)
    return np.asarray(np.floor(np.sqrt(squares.max() / squares) * 2**COLUMN_BITS), dtype=np.int64)


def column_weight(length: int, step: int) -> int:
    """Return D_s for one step."""
    return int(column_weights(length)[step - 1])


@lru_cache(maxsize=8)
def longest_column(length: int) -> int:
    """Return the maximum over s of D_s**2 sum over t of c(t, s)**2, rounded up by one part in 2**20."""
    longest = float((column_squares(length) * np.square(column_weights(length).astype(np.float64))).max())
    return ceil(Fraction(longest) * (1 + _MARGIN))


def _change(length: int, each: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return upper bounds on the l1 and l-infinity sensitivities around the squared l2 one."""
    square = each * longest_column(length)
    largest = 2 ** coefficient_bits(length) * int(column_weights(length).max())
    return Fraction(isqrt(square * length) + 1), Fraction(square), Fraction(min(largest, isqrt(square)))
