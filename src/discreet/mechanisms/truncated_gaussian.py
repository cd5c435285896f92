"""Gaussian noise that never exceeds a bound, every probability of it a rational number.

Theorem.  Let Z take the integers k of |k| <= b with probabilities proportional to the whole numbers

    w(k) = 1 + floor(2**64 exp(-k**2 / (2 v))),

and let an integer answer move by at most t.  For a move by s the pair of laws has finitely many outcomes:
where both are possible the loss is ln(w(k) / w(k - s)), and what only one of them can give, an event of
probability Pr[Z < s - b], gives the move away.  The release has the law that is the envelope of these pairs
over s = 1, ..., t: exact, attained, and never without slack, since noise within a bound is sometimes seen
through.

The weights are rounded so that what is drawn is exactly what is accounted for.  They are those of the
discrete Gaussian to 2**-64 of the largest, but log-concave only to that: so the envelope goes through all
moves.

References.  The discrete Gaussian: Canonne, Kamath, Steinke, NeurIPS 2020.  Envelopes of finite pairs:
`discreet.privacy.atoms`.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb, ctx

from discreet.errors import ParameterError
from discreet.exact.coins import source
from discreet.exact.inversion import LawTable
from discreet.exact.number import Real, ball, positive, probability, shown, whole
from discreet.exact.perturb import perturb
from discreet.exact.sample import proper_variance
from discreet.markup import built
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Approximate, Profile
from discreet.privacy.sensitivity import Sensitivity

FARTHEST = 2**10
"""The largest bound: every outcome is written out."""

MOST_OUTCOMES = 2**15
"""Envelopes of more outcomes than this, over all moves, are not made."""

_BITS = 64


@dataclass(frozen=True, slots=True)
class TruncatedGaussian:
    """Discrete Gaussian noise of parameter `sigma_squared`, never larger than `bound`."""

    sigma_squared: Fraction
    bound: int
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", proper_variance(self.sigma_squared))
        object.__setattr__(self, "bound", whole(self.bound, "bound"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        if not 1 <= self.bound <= FARTHEST:
            raise ParameterError(f"bound must lie between 1 and {FARTHEST}, got {shown(self.bound)}")

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, delta: Real, bound: int, sensitivity: Sensitivity | Real = 1
    ) -> "TruncatedGaussian":
        """Return noise within a bound that is (epsilon, delta)-private, nearly the least there is."""
        limit, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
        change = Sensitivity.of(sensitivity)
        enough = Gaussian.calibrate(epsilon=limit, delta=slack, sensitivity=change).sigma_squared

        def private(variance: Fraction) -> bool:
            high = cls(variance, bound).profile(change).delta(limit).high
            return high is not None and high <= slack

        low = enough * Fraction(7, 8)
        for _ in range(12):
            if private(enough):
                break
            low, enough = enough, enough * Fraction(9, 8)
        else:
            raise ParameterError(
                f"no Gaussian noise within {shown(bound)} is private enough, since a bound is sometimes seen "
                "through; give a larger bound, or Gaussian noise without one"
            )
        for _ in range(8):
            middle = (low + enough) / 2
            low, enough = (low, middle) if private(middle) else (middle, enough)
        return cls(enough, bound, sensitivity=change)

    def pmf(self, k: int) -> Fraction:
        """Return Pr[Z = k]."""
        place, law = whole(k, "k"), self._law
        if abs(place) > self.bound:
            return Fraction(0)
        return Fraction(law.weights[place + self.bound], law.sums[-1])

    def cdf(self, k: int) -> Fraction:
        """Return Pr[Z <= k]."""
        return self._law.chance(whole(k, "k"))

    def sample(self, values: Any) -> Any:
        """Return values + Z: an int for an int, an array with independent noise for an array of integers."""
        return perturb(values, self._draw)

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Approximate:
        """Return the privacy of one release: its largest finite loss, and the chance to be seen through."""
        law = self._loss(sensitivity)
        return Approximate(law.pure, law.slack)

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the exact loss law of a single integer, for composition and for sampling."""
        return Profile(self._loss(sensitivity))

    def radius(self, beta: Real = "0.05") -> int:
        """Return the smallest r with Pr[|Z| > r] <= beta."""
        chance = probability(beta, "beta")
        return next(r for r in range(self.bound + 1) if 2 * self.cdf(-r - 1) <= chance)

    @property
    def mean_error(self) -> Fraction:
        """Return E|Z|."""
        return self._moment(1)

    @property
    def variance(self) -> Fraction:
        """Return Var Z."""
        return self._moment(2)

    @property
    def _law(self) -> "_Weights":
        return _weights(self.sigma_squared.numerator, self.sigma_squared.denominator, self.bound)

    def _draw(self, count: int | None) -> Any:
        law = (self.sigma_squared.numerator, self.sigma_squared.denominator, self.bound)
        if count is None:
            return _table(*law).draw_one(source())
        return _table(*law).draw(count, source()).astype(np.int64)

    def _moment(self, power: int) -> Fraction:
        places = range(-self.bound, self.bound + 1)
        weighed = sum(abs(k) ** power * w for k, w in zip(places, self._law.weights, strict=True))
        return Fraction(weighed, self._law.sums[-1])

    def _loss(self, sensitivity: Sensitivity | Real | None) -> AtomsLoss:
        change = moved(sensitivity, self.sensitivity, self)
        if not change.scalar:
            raise ParameterError("noise within a bound is for a single integer, of which a unit moves one")
        farthest = min(whole(change.l1, "sensitivity"), 2 * self.bound + 1)
        if farthest * (2 * self.bound + 1) > MOST_OUTCOMES:
            raise ParameterError(
                f"{farthest} moves of {2 * self.bound + 1} outcomes are more than {MOST_OUTCOMES}; give a "
                "smaller bound or sensitivity, or Gaussian noise without a bound"
            )
        return _envelope(self._law, farthest)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Whole weights of the integers from -bound on, and their sums."""

    bound: int
    weights: tuple[int, ...]
    sums: tuple[int, ...]

    def chance(self, k: int) -> Fraction:
        """Return Pr[Z <= k]."""
        if k < -self.bound:
            return Fraction(0)
        return Fraction(self.sums[min(k, self.bound) + self.bound], self.sums[-1])

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[Z <= k]."""
        return ball(self.chance(k))

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[Z <= k] for every k from low to high."""
        return [self.cumulative(k) for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[Z <= k]."""
        return self.sums[-1].bit_length()


@lru_cache(maxsize=64)
def _weights(over: int, under: int, bound: int) -> _Weights:
    half = [1 + _floor(Fraction(k * k * under, 2 * over)) for k in range(bound + 1)]
    weights = (*half[:0:-1], *half)
    return _Weights(bound, weights, tuple(accumulate(weights)))


def _floor(exponent: Fraction) -> int:
    """Return floor(2**64 exp(-exponent)); only at 0 is it a whole number, so some precision tells."""
    if exponent == 0 or exponent > _BITS:
        return 0 if exponent else 1 << _BITS
    precision = 2 * _BITS
    while True:
        with ctx.workprec(precision):
            floor = ((-ball(exponent)).exp() * (1 << _BITS)).floor().unique_fmpz()
        if floor is not None:
            return int(floor)
        precision *= 2


@lru_cache(maxsize=32)
def _table(over: int, under: int, bound: int) -> LawTable:
    return LawTable.build(_weights(over, under, bound), -bound, bound)


@lru_cache(maxsize=32)
def _envelope(law: _Weights, farthest: int) -> AtomsLoss:
    """Return the law that covers all moves up to the farthest; turned around, a pair is its other order."""
    whole, b = law.sums[-1], law.bound

    def chance(k: int) -> Fraction:
        return Fraction(law.weights[k + b], whole) if abs(k) <= b else Fraction(0)

    if farthest == 0:
        return AtomsLoss(((Fraction(1), Fraction(1)),))
    return AtomsLoss.envelope(
        [(chance(k), chance(k - s)) for k in range(-b, b + s + 1)] for s in range(1, farthest + 1)
    )
