"""From noisy measurements to answers that agree with each other.

Theorem.  Let y = A x + z with independent noise of variance v.  Least squares, weighted by 1/v, gives the
estimate of x with the smallest variance for every question at once among linear unbiased ones; answers
computed from one estimate cannot contradict each other.  A public total is an exact linear constraint: the
estimate moves along u = K^-1 1 until it meets it.

Non-negative counts.  The estimate may then be replaced by the non-negative vector (with the same total, if
that is known) whose answers to a workload W are nearest to the estimated ones.  The truth is itself such a
vector, and projecting onto a convex set never increases the distance to its points: whatever the noise was,
the total squared error of the answers to W can only shrink.  Single answers may become biased; the reported
variances are those of the unconstrained estimate.

Ranges and prefixes.  Cells are not negative where their running sums s_0, ..., s_n never fall.  All ranges of
estimated sums c are off by the sum over i < j of ((s_j - c_j) - (s_i - c_i))**2, which is n + 1 times the
squared distance of s from c once the mean of s - c is taken off; a shifted s never falls either, so the best
is the nearest s to c that never falls.  Prefixes are off by the squared distance of s_1, ..., s_n, with s_0
= 0: the nearest that never falls, cut off at 0 and, where it is known, at the total, is the nearest of those
within such bounds.  Both are found at once, and exactly, by pooling neighbours that fall.

All of this is post-processing of integers that are already private; it may and does use floats.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real
from discreet.mechanisms.gaussian import Gaussian
from discreet.workload.forecast import as_products, inverse_and_sight, supported, unit_inverse, variances
from discreet.workload.linear import AllRange, Floats, Prefix, Workload, kron
from discreet.workload.nearest import descend, nearest_counts, rising
from discreet.workload.noise import Noise, grain, half_widths, spread
from discreet.workload.strategy import (
    CellsAndBlocks,
    Flat,
    Kronecker,
    Strategy,
    adjoint,
    information,
    measured_rows,
)

_PROJECTION_STEPS = 20_000
_PROJECTION_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStrategy:
    """What was measured, with which noise, and the noisy integers that came out."""

    strategy: Strategy
    noise: Noise
    noisy: NDArray[Any]

    def __post_init__(self) -> None:
        if self.noisy.shape != (measured_rows(self.strategy),):
            raise ParameterError(
                f"the strategy measures {measured_rows(self.strategy)} numbers, got {self.noisy.shape}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadAnswers:
    """Consistent answers to a workload, each with its variance; `grain` is a step of noise in deviations."""

    values: Floats
    variances: Floats
    bell: bool
    grain: float

    @property
    def deviations(self) -> Floats:
        """The standard deviation of every answer."""
        return np.sqrt(self.variances)

    def radius(self, beta: Real = "0.05") -> Floats:
        """Return half-widths that each answer exceeds with probability about beta at most."""
        return half_widths(self.deviations, beta, bell=self.bell, grain=self.grain)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """An estimate of the histogram and the law of its error."""

    cells: Floats
    inverses: tuple[Floats, ...]
    known_total: bool
    bell: bool
    seen: tuple[Floats | None, ...]
    grain: float

    def answer(self, workload: Workload) -> WorkloadAnswers:
        """Return the answers to a workload: the planned one, or any other about what was measured."""
        self._require_seen(workload)
        return WorkloadAnswers(workload.apply(self.cells), self._variances(workload), self.bell, self.grain)

    def _require_seen(self, workload: Workload) -> None:
        if all(seen is None for seen in self.seen):
            return
        sizes = [inverse.shape[0] for inverse in self.inverses]
        parts = [(workload,)] if len(sizes) == 1 else [part.factors for part in as_products(workload, sizes)]
        for factors in parts:
            for factor, seen in zip(factors, self.seen, strict=True):
                if seen is not None and not supported(factor.gram(), seen):
                    raise ParameterError("the measurements do not determine every answer of this workload")

    def _variances(self, workload: Workload) -> Floats:
        if len(self.inverses) == 1:
            inverse = self.inverses[0]
            own = variances(workload, inverse)
            return np.maximum(own - self._public(workload.apply(inverse.sum(axis=1))), 0)
        sizes = [inverse.shape[0] for inverse in self.inverses]
        pieces = []
        for part in as_products(workload, sizes):
            pairs = list(zip(part.factors, self.inverses, strict=True))
            own = kron([variances(factor, inverse) for factor, inverse in pairs])
            shares = kron([factor.apply(inverse.sum(axis=1)) for factor, inverse in pairs])
            pieces.append(np.maximum(own - self._public(shares), 0))
        return np.concatenate(pieces)

    def _public(self, shares: Floats) -> Floats:
        """Return what knowing the total takes off each variance: (w' u)**2 / sum(u)."""
        if not self.known_total:
            return np.zeros_like(shares)
        return np.asarray(np.square(shares) / prod(float(inverse.sum()) for inverse in self.inverses))


def reconcile(
    measurements: Sequence[MeasuredStrategy], *, total: int | None = None, nonnegative: Workload | None = None
) -> Estimate:
    """Return the weighted least-squares estimate of the histogram from measurements of it.

    Several measurements must be of one attribute; a product of attributes is reconciled from one.  With a
    workload as `nonnegative`, no cell is negative and its answers stay as near as that allows.
    """
    if not measurements:
        raise ParameterError("there is nothing to reconcile")
    bell = all(isinstance(m.noise, Gaussian) for m in measurements)
    first = measurements[0]
    match first.strategy:
        case Kronecker(factors) if len(measurements) == 1:
            weight = spread(first.noise)
            matrices = [information(factor) for factor in factors]
            matrices[0] = matrices[0] / weight
            target = adjoint(first.strategy, first.noisy) / weight
        case Kronecker():
            raise ParameterError(
                "several measurements of a product of attributes cannot be reconciled together"
            )
        case CellsAndBlocks() if len(measurements) == 1:
            return _refined(first, total, nonnegative)
        case _:
            matrix, target = _pooled(measurements)
            if total is not None:
                # Measuring the known total adds nothing, but lets strategies leave it out.
                weight = float(np.trace(matrix)) / matrix.shape[0]
                matrix, target = matrix + weight, target + weight * total
            matrices = [matrix]
    inverses, seen = zip(*(inverse_and_sight(matrix) for matrix in matrices), strict=True)
    coarse = max(grain(measurement.noise) for measurement in measurements)
    unsettled = Estimate(_along(inverses, target), inverses, total is not None, bell, seen, coarse)
    return _settled(unsettled, total, nonnegative)


def _refined(measurement: MeasuredStrategy, total: int | None, nonnegative: Workload | None) -> Estimate:
    """Return the estimate from one measurement whose inverse is known without inverting all of it."""
    if not isinstance(measurement.strategy, CellsAndBlocks):
        raise TypeError("only cells and blocks are reconciled so")
    weight, bell = spread(measurement.noise), isinstance(measurement.noise, Gaussian)
    inverse, seen = unit_inverse(measurement.strategy)
    cells = inverse @ adjoint(measurement.strategy, measurement.noisy)
    inverse *= weight
    unsettled = Estimate(cells, (inverse,), total is not None, bell, (seen,), grain(measurement.noise))
    return _settled(unsettled, total, nonnegative)


def _settled(estimate: Estimate, total: int | None, nonnegative: Workload | None) -> Estimate:
    """Return an estimate that has the public total, and no negative cell where that is wished."""
    cells = estimate.cells
    if total is not None:
        shares = kron([inverse.sum(axis=1) for inverse in estimate.inverses])
        cells = cells + shares * ((total - cells.sum()) / shares.sum())
    if nonnegative is not None:
        cells = nearest_nonnegative(cells, nonnegative, total)
    return replace(estimate, cells=cells)


def nearest_nonnegative(cells: Floats, workload: Workload, total: int | None) -> Floats:
    """Return the non-negative vector (of this total) whose answers are nearest."""
    match workload, total:
        case AllRange(), None:
            return np.diff(rising(np.concatenate([[0.0], np.cumsum(cells)])))
        case Prefix(), None:
            return np.diff(np.maximum(rising(np.cumsum(cells)), 0), prepend=0.0)
        case Prefix(), int():
            inner = np.clip(rising(np.cumsum(cells)[:-1]), 0, total)
            return np.diff(inner, prepend=0.0, append=float(total))
        case _:
            return _descended(cells, workload, total)


def _descended(cells: Floats, workload: Workload, total: int | None) -> Floats:
    """Return the same for any workload, by projected descent."""
    # The Gram matrix has no negative entry, so its largest row sum bounds its largest eigenvalue.
    top = float(workload.gram_apply(np.ones(cells.size)).max())

    def project(x: Floats) -> Floats:
        return np.maximum(x, 0) if total is None else nearest_counts(x, float(total))

    def down(x: Floats) -> Floats:
        return project(x - workload.gram_apply(x - cells) / top)

    return descend(project(cells), down, steps=_PROJECTION_STEPS, near=_PROJECTION_TOLERANCE)


def _pooled(measurements: Sequence[MeasuredStrategy]) -> tuple[Floats, Floats]:
    cells = measurements[0].strategy.cells
    matrix, target = np.zeros((cells, cells)), np.zeros(cells)
    for measurement in measurements:
        strategy = _flat(measurement.strategy)
        if strategy.cells != cells:
            raise ParameterError("measurements of different histograms cannot be reconciled together")
        weight = spread(measurement.noise)
        matrix += information(strategy) / weight
        target += adjoint(strategy, measurement.noisy) / weight
    return matrix, target


def _flat(strategy: Strategy) -> Flat:
    if isinstance(strategy, Kronecker):
        raise ParameterError("several measurements of a product of attributes cannot be reconciled together")
    return strategy


def _along(matrices: Sequence[Floats], x: Floats) -> Floats:
    """Return (M_1 kron M_2 kron ...) x."""
    table = x.reshape([matrix.shape[1] for matrix in matrices])
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
    return table.reshape(-1)
