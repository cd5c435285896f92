"""Pages of the history: what somebody asked themselves, and where a page begins."""

from typing import Any

from fastapi import Request

from discreet.console.room import Room
from discreet.console.visit import Visit
from discreet.service.role import Verb

LISTED = 100
"""So many of somebody's questions are listed at once."""


async def own_history(room: Room, visit: Visit, dataset: str, before: int | None) -> dict[str, Any]:
    """Return a page of what somebody asked themselves, and where the page before it ends."""
    part = {"last": LISTED, "before": before, "own": True}
    found: dict[str, Any] = await room.desk.ask(visit.person, Verb.HISTORY, dataset, part)
    return found


def wanted_before(request: Request) -> int | None:
    """Return the entry before which a page of the history is wanted, None for the newest."""
    said = request.query_params.get("before", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 12 else None
