"""Keys and quantiles on a grid: what has equal steps is grouped by, or chosen, as a whole number of them.

Doubles are not told apart outside of an engine; whole numbers are.  What leaves for a decimal key is the
number of steps, and what is shown is that number times the step.  A time cut to hours is a number of hours
since the year 1 in the same way; the least, greatest or middle date is a number of days, that of times one of
seconds.
"""

from dataclasses import replace
from datetime import date
from fractions import Fraction

from discreet.query.catalog.kind import Day, Moment, Real, Whole
from discreet.query.check import function
from discreet.query.check.scope import Lineage, resolve
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Literal,
    Scalar,
    aggregates,
    change_asked,
    rebuilt,
)

FINEST = 10**6
"""Steps in 1; a finer grid is no longer one of keys that people share."""

SECOND = 10**6
"""Microseconds."""


def on_grid(block: Block, scope: Lineage) -> Block:
    """Return a block whose keys and quantiles are whole numbers of steps where they have any."""
    keys = {term: found for term in block.group if (found := _key(term, scope)) is not None}

    def shown(scalar: Scalar) -> Scalar | None:
        if isinstance(scalar, Aggregate):
            return _quantile(scalar, scope)
        return keys[scalar][1] if scalar in keys else None

    def change(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, shown)

    changed = change_asked(block, change)
    group = tuple(keys[term][0] if term in keys else term for term in block.group)
    return replace(changed, group=group) if keys else changed


def _key(term: Scalar, scope: Lineage) -> tuple[Scalar, Scalar] | None:
    """Return the whole number that a key is, and how it is shown."""
    if aggregates(term) or isinstance(term, Literal):
        return None
    inner = _moved(term)
    if inner is not None and isinstance(function.settle(resolve(term, scope, "GROUP BY")).kind, Real):
        return _key_moved(term, inner, scope)
    kind = function.settle(resolve(term, scope, "GROUP BY")).kind
    match kind:
        case Moment(step=int(width)):
            bins = Call("bins", (Literal(width), term))
            return bins, Call("moment_at", (Call("multiply", (bins, Literal(width))),))
        case Real(step=Fraction() as step) if step.numerator == 1 and step.denominator <= FINEST:
            whole = Call("round", (Call("multiply", (term, Literal(step.denominator))),))
            return whole, Call("divide", (whole, Literal(step.denominator)))
        case _:
            return None


def _moved(term: Scalar) -> Scalar | None:
    """Return what a key moves or stretches by constants: x of x / 10 * 10 + 5."""
    match term:
        case Call("add" | "subtract" | "multiply" | "divide", (inner, Literal() as by)) if _stretch(term, by):
            return inner
        case Call("add" | "subtract" | "multiply", (Literal() as by, inner)) if _stretch(term, by):
            return inner
    return None


def _stretch(term: Call, by: Literal) -> bool:
    """Whether a number moves or stretches others without making any two of them equal."""
    if type(by.value) not in (int, Fraction):
        return False
    size = abs(Fraction(by.value))  # type: ignore[arg-type]
    small = size <= FINEST and size.denominator <= FINEST
    return small and (size != 0 or term.function in ("add", "subtract"))


def _key_moved(term: Scalar, inner: Scalar, scope: Lineage) -> tuple[Scalar, Scalar] | None:
    """Return the key that is moved, and how the whole is shown: moved, keys are told apart as they were."""
    if isinstance(function.settle(resolve(inner, scope, "GROUP BY")).kind, Whole):
        return inner, term
    found = _key(inner, scope)
    if found is None:
        return None
    key, shown = found
    return key, rebuilt(term, lambda part: shown if part == inner else None)


def _quantile(aggregate: Aggregate, scope: Lineage) -> Scalar:
    """Return a quantile of dates as the date at a quantile of numbers."""
    argument = aggregate.argument
    if aggregate.function not in ("min", "max", "quantile") or argument is None:
        return aggregate
    match function.settle(resolve(argument, scope, aggregate.function.upper())).kind:
        case Day():
            days = Call("difference", (Literal("day"), Literal(date.min), argument))
            return Call("day_at", (replace(aggregate, argument=days),))
        case Moment():
            seconds = Call("bins", (Literal(SECOND), argument))
            found = replace(aggregate, argument=seconds)
            return Call("moment_at", (Call("multiply", (found, Literal(SECOND))),))
        case _:
            return aggregate
