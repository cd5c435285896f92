"""The service under load: quotes, repeats and fresh questions a second, through TLS on this machine.

Clients are threads of this process with one connection each, on the same cores as the service, so a figure is
that of both together.  Slots are off: an answer leaves when it is ready.
"""

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.service.world import COUNT, Service, start

from discreet.service.line import Line

SECONDS = float(os.environ.get("DISCREET_BENCH_SECONDS", 4))
CLIENTS = (1, 8, 64)
WORKERS = (1, 2)
PATH = ("v1", "datasets", "clinic")
FRESH = count()


def main() -> None:
    grid = Table(title="Requests through the service", title_justify="left")
    for heading in ("workers", "what", "clients", "per second", "median ms", "99 % ms", "grown by MB"):
        grid.add_column(heading, justify="left" if heading == "what" else "right")
    for workers in WORKERS:
        with tempfile.TemporaryDirectory(prefix="discreet-bench-") as home:
            options = ("--slot", "0", "--rate", "1000000", "--queue", "1000", "--workers", str(workers))
            service = start(Path(home), *options)
            try:
                for name, ask in ASKED.items():
                    for clients in CLIENTS:
                        grid.add_row(str(workers), name, str(clients), *measured(service, ask, clients))
            finally:
                service.stop()
    Console().print(grid)


def health(line: Line) -> None:
    line.get("health")


def quote(line: Line) -> None:
    body = {"sql": f"{COUNT} WHERE cost > {next(FRESH) / 1000}", "epsilon": "0.001"}
    line.post(*PATH, "quote", body=body)


def repeat(line: Line) -> None:
    line.post(*PATH, "query", body={"sql": COUNT, "epsilon": "0.001"})


def fresh(line: Line) -> None:
    body = {"sql": f"{COUNT} WHERE cost > {next(FRESH) / 1000}", "epsilon": "0.001"}
    line.post(*PATH, "query", body=body)


ASKED: dict[str, Callable[[Line], None]] = {
    "nothing": health,
    "quote": quote,
    "repeat": repeat,
    "fresh question": fresh,
}


def measured(service: Service, ask: Callable[[Line], None], clients: int) -> tuple[str, str, str, str]:
    times: list[float] = []
    lines = [
        Line(service.url, service.tokens["analyst"], certificate=service.certificate) for _ in range(clients)
    ]
    for line in lines:
        line.get("health")
    before, end = memory(service), time.perf_counter() + SECONDS

    def work(line: Line) -> None:
        while time.perf_counter() < end:
            begun = time.perf_counter()
            ask(line)
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
    times.sort()
    slowest = times[min(len(times) - 1, int(len(times) * 0.99))]
    rate, median = f"{len(times) / spent:.0f}", f"{statistics.median(times) * 1e3:.1f}"
    return rate, median, f"{slowest * 1e3:.1f}", f"{memory(service) - before:.1f}"


def memory(service: Service) -> float:
    """Return the resident megabytes of the process at the network and its workers."""
    pages = 0
    for number in (service.process.pid, *service.workers()):
        pages += int(Path(f"/proc/{number}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
