"""The door of the console: pages under /console, everything else is the service's own.

Whatever comes in has a size and a time; whatever goes out has the same guarding headers.  Nothing of a page
comes from elsewhere, no script or style stands in a page itself, and no page can be framed.
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from discreet.console.visit import Cookie, Visits
from discreet.service.gate import SECURE, Gate, again, whole
from discreet.service.pace import Rates
from discreet.service.settings import Settings

PREFIX = "/console"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
GUARDS = {
    b"content-security-policy": POLICY.encode(),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"same-origin",
    b"x-content-type-options": b"nosniff",
}
KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
SAME = ("same-origin", "none")
"""What browsers say of a request that no other site made."""


class Door:
    """An ASGI application before another one."""

    def __init__(
        self,
        pages: Callable[..., Any],
        service: Gate,
        visits: Visits,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pages, self._service, self._visits, self._settings = pages, service, visits, settings
        self._clock = clock
        self._strangers = Rates(20.0, 100.0)
        self.cookie = cookie_of(settings)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Show a page, or pass a request on."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path in ("/", PREFIX) or path.startswith(f"{PREFIX}/")):
            await self._service(scope, receive, send)
            return
        begun: list[int] = []

        async def guarded(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                begun.append(message["status"])
                headers = list(message.get("headers", ()))
                if b"cache-control" not in [name for name, _ in headers]:
                    headers.append((b"cache-control", b"no-store"))
                extra = GUARDS | (SECURE if self._settings.certificate is not None else {})
                message = message | {"headers": [*headers, *extra.items()]}
            await send(message)

        try:
            await self._show(scope, receive, guarded)
        except Exception:
            # A fault of the console itself: nothing is told but that there was one.
            if not begun:
                await plain(guarded, 500, "Something went wrong. Nothing more can be said.")
        route = getattr(scope.get("route"), "path", f"{PREFIX}/other")
        self._service.counts[route, begun[0] if begun else 0] += 1

    async def _show(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        path, headers = scope["path"], _headers(scope)
        if path in ("/", PREFIX):
            await plain(send, 303, "", {"location": f"{PREFIX}/"})
            return
        if path.startswith(f"{PREFIX}/static/"):
            await _file(send, path.removeprefix(f"{PREFIX}/static/"))
            return
        at, identity = self._clock(), self.cookie.read(headers)
        visit = self._visits.find(identity, at)
        who = self._strangers if visit is None else self._service.rates
        wait = who.wait(_address(scope) if visit is None else visit.person.name, at)
        if wait > 0:
            later = {"retry-after": str(max(1, math.ceil(wait)))}
            await plain(send, 429, "Too many requests; come again in a moment.", later)
            return
        if scope["method"] == "POST" and headers.get("sec-fetch-site", "same-origin") not in SAME:
            await plain(send, 403, "This form was sent from another site.")
            return
        if "content-length" in headers and "transfer-encoding" in headers:
            await plain(send, 400, "A request states its length in one way, not in two.")
            return
        try:
            async with asyncio.timeout(self._settings.patience):
                body = await whole(receive, self._settings.body)
        except TimeoutError:
            await plain(send, 408, "The request came too slowly.")
            return
        if body is None:
            await plain(send, 413, "The request is too large.")
            return
        scope.setdefault("state", {}).update(visit=visit, identity=identity, at=at)
        await self._pages(scope, again(body, receive), send)


def cookie_of(settings: Settings) -> Cookie:
    """Return how visits travel here: beyond this machine only over TLS, whoever ends it."""
    return Cookie(settings.certificate is not None or settings.plain_text)


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key == "cookie" and key in found else text
    return found


def _address(scope: Mapping[str, Any]) -> str:
    client = scope.get("client") or ("",)
    return f"stranger {client[0]}"


async def _file(send: Any, name: str) -> None:
    """Send a file of ours, by its exact name."""
    known = {file.name: file for file in files("discreet.console").joinpath("static").iterdir()}
    kind = KINDS.get(name.rpartition(".")[2])
    if name not in known or kind is None:
        await plain(send, 404, "There is nothing here.")
        return
    headers = {"content-type": kind, "cache-control": "max-age=3600"}
    await plain(send, 200, known[name].read_text(encoding="utf-8"), headers)


async def plain(send: Any, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
    """Send a few words, or a file, as they are."""
    body = text.encode()
    sent = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))} | dict(
        headers or {}
    )
    pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
