"""The service under load: quotes, repeats and fresh questions a second, through TLS on this machine.

Clients are connections of this process, on the same cores as the service, so a figure is that of both
together; they write what was prepared and read no more of an answer than where it ends.  Slots are off: an
answer leaves when it is ready.  The last tables are the PostgreSQL door, asked with psycopg, and memory over
many repeats.  Everything takes some ten minutes on two idle cores; `DISCREET_BENCH_SECONDS` (4) is how long
each line lasts, and `python -m benchmarks.service http wire memory` runs some of it.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table
from tests.ledger.world import KEY, Server, server_place
from tests.service.world import COUNT, ROWS, Service, certify, declare, launch

from discreet.service.people import FILE, People
from discreet.service.role import Role

SECONDS = float(os.environ.get("DISCREET_BENCH_SECONDS", 4))
MANY = int(os.environ.get("DISCREET_BENCH_REPEATS", 100_000))
CLIENTS = (1, 8, 64)
WORKERS = (1, 2)
MOST_WORKERS = 6
"""Three for each of two cores, which answer the most."""

OPTIONS = ("--slot", "0", "--rate", "1000000", "--queue", "1000", "--postgres-port", "0")
FRESH = count()
FIGURES = ("per second", "median ms", "99 % ms", "CPU ms", "of clients")


def main(*parts: str) -> None:
    for name, show in {"http": http, "wire": wire, "memory": memory}.items():
        if not parts or name in parts:
            for grid in show():
                Console(width=120).print(grid)


@contextmanager
def started(workers: int, store: str = "file") -> Iterator[Service]:
    """Start a service on a ledger in a file, or on a PostgreSQL server of its own."""
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
        if store == "file":
            with _serving(Path(home), workers) as service:
                yield service
            return
        server = Server()
        try:
            with server_place(server) as place, _serving(Path(home), workers, str(place.location)) as service:
                yield service
        finally:
            server.stop()


@contextmanager
def _serving(folder: Path, workers: int, ledger: str | None = None) -> Iterator[Service]:
    manifest = declare(folder, "clinic", ROWS)
    if ledger is not None:
        said = manifest.read_text().replace("[budget]", f'ledger = "{ledger}"\n[budget]')
        manifest.write_text(said)
        os.environ |= {
            "DISCREET_LEDGER_ANCHOR": str(folder / "clinic.anchor"),
            "DISCREET_LEDGER_KEY": KEY.hex(),
        }
    certify(folder)
    tokens = {"analyst": People(folder / FILE).add("analyst", Role.ANALYST, "clinic")}
    service = launch(folder, ["clinic"], tokens, *OPTIONS, "--workers", str(workers))
    try:
        yield service
    finally:
        service.stop()
        for name in ("DISCREET_LEDGER_ANCHOR", "DISCREET_LEDGER_KEY"):
            os.environ.pop(name, None)


def table(title: str, *heads: str) -> Table:
    grid = Table(title=title, title_justify="left")
    for head in heads:
        grid.add_column(head, justify="left" if head in ("ledger", "what") else "right")
    return grid


def http() -> Iterator[Table]:
    for store in ("file", "PostgreSQL"):
        for workers in (*WORKERS, MOST_WORKERS):
            title = f"Requests through the service: ledger in {store}, workers {workers}"
            grid = table(title, "what", "clients", *FIGURES, "grown by MB")
            with started(workers, store) as service:
                for name, asked in ASKED.items():
                    for clients in CLIENTS:
                        before = resident(service)
                        shown = figures(service, through_http, asked, clients)
                        grid.add_row(name, str(clients), *shown, f"{resident(service) - before:.1f}")
            yield grid


def wire() -> Iterator[Table]:
    grid = table("Questions through psycopg", "workers", "what", "clients", *FIGURES)
    for workers in WORKERS:
        with started(workers) as service:
            for name, ask in WIRED.items():
                for clients in (1, 8):
                    grid.add_row(
                        str(workers),
                        name,
                        str(clients),
                        *figures(service, through_psycopg, ask, clients),
                    )
    yield grid


def memory() -> Iterator[Table]:
    grid = table(f"Resident memory over {MANY:,} repeats", "repeats", "per second", "MB", "grown by MB")
    with started(2) as service:
        through_http(service, repeat, 8, 2000)
        first = resident(service)
        grid.add_row("0", "", f"{first:.1f}", "0.0")
        for part in range(1, 6):
            times, spent = through_http(service, repeat, 8, MANY // 5)
            now = resident(service)
            grid.add_row(
                f"{part * MANY // 5:,}", f"{len(times) / spent:.0f}", f"{now:.1f}", f"{now - first:.1f}"
            )
    yield grid


def health() -> tuple[str, str, object]:
    return "GET", "/health", None


def quote() -> tuple[str, str, object]:
    return "POST", "/v1/datasets/clinic/quote", _fresh()


def repeat() -> tuple[str, str, object]:
    return "POST", "/v1/datasets/clinic/query", {"sql": COUNT, "epsilon": "0.001"}


def fresh() -> tuple[str, str, object]:
    return "POST", "/v1/datasets/clinic/query", _fresh()


def _fresh() -> dict[str, str]:
    return {"sql": f"{COUNT} WHERE cost > {next(FRESH) / 1000}", "epsilon": "0.001"}


ASKED: dict[str, Callable[[], tuple[str, str, object]]] = {
    "nothing": health,
    "quote": quote,
    "repeat": repeat,
    "fresh question": fresh,
}
WIRED: dict[str, Callable[[], str]] = {
    "repeat": lambda: COUNT,
    "fresh question": lambda: f"{COUNT} WHERE cost > {next(FRESH) / 1000}",
}


def written(service: Service, method: str, path: str, body: object) -> bytes:
    sent = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {service.tokens['analyst']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    return head.encode() + sent


async def driven(
    service: Service,
    asked: Callable[[], tuple[str, str, object]],
    clients: int,
    most: int | None = None,
) -> tuple[list[float], float]:
    """Ask on so many connections for some seconds, or so many times; return how long each took, and all."""
    times: list[float] = []
    lines = [
        await asyncio.open_connection("localhost", service.port, ssl=service.tls()) for _ in range(clients)
    ]
    end = None if most is not None else time.perf_counter() + SECONDS

    async def work(incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        while time.perf_counter() < end if end is not None else len(times) < (most or 0):
            begun = time.perf_counter()
            outgoing.write(written(service, *asked()))
            head = await incoming.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode())
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await incoming.readexactly(int(length))
            times.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(work(*line) for line in lines))
    spent = time.perf_counter() - begun
    for _, outgoing in lines:
        outgoing.close()
    return times, spent


def through_http(
    service: Service, ask: Callable[[], tuple[str, str, object]], clients: int, most: int | None = None
) -> tuple[list[float], float]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(driven(service, ask, clients, most))


def through_psycopg(service: Service, ask: Callable[[], str], clients: int) -> tuple[list[float], float]:
    import psycopg

    times: list[float] = []
    settings = service.dsn() | {"options": "-c discreet.epsilon=0.001"}
    lines = [psycopg.connect(**settings, autocommit=True) for _ in range(clients)]
    end = time.perf_counter() + SECONDS

    def work(line: psycopg.Connection) -> None:
        while time.perf_counter() < end:
            begun = time.perf_counter()
            line.execute(ask()).fetchall()
            times.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=work, args=(line,)) for line in lines]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - begun
    for line in lines:
        line.close()
    return times, spent


def figures(
    service: Service,
    through: Callable[[Service, Any, int], tuple[list[float], float]],
    ask: Any,
    clients: int,
) -> tuple[str, ...]:
    """Return what was measured: also processor time, which another's load hardly changes."""
    served, own = used(service), time.process_time()
    times, spent = through(service, ask, clients)
    served, own = used(service) - served, time.process_time() - own
    times.sort()
    slowest = times[min(len(times) - 1, int(len(times) * 0.99))]
    shown = [f"{one * 1e3:.1f}" for one in (statistics.median(times), slowest)]
    each = [f"{one / len(times) * 1e3:.2f}" for one in (served, own)]
    return f"{len(times) / spent:.0f}", *shown, *each


def used(service: Service) -> float:
    """Return the processor seconds of the process at the network and its workers so far."""
    ticks = 0
    for number in (service.process.pid, *service.workers()):
        parts = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        ticks += int(parts[11]) + int(parts[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(service: Service) -> float:
    """Return the resident megabytes of the process at the network and its workers."""
    pages = 0
    for number in (service.process.pid, *service.workers()):
        pages += int(Path(f"/proc/{number}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main(*sys.argv[1:])
