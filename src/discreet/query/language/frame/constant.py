"""Python's own values as constants and kinds of a plan."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from discreet.errors import QueryError
from discreet.exact.number import rational
from discreet.query.plan import Value

CASTS: dict[str | type, str] = {
    **dict.fromkeys(("integer", "int", "bigint", int), "to_whole"),
    **dict.fromkeys(("decimal", "double", "float", float), "to_real"),
    **dict.fromkeys(("text", "string", "varchar", str), "to_text"),
    **dict.fromkeys(("date", date), "to_day"),
    **dict.fromkeys(("timestamp", "datetime", datetime), "to_moment"),
    **dict.fromkeys(("boolean", "bool", bool), "to_truth"),
}


def constant_of(value: Any) -> Value:
    """Return a Python value as a constant of the plan."""
    if isinstance(value, float | Decimal | Fraction):
        return number_of(rational(value, "constant"))
    zoned = isinstance(value, datetime) and value.tzinfo is not None
    if value is not None and (zoned or type(value) not in (bool, int, str, date, datetime)):
        raise QueryError(
            f"a constant of type {type(value).__name__}",
            "is not a number, text, truth value, date or time without a zone",
            "convert it to a plain Python value",
        )
    return value  # type: ignore[no-any-return]


def number_of(value: Fraction) -> int | Fraction:
    """Return a number as the plan has it: whole where it is."""
    return int(value) if value.denominator == 1 else value


def days_of(span: timedelta) -> int:
    """Return a span of time in days."""
    if span.seconds or span.microseconds:
        raise QueryError("timedelta", "shifts by whole days", "write timedelta(days=7)")
    return span.days
