"""The staircase mechanism: the least integer noise when one person can move the answer by more than one.

Theorem.  Let f be integer-valued with sensitivity D >= 1, let a be a rational in (0, 1) and r a whole
number in 1..D.  Number the steps of a staircase by level(m) = floor((m + D - r) / D) and add Z with

    Pr[Z = k] = p * a**level(|k|),       p = (1 - a) / (2 (r + a (D - r)) - (1 - a)).

Moving the answer by at most D moves |k| by at most D and hence the level by at most one, so the release
is epsilon-private exactly when exp(epsilon) >= 1 / a.  In general moving one number by s moves the level
by at most ceil(s / D), a bound that is attained.

When optimal.  Among all epsilon-private ways of adding one law of integer noise to such an f, the staircase
with the best r has the least E|Z|, and with another r the least variance (for D = 1 there is one choice,
and it is the geometric mechanism).  Both errors are strictly quasi-convex in r, a convex function
over a positive linear one, so the best r is found by bisection on exact rationals.

References.  Geng, Viswanath, "The optimal noise-adding mechanism in differential privacy", IEEE Trans.
Inf. Theory 62(2), 2016.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.digits import WIDEST, power, power_ball, proper_ratio, writable
from discreet.exact.number import (
    Real,
    at_most,
    ball,
    least_integer,
    log_quotient,
    log_up,
    positive,
    probability,
    shown,
    whole,
    word,
)
from discreet.exact.perturb import SAFE, perturb
from discreet.exact.sample import bernoulli, geometric, uniform_below
from discreet.exact.stock import from_stock, restock
from discreet.markup import built
from discreet.mechanisms.geometric import ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import at_least_one
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.sensitivity import Sensitivity

Loss = Literal["absolute", "squared"]


@dataclass(frozen=True, slots=True)
class Staircase:
    """Integer noise constant on steps of `width`, the innermost one reaching to |k| < `inner`."""

    alpha: Fraction
    width: int
    inner: int

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "width", whole(self.width, "width"))
        object.__setattr__(self, "inner", whole(self.inner, "inner"))
        if self.width.bit_length() > WIDEST:
            raise ParameterError(f"width must be below 2**{WIDEST}, got {shown(self.width)}")
        if not 1 <= self.inner <= self.width:
            raise ParameterError(
                f"inner must lie between 1 and the width {self.width} of a step, got {shown(self.inner)}"
            )

    @classmethod
    def calibrate(cls, *, epsilon: Real, sensitivity: Real = 1, loss: Loss = "absolute") -> "Staircase":
        """Return the epsilon-private noise of least E|Z| ("absolute") or least variance ("squared")."""
        width = whole(positive(sensitivity, "sensitivity"), "sensitivity")
        if width.bit_length() > WIDEST:
            raise ParameterError(f"sensitivity must be below 2**{WIDEST}, got {shown(sensitivity)}")
        alpha = ratio(epsilon, 1)
        if word(loss, "loss", ("absolute", "squared")) == "absolute":
            return _best(alpha, width, lambda noise: noise.mean_error)
        return _best(alpha, width, lambda noise: noise.variance)

    def level(self, k: int) -> int:
        """Return the number of steps between 0 and k."""
        return (abs(whole(k, "k")) + self.width - self.inner) // self.width

    @property
    def peak(self) -> Fraction:
        """Return Pr[Z = 0], the probability of every value on the innermost step."""
        lost = 1 - self.alpha
        return lost / (2 * (self.inner + self.alpha * (self.width - self.inner)) - lost)

    def pmf(self, k: int) -> Fraction:
        """Return Pr[Z = k]."""
        return self.peak * power(self.alpha, self.level(k))

    def cdf(self, k: int) -> Fraction:
        """Return Pr[Z <= k]."""
        end = whole(k, "k")
        return self.tail(-end) if end < 0 else 1 - self.tail(end + 1)

    def tail(self, m: int) -> Fraction:
        """Return Pr[Z >= m] for m >= 1."""
        step, left = self._position(at_least_one(m, "m"))
        return self.peak * power(self.alpha, step) * (left + self.width * self.alpha / (1 - self.alpha))

    def _position(self, m: int) -> tuple[int, int]:
        # The step that m stands on, and how many values of that step lie at m or beyond it.
        step = self.level(m)
        return step, (step + 1) * self.width - (self.width - self.inner) - m

    def sample(self, values: Any) -> Any:
        """Return values + Z: an int for an int, an array with independent noise for an array of integers."""
        return perturb(values, self._draw)

    def _draw(self, count: int | None) -> Any:
        if count is not None:
            return self._several(count)
        key = ("staircase", self.alpha.numerator, self.alpha.denominator, self.width, self.inner)
        value = from_stock(key)
        if value is not None:
            return value
        return restock(key, lambda _: int(self._several(1)[0]), lambda size, _: self._several(size))

    def _several(self, size: int) -> NDArray[Any]:
        # The innermost step holds 2 r - 1 values; step q >= 1 holds 2 D, of weight a**q each.  So first the
        # step, then a uniform value on it; all the coins are drawn whatever the step turns out to be.
        outer = 2 * self.width * self.alpha / (1 - self.alpha)
        innermost = bernoulli((2 * self.inner - 1) / (2 * self.inner - 1 + outer), size)
        steps = geometric(self.alpha, size)
        within = uniform_below(2 * self.width, size)
        centre = uniform_below(2 * self.inner - 1, size) - (self.inner - 1)
        if size and (int(steps.max()) + 2) * self.width > SAFE:
            steps, within, centre = (part.astype(object) for part in (steps, within, centre))
        distance = steps * self.width + self.inner + within // 2
        return np.asarray(np.where(innermost, centre, np.where(within % 2 == 0, distance, -distance)))

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release, whose sensitivity is the width of a step unless told otherwise.

        Each coordinate that one person moves climbs ceil(move / width) steps.  For a vector, n coordinates
        with moves adding up to l1 climb at most n + (l1 - n) / width steps together, and no more than
        n ceil(linf / width).
        """
        moved = Sensitivity.of(self.width if sensitivity is None else sensitivity)
        total = floor(moved.l1)
        touched = total if moved.l0 is None else min(total, moved.l0)
        together = touched + (total - touched) // self.width
        each = touched * ceil(Fraction(floor(moved.linf), self.width))
        return Pure(log_up(1 / self.alpha) * min(together, each))

    def profile(self, sensitivity: Real | None = None) -> Profile:
        """Return the exact loss law of one number moved by at most `sensitivity`, for composition.

        A move by s <= width changes the level by at most one, so the loss is epsilon, 0 or -epsilon, and the
        law is fixed by the total variation between the two positions.  That grows with s because the noise
        is symmetric and falls away from 0; it is the probability of the s values around the middle.
        """
        moved = whole(self.width if sensitivity is None else sensitivity, "sensitivity")
        if not moved >= 0:
            raise ParameterError(f"sensitivity must not be negative, got {shown(sensitivity)}")
        near = min(moved, self.width)
        start = -(near // 2)
        gained = (self.cdf(start + near - 1) - self.cdf(start - 1)) / (1 - self.alpha)
        lost = gained * self.alpha
        law = Profile(AtomsLoss(((gained, lost), (1 - gained - lost, 1 - gained - lost), (lost, gained))))
        return law if moved <= self.width else law.group(-(-moved // self.width))

    def radius(self, beta: Real = "0.05") -> int:
        """Return the smallest r with Pr[|Z| > r] <= beta."""
        bound = probability(beta, "beta")

        def covers(r: int) -> bool:
            step, left = self._position(r + 1)
            inside = left + self.width * self.alpha / (1 - self.alpha)
            return at_most(
                lambda: 2 * ball(self.peak * inside) * power_ball(self.alpha, step),
                bound,
                exact=lambda: 2 * self.tail(r + 1) if writable(self.alpha, step) else None,
            )

        return least_integer(covers, log_quotient(bound, self.alpha) * self.width)

    @property
    def mean_error(self) -> Fraction:
        """Return E|Z|."""
        a, width, r = self.alpha, self.width, self.inner
        first, second = r, r * (r - 1) // 2
        rest_first, rest_second = width - r, width * (width - 1) // 2 - second
        ones, indices = 1 / (1 - a), a / (1 - a) ** 2
        return (
            2 * self.peak * (width * (first + a * rest_first) * indices + (second + a * rest_second) * ones)
        )

    @property
    def variance(self) -> Fraction:
        """Return Var Z, which is E[Z**2]."""
        a, width, r = self.alpha, self.width, self.inner
        # Sums over one step of 1, i and i**2, weighted by 1 in its inner part and by a in its outer part.
        count, linear, square = (
            inner + a * (every - inner)
            for inner, every in zip(_power_sums(r), _power_sums(width), strict=True)
        )
        ones, indices, squares = 1 / (1 - a), a / (1 - a) ** 2, a * (1 + a) / (1 - a) ** 3
        return 2 * self.peak * (width**2 * count * squares + 2 * width * linear * indices + square * ones)


def _power_sums(n: int) -> tuple[int, int, int]:
    return n, n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6


def _best(alpha: Fraction, width: int, error: Callable[[Staircase], Fraction]) -> Staircase:
    low, high = 1, width
    while low < high:
        middle = (low + high) // 2
        if error(Staircase(alpha, width, middle + 1)) < error(Staircase(alpha, width, middle)):
            low = middle + 1
        else:
            high = middle
    return Staircase(alpha, width, low)
