"""The loss law of two-sided geometric noise, whose shift may be as long as a sum in cents.

Let Z have probability (1 - a) / (1 + a) * a**|k|, moved by an integer s.  The loss at k is (s - 2 k)
ln(1/a) for 0 <= k <= s and constant beyond, so the best event is a half-line {k <= m} with 0 <= m < s, of
probability 1 - a**(m + 1) / (1 + a) without the shift and a**(s - m) / (1 + a) with it.  Only these powers
are ever formed, as balls, so long shifts cost no more than short ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from flint import arb, ctx

from discreet.errors import ParameterError
from discreet.exact.digits import log_ball, power_ball
from discreet.exact.number import ball, enclose, ends, log_bounds, shown
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.bounds import ZERO, Enclosure


@dataclass(frozen=True, slots=True)
class GeometricLoss:
    """Two-sided geometric noise, probability (1 - a) / (1 + a) * a**|k|, moved by an integer `shift`."""

    alpha: Fraction
    shift: int

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise ParameterError(f"alpha must lie strictly between 0 and 1, got {shown(self.alpha)}")
        if self.shift < 0:
            raise ParameterError(f"a shift must not be negative, got {shown(self.shift)}")

    def __hash__(self) -> int:
        # The hash of a fraction inverts its denominator, which long ones make slow.
        return hash((self.alpha.numerator, self.alpha.denominator, self.shift))

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction:
        """Return the largest loss, shift * ln(1/alpha), rounded up."""
        unit = log_inverse(self.alpha.numerator, self.alpha.denominator)[1]
        return unit if self.shift == 1 else unit * self.shift

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of the law, its Kullback-Leibler divergence, rounded up."""
        if self.shift == 0:
            return Fraction(0)

        def divergence() -> arb:
            # E|Z - s| - E|Z| = s - 2 E[min(s, Z) for Z > 0] = s - 2 a (1 - a**s) / (1 - a**2).
            a = ball(self.alpha)
            outside = ball(1 - self.alpha**2)
            return (self.shift - 2 * a * (1 - power_ball(self.alpha, self.shift)) / outside) * -log_ball(
                self.alpha
            )

        return enclose(divergence)[1]

    def atoms(self) -> AtomsLoss:
        """Return the finite pair behind the law: the two flat ends and the points between."""
        a, s = self.alpha, self.shift
        if s == 0:
            return AtomsLoss(((Fraction(1), Fraction(1)),))
        end, step = 1 / (1 + a), (1 - a) / (1 + a)
        inside = [(step * a**k, step * a ** (s - k)) for k in range(1, s)]
        return AtomsLoss(((end, end * a**s), *inside, (end * a**s, end)))

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around the maximum over half-lines {k <= m} of their excess probability."""
        if self.shift == 0:
            return ZERO
        # The loss at k is (shift - 2 k) ln(1/alpha); the best half-line ends where it passes epsilon.
        best = (self.shift - epsilon / log_bounds(1 / self.alpha, self._bits)[0]) / 2

        def excess(m: int) -> arb:
            p, q = self._below(m)
            return p - ball(epsilon).exp() * q

        return self._largest(best, excess)

    def epsilon(self, delta: Fraction) -> Enclosure:
        """Return rationals around the smallest epsilon at this delta."""
        if self.shift == 0 or delta >= 1:
            return ZERO
        # Half-line m asks for exp(epsilon) >= (p - delta) / q, a parabola in alpha**m with this maximum.
        top = (1 - delta) * (1 + self.alpha) / (2 * self.alpha)
        best = (
            log_bounds(top, self._bits)[0] / log_bounds(self.alpha, self._bits)[0]
            if top != 1
            else Fraction(0)
        )

        def crossing(m: int) -> arb:
            excess = self._below(m)[0] - ball(delta)
            # In logarithms, because the ratio itself may have more digits than there is room for.
            price = (m - self.shift) * log_ball(self.alpha) + (1 + ball(self.alpha)).log()
            if excess > 0:
                return excess.log() + price
            return arb(-1).union(excess.upper().log() + price) if excess.upper() > 0 else arb(-1)

        return self._largest(best, crossing)

    def group(self, size: int) -> "GeometricLoss":
        """Return the law for `size` units: the shift multiplies."""
        return GeometricLoss(self.alpha, self.shift * size)

    @property
    def _bits(self) -> int:
        """The precision at which a place among as many points as the shift has is known to one of them."""
        return 96 + self.shift.bit_length()

    def _below(self, m: int) -> tuple[arb, arb]:
        """Return the probabilities of {k <= m}, 0 <= m < shift, without and with the shift."""
        end = 1 + ball(self.alpha)
        return 1 - power_ball(self.alpha, m + 1) / end, power_ball(self.alpha, self.shift - m) / end

    def _largest(self, best: Fraction, value: Callable[[int], arb]) -> Enclosure:
        """Return rationals around the maximum, if positive, of a unimodal function; it is near `best`."""
        near = {min(max(int(best // 1) + step, 0), self.shift - 1) for step in (-1, 0, 1, 2)}
        sides = [_positive_enclosure(partial(value, m)) for m in near]
        return max(low for low, _ in sides), max(high for _, high in sides)


@lru_cache(maxsize=4096)
def log_inverse(over: int, under: int) -> Enclosure:
    """Return rationals around ln(1 / alpha), kept for the next question; a fraction takes long to hash."""
    return log_bounds(Fraction(under, over))


def _positive_enclosure(function: Callable[[], arb]) -> Enclosure:
    """Return rationals around max(f(), 0); a value too near zero to tell is enclosed by [0, 2**-256]."""
    with ctx.workprec(320):
        value = function()
        if not value > 0:
            return Fraction(0), max(Fraction(0), ends(value)[1])
    return enclose(function)
