"""Dates as text: the formats of the big dialects, said with functions that the plan has.

The text of a truncated date has as many values as there are such dates, so a key like TO_CHAR(d, 'YYYY-MM')
is known beforehand wherever DATE_TRUNC('month', d) is.
"""

import re
from collections.abc import Sequence

from discreet.errors import QueryError
from discreet.query.language.date import DAYS, MONTHS, Argument, from_utc, scalars
from discreet.query.plan import Call, Case, Literal, Scalar

PIECES = {
    **dict.fromkeys(("YYYY", "%Y"), "year"),
    **dict.fromkeys(("MM", "%m"), "month"),
    **dict.fromkeys(("DD", "%d"), "day"),
    **dict.fromkeys(("HH24", "%H"), "hour"),
    **dict.fromkeys(("MI",), "minute"),
    **dict.fromkeys(("SS", "%S"), "second"),
    **dict.fromkeys(("Q", "%Q"), "quarter"),
    **dict.fromkeys(("Month", "FMMonth", "%B"), "monthname"),
    **dict.fromkeys(("Mon", "%b"), "mon"),
    **dict.fromkeys(("Day", "FMDay", "%A"), "dayname"),
    **dict.fromkeys(("Dy", "%a"), "dy"),
}
"""What a part of a format stands for; `%M` is a minute in some dialects and a month in others."""

_WORDS = re.compile(r"FMMonth|FMDay|YYYY|HH24|Month|Mon|Day|MM|MI|DD|SS|Dy|Q|[A-Za-z]+|[^A-Za-z]+")
_MARKS = re.compile(r"%.|[^%]+|%")
_MINUTES = frozenset(
    (
        ("date_format", "%i"),
        *((name, "%M") for name in ("strftime", "format_date", "format_timestamp", "format_datetime")),
    )
)
_PREFIXES = {"%F": "%Y-%m-%d"}


def formatted(name: str, arguments: Sequence[Argument]) -> Scalar:
    """Return the text of a date in a constant format: the format stands first or last."""
    found = scalars(name, arguments)
    if name == "format_timestamp" and len(found) == 3:
        found = (found[0], from_utc(*found[1:]))
    match found:
        case (Literal(str(form)), day):
            pass
        case (day, Literal(str(form))):
            pass
        case _:
            raise _refused(name, "takes a date and a constant format")
    for short, long in _PREFIXES.items():
        form = form.replace(short, long)
    pieces = _pieces(name, form)
    begun = [piece if known else f"={piece}" for piece, known in pieces]
    for whole, unit, size in _STARTS:
        if begun[: len(whole)] == list(whole):
            text: list[Scalar] = [_beginning(unit, day, size)]
            return _joined(text + [_piece(*piece, day) for piece in pieces[len(whole) :]])
    return _joined([_piece(*piece, day) for piece in pieces])


_STARTS = (
    (("year", "=-", "month", "=-", "day"), "day", 10),
    (("year", "=-", "month"), "month", 7),
    (("year",), "year", 4),
)
"""Formats that begin as dates are written."""


def _pieces(name: str, form: str) -> list[tuple[str, bool]]:
    """Return what a format consists of, each with whether it stands for a part of the date."""
    percent = name != "to_char"
    found = []
    for piece in (_MARKS if percent else _WORDS).findall(form):
        if (name, piece) in _MINUTES:
            found.append(("minute", True))
        elif piece in PIECES:
            found.append((PIECES[piece], True))
        elif piece.startswith("%") or (not percent and piece.isalpha()):
            raise _refused(name, "has a format that is not supported")
        else:
            found.append((piece.replace('"', "") if not percent else piece, False))
    if not any(known for _, known in found):
        raise _refused(name, "has a format that names no part of the date")
    return found


def _refused(name: str, reason: str) -> QueryError:
    return QueryError(name.upper(), reason, "write DATE_TRUNC('month', d), or EXTRACT(month FROM d)")


def _beginning(unit: str, day: Scalar, size: int) -> Scalar:
    text = Call("to_text", (Call("trunc", (Literal(unit), day)),))
    return text if size == 10 else Call("left", (text, Literal(size)))


def _piece(piece: str, known: bool, day: Scalar) -> Scalar:
    if not known:
        return Literal(piece)
    match piece:
        case "year":
            return _beginning("year", day, 4)
        case "month":
            return _cut("month", day, 6)
        case "day":
            return _cut("day", day, 9)
        case "hour":
            return _listed("hour", [f"{number:02}" for number in range(24)], 0, day)
        case "minute" | "second":
            return _listed(piece, [f"{number:02}" for number in range(60)], 0, day)
        case "quarter":
            return _listed("quarter", ["1", "2", "3", "4"], 1, day)
        case "monthname" | "mon":
            return _listed("month", [n if piece == "monthname" else n[:3] for n in MONTHS], 1, day)
        case _:
            return _listed("dayofweek", [n if piece == "dayname" else n[:3] for n in DAYS], 0, day)


def _cut(unit: str, day: Scalar, place: int) -> Scalar:
    text = Call("to_text", (Call("trunc", (Literal(unit), day)),))
    return Call("substring", (text, Literal(place), Literal(2)))


def _listed(unit: str, names: Sequence[str], first: int, day: Scalar) -> Scalar:
    part = Call("part", (Literal(unit), day))
    branches = tuple((Call("eq", (part, Literal(n))), Literal(text)) for n, text in enumerate(names, first))
    return Case(branches, Literal(None))


def _joined(texts: Sequence[Scalar]) -> Scalar:
    return texts[0] if len(texts) == 1 else Call("concat", tuple(texts))
