"""Quotients of sums and counts, read as the means that they are.

Rule.  SUM(x) / COUNT(x) over the same rows is AVG(x): both leave out where x is NULL, and of no rows both are
NULL.  So is SUM(x) / COUNT(*) where x is never NULL; else it is AVG(COALESCE(x, 0)), because a NULL adds
nothing to the sum and one to the count, if the values that are summed are clamped alike and lie on the same
grid with this 0 among them.  A constant factor, a cast to a decimal and NULLIF(count, 0) change none of this.

A mean is measured on a simplex, at the full price, and its interval is Fieller's; a quotient of two numbers
is neither.  Rows that a FILTER keeps must be the same in both; DISTINCT stays as it is written.
"""

from dataclasses import replace
from fractions import Fraction
from functools import partial

from discreet.errors import QueryError
from discreet.query.catalog.kind import Typed
from discreet.query.check import function
from discreet.query.check.fixed_point import bounds, units
from discreet.query.check.scope import Lineage, find, resolve
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Literal,
    Scalar,
    aggregates_of,
    change_asked,
    rebuilt,
)


def averaged(block: Block, scope: Lineage) -> Block:
    """Return a question with means in the place of quotients of sums and counts.

    Where sums are asked for besides, columns with missing values stay as they are: a mean with 0 in the place
    of these may be one thing more to measure.
    """
    found = change_asked(block, lambda scalar: rebuilt(scalar, partial(_mean, scope, filled=True)))
    if any(one.function == "sum" for one in aggregates_of(found)):
        return change_asked(block, lambda scalar: rebuilt(scalar, partial(_mean, scope, filled=False)))
    return found


def _mean(scope: Lineage, scalar: Scalar, *, filled: bool) -> Scalar | None:
    match scalar:
        case Call("divide", (above, below)):
            factor, total = _factored(above)
            mean = _quotient(total, _counted(below), scope, filled=filled)
            return mean if mean is None or factor == 1 else Call("multiply", (Literal(factor), mean))
        case _:
            return None


def _quotient(total: Scalar, count: Scalar, scope: Lineage, *, filled: bool) -> Aggregate | None:
    """Return the mean that a sum over a count is, or None where it is none."""
    if not isinstance(total, Aggregate) or total.argument is None:
        return None
    if total != Aggregate("sum", total.argument, where=total.where):
        return None
    mean = replace(total, function="avg")
    if count == replace(total, function="count") or (
        count == Aggregate("count", where=total.where) and _always(total.argument, scope)
    ):
        return mean
    if count != Aggregate("count", where=total.where) or not filled:
        return None
    zero = Call("coalesce", (total.argument, Literal(0)))
    return replace(mean, argument=zero) if _alike(total.argument, zero, scope) else None


def _factored(scalar: Scalar) -> tuple[int | Fraction, Scalar]:
    """Return the constant that a sum is multiplied by, and the sum."""
    match scalar:
        case Call("multiply", (Literal(int() | Fraction() as factor), inner)) | Call(
            "multiply", (inner, Literal(int() | Fraction() as factor))
        ) if not isinstance(factor, bool):
            return factor, _plain(inner)
        case _:
            return 1, _plain(scalar)


def _plain(scalar: Scalar) -> Scalar:
    match scalar:
        case Call("to_real", (inner,)):
            return _plain(inner)
        case _:
            return scalar


def _counted(scalar: Scalar) -> Scalar:
    """Return a count without what only says that there is no quotient by 0; a sum of 0 has one."""
    match _plain(scalar):
        case Call("nullif", (inner, Literal(0))):
            return _plain(inner)
        case plain:
            return plain


def _always(scalar: Scalar, scope: Lineage) -> bool:
    """Whether every row has a value."""
    match scalar:
        case Literal(value):
            return value is not None
        case Column():
            return not find(scalar, scope).nullable
        case Case(branches, otherwise):
            return all(_always(value, scope) for value in (*(value for _, value in branches), otherwise))
        case Call("coalesce", arguments):
            return any(_always(argument, scope) for argument in arguments)
        case _:
            return False


def _alike(one: Scalar, other: Scalar, scope: Lineage) -> bool:
    """Whether two scalars become the same fixed-point integers wherever both have the same value."""
    try:
        return _grid(resolve(one, scope, "SUM")) == _grid(resolve(other, scope, "SUM"))
    except QueryError:
        # What has no bounds is refused where it is summed.
        return False


def _grid(typed: Typed) -> tuple[type, int, Fraction, Fraction]:
    kind = function.settle(typed).kind
    low, high = bounds("sum", kind, None)
    return type(kind), units(kind, low, high), low, high
