"""What to believe about the truth after a release, and what to guess.

The noise of a mechanism is public, so whoever sees a released z may weigh each possible truth y by

    posterior(y)  proportional to  prior(y) Pr[z | y]

and guess what minimises the posterior expected loss: the mean for squared error, the median for
absolute error, the mode for being exactly right.  This is post-processing: it costs no privacy, and it
is never worse than taking z at face value.

For the geometric mechanism the weights a**|z - y| are powers of one number and are built outwards from
the truth nearest to z; on long ranges they are rounded to at least 256 correct bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log2
from typing import Literal, Protocol

from discreet.errors import ParameterError
from discreet.exact.number import Real, probability
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.table import Label, Table, exact_sum, integer_weights
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.privacy.bounds import Bounds
from discreet.utility.loss import Loss
from discreet.utility.prior import Prior
from discreet.utility.remap import posterior as table_posterior

NamedLoss = Literal["absolute", "squared", "zero-one"]

EXACT_RANGE = 64
"""Up to this many truths, posterior probabilities are exact rationals."""

GUARD = 256
LONGEST = 1 << 16


class AdditiveNoise(Protocol):
    """An additive mechanism on integers with a known law, exact or within bounds."""

    def pmf(self, k: int, /) -> Fraction | Bounds:
        """Return Pr[Z = k]."""
        ...


@dataclass(frozen=True, slots=True)
class Belief:
    """What a release leaves possible: truths, their posterior probabilities, and the best guess."""

    answers: tuple[Label, ...]
    posterior: tuple[Fraction, ...]
    guess: Label
    loss: Fraction

    @property
    def mean(self) -> Fraction:
        """The posterior mean; answers must be numbers."""
        return exact_sum([p * _number(y) for y, p in zip(self.answers, self.posterior, strict=True)])

    def interval(self, confidence: Real = "0.95") -> tuple[Label, Label]:
        """Return the smallest and largest truth of a central interval with at least this posterior mass."""
        tail = (1 - probability(confidence, "confidence")) / 2
        return self.answers[_quantile(self.posterior, tail)], self.answers[
            len(self.answers) - 1 - _quantile(self.posterior[::-1], tail)
        ]


def bayes(
    released: Label,
    mechanism: AdditiveNoise | TruncatedGeometric | Table,
    prior: Prior,
    loss: Loss | NamedLoss = "absolute",
    *,
    answers: Sequence[Label] | None = None,
) -> Belief:
    """Return the posterior after a release and the guess of least expected loss.

    `prior` weighs the truths `answers`, which are 0, 1, ... unless given (a table brings its own).
    """
    if isinstance(mechanism, Table):
        truths = mechanism.inputs
        belief = table_posterior(mechanism, prior, released)
    else:
        truths = tuple(range(len(prior))) if answers is None else tuple(answers)
        if len(truths) != len(prior):
            raise ParameterError(f"the prior must have one entry per answer: {len(truths)}, got {len(prior)}")
        if isinstance(released, str) or not all(isinstance(truth, int) for truth in truths):
            raise ParameterError("additive noise needs whole numbers as answers and as the released value")
        belief = _normalised(_weights(int(released), mechanism, prior, [int(truth) for truth in truths]))
    guess, cost = _best_guess(belief, truths, loss)
    return Belief(truths, belief, guess, cost)


def _weights(
    released: int, mechanism: AdditiveNoise | TruncatedGeometric, prior: Prior, truths: list[int]
) -> list[Fraction]:
    match mechanism:
        case TruncatedGeometric():
            chances = [mechanism.pmf(released, truth) for truth in truths]
        case Geometric() if len(truths) > EXACT_RANGE:
            chances = _powers(mechanism.alpha, [abs(released - truth) for truth in truths])
        case _:
            laws = [mechanism.pmf(released - truth) for truth in truths]
            # A law known within bounds is read at its upper end; the ends agree to more digits than matter.
            chances = [(law.high or law.low) if isinstance(law, Bounds) else law for law in laws]
    return [mass * chance for mass, chance in zip(prior.weights, chances, strict=True)]


def _powers(alpha: Fraction, distances: list[int]) -> list[Fraction]:
    """Return alpha**d relative to the nearest, each with at least GUARD correct bits down to 2**-LONGEST."""
    nearest, furthest = min(distances), max(distances)
    bits = GUARD + min(LONGEST, ceil((furthest - nearest) * log2(1 / float(alpha))))
    value, table = 1 << bits, {}
    for distance in range(nearest, furthest + 1):
        table[distance] = value
        value = value * alpha.numerator // alpha.denominator
    return [Fraction(table[distance], 1 << bits) for distance in distances]


def _normalised(weights: list[Fraction]) -> tuple[Fraction, ...]:
    scaled = integer_weights(weights)
    total = sum(scaled)
    if total == 0:
        raise ParameterError("this release is impossible under the prior, so there is no posterior")
    if len(scaled) <= EXACT_RANGE:
        return tuple(Fraction(weight, total) for weight in scaled)
    shares = [(weight << GUARD) // total for weight in scaled]
    # What rounding down left over, less than one unit per truth, goes to the likeliest one.
    shares[shares.index(max(shares))] += (1 << GUARD) - sum(shares)
    return tuple(Fraction(share, 1 << GUARD) for share in shares)


def _best_guess(
    belief: tuple[Fraction, ...], truths: Sequence[Label], loss: Loss | NamedLoss
) -> tuple[Label, Fraction]:
    match loss:
        case Loss():
            if len(loss.numerators[0]) != len(belief):
                raise ParameterError(f"the loss must have one column per answer: {len(belief)}")
            costs = [
                exact_sum([p * cost for p, cost in zip(belief, row, strict=True)]) / loss.denominator
                for row in loss.numerators
            ]
            least = min(range(len(costs)), key=costs.__getitem__)
            return loss.guesses[least], costs[least]
        case "zero-one":
            mode = max(range(len(belief)), key=belief.__getitem__)
            return truths[mode], 1 - belief[mode]
        case "absolute":
            guess = truths[_quantile(belief, Fraction(1, 2))]
            return guess, _expected(belief, truths, guess, 1)
        case "squared":
            mean = exact_sum([p * _number(y) for y, p in zip(truths, belief, strict=True)])
            guess = min(truths, key=lambda y: abs(_number(y) - mean))
            return guess, _expected(belief, truths, guess, 2)
        case _:
            raise ParameterError(f"loss must be 'absolute', 'squared', 'zero-one' or a Loss, got {loss!r}")


def _expected(belief: Sequence[Fraction], truths: Sequence[Label], guess: Label, power: int) -> Fraction:
    centre = _number(guess)
    return exact_sum([p * abs(_number(y) - centre) ** power for y, p in zip(truths, belief, strict=True)])


def _quantile(belief: Sequence[Fraction], level: Fraction) -> int:
    """Return the first possible position at which the running mass reaches `level`."""
    reached = Fraction(0)
    for place, mass in enumerate(belief):
        reached += mass
        if reached >= level and mass:
            return place
    return len(belief) - 1


def _number(label: Label) -> Fraction:
    if isinstance(label, str):
        raise ParameterError("this loss needs answers that are numbers")
    return Fraction(label)
