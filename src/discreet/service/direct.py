"""The two addresses that are asked most, straight to a worker: a question and its quote.

Only what is plain goes this way: each header once, a body that is what was described.  Everything else goes
the long way round, where it is understood or told what is wrong with it, so that the same request means the
same on both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from discreet.service.body import read
from discreet.service.gate import again, whole
from discreet.service.people import Person
from discreet.service.role import Verb
from discreet.service.schema import Question, ToQuote
from discreet.service.way import Asking, wanted

_PLACE = re.compile(r"/v1/datasets/([^/]+)/(query|quote)")
_KEY = re.compile(r"[\x21-\x7e]{1,100}")
_HEARD = frozenset({b"accept", b"content-type", b"idempotency-key"})


@dataclass(frozen=True, slots=True)
class _Way:
    """An address as it is counted."""

    path: str
    verb: Verb
    model: type[BaseModel]


_WAYS = {
    "query": _Way("/v1/datasets/{dataset}/query", Verb.QUERY, Question),
    "quote": _Way("/v1/datasets/{dataset}/quote", Verb.QUOTE, ToQuote),
}


@dataclass(frozen=True, slots=True)
class Direct:
    """An ASGI application before another one; the gate has let in whoever comes here."""

    inner: Callable[..., Any]
    ask: Asking
    limit: int

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Answer a plain question, or pass on whatever else it is."""
        place = _PLACE.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        heard = None if place is None else _heard(scope["headers"])
        if place is None or heard is None:
            await self.inner(scope, receive, send)
            return
        way = _WAYS[place[2]]
        body = await whole(receive, self.limit) or b""
        sent = _understood(way.model, body)
        if sent is None:
            await self.inner(scope, again(body, receive), send)
            return
        scope["route"] = way
        person: Person = scope["state"]["person"]
        key = heard.get("idempotency-key") if way.verb is Verb.QUERY else None
        response = await self.ask.reply(
            person, way.verb, place[1], sent, kind=wanted(heard.get("accept", "")), key=key
        )
        await response(scope, receive, send)


def _heard(headers: list[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """Return the headers that say something here, None where one of them is not plain."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name in _HEARD:
            if name.decode() in found:
                return None
            found[name.decode()] = value.decode("latin-1")
    key = found.get("idempotency-key")
    if found.get("content-type") != "application/json" or (key is not None and not _KEY.fullmatch(key)):
        return None
    return found


def _understood(model: type[BaseModel], body: bytes) -> dict[str, Any] | None:
    try:
        return model.model_validate(read(body)).model_dump(mode="json")
    except (ValueError, RecursionError):
        return None
