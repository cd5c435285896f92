"""Descent on a smooth function from its values and slopes: limited-memory BFGS, within x >= 0 where asked.

Nothing is promised about where it ends, except that no value on the way is larger than the first: whoever
calls it computes what its point is worth.  It is deterministic, so that every installation plans alike, on
whatever machine the other side of a promise works it out again.

Step.  The direction is -H g, where H is the product form that the last `memory` steps s and changes of slope
y span (each with s' y > 0, so H is positive definite).  Its length is halved until the value falls by a
share of what the slope foretells, and doubled as long as the slope at the end is still as steep: then s' y is
positive by itself.  Coordinates at zero that would leave the quarter stay, and the others are cut off there.

References.  Nocedal, Math. Comp. 35, 1980; Lewis and Overton, Math. Program. 141, 2013 (line search);
Bertsekas, SIAM J. Control Optim. 20, 1982 (projection).
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from discreet.workload.linear import Floats

_FALL, _STEEP = 1e-4, 0.9
"""The share of the foretold fall that a step must reach, and of the slope that it must leave behind."""

_TRIES = 30

Smooth = Callable[[Floats], tuple[float, Floats]]
Point = tuple[Floats, float, Floats]
"""Where, the value there, and the slope."""

Past = deque[tuple[Floats, Floats, float]]
"""The last steps s, what they changed of the slope y, and s' y."""


def descend(
    function: Smooth,
    start: Floats,
    *,
    steps: int,
    memory: int = 10,
    flat: float = 1e-12,
    level: float = 1e-13,
    positive: bool = False,
) -> Floats:
    """Return a point from which further steps no longer pay: a fall below `flat`, a slope below `level`."""
    here = np.maximum(start, 0) if positive else start
    point: Point = (here, *function(here))
    past: Past = deque(maxlen=memory)
    for _ in range(steps):
        place, value, slope = point
        free = (place > 0) | (slope < 0) if positive else np.ones(place.shape, dtype=np.bool_)
        if not free.any() or float(np.abs(slope[free]).max()) <= level:
            break
        direction = np.where(free, -_scaled(np.where(free, slope, 0.0), past), 0.0)
        if float(direction @ slope) >= 0:
            past.clear()
            direction = np.where(free, -slope, 0.0)
        first = 1.0 if past else min(1.0, 1 / float(np.abs(slope[free]).sum()))
        found = _step(function, point, direction, first, positive=positive)
        if found is None and past:
            past.clear()
            continue
        if found is None:
            break
        moved, change = found[0] - place, found[2] - slope
        along = float(moved @ change)
        if along > 1e-14 * float(change @ change):
            past.append((moved, change, along))
        point = found
        if value - point[1] <= flat * max(abs(value), abs(point[1]), 1.0):
            break
    return point[0]


def _scaled(slope: Floats, past: Past) -> Floats:
    """Return H g by the two loops over the last steps."""
    rest, shares = slope.copy(), []
    for moved, change, along in reversed(past):
        share = float(moved @ rest) / along
        shares.append(share)
        rest -= share * change
    if past:
        _, change, along = past[-1]
        rest *= along / float(change @ change)
    for (moved, change, along), share in zip(past, reversed(shares), strict=True):
        rest += (share - float(change @ rest) / along) * moved
    return rest


def _step(
    function: Smooth, point: Point, direction: Floats, length: float, *, positive: bool
) -> Point | None:
    """Return the end of a step that pays, or None where none was found."""
    place, value, slope = point
    low, high, best = 0.0, np.inf, None
    for _ in range(_TRIES):
        end = place + length * direction
        end = np.maximum(end, 0) if positive else end
        reached, steepness = function(end)
        foretold = float(slope @ (end - place))
        if not reached <= value + _FALL * foretold:
            high = length
        else:
            best = (end, reached, steepness)
            # Along a path that is cut off the slope at its end tells nothing about going on.
            if positive or float(steepness @ direction) >= _STEEP * float(slope @ direction):
                return best
            low = length
        length = (low + high) / 2 if np.isfinite(high) else 2 * length
    return best
