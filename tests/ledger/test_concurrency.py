"""Many clients at once: the budget is spent to the last unit and not one further, and one request runs once.

The ordinary tests let a small crowd in, the long search one of eight processes with eight threads each.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import count

import pytest
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError
from discreet.ledger import EVERYBODY, Granted, Ledger, Stored
from discreet.ledger.account import Account
from discreet.ledger.anchor import FileAnchor
from discreet.ledger.entry import Reserved, Retried
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.sqlite import SqliteStore
from discreet.privacy.filter import PureBudget

GRANTS = 60
SIZES = pytest.mark.parametrize(
    ("processes", "threads"), [(3, 3), pytest.param(8, 8, marks=pytest.mark.fuzz)], ids=["small", "large"]
)
pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(1800)]


@contextmanager
def crowd(processes: int, threads: int, work: Callable[[int, object], None]) -> Iterator[object]:
    """Run `work(client, barrier)` in every thread of every process; the caller waits with them."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes * threads + 1)

    def process(number: int) -> None:
        clients = range(number * threads, (number + 1) * threads)
        working = [threading.Thread(target=work, args=(client, barrier), daemon=True) for client in clients]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join()

    children = [context.Process(target=process, args=(number,), daemon=True) for number in range(processes)]
    for child in children:
        child.start()
    try:
        yield barrier
        for child in children:
            child.join(100)
        assert [child.exitcode for child in children] == [0] * processes
    finally:
        for child in children:
            child.kill()


def spend_until_refused(ledger: Ledger, dataset: str, names: Iterator[str]) -> int:
    granted = 0
    while True:
        try:
            ledger.reserve(ask(next(names), dataset=dataset, epsilon="1/100"))
        except BudgetError:
            return granted
        granted += 1


def grants_in_a_crowd(
    place: Place, processes: int, threads: int, repeats: int
) -> Iterator[tuple[int, Fraction]]:
    """Open one client per thread and let all of them empty a fresh budget, again and again."""
    grants = multiprocessing.get_context("fork").Array("i", processes * threads)
    with place.open():
        pass

    def client(number: int, barrier) -> None:
        names = (f"{number}.{turn}" for turn in count())
        with place.open() as ledger:
            for repeat in range(repeats):
                barrier.wait(200)
                grants[number] = spend_until_refused(ledger, f"d{repeat}", names)
                barrier.wait(200)

    with crowd(processes, threads, client) as barrier, place.open() as ledger:
        for repeat in range(repeats):
            ledger.create_dataset(f"d{repeat}", PureBudget(Fraction(GRANTS, 100)), reason="opened")
            barrier.wait(200)
            barrier.wait(200)
            whole = next(limit for limit in ledger.budget(f"d{repeat}").limits if limit.scope == EVERYBODY)
            yield sum(grants), whole.spent.epsilon


@SIZES
def test_a_crowd_is_granted_exactly_the_budget(place: Place, processes: int, threads: int):
    outcomes = list(grants_in_a_crowd(place, processes, threads, 2))
    assert outcomes == [(GRANTS, Fraction(GRANTS, 100))] * 2
    with place.open() as ledger:
        assert ledger.verify().trusted


@SIZES
def test_the_crowd_catches_a_ledger_that_checks_before_its_transaction(
    place: Place, processes: int, threads: int, monkeypatch
):
    """The naive way: look whether there is enough, and spend afterwards."""
    check = Account.check

    def reserve(self: Ledger, request):
        check(self._write(request.dataset, lambda turn: turn.account), request)
        time.sleep(0.001)
        row = self._write(request.dataset, lambda turn: turn.append(Reserved(request)))
        return Granted(request.dataset, row.number, 1, request)

    monkeypatch.setattr(Account, "check", lambda self, request, day=None: None)
    monkeypatch.setattr(Ledger, "reserve", reserve)
    granted, _ = next(grants_in_a_crowd(place, processes, threads, 1))
    assert granted > GRANTS


@SIZES
def test_parallel_retries_of_one_request_are_one_charge_and_one_body(
    place: Place, processes: int, threads: int
):
    queue = multiprocessing.get_context("fork").SimpleQueue()
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")

    def client(number: int, barrier) -> None:
        bodies = set()
        with place.open() as ledger:
            barrier.wait(200)
            for _ in range(16):
                outcome = ledger.reserve(ask("only"))
                if isinstance(outcome, Granted):
                    time.sleep(0.02)
                    outcome = ledger.answer(outcome, os.urandom(16))
                bodies.add(outcome.payload)
        queue.put(bodies)

    bodies = set()
    with crowd(processes, threads, client) as barrier:
        barrier.wait(200)
        for _ in range(processes * threads):
            bodies |= queue.get()
    assert len(bodies) == 1
    with place.open() as ledger:
        events = [entry.event for entry in ledger.history("clinic")]
        assert sum(isinstance(event, Reserved) for event in events) == 1
        assert not any(isinstance(event, Retried) for event in events), (
            "a running request was taken for a dead one"
        )
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


def test_threads_may_share_one_ledger(place: Place):
    outcomes: list[int] = []
    with place.open() as ledger:
        ledger.create_dataset("d", PureBudget(Fraction(30, 100)), reason="opened")

        def client(number: int) -> None:
            outcomes.append(spend_until_refused(ledger, "d", (f"{number}.{turn}" for turn in count())))

        threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(outcomes) == 30


@pytest.mark.parametrize("act", ["open", "verify"])
def test_whoever_opens_or_verifies_while_others_go_on_is_not_refused(place: Place, act: str, monkeypatch):
    """Others release something just before each of its turns, and anchor it."""
    with place.open() as busy, place.open() as ledger:
        busy.create_dataset("clinic", PureBudget(100), reason="opened")
        kind, names = type(ledger._store), count()
        true, inside = kind.writing, False

        def writing(self, dataset: str, asked=()):
            nonlocal inside
            if self is not busy._store and not inside and dataset == "clinic":
                inside = True
                busy.answer(busy.reserve(ask(f"r{next(names)}")), b"1")
                inside = False
            return true(self, dataset, asked)

        monkeypatch.setattr(kind, "writing", writing)
        if act == "open":
            place.open().close()
        else:
            report = ledger.verify()
            assert report.trusted, report.findings
        assert next(names) >= 1


@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("begun", [False, True], ids=["nothing", "anchor missing"])
def test_whoever_begins_a_ledger_may_be_overtaken_at_every_step(
    place: Place, monkeypatch, step: int, begun: bool
):
    steps, within = count(), False

    def late(true: Callable[..., object], locked: bool) -> Callable[..., object]:
        def act(self, *arguments: object) -> object:
            nonlocal within
            if within:
                return true(self, *arguments)
            within = True
            if not locked and next(steps) == step:
                with place.open() as other:
                    other.create_dataset("clinic", PureBudget(1), reason="opened")
            result = true(self, *arguments)
            within = False
            return result

        return act

    if begun:
        place.open().close()
        place.anchor.unlink()
    store = SqliteStore if place.is_file else PostgresStore
    for owner, name in [
        (store, "identity"),
        (store, "datasets"),
        (FileAnchor, "read"),
        (FileAnchor, "start"),
    ]:
        monkeypatch.setattr(owner, name, late(getattr(owner, name), locked=False))
    monkeypatch.setattr(store, "create", late(store.create, locked=True))
    with place.open() as ledger:
        within = True
        assert ledger.datasets() in [(), ("clinic",)]
        assert ledger.verify().trusted


def test_a_request_in_flight_is_waited_for_not_run_twice(place: Place):
    with place.open() as first, place.open() as second:
        first.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = first.reserve(ask("a"))
        found: list[Stored] = []
        waiter = threading.Thread(target=lambda: found.append(second.reserve(ask("a"))))
        waiter.start()
        time.sleep(0.1)
        assert not found
        stored = first.answer(granted, b"1")
        waiter.join()
        assert found == [stored]


def test_waiting_for_somebody_elses_run_ends_in_a_clear_refusal(place: Place, monkeypatch):
    from discreet.errors import ConflictError

    monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 0.1)
    with place.open() as first, place.open() as second:
        first.create_dataset("clinic", PureBudget(1), reason="opened")
        first.reserve(ask("a"))
        with pytest.raises(ConflictError, match="still being run"):
            second.reserve(ask("a"))
