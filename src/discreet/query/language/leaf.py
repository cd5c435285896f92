"""SQL without parts of its own: columns, constants, and units of dates."""

from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields, refusal
from discreet.query.language.vocabulary import UNITS
from discreet.query.name import HIDDEN
from discreet.query.plan import Column, Literal, Scalar


def column_of(node: exp.Expr) -> Scalar:
    """Return a column by its name."""
    from discreet.query.language.item import name_of

    parts = fields(node, "this", "table", "db", "catalog")
    if isinstance(parts["this"], exp.Star):
        raise refusal(parts["this"])
    if isinstance(parts.get("table"), exp.Identifier) and str(parts["table"].this).startswith(HIDDEN):
        # A mark of our own: names of people that begin so were refused when the text was read.
        return Column(str(parts["table"].this), str(parts["this"].this))
    if parts.get("table") is None:
        return Column(None, name_of(parts["this"], label=True))
    return Column(name_of(parts["table"]), name_of(parts["this"]))


def literal_of(node: exp.Expr) -> Scalar:
    """Return a constant; any number that is not whole is a fraction."""
    parts = fields(node, "this", "is_string")
    text = str(parts.get("this", ""))
    if parts.get("is_string"):
        return Literal(text)
    try:
        number = Fraction(text.replace("_", ""))
    except ValueError:
        raise QueryError("a number", "cannot be read", "write digits such as 12 or 0.5") from None
    if abs(number) > 10**30 or number.denominator > 10**12:
        raise QueryError("a number", "is too large or too fine", "use at most 12 decimals")
    return Literal(int(number) if number.denominator == 1 and abs(number) < 2**53 else number)


def read_constant(parse: Callable[[str], Any], text: str, clause: str, example: str) -> Any:
    """Return a constant that a text stands for, or refuse it."""
    try:
        value = parse(text)
    except ValueError:
        raise QueryError(clause, "cannot be read", f"write {example}") from None
    if isinstance(value, datetime) and value.tzinfo is not None:
        raise QueryError(clause, "time zones are not supported", f"write {example}")
    return value


def unit_of(node: object) -> Literal:
    """Return the unit of a date that a node names."""
    return unit_named(str(getattr(node, "this", "") if isinstance(node, exp.Var | exp.Literal) else ""))


def unit_named(word: str) -> Literal:
    """Return the unit of a date that a word names."""
    unit = UNITS.get(word.upper().rstrip("S")) if isinstance(word, str) else None
    if unit is None:
        raise QueryError(
            "a unit of time", "is not supported", f"use one of {', '.join(sorted(set(UNITS.values())))}"
        )
    return Literal(unit)


def leaf_of(scalar: Scalar) -> Callable[[exp.Expr], Scalar]:
    """Return a builder of one fixed scalar."""

    def build(node: exp.Expr) -> Scalar:
        fields(node)
        return scalar

    return build


def truth_of(node: exp.Expr) -> Scalar:
    """Return TRUE or FALSE."""
    return Literal(bool(fields(node, "this").get("this", False)))
