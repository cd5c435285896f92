"""The stored form of a mechanism, which never changes its meaning.

What was released last year must mean the same next year.  So each kind of mechanism has a name with a
number, the name says exactly what the fields mean, and decoding is an explicit list: an unknown name is
refused, never looked up in the program.  A changed meaning is a new number.
"""

import json
from fractions import Fraction
from typing import Any, assert_never

from discreet.errors import ParameterError
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import NoisyThreshold, Threshold
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.mechanisms.truncated_laplace import TruncatedLaplace

Storable = (
    Exponential
    | Gaussian
    | Geometric
    | KeyCount
    | KeyGaussian
    | KeyWeight
    | Laplace
    | NoisyMax
    | NoisyThreshold
    | PermuteAndFlip
    | RandomizedResponse
    | Staircase
    | Threshold
    | TruncatedGeometric
    | TruncatedLaplace
)


def encode(mechanism: Storable) -> str:
    """Return the one text that stands for a mechanism."""
    match mechanism:
        case Geometric(alpha):
            fields: list[Any] = ["geometric/1", str(alpha)]
        case TruncatedGeometric(alpha, low, high):
            fields = ["truncated-geometric/1", str(alpha), str(low), str(high)]
        case Laplace(alpha, step):
            fields = ["laplace/1", str(alpha), str(step)]
        case TruncatedLaplace(alpha, step, low, high):
            fields = ["truncated-laplace/1", str(alpha), str(step), str(low), str(high)]
        case Gaussian(sigma_squared):
            fields = ["gaussian/1", str(sigma_squared)]
        case Staircase(alpha, width, inner):
            fields = ["staircase/1", str(alpha), str(width), str(inner)]
        case Exponential(alpha):
            fields = ["exponential/1", str(alpha)]
        case PermuteAndFlip(alpha):
            fields = ["permute-and-flip/1", str(alpha)]
        case NoisyMax(alpha):
            fields = ["noisy-max/1", str(alpha), "two-sided" if mechanism.two_sided else "one-sided"]
        case RandomizedResponse(odds, categories):
            fields = ["randomized-response/1", str(odds), str(categories)]
        case Threshold(odds, delta):
            fields = ["threshold/1", str(odds), str(delta)]
        case KeyCount(odds, delta):
            fields = ["key-count/1", str(odds), str(delta)]
        case KeyGaussian(sigma_squared, threshold):
            fields = ["key-gaussian/1", str(sigma_squared), str(threshold)]
        case KeyWeight(sigma_squared, threshold, one, groups):
            fields = ["key-weight/1", str(sigma_squared), str(threshold), str(one), str(groups)]
        case NoisyThreshold(alpha, threshold):
            fields = ["noisy-threshold/1", str(alpha), str(threshold)]
        case never:
            assert_never(never)
    return json.dumps(fields, separators=(",", ":"))


UNKNOWN = "this text is not a mechanism that this version knows; upgrade discreet"


def decode(text: str) -> Storable:
    """Return the mechanism that a stored text stands for."""
    try:
        return _decoded(json.loads(text))
    except ParameterError:
        raise
    except (ValueError, ZeroDivisionError):
        raise ParameterError(UNKNOWN) from None


def _decoded(stored: object) -> Storable:
    match stored:
        case ["geometric/1", str(alpha)]:
            return Geometric(Fraction(alpha))
        case ["truncated-geometric/1", str(alpha), str(low), str(high)]:
            return TruncatedGeometric(Fraction(alpha), int(low), int(high))
        case ["laplace/1", str(alpha), str(step)]:
            return Laplace(Fraction(alpha), Fraction(step))
        case ["truncated-laplace/1", str(alpha), str(step), str(low), str(high)]:
            return TruncatedLaplace(Fraction(alpha), Fraction(step), Fraction(low), Fraction(high))
        case ["gaussian/1", str(sigma_squared)]:
            return Gaussian(Fraction(sigma_squared))
        case ["staircase/1", str(alpha), str(width), str(inner)]:
            return Staircase(Fraction(alpha), int(width), int(inner))
        case ["exponential/1", str(alpha)]:
            return Exponential(Fraction(alpha))
        case ["permute-and-flip/1", str(alpha)]:
            return PermuteAndFlip(Fraction(alpha))
        case ["noisy-max/1", str(alpha), ("two-sided" | "one-sided") as sides]:
            return NoisyMax(Fraction(alpha), two_sided=sides == "two-sided")
        case ["randomized-response/1", str(odds), str(categories)]:
            return RandomizedResponse(Fraction(odds), int(categories))
        case ["threshold/1", str(odds), str(delta)]:
            return Threshold(Fraction(odds), Fraction(delta))
        case ["key-count/1", str(odds), str(delta)]:
            return KeyCount(Fraction(odds), Fraction(delta))
        case ["key-gaussian/1", str(sigma_squared), str(threshold)]:
            return KeyGaussian(Fraction(sigma_squared), int(threshold))
        case ["key-weight/1", str(sigma_squared), str(threshold), str(one), str(groups)]:
            return KeyWeight(Fraction(sigma_squared), int(threshold), int(one), int(groups))
        case ["noisy-threshold/1", str(alpha), str(threshold)]:
            return NoisyThreshold(Fraction(alpha), int(threshold))
    raise ParameterError(UNKNOWN)
