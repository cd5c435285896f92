"""What is known of a value without looking at data: its type, the interval it lies in, how many it can be.

`low` and `high` enclose a number whatever the cells are; arithmetic is proved total by them alone.  Of a
double they enclose the finite values if it is `bounded`; whether others occur, `finite` says.  For dates and
moments they enclose the year.  `domain` and `null` may also rest on a filter: they say which values
can be left after it and count groups, but never excuse an operation, because an engine may compute an
expression before it filters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from discreet.query.plan import Value as Constant

MOST_ROWS = 2**48
"""More rows than any relation that an engine can finish has; counts stay below."""

LISTED = 200_000
"""A range of more whole numbers than this is not treated as finitely many."""

Domain: TypeAlias = frozenset[Constant] | range


class Kind(StrEnum):
    """The types that engines tell apart."""

    WHOLE = "integer"
    REAL = "decimal"
    TEXT = "text"
    TRUTH = "boolean"
    DAY = "date"
    MOMENT = "timestamp"
    OPAQUE = "identifier"
    NULL = "null"


@dataclass(frozen=True, slots=True)
class Value:
    """One column or expression: its kind, interval, width in bits, and what it can be.

    `ones` is the most bits that are set in a whole number, where that is known; `origin` is the stored column
    that an identifier of undeclared type comes from: only such of one origin are of one type.  What is
    `missing` is NULL whatever the cells are: any interval is true of it.
    """

    kind: Kind
    low: Any = 0
    high: Any = 0
    bits: int = 64
    null: bool = True
    domain: Domain | None = None
    ones: int | None = None
    origin: str = ""
    bounded: bool = True
    finite: bool = True
    missing: bool = False

    @property
    def members(self) -> Domain | None:
        """Which values it can have besides NULL, if they are finitely many."""
        if self.domain is not None:
            wide = isinstance(self.domain, range) and self.domain.stop - self.domain.start > LISTED
            return None if wide else self.domain
        match self.kind:
            case Kind.TRUTH:
                return TRUTHS
            case Kind.WHOLE if self.high - self.low < LISTED:
                return range(self.low, self.high + 1)
            case Kind.NULL:
                return frozenset()
            case _:
                return None

    @property
    def variety(self) -> int | None:
        """How many values it can have, NULL included; a wide range is counted, though not listed."""
        if isinstance(self.domain, range):
            return max(self.domain.stop - self.domain.start, 0) + self.null
        members = self.members
        return None if members is None else len(members) + self.null


TRUTHS: frozenset[Constant] = frozenset((False, True))
REAL, TEXT, TRUTH = Value(Kind.REAL, bounded=False, finite=False), Value(Kind.TEXT), Value(Kind.TRUTH)
NOTHING = Value(Kind.NULL)
YEARS = (1, 9999)
"""The years of stored dates; what lies outside is NULL in the tables that an engine offers.

So it is in every text: one is a date only if its year has four digits, not all of them 0.
"""


def whole(low: int, high: int, bits: int = 64, *, null: bool = True) -> Value:
    """Return a whole number in an interval."""
    return Value(Kind.WHOLE, low, high, bits, null)


def real(low: Fraction, high: Fraction, *, null: bool = True, finite: bool = True) -> Value:
    """Return a double in the interval to which rounding takes an interval of real numbers.

    Rounding to the nearest double is monotone, so the ends are rounded and nothing else is needed.
    """
    try:
        return Value(Kind.REAL, Fraction(float(low)), Fraction(float(high)), null=null, finite=finite)
    except OverflowError:
        return REAL


def fits(low: int, high: int, bits: int) -> bool:
    """Whether an interval lies in the signed integers of so many bits."""
    most: int = 2 ** (bits - 1)
    return -most <= low and high < most


def day(low: int, high: int, *, kind: Kind = Kind.DAY) -> Value:
    """Return a date or moment within years."""
    return Value(kind, low, high)


def stored(kind: str, origin: str) -> Value:
    """Return what a stored column of a declared type can hold: anything of that type."""
    match Kind(kind):
        case Kind.WHOLE:
            return whole(-(2**63), 2**63 - 1)
        case Kind.DAY | Kind.MOMENT as temporal:
            return Value(temporal, *YEARS)
        case other:
            return REAL if other is Kind.REAL else Value(other, origin=origin)


@lru_cache(maxsize=4096, typed=True)
def constant(value: Constant) -> Value:
    """Return a constant; a whole number is as wide as it needs to be."""
    match value:
        case None:
            return NOTHING
        case bool():
            return Value(Kind.TRUTH, null=False, domain=frozenset((value,)))
        case int():
            bits = next((b for b in (32, 64, 128) if fits(value, value, b)), 256)
            return Value(
                Kind.WHOLE, value, value, bits, False, None, value.bit_count() if value >= 0 else None
            )
        case Fraction():
            return real(value, value, null=False)
        case str():
            return Value(Kind.TEXT, null=False, domain=frozenset((value,)))
        case datetime():
            return Value(Kind.MOMENT, value.year, value.year, null=False, domain=frozenset((value,)))
        case date():
            return Value(Kind.DAY, value.year, value.year, null=False, domain=frozenset((value,)))


def alike(values: Iterable[Value]) -> bool:
    """Whether identifiers among some values are all of one stored type."""
    origins = {value.origin for value in values if value.kind is Kind.OPAQUE}
    return len(origins) <= 1


def union(values: Iterable[Value]) -> Value | None:
    """Return what holds every one of some values, or None where their kinds do not agree.

    A whole number beside a double becomes one; what is always NULL widens nothing.
    """
    known = [value for value in values if value.kind is not Kind.NULL]
    if not known:
        return NOTHING
    kinds = {value.kind for value in known}
    held = [value for value in known if not value.missing] or known
    if not all(value.bounded for value in held) and kinds <= {Kind.WHOLE, Kind.REAL}:
        return REAL
    if kinds == {Kind.WHOLE, Kind.REAL}:
        finite = all(value.finite for value in held)
        return real(min(value.low for value in held), max(value.high for value in held), finite=finite)
    if len(kinds) > 1 or not alike(known):
        return None
    domains = [value.members for value in held]
    joint: Domain | None = None
    if all(domain is not None and not isinstance(domain, range) for domain in domains):
        joint = frozenset(member for domain in domains for member in domain or ())
    return replace(
        held[0],
        low=min(value.low for value in held),
        high=max(value.high for value in held),
        bits=max(value.bits for value in known),
        null=True,
        domain=joint if joint != TRUTHS else None,
        ones=None,
        finite=all(value.finite for value in held),
    )


def restrict(value: Value, allowed: Domain | None = None) -> Value:
    """Return what is left of a value after a filter that NULL does not pass."""
    if allowed is None:
        return replace(value, null=False)
    members = value.members
    if members is None:
        return replace(value, null=False, domain=allowed)
    if isinstance(members, range) and isinstance(allowed, range):
        both = range(max(members.start, allowed.start), min(members.stop, allowed.stop))
        return replace(value, null=False, domain=both)
    # A range may hold more numbers than there is time for, so what is listed is looked up in it.
    listed, other = (allowed, members) if isinstance(members, range) else (members, allowed)
    return replace(value, null=False, domain=frozenset(m for m in listed if m in other))


def above(value: Value, low: int) -> Value:
    """Return what is left of a whole number that is at least `low`."""
    top = value.domain.stop if isinstance(value.domain, range) else value.high + 1
    return restrict(value, range(max(low, value.low), top))


def below(value: Value, high: int) -> Value:
    """Return what is left of a whole number that is at most `high`."""
    bottom = value.domain.start if isinstance(value.domain, range) else value.low
    return restrict(value, range(bottom, min(high, value.high) + 1))
