"""The addresses of the service: each is a function from an identity and a request to a worker's reply."""

from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from discreet.service import curating, metrics, problem, records, schema, streams
from discreet.service.body import StrictRoute
from discreet.service.direct import Direct
from discreet.service.gate import Gate
from discreet.service.mistake import mistaken
from discreet.service.people import People
from discreet.service.pool import Pool
from discreet.service.problem import KINDS, PLACE, ServiceProblem
from discreet.service.role import Verb, may
from discreet.service.settings import Settings
from discreet.service.way import (
    ACCEPTED,
    Asking,
    described,
    described_apart,
    person_of,
    refusals,
    shown,
    told,
)

ABOUT = """Private answers about people: ask in SQL, pay from a budget that cannot be overspent.

Send `Authorization: Bearer TOKEN`.  Quotes are free; the same question again is free; with an
`Idempotency-Key` a request may be repeated and is paid once.  Refusals are RFC 9457 problems that say which
clause, why, and what works instead.  Numbers that matter are exact text: "1/10"."""

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=100,
        pattern=r"^[\x21-\x7e]+$",
        description="A key of your own: a request with it may be sent again, and is paid once.",
    ),
]
Last = Annotated[
    int,
    Query(ge=1, le=1000, description="How many of your newest questions, or of the newest entries of all."),
]
Before = Annotated[
    int | None,
    Query(ge=1, le=2**62, description="Only what came before this entry: `before` of the page after it."),
]
Own = Annotated[
    bool, Query(description="Only what you asked yourself; an analyst sees nothing else in any case.")
]


class _Addresses(FastAPI):
    """The addresses; what describes them says that they need a token."""

    def openapi(self) -> dict[str, Any]:
        """Return the description."""
        found = super().openapi()
        token = {"type": "http", "scheme": "bearer", "description": "The token that you were given."}
        found["components"]["securitySchemes"] = {"token": token}
        found["security"] = [{"token": []}]
        return found


_OPEN: dict[str, Any] = {"security": []}


def application(pool: Pool, people: People, settings: Settings) -> Gate:
    """Return the whole service as an ASGI application."""
    api = _Addresses(
        title="discreet",
        version="1",
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    api.router.route_class = StrictRoute
    ask = Asking(pool)
    gate = Gate(Direct(api, ask, settings.body), people, settings)
    api.add_exception_handler(RequestValidationError, _misunderstood)
    api.add_exception_handler(HTTPException, _not_found)
    _public(api, gate, pool)
    _routes(api, ask)
    _accounts(api, ask)
    records.routes(api, ask)
    streams.routes(api, ask)
    curating.routes(api, ask, people)
    return gate


def _misunderstood(_: Request, error: Exception) -> Response:
    """Say what was not understood, without repeating it."""
    if not isinstance(error, RequestValidationError):
        raise error
    return told(mistaken(error.errors()))


def _not_found(_: Request, error: Exception) -> Response:
    match getattr(error, "status_code", None):
        case 404:
            return told(problem.NOTHING)
        case 405:
            return told(ServiceProblem("method", "see which methods this address knows"))
        case _:
            return told(ServiceProblem("malformed", "the body cannot be read as JSON"))


_ASKING = ("question", "unproved")


def _public(api: FastAPI, gate: Gate, pool: Pool) -> None:
    @api.get(
        "/health",
        summary="Whether the service is up",
        responses=described_apart(schema.Health, token=False),
        openapi_extra=_OPEN,
    )
    async def health() -> Response:
        return shown({"status": "ok"})

    @api.get(
        f"{PLACE}{{kind}}",
        summary="What a kind of problem means",
        responses=described_apart(schema.ProblemShown, "nothing", "parameter", token=False),
        openapi_extra=_OPEN,
    )
    async def explained(kind: str) -> Response:
        if kind not in KINDS:
            return told(problem.NOTHING)
        found = KINDS[kind]
        return shown(
            {
                "type": f"{PLACE}{kind}",
                "title": found.title,
                "status": found.status,
                "detail": found.title,
                "instead": found.instead,
            }
        )

    @api.get(
        "/metrics",
        summary="Counts for monitoring, in the text format of Prometheus",
        response_class=PlainTextResponse,
        responses=refusals("identity", "rate", "role", "malformed", "slow", "large", "failed"),
    )
    async def counts(request: Request) -> Response:
        if not may(person_of(request).role, Verb.METRICS):
            return told(problem.FORBIDDEN)
        return Response(metrics.measured(gate, pool), media_type=metrics.MEDIA_TYPE)


def _routes(api: FastAPI, ask: Asking) -> None:
    @api.get("/v1/me", summary="Whose token this is", responses=described_apart(schema.Me))
    async def me(request: Request) -> Response:
        person = person_of(request)
        return shown(
            {
                "name": person.name,
                "role": person.role.value,
                "expires": person.expires.isoformat(),
                "datasets": sorted(person.datasets & ask.pool.datasets),
            }
        )

    @api.get(
        "/v1/datasets",
        summary="The datasets you may ask about",
        responses=described_apart(schema.Datasets),
    )
    async def datasets(request: Request) -> Response:
        return shown({"datasets": sorted(person_of(request).datasets & ask.pool.datasets)})

    one = "/v1/datasets/{dataset}"

    @api.get(one, summary="What is declared about a dataset", responses=described(schema.Catalogue))
    async def catalogue(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.CATALOGUE, dataset)

    @api.post(
        f"{one}/quote",
        summary="What a question would cost and how wrong its answer may be; free",
        responses=described(schema.Quoted, *_ASKING),
    )
    async def quote(request: Request, dataset: str, body: schema.ToQuote) -> Response:
        return await ask(request, Verb.QUOTE, dataset, body)

    @api.post(
        f"{one}/query",
        summary="Ask a question and pay for it; as JSON, CSV, Arrow, or a card in Markdown",
        responses=described(schema.Answer, "budget", "conflict", *_ASKING, forms=ACCEPTED),
    )
    async def query(request: Request, dataset: str, body: schema.Question, key: Key = None) -> Response:
        return await ask(request, Verb.QUERY, dataset, body, key)

    @api.post(
        f"{one}/batch",
        summary="Ask several questions together, at one price",
        responses=described(schema.Answers, "budget", "conflict", *_ASKING),
    )
    async def batch(request: Request, dataset: str, body: schema.Questions, key: Key = None) -> Response:
        return await ask(request, Verb.BATCH, dataset, body, key)

    @api.post(
        f"{one}/find",
        summary="The answer that a question was given before, if it was; free",
        responses=described(schema.Answers, *_ASKING),
    )
    async def find(request: Request, dataset: str, body: schema.ToFind) -> Response:
        return await ask(request, Verb.FIND, dataset, body)


def _accounts(api: FastAPI, ask: Asking) -> None:
    one = "/v1/datasets/{dataset}"

    @api.get(
        f"{one}/budget",
        summary="What is spent and what is left",
        responses=described(schema.Budget),
    )
    async def budget(request: Request, dataset: str) -> Response:
        return await ask(request, Verb.BUDGET, dataset)

    @api.get(
        f"{one}/history",
        summary="What you asked, or what everybody did for curators and auditors; a page at a time",
        responses=described(schema.History),
    )
    async def history(
        request: Request, dataset: str, last: Last = 100, before: Before = None, own: Own = False
    ) -> Response:
        part = _HistoryPart(last=last, before=before, own=own)
        return await ask(request, Verb.HISTORY, dataset, part)

    @api.post(
        f"{one}/receipt",
        summary="Check a receipt against the ledger",
        responses=described(schema.EntryProved),
    )
    async def receipt(request: Request, dataset: str, body: schema.ReceiptText) -> Response:
        return await ask(request, Verb.RECEIPT, dataset, body)


class _HistoryPart(BaseModel):
    last: int
    before: int | None
    own: bool
