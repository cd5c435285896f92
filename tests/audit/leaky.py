"""Functions that leak, remember or fail in one way each; noise is exact, so that nothing else shows."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import beta

from discreet.audit.specimens import laplace_noise
from discreet.exact.sample import bernoulli

Batch = Callable[[Any, int], np.ndarray]


def now_and_then(chance: str, leak: Callable[[Any], float], noise: float = 1.0) -> Batch:
    """Return x + Lap(noise), but with this chance what `leak` makes of x."""

    def run(x: Any, count: int) -> np.ndarray:
        hit = np.asarray(bernoulli(Fraction(chance), count)).astype(bool)
        return np.where(hit, leak(x), x + laplace_noise(noise, count))

    return run


def plain_histogram(left: np.ndarray, right: np.ndarray, alpha: float, delta: float = 0.0) -> float:
    """Return what a plain histogram shows: Clopper-Pearson for every cell on both inputs, shared evenly."""
    both = np.concatenate([left, right])
    finite = both[np.isfinite(both)]
    edges = np.linspace(finite.min(), finite.max(), 65)
    best = 0.0
    counts = []
    for side in (left, right):
        inside = np.histogram(side[np.isfinite(side)], edges)[0]
        counts.append(np.append(inside, side.size - inside.sum()))
    share = alpha / (4 * len(counts[0]))
    for one, two in (counts, counts[::-1]):
        low = np.where(one > 0, beta.ppf(share, np.maximum(one, 1), left.size - one + 1), 0.0)
        high = np.where(two < right.size, beta.ppf(1 - share, two + 1, np.maximum(right.size - two, 1)), 1.0)
        with np.errstate(divide="ignore"):
            best = max(best, float(np.log(np.maximum(low - delta, 0) / high).max()))
    return best
