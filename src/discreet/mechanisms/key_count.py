"""Counts of groups that are found in the data: the optimal selection of groups, with the count inside it.

Theorem.  Let f be the keep-curve of `threshold`, 0 = f(0) < f(1) < ... < f(N) = 1 with odds o = exp(epsilon),
let p_i = f(i) - f(i-1), t a whole number, and draw X with Pr[X = t - i] = p_i for i = 1, ..., N.  Show a
group of n people with the count n + X when that is at least t.  Then it is shown with probability f(n), the
largest that any selection has, and where one person moves n by one this is (epsilon, delta)-private with

    delta = max(sum of max(0, p_i - o p_(i-1)), sum of max(0, p_i - o p_(i+1))),        p_0 = p_(N+1) = 0.

Proof.  n + X >= t means i <= n, which has probability f(n).  With nothing left out, n + 1 makes of the value
n + t - i what n makes of it with i - 1 in place of i, so the two sums are the hockey-stick divergences of
n + X and n + 1 + X both ways, and leaving values out is post-processing.  While f rises as o f + delta the
ratio of neighbouring p is o, after a first p_1 = delta without a predecessor; while 1 - f falls as
(1 - f - delta) / o it is 1 / o, up to the last two: there p_N = d and p_(N-1) = (o - 1) d + delta, which
exceeds o p_N by delta - d, and p_N has no successor: together delta.  Where f passes from one to the other
both ratios lie between.  So delta is that of the selection alone; here it is computed from the rationals that
are drawn from, so that rounding is in it.

Groups.  When one person is in at most g groups this is (g epsilon, 1 - (1 - delta)**g)-private, as there.

Intervals.  A group is shown where its noise was large enough, so counts near t are more often too large.  An
interval holds every n under which a count as small, or as large, among the counts that are shown, has a
probability of at least half of beta, and the shown count itself; so it covers as often as it says among shown
groups too.

References.  The curve: Desfontaines, Voss, Gipson, Mandayam, PoPETs 2022.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.coins import source
from discreet.exact.number import Real, log_up, probability, rational
from discreet.exact.perturb import integers
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one, counted
from discreet.mechanisms.threshold import Threshold, keep_curve, united
from discreet.privacy.guarantee import Approximate

SPARE = 1 - Fraction(1, 2**40)
"""The part of delta that the curve is made for; the rest is for the rounding of its steps."""


@dataclass(frozen=True, slots=True)
class KeyCount:
    """Counts of groups, shown as the optimal selection would: odds is exp(epsilon), as in `Threshold`."""

    odds: Fraction
    delta: Fraction
    groups: int | None = field(default=None, kw_only=True)

    _repr_html_, __str__ = html, line

    def __post_init__(self) -> None:
        curve = Threshold(self.odds, self.delta)
        object.__setattr__(self, "odds", curve.odds)
        object.__setattr__(self, "delta", curve.delta)
        if self.groups is not None:
            object.__setattr__(self, "groups", at_least_one(self.groups, "groups"))

    @classmethod
    def calibrate(cls, *, epsilon: Real, delta: Real, groups: int = 1) -> "KeyCount":
        """Return the (epsilon, delta)-private release that shows most, for people in up to `groups`."""
        asked = probability(delta, "delta")
        curve = Threshold.calibrate(epsilon=epsilon, delta=asked * SPARE, groups=groups)
        found = cls(curve.odds, curve.delta, groups=groups)
        if found.guarantee().slack > asked:
            raise ParameterError("epsilon and delta are too far apart for exact steps between them")
        return found

    @property
    def threshold(self) -> int:
        """The smallest count that is shown: the mean of i to the nearest whole number, which centres X."""
        return _law(self.odds, self.delta).threshold

    def keep(self, count: int) -> Fraction:
        """Return the probability of showing a group of `count` people."""
        return Threshold(self.odds, self.delta).keep(count)

    def pmf(self, k: int) -> Fraction:
        """Return Pr[X = k]."""
        law = _law(self.odds, self.delta)
        place = law.threshold - k
        if not 1 <= place < len(law.chances):
            return Fraction(0)
        return Fraction(law.chances[place] - law.chances[place - 1], law.scale)

    @property
    def variance(self) -> Fraction:
        """Return the variance of X."""
        law = _law(self.odds, self.delta)
        first = second = 0
        for i in range(1, len(law.chances)):
            mass, k = law.chances[i] - law.chances[i - 1], law.threshold - i
            first, second = first + mass * k, second + mass * k * k
        return Fraction(second, law.scale) - Fraction(first, law.scale) ** 2

    def radius(self, beta: Real) -> int:
        """Return the smallest r with Pr[|X| > r] <= beta, of groups that are surely shown."""
        risk, law = probability(beta, "beta"), _law(self.odds, self.delta)
        last, chances, scale = len(law.chances) - 1, law.chances, law.scale
        reach = max(law.threshold - 1, last - law.threshold)
        # X > r means i < t - r, and X < -r means i > t + r.
        while reach > 0:
            r = reach - 1
            above = chances[max(law.threshold - r - 1, 0)]
            below = scale - chances[min(law.threshold + r, last)]
            if Fraction(above + below, scale) > risk:
                break
            reach = r
        return reach

    def interval(self, shown: int, beta: Real) -> tuple[int, int]:
        """Return the smallest and largest number of people that a shown count does not contradict."""
        risk, law = probability(beta, "beta") / 2, _law(self.odds, self.delta)

        def chance(i: int) -> int:
            return law.chances[min(max(i, 0), len(law.chances) - 1)]

        def too_small(n: int) -> bool:
            return chance(n + law.threshold - shown) < risk * chance(n)

        def too_large(n: int) -> bool:
            return chance(n) - chance(n + law.threshold - shown - 1) < risk * chance(n)

        low = max(1, shown - law.threshold + 1)
        high = shown - law.threshold + len(law.chances) - 1
        most = _first(too_large, low, high + 1) - 1
        # The smallest counts that are shown are rare under every number of people, but say no less of it.
        return _first(lambda n: not too_small(n), low, high), max(most, shown)

    def sample(self, counts: Any) -> tuple[Any, Any]:
        """Return which groups are shown, and all noisy counts; those not shown must not be published."""
        many = integers(counts)
        if many.ndim != 1 or (many.size and int(many.min()) < 0):
            raise ParameterError("counts must be a list of whole numbers, none negative")
        law, coins = _law(self.odds, self.delta), source()
        width = law.scale.bit_length() - 1
        places = [bisect_right(law.chances, coins.bits(width)) for _ in range(many.size)]
        noisy = [int(n) + law.threshold - i for n, i in zip(many, places, strict=True)]
        shown = [i <= int(n) for n, i in zip(many, places, strict=True)]
        return np.array(shown, dtype=np.bool_), np.array(noisy, dtype=object)

    def guarantee(self, groups: int | None = None) -> Approximate:
        """Return the privacy of the shown groups and their counts, for people in at most `groups` groups."""
        number = counted(groups, self.groups, self, "groups")
        return Approximate(
            log_up(self.odds) * number, united(_law(self.odds, self.delta).loss(self.odds), number)
        )


@dataclass(frozen=True, slots=True)
class _Law:
    """The curve as integers over a power of two, and where it is centred."""

    chances: tuple[int, ...]
    scale: int
    threshold: int

    def loss(self, odds: Fraction) -> Fraction:
        """Return the larger hockey-stick divergence of neighbouring counts, exactly."""
        masses = [0, *(b - a for a, b in pairwise(self.chances)), 0]
        over, under, pairs = odds.numerator, odds.denominator, list(pairwise(masses))
        up = sum(max(0, under * b - over * a) for a, b in pairs)
        down = sum(max(0, under * a - over * b) for a, b in pairs)
        return Fraction(max(up, down), under * self.scale)


@lru_cache(maxsize=16)
def _law(odds: Fraction, delta: Fraction) -> _Law:
    chances, scale = keep_curve(odds, delta)
    mean = rational(Fraction(sum(scale - chance for chance in chances), scale))
    return _Law(chances, scale, round(mean))


def _first(holds: Any, low: int, high: int) -> int:
    """Return the first number from low up to high that something holds for, as for all after it."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
