"""Conversions from one kind to another: what does not convert is NULL."""

from collections.abc import Sequence
from datetime import date, datetime

from discreet.errors import QueryError
from discreet.query.catalog.kind import (
    Day,
    Kind,
    Moment,
    Nothing,
    Real,
    Text,
    Truth,
    Typed,
    Whole,
    truth,
    word,
)
from discreet.query.check.function.agreement import Rule, settle, to_real
from discreet.query.check.function.number import rounding
from discreet.query.check.function.text import shown_values
from discreet.query.plan import Call


def _cast(name: str, arguments: Sequence[Typed]) -> Typed:
    (argument,) = arguments
    argument = settle(argument)
    match name, argument.kind:
        case "to_whole", Whole() | Real():
            if isinstance(argument.kind, Whole):
                return argument
            return rounding("round", [argument])
        case "to_whole", Truth():
            # A condition is 0, 1 or NULL.
            return Typed(Call("to_whole", (argument.scalar,)), Whole(0, 1), held=True)
        case "to_whole", Text():
            return Typed(Call("parse_whole", (argument.scalar,)), Whole())
        case "to_real", Whole() | Real():
            return to_real(argument)
        case "to_real", Truth():
            return to_real(_cast("to_whole", [argument]))
        case "to_real", Text():
            # Nothing is said, so nothing can be wrong.
            return Typed(Call("parse_real", (argument.scalar,)), Real(), held=True)
        # What is text or a date already stays as it is, and so does what is known about it.
        case "to_text", Text() as kind:
            return Typed(Call("to_text", (argument.scalar,)), kind, argument.held)
        case "to_text", Whole() | Truth() | Day() as kind:
            return Typed(Call("to_text", (argument.scalar,)), Text(shown_values(kind)))
        case "to_day", Day() as kind:
            return Typed(Call("to_day", (argument.scalar,)), kind, argument.held)
        case "to_day", Moment(datetime() as first, datetime() as last):
            return Typed(Call("to_day", (argument.scalar,)), Day(first.date(), last.date()))
        case "to_day", Moment():
            return Typed(Call("to_day", (argument.scalar,)), Day())
        case "to_day", Text():
            return Typed(Call("parse_day", (argument.scalar,)), Day())
        case "to_moment", Day(date() as low, date() as high):
            first, last = (datetime(end.year, end.month, end.day) for end in (low, high))
            return Typed(Call("to_moment", (argument.scalar,)), Moment(first, last))
        case "to_moment", Day():
            return Typed(Call("to_moment", (argument.scalar,)), Moment())
        case "to_moment", Moment() as kind:
            return Typed(Call("to_moment", (argument.scalar,)), kind, argument.held)
        case "to_moment", Text():
            return Typed(Call("parse_moment", (argument.scalar,)), Moment())
        case "to_truth", Truth():
            return truth(Call("to_truth", (argument.scalar,)))
        case "to_truth", Text():
            return truth(Call("parse_truth", (argument.scalar,)))
        case _, Nothing():
            return Typed(Call(name, (argument.scalar,)), _KINDS[name])
        case _:
            target = word(_KINDS[name])
            raise QueryError(
                "CAST",
                f"cannot turn {word(argument.kind)} into {target}",
                "use CASE WHEN ... to say what you mean",
            )


_KINDS: dict[str, Kind] = {
    "to_whole": Whole(),
    "to_real": Real(),
    "to_text": Text(),
    "to_day": Day(),
    "to_moment": Moment(),
    "to_truth": Truth(),
}

RULES: dict[str, Rule] = dict.fromkeys(_KINDS, _cast)
