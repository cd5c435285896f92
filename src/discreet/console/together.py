"""Several questions at once: written one after another, quoted together, paid for once, read together.

The quote sets what each answer would err beside what it would err alone, at its share of the same price.
"""

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from markupsafe import Markup

from discreet.console import view
from discreet.console.analyst import (
    CONFIDENCES,
    DRAWN,
    FORMS,
    SHOWN,
    file,
    wanted_confidence,
)
from discreet.console.desk import Refused, checked, refusal
from discreet.console.drawing import INLINE
from discreet.console.page import say
from discreet.console.past import own_history
from discreet.console.picture import LONGEST, harmless
from discreet.console.report import KIND, report
from discreet.console.room import Room, address, go
from discreet.console.visit import Visit
from discreet.service import problem, schema
from discreet.service.kind import JSON
from discreet.service.problem import ServiceProblem
from discreet.service.role import Verb

ONE = "/console/data/{dataset}"
MOST = 20
"""So many questions are asked at once on a page."""

HEAVIEST = 80_000
"""All charts of a page together are no longer."""

SHOWN_ROWS = 100
KEY = re.compile(r"batch-[0-9a-f]{32}-([0-9/]{1,90})")
_PARTS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|;|[^;'\"-]+|.", re.DOTALL)


def statements(text: str) -> list[str]:
    """Return the questions of a text, which end with semicolons outside of quotes and remarks."""
    found = [""]
    for part in _PARTS.findall(text):
        if part == ";":
            found.append("")
        else:
            found[-1] += part
    return [one.strip() for one in found if one.strip()]


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(f"{ONE}/batch")
    async def blank(request: Request, dataset: str) -> Response:
        room.allowed(request, Verb.BATCH, dataset)
        return _page(room, request, dataset, {}, {})

    @app.post(f"{ONE}/batch")
    async def ask(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.BATCH, dataset)
        given = await room.form(request)
        if given.get("do") == "ask":
            return await _paid(room, request, visit, dataset, given)
        shown = await _quoted(room, visit, dataset, given)
        return _page(room, request, dataset, given, shown)

    @app.get(f"{ONE}/batch/{{number:int}}")
    async def answers(request: Request, dataset: str, number: int) -> Response:
        visit = room.allowed(request, Verb.BATCH, dataset)
        asked = await _asked(room, visit, dataset, number) | {"confidence": wanted_confidence(request)}
        body = await room.desk.ask(visit.person, Verb.RECALL, dataset, asked)
        first = body["answers"][0]
        room_each = view.HEAVIEST // len(body["answers"])
        cells = [view.fitting(one["cells"], SHOWN_ROWS, room_each) for one in body["answers"]]
        shown = {
            "answers": body["answers"],
            "cells": cells,
            "number": number,
            "price": first["price"],
            "asked": asked,
        }
        shown |= {"sure": view.percent(first["confidence"]), "receipt": first["receipt"]}
        shown |= {"saving": await _saving(room, visit, dataset, asked), "confidences": CONFIDENCES}
        pictures = await _pictures(room, visit, dataset, asked, HEAVIEST)
        shown |= {"pictures": pictures, "forms": (*FORMS, *DRAWN)}
        free = "before" in request.query_params
        return room.page(request, "together.html", dataset=dataset, tab="answers", free=free, **shown)

    _files(app, room)


def _files(app: FastAPI, room: Room) -> None:
    @app.get(f"{ONE}/batch/{{number:int}}.json")
    async def everything(request: Request, dataset: str, number: int) -> Response:
        visit = room.allowed(request, Verb.BATCH, dataset)
        asked = await _asked(room, visit, dataset, number) | {"confidence": wanted_confidence(request)}
        body = await room.desk.fetch(visit.person, Verb.RECALL, dataset, asked)
        return file(body, dataset, f"{number}.json", JSON)

    @app.get(f"{ONE}/batch/{{number:int}}.html")
    async def printed(request: Request, dataset: str, number: int) -> Response:
        visit = room.allowed(request, Verb.BATCH, dataset)
        asked = await _asked(room, visit, dataset, number) | {"confidence": wanted_confidence(request)}
        body = await room.desk.ask(visit.person, Verb.RECALL, dataset, asked)
        pictures = await _pictures(room, visit, dataset, asked, LONGEST)
        return file(report(dataset, number, body["answers"], pictures), dataset, f"{number}.html", KIND)

    @app.get(f"{ONE}/batch/{{number:int}}/{{which:int}}.{{form}}")
    async def download(request: Request, dataset: str, number: int, which: int, form: str) -> Response:
        visit = room.allowed(request, Verb.BATCH, dataset)
        if form not in (*FORMS, *DRAWN) or not 1 <= which <= MOST:
            raise refusal(problem.NOTHING)
        asked = await _asked(room, visit, dataset, number)
        asked |= {"confidence": wanted_confidence(request), "which": which - 1}
        if form in FORMS:
            body = await room.desk.fetch(visit.person, Verb.RECALL, dataset, asked, kind=FORMS[form])
            return file(body, dataset, f"{number}-{which}.{form}", FORMS[form])
        chart = await room.desk.ask(visit.person, Verb.PICTURE, dataset, asked)
        drawn = await room.draw(chart, form)
        if drawn is None:
            raise refusal(problem.NOTHING)
        return file(drawn, dataset, f"{number}-{which}.{form}", DRAWN[form])


async def _saving(room: Room, visit: Visit, dataset: str, asked: Mapping[str, Any]) -> str | None:
    """Return in words what asking together saved; it follows from the questions and their price."""
    sent = {**asked, "parameters": None, "delta": None}
    try:
        return str(view.compared(await room.desk.ask(visit.person, Verb.QUOTE, dataset, sent))["words"])
    except Refused:
        return None


async def _pictures(
    room: Room, visit: Visit, dataset: str, asked: Mapping[str, Any], most: int
) -> list[Markup | None]:
    """Return the charts of the first questions, for as long as the page stays light."""
    place = visit.person.name, dataset, str(asked["epsilon"]), *asked["sql"], asked["confidence"]
    try:
        known = room.charts.get(place) or await room.desk.fetch(visit.person, Verb.PICTURE, dataset, asked)
    except Refused:
        return []
    room.keep(place, known)
    found: list[Markup | None] = []
    for chart in json.loads(known):
        drawn = await room.draw(chart, INLINE)
        picture = None if drawn is None else harmless(drawn, most)
        light = picture is not None and sum(len(one or "") for one in found) + len(picture) <= most
        found.append(picture if light else None)
    return found


def _page(
    room: Room, request: Request, dataset: str, given: Mapping[str, str], shown: Mapping[str, Any]
) -> Response:
    frame = {"quote": None, "refused": None, "pay": None, "trouble": None}
    entered = {
        "sql": given.get("sql", ""),
        "epsilon": given.get("epsilon", "0.1"),
        "confidence": given.get("confidence", "0.95"),
    }
    said = shown.get("refused") or shown.get("trouble")
    status = 200 if said is None else int(said["status"])
    more = {"given": entered, "confidences": CONFIDENCES, "tab": "batch", **frame, **shown}
    return room.page(request, "batch.html", status=status, dataset=dataset, **more)


def _wish(given: Mapping[str, str]) -> dict[str, Any]:
    questions = statements(given.get("sql", ""))
    if not 1 <= len(questions) <= MOST:
        raise refusal(ServiceProblem("parameter", say("batch.how_many", most=MOST)))
    price = {"epsilon": given.get("epsilon", "").strip(), "confidence": given.get("confidence") or "0.95"}
    return checked(schema.Questions, sql=questions, **price)


async def _quoted(room: Room, visit: Visit, dataset: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page shows of a quote, or of why there is none."""
    try:
        sent = _wish(given)
        body = await room.desk.ask(
            visit.person, Verb.QUOTE, dataset, sent | {"parameters": None, "delta": None}
        )
        key = f"batch-{secrets.token_hex(16)}-{body['epsilon']}"
        if not KEY.fullmatch(key):
            raise refusal(ServiceProblem("parameter", say("ask.digits")))
    except Refused as refused:
        if refused.kind not in SHOWN:
            raise
        return {"refused": refused.said}
    pay = {
        "sql": given.get("sql", ""),
        "epsilon": body["epsilon"],
        "confidence": sent["confidence"],
        "cost": json.dumps(body["cost"]),
        "key": key,
    }
    return {"quote": view.quote(body), "pay": pay, "compared": view.compared(body)}


async def _paid(
    room: Room, request: Request, visit: Visit, dataset: str, given: Mapping[str, str]
) -> Response:
    """Ask at the price that was confirmed, and lead to the answers."""
    sent, key = _wish(given), given.get("key", "")
    if not KEY.fullmatch(key):
        raise refusal(ServiceProblem("malformed", "the form has lost its key; load the page again"))
    try:
        priced = await room.desk.ask(
            visit.person, Verb.QUOTE, dataset, sent | {"parameters": None, "delta": None}
        )
        if json.dumps(priced["cost"]) != given.get("cost"):
            raise refusal(ServiceProblem("conflict", say("ask.changed")))
        body = await room.desk.ask(visit.person, Verb.BATCH, dataset, sent, kind=JSON, key=key)
    except Refused as refused:
        if refused.kind in SHOWN and refused.kind != "budget":
            return _page(room, request, dataset, given, {"refused": refused.said})
        # The same key again: whatever became of the first attempt, it is paid once.
        kept = {name: given.get(name, "") for name in ("sql", "epsilon", "confidence", "cost", "key")}
        return _page(room, request, dataset, given, {"pay": kept, "trouble": refused.said})
    first = body["answers"][0]
    number = int(first["receipt"].split("/")[1])
    visit.note(dataset, number, {"sql": sent["sql"], "epsilon": sent["epsilon"]})
    return go(address(dataset, "batch", number) + ("?before" if first["free"] else ""))


async def _asked(room: Room, visit: Visit, dataset: str, number: int) -> dict[str, Any]:
    """Return what a batch was asked with: one that this visit was shown, or somebody's own of before."""
    noted = visit.notes.get((dataset, number))
    if noted is not None and isinstance(noted["sql"], list):
        return dict(noted)
    body = await own_history(room, visit, dataset, number + 1)
    paid = {one["number"]: one for one in body["entries"] if one["event"] == "reserved"}
    for one in body["entries"]:
        asked = paid.get(one.get("reservation")) if one["number"] == number else None
        said = None if asked is None else KEY.fullmatch(asked["key"])
        if asked is not None and said:
            return {"sql": statements(asked["text"]), "epsilon": said.group(1)}
    raise refusal(problem.NOTHING)
