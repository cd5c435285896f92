"""How the wire says no: errors with SQLSTATE, hint and position, out of the same problems as over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.service.problem import KINDS, PLACE, ServiceProblem
from discreet.service.wire import frame

STATES: Mapping[str, str] = {
    "question": "42000",
    "parameter": "22023",
    "budget": "53400",
    "conflict": "23505",
    "busy": "53000",
    "failed": "XX000",
    "unproved": "0A000",
    "ledger": "58000",
    "identity": "28000",
    "role": "42501",
    "nothing": "3D000",
    "rate": "53000",
}
"""The SQLSTATE of each kind of problem that can happen on the wire."""

UNREADABLE = "42601"
PROTOCOL = "08P01"
UNSUPPORTED = "0A000"


@dataclass(eq=False)
class Fault(Exception):  # noqa: N818
    """An error as it is told: its state, its words, what works instead, and where in the text (from 1)."""

    state: str
    words: str
    hint: str | None = None
    position: int | None = None
    detail: str | None = None

    def told(self, severity: str = "ERROR") -> bytes:
        """Return the error as a message."""
        fields = {"S": severity, "V": severity, "C": self.state, "M": self.words}
        if self.detail is not None:
            fields["D"] = self.detail
        if self.hint is not None:
            fields["H"] = self.hint
        if self.position is not None:
            fields["P"] = str(self.position)
        return frame.notice(fields, error=True)

    def within(self, offset: int) -> "Fault":
        """Return the error of a statement that stands further back in what was sent."""
        return self if self.position is None else replace(self, position=self.position + offset)


class Gone(Fault):
    """An error that ends the connection."""


def notice(words: str, detail: str | None = None, severity: str = "NOTICE", state: str = "00000") -> bytes:
    """Return a notice."""
    fields = {"S": severity, "V": severity, "C": state, "M": words}
    return frame.notice(fields | ({} if detail is None else {"D": detail}))


def of(stated: ServiceProblem, sql: str = "") -> Fault:
    """Return a problem as an error of the wire."""
    return read({"type": f"{PLACE}{stated.kind}", "detail": stated.detail, **stated.parts}, sql)


def read(body: Mapping[str, Any], sql: str = "") -> Fault:
    """Return the problem that a worker sent as an error of the wire."""
    kind = str(body.get("type", "")).removeprefix(PLACE)
    known = KINDS.get(kind, KINDS["failed"])
    state = STATES.get(kind, STATES["failed"])
    if kind == "question":
        unreadable = body.get("clause") == "the question"
        return Fault(
            UNREADABLE if unreadable else state,
            f"{body.get('clause')}: {body.get('reason')}",
            str(body.get("instead")),
            _position(sql, body.get("line"), body.get("column")),
        )
    return Fault(state, str(body.get("detail", known.title)), known.instead)


def _position(sql: str, line: object, column: object) -> int | None:
    """Return the place of a line and column in a text, counted from 1."""
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    lines = sql.splitlines(keepends=True)
    place = sum(map(len, lines[: line - 1])) + column
    return place if 1 <= place <= len(sql) + 1 else None
