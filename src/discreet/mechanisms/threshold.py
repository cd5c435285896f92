"""Which groups may be named at all: a group that exists because of one person must not be shown.

Selection (`Threshold`).  Keep a group of n people with probability f(n), independently.  For one group this
is (epsilon, delta)-private when f(0) = 0 and, with o = exp(epsilon),

    f(n) <= o f(n-1) + delta     and     1 - f(n-1) <= o (1 - f(n)) + delta,

together with the two conditions in which n and n-1 change places, which any non-decreasing f satisfies.
Theorem.  The recursion f(n) = min(o f(n-1) + delta, 1 - (1 - f(n-1) - delta) / o, 1) satisfies them, and
whatever other f does keeps no group with larger probability.  Here every f(n) is a rational: it is rounded
down to a fixed denominator before f(n+1) is computed from it, so the conditions hold exactly.

Noise (`NoisyThreshold`).  Add two-sided geometric noise, ratio a, to each n >= 1 and show the group with its
noisy count when that reaches a whole number t.  A person alone in a group is shown with probability
a**(t-1) / (1+a) when t >= 1.  This releases counts as well, at the price of keeping fewer groups.

Groups.  When one person is in at most g groups, both are (g epsilon, 1 - (1 - delta)**g)-private: the groups
are independent, and each is pure at epsilon but for an event of probability delta.  For the noisy form that
event is a new group showing up, and the other groups' counts move by at most one each.

When optimal.  `Threshold` is optimal for one group per person, at every n at once.

References.  Desfontaines, Voss, Gipson, Mandayam, "Differentially private partition selection", PoPETs 2022.
Noise and threshold: Korolova, Kenthapadi, Mishra, Ntoulas, WWW 2009.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.digits import power, power_ball, proper_ratio, writable
from discreet.exact.number import (
    HAIR,
    Real,
    at_most,
    ball,
    enclose,
    exp_down,
    least_integer,
    log_ball,
    log_quotient,
    log_up,
    positive,
    probability,
    rational,
    shown,
    whole,
)
from discreet.exact.perturb import add, integers
from discreet.exact.sample import bernoulli, two_sided_geometric
from discreet.markup import built
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one, counted
from discreet.privacy.guarantee import Approximate

LONGEST = 10**6
"""The recursion is refused when it would need more steps than this to reach certainty."""

TOO_SMALL = "epsilon is too small to select groups: it takes a million people for a group to be surely kept"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Optimal selection of groups: exp(epsilon) is `odds`; a lone person's group is kept with `delta`."""

    odds: Fraction
    delta: Fraction
    groups: int | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "odds", rational(self.odds, "odds"))
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        _remember(self)
        if self.odds <= 1:
            raise ParameterError(f"odds must be greater than 1, got {shown(self.odds)}")
        if 1 / self.delta > self.odds and log_quotient(1 / self.delta, self.odds) > LONGEST // 2:
            raise ParameterError(TOO_SMALL)

    @classmethod
    def calibrate(cls, *, epsilon: Real, delta: Real, groups: int = 1) -> "Threshold":
        """Return the (epsilon, delta)-private selection that keeps most, for people in up to `groups`."""
        each, slack = _each(epsilon, delta, groups)
        # Both are below exp(each), by more than any rounding of the logarithm taken back.
        return cls(max(exp_down(each) * (1 - HAIR), 1 + each * (1 - HAIR)), slack, groups=groups)

    def keep(self, count: int) -> Fraction:
        """Return the probability of keeping a group of `count` people."""
        people, (chances, scale) = _people(count), keep_curve(self.odds, self.delta)
        return Fraction(chances[people], scale) if people < len(chances) else Fraction(1)

    @property
    def certain(self) -> int:
        """Return the smallest number of people whose group is always kept."""
        return len(keep_curve(self.odds, self.delta)[0]) - 1

    def sample(self, counts: Any) -> Any:
        """Return whether to keep each group: a bool for a count, an array of the same shape for an array."""
        many = integers(counts)
        if many.size and int(many.min()) < 0:
            raise ParameterError("counts must not be negative")
        capped = np.minimum(many.ravel(), self.certain).astype(np.int64)
        kept = np.empty(capped.size, dtype=np.bool_)
        for count in np.unique(capped):
            places = np.flatnonzero(capped == count)
            kept[places] = bernoulli(self.keep(int(count)), places.size)
        return bool(kept[0]) if many.ndim == 0 else kept.reshape(many.shape)

    def guarantee(self, groups: int | None = None) -> Approximate:
        """Return the privacy of the set of kept groups, for people in at most `groups` groups."""
        number = counted(groups, self.groups, self, "groups")
        return Approximate(log_up(self.odds) * number, united(self.delta, number))


@dataclass(frozen=True, slots=True)
class NoisyThreshold:
    """Groups with noisy counts, shown when the noisy count reaches `threshold`."""

    alpha: Fraction
    threshold: int
    groups: int | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "threshold", whole(self.threshold, "threshold"))
        _remember(self)

    @classmethod
    def calibrate(cls, *, epsilon: Real, delta: Real, groups: int = 1) -> "NoisyThreshold":
        """Return the least noise and the lowest whole threshold, for people in up to `groups` groups."""
        each, slack = _each(epsilon, delta, groups)
        alpha = ratio(each, 1)

        def hides(t: int) -> bool:
            return at_most(
                lambda: power_ball(alpha, t - 1) / (1 + ball(alpha)),
                slack,
                exact=lambda: alpha ** (t - 1) / (1 + alpha) if writable(alpha, t) else None,
            )

        return cls(alpha, least_integer(hides, log_quotient(slack, alpha) + 1, 1), groups=groups)

    def keep(self, count: int) -> Fraction:
        """Return the probability of showing a group of `count` people: 0 for none, who are no group."""
        people = _people(count)
        if people == 0:
            return Fraction(0)
        short = self.threshold - people
        if short > 0:
            return power(self.alpha, short) / (1 + self.alpha)
        return 1 - power(self.alpha, 1 - short) / (1 + self.alpha)

    def sample(self, counts: Any) -> tuple[Any, Any]:
        """Return which groups are shown, and all noisy counts; those not shown must not be published."""
        many = integers(counts)
        if many.ndim != 1 or (many.size and int(many.min()) < 0):
            raise ParameterError("counts must be a list of whole numbers, none negative")
        noisy = add(many, two_sided_geometric(self.alpha, many.size))
        return (noisy >= self.threshold) & (many > 0), noisy

    def guarantee(self, groups: int | None = None) -> Approximate:
        """Return the privacy of the shown groups and their noisy counts, for people in at most `groups`."""
        number = counted(groups, self.groups, self, "groups")
        return Approximate(log_up(1 / self.alpha) * number, united(self.keep(1), number))


@lru_cache(maxsize=16)
def keep_curve(odds: Fraction, delta: Fraction) -> tuple[tuple[int, ...], int]:
    """Return f(0), f(1), ... up to certainty, as integers over one denominator."""
    # The grid is far finer than delta, so that rounding down never stops the recursion from rising.
    scale = 1 << 128 + (delta.denominator // delta.numerator).bit_length()
    over, under = odds.numerator, odds.denominator
    slack, unit = delta.numerator * scale, delta.denominator
    chances = [0]
    while (last := chances[-1]) < scale:
        # min(o f + d, 1 - (1 - f - d) / o), each rounded down to the grid.
        grown = (over * last * unit + under * slack) // (under * unit)
        shrunk = scale + ((last - scale) * unit + slack) * under // (over * unit)
        chances.append(min(grown, shrunk, scale))
        if len(chances) > LONGEST:
            raise ParameterError(TOO_SMALL)
    return tuple(chances), scale


def united(delta: Fraction, number: int) -> Fraction:
    """Return 1 - (1 - delta)**number, rounded up where it would be too long to write out."""
    if number * delta.denominator.bit_length() <= 2**17:
        return Fraction(1 - (1 - delta) ** number)
    return min(Fraction(1), enclose(lambda: -((log_ball(1 - delta) * number).expm1()))[1])


def _each(epsilon: Real, delta: Real, groups: int) -> tuple[Fraction, Fraction]:
    # 1 - (1 - d)**g <= g d, so an equal share of delta is enough.
    number = at_least_one(groups, "groups")
    return positive(epsilon, "epsilon") / number, probability(delta, "delta") / number


def _people(count: int) -> int:
    people = whole(count, "count")
    if people < 0:
        raise ParameterError(f"count must not be negative, got {shown(count)}")
    return people


def _remember(selection: Threshold | NoisyThreshold) -> None:
    if selection.groups is not None:
        object.__setattr__(selection, "groups", at_least_one(selection.groups, "groups"))
