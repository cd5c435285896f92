"""The ledger in PostgreSQL, for several processes and machines: one lock per dataset, serialisable, synced.

A writer first queues for the dataset's advisory lock, outside any transaction, so that the snapshot it then
takes is newer than its predecessor's commit and serialisation failures stay rare.  The lock is a courtesy;
what makes check and spend atomic is the locked account row and the SERIALIZABLE transaction, which is retried
from the beginning when PostgreSQL asks for it.  A server that runs without fsync is refused.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from discreet.errors import LedgerError
from discreet.ledger.codec import canonical, digest
from discreet.ledger.shelf import Shelf
from discreet.ledger.store import (
    COLUMNS,
    SCHEMA,
    Again,
    Head,
    Identity,
    Row,
    checked_head,
    distinct_datasets,
    refuse_schema,
    stored_values,
    typed,
)

PATIENCE = "lock_timeout = '30s'"
"""How long a writer queues for its turn before it gives up; only a refusal depends on it."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE discreet_ledger (
            single BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single),
            schema INTEGER NOT NULL, identity TEXT NOT NULL, key TEXT NOT NULL)""",
        """CREATE TABLE discreet_entry (
            dataset TEXT NOT NULL, number BIGINT NOT NULL CHECK (number > 0), kind TEXT NOT NULL,
            request TEXT, asked TEXT, refers BIGINT,
            body TEXT NOT NULL, previous BYTEA NOT NULL, mac BYTEA NOT NULL, payload BYTEA,
            PRIMARY KEY (dataset, number))""",
        "CREATE TABLE discreet_head (dataset TEXT PRIMARY KEY, number BIGINT NOT NULL, state TEXT NOT NULL)",
        "CREATE UNIQUE INDEX discreet_entry_request ON discreet_entry (dataset, request) WHERE kind = "
        "'reserved'",
        """CREATE UNIQUE INDEX discreet_entry_outcome ON discreet_entry (dataset, refers)
            WHERE kind IN ('answered', 'failed')""",
        """CREATE FUNCTION discreet_refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$""",
        """CREATE TRIGGER discreet_entry_is_final BEFORE UPDATE OR DELETE ON discreet_entry
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_entry_stays BEFORE TRUNCATE ON discreet_entry
            FOR EACH STATEMENT EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_head_moves_forward BEFORE UPDATE ON discreet_head FOR EACH ROW
            WHEN (NEW.number <> OLD.number + 1 OR NEW.dataset <> OLD.dataset)
            EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_head_stays BEFORE DELETE ON discreet_head
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
    ),
    (
        """CREATE INDEX discreet_entry_asked ON discreet_entry (dataset, asked, number)
            WHERE kind = 'answered'""",
    ),
    (
        """CREATE UNIQUE INDEX discreet_entry_step ON discreet_entry (dataset, refers, asked)
            WHERE kind = 'advanced'""",
        """CREATE TABLE discreet_secret (
            dataset TEXT NOT NULL, number BIGINT NOT NULL, concealed BYTEA NOT NULL,
            PRIMARY KEY (dataset, number))""",
        """CREATE TRIGGER discreet_secret_stays BEFORE DELETE ON discreet_secret
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
    ),
)


class PostgresStore:
    """A ledger's tables in a PostgreSQL database, in the first schema of the connection's search path."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs the extra: pip install 'discreet[postgres]'"
            ) from None
        self._root = psycopg.Error
        errors = psycopg.errors
        self._races = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation)
        parts = urlsplit(url)
        self.name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self.shelf = Shelf(self._all, self.name, "discreet_", "%s", told=False)
        self._held: dict[str, int] = {}
        self._leasing = threading.Lock()
        self._connect = partial(psycopg.connect, url, autocommit=True, connect_timeout=10)
        self._aside: psycopg.Connection[Any] | None = None
        try:
            self._database: psycopg.Connection[Any] = self._connect()
        except self._root as error:
            raise LedgerError(f"the ledger {self.name} cannot be reached: {_first_line(error)}") from None
        if self._all("SHOW fsync")[0][0] != "on":
            self.close()
            raise LedgerError(
                f"the server of {self.name} runs with fsync=off and can lose what was spent; turn it on"
            )
        for setting in ("synchronous_commit = on", PATIENCE, "idle_in_transaction_session_timeout = '60s'"):
            self._all(f"SET {setting}")
        self._schema = str(self._all("SELECT current_schema()")[0][0])

    def identity(self) -> Identity | None:
        """Return who this ledger is, or None where there are no tables."""
        if not self._has_tables():
            return None
        schema, ledger, key = self._meta()
        refuse_schema(schema, self.name)
        return Identity(ledger, key)

    def create(self, identity: Identity) -> Identity:
        """Make the tables and name the ledger, unless another process was faster."""
        if not self._has_tables():
            for statement in (s for step in MIGRATIONS for s in step):
                self._all(statement)
            self._all(
                "INSERT INTO discreet_ledger (schema, identity, key) VALUES (%s, %s, %s)",
                (SCHEMA, identity.ledger, identity.key),
            )
        standing = self.identity()
        if standing is None:
            raise LedgerError(f"the ledger {self.name} could not be created")
        return standing

    def migrate(self) -> None:
        """Apply the steps that older tables lack."""
        schema = self._meta()[0]
        if schema > SCHEMA:
            refuse_schema(schema, self.name)
        for statement in (s for step in MIGRATIONS[schema:] for s in step):
            self._all(statement)
        self._all("UPDATE discreet_ledger SET schema = %s", (SCHEMA,))

    @contextmanager
    def writing(self, dataset: str) -> Iterator[None]:
        """Hold the dataset's lock and row, in one serialisable transaction."""
        turn = self._lock_number("turn", dataset)
        self._all(f"SELECT pg_advisory_lock({turn})")
        try:
            self._all("BEGIN ISOLATION LEVEL SERIALIZABLE")
            try:
                yield
            except BaseException:
                with suppress(LedgerError, Again):
                    self._all("ROLLBACK")
                raise
            self._commit(turn)
        except BaseException:
            with suppress(LedgerError, Again):
                self._all(f"SELECT pg_advisory_unlock({turn})")
            raise

    def head(self, dataset: str) -> Head:
        """Return where a dataset's history ends, locking its head inside `writing`."""
        lock = "FOR UPDATE OF h" if self._writing() else ""
        columns = ", ".join(f"e.{column}" for column in COLUMNS.split(", "))
        last = "SELECT coalesce(max(number), 0) FROM discreet_entry WHERE dataset = %s"
        found = self._all(
            f"SELECT ({last}), h.number, h.state, {columns} FROM discreet_head h LEFT JOIN discreet_entry e "
            f"ON e.dataset = h.dataset AND e.number = h.number WHERE h.dataset = %s {lock}",
            (dataset, dataset),
        )
        if not found:
            return checked_head([], self._all(last, (dataset,))[0][0], self.name)
        return checked_head([found[0][1:]], found[0][0], self.name)

    def datasets(self) -> list[str]:
        """Return the names of all datasets that have a head or an entry."""
        found = self._all(f"SELECT dataset FROM discreet_head UNION {distinct_datasets('discreet_entry')}")
        return sorted(typed(name, str, self.name) for (name,) in found)

    def append(self, row: Row, state: str) -> None:
        """Add an entry and move the head to it, in one statement."""
        values = ", ".join(["%s"] * 10)
        entry = f"WITH added AS (INSERT INTO discreet_entry ({COLUMNS}) VALUES ({values})) "
        if row.number == 1:
            move = "INSERT INTO discreet_head (number, state, dataset) VALUES (%s, %s, %s)"
        else:
            move = "UPDATE discreet_head SET number = %s, state = %s WHERE dataset = %s"
        self._all(entry + move, (*stored_values(row), row.number, state, row.dataset))

    def lease(self, key: str, patience: float) -> bool:
        """Take an advisory lock that the server frees when this connection ends."""
        deadline, pause = time.monotonic() + patience, 0.001
        while not self._try_lease(key):
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def _try_lease(self, key: str) -> bool:
        number = self._lock_number("run", key)
        with self._leasing:
            if key in self._held or not self._ask_aside(f"SELECT pg_try_advisory_lock({number})"):
                return False
            self._held[key] = number
            return True

    def release(self, key: str) -> None:
        """Free the advisory lock."""
        with self._leasing:
            number = self._held.pop(key, None)
            if number is not None:
                with suppress(LedgerError):
                    self._ask_aside(f"SELECT pg_advisory_unlock({number})")

    def _ask_aside(self, statement: str) -> bool:
        """Ask on a connection of its own, since other threads may be in a transaction on the first."""
        try:
            if self._aside is None:
                self._aside = self._connect()
            found = self._aside.execute(statement.encode()).fetchone()
        except self._root as error:
            raise LedgerError(f"the ledger {self.name} cannot be reached: {_first_line(error)}") from None
        return found is not None and bool(found[0])

    def damage(self) -> str | None:
        """Return nothing: PostgreSQL reports damaged pages when they are read, and verifying reads them."""
        return None

    def close(self) -> None:
        """Close the connection, which frees every lock it holds."""
        with self._leasing:
            self._held.clear()
            if self._aside is not None:
                self._aside.close()
        self._database.close()

    def _writing(self) -> bool:
        return self._database.info.transaction_status != 0

    def _commit(self, turn: int) -> None:
        try:
            ended = self._database.execute(f"COMMIT; SELECT pg_advisory_unlock({turn})".encode())
        except self._races:
            raise Again from None
        except self._root as error:
            # The commit may or may not have happened; only a new connection can find out.
            self._database.close()
            raise LedgerError(
                f"the ledger {self.name} broke off during a commit: {_first_line(error)}"
            ) from None
        if (
            ended.statusmessage != "COMMIT"
        ):  # PostgreSQL answers ROLLBACK to the COMMIT of a broken transaction
            raise LedgerError(f"the ledger {self.name} did not commit: a statement before had failed")

    def _lock_number(self, purpose: str, name: str) -> int:
        text = canonical(["discreet ledger", self._schema, purpose, name])
        return int.from_bytes(bytes.fromhex(digest(text.encode()))[:8], "big", signed=True)

    def _has_tables(self) -> bool:
        return self._all("SELECT to_regclass('discreet_ledger')")[0][0] is not None

    def _meta(self) -> tuple[int, str, str]:
        found = self._all("SELECT schema, identity, key FROM discreet_ledger")
        if len(found) != 1:
            raise LedgerError(f"{self.name} is not a ledger, or its first table was damaged")
        return cast(tuple[int, str, str], found[0])

    def _all(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            cursor = self._database.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []
        except self._races:
            raise Again from None
        except self._root as error:
            raise LedgerError(
                f"the ledger {self.name} cannot be read or written: {_first_line(error)}"
            ) from None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]
