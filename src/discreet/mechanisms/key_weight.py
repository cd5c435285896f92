"""Groups that are found in the data by weights: whoever is in many groups counts less in each of them.

Setting.  A person in m <= g groups adds the whole number w_m = floor(W / sqrt(m)) to each of them; the weight
of a group is the sum of what its people add.  Each weight gets independent discrete Gaussian noise Z of
parameter v, and a group with people is shown, with its noisy weight if one likes, where that reaches a whole
number t.

Theorem.  With q_m = Pr[Z >= t - w_m] let

    rho = W**2 / (2 v),        delta = max over m = 1, ..., g of 1 - (1 - q_m)**m.

Where one person is added or removed this is rho-zCDP but for delta; where one is replaced, 2 rho instead of
rho and the same delta.
Proof.  Let D' have one person p more than D, in m groups, of which j hold nobody else.  Call it bad that one
of these j is shown.  From D that cannot happen: they are no groups there.  From D' it has the probability
1 - (1 - q_m)**j <= 1 - (1 - q_m)**m <= delta, because their noise is independent.  Noise of other groups is
independent of theirs, so what D' shows, given that nothing bad happened, is what it shows of the groups of D;
and there D' differs from D by adding w_m to m - j weights before the same noise.  These squares sum to
(m - j) w_m**2 <= m floor(W / sqrt(m))**2 <= W**2, so that is rho-zCDP both ways (see `gaussian`), and hiding
what is below t is post-processing.  Both sides are so on an event of probability at least 1 - delta, which is
what delta-approximate rho-zCDP means.
Replacing p by p', let C be everybody else.  Bad is that a group without anybody of C is shown, which has at
most delta on either side, as before.  On the groups of C the weights move by x - x' for two such vectors;
none of their entries is negative, so (x_i - x'_i)**2 <= x_i**2 + x'_i**2, and the squares sum to at most
2 W**2.

Where it is drawn which groups of somebody count, from their own rows and nothing else, this holds for each
draw of all people but p.  Let what is not bad be thinned until it has exactly 1 - delta for every draw: then
draws have the same law given that on both sides, and a mixture by one law is no further apart than the
furthest of what is mixed.

A limit of g groups with weight W in each would take g W**2 in place of W**2: where most people are in few
groups and some in many, weights let the many speak and do not make the few pay for it.  The noisy weight is
not a count of people.

Choice.  `calibrate` takes the least v for rho, and then the least t >= 1: it is the largest over m of the
least t that is enough for m, since q_m falls as t rises.

References.  Weights and thresholds: Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially
private set union", ICML 2020.  Approximate zCDP: Bun and Steinke, TCC 2016, definition 8.1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from typing import Any

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.lattice_gaussian import gaussian_tail, gaussian_total
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
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Concentrated

ONE = 2**16
"""The weight of somebody in one group, unless told: rounding down loses under a thousandth."""

MOST_GROUPS = 4096
"""A limit of more groups is refused: each number of them is looked at."""

SPARE = 1 - Fraction(1, 2**40)
"""The part of delta that the threshold is made for; the rest is for the rounding of what it is worth."""


@dataclass(frozen=True, slots=True)
class KeyWeight:
    """Groups shown where their noisy weight reaches `threshold`; somebody in one group weighs `one`."""

    sigma_squared: Fraction
    threshold: int
    one: int
    groups: int
    adjacency: Adjacency | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", proper_variance(self.sigma_squared))
        for name in ("threshold", "one", "groups"):
            object.__setattr__(self, name, at_least_one(getattr(self, name), name))
        if self.groups > MOST_GROUPS:
            raise ParameterError(f"groups must be at most {MOST_GROUPS}, got {shown(self.groups)}")
        if self.groups > self.one**2:
            raise ParameterError(
                "one must be at least the root of groups, so that everybody weighs something"
            )
        if self.adjacency is not None:
            object.__setattr__(self, "adjacency", Adjacency.of(self.adjacency))

    @classmethod
    def calibrate(
        cls,
        *,
        rho: Real,
        delta: Real,
        groups: int,
        one: int = ONE,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    ) -> "KeyWeight":
        """Return the least noise and the lowest threshold that are rho-zCDP but for delta."""
        near, asked = Adjacency.of(adjacency), probability(delta, "delta")
        unit = at_least_one(one, "one")
        variance = squares(unit, near) / (2 * positive(rho, "rho"))
        # The parts are checked before anything is searched for.
        cls(variance, 1, unit, groups)
        least = _least_threshold(variance, unit, at_least_one(groups, "groups"), asked * SPARE)
        found = cls(variance, least, unit, groups, adjacency=near)
        if found.guarantee().slack > asked:
            raise ParameterError("delta is too small for the precision of its threshold")
        return found

    def weight(self, groups: int) -> int:
        """Return what somebody in so many groups adds to each of them."""
        number = at_least_one(groups, "groups")
        if number > self.groups:
            raise ParameterError(f"nobody is in more than {self.groups} groups, got {shown(groups)}")
        return weight(self.one, number)

    @property
    def weights(self) -> tuple[int, ...]:
        """Return w_1, ..., w_g."""
        return weights(self.one, self.groups)

    def keep(self, total: int) -> Bounds:
        """Return the probability of showing a group of this weight: 0 for none, who are no group."""
        held = whole(total, "total")
        if held < 0:
            raise ParameterError(f"total must not be negative, got {shown(total)}")
        if held == 0:
            return Bounds(Fraction(0), Fraction(0))
        low, high = certain(lambda: reached(self.threshold - held, 1, self.sigma_squared))
        return Bounds(max(low, Fraction(0)), min(high, Fraction(1)))

    def sample(self, totals: Any) -> tuple[Any, Any]:
        """Return which groups are shown, and all noisy weights; those not shown must not be published."""
        many = integers(totals)
        if many.ndim != 1 or (many.size and int(many.min()) < 0):
            raise ParameterError("weights must be a list of whole numbers, none negative")
        noisy = add(many, discrete_gaussian(self.sigma_squared, many.size))
        return (noisy >= self.threshold) & (many > 0), noisy

    def guarantee(self, adjacency: Adjacency | str | None = None) -> Concentrated:
        """Return the privacy of the shown groups and their noisy weights, for these neighbours."""
        near = self.adjacency if adjacency is None else Adjacency.of(adjacency)
        if near is None:
            raise ParameterError(
                "this KeyWeight does not know who are neighbours, so nothing can be said about its privacy; "
                'name them, as in guarantee("add-remove"), or calibrate one'
            )
        slack = _slack(self.sigma_squared, self.threshold, self.one, self.groups)
        return Concentrated(squares(self.one, near) / (2 * self.sigma_squared), slack)


def weight(one: int, groups: int) -> int:
    """Return floor(one / sqrt(groups)), exactly: a whole number is below a root if its square is below."""
    return isqrt(one * one // groups)


def weights(one: int, groups: int) -> tuple[int, ...]:
    """Return what somebody in 1, ..., `groups` groups adds to each of them."""
    return tuple(weight(one, number) for number in range(1, groups + 1))


def squares(one: int, adjacency: Adjacency) -> int:
    """Return how far weights move: the largest sum of squares of what one person changes."""
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return one * one
        case Adjacency.REPLACE:
            return 2 * one * one


def reached(start: int, number: int, variance: Fraction) -> arb:
    """Return a ball around 1 - Pr[Z < start]**number."""
    total = gaussian_total(variance)
    if start >= 1:
        return -((number * (-gaussian_tail(start, variance) / total).log1p()).expm1())
    return 1 - (gaussian_tail(1 - start, variance) / total) ** number


def _shows(threshold: int, one: int, first: int, last: int, variance: Fraction) -> Callable[[], arb]:
    """Return what encloses a bound on how often a new group of somebody in first, ..., last groups is shown.

    It is that of `last` groups of the weight of `first`: nobody has more, or heavier ones.  Where both are
    the same it is the probability itself.
    """
    return lambda: reached(threshold - weight(one, first), last, variance)


@lru_cache(maxsize=64)
def _least_threshold(variance: Fraction, one: int, groups: int, delta: Fraction) -> int:
    # A normal tail is below exp(-x**2 / 2), from where the search goes outwards.
    guess = isqrt(int(2 * variance * log_up(1 / delta))) + one
    least = least_integer(partial(_hides, variance, one, delta, 1, 1), guess, 1)
    # Nearly always an end decides, and then whoever is between is hidden as well.
    for first in (groups, 1):
        least = least_integer(partial(_hides, variance, one, delta, first, groups), least, least)
    return least


def _hides(variance: Fraction, one: int, delta: Fraction, first: int, last: int, threshold: int) -> bool:
    """Whether nobody in first, ..., last groups is given away more often than delta."""
    if at_most(_shows(threshold, one, first, last, variance), delta):
        return True
    if first == last:
        return False
    middle = (first + last) // 2
    halves = (middle + 1, last), (first, middle)
    return all(_hides(variance, one, delta, *half, threshold) for half in halves)


@lru_cache(maxsize=64)
def _slack(variance: Fraction, threshold: int, one: int, groups: int) -> Fraction:
    """Return how often a new group of somebody is shown, for the number of groups for which that is most."""

    def chance(first: int, last: int) -> Fraction:
        return enclose(_shows(threshold, one, first, last, variance))[1]

    largest, left = max(chance(1, 1), chance(groups, groups)), [(1, groups)]
    while left:
        first, last = left.pop()
        if first == last:
            largest = max(largest, chance(first, last))
        elif chance(first, last) > largest:
            middle = (first + last) // 2
            left += [(first, middle), (middle + 1, last)]
    return min(largest, Fraction(1))
