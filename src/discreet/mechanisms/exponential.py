"""The exponential mechanism: a choice among candidates, the likelier the better they score.

Theorem.  Let each candidate have an integer score that one person moves by at most D, let a be a rational
in (0, 1), and select candidate i with probability proportional to

    a ** (best score - score of i).

Then exp(epsilon) >= a**(-2 D) suffices for epsilon-privacy: one factor a**-D for the candidate's own
weight, one for the sum of all weights.  When the scores are monotone (adding a person never lowers any,
or never raises any) the two cannot move against each other and a**-D suffices.  In both cases the privacy
loss lies in an interval of length epsilon (the mechanism has bounded range epsilon), which is more than
epsilon-privacy says and composes like epsilon**2 / 8 concentrated privacy.

Accuracy.  With k candidates, the worst scores put all but one at the same gap g, and there
Pr[gap >= g] = (k-1) a**g / (1 + (k-1) a**g); the expected gap is never above W((k-1)/e) / ln(1/a), with W
the Lambert function, and never above ln(k) / ln(1/a).  Neither depends on the size of the data.

Large ranges.  Candidates with equal scores form levels; a level of m candidates is drawn with weight
m a**gap, then one of its members uniformly, so a range of 2**200 candidates costs as much as its levels.

When optimal.  No epsilon-private selection improves the order of its error.  Permute-and-flip is never
worse in expectation, but does not have bounded range and does not scale to levels.

References.  McSherry, Talwar, FOCS 2007.  Bounded range: Durfee, Rogers, NeurIPS 2019; Dong, Durfee, Rogers,
ICML 2020.  Concentration: Cesar, Rogers, ALT 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.choice import choose_powers, choose_powers_each
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
from discreet.exact.sample import uniform_below
from discreet.markup import built
from discreet.mechanisms.candidates import (
    Optimum,
    Scores,
    enclosed,
    expandable,
    gaps,
    gaps_of_rows,
    mean_gap,
    one_of,
    optimum,
    quantile_of_gap,
    reach,
    several,
)
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, one_way, remembered
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.loss import BoundedRangeLoss
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Candidates grouped by score: level i holds the integers starts[i], ..., starts[i] + sizes[i] - 1."""

    scores: NDArray[Any]
    sizes: NDArray[Any]
    starts: NDArray[Any]

    def __post_init__(self) -> None:
        if not self.scores.shape == self.sizes.shape == self.starts.shape:
            raise ParameterError("every level needs one score, one size and one start")
        if self.sizes.size == 0 or int(self.sizes.min()) < 1:
            raise ParameterError("every level must hold at least one candidate")

    @classmethod
    def of(cls, scores: Scores, sizes: Sequence[int] | NDArray[Any]) -> "Levels":
        """Return levels of the given sizes, whose members are numbered one after the other from 0."""
        counted = [int(size) for size in sizes]
        starts = list(accumulate(counted, initial=0))[:-1]
        return cls(np.asarray(scores), _integers(counted), _integers(starts))

    @property
    def candidates(self) -> int:
        """Return the number of candidates in all levels together."""
        return sum(int(size) for size in self.sizes)

    @property
    def optimum(self) -> Optimum:
        """Return the best score, and how many candidates attain it."""
        return optimum(self.scores, self.sizes)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Selection with probability proportional to alpha**gap; a larger alpha is more private."""

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
    ) -> "Exponential":
        """Return the sharpest selection that stays epsilon-private for scores of this sensitivity."""
        alpha = ratio(epsilon, reach(sensitivity, monotone=monotone))
        return cls(alpha, sensitivity=Sensitivity.of(sensitivity), monotone=monotone)

    def pmf(self, scores: Scores | Levels) -> tuple[Fraction, ...]:
        """Return the probability of each candidate, or of each level as a whole."""
        levels = scores if isinstance(scores, Levels) else None
        distance = gaps(scores.scores if isinstance(scores, Levels) else scores)
        sizes = [1] * len(distance) if levels is None else [int(size) for size in levels.sizes]
        over, under, furthest = self.alpha.numerator, self.alpha.denominator, int(distance.max())
        expandable(self.alpha, furthest)
        power = {int(g): over ** int(g) * under ** (furthest - int(g)) for g in set(distance.tolist())}
        weights = [size * power[int(g)] for g, size in zip(distance, sizes, strict=True)]
        whole = sum(weights)
        return tuple(Fraction(weight, whole) for weight in weights)

    def chances(self, scores: Scores | Levels) -> tuple[Bounds, ...]:
        """Return rationals around each probability; unlike `pmf`, for scores however far apart."""
        levels = scores if isinstance(scores, Levels) else None
        distance = [int(gap) for gap in gaps(scores.scores if isinstance(scores, Levels) else scores)]
        sizes = [1] * len(distance) if levels is None else [int(size) for size in levels.sizes]

        def law() -> list[arb]:
            slope = ball(self.alpha).log()
            power = {gap: (slope * gap).exp() for gap in set(distance)}
            weights = [power[gap] * size for gap, size in zip(distance, sizes, strict=True)]
            whole = sum(weights, arb(0))
            return [weight / whole for weight in weights]

        return enclosed(law)

    def sample(self, scores: Scores | Levels) -> int:
        """Return the position of one candidate; for levels, the integer that was selected."""
        if not isinstance(scores, Levels):
            return choose_powers(self.alpha, gaps(scores))
        level = choose_powers(self.alpha, gaps(scores.scores), scores.sizes.tolist())
        return int(scores.starts[level]) + int(uniform_below(int(scores.sizes[level])))

    def sample_each(self, scores: Sequence[Scores] | NDArray[Any]) -> NDArray[np.int64]:
        """Return for every row of scores the position of one candidate, each row with coins of its own."""
        return choose_powers_each(self.alpha, gaps_of_rows(scores))

    def profile(
        self, sensitivity: Sensitivity | Real | None = None, *, monotone: bool | None = None
    ) -> Profile:
        """Return the loss law for composition: bounded range says more than pure privacy."""
        return Profile(BoundedRangeLoss(self.guarantee(sensitivity, monotone=monotone).cost))

    def guarantee(
        self, sensitivity: Sensitivity | Real | None = None, *, monotone: bool | None = None
    ) -> Pure:
        """Return the privacy of one selection when a person moves any score by at most `sensitivity`."""
        change = moved(sensitivity, self.sensitivity, self)
        towards = one_way(monotone, sensitivity, self.monotone)
        return Pure(log_up(1 / self.alpha) * reach(change, monotone=towards))

    def shortfall(
        self, beta: Real = "0.05", *, candidates: int | None = None, scores: Scores | Levels | None = None
    ) -> int:
        """Return the smallest s with Pr[best - selected > s] <= beta, for these scores or the worst."""
        one_of(candidates, scores)
        if scores is not None:
            distance = gaps(scores.scores if isinstance(scores, Levels) else scores)
            return quantile_of_gap(self.pmf(scores), distance, beta)
        others, bound = several(candidates) - 1, probability(beta, "beta")
        if others == 0:
            return 0
        odds = bound / (1 - bound)
        return least_integer(
            lambda s: at_most(
                lambda: others * power_ball(self.alpha, s + 1),
                odds,
                exact=lambda: others * self.alpha ** (s + 1) if writable(self.alpha, s + 1) else None,
            ),
            log_quotient(odds / others, self.alpha),
        )

    def mean_shortfall(
        self, *, candidates: int | None = None, scores: Scores | Levels | None = None
    ) -> Fraction:
        """Return the expected best - selected: exact for these scores, rounded up for the worst ones."""
        one_of(candidates, scores)
        if scores is not None:
            distance = gaps(scores.scores if isinstance(scores, Levels) else scores)
            return mean_gap(self.pmf(scores), distance)
        others = several(candidates) - 1
        if others == 0:
            return Fraction(0)
        return enclose(lambda: (others / ball(1).exp()).lambertw() / -ball(self.alpha).log())[1]


def _integers(values: list[int]) -> NDArray[Any]:
    fits = all(-(2**62) < value < 2**62 for value in values)
    return np.array(values, dtype=np.int64 if fits else object)
