"""Counts of groups that are found in the data, with Gaussian noise: for people in many groups.

Setting.  A group of n >= 1 people is shown with the count n + Z where that reaches a whole number t; every
group has independent discrete Gaussian noise Z of parameter v, and what has no people is no group.

Theorem.  Let one unit change at most g counts, each by at most one, and let q = Pr[Z >= t - 1].  Then what is
shown is rho-zCDP but for delta, with

    rho = g / (2 v),        delta = 1 - (1 - q)**g.

Proof.  Let D and D' be neighbours, and let A be the groups that have people in D only, B those that have
people in D' only.  Their counts change, so there are at most g of them; each has one person where it has any.
Call it bad that one of A or B is shown.  From D that is that one of A is shown, which has the probability
1 - (1 - q)**|A| <= delta, because noise is independent; likewise from D' and B.  Where nothing bad happens,
both show only groups that have people in D and in D'.  Their noise is independent of that of A and B, and at
most g of their counts differ, each by one: g as a sum of squares, so that is rho-zCDP both ways (see
`gaussian`), and hiding what is below t is post-processing.  Both sides are so on an event of probability at
least 1 - delta, which is what delta-approximate rho-zCDP means.

Where it is drawn which groups of somebody count, from their own rows and nothing else, this holds as for
`key_weight`.

Against the optimal curve of `key_count`, which is made for epsilon: of a budget that adds up rho, a release
takes g / (2 v) here and g**2 epsilon**2 / 2 there, nearly.  So a group needs about sqrt(g ln(1/delta) / rho)
people here, and g ln(1/delta) / sqrt(2 rho) there.

Intervals.  As there: an interval holds every n under which a count as small, or as large, among the counts
that are shown, has a probability of at least half of beta, and the shown count itself.  Noise is log-concave,
so these n are neighbours.

References.  Thresholds on Gaussian noise: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially
private set union", ICML 2020.  Approximate zCDP: Bun and Steinke, TCC 2016, definition 8.1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import erfc, isqrt, sqrt
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import (
    Real,
    at_most,
    certain,
    enclose,
    least_integer,
    log_up,
    positive,
    probability,
    shown,
    whole,
)
from discreet.exact.perturb import add, integers
from discreet.exact.sample import discrete_gaussian, proper_variance
from discreet.markup import built
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.key_weight import SPARE, reached
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one, counted
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Concentrated

WIDE = 2**14
"""From this standard deviation on, tails are those of the normal law to nine digits."""

SUREST = Fraction(1, 10**12)
"""Below this risk differences of tails are lost in floats; intervals are then by a bound on the tail."""

FAR = 40
"""So many standard deviations away, a tail is nothing that a float could hold."""


@dataclass(frozen=True, slots=True)
class KeyGaussian:
    """Counts of groups with Gaussian noise, shown where they reach `threshold`."""

    sigma_squared: Fraction
    threshold: int
    groups: int | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", proper_variance(self.sigma_squared))
        object.__setattr__(self, "threshold", at_least_one(self.threshold, "threshold"))
        if self.groups is not None:
            object.__setattr__(self, "groups", at_least_one(self.groups, "groups"))

    @classmethod
    def calibrate(cls, *, rho: Real, delta: Real, groups: int = 1) -> "KeyGaussian":
        """Return the least noise and the lowest threshold that are rho-zCDP but for delta."""
        asked, most = probability(delta, "delta"), at_least_one(groups, "groups")
        variance = proper_variance(most / (2 * positive(rho, "rho")))
        found = cls(variance, _least_threshold(variance, most, asked * SPARE), groups=most)
        if found.guarantee().slack > asked:
            raise ParameterError("delta is too small for the precision of its threshold")
        return found

    def keep(self, count: int) -> Bounds:
        """Return the probability of showing a group of `count` people."""
        people = whole(count, "count")
        if people < 0:
            raise ParameterError(f"count must not be negative, got {shown(count)}")
        if people == 0:
            return Bounds(Fraction(0), Fraction(0))
        low, high = certain(lambda: reached(self.threshold - people, 1, self.sigma_squared))
        return Bounds(max(low, Fraction(0)), min(high, Fraction(1)))

    def pmf(self, k: int) -> Bounds:
        """Return Pr[Z = k]."""
        return Gaussian(self.sigma_squared).pmf(k)

    def radius(self, beta: Real) -> int:
        """Return the smallest r certified to have Pr[|Z| > r] <= beta, of groups that are surely shown."""
        return Gaussian(self.sigma_squared).radius(beta)

    def interval(self, shown: int, beta: Real) -> tuple[int, int]:
        """Return the smallest and largest number of people that a shown count does not contradict."""
        count, risk = whole(shown, "shown"), probability(beta, "beta")
        if count < self.threshold:
            raise ParameterError(f"a count below the threshold of {self.threshold} is not shown, got {count}")
        return _interval(self.sigma_squared, self.threshold, count, risk)

    def sample(self, counts: Any) -> tuple[Any, Any]:
        """Return which groups are shown, and all noisy counts; those not shown must not be published."""
        many = integers(counts)
        if many.ndim != 1 or (many.size and int(many.min()) < 0):
            raise ParameterError("counts must be a list of whole numbers, none negative")
        noisy = add(many, discrete_gaussian(self.sigma_squared, many.size))
        return (noisy >= self.threshold) & (many > 0), noisy

    def guarantee(self, groups: int | None = None) -> Concentrated:
        """Return the privacy of the shown groups and their counts, for units that change so many of them."""
        number = counted(groups, self.groups, self, "groups")
        return Concentrated(
            number / (2 * self.sigma_squared), _slack(self.sigma_squared, self.threshold, number)
        )


@lru_cache(maxsize=64)
def _least_threshold(variance: Fraction, groups: int, delta: Fraction) -> int:
    # A normal tail is below exp(-x**2 / 2), from where the search goes outwards.
    guess = isqrt(int(2 * variance * log_up(groups / delta))) + 1
    return least_integer(lambda t: at_most(lambda: reached(t - 1, groups, variance), delta), guess, 1)


@lru_cache(maxsize=64)
def _slack(variance: Fraction, threshold: int, groups: int) -> Fraction:
    return min(enclose(lambda: reached(threshold - 1, groups, variance))[1], Fraction(1))


# Groups of one size have one interval, and many groups are small.
@lru_cache(maxsize=4096)
def _interval(variance: Fraction, threshold: int, shown: int, beta: Fraction) -> tuple[int, int]:
    if beta < SUREST:
        # Of n people, 2 exp(-(n - shown)**2 / 2 v) is more than the chance of being shown with so few.
        return 1, shown + isqrt(int(2 * variance * log_up(4 / beta)) + 1) + 1
    tail, risk = _tails(variance), float(beta) / 2

    def too_large(n: int) -> bool:
        return tail(shown - n) < risk * tail(threshold - n)

    def too_small(n: int) -> bool:
        chance = tail(threshold - n)
        return chance - tail(shown + 1 - n) < risk * chance

    low = least_integer(lambda n: not too_large(n), shown, 1)
    return low, least_integer(too_small, shown + 1, shown + 1) - 1


@lru_cache(maxsize=8)
def _tails(variance: Fraction) -> Callable[[int], float]:
    """Return the function a -> Pr[Z >= a] in floats, good to nine digits wherever it is not nothing."""
    sigma = sqrt(variance)
    if sigma >= WIDE:
        return lambda a: erfc((a - 0.5) / (sqrt(2) * sigma)) / 2
    far = int(FAR * sigma) + 2
    masses = np.exp(-(np.arange(far, -far - 1, -1, dtype=np.float64) ** 2) / (2 * float(variance)))
    # Added up from the smallest, so that a small tail has as many digits as a large one.
    sums = np.cumsum(masses) / masses.sum()

    def tail(a: int) -> float:
        return 0.0 if a > far else 1.0 if a < -far else float(sums[far - a])

    return tail
