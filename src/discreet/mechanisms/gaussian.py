"""The discrete Gaussian mechanism: integer noise with a bell-shaped law and no floating point.

Theorem.  Let f take integer vectors as values, let D be its squared l2 sensitivity, and add to each
coordinate an independent Z with Pr[Z = k] proportional to exp(-k**2 / (2 v)) for a rational v.  The
release is rho-zCDP with rho = D / (2 v).  For a single integer that moves by at most t it is
(epsilon, delta)-private exactly when

    delta >= Pr[Z <= m] - exp(epsilon) * Pr[Z <= m - t],   m = ceil(t/2 - epsilon v / t) - 1.

Smaller shifts are covered: the law is log-concave, so the worst event for any shift t is {z <= m} for
some m, and for a fixed m the right-hand side grows with t.  No pure epsilon is ever enough: the log-ratio
of the laws at two neighbours is linear in the output, hence unbounded.

Vectors have a law of their own where one move is the worst of all.  If one unit moves at most l0 coordinates
by at most t each, and may move as many by t, it is the law of l0 independent releases moved by t: every
coordinate is covered by the shift t, and pairs that cover each other do so together.  If the sum of all moves
is at most t, and may be one of t, it is the law of one integer moved by t: coordinates are moved one after
the other, and moves of a log-concave law add up (`discreet.privacy.loss`, vectors).

References.  Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020;
Bun and Steinke, "Concentrated differential privacy", TCC 2016.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from typing import Any

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.lattice_gaussian import (
    absolute_moment,
    gaussian_mass,
    gaussian_tail,
    gaussian_total,
    second_moment,
)
from discreet.exact.number import (
    LARGEST_EXPONENT,
    Real,
    at_most,
    ball,
    certain,
    least_integer,
    log_up,
    positive,
    probability,
    round_up,
    whole,
)
from discreet.exact.perturb import perturb
from discreet.exact.sample import discrete_gaussian, proper_variance
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.bounds import Bounds
from discreet.privacy.compose import Composition
from discreet.privacy.guarantee import Concentrated, Guarantee, Profile
from discreet.privacy.loss import DiscreteGaussianLoss
from discreet.privacy.sensitivity import Sensitivity
from discreet.privacy.zcdp import largest_rho


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Discrete Gaussian noise; `sigma_squared` is its parameter and, but for tiny values, its variance."""

    sigma_squared: Fraction
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", proper_variance(self.sigma_squared))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))

    @classmethod
    def calibrate(
        cls,
        *,
        rho: Real | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        sensitivity: Sensitivity | Real = 1,
    ) -> "Gaussian":
        """Return the least noise that is rho-zCDP, or (epsilon, delta)-private, at this sensitivity.

        For a single integer the (epsilon, delta) form uses the exact law; for vectors it goes through zCDP.
        """
        change = Sensitivity.of(sensitivity)
        if change.l2_squared <= 0:
            raise ParameterError(
                "sensitivity must be greater than 0; an answer nobody can move needs no noise"
            )
        match rho, epsilon, delta:
            case (None, None, _) | (None, _, None):
                raise ParameterError("give either rho, or both epsilon and delta")
            case None, _, _:
                limit = positive(0 if epsilon is None else epsilon, "epsilon")
                slack = probability(0 if delta is None else delta, "delta")
                if limit > LARGEST_EXPONENT:
                    raise ParameterError(f"epsilon is more than {LARGEST_EXPONENT}: that protects nobody")
                return cls(_least_variance(change, limit, slack), sensitivity=change)
            case _, None, None:
                return cls(change.l2_squared / (2 * positive(rho, "rho")), sensitivity=change)
            case _:
                raise ParameterError("give either rho, or both epsilon and delta, not all of them")

    def pmf(self, k: int) -> Bounds:
        """Return Pr[Z = k]."""
        v, square = self.sigma_squared, Fraction(whole(k, "k") ** 2)
        return _bounds(lambda: (-ball(square) / (2 * ball(v))).exp() / gaussian_total(v))

    def cdf(self, k: int) -> Bounds:
        """Return Pr[Z <= k]."""
        end = whole(k, "k")
        return _bounds(lambda: gaussian_mass(end, self.sigma_squared))

    def sample(self, values: Any) -> Any:
        """Return values + Z: an int for an int, an array with independent noise for an array of integers."""
        return perturb(values, lambda count: discrete_gaussian(self.sigma_squared, count))

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Concentrated:
        """Return the privacy of one release: rho = l2_squared / (2 sigma_squared)."""
        return Concentrated(moved(sensitivity, self.sensitivity, self).l2_squared / (2 * self.sigma_squared))

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the whole loss law of a single integer, for composition; vectors compose by `vector`."""
        change = moved(sensitivity, self.sensitivity, self)
        if change.linf != change.l1:
            raise ParameterError(
                "the law of one number is for a single integer; vectors compose by m.vector(...)"
            )
        return Profile(DiscreteGaussianLoss(self.sigma_squared, whole(change.l1, "sensitivity")))

    def vector(self, sensitivity: Sensitivity | Real | None = None) -> Composition:
        """Return what a vector with this noise promises: its law where one move is the worst, or its zCDP."""
        change = moved(sensitivity, self.sensitivity, self)
        worst = _worst_move(change)
        if worst is None:
            return Composition(((self.guarantee(change), 1),))
        each, number = worst
        return Composition(((Profile(DiscreteGaussianLoss(self.sigma_squared, each)), number),))

    @property
    def parts(self) -> tuple[tuple[Guarantee, int], ...]:
        """Return what composition can use: the law of an integer or of a vector, or else the zCDP."""
        return self.vector().parts

    def radius(self, beta: Real = "0.05") -> int:
        """Return the smallest r certified to have Pr[|Z| > r] <= beta."""
        v, bound = self.sigma_squared, probability(beta, "beta")
        guess = isqrt(int(2 * v * log_up(2 / bound)))
        return least_integer(
            lambda r: at_most(lambda: 2 * gaussian_tail(r + 1, v) / gaussian_total(v), bound, 2048), guess
        )

    @property
    def mean_error(self) -> Bounds:
        """Return E|Z|."""
        return _bounds(lambda: absolute_moment(self.sigma_squared))

    @property
    def variance(self) -> Bounds:
        """Return Var Z, which never exceeds sigma_squared."""
        return _bounds(lambda: second_moment(self.sigma_squared))


def _worst_move(change: Sensitivity) -> tuple[int, int] | None:
    """Return by how much the worst move of all moves each coordinate, and how many, where there is one."""
    each = change.linf
    if each.denominator != 1:
        return None
    if each == change.l1:
        return each.numerator, 1
    if change.l0 and change.l1 == change.l0 * each and change.l2_squared == change.l0 * each**2:
        return each.numerator, change.l0
    return None


def _least_variance(change: Sensitivity, epsilon: Fraction, delta: Fraction) -> Fraction:
    by_rho = change.l2_squared / (2 * largest_rho(epsilon, delta))
    if not change.scalar or change.l1.denominator != 1:
        return by_rho
    shift = change.l1.numerator
    # Search the multiples of a 2**-20 part of the zCDP answer, which always suffices.
    unit = round_up(by_rho * Fraction(1, 2**20), 64)
    parts = least_integer(
        lambda k: k > 0 and DiscreteGaussianLoss(k * unit, shift).delta(epsilon)[1] <= delta, 2**19
    )
    return parts * unit


def _bounds(value: Callable[[], arb]) -> Bounds:
    low, high = certain(value)
    return Bounds(max(low, Fraction(0)), high)
