"""What is promised: pure, approximate and concentrated differential privacy, as values.

A mechanism M is (epsilon, delta)-private when, for all neighbours D, D' and all events S,

    Pr[M(D) in S] <= exp(epsilon) * Pr[M(D') in S] + delta.

Each guarantee answers the same questions: `epsilon(delta)`, the smallest epsilon it promises at that
delta; `delta(epsilon)`; and `group(k)`, what it promises to k units at once.  The answers are tight for
the guarantee itself: some mechanism that satisfies it attains them.

References.  The extremal mechanism of (epsilon, delta)-privacy: Kairouz, Oh, Viswanath, ICML 2015.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import ball, enclose, exp_bounds
from discreet.privacy.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Pure:
    """Pure differential privacy: no event becomes more than exp(cost) times likelier."""

    cost: Fraction

    def __post_init__(self) -> None:
        if self.cost < 0:
            raise ParameterError(f"epsilon must not be negative, got {self.cost}")

    def epsilon(self, delta: Fraction = Fraction(0)) -> Bounds:
        """Return the smallest epsilon promised at this delta."""
        return Approximate(self.cost, Fraction(0)).epsilon(delta)

    def delta(self, epsilon: Fraction) -> Bounds:
        """Return the smallest delta promised at this epsilon."""
        return Approximate(self.cost, Fraction(0)).delta(epsilon)

    def group(self, size: int) -> "Pure":
        """Return the promise to `size` units at once: the cost multiplies."""
        return Pure(self.cost * size)


@dataclass(frozen=True, slots=True)
class Approximate:
    """Approximate differential privacy: pure at `cost`, except for events of total probability `slack`."""

    cost: Fraction
    slack: Fraction

    def __post_init__(self) -> None:
        if self.cost < 0:
            raise ParameterError(f"epsilon must not be negative, got {self.cost}")
        if not 0 <= self.slack <= 1:
            raise ParameterError(f"delta must lie between 0 and 1, got {self.slack}")

    def epsilon(self, delta: Fraction = Fraction(0)) -> Bounds:
        """Return the smallest epsilon promised at this delta: ln(e^c - d (1 + e^c)), d the delta left over."""
        if delta < self.slack:
            return Bounds(Fraction(0), None, "no finite epsilon at this delta")
        if delta == self.slack:
            return Bounds.exactly(self.cost)
        left = (delta - self.slack) / (1 - self.slack)
        if (1 - left) * exp_bounds(self.cost)[1] - left <= 1:
            return Bounds.exactly(Fraction(0))
        low, high = enclose(lambda: ((1 - ball(left)) * ball(self.cost).exp() - ball(left)).log())
        return Bounds(max(low, Fraction(0)), min(max(high, Fraction(0)), self.cost))

    def delta(self, epsilon: Fraction) -> Bounds:
        """Return the smallest delta promised at this epsilon: slack + (1-slack) (e^c - e^epsilon) / (1 + e^c)."""
        if epsilon >= self.cost:
            return Bounds.exactly(self.slack)
        low, high = enclose(
            lambda: (ball(self.cost).exp() - ball(epsilon).exp()) / (1 + ball(self.cost).exp()) * ball(1 - self.slack)
            + ball(self.slack)
        )
        return Bounds(low, min(high, Fraction(1)))

    def group(self, size: int) -> "Approximate":
        """Return the promise to `size` units at once: k c, and slack (e^{kc} - 1) / (e^c - 1), rounded up."""
        if self.cost == 0:
            return Approximate(self.cost, min(self.slack * size, Fraction(1)))
        growth = sum((exp_bounds(self.cost * step)[1] for step in range(size)), Fraction(0))
        return Approximate(self.cost * size, min(self.slack * growth, Fraction(1)))
