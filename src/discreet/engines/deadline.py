"""How long a question may run: past its time it is interrupted, and ends as a failure like any other."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN = 0.5
"""After so many seconds whatever has not ended is interrupted again."""


@contextmanager
def deadline(seconds: float | None, interrupt: Callable[[], None]) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds; None is for ever.

    An engine forgets an interruption that comes between two of its statements, or before the first of them,
    so one is not enough.
    """
    if seconds is None:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        waiting = seconds
        while not ended.wait(waiting):
            interrupt()
            waiting = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
