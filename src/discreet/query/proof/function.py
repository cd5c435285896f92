"""The scalar functions that the checker knows: each is row-local, total, and says where its value lies.

Rule.  Let an expression be built from columns and constants by functions of this table, with the types that
the table demands.  Then its value depends on the columns of one row alone, no cell can make it raise, and it
lies in the interval derived here.

Proof, function by function.  Doubles follow IEEE 754, which has a value for everything; casts are TRY_CASTs;
dates are computed inside TRY.  Whole numbers raise only where a result leaves its width, so every operation
on them demands that the interval of the result fits; a quotient demands a divisor of at least 1 and a
remainder a constant other than 0 and -1.  Types that an engine would convert by an implicit cast, which may
raise, are refused.  A pattern raises only if it ends in, or misuses, its escape character; ILIKE also changes
the pattern's case, so there the escape must be a character without case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, floor, log, sqrt
from typing import Any

from discreet.errors import ProofError
from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar
from discreet.query.proof.value import (
    ANY_YEAR,
    MOST_ROWS,
    NOTHING,
    REAL,
    TEXT,
    TRUTH,
    Kind,
    Value,
    alike,
    constant,
    day,
    fits,
    real,
    union,
    whole,
)

Leaf = Callable[[Scalar], Value | None]
"""What is known of some scalars beforehand: columns, group keys, aggregates."""

NUMBERS = frozenset((Kind.WHOLE, Kind.REAL, Kind.NULL))
TRUTHS = frozenset((Kind.TRUTH, Kind.NULL))
TEXTS = frozenset((Kind.TEXT, Kind.NULL))
REALS = frozenset((Kind.REAL, Kind.NULL))
WHOLES = frozenset((Kind.WHOLE, Kind.NULL))
TIMES = frozenset((Kind.DAY, Kind.MOMENT, Kind.NULL))

PARTS = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "dayofyear": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
PER_YEAR = {"year": 1, "quarter": 4, "month": 12, "week": 54, "day": 366}


def refuse(name: str, reason: str) -> ProofError:
    """Return the refusal of one function."""
    return ProofError(f"the function {name}", reason)


def evaluate(scalar: Scalar, leaf: Leaf) -> Value:
    """Return what is known of a scalar, refusing what may raise or is not a function of one row."""
    known = leaf(scalar)
    if known is not None:
        return known
    match scalar:
        case Literal(value):
            return constant(value)
        case Call(name, arguments):
            rule = FUNCTIONS.get(name)
            if rule is None:
                raise refuse(name, "is not one that the checker knows here")
            return rule(name, [evaluate(argument, leaf) for argument in arguments], arguments)
        case Case(branches, otherwise):
            for condition, _ in branches:
                _need("case", [evaluate(condition, leaf)], TRUTHS)
            parts = [*(value for _, value in branches), otherwise]
            return _agreed("case", [_wide(part, evaluate(part, leaf)) for part in parts])
        case Among(argument, values):
            _compared("among", [evaluate(argument, leaf), *(constant(value.value) for value in values)])
            return TRUTH
        case Column(relation, name):
            raise ProofError(f"the column {relation}.{name}", "is not one that can be read here")
        case Aggregate():
            raise ProofError("an aggregate of a question", "must have been rewritten")


def _need(name: str, values: Sequence[Value], kinds: frozenset[Kind]) -> None:
    for value in values:
        if value.kind not in kinds:
            raise refuse(name, f"does not take {value.kind} values")


def _wide(scalar: Scalar, value: Value) -> Value:
    """Return a constant in the width that an engine gives it inside arithmetic: at least 64 bits."""
    if isinstance(scalar, Literal) and value.kind is Kind.WHOLE:
        return whole(value.low, value.high, max(value.bits, 64), null=False)
    return value


def _agreed(name: str, values: Sequence[Value]) -> Value:
    joint = union(values)
    if joint is None:
        raise refuse(name, "mixes types that an engine would have to cast")
    return joint


def _compared(name: str, values: Sequence[Value]) -> None:
    if not alike(values):
        raise refuse(name, "compares identifiers whose stored type is not declared")
    kinds = {value.kind for value in values} - {Kind.NULL}
    if len(kinds) > 1 and not kinds <= NUMBERS and not kinds <= TIMES:
        raise refuse(name, "compares different types, which an engine would have to cast")


def _fitting(name: str, low: int, high: int, bits: int, *, null: bool = True) -> Value:
    if not fits(low, high, bits):
        raise refuse(name, f"may leave the integers of {bits} bits, and then raises")
    return whole(low, high, bits, null=null)


def _arithmetic(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, NUMBERS)
    one, other = (_wide(scalar, value) for scalar, value in zip(scalars, values, strict=True))
    if Kind.NULL in (one.kind, other.kind):
        return NOTHING
    if not (one.bounded and other.bounded):
        return REAL
    bits, null = max(one.bits, other.bits), one.null or other.null
    match name:
        case "add":
            low, high = one.low + other.low, one.high + other.high
        case "subtract":
            low, high = one.low - other.high, one.high - other.low
        case _:
            low, high = _product(one, other, same=scalars[0] == scalars[1])
    if Kind.REAL in (one.kind, other.kind):
        # What is not finite stays so under these operations.
        return real(low, high, finite=one.finite and other.finite)
    return _fitting(name, low, high, bits, null=null)


def _product(one: Value, other: Value, *, same: bool) -> tuple[Any, Any]:
    corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    if same:
        squares = one.low**2, one.high**2
        return (0 if one.low <= 0 <= one.high else min(squares)), max(squares)
    return min(corners), max(corners)


def _times(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, WHOLES)
    one, other = values
    bits = 64 if name == "multiply_long" else 128
    if not fits(one.low, one.high, bits):
        raise refuse(name, "casts what may not fit")
    low, high = _product(one, other, same=False)
    return _fitting(name, low, high, max(bits, other.bits))


def _divide(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, REALS)
    one, other = values
    if not (one.bounded and other.bounded and other.finite) or other.low <= 0 <= other.high:
        return REAL
    corners = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
    return real(min(corners), max(corners), finite=one.finite)


def _quotient(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, WHOLES)
    one, other = values
    if other.low < 1:
        raise refuse(name, "may divide by zero, and then raises")
    low = one.low if one.low < 0 else one.low // other.high
    high = one.high // other.low if one.high >= 0 else 0
    return _fitting(name, low, high, max(one.bits, other.bits))


def _modulo(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, WHOLES)
    one, other = values
    if other.low != other.high or other.low in (0, -1):
        raise refuse(name, "needs a constant divisor other than 0 and -1")
    reach = abs(other.low) - 1
    return whole(0 if one.low >= 0 else -reach, reach, max(one.bits, other.bits))


def _absolute(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, NUMBERS)
    (one,) = values
    if not one.bounded:
        return REAL
    low, high = max(one.low, -one.high, 0), max(abs(one.low), abs(one.high))
    if one.kind is Kind.REAL:
        return real(low, high, finite=one.finite)
    return _fitting(name, low, high, one.bits, null=one.null)


def _finite(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, REALS)
    return replace(values[0], finite=True)


def _curve(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Increasing functions; an engine's library may be off by a few units in the last place.

    The logarithm of any finite double lies between -745.2 and 709.8, where it is finite.
    """
    _need(name, values, REALS)
    (one,) = values
    low, high = float(one.low), float(one.high)
    inside = {"sqrt": low >= 0, "ln": low > 0, "exp": low >= -700 and high <= 700}[name]
    if not (one.bounded and one.finite and inside) or one.kind is Kind.NULL:
        return real(Fraction(-746), Fraction(710), finite=False) if name == "ln" else REAL
    curve = {"sqrt": sqrt, "ln": log, "exp": exp}[name]
    ends = Fraction(curve(low)), Fraction(curve(high))
    if name == "sqrt":
        return real(*ends)
    return real(ends[0] - abs(ends[0]) / 2**40, ends[1] + abs(ends[1]) / 2**40)


def _rounded(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, REALS)
    (one,) = values
    if not one.bounded:
        return REAL
    return real(Fraction(floor(one.low)), Fraction(ceil(one.high)), finite=one.finite)


def _round(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values[:1], REALS)
    if not (isinstance(scalars[1], Literal) and 0 <= values[1].low == values[1].high <= 9):
        raise refuse(name, "needs a constant number of digits")
    return _rounded(name, values[:1], scalars[:1])


def _sign(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, NUMBERS)
    return whole(-1, 1, 8)


def _clamp(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    value, low, high = values
    _need(name, values, WHOLES)
    ends = (low.low, high.low)
    if not (isinstance(scalars[1], Literal) and isinstance(scalars[2], Literal)) or ends[0] > ends[1]:
        raise refuse(name, "needs constant ends, the lower one first")
    if Kind.NULL in (low.kind, high.kind):
        raise refuse(name, "needs whole numbers as ends")
    if value.kind is Kind.NULL:
        return NOTHING
    bottom, top = (min(max(end, ends[0]), ends[1]) for end in (value.low, value.high))
    return whole(bottom, top, max(value.bits, low.bits, high.bits), null=value.null)


def _clamp_real(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values[:1], REALS)
    _need(name, values[1:], NUMBERS)
    _, low, high = values
    if not all(isinstance(scalar, Literal) for scalar in scalars[1:]) or low.low > high.low:
        raise refuse(name, "needs constant ends, the lower one first")
    return real(low.low, high.high)


def _fixed(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double times a constant, rounded and cut to constant ends; what is not finite is NULL.

    The ends reach the engine as the doubles nearest to them.
    """
    _need(name, values[:1], REALS)
    ends = []
    for scalar in scalars[1:]:
        match scalar:
            case Literal(int() | Fraction() as value) if not isinstance(value, bool):
                ends.append(Fraction(float(value)))
            case _:
                raise refuse(name, "needs constant ends")
    scale, low, high = ends
    if scale <= 0 or low > high:
        raise refuse(name, "needs a positive scale and the lower end first")
    return _fitting(name, floor(low), ceil(high), 63)


def _bits_set(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, WHOLES)
    return whole(1 if values[0].low > 0 else 0, 64, 8)


def _bit_at(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, WHOLES)
    word, place = values
    if not (isinstance(scalars[1], Literal) and 0 <= place.low <= 62) or word.low < 0 or word.bits > 64:
        raise refuse(name, "needs a constant place in a number that is not negative")
    return whole(0, 1, word.bits)


def _slot(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """One of sixty bits, chosen by a hash of the arguments."""
    return Value(Kind.WHOLE, 1, 2**59, 64, False, None, 1)


def _cast(bits: int) -> "Rule":
    def rule(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
        _need(name, values, WHOLES)
        return _fitting(name, values[0].low, values[0].high, bits, null=values[0].null)

    return rule


def _same(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _compared(name, values)
    if len({value.kind for value in values} - {Kind.NULL}) > 1:
        raise refuse(name, "mixes types that an engine would have to cast")
    return _agreed(name, [values[0]])


def _truth(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _compared(name, values)
    return TRUTH


def _logic(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, TRUTHS)
    return TRUTH


def _is_null(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    return TRUTH


def _first(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    return _agreed(name, [_wide(s, v) for s, v in zip(scalars, values, strict=True)])


def _extreme(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The least or greatest of the arguments that are not NULL, so no more than each one that never is."""
    _need(name, values, NUMBERS)
    joint = _first(name, values, scalars)
    sure = [value for value in values if not value.null]
    if joint.kind is not Kind.WHOLE or not sure:
        return joint
    if name == "least":
        return whole(joint.low, min(value.high for value in sure), joint.bits, null=False)
    return whole(max(value.low for value in sure), joint.high, joint.bits, null=False)


def _text(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, TEXTS)
    return TEXT


def _length(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, TEXTS)
    return whole(0, 2**40)


def _cut(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values[:1], TEXTS)
    for scalar, value in zip(scalars[1:], values[1:], strict=True):
        if not (isinstance(scalar, Literal) and value.kind is Kind.WHOLE and 0 <= value.low <= 2**20):
            raise refuse(name, "needs constant positions that are not negative")
    return TEXT


def _pattern(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values, TEXTS)
    match tuple(scalars[1:]):
        case (Literal(str()),):
            return TRUTH
        case (Literal(str(pattern)), Literal(str(escape))) if _escaped(pattern, escape, name):
            return TRUTH
    raise refuse(name, "needs a constant pattern that cannot raise")


def _escaped(pattern: str, escape: str, name: str) -> bool:
    """Whether every escape is followed by what it may escape, whatever the case of the pattern."""
    if len(escape) != 1 or (name != "like" and (not escape.isascii() or escape.isalpha())):
        return False
    place = pattern.find(escape)
    while place >= 0:
        if pattern[place + 1 : place + 2] not in ("%", "_", escape):
            return False
        place = pattern.find(escape, place + 2)
    return True


def _part(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    unit = _unit(name, scalars[0], (*PARTS, "year"))
    _need(name, values[1:], TIMES)
    return whole(*(PARTS.get(unit) or (values[1].low, values[1].high)))


def _trunc(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _unit(name, scalars[0], tuple(PER_YEAR))
    _need(name, values[1:], TIMES)
    return day(values[1].low - 1, values[1].high)


def _difference(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    unit = _unit(name, scalars[0], tuple(PER_YEAR))
    _need(name, values[1:], TIMES)
    _compared(name, values[1:])
    years = max(v.high for v in values[1:]) - min(v.low for v in values[1:]) + 1
    return whole(-years * PER_YEAR[unit], years * PER_YEAR[unit])


def _shift(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _unit(name, scalars[0], tuple(PER_YEAR))
    _need(name, values[1:2], TIMES)
    if not (isinstance(scalars[2], Literal) and values[2].kind is Kind.WHOLE and abs(values[2].low) <= 4000):
        raise refuse(name, "needs a small constant amount")
    return day(values[1].low - 4001, values[1].high + 4001)


def _unit(name: str, scalar: Scalar, known: Sequence[str]) -> str:
    match scalar:
        case Literal(str(unit)) if unit in known:
            return unit
    raise refuse(name, "needs a unit of time")


def _to(kind: Kind, taken: frozenset[Kind]) -> "Rule":
    def rule(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
        _need(name, values, taken | {Kind.NULL})
        (value,) = values
        match kind, value.kind:
            case Kind.WHOLE, Kind.WHOLE:
                return whole(max(value.low, -(2**63)), min(value.high, 2**63 - 1))
            case Kind.WHOLE, Kind.TRUTH:
                return whole(0, 1)
            case Kind.WHOLE, Kind.REAL if value.bounded:
                return whole(max(floor(value.low), -(2**63)), min(ceil(value.high), 2**63 - 1))
            case Kind.WHOLE, _:
                return whole(-(2**63), 2**63 - 1)
            case Kind.REAL, (Kind.WHOLE | Kind.REAL):
                return real(value.low, value.high, finite=value.finite) if value.bounded else REAL
            case Kind.REAL, _:
                return REAL
            case ((Kind.DAY | Kind.MOMENT), (Kind.DAY | Kind.MOMENT)):
                return day(value.low, value.high, kind=kind)
            case ((Kind.DAY | Kind.MOMENT), _):
                return day(*ANY_YEAR, kind=kind)
            case _:
                return Value(kind)

    return rule


def _mean(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    _need(name, values[:2], WHOLES)
    _need(name, values[2:], REALS)
    return REAL


Rule = Callable[[str, Sequence[Value], Sequence[Scalar]], Value]

FUNCTIONS: Mapping[str, Rule] = {
    **dict.fromkeys(("add", "subtract", "multiply"), _arithmetic),
    **dict.fromkeys(("multiply_long", "multiply_wide"), _times),
    "divide": _divide,
    "quotient": _quotient,
    "modulo": _modulo,
    "absolute": _absolute,
    "sign": _sign,
    **dict.fromkeys(("floor", "ceil", "round_whole"), _rounded),
    **dict.fromkeys(("sqrt", "ln", "exp"), _curve),
    "finite": _finite,
    "round": _round,
    "clamp": _clamp,
    "clamp_real": _clamp_real,
    "fixed": _fixed,
    "bits_set": _bits_set,
    "bit_at": _bit_at,
    "slot": _slot,
    "narrow": _cast(32),
    "long": _cast(64),
    "nullif": _same,
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "distinct"), _truth),
    **dict.fromkeys(("and", "or", "not"), _logic),
    "is_null": _is_null,
    "coalesce": _first,
    **dict.fromkeys(("least", "greatest"), _extreme),
    **dict.fromkeys(("lower", "upper", "trim", "concat"), _text),
    "length": _length,
    **dict.fromkeys(("left", "right", "substring"), _cut),
    **dict.fromkeys(("like", "ilike", "starts_with"), _pattern),
    "part": _part,
    "trunc": _trunc,
    "difference": _difference,
    "shift": _shift,
    "to_whole": _to(Kind.WHOLE, frozenset((Kind.WHOLE, Kind.REAL, Kind.TEXT, Kind.TRUTH))),
    "to_real": _to(Kind.REAL, frozenset((Kind.WHOLE, Kind.REAL, Kind.TEXT))),
    "to_text": _to(Kind.TEXT, frozenset(Kind) - {Kind.REAL, Kind.MOMENT}),
    "to_day": _to(Kind.DAY, frozenset((Kind.DAY, Kind.MOMENT, Kind.TEXT))),
    "to_moment": _to(Kind.MOMENT, frozenset((Kind.DAY, Kind.MOMENT, Kind.TEXT))),
    "to_truth": _to(Kind.TRUTH, frozenset((Kind.TRUTH, Kind.TEXT))),
    "mean": _mean,
}
"""Functions of one row (and of one person's totals)."""

COUNTED = whole(0, MOST_ROWS, null=False)


def aggregate(scalar: Scalar, leaf: Leaf, rows: int | None, *, grouped: bool) -> Value | None:
    """Return what is known of an aggregate over a group of rows, or None for what is none.

    Whole numbers alone are added up: a sum of doubles would depend on the order of other people's rows.  A
    group has at least one row; without grouping there may be none.
    """
    match scalar:
        case Call("count_rows", ()):
            return whole(1 if grouped else 0, MOST_ROWS, null=False)
        case Call("count_values" | "count_distinct", (argument,)):
            evaluate(argument, leaf)
            return COUNTED
        case Call("sum", (argument,)):
            value = evaluate(argument, leaf)
            _need("sum", [value], WHOLES)
            return _fitting("sum", min(value.low, 0) * MOST_ROWS, max(value.high, 0) * MOST_ROWS, 128)
        case Call("min" | "max", (argument,)):
            return union([evaluate(argument, leaf)])
        case Call("bits_or", (argument,)):
            value = evaluate(argument, leaf)
            if value.kind is not Kind.WHOLE or value.low < 0 or value.bits > 64:
                raise refuse("bits_or", "needs integers of 64 bits that are not negative")
            ones = None if value.ones is None or rows is None else value.ones * rows
            return Value(Kind.WHOLE, value.low, 2 ** value.high.bit_length() - 1, 64, False, None, ones)
        case _:
            return None
