"""Durable spending: how many requests a second, how long each waits, and whether a long history slows it.

Both stores sync to the disk under the temporary directory.  A release is `reserve` and `answer`, each
committed and anchored; a repeat asks what was answered before.  The bare commit is what the disk itself
allows: one row, one sync, no checks.  Growth is measured in memory, where the disk does not hide the
processor.  A step of a stream is one transaction with its state and its answer; a batch makes a thousand
steps durable at once.
"""

import multiprocessing
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table
from tests.ledger.world import KEY, Place, Server, ask, file_place, server_place

from discreet.ledger import Granted, Ledger
from discreet.ledger.chain import key_name
from discreet.ledger.codec import digest, fingerprint
from discreet.ledger.entry import Answered, Reserved
from discreet.ledger.opening import EVERYTHING
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.store import COLUMNS, Identity, stored_values
from discreet.ledger.turn import Turn, exclusively, take_turn
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget
from discreet.release.stream import open_stream

EMPTY = digest(b"")
ENTRIES = int(os.environ.get("DISCREET_BENCH_ENTRIES", 1_000_000))
SECONDS = 4.0
PRICE = Cost.pure("0.001")
LENGTH = 2**20
BATCHED = 20_000


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        console.print(speed(Path(home)))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        console.print(streams(Path(home)))
    console.print(growth())


def speed(disk: Path) -> Table:
    grid = Table(title="Durable spending on disk", title_justify="left")
    for heading in ("store", "what", "clients", "per second", "median ms", "99 % ms"):
        grid.add_column(heading, justify="left" if heading in ("store", "what") else "right")
    grid.add_row("SQLite", "bare commit", "1", *_figures(*_timed(bare_commit(disk / "bare.db"))))
    disk.chmod(0o755)  # the server runs as another user where we are root
    (disk / "server").mkdir()
    server = Server(disk / "server")
    try:
        places = {"SQLite": Place(str(disk / "b.ledger"), disk / "b.anchor")}
        with server_place(server) as remote:
            places["PostgreSQL"] = Place(remote.location, disk / "p.anchor")
            for name, place in places.items():
                with place.open() as ledger:
                    ledger.create_dataset("clinic", PureBudget(10**9), reason="benchmark")
                for what in (release, repeat):
                    for clients in (1, 8):
                        grid.add_row(
                            name, what.__name__, str(clients), *_figures(*crowd(place, what, clients))
                        )
    finally:
        server.close()
    return grid


def streams(disk: Path) -> Table:
    """Return how fast streams of 2**20 steps advance, what a step adds to the store, and what to memory."""
    grid = Table(title=f"Streams of {LENGTH:,} steps on disk", title_justify="left")
    for heading in (
        "store",
        "counter",
        "steps/s",
        "median ms",
        "99 % ms",
        "CPU ms",
        "in batches/s",
        "bytes a step",
        "MB",
    ):
        grid.add_column(heading, justify="left" if heading in ("store", "counter") else "right")
    disk.chmod(0o755)
    (disk / "server").mkdir()
    server = Server(disk / "server")
    try:
        with server_place(server) as remote:
            for place in (Place(str(disk / "s.ledger"), disk / "s.anchor"), remote):
                with place.open() as ledger:
                    ledger.create_dataset("clinic", ApproximateBudget(10**3, "1e-9"), reason="benchmark")
                    for budget in (PureBudget(1), ApproximateBudget(1, "1e-9")):
                        name = "SQLite" if place.is_file else "PostgreSQL"
                        grid.add_row(name, *_stream_figures(place, ledger, budget))
    finally:
        server.close()
    return grid


def _stream_figures(place: Place, ledger: Ledger, budget: Budget) -> tuple[str, ...]:
    asked = str(type(budget))
    stream = open_stream(ledger, budget, "clinic", "p", "a", asked, length=LENGTH, epsilon=1, contribution=1)
    stream.extend([1] * 1000, first=1)
    steps = count(stream.steps + 1)
    held, stored = _resident(), _stored_bytes(place)
    busy = time.process_time()
    waits, elapsed = _timed(lambda: stream.add(1, step=next(steps)))
    busy = 1000 * (time.process_time() - busy) / len(waits)
    size = (_stored_bytes(place) - stored) / len(waits)
    begin, first = time.perf_counter(), stream.steps + 1
    stream.extend([1] * BATCHED, first=first)
    batched = BATCHED / (time.perf_counter() - begin)
    grown = (_resident() - held) / 2**20
    figures = _figures(waits, elapsed)
    kind = type(stream.counter).__name__
    return kind, *figures, f"{busy:.2f}", f"{batched:.0f}", f"{size:.0f}", f"{grown:+.1f}"


def _resident() -> int:
    """Return the memory that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _stored_bytes(place: Place) -> int:
    """Return the size of all entries."""
    size = "length(body) + length(previous) + length(mac) + coalesce(length(payload), 0)"
    return int(place.query(f"SELECT sum({size}) FROM {{entry}}")[0][0])


def bare_commit(path: Path) -> Callable[[], object]:
    database = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL"):
        database.execute(f"PRAGMA {setting}")
    database.execute("CREATE TABLE t (x)")
    return lambda: database.execute("INSERT INTO t VALUES (randomblob(600))")


def release(ledger: Ledger, name: str) -> None:
    """Pay for a question of its own, and record its answer."""
    ledger.answer(ledger.reserve(ask(name, cost=PRICE)), bytes(200))


def repeat(ledger: Ledger, name: str) -> None:
    """Ask what was answered before: free, and nothing is written."""
    outcome = ledger.reserve(ask(name, question="the same for everybody", cost=PRICE))
    if isinstance(outcome, Granted):
        ledger.answer(outcome, bytes(200))


def crowd(place: Place, what: Callable[[Ledger, str], None], clients: int) -> tuple[list[float], float]:
    """Return how long every call waited, with this many processes calling at once, and for how long."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(clients), context.SimpleQueue()

    def client(number: int) -> None:
        with place.open() as ledger:
            names = (f"{what.__name__}.{clients}.{number}.{turn}" for turn in count())
            barrier.wait()
            results.put(_timed(lambda: what(ledger, next(names))))

    processes = [context.Process(target=client, args=(number,)) for number in range(clients)]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return [wait for waits, _ in found for wait in waits], max(elapsed for _, elapsed in found)


def _timed(act: Callable[[], object]) -> tuple[list[float], float]:
    waits: list[float] = []
    begin = last = time.perf_counter()
    while last - begin < SECONDS:
        act()
        now = time.perf_counter()
        waits.append(now - last)
        last = now
    return waits, last - begin


def _figures(waits: list[float], elapsed: float) -> tuple[str, str, str]:
    return f"{len(waits) / elapsed:.0f}", _median(waits), _tail(waits)


def _median(waits: list[float]) -> str:
    return f"{1000 * statistics.median(waits):.2f}"


def _tail(waits: list[float]) -> str:
    return f"{1000 * sorted(waits)[int(len(waits) * 0.99)]:.2f}"


def growth() -> Table:
    grid = Table(title="One release after a long history (in memory)", title_justify="left")
    for heading in ("store", "entries", "median ms", "99 % ms", "open ms"):
        grid.add_column(heading, justify="left" if heading == "store" else "right")
    server = Server()
    try:
        with file_place() as place, server_place(server) as remote:
            with place.open() as ledger:
                ledger.create_dataset("clinic", PureBudget(10**9), reason="benchmark")
            for size in sorted({1_000, min(10_000, ENTRIES), min(100_000, ENTRIES), ENTRIES}):
                lengthen(place, size)
                if size in (1_000, ENTRIES):
                    copy(place, remote)
                    grid.add_row("PostgreSQL", f"{size:,}", *latency(remote))
                    clear(remote)
                grid.add_row("SQLite", f"{size:,}", *latency(place))
    finally:
        server.close()
    return grid


def latency(place: Place) -> tuple[str, str, str]:
    """Return the median and the tail of a release, and how long the ledger takes to open."""
    begin = time.perf_counter()
    with place.open() as ledger:
        opened = time.perf_counter() - begin
        unique = f"{time.time_ns()}"
        names = (f"{unique}.{turn}" for turn in count())
        waits, _ = _timed(lambda: release(ledger, next(names)))
    return _median(waits), _tail(waits), f"{1000 * opened:.1f}"


def lengthen(place: Place, size: int) -> None:
    """Continue the history, validly sealed, to this many entries, in one transaction."""
    with place.open() as ledger:
        take_turn(ledger._store, ledger._seals, ledger._anchor, "clinic", lambda turn: _fill(turn, size))


def _fill(turn: Turn, size: int) -> None:
    while turn.standing.number < size:
        request = ask(f"fill.{turn.standing.number}", cost=PRICE)
        row = turn.append(Reserved(request))
        turn.append(Answered(row.number, fingerprint(request), EMPTY, 0), b"")


def copy(place: Place, remote: Place) -> None:
    """Put the same history into the server, under the same identity."""
    with place.open() as source:
        identity = Identity(source.identity, key_name(KEY))
        head = source._store.head("clinic")
        store = PostgresStore(remote.location)
        exclusively(store, EVERYTHING, lambda: store.create(identity))
        store.close()
        with psycopg.connect(remote.location) as database:
            with database.cursor().copy(f"COPY discreet_entry ({COLUMNS}) FROM STDIN") as stream:
                for row in source._store.shelf.rows("clinic", 1, head.number):
                    stream.write_row(stored_values(row))
            database.execute("INSERT INTO discreet_head VALUES ('clinic', %s, %s)", (head.number, head.state))
    remote.anchor.write_bytes(place.anchor.read_bytes())


def clear(remote: Place) -> None:
    with psycopg.connect(remote.location) as database:
        database.execute("DROP TABLE discreet_entry, discreet_head, discreet_ledger, discreet_secret")
        database.execute("DROP FUNCTION discreet_refuse")
    remote.anchor.unlink()


if __name__ == "__main__":
    main()
