"""An anchor in PostgreSQL, for ledgers that several machines share: best on another server than the ledger's.

One schema holds one anchor.  A mark moves by comparing and setting its row in one synced statement, so of two
copies of a ledger only one ever goes on, wherever they run.
"""

import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import LedgerError
from discreet.ledger.anchor import Mark, Marks
from discreet.ledger.pool import first_line

TABLES = (
    """CREATE TABLE IF NOT EXISTS discreet_anchor (
        single BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single), ledger TEXT NOT NULL, name TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS discreet_mark (
        dataset TEXT PRIMARY KEY, number BIGINT NOT NULL, mac TEXT NOT NULL, spent TEXT NOT NULL,
        seal TEXT NOT NULL)""",
)
LIMIT = 20.0
"""For so many seconds one waits for the server to say anything at all."""

TRIES = 3


class PostgresAnchor:
    """An anchor in the first schema of a connection's search path."""

    def __init__(self, url: str) -> None:
        import psycopg

        class PatientAnchor(psycopg.Connection[Any]):
            """A connection that waits for its server only so long."""

            def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
                return super().wait(gen, interval, LIMIT if timeout is None else timeout)

        self._connect: Callable[[], Any] = lambda: PatientAnchor.connect(
            url, autocommit=True, connect_timeout=10
        )
        self._root = psycopg.Error
        parts = urlsplit(url)
        self._name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self._connection: Any = None
        self._turn = threading.Lock()

    def __str__(self) -> str:
        return self._name

    def read(self) -> Marks | None:
        """Return what is anchored, or None where there are no tables yet."""
        if self._all("SELECT to_regclass('discreet_anchor')")[0][0] is None:
            return None
        found = self._all(
            "SELECT a.ledger, a.name, m.dataset, m.number, m.mac, m.spent, m.seal "
            "FROM discreet_anchor a LEFT JOIN discreet_mark m ON TRUE"
        )
        if not found:
            return None
        heads = {row[2]: Mark(*row[3:]) for row in found if row[2] is not None}
        return Marks(found[0][0], heads, found[0][1])

    def start(self, ledger: str) -> Marks:
        """Make the tables and name the anchor, unless another was faster."""
        for statement in TABLES:
            self._all(statement)
        self._all(
            "INSERT INTO discreet_anchor (ledger, name) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (ledger, secrets.token_hex(16)),
        )
        marks = self.read()
        if marks is None:
            raise LedgerError(f"the anchor {self} cannot be written")
        return marks

    def move(self, marks: Marks, dataset: str, mark: Mark) -> Mark | None:
        """Put a mark in the place of the one that was read, if that one still stands."""
        values = mark.number, mark.mac, mark.spent, mark.seal
        before = marks.heads.get(dataset)
        anchored = "EXISTS (SELECT FROM discreet_anchor WHERE ledger = %s AND name = %s)"
        if before is None:
            moved = self._all(
                f"INSERT INTO discreet_mark SELECT %s, %s, %s, %s, %s WHERE {anchored} "
                "ON CONFLICT DO NOTHING RETURNING 1",
                (dataset, *values, marks.ledger, marks.name),
            )
        else:
            moved = self._all(
                "UPDATE discreet_mark SET number = %s, mac = %s, spent = %s, seal = %s "
                f"WHERE dataset = %s AND number = %s AND mac = %s AND seal = %s AND {anchored} RETURNING 1",
                (*values, dataset, before.number, before.mac, before.seal, marks.ledger, marks.name),
            )
        if moved:
            return None
        standing = self.read()
        found = None if standing is None else standing.heads.get(dataset)
        if (
            found is None
            or standing is None
            or (standing.ledger, standing.name) != (marks.ledger, marks.name)
        ):
            raise LedgerError(f"the anchor {self} disappeared or was exchanged while the ledger was open")
        return None if found == mark else found

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()

    def _all(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; each of them may be run again, since a mark that stands is found to stand."""
        problem: Exception | None = None
        with self._turn:
            for _ in range(TRIES):
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = self._connect()
                        self._connection.execute("SET synchronous_commit = on")
                    cursor = self._connection.execute(statement.encode(), values or None)
                    return cursor.fetchall() if cursor.description else []
                except self._root as error:
                    problem = error
                    with suppress(self._root):
                        if self._connection is not None:
                            self._connection.close()
        raise LedgerError(f"the anchor {self} cannot be read or written: {first_line(problem)}")
