"""A server that is killed while PostgreSQL clients wait: whatever left was paid for, and is given again."""

import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from tests.service.world import ROWS, Service, certify, declare, launch

from discreet.ledger import open_ledger
from discreet.ledger.entry import Answered, Reserved
from discreet.service.people import FILE, People
from discreet.service.role import Role

CLIENTS = 3
ROUNDS = 4
OPTIONS = ("--slot", "0", "--rate", "100000", "--postgres-port", "0")


def ask(connection: psycopg.Connection, place: int) -> object:
    return connection.execute(f"SELECT SUM(stay) AS s FROM visits WHERE cost < {place}.25").fetchone()[0]


def load(service: Service, client: int, heard: dict[int, object], enough: threading.Event) -> None:
    """Ask one question after another until the line breaks, and remember what came back."""
    with suppress(psycopg.OperationalError), psycopg.connect(**service.dsn(), autocommit=True) as connection:
        for number in range(10_000):
            place = 1 + client + CLIENTS * number
            heard[place] = ask(connection, place)
            if len(heard) >= 12:
                enough.set()


def kill_under_load(service: Service, heard: dict[int, object]) -> None:
    enough = threading.Event()
    clients = [
        threading.Thread(target=load, args=(service, client, heard, enough)) for client in range(CLIENTS)
    ]
    for one in clients:
        one.start()
    assert enough.wait(120)
    workers = service.workers()
    service.process.send_signal(signal.SIGKILL)
    service.process.wait(60)
    for one in clients:
        one.join(120)
        assert not one.is_alive()
    if service.process.stdout is not None:
        service.process.stdout.close()
    while any(Path(f"/proc/{number}/cmdline").exists() and _ours(number) for number in workers):
        time.sleep(0.02)


def _ours(number: int) -> bool:
    """Return whether a process is a worker that still works; one that has ended is nobody's any more."""
    with suppress(OSError):
        return b"discreet.service.worker" in Path(f"/proc/{number}/cmdline").read_bytes()
    return False


@pytest.mark.fuzz
def test_what_left_before_the_kill_was_paid_for_and_is_given_again(tmp_path: Path):
    declare(tmp_path, "clinic", ROWS)
    certify(tmp_path)
    tokens = {"analyst": People(tmp_path / FILE).add("analyst", Role.ANALYST, "clinic")}
    heard: dict[int, object] = {}
    service = launch(tmp_path, ["clinic"], tokens, *OPTIONS)
    for _ in range(ROUNDS):
        fresh: dict[int, object] = {}
        kill_under_load(service, fresh)
        # What was heard before is heard again, to the last digit, and costs nothing.
        assert {place: fresh[place] for place in heard.keys() & fresh.keys()} == {
            place: heard[place] for place in heard.keys() & fresh.keys()
        }
        heard |= fresh
        with open_ledger(tmp_path / "clinic.ledger") as ledger:
            assert ledger.verify().trusted
            events = [entry.event for entry in ledger.history("clinic", last=10_000)]
        paid = sum(isinstance(event, Reserved) for event in events)
        answered = sum(isinstance(event, Answered) for event in events)
        assert paid >= answered >= len(heard)
        service = launch(tmp_path, ["clinic"], tokens, *OPTIONS)
        with psycopg.connect(**service.dsn(), autocommit=True) as connection:
            assert {place: ask(connection, place) for place in heard} == heard
        with open_ledger(tmp_path / "clinic.ledger") as ledger:
            again = [entry.event for entry in ledger.history("clinic", last=10_000)]
        assert sum(isinstance(event, Reserved) for event in again) == paid
    service.stop()
