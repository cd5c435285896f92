"""Leases in PostgreSQL: a row names a run and who runs it, and an advisory lock shows that they live.

Whoever leases anything has one connection for it, which holds one lock of a random number; the server frees
it when the connection ends.  A stranger who takes a lock of the same number is another process, and changes
nothing.  What is answered for good is let go of in the transaction that answers it.
"""

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.codec import digest
from discreet.ledger.pool import first_line
from discreet.ledger.tables import FREE, TAKE

TRIES, PAUSE = 3, 0.2
"""How often, and after how many seconds, a connection lost before anything was written is renewed."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.02


class Leases:
    """What one process runs, asked for on a connection of its own: others may be in a transaction."""

    def __init__(self, connect: Callable[[], Any], failure: type[Exception], name: str) -> None:
        self._connect = connect
        self._failure = failure
        self._name = name
        self._held: dict[str, int] = {}
        self._connection: Any = None
        self._number = 0
        self._guard = threading.Lock()
        self._closed = False

    def take(self, key: str, patience: float) -> bool:
        """Write one's name beside the run's, unless whoever stands there is alive."""
        deadline, pause = time.monotonic() + patience, SHORTEST_PAUSE
        while not self._try(key):
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def _try(self, key: str) -> bool:
        with self._guard:
            if key in self._held:
                return False
            name = digest(key.encode())
            taken = self._ask(lambda number: f"EXECUTE discreet_take ('{name}', {number})")
            if taken:
                self._held[key] = self._number
            return taken

    def held(self, key: str) -> tuple[str, int] | None:
        """Return the name of a run that one holds, and the number that stands beside it."""
        number = self._held.get(key)
        return None if number is None else (digest(key.encode()), number)

    def free(self, key: str, *, settled: bool = False) -> None:
        """Remove one's name, unless it went with the commit that settled the run."""
        with self._guard:
            number = self._held.pop(key, None)
            if number is not None and not settled:
                with suppress(LedgerError):
                    self._ask(lambda _: f"EXECUTE discreet_free ('{digest(key.encode())}', {number})")

    def close(self) -> None:
        """Close the connection, which frees its lock."""
        self._closed = True
        with self._guard:
            self._held.clear()
            if self._connection is not None:
                self._connection.close()

    def _ask(self, statements: Callable[[int], str]) -> bool:
        """Run some statements, given the number of one's lock; return whether the last one found a row."""
        if self._closed:
            raise LedgerError(f"the ledger {self._name} was closed; open it again")
        problem: Exception | None = None
        for left in reversed(range(TRIES)):
            try:
                if self._connection is None or self._connection.closed:
                    self._renew()
                cursor = self._connection.execute(statements(self._number).encode())
                while cursor.nextset():
                    pass
                return cursor.pgresult.nfields > 0 and cursor.fetchone() is not None
            except self._failure as error:
                # A lock that a lost connection held is free, and a name that it wrote is nobody's.
                problem = error
                self._connection.close()
            except LedgerError:
                if not left:
                    raise
            if left:
                time.sleep(PAUSE)
        raise LedgerError(
            f"the ledger {self._name} cannot be reached: {first_line(problem or LedgerError())}"
        )

    def _renew(self) -> None:
        self._connection, self._number = self._connect(), secrets.randbits(63)
        self._connection.execute(
            f"SELECT pg_advisory_lock({self._number}); PREPARE discreet_take (text, bigint) AS {TAKE}; "
            f"PREPARE discreet_free (text, bigint) AS {FREE}".encode()
        )
