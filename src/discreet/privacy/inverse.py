"""The curve of a sum of losses and its inverse, as rationals on both sides of the truth."""

from fractions import Fraction
from math import inf, isfinite, log

from discreet.exact.number import exp_bounds, log_bounds
from discreet.privacy.fourier import Enclosed, Samples, curve, sample
from discreet.privacy.total import LossSum, chernoff, least_tilt, saddle

Enclosure = tuple[Fraction, Fraction]

_ALIASING_GOAL = 2.0**-36


def delta_at(total: LossSum, epsilon: Fraction) -> Enclosure:
    """Return rationals around D(epsilon)."""
    return _rationals(_sampled_curve(total, saddle(total, epsilon), epsilon)[1])


def epsilon_at(total: LossSum, delta: Fraction, near: Fraction | None = None) -> Enclosure:
    """Return rationals around the smallest epsilon >= 0 with D(epsilon) <= delta, for 0 < delta < 1.

    The search is in floats and proves nothing; the two ends are then moved outwards until the certified curve
    is at most delta at the upper one and at least delta at the lower one.  It begins near a guess, if one is
    given.
    """
    theta, reach = chernoff(total, delta)
    most = inf if total.ceiling is None else float(total.ceiling) * (1 - 2.0**-44)
    goal = float(log_bounds(delta)[0])
    guess = min(_rough(total, theta, min(max(reach, 0.0), most), goal) if near is None else float(near), most)
    if guess <= 0:
        if delta_at(total, Fraction(0))[1] <= delta:
            return Fraction(0), Fraction(0)
        guess = 0.0
    samples, _ = _sampled_curve(total, saddle(total, Fraction(guess)), Fraction(guess))
    guess = min(max(_root(samples, guess, goal), 0.0), most)
    there = curve(samples, Fraction(guess))
    low, high = there.logs()
    centre, step = guess, 2.0**-44 * guess + 2.0**-200
    if isfinite(low):
        centre += ((low + high) / 2 - goal) / float(samples.theta)
        step = 2.0**-50 * guess + (high - low + 4 * there.error) / float(samples.theta)
    low_end = _below(samples, centre, step, delta)
    return low_end, max(low_end, _above(samples, centre, step, delta, Fraction(max(reach, 0.0))))


def _rough(total: LossSum, theta: float, start: float, goal: float) -> float:
    """Return about where ln D meets the goal, from few samples."""
    samples = sample(total.rough(), max(theta, least_tilt(total)), Fraction(start), coarse=True)
    return _root(samples, start, goal)


def _sampled_curve(total: LossSum, theta: float, epsilon: Fraction) -> tuple[Samples, Enclosed]:
    """Return samples wide enough for this epsilon, and the curve there."""
    widen = 1.0
    while True:
        samples = sample(total, theta, epsilon, widen=widen)
        there = curve(samples, epsilon)
        narrow = there.high - there.low <= _ALIASING_GOAL * there.high
        # A wider window cures what is folded over, and nothing else.
        if (
            narrow
            or widen > 4
            or samples.smoothing
            or samples.folded(float(epsilon)) <= _ALIASING_GOAL / 4 * there.high
        ):
            return samples, there
        widen *= 1.6


def _root(samples: Samples, start: float, goal: float) -> float:
    """Return about where ln D meets the goal, by the secant method; at or below 0 the search ends."""
    slope = float(samples.theta)
    x, y = start, _middle(samples, start)
    for _ in range(40):
        move = (y - goal) / slope
        if not isfinite(move) or abs(move) <= 2.0**-40 * abs(x):
            return x
        following = x + move
        if following <= 0:
            return following
        level = _middle(samples, following)
        if isfinite(level) and level != y:
            slope = max((level - y) / (x - following), 1e-3 * slope)
        x, y = following, level
    return x


def _middle(samples: Samples, at: float) -> float:
    """Return ln of about the middle of the enclosure."""
    there = curve(samples, Fraction(at))
    height = (max(there.low, there.high / 2) + there.high) / 2
    return log(height) + float(there.log_scale) if height > 0 else -inf


def _above(samples: Samples, centre: float, step: float, delta: Fraction, last: Fraction) -> Fraction:
    """Return an epsilon at or above the root, proved so; the largest loss and Chernoff's bound always are."""
    ceiling = samples.total.ceiling
    limit = last if ceiling is None else min(last, ceiling)
    while True:
        epsilon = Fraction(max(centre + step, 0.0))
        if epsilon >= limit:
            return limit
        if _enclosed(samples, epsilon, step)[1] <= delta:
            return epsilon
        step *= 2


def _below(samples: Samples, centre: float, step: float, delta: Fraction) -> Fraction:
    """Return an epsilon at or below the root, proved so; 0 always is one."""
    while centre - step > 0:
        epsilon = Fraction(centre - step)
        if _enclosed(samples, epsilon, step)[0] >= delta:
            return epsilon
        step *= 2
    return Fraction(0)


def _enclosed(samples: Samples, epsilon: Fraction, step: float) -> Enclosure:
    """Return rationals around D(epsilon), from these samples if they were made for somewhere near."""
    if step * float(samples.theta) > 16:
        return delta_at(samples.total, epsilon)
    return _rationals(curve(samples, epsilon))


def _rationals(there: Enclosed) -> Enclosure:
    margin = Fraction(there.error)
    low = Fraction(max(there.low, 0.0)) * exp_bounds(there.log_scale - margin)[0]
    high = Fraction(max(there.high, 0.0)) * exp_bounds(there.log_scale + margin)[1]
    return min(low, Fraction(1)), min(high, Fraction(1))
