"""Worker processes: each answers one request at a time, and is killed and replaced past its limits.

A request whose worker dies has one outcome, whatever the reason: None, at the end of a slot.  What the ledger
took for it stays spent.  A worker is never given up half way: it finishes its request although nobody may
wait any more, or it is killed.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from discreet.errors import BusyError, ServiceError
from discreet.service import pipe
from discreet.service.pace import until_slot
from discreet.service.settings import Settings

STARTING = 120.0
"""For so many seconds a worker may open data."""

ENDING = 0.2
"""For so many seconds a process that has closed its pipes may take to be gone."""

BETWEEN = 1.0
LONGEST_PAUSE = 30.0

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Workers use all cores together: threads of linear algebra would spin in each other's way, for minutes."""


class Worker:
    """One process and the pipes to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def spawn(cls) -> "Worker":
        """Start a process: a program of its own, not a fork, so that it inherits nothing, and no lock."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "discreet.service.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=ONE_THREAD | os.environ,
                start_new_session=True,
            )
        except OSError as error:
            # Such as too many processes: what is wrong now need not be in a moment.
            raise ServiceError(f"a worker could not be started: {error.strerror}") from None
        return cls(process)

    async def open(self, settings: Settings) -> frozenset[str]:
        """Wait until data is open and return the datasets, or end the process and say why it could not."""
        told = {
            "manifests": [str(path.resolve()) for path in settings.manifests],
            "memory": settings.memory,
            "threads": settings.threads,
            "slot": settings.slot,
        }
        try:
            async with asyncio.timeout(STARTING):
                head, _ = await self.exchange(told)
        except (EOFError, OSError, TimeoutError):
            head = {"refused": "a worker could not be started"}
        if "refused" in head:
            await self.kill()
            raise ServiceError(head["refused"])
        return frozenset(head["datasets"])

    @property
    def number(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def gone(self) -> bool:
        """Return whether the process has ended by itself."""
        return self._process.returncode is not None

    async def exchange(self, head: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a message and return the one that comes back; raise EOFError if the process is gone."""
        incoming, outgoing = self._process.stdout, self._process.stdin
        if incoming is None or outgoing is None:
            raise EOFError("the worker has no pipes")
        outgoing.write(pipe.write(head))
        await outgoing.drain()
        sizes = pipe.lengths(await incoming.readexactly(pipe.LENGTHS.size))
        whole = await incoming.readexactly(sum(sizes))
        return pipe.head_of(whole[: sizes[0]]), whole[sizes[0] :]

    async def kill(self) -> None:
        """End the process now, whatever it does."""
        # One that is ending by itself is let: to signal it would take its end from whoever waits for that.
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDING):
                await self._process.wait()
                return
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def close(self, grace: float) -> None:
        """Let the process end by itself, or end it."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._process.wait()
                return
        await self.kill()


class Pool:
    """All workers; `async with` starts and ends them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._idle: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._all: set[Worker] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ending = asyncio.Event()
        self.waiting = 0
        self.replaced = 0
        self.datasets: frozenset[str] = frozenset()

    async def __aenter__(self) -> "Pool":
        try:
            # The first one alone: it may have to create the ledger, and says what is wrong with a manifest.
            await self._start()
            await asyncio.gather(*(self._start() for _ in range(self._settings.workers - 1)))
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    @property
    def numbers(self) -> list[int]:
        """Return the process ids of the workers."""
        return sorted(worker.number for worker in self._all)

    @property
    def idle(self) -> int:
        """Return how many workers have nothing to do."""
        return self._idle.qsize()

    async def ask(self, head: Mapping[str, Any]) -> tuple[dict[str, Any], bytes] | None:
        """Return a worker's reply, or None if it died or was killed over this request.

        Raises BusyError, before anything was asked, where too many wait already.
        """
        worker = self._at_once() or await self._later()
        # Whoever asked may go away; the worker must not be handed on before it has finished.
        return await asyncio.shield(self._keep(self._run(worker, head)))

    def _at_once(self) -> Worker | None:
        """Return a worker that has nothing to do, unless somebody waits for one already."""
        while not self.waiting and not self._idle.empty():
            worker = self._idle.get_nowait()
            if not worker.gone:
                return worker
            # One that died in the meantime cost nobody anything.
            self._keep(self._replace(worker))
        return None

    async def _later(self) -> Worker:
        """Wait for a worker that has nothing to do, where not too many wait."""
        if self.waiting >= self._settings.queue:
            raise BusyError("too many requests wait for an answer; nothing was charged")
        self.waiting += 1
        try:
            async with asyncio.timeout(self._settings.seconds):
                while (worker := await self._idle.get()).gone:
                    self._keep(self._replace(worker))
                return worker
        except TimeoutError:
            raise BusyError("no worker became free in time; nothing was charged") from None
        finally:
            self.waiting -= 1

    async def _run(self, worker: Worker, head: Mapping[str, Any]) -> tuple[dict[str, Any], bytes] | None:
        began = time.monotonic()
        try:
            # What ran as long as it may is held for a slot at most.
            async with asyncio.timeout(self._settings.seconds + self._settings.slot):
                reply = await worker.exchange(head)
        except (EOFError, OSError, TimeoutError):
            # When it died depends on the data, and can be told from when another takes its place.
            await self._hold(began)
            self._keep(self._replace(worker))
            return None
        except BaseException:
            self._keep(self._replace(worker))
            raise
        self._idle.put_nowait(worker)
        return reply

    async def _replace(self, worker: Worker) -> None:
        """Put another worker in the place of one; how long it took to be gone, and data to open, is held."""
        began = time.monotonic()
        self._all.discard(worker)
        self.replaced += 1
        await worker.kill()
        await self._hold(began)
        pause = BETWEEN
        while not self._ending.is_set():
            try:
                await self._start(began)
                return
            except ServiceError:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _start(self, began: float | None = None) -> None:
        worker = await Worker.spawn()
        # Known from its first moment on, so that it ends with the others whatever it is doing.
        self._all.add(worker)
        try:
            self.datasets = await worker.open(self._settings)
        except ServiceError:
            self._all.discard(worker)
            raise
        if began is not None:
            await self._hold(began)
        self._idle.put_nowait(worker)

    async def _hold(self, began: float) -> None:
        """Wait for the end of a slot: what took until now depends on the data."""
        await asyncio.sleep(until_slot(time.monotonic() - began, self._settings.slot))

    def _keep(self, work: Any) -> "asyncio.Task[Any]":
        """Run something to its end; the loop itself holds tasks only weakly."""
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _end(self) -> None:
        """Let every worker finish what it has begun, end those that do not, and wait for whoever waits."""
        self._ending.set()
        while self._all or self._tasks:
            workers = tuple(self._all)
            await asyncio.gather(*(worker.close(self._settings.patience) for worker in workers))
            self._all.difference_update(workers)
            await asyncio.gather(*self._tasks, return_exceptions=True)
