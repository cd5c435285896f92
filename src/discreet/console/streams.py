"""Streams: somebody's running counts, each paid for once and then released step by step.

A stream is found by its name and a step by its number, so a form that is sent twice begins once and counts
once.  Whoever takes steps has what they count; everything that a page shows was released.
"""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI, Request, Response
from markupsafe import Markup

from discreet.console import view
from discreet.console.analyst import DRAWN, SHOWN, dataset_file
from discreet.console.desk import Refused, checked, refusal
from discreet.console.drawing import INLINE
from discreet.console.page import say
from discreet.console.picture import harmless
from discreet.console.room import Room, address, go
from discreet.console.visit import Visit
from discreet.service import problem, schema
from discreet.service.problem import ServiceProblem
from discreet.service.role import Verb
from discreet.service.settings import MOST_STEPS

ONE = "/console/data/{dataset}/streams"
ROWS = 50
"""So many of the newest steps stand in the table."""

PAGES = 20
"""So many times `MOST_STEPS` of the newest steps are in a file."""

BEGUN = {"name": "", "length": "365", "epsilon": "0.5", "contribution": "1"}
"""What a stream is begun with, and what stands in the form at first."""

TABLES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(ONE)
    async def listed(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.STREAMS, dataset)
        return await _listed(room, request, visit, dataset, {}, {})

    @app.post(ONE)
    async def begin(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.STREAM, dataset)
        given = await room.form(request)
        try:
            sent = _wish(given)
            if given.get("do") != "begin":
                quoted = await _quoted(room, visit, dataset, sent)
                return await _listed(room, request, visit, dataset, given, {"quote": quoted})
            await room.desk.ask(visit.person, Verb.STREAM, dataset, sent)
        except Refused as refused:
            if refused.kind not in (*SHOWN, "conflict", "busy"):
                raise
            return await _listed(room, request, visit, dataset, given, {"refused": refused.said})
        return go(address(dataset, "streams", sent["name"]))

    @app.get(f"{ONE}/{{name:path}}")
    async def one(request: Request, dataset: str, name: str) -> Response:
        visit = room.allowed(request, Verb.STREAMS, dataset)
        form = request.query_params.get("as", "")
        if form:
            return await _file(room, visit, dataset, name, form)
        return await _stream(room, request, visit, dataset, name)

    @app.post(f"{ONE}/{{name:path}}")
    async def step(request: Request, dataset: str, name: str) -> Response:
        visit = room.allowed(request, Verb.STEP, dataset)
        given = await room.form(request)
        known = await _own(room, visit, dataset, name)
        try:
            sent = checked(schema.Steps, name=known["name"], **_steps(given))
            await room.desk.ask(visit.person, Verb.STEP, dataset, sent)
        except Refused as refused:
            if refused.kind not in (*SHOWN, "conflict", "busy"):
                raise
            return await _stream(room, request, visit, dataset, name, refused.said)
        visit.told[dataset] = {"did": _told(sent["first"], len(sent["increments"]), known["steps"])}
        return go(address(dataset, "streams", name))


def _told(first: int, count: int, before: int) -> str:
    """Return in words what became of steps, of which some may have been released before."""
    if first <= before:
        return say("streams.before", step=f"{first:,}")
    if count == 1:
        return say("streams.released", step=f"{first:,}")
    return say("streams.several", step=f"{first:,}", last=f"{first + count - 1:,}")


def _wish(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form begins, in the shape that the service takes."""
    stated: dict[str, Any] = {word: given.get(word, "").strip() for word in BEGUN}
    for word in ("length", "contribution"):
        stated[word] = int(stated[word]) if _whole(stated[word]) else stated[word]
    if "/" in stated["name"] or stated["name"] in (".", "..") or not stated["name"].isprintable():
        raise refusal(ServiceProblem("parameter", say("streams.names")))
    return checked(schema.ToStream, **stated)


def _whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 16


def _steps(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the steps that a form takes."""
    first, words = given.get("first", ""), given.get("increments", "").split()
    if not _whole(first) or not 1 <= len(words) <= MOST_STEPS or not all(map(_whole, words)):
        raise refusal(ServiceProblem("parameter", say("streams.numbers", most=f"{MOST_STEPS:,}")))
    return {"first": int(first), "increments": [int(word) for word in words]}


async def _begun(room: Room, visit: Visit, dataset: str) -> list[dict[str, Any]]:
    body = await room.desk.ask(visit.person, Verb.STREAMS, dataset)
    found: list[dict[str, Any]] = body["streams"]
    return found


async def _own(room: Room, visit: Visit, dataset: str, name: str) -> dict[str, Any]:
    """Return a stream of somebody's own; those of others do not exist here."""
    for stream in await _begun(room, visit, dataset):
        if stream["name"] == name:
            return stream
    raise refusal(problem.NOTHING)


async def _listed(
    room: Room,
    request: Request,
    visit: Visit,
    dataset: str,
    given: Mapping[str, str],
    shown: Mapping[str, Any],
) -> Response:
    streams = [_words(stream) for stream in await _begun(room, visit, dataset)]
    entered = {word: given.get(word, usual) for word, usual in BEGUN.items()}
    frame: dict[str, Any] = {"quote": None, "refused": None, **shown}
    status = 200 if frame["refused"] is None else int(frame["refused"]["status"])
    more = {"streams": streams, "given": entered, **frame}
    return room.page(request, "streams.html", status=status, dataset=dataset, tab="streams", **more)


def _words(stream: Mapping[str, Any]) -> dict[str, Any]:
    counted = {"steps": f"{stream['steps']:,}", "length": f"{stream['length']:,}"}
    said = say("streams.progress", price=view.cost(stream["cost"]), **counted)
    return {"name": stream["name"], "steps": stream["steps"], "length": stream["length"], "progress": said}


async def _quoted(room: Room, visit: Visit, dataset: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a stream would cost and how far off its counts would be; nothing is paid."""
    declared = await room.desk.ask(visit.person, Verb.CATALOGUE, dataset)
    body = await room.work({"what": "stream", "catalogue": declared, **sent})
    if body is None:
        raise refusal(ServiceProblem("busy", say("lab.nothing"), retry=1))
    found = json.loads(body)
    if "refused" in found:
        raise refusal(ServiceProblem("parameter", found["refused"]))
    (first, half, last), length = found["errors"], f"{sent['length']:,}"
    errors = {"first": first[1], "middle": half[1], "half": f"{half[0]:,}", "last": last[1], "length": length}
    return {"price": found["price"], "words": say("streams.quoted", **errors)}


async def _stream(
    room: Room,
    request: Request,
    visit: Visit,
    dataset: str,
    name: str,
    refused: Mapping[str, Any] | None = None,
) -> Response:
    """Return the page of one stream."""
    stream = await _own(room, visit, dataset, name)
    counts = await _counts(room, visit, dataset, stream, ROWS)
    rows = [(f"{step:,}", _number(value), _number(2 * off)) for step, value, off in reversed(counts)]
    picture = await _picture(room, visit, dataset, stream)
    shown: dict[str, Any] = {
        "stream": _words(stream),
        "rows": rows,
        "picture": picture,
        "promise": view.promise(stream["card"]),
    }
    shown |= {"refused": refused, "told": visit.told.pop(dataset, None), "forms": (*TABLES, *DRAWN)}
    status = 200 if refused is None else int(refused["status"])
    return room.page(request, "stream.html", status=status, dataset=dataset, tab="streams", **shown)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


async def _counts(
    room: Room, visit: Visit, dataset: str, stream: Mapping[str, Any], last: int
) -> list[list[float]]:
    """Return the newest steps, oldest first."""
    found: list[list[float]] = []
    first = max(1, stream["steps"] - last + 1)
    while first <= stream["steps"]:
        sent = {"name": stream["name"], "first": first, "last": None}
        body = await room.desk.ask(visit.person, Verb.STEPS, dataset, sent)
        if not body["counts"]:
            break
        found += body["counts"]
        first = int(found[-1][0]) + 1
    return found


async def _picture(room: Room, visit: Visit, dataset: str, stream: Mapping[str, Any]) -> Markup | None:
    drawn = await _drawn(room, visit, dataset, stream, INLINE)
    return None if drawn is None else harmless(drawn)


async def _drawn(
    room: Room, visit: Visit, dataset: str, stream: Mapping[str, Any], form: str
) -> bytes | None:
    if not stream["steps"]:
        return None
    place = visit.person.name, dataset, "stream", stream["name"], str(stream["steps"])
    try:
        chart = room.charts.get(place) or await room.desk.fetch(
            visit.person, Verb.PICTURE, dataset, {"stream": stream["name"]}
        )
    except Refused:
        return None
    room.keep(place, chart)
    return await room.draw(json.loads(chart), form)


async def _file(room: Room, visit: Visit, dataset: str, name: str, form: str) -> Response:
    """Return a stream as a file to take away."""
    stream = await _own(room, visit, dataset, name)
    if form in TABLES:
        counts = await _counts(room, visit, dataset, stream, PAGES * MOST_STEPS)
        body: bytes | None = _table(stream, counts, form)
    else:
        body = await _drawn(room, visit, dataset, stream, form) if form in DRAWN else None
    if body is None:
        raise refusal(problem.NOTHING)
    called = f"{dataset_file(dataset)}-{dataset_file(unquote(name))}.{form}"
    headers = {"content-disposition": f'attachment; filename="{called}"'}
    return Response(body, media_type=(TABLES | DRAWN)[form], headers=headers)


def _table(stream: Mapping[str, Any], counts: list[list[float]], form: str) -> bytes:
    heads = ("step", "count", "deviation")
    if form == "json":
        rows = [dict(zip(heads, (int(step), value, off), strict=True)) for step, value, off in counts]
        facts = {word: stream[word] for word in ("name", "length", "steps", "contribution", "cost", "card")}
        return json.dumps({**facts, "counts": rows}).encode()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(heads)
    writer.writerows((int(step), value, off) for step, value, off in counts)
    return text.getvalue().encode()
