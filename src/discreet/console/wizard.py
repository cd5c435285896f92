"""The wizard: from a file or a table of a database to a manifest, by curators, where the operator allows it.

Two pages and no memory: every form carries all that was decided, so it can be sent again, and nothing is kept
between them.  What a source says of itself is read by the surveyor, in a process of its own; what is saved is
a new file, and nobody is answered from it before the operator serves it.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response

from discreet.console import view
from discreet.console.desk import refusal
from discreet.console.door import PREFIX
from discreet.console.page import say
from discreet.console.room import Room, go
from discreet.console.visit import Visit
from discreet.service import problem
from discreet.service.problem import ServiceProblem
from discreet.service.role import Verb, may

HERE = f"{PREFIX}/wizard"
PATIENCE = 20.0
"""For so many seconds a page waits for the surveyor."""

FIELDS = 1000
DELIMITERS = ("comma", "semicolon", "tab", "bar")
ENCODINGS = ("utf-8", "latin-1", "windows-1252")
TYPES = ("integer", "decimal", "text", "boolean", "date", "timestamp")
ASKED = {"integer": "low high", "decimal": "low high step", "date": "low high", "text": "values"}
"""What is asked about a column of each type."""

SOURCE = ("place", "file", "delimiter", "encoding", "header", "names")
START = {
    "neighbours": "add-remove",
    "rows_per_unit": "8",
    "groups_per_unit": "4",
    "epsilon": "1",
    "delta": "",
    "questions": "",
}


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(HERE)
    async def begin(request: Request) -> Response:
        visit = _curator(room, request)
        return await _first(room, request, {}, None, visit.told.pop(HERE, None))

    @app.post(HERE)
    async def decide(request: Request) -> Response:
        visit = _curator(room, request)
        given = await room.form(request, FIELDS)
        match given.get("do"):
            case "columns":
                return await _described(room, request, given)
            case "look":
                return _second(room, request, given, await _asked(room, "draft", given))
            case "save":
                return await _saved(room, request, visit, given)
            case _:
                raise refusal(ServiceProblem("malformed", "the form does not say what to do"))


def _curator(room: Room, request: Request) -> Visit:
    visit = room.visit(request)
    if not may(visit.person.role, Verb.DRAFT):
        raise refusal(problem.FORBIDDEN)
    return visit


async def _asked(room: Room, what: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the surveyor found; what comes to nothing is said, and nothing more."""
    body = await room.survey({"what": what, "given": given})
    found: dict[str, Any] = {"refused": say("wizard.nothing")} if body is None else json.loads(body)
    return found


async def _first(
    room: Room, request: Request, given: Mapping[str, str], refused: str | None, told: Any = None
) -> Response:
    """Return the page that asks which source it is."""
    found = await _asked(room, "places", {})
    entered = {name: given.get(name, "") for name in SOURCE}
    shown = {"places": found.get("places", []), "given": entered, "refused": refused, "told": told}
    chosen = {"delimiters": DELIMITERS, "encodings": ENCODINGS}
    status = 200 if refused is None else 422
    return room.page(request, "wizard.html", status=status, **shown, **chosen)


async def _described(room: Room, request: Request, given: Mapping[str, str]) -> Response:
    """Return the page of decisions as it begins: what the schema suggests, and nothing about any cell."""
    found = await _asked(room, "columns", given)
    if "refused" in found:
        return await _first(room, request, given, found["refused"])
    entered = {name: given.get(name, "") for name in SOURCE} | START
    table = found["table"]
    entered |= {"table": table, "name": _short(table), "left_out": str(found["left_out"])}
    entered["unit"] = f"column:{found['likely'][0]}" if found["likely"] else ""
    for number, column in enumerate(found["columns"]):
        fixed = "yes" if column["fixed"] else ""
        said = {"name": column["name"], "type": column["type"], "own": column["type"], "fixed": fixed}
        entered |= {f"c{number}.{word}": text for word, text in said.items()}
    for number, name in enumerate(found["units"]):
        entered[f"u{number}"] = name
    return _second(room, request, entered, await _asked(room, "draft", entered))


def _second(
    room: Room,
    request: Request,
    given: Mapping[str, str],
    found: Mapping[str, Any],
) -> Response:
    """Return the page of decisions, with what they come to beside them."""
    words = view.tables(found["catalogue"]) if "catalogue" in found else ()
    shown = {"given": given, "found": found, "words": words, "columns": _columns(given), "types": TYPES}
    status = 422 if "refused" in found else 200
    return room.page(request, "decisions.html", status=status, units=_units(given), source=SOURCE, **shown)


async def _saved(room: Room, request: Request, visit: Visit, given: Mapping[str, str]) -> Response:
    found = await _asked(room, "save", given)
    if "refused" in found:
        return _second(room, request, given, found)
    visit.told[HERE] = {"file": found["file"]}
    return go(HERE)


def _columns(given: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the columns that a form speaks of, each with what was said about it."""
    found: list[dict[str, str]] = []
    while (name := given.get(f"c{len(found)}.name")) is not None:
        place = f"c{len(found)}"
        words = ("type", "own", "fixed", "low", "high", "step", "values")
        said = {word: given.get(f"{place}.{word}", "") for word in words}
        asked = ASKED.get(said["own"], "") if said["fixed"] else "low high step values"
        found.append({**said, "place": place, "name": name, "asked": asked})
    return found


def _units(given: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    while (name := given.get(f"u{len(found)}")) is not None:
        found.append(name)
    return found


def _short(table: str) -> str:
    """Return a name of a table as that of a dataset and of its file."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in table.lower())
    return plain.strip("-")[:60] or "dataset"
