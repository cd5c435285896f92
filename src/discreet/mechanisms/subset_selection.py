"""Subset selection: a report that names several values, among them the true one more often than not.

Theorem.  A value among k is reported as a subset of d values, each subset that contains it o times as likely
as each that does not.  The report is epsilon-private exactly when exp(epsilon) >= o.  It contains the
sender's value with probability t = o d / (o d + k - d), and a given other value with probability
l = [t (d - 1) + (1 - t) d] / (k - 1).

When optimal.  With d near k / (exp(epsilon) + 1) no local report of the same epsilon has a smaller worst-case
squared error over all k estimates, up to lower-order terms; d = 1 is randomised response.

References.  Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential
privacy", IEEE Trans. Inf. Theory 64(8), 2018.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import HAIR, Real, exp_down, listed, log_up, positive, rational, shown, whole
from discreet.exact.perturb import integers
from discreet.exact.sample import bernoulli, uniform_below
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile, Pure

MOST = 2**16
"""Subsets of more values than this are not drawn."""


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """A subset of `chosen` values; those with the truth are `odds` times as likely as those without."""

    odds: Fraction
    categories: int
    chosen: int

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "odds", rational(self.odds, "odds"))
        object.__setattr__(self, "categories", whole(self.categories, "categories"))
        object.__setattr__(self, "chosen", whole(self.chosen, "chosen"))
        if self.odds <= 1:
            raise ParameterError(f"odds must be greater than 1, got {shown(self.odds)}")
        if not 2 <= self.categories <= MOST:
            raise ParameterError(f"categories must lie between 2 and {MOST}, got {shown(self.categories)}")
        if not 1 <= self.chosen < self.categories:
            raise ParameterError(f"chosen must lie between 1 and categories - 1, got {shown(self.chosen)}")

    @classmethod
    def calibrate(cls, *, epsilon: Real, categories: int) -> "SubsetSelection":
        """Return the epsilon-private report of the size that errs least."""
        limit, k = positive(epsilon, "epsilon"), whole(categories, "categories")
        odds = max(exp_down(limit) * (1 - HAIR), 1 + limit * (1 - HAIR))
        near = int(k / (odds + 1))
        sizes = {min(max(size, 1), k - 1) for size in (near, near + 1)}
        return min((cls(odds, k, size) for size in sorted(sizes)), key=_rare)

    @property
    def truth(self) -> Fraction:
        """Return the probability that a report contains the sender's value."""
        d = self.chosen
        return self.odds * d / (self.odds * d + self.categories - d)

    @property
    def lie(self) -> Fraction:
        """Return the probability that a report contains one given other value."""
        return (self.chosen - self.truth) / (self.categories - 1)

    def pmf(self, value: int, report: Any) -> Fraction:
        """Return the probability of a subset when the value is `value`."""
        from math import comb

        subset, v = {whole(each, "report") for each in listed(report, "report")}, whole(value, "value")
        proper = len(subset) == self.chosen and all(0 <= each < self.categories for each in subset)
        if not proper or not 0 <= v < self.categories:
            raise ParameterError(f"a report names {self.chosen} of the values below {self.categories}")
        if v in subset:
            return self.truth / comb(self.categories - 1, self.chosen - 1)
        return (1 - self.truth) / comb(self.categories - 1, self.chosen)

    def sample(self, values: Any) -> Any:
        """Return the values that one report names, or a row of them for each value of a list, in order."""
        truths = integers(values)
        if truths.size and (int(truths.min()) < 0 or int(truths.max()) >= self.categories):
            raise ParameterError(f"values must be whole numbers from 0 to {self.categories - 1}")
        flat, people = truths.ravel().astype(np.int64), np.arange(truths.size)
        others = np.tile(np.arange(self.categories - 1), (flat.size, 1))
        for place in range(self.chosen):
            # A uniform choice among those that are left goes to the front.
            drawn = place + np.asarray(uniform_below(self.categories - 1 - place, flat.size), dtype=np.int64)
            others[people, drawn], others[:, place] = others[:, place].copy(), others[people, drawn].copy()
        named = others[:, : self.chosen]
        named = named + (named >= flat[:, None])
        kept = np.asarray(bernoulli(self.truth, flat.size), dtype=bool)
        named[kept, self.chosen - 1] = flat[kept]
        return np.sort(named, axis=1).reshape(*truths.shape, self.chosen)

    def supports(self, reports: Any) -> tuple[int, ...]:
        """Return how many reports name each value."""
        named = integers(reports)
        if named.ndim != 2 or named.shape[1] != self.chosen:
            raise ParameterError(f"reports are rows of {self.chosen} values")
        if named.size and (int(named.min()) < 0 or int(named.max()) >= self.categories):
            raise ParameterError(f"values must be whole numbers from 0 to {self.categories - 1}")
        return tuple(int(count) for count in np.bincount(named.ravel(), minlength=self.categories))

    def guarantee(self) -> Pure:
        """Return the privacy of one report, towards everybody."""
        return Pure(log_up(self.odds))

    def profile(self) -> Profile:
        """Return the exact loss law of one report: subsets with one of two values, the other, or alike."""
        t, d, k = self.truth, self.chosen, self.categories
        # Of the subsets with the truth, a part lacks the other value; of those without, a part has it.
        mine, other = t * Fraction(k - d, k - 1), (1 - t) * Fraction(d, k - 1)
        return Profile(AtomsLoss(((mine, other), (1 - mine - other,) * 2, (other, mine))))


def _rare(response: SubsetSelection) -> Fraction:
    """Return the variance of the estimate of a rare value, for each person."""
    return response.lie * (1 - response.lie) / (response.truth - response.lie) ** 2
