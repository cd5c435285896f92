"""Sums of a few losses with few values each, written out value by value in floats whose error is bounded.

Randomised response and geometric noise moved by s have losses (s - 2 j) c, j = 0, ..., s, with s = 1 for the
former; so n releases of one of them have n s + 1 different losses, and several together the product of these
numbers, which for few releases is small.  With P the probabilities of the losses L,

    D(epsilon) = sum of P max(1 - exp(epsilon - L), 0)

is a sum of positive terms.

Error.  Assume of NumPy what the moments assume.  A computed P is off by at most a factor 1 + relative, where
every release adds 16 + 2 s c + s roundings, and a computed L by at most `absolute`, so many roundings of the
largest loss; and max(1 - exp(-x), 0) never rises faster than x.  So D is, up to the factor, within absolute *
Pr[L > epsilon - absolute] of what is computed.  Nothing underflows, since sums whose least probable loss has
a probability below exp(-600) are not written out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, expm1, log

import numpy as np

from discreet.privacy.bounds import ZERO, Enclosure
from discreet.privacy.geometric import GeometricLoss, log_inverse
from discreet.privacy.loss import ResponseLoss, Summand
from discreet.privacy.moment import UNIT, Reals

MOST_VALUES = 2**15
"""Longer sums are left to the loss-distribution route."""

_MOST_STRAIN = 600.0


@dataclass(frozen=True, slots=True)
class _Steps:
    """Losses (steps - 2 j) unit of one release, and how many releases."""

    unit: float
    steps: int
    count: int

    @property
    def top(self) -> float:
        return self.unit * self.steps

    @property
    def values(self) -> int:
        return self.steps * self.count + 1

    def written_out(self) -> tuple[Reals, Reals]:
        """Return the losses of all releases, falling, and their probabilities."""
        losses = (self.values - 1 - 2 * np.arange(self.values)) * self.unit
        if self.steps == 1:
            return losses, self._binomial()
        several = one = self._one()
        for _ in range(self.count - 1):
            several = np.convolve(several, one)
        return losses, several

    def _binomial(self) -> Reals:
        lie, n = exp(-self.unit), self.count
        lies = np.arange(n)
        first = np.array([(1 / (1 + lie)) ** n])
        return np.asarray(np.cumprod(np.append(first, (n - lies) / (lies + 1.0) * lie)), dtype=np.float64)

    def _one(self) -> Reals:
        inside = -expm1(-self.unit) * np.exp(-self.unit * np.arange(self.steps + 1))
        inside[[0, -1]] = 1.0, exp(-self.top)
        return np.asarray(inside / (1 + exp(-self.unit)))


@dataclass(frozen=True, eq=False)
class ListedSum:
    """The positive losses of a sum, falling, with their probabilities and what bounds the error of both."""

    losses: Reals = field(repr=False)
    weights: Reals = field(repr=False)
    relative: float
    absolute: float
    ceiling: Fraction
    """The largest loss, rounded up."""

    @classmethod
    def of(cls, laws: Sequence[tuple[Summand, int]]) -> "ListedSum | None":
        """Return the sum of these losses, or None if they have many values or would strain floats."""
        found = _steps(laws)
        if found is None:
            return None
        losses, weights = np.zeros(1), np.ones(1)
        for steps in found:
            more, chances = steps.written_out()
            losses, weights = np.add.outer(losses, more).ravel(), np.multiply.outer(weights, chances).ravel()
        most = sum(steps.count * steps.top for steps in found)
        absolute = UNIT * (2 * len(found) + 8) * most
        roundings = sum(steps.count * (16 + 2 * steps.top + steps.steps) for steps in found)
        order = np.flatnonzero(losses > -2 * absolute)
        order = order[np.argsort(-losses[order])]
        ceiling = sum((n * law.pure for law, n in laws if law.pure), Fraction(0))
        return cls(losses[order], weights[order], UNIT * (roundings + len(found) + 64), absolute, ceiling)

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around D(epsilon)."""
        if epsilon >= self.ceiling:
            return ZERO
        at = float(epsilon)
        near = int(np.searchsorted(-self.losses, self.absolute - at))
        weights = self.weights[:near]
        gains = -np.expm1(-np.maximum(self.losses[:near] - at, 0.0))
        value, slip = float((weights * gains).sum()), self.absolute * float(weights.sum())
        low, high = (value - slip) * (1 - self.relative), (value + slip) * (1 + self.relative)
        return Fraction(max(low, 0.0)), min(Fraction(high), Fraction(1))

    def epsilon(self, delta: Fraction) -> Enclosure:
        """Return rationals around the smallest epsilon >= 0 with D(epsilon) <= delta, for 0 < delta.

        The guess is made in floats and proves nothing; the ends are moved outwards until the curve does.
        """
        if self.delta(Fraction(0))[1] <= delta:
            return ZERO
        guess = self._crossing(float(delta))
        step = 4 * self.absolute + 2.0**-50 * guess
        low = high = Fraction(0)
        wider = step
        while guess > wider:
            low = Fraction(guess - wider)
            if self.delta(low)[0] >= delta:
                break
            low, wider = Fraction(0), 2 * wider
        while True:
            high = Fraction(guess + step)
            if self.delta(high)[1] <= delta:
                return low, min(high, self.ceiling)
            step *= 2

    def _crossing(self, level: float) -> float:
        """Return about where the curve meets a level: between two losses it is p - exp(epsilon) q."""
        p, q = np.cumsum(self.weights), np.cumsum(self.weights * np.exp(-self.losses))
        following = np.append(self.losses[1:], 0.0)
        beyond = p - np.exp(following) * q > level
        last = int(beyond.argmax()) if beyond.any() else len(p) - 1
        return max(log((p[last] - level) / q[last]), 0.0) if p[last] > level else 0.0


def _steps(laws: Sequence[tuple[Summand, int]]) -> list[_Steps] | None:
    """Return the laws as steps, where writing out their sum is short and no strain."""
    values = 1
    for law, n in laws:
        # Before any logarithm: most sums are longer than that.
        values *= n * (law.shift if isinstance(law, GeometricLoss) else 1) + 1
        if values > MOST_VALUES:
            return None
    found = []
    for law, n in laws:
        match law:
            case ResponseLoss(cost):
                found.append(_Steps(float(min(cost, Fraction(1000))), 1, n))
            case GeometricLoss(alpha, shift) if shift >= 1:
                unit = log_inverse(alpha.numerator, alpha.denominator)[0]
                found.append(_Steps(float(min(unit, Fraction(1000))), shift, n))
            case _:
                return None
    strain = sum(steps.count * (steps.top + 0.7 * steps.steps) for steps in found)
    short = bool(found) and strain <= _MOST_STRAIN and min(steps.unit for steps in found) >= 2.0**-60
    return found if short else None
