"""The way of a request from an address to a worker and back, and how what comes back is told."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from discreet.errors import BusyError
from discreet.service import problem
from discreet.service.people import Person
from discreet.service.pool import Pool
from discreet.service.problem import KINDS, ServiceProblem
from discreet.service.role import Verb, may
from discreet.service.schema import ProblemShown

ACCEPTED = ("text/csv", "application/vnd.apache.arrow.stream", "text/markdown")
"""What an answer can be besides JSON."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The way of a request to a worker and back."""

    pool: Pool

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
        """Pass a request to a worker and return what it says."""
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
        try:
            reply = await self.pool.ask(head)
        except BusyError as error:
            return told(problem.of(error))
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


_EVERYWHERE = ("malformed", "slow", "large", "failed")
_TOKEN = ("identity", "rate", *_EVERYWHERE)
_DATASET = ("role", "nothing", "parameter", "busy", "ledger", *_TOKEN)


def described(model: type[BaseModel], *kinds: str, forms: Sequence[str] = ()) -> dict[int | str, Any]:
    """Return what OpenAPI says about the responses of an address below a dataset.

    `kinds` are the problems that there can be besides those of all such addresses, `forms` what the answer
    can be besides JSON.
    """
    return answered(model, forms) | refusals(*kinds, *_DATASET)


def described_apart(model: type[BaseModel], *kinds: str, token: bool = True) -> dict[int | str, Any]:
    """Return the same for an address that is about no dataset, with a token or open to everybody."""
    return answered(model) | refusals(*kinds, *(_TOKEN if token else _EVERYWHERE))


def answered(model: type[BaseModel], forms: Sequence[str] = ()) -> dict[int | str, Any]:
    """Return what OpenAPI says about an answer."""
    content = {form: {"schema": {"type": "string"}} if form.startswith("text/") else {} for form in forms}
    return {200: {"model": model, "description": model.__doc__ or "", "content": content}}


def refusals(*kinds: str) -> dict[int | str, Any]:
    """Return what OpenAPI says about these kinds of problems; those of one status stand together."""
    titles: dict[int, list[str]] = {}
    for kind in dict.fromkeys(kinds):
        titles.setdefault(KINDS[kind].status, []).append(KINDS[kind].title)
    return {status: _refusal(status, " Or: ".join(said)) for status, said in sorted(titles.items())}


def _refusal(status: int, title: str) -> dict[str, Any]:
    form = {"schema": {"$ref": f"#/components/schemas/{ProblemShown.__name__}"}}
    found: dict[str, Any] = {"description": title, "content": {problem.MEDIA_TYPE: form}}
    if status in (429, 503):
        seconds = {"description": "After how many seconds to ask again.", "schema": {"type": "integer"}}
        found["headers"] = {"Retry-After": seconds}
    return found
