"""How the body of a request is read: as JSON that says one thing, on whichever way it came.

Python's own reading takes the last of two members of one name, and numbers that JSON does not have.  A
request that says two prices must not be paid at one of them.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import Request, Response
from fastapi.routing import APIRoute


def read(body: bytes) -> Any:
    """Return what a body says; raises json.JSONDecodeError, or another ValueError, where it is not JSON."""
    return json.loads(body, object_pairs_hook=_once, parse_constant=_number)


def _once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) != len(members):
        raise json.JSONDecodeError("a member stands twice in one object", "", 0)
    return found


def _number(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a number", "", 0)


class _Strict(Request):
    async def json(self) -> Any:
        """Return what the body says."""
        return read(await self.body())


class StrictRoute(APIRoute):
    """An address whose bodies are read as here."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await answer(_Strict(request.scope, request.receive))

        return strictly
