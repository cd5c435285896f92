"""The ledger in PostgreSQL, for several processes and machines: one row to lock per dataset, synced.

A writer locks the dataset's head row, with all others queueing for it, and only then reads: at READ COMMITTED
what it sees is newer than its predecessor's commit.  Whoever has no rights on the tables cannot hold such a
lock.  A run is leased by a row that names it, the server process that holds it, and the random number of an
advisory lock by which that process shows that it lives; the server frees the lock when the connection ends.
A stranger who takes a lock of the same number is another process, and changes nothing.  A server that runs
without fsync is refused.

Threads share a pool of connections, so that those who use different datasets do not wait for each other.

Connections end, servers restart.  Before anything was written a lost connection is opened again; after a
commit whose outcome is unknown nothing is assumed.  Nothing waits for ever, even if the server stands still.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, cast
from urllib.parse import urlsplit

from discreet.errors import BusyError, LedgerError
from discreet.ledger.leasing import PAUSE, TRIES, Leases
from discreet.ledger.phrase import COMMIT, HASTILY, PREPARED, adding, executing
from discreet.ledger.pool import ConnectionPool, Gates, first_line
from discreet.ledger.shelf import Shelf
from discreet.ledger.store import (
    SCHEMA,
    Again,
    Asked,
    Head,
    LedgerIdentity,
    Row,
    checked_head,
    checked_row,
    distinct_datasets,
    refuse_schema,
    typed,
)
from discreet.ledger.tables import HEAD, LAST, MIGRATIONS

PATIENCE = 30
"""For so many seconds a writer queues for its turn; only a refusal depends on it."""

LIMIT = 45.0
"""For so many seconds one waits for the server to say anything at all."""

REACH = 10
"""For so many seconds one tries to reach the server."""

CONNECTIONS = 8
"""So many threads of a process use the ledger at once, besides one connection for leases."""

BROKEN = 3
"""What a connection says of a transaction in which a statement has failed."""

EVERYTHING = ""
"""The name, which no dataset can have, under which all datasets are locked."""


class PostgresStore:
    """A ledger's tables in a PostgreSQL database, in the first schema of the connection's search path."""

    prompt = False

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                "a ledger in PostgreSQL needs the extra: pip install 'discreet[postgres]'"
            ) from None

        class Patient(psycopg.Connection[Any]):
            """A connection that waits for its server only so long."""

            limit = LIMIT
            ready = False
            """Whether the statement for heads was prepared."""
            hand: Any = None

            def execute(self, query: Any, params: Any = None, **_: Any) -> Any:
                """Run a statement by the one cursor that there is; only one thread holds a connection."""
                self.hand = self.hand or self.cursor()
                return self.hand.execute(query, params)

            def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
                return super().wait(gen, interval, self.limit if timeout is None else timeout)

        self._root = psycopg.Error
        self._escaping = psycopg.pq.Escaping
        errors = psycopg.errors
        self._races = (
            errors.SerializationFailure,
            errors.DeadlockDetected,
            errors.UniqueViolation,
            errors.DuplicateTable,
            errors.DuplicateFunction,
            errors.InvalidSqlStatementName,
        )
        self._queueing = (errors.LockNotAvailable,)
        self._unanswered = (errors._WaitTimeout,)
        self._lost = (psycopg.OperationalError, psycopg.InterfaceError, errors._WaitTimeout)
        self.location = self.place = url
        self._kind = Patient
        parts = urlsplit(url)
        self.name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self.shelf = Shelf(self._all, self.name, "discreet_", "%s", told=False)
        self._leases = Leases(self._connected, psycopg.Error, self.name)
        self._pool = ConnectionPool(self._connected, CONNECTIONS, self.name)
        self._gates = Gates(self.name)
        self._settled: set[str] = set()
        self._mine = _Mine()
        if self._all("SHOW fsync")[0][0] != "on":
            self.close()
            raise LedgerError(
                f"the server of {self.name} runs with fsync=off and can lose what was spent; turn it on"
            )

    def _connected(self) -> Any:
        try:
            connection = self._kind.connect(
                self.location,
                autocommit=True,
                connect_timeout=REACH,
                keepalives_idle=30,
                tcp_user_timeout=60_000,
            )
            connection.execute(
                f"SET synchronous_commit = on; SET lock_timeout = '{PATIENCE}s'; "
                "SET idle_in_transaction_session_timeout = '60s'; SET statement_timeout = '600s'"
            )
        except self._root as error:
            raise _Unreachable(f"the ledger {self.name} cannot be reached: {first_line(error)}") from None
        return connection

    def identity(self) -> LedgerIdentity | None:
        """Return who this ledger is, or None where there are no tables."""
        if not self._has_tables():
            return None
        schema, ledger, key = self._meta()
        refuse_schema(schema, self.name)
        return LedgerIdentity(ledger, key)

    def create(self, identity: LedgerIdentity) -> LedgerIdentity:
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
        if (schema := self._meta()[0]) > SCHEMA:
            refuse_schema(schema, self.name)
        for statement in (s for step in MIGRATIONS[schema:] for s in step):
            self._all(statement)
        self._all("UPDATE discreet_ledger SET schema = %s", (SCHEMA,))

    def gate(self, dataset: str) -> AbstractContextManager[None]:
        """Keep the other threads of this process from a dataset; none are in the way of the whole."""
        return self._gates.passing(dataset) if dataset else nullcontext()

    @contextmanager
    def writing(self, dataset: str, asked: Sequence[Asked] = ()) -> Iterator[None]:
        """Hold the dataset's head row, or all of them, in one transaction."""
        connection = self._begin(dataset, asked)
        # From here on a connection that is lost is not renewed before the turn has ended.
        self._mine.connection = connection
        try:
            yield
        except BaseException:
            self._roll_back(connection)
            raise
        else:
            self._commit()
        finally:
            self._mine.forget()
            self._pool.give(connection)

    def sync(self) -> None:
        """Do nothing: the server has synced what it called committed."""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See the tables as they are at the first look, until the end."""
        connection = self._begin(None)
        self._mine.connection = connection
        try:
            yield
        finally:
            self._mine.connection = None
            self._roll_back(connection)
            self._pool.give(connection)

    def _begin(self, dataset: str | None, asked: Sequence[Asked] = ()) -> Any:
        """Begin and queue for the lock, renewing a connection that was lost: nothing is paid yet."""
        left = TRIES
        while True:
            left -= 1
            try:
                return self._queued(dataset, asked)
            except _Unreachable:
                if not left or self._pool.closed:
                    raise
            time.sleep(PAUSE)

    def _queued(self, dataset: str | None, asked: Sequence[Asked]) -> Any:
        connection = self._pool.take()
        try:
            self._queue(connection, dataset, asked)
        except BaseException as error:
            refusal = self._refusal(error)
            if isinstance(refusal, _Unreachable):
                connection.close()
                self._pool.forget()  # the idle ones may be lost too
            else:
                self._roll_back(connection)
            self._pool.give(connection)
            raise refusal from None
        return connection

    def _queue(self, connection: Any, dataset: str | None, asked: Sequence[Asked]) -> None:
        """Lock a head, or, by a name that no dataset has, all of them; find in the same journey what it says.

        What will be asked for is looked up too.  Without a name nothing is locked, and nothing is written.
        """
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
        if dataset is None:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return
        if dataset == EVERYTHING:
            # Where there are no tables yet, whoever creates them second loses a race and begins again.
            connection.execute(
                f"{begin}; DO $$ BEGIN IF to_regclass('discreet_head') IS NOT NULL THEN "
                "LOCK TABLE discreet_head IN EXCLUSIVE MODE; END IF; END $$".encode()
            )
            return
        self._prepare(connection)
        escaping = self._escaping(connection.pgconn)
        name = bytes(escaping.escape_literal(dataset.encode()))
        statements = [
            b"%b; EXECUTE discreet_lock (%b)" % (begin.encode(), name),
            b"EXECUTE discreet_find_head (%b)" % name,
            *(executing(escaping, "discreet_asked", dataset, *what) for what in asked),
        ]
        found = _results(connection.execute(b"; ".join(statements)))
        self._mine.head = dataset, found[2]
        self._mine.asked = dict(zip(asked, found[3:], strict=True))

    def _prepare(self, connection: Any) -> None:
        if not connection.ready:
            self._run(connection, PREPARED, ())
            connection.ready = True

    def _roll_back(self, connection: Any) -> None:
        connection.ready = False  # psycopg forgets everything that was prepared when a turn is undone
        with suppress(self._root):
            connection.execute("ROLLBACK")

    def head(self, dataset: str) -> Head:
        """Return where a dataset's history ends; inside `writing` it stays there."""
        if self._mine.head is not None and self._mine.head[0] == dataset:
            found = self._mine.head[1]
        else:
            found = self._all(HEAD.replace("$1", "%s"), (dataset,) * HEAD.count("$1"))
        if not found:
            return checked_head([], self._all(LAST.replace("$1", "%s"), (dataset,))[0][0], self.name)
        return checked_head([found[0][1:]], found[0][0], self.name)

    def asked(self, dataset: str, request: str, asked: str) -> tuple[Row | None, Row | None]:
        """Return the entry that reserved a request, and the earliest answer to a question."""
        found = self._mine.asked.get((request, asked))
        if found is None or not self._mine.added.isdisjoint((request, asked)):
            self._write_later()
            escaping = self._escaping(self._mine.connection.pgconn)
            looking = executing(escaping, "discreet_asked", dataset, request, asked)
            found = self._run(self._mine.connection, looking, ())
        rows = {which: checked_row(tuple(columns), self.name) for which, *columns in found}
        return rows.get(0), rows.get(1)

    def former_state(self, dataset: str) -> str:
        """Return the account as a text, as versions before 4 kept it."""
        found = self._all("SELECT state FROM discreet_head WHERE dataset = %s", (dataset,))
        return typed(found[0][0], str, self.name) if found else ""

    def name_key(self, key: str) -> None:
        """Say which key seals new entries."""
        self._all("UPDATE discreet_ledger SET key = %s", (key,))

    def datasets(self) -> list[str]:
        """Return the names of all datasets that have a head or an entry."""
        found = self._all(f"SELECT dataset FROM discreet_head UNION {distinct_datasets('discreet_entry')}")
        return sorted(typed(name, str, self.name) for (name,) in found)

    def append(self, row: Row, changed: list[tuple[str, str | None]]) -> None:
        """Add an entry, move the head to it and change rows of the account, at the latest with the commit."""
        self._prepare(self._mine.connection)
        escaping = self._escaping(self._mine.connection.pgconn)
        self._mine.head, self._mine.wrote = None, True
        self._mine.added.update((row.request, row.asked))
        self._mine.later.append(adding(escaping, row, changed))

    def lease(self, key: str, patience: float) -> bool:
        """Write one's name beside the run's, unless whoever stands there is alive."""
        return self._leases.take(key, patience)

    def settle(self, key: str) -> None:
        """Remove one's name with the commit."""
        held = self._leases.held(key)
        if held is not None:
            escaping = self._escaping(self._mine.connection.pgconn)
            self._mine.later.append(executing(escaping, "discreet_free", *held))
            self._settled.add(key)

    def release(self, key: str, *, settled: bool = False) -> None:
        """Remove one's name."""
        here = key in self._settled  # another process may have done the errand, and does not hold this
        self._settled.discard(key)
        self._leases.free(key, settled=settled and here)

    def damage(self) -> str | None:
        """Return nothing: PostgreSQL reports damaged pages when they are read, and verifying reads them."""
        return None

    def close(self) -> None:
        """Close the connections, which frees every lock they hold."""
        self._pool.close()
        self._leases.close()

    def _write_later(self) -> None:
        """Write now what was to be written together with the commit: something is read or written besides."""
        later, self._mine.later = self._mine.later, []
        if later:
            self._run(self._mine.connection, b"; ".join(later), ())

    def _commit(self) -> None:
        """Write the last entries and commit, in one journey."""
        connection = self._mine.connection
        try:
            commit = COMMIT if self._mine.wrote else HASTILY
            ended = connection.execute(b"; ".join([*self._mine.later, commit]))
            while ended.nextset():
                pass
        except self._races:
            self._roll_back(connection)
            raise Again from None
        except self._root as error:
            if not connection.closed and connection.info.transaction_status == BROKEN:
                self._roll_back(connection)  # the entry was refused, and nothing was committed
                raise self._refusal(error) from None
            # The commit may or may not have happened; only a new look at the entries can tell.
            self._mine.connection.close()
            raise LedgerError(
                f"the ledger {self.name} broke off during a commit: {first_line(error)}"
            ) from None
        if ended.statusmessage != "COMMIT":
            # PostgreSQL answers ROLLBACK to the COMMIT of a broken transaction.
            raise LedgerError(f"the ledger {self.name} did not commit: a statement before had failed")

    def _has_tables(self) -> bool:
        return self._all("SELECT to_regclass('discreet_ledger')")[0][0] is not None

    def _meta(self) -> tuple[int, str, str]:
        found = self._all("SELECT schema, identity, key FROM discreet_ledger")
        if len(found) != 1:
            raise LedgerError(f"{self.name} is not a ledger, or its first table was damaged")
        return cast(tuple[int, str, str], found[0])

    def _all(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, within this thread's turn if it has one; otherwise it may be run again."""
        if self._mine.connection is not None:
            self._mine.wrote |= not statement.startswith("SELECT")
            self._write_later()
            return self._run(self._mine.connection, statement.encode(), values)
        for left in reversed(range(TRIES)):
            connection = self._pool.take()
            try:
                return self._run(connection, statement.encode(), values)
            except LedgerError:
                if not connection.closed or not left or self._pool.closed:
                    raise
                self._pool.forget()
            finally:
                self._pool.give(connection)
            time.sleep(PAUSE)
        raise LedgerError(f"the ledger {self.name} cannot be reached")

    def _run(self, connection: Any, statement: bytes, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            cursor = connection.execute(statement, values or None)
            # Asking for its description would make an object of every column.
            return cursor.fetchall() if cursor.pgresult is not None and cursor.pgresult.nfields else []
        except self._root as error:
            if isinstance(error, self._unanswered):
                connection.close()  # what the server may still say belongs to nobody
            raise self._refusal(error) from None

    def _refusal(self, error: BaseException) -> BaseException:
        """Return what is said where the server has said this."""
        if isinstance(error, self._races):
            return Again()
        if isinstance(error, self._queueing):
            return BusyError(f"the ledger {self.name} is busy: others kept writing to it")
        if isinstance(error, self._lost):
            return _Unreachable(f"the ledger {self.name} cannot be reached: {first_line(error)}")
        if isinstance(error, self._root):
            return LedgerError(f"the ledger {self.name} cannot be read or written: {first_line(error)}")
        return error


class _Unreachable(LedgerError):  # noqa: N818
    """The server does not answer, or a connection to it was lost."""


class _Mine(threading.local):
    """What one thread holds while it has its turn: a connection, what it found, and what it will write."""

    connection: Any = None

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Hold nothing any more."""
        self.connection = None
        self.head: tuple[str, list[tuple[Any, ...]]] | None = None
        self.later: list[bytes] = []
        """Entries that are written with the commit."""
        self.wrote = False  # anything but leases, of which no restart leaves any
        self.asked: dict[Asked, list[tuple[Any, ...]]] = {}
        self.added: set[str | None] = set()
        """The requests and questions of the entries that this turn has added."""


def _results(cursor: Any) -> list[list[tuple[Any, ...]]]:
    """Return the rows that each of several statements has found."""
    found = []
    while True:
        found.append(cursor.fetchall() if cursor.pgresult.nfields else [])
        if not cursor.nextset():
            return found
