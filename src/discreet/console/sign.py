"""Signing in and out, and the first page."""

import re

from fastapi import FastAPI, Request, Response

from discreet.console.door import PREFIX
from discreet.console.page import say
from discreet.console.room import Room, go

_OURS = re.compile(rf"{PREFIX}/[A-Za-z0-9/._~%?=&+-]*")
HERE = f"{PREFIX}/sign-in"


def onward(wanted: str) -> str:
    """Return where to go after signing in: a page of ours, or the first one."""
    return wanted if _OURS.fullmatch(wanted) and "//" not in wanted else f"{PREFIX}/"


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(HERE)
    async def entrance(request: Request) -> Response:
        if request.state.visit is not None:
            return go(f"{PREFIX}/")
        ended = say("sign_in.ended") if "ended" in request.query_params else ""
        wanted = onward(request.query_params.get("next", ""))
        return room.page(request, "sign-in.html", wrong="", ended=ended, wanted=wanted)

    @app.post(HERE)
    async def sign_in(request: Request) -> Response:
        given = await room.form(request)
        identity = room.visits.begin(given.get("token", ""), request.state.at)
        wanted = onward(given.get("next", ""))
        if identity is None:
            wrong = say("sign_in.wrong")
            return room.page(request, "sign-in.html", status=401, wrong=wrong, ended="", wanted=wanted)
        # A new identity, not the one from before: nobody can have planted it.
        return go(wanted, {"set-cookie": room.cookie.write(identity)})

    @app.post(f"{PREFIX}/sign-out")
    async def sign_out(request: Request) -> Response:
        await room.form(request)
        visit = room.visit(request)
        room.visits.end(visit.identity)
        return go(f"{HERE}?ended", {"set-cookie": room.cookie.gone(), "clear-site-data": '"cache"'})

    @app.get(f"{PREFIX}/")
    async def first(request: Request) -> Response:
        visit = room.visit(request)
        return room.page(request, "datasets.html", datasets=room.desk.known_to(visit.person))
