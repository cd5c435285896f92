"""Durable spending: how many requests a second, how long each waits, and whether anything grows.

Both stores sync to the disk under the temporary directory.  A release is `reserve` and `answer`, each
committed and anchored; the payment's mark is synced with the answer's, so there are three syncs in all.  A
repeat asks what was answered before.  Clients are one thread, sixteen of one process, as a service has them,
or sixteen processes; either crowd shares its turns.  The bare commit is what the disk itself allows: one row,
one sync, no checks.  CPU is what the clients take; a server takes its own beside.  Growth with analysts is
measured on the disk, with entries in memory, under a pure budget and one that adds up Renyi costs; the long
histories are sealed as turns would seal them, but inserted in bulk.  A step of a stream is one transaction
with its state and its answer; a batch makes a thousand steps durable at once.
`DISCREET_BENCH_ENTRIES` and `DISCREET_BENCH_ANALYSTS` make the longest history and the largest crowd smaller.
"""

import hashlib
import multiprocessing
import os
import re
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.ledger.world import Place, Server, ask, file_place, server_place

from discreet.ledger import Granted, Ledger
from discreet.ledger.chain import keyed, sealing
from discreet.ledger.codec import canonical, digest, write_cost, write_event
from discreet.ledger.entry import Answered, Reserved
from discreet.ledger.sqlite import MIGRATIONS, SqliteStore
from discreet.ledger.turn import Turn, stand
from discreet.ledger.written import MODULUS, tally_text, term_text
from discreet.privacy.filter import ApproximateBudget, Budget, Cost, PureBudget
from discreet.release.stream import open_stream

EMPTY = digest(b"")
ENTRIES = int(os.environ.get("DISCREET_BENCH_ENTRIES", 1_000_000))
ANALYSTS = int(os.environ.get("DISCREET_BENCH_ANALYSTS", 100_000))
SECONDS, SHORTLY = 3.0, 1.0
PRICE = Cost.pure("0.001")
TURNS, CROWD = 10, 16
LENGTH = 2**20
BATCHED = 5_000


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        console.print(speed(Path(home)))
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        console.print(analysts(Path(home)))
    console.print(waiting())
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        console.print(streams(Path(home)))
    console.print(growth())


def speed(disk: Path) -> Table:
    grid = Table(title="Durable spending on disk", title_justify="left")
    for heading in ("store", "what", "clients", "per second", "median ms", "99 % ms", "CPU ms"):
        grid.add_column(heading, justify="left" if heading in ("store", "what") else "right")
    grid.add_row("SQLite", "bare commit", "1", *_figures(*_timed(bare_commit(disk / "bare.db"))), "")
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
                    for clients, measured in crowds(place, what):
                        grid.add_row(name, what.__name__, clients, *measured)
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


def crowds(place: Place, what: Callable[[Ledger, str], None]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the figures of one client, of many in one process, and of as many processes."""
    for clients in (1, CROWD):
        yield "1" if clients == 1 else f"{clients} threads", threads(place, what, clients)
    yield f"{CROWD} processes", crowd(place, what, CROWD)


def threads(place: Place, what: Callable[[Ledger, str], None], clients: int) -> tuple[str, ...]:
    """Return how many calls a second this many threads make that share one ledger."""
    found: list[tuple[list[float], float]] = []
    start = threading.Barrier(clients)

    def client(ledger: Ledger, number: int) -> None:
        names = (f"{what.__name__}.t{clients}.{number}.{turn}" for turn in count())
        start.wait()
        found.append(_timed(lambda: what(ledger, next(names))))

    with place.open() as ledger:
        what(ledger, f"{what.__name__}.t{clients}.first")
        busy = time.process_time()
        working = [threading.Thread(target=client, args=(ledger, number)) for number in range(clients)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join()
        busy = time.process_time() - busy
    waits = [wait for waits, _ in found for wait in waits]
    return *_figures(waits, max(elapsed for _, elapsed in found)), f"{1000 * busy / len(waits):.2f}"


def crowd(place: Place, what: Callable[[Ledger, str], None], clients: int) -> tuple[str, ...]:
    """Return how many calls a second this many processes make at once, how long each waits, and its CPU."""
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(clients), context.SimpleQueue()

    def client(number: int) -> None:
        with place.open() as ledger:
            names = (f"{what.__name__}.{clients}.{number}.{turn}" for turn in count())
            what(ledger, next(names))  # the first one imports what is needed for signing
            barrier.wait()
            busy = time.process_time()
            waits, elapsed = _timed(lambda: what(ledger, next(names)))
            results.put((waits, elapsed, time.process_time() - busy))

    processes = [context.Process(target=client, args=(number,)) for number in range(clients)]
    for process in processes:
        process.start()
    found = [results.get() for _ in processes]
    for process in processes:
        process.join()
    waits = [wait for waits, *_ in found for wait in waits]
    busy = 1000 * sum(busy for *_, busy in found) / len(waits)
    return *_figures(waits, max(elapsed for _, elapsed, _ in found)), f"{busy:.2f}"


def _timed(act: Callable[[], object], seconds: float = SECONDS) -> tuple[list[float], float]:
    waits: list[float] = []
    begin = last = time.perf_counter()
    while last - begin < seconds:
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


def analysts(disk: Path) -> Table:
    """Return how fast releases are beside ever more analysts, each of whom has spent something."""
    grid = Table(title="Releases beside many analysts, on disk", title_justify="left")
    for heading in ("store", "analysts", "clients", "per second", "median ms", "99 % ms", "CPU ms"):
        grid.add_column(heading, justify="left" if heading == "store" else "right")
    disk.chmod(0o755)  # the server runs as another user where we are root
    (disk / "server").mkdir()
    server = Server(disk / "server")
    try:
        for size in sorted({10, min(1_000, ANALYSTS), ANALYSTS}):
            with server_place(server) as remote:
                places = {
                    "SQLite": Place(str(disk / f"{size}.ledger"), disk / f"{size}.anchor"),
                    "PostgreSQL": Place(remote.location, disk / f"{size}.p.anchor"),
                }
                for name, place in places.items():
                    _populate(place, size)
                    for clients, measured in crowds(place, release):
                        grid.add_row(name, f"{size:,}", clients, *measured)
    finally:
        server.close()
    return grid


def _populate(place: Place, size: int) -> None:
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10**9), reason="benchmark")
        ledger._write("clinic", lambda turn: _fill(turn, 2 * size + 1, lambda number: f"a{number}"))


def waiting() -> Table:
    """Return how long sixteen wait that ask the same at once, of which one runs it for 20 ms."""
    grid = Table(title="The same question at once, 16 clients, a run of 20 ms", title_justify="left")
    for heading in ("store", "clients", "median ms", "longest ms", "payments"):
        grid.add_column(heading, justify="left" if heading in ("store", "clients") else "right")
    server = Server()
    try:
        with file_place() as place, server_place(server) as remote:
            for name, where in (("SQLite", place), ("PostgreSQL", remote)):
                with where.open() as ledger:
                    ledger.create_dataset("clinic", PureBudget(10**9), reason="benchmark")
                for who, asked in (("threads", _in_threads), ("processes", _in_processes)):
                    waits = sorted(asked(where))
                    with where.open() as ledger:
                        paid = ledger.budget("clinic").limits[0].spent.epsilon / PRICE.epsilon
                    figures = f"{1000 * statistics.median(waits):.1f}", f"{1000 * waits[-1]:.1f}"
                    grid.add_row(name, who, *figures, f"{paid} for {_questions(who)} questions")
    finally:
        server.close()
    return grid


def _questions(who: str) -> int:
    """Return how many questions were asked by now."""
    return TURNS if who == "threads" else 2 * TURNS


def _same(ledger: Ledger, name: str, question: str) -> float:
    """Ask, run for a while if nobody else does, and return how long it took."""
    begin = time.perf_counter()
    outcome = ledger.reserve(ask(name, question=question, cost=PRICE))
    if isinstance(outcome, Granted):
        time.sleep(0.02)
        ledger.answer(outcome, bytes(200))
    return time.perf_counter() - begin


def _in_threads(place: Place) -> list[float]:
    waits: list[float] = []
    start = threading.Barrier(CROWD)

    def client(ledger: Ledger, number: int) -> None:
        for turn in range(TURNS):
            start.wait()
            waits.append(_same(ledger, f"t{turn}.{number}", f"t{turn}"))

    with place.open() as ledger:
        threads = [threading.Thread(target=client, args=(ledger, number)) for number in range(CROWD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return waits


def _in_processes(place: Place) -> list[float]:
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(CROWD), context.SimpleQueue()

    def client(number: int) -> None:
        waits = []
        with place.open() as ledger:
            for turn in range(TURNS):
                start.wait()
                waits.append(_same(ledger, f"p{turn}.{number}", f"p{turn}"))
        told.put(waits)

    processes = [context.Process(target=client, args=(number,)) for number in range(CROWD)]
    for process in processes:
        process.start()
    waits = [wait for _ in processes for wait in told.get()]
    for process in processes:
        process.join()
    return waits


def growth() -> Table:
    """Return what a release, opening and verifying cost after ever longer histories, under either rule."""
    grid = Table(title="After a long history (SQLite, in memory)", title_justify="left")
    for heading in (
        "budget",
        "entries",
        "median ms",
        "99 % ms",
        "open ms",
        "verify s",
        "entries/s",
        "again s",
    ):
        grid.add_column(heading, justify="left" if heading == "budget" else "right")
    budgets: dict[str, Budget] = {"pure": PureBudget(10**9), "with delta": ApproximateBudget(10**6, "1e-9")}
    for name, budget in budgets.items():
        with file_place() as place:
            with place.open() as ledger:
                ledger.create_dataset("clinic", budget, reason="benchmark")
            for size in sorted({1_000, min(100_000, ENTRIES), ENTRIES}):
                with place.open() as ledger:
                    ledger._write("clinic", lambda turn, size=size: _fill(turn, size, _one_of_forty))
                grid.add_row(name, f"{size:,}", *latency(place), *_verified(place, size))
    return grid


def _one_of_forty(number: int) -> str:
    return f"a{number % 40}"


def latency(place: Place) -> tuple[str, str, str]:
    """Return the median and the tail of a release, and how long the ledger takes to open."""
    begin = time.perf_counter()
    with place.open() as ledger:
        opened = time.perf_counter() - begin
        unique = f"{time.time_ns()}"
        names = (f"{unique}.{turn}" for turn in count())
        waits, _ = _timed(lambda: release(ledger, next(names)), SHORTLY)
    return _median(waits), _tail(waits), f"{1000 * opened:.1f}"


def _verified(place: Place, size: int) -> tuple[str, str, str]:
    """Return how long verifying takes, and how long it takes again from where it stopped."""
    with place.open() as ledger:
        begin = time.perf_counter()
        if not ledger.verify().trusted:
            raise RuntimeError("the ledger does not hold")
        whole = time.perf_counter() - begin
        ledger.verify(incremental=True)
        again = time.perf_counter() - begin - whole
    return f"{whole:.2f}", f"{size / whole:,.0f}", f"{again:.2f}"


def _fill(turn: Turn, size: int, who: Callable[[int], str]) -> None:
    """Continue the history, validly sealed, to this many entries: paid and answered, at one price.

    Everything is sealed as a turn would seal it, but written at once, since a turn takes its time; whether
    it is as turns would have left it, opening and verifying tell.
    """
    seals, dataset, begun = turn.seals, turn.dataset, turn.standing
    own, sealed = keyed(seals.own(dataset, seals.key)), sealing(seals.key, seals.ledger, dataset)
    price = turn.account.recorded(ask("@0", question="@0", analyst="@2", cost=PRICE))
    reached = turn.marks.heads[dataset].number if dataset in turn.marks.heads else 0
    frame = {"rows": "@4", "anchor": [turn.marks.name, reached], "time": "2026-01-01T00:00:00+00:00"}
    paying = _template(canonical({**frame, "event": write_event(Reserved(price))}))
    answering = _template(canonical({**frame, "event": write_event(Answered(777, "@3", EMPTY, 0))}))
    meaning = canonical([price.snapshot, "@0", write_cost(price.cost)[:3], list(price.mechanisms)])
    purses = _Purses(turn, price.cost, own)
    rows: list[tuple[object, ...]] = []
    number, mac, total = begun.number, begun.mac, begun.total or 0
    while number < size:
        number += 1
        name, analyst = f"fill.{number}", who(number)
        question = hashlib.sha256(meaning.replace("@0", name).encode()).hexdigest()
        running = _term(own, f'["running",{number}]', f'[1,"{question}"]')
        total = (total + purses.pay(analyst) + running) % MODULUS
        body = paying({"@0": name, "@2": analyst, "@4": own(tally_text(total)).hex()})
        previous, mac = mac, sealed(number, mac, body.encode())
        rows.append((dataset, number, "reserved", name, question, None, body, previous, mac, None))
        number += 1
        total = (total - running) % MODULUS
        body = answering({"777": str(number - 1), "@3": question, "@4": own(tally_text(total)).hex()})
        previous, mac = mac, sealed(number, mac, body.encode())
        rows.append((dataset, number, "answered", None, question, number - 1, body, previous, mac, b""))
        if len(rows) >= 10_000 or number >= size:
            _insert(turn, "entry", rows)
            rows.clear()
    _insert(turn, "total", [(dataset, *row) for row in purses.rows()])
    _put_head(turn, number)
    turn.standing = stand(turn.store, seals, dataset, turn.marks)


def _template(text: str) -> Callable[[dict[str, str]], str]:
    """Return what puts values into the places of a text, which is cut into pieces only once."""
    pieces = re.split("(@[0-9]|777)", text)
    return lambda values: "".join([values.get(piece, piece) for piece in pieces])


def _term(own: Callable[[bytes], bytes], name: str, value: str) -> int:
    return int.from_bytes(own(term_text(name, value)), "big")


class _Purses:
    """What each analyst has spent: some had spent something before, and all pay one price again and again."""

    def __init__(self, turn: Turn, price: Cost, own: Callable[[bytes], bytes]) -> None:
        self._own, self._price = own, price
        self._before = {a: canonical(write_cost(cost)) for (_, a), cost in turn.account.spent.items()}
        self._costs = {canonical(write_cost(cost)): cost for cost in turn.account.spent.values()}
        self._paid: dict[str, tuple[int, int]] = {}
        self._written = lru_cache(100_000)(self._write)

    def _write(self, before: str, times: int) -> str:
        return canonical(write_cost(self._costs.get(before, Cost.zero) + self._price.times(times)))

    def pay(self, analyst: str) -> int:
        """Pay once more, and return by how much the tally of all rows changes."""
        before, name = self._before.get(analyst, ""), f'["spent","wards","{analyst}"]'
        times, last = self._paid.get(analyst) or (0, _term(self._own, name, before) if before else 0)
        term = _term(self._own, name, self._written(before, times + 1))
        self._paid[analyst] = times + 1, term
        return term - last

    def rows(self) -> list[tuple[str, str]]:
        """Return the rows of all who have paid."""
        return [
            (f'["spent","wards","{analyst}"]', self._written(self._before.get(analyst, ""), times))
            for analyst, (times, _) in self._paid.items()
        ]


def _insert(turn: Turn, table: str, rows: list[tuple[object, ...]]) -> None:
    if isinstance(turn.store, SqliteStore):
        marks = ", ".join("?" * len(rows[0]))
        turn.store._database.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        return
    if table == "total":
        names = [row[1] for row in rows]
        turn.store._all(
            "DELETE FROM discreet_total WHERE dataset = %s AND name = ANY(%s)", (turn.dataset, names)
        )
    with turn.store._mine.connection.cursor().copy(f"COPY discreet_{table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def _put_head(turn: Turn, number: int) -> None:
    """Put the head where the entries end; the database lets it move by one entry only."""
    if isinstance(turn.store, SqliteStore):
        turn.store._all("DROP TRIGGER head_moves_forward")
        turn.store._all("UPDATE head SET number = ? WHERE dataset = ?", (number, turn.dataset))
        (trigger,) = (text for step in MIGRATIONS for text in step if "TRIGGER head_moves_forward" in text)
        turn.store._all(trigger)
        return
    turn.store._all("ALTER TABLE discreet_head DISABLE TRIGGER USER")
    turn.store._all("UPDATE discreet_head SET number = %s WHERE dataset = %s", (number, turn.dataset))
    turn.store._all("ALTER TABLE discreet_head ENABLE TRIGGER USER")
    turn.store._mine.head = None


if __name__ == "__main__":
    main()
