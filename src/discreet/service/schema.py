"""What may be sent to the service, and what it sends back: the shapes that its OpenAPI description shows.

Nothing beyond these members is accepted: there is no seed, no header that names somebody, no option that a
later version could take for something else.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from discreet.service.member import (
    LARGEST_BATCH,
    Columns,
    Days,
    Number,
    Reason,
    Spelt,
    Sql,
    Sqls,
    Values,
    Whole,
)
from discreet.service.settings import MOST_STEPS

QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
COST = ["1/10", "1/200", "0"]
RECEIPT = "6f1d0c52a87e4b39a2c17d90be5f8a44/7/c0ffee…/clinic"


class Sent(BaseModel):
    """What may be sent: these members and no others."""

    model_config = ConfigDict(extra="forbid")


class LimitsSent(Sent):
    """Contribution limits of this question; each can only tighten what the table declares."""

    rows_per_unit: Whole | None = Field(default=None, ge=1, le=2**20)
    groups_per_unit: Whole | None = Field(default=None, ge=1, le=2**20)
    rows_per_group: Whole | None = Field(default=None, ge=1, le=2**20)
    rows_at_most: Whole | None = Field(
        default=None,
        ge=1,
        le=2**20,
        description="Nobody is assumed to have more: people above the limit are counted and allowed for.",
    )
    weighted_keys: StrictBool = Field(
        default=False,
        description="Keys found in the data are found by weights: who is in many groups counts less in each.",
    )


class _Priced(Sent):
    epsilon: Number | None = Field(default=None, description="What to spend; give this or `within`.")
    within: Number | None = Field(
        default=None, description="Spend the least that gets every answer this close."
    )
    confidence: Number = Field(default="0.95", description="How sure the intervals are.")
    limits: LimitsSent | None = None
    dialect: Spelt | None = Field(
        default=None,
        max_length=20,
        description="Whose SQL it is, where spelling differs: bigquery, ...",
    )


class _Answered(_Priced):
    postprocess: StrictBool = Field(
        default=True,
        description="Whether values are shown as they can be: not negative, agreeing where groups overlap. "
        "Otherwise they are shown as drawn, without bias. It is the same answer, paid once.",
    )


class Question(_Answered):
    """One question in SQL and its price."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"sql": QUESTION, "epsilon": "0.1"}]}
    )
    sql: Sql
    parameters: Values = None
    count: Number | None = Field(
        default=None, description="The rows that means and variances are assumed to be of, at least."
    )
    delta: Number | None = Field(
        default=None, description="What the question may use to find its group keys."
    )
    weights: Columns | None = Field(
        default=None, description="Which of several errors matter more, by the names of columns."
    )


class Questions(_Answered):
    """Several questions about one table, answered together at one price."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"sql": [QUESTION, "SELECT COUNT(*) AS n FROM visits"], "epsilon": "0.1"}]
        },
    )
    sql: list[Sql] = Field(min_length=1, max_length=LARGEST_BATCH)


class ToQuote(_Priced):
    """What to quote: one question, or the list of a batch."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"sql": QUESTION, "within": 50}]}
    )
    sql: Sqls
    parameters: Values = None
    count: Number | None = Field(
        default=None, description="The rows that means and variances are assumed to be of, at least."
    )
    delta: Number | None = None
    weights: Columns | None = None


class ToFind(Sent):
    """A question that may have been answered, or the list of a batch, as it was asked."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"sql": QUESTION, "epsilon": "0.1"}]}
    )
    sql: Sqls
    epsilon: Number | None = Field(default=None, description="What was spent.")
    confidence: Number = Field(default="0.95", description="How sure the intervals are.")


class ReceiptText(Sent):
    """A receipt, as it came with an answer."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"receipt": RECEIPT}]})
    receipt: Spelt = Field(min_length=1, max_length=1024)


class ToStream(Sent):
    """A stream: the name alone goes on with one that was begun; the rest begins it and is paid once."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "visits", "length": 1000, "epsilon": "0.5", "contribution": 3}]
        },
    )
    name: Spelt = Field(min_length=1, max_length=100)
    length: Whole | None = Field(default=None, ge=1, le=2**40, description="How many steps there can be.")
    epsilon: Number | None = None
    rho: Number | None = None
    contribution: Whole | None = Field(
        default=None, ge=1, le=2**32, description="The most that one person adds to all steps together."
    )


class Steps(Sent):
    """Increments of a stream from the step `first` on; a step that was taken returns what it released."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "visits", "first": 1, "increments": [4, 2]}]}
    )
    name: Spelt = Field(min_length=1, max_length=100)
    first: Whole = Field(ge=1, le=2**40)
    increments: list[Annotated[Whole, Field(ge=-(2**32), le=2**32)]] = Field(
        min_length=1, max_length=MOST_STEPS
    )


class ToPace(Sent):
    """What one question and one day of everybody together may cost; "none" lifts a limit."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"per_day": "0.5", "reason": "agreed in June"}]}
    )
    per_question: Number | None = None
    per_day: Number | None = None
    reason: Reason


class ToLimit(ToPace):
    """What somebody may spend in all, with one question and in one day; what is not said stays as it is."""

    epsilon: Number | None = None


class ToBound(ToLimit):
    """What a project may spend in all, with one question and in one day; without one, what everybody may.

    What everybody together may spend in all is the cap, which has an address of its own.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"project": "waiting", "epsilon": "1", "reason": "agreed in June"}]},
    )
    project: Spelt | None = Field(default=None, min_length=1, max_length=200)


class ToEnter(ToLimit):
    """Somebody new."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "ada", "epsilon": "1", "per_day": "0.2", "reason": "new"}]},
    )
    name: Spelt = Field(min_length=1, max_length=63)
    role: Literal["analyst", "auditor"] = "analyst"
    days: Days = 90


class ToRotate(Sent):
    """How long a new token is good for."""

    days: Days = 90


class ToCap(Sent):
    """A higher cap, the one that you know (as `limits[0].budget` of the budget says it), and why."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"epsilon": 4, "known": ["pure", "3"], "reason": "a new year"}]},
    )
    epsilon: Number
    known: list[Annotated[Spelt, Field(max_length=256)]] = Field(max_length=8)
    reason: Reason


class Shown(BaseModel):
    """A body of an answer; further members may be added."""

    model_config = ConfigDict(extra="allow")


class Me(Shown):
    """Whose token this is."""

    name: str
    role: str
    expires: str
    datasets: list[str]


class Datasets(Shown):
    """The datasets that you may ask about."""

    datasets: list[str] = Field(examples=[["clinic"]])


class Catalogue(Shown):
    """What is declared about a dataset: its budget, and its tables with their columns and limits."""

    dataset: dict[str, Any] = Field(examples=[{"name": "clinic", "version": "1"}])
    budget: dict[str, Any] = Field(examples=[{"epsilon": "3", "delta": "0"}])
    tables: dict[str, Any]


class CostShown(Shown):
    """A price: `cost` is [epsilon, rho, delta]; all numbers are exact text."""

    cost: list[str | None] = Field(examples=[COST])
    epsilon: str = Field(examples=["1/10"])
    delta: str = Field(examples=["0"])
    confidence: str = Field(examples=["19/20"])
    statements: list[str] = Field(description="What an engine runs for it.")


class Quoted(CostShown):
    """What a question would cost and how far off each column may be; nothing was spent."""

    columns: list[dict[str, Any]] = Field(
        examples=[[{"name": "n", "error": "300", "mechanism": "geometric", "radius": "300"}]]
    )
    alone: list[str] | None = Field(
        description="The epsilon and delta of it alone, where it is paid in zCDP.", examples=[None]
    )
    closes: bool = Field(description="Whether questions at pure epsilon count for more after it.")
    questions_left: int | None
    words: list[str]


class Answer(CostShown):
    """A private answer: rows with intervals, the same cells exactly, what was drawn, and its receipt."""

    question: str = Field(examples=[QUESTION])
    dataset: str
    columns: list[str]
    rows: list[dict[str, Any]] = Field(examples=[[{"ward": "A", "n": 512, "n_low": 212, "n_high": 812}]])
    exact: list[list[Any]] = Field(examples=[[["A", "512"]]])
    receipt: str = Field(examples=[RECEIPT])
    free: bool
    drawn: list[Any]
    card: str


class Answers(Shown):
    """The answers of a batch; each states the price of all, which was paid once."""

    answers: list[Answer]


class Budget(Shown):
    """Each limit with what is spent and left; an analyst sees the limits on them and their own spending."""

    dataset: str
    limits: list[dict[str, Any]]


class History(Shown):
    """Entries of the ledger, oldest first: your questions with what became of them, or those of everybody."""

    entries: list[dict[str, Any]]
    counted: int = Field(description="How many of `last` these are: questions of your own, or entries.")
    before: int | None = Field(
        description="What to send as `before` for the page before this one; null at the beginning."
    )


class EntryProved(Shown):
    """The entry that a receipt proves."""

    number: int
    time: str
    event: str


class StreamShown(Shown):
    """A stream: its length, how many steps were released, its price, and the noise it is made of."""

    name: str
    length: int
    steps: int
    contribution: int
    cost: list[str | None] = Field(examples=[COST])


class Counts(Shown):
    """Running counts: for each step its number, its value, and its standard deviation."""

    name: str
    steps: int
    counts: list[list[float]] = Field(examples=[[[1, 4.0, 2.5]]])


class PersonShown(Shown):
    """Somebody: what they are, and whether their token is active, expired or revoked."""

    name: str
    role: str
    token: str
    expires: str


class PeopleShown(Shown):
    """Everybody who was entered for a dataset."""

    people: list[PersonShown]


class TokenShown(Shown):
    """A token, which is shown this once and kept only as a hash."""

    name: str
    token: str


class LimitsSet(Shown):
    """Whose limits were set; null means everybody."""

    analyst: str | None
    project: str | None = None


class Capped(Shown):
    """The cap of now."""

    cap: list[str] = Field(examples=[["pure", "4"]])


class Verified(Shown):
    """Whether every entry holds."""

    trusted: bool
    entries: int
    anchored: int


class HeadShown(Shown):
    """The signed receipt of the newest entry: with it a restored ledger that lacks the entry is found out."""

    receipt: str = Field(examples=[RECEIPT])


class Health(Shown):
    """Whether the service is up."""

    status: str = Field(examples=["ok"])


class ProblemShown(Shown):
    """RFC 9457: what is refused, why, and what works instead."""

    type: str = Field(examples=["/problems/question"])
    title: str
    status: int
    detail: str
    instead: str
    clause: str | None = Field(default=None, examples=["SELECT *"])
    reason: str | None = None
    line: int | None = Field(default=None, description="Where the clause stands, where its words do twice.")
    column: int | None = None
