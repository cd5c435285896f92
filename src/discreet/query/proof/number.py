"""Functions of numbers: where their values lie, and that no cell makes them raise."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, exp, floor, log, sqrt, trunc
from typing import Any

from discreet.query.plan import Literal, Scalar
from discreet.query.proof.demand import NUMBERS, REALS, WHOLES, Rule, agreed, fitting, need, refuse, wide
from discreet.query.proof.value import NOTHING, REAL, Kind, Value, fits, real, whole

GRID = 2**500


def arithmetic(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A sum, difference or product; of whole numbers it must fit their width."""
    need(name, values, NUMBERS)
    one, other = (wide(scalar, value) for scalar, value in zip(scalars, values, strict=True))
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
    return fitting(name, low, high, bits, null=null)


def _is_whole(scalar: Scalar, value: Value) -> bool:
    """Whether a scalar is a constant with an interval: NULL has none."""
    return isinstance(scalar, Literal) and value.kind is Kind.WHOLE


def _product(one: Value, other: Value, *, same: bool) -> tuple[Any, Any]:
    corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    if same:
        squares = one.low**2, one.high**2
        return (0 if one.low <= 0 <= one.high else min(squares)), max(squares)
    return min(corners), max(corners)


def times(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A product in 64 or 128 bits."""
    need(name, values, WHOLES)
    one, other = values
    bits = 64 if name == "multiply_long" else 128
    if not fits(one.low, one.high, bits):
        raise refuse(name, "casts what may not fit")
    low, high = _product(one, other, same=False)
    return fitting(name, low, high, max(bits, other.bits))


def divide(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A quotient of doubles; only a divisor away from zero keeps it bounded."""
    need(name, values, REALS)
    one, other = values
    if not (one.bounded and other.bounded and other.finite) or other.low <= 0 <= other.high:
        return REAL
    corners = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
    return real(min(corners), max(corners), finite=one.finite)


def quotient(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A whole quotient by something that is at least 1."""
    need(name, values, WHOLES)
    one, other = values
    if other.low < 1:
        raise refuse(name, "may divide by zero, and then raises")
    low = one.low if one.low < 0 else one.low // other.high
    high = one.high // other.low if one.high >= 0 else 0
    return fitting(name, low, high, max(one.bits, other.bits))


def modulo(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A remainder by a constant."""
    need(name, values, WHOLES)
    one, other = values
    if not _is_whole(scalars[1], other) or other.low in (0, -1):
        raise refuse(name, "needs a constant divisor other than 0 and -1")
    reach = abs(other.low) - 1
    return whole(0 if one.low >= 0 else -reach, reach, max(one.bits, other.bits))


def absolute(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The size of a number."""
    need(name, values, NUMBERS)
    (one,) = values
    if not one.bounded:
        return REAL
    low, high = max(one.low, -one.high, 0), max(abs(one.low), abs(one.high))
    if one.kind is Kind.REAL:
        return real(low, high, finite=one.finite)
    return fitting(name, low, high, one.bits, null=one.null)


def finite(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double cut towards 0 to a multiple of 2**-500, or NULL where its size is not below 2**500."""
    need(name, values, REALS)
    (one,) = values
    low, high = (Fraction(trunc(Fraction(end) * GRID), GRID) for end in (one.low, one.high))
    return replace(one, low=low, high=high, finite=True, null=True)


def curve(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Increasing functions; an engine's library may be off by a few units in the last place.

    The logarithm of any finite double lies between -745.2 and 709.8, where it is finite.  Engines take the
    exponential of -360 for that of anything smaller, and NULL for that of 346 and more.
    """
    need(name, values, REALS)
    (one,) = values
    low, high = float(one.low), float(one.high)
    inside = {"sqrt": low >= 0, "ln": low > 0, "exp": low >= -360 and high <= 345}[name]
    if not (one.bounded and one.finite and inside) or one.kind is Kind.NULL:
        return real(Fraction(-746), Fraction(710), finite=False) if name == "ln" else REAL
    curve = {"sqrt": sqrt, "ln": log, "exp": exp}[name]
    ends = Fraction(curve(low)), Fraction(curve(high))
    if name == "sqrt":
        return real(*ends)
    return real(ends[0] - abs(ends[0]) / 2**40, ends[1] + abs(ends[1]) / 2**40)


def rounded(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double rounded to a whole one."""
    need(name, values, REALS)
    (one,) = values
    if not one.bounded:
        return REAL
    return real(Fraction(floor(one.low)), Fraction(ceil(one.high)), finite=one.finite)


def round_digits(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double rounded to a few decimal digits."""
    need(name, values[:1], REALS)
    if not (_is_whole(scalars[1], values[1]) and 0 <= values[1].low <= 9):
        raise refuse(name, "needs a constant number of digits")
    return rounded(name, values[:1], scalars[:1])


def sign(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Which sign a number has: -1, 0 or 1."""
    need(name, values, NUMBERS)
    return whole(-1, 1, 8)


def clamp(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A whole number cut to constant ends."""
    value, low, high = values
    need(name, values, WHOLES)
    ends = (low.low, high.low)
    if not (_is_whole(scalars[1], low) and _is_whole(scalars[2], high)) or ends[0] > ends[1]:
        raise refuse(name, "needs constant ends that are whole numbers, the lower one first")
    if value.kind is Kind.NULL:
        return NOTHING
    bottom, top = (min(max(end, ends[0]), ends[1]) for end in (value.low, value.high))
    return whole(bottom, top, max(value.bits, low.bits, high.bits), null=value.null)


def clamp_real(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double cut to constant ends; what is not finite is NULL."""
    need(name, values[:1], REALS)
    need(name, values[1:], NUMBERS - {Kind.NULL})
    _, low, high = values
    if not all(isinstance(scalar, Literal) for scalar in scalars[1:]) or low.low > high.low:
        raise refuse(name, "needs constant ends, the lower one first")
    return real(low.low, high.high)


def fixed(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A double times a constant, rounded and cut to constant ends; what is not finite is NULL.

    The ends reach the engine as the doubles nearest to them.
    """
    need(name, values[:1], REALS)
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
    return fitting(name, floor(low), ceil(high), 63)


def bits_set(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The number of bits that are set."""
    need(name, values, WHOLES)
    if values[0].bits > 64:
        raise refuse(name, "is wrong for integers of more than 64 bits in some engines")
    return whole(1 if values[0].low > 0 else 0, 64, 8)


def bit_at(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """One bit of a number."""
    need(name, values, WHOLES)
    word, place = values
    if not (_is_whole(scalars[1], place) and 0 <= place.low <= 62) or word.low < 0 or word.bits > 64:
        raise refuse(name, "needs a constant place in a number that is not negative")
    return whole(0, 1, word.bits)


def slot(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """One of sixty bits, chosen by a hash of the arguments."""
    return Value(Kind.WHOLE, 1, 2**59, 64, False, None, 1)


def cast(bits: int) -> Rule:
    """A cast to fewer bits, which raises unless the value fits."""

    def rule(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
        need(name, values, WHOLES)
        return fitting(name, values[0].low, values[0].high, bits, null=values[0].null)

    return rule


def extreme(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The least or greatest of the arguments that are not NULL, so no more, or less, than each constant."""
    need(name, values, NUMBERS)
    joint = first(name, values, scalars)
    # What a filter leaves may not count here: an engine may compute this before it filters.
    sure = [value for scalar, value in zip(scalars, values, strict=True) if _is_whole(scalar, value)]
    if joint.kind is not Kind.WHOLE or not sure:
        return joint
    if name == "least":
        return whole(joint.low, min(value.high for value in sure), joint.bits, null=False)
    return whole(max(value.low for value in sure), joint.high, joint.bits, null=False)


def first(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The first of several values that is not NULL."""
    return agreed(name, [wide(s, v) for s, v in zip(scalars, values, strict=True)])


def mean(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A whole total divided by a count."""
    need(name, values[:2], WHOLES)
    need(name, values[2:], REALS)
    return REAL
