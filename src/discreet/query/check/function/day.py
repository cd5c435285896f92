"""Functions of dates and timestamps."""

from collections.abc import Sequence
from datetime import date

from discreet.errors import QueryError
from discreet.query.catalog.kind import Day, Moment, Typed, Whole, known, word
from discreet.query.check.function.agreement import Rule, agree, dated
from discreet.query.plan import Call, Literal

PARTS = {
    "year": (1, 9999),
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
"""What can be extracted from a date or timestamp, with its range."""

UNITS = ("year", "quarter", "month", "week", "day")
"""What a date can be truncated to, shifted by, or a difference counted in."""

SHIFT_LIMIT = 4000


def _temporal(name: str, argument: Typed) -> Typed:
    argument = dated(argument, Day())
    if not isinstance(argument.kind, Day | Moment):
        raise QueryError(
            name.upper(), f"needs a date or timestamp but got {word(argument.kind)}", "CAST(x AS DATE)"
        )
    return argument


def _unit(name: str, argument: Typed, known: Sequence[str]) -> str:
    match argument.scalar:
        case Literal(str(unit)) if unit in known:
            return unit
        case _:
            raise QueryError(
                name.upper(), "does not know this unit of time", f"use one of {', '.join(known)}"
            )


def _part(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("extract", arguments[0], tuple(PARTS))
    moment = _temporal("extract", arguments[1])
    low, high = PARTS[unit]
    match unit, moment.kind:
        case (("hour" | "minute" | "second"), Day()):
            raise QueryError("EXTRACT", f"a date has no {unit}", "use a timestamp column")
        case "year", Day(date() as first, date() as last):
            low, high = first.year, last.year
    # Not held: dates that are computed or read from text may lie outside the calendar.
    return Typed(Call("part", (Literal(unit), moment.scalar)), Whole(low, high))


def _trunc(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("date_trunc", arguments[0], UNITS)
    moment = _temporal("date_trunc", arguments[1])
    kind = Day()
    match moment.kind:
        case Day(date() as low, date() as high):
            kind = Day(_floor_day(unit, low), high, unit in ("year", "quarter", "month"))
    # Truncation is monotone and never goes up.
    return Typed(Call("trunc", (Literal(unit), moment.scalar)), kind, moment.held)


def _floor_day(unit: str, day: date) -> date:
    match unit:
        case "year":
            return date(day.year, 1, 1)
        case "quarter":
            return date(day.year, day.month - (day.month - 1) % 3, 1)
        case "month":
            return date(day.year, day.month, 1)
        case "week":
            return date.fromordinal(max(day.toordinal() - day.weekday(), 1))
        case _:
            return day


def _difference(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("date_diff", arguments[0], UNITS)
    first, second = (_temporal("date_diff", argument) for argument in arguments[1:])
    reach = {
        "year": 10**4,
        "quarter": 4 * 10**4,
        "month": 12 * 10**4,
        "week": 53 * 10**4,
        "day": 366 * 10**4,
    }[unit]
    parts, _ = agree("DATE_DIFF", [first, second])
    # Between dates inside the calendar only, so it is not held: text may be read as the year 5,000,000.
    return Typed(Call("difference", (Literal(unit), parts[0].scalar, parts[1].scalar)), Whole(-reach, reach))


def _shift(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("interval", arguments[0], UNITS)
    moment = _temporal("interval", arguments[1])
    match arguments[2].scalar:
        case Literal(int(amount)) if type(amount) is int and abs(amount) <= SHIFT_LIMIT:
            return Typed(Call("shift", (Literal(unit), moment.scalar, Literal(amount))), Day())
        case _:
            raise QueryError(
                "INTERVAL", f"must be a whole number of at most {SHIFT_LIMIT}", "write d + INTERVAL 7 DAY"
            )


def calendar(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a date plus or minus a number of days, or the days between two dates."""
    match name, arguments:
        case "add" | "subtract", [Typed(kind=Day()) as day, Typed(Literal(int(days)))] if type(days) is int:
            amount = known(days if name == "add" else -days)
            return _shift("interval", [known("day"), day, amount])
        case "add", [Typed(Literal(int())) as amount, Typed(kind=Day()) as day]:
            return calendar(name, [day, amount])
        case "subtract", [Typed(kind=Day()) as later, Typed(kind=Day()) as earlier]:
            return _difference("date_diff", [known("day"), earlier, later])
    raise QueryError(
        {"add": "+", "subtract": "-"}.get(name, name),
        "cannot compute with dates so",
        "write d + INTERVAL 7 DAY, or DATE_DIFF('day', earlier, later)",
    )


RULES: dict[str, Rule] = {
    "part": _part,
    "trunc": _trunc,
    "difference": _difference,
    "shift": _shift,
}
