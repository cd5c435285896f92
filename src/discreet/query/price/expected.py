"""A priced question, and how far off each of its columns may be."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.filter import Cost
from discreet.query.check.formula import (
    Combination,
    Formula,
    Mean,
    NoisyTerm,
    Operation,
    Public,
    Variance,
    Windowed,
    measured,
    span,
)
from discreet.query.check.measurement import (
    Checked,
    Measurement,
    ModeChoice,
    QuantileChoice,
    RunningGroups,
)
from discreet.query.price.assumed import radius_under
from discreet.query.price.capped import widening
from discreet.query.price.mechanism import MeasurementShare
from discreet.query.price.sparse import Sparse
from discreet.query.price.tail import (
    NoiseLaw,
    Peaked,
    Round,
    Stepped,
    parts_of,
    quantile,
    rate_of,
)
from discreet.query.price.together import Together
from discreet.query.proof import Proof

NOTHING = Fraction(1, 10)
"""Noise exceeds what is taken for nobody with half this probability, upwards."""

WHOLE, NEAR = 2**46, 1 - Fraction(1, 2**20)
"""Below these the places of steps are whole numbers among floats, and ratios of steps are told from 1."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known beforehand of one output column's error.

    `radius` is the half-width of its interval, where that does not depend on the answer; `rank` is, for a
    quantile or mode, by how many rows the choice may fall short of the best.
    """

    name: str
    radius: Fraction | None = None
    rank: Fraction | None = None
    count: Fraction | None = None
    """The number of rows that the radius is for, where it depends on one."""


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
    alone: tuple[Fraction, Fraction] | None = None
    """The epsilon and delta that it would promise if nothing else were ever asked, if paid in zCDP."""
    share: Fraction | None = None
    """The part of the whole declared budget that it would take of a fresh one, where that is known."""
    closes: bool = False
    """Whether everything so far, if anything, was pure and this is not: epsilons no longer simply add up."""
    count: Fraction | None = None
    """The number of rows that means and variances are assumed to be of, at least, where one was told."""
    parts: tuple["Quote", ...] = ()
    """The quotes of the questions that this one is made of, where it is about several released tables."""
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
                return Fraction(reach_of(noise, beta), measurement.scale)
            case Measurement() as measurement, Together() as joint:
                return joint.radius(beta, key) / measurement.scale
            case Measurement() as measurement, Sparse() as blocks:
                return Fraction(reach_of(blocks.alone, beta), measurement.scale)
            case _, (KeyCount() | KeyGaussian()) as counts:
                return Fraction(counts.radius(beta))
            case _:
                return None

    def law(self, position: int, key: tuple[Public, ...] | None = None) -> tuple[float, NoiseLaw] | None:
        """Return one step of a measurement's noise in natural units and the law of its steps, if known."""
        share = self.shares[position]
        match share.measured, share.mechanism:
            case Measurement(scale=scale), Geometric(alpha=alpha):
                return 1 / scale, Peaked(rate_of(alpha))
            case Measurement(scale=scale), Staircase() as stairs if _plain(stairs):
                return 1 / scale, stepped(stairs)
            case Measurement(scale=scale), Gaussian(sigma_squared=variance):
                return 1 / scale, Round(float(variance) ** 0.5)
            case Measurement(scale=scale), Together() as joint:
                return 1 / scale, joint.law(key)
            case _:
                return None

    def reach(
        self, terms: Mapping[int, Fraction], beta: Fraction, key: tuple[Public, ...] | None = None
    ) -> Fraction | None:
        """Return how far a combination of measurements may be off, but for probability beta."""
        if len(terms) == 1:
            ((position, by),) = terms.items()
            radius = self.radius(position, beta, key)
            return None if radius is None else abs(by) * radius
        found = {position: self.law(position, key) for position in terms}
        laws = {position: law for position, law in found.items() if law is not None}
        if len(laws) == len(terms):
            return Fraction(quantile(parts_of({p: float(by) for p, by in terms.items()}, laws), beta))
        radii = [self.reach({position: by}, beta / len(terms), key) for position, by in terms.items()]
        known = [radius for radius in radii if radius is not None]
        return sum(known, Fraction(0)) if len(known) == len(radii) else None


@lru_cache(maxsize=256)
def reach_of(noise: Geometric | Staircase | Gaussian, beta: Fraction) -> int:
    """Return how many steps noise reaches but for probability beta, worked out once for each price."""
    return noise.radius(beta)


def _plain(noise: Staircase) -> bool:
    """Whether floats are enough for the law of staircase noise."""
    return noise.width < WHOLE and noise.alpha < NEAR


@lru_cache(maxsize=256)
def stepped(noise: Staircase) -> Stepped:
    """Return the law of staircase noise in floats."""
    return Stepped(float(noise.alpha), noise.width, noise.inner, float(noise.variance) ** 0.5)


def expect(priced: Quote, name: str, formula: Formula) -> Expected:
    """Return what is known beforehand of the error of one output column."""
    if widening(priced, formula, (), 1 - priced.confidence) is not None:
        return Expected(name)
    match formula:
        case NoisyTerm(position):
            share = priced.shares[position]
            beta = 1 - priced.confidence
            if isinstance(priced.checked.keys, RunningGroups) and priced.checked.keys.levels:
                return Expected(name, rank=priced.radius(position, beta))
            match share.measured, share.mechanism:
                case _, Sparse():
                    return Expected(name)
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
            blocks = any(isinstance(priced.shares[p].mechanism, Sparse) for p in measured(formula))
            known = None if blocks else _linear(priced, formula)
            under = None if priced.count is None else radius_under(priced, formula, priced.count)
            if known is None and under is not None:
                return Expected(name, under, count=priced.count)
            return Expected(name, known)


def _linear(priced: Quote, formula: Formula) -> Fraction | None:
    """Return the half-width of a column that is linear in its measurements, which no answer can change."""
    found = coefficients(formula)
    if not found:
        return Fraction(0) if not measured(formula) else None
    return priced.reach(found, 1 - priced.confidence)


def coefficients(formula: Formula) -> dict[int, Fraction]:
    """Return the coefficients of a linear formula, or nothing when it is not linear."""
    match formula:
        case NoisyTerm(position):
            return {position: Fraction(1)}
        case Combination(terms):
            return dict(terms)
        case Operation("add" | "subtract", (one, other)):
            left, right = coefficients(one), coefficients(other)
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
        return {position: coefficient * by for position, coefficient in coefficients(rest).items()}
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


def told_apart(priced: Quote, formula: Formula) -> Formula:
    """Return a formula in which means and variances are NULL where the count cannot be told from nothing.

    A count that the noise alone would reach once in twenty times says nothing about there being anybody.
    """
    match formula:
        case Mean(count=count) | Variance(count=count):
            return replace(formula, least=priced.reach(dict(count.terms), NOTHING) or Fraction(0))
        case Operation(name, arguments):
            return Operation(name, tuple(told_apart(priced, argument) for argument in arguments))
        case Windowed():
            order = tuple((told_apart(priced, term), down, first) for term, down, first in formula.order)
            return replace(
                formula,
                arguments=tuple(told_apart(priced, part) for part in formula.arguments),
                partition=tuple(told_apart(priced, part) for part in formula.partition),
                order=order,
            )
        case _:
            return formula
