"""Values of several kinds brought to one: what CASE, comparisons and functions of many arguments need."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

from discreet.errors import QueryError
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
    hull,
    known,
    word,
)
from discreet.query.plan import Call, Case, Column, Literal, Scalar

Rule = Callable[[str, Sequence[Typed]], Typed]
"""How a function becomes total: from its name and checked arguments to a scalar and what is known of it."""


def settle(typed: Typed) -> Typed:
    """Return the scalar with NULL in place of NaN and infinity."""
    if isinstance(typed.kind, Real) and not typed.kind.finite:
        return Typed(Call("finite", (typed.scalar,)), replace(typed.kind, finite=True), typed.held)
    return typed


TINY, LARGE = Fraction(1, 2**500), Fraction(2**500)
"""Numbers of such a size, and 0, can be multiplied and divided once without leaving the doubles."""


def graded(typed: Typed) -> Typed:
    """Return a double that is 0 or between 2**-500 and 2**500 in size.

    Some engines raise where a product of doubles becomes too large, or so small that it becomes 0; a product
    or quotient of two such numbers is neither.
    """
    if not isinstance(typed.kind, Real) or _is_graded(typed.scalar):
        return typed
    return Typed(Call("finite", (typed.scalar,)), replace(typed.kind, finite=True), typed.held)


def _is_graded(scalar: Scalar) -> bool:
    match scalar:
        case Literal(Fraction() as value):
            return value == 0 or TINY <= abs(value) < LARGE
        case Literal(None) | Column():
            # Tables offer no other numbers, and subqueries grade theirs.
            return True
        case Call("finite" | "to_real" | "parse_real" | "mean" | "ln"):
            # A logarithm that is not 0 is at least 2**-53, a mean at least one unit divided by the rows.
            return True
        case Call(
            "clamp_real" | "least" | "greatest" | "coalesce" | "nullif" | "absolute" | "min" | "max" | "sqrt",
            arguments,
        ):
            return all(map(_is_graded, arguments))
        case Case(branches, otherwise):
            return all(_is_graded(value) for _, value in branches) and _is_graded(otherwise)
        case _:
            return False


def agree(clause: str, typed: Sequence[Typed]) -> tuple[list[Typed], Kind]:
    """Return scalars converted to one kind that contains them all, or refuse."""
    kind: Kind = Nothing()
    settled = [settle(part) for part in typed]
    day = next((part.kind for part in settled if isinstance(part.kind, Day | Moment)), None)
    if day is not None:
        settled = [dated(part, day) for part in settled]
    if any(isinstance(part.kind, Truth) for part in settled):
        settled = [_truthful(part) for part in settled]
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


def dated(typed: Typed, kind: Day | Moment) -> Typed:
    """Return a constant text beside a date as the date that it says; anything else as it is."""
    match typed.scalar:
        case Literal(str(text)):
            try:
                return known(date.fromisoformat(text) if isinstance(kind, Day) else moment_of(text))
            except ValueError:
                example = "'2024-01-31'" if isinstance(kind, Day) else "'2024-01-31 10:00:00'"
                raise QueryError(
                    "a text beside a date", "is not a date that can be read", f"write {example}"
                ) from None
        case _:
            return typed


def _truthful(typed: Typed) -> Typed:
    """Return 0 or 1 beside a condition as false or true."""
    match typed.scalar:
        case Literal(int(value)) if type(value) is int and value in (0, 1):
            return known(bool(value))
        case _:
            return typed


def moment_of(text: str) -> datetime:
    """Return the time without a zone that a text says."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError("a moment of our own has no zone")
    return found


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
        case ((Nothing() | Opaque()), _):
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
