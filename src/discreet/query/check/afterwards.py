"""Functions of released values, in Python: they see nothing else, and what is undefined is NULL."""

import math
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import partial
from itertools import accumulate
from operator import or_
from typing import Any

from discreet.query.plan import MONTHS

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

LONGEST = 4_096
"""What makes a text longer keeps so many characters of it."""


def shown(value: Any) -> str | None:
    """Return a released value as text; a number that nobody could read is NULL."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Fraction() if max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS:
            return None
        case Fraction() if value.denominator == 1:
            return str(value.numerator)
        case Fraction():
            number = _float(lambda: value.numerator / value.denominator)
            return None if number is None else repr(float(number))
        case datetime():
            return value.isoformat(" ")
        case _:
            return str(value)


def _joined(*parts: Any) -> str | None:
    texts = [shown(part) for part in parts]
    return None if None in texts else "".join(text[:LONGEST] for text in texts if text)[:LONGEST]


def _replaced(text: str, old: str, new: str) -> str:
    # What is longer than it was is cut off behind so many of them.
    often = LONGEST // len(new) + 1 if len(new) > len(old) else -1
    return text[:LONGEST].replace(old, new, often)[:LONGEST] if old else text


def _repeated(text: str, times: Fraction) -> str:
    size = LONGEST // max(len(text), 1) + 1
    return (text * min(max(int(times), 0), size))[:LONGEST]


def _split(text: str, sign: str, place: Fraction) -> str:
    parts = text.split(sign) if sign else [text]
    return parts[int(place) - 1] if 1 <= place <= len(parts) else ""


def _padded(text: str, length: Fraction, fill: str, *, left: bool) -> str:
    size = min(max(int(length), 0), LONGEST)
    more = (fill * size)[: max(size - len(text), 0)]
    return more + text[:size] if left else text[:size] + more


def _like(text: str, pattern: str, escape: str = "", *, fold: bool = False) -> bool:
    """Whether a text matches a pattern of LIKE; `reached` says up to which places of the text it does."""
    if fold:
        text, pattern = text.lower(), pattern.lower()
    places = [(sign, False) for sign in pattern]
    if escape:
        places, rest = [], iter(pattern)
        for sign in rest:
            places.append((next(rest, ""), True) if sign == escape else (sign, False))
    reached = [True, *(False for _ in text)]
    for sign, plain in places:
        if sign == "%" and not plain:
            reached = list(accumulate(reached, or_))
        else:
            meets = [here == sign or (sign == "_" and not plain) for here in text]
            reached = [False, *(one and met for one, met in zip(reached, meets, strict=False))]
    return reached[-1]


def _as_day(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip(" "))
        except ValueError:
            return None
    return value.date() if isinstance(value, datetime) else value


def _as_moment(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip(" "))
        except ValueError:
            return None
        return found if found.tzinfo is None else None
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def _shift(unit: str, day: date, count: Fraction) -> date | None:
    """Return a date moved by so many units; the last day of a month stays within the month."""
    steps = int(count)
    if unit not in MONTHS:
        place = day.toordinal() + steps * (7 if unit == "week" else 1)
        return date.fromordinal(place) if 1 <= place <= date.max.toordinal() else None
    year, month = divmod(day.year * 12 + day.month - 1 + steps * MONTHS[unit], 12)
    if not 1 <= year <= 9999:
        return None
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _difference(unit: str, one: date, other: date) -> int:
    """Return how many boundaries of a unit lie between two dates."""
    if unit in MONTHS:
        months = (day.year * 12 + day.month - 1 for day in (other, one))
        later, earlier = (month // MONTHS[unit] for month in months)
        return later - earlier
    # Weeks begin on Monday, which the first day of all was.
    length = 7 if unit == "week" else 1
    return (other.toordinal() - 1) // length - (one.toordinal() - 1) // length


WORDS: dict[str, Callable[..., Any]] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(" "),
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
    "length": len,
    "to_text": shown,
    "concat": _joined,
    "replace": _replaced,
    "repeat": _repeated,
    "reverse": lambda text: text[::-1],
    "initcap": lambda text: re.sub(r"[A-Za-z0-9]+", lambda word: word.group().capitalize(), text),
    "split_part": _split,
    "lpad": partial(_padded, left=True),
    "rpad": partial(_padded, left=False),
    "left": lambda text, count: text[: max(int(count), 0)],
    "right": _right,
    "substring": _substring,
    "starts_with": str.startswith,
    "like": _like,
    "ilike": partial(_like, fold=True),
    "part": _part,
    "trunc": _trunc,
    "shift": _shift,
    "difference": _difference,
    "to_day": _as_day,
    "to_moment": _as_moment,
    "day_at": _day_at,
    "moment_at": _moment_at,
}
"""Functions of texts and dates."""
