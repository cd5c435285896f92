"""What the threads of a process share: connections, each held by one at a time, and gates passed one by one.

Nobody waits for ever, neither for a connection nor before a gate.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from discreet.errors import BusyError, LedgerError

PATIENCE = 120.0
"""For so many seconds a thread waits for the others of its process."""


class ConnectionPool:
    """At most so many connections, made when they are needed; the one that was used last is used next."""

    def __init__(self, connect: Callable[[], Any], most: int, name: str) -> None:
        self._connect = connect
        self._name = name
        self._places = threading.BoundedSemaphore(most)
        self._idle: list[Any] = []
        self.closed = False

    def take(self) -> Any:
        """Return a connection that nobody else holds, until it is given back."""
        if self.closed:
            raise LedgerError(f"the ledger {self._name} was closed; open it again")
        if not self._places.acquire(timeout=PATIENCE):
            raise BusyError(f"the ledger {self._name} is busy: other threads hold all its connections")
        try:
            return self._open_one() or self._connect()
        except BaseException:
            self._places.release()
            raise

    def give(self, connection: Any) -> None:
        """Let others hold a connection, unless it was closed."""
        if not connection.closed:
            self._idle.append(connection)
        if self.closed:
            self.forget()
        self._places.release()

    def forget(self) -> None:
        """Close the connections that nobody holds: where one was lost, the others may be."""
        while (connection := self._open_one()) is not None:
            connection.close()

    def close(self) -> None:
        """Close every connection, those that are held as soon as they are given back."""
        self.closed = True
        self.forget()

    def _open_one(self) -> Any:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if not connection.closed:
                return connection


class Gates:
    """Gates told apart by name, each passed by one thread at a time, which may pass it again."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._gates: defaultdict[str, Any] = defaultdict(threading.RLock)
        self._guard = threading.Lock()

    @contextmanager
    def passing(self, name: str) -> Iterator[None]:
        """Keep other threads away, or raise BusyError if they never leave."""
        with self._guard:
            gate = self._gates[name]
        if not gate.acquire(timeout=PATIENCE):
            raise BusyError(f"the ledger {self._name} is busy: other threads keep using it")
        try:
            yield
        finally:
            gate.release()


def first_line(error: BaseException | None) -> str:
    """Return what a server says went wrong, without the hints and positions that follow."""
    return (str(error) or type(error).__name__).strip().splitlines()[0]
