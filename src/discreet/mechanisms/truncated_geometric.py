"""The truncated geometric mechanism: a geometric release clamped into the range of true answers.

Theorem.  Let the true answer y lie in [low, high] and let Z be two-sided geometric with ratio a.
Reporting y + Z clamped into [low, high] has

    Pr[low | y]  = a**(y-low) / (1+a),   Pr[high | y] = a**(high-y) / (1+a),
    Pr[z | y]    = (1-a) / (1+a) * a**|z-y|      strictly between,

and, being post-processing of the geometric mechanism, the same privacy.  It loses nothing of use:
the columns that truncation merges are proportional to each other, so every prior and every gain has
the same best utility before and after.

References.  Ghosh, Roughgarden, Sundararajan, SIAM J. Comput. 41(6), 2012.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.digits import power, power_ball, proper_ratio, writable
from discreet.exact.number import Real, at_most, ball, least_integer, probability, shown, whole
from discreet.exact.perturb import SAFE, integers, narrow
from discreet.markup import built
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class TruncatedGeometric:
    """Geometric noise with all reports kept inside [low, high]."""

    alpha: Fraction
    low: int
    high: int
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "low", whole(self.low, "low"))
        object.__setattr__(self, "high", whole(self.high, "high"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        if self.low >= self.high:
            raise ParameterError(f"low must be less than high, got low={self.low} and high={self.high}")

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, low: int, high: int, sensitivity: Sensitivity | Real = 1
    ) -> "TruncatedGeometric":
        """Return the least noise that keeps an answer of this l1 sensitivity epsilon-private."""
        noise = Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)
        return cls(noise.alpha, low, high, sensitivity=noise.sensitivity)

    @property
    def noise(self) -> Geometric:
        """Return the noise before truncation."""
        return Geometric(self.alpha)

    def pmf(self, report: int, answer: int) -> Fraction:
        """Return Pr[report | answer]."""
        z, y = whole(report, "report"), self._inside(answer)
        if not self.low <= z <= self.high:
            return Fraction(0)
        if z in (self.low, self.high):
            return power(self.alpha, abs(z - y)) / (1 + self.alpha)
        return self.noise.pmf(z - y)

    def cdf(self, report: int, answer: int) -> Fraction:
        """Return Pr[reported value <= report | answer]."""
        z, y = whole(report, "report"), self._inside(answer)
        if z < self.low:
            return Fraction(0)
        return Fraction(1) if z >= self.high else self.noise.cdf(z - y)

    def sample(self, values: Any) -> Any:
        """Return clamped noisy values: an int for an int, an array for an array of integers.

        A true answer outside the range is clamped first, which moves no two answers further apart.
        """
        noisy = self.noise.sample(self._clamp(values))
        return self._clamp(noisy)

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release, that of the noise before truncation."""
        return self.noise.guarantee(moved(sensitivity, self.sensitivity, self))

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the whole loss law, for composition; that of the noise before truncation."""
        return self.noise.profile(moved(sensitivity, self.sensitivity, self))

    def radius(self, beta: Real = "0.05") -> int:
        """Return the smallest r with Pr[|report - y| > r] <= beta for every true answer y.

        A tail of probability a**(r+1) / (1+a) reaches beyond r only where there is room for it: on both
        sides of some y when the range is at least 2 (r+1) wide, on one side when it is at least r+1 wide.
        """
        bound, width = probability(beta, "beta"), self.high - self.low

        def covers(r: int) -> bool:
            tails = (2 * (r + 1) <= width) + (r + 1 <= width)
            return at_most(
                lambda: tails * power_ball(self.alpha, r + 1) / (1 + ball(self.alpha)),
                bound,
                exact=lambda: tails * self.noise.cdf(-r - 1) if writable(self.alpha, r + 1) else None,
            )

        return least_integer(covers, 0)

    def mean_error(self, answer: int) -> Fraction:
        """Return E|report - answer|, the sum of Pr[error > r] over r >= 0."""
        y = self._inside(answer)
        return sum(
            (
                self.alpha * (1 - power(self.alpha, room)) / (1 - self.alpha**2)
                for room in (y - self.low, self.high - y)
            ),
            Fraction(0),
        )

    def _clamp(self, values: Any) -> Any:
        if isinstance(values, int) and not isinstance(values, bool):
            return min(max(values, self.low), self.high)
        exact = integers(values)
        if exact.ndim == 0:
            return min(max(int(exact), self.low), self.high)
        if max(abs(self.low), abs(self.high)) > SAFE:
            return narrow(np.minimum(np.maximum(exact.astype(object), self.low), self.high))
        return np.minimum(np.maximum(exact, self.low), self.high)

    def _inside(self, answer: int) -> int:
        truth = whole(answer, "answer")
        if not self.low <= truth <= self.high:
            raise ParameterError(f"the true answer must lie in [{shown(self.low)}, {shown(self.high)}]")
        return truth
