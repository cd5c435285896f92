"""Limits of time and memory that hold in every phase: whoever may work long asks whether to go on."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from discreet.errors import ParameterError

DEFAULT_MEGABYTES = 2048
MOST_SECONDS, MOST_MEGABYTES, MOST_SAMPLES = 10**8, 2**24, 10**9
"""Limits beyond which a limit is a mistake."""
EVERY = 64
"""Memory is looked at once in so many questions about time."""


class LimitError(Exception):
    """The time or the memory that was allowed is used up; the message says which."""


_end: ContextVar[float] = ContextVar("end", default=float("inf"))
_most: ContextVar[int] = ContextVar("most", default=0)
_asked: ContextVar[int] = ContextVar("asked", default=0)


def bound(name: str, value: object, least: int, most: int, *, whole: bool = False) -> None:
    """Refuse a limit that is none."""
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most:  # type: ignore[operator]
        kind = "an integer" if whole else "a number"
        raise ParameterError(f"{name} must be {kind} from {least} to {most}, got {value!r:.40}")


def tick() -> None:
    """Go on, or raise LimitError."""
    if time.process_time() > _end.get():
        raise LimitError("the time limit was reached")
    asked = _asked.get() + 1
    _asked.set(asked)
    if asked % EVERY == 0 and 0 < _most.get() < resident():
        raise LimitError("the memory limit was reached")


def remaining() -> float:
    """Return the seconds of processor time that are left; infinite outside of any limit."""
    return _end.get() - time.process_time()


def milliseconds(most: int) -> int:
    """Return how long one question to a solver may take."""
    tick()
    left = remaining()
    return most if left == float("inf") else max(1, min(most, int(left * 1000)))


def resident() -> int:
    """Return the bytes of memory that this process holds, or 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def within(seconds: float, megabytes: int | None = None) -> Iterator[None]:
    """Limit what is done inside; an inner limit never extends an outer one."""
    ends = _end.set(min(_end.get(), time.process_time() + max(seconds, 0.0)))
    most = _most.get() if megabytes is None else resident() + megabytes * 2**20
    memory = _most.set(most)
    try:
        yield
    finally:
        _most.reset(memory)
        _end.reset(ends)
