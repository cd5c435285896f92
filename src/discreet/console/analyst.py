"""The analyst's pages: what there is, what a question costs, its answer, what was asked, what is left.

A question is paid for by the one form that shows its price.  The form carries a key, so whoever sends it
twice, goes back or loses the connection pays once; and the price it was confirmed at, so nobody pays another.
The answer has an address of its own, whose page is free to load again.
"""

import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from discreet.console import outlook, view
from discreet.console.desk import Refused, checked, refusal
from discreet.console.drawing import INLINE
from discreet.console.language import words
from discreet.console.page import say
from discreet.console.past import own_history, wanted_before
from discreet.console.picture import LARGEST, LONGEST, harmless
from discreet.console.report import KIND, report
from discreet.console.room import Room, address, go
from discreet.console.visit import Visit
from discreet.service import problem, schema
from discreet.service.kind import ARROW, CARD, CSV, JSON
from discreet.service.problem import ServiceProblem
from discreet.service.role import PROJECT, Verb, may, sees_all

ONE = "/console/data/{dataset}"
CONFIDENCES = ("0.9", "0.95", "0.99")
SHOWN = ("question", "unproved", "parameter", "budget")
"""Refusals that are shown beside the question they are about; none of them cost anything."""

STREAM = "stream "
"""How the keys of streams begin."""

FORMS = {"csv": CSV, "json": JSON, "arrow": ARROW, "md": CARD}
DRAWN = {"svg": "image/svg+xml", "png": "image/png"}
REPORT = {"html": KIND}
SHOWN_ROWS = 500
_KEY = re.compile(r"console-[0-9a-f]{32}-([0-9/]{1,90})")


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(f"{ONE}/")
    async def catalogue(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.CATALOGUE, dataset)
        declared = await room.desk.ask(visit.person, Verb.CATALOGUE, dataset)
        left = await room.desk.ask(visit.person, Verb.BUDGET, dataset)
        shown = {"tables": view.tables(declared), "views": declared.get("views", {})}
        return _of(room, request, dataset, "catalogue", gauges=view.gauges(left), **shown)

    @app.get(f"{ONE}/budget")
    async def budget(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.BUDGET, dataset)
        body = await room.desk.ask(visit.person, Verb.BUDGET, dataset)
        members = [
            (one["analyst"], "" if one["project"] == PROJECT else one["project"], view.cost(one["cost"]))
            for one in body["spent"]
        ]
        shown: dict[str, Any] = {
            "members": members,
            "projects": view.projects(body),
            "counts": {"entries": body["entries"], "running": body["running"]},
        }
        shown |= {"known": json.dumps(body["limits"][0]["budget"]), "told": visit.told.pop(dataset, None)}
        shown |= {"decides": may(visit.person.role, Verb.CAP), "outlook": None}
        if sees_all(visit.person.role):
            shown["outlook"] = await _outlook(room, visit, dataset, body)
        return _of(room, request, dataset, "budget", gauges=view.gauges(body), **shown)

    @app.get(f"{ONE}/ask")
    async def blank(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.QUERY, dataset)
        given = {"sql": ""}
        again = request.query_params.get("again", "")
        if again.isdecimal() and len(again) < 12:
            asked = await _asked(room, visit, dataset, int(again))
            given = {"sql": asked["sql"], "epsilon": view.decimal(asked["epsilon"])}
        return await _question(room, request, visit, dataset, given | _about(request), _NOTHING)

    @app.post(f"{ONE}/ask")
    async def ask(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.QUERY, dataset)
        given = await room.form(request)
        if given.get("do") != "ask":
            shown = await _quoted(room, visit, dataset, given)
            return await _question(room, request, visit, dataset, given, shown, _status(shown))
        return await _paid(room, request, visit, dataset, given)

    @app.post(f"{ONE}/quote")
    async def quote(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.QUOTE, dataset)
        given = await room.form(request)
        shown = await _quoted(room, visit, dataset, given)
        return room.page(request, "quote.html", status=_status(shown), dataset=dataset, **shown)

    _reading(app, room)


def _reading(app: FastAPI, room: Room) -> None:
    @app.get(f"{ONE}/answers")
    async def answers(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.QUERY, dataset)
        page = await own_history(room, visit, dataset, wanted_before(request))
        return _of(room, request, dataset, "answers", rows=_rows(page["entries"]), before=page["before"])

    @app.get(f"{ONE}/answers/{{number:int}}.{{form}}")
    async def download(request: Request, dataset: str, number: int, form: str) -> Response:
        visit = room.allowed(request, Verb.QUERY, dataset)
        asked = await _asked(room, visit, dataset, number) | {"confidence": wanted_confidence(request)}
        if form in FORMS:
            body: bytes | None = await room.desk.fetch(
                visit.person, Verb.RECALL, dataset, asked, kind=FORMS[form]
            )
        elif form in REPORT:
            told = await room.desk.ask(visit.person, Verb.RECALL, dataset, asked)
            picture, _ = await _picture(room, visit, dataset, asked, LONGEST)
            body = report(dataset, number, [told], [picture])
        else:
            body = await _drawn(room, visit, dataset, asked, form) if form in DRAWN else None
        if body is None:
            raise refusal(problem.NOTHING)
        return file(body, dataset, f"{number}.{form}", (FORMS | DRAWN | REPORT)[form])

    @app.get(f"{ONE}/answers/{{number:int}}")
    async def answer(request: Request, dataset: str, number: int) -> Response:
        visit = room.allowed(request, Verb.QUERY, dataset)
        asked = await _asked(room, visit, dataset, number) | {"confidence": wanted_confidence(request)}
        try:
            body = await room.desk.ask(visit.person, Verb.RECALL, dataset, asked)
        except Refused as refused:
            if refused.kind not in ("nothing", "question", "parameter"):
                raise
            raise refusal(ServiceProblem("nothing", say("answer.gone"))) from None
        picture, drawn = await _picture(room, visit, dataset, asked)
        forms = (*FORMS, *(DRAWN if drawn else ()), *REPORT)
        shown = {"number": number, "answer": body, "picture": picture, "forms": forms}
        shown |= {"promise": view.promise(body["card"]), "confidences": CONFIDENCES}
        shown |= {"cells": view.fitting(body["cells"], SHOWN_ROWS)}
        sure = view.percent(body["confidence"])
        free = "before" in request.query_params
        return _of(
            room, request, dataset, "answers", "answer.html", sure=sure, free=free, asked=asked, **shown
        )


async def _outlook(room: Room, visit: Visit, dataset: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return how long a budget lasts, and what is worth looking at."""
    days = outlook.spending(await _history(room, visit, dataset), body)
    declared = await room.desk.ask(visit.person, Verb.CATALOGUE, dataset)
    return {
        "forecast": outlook.forecast(days, body, outlook.today()),
        "warnings": outlook.warnings(days, body),
        "binding": outlook.binding(declared),
    }


async def _picture(
    room: Room, visit: Visit, dataset: str, asked: Mapping[str, Any], most: int = LARGEST
) -> tuple[Markup | None, bool]:
    """Return the chart of an answer, unless it is too large for its page, and whether there is any."""
    drawn = await _drawn(room, visit, dataset, asked, INLINE)
    return (None, False) if drawn is None else (harmless(drawn, most), True)


async def _drawn(room: Room, visit: Visit, dataset: str, asked: Mapping[str, Any], form: str) -> bytes | None:
    place = visit.person.name, dataset, str(asked["epsilon"]), asked["sql"], asked["confidence"]
    try:
        chart = room.charts.get(place) or await room.desk.fetch(visit.person, Verb.PICTURE, dataset, asked)
    except Refused:
        return None
    room.keep(place, chart)
    return await room.draw(json.loads(chart), form)


def dataset_file(dataset: str) -> str:
    """Return the name of a dataset as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", dataset)[:40] or "answer"


def file(body: bytes, dataset: str, ending: str, kind: str) -> Response:
    """Return something to take away."""
    headers = {"content-disposition": f'attachment; filename="{dataset_file(dataset)}-{ending}"'}
    return Response(body, media_type=kind, headers=headers)


def _of(
    room: Room, request: Request, dataset: str, tab: str, template: str | None = None, **shown: Any
) -> HTMLResponse:
    return room.page(request, template or f"{tab}.html", dataset=dataset, tab=tab, **shown)


def _about(request: Request) -> dict[str, str]:
    """Return the question that a link of the catalogue begins with: a table by its name."""
    wanted = request.query_params.get("table", "")
    return {"table": wanted[:200]} if wanted else {}


async def _question(
    room: Room,
    request: Request,
    visit: Visit,
    dataset: str,
    given: Mapping[str, str],
    shown: Mapping[str, Any],
    status: int = 200,
) -> HTMLResponse:
    """Return the page of a question, with what is known about it."""
    declared = await room.desk.ask(visit.person, Verb.CATALOGUE, dataset)
    left = await room.desk.ask(visit.person, Verb.BUDGET, dataset)
    sql = given.get("sql", "")
    if not sql and "table" in given:
        examples = {table.name: table.example for table in view.tables(declared)}
        sql = examples.get(given["table"], "")
    entered = {
        "sql": sql,
        "by": given.get("by", "epsilon"),
        "epsilon": given.get("epsilon", "0.1"),
        "within": given.get("within", ""),
        "confidence": given.get("confidence", "0.95"),
    }
    standing: dict[str, Any] = {
        "gauges": view.gauges(left),
        "confidences": CONFIDENCES,
        "words": words(declared),
    }
    return room.page(
        request, "ask.html", status=status, dataset=dataset, tab="ask", given=entered, **standing, **shown
    )


_NOTHING: dict[str, Any] = {
    "quote": None,
    "refused": None,
    "lines": (),
    "pay": None,
    "trouble": None,
    "changed": False,
    "entered": {},
}


def _status(shown: Mapping[str, Any]) -> int:
    return 200 if shown["refused"] is None else int(shown["refused"]["status"])


def _wish(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form asks for, in the shape that the service takes."""
    price: dict[str, Any] = {"confidence": given.get("confidence") or "0.95"}
    for name in ("epsilon", "within"):
        text = given.get(name, "").strip()
        if given.get("by", "epsilon") == name and text:
            price[name] = text
    return checked(schema.Question, sql=given.get("sql", ""), **price)


async def _quoted(room: Room, visit: Visit, dataset: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a page shows of a quote, or of why there is none."""
    try:
        sent = _wish(given)
        body = await room.desk.ask(visit.person, Verb.QUOTE, dataset, sent)
        key = f"console-{secrets.token_hex(16)}-{body['epsilon']}"
        if not _KEY.fullmatch(key):
            raise refusal(ServiceProblem("parameter", say("ask.digits")))
    except Refused as refused:
        if refused.kind not in SHOWN:
            raise
        marked = view.lines(given.get("sql", ""), refused.said)
        return _NOTHING | {"refused": refused.said, "lines": marked, "entered": dict(given)}
    pay = {
        "sql": sent["sql"],
        "epsilon": body["epsilon"],
        "confidence": sent["confidence"],
        "cost": json.dumps(body["cost"]),
        "key": key,
    }
    return _NOTHING | {"quote": view.quote(body), "pay": pay}


async def _paid(
    room: Room, request: Request, visit: Visit, dataset: str, given: Mapping[str, str]
) -> Response:
    """Ask at the price that was confirmed, and lead to the answer."""
    sent = _wish({**given, "by": "epsilon"})
    key = given.get("key", "")
    if not _KEY.fullmatch(key):
        raise refusal(ServiceProblem("malformed", "the form has lost its key; load the page again"))
    try:
        priced = await room.desk.ask(visit.person, Verb.QUOTE, dataset, sent)
        if json.dumps(priced["cost"]) != given.get("cost"):
            shown = await _quoted(room, visit, dataset, given) | {"changed": True}
            return await _question(room, request, visit, dataset, given, shown, 409)
        body = await room.desk.ask(visit.person, Verb.QUERY, dataset, sent, kind=JSON, key=key)
    except Refused as refused:
        if refused.kind in ("question", "unproved", "parameter"):
            marked = view.lines(given.get("sql", ""), refused.said)
            shown = _NOTHING | {"refused": refused.said, "lines": marked}
        else:
            # The same key again: whatever became of the first attempt, it is paid once.
            kept = {name: given.get(name, "") for name in ("sql", "epsilon", "confidence", "cost", "key")}
            shown = _NOTHING | {"pay": kept, "trouble": refused.said}
        return await _question(room, request, visit, dataset, given, shown, refused.status)
    number = int(body["receipt"].split("/")[1])
    visit.note(dataset, number, _recall(sent["sql"], sent["epsilon"]))
    return go(address(dataset, "answers", number) + ("?before" if body["free"] else ""))


def _recall(sql: str, epsilon: str | None) -> dict[str, Any]:
    return {"sql": sql, "epsilon": epsilon}


def wanted_confidence(request: Request) -> str:
    """Return the confidence that a page is to show: one of those on offer."""
    wanted = request.query_params.get("confidence", "")
    return wanted if wanted in CONFIDENCES else "0.95"


async def _history(room: Room, visit: Visit, dataset: str) -> list[dict[str, Any]]:
    body = await room.desk.ask(visit.person, Verb.HISTORY, dataset, {"last": 1000})
    found: list[dict[str, Any]] = body["entries"]
    return found


async def _asked(room: Room, visit: Visit, dataset: str, number: int) -> dict[str, Any]:
    """Return what an answer was asked with: one that this visit was shown, or somebody's own of before."""
    noted = visit.notes.get((dataset, number))
    if noted is not None:
        return dict(noted)
    entries = (await own_history(room, visit, dataset, number + 1))["entries"]
    paid = {one["number"]: one for one in entries if one["event"] == "reserved"}
    for one in entries:
        if one["number"] == number and one["event"] in ("answered", "reserved"):
            asked = paid.get(one.get("reservation", number))
            if asked is not None and asked["text"]:
                return _recall(asked["text"], _price(asked))
    raise refusal(problem.NOTHING)


def _price(asked: Mapping[str, Any]) -> str | None:
    """Return the epsilon that somebody asked with: a key that a page made says it, or else the price does."""
    said = _KEY.fullmatch(asked["key"])
    epsilon: str | None = said.group(1) if said else asked["cost"][0]
    return epsilon


def _rows(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what somebody asked, newest first, each with what became of it."""
    outcome = {one["reservation"]: one for one in entries if one["event"] in ("answered", "failed")}
    rows = []
    for one in reversed(entries):
        if one["event"] != "reserved":
            continue
        ended = outcome.get(one["number"])
        state = "unanswered" if ended is None else ended["event"] if one["text"] else "elsewhere"
        batch, stream = one["key"].startswith("batch-"), one["key"].startswith(STREAM)
        rows.append(
            {
                "number": one["number"],
                "time": one["time"],
                "text": view.short(one["text"] or one["question"]),
                "again": bool(one["text"]) and not batch,
                "place": "batch" if batch else "streams" if stream else "answers",
                "price": view.cost(one["cost"]),
                "state": "stream" if stream else state,
                "answer": one["key"].removeprefix(STREAM) if stream else ended and ended["number"],
            }
        )
    return rows
