"""What an answer will cost and how wrong it may be, before any data is touched.

Rule.  The price asked for is split equally over the measurements of a question.  Under a pure budget that is
epsilon / k each.  Under a budget with delta, which is kept by a zCDP filter, epsilon means what the question
would promise if it were the only one: its rho is the largest that converts to epsilon at the budget's delta,
and k measurements get rho / k each.  So one question at the whole budget's epsilon uses up the whole budget,
and many small ones add up as the squares of their epsilons do.  Group keys found in the data use one share
and the question's own delta.  After the split the cost is recomputed from the mechanisms and must not exceed
what was asked.

Error bars.  A column that is one measurement has that measurement's exact radius.  Any other column is
evaluated over the box in which all its j measurements lie together with the confidence asked (each at
(1 - confidence) / j): an interval that is valid whatever the data, at the price of some width.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, log
from typing import TypeAlias, assert_never

from discreet.errors import ParameterError, QueryError
from discreet.exact.number import Real, positive, probability, rational, sqrt_down
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import Threshold
from discreet.privacy.filter import Cost, below_grid, pure_within
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.privacy.zcdp import largest_rho
from discreet.query.check.formula import (
    Formula,
    Noisy,
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
    Joint,
    Keys,
    Measured,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    Running,
    Sort,
)
from discreet.query.check.tables import overlap
from discreet.query.plan import given
from discreet.query.price.together import Together, together
from discreet.query.proof import Proof

Noise: TypeAlias = Geometric | Staircase | Gaussian
Choice: TypeAlias = Exponential | PermuteAndFlip
FLIP_LIMIT = 1_000
SEARCH = 40
STEEP = 40
"""Beyond this epsilon the search for the best exact staircase takes longer than the better noise is worth."""

OUTSIDE = 50
"""An extreme aims so far inside the data that an empty candidate beyond it is this many times less likely."""


@dataclass(frozen=True, slots=True)
class PurePrice:
    """What a measurement may cost under a pure budget."""

    epsilon: Fraction

    def part(self, parts: int) -> "PurePrice":
        """Return an equal part of the price."""
        return PurePrice(self.epsilon / parts)


@dataclass(frozen=True, slots=True)
class RhoPrice:
    """What a measurement may cost under a budget that is kept in zCDP."""

    rho: Fraction

    def part(self, parts: int) -> "RhoPrice":
        """Return an equal part of the price, rounded down."""
        return RhoPrice(below_grid(self.rho / parts))


Price: TypeAlias = PurePrice | RhoPrice


@dataclass(frozen=True, slots=True)
class Share:
    """One measurement with the mechanism that will release it; `offset` is the inward aim of an extreme."""

    measured: Measured
    mechanism: Noise | Choice | Threshold | Together
    offset: int = 0

    @property
    def name(self) -> str:
        """What to call the mechanism."""
        made = self.mechanism
        return made.name if isinstance(made, Together) else type(made).__name__

    def moves(self, keys: Keys) -> Sensitivity:
        """Return how far one person moves the released values while the noise stays the same.

        Where groups overlap, a row counts in several of them, and least squares returns what is counted; the
        answers are then rounded, for which a thousandth is allowed.
        """
        if not isinstance(self.mechanism, Together) or not isinstance(keys, Joint):
            return self.measured.sensitivity
        reach, times = self.mechanism.reach * Fraction(1001, 1000), overlap(keys)
        return Sensitivity(reach * times, reach**2 * times, reach)


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
    shares: tuple[Share, ...]
    cost: Cost
    expected: tuple[Expected, ...]
    sql: tuple[str, ...] = ()
    """What the engine would run, where one was asked."""
    advice: object = None
    """Which mechanism would serve best, where a prior and a loss were given; it changes nothing else."""
    copies: int | None = None
    """How many such questions the tightest limit would still admit, where the ledger was asked."""
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
                return Fraction(noise.radius(beta), measurement.scale)
            case Measurement() as measurement, Together() as joint:
                return joint.radius(beta, key) / measurement.scale
            case _:
                return None


def quote(
    checked: Checked,
    *,
    epsilon: Real | None = None,
    within: Real | None = None,
    confidence: Real = "0.95",
    conversion: Fraction | None = None,
    delta: Real = 0,
) -> Quote:
    """Return the price and accuracy of a question at this epsilon, or at the smallest that suffices.

    `conversion` is the delta at which a budget kept in zCDP promises its epsilon, and None for a pure one;
    `delta` is what the question itself
    may use to find its group keys.
    """
    sure = probability(confidence, "confidence")
    slack = rational(delta, "delta")
    if (epsilon is None) == (within is None):
        raise ParameterError(
            "give either epsilon=..., or within=... for the smallest epsilon that gets there"
        )
    if epsilon is not None:
        return _priced(checked, positive(epsilon, "epsilon"), sure, slack, conversion)
    return _smallest(checked, positive(given(within), "within"), sure, slack, conversion)


def _priced(
    checked: Checked, epsilon: Fraction, confidence: Fraction, delta: Fraction, conversion: Fraction | None
) -> Quote:
    if isinstance(checked.keys, Private) and delta <= 0:
        column = next(column.name for column in checked.keys.columns if column.values is None)
        raise QueryError(
            f"GROUP BY {column}",
            "its values are not declared, and finding them in the data needs a delta",
            f"declare values for {column} in the manifest, or give the budget a delta",
        )
    price: Price = (
        PurePrice(epsilon) if conversion is None else RhoPrice(below_grid(largest_rho(epsilon, conversion)))
    )
    part = price.part(len(checked.measurements))
    shares = tuple(_share(checked, position, part, delta) for position in range(len(checked.measurements)))
    cost = _charge(shares, price, delta if isinstance(checked.keys, Private) else Fraction(0))
    priced = Quote(checked, epsilon, cost.delta, confidence, shares, cost, ())
    return replace(
        priced, expected=tuple(expect(priced, output.name, output.formula) for output in checked.columns)
    )


def _share(checked: Checked, position: int, price: Price, delta: Fraction) -> Share:
    measurement = checked.measurements[position]
    if isinstance(checked.keys, Joint) and isinstance(measurement, Measurement):
        return Share(measurement, together(checked.keys, measurement, _promise(price)))
    if isinstance(checked.keys, Private) and position == checked.keys.people:
        groups = given(measurement.sensitivity.l0)
        return Share(measurement, Threshold.calibrate(epsilon=_pure(price), delta=delta, groups=groups))
    match measurement:
        case Measurement():
            return Share(measurement, noise_for(measurement, price))
        case QuantileChoice():
            mechanism = Exponential.calibrate(epsilon=_ranged(price), sensitivity=measurement.sensitivity)
            return Share(measurement, mechanism, _offset(measurement, mechanism))
        case ModeChoice():
            flips = isinstance(price, PurePrice) and measurement.candidates <= FLIP_LIMIT
            kind, epsilon = (PermuteAndFlip, _pure(price)) if flips else (Exponential, _ranged(price))
            return Share(
                measurement,
                kind.calibrate(
                    epsilon=epsilon, sensitivity=measurement.sensitivity, monotone=measurement.monotone
                ),
            )
        case _:
            assert_never(measurement)


def noise_for(measurement: Measurement, price: Price) -> Noise:
    """Return the least noise for one measurement at its share of the price.

    With zCDP that is Gaussian.  Without, the staircase is taken where a person moves a single number by more
    than one unit and its mean error is smaller than the geometric's.
    """
    sensitivity = measurement.sensitivity
    if sensitivity.l1 == 0:
        sensitivity = Sensitivity.of(1)
    match price:
        case RhoPrice(rho):
            return Gaussian.calibrate(rho=rho, sensitivity=sensitivity)
        case PurePrice(epsilon):
            plain = Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)
            if sensitivity.scalar and sensitivity.l1 > 1 and 1 <= epsilon <= STEEP:
                steps = Staircase.calibrate(epsilon=epsilon, sensitivity=sensitivity.l1)
                if steps.mean_error < plain.mean_error:
                    return steps
            return plain
        case _:
            assert_never(price)


def _promise(price: Price) -> Pure | Concentrated:
    match price:
        case PurePrice(epsilon):
            return Pure(epsilon)
        case RhoPrice(rho):
            return Concentrated(rho)
        case _:
            assert_never(price)


def _pure(price: Price) -> Fraction:
    """Return the largest epsilon that a mechanism known only to be pure may have at this price."""
    match price:
        case PurePrice(epsilon):
            return epsilon
        case RhoPrice(rho):
            return pure_within(rho)
        case _:
            assert_never(price)


def _ranged(price: Price) -> Fraction:
    """Return the largest epsilon of a bounded-range mechanism, which is epsilon**2 / 8-zCDP."""
    match price:
        case PurePrice(epsilon):
            return epsilon
        case RhoPrice(rho):
            return max(sqrt_down(8 * rho), pure_within(rho))
        case _:
            assert_never(price)


def _offset(choice: QuantileChoice, mechanism: Exponential) -> int:
    """Return how far inside the data an extreme aims, so that all candidates beyond it weigh 1 / OUTSIDE."""
    if choice.level not in (0, 1) and not choice.inward:
        return 0
    # For alpha close to 1, ln(1 / alpha) is at least 1 - alpha, which keeps its digits.
    return ceil(log((choice.size + 1) * OUTSIDE) / float(1 - mechanism.alpha) / choice.level.denominator)


def _charge(shares: tuple[Share, ...], price: Price, delta: Fraction) -> Cost:
    """Return the cost to charge, after recomputing it from the mechanisms."""
    spent = sum((_spent(share) for share in shares), Cost.zero)
    match price:
        case PurePrice(epsilon):
            fits, charged = spent.epsilon is not None and spent.epsilon <= epsilon, Cost.pure(epsilon)
        case RhoPrice(rho):
            fits, charged = spent.rho <= rho, Cost(spent.epsilon, rho)
        case _:
            assert_never(price)
    if not fits or spent.delta > delta:
        raise ParameterError("the mechanisms cost more than was asked; this is a defect of the allocation")
    return Cost(charged.epsilon, charged.rho, delta)


def _spent(share: Share) -> Cost:
    change = share.measured.sensitivity
    match share.mechanism:
        case Together():
            return share.mechanism.cost
        case Geometric() | Staircase() | Gaussian():
            return share.mechanism.guarantee(change).price()
        case Threshold():
            return share.mechanism.guarantee(given(change.l0)).price()
        case Exponential():
            return share.mechanism.profile(change, monotone=_monotone(share)).price()
        case PermuteAndFlip():
            return share.mechanism.guarantee(change, monotone=_monotone(share)).price()
        case _:
            assert_never(share.mechanism)


def _monotone(share: Share) -> bool:
    return not isinstance(share.measured, Measurement) and share.measured.monotone


def expect(priced: Quote, name: str, formula: Formula) -> Expected:
    """Return what is known beforehand of the error of one output column."""
    match formula:
        case Noisy(position):
            share = priced.shares[position]
            beta = 1 - priced.confidence
            if isinstance(priced.checked.keys, Running) and priced.checked.keys.levels:
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
        case Noisy(position):
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


def _smallest(
    checked: Checked, within: Fraction, confidence: Fraction, delta: Fraction, conversion: Fraction | None
) -> Quote:
    """Return the cheapest quote whose every foreseeable column is within the wish, to one part in 2**20."""

    def reaches(epsilon: Fraction) -> bool:
        priced = _priced(checked, epsilon, confidence, delta, conversion)
        radii = [
            expected.radius
            for expected in priced.expected
            if expected.radius is not None and expected.radius > 0
        ]
        if not radii:
            raise QueryError(
                "within",
                "no output column has an error that is known beforehand",
                "ask with epsilon=..., or add COUNT(*)",
            )
        return max(radii) <= within

    high = Fraction(1)
    for _ in range(SEARCH):
        if reaches(high):
            break
        high *= 2
    else:
        raise QueryError("within", "cannot be reached at any reasonable price", "ask for a wider interval")
    while high > Fraction(1, 2**SEARCH) and reaches(high / 2):
        high /= 2
    low = high / 2
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return _priced(checked, high, confidence, delta, conversion)
