"""Sums of independent privacy losses, inverted with an error that is bounded from both sides.

Let L be the sum of the losses, K(s) = ln E[exp(s L)], and D(epsilon) = E[max(1 - exp(epsilon - L), 0)].

Theorem (inversion).  For every tilt theta > 0, with s = theta + i t,

    D(epsilon) = 1/(2 pi) * integral over t of exp(K(s) - s epsilon) / (s (s + 1)) dt,

and for losses on a lattice of step h the same over one period with h * G(s) in place of 1 / (s (s + 1)),
where G(s) is the sum of (1 - exp(-x)) exp(-s x) over the lattice's points x = loss - epsilon > 0, two
geometric series.

Theorem (sampling).  Taking the integrand at the multiples of 2 pi / W only gives the sum over all
integers m of the same expectation with L moved by m W (Poisson).  All terms are positive, so the sum is
never too small, and the excess is at most, for every 0 < x <= theta and every y > 0,

    scale * [ exp(K(theta - x) - K(theta) + x (epsilon - W)) / ((1 + theta - x) (1 - exp(-x W)))
            + exp(K(theta + y) - K(theta) - y (epsilon + W)) / ((1 + theta + y) (1 - exp(-y W))) ],

with scale = exp(K(theta) - theta epsilon): Chernoff's bound on the tilted law, applied to both ends.

Theorem (smoothing).  Where the integrand dies too slowly, compose with one more Gaussian release of
variance v: a post-processing argument makes the result D_v an upper bound, and with p_v the density of
the smoothed loss

    D_v(epsilon) - v exp(v / 8) p_v(epsilon)  <=  D(epsilon)  <=  D_v(epsilon).

Proof.  Given L, the smoothed payoff is a Black-Scholes price, whose derivative in the volatility r is
exp(x / 2 - x**2 / (2 r**2) - r**2 / 8) / sqrt(2 pi), x = L - epsilon, under the second law; it grows with
r but for the last factor, so the gain is at most sqrt(v) times its value at r = sqrt(v) without it, whose
mean is v exp(v / 8) p_v.

So both ends of the enclosure come from one row of samples; the tilt makes them relatively accurate
however small delta is.  Rounding is bounded term by term: |product of computed phi - product of phi| is
at most the product of (|phi| + error) minus the product of |phi|.

References.  Tilting: Alghamdi, Gomez, Asoodeh, Calmon, Kosut, Sankar, ICML 2023 (approximate).  Poisson
summation in option pricing: Abate and Whitt, Queueing Systems 10, 1992.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, inf, log, pi, sqrt

import numpy as np

from discreet.privacy.many import phases
from discreet.privacy.moment import ROUNDING, UNIT, Complexes, Reals, expm1
from discreet.privacy.total import LossSum

_TOLERANCE = 2.0**-47
"""Truncation and aliasing are kept below about this fraction of the value."""

_WIDTH, _COSTLY_WIDTH, _CHEAP = 1e-10, 3e-7, 2**22
"""Smoothing aims at this fraction of epsilon: the first where few exponentials do, else the second, which is
close enough not to take twice the time."""

_MOST_WORK = 3 * 10**7
_FEWEST_SAMPLES, _MOST_SAMPLES = 2**12, 2**16
_NEGLIGIBLE, _MOST_CORNERS = 2.0**-100, 2**21
_SPREADS = np.logspace(-3, 3, 61)


@dataclass(frozen=True)
class Folds:
    """Log moments on both sides of the tilt: what bounds the part of the law folded over the window."""

    left: Reals
    left_moment: Reals
    left_error: Reals
    right: Reals
    right_moment: Reals
    right_error: Reals

    def bound(self, theta: float, at: float, window: float, log_scale: float, slack: float) -> float:
        """Return a bound on what sampling adds at epsilon = at.

        Each exponent is raised by the error of its moment and by what rounding the sum of its large terms
        may take off it, so that the bound holds however large the tilt and the losses are.
        """
        with np.errstate(over="ignore"):
            below = self.left_moment - log_scale + self.left * (at - window)
            above = self.right_moment - log_scale - self.right * (at + window)
            below = below + self.left_error + _lost(self.left_moment, log_scale, self.left * (at + window))
            above = above + self.right_error + _lost(self.right_moment, log_scale, self.right * (at + window))
            below = below - np.log1p(theta - self.left) - np.log(-np.expm1(-self.left * window))
            above = above - np.log1p(theta + self.right) - np.log(-np.expm1(-self.right * window))
        return sum(exp(min(float(np.nanmin(side)) + slack, 50.0)) for side in (below, above))


def _lost(moment: Reals, log_scale: float, shift: Reals) -> Reals:
    return np.asarray(8 * UNIT * (np.abs(moment) + abs(log_scale) + np.abs(shift)))


def _folds(total: LossSum, theta: float, smoothing: float) -> Folds:
    spread = _spread(total, theta)
    left = np.unique(np.minimum(_SPREADS / spread, theta))
    right = _SPREADS / spread

    def log_moment(tilts: Reals) -> Reals:
        return np.asarray(total.log_moment(tilts) + smoothing * tilts * (tilts + 1) / 2)

    return Folds(
        left,
        log_moment(theta - left),
        total.log_moment_errors(theta - left),
        right,
        log_moment(theta + right),
        total.log_moment_errors(theta + right),
    )


@dataclass(frozen=True, slots=True)
class TurnedTerms:
    """Terms of a sum before they are turned by exp(i t x), with what bounds the error of the turned sum."""

    values: Complexes
    error: float
    error_per_turn: float

    @classmethod
    def of(cls, values: Complexes, errors: Reals, t: Reals) -> "TurnedTerms":
        """Return the row of these terms, each known up to its error."""
        sizes = np.abs(values)
        fixed = float(errors.sum()) + 96 * UNIT * float(sizes.sum())
        per_turn = 8 * UNIT * float((t * sizes).sum())
        return cls(values, fixed, per_turn)

    def turned(self, x: float, window: float) -> tuple[float, float]:
        """Return the sum of all terms, those at negative t by symmetry, and a bound on its error."""
        total = float((self.values * phases(x * (2 * pi / window), len(self.values))).real.sum())
        slip = 2 * (self.error + abs(x) * self.error_per_turn) * (1 + 1e-9)
        return (2 * total - float(self.values[0].real)) / window, slip / window


@dataclass(frozen=True)
class Samples:
    """The characteristic function of the tilted sum at multiples of 2 pi / window, from 0 on."""

    total: LossSum
    theta: Fraction
    window: float
    smoothing: float
    lattice: tuple[Fraction, Fraction] | None
    t: Reals
    phi: Complexes
    error: Reals
    centre: Fraction
    log_scale: float
    """K at theta, the smoothing included."""
    log_scale_error: float
    missing: tuple[float, float]
    """Bounds on what lies beyond the last sample: of the curve, and of the density."""
    folds: Folds

    @cached_property
    def payoff(self) -> TurnedTerms:
        """Return the terms of the curve for losses not on a lattice."""
        s = float(self.theta) + 1j * self.t
        weight = np.asarray(1 / (s * (1 + s)), dtype=np.complex128)
        return self.row(weight, 8 * UNIT * np.abs(weight))

    @cached_property
    def density(self) -> TurnedTerms:
        """Return the terms of the density."""
        return TurnedTerms.of(self.phi, self.error, self.t)

    @cached_property
    def series(self) -> tuple[TurnedTerms, TurnedTerms]:
        """Return the terms with step / (1 - exp(-s step)), and the same at s + 1: two geometric series."""
        if self.lattice is None:
            raise AssertionError("geometric series need a lattice")
        s, h = float(self.theta) + 1j * self.t, float(self.lattice[1])
        # An exponent s h is rounded by at most (1 + theta + t) h units.
        units = (16 + 8 * (1 + float(self.theta) + self.t) * h) * UNIT
        slow, fast = np.asarray(h / -expm1(-s * h)), np.asarray(h / -expm1(-(1 + s) * h))
        return self.row(slow, units * np.abs(slow)), self.row(fast, units * np.abs(fast))

    def row(self, weight: Complexes, weight_error: Reals) -> TurnedTerms:
        """Return the terms with weights known up to an error."""
        return TurnedTerms.of(
            self.phi * weight, self.error * np.abs(weight) + np.abs(self.phi) * weight_error, self.t
        )

    def folded(self, at: float) -> float:
        """Return a bound on what sampling adds at epsilon = at."""
        # One part in a hundred of a bound this small covers the rounding of every moment in it.
        slack = 2 * self.log_scale_error + 1e-2
        return self.folds.bound(float(self.theta), at, self.window, self.log_scale, slack)


def sample(
    total: LossSum, theta: float, epsilon: Fraction, *, widen: float = 1.0, coarse: bool = False
) -> Samples:
    """Return the samples that serve epsilons near the given one; coarse ones are few and smoothed more."""
    tilt = Fraction(float(np.float32(theta)))
    theta, at = float(tilt), float(epsilon)
    spread = _spread(total, theta)
    small = _TOLERANCE / ((1 + theta) * (1 + theta * spread))
    window = widen * _window(total, theta, at, spread, small)
    if total.mesh is not None:
        # A window cut short is only folded over more, which the bound on that says.
        window = smooth_odd(ceil(min(window / float(total.mesh), _MOST_CORNERS))) * float(total.mesh)
    most = min(max(_MOST_WORK // total.work, _FEWEST_SAMPLES), _FEWEST_SAMPLES if coarse else _MOST_SAMPLES)
    grid = total.common_lattice
    if grid is not None and total.mesh == grid[1] and not coarse:
        count = round(window / float(grid[1]))
        return _sampled(total, tilt, window, 0.0, grid, (count + 1) // 2, 0.0)
    if grid is not None and window / float(grid[1]) <= most:
        count = max(ceil(window / float(grid[1])) | 1, 3)
        return _sampled(total, tilt, count * float(grid[1]), 0.0, grid, (count + 1) // 2, 0.0)
    reach = _reach(total, theta, small, window, most)
    smoothing = 0.0
    if reach * window > 2 * pi * most:
        width = _WIDTH if most * total.work <= _CHEAP else _COSTLY_WIDTH
        least, size = -2 * log(small) * (window / (2 * pi * most)) ** 2, max(at, spread) / (1 + theta)
        # Half as many samples do, smoothed four times as much, where that is still close.
        smoothing = max(width * size, least, min(4 * least, _COSTLY_WIDTH * size))
        reach = sqrt(-2 * log(small) / smoothing)
    count = ceil(reach * window / (2 * pi)) + 1
    return _sampled(total, tilt, window, smoothing, None, count, reach)


def smooth_odd(least: int) -> int:
    """Return the least odd number from `least` on without prime factors above 7: a quick transform."""
    found = int(3 ** ceil(log(max(least, 3)) / log(3) + 1e-9))
    sevens = 1
    while sevens < found:
        fives = sevens
        while fives < found:
            rest = max(1, -(-least // fives))
            threes = int(3 ** max(0, ceil(log(rest) / log(3) - 1e-9)))
            found = min(found, fives * threes) if fives * threes >= least else found
            fives *= 5
        sevens *= 7
    return found


def _spread(total: LossSum, theta: float) -> float:
    """Return about the standard deviation of the tilted sum."""
    step = 1e-3 * theta
    low, middle, high = total.log_moment(np.array([theta - step, theta, theta + step]))
    rough = (high - 2 * middle + low) / step**2
    return sqrt(max(rough, 1e-12 / (1 + theta) ** 2))


def _window(total: LossSum, theta: float, at: float, spread: float, small: float) -> float:
    left = np.unique(np.minimum(_SPREADS / spread, theta))
    right = _SPREADS / spread
    here = float(total.log_moment(np.array([theta]))[0])
    need_left = (total.log_moment(theta - left) - here + left * at - log(small)) / left
    need_right = (total.log_moment(theta + right) - here - right * at - log(small)) / right
    return float(max(np.nanmin(need_left), np.nanmin(need_right), 8 * spread))


def _reach(total: LossSum, theta: float, small: float, window: float, most: int) -> float:
    """Return a t beyond which the integrand may be dropped, or infinity if that takes too many samples."""
    t, last = 2 * pi / window, 2 * pi * most / window
    while t <= last:
        if total.log_decay(theta, t, float(total.variance)) - log(pi * t) <= log(small):
            return t
        t *= 1.25
    return inf


def _sampled(
    total: LossSum,
    tilt: Fraction,
    window: float,
    smoothing: float,
    grid: tuple[Fraction, Fraction] | None,
    count: int,
    reach: float,
) -> Samples:
    theta = float(tilt)
    variance = float(total.variance) + smoothing
    t = np.arange(count) * (2 * pi / window)
    factors, beyond = list(total.factors(tilt, t, window)), 0.0
    if grid is not None:
        # Of a long row only what is not negligible is kept; no weight exceeds the one at t = 0.
        last = min(_alive(*factor) for factor in factors)
        beyond = 2 * (count - last) * _NEGLIGIBLE / window * (1 / theta + float(grid[1]))
        # What is left of the other laws may be more than one by their errors.
        beyond *= exp(min(sum(float(n @ slip.max(axis=1)) for _, slip, n in factors), 600.0)) * (1 + 1e-9)
        t, factors = t[:last], [(phi[:, :last], slip[:, :last], n) for phi, slip, n in factors]
    log_size, angle = -variance * t * t / 2, np.zeros(len(t))
    log_most = log_size.copy()
    with np.errstate(divide="ignore"):
        for phi, slip, counts in factors:
            sizes = np.abs(phi)
            if (counts == 1).all():
                product = phi.prod(axis=0)
                log_size += np.log(np.abs(product))
                log_most += np.log((sizes + slip).prod(axis=0))
                angle += np.angle(product)
            else:
                log_size += counts @ np.log(sizes)
                log_most += counts @ np.log(sizes + slip)
                angle += counts @ np.angle(phi)
    size, most = np.exp(log_size), np.exp(log_most)
    rounding = UNIT * (
        ROUNDING + 8 * total.work + 8 * np.abs(angle) + 8 * np.maximum(-log_most, 0) + 8 * variance * t * t
    )
    gap = np.where(np.isfinite(log_size), -np.expm1(np.minimum(log_size - log_most, 0)), 1.0)
    missing = (beyond, 0.0)
    if grid is None:
        bound = exp(max(total.log_decay(theta, float(t[-1]), variance) + 1e-2, -700.0)) / pi
        curve = bound * min(1 / t[-1], 1 / (variance * t[-1] ** 3) if variance else inf)
        missing = (float(curve), float(bound / (variance * t[-1])) if variance else inf)
    return Samples(
        total,
        tilt,
        window,
        smoothing,
        grid,
        t,
        size * (np.cos(angle) + 1j * np.sin(angle)),
        most * gap + most * rounding,
        total.centre(tilt) + Fraction(smoothing) * (tilt + Fraction(1, 2)),
        float(total.log_moment(np.array([theta]))[0]) + smoothing * theta * (theta + 1) / 2,
        total.log_moment_error(theta),
        missing,
        _folds(total, theta, smoothing),
    )


def _alive(phi: Complexes, slip: Reals, counts: Reals) -> int:
    """Return how many samples there are until these laws alone make the rest negligible."""
    least = _NEGLIGIBLE ** (1 / float(counts[0])) - float(slip[0].max())
    if least <= 0:
        return len(phi[0])
    sizes = phi[0].real ** 2 + phi[0].imag ** 2
    return int(np.flatnonzero(sizes > least**2 * (1 - 1e-9))[-1]) + 1


@dataclass(frozen=True, slots=True)
class Enclosed:
    """exp(log_scale) times a number between low and high."""

    log_scale: Fraction
    error: float
    low: float
    high: float

    def logs(self) -> tuple[float, float]:
        """Return the logarithms of the two ends."""
        scale = float(self.log_scale)
        return (log(self.low) + scale if self.low > 0 else -inf), (
            log(self.high) + scale if self.high > 0 else -inf
        )


def curve(samples: Samples, epsilon: Fraction) -> Enclosed:
    """Return D(epsilon), enclosed."""
    turn = float(samples.centre - epsilon)
    if samples.lattice is None:
        value, slip = samples.payoff.turned(turn, samples.window)
    else:
        value, slip = _on_lattice(samples, epsilon)
    high = value + slip + samples.missing[0]
    low = value - slip - samples.missing[0] - samples.folded(float(epsilon))
    if samples.smoothing:
        density, density_slip = samples.density.turned(turn, samples.window)
        # Smoothing as wide as that says nothing from below.
        bump = samples.smoothing * exp(samples.smoothing / 8) if samples.smoothing < 4096 else inf
        low = low - bump * (density + density_slip + samples.missing[1]) * (1 + 1e-12) if bump < inf else -inf
    log_scale = Fraction(samples.log_scale) - samples.theta * epsilon
    return Enclosed(log_scale, samples.log_scale_error, low, high)


def _on_lattice(samples: Samples, epsilon: Fraction) -> tuple[float, float]:
    """Return the sum of the terms with h G(s), and a bound on its error: both series start at one point."""
    if samples.lattice is None:
        raise AssertionError("lattice weights need a lattice")
    point, step = samples.lattice
    first = (point - epsilon) % step or step
    turn, x, theta = float(samples.centre - epsilon - first), float(first), float(samples.theta)
    slow, slow_slip = samples.series[0].turned(turn, samples.window)
    fast, fast_slip = samples.series[1].turned(turn, samples.window)
    start, later = exp(-theta * x), exp(-x)
    rounding = (16 + 4 * (1 + theta) * x) * UNIT * (abs(slow) + later * abs(fast))
    return start * (slow - later * fast), start * (slow_slip + later * fast_slip + rounding)
