"""What a curator should know of a budget before it is used up: how long it lasts, and what looks odd.

Everything here follows from prices, names and times in the ledger, which are no data.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import floor
from typing import Any

from discreet.console.page import say
from discreet.console.view import HIGH, scope

DAYS = 14
"""The pace of so many days, or of fewer where there were fewer, is taken for that of the next."""

MUCH = Fraction(1, 2)
NOTABLE = Fraction(1, 10)
"""A day stands out if it took half of all there is, or a tenth of that and half of what several days took."""


def today() -> date:
    """Return the day by which a budget is looked at."""
    return datetime.now(UTC).date()


def spending(entries: Sequence[Mapping[str, Any]], budget: Mapping[str, Any]) -> dict[date, Fraction]:
    """Return the share of the cap that was paid on each day."""
    limit = budget["limits"][0]
    found: dict[date, Fraction] = defaultdict(Fraction)
    for entry in entries:
        if entry["event"] == "reserved":
            found[datetime.fromisoformat(entry["time"]).date()] += _share(entry["cost"], limit)
    return dict(found)


def _share(cost: Sequence[str | None], limit: Mapping[str, Any]) -> Fraction:
    """Return which part of a cap a price takes: by epsilons where the cap is pure, else by rhos."""
    if limit["budget"][0] == "pure":
        return Fraction(cost[0] or 0) / Fraction(limit["budget"][1])
    whole = Fraction(limit["spent"][1] or 0) + Fraction(limit["remaining"]["rho"])
    return Fraction(cost[1] or 0) / whole if whole else Fraction(0)


def forecast(days: Mapping[date, Fraction], budget: Mapping[str, Any], now: date) -> str:
    """Return in words how long the cap lasts at the pace of the last days."""
    first = max(min(days, default=now), now - timedelta(days=DAYS - 1))
    length = (now - first).days + 1
    paid = sum((share for day, share in days.items() if day >= first), Fraction(0))
    left = 1 - Fraction(str(min(max(float(budget["limits"][0]["used"]), 0.0), 1.0)))
    if left <= 0:
        return say("outlook.over")
    if not paid:
        return say("outlook.quiet")
    lasting = floor(left * length / paid)
    if lasting > 3650:
        return say("outlook.years", since=first.isoformat())
    when = now + timedelta(days=lasting)
    if lasting < 2:
        key = "outlook.lasts_one" if lasting else "outlook.lasts_none"
        return say(key, since=first.isoformat(), when=when.isoformat())
    return say("outlook.lasts", since=first.isoformat(), lasting=f"{lasting:,}", when=when.isoformat())


def warnings(days: Mapping[date, Fraction], budget: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in words what is worth looking at."""
    found = []
    total = sum(days.values(), Fraction(0))
    for day, share in sorted(days.items()):
        stands_out = len(days) > 1 and share >= max(MUCH * total, NOTABLE)
        if share >= MUCH or stands_out:
            found.append(say("outlook.one_day", day=day.isoformat(), percent=round(100 * share)))
    for limit in (*budget["limits"], *budget["paces"]):
        if limit["used"] >= HIGH and limit.get("per") != "question":
            whom = scope(limit["project"], limit["analyst"])
            key = "outlook.near_today" if limit.get("per") == "day" else "outlook.near"
            found.append(say(key, whom=whom, percent=floor(100 * limit["used"])))
    return tuple(found)


def binding(catalogue: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return, for each table with a limit of rows per person, the question that counts who is above it."""
    found = []
    for name, body in catalogue["tables"].items():
        rows, unit = body.get("rows_per_unit"), body.get("unit")
        if rows is None or body.get("public") or unit in (None, "row") or not _plain(name, unit):
            continue
        inner = f"SELECT {unit}, COUNT(*) AS n FROM {name} GROUP BY {unit}"
        found.append((name, f"SELECT COUNT(*) AS people\nFROM ({inner}) AS p\nWHERE n > {rows}"))
    return tuple(found)


def _plain(*names: str) -> bool:
    return all(name.isascii() and name.isidentifier() for name in names)
