"""What every page needs: who is there, what their form says, and a page around what is shown."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse

from discreet.console.desk import Desk, Refused, refusal
from discreet.console.door import PREFIX
from discreet.console.page import render
from discreet.console.visit import Cookie, Visit, Visits, fresh
from discreet.service import problem
from discreet.service.people import People
from discreet.service.problem import ServiceProblem
from discreet.service.role import Role, Verb, may, sees_all

FIELDS = 40
CHARTS = 40
LARGEST = 200_000


Draw: TypeAlias = Callable[[Mapping[str, Any], str], Awaitable[bytes | None]]
"""What makes a picture, in one of its forms, of a chart's specification, or nothing."""


Work: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[bytes | None]]
"""What works something out for the laboratory, or comes to nothing."""


class SignIn(Exception):  # noqa: N818 - not an error: whoever meets it is shown where to sign in
    """Nobody has signed in."""


class Forged(Exception):  # noqa: N818
    """A form is not from a page of this visit."""


@dataclass(frozen=True, slots=True)
class Room:
    """All that the pages share."""

    desk: Desk
    visits: Visits
    people: People
    cookie: Cookie
    draw: Draw
    work: Work
    survey: Work
    charts: OrderedDict[tuple[str, ...], bytes] = field(default_factory=OrderedDict)
    """The newest charts, which take long to make: by who saw them, dataset, question and confidence."""

    def visit(self, request: Request) -> Visit:
        """Return who is there."""
        found: Visit | None = request.state.visit
        if found is None:
            raise SignIn
        return found

    def allowed(self, request: Request, verb: Verb, dataset: str) -> Visit:
        """Return who is there, if their role may do this and the dataset is theirs."""
        visit = self.visit(request)
        if not may(visit.person.role, verb):
            raise refusal(problem.FORBIDDEN)
        if dataset not in self.desk.known_to(visit.person):
            raise refusal(problem.NOTHING)
        return visit

    async def form(self, request: Request, most: int = FIELDS) -> dict[str, str]:
        """Return what a form says; refuse one that did not come from a page of this visit."""
        try:
            text = (await request.body()).decode()
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=most, errors="strict")
        except ValueError:
            raise refusal(ServiceProblem("malformed", "the form cannot be read")) from None
        found = dict(pairs)
        if len(found) != len(pairs):
            raise refusal(ServiceProblem("malformed", "a field of the form stands there twice"))
        if not self.visits.ours(request.state.identity, found.pop("seal", "")):
            raise Forged
        return {name: value.replace("\r\n", "\n") for name, value in found.items()}

    def page(self, request: Request, template: str, *, status: int = 200, **shown: object) -> HTMLResponse:
        """Return a page; whoever has no cookie gets one, so that its forms can be told from forged ones."""
        visit: Visit | None = request.state.visit
        identity = request.state.identity
        known = identity or fresh()
        frame = {
            "seal": self.visits.seal(known),
            "visit": visit,
            "tabs": () if visit is None else tabs(visit.person.role),
            "dataset": None,
            "tab": None,
            "drafts": visit is not None and may(visit.person.role, Verb.DRAFT),
        }
        response = HTMLResponse(render(template, **(frame | shown)), status)
        if identity is None:
            response.headers["set-cookie"] = self.cookie.write(known)
        return response

    def keep(self, place: tuple[str, ...], chart: bytes) -> None:
        """Remember a chart that is not too large."""
        if len(chart) <= LARGEST:
            self.charts[place] = chart
        while len(self.charts) > CHARTS:
            self.charts.popitem(last=False)

    def trouble(self, request: Request, refused: Refused) -> HTMLResponse:
        """Return the page of a refusal."""
        return self.page(request, "problem.html", status=refused.status, said=refused.said)


def tabs(role: Role) -> tuple[str, ...]:
    """Return the pages of a dataset that are for somebody in this role."""
    asking = ("ask", "batch", "streams", "answers") if may(role, Verb.QUERY) else ()
    looking = ("ledger",) if sees_all(role) else ()
    deciding = ("people",) if may(role, Verb.LIMIT) else ()
    return ("catalogue", *asking, "budget", *deciding, *looking)


def address(dataset: str, *parts: str | int, **asked: str) -> str:
    """Return the address of a page of a dataset."""
    path = "/".join(quote(str(part), safe="") for part in (dataset, *parts))
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items())
    return f"{PREFIX}/data/{path}" + (f"?{query}" if query else "")


def go(where: str, headers: Mapping[str, Any] | None = None) -> RedirectResponse:
    """Return the browser to another page, with GET."""
    return RedirectResponse(where, 303, dict(headers or {}))
