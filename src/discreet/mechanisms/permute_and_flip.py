"""Permute-and-flip: a choice among candidates that is never worse than the exponential mechanism's.

Theorem.  Let each candidate have an integer score that one person moves by at most D, and let a be a
rational in (0, 1).  Take the candidates in random order and select the first whose coin, of probability
w = a ** (best score - own score), shows heads; the best one's always does.  The release is epsilon-private
when exp(epsilon) >= a**(-2 D), or a**-D when the scores are monotone, and candidate i is selected with
probability

    w_i * integral from 0 to 1 of  product over j != i of (1 - w_j t)  dt,

a rational number.  Since the order is independent of the coins, the selected candidate is simply a uniform
one among all that show heads.

Proof of privacy.  The same law arises from adding to every score independent geometric noise, Pr[G >= g] =
a**g, and taking the largest, ties broken uniformly (see the noisy maximum).  Fix everyone's noise but i's
and the order that breaks ties: then i wins exactly when its noise reaches some r.  At a neighbour it wins at
the latest at r + 2 D, or at r + D when the scores all move one way, and Pr[G >= r + s] >= a**s Pr[G >= r].

It is epsilon-private but does not have bounded range epsilon: it must be composed as a pure mechanism and
does not earn the epsilon**2 / 8 of the exponential mechanism.

When optimal.  For every score vector its expected shortfall lies between half of the exponential mechanism's
and all of it; no epsilon-private selection that treats candidates alike and depends on gaps alone is better
for some scores and worse for none.

References.  McKenna, Sheldon, NeurIPS 2020.  Noise form: Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm, prod
from operator import mul
from typing import Any

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from discreet.exact.digits import power_ball, proper_ratio, writable
from discreet.exact.number import (
    Real,
    at_most,
    ball,
    enclose,
    flag,
    least_integer,
    log_quotient,
    log_up,
    probability,
)
from discreet.exact.sample import geometric, reaches, uniform_below, uniform_below_each
from discreet.markup import built
from discreet.mechanisms.candidates import (
    Scores,
    enclosed,
    expandable,
    gaps,
    gaps_of_rows,
    mean_gap,
    one_of,
    quantile_of_gap,
    reach,
    several,
)
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, one_way, remembered
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Pure
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """Selection of a uniform one among the candidates whose coin of probability alpha**gap shows heads."""

    alpha: Fraction
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)
    monotone: bool = field(default=False, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        flag(self.monotone, "monotone")

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, sensitivity: Sensitivity | Real = 1, monotone: bool = False
    ) -> "PermuteAndFlip":
        """Return the sharpest selection that stays epsilon-private for scores of this sensitivity."""
        alpha = ratio(epsilon, reach(sensitivity, monotone=monotone))
        return cls(alpha, sensitivity=Sensitivity.of(sensitivity), monotone=monotone)

    def pmf(self, scores: Scores) -> tuple[Fraction, ...]:
        """Return the probability of each candidate."""
        return flip_law(self.alpha, [int(gap) for gap in gaps(scores)])

    def chances(self, scores: Scores) -> tuple[Bounds, ...]:
        """Return rationals around each probability; unlike `pmf`, for thousands of candidates far apart."""
        distances = [int(gap) for gap in gaps(scores)]
        different = sorted(set(distances))

        def law() -> list[arb]:
            slope = ball(self.alpha).log()
            weight = {gap: (slope * gap).exp() for gap in different}
            factors = [arb_poly([1, -weight[gap]]) ** (distances.count(gap) - 1) for gap in different]
            single = [arb_poly([1, -weight[gap]]) for gap in different]
            # All but one: what comes before it times what comes after it.
            before = list(
                accumulate((f * s for f, s in zip(factors, single, strict=True)), mul, initial=arb_poly([1]))
            )
            after = arb_poly([1])
            chance = {}
            for place in reversed(range(len(different))):
                others = before[place] * after * factors[place]
                chance[different[place]] = weight[different[place]] * others.integral()(arb(1))
                after = after * factors[place] * single[place]
            return [chance[gap] for gap in distances]

        return enclosed(law)

    def sample(self, scores: Scores) -> int:
        """Return the position of one candidate."""
        distance = gaps(scores)
        # A geometric variable reaches g with probability alpha**g, which is the coin of a candidate at gap g.
        heads = np.flatnonzero(geometric(self.alpha, distance.size) >= distance)
        return int(heads[uniform_below(heads.size)])

    def sample_each(self, scores: Sequence[Scores] | NDArray[Any]) -> NDArray[np.int64]:
        """Return for every row of scores the position of one candidate, each row with coins of its own."""
        distance = gaps_of_rows(scores)
        if not len(distance):
            return np.empty(0, dtype=np.int64)
        heads = reaches(self.alpha, distance)
        several = np.count_nonzero(heads, axis=1)
        before = np.cumsum(several) - several
        # Heads are listed row by row, so that one of a row is as many places after those before the row.
        chosen = np.flatnonzero(heads)[before + uniform_below_each(several)]
        return np.asarray(chosen % distance.shape[1], dtype=np.int64)

    def guarantee(
        self, sensitivity: Sensitivity | Real | None = None, *, monotone: bool | None = None
    ) -> Pure:
        """Return the privacy of one selection when a person moves any score by at most `sensitivity`."""
        change = moved(sensitivity, self.sensitivity, self)
        towards = one_way(monotone, sensitivity, self.monotone)
        return Pure(log_up(1 / self.alpha) * reach(change, monotone=towards))

    def shortfall(
        self, beta: Real = "0.05", *, candidates: int | None = None, scores: Scores | None = None
    ) -> int:
        """Return the smallest s with Pr[best - selected > s] <= beta, for these scores or the worst."""
        one_of(candidates, scores)
        if scores is not None:
            return quantile_of_gap(self.pmf(scores), gaps(scores), beta)
        number, bound = several(candidates), probability(beta, "beta")
        if number == 1:
            return 0
        guess = log_quotient(bound / number, self.alpha)
        return least_integer(
            lambda s: at_most(
                lambda: _failure(power_ball(self.alpha, s + 1), number),
                bound,
                exact=lambda: (
                    _failure(self.alpha ** (s + 1), number)
                    if writable(self.alpha, (s + 1) * number)
                    else None
                ),
            ),
            guess,
        )

    def mean_shortfall(self, *, candidates: int | None = None, scores: Scores | None = None) -> Fraction:
        """Return the expected best - selected: exact for these scores, rounded up for the worst ones.

        The worst scores of k candidates put all but one at the same gap.
        """
        one_of(candidates, scores)
        if scores is not None:
            return mean_gap(self.pmf(scores), gaps(scores))
        number = several(candidates)
        if number == 1:
            return Fraction(0)

        def mean(gap: int) -> Fraction:
            return gap * enclose(lambda: _failure(power_ball(self.alpha, gap), number))[1]

        peak = least_integer(
            lambda gap: mean(gap + 1) <= mean(gap), -log_quotient(Fraction(number), self.alpha), 1
        )
        return mean(peak)


def flip_law(alpha: Fraction, distances: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the probability of each candidate, from their gaps."""
    over, under = alpha.numerator, alpha.denominator
    expandable(alpha, sum(distances) * len(distances))
    # With the integer factors f_j(t) = under**g_j - over**g_j t, all arithmetic is on integers.
    factors = {gap: (under**gap, -(over**gap)) for gap in set(distances)}
    product = [1]
    for gap in distances:
        product = _times(product, factors[gap])
    common = lcm(*range(1, len(distances) + 1))
    scale = common * prod(factors[gap][0] for gap in distances)
    chance = {
        gap: Fraction(
            over**gap * sum(c * (common // (k + 1)) for k, c in enumerate(_divided(product, factor))), scale
        )
        for gap, factor in factors.items()
    }
    return tuple(chance[gap] for gap in distances)


def _times(polynomial: list[int], factor: tuple[int, int]) -> list[int]:
    constant, slope = factor
    shifted = [0, *(slope * c for c in polynomial)]
    return [constant * c + s for c, s in zip([*polynomial, 0], shifted, strict=True)]


def _divided(polynomial: list[int], factor: tuple[int, int]) -> list[int]:
    # Exact division from the constant term upwards: the factor's constant term is never zero.
    constant, slope = factor
    quotient: list[int] = []
    carry = 0
    for c in polynomial[:-1]:
        carry = (c - slope * carry) // constant
        quotient.append(carry)
    return quotient


def _failure(weight: Any, number: int) -> Any:
    # One candidate of weight 1 and number - 1 of equal weight: the best wins with (1 - (1-w)^n) / (n w).
    return 1 - (1 - (1 - weight) ** number) / (number * weight)
