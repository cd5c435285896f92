"""Parameters of a question: `?` by position, `:name` and `$name` by name.

A value takes the place of its mark in the tree as a constant; it is never made into text, so nothing in it
can be read as SQL.  The tree remembers which constants were given so: a number that was is no place of an
output column, wherever one that is written would be.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.text import MARK
from discreet.query.language.tree import every

GIVEN = "given"
"""Where a tree keeps that a constant was given as a parameter."""

Parameters: TypeAlias = tuple[tuple[str, type, Any], ...]
"""Names (or positions from 1) with values and their types: 1, 1.0 and TRUE are different constants."""


LONGEST = 100
"""No number that can be meant has more digits before or behind the point."""


def parameters(given: Mapping[str, Any] | Sequence[Any] | None) -> Parameters:
    """Return the values of parameters in the form in which a question is read."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise QueryError(
            "parameters", "must be a list of values or a mapping of names", "write parameters=[18] for one ?"
        )
    named = given.items() if isinstance(given, Mapping) else ((str(n), v) for n, v in enumerate(given, 1))
    return tuple((str(name), type(value), value) for name, value in named if _checked(str(name), value))


def _checked(name: str, value: Any) -> bool:
    constant(name, value)
    return True


def bind(tree: exp.Expr, values: Parameters) -> exp.Expr:
    """Return the tree, changed in place: every mark is replaced by its value, and each value used."""
    if not values and not every(tree, exp.Placeholder, exp.Parameter):
        return tree
    known = {name: value for name, _, value in values}
    used: set[str] = set()

    def replaced(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Placeholder | exp.Parameter):
            return node
        inner = node.args.get("this")
        name = (str(inner.this) if isinstance(inner, exp.Expr) else str(inner or "")).removesuffix(MARK)
        if name not in known:
            given = f"given: {', '.join(known)}" if known else f"give it: parameters={{{name!r}: ...}}"
            raise QueryError(f"parameter {name}", "has no value", given)
        used.add(name)
        value = constant(name, known[name])
        value.meta[GIVEN] = True
        return value

    bound = tree.transform(replaced, copy=False)
    unused = next((name for name in known if name not in used), None)
    if unused is not None:
        raise QueryError(f"parameter {unused}", "does not occur in the question", "leave its value out")
    return bound


def given(node: exp.Expr) -> bool:
    """Whether this is a constant that was given as a parameter."""
    return GIVEN in node.unnest().meta


def constant(name: str, value: Any) -> exp.Expr:
    """Return a value as a constant of the tree."""
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case str():
            return exp.Literal.string(value)
        case datetime() if value.tzinfo is None:
            return _typed(value.isoformat(sep=" "), exp.DType.TIMESTAMP)
        case datetime():
            pass
        case date():
            return _typed(value.isoformat(), exp.DType.DATE)
        case int() | float() | Decimal() | Fraction():
            return _number(name, value)
    raise QueryError(
        f"parameter {name}",
        "is not a number, text, truth value, date or time without a zone",
        "convert it to a plain Python value",
    )


def _typed(text: str, kind: Any) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=kind))


def _number(name: str, value: float | Decimal | Fraction) -> exp.Expr:
    """Return a number in decimals; a float is the shortest decimal that means it."""
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > LONGEST:
        # Not written out: the digits of 1e999999999 would fill the memory.
        raise QueryError(f"parameter {name}", "is too large or too fine", "use at most 12 decimals")
    try:
        exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError):
        raise QueryError(f"parameter {name}", "is not a finite number", "give a plain number") from None
    digits = next((count for count in range(13) if (exact * 10**count).denominator == 1), None)
    if digits is None or abs(exact) > 10**30:
        raise QueryError(f"parameter {name}", "is too large or too fine", "use at most 12 decimals")
    whole = str(abs(int(exact * 10**digits))).zfill(digits + 1)
    text = f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
    literal = exp.Literal.number(text)
    return exp.Neg(this=literal) if exact < 0 else literal
