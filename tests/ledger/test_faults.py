"""When the disk is full, read-only or fails to sync, no answer leaves and nothing spent is forgotten."""

import errno
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.world import NOBODY, Place, ask, server_place

import discreet.ledger.anchor as anchor_module
import discreet.ledger.sqlite as sqlite_module
from discreet.errors import LedgerError
from discreet.ledger import Granted, Ledger, Stored
from discreet.ledger.sqlite import SqliteStore
from discreet.privacy.filter import PureBudget

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(1800)]


def opened(place: Place) -> Ledger:
    ledger = place.open()
    ledger.create_dataset("clinic", PureBudget(1), reason="opened")
    return ledger


class FailingConnection:
    """A connection whose COMMIT reports an error, with the changes kept or lost: the caller cannot know."""

    def __init__(self, connection, error: Exception, kept: bool) -> None:
        self._connection, self._error, self._kept = connection, error, kept

    def __getattr__(self, name: str):
        return getattr(self._connection, name)

    def execute(self, statement, *values):
        if statement[-6:] in ("COMMIT", b"COMMIT"):
            self._connection.execute(statement if self._kept else "ROLLBACK")
            raise self._error
        return self._connection.execute(statement, *values)


def fail_commits(ledger: Ledger, *, kept: bool) -> None:
    store = ledger._store
    if isinstance(store, SqliteStore):
        error: Exception = sqlite3.OperationalError("disk I/O error")
        store._database = FailingConnection(store._database, error, kept)
    else:
        import psycopg

        error = psycopg.OperationalError("server closed the connection unexpectedly")
        (connection,) = store._pool._idle
        store._pool._idle = [FailingConnection(connection, error, kept)]


@pytest.mark.parametrize("kept", [True, False])
def test_a_commit_that_fails_to_sync_lets_nothing_leave(place: Place, kept: bool):
    with opened(place) as ledger:
        granted = ledger.reserve(ask("a"))
        fail_commits(ledger, kept=kept)
        with pytest.raises(LedgerError):
            ledger.answer(granted, b"must not leave")
        if place.is_file:  # after a failed sync the connection is never used again
            with pytest.raises(LedgerError):
                ledger.reserve(ask("b"))
    with place.open() as ledger:
        assert ledger.verify().trusted
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)
        outcome = ledger.reserve(ask("a"))
        assert isinstance(outcome, Stored if kept else Granted)


@pytest.mark.parametrize("kept", [True, False])
def test_a_reservation_that_fails_to_sync_grants_nothing(place: Place, kept: bool):
    with opened(place) as ledger:
        fail_commits(ledger, kept=kept)
        with pytest.raises(LedgerError):
            ledger.reserve(ask("a"))
    with place.open() as ledger:
        outcome = ledger.reserve(ask("a"))
        assert outcome.attempt == (2 if kept else 1)
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_log_that_fails_to_sync_lets_nothing_leave_and_ends_the_connection(
    file: Place, code: int, monkeypatch
):
    def refuse(_: int) -> None:
        raise OSError(code, os.strerror(code))

    with opened(file) as ledger:
        granted = ledger.reserve(ask("a"))
        with monkeypatch.context() as patch:
            patch.setattr(sqlite_module, "os", Otherwise(fdatasync=refuse))
            with pytest.raises(LedgerError, match="synced"):
                ledger.answer(granted, b"not yet")
        with pytest.raises(LedgerError):  # what the disk holds is not known to this connection
            ledger.reserve(ask("a"))
    with file.open() as ledger:
        assert ledger.reserve(ask("a")).payload == b"not yet"
        assert ledger.verify().trusted


class Otherwise:
    """The operating system, with some calls exchanged."""

    def __init__(self, **calls: Callable) -> None:
        self.__dict__.update(calls)

    def __getattr__(self, name: str):
        return getattr(os, name)


def after_a_power_cut(file: Place, synced: bytes, home: Path) -> Place:
    """Return a ledger of which the disk holds no more than what was synced; the anchor kept everything."""
    home.mkdir()
    (home / "a.ledger").write_bytes(Path(file.location).read_bytes())
    (home / "a.ledger-wal").write_bytes(synced)
    shutil.copy(file.anchor, home / "a.anchor")
    return Place(str(home / "a.ledger"), home / "a.anchor")


def test_whatever_anybody_was_told_survives_a_power_cut(file: Place, tmp_path: Path, monkeypatch):
    """Two share a file: one relies on what the other has committed but not yet synced."""
    log, synced = Path(f"{file.location}-wal"), [b""]

    def sync(descriptor: int) -> None:
        os.fdatasync(descriptor)
        synced[0] = log.read_bytes()

    with opened(file) as one, file.open() as other:
        monkeypatch.setattr(sqlite_module, "os", Otherwise(fdatasync=sync))
        granted = one.reserve(ask("a"))
        with after_a_power_cut(file, synced[0], tmp_path / "paid").open() as ledger:
            assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)
        one.answer(granted, b"1")
        with after_a_power_cut(file, synced[0], tmp_path / "answered").open() as ledger:
            assert ledger.reserve(ask("a")).payload == b"1"
        granted = one.reserve(ask("b"))
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "sync", stopped)
            with pytest.raises(InterruptedError):
                one.answer(granted, b"2")
        assert other.reserve(ask("b")).payload == b"2"
        with after_a_power_cut(file, synced[0], tmp_path / "heard").open() as ledger:
            assert ledger.reserve(ask("b")).payload == b"2"


def test_the_log_that_is_synced_is_the_one_that_is_written_where_a_link_leads_to_the_ledger(tmp_path: Path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here.ledger").symlink_to(tmp_path / "there" / "a.ledger")
    with Place(str(tmp_path / "here.ledger"), tmp_path / "a.anchor").open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        log = os.stat(tmp_path / "there" / "a.ledger-wal")
        assert os.path.samestat(os.fstat(ledger._store._log), log)
        assert log.st_size > 0


def stopped(_: SqliteStore) -> None:
    raise InterruptedError


@pytest.mark.parametrize("call", ["fdatasync", "pwrite", "open"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_an_anchor_that_cannot_be_written_lets_nothing_leave(place: Place, call: str, code: int, monkeypatch):
    with opened(place) as ledger:
        granted = ledger.reserve(ask("a"))

        class Broken:
            def __getattr__(self, name: str):
                if name == call:
                    return self.refuse
                return getattr(os, name)

            def refuse(self, *given: object) -> object:
                if call == "open" and given[1] == os.O_RDONLY:
                    return os.open(*given)
                raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(anchor_module, "os", Broken())
            with pytest.raises(LedgerError, match="anchor"):
                ledger.answer(granted, b"not yet")
            with pytest.raises(
                LedgerError, match="anchor"
            ):  # stored, but it may not leave above an old anchor
                ledger.reserve(ask("a"))
        assert ledger.reserve(ask("a")).payload == b"not yet"
        assert ledger.verify().trusted


def test_a_commit_that_postgresql_turns_into_a_rollback_is_noticed(server):
    def swallow_an_error(ledger: Ledger) -> None:
        with ledger._store.writing("clinic"), suppress(LedgerError):
            ledger._store._all("UPDATE no_such_table SET a = 1")

    with server_place(server) as place, opened(place) as ledger:
        with pytest.raises(LedgerError, match="did not commit"):
            swallow_an_error(ledger)
        assert ledger.verify().trusted


def test_a_full_disk_lets_nothing_leave(file: Place):
    with opened(file) as ledger:
        granted = ledger.reserve(ask("a"))
        pages = ledger._store._all("PRAGMA page_count")[0][0]
        ledger._store._all(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="full"):
            ledger.answer(granted, bytes(100_000))
    with file.open() as ledger:
        assert ledger.verify().trusted
        assert isinstance(ledger.reserve(ask("a")), Granted)
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


def in_child(act: Callable[[], str]) -> str:
    """Run something in a forked process and return what it says."""
    told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(told[0])
            os.write(told[1], act().encode())
        finally:
            os._exit(0)
    os.close(told[1])
    with open(told[0]) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text


def try_to_release(place: Place, name: str) -> str:
    try:
        with place.open() as ledger:
            outcome = ledger.reserve(ask(name))
            stored = outcome if isinstance(outcome, Stored) else ledger.answer(outcome, bytes(50_000))
            return f"released {len(stored.payload)}"
    except LedgerError as error:
        return f"refused: {error}"


def test_a_file_size_limit_in_the_middle_of_a_commit_lets_nothing_leave(file: Place):
    with opened(file):
        pass

    def limited() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        return try_to_release(file, "a")

    assert in_child(limited).startswith("refused")
    assert in_child(lambda: try_to_release(file, "a")) == "released 50000"
    with file.open() as ledger:
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)
        assert ledger.verify().trusted


def test_a_read_only_place_lets_nothing_leave(file: Place):
    with opened(file):
        pass
    home = Path(file.location).parent

    def unprivileged() -> str:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        return try_to_release(file, "a")

    for path in (*home.iterdir(), home):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert in_child(unprivileged).startswith("refused")
    finally:
        for path in (home, *home.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert in_child(lambda: try_to_release(file, "a")) == "released 50000"


def test_a_file_system_that_turns_read_only_lets_nothing_leave(place: Place):
    with opened(place) as ledger:
        granted = ledger.reserve(ask("a"))
        read_only = "PRAGMA query_only = 1" if place.is_file else "SET default_transaction_read_only = on"
        ledger._store._all(read_only)
        with pytest.raises(LedgerError, match=r"readonly|read-only"):
            ledger.answer(granted, b"must not leave")
        with pytest.raises(LedgerError, match=r"readonly|read-only"):
            ledger.reserve(ask("b"))
    with place.open() as ledger:
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


TRACED = """
import os, sys
from discreet.privacy.filter import PureBudget
from tests.ledger.world import Place, ask
from pathlib import Path
place = Place(sys.argv[1], Path(sys.argv[1] + '.elsewhere'))
with place.open() as ledger:
    ledger.create_dataset('clinic', PureBudget(1), reason='opened')
    granted = ledger.reserve(ask('a'))
    os.write(2, b'ENGINE')
    stored = ledger.answer(granted, b'0123')
    os.write(2, b'CLIENT')
"""
ONLY_CREATED = TRACED.partition("    granted")[0] + "    os.write(2, b'CLIENT')\n"
ONLY_RELEASED = TRACED.replace(
    "    ledger.create_dataset('clinic', PureBudget(1), reason='opened')\n",
    "    import ctypes\n"
    "    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)  # anybody may trace this process\n"
    "    os.write(1, b'OPEN')\n"
    "    sys.stdin.readline()\n",
)


def traced(tmp_path: Path, *options: str, script: str = TRACED) -> subprocess.CompletedProcess:
    """Run a script under strace; one that only releases something is traced once its ledger is open."""
    watching = ["strace", "-f", "-y", "-o", str(tmp_path / "trace"), *options]
    command = [sys.executable, "-c", script, str(tmp_path / "traced.ledger")]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    if script != ONLY_RELEASED:
        return subprocess.run(
            [*watching, *command], capture_output=True, env=environment, check=False, timeout=600
        )
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as run:
        assert run.stdout.read(4) == b"OPEN"
        with subprocess.Popen([*watching, "-p", str(run.pid)], stderr=pipe) as tracer:
            assert b"attached" in tracer.stderr.readline()
            out, err = run.communicate(b"\n", timeout=600)
            tracer.communicate(timeout=600)
    return subprocess.CompletedProcess(command, run.returncode, out, err)


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None
    or subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False).returncode != 0,
    reason="the order of system calls is watched with strace, which is not usable here",
)


@needs_strace
def test_the_operating_system_sees_every_sync_before_the_engine_runs_and_before_the_client_is_told(
    tmp_path: Path,
):
    """A payment is on the disk before the engine runs; its mark is written, and synced with the answer."""
    done = traced(tmp_path, "-e", "trace=fsync,fdatasync,write,pwrite64")
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "trace").read_text().splitlines()
    for moment, anchoring in (("ENGINE", "pwrite64("), ("CLIENT", "sync(")):
        here = next(i for i, call in enumerate(calls) if f'"{moment}"' in call)
        before = calls[:here]
        written = max(
            i for i, call in enumerate(before) if "pwrite64" in call and "traced.ledger-wal" in call
        )
        synced = max(i for i, call in enumerate(before) if "sync(" in call and "traced.ledger-wal" in call)
        anchored = max(i for i, call in enumerate(before) if anchoring in call and "elsewhere" in call)
        assert written < synced < anchored
        calls = calls[here + 1 :]


@needs_strace
@pytest.mark.parametrize("every", [(8, 4), pytest.param((1, 1), marks=pytest.mark.fuzz)], ids=["some", "all"])
def test_an_operating_system_that_fails_to_sync_lets_nothing_leave(tmp_path: Path, every: tuple[int, int]):
    """The kernel itself reports EIO, from each sync on that a ledger's creation, or a release, makes.

    Syncs are counted by thread; so creating and releasing, which different threads do, are tried apart, and
    the second once the ledger is open.
    """
    for script, fewest, often in ((ONLY_CREATED, 9, every[0]), (ONLY_RELEASED, 4, every[1])):
        failing = syncs_of(tmp_path / f"{fewest}", script)
        assert len(failing) >= fewest
        for call, first in failing[::-often]:
            home = prepared(tmp_path / f"{fewest}{call}{first}", script)
            how = "-e", f"trace={call}", "-e", f"inject={call}:error=EIO:when={first}+"
            done = traced(home, *how, script=script)
            assert done.returncode != 0
            assert b"CLIENT" not in done.stderr
            assert b"LedgerError" in done.stderr


def prepared(home: Path, script: str) -> Path:
    """Return a new directory, with a ledger for whoever only releases something."""
    home.mkdir()
    if script == ONLY_RELEASED:
        place = str(home / "traced.ledger")
        opened(Place(place, Path(f"{place}.elsewhere"))).close()
    return home


def syncs_of(home: Path, script: str) -> list[tuple[str, int]]:
    """Return the syncs that the busiest thread makes before the client is told."""
    traced(prepared(home, script), "-e", "trace=fsync,fdatasync,write", script=script)
    calls = (home / "trace").read_text().splitlines()
    sent = next(i for i, call in enumerate(calls) if '"CLIENT"' in call)
    made = [
        Counter(call.split()[0] for call in calls[:sent] if f" {which}(" in call)
        for which in ("fsync", "fdatasync")
    ]
    times = [max(threads.values(), default=0) for threads in made]
    return [
        (which, first)
        for which, most in zip(("fsync", "fdatasync"), times, strict=True)
        for first in range(1, most + 1)
    ]
