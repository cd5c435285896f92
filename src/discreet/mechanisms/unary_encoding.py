"""Unary encoding: one bit for each value, each bit flipped by a coin of its own.

Theorem.  A value v among k is written as k bits of which only the v-th is 1; a 1 is reported as 1 with
probability t and a 0 as 1 with probability l < t, independently.  Two values differ in two bits, so the
report is epsilon-private exactly when  exp(epsilon) >= t (1 - l) / (l (1 - t)).

When to use it.  At a given epsilon the estimates of rare values err least at t = 1/2 and
l = 1 / (exp(epsilon) + 1) ("optimised"); t = 1 - l treats both kinds of bits alike ("symmetric").

References.  Erlingsson, Pihur, Korolova, "RAPPOR", CCS 2014; Wang, Blocki, Li, Jha, USENIX Security 2017.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import HAIR, Real, exp_down, flag, listed, log_up, positive, rational, shown, whole
from discreet.exact.perturb import integers
from discreet.exact.sample import bernoulli
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile, Pure

MOST = 2**24
"""Reports of more bits than this are not sent."""

MOST_BITS = 2**30
"""More bits than this are not drawn at once."""


@dataclass(frozen=True, slots=True)
class UnaryEncoding:
    """One bit per value: a 1 stays with probability `truth`, a 0 becomes one with probability `lie`."""

    truth: Fraction
    lie: Fraction
    categories: int

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "truth", rational(self.truth, "truth"))
        object.__setattr__(self, "lie", rational(self.lie, "lie"))
        object.__setattr__(self, "categories", whole(self.categories, "categories"))
        if not 0 < self.lie < self.truth < 1:
            raise ParameterError(
                f"0 < lie < truth < 1 is needed, got {shown(self.lie)} and {shown(self.truth)}"
            )
        if not 2 <= self.categories <= MOST:
            raise ParameterError(f"categories must lie between 2 and {MOST}, got {shown(self.categories)}")

    @classmethod
    def calibrate(cls, *, epsilon: Real, categories: int, symmetric: bool = False) -> "UnaryEncoding":
        """Return the encoding that is epsilon-private and errs least on rare values, or the symmetric one."""
        limit = positive(epsilon, "epsilon")
        if flag(symmetric, "symmetric"):
            odds = max(exp_down(limit / 2) * (1 - HAIR), 1 + limit / 2 * (1 - HAIR))
            return cls(odds / (odds + 1), 1 / (odds + 1), categories)
        odds = max(exp_down(limit) * (1 - HAIR), 1 + limit * (1 - HAIR))
        return cls(Fraction(1, 2), 1 / (odds + 1), categories)

    @property
    def odds(self) -> Fraction:
        """Return the exponential of the epsilon of one report."""
        return self.truth * (1 - self.lie) / (self.lie * (1 - self.truth))

    def pmf(self, value: int, report: Any) -> Fraction:
        """Return the probability of a report, given as its bits, when the value is `value`."""
        bits = [_bit(bit) for bit in listed(report, "report")]
        value = whole(value, "value")
        if len(bits) != self.categories or not 0 <= value < self.categories:
            raise ParameterError(f"a report has {self.categories} bits, and values count from 0")
        chance = Fraction(1)
        for place, bit in enumerate(bits):
            one = self.truth if place == value else self.lie
            chance *= one if bit else 1 - one
        return chance

    def sample(self, values: Any) -> Any:
        """Return the bits of one report, or a row of them for each value of a list."""
        truths = integers(values)
        if truths.size and (int(truths.min()) < 0 or int(truths.max()) >= self.categories):
            raise ParameterError(f"values must be whole numbers from 0 to {self.categories - 1}")
        if truths.size * self.categories > MOST_BITS:
            raise ParameterError(
                f"{truths.size} reports of {self.categories} bits are too many at once; draw at most "
                f"{MOST_BITS // self.categories} at a time, or take dp.frequency_oracle for shorter ones"
            )
        flat = truths.ravel()
        bits = (
            bernoulli(self.lie, flat.size * self.categories).reshape(flat.size, self.categories).astype(bool)
        )
        bits[np.arange(flat.size), flat] = bernoulli(self.truth, flat.size)
        return bits.reshape(*truths.shape, self.categories)

    def supports(self, reports: Any) -> tuple[int, ...]:
        """Return how many reports have a 1 for each value."""
        bits = np.asarray(reports)
        if bits.ndim != 2 or bits.shape[1] != self.categories or bits.dtype != bool:
            raise ParameterError(f"reports are rows of {self.categories} bits")
        return tuple(int(count) for count in bits.sum(axis=0))

    def guarantee(self) -> Pure:
        """Return the privacy of one report, towards everybody."""
        return Pure(log_up(self.odds))

    def profile(self) -> Profile:
        """Return the exact loss law of one report: that of the two bits in which values differ."""
        mine, other = self.truth * (1 - self.lie), self.lie * (1 - self.truth)
        same = 1 - mine - other
        return Profile(AtomsLoss(((mine, other), (same, same), (other, mine))))


def _bit(value: Any) -> bool:
    found = bool(value) if isinstance(value, bool | np.bool_) else whole(value, "bit")
    if found not in (0, 1):
        raise ParameterError(f"a bit is 0 or 1, got {shown(value)}")
    return bool(found)
