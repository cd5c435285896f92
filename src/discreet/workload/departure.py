"""How far a table departs from what is expected of it, told apart from noise.

Model.  A released cell y has noise of variance s around its truth, which departs from an expected count q by
r' = y - q less noise.  Most cells of most tables hardly depart and a few do by far, so r' is taken to be
normal with variance t q, where t is one of a few numbers, 0 among them: larger counts depart further, and
each cell has its own t.  How often each t occurs, w, is what makes all y together likeliest: the logarithm of

    product over cells of  sum over t of w_t N(y - q; 0, t q + s)

is concave in w, and each step of expectation and maximisation

    w_t <- mean over cells of  w_t N(y - q; 0, t q + s) / (the sum over t)

does not lessen it.  Given t, the best estimate of a cell is q + (y - q) t q / (t q + s), and its truth has
variance s t q / (t q + s) around it; of both the mean over t as likely as y makes it, and the variance of
the means, is taken.

Where y - q is noise alone, t is near zero and q speaks; where noise is small, y does; where few cells stand
out, these are believed and the others are not.  It is a function of released values.

Reference.  The likeliest mixture of scales: Stephens, "False discovery rates: a new deal", Biostatistics
18(2), 2017.
"""

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from discreet.workload.linear import Floats

STEPS = 40
MOST_SCALES = 16
NEGLIGIBLE = 1e-12
"""A variance of noise below which every cell speaks for itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Departure:
    """The estimate of a table, the variance left to its cells, and the logarithm of how likely all is.

    `believed` is the estimate before it was made a table that there can be.
    """

    table: Floats
    believed: Floats
    doubt: Floats
    evidence: float


def departed(drawn: Floats, expected: Floats, variance: float) -> Departure:
    """Return the estimate of a released table, every cell with this variance of noise around its truth."""
    if variance <= NEGLIGIBLE:
        return Departure(drawn, drawn, np.full_like(drawn, variance), 0.0)
    residue = (drawn - expected).reshape(-1)
    squares, counts = np.square(residue) / variance, np.maximum(expected, 0.0).reshape(-1)
    scales = _scales(squares, counts)
    likely, evidence = _likely(scales, squares, counts)
    believed, spread = np.zeros_like(residue), np.zeros_like(residue)
    for scale, share in zip(scales, likely, strict=True):
        kept = 1 - 1 / (1 + scale * counts)
        believed += share * kept
        spread += share * kept * kept
    doubt = variance * (believed + squares * np.maximum(spread - believed * believed, 0.0))
    estimate = expected + (residue * believed).reshape(drawn.shape)
    return Departure(estimate, estimate, doubt.reshape(drawn.shape), evidence)


def _scales(squares: Floats, counts: Floats) -> Floats:
    """Return what t / s may be: 0, and from where nothing is seen of it to where one person is believed."""
    if not counts.any():
        return np.zeros(1)
    least = 1 / (16 * float(counts.max()))
    most = max(float((squares / np.maximum(counts, 1.0)).max()), 4 * least)
    many = min(ceil(log(most / least, 4)) + 1, MOST_SCALES)
    return np.concatenate([[0.0], np.geomspace(least, most, many)])


def _likely(scales: Floats, squares: Floats, counts: Floats) -> tuple[Floats, float]:
    """Return how likely each scale is for each cell, and the logarithm of how likely all cells are."""
    logs = np.empty((scales.size, squares.size))
    for place, scale in enumerate(scales):
        widened = 1 + scale * counts
        logs[place] = -(np.log(widened) + squares / widened) / 2
    highest = logs.max(axis=0)
    chances = np.exp(np.subtract(logs, highest, out=logs), out=logs)
    # Most cells do not depart where noise is large, and there the steps are slowest.
    weights = np.where(scales == 0, 0.9, 0.1 / max(scales.size - 1, 1))
    for _ in range(STEPS):
        weights = weights * (chances @ (1 / (weights @ chances))) / squares.size
    whole = weights @ chances
    evidence = float((np.log(whole) + highest).sum())
    return chances * weights[:, None] / whole, evidence
