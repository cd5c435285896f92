"""How the wall says no: RFC 9457 problems out of deliberate errors, and back.

The kinds are a closed table.  What happened after data was touched has one kind and one text, whatever it
was: an engine that failed, a worker that died, a limit of time or memory that was passed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import (
    AccessError,
    BudgetError,
    BusyError,
    CatalogError,
    ConflictError,
    DiscreetError,
    EngineError,
    LedgerError,
    ParameterError,
    ProofError,
    QueryError,
    ServiceError,
)

MEDIA_TYPE = "application/problem+json"
PLACE = "/problems/"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: its status, its title, and what works instead."""

    status: int
    title: str
    instead: str


KINDS: Mapping[str, ProblemKind] = {
    "question": ProblemKind(
        422, "The question cannot be answered privately as asked", "see the member `instead`"
    ),
    "parameter": ProblemKind(
        422, "A parameter is not understood", "correct the parameter that `detail` names"
    ),
    "budget": ProblemKind(
        402, "A limit of the budget does not suffice", "ask for a cheaper answer, or the curator"
    ),
    "conflict": ProblemKind(
        409,
        "It contradicts what was said before",
        "choose another Idempotency-Key, or name, or look at what has changed",
    ),
    "busy": ProblemKind(
        503, "Too much is going on", "ask again after the time in Retry-After; nothing was charged"
    ),
    "failed": ProblemKind(
        500,
        "The question was not answered",
        "what was paid stays paid; what broke off may be asked again with the same Idempotency-Key",
    ),
    "unproved": ProblemKind(
        501, "The question could not be proved private", "ask it in another way; nothing was paid"
    ),
    "ledger": ProblemKind(
        503, "The ledger cannot be used", "the curator must look after it; nothing was released"
    ),
    "identity": ProblemKind(401, "The token is missing or not good", "send Authorization: Bearer TOKEN"),
    "role": ProblemKind(403, "Your role may not do this", "ask the curator for a token of another role"),
    "nothing": ProblemKind(
        404, "There is nothing of that name for you", "see /v1/datasets for what there is"
    ),
    "method": ProblemKind(405, "This address does not know the method", "see /openapi.json"),
    "large": ProblemKind(413, "The request is too large", "ask shorter questions"),
    "slow": ProblemKind(408, "The request came too slowly", "send it again, in one piece"),
    "malformed": ProblemKind(
        400, "The request is not well formed", "see /openapi.json for what is understood"
    ),
    "rate": ProblemKind(
        429, "You ask too often", "ask again after the time in Retry-After; nothing was charged"
    ),
}


@dataclass(frozen=True, slots=True)
class ServiceProblem:
    """One refusal: its kind, what is said about this very case, and after how many seconds to come again."""

    kind: str
    detail: str
    parts: Mapping[str, str | int] = field(default_factory=dict)
    retry: int | None = None

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return KINDS[self.kind].status

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that go with it."""
        found = {} if self.retry is None else {"Retry-After": str(self.retry)}
        return found | ({"WWW-Authenticate": "Bearer"} if self.kind == "identity" else {})

    def body(self) -> bytes:
        """Return the problem as JSON."""
        kind = KINDS[self.kind]
        stated: dict[str, object] = {
            "type": f"{PLACE}{self.kind}",
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "instead": kind.instead,
        }
        return json.dumps({**stated, **self.parts}).encode()


FAILED = ServiceProblem(
    "failed", "something went wrong, for a question perhaps after it was paid for; nothing more can be said"
)
NOTHING = ServiceProblem("nothing", "it does not exist, or it is not for you")
UNKNOWN = ServiceProblem("identity", "no token, or one that is unknown, expired or revoked")
FORBIDDEN = ServiceProblem("role", "this is not for your role")


def of(error: DiscreetError) -> ServiceProblem:
    """Return how a deliberate error is told over the network; addresses on this machine are not."""
    match error:
        case QueryError(clause=clause, reason=reason, instead=instead, place=place):
            parts: dict[str, str | int] = {"clause": clause, "reason": reason, "instead": instead}
            parts |= {} if place is None else {"line": place[0], "column": place[1]}
            return ServiceProblem("question", str(error), parts)
        case BudgetError():
            return ServiceProblem("budget", str(error))
        case BusyError():
            return ServiceProblem("busy", str(error), retry=1)
        case ConflictError():
            return ServiceProblem("conflict", str(error))
        case ProofError(part=part, reason=reason):
            return ServiceProblem("unproved", str(error), {"clause": part, "reason": reason})
        case LedgerError():
            return ServiceProblem("ledger", "it cannot be reached or trusted")
        case ParameterError() | CatalogError():
            return ServiceProblem("parameter", str(error))
        case _:
            return FAILED


def raised(body: Mapping[str, Any]) -> DiscreetError:
    """Return the error that a problem stands for, on the analyst's side."""
    kind = str(body.get("type", "")).removeprefix(PLACE)
    detail = str(body.get("detail", "the service gave no reason"))
    match kind:
        case "question":
            clause, reason, instead = (str(body.get(part, "")) for part in ("clause", "reason", "instead"))
            place = (int(body["line"]), int(body["column"])) if "line" in body and "column" in body else None
            return QueryError(clause, reason, instead, place)
        case "budget":
            return BudgetError(detail)
        case "busy" | "rate":
            return BusyError(detail)
        case "conflict":
            return ConflictError(detail)
        case "unproved":
            return ProofError(str(body.get("clause", "")), str(body.get("reason", "")))
        case "ledger":
            return LedgerError(f"the ledger of the service cannot be used: {detail}")
        case "parameter" | "large" | "malformed" | "method":
            return ParameterError(detail)
        case "identity" | "role" | "nothing":
            return AccessError(f"{body.get('title')}: {detail}")
        case "failed":
            return EngineError(f"{body.get('title')}; {body.get('instead')}")
        case _:
            return ServiceError(f"the service answered with a problem this version does not know: {detail}")
