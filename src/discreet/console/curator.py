"""The curator's pages: people with their tokens and limits, and the ledger, which auditors read as well.

What is decided here is an entry of the ledger, with a reason and the curator's name.  Tokens of curators are
made and changed at the command line only: whoever holds one visit must not be able to become somebody else.
"""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response

from discreet.console import view
from discreet.console.desk import Refused, checked, refusal
from discreet.console.page import say
from discreet.console.past import wanted_before
from discreet.console.room import Room, address, go
from discreet.console.visit import Visit
from discreet.errors import AccessError, DiscreetError
from discreet.service import problem, schema
from discreet.service.curating import ENTERED, barred, enter, somebody, unfree
from discreet.service.people import DAYS, Person, person_name
from discreet.service.problem import ServiceProblem
from discreet.service.role import PROJECT, Verb, sees_all

ONE = "/console/data/{dataset}"
LAST = 1000
LIMITS = ("epsilon", "per_question", "per_day")
LONGEST = 200


def routes(app: FastAPI, room: Room) -> None:
    """Add the addresses."""

    @app.get(f"{ONE}/people")
    async def people(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.LIMIT, dataset)
        left = await room.desk.ask(visit.person, Verb.BUDGET, dataset)
        return room.page(
            request,
            "people.html",
            dataset=dataset,
            tab="people",
            people=_people(room, visit, dataset, view.gauges(left)),
            projects=list(view.projects(left)),
            none_yet=PROJECT,
            roles=ENTERED,
            days=DAYS,
            told=visit.told.pop(dataset, None),
        )

    @app.post(f"{ONE}/people")
    async def decide(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.LIMIT, dataset)
        given = await room.form(request)
        try:
            visit.told[dataset] = await _decided(room, visit, dataset, given)
        except DiscreetError as error:
            raise refusal(problem.of(error)) from None
        return go(address(dataset, "people"))

    _budgets(app, room)
    _reading(app, room)


def _budgets(app: FastAPI, room: Room) -> None:
    @app.post(f"{ONE}/budget")
    async def cap(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.CAP, dataset)
        given = await room.form(request)
        # The one decision that reaches everybody's data: an open visit is not enough for it.
        holder = room.people.holder(given.get("token", "").strip())
        if holder is None or holder.name != visit.person.name:
            raise refusal(ServiceProblem("role", say("budget.token_wrong")))
        sent = {"epsilon": given.get("epsilon", ""), "reason": given.get("reason", "")}
        await room.desk.ask(visit.person, Verb.CAP, dataset, sent | {"known": _known(given)})
        visit.told[dataset] = {"did": say("budget.raised")}
        return go(address(dataset, "budget"))

    @app.post(f"{ONE}/project")
    async def project(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.LIMIT, dataset)
        given = await room.form(request)
        name = given.get("project", "").strip()
        if not name or not any(given.get(part, "").strip() for part in LIMITS):
            raise refusal(ServiceProblem("parameter", say("budget.which_project")))
        stated = {part: given.get(part, "").strip() or None for part in LIMITS}
        sent = {"project": name[:LONGEST], **stated, "reason": given.get("reason", "")}
        called = (await room.desk.ask(visit.person, Verb.LIMIT, dataset, sent))["project"]
        visit.told[dataset] = {"did": say("budget.project_limited", project=called)}
        return go(address(dataset, "budget"))

    @app.post(f"{ONE}/pace")
    async def pace(request: Request, dataset: str) -> Response:
        visit = room.allowed(request, Verb.LIMIT, dataset)
        given = await room.form(request)
        stated = {part: given.get(part, "").strip() or None for part in LIMITS[1:]}
        if not any(stated.values()):
            raise refusal(ServiceProblem("parameter", say("people.which_limit")))
        await room.desk.ask(visit.person, Verb.LIMIT, dataset, stated | {"reason": given.get("reason", "")})
        visit.told[dataset] = {"did": say("budget.slowed")}
        return go(address(dataset, "budget"))


def _reading(app: FastAPI, room: Room) -> None:
    @app.get(f"{ONE}/ledger")
    async def ledger(request: Request, dataset: str) -> Response:
        visit = _reader(room, request, dataset)
        return await _ledger(room, request, visit, dataset, None)

    @app.post(f"{ONE}/ledger")
    async def verify(request: Request, dataset: str) -> Response:
        visit = _reader(room, request, dataset)
        given = await room.form(request)
        match given.get("do"):
            case "receipt":
                told = await _proved(room, visit, dataset, given.get("receipt", ""))
                return await _ledger(room, request, visit, dataset, None, told)
            case "head":
                head = await room.desk.ask(visit.person, Verb.HEAD, dataset)
                return await _ledger(room, request, visit, dataset, None, {"head": head["receipt"]})
            case _:
                found = await room.desk.ask(visit.person, Verb.VERIFY, dataset)
                return await _ledger(room, request, visit, dataset, found)


def _known(given: Mapping[str, str]) -> Any:
    try:
        return json.loads(given.get("known", ""))
    except ValueError:
        return None


async def _proved(room: Room, visit: Visit, dataset: str, text: str) -> dict[str, Any]:
    """Return in words what a receipt proves here."""
    try:
        sent = checked(schema.ReceiptText, receipt=text.strip())
        found = await room.desk.ask(visit.person, Verb.RECEIPT, dataset, sent)
    except Refused as refused:
        if refused.kind not in ("nothing", "parameter", "ledger"):
            raise
        return {"good": False, "words": say("ledger.unproved")}
    what = {"number": found["number"], "time": found["time"], "what": say(f"ledger.{found['event']}")}
    return {"good": True, "words": say("ledger.proves", **what)}


def _reader(room: Room, request: Request, dataset: str) -> Visit:
    visit = room.allowed(request, Verb.HISTORY, dataset)
    if not sees_all(visit.person.role):
        raise refusal(problem.FORBIDDEN)
    return visit


def _people(room: Room, visit: Visit, dataset: str, gauges: tuple[view.Gauge, ...]) -> list[dict[str, Any]]:
    """Return who knows of a dataset, each with their own limit."""
    now = room.people.clock()
    return [
        {
            "name": person.name,
            "role": person.role.value,
            "standing": person.standing(now),
            "expires": person.expires.date().isoformat(),
            "gauges": [gauge for gauge in gauges if gauge.analyst == person.name],
            "project": person.project(dataset),
            "why_not": _why_not(visit.person, person),
        }
        for person in room.people.all()
        if dataset in person.datasets
    ]


def _why_not(curator: Person, person: Person) -> str:
    """Return why a curator may not change somebody's token here, or nothing."""
    match barred(curator, person):
        case None:
            return ""
        case "curator":
            return say("people.curators")
        case _:
            return say("people.elsewhere", name=person.name)


async def _decided(room: Room, visit: Visit, dataset: str, given: Mapping[str, str]) -> dict[str, str]:
    """Do what a curator decided, and return what to tell them of it, once."""
    name = person_name(given.get("name", ""))
    match given.get("do"):
        case "add":
            role = next((role for role in ENTERED if role.value == given.get("role")), None)
            if role is None:
                raise refusal(ServiceProblem("parameter", f"role is one of {', '.join(ENTERED)}"))
            if room.people.knows(name):
                raise unfree(name)
            days = _whole(given.get("days", ""))
            # Limited before they exist: nobody asks without the limit they were meant to have.
            await _limit(room, visit, dataset, name, given)
            project = await _project(room, visit, dataset, given.get("project", "") or PROJECT)
            return {
                "name": name,
                "token": enter(room.people, name, role, dataset, days=days, project=project),
            }
        case "limit":
            _somebody(room, visit, dataset, name)
            if not any(given.get(part, "").strip() for part in LIMITS):
                raise refusal(ServiceProblem("parameter", say("people.which_limit")))
            await _limit(room, visit, dataset, name, given)
            return {"name": name, "did": say("people.limited", name=name)}
        case "assign":
            _somebody(room, visit, dataset, name)
            return {"name": name, "did": await _assigned(room, visit, dataset, name, given)}
        case "rotate":
            _changeable(visit.person, _somebody(room, visit, dataset, name))
            return {"name": name, "token": room.people.rotate(name)}
        case "revoke":
            _changeable(visit.person, _somebody(room, visit, dataset, name))
            room.people.revoke(name)
            return {"name": name, "did": say("people.was_revoked", name=name)}
        case _:
            raise refusal(ServiceProblem("malformed", "the form does not say what to do"))


async def _project(room: Room, visit: Visit, dataset: str, wanted: str) -> str:
    """Return a project that the ledger knows of: one that is merely misspelt would have no limit."""
    left = await room.desk.ask(visit.person, Verb.BUDGET, dataset)
    if wanted not in (PROJECT, *view.projects(left)):
        raise refusal(ServiceProblem("parameter", say("people.no_project")))
    return wanted


async def _assigned(room: Room, visit: Visit, dataset: str, name: str, given: Mapping[str, str]) -> str:
    project = await _project(room, visit, dataset, given.get("project", ""))
    room.people.assign(name, dataset, project)
    words = say("people.no_project_of_theirs") if project == PROJECT else view.scope(project, None)
    return say("people.assigned", name=name, project=words)


def _somebody(room: Room, visit: Visit, dataset: str, name: str) -> Person:
    """Return a person who knows of the dataset; others do not exist here."""
    try:
        return somebody(room.people, dataset, name)
    except AccessError:
        raise refusal(problem.NOTHING) from None


def _changeable(curator: Person, person: Person) -> None:
    why_not = _why_not(curator, person)
    if why_not:
        raise refusal(ServiceProblem("role", why_not))


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 6:
        raise refusal(ServiceProblem("parameter", say("people.whole_days")))
    return int(text)


async def _limit(room: Room, visit: Visit, dataset: str, name: str, given: Mapping[str, str]) -> None:
    stated = {part: given.get(part, "").strip() or None for part in LIMITS}
    sent = {"analyst": name, **stated, "reason": given.get("reason", "")}
    await room.desk.ask(visit.person, Verb.LIMIT, dataset, sent)


async def _ledger(
    room: Room,
    request: Request,
    visit: Visit,
    dataset: str,
    verdict: Mapping[str, Any] | None,
    told: Mapping[str, Any] | None = None,
) -> Response:
    part = {"last": LAST, "before": wanted_before(request)}
    body = await room.desk.ask(visit.person, Verb.HISTORY, dataset, part)
    sought = request.query_params.get("q", "")[:200]
    kind = request.query_params.get("kind", "")
    entries = [_entry(one) for one in reversed(body["entries"])]
    kinds = sorted({entry["event"] for entry in entries})
    words = sought.casefold().split()
    found = [
        entry
        for entry in entries
        if (not kind or entry["event"] == kind) and all(word in entry["sought"] for word in words)
    ]
    return room.page(
        request,
        "ledger.html",
        dataset=dataset,
        tab="ledger",
        entries=found[:SHOWN],
        count=len(found),
        last=len(entries),
        newest=part["before"] is None,
        before=body["before"],
        kinds=kinds,
        kind=kind,
        sought=sought,
        verdict=verdict,
        told=told or {},
    )


SHOWN = 200


def _entry(one: Mapping[str, Any]) -> dict[str, str]:
    """Return one line of the history, and the text in which it is sought."""
    details = []
    if "budget" in one:
        whom = "" if one["event"] == "created" else view.scope(one.get("project"), one.get("analyst")) + ": "
        details.append(whom + view.budget(one["budget"]))
    if "pace" in one:
        details.append(view.pace(one))
    if "cost" in one:
        details.append(view.cost(one["cost"]))
    if "reservation" in one:
        details.append(say("ledger.of", number=one["reservation"]))
    if one.get("text") or one.get("question"):
        details.append(" ".join(str(one.get("text") or one["question"]).split())[:300])
    if "reason" in one:
        details.append(one["reason"])
    shown = {
        "number": str(one["number"]),
        "time": one["time"],
        "event": one["event"],
        "what": say(f"ledger.{one['event']}"),
        "who": str(one.get("analyst") or ""),
        "details": "; ".join(details),
    }
    return shown | {"sought": " ".join(shown.values()).casefold()}
