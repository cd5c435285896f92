"""Continual counting under concentrated privacy: the square root of summation, in exact integers.

The matrix of running counts is the square of the lower triangular matrix R with entries r_{t-s}, r_k =
binomial(2k, k) / 4**k.  Measuring R x with Gaussian noise and multiplying by R again answers all running
counts with nearly the least possible error.  Three changes make it exact, streamable and better:

1. Blocks. At time t the past is divided into aligned dyadic blocks, of size 2**j where the lag is about m
   2**j; blocks only ever merge as they age. All steps of a block share the integer coefficient c =
   round(2**q r at the block's middle lag), so a row is a sum over m log2(n) block sums: that is the state.
2. Columns. Later steps appear in fewer rows and would be over-protected, so step s is multiplied by an
   integer D_s that makes all columns equally long (which also lowers the error).
3. Integers. The measurement of time t is y_t = sum over s <= t of c(t, s) D_s x_s + z_t with discrete
   Gaussian z_t. Solving the triangular system for x, block by block, and adding up is post-processing.

Theorem.  Releasing y_1, ..., y_n, and so every answer computed from them, is rho-zCDP with rho = max over s
of D_s**2 sum over t of c(t, s)**2 / (2 sigma**2) towards a change by one of one increment, even if
increments are chosen after seeing earlier answers.
Proof.  Given the past, y_t is one integer moved by c(t, s) D_s, so step t costs (c(t, s) D_s)**2 / (2
sigma**2), and concentrated privacy adds up under adaptive composition.  The sums are computed exactly, for
every s.

References.  Fichtenberger, Henzinger, Upadhyay, ICML 2023 (the square root); Andersson and Pagh, "Streaming
private continual counting via binning", 2024; Henzinger, Kalinin, Upadhyay, "Normalized square root", 2025.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated
from discreet.privacy.sensitivity import Sensitivity

Integers = NDArray[np.int64]

COEFFICIENT_BITS = 20
COLUMN_BITS = 12
LONGEST_STREAM = 2**26
BLOCKS_PER_SIZE = 8
"""m: how many blocks of each size are kept, at least; the finest resolution is one part in m."""


@dataclass(frozen=True, slots=True)
class Block:
    """Steps first .. first + 2**level - 1 so far: their exact weighted sum, and the estimate of it."""

    level: int
    first: int
    exact: int
    estimate: float

    @property
    def last(self) -> int:
        """The newest step of the block."""
        return self.first + (1 << self.level) - 1


@dataclass(frozen=True, slots=True)
class RootState:
    """How far the stream has come.  Confidential: it holds exact sums."""

    step: int
    released: float
    blocks: tuple[Block, ...]


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
        return cls(length, Gaussian.calibrate(rho=guarantee.rho, sensitivity=change), each)

    @property
    def guarantee(self) -> Concentrated:
        """The privacy of the whole stream of answers.

        All coefficients are non-negative, so two columns are at most sqrt(2) times as far apart as long.
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
        table = coefficients(self.length)
        factors = [int(table[middle(b.level, step - b.last)]) for b in past]
        own = scale * int(increment)
        front = int(table[0])
        exact = sum(c * block.exact for c, block in zip(factors, past, strict=True)) + front * own
        # From here on only the noisy measurement and earlier estimates are used.
        measured = self.noise.sample(exact)
        guess = (measured - sum(c * block.estimate for c, block in zip(factors, past, strict=True))) / front
        released = state.released + guess / scale
        return RootState(step, released, (*past, Block(0, step, own, guess))), released

    def variance(self, step: int) -> float:
        """Return about the variance of the answer at one time: that of the plain square root.

        On all lengths where the exact variance can be computed, it is smaller.
        """
        return self._unit() * float(_plain_variances(self.length)[step - 1])

    def mean_squared_error(self) -> float:
        """Return about the mean over all times of the variance of the answer, likewise."""
        return self._unit() * float(_plain_variances(self.length).mean())

    def _unit(self) -> float:
        return float(self.noise.sigma_squared) / 2.0 ** (2 * COEFFICIENT_BITS + 2 * COLUMN_BITS)


def merged(blocks: tuple[Block, ...], step: int) -> tuple[Block, ...]:
    """Return the blocks of the past as they stand at this step: old neighbours joined, oldest first."""
    out: list[Block] = []
    for block in blocks:
        out.append(block)
        while len(out) > 1 and _siblings(out[-2], out[-1]) and _old_enough(out[-1], step):
            left, right = out[-2:]
            joined = Block(
                left.level + 1, left.first, left.exact + right.exact, left.estimate + right.estimate
            )
            out[-2:] = [joined]
    return tuple(out)


def _siblings(left: Block, right: Block) -> bool:
    """Whether two neighbours are the halves of one aligned block; steps are numbered from 1."""
    return left.level == right.level and (left.first - 1) % (2 << left.level) == 0


def _old_enough(right: Block, step: int) -> bool:
    return step - right.last >= BLOCKS_PER_SIZE * (2 << right.level)


@lru_cache(maxsize=8)
def coefficients(length: int) -> Integers:
    """Return round(2**q r_k) for every lag.

    Only correctly rounded operations in a fixed order: a stored stream means the same on any machine.
    """
    lags = np.arange(1, length, dtype=np.float64)
    series = np.concatenate([[1.0], np.cumprod((2 * lags - 1) / (2 * lags))])
    return np.rint(series * 2.0**COEFFICIENT_BITS).astype(np.int64)


@lru_cache(maxsize=8)
def _plain_variances(length: int) -> NDArray[np.float64]:
    return np.asarray(np.cumsum(np.square(coefficients(length) / 2.0**COEFFICIENT_BITS)))


def middle(level: int, lag: int) -> int:
    """Return the lag whose coefficient a block uses, from the lag of its newest step."""
    return lag + (1 << level) // 2


@lru_cache(maxsize=8)
def column_squares(length: int) -> Integers:
    """Return, for every step s, the sum over t of c(t, s)**2 exactly.

    Step s lies in the aligned block of level j from the time its last step has lag m 2**j until the block of
    level j + 1 has lag m 2**(j + 1), so each level adds a difference of two running sums of squares.
    """
    steps = np.arange(1, length + 1, dtype=np.int64)
    total = np.zeros(length, dtype=np.int64)
    level = 0
    while True:
        last = _last_of_block(steps, level)
        begin = steps if level == 0 else last + BLOCKS_PER_SIZE * 2**level
        end = _last_of_block(steps, level + 1) + BLOCKS_PER_SIZE * 2 ** (level + 1)
        begin, end = np.minimum(begin, length + 1), np.minimum(end, length + 1)
        if np.all(begin > length):
            return total
        square = coefficients(length)[2**level // 2 :] ** 2
        running = np.concatenate([[0], np.cumsum(square)])
        total += np.where(begin <= length, _at(running, end - last) - _at(running, begin - last), 0)
        level += 1


def _at(running: Integers, lags: Integers) -> Integers:
    return np.asarray(running[np.clip(lags, 0, running.size - 1)])


def _last_of_block(steps: Integers, level: int) -> Integers:
    return np.asarray(((steps - 1) // 2**level + 1) * 2**level)


@lru_cache(maxsize=8)
def column_weights(length: int) -> Integers:
    """Return D_s for every step: 2**COLUMN_BITS for the longest column, more for shorter ones."""
    squares = column_squares(length)
    longest = int(squares.max())
    ratio = np.sqrt(longest / squares.astype(np.float64)) * 2**COLUMN_BITS
    return np.asarray(np.floor(ratio), dtype=np.int64)


def column_weight(length: int, step: int) -> int:
    """Return D_s for one step."""
    return int(column_weights(length)[step - 1])


@lru_cache(maxsize=8)
def longest_column(length: int) -> int:
    """Return the exact maximum over s of D_s**2 sum over t of c(t, s)**2."""
    squares, weights = column_squares(length), column_weights(length)
    # The product can pass 2**63, so the candidates for the maximum are compared as Python integers.
    near = squares.astype(np.float64) * weights.astype(np.float64) ** 2
    places = np.flatnonzero(near >= near.max() * (1 - 1e-9))
    return max(int(squares[i]) * int(weights[i]) ** 2 for i in places)


def _change(length: int, each: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return upper bounds on the l1 and l-infinity sensitivities around the exact squared l2 one."""
    square = each * longest_column(length)
    largest = 2**COEFFICIENT_BITS * int(column_weights(length).max())
    return Fraction(isqrt(square * length) + 1), Fraction(square), Fraction(min(largest, isqrt(square)))
