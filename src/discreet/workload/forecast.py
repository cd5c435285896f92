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
from discreet.workload.strategy import Flat, Kronecker, Strategy, information, sensitivity

# A pivot is the root of an eigenvalue's size: rounding leaves about 1e-8 of it where there should be none.
_PIVOT_TOLERANCE = 1e-7
_RANK_TOLERANCE = 1e-12
_SUPPORT_TOLERANCE = 1e-6
_WRITTEN_OUT = 1 << 26


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
        case _:
            gram = workload.gram()
            inverse, complete = _inverse(_information(strategy, known_total=known_total))
            if not complete:
                _require_support(gram, strategy, inverse, known_total=known_total)
            inverse = conditioned_on_total(inverse) if known_total else inverse
            return max(0.0, float(np.einsum("ij,ij->", gram, inverse)))


def covariance(strategy: Flat, *, known_total: bool = False) -> Floats:
    """Return the covariance of the least-squares estimate of every cell at unit noise."""
    inverse, _ = _inverse(_information(strategy, known_total=known_total))
    return conditioned_on_total(inverse) if known_total else inverse


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
            return np.diagonal(_running(inverse))[1:].copy()
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
