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
    """MAKE_DATE(2024, 1, 31): a date by its parts."""
    numbers = [number for part in parts if (number := constant(settled(part))) is not None]
    try:
        year, month, day = numbers
        return Literal(date(year, month, day))
    except (ValueError, OverflowError):
        raise QueryError(
            "MAKE_DATE", "needs three constants that are a date", "write DATE '2024-01-31'"
        ) from None
