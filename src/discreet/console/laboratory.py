"""The laboratory: what private noise does, without anybody's data, worked out on a bench of its own."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from markupsafe import Markup

from discreet.console import view
from discreet.console.door import PREFIX
from discreet.console.drawing import INLINE
from discreet.console.page import say
from discreet.console.picture import harmless
from discreet.console.room import Room

HERE = f"{PREFIX}/laboratory"
PATIENCE = 30.0
"""For so many seconds a page waits for the bench."""

PLACES = ("mechanism", "composition", "optimal", "program", "attack")
LOSSES, PRIORS = ("absolute", "squared", "zero-one"), ("uniform", "binomial")
MECHANISMS = ("geometric", "laplace", "staircase", "gaussian")
WIDE = 120_000
"""These pages are little else than their picture."""

STORIES = ("difference", "average", "trace", "reconstruction", "float")
LONG = 60
LONGEST = 8192
START = {"name": "geometric", "epsilon": "0.5", "sensitivity": "1", "delta": "1e-6", "count": "100"}
BEST = {"size": "8", "loss": "absolute", "prior": "binomial", "epsilon": "1"}
EXAMPLE = """Count (d : private {0,1} list) : public int
  neighbours d replace
  ensures epsilon eps
  i := 0; c := 0
  while i < size d
    c := c + d[i]
    i := i + 1
  z := $ Geometric(1/eps, c)
  return z
"""


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(f"{HERE}/mechanism")
    async def mechanism(request: Request) -> Response:
        room.visit(request)
        given = _given(request)
        found = await _found(room, {"what": "mechanism", **given})
        return _page(room, request, "mechanism", given, found, picture=await _picture(room, found))

    @app.get(f"{HERE}/optimal")
    async def optimal(request: Request) -> Response:
        room.visit(request)
        given = _given(request, BEST)
        found = await _found(room, {"what": "optimal", **given})
        picture = await _picture(room, found)
        chosen = {"losses": LOSSES, "priors": PRIORS}
        return _page(room, request, "optimal", given, found, picture=picture, **chosen)

    @app.get(f"{HERE}/attack")
    async def attack(request: Request) -> Response:
        room.visit(request)
        given = _given(request, {"story": STORIES[0], "epsilon": "1"})
        found = await _found(room, {"what": "attack", **given})
        picture = await _picture(room, found)
        return _page(room, request, "attack", given, found, picture=picture, stories=STORIES)

    @app.get(f"{HERE}/composition")
    async def composition(request: Request) -> Response:
        room.visit(request)
        given = _given(request)
        found = await _found(room, {"what": "composition", **given})
        return _page(room, request, "composition", given, found, picture=await _picture(room, found))

    @app.get(f"{HERE}/program")
    async def blank(request: Request) -> Response:
        room.visit(request)
        return _page(room, request, "program", {"text": EXAMPLE}, {}, lines=())

    @app.post(f"{HERE}/program")
    async def program(request: Request) -> Response:
        room.visit(request)
        text = (await room.form(request)).get("text", "")[:LONGEST]
        found = await _found(room, {"what": "program", "text": text})
        return _page(room, request, "program", {"text": text}, found, lines=view.lines(text, found))


async def _picture(room: Room, found: Mapping[str, Any]) -> Markup | None:
    drawn = await room.draw(found["chart"], INLINE) if "chart" in found else None
    return None if drawn is None else harmless(drawn, WIDE)


def _given(request: Request, start: Mapping[str, str] = START) -> dict[str, str]:
    return {name: request.query_params.get(name, usual)[:LONG].strip() for name, usual in start.items()}


async def _found(room: Room, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the bench found; what comes to nothing is said, and nothing more."""
    body = await room.work(asked)
    found: dict[str, Any] = {"refused": say("lab.nothing")} if body is None else json.loads(body)
    return found


def _page(
    room: Room, request: Request, place: str, given: Mapping[str, str], found: Mapping[str, Any], **shown: Any
) -> Response:
    status = 422 if "refused" in found else 200
    frame = {"place": place, "places": PLACES, "given": given, "found": found, "mechanisms": MECHANISMS}
    return room.page(request, "laboratory.html", status=status, **frame, **shown)
