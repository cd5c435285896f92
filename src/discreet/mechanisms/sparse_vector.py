"""The sparse vector technique: any number of questions, paying only for the few whose answer is large.

A session hides a threshold T behind noise N drawn once.  Each value v asked, adaptively, gets fresh noise M
and is answered "below" when v + M < T + N; otherwise it is answered with the gap v + M - T - N >= 0, and the
session closes after c such answers.  N and M are geometric on 0, 1, 2, ..., with ratios a and b.

Theorem.  Let every value be an integer that one person moves by at most D.  The whole transcript, gaps
included, is epsilon-private when exp(epsilon) >= a**-D * b**(-2 c D), or a**-D * b**(-c D) when the values
are monotone (a person moves all of them up, or all of them down).

Proof.  Fix a transcript and a neighbour whose values are v'.  Map the noise (N, M_1, M_2, ...) to N + D, and
the M_i of each value not below to M_i + D + v_i - v'_i, leaving the others.  Every "below" stays below, since
v'_i + M_i <= v_i + D + M_i < T + N + D; every gap stays the same.  The shifts are whole numbers, D for N and
between 0 and 2 D for at most c of the M_i, and a geometric law loses at most the factor a or b per unit of a
shift upwards.  When all v'_i >= v_i the shifts of M_i are at most D; when all v'_i <= v_i, N needs
no shift at all and those of M_i are at most D.

Only upward shifts occur, so one-sided noise suffices; it has half the variance of the textbook's two-sided
noise.  Releasing v_i plus fresh two-sided geometric noise of ratio d with each gap costs c D ln(1/d) more.
What is *not* private, and not offered: answering without noise on the values, without a limit c, or
releasing the very v_i + M_i that was compared.

Accuracy.  Pr[v + M < T + N] and its complement are closed sums of powers; see `chance_above`.

References.  Dwork, Naor, Reingold, Rothblum, Vadhan, STOC 2009.  Correct and incorrect variants, and how to
split the budget: Lyu, Su, Li, VLDB 2017.  Free gaps: Ding, Wang, Zhang, Kifer, VLDB 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError, ParameterError
from discreet.exact.digits import proper_ratio
from discreet.exact.number import Real, flag, listed, log_up, positive, rational, shown, whole
from discreet.exact.process import Life, no_copies
from discreet.exact.sample import geometric, two_sided_geometric
from discreet.markup import built
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, one_way, remembered
from discreet.privacy.guarantee import Pure
from discreet.privacy.sensitivity import Sensitivity

MOST = 20_000
"""Transcripts whose values are further apart in all than this are not written out."""


@dataclass(frozen=True, slots=True)
class Above:
    """A value found not below the threshold: its noisy gap, and a fresh noisy value if one was paid for."""

    gap: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Noise on the threshold, on each value, and (optionally) on the values released; at most `answers`."""

    threshold_alpha: Fraction
    query_alpha: Fraction
    answers: int = 1
    value_alpha: Fraction | None = None
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)
    monotone: bool = field(default=False, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        for name in ("threshold_alpha", "query_alpha"):
            object.__setattr__(self, name, proper_ratio(getattr(self, name), name))
        if self.value_alpha is not None:
            object.__setattr__(self, "value_alpha", proper_ratio(self.value_alpha, "value_alpha"))
        object.__setattr__(self, "answers", whole(self.answers, "answers"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        flag(self.monotone, "monotone")
        if self.answers < 1:
            raise ParameterError(f"answers must be at least 1, got {shown(self.answers)}")

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: Real,
        sensitivity: Sensitivity | Real = 1,
        answers: int = 1,
        monotone: bool = False,
        values: Real = 0,
    ) -> "SparseVector":
        """Return a session that is epsilon-private in total.

        The share `values` of epsilon buys the released values; the rest is split between threshold and
        queries as 1 to (2c)**(2/3), or c**(2/3) when monotone, which minimises the variance of their
        difference.
        """
        budget, change = positive(epsilon, "epsilon"), Sensitivity.of(sensitivity).linf
        count, share = whole(answers, "answers"), rational(values, "values")
        if not 0 <= share < 1:
            raise ParameterError(
                f"values must be a share of the budget, at least 0 and below 1, got {shown(values)}"
            )
        if count < 1:
            raise ParameterError(f"answers must be at least 1, got {shown(answers)}")
        moves = count * (1 if flag(monotone, "monotone") else 2)
        comparing = budget * (1 - share)
        # Any split is private; this one, rounded to a fraction with a small denominator, is accurate.  Beyond
        # a million moves the threshold has its least share anyway, and a float no longer holds their number.
        part = Fraction(1 / (1 + min(moves, 10**6) ** (2 / 3))).limit_denominator(1000)
        threshold = comparing * max(part, Fraction(1, 1000))
        return cls(
            ratio(threshold, change),
            ratio(comparing - threshold, change * moves),
            count,
            ratio(budget * share, change * count) if share else None,
            sensitivity=Sensitivity.of(sensitivity),
            monotone=monotone,
        )

    def guarantee(
        self, sensitivity: Sensitivity | Real | None = None, *, monotone: bool | None = None
    ) -> Pure:
        """Return the privacy of a whole session when a person moves any value by at most `sensitivity`."""
        change = moved(sensitivity, self.sensitivity, self).linf
        towards = one_way(monotone, sensitivity, self.monotone)
        cost = log_up(1 / self.threshold_alpha)
        cost += self.answers * (1 if towards else 2) * log_up(1 / self.query_alpha)
        if self.value_alpha is not None:
            cost += self.answers * log_up(1 / self.value_alpha)
        return Pure(cost * change)

    def start(self, threshold: int) -> "SparseVectorRun":
        """Open a session: the noise on the threshold is drawn now, once."""
        return SparseVectorRun(self, whole(threshold, "threshold"))

    def chance_above(self, margin: int) -> Fraction:
        """Return the probability that a value `margin` above the threshold is not answered "below"."""
        return self.pmf([margin], [0], [True])

    def pmf(self, values: Sequence[int], thresholds: Sequence[int] | int, above: Sequence[bool]) -> Fraction:
        """Return the probability that these values, asked in this order, are found above or below like this.

        Values after the last permitted answer are not asked and must not appear.
        """
        asked = [whole(value, "value") for value in listed(values, "values")]
        flags = [flag(up, "above") for up in listed(above, "above")]
        limits: list[Any] = (
            [thresholds] * len(asked)
            if isinstance(thresholds, int)
            else list(listed(thresholds, "thresholds"))
        )
        if not len(asked) == len(limits) == len(flags) or sum(flags[:-1]) >= self.answers:
            raise ParameterError(
                "a transcript needs one flag per value and ends with the last permitted answer"
            )
        a, b = self.threshold_alpha, self.query_alpha
        margins = [value - whole(limit, "threshold") for value, limit in zip(asked, limits, strict=True)]
        # Given N = n, a value is above with probability b**max(0, n - margin).  From n = reach on, that is a
        # power of b**n for all, so the rest of the sum over n is a finite sum of geometric series.
        reach = max(0, *margins) if margins else 0
        if (reach + max(0, -min(margins, default=0))) * len(margins) > MOST:
            raise ParameterError(
                f"the exact chance of values so far apart is not written out; {MOST} is the limit"
            )
        total = Fraction(0)
        for n in range(reach):
            chance = (1 - a) * a**n
            for margin, up in zip(margins, flags, strict=True):
                hit = b ** max(0, n - margin)
                chance *= hit if up else 1 - hit
            total += chance
        series = {0: Fraction(1)}
        for margin, up in zip(margins, flags, strict=True):
            hit = b ** (reach - margin)
            product: dict[int, Fraction] = {} if up else dict(series)
            for power, c in series.items():
                product[power + 1] = product.get(power + 1, Fraction(0)) + (c * hit if up else -c * hit)
            series = product
        return total + (1 - a) * a**reach * sum(
            (c / (1 - a * b**power) for power, c in series.items()), Fraction(0)
        )


class SparseVectorRun:
    """One run of the technique: it remembers its noisy threshold and how many answers are left.

    It has one life: threads take turns, and it can neither be copied nor go on in a forked process.
    """

    __slots__ = ("_hidden", "_left", "_life", "mechanism")

    __copy__ = __deepcopy__ = __reduce_ex__ = no_copies

    def __init__(self, mechanism: SparseVector, threshold: int) -> None:
        self.mechanism = mechanism
        self._life = Life("session")
        self._left = mechanism.answers
        self._hidden = threshold + geometric(mechanism.threshold_alpha)

    @property
    def left(self) -> int:
        """Return how many answers are left."""
        return self._left

    def ask(self, value: int) -> Above | None:
        """Compare one exact value: None when it is below, and its gap when it is not."""
        exact = whole(value, "value")
        with self._life.turn():
            if self._left <= 0:
                raise BudgetError(
                    f"this session has given its {self.mechanism.answers} answers; "
                    "start another at its own price"
                )
            gap = exact + geometric(self.mechanism.query_alpha) - self._hidden
            if gap < 0:
                return None
            self._left -= 1
            if self.mechanism.value_alpha is None:
                return Above(gap)
            return Above(gap, exact + two_sided_geometric(self.mechanism.value_alpha))
