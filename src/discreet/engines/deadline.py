"""How long a question may run: past its time it is interrupted, and ends as a failure like any other."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deadline(seconds: float | None, interrupt: Callable[[], None]) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds; None is for ever."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
