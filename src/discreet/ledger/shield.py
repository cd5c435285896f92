"""Work that no interrupt reaches: it is done in a thread of its own, while the caller only waits.

Python raises KeyboardInterrupt, and whatever a signal handler raises, between any two instructions of the
main thread; so no `finally` there is sure to be entered, and a lock or a transaction may stay behind.
Other threads are not interrupted.  A caller whose waiting is interrupted goes its way; the work comes to its
own end, can learn that nobody waits for it, and what it led to is handed to `dropped`.

A process that forks leaves these threads behind; the child begins with none.
"""

import _thread
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from discreet.errors import BusyError

Result = TypeVar("Result")
PATIENCE = 5.0
"""For so many seconds an interrupted caller waits until what it leaves behind has come to its end."""


class Work(Generic[Result]):
    """One piece of work, its outcome, and whether anybody still waits for it."""

    def __init__(self, act: Callable[[], Result], dropped: Callable[[Result], object]) -> None:
        self._act = act
        self._dropped = dropped
        self._outcome: list[Result] = []
        self._error: BaseException | None = None
        self.sent = self.failed = self.deserted = self._over = False
        self._handing_over = threading.Lock()
        # A plain lock and not an event: an interrupted waiter cannot leave it in a state that stops others.
        self._ended = threading.Lock()
        self._ended.acquire()

    def run(self) -> None:
        """Do it, and end with what it leads to."""
        try:
            result = self._act()
        except BaseException as error:
            self.fail(error)
        else:
            self.succeed(result)

    def succeed(self, result: Result) -> None:
        """End with a result."""
        self._outcome.append(result)
        self._end()

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._error, self.failed = error, True
        self._end()

    def _end(self) -> None:
        with self._handing_over:
            self._over = True
            unwanted = self._outcome[:] if self.deserted else []
        self._ended.release()
        for result in unwanted:
            self._dropped(result)

    def desert(self, interrupt: Callable[[], object]) -> None:
        """Say that nobody waits any more; only where nothing interrupts."""
        with self._handing_over:
            self.deserted, over = True, self._over
        if not over:
            interrupt()
            return
        for result in self._outcome:
            self._dropped(result)

    def settle(self, patience: float) -> bool:
        """Wait for the end, but not long; return whether it came."""
        if self.sent and not self._over and self._ended.acquire(timeout=patience):
            self._ended.release()
        return self._over

    def result(self) -> Result:
        """Wait for the end, and return or raise what it led to."""
        self._ended.acquire()
        if self._error is not None:
            # The error leaves through the caller; held here it would keep the caller's frames alive.
            error, self._error = self._error, None
            raise error
        return self._outcome[0]


class _Worker:
    """A thread that does one piece of work after another."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[tuple[Work[Any], Work[Any]]] = SimpleQueue()
        # Not through `threading`, whose own locks an interrupted caller could leave behind.
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        while True:
            self._do(*self.inbox.get())
            _idle.append(self)

    def _do(self, work: Work[Any], cause: Work[Any]) -> None:
        _mine.work = cause
        with suppress(Exception):
            work.run()
        _mine.work = None


_idle: list[_Worker] = []
_mine = threading.local()


def shielded(
    act: Callable[[], Result],
    *,
    dropped: Callable[[Result], object] = lambda result: None,
    interrupt: Callable[[], object] = lambda: None,
) -> Result:
    """Run `act` where nothing interrupts it, and return or raise what it leads to.

    If the caller is interrupted, `interrupt` is called to make the work end early, and a result that comes
    out of it all the same goes to `dropped`.
    """
    if within_shield():
        return act()
    work = Work(act, dropped)
    return _awaited(work, lambda: _send(work, work), interrupt)


def entrusted(
    give: Callable[[Work[Result]], Callable[[], object]],
    patience: float,
    *,
    dropped: Callable[[Result], object] = lambda result: None,
) -> Result:
    """Give work to a thread that nothing interrupts and that ends it; return or raise what it leads to.

    `give` hands it over in one step, or not at all, and returns what withdraws it after so many seconds.
    """
    work: Work[Result] = Work(_nothing, dropped)

    def handed_over() -> None:
        withdraw = give(work)
        work.sent = True
        if not work.settle(patience):
            _send(Work(withdraw, _ignored), work)

    return _awaited(work, handed_over, _nothing)


def _awaited(work: Work[Result], send: Callable[[], object], interrupt: Callable[[], object]) -> Result:
    try:
        send()
        work.sent = True
        return work.result()
    except BaseException:
        if not work.failed:
            leaving = Work(lambda: work.desert(interrupt), _ignored)
            _send(leaving, work)
            leaving.sent = True
            # What comes next should find everything settled; but not at the price of waiting for ever.
            for settled in (leaving, work):
                settled.settle(PATIENCE)
        raise


def _nothing() -> Any:
    """Do nothing."""


def _ignored(result: object) -> None:
    """Do nothing with a result."""


def within_shield() -> bool:
    """Return whether this thread does shielded work."""
    return getattr(_mine, "work", None) is not None


def refuse_deserted() -> None:
    """Raise BusyError if whoever asked for the work of this thread has gone away: nobody wants to pay."""
    work = getattr(_mine, "work", None)
    if work is not None and work.deserted:
        raise BusyError("whoever asked was interrupted and no longer waits for an answer")


def _send(work: Work[Any], cause: Work[Any]) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.inbox.put((work, cause))


os.register_at_fork(after_in_child=_idle.clear)
