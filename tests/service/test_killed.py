"""Kills under load, of the server and of its workers: whatever left was paid for once, and is given again."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from tests.service.world import COUNT, ROWS, Service, certify, declare, launch

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


def entered(folder: Path) -> dict[str, str]:
    """Declare data and enter an analyst."""
    declare(folder, "clinic", ROWS)
    certify(folder)
    return {"analyst": People(folder / FILE).add("analyst", Role.ANALYST, "clinic")}


@pytest.mark.parametrize("rounds", [1, pytest.param(ROUNDS, marks=pytest.mark.fuzz)])
def test_what_left_before_the_kill_was_paid_for_and_is_given_again(tmp_path: Path, rounds: int):
    tokens = entered(tmp_path)
    heard: dict[int, object] = {}
    service = launch(tmp_path, ["clinic"], tokens, *OPTIONS)
    for _ in range(rounds):
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


def insist(service: Service, names: list[str], drawn: dict[str, object]) -> None:
    """Ask questions, each again under its own key until it is answered."""
    for name in names:
        question = f"{COUNT} WHERE cost < {name}"
        while (answer := service.query(question, "0.01", Idempotency_Key=f"k{name}")).status != 200:
            assert answer.status in (500, 503)
            time.sleep(0.05)
        drawn[name] = answer.json()["drawn"]


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.fuzz)])
def test_workers_killed_while_many_ask_cost_nobody_twice(tmp_path: Path, kills: int):
    service = launch(
        tmp_path, ["clinic"], entered(tmp_path), "--slot", "0.05", "--rate", "1e6", "--workers", "2"
    )
    drawn: dict[str, object] = {}
    asked = [
        [f"{client}.{number}" for number in range(10, 10 + 4 * kills)] for client in range(1, CLIENTS + 1)
    ]
    clients = [threading.Thread(target=insist, args=(service, names, drawn)) for names in asked]
    for one in clients:
        one.start()
    for _ in range(kills):
        time.sleep(random.uniform(0.1, 0.5))
        with suppress(ProcessLookupError, IndexError):
            os.kill(random.choice(service.workers()), signal.SIGKILL)
    for one in clients:
        one.join()
    again: dict[str, object] = {}
    insist(service, list(drawn), again)
    assert again == drawn
    assert drawn.keys() == {name for names in asked for name in names}
    service.stop()
    with open_ledger(tmp_path / "clinic.ledger") as ledger:
        assert ledger.verify().trusted
        events = [entry.event for entry in ledger.history("clinic", last=100_000)]
    assert sum(isinstance(event, Reserved) for event in events) == len(drawn)
    assert sum(isinstance(event, Answered) for event in events) == len(drawn)
