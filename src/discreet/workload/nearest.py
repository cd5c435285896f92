"""The nearest vectors that are possible: none is negative, and where a total is known they add up to it."""

from collections.abc import Callable
from math import sqrt

import numpy as np

from discreet.workload.linear import Floats


def nearest_counts(drawn: Floats, total: float) -> Floats:
    """Return the nearest numbers, in the sum of squares, that are not negative and add up to the total.

    They are max(x - c, 0) for the one c that makes the sum right.
    """
    if total <= 0:
        return np.zeros_like(drawn)
    ordered = np.sort(drawn, axis=None)[::-1]
    level = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    # The largest is above its own level, unless its float is too coarse to show it.
    last = int(np.flatnonzero(ordered > level)[-1:].sum())
    return np.asarray(np.maximum(drawn - level[last], 0.0))


def descend(
    start: Floats, down: Callable[[Floats], Floats], *, rates: Floats | float = 1.0, steps: int, near: float
) -> Floats:
    """Return where a projected descent with momentum ends; `down` is one step of it, at these rates.

    It ends after so many steps, or with one that moves nothing further than `near` times the largest number.
    """
    point = ahead = start
    momentum = 1.0
    for _ in range(steps):
        after = down(ahead)
        step = after - point
        if float(np.abs(step).max()) <= near * max(1.0, float(np.abs(after).max())):
            return after
        if float(((ahead - after) * rates) @ step) > 0:
            momentum = 1.0  # the momentum points uphill: start it afresh
        following = (1 + sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / following * step
        point, momentum = after, following
    return point
