"""The answer as it might look: on made-up data, from the declarations alone, free and clearly marked."""

import json

from fastapi import FastAPI, Request, Response

from discreet.console import view
from discreet.console.analyst import SHOWN_ROWS
from discreet.console.desk import checked, refusal
from discreet.console.drawing import INLINE
from discreet.console.page import say
from discreet.console.picture import harmless
from discreet.console.room import Room
from discreet.service import schema
from discreet.service.problem import ServiceProblem
from discreet.service.role import Verb


def routes(app: FastAPI, room: Room) -> None:
    """Add the address."""

    @app.post("/console/data/{dataset}/simulation")
    async def simulate(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.QUOTE, dataset)
        given = await room.form(request)
        wish = {name: given.get(name, "") for name in ("sql", "epsilon", "confidence")}
        sent = checked(schema.Question, **wish)
        declared = await room.desk.ask(visit.person, Verb.CATALOGUE, dataset)
        body = await room.work({"what": "simulation", "catalogue": declared, **wish, "sql": sent["sql"]})
        if body is None:
            raise refusal(ServiceProblem("busy", say("simulation.nothing"), retry=1))
        found = json.loads(body)
        if "refused" in found:
            raise refusal(ServiceProblem("parameter", found["refused"]))
        drawn = await room.draw(found["chart"], INLINE)
        shown = {"found": found, "sql": sent["sql"], "picture": None if drawn is None else harmless(drawn)}
        shown["cells"] = view.fitting(found["cells"], SHOWN_ROWS)
        return room.page(request, "simulation.html", dataset=dataset, tab="ask", **shown)
