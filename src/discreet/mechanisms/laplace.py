"""The Laplace mechanism on a grid: real answers, exact noise, no floating-point leak.

Continuous Laplace noise has density exp(-|x| / b) / (2b), mean absolute value b and
Pr[|Y| >= t b] = exp(-t).  Added in floating point it is not private: which doubles can come out
depends on the true answer.  Here the answer x is first rounded to the grid of multiples of `step`,
k = floor(x / step + 1/2), and then gets two-sided geometric noise of ratio a = exp(-step / b), made
rational.

Theorem.  Rounding moves answers apart by less than one step in each coordinate that changes: if the
changes are d_1 .. d_n with sum at most s, the grid answers change by at most the sum of
ceil(d_i / step), which is at most ceil(s / step + n) - 1 (for a single number: ceil(s / step)).  With
that l1 sensitivity S the release is epsilon-private exactly when exp(epsilon) >= a**-S, and as the
step shrinks the law tends to the continuous one.

References.  Dwork, McSherry, Nissim, Smith, TCC 2006.  Floating point: Mironov, CCS 2012.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor, inf
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.digits import TwoSided, proper_ratio
from discreet.exact.number import Real, ball, certain, float_up, log_down, positive, rational
from discreet.exact.perturb import add
from discreet.exact.sample import two_sided_geometric, two_sided_geometric_wide
from discreet.exact.wide import Wide
from discreet.markup import built
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.bounds import Bounds
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.sensitivity import Sensitivity

LARGEST = float(np.finfo(np.float64).max)

BLOCK = 15_000
"""Numbers per pass, whose noise is drawn in one pass too; up to four times as many of a large array."""

FINENESS = 2**20
"""Grid steps per unit of noise scale unless told otherwise: rounding then costs a millionth of epsilon."""


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace noise on the multiples of `step`; `alpha` is the ratio from one multiple to the next."""

    alpha: Fraction
    step: Fraction
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "step", positive(self.step, "step"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))

    @classmethod
    def calibrate(
        cls, *, epsilon: Real, sensitivity: Sensitivity | Real = 1, step: Real | None = None
    ) -> "Laplace":
        """Return the least noise that keeps an answer of this l1 sensitivity epsilon-private on the grid."""
        change = Sensitivity.of(sensitivity)
        grid = _fine(change.l1, positive(epsilon, "epsilon")) if step is None else positive(step, "step")
        on_grid = _on_grid(change, grid)
        return cls(Geometric.calibrate(epsilon=epsilon, sensitivity=on_grid).alpha, grid, sensitivity=change)

    @property
    def noise(self) -> Geometric:
        """Return the noise in units of the step."""
        return Geometric(self.alpha)

    @property
    def scale(self) -> Fraction:
        """Return b = step / -ln(alpha), the scale of the continuous law it stands for, rounded up."""
        return _scale(self.alpha, self.step)

    def pmf(self, x: Real) -> Bounds:
        """Return Pr[Z = x]; zero off the grid.

        The grid is fine, so exact fractions would have millions of digits: the answer is an enclosure.
        """
        k = rational(x, "x") / self.step
        if k.denominator != 1:
            return Bounds.exactly(Fraction(0))

        def chance() -> arb:
            a = ball(self.alpha)
            return (1 - a) / (1 + a) * (a.log() * abs(k.numerator)).exp()

        return Bounds(*certain(chance))

    def cdf(self, x: Real) -> Bounds:
        """Return Pr[Z <= x]."""
        k = floor(rational(x, "x") / self.step)
        return Bounds(*certain(lambda: TwoSided(self.alpha).cumulative(k)))

    def density(self, x: float) -> float:
        """Return the density of the continuous law of the same scale, for pictures and analysis."""
        scale = self._float_scale
        return exp(-abs(float(x)) / scale) / (2 * scale)

    def distribution(self, x: float) -> float:
        """Return the distribution function of the continuous law of the same scale."""
        tail = exp(-abs(float(x)) / self._float_scale) / 2
        return tail if x < 0 else 1 - tail

    @property
    def _float_scale(self) -> float:
        scale = float_up(self.scale)
        if not 1e-300 < scale < 1e300:
            raise ParameterError("the scale of this law is beyond floats; use pmf and cdf, which are exact")
        return scale

    def sample(self, values: Any) -> Any:
        """Return values rounded to the grid plus Z.

        Exact numbers come back as Fractions on the grid, floats and arrays as the nearest floats to points of
        the grid, the largest float standing for all that lie beyond; floats must be finite.
        """
        if isinstance(values, np.ndarray):
            if values.ndim == 0:
                return self.sample(values.item())
            return self._sampled(values)
        over, under = self.step.numerator, self.step.denominator
        if isinstance(values, float):
            point = _nearest_point(values, over, under)
            if point is None:
                point = rounded(rational(values, "value"), over, under)
            return nearest_float((point + two_sided_geometric(self.alpha)) * over, under)
        return (rounded(rational(values, "value"), over, under) + two_sided_geometric(self.alpha)) * self.step

    def _sampled(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return an array with noise, block by block: what is written in between stays in the cache."""
        flat, out = values.reshape(-1), np.empty(values.size)
        blocks = -(-values.size // max(BLOCK, min(values.size // 8, 4 * BLOCK)))
        for number in range(blocks):
            # Of nearly one size, so that none is small.
            block = slice(values.size * number // blocks, values.size * (number + 1) // blocks)
            noise = two_sided_geometric_wide(self.alpha, block.stop - block.start)
            out[block] = self._noisy(flat[block], noise)
        return out.reshape(values.shape)

    def _noisy(self, values: NDArray[Any], noise: NDArray[Any] | Wide) -> NDArray[np.float64]:
        """Return the floats nearest to the points of the grid that noise makes of values."""
        if isinstance(noise, Wide):
            near = self._near(values, 2.0 ** (51 + noise.bits)) if noise.held else None
            if near is not None:
                return noise.plus(near) * self._power
            noise = noise.integers()
        elif noise.dtype != object and max(noise.max(initial=0), -noise.min(initial=0)) < 2**51:
            near = self._near(values, 2.0**51)
            if near is not None:
                # Sums of integers below 2**51 are exact in floats, and so are their products with the step.
                near += noise
                near *= self._power
                return near
        return self.floats(add(self.round(values), noise))

    def floats(self, steps: NDArray[Any]) -> NDArray[np.float64]:
        """Return the float nearest to each multiple of the step: one and the same for one point."""
        over, under = self.step.numerator, self.step.denominator
        if steps.dtype != object and self._power:
            # An integer becomes the nearest float, and its product with a power of two is exact.
            return steps.astype(np.float64) * self._power
        if steps.dtype != object and max(int(np.abs(steps).max(initial=1)) * over, under) < 2**53:
            # Both are exact floats, and so their quotient is the nearest.
            return np.asarray((steps * over) / np.float64(under), dtype=np.float64)
        nearest = [nearest_float(int(k) * over, under) for k in steps.flat]
        return np.array(nearest, dtype=np.float64).reshape(steps.shape)

    def round(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return floor(x / step + 1/2) for each number x, exactly."""
        if values.dtype.kind in "iuO":
            twice = 2 * self.step.denominator * _exact(values) + self.step.numerator
            return np.asarray(twice // (2 * self.step.numerator))
        if values.dtype.kind != "f" or values.dtype.itemsize > 8:
            raise ParameterError(
                f"values must be integers, fractions or floats of at most 64 bits, got {values.dtype}"
            )
        floats = np.asarray(values, dtype=np.float64)
        if not np.isfinite(floats).all():
            raise ParameterError("values must be finite; replace or clamp NaN and infinities first")
        near = self._near(floats, 2.0**62)
        if near is not None:
            return near.astype(np.int64)
        exact = [floor(Fraction(float(x)) / self.step + Fraction(1, 2)) for x in floats.flat]
        return np.array(exact, dtype=object).reshape(floats.shape)

    @property
    def _power(self) -> float:
        """Return the step if it is a power of two that floats are multiplied by exactly, else 0."""
        over, under = self.step.numerator, self.step.denominator
        exact = over & (over - 1) == under & (under - 1) == 0 and max(over, under).bit_length() < 900
        return over / under if exact else 0.0

    def _near(self, values: NDArray[Any], most: float) -> NDArray[np.float64] | None:
        """Return floor(x / step + 1/2) for each float x, as floats, if all are below `most`, else nothing.

        It is floor(2 x / step) - floor(x / step).  Products with a power of two are exact, and so is the
        difference: of integers below 2**53, or of an even one and its half.
        """
        step = self._power
        # Neither NaN nor an infinity passes, nor anything where there is no such step.
        largest = max(values.max(initial=0), -values.min(initial=0)) if values.dtype == np.float64 else inf
        if not largest < step * most:
            return None
        scaled = values / step
        below = np.floor(scaled)
        scaled += scaled
        np.floor(scaled, out=scaled)
        scaled -= below
        return np.asarray(scaled)

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release, rounding to the grid included."""
        return self.noise.guarantee(_on_grid(moved(sensitivity, self.sensitivity, self), self.step))

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the whole loss law, for composition, rounding to the grid included."""
        return self.noise.profile(_on_grid(moved(sensitivity, self.sensitivity, self), self.step))

    def radius(self, beta: Real = "0.05") -> Fraction:
        """Return the smallest multiple r of the step with Pr[|Z| > r] <= beta; rounding adds half a step."""
        return self.noise.radius(beta) * self.step

    @property
    def mean_error(self) -> Fraction:
        """Return E|Z|, which tends to the scale b as the step shrinks."""
        return self.noise.mean_error * self.step

    @property
    def variance(self) -> Fraction:
        """Return Var Z, which tends to 2 b**2 as the step shrinks."""
        return self.noise.variance * self.step**2


def rounded(exact: Fraction, over: int, under: int) -> int:
    """Return floor(x / step + 1/2), in integers."""
    return (2 * exact.numerator * under + exact.denominator * over) // (2 * exact.denominator * over)


def _nearest_point(x: float, over: int, under: int) -> int | None:
    """Return the same of a float's shortest decimal, or None where floats do not tell.

    The decimal is within a relative 2**-52 of the float, and a product with a power of two, the floor of
    what is below 2**51 and its distance to that are exact.
    """
    if over != 1 or under & (under - 1) or under.bit_length() > 900 or not abs(x) < 2.0**51 / under:
        return None
    scaled = float(x) * under
    below = floor(scaled)
    part = scaled - below - 0.5
    return below + (part > 0) if abs(part) > abs(scaled) * 2.0**-52 else None


def _exact(values: NDArray[Any]) -> NDArray[Any]:
    """Return integers and fractions as an array of exact numbers."""
    if values.dtype != object:
        return values.astype(object)
    exact = np.empty(values.size, dtype=object)
    exact[:] = [rational(value, "value") for value in values.flat]
    return exact.reshape(values.shape)


def nearest_float(over: int, under: int) -> float:
    """Return the float nearest to a fraction, the largest one for what lies beyond."""
    try:
        return over / under
    except OverflowError:
        return LARGEST if over > 0 else -LARGEST


@lru_cache(maxsize=256)
def _scale(alpha: Fraction, step: Fraction) -> Fraction:
    return step / log_down(1 / alpha)


def _fine(change: Fraction, epsilon: Fraction) -> Fraction:
    if change <= 0:
        raise ParameterError("sensitivity must be greater than 0; an answer nobody can move needs no noise")
    finest = min(change, change / epsilon) / FINENESS
    # The largest power of two at or below it, so that rounding floats to the grid is exact.
    power = finest.numerator.bit_length() - finest.denominator.bit_length()
    return Fraction(2) ** (power if Fraction(2) ** power <= finest else power - 1)


def _on_grid(change: Sensitivity, step: Fraction) -> Sensitivity:
    if change.l0 is None:
        raise ParameterError(
            "the grid needs to know how many coordinates one unit can move: give the sensitivity l0"
        )
    steps = ceil(change.l1 / step + change.l0) - 1 if change.l1 else 0
    return Sensitivity(Fraction(steps), Fraction(steps**2), Fraction(steps), change.l0)
