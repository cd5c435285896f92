"""The addresses of the service: each is a function from an identity and a request to a worker's reply."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from discreet.errors import BusyError
from discreet.service import metrics, problem, schema
from discreet.service.gate import Gate
from discreet.service.pace import rest, until_slot
from discreet.service.people import People, Person
from discreet.service.pool import Pool
from discreet.service.problem import KINDS, PLACE, Problem
from discreet.service.role import SLOTTED, Verb, may
from discreet.service.settings import Settings

ABOUT = """Private answers about people: ask in SQL, pay from a budget that cannot be overspent.

Send `Authorization: Bearer TOKEN`.  Quotes are free; the same question again is free; with an
`Idempotency-Key` a request may be repeated and is paid once.  Refusals are RFC 9457 problems that say which
clause, why, and what works instead.  Numbers that matter are exact text: "1/10"."""

ACCEPTED = ("text/csv", "application/vnd.apache.arrow.stream", "text/markdown")
"""What an answer can be besides JSON."""

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="A key of your own: a request with it may be sent again, and is paid once.",
    ),
]
Last = Annotated[int, Query(ge=1, le=1000, description="How many of the newest entries.")]


def application(pool: Pool, people: People, settings: Settings) -> Gate:
    """Return the whole service as an ASGI application."""
    api = FastAPI(
        title="discreet",
        version="1",
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    gate = Gate(api, people, settings)
    api.add_exception_handler(RequestValidationError, _misunderstood)
    api.add_exception_handler(HTTPException, _not_found)
    _public(api, gate, pool)
    _routes(api, Asking(pool, settings))
    return gate


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
        kind = _wanted(request.headers.get("accept", ""))
        return await self.reply(_person(request), verb, dataset, sent, kind=kind, key=key)

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


def _person(request: Request) -> Person:
    person: Person = request.state.person
    return person


def _wanted(accept: str) -> str:
    """Return the first form besides JSON that somebody accepts, or else JSON."""
    named = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return next((kind for kind in named if kind in ACCEPTED), "application/json")


def told(stated: Problem) -> Response:
    """Return a problem as a response."""
    return Response(stated.body(), stated.status, stated.headers, problem.MEDIA_TYPE)


def _shown(value: object, kind: str = "application/json") -> Response:
    return Response(json.dumps(value), 200, media_type=kind)


def _misunderstood(_: Request, error: Exception) -> Response:
    """Say what was not understood, without repeating it."""
    if not isinstance(error, RequestValidationError):
        raise error
    found = [
        f"{'.'.join(map(str, one['loc'][1:])) or 'the body'}: {one['msg']}" for one in error.errors()[:10]
    ]
    return told(Problem("parameter", "; ".join(found)))


def _not_found(_: Request, error: Exception) -> Response:
    match getattr(error, "status_code", None):
        case 404:
            return told(problem.NOTHING)
        case 405:
            return told(Problem("method", "see which methods this address knows"))
        case _:
            return told(Problem("malformed", "the body cannot be read as JSON"))


def _described(model: type[BaseModel], *kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about the responses of an address."""
    found: dict[int | str, dict[str, Any]] = {200: {"model": model, "description": model.__doc__ or ""}}
    for kind in ("identity", "role", "nothing", "rate", *kinds):
        stated = KINDS[kind]
        found[stated.status] = {
            "description": stated.title,
            "content": {problem.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    return found


_READING = ("busy", "failed")
_ASKING = ("question", "unproved", *_READING)


def _public(api: FastAPI, gate: Gate, pool: Pool) -> None:
    @api.get("/health", summary="Whether the service is up", responses={200: {"model": schema.Health}})
    async def health() -> Response:
        return _shown({"status": "ok"})

    @api.get(
        f"{PLACE}{{kind}}", summary="What a kind of problem means", responses={200: {"model": schema.Problem}}
    )
    async def explained(kind: str) -> Response:
        if kind not in KINDS:
            return told(problem.NOTHING)
        found = KINDS[kind]
        return _shown(
            {
                "type": f"{PLACE}{kind}",
                "title": found.title,
                "status": found.status,
                "detail": found.title,
                "instead": found.instead,
            }
        )

    @api.get("/metrics", summary="Counts for monitoring, in the text format of Prometheus")
    async def counts(request: Request) -> Response:
        if not may(_person(request).role, Verb.METRICS):
            return told(problem.FORBIDDEN)
        return Response(metrics.measured(gate, pool), media_type=metrics.MEDIA_TYPE)


def _routes(api: FastAPI, ask: Asking) -> None:
    @api.get("/v1/me", summary="Whose token this is", responses=_described(schema.Me))
    async def me(request: Request) -> Response:
        person = _person(request)
        return _shown(
            {
                "name": person.name,
                "role": person.role.value,
                "expires": person.expires.isoformat(),
                "datasets": sorted(person.datasets & ask.pool.datasets),
            }
        )

    @api.get("/v1/datasets", summary="The datasets you may ask about", responses=_described(schema.Datasets))
    async def datasets(request: Request) -> Response:
        return _shown({"datasets": sorted(_person(request).datasets & ask.pool.datasets)})

    one = "/v1/datasets/{dataset}"

    @api.get(
        one, summary="What is declared about a dataset", responses=_described(schema.Catalogue, *_READING)
    )
    async def catalogue(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.CATALOGUE, dataset)

    @api.post(
        f"{one}/quote",
        summary="What a question would cost and how wrong its answer may be; free",
        responses=_described(schema.Quoted, *_ASKING),
    )
    async def quote(request: Request, dataset: str, body: schema.ToQuote) -> Response:
        return await ask(request, Verb.QUOTE, dataset, body)

    @api.post(
        f"{one}/query",
        summary="Ask a question and pay for it; as JSON, CSV, Arrow, or a card in Markdown",
        responses=_described(schema.Answer, "budget", "conflict", *_ASKING),
    )
    async def query(request: Request, dataset: str, body: schema.Question, key: Key = None) -> Response:
        return await ask(request, Verb.QUERY, dataset, body, key)

    @api.post(
        f"{one}/batch",
        summary="Ask several counting questions together, at one price",
        responses=_described(schema.Answers, "budget", "conflict", *_ASKING),
    )
    async def batch(request: Request, dataset: str, body: schema.Questions, key: Key = None) -> Response:
        return await ask(request, Verb.BATCH, dataset, body, key)

    @api.get(
        f"{one}/budget",
        summary="What is spent and what is left",
        responses=_described(schema.Budget, *_READING),
    )
    async def budget(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.BUDGET, dataset)

    @api.get(
        f"{one}/history",
        summary="What you asked, or what everybody did for curators and auditors",
        responses=_described(schema.History, *_READING),
    )
    async def history(request: Request, dataset: str, last: Last = 100) -> Response:
        return await ask(request, Verb.HISTORY, dataset, _Newest(last=last))

    @api.post(
        f"{one}/receipt",
        summary="Check a receipt against the ledger",
        responses=_described(schema.Proved, *_READING),
    )
    async def receipt(request: Request, dataset: str, body: schema.ReceiptText) -> Response:
        return await ask(request, Verb.RECEIPT, dataset, body)


class _Newest(BaseModel):
    last: int
