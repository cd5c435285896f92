"""One-dimensional histograms that look at the data first, privately, where that is expected to pay.

With many people in every cell the best measurements are the same for all data: cells and weighted sums that
are planned for all ranges (see `plan` and `block`), or the cells by themselves if those are all that is
asked.  With few, most
of what is measured would be noise around nothing; split trees (see `split`) find blocks of cells that are
alike, and only their counts are measured.

Choice.  Let N be the number of rows, public or measured with a fiftieth of epsilon.  Trees are taken if
epsilon N < 5/2 cells, that is if a cell holds on average less than 2.5 times 1 / epsilon, the size of the
noise that it would need, and if epsilon N < 2,000: more people show so many blocks that the noise of their
counts adds up to more than that of sums.  Where cells are asked, if epsilon N < cells and epsilon**2 N <
cells / 2: people who fall into cells by chance make them uneven by the root of N / cells, and where that is
as large as noise no block is even enough to spare any.  The trees get a quarter of epsilon, the counts of
their blocks the rest.

Sections.  The deeper a tree has to go, the more it takes to make it split.  So the cells are first cut into
sections of equal width, and each has a tree of its own: 4 where ranges are asked, 80 epsilon N / cells where
cells are, with an N that is larger by the noise that it was measured with.  Where ranges are asked of so few
people that no tree sees any (epsilon N < 40), 8 sections are counted as they are, with all of epsilon.  The
first look at N is off by 70 / epsilon; where it finds epsilon N below 300, a tenth of what is left is spent
on a second.

Sums.  Beyond 4,096 cells nothing is planned, and sums over blocks of 1, b, b**2, ... cells are measured.  A
tree of h levels with b children each has noise of h times the deviation on every level, and a range ends
among the children of two blocks of each; b**h >= cells is chosen to make h**3 (b - 1) least (Qardaji, Yang,
Li 2013).  The sum of everything is not measured: it would take the share of a level.

Theorem.  Whatever is chosen keeps epsilon.
Proof.  The noisy totals, the partition and the counts of its blocks, or the noisy total and the sums, are
released one after the other, by mechanisms that are chosen by what was released before; their losses add up
to epsilon at most.  Sections have no cell in common, so a row moves one of their trees, and a tree of fewer
levels with the same noise loses no more than one of all cells.  A block's count moves only with rows of the
block, so all of them cost what one does; so do the sums of one level.

Everything after that is post-processing: sums are reconciled by least squares, which for a complete tree is
one walk up and one down (Hay et al. 2010), and no count is left negative (see `reconcile`).

MEASURED
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real, flag, positive, whole
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Pure
from discreet.workload.block import cells_and_blocks
from discreet.workload.linear import AllRange, Array, Floats
from discreet.workload.nearest import nearest_counts
from discreet.workload.plan import LARGEST_ATTRIBUTE, plan
from discreet.workload.reconcile import MeasuredStrategy, reconcile
from discreet.workload.split import SplitTree
from discreet.workload.strategy import Strategy, integers, measure_exactly, roomy, sensitivity

LARGEST_HISTOGRAM = 2**20

_SCALE, _AGAIN = Fraction(1, 50), Fraction(1, 10)
_PARTITION = Fraction(1, 4)
_FEW, _FEW_IN_CELLS, _EVEN = Fraction(5, 2), Fraction(1), Fraction(1, 2)
_MANY, _DOUBTFUL, _HIDDEN = 2000, 300, 40
"""Epsilon times rows: as many have too many blocks, may be hidden by noise, and are."""

_PLANNED_WHOLE = 512
"""Up to so many cells are planned one by one, and more of them in blocks: that takes less than a second."""

_SECTIONS, _EQUAL_BLOCKS, _FINENESS = 4, 8, 80
_NARROWEST = 16
"""No section has fewer cells."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredBlocks:
    """Blocks that a split tree found, and their noisy counts."""

    starts: NDArray[np.int64]
    counts: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSums:
    """Noisy counts of blocks of 1, b, b**2, ... cells, the finest first."""

    levels: tuple[NDArray[Any], ...]


AdaptiveMeasurement: TypeAlias = MeasuredBlocks | MeasuredSums | MeasuredStrategy


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
        moves = whole(positive(sensitivity, "sensitivity"), "sensitivity")
        known = None if total is None else whole(total, "total")
        each = positive(epsilon, "epsilon") / moves
        return cls(whole(cells, "cells"), each, known, moves, flag(ranges, "ranges"))

    @property
    def rest(self) -> Fraction:
        """What is left of epsilon once the number of rows is known."""
        return self.epsilon if self.total is not None else self.epsilon * (1 - _SCALE)

    @property
    def counting(self) -> Geometric | None:
        """The noise of the total, where that is not known."""
        return None if self.total is not None else _noise(self.epsilon * _SCALE)

    @property
    def again(self) -> Geometric | None:
        """The noise of a second look at the total, where the first leaves open whether anything shows."""
        if self.total is not None or not self.ranges or self.cells < _EQUAL_BLOCKS * _NARROWEST:
            return None
        return _noise(self.rest * _AGAIN)

    @property
    def tree(self) -> SplitTree:
        """What finds blocks."""
        return _tree(self.rest, self.cells)

    @property
    def blocks(self) -> Geometric:
        """The noise of blocks' counts."""
        return _noise(self.rest * (1 - _PARTITION))

    @property
    def planned(self) -> Strategy | None:
        """What is measured for all data alike, where that can be planned."""
        return _planned(self.cells) if self.ranges and self.cells <= LARGEST_ATTRIBUTE else None

    @property
    def sums(self) -> Geometric:
        """The noise of what is measured for all data alike."""
        return _noise(self.rest, self._moved)

    @property
    def _moved(self) -> int:
        """How far one row moves what is measured for all data alike."""
        return self.height if self.planned is None else _moved_by_a_row(self.cells)

    @property
    def height(self) -> int:
        """How many sizes of blocks are summed; where only cells are asked, one."""
        return _shape(self.cells)[1] if self.ranges else 1

    @property
    def branching(self) -> int:
        """How many blocks make one of the next size."""
        return _shape(self.cells)[0]

    @property
    def guarantee(self) -> Pure:
        """What measuring promises to a person: the losses of the dearest way, added up."""
        known = Fraction(0) if self.counting is None else self.counting.guarantee(1).cost
        ways = [self.sums.guarantee(self._moved).cost, _cost_of_blocks(self.rest, self.cells)]
        if self.again is not None:
            left = self.rest * (1 - _AGAIN)
            ways.append(self.again.guarantee(1).cost + _cost_of_blocks(left, self.cells))
        return Pure(self.changes * (known + max(ways)))

    def splits(self, total: int) -> bool:
        """Return whether so many rows are few enough for split trees."""
        if self.ranges:
            return self.rest * total < min(_FEW * self.cells, Fraction(_MANY))
        return self.rest * total < _FEW_IN_CELLS * self.cells and self.rest**2 * total < _EVEN * self.cells

    def hidden(self, total: int) -> bool:
        """Return whether so few rows are asked about in ranges that no tree would see them."""
        return self.ranges and self._sectioned and self.rest * total < _HIDDEN

    def sections(self, total: int) -> int:
        """Return into how many sections the cells are cut first, for so many rows."""
        if not self._sectioned:
            return 1
        if self.ranges:
            return _EQUAL_BLOCKS if self.hidden(total) else _SECTIONS
        # A peak in too wide a section costs more than sections that are too many.
        doubt = 0 if self.total is not None else self.rest / (self.epsilon * _SCALE)
        wanted, found = _FINENESS * (self.rest * total + doubt) / self.cells, 1
        # The nearest power of two, by its logarithm.
        while 2 * found**2 <= wanted**2 and wanted > 0 and 2 * found * _NARROWEST <= self.cells:
            found *= 2
        return found

    @property
    def _sectioned(self) -> bool:
        return self.cells >= _EQUAL_BLOCKS * _NARROWEST

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
            return self._measured_blocks(counts, total)
        if self.planned is not None:
            exact = measure_exactly(self.planned, counts)
            return MeasuredStrategy(self.planned, self.sums, self.sums.sample(exact))
        width = self.branching ** (self.height - 1)
        size = -(-self.cells // width) * width
        levels = [np.concatenate([counts, np.zeros(size - self.cells, dtype=counts.dtype)])]
        for _ in range(self.height - 1):
            levels.append(levels[-1].reshape(-1, self.branching).sum(axis=1))
        return MeasuredSums(tuple(self.sums.sample(level) for level in levels))

    def _measured_blocks(self, counts: Array, total: int) -> MeasuredBlocks:
        left = self.rest
        if self.again is not None and self.rest * total < _DOUBTFUL:
            total, left = int(self.again.sample(int(counts.sum()))), self.rest * (1 - _AGAIN)
        width = -(-self.cells // self.sections(total))
        starts = np.arange(0, self.cells, width)
        if self.hidden(total):
            return MeasuredBlocks(starts, _noise(left).sample(np.add.reduceat(counts, starts)))
        whole = _tree(left, self.cells)
        found = [
            start + replace(whole, cells=part.size).sample(part)
            for start, part in ((start, counts[start : start + width]) for start in starts.tolist())
        ]
        starts = np.concatenate(found)
        noise = _noise(left * (1 - _PARTITION))
        return MeasuredBlocks(starts, noise.sample(np.add.reduceat(counts, starts)))

    def estimate(self, measured: AdaptiveMeasurement) -> Floats:
        """Return the cells as they are believed to be: none is negative."""
        match measured:
            case MeasuredBlocks(starts, counts):
                widths, drawn = np.diff(np.append(starts, self.cells)), np.asarray(counts, dtype=np.float64)
                # Raising negative counts alone would add people where there are none.
                return np.repeat(nearest_counts(drawn, float(drawn.sum())) / widths, widths)
            case MeasuredSums((alone,)) if not self.ranges:
                return np.maximum(np.asarray(alone, dtype=np.float64), 0)
            case MeasuredStrategy():
                return reconcile([measured], nonnegative=AllRange(self.cells)).cells
            case MeasuredSums(levels):
                told = [np.asarray(level, dtype=np.float64) for level in levels]
                return possible(least_squares(told, self.branching), self.branching)[: self.cells]


@lru_cache(maxsize=64)  # a plan is used more than once
def _tree(left: Fraction, cells: int) -> SplitTree:
    theta = max(1, round(2 / (left * (1 - _PARTITION))))
    return SplitTree.calibrate(epsilon=left * _PARTITION, cells=cells, theta=theta)


def _cost_of_blocks(left: Fraction, cells: int) -> Fraction:
    """Return what blocks lose that are found and counted, or only counted, with what is left of epsilon."""
    found = _tree(left, cells).guarantee().cost + _noise(left * (1 - _PARTITION)).guarantee(1).cost
    return max(found, _noise(left).guarantee(1).cost)


@lru_cache(maxsize=8)
def _planned(cells: int) -> Strategy:
    """Return the best known measurements for all ranges; which they are does not depend on epsilon."""
    if cells <= _PLANNED_WHOLE:
        return plan(AllRange(cells), Pure(Fraction(1))).strategy
    return cells_and_blocks(AllRange(cells), Pure(Fraction(1)))


@lru_cache(maxsize=64)
def _moved_by_a_row(cells: int) -> int:
    return int(sensitivity(_planned(cells), Adjacency.ADD_REMOVE).l1)


@lru_cache(maxsize=64)
def _shape(cells: int) -> tuple[int, int]:
    """Return how many children and levels a tree over so many cells has."""
    shapes = []
    for height in range(1, cells.bit_length() + 1):
        branching = max(2, round(cells ** (1 / height)) - 1)
        while branching**height < cells:
            branching += 1
        shapes.append((height**3 * (branching - 1), branching, height))
    _, branching, height = min(shapes)
    return branching, height


@lru_cache(maxsize=64)
def _noise(epsilon: Fraction, sensitivity: int = 1) -> Geometric:
    return Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)


def least_squares(levels: list[Floats], branching: int) -> list[Floats]:
    """Return the estimate of every sum, from the cells upwards, by equal noise on all levels of trees."""
    best = [levels[0]]
    for height, own in enumerate(levels[1:], 1):
        below = best[-1].reshape(-1, branching).sum(axis=1)
        # A leaf counts once; what a subtree says of its sum gains precision from level to level.
        whole, part = branching ** (height + 1), branching**height
        best.append((own * (whole - part) + below * (part - 1)) / (whole - 1))
    out = [best[-1]]
    for own in best[-2::-1]:
        children = own.reshape(-1, branching)
        missing = out[0] - children.sum(axis=1)
        out.insert(0, (children + missing[:, None] / branching).reshape(-1))
    return out


def possible(levels: list[Floats], branching: int) -> Floats:
    """Return cells without negative ones: from the top, the nearest shares of what each block may have."""
    above = nearest_counts(levels[-1], float(levels[-1].sum()))
    for level in levels[-2::-1]:
        children = level.reshape(-1, branching)
        ordered = -np.sort(-children, axis=1)
        shifts = (np.cumsum(ordered, axis=1) - above[:, None]) / np.arange(1, branching + 1)
        kept = np.maximum((ordered > shifts).sum(axis=1) - 1, 0)
        shift = np.take_along_axis(shifts, kept[:, None], axis=1)
        above = np.where(above[:, None] > 0, np.maximum(children - shift, 0), 0).reshape(-1)
    return np.asarray(above)
