"""Which exact integer noise keeps which promise: geometric for pure privacy, Gaussian for concentrated."""

from dataclasses import replace
from functools import lru_cache
from math import log, sqrt
from statistics import NormalDist
from typing import TypeVar, assert_never

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import Real, probability
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.linear import Floats

Promise = Pure | Concentrated
Noise = Geometric | Gaussian
NoiseLaw = TypeVar("NoiseLaw", bound=Geometric | Gaussian)


def calibrated(guarantee: Promise, sensitivity: Sensitivity) -> Noise:
    """Return the least noise that keeps the promise at this sensitivity."""
    match guarantee:
        case Pure(cost):
            return Geometric.calibrate(epsilon=cost, sensitivity=sensitivity)
        case Concentrated(rho, slack) if slack == 0:
            return Gaussian.calibrate(rho=rho, sensitivity=sensitivity)
        case Concentrated():
            raise ParameterError("a workload is measured under pure or concentrated privacy without slack")
        case _:
            assert_never(guarantee)


def bare(noise: NoiseLaw) -> NoiseLaw:
    """Return the law of the noise alone, for those who know the sensitivity themselves and store the law."""
    return replace(noise, sensitivity=None)


SMALLEST = 1e-60
"""A variance below this is taken for this: weights are quotients of variances, which must not underflow."""


@lru_cache(maxsize=4096)
def spread(noise: Noise) -> float:
    """Return the variance of the noise; for the Gaussian its parameter, which the variance never exceeds."""
    match noise:
        case Geometric():
            return max(float(noise.variance), SMALLEST)
        case Gaussian(sigma_squared):
            return float(sigma_squared)
        case _:
            assert_never(noise)


def grain(noise: Noise) -> float:
    """Return one step of the noise in its standard deviations."""
    variance = spread(noise)
    return 1 / sqrt(variance) if variance else 0.0


def half_widths(deviations: Floats, beta: Real, *, bell: bool, grain: float) -> Floats:
    """Return half-widths that answers of these deviations exceed with probability about beta at most.

    Combinations of Gaussian noise have the normal quantile; combinations of geometric noise have lighter
    tails than a single Laplace variable of the same variance, whose quantile is used.

    Rule.  An answer is a sum of c_i Z_i with integers Z_i of variance v at least, so it moves in steps of at
    most max |c_i| <= deviation / sqrt(v), which is the `grain` in deviations: where that is coarse, a
    quantile of a continuous law may be short by one step.  Chebyshev's inequality needs no law.
    """
    risk = float(probability(beta, "beta"))
    normal = NormalDist().inv_cdf(1 - risk / 2)
    wide = normal if bell else max(normal, log(1 / risk) / sqrt(2))
    return np.asarray(deviations * min(wide + grain, 1 / sqrt(risk)))


def towards_one(promise: Promise, changes: int) -> Promise:
    """Return what to promise to a change by one, so that so many changes together keep the promise."""
    match promise:
        case Pure(cost):
            return Pure(cost / changes)
        case Concentrated(rho):
            return Concentrated(rho / changes**2)
        case _:
            assert_never(promise)


def promised(noise: Noise, sensitivity: Sensitivity) -> Promise:
    """Return what one measurement with this noise really promises."""
    return noise.guarantee(sensitivity)
