"""Functions of numbers: integers where they cannot overflow, doubles otherwise, never an error."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from operator import add, mul, sub

from discreet.errors import QueryError
from discreet.exact.number import exp_bounds, log_bounds, sqrt_down, sqrt_up
from discreet.query.catalog.kind import (
    Day,
    Moment,
    Real,
    Typed,
    Whole,
    as_real,
    between,
    common_step,
    hold,
    known,
    word,
)
from discreet.query.check.function.agreement import Rule, agree, graded, settle, to_real
from discreet.query.check.function.day import calendar
from discreet.query.plan import Call, Case, Literal, Scalar, constant

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%", "quotient": "//"}
"""What people write for functions that are called otherwise here."""


def _numbers(name: str, arguments: Sequence[Typed]) -> list[Typed]:
    held = []
    for argument in arguments:
        if not isinstance(argument.kind, Whole | Real):
            raise QueryError(
                _SIGNS.get(name, name.upper()),
                f"needs numbers but got {word(argument.kind)}",
                "use a numeric column or CAST it",
            )
        held.append(hold(settle(argument)))
    return held


def _arithmetic(name: str, arguments: Sequence[Typed]) -> Typed:
    if any(isinstance(argument.kind, Day | Moment) for argument in arguments):
        return calendar(name, arguments)
    exact = _constants(name, arguments)
    if exact is not None:
        return exact
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
    if name in ("multiply", "divide"):
        left, right = graded(left), graded(right)
    first, second = _number(left), _number(right)
    ends = _ends(name, as_real(first), as_real(second))
    step = _step(name, as_real(first).step, as_real(second).step)
    if ends is None or max(abs(ends[0]), abs(ends[1])) > 2**200:
        kind_real = Real(None, None, step, finite=False)
    else:
        kind_real = Real(*ends, step)
    # Rounding is monotone, so doubles leave the interval by no more than the rounding of its ends.
    return Typed(Call(name, (left.scalar, right.scalar)), kind_real, held=True)


def _constants(name: str, arguments: Sequence[Typed]) -> Typed | None:
    """Return what two constants make exactly, where doubles would be off: 0.06 + 0.01 is 0.07."""
    operation = {"add": add, "subtract": sub, "multiply": mul}.get(name)
    values = [part.scalar.value if isinstance(part.scalar, Literal) else None for part in arguments]
    one, other = (Fraction(value) if type(value) in (int, Fraction) else None for value in values)  # type: ignore[arg-type]
    if operation is None or one is None or other is None:
        return None
    exact = operation(one, other)
    if (
        exact.denominator > 10**12
        or abs(exact) > 2**53
        or float(exact) == operation(float(one), float(other))
    ):
        return None
    return known(exact)


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


def _quotient(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the whole part of a quotient of whole numbers, towards zero as SQL rounds it."""
    left, right = _numbers("//", arguments)
    divisor = constant(right.scalar)
    if divisor is None or divisor < 1 or not isinstance(left.kind, Whole):
        raise QueryError("//", "needs an integer and a constant of at least 1 to divide by", "write x // 10")
    if left.kind.low is None or left.kind.high is None or max(-left.kind.low, left.kind.high) > 2**53:
        raise QueryError("//", "needs a number with bounds", "write CLAMP(x, 0, 100) // 10")
    # A double holds both numbers exactly, and no quotient below a whole number is rounded up to it: the gap
    # of 1 / divisor is wider than half the distance between doubles there.
    quotient = _arithmetic("divide", [left, right])
    down = rounding("floor", [quotient])
    if left.kind.low >= 0:
        return down
    up = rounding("ceil", [quotient])
    negative = Call("lt", (left.scalar, Literal(0)))
    ends = Whole(-(-left.kind.low // divisor), max(left.kind.high, 0) // divisor)
    return Typed(Case(((negative, up.scalar),), down.scalar), ends)


def _divide_whole(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a quotient as dialects divide where whole numbers leave a whole number, others the quotient."""
    if not all(isinstance(settle(argument).kind, Whole) for argument in arguments):
        return _arithmetic("divide", arguments)
    divisor = constant(arguments[1].scalar)
    if divisor is None or divisor < 1:
        raise QueryError(
            "/",
            "leaves a whole number in this dialect, and divides by a constant of at least 1 there",
            "write a / 10, or a * 1.0 / b for a quotient with decimals",
        )
    return _quotient("/", arguments)


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


def rounding(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return the nearest whole number, or one with so many digits."""
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
    match _bare(number.scalar):
        case Call("greatest", parts) if low is not None and (least := _constants_of(parts)):
            # The larger of x and 1 is at least 1.
            low = max(low, *least)
            high = None if high is None else max(high, low)
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
    found = Typed(Call(name, tuple(part.scalar for part in parts)), kind, parts[0].held)
    return _limited(name, found, [part.scalar for part in parts])


def _limited(name: str, found: Typed, parts: Sequence[Scalar]) -> Typed:
    """Return an extreme with the end that only a constant sets: the smaller of x and 9 is at most 9.

    A constant is never NULL, so it is never passed over.
    """
    kind, ends = _number(found), _constants_of(parts)
    if not ends:
        return found
    low, high = kind.low, kind.high
    if name == "greatest" and low is None:
        low = max(ends)
    if name == "least" and high is None:
        high = min(ends)
    exact = int if isinstance(kind, Whole) else Fraction
    bounds = (None if end is None else exact(end) for end in (low, high))
    return replace(found, kind=between(kind, *bounds))


def _bare(scalar: Scalar) -> Scalar:
    """Return a number without what keeps its value."""
    while isinstance(scalar, Call) and scalar.function in ("to_real", "finite"):
        scalar = scalar.arguments[0]
    return scalar


def _constants_of(parts: Sequence[Scalar]) -> list[Fraction]:
    """Return the numbers among some parts that are constants."""
    bare = map(_bare, parts)
    values = [part.value for part in bare if isinstance(part, Literal)]
    return [Fraction(value) for value in values if type(value) in (int, Fraction)]  # type: ignore[arg-type]


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


RULES: dict[str, Rule] = {
    **dict.fromkeys(("add", "subtract", "multiply", "divide"), _arithmetic),
    "modulo": _modulo,
    "quotient": _quotient,
    "negate": _negate,
    "absolute": _absolute,
    "sign": _sign,
    **dict.fromkeys(("floor", "ceil", "round"), rounding),
    **dict.fromkeys(("sqrt", "ln", "exp"), _curve),
    "power": _power,
    **dict.fromkeys(("least", "greatest"), _extreme),
    "clamp": _clamp,
}

BY_DIALECT: dict[str, Rule] = {"divide_whole": _divide_whole}
"""What a sign means in some dialects; nobody can call it by a name."""
