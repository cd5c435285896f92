"""Quantiles read off one released histogram, with intervals that hold for each of them.

For a level q the question is where the running count P_j first reaches q T, T the total.  P_j - q T is a
linear question about the released estimate, so its variance is known; its sign at every cell bounds where the
quantile of the data lies.  All levels come from one measurement, at no further cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import Real, rational
from discreet.workload.linear import Floats, Prefix
from discreet.workload.noise import half_widths
from discreet.workload.reconcile import Estimate


@dataclass(frozen=True, slots=True)
class QuantileCells:
    """The cell that holds a quantile, and the cells between which it lies with the stated confidence."""

    level: float
    cell: int
    low: int
    high: int


def quantiles(
    estimate: Estimate, levels: Sequence[Real], *, beta: Real = "0.05"
) -> tuple[QuantileCells, ...]:
    """Return quantiles of the estimated histogram; each interval fails with probability about beta."""
    if len(estimate.inverses) != 1:
        raise ParameterError("quantiles are read off one ordered attribute")
    running = Prefix(estimate.cells.size).apply(estimate.cells)
    covariance = running_covariance(estimate)
    return read_quantiles(running, covariance, levels, bell=estimate.bell, grain=estimate.grain, beta=beta)


def read_quantiles(
    running: Floats,
    covariance: Floats,
    levels: Sequence[Real],
    *,
    bell: bool,
    grain: float,
    beta: Real = "0.05",
) -> tuple[QuantileCells, ...]:
    """Return quantiles from estimated running counts and the covariance of their errors.

    `grain` is one step of the noise in its standard deviations.
    """
    steady = np.maximum.accumulate(running)
    own, cross, whole = np.diagonal(covariance), covariance[:, -1], covariance[-1, -1]
    out = []
    for given in levels:
        q = float(rational(given, "level"))
        if not 0 <= q <= 1:
            raise ParameterError(f"the level of a quantile must lie between 0 and 1, got {given}")
        spread = np.maximum(own - 2 * q * cross + q * q * whole, 0)
        radius = half_widths(np.sqrt(spread), beta, bell=bell, grain=grain)
        ahead = running - q * running[-1]
        cell = _first(steady - q * steady[-1] >= -1e-9 * max(1.0, abs(float(steady[-1]))))
        low, high = _first(ahead + radius >= 0), _last_negative(ahead - radius) + 1
        out.append(QuantileCells(q, cell, min(low, cell), max(min(high, running.size - 1), cell)))
    return tuple(out)


def running_covariance(estimate: Estimate) -> Floats:
    """Return the covariance of the running counts of an ordered attribute, the last one of several."""
    inverse = estimate.inverses[-1]
    if estimate.known_total:
        share = inverse.sum(axis=1)
        inverse = inverse - np.outer(share, share) / float(share.sum())
    return np.cumsum(np.cumsum(inverse, axis=0), axis=1)


def _first(hits: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> int:
    return int(np.argmax(hits)) if bool(hits.any()) else hits.size - 1


def _last_negative(values: Floats) -> int:
    below = np.flatnonzero(values < 0)
    return int(below[-1]) if below.size else -1
