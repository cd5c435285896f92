"""The discrete Gaussian mechanism: integer noise with a bell-shaped law and no floating point.

Theorem.  Let f take integer vectors as values, let D be its squared l2 sensitivity, and add to each
coordinate an independent Z with Pr[Z = k] proportional to exp(-k**2 / (2 v)) for a rational v.  The
release is rho-zCDP with rho = D / (2 v).  For a single integer that moves by at most t it is
(epsilon, delta)-private exactly when

    delta >= Pr[Z <= m] - exp(epsilon) * Pr[Z <= m - t],   m = ceil(t/2 - epsilon v / t) - 1.

Smaller shifts are covered: the law is log-concave, so the worst event for any shift t is {z <= m} for
some m, and for a fixed m the right-hand side grows with t.  No pure epsilon is ever enough: the log-ratio
of the laws at two neighbours is linear in the output, hence unbounded.

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
from discreet.privacy.guarantee import Concentrated, Profile
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
        """Return the whole loss law of a single integer, for composition; vectors compose by `guarantee`."""
        change = moved(sensitivity, self.sensitivity, self)
        if not change.scalar:
            raise ParameterError("the exact law is for a single integer; vectors compose by their guarantee")
        return Profile(DiscreteGaussianLoss(self.sigma_squared, whole(change.l1, "sensitivity")))

    @property
    def parts(self) -> tuple[tuple[Profile | Concentrated, int], ...]:
        """Return what composition can use: the law of a single integer, and for vectors the zCDP."""
        change = moved(None, self.sensitivity, self)
        lawful = change.scalar and change.l1.denominator == 1
        return ((self.profile() if lawful else self.guarantee(), 1),)

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
