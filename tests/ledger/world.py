"""Places where ledgers live in these tests, a real PostgreSQL server, and the requests that are made."""

import ctypes
import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger import Ledger, Request, open_ledger
from discreet.privacy.filter import Cost

KEY = bytes(range(32))
NOBODY = 65534
FAST = Path("/dev/shm")  # noqa: S108 - a memory file system, where syncing is cheap
_names = itertools.count()


def scratch() -> Path:
    """Return a new directory, in memory where there is such a place."""
    return Path(tempfile.mkdtemp(prefix="discreet-", dir=FAST if os.access(FAST, os.W_OK) else None))


@dataclass(frozen=True)
class Place:
    """Where one ledger, its key and its anchor are."""

    location: str
    anchor: Path
    key: bytes = KEY

    @property
    def is_file(self) -> bool:
        return not self.location.startswith("postgresql:")

    @property
    def tables(self) -> dict[str, str]:
        """What {entry}, {head}, {secret} and {meta} are called in statements to this store."""
        names = {"entry": "entry", "head": "head", "secret": "secret", "meta": "ledger", "total": "total"}
        return names if self.is_file else {name: f"discreet_{table}" for name, table in names.items()}

    def open(self, **options: object) -> Ledger:
        return open_ledger(self.location, **{"key": self.key, "anchor": self.anchor, **options})

    def tamper(self, *statements: str) -> None:
        """Run SQL with all rights on the store but not the key; the tables are named as in `tables`."""
        if self.is_file:
            with sqlite3.connect(self.location) as database:
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type='trigger'"
                ).fetchall():
                    database.execute(f"DROP TRIGGER {name}")
                for statement in statements:
                    database.execute(statement.format(**self.tables))
                database.commit()
            database.close()
        else:
            import psycopg

            with psycopg.connect(self.location) as database:
                database.execute("SET session_replication_role = replica")
                for statement in statements:
                    database.execute(statement.format(**self.tables))

    def query(self, statement: str) -> list[tuple]:
        if self.is_file:
            database = sqlite3.connect(self.location)
            found = database.execute(statement.format(**self.tables)).fetchall()
            database.close()
            return found
        import psycopg

        with psycopg.connect(self.location) as database:
            return database.execute(statement.format(**self.tables)).fetchall()

    def copy(self) -> dict[str, object]:
        """Return everything in the store, as a backup would hold it."""
        if self.is_file:
            with sqlite3.connect(self.location) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
            return {"file": Path(self.location).read_bytes()}
        return {
            table: self.query(f"SELECT * FROM {{{table}}}") for table in ("entry", "head", "secret", "total")
        }

    def restore(self, backup: dict[str, object]) -> None:
        """Put a backup in the place of the store."""
        if self.is_file:
            for suffix in ("-wal", "-shm"):
                Path(self.location + suffix).unlink(missing_ok=True)
            Path(self.location).write_bytes(backup["file"])
            return
        import psycopg

        with psycopg.connect(self.location) as database:
            database.execute("SET session_replication_role = replica")
            for table, rows in backup.items():
                database.execute(f"DELETE FROM discreet_{table}")
                for row in rows:
                    marks = ", ".join(["%s"] * len(row))
                    database.execute(f"INSERT INTO discreet_{table} VALUES ({marks})", row)


class Server:
    """A PostgreSQL server of our own, started from a wheel; it dies with this process."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or scratch()
        self.home.chmod(0o755)
        self.socket, self.data = self.home / "socket", self.home / "data"
        as_root = os.geteuid() == 0
        self._identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_root else {}
        for directory in (self.socket, self.data):
            directory.mkdir(mode=0o700)
            if as_root:
                os.chown(directory, NOBODY, NOBODY)
        self.socket.chmod(0o755)
        self._programs = self._reachable_programs()
        options = ["-D", self.data, "-U", "discreet", "--auth=trust", "--encoding=UTF8", "--no-sync"]
        subprocess.run([self._programs / "initdb", *options], check=True, capture_output=True, **self._how())
        self.start()

    def start(self) -> None:
        options = ["-c", "listen_addresses=", "-c", "max_connections=300", "-c", "log_min_messages=fatal"]
        self.process = subprocess.Popen(
            [self._programs / "postgres", "-D", self.data, "-k", self.socket, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_die_with_parent,
            **self._how(),
        )
        import psycopg

        for _ in range(400):
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.url()).close()
                return
            time.sleep(0.025)
        raise RuntimeError("the PostgreSQL server did not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(how)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def url(self, schema: str = "public") -> str:
        return f"postgresql://discreet@/postgres?host={self.socket}&options=-csearch_path%3D{schema}"

    @property
    def address(self) -> str:
        """Where the server is, as a source names it."""
        return f"postgresql://discreet@/postgres?host={self.socket}"

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def _how(self) -> dict[str, object]:
        return {"cwd": "/", "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}, **self._identity}

    def _reachable_programs(self) -> Path:
        """Return the server's programs, copied if the user who runs them cannot reach them."""
        import importlib.util

        found = importlib.util.find_spec("pgserver")
        installed = Path(found.origin).parent / "pginstall"
        try:
            subprocess.run(
                [installed / "bin" / "initdb", "--version"], check=True, capture_output=True, **self._how()
            )
        except (OSError, subprocess.CalledProcessError):
            shutil.copytree(installed, self.home / "install")
            installed = self.home / "install"
        return installed / "bin"


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


@contextmanager
def file_place() -> Iterator[Place]:
    home = scratch()
    try:
        yield Place(str(home / "test.ledger"), home / "elsewhere.anchor")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def server_place(server: Server) -> Iterator[Place]:
    import psycopg

    home, schema = scratch(), f"ledger_{os.getpid()}_{next(_names)}"
    with psycopg.connect(server.url()) as database:
        database.execute(f"CREATE SCHEMA {schema}")
    try:
        yield Place(server.url(schema), home / "elsewhere.anchor")
    finally:
        with suppress(psycopg.OperationalError), psycopg.connect(server.url()) as database:
            database.execute("SET client_min_messages = error")
            database.execute(f"DROP SCHEMA {schema} CASCADE")
        shutil.rmtree(home, ignore_errors=True)


def ask(
    request_id: str,
    *,
    question: str | None = None,
    epsilon: str = "1/10",
    cost: Cost | None = None,
    **who: str,
) -> Request:
    """Return a request with a question of its own unless one is given."""
    return Request(
        request_id=request_id,
        dataset=who.get("dataset", "clinic"),
        snapshot=who.get("snapshot", "2026-01"),
        project=who.get("project", "wards"),
        analyst=who.get("analyst", "ann"),
        question=question or f"SELECT count(*) FROM visits /* {request_id} */",
        cost=cost or Cost.pure(epsilon),
        mechanisms=('{"mechanism":"geometric","alpha":"9/10"}',),
    )
