"""A histogram that is fine where the data is and coarse where nothing happens: the split tree.

The cells are halved again and again.  Whether a block of cells is split depends on its unevenness
c = min over m of sum |x_i - m|, a whole number: at depth j it is split if

    max(theta - kappa, c - kappa j) + Z > theta,        Z two-sided geometric with ratio a.

Blocks that are not split leave as they are: their cells are taken for equal.

Theorem.  Let one row be added to or taken from one cell, and let the tree have at most d levels of splits.
With h(u) = (1 + a - a**u) / (1 + a - a**(u - 1)), the partition that leaves loses at most epsilon, where

    exp(epsilon) = 1/a * product over 0 <= j < d of h(1 + kappa j).

Proof.  c moves by at most one, and only in blocks that hold the cell: one on each level, down to the last
that the partition shows.  Let u be the larger of a block's two scores, minus theta.  Being split has the
probability a**(1 - u) / (1 + a) for u <= 0 and 1 - a**u / (1 + a) for u >= 1, so its ratio is at most 1/a,
and at most h(u) for u >= 1, which falls with u; h(1) = 1/a.  Not being split has a ratio of at most 1/a for
u >= 1, and at most h(2 - u) <= h(2) for u <= 0.  Where u <= -kappa both scores are the same and nothing is
lost.  c is no larger in a part than in the whole, so u falls by kappa at least from level to level: of the
blocks on the path, one at most has -kappa < u <= 0, and those above it have u >= 1, 1 + kappa, 1 + 2 kappa
and so on.  If the path ends in a block with u >= 1, it loses 1/a there and at most h(1 + kappa), ... above;
if with -kappa < u <= 0, at most h(2) there and h(1), h(1 + kappa), ... above; if with u <= -kappa, nothing
there, at most 1/a in one block and h(1), h(1 + kappa), ... above.  All are at most the product.

The counts of the blocks are measured afterwards, each row in one of them.

References.  Private decompositions whose noise does not grow with their depth: Zhang, Xiao, Xie, "PrivTree",
SIGMOD 2016.  Here scores, thresholds and noise are whole numbers, and the loss is a rational number.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real, log_up, positive, round_up
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Pure
from discreet.workload.linear import Array
from discreet.workload.strategy import integers, roomy

_STEEPNESS = Fraction(7, 10)
"""kappa is this many times 1 / (1 - a): a smaller one costs more at each level, a larger one splits less."""

_BITS, _DIGITS = 40, 128


@dataclass(frozen=True, slots=True)
class SplitTree:
    """Which blocks of cells are told apart; a larger alpha is noisier and more private."""

    alpha: Fraction
    kappa: int
    theta: int
    cells: int

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ParameterError(f"alpha must lie strictly between 0 and 1, got {self.alpha}")
        if self.kappa < 1 or self.cells < 1:
            raise ParameterError("a split tree needs at least one cell, and a kappa of at least 1")

    @classmethod
    def calibrate(cls, *, epsilon: Real, cells: int, theta: int) -> "SplitTree":
        """Return the sharpest tree, to one part in 2**40, that loses at most epsilon."""
        asked = positive(epsilon, "epsilon")
        low, high = 0, 2**_BITS
        while high - low > 1:
            middle = (low + high) // 2
            made = cls._at(Fraction(middle, 2**_BITS), cells, theta)
            low, high = (low, middle) if made.guarantee().cost <= asked else (middle, high)
        if high == 2**_BITS:
            raise ParameterError(f"epsilon {asked} is too small for a split tree")
        return cls._at(Fraction(high, 2**_BITS), cells, theta)

    @classmethod
    def _at(cls, alpha: Fraction, cells: int, theta: int) -> "SplitTree":
        return cls(alpha, max(1, round(_STEEPNESS / (1 - alpha))), theta, cells)

    @property
    def depth(self) -> int:
        """The most times that a cell's block can be split."""
        return (self.cells - 1).bit_length()

    def guarantee(self, changes: int = 1) -> Pure:
        """Return the privacy of the partition for somebody who moves cells by so much in all."""
        a, odds, power = self.alpha, 1 / self.alpha, Fraction(1)
        step = _power_up(a, self.kappa)
        for _ in range(self.depth):
            # h(1 + kappa j) = 1 + p (1 - a) / (1 + a - p) with p = a**(kappa j), which grows with p.
            odds = round_up(odds * (1 + power * (1 - a) / (1 + a - power)), _DIGITS)
            power = round_up(power * step, _DIGITS)
        return Pure(changes * log_up(odds))

    def splits(self, unevenness: int, depth: int) -> Fraction:
        """Return the probability that a block is split."""
        a, u = self.alpha, max(-self.kappa, unevenness - self.kappa * depth - self.theta)
        return a ** (1 - u) / (1 + a) if u <= 0 else 1 - a**u / (1 + a)

    def sample(self, histogram: Array) -> NDArray[np.int64]:
        """Return where the blocks of the drawn partition begin: exact counts in, a private partition out."""
        counts = _padded(histogram, self.cells, 2**self.depth)
        noise = Geometric(self.alpha)
        starts, width, found = np.zeros(1, dtype=np.int64), counts.size, []
        for depth in range(self.depth):
            blocks = counts.reshape(-1, width)[starts // width]
            scores = np.maximum(unevenness(blocks) - self.kappa * depth, self.theta - self.kappa)
            split = np.asarray(noise.sample(scores) > self.theta, dtype=bool)
            found.append(starts[~split])
            width //= 2
            starts = (starts[split, None] + np.array([0, width])).reshape(-1)
        every = np.sort(np.concatenate([*found, starts]))
        return np.asarray(every[every < self.cells])


def _power_up(base: Fraction, exponent: int) -> Fraction:
    """Return a power of a number below one, rounded up."""
    found, square = Fraction(1), base
    while exponent:
        if exponent & 1:
            found = round_up(found * square, _DIGITS)
        square, exponent = round_up(square * square, _DIGITS), exponent >> 1
    return found


def unevenness(blocks: Array) -> Array:
    """Return min over m of sum |x - m| for each row: what its larger half has more than its smaller half."""
    ordered = np.sort(blocks, axis=1)
    half = ordered.shape[1] // 2
    return np.asarray(ordered[:, ordered.shape[1] - half :].sum(axis=1) - ordered[:, :half].sum(axis=1))


def _padded(histogram: Array, cells: int, size: int) -> Array:
    """Return the counts with empty cells up to this size: nobody is ever in those."""
    counts = integers(histogram)
    if counts.shape != (cells,):
        raise ParameterError(f"expected {cells} counts, got an array of shape {counts.shape}")
    counts = roomy(counts, 2 * cells)
    return np.concatenate([counts, np.zeros(size - cells, dtype=counts.dtype)])
