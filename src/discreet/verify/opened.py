"""Every input of a finite program, with at most one public constant left open in an interval."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod

from discreet.verify.check import CheckedProgram
from discreet.verify.limit import tick
from discreet.verify.linear import Interval, Linear
from discreet.verify.ratio import NotRationalError, ratio
from discreet.verify.relate import violated
from discreet.verify.resolve import header_expressions
from discreet.verify.run import Value
from discreet.verify.syntax import (
    Array,
    Binary,
    Expr,
    Parameter,
    Scalar,
    SensitiveQuery,
    Size,
    Variable,
    expressions,
    names,
    statements,
)

MOST_INPUTS = 2000
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class NotFiniteError(Exception):
    """A program is outside what enumeration decides; the message says why."""


def unknown(values: Mapping[str, Value]) -> str | None:
    """Return the constant that an input leaves open."""
    return next((name for name, value in values.items() if isinstance(value, Linear)), None)


def all_inputs(checked: CheckedProgram) -> Iterator[dict[str, Value]]:
    """Yield every valid input of a finite program."""
    ranges: list[list[tuple[str, Value]]] = []
    open_: list[str] = []
    for parameter in checked.program.parameters:
        values = _values(checked, parameter)
        if values is None:
            open_.append(parameter.name)
        else:
            ranges.append([(parameter.name, v) for v in values])
    ranges += _left_open(checked, open_)
    if prod(len(r) for r in ranges) > MOST_INPUTS:
        raise NotFiniteError(f"there are more than {MOST_INPUTS} inputs")
    for combination in product(*ranges):
        tick()
        values_ = dict(combination)
        if violated(checked, values_) is None:
            yield values_


def _values(checked: CheckedProgram, parameter: Parameter) -> list[Value] | None:
    """Return every value of a parameter, or None if it is a constant that the header leaves open."""
    match parameter.type:
        case Array(element):
            size = fixed(checked, Size(parameter.name))
            if size is None:
                raise NotFiniteError(f"fix the length of the list by `requires size({parameter.name}) = ...`")
            items = _range(element, parameter)
            if size > 64 or size < 0 or len(items) ** int(size) > MOST_INPUTS:
                raise NotFiniteError(f"{parameter.name} has more than {MOST_INPUTS} values")
            return [list(v) for v in product(items, repeat=int(size))]
        case Scalar(kind, low):
            if kind == "bool" or low is not None or kind == "bits":
                return _range(parameter.type, parameter)
            number = fixed(checked, Variable(parameter.name))
            if number is not None and not parameter.private:
                return [int(number) if kind == "int" and number.denominator == 1 else number]
            if kind == "int" or parameter.private:
                raise NotFiniteError(f"fix the constant by `requires {parameter.name} = ...`")
            return None
        case SensitiveQuery():
            raise NotFiniteError("a query has infinitely many values")


def _range(kind: Scalar, parameter: Parameter) -> list[Value]:
    if kind.kind == "bool":
        return [False, True]
    if kind.kind == "bits" and isinstance(kind.length, int) and kind.length <= 4:
        return list(range(2**kind.length))
    if kind.kind == "int" and kind.low is not None and kind.high is not None:
        if kind.high - kind.low >= MOST_INPUTS:
            raise NotFiniteError(f"{parameter.name} has more than {MOST_INPUTS} values")
        return list(range(kind.low, kind.high + 1))
    raise NotFiniteError(f"{parameter.name} has infinitely many values")


def _left_open(checked: CheckedProgram, open_: list[str]) -> list[list[tuple[str, Value]]]:
    """Give the constants that nothing depends on some value, and leave at most one other open."""
    program = checked.program
    used = {n for s in statements(program.body) for e in expressions(s) for n in names(e)}
    used |= {n for e in header_expressions(program) if e not in program.requires for n in names(e)}
    used |= {n for e in program.requires if len(names(e)) > 1 for n in names(e)}
    asked = [name for name in open_ if name in used]
    if len(asked) > 1:
        raise NotFiniteError(f"fix the constant by `requires {asked[1]} = ...`")
    result: list[list[tuple[str, Value]]] = []
    for name in open_:
        interval = _interval(checked, name)
        free = Linear(Fraction(0), Fraction(1), interval) if name in asked else interval.inside()
        result.append([(name, free)])
    return result


def _interval(checked: CheckedProgram, name: str) -> Interval:
    """Return the numbers that the header allows for a constant, read off the clauses about it alone."""
    lows: list[tuple[Fraction, bool]] = []
    highs: list[tuple[Fraction, bool]] = []
    for condition in checked.program.requires:
        if names(condition) != {name}:
            continue
        operator, value = _bound(condition, name)
        if operator in (">", ">="):
            lows.append((value, operator == ">="))
        if operator in ("<", "<="):
            highs.append((value, operator == "<="))
    if not lows:
        raise NotFiniteError(f"say how small {name} may be by `requires {name} > 0`")
    low, closed = max(lows, key=lambda pair: (pair[0], not pair[1]))
    if not highs:
        return Interval(low, None, closed)
    high, shut = min(highs, key=lambda pair: (pair[0], pair[1]))
    if low >= high:
        raise NotFiniteError(f"fix the constant by `requires {name} = ...`")
    return Interval(low, high, closed, shut)


def _bound(condition: Expr, name: str) -> tuple[str, Fraction]:
    match condition:
        case Binary(operator, Variable(left), right) if left == name and operator in FLIPPED:
            value = literal(right)
        case Binary(operator, left_side, Variable(right_name)) if right_name == name and operator in FLIPPED:
            value, operator = literal(left_side), FLIPPED[operator]
        case _:
            value, operator = None, ""
    if value is None:
        raise NotFiniteError(f"what is required of {name} is not a comparison with a number")
    return operator, value


def fixed(checked: CheckedProgram, expression: Expr) -> Fraction | None:
    """Return the number that some requires clause equates an expression with."""
    for condition in checked.program.requires:
        match condition:
            case Binary("=", left, right) if left == expression:
                value = literal(right)
            case Binary("=", left, right) if right == expression:
                value = literal(left)
            case _:
                value = None
        if value is not None:
            return value
    return None


def literal(expression: Expr) -> Fraction | None:
    """Return the number that an expression without names stands for."""
    try:
        value = ratio(expression)
    except NotRationalError:
        return None
    top, bottom = dict(value.numerator), dict(value.denominator)
    if any(monomial for monomial in (*top, *bottom)):
        return None
    return top.get((), Fraction(0)) / bottom[()]
