"""Which exact integer noise keeps which promise: geometric for pure privacy, Gaussian for concentrated."""

from dataclasses import replace
from functools import lru_cache
from typing import TypeVar, assert_never

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity

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


@lru_cache(maxsize=4096)
def spread(noise: Noise) -> float:
    """Return the variance of the noise; for the Gaussian its parameter, which the variance never exceeds."""
    match noise:
        case Geometric():
            return float(noise.variance)
        case Gaussian(sigma_squared):
            return float(sigma_squared)
        case _:
            assert_never(noise)


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
