"""What threads share: connections and gates; nobody waits for whom they need not, and nobody for ever."""

import threading
from itertools import count

import pytest
from tests.ledger.world import Place, Server, ask, server_place

from discreet.errors import BusyError, LedgerError
from discreet.ledger import leasing, pool, postgres
from discreet.ledger.pool import ConnectionPool, Gates
from discreet.privacy.filter import PureBudget


class Line:
    """Something that can be closed."""

    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def lines() -> ConnectionPool:
    return ConnectionPool(Line, 2, "test")


def test_the_connection_used_last_is_used_next_and_none_is_made_needlessly(lines: ConnectionPool):
    first = lines.take()
    lines.give(first)
    assert lines.take() is first
    second = lines.take()
    assert second is not first


def test_whoever_finds_all_connections_held_is_told_so(lines: ConnectionPool, monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    held = [lines.take(), lines.take()]
    with pytest.raises(BusyError, match="other threads"):
        lines.take()
    lines.give(held[0])
    assert lines.take() is held[0]


def test_lost_connections_are_never_given_out(lines: ConnectionPool):
    lost, idle = lines.take(), lines.take()
    lines.give(idle)
    lost.close()
    lines.forget()
    assert idle.closed
    lines.give(lost)
    assert not lines.take().closed


def test_a_connection_that_cannot_be_made_keeps_no_place(monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 0.01)

    def refuse() -> None:
        raise LedgerError("unreachable")

    nowhere = ConnectionPool(refuse, 1, "test")
    for _ in range(3):
        with pytest.raises(LedgerError, match="unreachable"):
            nowhere.take()


def test_a_closed_pool_closes_what_comes_back_and_gives_nothing(lines: ConnectionPool):
    held = lines.take()
    lines.close()
    lines.give(held)
    assert held.closed
    with pytest.raises(LedgerError, match="closed"):
        lines.take()


def test_a_gate_is_passed_by_one_thread_at_a_time_and_by_that_one_again(monkeypatch):
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    gates, told = Gates("test"), []

    def other() -> None:
        with gates.passing("b"):
            told.append("b")
        try:
            with gates.passing("a"):
                told.append("a")
        except BusyError:
            told.append("busy")

    with gates.passing("a"), gates.passing("a"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert told == ["b", "busy"]


@pytest.fixture
def remote(server: Server):
    with server_place(server) as place:
        yield place


def test_who_uses_another_dataset_does_not_wait(remote: Place):
    with remote.open() as ledger:
        for dataset in ("clinic", "school"):
            ledger.create_dataset(dataset, PureBudget(1), reason="opened")
        inside, go_on = threading.Event(), threading.Event()

        def stay(turn) -> None:
            inside.set()
            assert go_on.wait(60)

        slow = threading.Thread(target=lambda: ledger._write("clinic", stay))
        slow.start()
        assert inside.wait(60)
        ledger.answer(ledger.reserve(ask("a", dataset="school")), b"1")
        go_on.set()
        slow.join()
        assert ledger.verify().trusted


def test_a_crowd_of_threads_shares_few_connections_and_pays_exactly(remote: Place):
    with remote.open() as ledger:
        for dataset in ("clinic", "school"):
            ledger.create_dataset(dataset, PureBudget(2), reason="opened")
        names = count()

        def release(dataset: str) -> None:
            for _ in range(4):
                ledger.answer(ledger.reserve(ask(f"r{next(names)}", dataset=dataset)), b"1")

        crowd = [threading.Thread(target=release, args=(name,)) for name in ("clinic", "school") * 5]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        assert all(ledger.budget(d).limits[0].spent.epsilon == 2 for d in ("clinic", "school"))
        assert 1 < len(ledger._store._pool._idle) <= postgres.CONNECTIONS
        assert ledger.verify().trusted


def test_after_a_restart_every_idle_connection_is_found_dead_at_once(remote: Place, server: Server):
    with remote.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        held = [ledger._store._pool.take() for _ in range(6)]
        for connection in held:
            ledger._store._pool.give(connection)
        server.stop()
        server.start()
        ledger.answer(ledger.reserve(ask("after")), b"1")
        assert ledger.datasets() == ("clinic",)
        assert ledger.verify().trusted


def test_a_server_that_is_gone_is_tried_a_few_times_and_nothing_is_paid(
    remote: Place, server: Server, monkeypatch
):
    for module in (postgres, leasing):
        monkeypatch.setattr(module, "PAUSE", 0.01)
    with remote.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        server.stop()
        try:
            for act in (lambda: ledger.reserve(ask("a")), ledger.datasets):
                with pytest.raises(LedgerError, match="cannot be reached"):
                    act()
        finally:
            server.start()
        assert ledger.budget("clinic").limits[0].spent.epsilon == 0
