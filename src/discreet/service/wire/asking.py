"""The way of a statement to a worker and back: the same identity, roles and rates as over HTTP."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.errors import BusyError
from discreet.service import problem
from discreet.service.pace import Rates
from discreet.service.people import People, Watch
from discreet.service.pool import Pool
from discreet.service.role import Verb, may
from discreet.service.settings import Settings
from discreet.service.wire import fault, types
from discreet.service.wire.fault import Gone
from discreet.service.wire.login import Guest


@dataclass(frozen=True, slots=True)
class Asker:
    """Passes what is asked on a connection to a worker."""

    pool: Pool
    people: People
    rates: Rates
    settings: Settings
    clock: Callable[[], float] = time.monotonic
    watch: Watch | None = None
    """Recognises who came in without reading the register anew."""

    async def __call__(self, guest: Guest, verb: Verb, body: dict[str, Any], key: str | None = None) -> Any:
        """Return what a worker says."""
        person = (self.watch or self.people).current(guest.person.name, guest.number)
        if person is None:
            raise Gone(
                "28000", "the token of this connection is worth nothing any more", "connect with a new one"
            )
        if not may(person.role, verb):
            raise fault.of(problem.FORBIDDEN)
        if guest.dataset not in person.datasets or guest.dataset not in self.pool.datasets:
            raise fault.of(problem.NOTHING)
        await self._paced(person.name)
        head = {
            "verb": verb.value,
            "dataset": guest.dataset,
            "name": person.name,
            "role": person.role.value,
            "project": person.project(guest.dataset),
            "body": body,
            "kind": types.MEDIA_TYPE,
            "key": key,
        }
        try:
            reply = await self.pool.ask(head)
        except BusyError as error:
            raise fault.of(problem.of(error)) from None
        if reply is None:
            raise fault.of(problem.FAILED)
        stated, content = reply
        said = json.loads(content)
        if stated["status"] != 200:
            raise fault.read(said, str(body.get("sql", "")))
        return said

    async def _paced(self, name: str) -> None:
        """Wait until somebody's rate lets them ask, or refuse where that takes too long."""
        waited = 0.0
        while (wait := self.rates.wait(name, self.clock())) > 0:
            if waited + wait > self.settings.patience:
                raise fault.of(problem.ServiceProblem("rate", "more statements than your rate allows"))
            waited += wait
            await asyncio.sleep(wait)
