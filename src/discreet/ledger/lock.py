"""Locks on one file, told apart by name: held by one process, until it lets go or ends, however it ends.

Each name is one byte of the file, locked by POSIX record locks.  So nothing is left behind by a kill, a
forked child inherits nothing, and any number of names need one small file.  Such locks have a trap: they
belong to the process and are dropped when it closes *any* descriptor of the file.  So a process has one
descriptor for each file, shared by whoever needs it, and keeps its own list of who holds what.

Whoever finds a name held by another process asks again a few times and then queues where the operating system
wakes one after the other, without anybody asking in vain.  Such a wait cannot be broken off, so it is done by
a thread of its own: if it takes too long, the caller goes away, and the thread lets go of what it gets.
"""

import _thread
import fcntl
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue

from discreet.errors import LedgerError

PAUSES = (0.0001, 0.0002)
"""After so many seconds one asks again, before one queues."""

LONGEST_PAUSE = 0.002


class Locks:
    """The locks on one file, for all threads of this process; use `locks_at`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._place = str(path)
        self._descriptor = descriptor
        self._file = os.fstat(descriptor)
        self._held: set[int] = set()
        self._change = threading.Condition()

    def take(self, name: str, patience: float = 0) -> bool:
        """Try to become the only holder of a name, for so many seconds; return whether it worked."""
        place, deadline = _place(name), time.monotonic() + patience
        with self._change:
            while place in self._held:
                left = deadline - time.monotonic()
                if left <= 0 or not self._change.wait(left):
                    return False
            self._held.add(place)  # no other thread of this process tries until this one has let go
        if self._lock(place, fcntl.LOCK_NB):
            return True
        if patience <= 0:
            self._let_go(place)
            return False
        for pause in PAUSES:
            time.sleep(pause)
            if self._lock(place, fcntl.LOCK_NB):
                return True
        return self._queue(place, deadline)

    def _lock(self, place: int, how: int = 0) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | how, 1, place)
        except OSError:
            return False
        return True

    def _queue(self, place: int, deadline: float) -> bool:
        """Wait in the operating system's queue; a place that comes too late is let go of."""
        wait = _Wait()

        def stand_in_line() -> None:
            got = self._lock(place)
            while not got and time.monotonic() < deadline:
                # The system takes threads of two processes that wait for each other for a deadlock.
                time.sleep(LONGEST_PAUSE)
                got = self._lock(place, fcntl.LOCK_NB)
            if not wait.end(got=got):
                self._let_go(place)

        _send(stand_in_line)
        return wait.until(deadline)

    def _let_go(self, place: int) -> None:
        with self._change:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
            self._held.discard(place)
            self._change.notify_all()

    def free(self, name: str) -> None:
        """Let others hold a name."""
        place = _place(name)
        if place in self._held:
            self._let_go(place)

    @contextmanager
    def holding(self, name: str, patience: float) -> Iterator[None]:
        """Hold a name for a while, or raise LedgerError if others never let go of it."""
        if not self.take(name, patience):
            raise LedgerError(f"{self.path} is busy: another process has held it for {patience:g} seconds")
        try:
            yield
        finally:
            self.free(name)

    def current(self) -> bool:
        """Return whether others will find the same file under its name."""
        with suppress(OSError):
            return os.path.samestat(self._file, os.stat(self._place))
        return False


class _Wait:
    """A wait that ends in one of two ways: a lock that somebody still wants, or nobody who wants it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._got = self._left = False
        self._ended = threading.Lock()
        self._ended.acquire()

    def end(self, *, got: bool) -> bool:
        """Say what became of it; return whether whoever waited now has the lock."""
        with self._guard:
            self._got = got and not self._left
        self._ended.release()
        return self._got

    def until(self, deadline: float) -> bool:
        """Wait, but no longer than this; return whether the lock was got."""
        self._ended.acquire(timeout=max(0.0, deadline - time.monotonic()))
        with self._guard:
            self._left = True
            return self._got


class _Waiter:
    """A thread that stands in one line after another: starting one takes longer than most waits."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        _thread.start_new_thread(self._serve, ())

    def _serve(self) -> None:
        while True:
            self.inbox.get()()
            _idle.append(self)


_idle: list[_Waiter] = []


def _send(errand: Callable[[], None]) -> None:
    try:
        waiter = _idle.pop()
    except IndexError:
        waiter = _Waiter()
    waiter.inbox.put(errand)


_known: dict[Path, Locks] = {}
_guard = threading.Lock()


def locks_at(path: Path) -> Locks:
    """Return the locks on the file at `path`, which is made, private and empty, where there is none."""
    with _guard:
        found = _known.get(path)
        if found is None or not found.current():
            # One that was removed or exchanged is never closed: its locks are still held by somebody here.
            found = _known[path] = Locks(path, _open(path))
        return found


def _open(path: Path) -> int:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LedgerError(f"the lock file {path} cannot be opened: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise LedgerError(f"the lock file {path} is not a plain file")
    return descriptor


@lru_cache(1024)
def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")


def _forget() -> None:
    """In a forked child: it holds none of the locks, and its threads none of the guards."""
    global _guard
    _guard = threading.Lock()
    _known.clear()
    _idle.clear()


os.register_at_fork(after_in_child=_forget)
