"""The ledger in one SQLite file: write-ahead log, synced on every commit, one writer at a time.

`BEGIN IMMEDIATE` takes the writer's place before anything is read, so check and spend see the same account.
A commit is written to the log; `sync` waits for the disk, after the writer's place was given to the next one.
So a crowd of processes waits for the disk together: whoever syncs the log syncs all that stands before it.
Until then a power cut can undo the commit, so nothing may be said that relies on it; the log is valid up to
where it was torn, and what was synced stands before that.  `synchronous=NORMAL` lets SQLite sync the log
before it copies it into the file, and the file before it begins the log anew.  The file must be on a local
disk: network file systems break SQLite's locks.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import BusyError, LedgerError
from discreet.ledger.lock import Locks, locks_at
from discreet.ledger.pool import Gates
from discreet.ledger.shelf import Shelf
from discreet.ledger.store import (
    COLUMNS,
    SCHEMA,
    Asked,
    Head,
    LedgerIdentity,
    Row,
    Unwritten,
    checked_head,
    distinct_datasets,
    refuse_schema,
    typed,
)

PATIENCE = 30.0
"""For so many seconds a writer waits for its turn; only a refusal depends on it."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.0002, 0.002

WRITER = "writer"
"""The lock for which writers queue; SQLite's own, which they then find free, can only be asked for again."""

LAST = "SELECT coalesce(max(number), 0) FROM entry WHERE dataset = ?"
HEAD = (
    f"SELECT ({LAST}), h.number, {', '.join(f'e.{column}' for column in COLUMNS.split(', '))} "
    "FROM head h LEFT JOIN entry e ON e.dataset = h.dataset AND e.number = h.number WHERE h.dataset = ?"
)
"""Where a history ends, in one look."""

MOVED = " ON CONFLICT (dataset) DO UPDATE SET number = excluded.number, state = ''"

MANY = 64
"""So many rows are written by one statement."""

Thing = TypeVar("Thing")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE ledger (schema INTEGER NOT NULL, identity TEXT NOT NULL, key TEXT NOT NULL)",
        """CREATE TABLE entry (
            dataset TEXT NOT NULL, number INTEGER NOT NULL CHECK (number > 0), kind TEXT NOT NULL,
            request TEXT, asked TEXT, refers INTEGER,
            body TEXT NOT NULL, previous BLOB NOT NULL, mac BLOB NOT NULL, payload BLOB,
            PRIMARY KEY (dataset, number)) WITHOUT ROWID""",
        "CREATE TABLE head (dataset TEXT PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT "
        "ROWID",
        "CREATE UNIQUE INDEX entry_request ON entry (dataset, request) WHERE kind = 'reserved'",
        "CREATE UNIQUE INDEX entry_outcome ON entry (dataset, refers) WHERE kind IN ('answered', 'failed')",
        """CREATE TRIGGER entry_is_final BEFORE UPDATE ON entry
            BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END""",
        """CREATE TRIGGER entry_stays BEFORE DELETE ON entry
            BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END""",
        """CREATE TRIGGER head_moves_forward BEFORE UPDATE ON head
            WHEN NEW.number <> OLD.number + 1 OR NEW.dataset <> OLD.dataset
            BEGIN SELECT RAISE(ABORT, 'the head moves forward one entry at a time'); END""",
        """CREATE TRIGGER head_stays BEFORE DELETE ON head
            BEGIN SELECT RAISE(ABORT, 'heads are never deleted'); END""",
    ),
    ("CREATE INDEX entry_asked ON entry (dataset, asked, number) WHERE kind = 'answered'",),
    (
        "CREATE UNIQUE INDEX entry_step ON entry (dataset, refers, asked) WHERE kind = 'advanced'",
        """CREATE TABLE secret (
            dataset TEXT NOT NULL, number INTEGER NOT NULL, concealed BLOB NOT NULL,
            PRIMARY KEY (dataset, number))""",
        """CREATE TRIGGER secret_stays BEFORE DELETE ON secret
            BEGIN SELECT RAISE(ABORT, 'states of streams are never deleted'); END""",
    ),
    (
        """CREATE TABLE total (
            dataset TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (dataset, name)) WITHOUT ROWID""",
        """CREATE TABLE checkpoint (
            dataset TEXT PRIMARY KEY, number INTEGER NOT NULL, state TEXT NOT NULL, mac BLOB NOT NULL)""",
        """CREATE TABLE former (
            dataset TEXT NOT NULL, number INTEGER NOT NULL, concealed BLOB NOT NULL,
            PRIMARY KEY (dataset, number))""",
        """CREATE TRIGGER former_stays BEFORE DELETE ON former
            BEGIN SELECT RAISE(ABORT, 'former keys are never deleted'); END""",
    ),
)


class SqliteStore:
    """A ledger's tables in a local file, for any number of processes on one machine."""

    prompt = True

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # the process may change its directory while the file is open
        self.name = str(path)
        self.location = str(self.path)
        self._locks = Path(f"{self.path}.locks")
        self.shelf = Shelf(self._all, self.name, "", "?", told=True)
        self._leases: dict[str, Locks] = {}
        self._log: int | None = None
        self._queue: Locks | None = None
        self._gates = Gates(self.name)
        self._mine = _Pending()
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let everybody read it
            found = os.stat(path)
            self._inode, self.place = found.st_ino, f"{found.st_dev}.{found.st_ino}"
            self._database = sqlite3.connect(
                path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
            )
        except (sqlite3.Error, OSError) as error:
            raise _refusal(path, error) from None
        try:
            self._settle()
        except BaseException:
            self._database.close()
            raise

    def identity(self) -> LedgerIdentity | None:
        """Return who this ledger is, or None for an empty file."""
        if not self._all("SELECT 1 FROM sqlite_master LIMIT 1"):
            return None
        schema, ledger, key = self._meta()
        refuse_schema(schema, self.name)
        return LedgerIdentity(ledger, key)

    def create(self, identity: LedgerIdentity) -> LedgerIdentity:
        """Make the tables and name the ledger, unless another process was faster."""
        if not self._all("SELECT 1 FROM sqlite_master LIMIT 1"):
            for statement in (s for step in MIGRATIONS for s in step):
                self._all(statement)
            self._all("INSERT INTO ledger VALUES (?, ?, ?)", (SCHEMA, identity.ledger, identity.key))
        standing = self.identity()
        if standing is None:
            raise LedgerError(f"the ledger {self.name} could not be created")
        return standing

    def migrate(self) -> None:
        """Apply the steps that an older file lacks."""
        schema = self._meta()[0]
        if schema > SCHEMA:
            refuse_schema(schema, self.name)
        for statement in (s for step in MIGRATIONS[schema:] for s in step):
            self._all(statement)
        self._all("UPDATE ledger SET schema = ?", (SCHEMA,))

    def gate(self, dataset: str) -> AbstractContextManager[None]:
        """Keep all other threads away: they share one connection."""
        return self._gates.passing("")

    @contextmanager
    def writing(self, dataset: str, asked: Sequence[Asked] = ()) -> Iterator[None]:
        """Hold the only writer's place of the file."""
        self._refuse_exchange()
        # If the file of locks was exchanged, one only queues less fairly: SQLite's own lock decides.
        locks = self._queue = self._queue or locks_at(self._locks)
        if not locks.take(WRITER, PATIENCE):
            raise BusyError(f"the ledger {self.path} is busy: another process keeps writing")
        try:
            self._patiently("BEGIN IMMEDIATE")
            try:
                self._mine.asked = self._looked_up(dataset, asked)
                yield
                self._write_last()
            except BaseException:
                self._roll_back()
                raise
            self._commit()
        finally:
            self._mine = _Pending()
            locks.free(WRITER)

    def sync(self) -> None:
        """Wait until everything that was committed by now is on the disk."""
        try:
            if self._log is None:
                # The descriptor is kept: one that is opened after a write failed may not be told of it.
                file = next(file for _, name, file in self._all("PRAGMA database_list") if name == "main")
                self._log = os.open(f"{file}-wal", os.O_RDONLY | os.O_CLOEXEC)
            os.fdatasync(self._log)
        except OSError as error:
            # Nobody knows what is on the disk: this connection must not be used again.
            self._database.close()
            raise LedgerError(f"the ledger {self.name} cannot be synced: {error.strerror}") from None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See the file as it is at the first look, until the end."""
        self._refuse_exchange()
        self._patiently("BEGIN")
        try:
            yield
        finally:
            self._roll_back()

    def head(self, dataset: str) -> Head:
        """Return where a dataset's history ends."""
        found = self._all(HEAD, (dataset, dataset))
        if not found:
            return checked_head([], self._all(LAST, (dataset,))[0][0], self.name)
        return checked_head([found[0][1:]], found[0][0], self.name)

    def asked(self, dataset: str, request: str, asked: str) -> tuple[Row | None, Row | None]:
        """Return the entry that reserved a request, or else the earliest answer to a question."""
        known = self._mine.asked.get((dataset, request, asked))
        if known is not None and self._mine.added.isdisjoint((request, asked)):
            return known
        row = self.shelf.reservation(dataset, request)
        return row, None if row is not None else self.shelf.answer(dataset, asked)

    def _looked_up(
        self, dataset: str, asked: Sequence[Asked]
    ) -> dict[tuple[str, str, str], tuple[Row | None, Row | None]]:
        """Look up what a turn will ask for, all at once: while a statement runs, other threads do too."""
        if len(asked) < 2:
            return {}
        paid = {row.request: row for row in self.shelf.reservations(dataset, [name for name, _ in asked])}
        fresh = [question for name, question in asked if name not in paid]
        given = self.shelf.answers(dataset, fresh) if fresh else []
        earliest = {row.asked: row for row in reversed(given)}
        return {
            (dataset, name, question): (
                paid.get(name),
                None if name in paid else earliest.get(question),
            )
            for name, question in asked
        }

    def former_state(self, dataset: str) -> str:
        """Return the account as a text, as versions before 4 kept it."""
        found = self._all("SELECT state FROM head WHERE dataset = ?", (dataset,))
        return typed(found[0][0], str, self.name) if found else ""

    def name_key(self, key: str) -> None:
        """Say which key seals new entries."""
        self._all("UPDATE ledger SET key = ?", (key,))

    def datasets(self) -> list[str]:
        """Return the names of all datasets that have a head or an entry."""
        found = self._all(f"SELECT dataset FROM head UNION {distinct_datasets('entry')} ORDER BY 1")
        return [typed(name, str, self.name) for (name,) in found]

    def append(self, row: Row, changed: list[tuple[str, str | None]]) -> None:
        """Add an entry, move the head to it and change rows of the account, at the latest with the commit."""
        self._mine.later.append(row)
        self._mine.added.update((row.request, row.asked))
        for name, value in changed:
            self._mine.rows[row.dataset, name] = value

    def _write_last(self) -> None:
        try:
            self._write_later()
        except LedgerError as refusal:
            raise Unwritten(str(refusal)) from None

    def _write_later(self) -> None:
        """Write what was added, in few statements: a row of the account only as it is in the end."""
        entries, rows = self._mine.later, self._mine.rows
        if not entries:
            return
        self._mine.later, self._mine.rows = [], {}
        for part in _parts(entries):
            self._all(_many(f"INSERT INTO entry ({COLUMNS}) VALUES ", 10, len(part)), tuple(chain(*part)))
            # The same row again and again: the head moves forward one entry at a time.
            moves = tuple(value for row in part for value in (row.dataset, row.number, ""))
            self._all(_many("INSERT INTO head VALUES ", 3, len(part), MOVED), moves)
        kept = [(*place, value) for place, value in rows.items() if value is not None]
        for some in _parts(kept):
            self._all(_many("INSERT OR REPLACE INTO total VALUES ", 3, len(some)), tuple(chain(*some)))
        gone: dict[str, list[str]] = {}
        for (dataset, name), value in rows.items():
            if value is None:
                gone.setdefault(dataset, []).append(name)
        for dataset, names in gone.items():
            for few in _parts(names):
                marks = ", ".join(["?"] * len(few))
                self._all(f"DELETE FROM total WHERE dataset = ? AND name IN ({marks})", (dataset, *few))

    def lease(self, key: str, patience: float) -> bool:
        """Lock a name in the file of locks; the operating system frees it if the process dies."""
        locks = locks_at(self._locks)
        if not locks.take(key, patience):
            return False
        self._leases[key] = locks
        return True

    def settle(self, key: str) -> None:
        """Do nothing: a lock on a file is let go of by itself."""

    def release(self, key: str, *, settled: bool = False) -> None:
        """Unlock."""
        locks = self._leases.pop(key, None)
        if locks is not None:
            locks.free(key)

    def damage(self) -> str | None:
        """Return the first thing that SQLite's own check of pages and indexes finds.

        It is asked on a connection of its own, so that others may go on meanwhile.
        """
        try:
            with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database:
                found = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _refusal(self.path, error) from None
        return None if found == "ok" else found.splitlines()[0]

    def close(self) -> None:
        """Close the file and let go of every lease."""
        for key in tuple(self._leases):
            self.release(key)
        self._database.close()
        log, self._log = self._log, None
        if log is not None:
            os.close(log)

    def _settle(self) -> None:
        # Several processes may meet a new file at once, and SQLite does not wait while one changes its mode.
        mode = self._patiently("PRAGMA journal_mode = WAL")
        if mode != [("wal",)]:
            raise LedgerError(f"the ledger {self.name} needs a local disk, where SQLite can keep its log")
        for setting in ("synchronous = NORMAL", "trusted_schema = OFF", "cell_size_check = ON"):
            self._patiently(f"PRAGMA {setting}")

    def _meta(self) -> tuple[int, str, str]:
        found = self._all("SELECT schema, identity, key FROM ledger")
        if len(found) != 1:
            raise LedgerError(f"{self.name} is not a ledger, or its first table was damaged")
        schema, ledger, key = found[0]
        return typed(schema, int, self.name), typed(ledger, str, self.name), typed(key, str, self.name)

    def _commit(self) -> None:
        try:
            self._all("COMMIT")
        except BaseException:
            # After a failed sync nobody knows what is on the disk: this connection must not be used again.
            self._roll_back()
            self._database.close()
            raise

    def _patiently(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement, again and again while another process is in the way.

        SQLite's own waiting grows coarse and starves some.
        """
        deadline, pause = time.monotonic() + PATIENCE, SHORTEST_PAUSE
        while True:
            try:
                return self._database.execute(statement).fetchall()
            except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                    raise _refusal(self.path, error) from None
            if time.monotonic() > deadline:
                raise BusyError(f"the ledger {self.path} is busy: another process keeps writing")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _refuse_exchange(self) -> None:
        try:
            same = os.stat(self.location).st_ino == self._inode
        except OSError:
            same = False
        if not same:
            raise LedgerError(
                f"the ledger file {self.name} was moved or exchanged while it was open; open it again"
            )

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _all(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        if self._mine.later:
            self._write_later()
        try:
            return self._database.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY and not values:
                return self._patiently(statement)
            raise _refusal(self.path, error) from None


class _Pending:
    """What a turn has found at its beginning, and what it will write at its end."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, str, str], tuple[Row | None, Row | None]] = {}
        self.later: list[Row] = []
        self.rows: dict[tuple[str, str], str | None] = {}
        self.added: set[str | None] = set()
        """The requests and questions of the entries that this turn has added."""


def _parts(things: list[Thing]) -> Iterator[list[Thing]]:
    return (things[first : first + MANY] for first in range(0, len(things), MANY))


@lru_cache(4 * MANY)
def _many(begin: str, columns: int, rows: int, end: str = "") -> str:
    """Return a statement with values for so many rows."""
    marks = f"({', '.join(['?'] * columns)})"
    return begin + ", ".join([marks] * rows) + end


def _refusal(path: Path, error: Exception) -> LedgerError:
    match error:
        case sqlite3.ProgrammingError():
            return LedgerError(f"the ledger {path} was closed, perhaps after a failed write; open it again")
        case sqlite3.OperationalError() if "locked" in str(error):
            return LedgerError(
                f"the ledger {path} is busy: another process kept writing for {PATIENCE:g} seconds"
            )
        case OSError():
            return LedgerError(f"the ledger {path} cannot be reached: {error.strerror}")
        case sqlite3.OperationalError():
            return LedgerError(f"the ledger {path} cannot be read or written: {error}")
        case _:
            return LedgerError(f"the ledger {path} is damaged or not a ledger: {error}")
