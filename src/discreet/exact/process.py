"""Which process this is, and what may live in one process only.

A forked child inherits its parent's memory, so whatever must be used once (a keystream, the noise of a
threshold, the state of a stream) would be used twice.  Process ids do not tell the two apart: a child may be
the first process of a new namespace, as its parent was of its own, and ids are given again.  So every fork
made through Python renews a token, and a page of memory that the kernel empties in every child, where the
system has such pages, tells of forks that Python did not see.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import Any

from discreet.errors import BudgetError

_WIPE_ON_FORK = 18
"""Linux's MADV_WIPEONFORK, which the mmap module does not name."""


def _wiped_in_children() -> mmap.mmap | None:
    with suppress(OSError, ValueError, AttributeError):
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
        return page
    return None


_page = _wiped_in_children()
_process = 0
_token = object()


def _renew() -> None:
    global _process, _token
    _process, _token = os.getpid(), object()
    if _page is not None:
        _page[0] = 1


_renew()
os.register_at_fork(after_in_child=_renew)


def this_process() -> object:
    """Return a token that no other process holds, neither parent nor child."""
    if os.getpid() != _process or (_page is not None and _page[0] == 0):
        _renew()
    return _token


class Life:
    """One life: in the process where it began, one turn at a time, whatever threads and signals do."""

    __slots__ = ("_busy", "_lock", "_process", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = this_process()
        self._lock = RLock()
        self._busy = False

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Have a turn alone; refused in a forked child, and from within a turn."""
        # Before the lock, which the child inherits as another thread held it.
        if self._process is not this_process():
            raise BudgetError(
                f"this {self._what} lives in the process that opened it, and this is a fork of that process: "
                "both would release from the same budget; open another one here"
            )
        with self._lock:
            if self._busy:
                raise BudgetError(
                    f"this {self._what} is in the middle of an answer; ask again when it is out"
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False


def no_copies(original: Any, *_: object) -> Any:
    """Refuse to copy or to pickle; classes take this as their own `__copy__` and its relatives."""
    raise BudgetError(
        f"a {type(original).__name__.lower()} cannot be copied or pickled: "
        "the copy would release from the same budget again"
    )
