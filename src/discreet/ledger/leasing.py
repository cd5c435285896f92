"""Leases in PostgreSQL: a row names a run and who runs it, and an advisory lock shows that they live.

The server frees the lock when the connection ends.  A stranger who takes a lock of the same number is another
process, and changes nothing.
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
from discreet.ledger.tables import ALIVE

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
        self._guard = threading.Lock()
        self._closed = False

    def take(self, key: str, patience: float) -> bool:
        """Write one's name beside the run's, unless whoever stands there is alive."""
        name, deadline, pause = digest(key.encode()), time.monotonic() + patience, SHORTEST_PAUSE
        while not self._try(key, name):
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        return True

    def _try(self, key: str, name: str) -> bool:
        number = secrets.randbits(63)
        with self._guard:
            if key in self._held:
                return False
            taken = self._ask(
                f"SELECT pg_advisory_lock({number}); "
                f"INSERT INTO discreet_lease AS held VALUES ('{name}', {number}, pg_backend_pid()) "
                "ON CONFLICT (name) DO UPDATE SET number = excluded.number, pid = excluded.pid "
                f"WHERE NOT EXISTS ({ALIVE}) RETURNING 1"
            )
            if taken:
                self._held[key] = number
            else:
                self._ask(f"SELECT pg_advisory_unlock({number})")
            return taken

    def free(self, key: str) -> None:
        """Remove one's name."""
        with self._guard:
            number = self._held.pop(key, None)
            if number is not None:
                with suppress(LedgerError):
                    self._ask(
                        f"DELETE FROM discreet_lease WHERE name = '{digest(key.encode())}' "
                        f"AND number = {number}; SELECT pg_advisory_unlock({number})"
                    )

    def close(self) -> None:
        """Close the connection, which frees every lock that it holds."""
        self._closed = True
        with self._guard:
            self._held.clear()
            if self._connection is not None:
                self._connection.close()

    def _ask(self, statements: str) -> bool:
        if self._closed:
            raise LedgerError(f"the ledger {self._name} was closed; open it again")
        problem: Exception | None = None
        for left in reversed(range(TRIES)):
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self._connect()
                cursor = self._connection.execute(statements.encode())
                while cursor.nextset():
                    pass
                return cursor.fetchone() is not None
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
