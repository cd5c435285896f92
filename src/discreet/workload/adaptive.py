"""One-dimensional histograms that look at the data first, privately, where that is expected to pay.

With many people in every cell the best measurements are the same for all data: sums over blocks of 1, 16,
256, ... cells, made consistent, or the cells by themselves if those are all that is asked.  With few, most of
what is measured would be noise around nothing; a split tree (see `split`) finds blocks of cells that are
alike, and only their counts are measured.

Choice.  Let N be the number of rows, public or measured with a fiftieth of epsilon.  The split tree is taken
if epsilon N < 5/2 cells, that is if a cell holds on average less than 2.5 times 1 / epsilon, the size of the
noise that it would need; where cells are asked, if epsilon N < cells and epsilon**2 N < cells / 2: people who
fall into cells by chance make them uneven by the root of N / cells, and where that is as large as noise no
block is even enough to spare any.  The tree gets a quarter of epsilon, the counts of its blocks the rest.

Theorem.  Whatever is chosen keeps epsilon.
Proof.  The noisy total, the partition and the counts of its blocks, or the noisy total and the sums, are
released one after the other, by mechanisms that are chosen by what was released before; their losses add up
to epsilon at most.  A block's count moves only with rows of the block, so all of them cost what one does.

Everything after that is post-processing: sums are reconciled by least squares, which for a complete tree is
one walk up and one down (Hay et al. 2010), and no count is left negative.

Measured.  Root mean squared errors on real histograms (`python -m benchmarks.workload adaptive`), of the same
measurements for all data over those of looking first.  Where the tree is chosen: random ranges 1.6 to 11 as
drawn and 1.0 to 2.4 without negative cells, single cells 1.6 to 246 and 1.1 to 174.  Elsewhere .98, for the
fiftieth spent on N.  Where next to nothing can be known (1,000 people who crowd at one end, at epsilon .01)
ranges err up to twice as much as without negative cells, which say that nobody is there.  With few cells a
peak that the tree does not find costs more than its calm saves.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real, positive
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Pure
from discreet.workload.linear import Array, Floats
from discreet.workload.nearest import nearest_counts
from discreet.workload.split import SplitTree
from discreet.workload.strategy import integers, roomy

BRANCHING = 16
LARGEST_HISTOGRAM = 2**20

_SCALE = Fraction(1, 50)
_PARTITION = Fraction(1, 4)
_FEW, _FEW_IN_CELLS, _EVEN = Fraction(5, 2), Fraction(1), Fraction(1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBlocks:
    """Blocks that a split tree found, and their noisy counts."""

    starts: NDArray[np.int64]
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSums:
    """Noisy counts of blocks of 1, 16, 256, ... cells, the finest first."""

    levels: tuple[NDArray[Any], ...]


AdaptiveMeasurement: TypeAlias = MeasuredBlocks | MeasuredSums


@dataclass(frozen=True, slots=True)
class AdaptivePlan:
    """How a histogram is measured at an epsilon for each row; `total` is known beforehand, or None."""

    cells: int
    epsilon: Fraction
    total: int | None = None
    changes: int = 1
    """How far one person moves all cells together."""
    ranges: bool = True
    """Whether sums over many cells are asked, and not only the cells."""

    def __post_init__(self) -> None:
        if not 1 <= self.cells <= LARGEST_HISTOGRAM:
            raise ParameterError(f"a histogram has 1 to {LARGEST_HISTOGRAM} cells here, got {self.cells}")
        if self.changes < 1:
            raise ParameterError("one person must be able to move the cells by 1 at least")

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, cells: int, total: int | None = None, sensitivity: int = 1, ranges: bool = True
    ) -> "AdaptivePlan":
        """Return the plan that loses at most epsilon about a person who moves cells by `sensitivity`."""
        return cls(cells, positive(epsilon, "epsilon") / sensitivity, total, sensitivity, ranges)

    @property
    def rest(self) -> Fraction:
        """What is left of epsilon once the number of rows is known."""
        return self.epsilon if self.total is not None else self.epsilon * (1 - _SCALE)

    @property
    def counting(self) -> Geometric | None:
        """The noise of the total, where that is not known."""
        return None if self.total is not None else _noise(self.epsilon * _SCALE)

    @property
    def tree(self) -> SplitTree:
        """What finds blocks."""
        theta = max(1, round(2 / (self.rest * (1 - _PARTITION))))
        return _tree(self.rest * _PARTITION, self.cells, theta)

    @property
    def blocks(self) -> Geometric:
        """The noise of blocks' counts."""
        return _noise(self.rest * (1 - _PARTITION))

    @property
    def sums(self) -> Geometric:
        """The noise of sums over blocks of all sizes."""
        return _noise(self.rest, self.height + 1)

    @property
    def height(self) -> int:
        """How often 16 cells become one before all are; where only cells are asked, never."""
        height = 0
        while self.ranges and BRANCHING**height < self.cells:
            height += 1
        return height

    @property
    def guarantee(self) -> Pure:
        """What measuring promises to a person: the losses of the dearer way, added up."""
        known = Fraction(0) if self.counting is None else self.counting.guarantee(1).cost
        found = self.tree.guarantee().cost + self.blocks.guarantee(1).cost
        summed = self.sums.guarantee(self.height + 1).cost
        return Pure(self.changes * (known + max(found, summed)))

    def splits(self, total: int) -> bool:
        """Return whether so many rows are few enough for a split tree."""
        if self.ranges:
            return self.rest * total < _FEW * self.cells
        return self.rest * total < _FEW_IN_CELLS * self.cells and self.rest**2 * total < _EVEN * self.cells

    def measure(self, histogram: Array) -> AdaptiveMeasurement:
        """Return noisy counts of blocks, or of sums: the only step that sees data."""
        counts = integers(histogram)
        if counts.shape != (self.cells,):
            raise ParameterError(f"expected {self.cells} counts, got an array of shape {counts.shape}")
        counts = roomy(counts, 2)
        total = self.total
        if self.counting is not None:
            total = int(self.counting.sample(int(counts.sum())))
        if total is not None and self.splits(total):
            starts = self.tree.sample(counts)
            return MeasuredBlocks(starts, self.blocks.sample(np.add.reduceat(counts, starts)))
        size = max(BRANCHING**self.height, self.cells)
        levels = [np.concatenate([counts, np.zeros(size - self.cells, dtype=counts.dtype)])]
        for _ in range(self.height):
            levels.append(levels[-1].reshape(-1, BRANCHING).sum(axis=1))
        return MeasuredSums(tuple(self.sums.sample(level) for level in levels))

    def estimate(self, measured: AdaptiveMeasurement) -> Floats:
        """Return the cells as they are believed to be: none is negative."""
        match measured:
            case MeasuredBlocks(starts, counts):
                widths, drawn = np.diff(np.append(starts, self.cells)), np.asarray(counts, dtype=np.float64)
                # Raising negative counts alone would add people where there are none.
                return np.repeat(nearest_counts(drawn, float(drawn.sum())) / widths, widths)
            case MeasuredSums((alone,)) if self.cells > 1:
                return np.maximum(np.asarray(alone, dtype=np.float64), 0)
            case MeasuredSums(levels):
                return possible(least_squares([np.asarray(x, dtype=np.float64) for x in levels]))[
                    : self.cells
                ]


@lru_cache(maxsize=64)  # a plan is used more than once
def _tree(epsilon: Fraction, cells: int, theta: int) -> SplitTree:
    return SplitTree.calibrate(epsilon=epsilon, cells=cells, theta=theta)


@lru_cache(maxsize=64)
def _noise(epsilon: Fraction, sensitivity: int = 1) -> Geometric:
    return Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)


def least_squares(levels: list[Floats]) -> list[Floats]:
    """Return the estimate of every sum, from the cells upwards, by equal noise on all levels of a tree."""
    best = [levels[0]]
    for height, own in enumerate(levels[1:], 1):
        below = best[-1].reshape(-1, BRANCHING).sum(axis=1)
        # A leaf counts once; what a subtree says of its sum gains precision from level to level.
        whole, part = BRANCHING ** (height + 1), BRANCHING**height
        best.append((own * (whole - part) + below * (part - 1)) / (whole - 1))
    out = [best[-1]]
    for own in best[-2::-1]:
        children = own.reshape(-1, BRANCHING)
        missing = out[0] - children.sum(axis=1)
        out.insert(0, (children + missing[:, None] / BRANCHING).reshape(-1))
    return out


def possible(levels: list[Floats]) -> Floats:
    """Return cells without negative ones: from the top, the nearest shares of what each block may have."""
    above = np.maximum(levels[-1], 0.0)
    for level in levels[-2::-1]:
        children = level.reshape(-1, BRANCHING)
        ordered = -np.sort(-children, axis=1)
        shifts = (np.cumsum(ordered, axis=1) - above[:, None]) / np.arange(1, BRANCHING + 1)
        kept = np.maximum((ordered > shifts).sum(axis=1) - 1, 0)
        shift = np.take_along_axis(shifts, kept[:, None], axis=1)
        above = np.where(above[:, None] > 0, np.maximum(children - shift, 0), 0).reshape(-1)
    return np.asarray(above)
