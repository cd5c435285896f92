"""The console beside the service: one port, one process, the same workers."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from discreet.console import analyst, curator, laboratory, sign, simulation, streams, together, wizard
from discreet.console.desk import Desk, Refused, refusal
from discreet.console.door import PREFIX, Door, cookie_of
from discreet.console.drawing import Drawer
from discreet.console.page import say
from discreet.console.process import Process
from discreet.console.room import Draw, Forged, Room, SignIn, Work, go
from discreet.console.visit import Visits
from discreet.service import problem
from discreet.service.gate import Gate
from discreet.service.people import People
from discreet.service.pool import Pool
from discreet.service.problem import ServiceProblem
from discreet.service.settings import Settings
from discreet.service.way import Asking


def beside(
    service: Gate,
    pool: Pool,
    people: People,
    settings: Settings,
    draw: Draw | None = None,
    work: Work | None = None,
    survey: Work | None = None,
) -> Door:
    """Return the service with the console before it."""
    visits = Visits(people)
    desk, bench = Desk(Asking(pool)), Process("discreet.console.bench", laboratory.PATIENCE)
    surveyor = survey or Process("discreet.console.surveyor", wizard.PATIENCE).ask
    room = Room(
        desk,
        visits,
        people,
        cookie_of(settings),
        draw or Drawer().draw,
        work or bench.ask,
        _within(settings, surveyor),
    )
    return Door(pages(room), service, visits, settings)


def _within(settings: Settings, survey: Work) -> Work:
    """Return the surveyor that keeps to the places which the operator allows, whatever a page says."""
    drafts = settings.drafts or settings.manifests[0].parent
    allowed = {"places": list(settings.sources), "drafts": str(drafts.resolve())}

    async def surveyed(asked: Mapping[str, Any]) -> bytes | None:
        return await survey({**asked, **allowed})

    return surveyed


def pages(room: Room) -> FastAPI:
    """Return the pages as an ASGI application."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    @app.exception_handler(SignIn)
    async def signed_out(request: Request, _: Exception) -> Response:
        onward = f"?next={quote(quote(request.scope['path']), safe='')}" if request.method == "GET" else ""
        return go(f"{PREFIX}/sign-in{onward}")

    @app.exception_handler(Forged)
    async def forged(request: Request, _: Exception) -> Response:
        said = {"title": say("problem.title"), "detail": say("problem.forged"), "instead": ""}
        return room.trouble(request, Refused(403, said))

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Exception) -> Response:
        if not isinstance(error, Refused):
            raise error
        return room.trouble(request, error)

    @app.exception_handler(HTTPException)
    @app.exception_handler(RequestValidationError)
    async def unknown(request: Request, error: Exception) -> Response:
        if getattr(error, "status_code", 404) == 405:
            return room.trouble(request, refusal(ServiceProblem("method", "this address is not for that")))
        return room.trouble(request, refusal(problem.NOTHING))

    sign.routes(app, room)
    analyst.routes(app, room)
    together.routes(app, room)
    simulation.routes(app, room)
    streams.routes(app, room)
    curator.routes(app, room)
    wizard.routes(app, room)
    laboratory.routes(app, room)
    return app
