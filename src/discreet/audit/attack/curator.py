"""Who answers the attacker: one curator without noise, one with noise but no memory, one with a budget.

The naive curator adds honest Laplace noise of epsilon = 1 to every answer and never counts: each answer
alone is private, all of them together are not.  The discreet curator has a filter with a total budget: she
spends before she answers, splits the budget over the questions announced, and refuses the first one beyond
it.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.exact.coins import source
from discreet.exact.number import Real, positive
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.filter import Cost, Filter, PureBudget

Answers = NDArray[Any]


def coin_flips(*shape: int) -> NDArray[np.int8]:
    """Return fair random bits, one byte each."""
    count = int(np.prod(shape))
    words = np.asarray(source().words((count + 7) // 8, 8), dtype=np.uint8)
    return np.unpackbits(words)[:count].reshape(shape).astype(np.int8)


def uniforms(*shape: int) -> NDArray[np.float64]:
    """Return public random numbers in [0, 1), for building populations; never used as noise."""
    words = source().words(int(np.prod(shape)), 64)
    return np.asarray((words >> np.uint64(11)) * 2.0**-53).reshape(shape)


@dataclass
class Discreet:
    """A curator with a total budget of pure epsilon, spent before every answer."""

    epsilon: Fraction = Fraction(1)
    filter: Filter = field(init=False)

    def __post_init__(self) -> None:
        self.epsilon = positive(self.epsilon, "epsilon")
        self.filter = Filter(PureBudget(self.epsilon))

    def answer(self, exact: Answers, *, epsilon: Real, sensitivity: int = 1) -> Answers:
        """Answer integer questions together at this price, or raise BudgetError and answer none."""
        price = positive(epsilon, "epsilon")
        self.filter = self.filter.spend(Cost.pure(price))
        return np.asarray(Geometric.calibrate(epsilon=price, sensitivity=sensitivity).sample(exact))


def naive(exact: Answers, *, epsilon: Real = 1) -> Answers:
    """Answer each question as if it were the only one ever asked."""
    return np.asarray(Geometric.calibrate(epsilon=epsilon).sample(exact))
