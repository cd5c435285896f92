"""Work that is done in a process of its own: what fails, hangs or grows there takes nothing with it.

Such a process gets one JSON message at a time through a pipe and gives bytes back.  It knows no data, no
token and no visit; it is started when it is first wanted, and again when it has died.
"""

import asyncio
import os
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from discreet.service import pipe

WAITING = 8
"""So many may wait for their turn; more are sent away at once."""


class Process:
    """A module that runs as a program, and the pipes to it; one message at a time."""

    def __init__(self, module: str, patience: float) -> None:
        self._module, self._patience = module, patience
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def ask(self, head: Mapping[str, Any]) -> bytes | None:
        """Return what comes back, None where nothing does in time."""
        if self._waiting >= WAITING:
            return None
        self._waiting += 1
        try:
            async with self._turn:
                return await self._asked(head)
        finally:
            self._waiting -= 1

    async def _asked(self, head: Mapping[str, Any]) -> bytes | None:
        try:
            async with asyncio.timeout(self._patience):
                return await self._exchange(head)
        except (EOFError, OSError, TimeoutError):
            await self._end()
            return None
        except BaseException:
            # Whoever waited is gone, and what comes now would be taken for the next answer.
            await self._end()
            raise

    async def _exchange(self, head: Mapping[str, Any]) -> bytes | None:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", self._module),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        incoming, outgoing = self._process.stdout, self._process.stdin
        if incoming is None or outgoing is None:
            raise EOFError("the process has no pipes")
        outgoing.write(pipe.write(head))
        await outgoing.drain()
        sizes = pipe.lengths(await incoming.readexactly(pipe.LENGTHS.size))
        whole = await incoming.readexactly(sum(sizes))
        return whole[sizes[0] :] if pipe.head_of(whole[: sizes[0]])["done"] else None

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def attend(work: Callable[[Mapping[str, Any]], bytes]) -> None:
    """Work until the pipe closes; whatever is printed goes nowhere, and a crash leaves no core."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(EOFError, BrokenPipeError):
        while True:
            head, _ = pipe.read(incoming)
            try:
                reply = pipe.write({"done": True}, work(head))
            except Exception:
                reply = pipe.write({"done": False})
            outgoing.write(reply)
