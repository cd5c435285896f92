"""A priced question, and how far off each of its columns may be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.filter import Cost
from discreet.query.check.formula import (
    Formula,
    NoisyTerm,
    Operation,
    Public,
    Span,
    evaluate,
    exactly,
    measured,
    span,
)
from discreet.query.check.measurement import (
    Checked,
    Measurement,
    ModeChoice,
    QuantileChoice,
    RunningGroups,
    Sort,
)
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.together import Together
from discreet.query.proof import Proof


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known beforehand of one output column's error.

    `radius` is the half-width of its interval, where that does not depend on the answer; `rank` is, for a
    quantile or mode, by how many rows the choice may fall short of the best.
    """

    name: str
    radius: Fraction | None = None
    rank: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A priced question: mechanisms, cost, error bars and the statements that would run."""

    checked: Checked
    epsilon: Fraction
    delta: Fraction
    confidence: Fraction
    shares: tuple[MeasurementShare, ...]
    cost: Cost
    expected: tuple[Expected, ...]
    sql: tuple[str, ...] = ()
    """What the engine would run, where one was asked."""
    advice: object = None
    """Which mechanism would serve best, where a prior and a loss were given; it changes nothing else."""
    copies: int | None = None
    """How many such questions the tightest limit would still admit, where the ledger was asked."""
    today: int | None = None
    """How many the limits on a question and on a day would admit today, where there are such limits."""
    share: Fraction | None = None
    """The part of the whole declared budget that it would take of a fresh one, where that is known."""
    closes: bool = False
    """Whether everything so far was pure and this is not, so that epsilons no longer simply add up."""
    proof: Proof | None = field(default=None, repr=False, compare=False)
    """What the statements were proved to keep; without it nothing runs."""

    def __repr__(self) -> str:
        from discreet.query.price.words import text

        return text(self)

    def _repr_html_(self) -> str:
        from discreet.query.price.words import html

        return html(self)

    def radius(self, position: int, beta: Fraction, key: tuple[Public, ...] | None = None) -> Fraction | None:
        """Return how far a measurement's noise reaches in natural units, but for probability beta.

        Where groups are measured together it depends on the group; without a key it is that of the worst.
        """
        share = self.shares[position]
        match share.measured, share.mechanism:
            case Measurement() as measurement, (Geometric() | Staircase() | Gaussian()) as noise:
                return Fraction(_reach(noise, beta), measurement.scale)
            case Measurement() as measurement, Together() as joint:
                return joint.radius(beta, key) / measurement.scale
            case _:
                return None


@lru_cache(maxsize=256)
def _reach(noise: Geometric | Staircase | Gaussian, beta: Fraction) -> int:
    return noise.radius(beta)


def expect(priced: Quote, name: str, formula: Formula) -> Expected:
    """Return what is known beforehand of the error of one output column."""
    match formula:
        case NoisyTerm(position):
            share = priced.shares[position]
            beta = 1 - priced.confidence
            if isinstance(priced.checked.keys, RunningGroups) and priced.checked.keys.levels:
                return Expected(name, rank=priced.radius(position, beta))
            match share.measured, share.mechanism:
                case (QuantileChoice() | ModeChoice()) as choice, (
                    Exponential() | PermuteAndFlip()
                ) as mechanism:
                    short = (
                        mechanism.shortfall(beta, candidates=choice.candidates)
                        if choice.candidates > 1
                        else 0
                    )
                    per_row = choice.scale * (
                        choice.level.denominator if isinstance(choice, QuantileChoice) else 1
                    )
                    return Expected(name, rank=Fraction(short, per_row))
                case _:
                    return Expected(name, priced.radius(position, beta))
        case _:
            return Expected(name, _linear(priced, formula))


def _linear(priced: Quote, formula: Formula) -> Fraction | None:
    """Return the half-width of a column that is linear in its measurements, which no answer can change."""
    coefficients = _coefficients(formula)
    if not coefficients:
        return Fraction(0) if not measured(formula) else None
    beta = (1 - priced.confidence) / len(coefficients)
    total = Fraction(0)
    for position, coefficient in coefficients.items():
        radius = priced.radius(position, beta)
        if radius is None:
            return None
        total += abs(coefficient) * radius
    return total


def _coefficients(formula: Formula) -> dict[int, Fraction]:
    """Return the coefficients of a linear formula, or nothing when it is not linear."""
    match formula:
        case NoisyTerm(position):
            return {position: Fraction(1)}
        case Operation("add" | "subtract", (one, other)):
            left, right = _coefficients(one), _coefficients(other)
            if (measured(one) and not left) or (measured(other) and not right):
                return {}
            sign = 1 if formula.name == "add" else -1
            return {
                position: left.get(position, Fraction(0)) + sign * right.get(position, Fraction(0))
                for position in sorted({*left, *right})
            }
        case Operation("multiply" | "divide", (one, other)):
            return _scaled(formula.name, one, other)
        case _:
            return {}


def _scaled(name: str, one: Formula, other: Formula) -> dict[int, Fraction]:
    for factor, rest in ((other, one), (one, other)):
        low, high = (
            span(factor, (), dict.fromkeys(measured(factor), (None, None)))
            if not _keyed(factor)
            else (None, None)
        )
        if (
            measured(factor)
            or low is None
            or low != high
            or (name == "divide" and (factor is not other or low == 0))
        ):
            continue
        by = low if name == "multiply" else 1 / low
        return {position: coefficient * by for position, coefficient in _coefficients(rest).items()}
    return {}


def _keyed(formula: Formula) -> bool:
    from discreet.query.check.formula import Key

    match formula:
        case Key():
            return True
        case Operation(_, arguments):
            return any(_keyed(argument) for argument in arguments)
        case _:
            return False


def interval(
    priced: Quote,
    formula: Formula,
    key: tuple[Public, ...],
    noisy: Mapping[int, Public],
    confidence: Fraction | None = None,
) -> Span:
    """Return an interval for one released cell that contains the true (clamped) value with the confidence.

    `noisy` holds the released measurements in natural units.  Only noise is covered: clamping and bounding
    contributions are part of the question as checked.
    """
    positions = measured(formula)
    if not positions:
        return exactly(evaluate(formula, key, {}))
    beta = (1 - (priced.confidence if confidence is None else confidence)) / len(positions)
    spans: dict[int, Span] = {}
    for position in positions:
        radius, value = priced.radius(position, beta, key), noisy[position]
        spans[position] = (None, None)
        if radius is not None and isinstance(value, int | Fraction):
            low, high = Fraction(value) - radius, Fraction(value) + radius
            measurement = priced.checked.measurements[position]
            if isinstance(measurement, Measurement) and measurement.sort is not Sort.SUM:
                # A count is never negative.
                low, high = max(low, Fraction(0)), max(high, Fraction(0))
            spans[position] = (low, high)
    return span(formula, key, spans)
