"""What each law allows a proof to do with a draw, and what that costs.

Laplace(b)      the noise may move by any t, at cost |t| / b
Geometric(b)    likewise by integers t; the law is proportional to exp(-|k| / b)
Exponential(b)  likewise by t >= 0, since the law lives on the non-negative numbers
Gumbel(b)       likewise by t >= 0: further down its density falls too fast
Response(e)     the answer may be flipped, at cost e: the law is true with odds exp(e) : 1
ExpMech(e, u)   the same index is drawn in both runs, at cost e B if the difference of two scores changes
                by at most B
UniformBits     the string may be combined by xor with any other, at no cost
Uniform, UniformInt, Bernoulli(p)    the same value is drawn in both runs, if the parameters agree
Gaussian(s)     the same value is drawn in both runs, at rho cost c**2 / (2 s**2) for centres c apart

Where costs are those of zero-concentrated privacy, every draw is the same in both runs: noise of scale s
costs c**2 / (2 s**2) for centres c apart, and an exponential mechanism an eighth of its cost squared.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.verify.check import CheckedProgram
from discreet.verify.domain import relation
from discreet.verify.neighbours import Inputs
from discreet.verify.ratio import ONE, NotRationalError, SymbolicRatio, constant, ratio, reduce, times
from discreet.verify.shared import is_concentrated
from discreet.verify.syntax import Apply, Array, Binary, Expr, Number, Program, Sample, Variable, names
from discreet.verify.term import UnsupportedError

Move = Literal["shift", "flip", "xor", "same"]


@dataclass(frozen=True, slots=True)
class Site:
    """One draw of the program: how its noise may move, and the price of a unit of movement."""

    statement: Sample
    move: Move
    price: SymbolicRatio
    """Cost of moving by 1: for noise 1 / scale, for a flip its logit, for a fixed draw its whole cost."""
    positive: tuple[SymbolicRatio, ...]
    """What must be positive for the law to make sense."""


def site(checked: CheckedProgram, statement: Sample, inputs: Inputs) -> Site:
    """Classify a draw; raises UnsupportedError with the reason when no rule applies."""
    law, arguments = statement.law, statement.arguments
    free = SymbolicRatio({}, ONE)
    concentrated = is_concentrated(checked.program)
    match law:
        case "Laplace" | "Geometric" | "Exponential" | "Gumbel" | "Gaussian" | "DiscreteGaussian":
            scale = _rigid(checked, statement, arguments[0], "scale")
            if concentrated:
                return Site(statement, "same", _half_square(scale.inverse(), 2), (scale,))
            return Site(statement, "shift", scale.inverse(), (scale,))
        case "Bernoulli" | "Response":
            logit = arguments[0] if law == "Response" else logistic(arguments[0])
            if logit is not None and concentrated:
                return Site(statement, "same", free, (_rigid(checked, statement, logit, "parameter"),))
            if logit is not None:
                value = _rigid(checked, statement, logit, "parameter")
                return Site(statement, "flip", value, (value,))
            _agree(checked, statement, arguments)
            return Site(statement, "same", free, ())
        case "Uniform" | "UniformInt":
            _agree(checked, statement, arguments)
            return Site(statement, "same", free, ())
        case "UniformBits":
            return Site(statement, "xor", free, ())
        case "ExpMech":
            rate = _rigid(checked, statement, arguments[0], "parameter")
            change = _score_change(statement, inputs.checked.program)
            price = reduce(
                SymbolicRatio(
                    times(rate.numerator, change.numerator), times(rate.denominator, change.denominator)
                )
            )
            return Site(statement, "same", _half_square(price, 8) if concentrated else price, (rate,))
    raise UnsupportedError(f"{_where(statement)}: there is no proof rule for {law}")


def _half_square(price: SymbolicRatio, part: int) -> SymbolicRatio:
    return SymbolicRatio(
        times(price.numerator, price.numerator),
        times(constant(part), times(price.denominator, price.denominator)),
    )


def logistic(expression: Expr) -> Expr | None:
    """Return e if the expression is exp(e) / (1 + exp(e)), or -e if it is 1 / (1 + exp(e))."""
    match expression:
        case Binary("/", Apply("exp", (above,)), Binary("+", first, second)):
            for one, other in ((first, second), (second, first)):
                if one == Number(Fraction(1)) and other == Apply("exp", (above,)):
                    return above
    return None


def _where(statement: Sample) -> str:
    return f"line {statement.at.line}, column {statement.at.column}"


def _rigid(checked: CheckedProgram, statement: Sample, expression: Expr, what: str) -> SymbolicRatio:
    if not checked.is_shared(expression):
        raise UnsupportedError(
            f"{_where(statement)}: the {what} of {statement.law} depends on the private data, "
            "so no cost can be computed for it"
        )
    constants = {p.name for p in checked.program.parameters if not p.private}
    if not names(expression) <= constants | {p.name for p in checked.program.parameters}:
        raise UnsupportedError(f"{_where(statement)}: the {what} of {statement.law} changes during the run")
    try:
        return ratio(expression)
    except NotRationalError:
        raise UnsupportedError(
            f"{_where(statement)}: the {what} of {statement.law} must be built from constants by + - * /"
        ) from None


def _agree(checked: CheckedProgram, statement: Sample, arguments: tuple[Expr, ...]) -> None:
    if not all(checked.is_shared(a) for a in arguments):
        raise UnsupportedError(
            f"{_where(statement)}: a parameter of {statement.law} depends on the private data"
        )


def _score_change(statement: Sample, program: Program) -> SymbolicRatio:
    """Return how much log-odds the exponential mechanism can change per unit of its rate."""
    bound = score_change(statement, program)
    if bound is None:
        raise UnsupportedError(f"{_where(statement)}: the scores may change by an unknown amount")
    try:
        return ratio(bound)
    except NotRationalError:
        raise UnsupportedError(
            f"{_where(statement)}: the bound on the scores is not a rational expression"
        ) from None


def score_change(draw: Sample, program: Program) -> Expr | None:
    """Return by how much the difference of two scores of an exponential mechanism may change."""
    scores = draw.arguments[1]
    parameter = program.parameter(scores.name) if isinstance(scores, Variable) else None
    found = relation(program, parameter.name) if parameter is not None else None
    if found is None or parameter is None or not isinstance(parameter.type, Array):
        return None
    if found.kind in ("one", "all", "monotone") and found.bound is not None:
        return Binary("*", Number(Fraction(2)), found.bound) if found.kind == "all" else found.bound
    if found.kind == "replace" and found.low is not None and found.high is not None:
        return Binary("-", found.high, found.low)
    element = parameter.type.element
    if found.kind == "replace" and element.low is not None and element.high is not None:
        return Number(Fraction(element.high - element.low))
    return None
