"""Randomized response: each person answers for herself, and may always say that it was the coin.

Theorem.  A truth in {0, ..., k-1} is reported as itself with probability o / (o + k - 1) and as each other
value with probability 1 / (o + k - 1), for rational odds o > 1.  The report is epsilon-private towards
everybody, including whoever collects it, exactly when exp(epsilon) >= o.

Estimate.  Among n reports let c_j say j.  Then (c_j (o + k - 1) - n) / (o - 1) is an unbiased estimate of the
number n_j of those whose truth is j, with variance

    ((o + k - 1) / (o - 1))**2 * (n_j p (1 - p) + (n - n_j) q (1 - q)),   p, q the two probabilities above.

Many questions.  m yes/no questions answered independently at epsilon / m each are epsilon-private together.
By Hoeffding's inequality and a union bound all m shares are within t of the truth with probability at least
1 - b as soon as  n >= coth(epsilon / 2m)**2 ln(2m / b) / (2 t**2),  where coth(epsilon / 2m) = (o+1)/(o-1).

When optimal.  Without a trusted curator: for k = 2 it is the best local report at every epsilon, and for
k > 2 it is order-optimal when epsilon is large.  With a curator, noise on the count is far better: its
error does not grow with n.

References.  Warner, JASA 60, 1965.  Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential
privacy", JMLR 17, 2016.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import (
    HAIR,
    Real,
    ball,
    enclose,
    exp_down,
    log_up,
    positive,
    probability,
    rational,
    shown,
    whole,
)
from discreet.exact.perturb import SAFE, integers
from discreet.exact.sample import bernoulli, uniform_below
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.loss import GeometricLoss
from discreet.privacy.shuffle import Shuffled

MOST = 10**6
"""Laws of more probabilities than this are not written out."""


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """A report that is `odds` times likelier to be the truth than to be any given other value.

    One use of it is one person's reports to so many `questions`.
    """

    odds: Fraction
    categories: int = 2
    questions: int = field(default=1, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "odds", rational(self.odds, "odds"))
        object.__setattr__(self, "categories", whole(self.categories, "categories"))
        object.__setattr__(self, "questions", at_least_one(self.questions, "questions"))
        if self.odds <= 1:
            raise ParameterError(f"odds must be greater than 1, got {shown(self.odds)}")
        if self.categories < 2:
            raise ParameterError(f"categories must be at least 2, got {shown(self.categories)}")

    @classmethod
    def calibrate(cls, *, epsilon: Real, categories: int = 2, questions: int = 1) -> "RandomizedResponse":
        """Return the most truthful report of which `questions` are epsilon-private together."""
        number = at_least_one(questions, "questions")
        each = positive(epsilon, "epsilon") / number
        # Both are below exp(each); the second stays above 1 however small epsilon is.  The hair taken off
        # is wider than any rounding of the logarithm, so the price stated afterwards is never above `each`.
        return cls(max(exp_down(each) * (1 - HAIR), 1 + each * (1 - HAIR)), categories, questions=number)

    @property
    def truth(self) -> Fraction:
        """Return the probability that the report is the truth."""
        return self.odds / (self.odds + self.categories - 1)

    @property
    def lie(self) -> Fraction:
        """Return the probability that the report is one given value other than the truth."""
        return 1 / (self.odds + self.categories - 1)

    def pmf(self, truth: int) -> tuple[Fraction, ...]:
        """Return the probability of each report when the truth is `truth`."""
        value = whole(truth, "truth")
        self._check(integers([value]))
        if self.categories > MOST:
            raise ParameterError(
                f"a law of {self.categories} probabilities is not written out; use truth and lie"
            )
        return tuple(self.truth if report == value else self.lie for report in range(self.categories))

    def channel(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return the matrix Pr[report | truth], one row per truth."""
        if self.categories**2 > MOST:
            raise ParameterError(
                f"a matrix with {self.categories} rows is not written out; use truth and lie"
            )
        return tuple(self.pmf(truth) for truth in range(self.categories))

    def sample(self, values: Any) -> Any:
        """Return one report per truth: an int for an int, an array of the same shape for an array."""
        truths = integers(values)
        self._check(truths)
        lying = bernoulli(1 - self.truth, truths.size)
        # A lie is a uniform non-zero step around the circle of categories.
        steps = 1 + uniform_below(self.categories - 1, truths.size)
        if self.categories > SAFE:
            truths, steps = truths.astype(object), steps.astype(object)
        reports = (truths.ravel() + np.where(lying, steps, 0)) % self.categories
        return int(reports[0]) if truths.ndim == 0 else reports.reshape(truths.shape)

    def guarantee(self, questions: int | None = None) -> Pure:
        """Return the privacy of one person's reports to so many questions, or to those it was made for."""
        number = self.questions if questions is None else at_least_one(questions, "questions")
        return Pure(log_up(self.odds) * number)

    def profile(self) -> Profile:
        """Return the exact loss law of one report, for composition.

        Of two categories it is that of geometric noise of ratio 1 / odds moved by one.
        """
        if self.categories == 2:
            return Profile(GeometricLoss(1 / self.odds, 1))
        same = (self.categories - 2) * self.lie
        return Profile(AtomsLoss(((self.truth, self.lie), (same, same), (self.lie, self.truth))))

    @property
    def parts(self) -> tuple[tuple[Profile, int], ...]:
        """Return what composition can use: the law of one report, as often as there are questions."""
        return ((self.profile(), self.questions),)

    def shuffled(self, people: int) -> Shuffled:
        """Return what so many people's reports promise to whoever sees them without their senders."""
        if self.questions != 1:
            raise ParameterError("shuffled reports are to one question each; shuffle each question by itself")
        return Shuffled(self.odds, 2 * self.lie, self.truth + self.lie, people, self.categories)

    def supports(self, reports: Any) -> tuple[int, ...]:
        """Return how many reports speak for each value: those that say it."""
        said = integers(reports)
        self._check(said)
        if self.categories > MOST:
            raise ParameterError(f"{self.categories} counts are not written out; {MOST} is the limit")
        return tuple(int(count) for count in np.bincount(said.ravel(), minlength=self.categories))

    def estimate(self, counts: Sequence[int]) -> tuple[Fraction, ...]:
        """Return unbiased estimates of how many truths there are of each kind, from the counts of reports."""
        reports = [int(count) for count in self._counts(counts)]
        everyone = sum(reports)
        return tuple((count / self.lie - everyone) / (self.odds - 1) for count in reports)

    def variance(self, counts: Sequence[int]) -> tuple[Fraction, ...]:
        """Return the variance of each estimate when the true counts are `counts`."""
        truths = [int(count) for count in self._counts(counts)]
        everyone, stretch = sum(truths), 1 / (self.lie * (self.odds - 1))
        return tuple(
            stretch**2 * (n * self.truth * (1 - self.truth) + (everyone - n) * self.lie * (1 - self.lie))
            for n in truths
        )

    def records_needed(self, *, within: Real, beta: Real = "0.05", questions: int | None = None) -> int:
        """Return a number of people that brings every share within `within`, with probability 1 - beta.

        Two categories only: the estimate of a share is a mean of terms in an interval of length
        (odds + 1) / (odds - 1).
        """
        if self.categories != 2:
            raise ParameterError(f"records_needed is for yes/no questions, not {self.categories} categories")
        width = (self.odds + 1) / (self.odds - 1)
        error, chance = positive(within, "within"), probability(beta, "beta")
        number = self.questions if questions is None else at_least_one(questions, "questions")
        terms = 2 * number / chance
        upper = enclose(lambda: ball(width**2 / (2 * error**2)) * ball(terms).log())[1]
        return -(-upper.numerator // upper.denominator)

    def _check(self, values: Any) -> None:
        if values.size and (int(values.min()) < 0 or int(values.max()) >= self.categories):
            raise ParameterError(f"truths must be whole numbers from 0 to {self.categories - 1}")

    def _counts(self, counts: Sequence[int]) -> Any:
        exact = integers(counts)
        if exact.shape != (self.categories,) or int(exact.min()) < 0:
            raise ParameterError(f"counts must be {self.categories} whole numbers, none negative")
        return exact
