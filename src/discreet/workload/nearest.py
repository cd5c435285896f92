"""The nearest vectors that are possible: none is negative, and where a total is known they add up to it."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import sqrt
from typing import TypeVar

import numpy as np

from discreet.workload.linear import Floats

Number = TypeVar("Number", Fraction, float)


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


def rising(drawn: Floats) -> Floats:
    """Return the nearest numbers, in the sum of squares, of which none is below the one before it."""
    pools = pooled(drawn.tolist())
    sizes = [size for _, size in pools]
    return np.repeat(np.array([total / size for total, size in pools]), sizes)


def pooled(drawn: Iterable[Number]) -> list[tuple[Number, int]]:
    """Return neighbours that fall pooled until no mean does: the sums of the pools, and their sizes.

    Their means are the nearest sequence that never falls (Ayer, Brunk, Ewing, Reid, Silverman 1955).
    """
    pools: list[tuple[Number, int]] = []
    for value in drawn:
        total, size = value, 1
        while pools and pools[-1][0] * size >= total * pools[-1][1]:
            before, many = pools.pop()
            total, size = total + before, size + many
        pools.append((total, size))
    return pools


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
