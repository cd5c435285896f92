"""Which group keys a condition leaves: WHERE page IN ('/a', '/b') names the groups that a question is about.

Rows that a condition leaves out are in no group, so groups that only such rows could be in are not asked for,
and groups that a condition lists need not be found: their names are in the question.  What is left out here
is never shown; the statement keeps only rows with the keys that are left, whatever is concluded here.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any

from discreet.query.catalog.kind import Day, Kind, Moment, Real, Text, Typed, Whole
from discreet.query.check.scope import Lineage
from discreet.query.plan import TURNED, Among, Call, Literal, Scalar, Value, conjuncts

MOST = 10_000
"""Longer lists of keys than this are found in the data, or declared."""

Said = tuple[str, Scalar, tuple[Any, ...]]
"""A comparison of a scalar with a constant, or that it is one of some."""


def _said(where: Scalar | None) -> Iterator[Said]:
    """Yield what holds for every row that a condition keeps."""
    for part in conjuncts(where):
        match part:
            case Call(word, (scalar, other)) if word in TURNED and (value := _constant(other)) is not None:
                yield word, scalar, (value,)
            case Call(word, (other, scalar)) if word in TURNED and (value := _constant(other)) is not None:
                yield TURNED[word], scalar, (value,)
            case Among(scalar, values):
                yield "among", scalar, tuple(value.value for value in values)
            case Call("or", alternatives):
                yield from _either(alternatives)
            case Call("not", (Among(scalar, values),)):
                yield "none", scalar, tuple(value.value for value in values)
            case Call("ne", (scalar, Literal(value))) | Call("ne", (Literal(value), scalar)):
                yield "none", scalar, (value,)
            case Call("not", (scalar,)):
                yield "eq", scalar, (False,)
            case _:
                yield "eq", part, (True,)


def _constant(scalar: Scalar) -> Any:
    """Return the constant that a scalar is, None for anything else; a negative number is 0 minus one."""
    match scalar:
        case Literal(value):
            return value
        case Call("subtract", (Literal(0), Literal(int() | Fraction() as number))) if number is not True:
            return -number
        case _:
            return None


def _either(alternatives: tuple[Scalar, ...]) -> Iterator[Said]:
    """Yield a list of equalities of one scalar as what it is."""
    found = [list(_said(part)) for part in alternatives]
    if all(len(one) == 1 and one[0][0] in ("eq", "among") for one in found):
        said = [one[0] for one in found]
        if len({scalar for _, scalar, _ in said}) == 1:
            yield "among", said[0][1], tuple(value for _, _, values in said for value in values)


def within(scope: Lineage, where: Scalar | None) -> Lineage:
    """Return the columns with what a condition says about them; nothing of that is held."""
    said = list(_said(where))
    columns = []
    for column in scope.columns:
        kind = column.typed.kind
        for word, scalar, values in said:
            if scalar == column.typed.scalar:
                kind = _narrowed(kind, word, values)
        held = column.typed.held and kind == column.typed.kind
        columns.append(replace(column, typed=Typed(column.typed.scalar, kind, held)))
    return replace(scope, columns=tuple(columns))


def left(scalar: Scalar, values: tuple[Value, ...] | None, where: Scalar | None) -> tuple[Value, ...] | None:
    """Return which values of a key a condition leaves; those that it lists are all there are."""
    for word, about, constants in _said(where):
        if about != scalar:
            continue
        if word in ("eq", "among"):
            listed = {value for value in constants if value is not None}
            if values is None and len(listed) <= MOST:
                values = tuple(sorted(listed))
            elif values is not None:
                values = tuple(value for value in values if value in listed) or values
        elif word == "none" and values is not None:
            values = tuple(value for value in values if value not in constants) or values
        elif values is not None:
            values = tuple(value for value in values if _holds(word, value, constants[0])) or values
    return values


def _holds(word: str, value: Any, bound: Any) -> bool:
    match value, bound:
        case (bool(), _) | (_, bool()):
            return True
        case (int() | Fraction(), int() | Fraction()) | (str(), str()):
            pass
        case date(), date() if isinstance(value, datetime) == isinstance(bound, datetime):
            pass
        case _:
            return True
    less, more = bool(value < bound), bool(value > bound)
    return {"lt": less, "le": not more, "gt": more, "ge": not less}[word]


def _narrowed(kind: Kind, word: str, values: tuple[Any, ...]) -> Any:
    """Return what is known of a column's values once a condition holds."""
    if word == "none":
        return kind
    ends = _ends(word, values)
    match kind:
        case Text(known) if word in ("eq", "among") and all(isinstance(value, str) for value in values):
            listed = {value for value in values if isinstance(value, str)}
            kept = tuple(sorted(listed if known is None else listed & set(known)))
            return Text(kept) if kept and len(kept) <= MOST else kind
        case Whole() | Real() if all(type(value) in (int, Fraction) for value in values):
            step = 1 if isinstance(kind, Whole) else 0
            low, high = _numbers(ends, word, step)
            if isinstance(kind, Real):
                return _between(kind, low, high)
            return _between(kind, None if low is None else ceil(low), None if high is None else floor(high))
        case Day() if all(isinstance(v, date) and not isinstance(v, datetime) for v in values):
            days = [value for value in values if isinstance(value, date)]
            shift = timedelta(days=1) if word in ("lt", "gt") else timedelta(0)
            if word in ("lt", "gt") and days[0] in (date.min, date.max):
                return kind
            first = min(days) + (shift if word == "gt" else timedelta(0))
            last = max(days) - (shift if word == "lt" else timedelta(0))
            return _between(
                kind, first if ends[0] is not None else None, last if ends[1] is not None else None
            )
        case Moment() if all(isinstance(value, datetime) for value in values):
            return _between(kind, *ends)
        case _:
            return kind


def _ends(word: str, values: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the least and the greatest value that a condition allows, None where there is none."""
    if not values or len({type(value) for value in values}) > 1:
        return None, None
    least, most = min(values), max(values)
    return (None if word in ("lt", "le") else least), (None if word in ("gt", "ge") else most)


def _numbers(ends: tuple[Any, Any], word: str, step: int) -> tuple[Fraction | None, Fraction | None]:
    low, high = (Fraction(end) if isinstance(end, int | Fraction) else None for end in ends)
    return (
        None if low is None else low + (step if word == "gt" and low.denominator == 1 else 0),
        None if high is None else high - (step if word == "lt" and high.denominator == 1 else 0),
    )


def _between(kind: Any, low: Any, high: Any) -> Any:
    """Return a kind within further ends, or itself where nothing would be left."""
    lows = [end for end in (kind.low, low) if end is not None]
    highs = [end for end in (kind.high, high) if end is not None]
    if lows and highs and max(lows) > min(highs):
        return kind
    return replace(kind, low=max(lows, default=None), high=min(highs, default=None))
