"""What every request meets first: its size and pace, who sent it, and how often they may.

Nothing of a request is looked at before its token is known to be good, and every response leaves with the
same guarding headers.
"""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from discreet.service import problem
from discreet.service.pace import Rates
from discreet.service.people import People, Person
from discreet.service.problem import PLACE, ServiceProblem
from discreet.service.settings import Settings

OPEN = frozenset({"/health", "/openapi.json"})
"""What needs no token, beside the explanations of problems."""

GUARDS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}
SECURE = {b"strict-transport-security": b"max-age=31536000"}


class Doorkeeper(Protocol):
    """What can be counted at the door of the PostgreSQL protocol."""

    entered: int
    refused: int

    @property
    def connections(self) -> int:
        """Return how many connections people have."""
        ...

    @property
    def strangers(self) -> int:
        """Return how many connections are nobody's yet."""
        ...


class Gate:
    """An ASGI application around another one."""

    def __init__(
        self,
        inner: Callable[..., Any],
        people: People,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._people = people.watched()
        self._settings = settings
        self.rates = Rates(settings.rate, settings.burst)
        self._clock = clock
        self.counts: Counter[tuple[str, int]] = Counter()
        self.door: Doorkeeper | None = None
        self._guards = [*(GUARDS | (SECURE if settings.certificate is not None else {})).items()]

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer one request, or pass it on with its sender's identity."""
        if scope["type"] != "http":
            return
        begun: list[int] = []

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                begun.append(message["status"])
                message = message | {"headers": [*message.get("headers", ()), *self._guards]}
            await send(message)

        try:
            found = await self._admit(scope, receive)
            if isinstance(found, ServiceProblem):
                await refuse(found, guarded)
            else:
                await self._inner(scope, found, guarded)
        except Exception:
            # A fault of the service itself: nothing is told but that there was one.
            if not begun:
                await refuse(problem.FAILED, guarded)
        route = getattr(scope.get("route"), "path", "other")
        self.counts[route, begun[0] if begun else 0] += 1

    async def _admit(self, scope: dict[str, Any], receive: Any) -> Any:
        """Return a source of the whole body for a request that may go on, else the problem with it."""
        path = scope["path"]
        if path not in OPEN and not path.startswith(PLACE):
            person = self._who(scope)
            if person is None:
                return problem.UNKNOWN
            wait = self.rates.wait(person.name, self._clock())
            if wait > 0:
                return ServiceProblem(
                    "rate", "more requests than your rate allows", retry=max(1, math.ceil(wait))
                )
            scope.setdefault("state", {})["person"] = person
        names = [name for name, _ in scope["headers"]]
        if b"content-length" in names and b"transfer-encoding" in names:
            return ServiceProblem("malformed", "a request states its length in one way, not in two")
        try:
            async with asyncio.timeout(self._settings.patience):
                body = await whole(receive, self._settings.body)
        except TimeoutError:
            return ServiceProblem("slow", f"it took more than {self._settings.patience:g} seconds to arrive")
        if body is None:
            return ServiceProblem("large", f"a request has at most {self._settings.body} bytes")
        return again(body, receive)

    def _who(self, scope: dict[str, Any]) -> Person | None:
        """Return who sent a request, by its one bearer token."""
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return None
        scheme, _, token = given[0].decode("latin-1").partition(" ")
        return self._people.holder(token.strip()) if scheme.lower() == "bearer" else None


async def whole(receive: Any, limit: int) -> bytes | None:
    """Return the body of a request, or None where it is larger than the limit."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > limit:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(body)


def again(body: bytes, receive: Any) -> Any:
    """Return a source that gives a whole body once, then what comes after it."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def source() -> Any:
        return waiting.pop() if waiting else await receive()

    return source


async def refuse(stated: ServiceProblem, send: Any) -> None:
    """Send a problem."""
    body = stated.body()
    headers = {"Content-Type": problem.MEDIA_TYPE, "Content-Length": str(len(body))} | stated.headers
    written = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": stated.status, "headers": written})
    await send({"type": "http.response.body", "body": body})
