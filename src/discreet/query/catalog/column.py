"""A declared column: its kind with bounds, as the curator wrote it; no cell can change it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import CatalogError
from discreet.query.catalog.kind import Day, Kind, Moment, Real, Text, Truth, Whole
from discreet.query.catalog.section import checked_name, flag, mapping, number, only, string
from discreet.query.catalog.zone import MOST_CHANGES, instants, zone_named

KINDS = ("integer", "decimal", "text", "boolean", "date", "timestamp")
VALUES_LIMIT = 100_000

STEPS = 2**52
"""So many steps of a decimal are told apart on each side of 0."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A declared column: its kind with bounds, whether NULL may occur, whether no two rows share a value.

    With `auto` the bounds of a number are to be found privately by a first question.  `references` names the
    column of another table whose rows it refers to.
    """

    name: str
    kind: Kind
    nullable: bool = True
    unique: bool = False
    auto: bool = False
    references: str | None = None


def read_column(name: str, spec: object, where: str) -> DeclaredColumn:
    """Return the column that a manifest declares by one word, or by a section."""
    checked_name(name, where)
    body = {"type": spec} if isinstance(spec, str) else mapping(spec, where)
    only(
        body,
        ("type", "low", "high", "step", "values", "zone", "nullable", "unique", "bounds", "references"),
        where,
    )
    word = body.get("type")
    if word not in KINDS:
        raise CatalogError(f"{where}.type must be one of {', '.join(KINDS)}, got {word!r}")
    auto = body.get("bounds") == "auto"
    if "bounds" in body and not auto:
        raise CatalogError(f'{where}.bounds can only be "auto"; give low and high otherwise')
    if auto and (word not in ("integer", "decimal") or "low" in body or "high" in body):
        raise CatalogError(f'{where}.bounds = "auto" is for a numeric column without low and high')
    return DeclaredColumn(
        name,
        _kind(word, body, where),
        flag(body, "nullable", where, usual=True),
        flag(body, "unique", where),
        auto,
        None if "references" not in body else string(body["references"], f"{where}.references"),
    )


def _kind(word: str, body: Mapping[str, Any], where: str) -> Kind:
    allowed = {
        "integer": {"low", "high"},
        "decimal": {"low", "high", "step"},
        "date": {"low", "high"},
        "timestamp": {"low", "high", "zone"},
        "text": {"values"},
    }
    for key in ("low", "high", "step", "values", "zone"):
        if key in body and key not in allowed.get(word, set()):
            raise CatalogError(f"{where}.{key} does not apply to type {word}")
    if ("low" in body) != ("high" in body):
        raise CatalogError(f"{where}: give both low and high, or neither")
    match word:
        case "integer" | "decimal":
            step = None if "step" not in body else number(body["step"], f"{where}.step")
            if step is not None and (step <= 0 or step.numerator != 1):
                raise CatalogError(
                    f"{where}.step must be 1 divided by a whole number, such as 0.01, got {body['step']}"
                )
            plain: Whole | Real = Whole() if word == "integer" else Real(step=step)
            if "low" not in body:
                return plain
            return number_kind(
                plain, number(body["low"], f"{where}.low"), number(body["high"], f"{where}.high"), where
            )
        case "date":
            low, high = _day(body.get("low"), f"{where}.low"), _day(body.get("high"), f"{where}.high")
            if low and high and low > high:
                raise CatalogError(f"{where}.low must not come after high")
            return Day(low, high)
        case "text":
            return Text(_values(body["values"], where) if "values" in body else None)
        case "boolean":
            return Truth()
        case _:
            first, last = (_moment(body.get(end), f"{where}.{end}") for end in ("low", "high"))
            if first and last and first > last:
                raise CatalogError(f"{where}.low must not come after high")
            return Moment(
                first, last, zone=_zone(body["zone"], first, last, where) if "zone" in body else None
            )


def _zone(value: object, low: datetime | None, high: datetime | None, where: str) -> str:
    """Return the zone in whose local time an instant is asked about."""
    zone = zone_named(string(value, f"{where}.zone"))
    if zone is None:
        raise CatalogError(
            f"{where}.zone must be the name of a time zone such as Europe/Berlin, got {value!r}"
        )
    if zone != "UTC" and (low is None or high is None):
        raise CatalogError(f"{where}.zone needs low and high: they say which changes of its clock matter")
    if low is not None and high is not None and instants(zone, low, high) is None:
        raise CatalogError(
            f"{where}: low and high are more than 130 years apart, or the clock of {zone} changes more than "
            f"{MOST_CHANGES} times between them; narrow them"
        )
    return zone


def number_kind(kind: Whole | Real, low: Fraction, high: Fraction, where: str) -> Whole | Real:
    """Return a kind of numbers with these bounds, as long as sums within them stay exact."""
    if low > high:
        raise CatalogError(f"{where}.low must not exceed high, got {low} and {high}")
    if isinstance(kind, Whole):
        if low.denominator != 1 or high.denominator != 1:
            raise CatalogError(f"{where}: the bounds of an integer must be whole numbers")
        if max(abs(low), abs(high)) > 2**53:
            raise CatalogError(f"{where}: bounds beyond 2**53 cannot be summed exactly; narrow them")
        return Whole(int(low), int(high))
    if kind.step is not None and max(abs(low), abs(high)) / kind.step > STEPS:
        raise CatalogError(
            f"{where}.step is too fine for the bounds; there may be at most 2**52 steps on each side of 0"
        )
    if max(abs(low), abs(high)) > 2**100:
        raise CatalogError(f"{where}: bounds beyond 2**100 are too wide to be useful; narrow them")
    return Real(low, high, kind.step)


def _values(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, str) for item in value):
        raise CatalogError(f"{where}.values must be a non-empty list of strings")
    if len(set(value)) != len(value):
        raise CatalogError(f"{where}.values must not repeat a value")
    if len(value) > VALUES_LIMIT:
        raise CatalogError(f"{where}.values may list at most {VALUES_LIMIT} values")
    return tuple(value)


def _day(value: object, where: str) -> date | None:
    match value:
        case None:
            return None
        case datetime():
            pass
        case date():
            return value
        case str():
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass
    raise CatalogError(f"{where} must be a date such as 2024-01-31, got {value!r}")


def _moment(value: object, where: str) -> datetime | None:
    match value:
        case None:
            return None
        case datetime() if value.tzinfo is None:
            return value
        case date() if not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day)
        case str():
            try:
                found = datetime.fromisoformat(value)
            except ValueError:
                pass
            else:
                if found.tzinfo is None:
                    return found
    raise CatalogError(f"{where} must be a time without a zone such as 2024-01-31 10:00:00, got {value!r}")
