"""How wrong the answers will be, before any data is seen.

With K = A' A and unit noise, the estimate of x by least squares has covariance C = K^-1, and if the total
is public (as it is under replace) C = K^-1 - u u' / sum(u) with u = K^-1 1.  The total squared error of a
workload is the sum of the entries of (W' W) * C, and the variance of one question w is w' C w.  Everything
is multiplied by the variance of the noise, which is calibrated to the exact sensitivity of A.

For Kronecker products of strategies both K^-1 and u factor, so the error of a product of workloads is a
product of small errors, and domains of any size are forecast without being written out.
"""

from dataclasses import dataclass
from functools import reduce
from math import prod, sqrt
from typing import assert_never

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.workload.linear import (
    AllRange,
    Floats,
    Identity,
    Marginals,
    Matrix,
    Prefix,
    Product,
    Total,
    Union,
    Workload,
)
from discreet.workload.noise import Promise, calibrated, spread
from discreet.workload.strategy import (
    CellsAndBlocks,
    Flat,
    Kronecker,
    Strategy,
    information,
    sensitivity,
    spread_out,
)

# A pivot is the root of an eigenvalue's size: rounding leaves about 1e-8 of it where there should be none.
_PIVOT_TOLERANCE = 1e-7
_RANK_TOLERANCE = 1e-12
_SUPPORT_TOLERANCE = 1e-6
_WRITTEN_OUT = 1 << 26

_TOGETHER = 128
"""So many blocks are asked about at a time, to keep memory small."""


@dataclass(frozen=True, slots=True)
class Error:
    """The expected squared error of a workload: its sum over all questions, and how many there are."""

    total: float
    queries: int

    @property
    def mean(self) -> float:
        """The mean squared error of a question."""
        return self.total / self.queries

    @property
    def root(self) -> float:
        """The root of the mean squared error."""
        return sqrt(self.mean)


def error(
    workload: Workload, strategy: Strategy, guarantee: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> Error:
    """Return the expected squared error of answering the workload by this strategy under this guarantee."""
    noise = calibrated(guarantee, sensitivity(strategy, adjacency))
    unit = unit_error(workload, strategy, known_total=adjacency is Adjacency.REPLACE)
    return Error(unit * spread(noise), workload.queries)


def unit_error(workload: Workload, strategy: Strategy, *, known_total: bool = False) -> float:
    """Return the total squared error when every measured row has noise of variance one."""
    if workload.cells != strategy.cells:
        raise ParameterError(f"the workload has {workload.cells} cells, the strategy {strategy.cells}")
    match strategy:
        case Kronecker(factors):
            return _product_error(workload, factors, known_total=known_total)
        case CellsAndBlocks():
            return _refined_error(workload, strategy, known_total=known_total)
        case _:
            gram = workload.gram()
            inverse, complete = _inverse(_information(strategy, known_total=known_total))
            if not complete:
                _require_support(gram, strategy, inverse, known_total=known_total)
            inverse = conditioned_on_total(inverse) if known_total else inverse
            return max(0.0, float(np.einsum("ij,ij->", gram, inverse)))


def covariance(strategy: Flat, *, known_total: bool = False) -> Floats:
    """Return the covariance of the least-squares estimate of every cell at unit noise."""
    inverse, _ = unit_inverse(strategy, known_total=known_total)
    return conditioned_on_total(inverse) if known_total else inverse


def unit_inverse(strategy: Flat, *, known_total: bool = False) -> tuple[Floats, Floats | None]:
    """Return the inverse of A' A (where the total is known, after measuring it), and what it sees if not all.

    Conditioned on the total it is the same with and without a measurement of it.
    """
    if not isinstance(strategy, CellsAndBlocks):
        return inverse_and_sight(_information(strategy, known_total=known_total))
    found = -spread_out(shared(strategy), strategy)
    np.einsum("ii->i", found)[:] += np.repeat(_alone(strategy), strategy.sizes)
    return found, None


def _alone(strategy: CellsAndBlocks) -> Floats:
    """Return the variance of a cell that is measured by itself, for every block."""
    return np.asarray(1 / strategy.each.astype(np.float64) ** 2)


def shared(strategy: CellsAndBlocks) -> Floats:
    """Return Z, by how much what is known of blocks takes off the covariance of their cells.

    Theorem.  For A = [E; D B], X = D' D, F the diagonal matrix of 1 / each**2 and N = B B', the numbers of
    cells of the blocks, (A' A)^-1 = E^-2 - B' Z B with Z = F (I + X N F)^-1 X F.
    Proof.  E^-2 B' = B' F, so (E**2 + B' X B) (E^-2 - B' Z B) = I + B' (X F - (F^-1 + X N) Z) B, and
    (F^-1 + X N) F = I + X N F, so that (F^-1 + X N) Z = X F.
    """
    if strategy.blocks is None:
        return np.zeros((strategy.each.size,) * 2)
    known, alone = information(strategy.blocks), _alone(strategy)
    inner = np.linalg.solve(np.eye(known.shape[0]) + known * (strategy.sizes * alone), known)
    found = inner * alone * alone[:, None]
    return np.asarray((found + found.T) / 2)


def block_gram(workload: Workload, width: int) -> Floats:
    """Return B W' W B', how many questions count each pair of cells of two blocks."""
    starts = np.arange(0, workload.cells, width)
    pieces = []
    for first in range(0, starts.size, _TOGETHER):
        which = np.arange(first, min(first + _TOGETHER, starts.size))
        cells = (np.arange(workload.cells)[:, None] // width == which).astype(np.float64)
        pieces.append(np.add.reduceat(workload.gram_apply(cells), starts, axis=0))
    return np.concatenate(pieces, axis=1)


def questions_of_cells(workload: Workload) -> Floats:
    """Return how many questions count each cell: the diagonal of W' W."""
    match workload:
        case AllRange(cells):
            place = np.arange(cells)
            return ((place + 1) * (cells - place)).astype(np.float64)
        case _:
            return np.asarray(workload.transpose_apply(np.ones(workload.queries)), dtype=np.float64)


def _refined_error(workload: Workload, strategy: CellsAndBlocks, *, known_total: bool) -> float:
    alone, helped = _alone(strategy), shared(strategy)
    own = np.add.reduceat(questions_of_cells(workload), strategy.starts)
    total = float(own @ alone)
    if strategy.blocks is not None:
        total -= float(np.einsum("ij,ij->", block_gram(workload, strategy.width), helped))
    if known_total:
        # u = (A' A)^-1 1 is the same for all cells of a block.
        share = np.repeat(alone - helped @ strategy.sizes, strategy.sizes)
        total -= float(share @ workload.gram_apply(share)) / float(share.sum())
    return max(0.0, total)


def conditioned_on_total(inverse: Floats) -> Floats:
    """Return the covariance once the sum over all cells is known."""
    share = inverse.sum(axis=1)
    whole = float(share.sum())
    return inverse - np.outer(share, share) / whole if whole > 0 else inverse


def inverse_information(matrix: Floats) -> Floats:
    """Return the inverse, or the pseudo-inverse of a singular matrix."""
    return _inverse(matrix)[0]


def _inverse(matrix: Floats) -> tuple[Floats, bool]:
    """Return the (pseudo-)inverse and whether the matrix had full rank."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if pivots.min() <= pivots.max() * _PIVOT_TOLERANCE:
        return np.asarray(np.linalg.pinv(matrix, rcond=_RANK_TOLERANCE, hermitian=True)), False
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2), True


def _information(strategy: Flat, *, known_total: bool) -> Floats:
    """Return A' A; where the total is known, with a measurement of it, whose weight then drops out again."""
    matrix = information(strategy)
    return matrix + np.trace(matrix) / matrix.shape[0] if known_total else matrix


def variances(workload: Workload, inverse: Floats) -> Floats:
    """Return the variance of every question, given the covariance of the cells."""
    match workload:
        case Identity():
            return np.asarray(np.diagonal(inverse), dtype=np.float64).copy()
        case Total():
            return np.array([inverse.sum()])
        case Prefix():
            # One row at a time: a large covariance is not written out a second time.
            before = [float(row[:place].sum()) for place, row in enumerate(inverse)]
            return np.cumsum(np.diagonal(inverse) + 2 * np.array(before))
        case AllRange(cells):
            running = _running(inverse)
            own = np.diagonal(running)
            first, last = np.triu_indices(cells)
            return np.asarray(own[last + 1] + own[first] - 2 * running[first, last + 1])
        case Union(parts):
            return np.concatenate([variances(part, inverse) for part in parts])
        case Marginals():
            return variances(workload.union(), inverse)
        case Matrix() | Product():
            if workload.queries * workload.cells > _WRITTEN_OUT:
                raise ParameterError("too many questions to compute the variance of each one by itself")
            rows = workload.apply(np.eye(workload.cells))
            return np.asarray(np.einsum("ij,ij->i", rows, workload.apply(inverse)))
        case _:
            assert_never(workload)


def _running(inverse: Floats) -> Floats:
    padded = np.zeros((inverse.shape[0] + 1, inverse.shape[1] + 1))
    padded[1:, 1:] = np.cumsum(np.cumsum(inverse, axis=0), axis=1)
    return padded


def _product_error(workload: Workload, factors: tuple[Flat, ...], *, known_total: bool) -> float:
    pairs = [_inverse(information(factor)) for factor in factors]
    inverses = [inverse for inverse, _ in pairs]
    shares = [inverse.sum(axis=1) for inverse in inverses]
    whole = prod(float(share.sum()) for share in shares)
    total = 0.0
    for part in as_products(workload, [factor.cells for factor in factors]):
        grams = [factor.gram() for factor in part.factors]
        for gram, factor, (inverse, complete) in zip(grams, factors, pairs, strict=True):
            if not complete:
                _require_support(gram, factor, inverse, known_total=False)
        total += prod(float(np.einsum("ij,ij->", g, c)) for g, c in zip(grams, inverses, strict=True))
        if known_total:
            total -= prod(float(u @ g @ u) for g, u in zip(grams, shares, strict=True)) / whole
    return max(0.0, total)


def as_products(workload: Workload, sizes: list[int]) -> list[Product]:
    """Return the workload as a list of products over attributes of these sizes."""
    match workload:
        case Product(parts) if [part.cells for part in parts] == sizes:
            return [workload]
        case Union(parts):
            return reduce(list.__add__, [as_products(part, sizes) for part in parts])
        case Marginals(own, _) if list(own) == sizes:
            return as_products(workload.union(), sizes)
        case Identity():
            return [Product(tuple(Identity(n) for n in sizes))]
        case Total():
            return [Product(tuple(Total(n) for n in sizes))]
        case _:
            raise ParameterError(
                "a product of strategies answers products over its attributes, and unions of them"
            )


def supported(gram: Floats, seen: Floats) -> bool:
    """Whether a workload asks only about what a measurement sees; `seen` projects onto that."""
    return float(np.abs(gram - gram @ seen).max()) <= _SUPPORT_TOLERANCE * float(np.abs(gram).max())


def inverse_and_sight(matrix: Floats) -> tuple[Floats, Floats | None]:
    """Return the (pseudo-)inverse of an information matrix, and what it sees as a projection if not all."""
    inverse, complete = _inverse(matrix)
    return inverse, None if complete else np.asarray(inverse @ matrix)


def _require_support(gram: Floats, strategy: Flat, inverse: Floats, *, known_total: bool) -> None:
    if not supported(gram, inverse @ _information(strategy, known_total=known_total)):
        raise ParameterError(
            f"the strategy '{strategy.name}' does not determine every answer of the workload"
        )
