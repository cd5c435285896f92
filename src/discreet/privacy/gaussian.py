"""The loss laws of Gaussian noise, continuous and on the integers.

For the continuous one, delta(epsilon) = N(mu/2 - epsilon/mu) - exp(epsilon) N(-mu/2 - epsilon/mu); for the
discrete one, the best event is a half-line of integers that ends where the loss passes epsilon.  Both are
inverted by bisection on enclosures.

References.  Balle and Wang, ICML 2018; Canonne, Kamath, Steinke, NeurIPS 2020.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.lattice_gaussian import gaussian_mass
from discreet.exact.number import LARGEST_EXPONENT, ball, enclose, exp_up, shown
from discreet.privacy.bounds import ZERO, Enclosure
from discreet.privacy.zcdp import epsilon_of_rho


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    """Continuous Gaussian noise moved by the square root of `mu_squared` standard deviations."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        if self.mu_squared < 0:
            raise ParameterError(f"mu_squared must not be negative, got {shown(self.mu_squared)}")

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction | None:
        """Return None: the loss is unbounded, unless nothing moves."""
        return None if self.mu_squared else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of the law."""
        return self.mu_squared / 2

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around N(mu/2 - epsilon/mu) - exp(epsilon) N(-mu/2 - epsilon/mu)."""
        if self.mu_squared == 0:
            return ZERO
        if _vanishes(self.rho, epsilon):
            return Fraction(0), _tiny()

        def curve() -> arb:
            mu, at = ball(self.mu_squared).sqrt(), ball(epsilon)
            return _normal(mu / 2 - at / mu) - at.exp() * _normal(-mu / 2 - at / mu)

        return enclose(curve)

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return rationals around the smallest epsilon at this delta."""
        return inverted(self.delta, self.rho, delta)

    def group(self, size: int) -> "GaussianLoss":
        """Return the law for `size` units: mu multiplies."""
        return GaussianLoss(self.mu_squared * size**2)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss:
    """Integer noise, probability proportional to exp(-k**2 / (2 variance)), moved by an integer `shift`."""

    variance: Fraction
    shift: int

    def __post_init__(self) -> None:
        if self.variance <= 0:
            raise ParameterError(f"variance must be greater than 0, got {shown(self.variance)}")
        if self.shift < 0:
            raise ParameterError(f"a shift must not be negative, got {shown(self.shift)}")

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction | None:
        """Return None: the loss is unbounded, unless nothing moves."""
        return None if self.shift else Fraction(0)

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of the law."""
        return Fraction(self.shift**2) / (2 * self.variance)

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around Pr[Z <= m] - exp(epsilon) Pr[Z <= m - shift], m the best half-line."""
        if self.shift == 0:
            return ZERO
        if _vanishes(self.rho, epsilon):
            return Fraction(0), _tiny()
        bound = Fraction(self.shift, 2) - epsilon * self.variance / self.shift
        m = -(-bound.numerator // bound.denominator) - 1
        return enclose(
            lambda: (
                gaussian_mass(m, self.variance)
                - ball(epsilon).exp() * gaussian_mass(m - self.shift, self.variance)
            )
        )

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return rationals around the smallest epsilon at this delta."""
        return inverted(self.delta, self.rho, delta)

    def group(self, size: int) -> "DiscreteGaussianLoss":
        """Return the law for `size` units: the shift multiplies."""
        return DiscreteGaussianLoss(self.variance, self.shift * size)


def inverted(
    curve: Callable[[Fraction], Enclosure], rho: Fraction, delta: Fraction
) -> tuple[Fraction, Fraction | None]:
    """Return rationals around the point where a falling curve of zCDP at most rho meets delta."""
    if rho == 0 or delta >= 1 or curve(Fraction(0))[1] <= delta:
        return ZERO
    if delta == 0:
        return Fraction(0), None
    low, high = Fraction(0), epsilon_of_rho(rho, delta)
    while high - low > high / 2**56:
        middle = _short((low + high) / 2, low + high)
        below, above = curve(middle)
        if above <= delta:
            high = middle
        elif below > delta:
            low = middle
        else:
            break
    return low, high


def _vanishes(rho: Fraction, epsilon: Fraction) -> bool:
    """Whether the tail bound of zCDP, exp(-(epsilon - rho)**2 / (4 rho)), is beyond computing."""
    return epsilon > rho and (epsilon - rho) ** 2 > 4 * rho * LARGEST_EXPONENT


@cache
def _tiny() -> Fraction:
    return exp_up(Fraction(-LARGEST_EXPONENT))


def _short(x: Fraction, scale: Fraction) -> Fraction:
    bits = 80 + max(0, scale.denominator.bit_length() - scale.numerator.bit_length())
    return Fraction(x.numerator * 2**bits // x.denominator, 2**bits)


def _normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2
