"""The scalar functions of a question: each is total, and each says in which interval its value lies.

A function is made total when the question is checked: 64-bit integers are used only where the inferred
interval proves that they cannot overflow, and doubles otherwise; doubles never raise, and what is not
finite becomes NULL before it is compared, chosen or added up; division by zero is NULL; every cast is one
that yields NULL instead of an error.  So no cell value can raise or show in an error, whatever the data.

What is known about the arguments is lost unless a rule says why it stays: a result is `held` only where the
rule states it, and beside it why.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from math import ceil, floor

from discreet.errors import QueryError
from discreet.exact.number import exp_bounds, log_bounds, sqrt_down, sqrt_up
from discreet.query.catalog.kind import (
    Day,
    Kind,
    Moment,
    Nothing,
    Opaque,
    Real,
    Text,
    Truth,
    Typed,
    Whole,
    as_real,
    between,
    common_step,
    hold,
    hull,
    known,
    truth,
    word,
)
from discreet.query.plan import Call, Column, Literal, Scalar, constant

Rule = Callable[[str, Sequence[Typed]], Typed]

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
TEXT_LIMIT = 2**20

ESCAPE = "!"
"""What makes % and _ ordinary in the patterns of statements; folding case leaves it alone."""


def apply(function: str, arguments: Sequence[Typed]) -> Typed:
    """Return the total form of a function applied to checked arguments."""
    return FUNCTIONS[function](function, arguments)


def settle(typed: Typed) -> Typed:
    """Return the scalar with NULL in place of NaN and infinity."""
    if isinstance(typed.kind, Real) and not typed.kind.finite:
        return Typed(Call("finite", (typed.scalar,)), replace(typed.kind, finite=True), typed.held)
    return typed


def agree(clause: str, typed: Sequence[Typed]) -> tuple[list[Typed], Kind]:
    """Return scalars converted to one kind that contains them all, or refuse."""
    kind: Kind = Nothing()
    settled = [settle(part) for part in typed]
    for part in settled:
        joint = hull(kind, part.kind)
        if joint is None:
            opaque = isinstance(kind, Opaque) or isinstance(part.kind, Opaque)
            advice = (
                "declare the column's type" if opaque else f"cast one side: CAST(x AS {word(kind).upper()})"
            )
            raise QueryError(clause, f"mixes {word(kind)} and {word(part.kind)}", advice)
        kind = joint
    held = all(part.held for part in settled)
    return [replace(_convert(part, kind), held=held) for part in settled], kind


def to_real(typed: Typed) -> Typed:
    """Return a number as a double."""
    match typed:
        case Typed(Literal(int(value)), Whole() as kind):
            return Typed(Literal(Fraction(value)), as_real(kind), held=True)
        case Typed(_, Whole() as kind):
            return Typed(Call("to_real", (typed.scalar,)), as_real(kind), typed.held)
        case _:
            return typed


def _convert(typed: Typed, kind: Kind) -> Typed:
    match kind, typed.kind:
        case Real(), Whole():
            return to_real(typed)
        case Moment(), Day():
            return Typed(Call("to_moment", (typed.scalar,)), Moment())
        case Nothing(), _:
            return typed
        case _, Nothing():
            # Only NULL, which may always occur.
            return Typed(Call(_NULLS[type(kind)], (typed.scalar,)), typed.kind, held=True)
        case _:
            return typed


_NULLS = {
    Whole: "to_whole",
    Real: "to_real",
    Text: "to_text",
    Truth: "to_truth",
    Day: "to_day",
    Moment: "to_moment",
}


def _numbers(name: str, arguments: Sequence[Typed]) -> list[Typed]:
    held = []
    for argument in arguments:
        if not isinstance(argument.kind, Whole | Real):
            raise QueryError(
                name, f"needs numbers but got {word(argument.kind)}", "use a numeric column or CAST it"
            )
        held.append(hold(settle(argument) if not argument.held else argument))
    return held


def _arithmetic(name: str, arguments: Sequence[Typed]) -> Typed:
    left, right = _numbers(name, arguments)
    match left.kind, right.kind:
        case (Whole() as one, Whole() as other) if one.bounded and other.bounded and name != "divide":
            ends = _ends(name, as_real(one), as_real(other))
            if ends is not None:
                kind = Whole(int(ends[0]), int(ends[1]))
                if kind.bounded:
                    # Exact arithmetic on numbers that `_numbers` holds stays between the ends.
                    return Typed(Call(name, (left.scalar, right.scalar)), kind, held=True)
    left, right = to_real(left), to_real(right)
    first, second = _number(left), _number(right)
    ends = _ends(name, as_real(first), as_real(second))
    step = _step(name, as_real(first).step, as_real(second).step)
    if ends is None or max(abs(ends[0]), abs(ends[1])) > 2**200:
        kind_real = Real(None, None, step, finite=False)
    else:
        kind_real = Real(*ends, step)
    # Rounding is monotone, so doubles leave the interval by no more than the rounding of its ends.
    return Typed(Call(name, (left.scalar, right.scalar)), kind_real, held=True)


def _number(typed: Typed) -> Whole | Real:
    if not isinstance(typed.kind, Whole | Real):
        raise AssertionError("only numbers reach arithmetic")
    return typed.kind


def _ends(name: str, one: Real, other: Real) -> tuple[Fraction, Fraction] | None:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    match name:
        case "add":
            return one.low + other.low, one.high + other.high
        case "subtract":
            return one.low - other.high, one.high - other.low
        case "multiply":
            corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
        case "divide":
            if other.low <= 0 <= other.high:
                return None
            corners = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
        case _:
            return None
    return min(corners), max(corners)


def _step(name: str, one: Fraction | None, other: Fraction | None) -> Fraction | None:
    if name in ("add", "subtract"):
        return common_step(one, other)
    if name == "multiply" and one is not None and other is not None:
        return one * other
    return None


def _modulo(name: str, arguments: Sequence[Typed]) -> Typed:
    left, right = _numbers(name, arguments)
    divisor = constant(right.scalar)
    # The smallest 64-bit integer cannot be divided by -1: an engine raises, for that cell alone.
    if divisor is None or divisor < 1 or not isinstance(left.kind, Whole):
        raise QueryError("%", "needs an integer and a constant of at least 1 to divide by", "write x % 10")
    reach = divisor - 1
    low = 0 if left.kind.low is not None and left.kind.low >= 0 else -reach
    # A remainder is smaller than the divisor and has the sign of what was divided, which is held.
    return Typed(Call("modulo", (left.scalar, right.scalar)), Whole(low, reach), held=True)


def _negate(name: str, arguments: Sequence[Typed]) -> Typed:
    return _arithmetic("subtract", [known(0), *arguments])


def _absolute(name: str, arguments: Sequence[Typed]) -> Typed:
    (number,) = _numbers(name, arguments)
    if isinstance(number.kind, Whole) and not number.kind.bounded:
        number = to_real(number)
    kind = _number(number)
    scalar = Call("absolute", (number.scalar,))
    if kind.low is None or kind.high is None:
        return Typed(scalar, between(kind, None, None), held=True)
    low, high = Fraction(kind.low), Fraction(kind.high)
    ends = max(low, -high, Fraction(0)), max(abs(low), abs(high))
    # Exact for every number, and `_numbers` holds the argument.
    return Typed(scalar, between(kind, *(map(int, ends) if isinstance(kind, Whole) else ends)), held=True)


def _sign(name: str, arguments: Sequence[Typed]) -> Typed:
    (number,) = _numbers(name, arguments)
    # A sign is one of three numbers, whatever it is the sign of.
    return Typed(Call("to_whole", (Call("sign", (settle(number).scalar,)),)), Whole(-1, 1), held=True)


def _rounding(name: str, arguments: Sequence[Typed]) -> Typed:
    (number,) = _numbers(name, arguments[:1])
    digits = 0
    if len(arguments) == 2:
        match arguments[1].scalar:
            case Literal(int(value)) if type(value) is int and 0 <= value <= 9:
                digits = value
            case _:
                raise QueryError(
                    name, "the number of digits must be a constant from 0 to 9", "write ROUND(x, 2)"
                )
    if isinstance(number.kind, Whole):
        return number
    real = as_real(_number(number))
    low = None if real.low is None else floor(real.low)
    high = None if real.high is None else ceil(real.high)
    if digits:
        bounds = (None if low is None else Fraction(low), None if high is None else Fraction(high))
        scalar = Call("round", (number.scalar, Literal(digits)))
        # Rounding is monotone, and the ends are whole.
        return Typed(scalar, Real(*bounds, Fraction(1, 10**digits), real.finite), held=True)
    core = {"floor": "floor", "ceil": "ceil", "round": "round_whole"}[name]
    return Typed(Call("to_whole", (Call(core, (number.scalar,)),)), Whole(low, high))


def _curve(name: str, arguments: Sequence[Typed]) -> Typed:
    (number,) = _numbers(name, arguments)
    number = to_real(number)
    real = as_real(_number(number))
    low, high = real.low, real.high
    ends: tuple[Fraction, Fraction] | None = None
    match name:
        case "sqrt" if low is not None and high is not None and low >= 0:
            ends = sqrt_down(low, 64), sqrt_up(high, 64)
        case "ln" if low is not None and high is not None and low > 0:
            ends = log_bounds(low, 64)[0], log_bounds(high, 64)[1]
        case "exp" if low is not None and high is not None and -100 <= low <= high <= 100:
            ends = exp_bounds(low, 64)[0], exp_bounds(high, 64)[1]
        case _:
            return Typed(Call(name, (number.scalar,)), Real(finite=False), held=True)
    # All three are monotone, and engines compute them to a few units in the last place.
    return Typed(Call(name, (number.scalar,)), Real(*ends), held=True)


def _power(name: str, arguments: Sequence[Typed]) -> Typed:
    match arguments[1].scalar:
        case Literal(int(exponent)) if type(exponent) is int and 1 <= exponent <= 4:
            (number,) = _numbers(name.upper(), arguments[:1])
            product = number
            for _ in range(exponent - 1):
                product = _arithmetic("multiply", [product, number])
            kind = _number(product)
            if exponent % 2 == 0 and kind.low is not None:
                product = replace(product, kind=between(kind, max(kind.low, 0), kind.high))
            return product
        case _:
            raise QueryError(
                "POWER",
                "the exponent must be a constant from 1 to 4",
                "write POWER(x, 2), or use SQRT, EXP, LN",
            )


def _extreme(name: str, arguments: Sequence[Typed]) -> Typed:
    parts, kind = agree(name.upper(), _numbers(name, arguments))
    # The result is one of the arguments (NULL ones are skipped), so it is in the common interval if they are.
    return Typed(Call(name, tuple(part.scalar for part in parts)), kind, parts[0].held)


def _clamp(name: str, arguments: Sequence[Typed]) -> Typed:
    number, low, high = arguments
    if not isinstance(number.kind, Whole | Real):
        raise QueryError(
            "CLAMP", f"needs a number but got {word(number.kind)}", "use a numeric column or CAST it"
        )
    ends = [part.scalar.value if isinstance(part.scalar, Literal) else None for part in (low, high)]
    bottom, top = (Fraction(end) if type(end) in (int, Fraction) else None for end in ends)  # type: ignore[arg-type]
    if bottom is None or top is None or bottom > top:
        raise QueryError("CLAMP", "the bounds must be constants with low <= high", "write CLAMP(x, 0, 100)")
    if max(abs(bottom), abs(top)) > 2**53:
        raise QueryError("CLAMP", "bounds beyond 2**53 cannot be summed exactly", "narrow the bounds")
    whole = isinstance(number.kind, Whole) and bottom.denominator == top.denominator == 1
    if whole:
        call = Call("clamp", (number.scalar, Literal(int(bottom)), Literal(int(top))))
    else:
        number = to_real(number)
        call = Call("clamp_real", (number.scalar, Literal(bottom), Literal(top)))
    kind = _number(number)
    # Where the argument's own interval is a fact it may be narrower than the one asked for.
    if number.held and kind.low is not None and kind.high is not None:
        own = Fraction(kind.low), Fraction(kind.high)
        bottom, top = min(max(bottom, own[0]), top), max(min(top, own[1]), bottom)
    # A clamp is what makes an interval true.
    if isinstance(kind, Whole):
        return Typed(call, Whole(int(bottom), int(top)), held=True)
    return Typed(call, Real(bottom, top, kind.step if _on_grid(bottom, top, kind.step) else None), held=True)


def _on_grid(low: Fraction, high: Fraction, step: Fraction | None) -> bool:
    return step is not None and (low / step).denominator == (high / step).denominator == 1


def _comparison(name: str, arguments: Sequence[Typed]) -> Typed:
    if name == "eq" and _identifiers(arguments):
        return truth(Call("eq", tuple(Call("to_text", (part.scalar,)) for part in arguments)))
    parts, kind = agree(_SIGNS[name], arguments)
    if isinstance(kind, Opaque):
        if name not in ("eq", "ne"):
            raise QueryError(
                _SIGNS[name], "an identifier of undeclared type has no order", "declare the column's type"
            )
        # Two such columns may be stored differently, so they are compared as text.
        return truth(Call(name, tuple(Call("to_text", (part.scalar,)) for part in parts)))
    if name in ("lt", "le", "gt", "ge") and isinstance(kind, Truth):
        raise QueryError(_SIGNS[name], "booleans have no order", "compare them with = or use them directly")
    return truth(Call(name, tuple(part.scalar for part in parts)))


def _identifiers(arguments: Sequence[Typed]) -> bool:
    """Whether two columns are compared of which one is an identifier of undeclared type."""
    columns = all(isinstance(part.scalar, Column) for part in arguments)
    kinds = {type(part.kind) for part in arguments}
    return columns and Opaque in kinds and kinds <= {Opaque, Whole, Text}


_SIGNS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "distinct": "IS DISTINCT FROM"}


def _logic(name: str, arguments: Sequence[Typed]) -> Typed:
    for argument in arguments:
        if not isinstance(argument.kind, Truth | Nothing):
            raise QueryError(
                name.upper(), f"needs conditions but got {word(argument.kind)}", "compare it with something"
            )
    return truth(Call(name, tuple(argument.scalar for argument in arguments)))


def _is_null(name: str, arguments: Sequence[Typed]) -> Typed:
    return truth(Call("is_null", (settle(arguments[0]).scalar,)))


def _coalesce(name: str, arguments: Sequence[Typed]) -> Typed:
    parts, kind = agree("COALESCE", arguments)
    # The result is one of the arguments.
    return Typed(Call("coalesce", tuple(part.scalar for part in parts)), kind, parts[0].held)


def _nullif(name: str, arguments: Sequence[Typed]) -> Typed:
    parts, _ = agree("NULLIF", arguments)
    # The result is the first argument, as it was converted, or NULL.
    return Typed(Call("nullif", tuple(part.scalar for part in parts)), parts[0].kind, parts[0].held)


def _text(name: str, argument: Typed) -> Scalar:
    if not isinstance(argument.kind, Text | Nothing):
        raise QueryError(
            name.upper(), f"needs text but got {word(argument.kind)}", "use a text column or CAST(x AS TEXT)"
        )
    return argument.scalar


def _change_text(name: str, arguments: Sequence[Typed]) -> Typed:
    kind = arguments[0].kind
    changes: dict[str, Callable[[str], str]] = {
        "lower": str.lower,
        "upper": str.upper,
        "trim": lambda text: text.strip(" "),
    }
    values = kind.values if isinstance(kind, Text) else None
    # Engines and Python may fold letters beyond ASCII differently, so only ASCII domains are carried over.
    if values is not None and all(value.isascii() for value in values):
        after: tuple[str, ...] | None = tuple(sorted({changes[name](value) for value in values}))
    else:
        after = None
    # Declared values say nothing about what the cells hold; only where they are known does the result follow.
    return Typed(Call(name, (_text(name, arguments[0]),)), Text(after), arguments[0].held)


def _length(name: str, arguments: Sequence[Typed]) -> Typed:
    # No length is negative.
    return Typed(Call("length", (_text(name, arguments[0]),)), Whole(0, None), held=True)


def _substring(name: str, arguments: Sequence[Typed]) -> Typed:
    text = _text(name, arguments[0])
    positions = []
    for argument in arguments[1:]:
        match argument.scalar:
            case Literal(int(value)) if type(value) is int and 0 <= value <= TEXT_LIMIT:
                positions.append(Literal(value))
            case _:
                raise QueryError(
                    name.upper(),
                    "positions must be constants that are not negative",
                    "write SUBSTRING(x, 1, 3)",
                )
    return Typed(Call(name, (text, *positions)), Text())


def _concat(name: str, arguments: Sequence[Typed]) -> Typed:
    return Typed(Call("concat", tuple(_text("||", argument) for argument in arguments)), Text())


def _pattern(name: str, arguments: Sequence[Typed]) -> Typed:
    text = _text(name, arguments[0])
    for argument in arguments[1:]:
        match argument.scalar:
            case Literal(str(pattern)) if pattern.count("%") <= 4 and len(pattern) <= 200:
                pass
            case _:
                raise QueryError(
                    name.upper(),
                    "the pattern must be constant text with at most four %",
                    "write x LIKE 'abc%'",
                )
    constants = tuple(argument.scalar for argument in arguments[1:])
    match constants:
        case (Literal(str(pattern)), Literal(str(escape))) if len(escape) == 1:
            constants = _escaped(pattern, escape)
        case (_, _):
            raise QueryError("ESCAPE", "must be one character", "write LIKE '10!%' ESCAPE '!'")
    return truth(Call(name, (text, *constants)))


def _escaped(pattern: str, escape: str) -> tuple[Literal, ...]:
    """Return the pattern with an escape character of our own, and that character where it is needed.

    Engines that fold case fold the pattern too: with a letter as escape character, other letters would turn
    into it, and what the pattern then means, or that it is an error, would show at some cells only.
    """
    characters = _characters(pattern, escape)
    if not any(itself and character in "%_" for character, itself in characters):
        return (Literal("".join(character for character, _ in characters)),)
    special = ("%", "_", ESCAPE)
    safe = (ESCAPE + c if itself and c in special else c for c, itself in characters)
    return Literal("".join(safe)), Literal(ESCAPE)


def _characters(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """Return what a pattern consists of, each character with whether it stands for itself."""
    found: list[tuple[str, bool]] = []
    rest = iter(pattern)
    for character in rest:
        if character != escape:
            found.append((character, character not in ("%", "_")))
            continue
        following = next(rest, "")
        if following not in ("%", "_", escape):
            raise QueryError(
                "ESCAPE", "must be followed by %, _ or itself in the pattern", "double the escape character"
            )
        found.append((following, True))
    return found


def _temporal(name: str, argument: Typed) -> Typed:
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


def _cast(name: str, arguments: Sequence[Typed]) -> Typed:
    (argument,) = arguments
    argument = settle(argument)
    match name, argument.kind:
        case "to_whole", Whole() | Real():
            if isinstance(argument.kind, Whole):
                return argument
            return _rounding("round", [argument])
        case "to_whole", Truth():
            # A condition is 0, 1 or NULL.
            return Typed(Call("to_whole", (argument.scalar,)), Whole(0, 1), held=True)
        case "to_whole", Text():
            return Typed(Call("to_whole", (argument.scalar,)), Whole())
        case "to_real", Whole() | Real():
            return to_real(argument)
        case "to_real", Text():
            # Nothing is said, so nothing can be wrong.
            return Typed(Call("to_real", (argument.scalar,)), Real(finite=False), held=True)
        # What is text or a date already stays as it is, and so does what is known about it.
        case "to_text", Text() as kind:
            return Typed(Call("to_text", (argument.scalar,)), kind, argument.held)
        case "to_text", Whole() | Truth() | Day():
            return Typed(Call("to_text", (argument.scalar,)), Text())
        case "to_day", Day() as kind:
            return Typed(Call("to_day", (argument.scalar,)), kind, argument.held)
        case "to_day", Moment() | Text():
            return Typed(Call("to_day", (argument.scalar,)), Day())
        case "to_moment", Day() | Moment() | Text():
            return Typed(Call("to_moment", (argument.scalar,)), Moment())
        case "to_truth", Truth() | Text():
            return truth(Call("to_truth", (argument.scalar,)))
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

FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), _arithmetic),
    "modulo": _modulo,
    "negate": _negate,
    "absolute": _absolute,
    "sign": _sign,
    **dict.fromkeys(("floor", "ceil", "round"), _rounding),
    **dict.fromkeys(("sqrt", "ln", "exp"), _curve),
    "power": _power,
    **dict.fromkeys(("least", "greatest"), _extreme),
    "clamp": _clamp,
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "distinct"), _comparison),
    **dict.fromkeys(("and", "or", "not"), _logic),
    "is_null": _is_null,
    "coalesce": _coalesce,
    "nullif": _nullif,
    **dict.fromkeys(("lower", "upper", "trim"), _change_text),
    "length": _length,
    **dict.fromkeys(("substring", "left", "right"), _substring),
    "concat": _concat,
    **dict.fromkeys(("like", "ilike", "starts_with"), _pattern),
    "part": _part,
    "trunc": _trunc,
    "difference": _difference,
    "shift": _shift,
    **dict.fromkeys(_KINDS, _cast),
}
"""Every scalar function a question may use, by the name the plan gives it."""
