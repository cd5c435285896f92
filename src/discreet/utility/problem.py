"""The question that an optimal mechanism answers, as one value.

Given a query graph, what the analyst believes, what a wrong guess costs her and how much privacy is
owed, find the private channel from truths to guesses with the least expected cost.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import assert_never

from discreet.errors import ParameterError
from discreet.exact.number import Real, exp_bounds, positive, rational
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.prior import Prior


@dataclass(frozen=True, slots=True)
class Epsilon:
    """Privacy owed, as a rational epsilon; e**epsilon is then known up to two rationals."""

    value: Fraction

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ParameterError(f"epsilon must be greater than 0, got {self.value}")


@dataclass(frozen=True, slots=True)
class Ratio:
    """Privacy owed, as a rational e**epsilon; then everything is exact."""

    value: Fraction

    def __post_init__(self) -> None:
        if self.value <= 1:
            raise ParameterError(f"ratio stands for e**epsilon and must be greater than 1, got {self.value}")


Level = Epsilon | Ratio


def level_of(epsilon: Real | None = None, ratio: Real | None = None) -> Level:
    """Return the privacy owed, given either as epsilon or as e**epsilon."""
    if (epsilon is None) == (ratio is None):
        raise ParameterError("give either epsilon, or ratio for a rational e**epsilon")
    if epsilon is not None:
        return Epsilon(positive(epsilon, "epsilon"))
    return Ratio(rational(ratio if ratio is not None else 1, "ratio"))


def ratio_bounds(level: Level) -> tuple[Fraction, Fraction]:
    """Return rationals around e**epsilon, equal when it is rational."""
    match level:
        case Epsilon(value):
            return exp_bounds(value)
        case Ratio(value):
            return value, value
        case _:
            assert_never(level)


@dataclass(frozen=True, slots=True)
class Problem:
    """Who may be confused with whom, what is believed, and what a wrong guess costs."""

    graph: Graph
    prior: Prior
    loss: Loss

    def __post_init__(self) -> None:
        size = len(self.graph)
        if len(self.prior) != size:
            raise ParameterError(f"the prior must have one entry per answer: {size}, got {len(self.prior)}")
        if len(self.loss.numerators[0]) != size:
            raise ParameterError(
                f"the loss must have one column per answer: {size}, got {len(self.loss.numerators[0])}"
            )

    def costs(self) -> tuple[list[list[int]], int]:
        """Return integers and a denominator: entry (w, y) is prior(y) * loss(w, y)."""
        scale = lcm(*(weight.denominator for weight in self.prior.weights))
        masses = [weight.numerator * (scale // weight.denominator) for weight in self.prior.weights]
        rows = [[mass * cost for mass, cost in zip(masses, row, strict=True)] for row in self.loss.numerators]
        return rows, scale * self.loss.denominator
