"""What to measure instead of the questions themselves: integer strategies for the matrix mechanism.

Theorem.  Let A be an integer matrix with full column rank.  Measure A x with independent noise of variance
v calibrated to the sensitivity of A, estimate x by least squares, and answer W x from the estimate.  The
answers are consistent with each other, unbiased, and their total variance is v tr(W' W (A' A)^-1); no other
linear unbiased estimate from the same measurements has a smaller variance for any question.

A strategy here *is* its integer matrix.  A real matrix that an optimiser found is scaled and rounded once,
and from then on only the rounded integers exist: they are what is measured, their sensitivity is what the
noise is calibrated to, and their inverse is what reconciles the answers.  Rounding therefore costs a little
accuracy, which the forecast includes, and no privacy.

References.  Hierarchies: Hay, Rastogi, Miklau, Suciu, PVLDB 3(1), 2010.  Wavelets: Xiao, Wang, Gehrke,
ICDE 2010.  The matrix mechanism: Li, Miklau, Hay, McGregor, Rastogi, VLDB Journal 24, 2015.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.column import kronecker_sensitivity, matrix_sensitivity
from discreet.workload.linear import Array, Floats, Workload

Integers = NDArray[np.int64]

ROUNDING_BITS = 20
"""A real strategy is rounded so that its largest entry has this many bits."""

_LARGEST_PRODUCT = 2**62


@dataclass(frozen=True, slots=True)
class Level:
    """Consecutive blocks of cells, each measured once: where they start, and a coefficient per cell."""

    starts: Integers
    coefficients: Integers


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Counts of blocks of 1, b, b**2, ... cells, up to the whole domain or (without its root) just below."""

    cells: int
    branching: int
    rooted: bool = True

    def __post_init__(self) -> None:
        if self.cells < 1 or self.branching < 2:
            raise ParameterError("a hierarchy needs at least one cell and a branching of at least 2")

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return f"hierarchy of {self.branching}" + ("" if self.rooted else ", no root")

    def levels(self) -> Iterator[Level]:
        """Yield the levels from single cells upwards."""
        width = 1
        while True:
            yield Level(np.arange(0, self.cells, width), np.ones(self.cells, dtype=np.int64))
            if width >= self.cells:
                return
            width *= self.branching
            if width >= self.cells and not self.rooted:
                return


@dataclass(frozen=True, slots=True)
class Wavelet:
    """The Haar transform: the total, and at every scale the left half of each block minus its right half."""

    cells: int

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise ParameterError("a wavelet needs at least one cell")

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return "wavelet"

    def levels(self) -> Iterator[Level]:
        """Yield the differences from pairs of cells upwards, and the total last."""
        place = np.arange(self.cells)
        width = 1
        while width < self.cells:
            signs = 1 - 2 * (place // width % 2)
            width *= 2
            yield Level(np.arange(0, self.cells, width), signs)
        yield Level(np.arange(0, self.cells, max(width, 1)), np.ones(self.cells, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """An integer matrix written out; `scale` is what one unit of the real strategy became."""

    name: str
    rows: Integers
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.dtype != np.int64 or self.rows.size == 0:
            raise ParameterError("a dense strategy is a non-empty two-dimensional array of int64")
        self.rows.setflags(write=False)

    @property
    def cells(self) -> int:
        """The number of columns."""
        return int(self.rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class CellsAndBlocks:
    """Every cell, and a strategy for blocks of `width` cells: for domains too large to be written out.

    With B the 0/1 matrix of which cell is in which block, E the diagonal matrix of what the block of a cell
    has in `each`, and D the strategy for blocks, the matrix is A = [E; D B].  Without D it is the histogram.
    """

    cells: int
    width: int
    each: Integers
    blocks: Dense | None = None

    def __post_init__(self) -> None:
        if min(self.cells, self.width, int(self.each.min(initial=1))) < 1 or self.each.dtype != np.int64:
            raise ParameterError("cells and blocks need a cell, a width and whole weights of at least 1")
        count = -(-self.cells // self.width)
        if self.each.shape != (count,) or (self.blocks is not None and self.blocks.cells != count):
            raise ParameterError(f"there are {count} blocks of {self.width} cells, each with its weight")
        self.each.setflags(write=False)

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return "identity" if self.blocks is None else f"cells, and {self.blocks.name}"

    @property
    def starts(self) -> Integers:
        """Where the blocks begin."""
        return np.arange(0, self.cells, self.width)

    @property
    def sizes(self) -> Integers:
        """How many cells each block has."""
        return np.diff(np.append(self.starts, self.cells))


@dataclass(frozen=True, slots=True)
class Kronecker:
    """One strategy per attribute, all combinations of their rows."""

    factors: "tuple[Flat, ...]"

    def __post_init__(self) -> None:
        if not self.factors:
            raise ParameterError("a product of strategies needs at least one factor")

    @property
    def name(self) -> str:
        """What to call it in a table."""
        return " x ".join(factor.name for factor in self.factors)

    @property
    def cells(self) -> int:
        """The number of columns."""
        return prod(factor.cells for factor in self.factors)


Flat = Hierarchy | Wavelet | Dense | CellsAndBlocks
Strategy = Flat | Kronecker


def identity(cells: int) -> Dense:
    """Return the strategy that measures every cell."""
    return Dense("identity", np.eye(cells, dtype=np.int64))


def plain_cells(cells: int) -> CellsAndBlocks:
    """Return the strategy that measures every cell, not written out."""
    return CellsAndBlocks(cells, cells, np.ones(1, dtype=np.int64))


def itself(workload: Workload) -> Dense:
    """Return the strategy that measures the questions as they are asked."""
    return Dense("as asked", workload.apply(np.eye(workload.cells, dtype=np.int64)))


def rounded(name: str, matrix: Floats, bits: int = ROUNDING_BITS) -> Dense:
    """Return a real matrix as the nearest integer strategy whose largest entry has `bits` bits."""
    largest = float(np.abs(matrix).max())
    if not np.isfinite(largest) or largest == 0:
        raise ParameterError("a strategy must be finite and not zero")
    scale = 2.0**bits / largest
    integers = np.rint(matrix * scale).astype(np.int64)
    return Dense(name, integers[np.any(integers != 0, axis=1)], scale)


def matrix_of(strategy: Flat) -> Integers:
    """Return the integer matrix, written out."""
    match strategy:
        case Dense(rows=rows):
            return rows
        case Hierarchy() | Wavelet() | CellsAndBlocks():
            return _apply(strategy, np.eye(strategy.cells, dtype=np.int64))
        case _:
            assert_never(strategy)


def measured_rows(strategy: Strategy) -> int:
    """Return how many numbers the strategy measures."""
    match strategy:
        case Dense(rows=rows):
            return int(rows.shape[0])
        case Hierarchy() | Wavelet():
            return sum(level.starts.size for level in strategy.levels())
        case CellsAndBlocks(cells=cells, blocks=blocks):
            return cells + (0 if blocks is None else measured_rows(blocks))
        case Kronecker(factors):
            return prod(measured_rows(factor) for factor in factors)
        case _:
            assert_never(strategy)


def measure_exactly(strategy: Strategy, histogram: Array) -> Array:
    """Return A x in exact integers, of any size where 64 bits might not hold them."""
    counts = integers(histogram)
    if counts.shape[0] != strategy.cells:
        raise ParameterError(f"the strategy has {strategy.cells} cells, the histogram {counts.shape[0]}")
    weight = max(prod(_largest_entry(factor) for factor in _factors(strategy)), 1)
    return _apply(strategy, roomy(counts, weight))


def integers(counts: Array) -> Array:
    """Return counts that are integers: in 64 bits, or Python's own where 64 bits do not hold them."""
    found = np.asarray(counts)
    if found.dtype == np.uint64:
        found = found.astype(object)
    if found.dtype.kind in "iu":
        return found.astype(np.int64)
    if found.dtype.kind == "O" and all(type(count) is int for count in found.flat):
        small = all(-_LARGEST_PRODUCT < count < _LARGEST_PRODUCT for count in found.flat)
        return found.astype(np.int64) if small else found
    raise ParameterError("a histogram holds integers; convert it with astype(np.int64)")


def roomy(counts: Array, weight: int) -> Array:
    """Return counts in which sums of `weight` times each of them cannot overflow.

    Data decides only how integers are held, never whether there is an answer.
    """
    if counts.dtype.kind == "O" or not counts.size:
        return counts
    reach = max(abs(int(counts.min())), abs(int(counts.max())))
    return counts if reach * counts.size * weight < _LARGEST_PRODUCT else counts.astype(object)


def adjoint(strategy: Strategy, measured: Array) -> Floats:
    """Return A' y in floats, for least squares."""
    answers = np.asarray(measured, dtype=np.float64)
    match strategy:
        case Dense(rows=rows):
            return np.asarray(np.tensordot(rows.T.astype(np.float64), answers, 1))
        case Hierarchy() | Wavelet():
            out = np.zeros((strategy.cells, *answers.shape[1:]))
            place = 0
            for level in strategy.levels():
                piece = answers[place : place + level.starts.size]
                place += level.starts.size
                sizes = np.diff(np.append(level.starts, strategy.cells))
                out += np.repeat(piece, sizes, axis=0) * _column(level.coefficients, piece.ndim)
            return out
        case CellsAndBlocks(cells=cells, blocks=blocks):
            own = answers[:cells] * _column(_weights(strategy), answers.ndim)
            if blocks is None:
                return np.asarray(own)
            return np.asarray(own + np.repeat(adjoint(blocks, answers[cells:]), strategy.sizes, axis=0))
        case Kronecker(factors):
            table = answers.reshape([measured_rows(factor) for factor in factors])
            for axis, factor in enumerate(factors):
                table = np.moveaxis(adjoint(factor, np.moveaxis(table, axis, 0)), 0, axis)
            return table.reshape(strategy.cells)
        case _:
            assert_never(strategy)


def information(strategy: Flat) -> Floats:
    """Return A' A, exactly: every entry is an integer below 2**53."""
    match strategy:
        case Dense(rows=rows):
            floats = rows.astype(np.float64)
            return floats.T @ floats
        case Hierarchy() | Wavelet():
            total = np.zeros((strategy.cells, strategy.cells))
            for level in strategy.levels():
                for start, end in zip(level.starts, np.append(level.starts[1:], strategy.cells), strict=True):
                    piece = level.coefficients[start:end]
                    total[start:end, start:end] += np.outer(piece, piece)
            return total
        case CellsAndBlocks(cells=cells, blocks=blocks):
            whole = np.zeros((cells, cells)) if blocks is None else spread_out(information(blocks), strategy)
            np.einsum("ii->i", whole)[:] += _weights(strategy).astype(np.float64) ** 2
            return whole
        case _:
            assert_never(strategy)


def spread_out(matrix: Floats, strategy: CellsAndBlocks) -> Floats:
    """Return B' M B, the matrix of cells whose entries are those of their blocks."""
    return np.asarray(np.repeat(np.repeat(matrix, strategy.sizes, axis=0), strategy.sizes, axis=1))


def sensitivity(strategy: Strategy, adjacency: Adjacency) -> Sensitivity:
    """Return how far one person moves what is measured: exact for the integer matrix itself.

    A person is in one block of every level of a hierarchy; a replacement moves two blocks of every level but
    the last, whose one block holds everybody.  In a matrix of cells and blocks all columns of one block have
    the same entries, so one cell of each stands for all; two cells of one block differ in themselves alone.
    """
    match strategy, adjacency:
        case Hierarchy(), Adjacency.ADD_REMOVE:
            return Sensitivity.spread(sum(1 for _ in strategy.levels()), 1)
        case Hierarchy(), Adjacency.REPLACE:
            return Sensitivity.spread(2 * sum(level.starts.size > 1 for level in strategy.levels()), 1)
        case ((Wavelet() | Dense()), _):
            return matrix_sensitivity(matrix_of(strategy), adjacency)
        case CellsAndBlocks(each=each, blocks=blocks), _:
            rows = np.diag(each) if blocks is None else np.vstack([np.diag(each), blocks.rows])
            apart = matrix_sensitivity(rows, adjacency)
            together = each[strategy.sizes > 1]
            if adjacency is Adjacency.ADD_REMOVE or not together.size:
                return apart
            within = Sensitivity.spread(2, int(together.max()))
            return Sensitivity(
                max(apart.l1, within.l1),
                max(apart.l2_squared, within.l2_squared),
                max(apart.linf, within.linf),
                None if apart.l0 is None else max(apart.l0, 2),
            )
        case Kronecker(factors), _:
            return kronecker_sensitivity([matrix_of(factor) for factor in factors], adjacency)
    raise AssertionError("every strategy has a sensitivity under both adjacencies")


def _weights(strategy: CellsAndBlocks) -> Integers:
    return np.repeat(strategy.each, strategy.sizes)


def _factors(strategy: Strategy) -> tuple[Flat, ...]:
    return strategy.factors if isinstance(strategy, Kronecker) else (strategy,)


def _largest_entry(strategy: Flat) -> int:
    match strategy:
        case Dense(rows=rows):
            return int(np.abs(rows).max())
        case CellsAndBlocks(each=each, blocks=blocks):
            return max(int(each.max()), 1 if blocks is None else _largest_entry(blocks))
        case _:
            return 1


def _apply(strategy: Strategy, counts: Array) -> Array:
    match strategy:
        case Dense(rows=rows):
            return np.asarray(np.tensordot(rows.astype(counts.dtype), counts, 1), dtype=counts.dtype)
        case Hierarchy() | Wavelet():
            return _measure_levels(strategy, counts)
        case CellsAndBlocks(blocks=blocks):
            own = counts * _column(_weights(strategy), counts.ndim)
            if blocks is None:
                return np.asarray(own)
            return np.concatenate([own, _apply(blocks, np.add.reduceat(counts, strategy.starts, axis=0))])
        case Kronecker(factors):
            table = counts.reshape([factor.cells for factor in factors])
            for axis, factor in enumerate(factors):
                table = np.moveaxis(_apply(factor, np.moveaxis(table, axis, 0)), 0, axis)
            return table.reshape(-1)
        case _:
            assert_never(strategy)


def _measure_levels(strategy: Hierarchy | Wavelet, counts: Array) -> Array:
    def one(level: Level) -> Array:
        return np.add.reduceat(counts * _column(level.coefficients, counts.ndim), level.starts, axis=0)

    return reduce(
        lambda left, right: np.concatenate([left, right]), [one(level) for level in strategy.levels()]
    )


def _column(coefficients: Integers, dimensions: int) -> Integers:
    return coefficients.reshape(-1, *([1] * (dimensions - 1)))
