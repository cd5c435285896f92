"""Locks on one file, told apart by name: held by one process, until it lets go or ends, however it ends.

Each name is one byte of the file, locked by POSIX record locks.  So nothing is left behind by a kill, a
forked child inherits nothing, and any number of names need one small file.  Such locks have a trap: they
belong to the process and are dropped when it closes *any* descriptor of the file.  So a process has one
descriptor for each file, shared by whoever needs it, and keeps its own list of who holds what.

Waiting is by asking again, with a bound.
"""

import fcntl
import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from discreet.errors import LedgerError

SHORTEST_PAUSE, LONGEST_PAUSE = 0.0002, 0.002


class Locks:
    """The locks on one file, for all threads of this process; use `locks_at`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._place = str(path)
        self._descriptor = descriptor
        self._held: set[int] = set()
        self._change = threading.Condition()

    def take(self, name: str, patience: float = 0) -> bool:
        """Try to become the only holder of a name, for so many seconds; return whether it worked."""
        place, deadline, pause = _place(name), time.monotonic() + patience, SHORTEST_PAUSE
        while not self._try(place):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._change:
                self._change.wait(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def free(self, name: str) -> None:
        """Let others hold a name."""
        place = _place(name)
        with self._change:
            if place in self._held:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
                self._held.discard(place)
                self._change.notify_all()

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
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._place))
        return False

    def _try(self, place: int) -> bool:
        with self._change:
            if place in self._held:
                return False
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError:
                return False
            self._held.add(place)
            return True


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


os.register_at_fork(after_in_child=_forget)
