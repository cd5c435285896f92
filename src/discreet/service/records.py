"""Made-up records over HTTP: what may be asked for, what comes back, and where."""

from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from pydantic import ConfigDict, Field

from discreet.service.kind import ARROW, CSV
from discreet.service.member import Number, Spelt, Whole
from discreet.service.role import Verb
from discreet.service.schema import RECEIPT, CostShown, LimitsSent, Sent, Shown
from discreet.service.way import Asking, described

ColumnName = Annotated[Spelt, Field(max_length=200)]


class ToSynthesise(Sent):
    """Which table to make up records of, and what to spend on it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": 1, "columns": ["ward", "stay"], "rows": 100}]},
    )
    table: ColumnName | None = Field(
        default=None, description="May be left out where there is one private table."
    )
    epsilon: Number
    columns: Annotated[list[ColumnName], Field(max_length=256)] | None = Field(
        default=None, description="By default all that have declared values or bounds."
    )
    rows: Whole | None = Field(default=None, ge=1, description="By default as many as the noisy total says.")
    bins: Whole | None = Field(default=None, ge=2, description="Into so many parts wide ranges are cut.")
    limits: LimitsSent | None = None


class DrawnShown(CostShown):
    """What was drawn for one question, its price and its receipt."""

    question: str
    dataset: str
    receipt: str = Field(examples=[RECEIPT])
    free: bool
    drawn: list[Any]


class RecordsShown(Shown):
    """What made-up records are drawn from: the answers to one or two counts, and which cells are grouped."""

    table: str = Field(examples=["visits"])
    columns: list[str] = Field(examples=[["ward", "stay"]])
    left_out: list[str] = Field(examples=[["note"]])
    reasons: list[str] = Field(
        description="Why each of those is left out.", examples=[["is text without declared values"]]
    )
    groups: list[list[int]] = Field(
        description="The first cell of each group of a column's cells.", examples=[[[0, 1, 2], [0, 2, 5]]]
    )
    free: bool
    answers: list[DrawnShown]


def routes(api: FastAPI, ask: Asking) -> None:
    """Add the address."""

    @api.post(
        "/v1/datasets/{dataset}/synthesise",
        summary="Make up records of a table; as CSV or Arrow, or as JSON what they are drawn from",
        responses=described(RecordsShown, "budget", "conflict", "question", "unproved", forms=(CSV, ARROW)),
    )
    async def synthesise(request: Request, dataset: str, body: ToSynthesise) -> Response:
        return await ask(request, Verb.SYNTHESISE, dataset, body)
