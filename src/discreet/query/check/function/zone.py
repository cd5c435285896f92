"""Local times: an instant in UTC plus the offset that a zone's clock has then, written out as constants."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from discreet.errors import QueryError
from discreet.query.catalog.kind import Moment, Typed
from discreet.query.catalog.zone import MOST_CHANGES, instants, locals_of, pieces, zone_named
from discreet.query.check.function.agreement import Rule
from discreet.query.plan import Call, Case, Literal, Scalar, given

UTC = "UTC"
_TICK = timedelta(microseconds=1)


def as_declared(stored: Typed) -> Typed:
    """Return a stored instant as the local time that its declaration says, within the declared bounds."""
    match stored.kind:
        case Moment(datetime() as low, datetime() as high, _, str(zone)) if zone != UTC:
            return Typed(_local(stored.scalar, zone, given(instants(zone, low, high))), stored.kind)
        case _:
            return stored


def _local(instant: Scalar, zone: str, between: tuple[datetime, datetime]) -> Scalar:
    """Return local time; outside of the bounds the clock is that of the nearer end."""
    found = given(pieces(zone, *between))
    offsets = [Literal(offset // _TICK) for _, offset in found]
    branches = [
        (Call("lt", (instant, Literal(begun))), before)
        for (begun, _), before in zip(found[1:], offsets, strict=False)
    ]
    later: Scalar = Case(tuple(branches), offsets[-1]) if branches else offsets[-1]
    return Call("moment_at", (Call("add", (Call("microseconds", (instant,)), later)),))


def instant_of(typed: Typed) -> Typed | None:
    """Return the instant in UTC that a local time was made of, where that is known."""
    match typed.kind, typed.scalar:
        case Moment(zone="UTC"), _:
            return typed
        case (
            Moment(datetime() as low, datetime() as high, _, str(zone)),
            Call("moment_at", (Call("add", (Call("microseconds", (instant,)), _)),)),
        ):
            first, last = given(instants(zone, low, high))
            return Typed(instant, Moment(first, last, zone=UTC))
        case _:
            return None


def as_instants(times: Sequence[Typed]) -> list[Typed]:
    """Return times as instants in UTC where all of them are known, and as they are otherwise."""
    found = [instant for time in times if (instant := instant_of(time)) is not None]
    return found if len(found) == len(times) else list(times)


def _at_zone(name: str, arguments: Sequence[Typed]) -> Typed:
    """AT TIME ZONE: the local time elsewhere of an instant; of a time without a zone, that it is in UTC."""
    time, where = arguments[0], arguments[1].scalar
    zone = zone_named(where.value) if isinstance(where, Literal) and isinstance(where.value, str) else None
    if zone is None:
        raise QueryError(
            "AT TIME ZONE", "names no time zone that is known", "write the name of one, as in 'Europe/Berlin'"
        )
    if not isinstance(time.kind, Moment):
        raise QueryError("AT TIME ZONE", "needs a timestamp", "leave it out: a date has no time of day")
    instant = instant_of(time)
    if instant is None and zone == UTC and time.kind.zone is None:
        return replace(time, kind=replace(time.kind, zone=UTC))
    if instant is None:
        raise QueryError(
            "AT TIME ZONE",
            "of a time whose own zone is not known",
            "say that it is in UTC: t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin', or declare the "
            "column's zone in the manifest",
        )
    return instant if zone == UTC else _elsewhere(instant, zone)


def _elsewhere(instant: Typed, zone: str) -> Typed:
    match instant.kind:
        case Moment(datetime() as low, datetime() as high):
            ends = locals_of(zone, low, high)
            if ends is not None:
                return Typed(_local(instant.scalar, zone, (low, high)), Moment(*ends))
            raise QueryError(
                "AT TIME ZONE",
                f"the clock of {zone} changes more than {MOST_CHANGES} times within the column's bounds, "
                "or they are more than 130 years apart",
                "declare a narrower low and high for it",
            )
    raise QueryError(
        "AT TIME ZONE",
        "of a time without bounds: its changes of the clock could not be listed",
        "declare low and high for the column, or write t + INTERVAL 2 HOUR",
    )


def _instant(name: str, arguments: Sequence[Typed]) -> Typed:
    """Return a constant that is an instant in UTC."""
    match arguments[0].kind:
        case Moment() as kind:
            return replace(arguments[0], kind=replace(kind, zone=UTC))
    raise AssertionError("an instant is a constant moment")


RULES: dict[str, Rule] = {"at_zone": _at_zone, "instant": _instant}
