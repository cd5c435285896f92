"""Exact choice among weighted candidates.

Weights are integers, or integers times powers of one ratio, or integers times exponentials of rationals.
For the last two a float decides when the drawn bits are clear of every error, and a ball when they are not.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import log
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.coins import Coins, source
from discreet.exact.digits import float_log, log_ball, proper_ratio
from discreet.exact.inversion import STANDARD, Shape, Uniform, resolve
from discreet.exact.number import ball
from discreet.exact.sample import uniform_below

FAR = 1 << 1000
"""Exponents from here on are infinite to a float."""

_TOGETHER, _STRETCH = 1 << 16, 16
"""So many weights are worked out at a time, and so many of a long row are added up in one go."""


def choose_counted(weights: Sequence[int], *, coins: Coins | None = None) -> int:
    """Return index i with probability weights[i] / sum, for integer weights."""
    running = list(accumulate(weights))
    if not running or running[-1] <= 0 or min(weights) < 0:
        raise ParameterError("weights must be non-negative integers, not all zero")
    return bisect_right(running, uniform_below(running[-1], coins=coins))


def choose_powers(
    alpha: Fraction,
    gaps: Sequence[int] | NDArray[Any],
    multiplicities: Sequence[int] | None = None,
    *,
    coins: Coins | None = None,
    shape: Shape = STANDARD,
) -> int:
    """Return index i with probability proportional to multiplicities[i] * alpha**gaps[i]."""
    ratio = proper_ratio(alpha)
    logs = _floats(gaps) * float_log(ratio)

    def weight(i: int) -> arb:
        return (log_ball(ratio) * int(gaps[i])).exp()

    return _choose(logs, weight, multiplicities, coins or source(), shape)


def choose_powers_each(
    alpha: Fraction, gaps: NDArray[Any], *, coins: Coins | None = None, shape: Shape = STANDARD
) -> NDArray[np.int64]:
    """Return for every row of gaps an index i with probability proportional to alpha**gaps[row, i]."""
    ratio, coins = proper_ratio(alpha), coins or source()
    rows, size = gaps.shape
    words, slope, unit = coins.words(rows, shape.word), float_log(ratio), np.float64(2.0**-shape.word)
    chosen, doubtful = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=bool)
    # The best of a row has gap 0, so that no logarithm is positive and none that counts is larger than 2000.
    slip = 2.0**-37 + size * 2.0**-50 + 2.0**-shape.word
    together = max(1, _TOGETHER // (size + _STRETCH))
    for start in range(0, rows, together):
        some = slice(start, start + together)
        chosen[some], doubtful[some] = _placed(gaps[some] * slope, words[some] * unit, slip)
    for row in np.flatnonzero(doubtful):
        distances = [int(gap) for gap in gaps[row]]

        def weight(i: int, distances: list[int] = distances) -> arb:
            return (log_ball(ratio) * distances[i]).exp()

        u = Uniform(int(words[row]), coins, shape)
        chosen[row] = resolve(_Weighted(weight, None, size), u, int(chosen[row]))
    return chosen


def _placed(
    logs: NDArray[np.float64], points: NDArray[np.float64], slip: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each row's point lies among its weights, and whether that is in doubt.

    Long rows are added up stretch by stretch, and only the stretch with the point in it place by place.
    """
    rows, size = logs.shape
    every, first, before = np.arange(rows), np.zeros(rows, dtype=np.int64), np.zeros(rows)
    if size <= 2 * _STRETCH:
        running = np.cumsum(np.exp(logs), axis=1)
        whole = running[:, -1]
        target = points * whole
    else:
        weights = np.zeros((rows, -(-size // _STRETCH), _STRETCH))
        np.exp(logs, out=weights.reshape(rows, -1)[:, :size])
        ends = np.cumsum((weights.reshape(-1, _STRETCH) @ np.ones(_STRETCH)).reshape(rows, -1), axis=1)
        whole = ends[:, -1]
        target = points * whole
        stretch = np.minimum((ends <= target[:, None]).sum(axis=1), ends.shape[1] - 1)
        first, before = stretch * _STRETCH, np.where(stretch == 0, before, ends[every, stretch - 1])
        running = np.cumsum(weights[every, stretch], axis=1) + before[:, None]
    place = (running <= target[:, None]).sum(axis=1)
    place = np.minimum(place, np.minimum(running.shape[1], size - first) - 1)
    chosen, start = first + place, np.where(place == 0, before, running[every, place - 1])
    below = np.where(chosen == 0, np.inf, target - start)
    above = np.where(chosen == size - 1, np.inf, running[every, place] - target)
    return chosen, np.minimum(below, above) <= slip * whole


def choose_exponents(
    exponents: Sequence[Fraction],
    multiplicities: Sequence[int] | None = None,
    *,
    coins: Coins | None = None,
    shape: Shape = STANDARD,
) -> int:
    """Return index i with probability proportional to multiplicities[i] * exp(-exponents[i])."""
    least = min(exponents, default=Fraction(0))
    logs = -_floats([e - least for e in exponents])

    def weight(i: int) -> arb:
        return (-ball(exponents[i] - least)).exp()

    return _choose(logs, weight, multiplicities, coins or source(), shape)


def _floats(values: Sequence[int | Fraction] | NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers that are not negative as floats, those beyond their reach as infinite."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        return np.array([float(value) if value < FAR else np.inf for value in values])


def _choose(
    logs: NDArray[np.float64],
    weight: Callable[[int], arb],
    multiplicities: Sequence[int] | None,
    coins: Coins,
    shape: Shape,
) -> int:
    """Choose by float weights when the drawn bits are clear of every error, by balls when they are not."""
    size = logs.size
    if size == 0:
        raise ParameterError("there must be at least one candidate")
    sizes = np.abs(logs)
    if multiplicities is not None:
        if len(multiplicities) != size or min(multiplicities) < 0 or max(multiplicities) == 0:
            raise ParameterError("multiplicities must be non-negative, one for each candidate, not all zero")
        counts = np.array([log(m) if m else -np.inf for m in multiplicities])
        logs, sizes = logs + counts, sizes + np.abs(counts)
    logs = logs - logs.max()
    # Both parts of a logarithm err relatively by 2**-51, however much of them cancels.  Where the difference
    # is far below -700 in spite of that, the weight is nothing to a float, whatever its error.
    weighing = logs > -2000.0 - np.where(np.isfinite(sizes), sizes, 0.0) * 2.0**-40
    slip = float(sizes[weighing].max()) * 2.0**-48
    running = np.cumsum(np.exp(logs))
    u = Uniform.fresh(coins, shape)
    target = u.prefix * 2.0**-shape.word * running[-1]
    index = int(min(np.searchsorted(running, target, side="right"), size - 1))
    # Each weight above exp(-700) has relative error below 700 * 2**-50; summation adds size * 2**-52.
    margin = running[-1] * (2.0**-38 + min(slip, 2.0) + size * 2.0**-50 + 2.0**-shape.word)
    if (index == 0 or target - running[index - 1] > margin) and (
        index == size - 1 or running[index] - target > margin
    ):
        return index
    law = _Weighted(weight, multiplicities, size)
    return resolve(law, u, index)


class _Weighted:
    """The law of an index under ball weights, with prefix sums computed once per precision."""

    def __init__(self, weight: Callable[[int], arb], multiplicities: Sequence[int] | None, size: int) -> None:
        self._weight = weight
        self._multiplicities = multiplicities
        self._size = size
        self._sums: dict[int, list[arb]] = {}

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[index <= k]."""
        if k < 0:
            return arb(0)
        if k >= self._size - 1:
            return arb(1)
        sums = self._sums.get(ctx.prec)
        if sums is None:
            weights = (
                self._weight(i) * (self._multiplicities[i] if self._multiplicities else 1)
                for i in range(self._size)
            )
            sums = self._sums[ctx.prec] = list(accumulate(weights))
        return sums[k] / sums[-1]
