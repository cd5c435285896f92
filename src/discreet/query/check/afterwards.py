"""Functions of released values, in Python: they see nothing else, and what is undefined is NULL."""

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

BITS = 4_096
"""Powers with more bits than this are computed in floating point."""


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and size * abs(exponent) <= BITS:
        return None if base == 0 and exponent < 0 else base ** int(exponent)
    return _float(lambda: math.pow(float(base), float(exponent)))


def _float(compute: Callable[[], float]) -> Fraction | None:
    try:
        found = compute()
    except (OverflowError, ValueError, ZeroDivisionError):
        return None
    return Fraction(found) if math.isfinite(found) else None


def _ln(number: Fraction) -> Fraction | None:
    return _float(lambda: math.log(number.numerator) - math.log(number.denominator)) if number > 0 else None


def _remainder(one: Fraction, other: Fraction) -> Fraction | None:
    return None if other == 0 else one - other * math.trunc(one / other)


def _quotient(one: Fraction, other: Fraction) -> Fraction | None:
    return None if other == 0 else Fraction(math.trunc(one / other))


def _part(unit: str, day: date) -> int:
    match unit:
        case "year":
            return day.year
        case "quarter":
            return (day.month + 2) // 3
        case "month":
            return day.month
        case "week":
            return day.isocalendar().week
        case "day":
            return day.day
        case "dayofweek":
            return day.isoweekday() % 7
        case "hour" | "minute" | "second":
            return int(getattr(day, unit))
        case _:
            return day.timetuple().tm_yday


def _trunc(unit: str, day: date) -> date:
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return date.fromordinal(max(day.toordinal() - day.weekday(), 1))
        case _:
            return day


def _substring(text: str, start: Fraction, length: Fraction | None = None) -> str:
    """Return the characters at places from 1 on; places before the first are empty ones."""
    first = int(start) - 1
    last = len(text) if length is None else first + int(length)
    return text[max(first, 0) : max(last, 0)]


def _right(text: str, count: Fraction) -> str:
    return text[len(text) - min(int(count), len(text)) :] if count > 0 else ""


def _day_at(days: Fraction) -> date | None:
    place = 1 + math.floor(days)
    return date.fromordinal(place) if 1 <= place <= date.max.toordinal() else None


def _moment_at(microseconds: Fraction) -> datetime | None:
    count = math.floor(microseconds)
    last = (datetime.max - datetime.min) // timedelta(microseconds=1)
    return datetime.min + timedelta(microseconds=count) if 0 <= count <= last else None


CURVES: dict[str, Callable[..., Fraction | None]] = {
    "power": _power,
    "ln": _ln,
    "exp": lambda number: _float(lambda: math.exp(float(number))),
    "sign": lambda number: Fraction((number > 0) - (number < 0)),
    "modulo": _remainder,
    "quotient": _quotient,
    "to_real": lambda number: number,
    "to_whole": lambda number: Fraction(round(number)),
}
"""Functions of numbers."""

WORDS: dict[str, Callable[..., Any]] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(" "),
    "length": len,
    "concat": lambda *texts: "".join(texts),
    "left": lambda text, count: text[: max(int(count), 0)],
    "right": _right,
    "substring": _substring,
    "part": _part,
    "trunc": _trunc,
    "day_at": _day_at,
    "moment_at": _moment_at,
}
"""Functions of texts and dates."""
