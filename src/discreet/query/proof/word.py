"""Functions of texts, dates and truth values: their types, and that no cell makes them raise."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from discreet.query.plan import Call, Case, Literal, Scalar
from discreet.query.proof.demand import (
    TEXTS,
    TIMES,
    TRUTHS,
    WHOLES,
    Rule,
    agreed,
    compared,
    fitting,
    need,
    refuse,
)
from discreet.query.proof.value import REAL, TEXT, TRUTH, YEARS, Kind, Value, day, real, whole

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


def same(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """NULLIF: the first argument, or NULL."""
    compared(name, values)
    if len({value.kind for value in values} - {Kind.NULL}) > 1:
        raise refuse(name, "mixes types that an engine would have to cast")
    return agreed(name, [values[0]])


def truth(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A comparison."""
    compared(name, values)
    return TRUTH


def logic(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A connective."""
    need(name, values, TRUTHS)
    return TRUTH


def is_null(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Whether there is a value."""
    return TRUTH


def text(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A text made of texts."""
    need(name, values, TEXTS)
    return TEXT


def joined(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Texts one after the other: each is short, so that no cell makes the whole outgrow the memory."""
    need(name, values, TEXTS)
    if not all(map(_short, scalars)):
        raise refuse(name, "makes a text longer that may be long already")
    return TEXT


def _short(scalar: Scalar) -> bool:
    """Whether a text has at most 4,096 characters, whatever the data."""
    match scalar:
        case Literal(value):
            return value is None or len(str(value)) <= 4_096
        case Call("left", (_, Literal(int(length)))):
            return length <= 4_096
        case Case(branches, otherwise):
            return all(_short(result) for _, result in branches) and _short(otherwise)
    return False


def length(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The length of a text."""
    need(name, values, TEXTS)
    return whole(0, 2**40)


def cut(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A piece of a text at constant places."""
    need(name, values[:1], TEXTS)
    for scalar, value in zip(scalars[1:], values[1:], strict=True):
        if not (isinstance(scalar, Literal) and value.kind is Kind.WHOLE and 0 <= value.low <= 2**20):
            raise refuse(name, "needs constant positions that are not negative")
    return TEXT


def piece(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A text trimmed, replaced, split or padded by constants; what is looked for is not empty."""
    need(name, values[:1], TEXTS)
    match name, tuple(scalars[1:]):
        case (("ltrim" | "rtrim"), (Literal(str(signs)),)) if signs:
            return TEXT
        case "replace", (Literal(str(old)), Literal(str(new))) if old and len(new) <= len(old):
            return TEXT
        case "replace", (Literal(str(old)), Literal(str(new))) if (
            old and len(new) <= 8 and _short(scalars[0])
        ):
            return TEXT
        case "split_part", (Literal(str(sign)), Literal(int(place))) if sign and 1 <= place <= 1_000:
            return TEXT
        case (("lpad" | "rpad"), (Literal(int(length)), Literal(str(fill)))) if fill and 0 <= length <= 1_000:
            return TEXT
    raise refuse(name, "needs constants with which it cannot raise")


def pattern(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """Whether a text matches a constant pattern."""
    need(name, values, TEXTS)
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


def part(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A part of a date; the year lies where the argument's does."""
    unit = _unit(name, scalars[0], (*PARTS, "year"))
    need(name, values[1:], TIMES)
    return whole(*(PARTS.get(unit) or (values[1].low, values[1].high)))


def trunc(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The beginning of a unit of time; a week may begin in the year before."""
    _unit(name, scalars[0], tuple(PER_YEAR))
    need(name, values[1:], TIMES)
    return day(values[1].low - 1, values[1].high)


def difference(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The number of boundaries of a unit of time between two dates."""
    unit = _unit(name, scalars[0], tuple(PER_YEAR))
    need(name, values[1:], TIMES)
    years = max(v.high for v in values[1:]) - min(v.low for v in values[1:]) + 1
    return whole(-years * PER_YEAR[unit], years * PER_YEAR[unit])


def shift(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """A date moved by a constant amount."""
    _unit(name, scalars[0], tuple(PER_YEAR))
    need(name, values[1:2], TIMES)
    if not (isinstance(scalars[2], Literal) and values[2].kind is Kind.WHOLE and abs(values[2].low) <= 4000):
        raise refuse(name, "needs a small constant amount")
    return day(values[1].low - 4001, values[1].high + 4001)


def _beginning(year: int) -> int:
    """Return how many microseconds a year begins later than the year 1."""
    before = year - 1
    return (365 * before + before // 4 - before // 100 + before // 400) * 86_400_000_000


def microseconds(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """How many microseconds a moment is later than the beginning of the year 1."""
    need(name, values, frozenset((Kind.MOMENT, Kind.NULL)))
    return fitting(name, _beginning(values[0].low), _beginning(values[0].high + 1) - 1, 64)


def moment_at(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
    """The moment so many microseconds after the beginning of the year 1, NULL outside of the calendar."""
    need(name, values, WHOLES)
    if values[0].bits > 64:
        raise refuse(name, "needs integers of 64 bits")
    return day(*YEARS, kind=Kind.MOMENT)


def _unit(name: str, scalar: Scalar, known: Sequence[str]) -> str:
    match scalar:
        case Literal(str(unit)) if unit in known:
            return unit
    raise refuse(name, "needs a unit of time")


def convert(kind: Kind, taken: frozenset[Kind]) -> Rule:
    """A TRY_CAST; dates and moments that an engine calls infinite become NULL.

    NULL stays NULL, of which any interval is true.  Texts are parsed, never cast: a cast would read any year.
    """

    def rule(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
        need(name, values, taken | {Kind.NULL})
        (value,) = values
        match kind, value.kind:
            case Kind.WHOLE, Kind.NULL:
                return whole(0, 0)
            case Kind.REAL, Kind.NULL:
                return real(Fraction(0), Fraction(0))
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
            case ((Kind.TEXT | Kind.DAY | Kind.MOMENT), same_kind) if same_kind is kind:
                # What is of this kind already stays what it is.
                return replace(value, null=True)
            case ((Kind.DAY | Kind.MOMENT), (Kind.DAY | Kind.MOMENT)):
                return day(value.low, value.high, kind=kind)
            case ((Kind.DAY | Kind.MOMENT), _):
                return day(*YEARS, kind=kind)
            case _:
                return Value(kind)

    def typed(name: str, values: Sequence[Value], scalars: Sequence[Scalar]) -> Value:
        found = rule(name, values, scalars)
        return replace(found, missing=True) if values[0].kind is Kind.NULL else found

    return typed
