"""Streams through the wall: begun, advanced and read with the same verbs as in one process.

Whoever sends increments has the data that they count, and is trusted with it; what comes back, and what
others may read, is private.  Begin and steps may be sent again: a stream is found by its name, a step by its
number, and neither is paid or counted twice.
"""

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from pydantic import BaseModel

from discreet.service import schema
from discreet.service.role import Verb
from discreet.service.way import Asking, described

Name = Annotated[str, Query(alias="stream", min_length=1, max_length=100)]
First = Annotated[int, Query(ge=1)]
Last = Annotated[int | None, Query(ge=1)]
_REFUSED = ("budget", "conflict", "question")


class _Read(BaseModel):
    name: str
    first: int
    last: int | None


def routes(api: FastAPI, ask: Asking) -> None:
    """Add the addresses."""
    one = "/v1/datasets/{dataset}"

    @api.post(
        f"{one}/streams",
        summary="Begin a running count, paid for once, or go on with it",
        responses=described(schema.StreamShown, *_REFUSED),
    )
    async def begin(request: Request, dataset: str, body: schema.ToStream) -> Response:
        return await ask(request, Verb.STREAM, dataset, body)

    @api.post(
        f"{one}/steps",
        summary="Take steps of a stream that you began; free",
        responses=described(schema.Counts, *_REFUSED),
    )
    async def steps(request: Request, dataset: str, body: schema.Steps) -> Response:
        return await ask(request, Verb.STEP, dataset, body)

    @api.get(
        f"{one}/steps",
        summary="What a stream released so far; free",
        responses=described(schema.Counts, *_REFUSED),
    )
    async def released(
        request: Request, dataset: str, stream: Name, first: First = 1, last: Last = None
    ) -> Response:
        return await ask(request, Verb.STEPS, dataset, _Read(name=stream, first=first, last=last))
