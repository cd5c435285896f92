"""The plainest audit there is: a histogram on both inputs, with limits of Clopper and Pearson for every cell.

Cells are sixty-four of equal width between the smallest and the largest output of both inputs, up to
sixty-four values that occur ten times or more, and one for what is not a finite number; each gets an even
share of the error.  It needs no training and wastes no run; that its cells follow the very outputs that are
counted is a favour to it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

CELLS, OFTEN = 64, 10


def lower_bound(
    left: NDArray[np.float64], right: NDArray[np.float64], alpha: float, delta: float = 0.0
) -> float:
    """Return the epsilon that the best cell establishes at confidence 1 - alpha."""
    counts = np.concatenate([_widths(left, right), _values(left, right), _odd(left, right)], axis=1)
    share = alpha / (4 * counts.shape[1])
    best = 0.0
    for one, two in (counts, counts[::-1]):
        low = np.where(one > 0, beta.ppf(share, np.maximum(one, 1), left.size - one + 1), 0.0)
        high = np.where(two < right.size, beta.ppf(1 - share, two + 1, np.maximum(right.size - two, 1)), 1.0)
        with np.errstate(divide="ignore"):
            best = max(best, float(np.log(np.maximum(low - delta, 0) / high).max()))
    return best


def _widths(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.int64]:
    finite = [side[np.isfinite(side)] for side in (left, right)]
    both = np.concatenate(finite)
    edges = np.linspace(both.min(), both.max(), CELLS + 1) if both.size else np.array([0.0, 1.0])
    return np.stack([np.histogram(side, edges)[0] for side in finite])


def _values(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.int64]:
    values, counts = np.unique(np.concatenate([left, right]), return_counts=True)
    order = np.argsort(-counts)[:CELLS]
    chosen = values[order[counts[order] >= OFTEN]]
    return np.stack([(side[:, None] == chosen[None, :]).sum(axis=0) for side in (left, right)])


def _odd(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.array([[side.size - np.count_nonzero(np.isfinite(side))] for side in (left, right)])
