"""What each function of a statement means, cell by cell.

A cell is NULL (None), a whole number (int), a double (float), text, a truth value, a date or a moment; dates
and moments lie in the years 1 to 9999.  A function of NULL is NULL unless it says otherwise.

*Doubles.*  NaN and infinity do not exist.  A column holds 0 or numbers of a size from 2**-500 to 2**500: what
is larger is NULL, what is smaller is 0.  `finite` brings any other double there, so that the product or
quotient of two never leaves the doubles, which some engines answer with an error.  Division by zero is NULL,
and so are the square root of a negative number and the logarithm of one that is not positive.

*Text.*  Equal means the same characters, order is by code point, a character is a code point, and only the
letters A to Z have a case.  Text is read as a number, date, moment or truth value by the patterns below,
spaces around it left out; anything else is NULL.

*Time.*  A moment is a number of microseconds since the year 1 began, and what lies outside of the calendar is
NULL.  Weeks begin on Mondays.  A difference counts the beginnings of units between two moments.  A month
later is the same day of the next month, or its last day.
"""

import math
import operator
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import reduce
from hashlib import md5
from typing import Any

LARGE = 2.0**500
"""Doubles of this size and above do not exist; those below its inverse are 0."""

LAST = date.max.toordinal() * 86_400_000_000
"""The microseconds of the years 1 to 9999."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_REAL = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = re.compile(_DAY + r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?Z?)?")
_TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "0"), False
)
_LOWER = {letter: letter + 32 for letter in range(ord("A"), ord("Z") + 1)}
_UPPER = {small: letter for letter, small in _LOWER.items()}


def stored(number: float | None) -> float | None:
    """Return a decimal cell of a source as the column offers it."""
    if number is None or not abs(number) < LARGE:
        return None
    return number if abs(number) >= 1 / LARGE else 0.0


def finite(number: float) -> float | None:
    """Return a double cut towards 0 to a multiple of 2**-500, or NULL where it is too large."""
    return math.trunc(number * LARGE) / LARGE if abs(number) < LARGE else None


def _whole(x: Any) -> int | None:
    nearest = round(x)
    return nearest if -(2**63) <= nearest < 2**63 else None


def _quotient(a: int, b: int) -> int:
    """Return a quotient cut towards 0; a remainder has the sign of what was divided."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _round_whole(x: float) -> float:
    whole = float(math.trunc(x))
    return whole + math.copysign(1, x) if abs(x - whole) >= 0.5 else whole


def _fixed(x: float, scale: float, low: float, high: float) -> int:
    return int(min(max(math.floor(x * scale + 0.5), low), high))


def _text(x: Any) -> str:
    match x:
        case bool():
            return "true" if x else "false"
        case datetime():
            return x.isoformat(" ")
        case date():
            return x.isoformat()
        case _:
            return str(x)


def lower(text: str) -> str:
    """Return text with the letters A to Z made small."""
    return text.translate(_LOWER)


def _substring(text: str, start: int, length: int | None = None) -> str:
    return text[max(start - 1, 0) : None if length is None else max(start - 1 + length, 0)]


def _like(text: str, pattern: str, escape: str | None = None) -> bool:
    """Return whether text matches: % is any text, _ any character, unless after the escape."""
    found, rest = "", iter(pattern)
    for character in rest:
        if character in "%_" and character != escape:
            found += ".*" if character == "%" else "."
        else:
            found += re.escape(next(rest) if character == escape else character)
    return re.fullmatch(found, text, re.DOTALL) is not None


def _ilike(text: str, pattern: str, escape: str | None = None) -> bool:
    return _like(lower(text), lower(pattern), escape)


def _split_part(text: str, sign: str, place: int) -> str:
    """Return the part of this number, from 1 on, or nothing where there are fewer."""
    return (text.split(sign) + [""] * place)[place - 1]


def _lpad(text: str, length: int, fill: str) -> str:
    return text[:length] if len(text) >= length else (fill * length)[: length - len(text)] + text


def _part(unit: str, day: date) -> int:
    match unit:
        case "quarter":
            return (day.month + 2) // 3
        case "week":
            return day.isocalendar().week
        case "dayofweek":
            return day.isoweekday() % 7
        case "dayofyear":
            return day.timetuple().tm_yday
        case _:
            return int(getattr(day, unit))


def _plain(day: date) -> date:
    return date(day.year, day.month, day.day)


def _trunc(unit: str, moment: date) -> date:
    day = _plain(moment)
    if unit in ("day", "week"):
        return day - timedelta(days=day.weekday() if unit == "week" else 0)
    months = {"year": 12, "quarter": 3, "month": 1}[unit]
    return date(day.year, day.month - (day.month - 1) % months, 1)


def _difference(unit: str, first: date, second: date) -> int:
    begun, ended = _trunc(unit, first), _trunc(unit, second)
    if unit in ("day", "week"):
        return (ended - begun).days // (7 if unit == "week" else 1)
    months = 12 * (ended.year - begun.year) + ended.month - begun.month
    return months // {"year": 12, "quarter": 3, "month": 1}[unit]


def _shift(unit: str, moment: date, amount: int) -> date | None:
    day = _plain(moment)
    if unit in ("day", "week"):
        ordinal = day.toordinal() + amount * (7 if unit == "week" else 1)
        return date.fromordinal(ordinal) if 1 <= ordinal <= date.max.toordinal() else None
    month = 12 * day.year + day.month - 1 + amount * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = month // 12, month % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1])) if 1 <= year <= 9999 else None


def _moment_at(count: int) -> datetime | None:
    return datetime.min + timedelta(microseconds=count) if 0 <= count < LAST else None


def _parse_whole(text: str) -> int | None:
    return _whole(int(text)) if _WHOLE.fullmatch(text := text.strip(" ")) else None


def _parse_real(text: str) -> float | None:
    return stored(float(text)) if _REAL.fullmatch(text := text.strip(" ")) else None


def _parse_moment(text: str) -> datetime | None:
    text = text.strip(" ")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None


def _parse_day(text: str) -> date | None:
    moment = _parse_moment(text) if re.fullmatch(_DAY, text.strip(" ")) else None
    return None if moment is None else moment.date()


def hashed(*cells: Any) -> str:
    """Return the keyed order of a cell: a digest of texts, each after its length so that none runs over."""
    texts = ("n" if cell is None else f"{len(_text(cell))}:{_text(cell)}" for cell in cells)
    return md5("".join(f"|{text}" for text in texts).encode(), usedforsecurity=False).hexdigest()


STRICT: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    **dict.fromkeys(("multiply", "multiply_long", "multiply_wide"), operator.mul),
    "divide": lambda a, b: a / b if b else None,
    "modulo": lambda a, b: a - b * _quotient(a, b),
    "quotient": _quotient,
    "absolute": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "round": lambda x, digits: _round_whole(x * 10.0**digits) / 10.0**digits,
    "round_whole": _round_whole,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
    "ln": lambda x: math.log(x) if x > 0 else None,
    "exp": lambda x: math.exp(max(x, -360.0)) if x < 346 else None,
    **dict.fromkeys(("clamp", "clamp_real"), lambda x, low, high: min(max(x, low), high)),
    "fixed": _fixed,
    "bits_set": lambda x: x.bit_count(),
    "bit_at": lambda x, place: x >> place & 1,
    **dict.fromkeys(("narrow", "long"), lambda x: x),
    "finite": finite,
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "not": operator.not_,
    "lower": lower,
    "upper": lambda text: text.translate(_UPPER),
    "trim": lambda text: text.strip(" "),
    "length": len,
    "left": lambda text, n: text[:n],
    "right": lambda text, n: text[max(len(text) - n, 0) :],
    "substring": _substring,
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
    "replace": str.replace,
    "split_part": _split_part,
    "lpad": _lpad,
    "rpad": lambda text, length, fill: (text + fill * length)[:length],
    "concat": lambda *texts: "".join(texts),
    "starts_with": str.startswith,
    "like": _like,
    "ilike": _ilike,
    "part": _part,
    "trunc": _trunc,
    "difference": _difference,
    "shift": _shift,
    "microseconds": lambda moment: (moment - datetime.min) // timedelta(microseconds=1),
    "moment_at": _moment_at,
    "to_whole": _whole,
    "to_real": float,
    "to_text": _text,
    "to_day": _plain,
    "to_moment": lambda x: x if isinstance(x, datetime) else datetime(x.year, x.month, x.day),
    "to_truth": bool,
    "parse_whole": _parse_whole,
    "parse_real": _parse_real,
    "parse_day": _parse_day,
    "parse_moment": _parse_moment,
    "parse_truth": lambda text: _TRUTHS.get(lower(text.strip(" "))),
    "mean": lambda total, count, scale: float(total) / (count * scale),
}
"""Functions that are NULL where any argument is."""


def _present(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def of(*cells: Any) -> Any:
        left = [cell for cell in cells if cell is not None]
        return choose(left) if left else None

    return of


LENIENT: dict[str, Callable[..., Any]] = {
    "and": lambda *parts: False if False in parts else None if None in parts else True,
    "or": lambda *parts: True if True in parts else None if None in parts else False,
    "is_null": lambda x: x is None,
    "distinct": lambda a, b: (a is None) != (b is None) or a != b,
    "nullif": lambda a, b: None if a == b else a,
    "coalesce": _present(lambda cells: cells[0]),
    "least": _present(min),
    "greatest": _present(max),
    **dict.fromkeys(("hash", "digest"), hashed),
    "slot": lambda *cells: 1 << int(hashed(*cells), 16) % 60,
}
"""Functions that have their own mind about NULL."""

AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count_values": len,
    "count_distinct": lambda cells: len(set(cells)),
    "sum": lambda cells: sum(cells) if cells else None,
    "sum_distinct": lambda cells: sum(set(cells)) if cells else None,
    "min": lambda cells: min(cells, default=None),
    "max": lambda cells: max(cells, default=None),
    "bits_or": lambda cells: reduce(operator.or_, cells) if cells else None,
}
"""Functions of the cells of a group that are not NULL."""
