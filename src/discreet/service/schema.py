"""What may be sent to the service, and what it sends back: the shapes that its OpenAPI description shows.

Nothing beyond these members is accepted: there is no seed, no header that names somebody, no option that a
later version could take for something else.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_SQL = 8192
LARGEST_BATCH = 100


def _spelt(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode, without surrogates") from None
    return text


Spelt = Annotated[str, AfterValidator(_spelt)]
Whole = Annotated[int, Field(strict=True)]
Number = Annotated[
    Whole
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[Spelt, Field(max_length=256)],
    Field(description='A number; as text it is exact: "0.1" and "1/10" are the same.'),
]
Value = (
    Annotated[bool, Field(strict=True)]
    | Whole
    | Annotated[float, Field(strict=True, allow_inf_nan=False)]
    | Annotated[Spelt, Field(max_length=4096)]
    | None
)
Values = Annotated[
    Annotated[list[Value], Field(max_length=LARGEST_BATCH)]
    | Annotated[dict[Spelt, Value], Field(max_length=LARGEST_BATCH)]
    | None,
    Field(description="The values of `?` in the order of the text, or of `:name` by name."),
]
Sql = Annotated[Spelt, Field(min_length=1, max_length=LONGEST_SQL)]

QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
COST = ["1/10", "1/200", "0"]
RECEIPT = "6f1d0c52a87e4b39a2c17d90be5f8a44/7/c0ffee…/clinic"


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Limits(_Sent):
    """Contribution limits of this question; each can only tighten what the table declares."""

    rows_per_unit: Whole | None = Field(default=None, ge=1, le=2**20)
    groups_per_unit: Whole | None = Field(default=None, ge=1, le=2**20)
    rows_per_group: Whole | None = Field(default=None, ge=1, le=2**20)


class _Priced(_Sent):
    epsilon: Number | None = Field(default=None, description="What to spend; give this or `within`.")
    within: Number | None = Field(
        default=None, description="Spend the least that gets every answer this close."
    )
    confidence: Number = Field(default="0.95", description="How sure the intervals are.")
    limits: Limits | None = None


class Question(_Priced):
    """One question in SQL and its price."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"sql": QUESTION, "epsilon": "0.1"}]}
    )
    sql: Sql
    parameters: Values = None
    delta: Number | None = Field(
        default=None, description="What the question may use to find its group keys."
    )


class Questions(_Priced):
    """Several counting questions about one table, answered together at one price."""

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
    sql: Sql | Annotated[list[Sql], Field(min_length=1, max_length=LARGEST_BATCH)]
    parameters: Values = None
    delta: Number | None = None


class ReceiptText(_Sent):
    """A receipt, as it came with an answer."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"receipt": RECEIPT}]})
    receipt: Spelt = Field(min_length=1, max_length=1024)


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


class Cost(Shown):
    """A price: `cost` is [epsilon, rho, delta]; all numbers are exact text."""

    cost: list[str | None] = Field(examples=[COST])
    epsilon: str = Field(examples=["1/10"])
    delta: str = Field(examples=["0"])
    confidence: str = Field(examples=["19/20"])
    statements: list[str] = Field(description="What an engine runs for it.")


class Quoted(Cost):
    """What a question would cost and how far off each column may be; nothing was spent."""

    columns: list[dict[str, Any]] = Field(
        examples=[[{"name": "n", "error": "300", "mechanism": "geometric", "radius": "300"}]]
    )
    questions_left: int | None
    words: list[str]


class Answer(Cost):
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
    """Entries of the ledger, oldest first; an analyst sees their own."""

    entries: list[dict[str, Any]]


class Proved(Shown):
    """The entry that a receipt proves."""

    number: int
    time: str
    event: str


class Health(Shown):
    """Whether the service is up."""

    status: str = Field(examples=["ok"])


class Problem(Shown):
    """RFC 9457: what is refused, why, and what works instead."""

    type: str = Field(examples=["/problems/question"])
    title: str
    status: int
    detail: str
    instead: str
    clause: str | None = Field(default=None, examples=["SELECT *"])
    reason: str | None = None
