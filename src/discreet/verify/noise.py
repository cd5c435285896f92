"""Draws for programs written in Python: exact noise when called, laws of the language when verified.

Each function draws once from the law that the verifier knows by the same name.  Scales and centres are taken
as the exact rationals that they are; continuous laws are drawn on a fine grid, as `run` draws them.
"""

from fractions import Fraction
from typing import Annotated, Any, TypeVar

from discreet.exact.number import Real, rational
from discreet.verify.run import ExactDraws
from discreet.verify.syntax import Sample

T = TypeVar("T")
Private = Annotated[T, "private"]
"""Marks an argument of a program as private; what is not marked is public."""


def _draw(law: str, *arguments: Any) -> Any:
    return ExactDraws().draw(Sample("", law, ()), arguments)


def laplace(scale: Real, centre: Real = 0) -> Fraction:
    """Draw from the Laplace law of a scale, around a centre."""
    return Fraction(_draw("Laplace", rational(scale, "scale"), rational(centre, "centre")))


def geometric(scale: Real, centre: int = 0) -> int:
    """Draw an integer k with probability proportional to exp(-|k - centre| / scale)."""
    return int(_draw("Geometric", rational(scale, "scale"), centre))


def exponential(scale: Real) -> Fraction:
    """Draw from the exponential law of a scale, on the non-negative numbers."""
    return Fraction(_draw("Exponential", rational(scale, "scale")))


def gumbel(scale: Real) -> Fraction:
    """Draw from the Gumbel law of a scale: scores with such noise are an exponential mechanism."""
    return Fraction(_draw("Gumbel", rational(scale, "scale")))


def gaussian(scale: Real, centre: Real = 0) -> Fraction:
    """Draw from the Gaussian law of a standard deviation, around a centre."""
    return Fraction(_draw("Gaussian", rational(scale, "scale"), rational(centre, "centre")))


def discrete_gaussian(scale: Real, centre: int = 0) -> int:
    """Draw an integer k with probability proportional to exp(-(k - centre)**2 / (2 scale**2))."""
    return int(_draw("DiscreteGaussian", rational(scale, "scale"), centre))


def uniform(low: Real, high: Real) -> Fraction:
    """Draw uniformly from an interval."""
    return Fraction(_draw("Uniform", rational(low, "low"), rational(high, "high")))


def bernoulli(chance: Real) -> bool:
    """Draw true with a probability."""
    return bool(_draw("Bernoulli", rational(chance, "chance")))


def response(logit: Real) -> bool:
    """Draw true with odds exp(logit) : 1."""
    return bool(_draw("Response", rational(logit, "logit")))


def choose(rate: Real, scores: list[Any]) -> int:
    """Draw an index with probability proportional to exp(rate * score)."""
    return int(_draw("ExpMech", rational(rate, "rate"), [rational(score, "score") for score in scores]))


LAWS = {
    laplace: "Laplace",
    geometric: "Geometric",
    exponential: "Exponential",
    gumbel: "Gumbel",
    gaussian: "Gaussian",
    discrete_gaussian: "DiscreteGaussian",
    uniform: "Uniform",
    bernoulli: "Bernoulli",
    response: "Response",
    choose: "ExpMech",
}
"""The name in the language of the law that each function draws from."""
