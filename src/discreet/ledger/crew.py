"""Several processes that sift a history together, while one replays what they have sifted, in order.

Each of them is a fresh interpreter with a connection of its own to the store, and the ledger's key, which it
gets through a private socket.  It ends when whoever hired it lets go of the socket, however that happens.
What it reads is linked by seals to what this process reads, so it cannot have looked at another history.
Where no processes can be had, or one of them dies, the work is done here.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

from discreet.ledger.check import Seals
from discreet.ledger.sieve import Sieve, Stretch
from discreet.ledger.store import Store

STRETCH = 500
"""So many entries are sifted at a time."""

ALONE = 20_000
"""A history shorter than this is sifted sooner than others can be asked to help."""

MOST = 4
"""More than so many cannot be kept busy by one who replays."""

AHEAD = 3
"""So many stretches each of them may be ahead."""

FAREWELL = 5.0
"""For so many seconds a process that is not needed any more may take to end."""

SERVE = "from discreet.ledger.crew import serve; serve()"


def sifted(
    store: Store,
    seals: Seals,
    dataset: str,
    first: int,
    last: int,
    *,
    helpers: int | None = None,
) -> Generator[tuple[int, Stretch], None, None]:
    """Return the entries first .. last in stretches, in order, each with the number it begins with."""
    sieve = Sieve(seals, dataset, store.name)
    bounds = [(begin, min(begin + STRETCH - 1, last)) for begin in range(first, last + 1, STRETCH)]
    wanted = _cores() if helpers is None else helpers
    with ExitStack() as hired:
        many = last - first >= ALONE and wanted > 1
        crew = _crew(hired, store, seals, dataset, wanted) if many else []
        asked = 0
        for index, (begin, end) in enumerate(bounds):
            stretch = None
            if crew:
                with suppress(EOFError, OSError):
                    while asked < min(len(bounds), index + AHEAD * len(crew)):
                        crew[asked % len(crew)].send(bounds[asked])
                        asked += 1
                    stretch = crew[index % len(crew)].recv()
            if stretch is None:
                crew = []
                stretch = sieve.stretch(store.shelf.batch(dataset, begin, end), begin, end)
            yield begin, stretch


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, MOST)


def _crew(hired: ExitStack, store: Store, seals: Seals, dataset: str, size: int) -> list[Connection]:
    """Start some processes, which end with the block; none where they cannot be started."""
    try:
        crew = [_hire(hired) for _ in range(size)]
        for connection in crew:
            connection.send((store.location, seals, dataset))
    except OSError:
        return []
    return crew


def _hire(hired: ExitStack) -> Connection:
    ours, theirs = socket.socketpair()
    with theirs:
        connection = hired.enter_context(Connection(ours.detach()))
        # Without -P the interpreter would look for modules in whichever directory we happen to be in.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own words
            [sys.executable, "-P", "-c", SERVE, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    hired.callback(_end, process)
    hired.callback(connection.close)
    return connection


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(FAREWELL)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def serve() -> None:
    """Sift what whoever hired this process asks for, until they let go of the socket."""
    from discreet.ledger.opening import connect

    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        location, seals, dataset = connection.recv()
        store = connect(location, create=False)
        sieve = Sieve(seals, dataset, store.name)
        while True:
            begin, end = connection.recv()
            connection.send(sieve.stretch(store.shelf.batch(dataset, begin, end), begin, end))
