"""The truncated Laplace mechanism: a Laplace release clamped into the range of true answers.

Theorem.  For a true answer y in [low, high] the report has an atom at each end, of probability
tending to exp(-(y - low) / b) / 2 and exp(-(high - y) / b) / 2 as the step shrinks, and the Laplace law
strictly between.  Clamping is post-processing, so the privacy is that of the Laplace mechanism.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, certain, rational, shown
from discreet.exact.sample import two_sided_geometric
from discreet.markup import built
from discreet.mechanisms.laplace import Laplace, nearest_float, rounded
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Laplace noise on the multiples of `step`, with all reports kept inside [low, high]."""

    alpha: Fraction
    step: Fraction
    low: Fraction
    high: Fraction
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        noise = Laplace(self.alpha, self.step)
        object.__setattr__(self, "alpha", noise.alpha)
        object.__setattr__(self, "step", noise.step)
        object.__setattr__(self, "low", rational(self.low, "low"))
        object.__setattr__(self, "high", rational(self.high, "high"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        if self.low >= self.high:
            raise ParameterError(f"low must be less than high, got low={self.low} and high={self.high}")
        if (self.low / self.step).denominator != 1 or (self.high / self.step).denominator != 1:
            raise ParameterError(f"low and high must be multiples of the step {self.step}")

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, low: Real, high: Real, sensitivity: Sensitivity | Real = 1, step: Real
    ) -> "TruncatedLaplace":
        """Return the least noise that keeps an answer of this l1 sensitivity epsilon-private on the grid."""
        noise = Laplace.calibrate(epsilon=epsilon, sensitivity=sensitivity, step=step)
        return cls(
            noise.alpha,
            noise.step,
            rational(low, "low"),
            rational(high, "high"),
            sensitivity=noise.sensitivity,
        )

    @property
    def noise(self) -> Laplace:
        """Return the noise before truncation."""
        return Laplace(self.alpha, self.step)

    @property
    def steps(self) -> TruncatedGeometric:
        """Return the same mechanism in units of the step."""
        return TruncatedGeometric(self.alpha, int(self.low / self.step), int(self.high / self.step))

    def pmf(self, report: Real, answer: Real) -> Bounds:
        """Return Pr[report | answer]; zero off the grid, an atom at each end."""
        z, y = rational(report, "report"), self._grid(answer)
        if z == self.low:
            return self.noise.cdf(self.low - y)
        if z == self.high:
            return self.noise.cdf(y - self.high)
        return self.noise.pmf(z - y) if self.low < z < self.high else Bounds.exactly(Fraction(0))

    def cdf(self, report: Real, answer: Real) -> Bounds:
        """Return Pr[reported value <= report | answer]."""
        z, y = rational(report, "report"), self._grid(answer)
        if z < self.low or z >= self.high:
            return Bounds.exactly(Fraction(int(z >= self.high)))
        return self.noise.cdf(z - y)

    def atoms(self, answer: Real) -> tuple[Bounds, Bounds]:
        """Return the probabilities of reporting exactly low and exactly high."""
        return self.pmf(self.low, answer), self.pmf(self.high, answer)

    def sample(self, values: Any) -> Any:
        """Return clamped noisy values, in the form of the input: exact, float, or array of floats."""
        if isinstance(values, np.ndarray):
            if values.ndim == 0:
                return self.sample(values.item())
            return self.noise.floats(self.steps.sample(self.noise.round(values)))
        inside = min(max(rational(values, "value"), self.low), self.high)
        point = rounded(inside, self.step.numerator, self.step.denominator) + two_sided_geometric(self.alpha)
        noisy = min(max(point * self.step, self.low), self.high)
        return nearest_float(noisy.numerator, noisy.denominator) if isinstance(values, float) else noisy

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release, that of the noise before truncation."""
        return self.noise.guarantee(moved(sensitivity, self.sensitivity, self))

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the whole loss law, for composition; that of the noise before truncation."""
        return self.noise.profile(moved(sensitivity, self.sensitivity, self))

    def radius(self, beta: Real = "0.05") -> Fraction:
        """Return the smallest multiple r of the step with Pr[|report - y| > r] <= beta for every y."""
        return self.steps.radius(beta) * self.step

    def mean_error(self, answer: Real) -> Bounds:
        """Return E|report - answer| for an answer on the grid."""
        room = [
            int((self._grid(answer) - self.low) / self.step),
            int((self.high - self._grid(answer)) / self.step),
        ]

        def expectation() -> arb:
            a = ball(self.alpha)
            tails = sum((1 - (a.log() * steps).exp() for steps in room), arb(0))
            return ball(self.step) * tails * a / (1 - a**2)

        return Bounds(*certain(expectation))

    def _grid(self, answer: Real) -> Fraction:
        truth = rational(answer, "answer")
        if not self.low <= truth <= self.high:
            raise ParameterError(f"the true answer must lie in [{shown(self.low)}, {shown(self.high)}]")
        return (truth / self.step + Fraction(1, 2)) // 1 * self.step
