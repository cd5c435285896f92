"""Numbers as fixed-point integers: floor(x * scale + 1/2), clamped as integers, is all that is ever summed.

The last operation before a sum is an integer clamp, so the sensitivity of the sum rests on it alone; how
the number was computed before, in which order, or with which rounding, cannot matter.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from discreet.errors import QueryError
from discreet.query.catalog.kind import Kind, Real, Typed, Whole, word
from discreet.query.check.measurement import Fixed
from discreet.query.plan import Call, Literal, Scalar, given

RESOLUTION = 2**26
"""Without a declared step, the larger bound spans about this many integer units."""

STEPS = 2**40
"""A declared step finer than this many units per bound is coarsened to the default resolution."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A scalar that yields integers in [low, high], `scale` of which make 1."""

    scalar: Scalar
    scale: int
    low: int
    high: int


def fixed_point(clause: str, argument: Typed, auto: str | None) -> Integer:
    """Return a bounded number as integers, refusing one without bounds."""
    low, high = bounds(clause, argument.kind, auto)
    scale = units(argument.kind, low, high)
    bottom, top = floor(low * scale), ceil(high * scale)
    return Integer(quantise(argument.scalar, argument.kind, scale, bottom, top), scale, bottom, top)


def quantise(scalar: Scalar, kind: Kind, scale: int, low: int, high: int) -> Scalar:
    """Return the integer clamp of a number in fixed point; NULL stays NULL."""
    match scalar:
        case Call("clamp", (_, Literal(int(bottom)), Literal(int(top)))) if (
            scale == 1 and low <= bottom <= top <= high
        ):
            return scalar
    if isinstance(kind, Whole) and scale == 1:
        return Call("clamp", (scalar, Literal(low), Literal(high)))
    if isinstance(kind, Whole):
        scalar = Call("to_real", (scalar,))
    return Call("fixed", (scalar, Literal(Fraction(scale)), Literal(Fraction(low)), Literal(Fraction(high))))


def cell(fixed: Fixed) -> Scalar:
    """Return the position of a row on its grid: its clamped integer, counted from the low end."""
    integer = quantise(
        given(fixed.argument), Whole() if fixed.whole else Real(), fixed.scale, fixed.low, fixed.high
    )
    return Call("subtract", (integer, Literal(fixed.low))) if fixed.low else integer


def bounds(clause: str, kind: Kind, auto: str | None) -> tuple[Fraction, Fraction]:
    """Return the interval of a number, refusing one without bounds and saying how to give them."""
    if not isinstance(kind, Whole | Real):
        raise QueryError(
            clause.upper(), f"needs a number but got {word(kind)}", "use a numeric column, or COUNT"
        )
    if kind.low is None or kind.high is None:
        if auto is not None:
            raise QueryError(
                clause.upper(),
                f"the bounds of a column of {auto} are still to be found",
                "ask for them first with find_bounds",
            )
        raise QueryError(
            clause.upper(),
            "the values have no bounds, so one person could move the answer arbitrarily far",
            "declare low and high for the column, or write CLAMP(x, 0, 100)",
        )
    low, high = Fraction(kind.low), Fraction(kind.high)
    if max(abs(low), abs(high)) > 2**53:
        raise QueryError(
            clause.upper(), "the bounds are too wide to be useful", "narrow them with CLAMP(x, low, high)"
        )
    return low, high


def units(kind: Kind, low: Fraction, high: Fraction) -> int:
    """Return how many integer units make 1: the declared step if it fits, else a power of two."""
    reach = max(abs(low), abs(high))
    if isinstance(kind, Whole):
        return 1
    step = kind.step if isinstance(kind, Real) else None
    if step is not None and step.numerator == 1 and reach * step.denominator <= STEPS:
        return step.denominator
    if reach == 0:
        return 1
    scale = 1
    while reach * scale * 2 <= RESOLUTION and scale < 2**40:
        scale *= 2
    return scale
