"""How much time lies between two dates in whole units, and in months with their parts.

Each is said with functions that have rules of their own, so nothing here is new to an engine or to whoever
checks statements; only which of them are meant depends on what is compared, dates or times.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Day, Moment, Real, Typed, Whole, as_real, hold, known
from discreet.query.check.function import day, number
from discreet.query.check.function.agreement import Rule, agree, dated, to_real
from discreet.query.check.function.zone import as_instants
from discreet.query.plan import MONTHS, Call, Case, Literal, Scalar, given

LENGTHS = {"week": 7 * day.DAY, "day": day.DAY, **day.FINE}
"""Units that always have the same length, in microseconds."""


def _whole_units(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return how many whole units have passed from one date to another: a unit that has begun is none.

    A month is whole when its day and time have come again; before the 31st of a month that has only 30 days
    it is not.  Where the dates are the other way around, units count downwards.
    """
    match arguments[0].scalar:
        case Literal(str(unit)) if unit in MONTHS or unit in LENGTHS:
            pass
        case _:
            raise QueryError(
                "WHOLE_UNITS",
                "does not know this unit of time",
                f"use one of {', '.join((*MONTHS, *LENGTHS))}",
            )
    earlier, later = _dates("WHOLE_UNITS", arguments[1:])
    if unit in LENGTHS:
        return _lengths(unit, earlier, later)
    months = _months(earlier, later)
    return months if unit == "month" else number.RULES["quotient"]("quotient", [months, known(MONTHS[unit])])


def _dates(name: str, arguments: Sequence[Typed]) -> list[Typed]:
    beside = next((one.kind for one in arguments if isinstance(one.kind, Day | Moment)), None)
    found = [dated(one, beside or Day()) for one in arguments]
    for one in found:
        if not isinstance(one.kind, Day | Moment):
            raise QueryError(name, "needs two dates or timestamps", "CAST(x AS DATE)")
    return agree(name, found)[0] if beside is not None else found


def _lengths(unit: str, earlier: Typed, later: Typed) -> Typed:
    if unit == "day" and isinstance(earlier.kind, Day) and isinstance(later.kind, Day):
        return day.RULES["difference"]("difference", [known("day"), earlier, later])
    ticks = [day.STEPS["microseconds"]("ticks", [one]) for one in as_instants([earlier, later])]
    (early, late), (begun, ended) = map(_ends, ticks)
    apart = Call("subtract", (ticks[1].scalar, ticks[0].scalar))
    width = Literal(LENGTHS[unit])
    forth = Call("quotient", (apart, width))
    back = Call("subtract", (Literal(0), Call("quotient", (Call("subtract", (Literal(0), apart)), width))))
    ends = [_towards_zero(begun - late, width.value), _towards_zero(ended - early, width.value)]
    return Typed(Case(((Call("lt", (apart, Literal(0))), back),), forth), Whole(*ends))


def _towards_zero(ticks: int, width: object) -> int:
    if not isinstance(width, int):
        raise AssertionError("a unit has a length")
    return ticks // width if ticks >= 0 else -(-ticks // width)


def _months(earlier: Typed, later: Typed) -> Typed:
    """Return the whole months between two dates: boundaries, but for the month that is not over."""
    boundaries = day.RULES["difference"]("difference", [known("month"), earlier, later])
    low, high = _ends(boundaries)
    count, first, last = boundaries.scalar, _in_month(earlier), _in_month(later)
    forth, back = (Call(word, (later.scalar, earlier.scalar)) for word in ("ge", "lt"))
    short = Call("and", (forth, Call("lt", (last, first))))
    over = Call("and", (back, Call("gt", (last, first))))
    branches = ((short, Call("subtract", (count, Literal(1)))), (over, Call("add", (count, Literal(1)))))
    # Only a count above 0 is lessened, and only one below 0 is raised.
    return Typed(Case(branches, count), Whole(low - (low > 0), high + (high < 0)))


def _in_month(when: Typed) -> Scalar:
    """Return how far a month has come, in days or, where there is a time of day, in microseconds."""
    days = Call("part", (Literal("day"), when.scalar))
    if isinstance(when.kind, Day):
        return days
    time = Call("modulo", (Call("microseconds", (when.scalar,)), Literal(day.DAY)))
    # As in any statement, a part is held where it is multiplied.
    held = Call("clamp", (days, Literal(1), Literal(31)))
    return Call("add", (Call("multiply", (held, Literal(day.DAY))), time))


def _ends(typed: Typed) -> tuple[int, int]:
    if not isinstance(typed.kind, Whole):
        raise AssertionError("units are whole numbers")
    return given(typed.kind.low), given(typed.kind.high)


def _months_between(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the months from one date to another, days as parts of a month of 31 days.

    Between last days of months, as between equal days, months are whole.
    """
    later, earlier = _dates("MONTHS_BETWEEN", arguments)
    if not (isinstance(later.kind, Day) and isinstance(earlier.kind, Day)):
        raise QueryError(
            "MONTHS_BETWEEN",
            "counts from date to date",
            "write MONTHS_BETWEEN(CAST(b AS DATE), CAST(a AS DATE))",
        )
    months = day.RULES["difference"]("difference", [known("month"), earlier, later])
    parts = [_part_of(when) for when in (later, earlier)]
    days = number.RULES["subtract"]("subtract", parts)
    share = number.RULES["divide"]("divide", [days, known(31)])
    both = number.RULES["add"]("add", [to_real(months), share])
    whole = to_real(hold(months))
    ends = Call("and", (_last_of_month(later), _last_of_month(earlier)))
    reach = as_real(Whole(*_ends(months)))
    kind = Real(given(reach.low) - Fraction(30, 31), given(reach.high) + Fraction(30, 31))
    return Typed(Case(((ends, whole.scalar),), both.scalar), kind)


def _part_of(when: Typed) -> Typed:
    return day.RULES["part"]("part", [known("day"), when])


def _last_of_month(when: Typed) -> Scalar:
    after = day.RULES["shift"]("shift", [known("day"), replace(when), known(1)])
    return Call("eq", (Call("part", (Literal("day"), after.scalar)), Literal(1)))


RULES: dict[str, Rule] = {"whole_units": _whole_units, "months_between": _months_between}
