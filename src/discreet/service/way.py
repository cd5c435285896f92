"""The way of a request from an address to a worker and back, and how what comes back is told."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from discreet.errors import BusyError
from discreet.service import problem
from discreet.service.pace import rest, until_slot
from discreet.service.people import Person
from discreet.service.pool import Pool
from discreet.service.problem import KINDS, ServiceProblem
from discreet.service.role import SLOTTED, Verb, may
from discreet.service.settings import Settings

ACCEPTED = ("text/csv", "application/vnd.apache.arrow.stream", "text/markdown")
"""What an answer can be besides JSON."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The way of a request to a worker and back."""

    pool: Pool
    settings: Settings
    clock: Callable[[], float] = time.monotonic

    async def __call__(
        self,
        request: Request,
        verb: Verb,
        dataset: str,
        body: BaseModel | None = None,
        key: str | None = None,
    ) -> Response:
        """Pass on what came over HTTP."""
        sent = {} if body is None else body.model_dump(mode="json")
        kind = wanted(request.headers.get("accept", ""))
        return await self.reply(person_of(request), verb, dataset, sent, kind=kind, key=key)

    async def reply(
        self,
        person: Person,
        verb: Verb,
        dataset: str,
        sent: Mapping[str, Any],
        *,
        kind: str = "application/json",
        key: str | None = None,
    ) -> Response:
        """Pass a request to a worker; what touched data leaves at the end of a slot, whatever came of it."""
        if not may(person.role, verb):
            return told(problem.FORBIDDEN)
        if dataset not in person.datasets or dataset not in self.pool.datasets:
            return told(problem.NOTHING)
        head = {
            "verb": verb.value,
            "dataset": dataset,
            "name": person.name,
            "role": person.role.value,
            "project": person.project(dataset),
            "body": sent,
            "kind": kind,
            "key": key,
        }
        came = self.clock()
        try:
            reply = await self.pool.ask(head)
        except BusyError as error:
            return told(problem.of(error))
        finally:
            if verb in SLOTTED:
                await rest(until_slot(self.clock() - came, self.settings.slot))
        if reply is None:
            return told(problem.FAILED)
        stated, content = reply
        return Response(content, stated["status"], stated["headers"], stated["kind"])


def person_of(request: Request) -> Person:
    """Return who sent a request, as the gate has found out."""
    person: Person = request.state.person
    return person


def wanted(accept: str) -> str:
    """Return the first form besides JSON that somebody accepts, or else JSON."""
    named = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return next((kind for kind in named if kind in ACCEPTED), "application/json")


def told(stated: ServiceProblem) -> Response:
    """Return a problem as a response."""
    return Response(stated.body(), stated.status, stated.headers, problem.MEDIA_TYPE)


def shown(value: object, kind: str = "application/json") -> Response:
    """Return a value as JSON."""
    return Response(json.dumps(value), 200, media_type=kind)


def described(model: type[BaseModel], *kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about the responses of an address."""
    found: dict[int | str, dict[str, Any]] = {200: {"model": model, "description": model.__doc__ or ""}}
    for kind in ("identity", "role", "nothing", "rate", *kinds):
        stated = KINDS[kind]
        found[stated.status] = {
            "description": stated.title,
            "content": {problem.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return found
