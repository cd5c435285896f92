"""Hadamard response: a report of a few bits, however many values there are.

Theorem.  Let K be the least power of two above k.  The numbers y below K that have an even number of bits in
common with v + 1 make up half of all.  A value v among k is reported as a uniform number of its half with
probability o / (o + 1), and of the other half otherwise.  The report is epsilon-private exactly when
exp(epsilon) >= o.  The halves of two values meet in a quarter, so a report speaks for a given other value
with probability 1/2.

When to use it.  Reports have log2(k) bits, and estimates for all values take one fast transform; at small
epsilon they err hardly more than the best ones.

References.  Acharya, Sun, Zhang, "Hadamard response", AISTATS 2019.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import HAIR, Real, exp_down, log_up, positive, rational, shown, whole
from discreet.exact.perturb import integers
from discreet.exact.sample import bernoulli, uniform_below
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile, Pure

MOST = 2**24
"""More values than this are not counted in one table."""


@dataclass(frozen=True, slots=True)
class HadamardResponse:
    """A number from the value's half with probability odds / (odds + 1), else from the other half."""

    odds: Fraction
    categories: int

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "odds", rational(self.odds, "odds"))
        object.__setattr__(self, "categories", whole(self.categories, "categories"))
        if self.odds <= 1:
            raise ParameterError(f"odds must be greater than 1, got {shown(self.odds)}")
        if not 2 <= self.categories < MOST:
            raise ParameterError(
                f"categories must lie between 2 and {MOST - 1}, got {shown(self.categories)}"
            )

    @classmethod
    def calibrate(cls, *, epsilon: Real, categories: int) -> "HadamardResponse":
        """Return the most truthful report that is epsilon-private."""
        limit = positive(epsilon, "epsilon")
        return cls(max(exp_down(limit) * (1 - HAIR), 1 + limit * (1 - HAIR)), categories)

    @property
    def size(self) -> int:
        """Return K, how many reports there are."""
        return int(1 << self.categories.bit_length())

    @property
    def truth(self) -> Fraction:
        """Return the probability that a report speaks for the sender's value."""
        return self.odds / (self.odds + 1)

    @property
    def lie(self) -> Fraction:
        """Return the probability that a report speaks for one given other value."""
        return Fraction(1, 2)

    def pmf(self, value: int, report: int) -> Fraction:
        """Return the probability of a report when the value is `value`."""
        v, y = whole(value, "value"), whole(report, "report")
        if not 0 <= v < self.categories or not 0 <= y < self.size:
            raise ParameterError(f"values are below {self.categories}, and reports below {self.size}")
        even = ((v + 1) & y).bit_count() % 2 == 0
        return (self.truth if even else 1 - self.truth) * 2 / self.size

    def sample(self, values: Any) -> Any:
        """Return one report per value: an int for an int, an array of the same shape for an array."""
        truths = integers(values)
        if truths.size and (int(truths.min()) < 0 or int(truths.max()) >= self.categories):
            raise ParameterError(f"values must be whole numbers from 0 to {self.categories - 1}")
        rows = truths.ravel().astype(np.int64) + 1
        reports = np.asarray(uniform_below(self.size, rows.size), dtype=np.int64)
        odd = np.bitwise_count(rows & reports) % 2 == 1
        # Changing the lowest bit of the row moves a report to the other half, one to one.
        lying = np.asarray(bernoulli(1 - self.truth, rows.size), dtype=bool)
        reports = np.where(odd == lying, reports, reports ^ (rows & -rows))
        return int(reports[0]) if truths.ndim == 0 else reports.reshape(truths.shape)

    def supports(self, reports: Any) -> tuple[int, ...]:
        """Return how many reports lie in the half of each value, by one fast transform of their counts."""
        said = integers(reports).ravel()
        if said.size and (int(said.min()) < 0 or int(said.max()) >= self.size):
            raise ParameterError(f"reports must be whole numbers from 0 to {self.size - 1}")
        sums = np.bincount(said.astype(np.int64), minlength=self.size)
        width = 1
        while width < self.size:
            pairs = sums.reshape(-1, 2, width)
            sums = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
            width *= 2
        return tuple(int(each) for each in (said.size + sums[1 : self.categories + 1]) // 2)

    def guarantee(self) -> Pure:
        """Return the privacy of one report, towards everybody."""
        return Pure(log_up(self.odds))

    def profile(self) -> Profile:
        """Return the exact loss law of one report: the quarters in which two halves meet."""
        t = self.truth
        return Profile(AtomsLoss(((t / 2, (1 - t) / 2), (Fraction(1, 2),) * 2, ((1 - t) / 2, t / 2))))
