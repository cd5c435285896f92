"""Time zones as tables of offsets: within declared bounds local time is the instant plus a constant.

A zone's clock runs evenly between two changes, so where finitely many changes lie within the bounds, local
time is a CASE of constants, and no engine's own rules, version of them, or session decides what a question
means.  The rules are those of the IANA database that Python reads when a question is checked; the offsets
that they give are part of the question.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, available_timezones

MOST_CHANGES = 200
"""More changes of a zone's clock than this, some hundred years of summer times, are not written out."""

LONGEST = timedelta(days=130 * 366)
"""Longer times than this are not searched for changes."""

WIDEST = timedelta(hours=26)
"""No zone is farther from UTC than this."""

Piece = tuple[datetime, timedelta]
"""From when on, in UTC, and how much later the local clock is."""

_NAMES = {"UTC": "UTC", "GMT": "UTC", "Z": "UTC", "ETC/UTC": "UTC"}


@cache
def _known() -> dict[str, str]:
    return {name.upper(): name for name in available_timezones()} | _NAMES


def zone_named(name: str) -> str | None:
    """Return a zone as the database spells it, or None for what is none."""
    return _known().get(name.upper())


@lru_cache(maxsize=256)
def pieces(zone: str, first: datetime, last: datetime) -> tuple[Piece, ...] | None:
    """Return a zone's offsets between two instants in UTC, each from when on; None where they are too many.

    Days are looked at one by one: since 1970 no zone has changed its clock twice within one, which
    `test_offsets_of_every_zone_are_those_of_every_half_hour` says.
    """
    clock = ZoneInfo(zone)

    def offset(instant: datetime) -> timedelta:
        found = instant.replace(tzinfo=UTC).astimezone(clock).utcoffset()
        return timedelta(0) if found is None else found

    first, last = max(first, datetime.min + WIDEST), min(last, datetime.max - WIDEST)
    if last - first > LONGEST:
        return None
    found = [(first, offset(first))]
    at = first
    while at < last:
        after = min(at + timedelta(days=1), last)
        if offset(after) != found[-1][1]:
            found.append(_changed(offset, at, after))
            if len(found) > MOST_CHANGES:
                return None
        at = after
    return tuple(found)


def _changed(offset: Callable[[datetime], timedelta], before: datetime, after: datetime) -> Piece:
    """Return the first second with another offset, and that offset."""
    old = offset(before)
    low, high = 0, int((after - before) / timedelta(seconds=1)) + 1
    while low + 1 < high:
        middle = (low + high) // 2
        if offset(before + timedelta(seconds=middle)) == old:
            low = middle
        else:
            high = middle
    moment = before + timedelta(seconds=high)
    return moment, offset(moment)


def instants(zone: str, low: datetime, high: datetime) -> tuple[datetime, datetime] | None:
    """Return between which instants in UTC all local times from `low` to `high` lie."""
    found = pieces(zone, _moved(low, -WIDEST), _moved(high, WIDEST))
    if found is None:
        return None
    offsets = [offset for _, offset in found]
    return _moved(low, -max(offsets)), _moved(high, -min(offsets))


def locals_of(zone: str, low: datetime, high: datetime) -> tuple[datetime, datetime] | None:
    """Return between which local times all instants from `low` to `high` lie."""
    found = pieces(zone, low, high)
    if found is None:
        return None
    offsets = [offset for _, offset in found]
    ends = [*(_moved(begun, offset) for begun, offset in found), _moved(high, offsets[-1])]
    ends += [_moved(after, before) for (after, _), before in zip(found[1:], offsets, strict=False)]
    return min(ends), max(ends)


def _moved(moment: datetime, by: timedelta) -> datetime:
    """Return a moment moved, within the calendar."""
    try:
        return moment + by
    except OverflowError:
        return datetime.min if by < timedelta(0) else datetime.max
