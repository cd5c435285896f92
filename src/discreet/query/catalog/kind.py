"""What a value can be: the kinds of columns and expressions, with the intervals they lie in.

Intervals are inferred, never read from the data.  A `Whole` with both ends inside +-2**62 is computed in
64-bit integers, which therefore cannot overflow; a `Real` is a double, whose arithmetic never raises.
A `Typed` scalar says whether its interval is `held`, that is true by construction; where it is only declared,
`hold` writes the clamp that makes it true.  Nothing is held unless a rule says why.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.query.plan import MONTHS, Call, Literal, Scalar, Value

WHOLE_LIMIT = 2**62
"""Whole numbers inside this are computed in 64-bit integers with room for one addition."""

DOMAIN_LIMIT = 100_000
"""A declared range with more values than this is not enumerated as group keys."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers, in [low, high] where an end is given."""

    low: int | None = None
    high: int | None = None

    @property
    def bounded(self) -> bool:
        """Whether 64-bit arithmetic is safe."""
        return (
            self.low is not None
            and self.high is not None
            and -WHOLE_LIMIT <= self.low <= self.high <= WHOLE_LIMIT
        )


@dataclass(frozen=True, slots=True)
class Real:
    """Numbers in double precision, multiples of `step` if given; `finite` excludes NaN and infinity."""

    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None
    finite: bool = True

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True, slots=True)
class Text:
    """Strings, among `values` where they are declared."""

    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false."""


@dataclass(frozen=True, slots=True)
class Day:
    """Calendar dates, in [low, high] where an end is given; first days of a `unit`, where there is one.

    Two units are about other days: those before a week (`sunday`), and the last ones of a month.
    """

    low: date | None = None
    high: date | None = None
    unit: str | None = None

    def has(self, day: date) -> bool:
        """Whether a day is one of its unit's."""
        match self.unit:
            case None:
                return True
            case "week":
                return day.weekday() == 0
            case "sunday":
                return day.weekday() == 6
            case "month's end":
                return day == date.max or (day + timedelta(days=1)).day == 1
            case unit:
                return day.day == 1 and (day.month - 1) % MONTHS[unit] == 0


@dataclass(frozen=True, slots=True)
class Moment:
    """Points in time to the microsecond, without a zone, in [low, high] where an end is given.

    With a `step` they are multiples of so many microseconds, counted from the beginning of a day.  With a
    `zone` they are the local times there of instants that are kept in UTC.
    """

    low: datetime | None = None
    high: datetime | None = None
    step: int | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """An identifier of undeclared type: it can be counted, grouped by and joined on, nothing else."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """The kind of NULL alone; it agrees with every other kind."""


Kind: TypeAlias = Whole | Real | Text | Truth | Day | Moment | Opaque | Nothing


@dataclass(frozen=True, slots=True)
class Typed:
    """A resolved scalar with its kind; `held` says that what the kind tells is true whatever the data.

    That is the interval of a number, the values of a text, the range of a date; NULL may always occur.  For a
    `Real` it is true but for the rounding of doubles, so whole numbers made of one are not held.
    """

    scalar: Scalar
    kind: Kind
    held: bool = False


def known(value: Value) -> Typed:
    """Return a constant of the question, which is all that its kind says."""
    return Typed(Literal(value), of_literal(value), held=True)


def truth(scalar: Scalar) -> Typed:
    """Return a condition: by its type it is true, false or NULL."""
    return Typed(scalar, Truth(), held=True)


def word(kind: Kind) -> str:
    """Return the name users know a kind by."""
    match kind:
        case Whole():
            return "integer"
        case Real():
            return "decimal"
        case Text():
            return "text"
        case Truth():
            return "boolean"
        case Day():
            return "date"
        case Moment():
            return "timestamp"
        case Opaque():
            return "an identifier of undeclared type"
        case Nothing():
            return "null"


def hold(typed: Typed) -> Typed:
    """Return the scalar clamped to its declared interval, so that the interval is a fact."""
    match typed.kind:
        case Whole(int(low), int(high)) if not typed.held:
            # Whole numbers have 64 bits, however far the ends of their interval were reckoned.
            low, high = (min(max(end, -(2**63)), 2**63 - 1) for end in (low, high))
            ends = (Literal(low), Literal(high))
            return Typed(Call("clamp", (typed.scalar, *ends)), Whole(low, high), held=True)
        case Real(Fraction() as low, Fraction() as high) as kind if not typed.held:
            ends = (Literal(low), Literal(high))
            return Typed(Call("clamp_real", (typed.scalar, *ends)), replace(kind, finite=True), held=True)
        case Whole() | Real() if not typed.held:
            # Nothing is said any more, which is true.
            free = Whole() if isinstance(typed.kind, Whole) else Real(finite=typed.kind.finite)
            return Typed(typed.scalar, free, held=True)
        case _:
            return typed


def domain(kind: Kind) -> tuple[Value, ...] | None:
    """Return the finitely many values declared for a kind, sorted, or None."""
    match kind:
        case Text(tuple() as values):
            return tuple(sorted(values))
        case Truth():
            return (False, True)
        case Whole(int(low), int(high)) if high - low < DOMAIN_LIMIT:
            return tuple(range(low, high + 1))
        case Day(date() as low, date() as high) if (high - low).days < DOMAIN_LIMIT:
            days = (low + timedelta(days=step) for step in range((high - low).days + 1))
            return tuple(day for day in days if kind.has(day))
        case _:
            return None


def of_literal(value: Value) -> Kind:
    """Return the narrowest kind of a constant."""
    match value:
        case None:
            return Nothing()
        case bool():
            return Truth()
        case int():
            return Whole(value, value)
        case Fraction():
            return Real(value, value, Fraction(1, value.denominator))
        case str():
            return Text((value,))
        case datetime():
            return Moment(value, value)
        case date():
            return Day(value, value)


def hull(one: Kind, other: Kind) -> Kind | None:
    """Return the smallest kind containing both, or None when they do not agree."""
    match one, other:
        case Nothing(), _:
            return other
        case _, Nothing():
            return one
        case Whole(), Whole():
            return Whole(_least(one.low, other.low), _most(one.high, other.high))
        case ((Whole() | Real()), (Whole() | Real())):
            return Real(
                _least(_real(one).low, _real(other).low),
                _most(_real(one).high, _real(other).high),
                common_step(_real(one).step, _real(other).step),
                _real(one).finite and _real(other).finite,
            )
        case Text(tuple() as mine), Text(tuple() as theirs):
            return Text(tuple(sorted({*mine, *theirs})))
        case Text(), Text():
            return Text()
        case Day(), Day():
            unit = one.unit if one.unit == other.unit else None
            return Day(_least(one.low, other.low), _most(one.high, other.high), unit)
        case Moment(), Moment():
            return Moment(_least(one.low, other.low), _most(one.high, other.high))
        case ((Day() | Moment()), (Day() | Moment())):
            return Moment()
        case (Truth(), Truth()) | (Opaque(), Opaque()):
            return one
        case _:
            return None


def as_real(kind: Whole | Real) -> Real:
    """Return a number's kind as a double: a whole number is a multiple of 1."""
    return _real(kind)


def common_step(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    """Return a grid containing both grids, or None."""
    if one is None or other is None:
        return None
    numerators = Fraction(one.numerator * other.denominator), Fraction(other.numerator * one.denominator)
    from math import gcd

    return Fraction(gcd(int(numerators[0]), int(numerators[1])), one.denominator * other.denominator)


def _real(kind: Whole | Real) -> Real:
    if isinstance(kind, Real):
        return kind
    low = None if kind.low is None else Fraction(kind.low)
    high = None if kind.high is None else Fraction(kind.high)
    return Real(low, high, Fraction(1))


def _least(one: Any, other: Any) -> Any:
    return None if one is None or other is None else min(one, other)


def _most(one: Any, other: Any) -> Any:
    return None if one is None or other is None else max(one, other)


def between(kind: Whole | Real, low: Any, high: Any) -> Whole | Real:
    """Return the same kind of number with another interval."""
    if isinstance(kind, Whole):
        return Whole(low, high)
    return replace(kind, low=low, high=high)
