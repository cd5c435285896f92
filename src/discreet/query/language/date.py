"""Functions of dates as the big dialects write them: the unit first or last, quoted or bare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import QueryError
from discreet.query.language.vocabulary import UNITS
from discreet.query.plan import Call, Case, Column, Literal, Scalar

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Span:
    """An INTERVAL: so many of one unit."""

    unit: Literal
    amount: int


Argument: TypeAlias = Scalar | Span


def scalars(name: str, arguments: Sequence[Argument]) -> tuple[Scalar, ...]:
    """Return arguments none of which is an interval."""
    found = tuple(part for part in arguments if not isinstance(part, Span))
    if len(found) != len(arguments):
        raise QueryError(f"INTERVAL in {name.upper()}", "does not belong there", "write d + INTERVAL 7 DAY")
    return found


def _unit(argument: Argument) -> str | None:
    """Return the unit of time that an argument names, quoted or bare."""
    match argument:
        case Call("part", (Literal("week"), Column(None, day))) if day.upper() == "MONDAY":
            return "week"
        case Literal(str(text)) | Column(None, text):
            return UNITS.get(text.upper().removesuffix("S") if text.upper() not in UNITS else text.upper())
        case _:
            return None


def _either(name: str, first: Argument, last: Argument) -> bool:
    """Whether two bare words can be the unit of time: which of them is a column only the tables say."""
    bare = isinstance(first, Column) and isinstance(last, Column)
    return "_" in name and bare and _unit(first) is not None and _unit(last) is not None


def _units(arguments: Sequence[Argument]) -> tuple[Scalar, ...]:
    """Return the units that the first and the last word would be."""
    return Literal(_unit(arguments[0])), Literal(_unit(arguments[-1]))


def _found(name: str, first: Argument, last: Argument, example: str) -> tuple[str, bool]:
    """Return the unit, and whether it stands last."""
    one, other = _unit(first), _unit(last)
    if isinstance(last, Call) and other is not None:
        return other, True
    if isinstance(first, Literal) and one is not None:
        return one, False
    if one is not None:
        return one, False
    if other is not None:
        if other == "week" and not (isinstance(last, Column) and last.name.upper() == "ISOWEEK"):
            raise QueryError(
                name.upper(),
                "begins weeks on Sunday where the unit stands last, and on Monday where it stands first",
                f"write ISOWEEK or WEEK(MONDAY), or {example.replace('month', 'week')}",
            )
        return other, True
    known = ", ".join(sorted(set(UNITS.values())))
    raise QueryError(
        name.upper(), "names no unit of time that is known", f"write {example} with one of {known}"
    )


def _from_sunday(argument: Argument) -> bool:
    """Whether a unit is WEEK(SUNDAY)."""
    match argument:
        case Call("part", (Literal("week"), Column(None, day))):
            return day.upper() == "SUNDAY"
    return False


def _truncated(name: str, arguments: Sequence[Argument]) -> Scalar:
    example = f"{name.upper()}('month', d)"
    if name == "timestamp_trunc" and len(arguments) == 3:
        return _truncated(name, [from_utc(*scalars(name, arguments[::2])), arguments[1]])
    if len(arguments) != 2:
        raise QueryError(name.upper(), "takes a unit of time and a date", f"write {example}")
    if _from_sunday(arguments[1]):
        (day,) = scalars(name, arguments[:1])
        after = Call("shift", (Literal("day"), Call("to_day", (day,)), Literal(1)))
        return Call("shift", (Literal("day"), Call("trunc", (Literal("week"), after)), Literal(-1)))
    if _either(name, arguments[0], arguments[1]):
        return Call("trunc_either", (*_units(arguments), *scalars(name, arguments)))
    unit, last = _found(name, arguments[0], arguments[1], example)
    (day,) = scalars(name, [arguments[0 if last else 1]])
    return Call("trunc", (Literal(unit), day))


def _slice(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TIME_SLICE(t, 15, 'MINUTE'): the beginning of the part of time that holds a moment."""
    match arguments:
        case [subject, Literal(int(count)), unit] if (found := _unit(unit)) is not None and count >= 1:
            (day,) = scalars(name, [subject])
            if count == 1:
                return Call("trunc", (Literal(found), day))
            if found in _LENGTHS:
                return Call("bin", (Literal(count * _LENGTHS[found] * 10**6), day))
    raise QueryError(
        name.upper(),
        "takes a time, a constant number and a unit of time, and several days or months are not cut alike",
        "write TIME_SLICE(t, 15, 'MINUTE') or TIME_SLICE(d, 1, 'MONTH')",
    )


_LENGTHS = {"hour": 3_600, "minute": 60, "second": 1}

_FORMATS = {
    **dict.fromkeys(("MM", "MON", "MONTH"), "month"),
    **dict.fromkeys(("YYYY", "YY", "YEAR"), "year"),
    **dict.fromkeys(("Q", "QUARTER"), "quarter"),
    **dict.fromkeys(("DD", "DDD", "DAY"), "day"),
    "IW": "week",
}


def truncated_to_format(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TRUNC(d, 'MM'): the unit is said by the format of its date."""
    day, form = scalars(name, arguments)
    unit = (
        _FORMATS.get(form.value.upper())
        if isinstance(form, Literal) and isinstance(form.value, str)
        else None
    )
    if unit is None:
        raise QueryError(name.upper(), "does not know this unit of time", "write DATE_TRUNC('month', d)")
    return Call("trunc", (Literal(unit), day))


def _difference(name: str, arguments: Sequence[Argument]) -> Scalar:
    example = f"{name.upper()}('month', earlier, later)"
    if len(arguments) == 2:
        later, earlier = scalars(name, arguments)
        return Call("difference", (Literal("day"), earlier, later))
    if len(arguments) != 3:
        raise QueryError(name.upper(), "takes a unit of time and two dates", f"write {example}")
    if _either(name, arguments[0], arguments[2]):
        return Call("difference_either", (*_units(arguments), *scalars(name, arguments)))
    unit, last = _found(name, arguments[0], arguments[2], example)
    one, other = scalars(name, arguments[:2] if last else arguments[1:])
    # Where the unit stands last, the later date stands first.
    return Call("difference", (Literal(unit), other, one) if last else (Literal(unit), one, other))


def _whole_units(name: str, arguments: Sequence[Argument]) -> Scalar:
    """WHOLE_UNITS('month', earlier, later), which TIMESTAMPDIFF is in the dialects that count whole units."""
    unit = _unit(arguments[0]) if len(arguments) == 3 else None
    if unit is None:
        raise QueryError(
            name.upper(),
            "takes a unit of time and two dates",
            "write WHOLE_UNITS('month', earlier, later)",
        )
    return Call(name, (Literal(unit), *scalars(name, arguments[1:])))


def _months_between(name: str, arguments: Sequence[Argument]) -> Scalar:
    """MONTHS_BETWEEN(later, earlier)."""
    if len(arguments) != 2:
        raise QueryError(
            name.upper(), "takes two dates, the later one first", "write MONTHS_BETWEEN(later, earlier)"
        )
    return Call("months_between", scalars(name, arguments))


def _shifted(sign: int) -> Callable[[str, Sequence[Argument]], Scalar]:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        match arguments:
            case [unit, Call("difference", (Literal(str(word)), Literal(0), day)), Literal(0)] if _unit(
                unit
            ) == word and word in ("year", "quarter", "month", "day"):
                # As many units after day 0 as have begun since: where the unit of a date begins.
                return Call("trunc", (Literal(word), day))
            case [subject, Span(unit, amount)]:
                (day,) = scalars(name, [subject])
                return Call("shift", (unit, day, Literal(sign * amount)))
            case [subject, amount]:
                day, count = scalars(name, [subject, amount])
                return Call("shift", (Literal("day"), day, Literal(sign * _whole(name, count))))
            case [unit, amount, subject] if sign == 1 and (found := _unit(unit)) is not None:
                count, day = scalars(name, [amount, subject])
                return Call("shift", (Literal(found), day, Literal(_whole(name, count))))
        raise QueryError(name.upper(), "takes a date and an interval", "write d + INTERVAL 7 DAY")

    return build


def _whole(name: str, scalar: Scalar) -> int:
    match scalar:
        case Literal(int(count)) if type(count) is int:
            return count
        case Call("negate", (Literal(int(count)),)) if type(count) is int:
            return -count
    raise QueryError(name.upper(), "shifts by a constant number of units", "write d + INTERVAL 7 DAY")


def _months(name: str, arguments: Sequence[Argument]) -> Scalar:
    if len(arguments) != 2:
        raise QueryError(name.upper(), "takes a date and a number of months", "write d + INTERVAL 1 MONTH")
    day, count = scalars(name, arguments)
    return Call("shift", (Literal("month"), day, Literal(_whole(name, count))))


def _part(name: str, arguments: Sequence[Argument]) -> Scalar:
    unit = _unit(arguments[0]) if len(arguments) == 2 else None
    if len(arguments) == 2 and isinstance(arguments[0], Literal) and arguments[0].value == "isoyear":
        return iso_year(*scalars(name, arguments[1:]))
    if unit is None:
        raise QueryError(name.upper(), "takes a unit of time and a date", "write EXTRACT(month FROM d)")
    (day,) = scalars(name, arguments[1:])
    return Call("part", (Literal(unit), day))


_WRITTEN = {
    **dict.fromkeys(("%Y-%m-%d", "%F", "YYYY-MM-DD", "yyyy-MM-dd"), "%Y-%m-%d"),
    **dict.fromkeys(("%Y%m%d", "YYYYMMDD", "yyyyMMdd"), "%Y%m%d"),
    **dict.fromkeys(("%d/%m/%Y", "DD/MM/YYYY", "dd/MM/yyyy"), "%d/%m/%Y"),
    **dict.fromkeys(("%m/%d/%Y", "MM/DD/YYYY", "MM/dd/yyyy"), "%m/%d/%Y"),
    **dict.fromkeys(("%d-%m-%Y", "DD-MM-YYYY", "dd-MM-yyyy"), "%d-%m-%Y"),
    **dict.fromkeys(("%d.%m.%Y", "DD.MM.YYYY", "dd.MM.yyyy"), "%d.%m.%Y"),
}
"""How days are written, in the formats of several dialects."""


def _read_day(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TO_DATE('2024-01-31', 'YYYY-MM-DD') and its kin, with the format last or first."""
    found = scalars(name, arguments)
    text, form = found[::-1] if name == "parse_date" else found
    pattern = _WRITTEN.get(form.value) if isinstance(form, Literal) and isinstance(form.value, str) else None
    match text:
        case Literal(str(written)) if pattern is not None:
            try:
                return Literal(datetime.strptime(written, pattern).date())
            except ValueError:
                raise QueryError(
                    name.upper(), "is no day of the calendar", "write DATE '2024-01-31'"
                ) from None
    if pattern == "%Y-%m-%d":
        return Call("to_day", (text,))
    raise QueryError(
        name.upper(),
        "reads constants in the formats of days, and other texts as YYYY-MM-DD",
        "write CAST(x AS DATE), or DATE '2024-01-31'",
    )


def _parsed(name: str, arguments: Sequence[Argument]) -> Scalar:
    if len(arguments) != 2:
        raise QueryError(name.upper(), "takes a text and a format", "write CAST(x AS DATE)")
    return _read_day(name, arguments)


def _julian(name: str, arguments: Sequence[Argument]) -> Scalar:
    """JULIANDAY(t): days since a noon long ago, of which differences are asked."""
    seconds = Call("elapsed", (Literal(datetime.min), _one(name, arguments)))
    return Call("add", (Call("divide", (seconds, Literal(86_400))), Literal(Fraction(3_442_851, 2))))


def _one(name: str, arguments: Sequence[Argument]) -> Scalar:
    if len(arguments) != 1:
        raise QueryError(name.upper(), "takes one date", "write CAST(x AS DATE)")
    (day,) = scalars(name, arguments)
    return day


def _converted(function: str) -> Callable[[str, Sequence[Argument]], Scalar]:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        if len(arguments) == 2 and name == "to_date":
            return _read_day(name, arguments)
        if len(arguments) == 2:
            local = _from_utc(name, arguments)
            return local if function == "to_moment" else Call(function, (local,))
        return Call(function, (_one(name, arguments),))

    return build


def at_zone(time: Scalar, zone: Scalar) -> Scalar:
    """Return the local time of an instant elsewhere."""
    return Call("at_zone", (time, zone))


def from_utc(time: Scalar, zone: Scalar) -> Scalar:
    """Return the local time elsewhere of a time that is in UTC."""
    return at_zone(at_zone(time, Literal("UTC")), zone)


def _from_utc(name: str, arguments: Sequence[Argument]) -> Scalar:
    """DATETIME(t, 'Europe/Berlin') and its kin: t is an instant in UTC."""
    if len(arguments) != 2:
        raise QueryError(name.upper(), "takes a time and a zone", f"write {name.upper()}(t, 'Europe/Berlin')")
    return from_utc(*scalars(name, arguments))


def _zone_first(name: str, arguments: Sequence[Argument]) -> Scalar:
    """TIMEZONE('Europe/Berlin', t) is t AT TIME ZONE 'Europe/Berlin'."""
    if len(arguments) != 2:
        raise QueryError(name.upper(), "takes a zone and a time", "write t AT TIME ZONE 'Europe/Berlin'")
    return at_zone(*scalars(name, arguments)[::-1])


def _zone_converted(name: str, arguments: Sequence[Argument]) -> Scalar:
    """CONVERT_TIMEZONE('UTC', 'Europe/Berlin', t); without the first, t itself says its zone."""
    match scalars(name, arguments):
        case (zone, time):
            return at_zone(time, zone)
        case (Literal(str(source)), zone, time) if source.upper() == "UTC":
            return from_utc(time, zone)
    raise QueryError(
        name.upper(), "converts times that are in UTC", "write CONVERT_TIMEZONE('UTC', 'Europe/Berlin', t)"
    )


def _iso_weekday(name: str, arguments: Sequence[Argument]) -> Scalar:
    return iso_weekday(_one(name, arguments))


def iso_weekday(day: Scalar) -> Scalar:
    """Return the day of the week from 1 for Monday to 7 for Sunday."""
    weekday = Call("part", (Literal("dayofweek"), day))
    return Call("add", (Call("modulo", (Call("add", (weekday, Literal(6))), Literal(7))), Literal(1)))


def _iso_year(name: str, arguments: Sequence[Argument]) -> Scalar:
    return iso_year(_one(name, arguments))


def iso_year(day: Scalar) -> Scalar:
    """Return the year of a date's week: week 1 may begin in December, weeks 52 and 53 end in January."""
    year, month, week = (Call("part", (Literal(unit), day)) for unit in ("year", "month", "week"))
    late = Call("and", (Call("eq", (month, Literal(12))), Call("eq", (week, Literal(1)))))
    early = Call("and", (Call("eq", (month, Literal(1))), Call("ge", (week, Literal(52)))))
    return Call("add", (year, Case(((late, Literal(1)), (early, Call("negate", (Literal(1),)))), Literal(0))))


def _year_week(name: str, arguments: Sequence[Argument]) -> Scalar:
    """YEARWEEK(d, 3): the year of a week and its number, weeks from Monday on, as in ISO 8601."""
    match scalars(name, arguments):
        case (day, Literal(1 | 3)):
            return Call("add", (Call("multiply", (iso_year(day), Literal(100))), _week_number(name, [day])))
    raise QueryError(
        name.upper(),
        "begins weeks on Sunday in some dialects and on Monday in others",
        "write YEARWEEK(d, 3), whose weeks begin on Monday",
    )


def _week_number(name: str, arguments: Sequence[Argument]) -> Scalar:
    return Call("part", (Literal("week"), _one(name, arguments)))


def _name_of_part(name: str, arguments: Sequence[Argument]) -> Scalar:
    """DATENAME(month, d): parts that have names are called by them."""
    word = arguments[0].name if arguments and isinstance(arguments[0], Column) else ""
    unit = {"WEEKDAY": "dayname", "DW": "dayname", "MONTH": "monthname", "MM": "monthname"}.get(word.upper())
    if unit is None or len(arguments) != 2:
        raise QueryError(name.upper(), "names days of the week and months", "write DATENAME(month, d)")
    return BUILDERS[unit](unit, arguments[1:])


def _named(unit: str, names: Sequence[str], first: int) -> Callable[[str, Sequence[Argument]], Scalar]:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        part = Call("part", (Literal(unit), _one(name, arguments)))
        branches = tuple(
            (Call("eq", (part, Literal(number))), Literal(word)) for number, word in enumerate(names, first)
        )
        return Case(branches, Literal(None))

    return build


def _last_day(name: str, arguments: Sequence[Argument]) -> Scalar:
    """LAST_DAY(d): the day before the next month begins."""
    begun = Call("trunc", (Literal("month"), _one(name, arguments)))
    after = Call("shift", (Literal("month"), begun, Literal(1)))
    return Call("shift", (Literal("day"), after, Literal(-1)))


def _ambiguous(reason: str, instead: str) -> Callable[[str, Sequence[Argument]], Scalar]:
    def build(name: str, arguments: Sequence[Argument]) -> Scalar:
        raise QueryError(name.upper(), reason, instead)

    return build


BUILDERS: dict[str, Callable[[str, Sequence[Argument]], Scalar]] = {
    **dict.fromkeys(("date_trunc", "datetrunc", "timestamp_trunc", "datetime_trunc"), _truncated),
    **dict.fromkeys(("date_diff", "datediff", "datetime_diff", "timestamp_diff"), _difference),
    **dict.fromkeys(("date_add", "dateadd", "datetime_add", "timestamp_add", "timestampadd"), _shifted(1)),
    **dict.fromkeys(("date_sub", "datetime_sub", "timestamp_sub"), _shifted(-1)),
    "time_slice": _slice,
    "add_months": _months,
    **dict.fromkeys(("date_part", "datepart"), _part),
    **dict.fromkeys(("date", "to_date"), _converted("to_day")),
    **dict.fromkeys(("parse_date", "str_to_date"), _parsed),
    "julianday": _julian,
    "datetime": _converted("to_moment"),
    "from_utc_timestamp": _from_utc,
    "timezone": _zone_first,
    "convert_timezone": _zone_converted,
    "isodow": _iso_weekday,
    "dayname": _named("dayofweek", DAYS, 0),
    "monthname": _named("month", MONTHS, 1),
    "weekday": _ambiguous(
        "counts from Sunday in some dialects and from Monday in others",
        "write DAYOFWEEK(d), 0 for Sunday, or ISODOW(d), 1 for Monday",
    ),
    "timestampdiff": _ambiguous(
        "counts whole units in some dialects and boundaries in others",
        "write WHOLE_UNITS('month', earlier, later), or DATE_DIFF('month', earlier, later) for boundaries",
    ),
    "whole_units": _whole_units,
    "months_between": _months_between,
    **dict.fromkeys(("last_day", "eomonth"), _last_day),
    **dict.fromkeys(("isoyear", "yearofweekiso"), _iso_year),
    **dict.fromkeys(("weekofyear", "weekiso"), _week_number),
    "datename": _name_of_part,
    "yearweek": _year_week,
}
"""What each name of a function of dates means."""
