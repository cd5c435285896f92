"""Functions of dates and timestamps."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Day, Kind, Moment, Real, Typed, Whole, known, word
from discreet.query.check.function.agreement import Rule, agree, dated
from discreet.query.check.function.zone import UTC, as_instants
from discreet.query.plan import MONTHS, Call, Literal, given

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

DAY = 86_400_000_000

FINE = {"hour": DAY // 24, "minute": DAY // 1440, "second": DAY // 86400}
"""The same for moments, with their length in microseconds."""

SHIFT_LIMIT, FINE_LIMIT = 4_000, 1_000_000


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
    unit = _unit("extract", arguments[0], (*PARTS, "epoch"))
    moment = _temporal("extract", arguments[1])
    if unit == "epoch":
        begun = known(datetime(1970, 1, 1))
        (moment,) = as_instants([moment])
        return _boundaries(FINE["second"], begun, moment)
    low, high = PARTS[unit]
    match unit, moment.kind:
        case (("hour" | "minute" | "second"), Day()):
            raise QueryError("EXTRACT", f"a date has no {unit}", "use a timestamp column")
        case "year", Day(date() as first, date() as last):
            low, high = first.year, last.year
        case "year", Moment(datetime() as first, datetime() as last):
            low, high = first.year, last.year
    # Not held: dates that are computed or read from text may lie outside the calendar.
    return Typed(Call("part", (Literal(unit), moment.scalar)), Whole(low, high))


def _trunc(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("date_trunc", arguments[0], (*UNITS, *FINE))
    moment = _temporal("date_trunc", arguments[1])
    if unit in FINE:
        return _binned("date_trunc", [known(FINE[unit]), moment])
    kind = Day()
    match moment.kind:
        case Day(date() as low, date() as high):
            kind = Day(_floor_day(unit, low), high, None if unit == "day" else unit)
        case Moment(datetime() as first, datetime() as last):
            days = first.date(), last.date()
            kind = Day(_floor_day(unit, days[0]), days[1], None if unit == "day" else unit)
    # Truncation is monotone and never goes up.
    return Typed(Call("trunc", (Literal(unit), moment.scalar)), kind, moment.held)


def _moment(argument: Typed) -> Typed:
    """Return a date as the moment at which it begins; a text beside it says a moment."""
    argument = dated(argument, Moment())
    match argument.kind:
        case Moment():
            return argument
        case Day(date() as low, date() as high):
            return Typed(Call("to_moment", (argument.scalar,)), Moment(_midnight(low), _midnight(high)))
        case _:
            return Typed(Call("to_moment", (_temporal("a time", argument).scalar,)), Moment())


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def _ticks(moment: datetime) -> int:
    return (moment - datetime.min) // timedelta(microseconds=1)


def _microseconds(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return how many microseconds a moment is later than the beginning of the year 1."""
    moment = _moment(arguments[0])
    scalar = Call("microseconds", (moment.scalar,))
    match moment.kind:
        case Moment(datetime() as low, datetime() as high):
            return Typed(scalar, Whole(_ticks(low), _ticks(high)))
    # Not held: a date computed from others may lie outside the calendar.
    return Typed(scalar, Whole(0, _ticks(datetime.max)))


def _binned(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return when a moment's bin begins: bins are so many microseconds wide, the first of a day at 0:00."""
    width = arguments[0].scalar
    if not (
        isinstance(width, Literal)
        and type(width.value) is int
        and 0 < width.value <= DAY
        and DAY % width.value == 0
    ):
        raise QueryError(
            name.upper(), "needs bins that divide a day", "use minutes or hours, such as INTERVAL 15 MINUTE"
        )
    moment = _moment(arguments[1])
    bins = _bins(name, [arguments[0], moment]).scalar
    kind = Moment(step=width.value)
    match moment.kind:
        case Moment(datetime() as low, datetime() as high):
            kind = Moment(_begun(low, width.value), _begun(high, width.value), width.value)
    return Typed(Call("moment_at", (Call("multiply", (bins, width)),)), kind)


def _begun(moment: datetime, width: int) -> datetime:
    return moment - timedelta(microseconds=_ticks(moment) % width)


def _bins(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the number of a moment's bin, counted from the beginning of the year 1."""
    width, count = arguments[0].scalar, _microseconds(name, [arguments[1]])
    if not (isinstance(width, Literal) and isinstance(width.value, int) and isinstance(count.kind, Whole)):
        raise AssertionError("bins have a constant width")
    ends = (given(count.kind.low) // width.value, given(count.kind.high) // width.value)
    return Typed(Call("quotient", (count.scalar, width)), Whole(*ends))


def _moment_at(name: str, arguments: Sequence[Typed]) -> Typed:
    return Typed(Call("moment_at", (arguments[0].scalar,)), Moment())


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
    unit = _unit("date_diff", arguments[0], (*UNITS, *FINE))
    first, second = (_temporal("date_diff", argument) for argument in arguments[1:])
    if unit in FINE:
        return _boundaries(FINE[unit], *as_instants([first, second]))
    reach = {
        "year": 10**4,
        "quarter": 4 * 10**4,
        "month": 12 * 10**4,
        "week": 53 * 10**4,
        "day": 366 * 10**4,
    }[unit]
    parts, _ = agree("DATE_DIFF", [first, second])
    # Between dates inside the calendar only, so it is not held: text may be read as the year 5,000,000.
    kind = Whole(-reach, reach)
    kind = _between(unit, first.kind, second.kind) or kind
    return Typed(Call("difference", (Literal(unit), parts[0].scalar, parts[1].scalar)), kind)


def _between(unit: str, first: Kind, second: Kind) -> Whole | None:
    """Return how many boundaries lie between declared dates: the later one of them is, the more."""
    ends = [_days(kind) for kind in (first, second)]
    if None in ends:
        return None
    (early, late), (begin, end) = ([_count(unit, day) for day in given(pair)] for pair in ends)
    return Whole(begin - late, end - early)


def _count(unit: str, day: date) -> int:
    """Return how many units began before a day, counted from the year 0."""
    match unit:
        case "year":
            return day.year
        case "quarter":
            return 4 * day.year + (day.month - 1) // 3
        case "month":
            return 12 * day.year + day.month
        case "week":
            return (day.toordinal() - 1) // 7
        case _:
            return day.toordinal()


def _days(kind: Kind) -> tuple[date, date] | None:
    match kind:
        case Day(date() as low, date() as high):
            return low, high
        case Moment(datetime() as first, datetime() as last):
            return first.date(), last.date()
        case _:
            return None


def _boundaries(width: int, first: Typed, second: Typed) -> Typed:
    """Return how many beginnings of a unit lie between two moments."""
    bins = [_bins("date_diff", [known(width), moment]) for moment in (first, second)]
    (low, high), (begin, end) = (_ends(one) for one in bins)
    return Typed(Call("subtract", (bins[1].scalar, bins[0].scalar)), Whole(begin - high, end - low))


def _ends(typed: Typed) -> tuple[int, int]:
    match typed.kind:
        case Whole(int(low), int(high)):
            return low, high
    raise AssertionError("moments lie between the years 1 and 9999")


def _elapsed(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the time from one moment to another in seconds and parts of one."""
    moments = as_instants([_temporal("-", moment) for moment in arguments])
    counts = [_microseconds("date_diff", [moment]) for moment in moments]
    (early, last), (begin, late) = map(_ends, counts)
    between = Call("to_real", (Call("subtract", (counts[1].scalar, counts[0].scalar)),))
    ends = (Fraction(begin - last, 10**6), Fraction(late - early, 10**6))
    return Typed(Call("divide", (between, Literal(Fraction(10**6)))), Real(*ends))


def _shift(name: str, arguments: Sequence[Typed]) -> Typed:
    unit = _unit("interval", arguments[0], (*UNITS, *FINE))
    moment = _temporal("interval", arguments[1])
    match arguments[2].scalar:
        case Literal(int(amount)) if type(amount) is int and abs(amount) <= SHIFT_LIMIT:
            pass
        case Literal(int(amount)) if type(amount) is int and unit in FINE and abs(amount) <= FINE_LIMIT:
            pass
        case _:
            limit = FINE_LIMIT if unit in FINE else SHIFT_LIMIT
            raise QueryError(
                "INTERVAL", f"must be a whole number of at most {limit}", "write d + INTERVAL 7 DAY"
            )
    # An instant in UTC stays one; elsewhere a clock could change in between.
    instant = Moment(zone=UTC if isinstance(moment.kind, Moment) and moment.kind.zone == UTC else None)
    if unit in FINE:
        later = Call("add", (_microseconds(name, [moment]).scalar, Literal(amount * FINE[unit])))
        return Typed(Call("moment_at", (later,)), instant)
    if isinstance(moment.kind, Moment):
        # The day moves, and the time of day stays.
        day = Call("shift", (Literal(unit), Call("to_day", (moment.scalar,)), Literal(amount)))
        begun = Call("microseconds", (Call("to_moment", (day,)),))
        time = Call("modulo", (Call("microseconds", (moment.scalar,)), Literal(DAY)))
        return Typed(Call("moment_at", (Call("add", (begun, time)),)), instant)
    kind = _moved(moment.kind, unit, amount)
    return Typed(Call("shift", (Literal(unit), moment.scalar, Literal(amount))), kind)


def _moved(kind: Kind, unit: str, amount: int) -> Day:
    """Return between which dates others lie once they are moved, and which they are."""
    match kind:
        case Day(date() as low, date() as high, first) if unit in ("day", "week"):
            days = amount * (1 if unit == "day" else 7)
            ends = [day.toordinal() + days for day in (low, high)]
            same = first if first in ("week", "sunday") and days % 7 == 0 else None
            before = {"week": "sunday", "month": "month's end"}.get(first or "") if days == -1 else None
            if min(ends) >= 1 and max(ends) <= date.max.toordinal():
                return Day(date.fromordinal(ends[0]), date.fromordinal(ends[1]), before or same)
        case Day(date() as low, date() as high, str(first)) if first in MONTHS and unit in MONTHS:
            months = amount * MONTHS[unit]
            places = [12 * day.year + day.month - 1 + months for day in (low, high)]
            if min(places) >= 12 and max(places) < 120_000:
                begun = [date(place // 12, place % 12 + 1, 1) for place in places]
                return Day(begun[0], begun[1], first if months % MONTHS[first] == 0 else "month")
    return Day()


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
    "elapsed": _elapsed,
    "bin": _binned,
}

STEPS: dict[str, Rule] = {"bins": _bins, "microseconds": _microseconds, "moment_at": _moment_at}
"""What keys and quantiles of times are said with; no question can name them."""
