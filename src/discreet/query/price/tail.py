"""How likely it is that independent noises, each times a constant, add up to something large.

Theorem (geometric).  A two-sided geometric Z of ratio a is the difference of two geometric numbers, which are
the whole parts of two exponential variables of rate r = ln(1 / a); so with L the difference of those, a
Laplace variable of scale 1 / r, |Z - L| < 1.  Hence |sum c_i Z_i| exceeds x + sum |c_i| only where
|sum c_i L_i| exceeds x, and for different b_i = |c_i| / r_i

    Pr[|sum c_i L_i| > x] = sum of A_i exp(-x / b_i),   A_i = product over j of b_i^2 / (b_i^2 - b_j^2),

the partial fractions of the product of 1 / (1 + b_i^2 t^2).  Symmetric unimodal laws stay so when added, and
widening one of them only moves probability outwards (Birnbaum 1948, Ann. Math. Stat. 19): so b_i that are
nearly equal are pushed apart upwards, by a thousandth, which keeps the sum an upper bound.

One or two noises of small scale, where a whole step matters, are added up exactly instead.

Theorem (staircases).  Let X be a noise on whole numbers whose law is symmetric and falls away from 0, U
uniform on (-1/2, 1/2), Y the sum of the others, symmetric too, and T(y) at least Pr[|Y| >= y] and falling.
Then for 0 = y_0 < y_1 < ... < y_K

    Pr[|c X + Y| >= x] <= sum over k of g(y_{k+1}) (T(y_k) - T(y_{k+1})) + T(y_K),
    g(y) = Pr[|c (X + U) + y| >= x - |c| / 2].

Proof.  |c X + Y| and |c (X + U) + Y| differ by |c| / 2 at most.  The density of X + U is symmetric and falls
away from 0, so an interval around 0 holds less of it the farther it is moved (Anderson 1955): g rises with
|y|.  So the bound rises where Pr[|Y| >= y] gives way to the larger T, with T(0) = 1, and where every |Y|
between y_k and y_{k+1} is taken for the larger end.  T is this bound again, of one noise less.

Gaussian noises have the normal law of their variances together, but for one step each.  What a plan makes of
many noises (`workload`) is judged by its deviation alone, as everywhere there.

The quantile of |sum c_i L_i| is a norm of c: quantiles of projections of a symmetric log-concave law are the
support function of a convex body (Meyer, Reisner 1991; Bobkov 2010), which `fieller` relies on for the set of
accepted values to be an interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, inf, log, sqrt
from typing import Any, TypeAlias

APART = 1.001
COARSE = 0.02
"""At rates above this, two geometric noises are added up exactly: a step is more than 1/50 of their scale."""


@dataclass(frozen=True, slots=True)
class Peaked:
    """Two-sided geometric noise of this rate, the logarithm of one over its ratio."""

    rate: float


@dataclass(frozen=True, slots=True)
class Stepped:
    """Staircase noise: its ratio from one step to the next, the width of a step, the innermost reach."""

    ratio: float
    width: int
    inner: int
    deviation: float


@dataclass(frozen=True, slots=True)
class Round:
    """Gaussian noise of this deviation on whole numbers."""

    deviation: float


@dataclass(frozen=True, slots=True)
class Planned:
    """What a plan makes of noises: a deviation, and the size of a step in deviations."""

    deviation: float
    bell: bool
    grain: float


NoiseLaw: TypeAlias = Peaked | Stepped | Round | Planned
Parts: TypeAlias = tuple[tuple[float, NoiseLaw], ...]
"""Noises with the constants that they are multiplied by."""


def parts_of(terms: Mapping[int, float], laws: Mapping[int, tuple[float, NoiseLaw]]) -> Parts:
    """Return a combination of measurements as noises: each law comes with the unit of its whole numbers."""
    return tuple((by * laws[place][0], laws[place][1]) for place, by in terms.items() if by)


def chance(parts: Parts, distance: float) -> float:
    """Return a bound on the probability that the noises add up to `distance` or more, up or down."""
    if distance <= 0:
        return 1.0
    steps = sum(abs(by) for by, _ in parts)
    steep = [(abs(by), law.rate) for by, law in parts if isinstance(law, Peaked)]
    if not parts:
        return 0.0
    if len(steep) == len(parts):
        if len(steep) <= 2 and min(rate for _, rate in steep) > COARSE:
            return _whole(steep, distance)
        return _laplace([by / rate for by, rate in steep], distance - steps)
    if all(isinstance(law, Round) for _, law in parts):
        deviation = sqrt(sum((by * law.deviation) ** 2 for by, law in parts if isinstance(law, Round)))
        return min(1.0, _normal((distance - steps) / deviation))
    whole = [(by, law) for by, law in parts if isinstance(law, Peaked | Stepped)]
    if len(whole) == len(parts):
        return _stepped(whole, distance)
    planned = [(by, law) for by, law in parts if isinstance(law, Planned)]
    if len(planned) < len(parts):
        # Noises of different kinds: none of them may exceed its part of the distance.
        deviations = [abs(by) * _deviation(law) for by, law in parts]
        each = [distance * deviation / sum(deviations) for deviation in deviations]
        return min(1.0, sum(chance((part,), part_of) for part, part_of in zip(parts, each, strict=True)))
    return _of_plans(planned, distance)


def quantile(parts: Parts, beta: Fraction | float) -> float:
    """Return a distance that the noises together stay below, but for probability beta."""
    return _quantile(parts, float(beta))


@lru_cache(maxsize=4096)
def _quantile(parts: Parts, beta: float) -> float:
    low, high = 0.0, max(abs(by) * _deviation(law) for by, law in parts) if parts else 0.0
    while chance(parts, high) > beta:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if chance(parts, middle) <= beta else (middle, high)
    return high


def _deviation(law: NoiseLaw) -> float:
    return sqrt(2) / law.rate + 1 if isinstance(law, Peaked) else law.deviation + 1


def _normal(deviations: float) -> float:
    return erfc(deviations / sqrt(2))


def _laplace(scales: Sequence[float], distance: float) -> float:
    if distance <= 0:
        return 1.0
    apart: list[float] = []
    for scale in sorted(scales):
        apart.append(max(scale, apart[-1] * APART) if apart else scale)
    # A scale that is far below the largest one changes nothing that could be seen.
    apart = [scale for scale in apart if scale > apart[-1] * 1e-9]
    total = 0.0
    for i, own in enumerate(apart):
        weight = 1.0
        for j, other in enumerate(apart):
            if j != i:
                weight /= 1 - (other / own) ** 2
        total += weight * exp(-distance / own)
    return min(max(total, 0.0), 1.0)


def _whole(noises: Sequence[tuple[float, float]], distance: float) -> float:
    """Return the exact probability for one or two geometric noises."""
    (by, rate), *others = sorted(noises, key=lambda noise: noise[1] / noise[0])
    if not others:
        return _beyond(distance / by, rate)
    import numpy as np

    ((second, own),) = others
    size = ceil(40 / own)
    places = np.arange(-size, size + 1)
    ratio = exp(-own)
    mass = (1 - ratio) / (1 + ratio) * np.exp(-own * np.abs(places))
    a = exp(-rate)

    def tail(x: Any) -> Any:
        least = np.ceil(x / by - 1e-9)
        inner = np.exp(-rate * np.abs(np.where(least > 0, least, 1 - least))) / (1 + a)
        return np.where(least > 0, inner, 1 - inner)

    shift = second * places
    return min(1.0, float(np.sum(mass * (tail(distance - shift) + tail(distance + shift)))) + 1e-12)


PLACES = 256
"""In how many places the law of what is added to a staircase is looked at."""


def _stepped(parts: Sequence[tuple[float, Peaked | Stepped]], distance: float) -> float:
    import numpy as np

    (by, law), *others = sorted(parts, key=lambda part: -abs(part[0]) * _deviation(part[1]))
    left = distance / abs(by) - 0.5
    if not others:
        return min(1.0, 2 * float(_at_least(law, np.array(left + 0.5))))
    places, tails = _others(tuple(others))
    moved = np.array(places) / abs(by)
    g = np.minimum(1.0, _beside(law, left - moved) + _beside(law, left + moved))
    mass = -np.diff(np.array(tails))
    return min(1.0, float(np.sum(g[1:] * mass)) + tails[-1] + 1e-12)


@lru_cache(maxsize=256)
def _others(parts: Parts) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return places from 0 on, and a bound on how probable it is that noises add up to each or more."""
    end = sum(abs(by) * _deviation(law) for by, law in parts)
    while chance(parts, end) > 1e-6:
        end *= 1.5
    places = [end * (k / PLACES) ** 2 for k in range(PLACES + 1)]
    tails, least = [], 1.0
    for place in places:
        least = min(least, chance(parts, place))
        tails.append(least)
    return tuple(places), tuple(tails)


def _beside(law: Peaked | Stepped, x: Any) -> Any:
    """Return Pr[X + U >= x]: between halves of whole numbers it is a straight line."""
    import numpy as np

    place = np.abs(x) + 0.5
    whole = np.floor(place)
    share = place - whole
    upper = (1 - share) * _at_least(law, whole) + share * _at_least(law, whole + 1)
    return np.where(x >= 0, upper, 1 - upper)


def _at_least(law: Peaked | Stepped, x: Any) -> Any:
    """Return Pr[X >= x], for any x above -1."""
    import numpy as np

    least = np.ceil(x - 1e-9)
    place = np.maximum(least, 1)
    if isinstance(law, Peaked):
        beyond = np.exp(-law.rate * place) / (1 + exp(-law.rate))
    else:
        a, width, inner = law.ratio, float(law.width), float(law.inner)
        peak = (1 - a) / (2 * (inner + a * (width - inner)) - (1 - a))
        step = np.floor((place + width - inner) / width)
        beyond = peak * a**step * (step * width + inner - place + width * a / (1 - a))
    # At or below 0 all is that does not lie at 1 and beyond on the other side.
    return np.where(least >= 1, beyond, 1 - beyond)


def _beyond(distance: float, rate: float) -> float:
    least = ceil(distance - 1e-9)
    return 1.0 if least <= 0 else 2 * exp(-rate * least) / (1 + exp(-rate))


def _of_plans(planned: Sequence[tuple[float, Planned]], distance: float) -> float:
    """Return the risk at which `workload.noise.half_widths` are as wide as this."""
    deviation = sqrt(sum((by * law.deviation) ** 2 for by, law in planned))
    if not deviation:
        return 0.0
    reached = distance / deviation
    left = reached - max(law.grain for _, law in planned)
    usual = 1.0
    if left > 0:
        laplace = 0.0 if all(law.bell for _, law in planned) else exp(-sqrt(2) * left)
        usual = max(_normal(left), laplace)
    return min(1.0, usual, 1 / reached**2 if reached else inf)


def rate_of(alpha: Fraction) -> float:
    """Return the logarithm of one over a ratio, which may be very near to 1."""
    near = 1 - alpha
    # A ratio may be smaller than any float.
    return float(near) if near < Fraction(1, 2**30) else log(alpha.denominator) - log(alpha.numerator)
