"""Running counts that never fall: the nearest ones to what was drawn.

Theorem.  Let z be the non-decreasing sequence nearest to y in the sum of squares, raised to 0 where it is
below.  For every non-decreasing t >= 0, the sum of (z - t)**2 is at most that of (y - t)**2, and so is the
largest |z - t|: both sets are convex and projecting onto them brings z no further from any of their points;
and z_i is the min over j >= i of the max over k <= i of mean(y_k..y_j), which moves by at most as much as y
does.  It is computed from released values alone, so it costs nothing.
"""

from collections.abc import Sequence
from fractions import Fraction

from discreet.query.check.formula import Public
from discreet.query.check.measurement import RunningGroups
from discreet.release.noisy import Noisy
from discreet.workload.nearest import pooled


def steady(drawn: Sequence[Fraction | int]) -> list[Fraction]:
    """Return the nearest sequence that neither falls nor is negative."""
    pools = pooled(map(Fraction, drawn))
    return [max(total / size, Fraction(0)) for total, size in pools for _ in range(size)]


def running(keys: RunningGroups, noisy: Noisy) -> Noisy:
    """Return released running counts made steady, one group after the other."""
    size = len(keys.columns[-1].values or ())
    return Noisy(noisy.keys, tuple(_column(column, size) for column in noisy.values))


def _column(column: tuple[Public, ...], size: int) -> tuple[Public, ...]:
    numbers = [value for value in column if isinstance(value, int | Fraction)]
    if len(numbers) != len(column):
        raise TypeError("running counts are numbers")
    return tuple(
        value for first in range(0, len(numbers), size) for value in steady(numbers[first : first + size])
    )
