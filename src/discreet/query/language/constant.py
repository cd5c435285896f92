"""Constants that are written as expressions: what tools write where people write a number."""

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

from discreet.errors import QueryError
from discreet.query.plan import Call, Case, Literal, Scalar, constant

LARGEST = 10**9
"""Larger numbers are left alone: no place in a text or a calendar is one."""

_SUMS: dict[str, Callable[[Any, Any], Any]] = {"add": add, "subtract": sub, "multiply": mul}
_TESTS: dict[str, Callable[[Any, Any], Any]] = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
_OPERATORS = _SUMS | _TESTS


def settled(scalar: Scalar) -> Scalar:
    """Return the whole number or truth value that an expression of constants is, or the expression."""
    match scalar:
        case Call("negate", (inner,)):
            number = constant(settled(inner))
            return scalar if number is None else Literal(-number)
        case Call(name, (left, right)) if name in _OPERATORS:
            one, other = constant(settled(left)), constant(settled(right))
            if one is not None and other is not None and max(abs(one), abs(other)) <= LARGEST:
                return Literal(_OPERATORS[name](one, other))
        case Case(((condition, value), *rest), otherwise):
            match settled(condition):
                case Literal(True):
                    return settled(value)
                case Literal(False):
                    return settled(Case(tuple(rest), otherwise) if rest else otherwise)
    return scalar


def clamped(case: Case) -> Scalar:
    """Return a value that is moved into an interval end by end, and missing where it was, as a CLAMP."""
    match _guarded(case, "greatest"):
        case (Literal(int() | Fraction() as low), Case() as inner):
            match _guarded(inner, "least"):
                case (Literal(int() | Fraction() as high), subject) if low <= high:
                    return Call("clamp", (subject, Literal(low), Literal(high)))
    return case


def _guarded(case: Case, function: str) -> tuple[Scalar, Scalar] | None:
    """Return the constant and the value of CASE WHEN x IS NULL THEN NULL ELSE GREATEST(0, x) END."""
    match case:
        case Case(((Call("is_null", (subject,)), Literal(None)),), Call(name, (bound, value))):
            return (settled(bound), value) if name == function and value == subject else None
    return None


def day_of(parts: Sequence[Scalar]) -> Scalar:
    """MAKE_DATE(2024, 1, 31): a date by its parts, NULL where there is no such day."""
    found = [settled(part) for part in parts]
    numbers = [number for part in found if (number := constant(part)) is not None]
    if len(found) != 3:
        raise QueryError("MAKE_DATE", "takes a year, a month and a day", "write MAKE_DATE(2024, 1, 31)")
    if len(numbers) == 3:
        try:
            return Literal(date(*numbers))
        except (ValueError, OverflowError):
            raise QueryError("MAKE_DATE", "is no day of the calendar", "write DATE '2024-01-31'") from None
    match found:
        case [Call("part", (Literal("year"), whole)), Literal(1), Literal(1)]:
            return Call("trunc", (Literal("year"), whole))
        case [Call("part", (Literal("year"), whole)), Call("part", (Literal("month"), other)), Literal(1)]:
            if whole == other:
                return Call("trunc", (Literal("month"), whole))
    digits = (4, 2, 2)
    texts = [_digits(part, count) for part, count in zip(found, digits, strict=True)]
    inside = Call("and", tuple(_between(part, 10**count) for part, count in zip(found, digits, strict=True)))
    joined = Call("concat", (texts[0], Literal("-"), texts[1], Literal("-"), texts[2]))
    return Call("to_day", (Case(((inside, joined),), Literal(None)),))


def _digits(part: Scalar, count: int) -> Scalar:
    return Call("lpad", (Call("to_text", (Call("to_whole", (part,)),)), Literal(count), Literal("0")))


def _between(part: Scalar, end: int) -> Scalar:
    return Call("and", (Call("ge", (part, Literal(0))), Call("lt", (part, Literal(end)))))
