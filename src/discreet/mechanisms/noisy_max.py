"""The noisy maximum: add independent noise to every score and report who is largest.

Theorem.  Let each candidate have an integer score that one person moves by at most D, the noise be any
integer law with Pr[Z = k+1] >= a Pr[Z = k] for all k, and ties be broken uniformly.  The position of the
largest noisy score is epsilon-private when exp(epsilon) >= a**(-2 D), or a**-D when the scores are monotone.

Proof.  Break ties by an order of the candidates drawn in advance; drawn uniformly, it selects a uniform one
of those tied.  Fix the order and everyone's noise but i's: then i wins exactly when its noise reaches some
integer r.  At a neighbour i has won when its noise reaches r + s, with s = 2 D (its own score may fall by D
and the others rise by D) or s = D when all scores move one way; whether ties count for or against i is the
same in both.  And Pr[Z >= r + s] >= a**s Pr[Z >= r], term by term.  Average over the order and the noise.

Both the geometric law (1-a) a**k on k >= 0 and its two-sided form qualify.  The one-sided form is the
better: it has half the variance, and its law is exactly that of permute-and-flip.  Indeed an exponential
variable is a geometric integer plus an independent fraction, so for integer scores the largest sum of score
and exponential noise is the largest integer part, ties broken by independent fractions, that is uniformly.

The winner's noisy score is not part of the release: publishing it, or the gap to the second, costs more.

References.  Dwork, Roth, Foundations and Trends 9(3-4), 2014, section 3.3.  One-sided noise and
permute-and-flip: Ding, Kifer, Steinke, Wang, Xiao, Zhang, 2021.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
from flint import arb, fmpq, fmpq_poly

from discreet.errors import ParameterError
from discreet.exact.digits import proper_ratio
from discreet.exact.number import Real, at_most, ball, flag, least_integer, log_up, probability
from discreet.exact.perturb import add
from discreet.exact.sample import geometric, two_sided_geometric, uniform_below
from discreet.markup import built
from discreet.mechanisms.candidates import (
    Scores,
    expandable,
    gaps,
    mean_gap,
    one_of,
    quantile_of_gap,
    reach,
    several,
)
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.permute_and_flip import PermuteAndFlip, flip_law
from discreet.mechanisms.purpose import moved, one_way, remembered
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Pure
from discreet.privacy.sensitivity import Sensitivity

MOST = 2**20
"""Two-sided noise is not followed over more bits than this: so many values, each so precisely."""


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The position of the largest score plus geometric noise; the two-sided textbook form is worse."""

    alpha: Fraction
    two_sided: bool = field(default=False, kw_only=True)
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)
    monotone: bool = field(default=False, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        flag(self.monotone, "monotone")
        flag(self.two_sided, "two_sided")

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: Real,
        sensitivity: Sensitivity | Real = 1,
        monotone: bool = False,
        two_sided: bool = False,
    ) -> "NoisyMax":
        """Return the least noise that keeps the selection epsilon-private for scores of this sensitivity."""
        return cls(
            ratio(epsilon, reach(sensitivity, monotone=monotone)),
            two_sided=two_sided,
            sensitivity=Sensitivity.of(sensitivity),
            monotone=monotone,
        )

    def pmf(self, scores: Scores) -> tuple[Fraction, ...]:
        """Return the probability of each candidate."""
        distances = [int(gap) for gap in gaps(scores)]
        if not self.two_sided:
            return flip_law(self.alpha, distances)
        expandable(self.alpha, sum(distances) * len(distances))
        return _two_sided_law(self.alpha, distances)

    def chances(self, scores: Scores) -> tuple[Bounds, ...]:
        """Return rationals around each probability; for one-sided noise, however far apart the scores."""
        if not self.two_sided:
            return PermuteAndFlip(self.alpha).chances(scores)
        return tuple(Bounds.exactly(p) for p in self.pmf(scores))

    def sample(self, scores: Scores) -> int:
        """Return the position of one candidate."""
        distance = gaps(scores)
        draw = two_sided_geometric if self.two_sided else geometric
        noisy = add(-distance, draw(self.alpha, distance.size))
        tied = np.flatnonzero(noisy == noisy.max())
        return int(tied[uniform_below(tied.size)])

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
        """Return the smallest s with Pr[best - selected > s] <= beta, for these scores or the worst.

        The worst scores put all but one at the same gap: raising a bad candidate up to that gap, or
        lowering a second good one down to it, only makes a bad choice likelier.
        """
        one_of(candidates, scores)
        if scores is not None:
            return quantile_of_gap(self.pmf(scores), gaps(scores), beta)
        number, bound = several(candidates), probability(beta, "beta")
        same_law = PermuteAndFlip(self.alpha).shortfall(bound, candidates=number)
        if not self.two_sided or number == 1:
            return same_law
        if same_law * (64 + bound.denominator.bit_length() + number.bit_length()) > MOST:
            raise ParameterError(
                f"a shortfall beyond {same_law} with so small a probability is not computed for two-sided "
                "noise; the one-sided form (two_sided=False) falls less short, by a formula"
            )
        return least_integer(
            lambda s: at_most(lambda: _best_loses(ball(self.alpha), s + 1, number), bound), same_law
        )

    def mean_shortfall(self, *, scores: Scores) -> Fraction:
        """Return the expected best - selected for these scores, exactly."""
        return mean_gap(self.pmf(scores), gaps(scores))


def _best_loses(alpha: arb, gap: int, number: int) -> arb:
    """Return the chance that the best candidate is not selected when all others are `gap` below it.

    This is the law below in its simplest case: with u_k = alpha**k / (1 + alpha), another's noisy score is
    less than k above its own score with probability 1 - u_k, so that an integral over ties is a difference of
    powers, and the sum over the value of the maximum runs over k alone.
    """
    edge = 1 / (1 + alpha)
    powers, chance = [], edge
    for _ in range(gap + 1):
        powers.append((1 - chance) ** number)
        chance *= alpha
    farthest = alpha**gap
    wins = farthest * (alpha * edge) ** number + (1 - powers[gap]) / farthest
    weight, falling = farthest, alpha**-2
    for lower, upper in pairwise(powers):
        wins += weight * (upper - lower)
        weight *= falling
    return 1 - wins / number


def _two_sided_law(alpha: Fraction, distances: list[int]) -> tuple[Fraction, ...]:
    """Return the law of the noisy maximum under two-sided noise, summing over the value v of the maximum.

    With ties broken uniformly, i wins at v with probability Pr[own = v] times the integral over t in
    [0, 1] of the product over j of (Pr[other < v] + t Pr[other = v]).  Above the best score every factor is
    1 - w_j s in one variable s and the sum over v telescopes into an integral over [0, 1/(1+alpha)]; below
    the worst score every factor has the same shape and the sum is geometric; in between v is enumerated.
    """
    number, furthest = len(distances), max(distances)
    ratio = fmpq(alpha.numerator, alpha.denominator)
    centre, edge = (1 - ratio) / (1 + ratio), 1 / (1 + ratio)
    below = ratio ** sum(furthest - gap for gap in distances) * (ratio * edge) ** number / number
    chance = {}
    for gap in set(distances):
        others = list(distances)
        others.remove(gap)
        total = below + ratio**gap * _integral([(fmpq(1), -(ratio**d)) for d in others], edge)
        for v in range(-furthest, 0):
            factors = []
            for d in others:
                offset = v + d
                equal = centre * ratio ** abs(offset)
                less = ratio ** (1 - offset) * edge if offset <= 0 else 1 - ratio**offset * edge
                factors.append((less, equal))
            total += centre * ratio ** abs(v + gap) * _integral(factors, fmpq(1))
        chance[gap] = Fraction(int(total.p), int(total.q))
    return tuple(chance[gap] for gap in distances)


def _integral(factors: list[tuple[fmpq, fmpq]], end: fmpq) -> fmpq:
    """Return the integral from 0 to `end` of the product of constant + slope t."""
    return prod((fmpq_poly(list(factor)) for factor in factors), start=fmpq_poly([1])).integral()(end)
