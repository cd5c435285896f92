"""PostgreSQL as it is run: restarts, pauses, strangers, and roles that may do no more than they must."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from tests.ledger.world import Place, Server, ask, server_place

from discreet.errors import BusyError, DiscreetError, LedgerError
from discreet.ledger import Ledger, Pace, Scope, Stored, leasing, postgres
from discreet.ledger.granting import grant_ledger
from discreet.ledger.streaming import Taken
from discreet.privacy.filter import PureBudget


@pytest.fixture
def remote(server: Server):
    with server_place(server) as place:
        with place.open() as ledger:
            ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        yield place


def test_a_restarted_server_is_found_again_before_anything_is_paid(server: Server, remote: Place):
    with remote.open() as ledger:
        ledger.answer(ledger.reserve(ask("before")), b"1")
        server.stop()
        server.start()
        ledger.answer(ledger.reserve(ask("after")), b"2")
        assert ledger.verify().trusted
        assert ledger.budget("clinic").limits[0].spent.epsilon == PureBudget("0.2").epsilon


def test_a_server_that_stands_still_is_not_waited_for_without_end(server: Server, remote: Place, monkeypatch):
    with remote.open() as ledger:
        ledger._store._kind.limit = 0.5
        monkeypatch.setattr(postgres, "TRIES", 1)
        monkeypatch.setattr(leasing, "TRIES", 1)
        monkeypatch.setattr(postgres, "REACH", 2)
        server.process.send_signal(signal.SIGSTOP)
        for backend in _backends(server):
            signal.pidfd_send_signal(backend, signal.SIGSTOP)
        try:
            with pytest.raises(DiscreetError):
                ledger.reserve(ask("paused"))
        finally:
            for backend in _backends(server):
                signal.pidfd_send_signal(backend, signal.SIGCONT)
            server.process.send_signal(signal.SIGCONT)
    with remote.open() as ledger:
        ledger.answer(ledger.reserve(ask("paused")), b"1")
        assert ledger.verify().trusted


def pause(server: Server, seconds: float) -> None:
    """Let the whole server stand still for a while."""
    backends = [*_backends(server)]
    server.process.send_signal(signal.SIGSTOP)
    for backend in backends:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(backend, signal.SIGSTOP)
    time.sleep(seconds)
    for backend in backends:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(backend, signal.SIGCONT)
        os.close(backend)
    server.process.send_signal(signal.SIGCONT)


def restart(server: Server, how: signal.Signals) -> None:
    server.stop(how)
    server.start()


def insisted(ledger: Ledger, name: str) -> bytes:
    """Return the answer to a question, asking again while the server is in trouble."""
    for _ in range(100):
        try:
            outcome = ledger.reserve(ask(name, epsilon="1/100"))
            return (outcome if isinstance(outcome, Stored) else ledger.answer(outcome, os.urandom(8))).payload
        except LedgerError:
            time.sleep(0.05)
    raise AssertionError("the server was long back")


@pytest.mark.parametrize("rounds", [4, pytest.param(100, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_a_server_paused_restarted_or_killed_at_random_moments_loses_nothing(
    server: Server, remote: Place, rounds: int
):
    chance = random.Random(rounds)
    troubles = [
        lambda: pause(server, chance.uniform(0, 0.5)),
        lambda: restart(server, signal.SIGINT),
        lambda: restart(server, signal.SIGQUIT),
    ]
    with remote.open() as ledger:
        ledger.set_limit("clinic", Scope(), PureBudget(1000), reason="a long test")
        ledger._store._kind.limit = 0.3
        released: dict[str, bytes] = {}
        for number in range(rounds):
            name = f"r{number}"

            def client(name: str = name) -> None:
                released[name] = insisted(ledger, name)

            asking = threading.Thread(target=client)
            asking.start()
            time.sleep(chance.uniform(0, 0.02))
            troubles[number % 3]()
            asking.join()
            assert insisted(ledger, name) == released[name], "two answers to one question"
            spent = ledger.budget("clinic").limits[0].spent.epsilon
            assert spent == Fraction(number + 1, 100), "paid twice, or not at all"
        assert ledger.verify().trusted
    with remote.open() as ledger:
        assert {name: insisted(ledger, name) for name in released} == released


def _backends(server: Server) -> list[int]:
    """Return handles of the server's own processes."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == server.process.pid:
                    found.append(os.pidfd_open(int(entry.name)))
            except (OSError, ProcessLookupError):
                continue
    return found


def stranger(server: Server, name: str) -> str:
    """Make a role without any rights, and return its address."""
    with psycopg.connect(server.url()) as database:
        database.execute(f"DROP ROLE IF EXISTS {name}")
        database.execute(f"CREATE ROLE {name} LOGIN")
    return name


def as_role(place: Place, name: str) -> Place:
    return Place(place.location.replace("discreet@", f"{name}@"), place.anchor, place.key)


@pytest.fixture
def role(server: Server, remote: Place, request: pytest.FixtureRequest):
    name = stranger(server, f"role_{abs(hash(request.node.name)) % 10**8}")
    yield name
    with psycopg.connect(remote.location) as database:
        database.execute(f"DROP OWNED BY {name}")
        database.execute(f"DROP ROLE {name}")


def test_a_stranger_who_takes_every_advisory_lock_in_sight_blocks_nobody(remote: Place, role: str):
    with remote.open() as ledger, psycopg.connect(as_role(remote, role).location, autocommit=True) as other:
        granted = ledger.reserve(ask("a"))
        numbers = other.execute("SELECT classid, objid FROM pg_locks WHERE locktype = 'advisory'").fetchall()
        for high, low in numbers:
            other.execute(f"SELECT pg_try_advisory_lock({high << 32 | low})")
        for number in range(200):
            other.execute(f"SELECT pg_advisory_lock({number})")
        ledger.answer(granted, b"1")
        ledger.answer(ledger.reserve(ask("b")), b"2")
        with pytest.raises(psycopg.Error):
            other.execute("SELECT * FROM discreet_head FOR UPDATE")


def test_an_analysts_role_asks_and_decides_nothing(remote: Place, role: str):
    grant_ledger(remote.location, role, "analyst")
    with remote.open() as ledger:
        ledger.set_pace("clinic", Scope(), Pace(day=PureBudget(50)), reason="slowly")
    with as_role(remote, role).open() as ledger:
        # A payment that counts on a day writes nothing but what an analyst may write.
        ledger.answer(ledger.reserve(ask("a")), b"1")
        stream = ledger.open_stream(ask("stream s"), b"0")
        assert ledger.steps(stream) == 0
        for decide in (
            lambda: ledger.set_limit("clinic", Scope(), PureBudget(100), reason="mine"),
            lambda: ledger.set_pace("clinic", Scope(), Pace(), reason="mine"),
            lambda: ledger.create_dataset("other", PureBudget(100), reason="mine"),
            lambda: ledger.close_dataset("clinic", reason="mine"),
        ):
            with pytest.raises(LedgerError, match="only a curator"):
                decide()
        assert ledger.verify().trusted
    forbidden(as_role(remote, role))
    with remote.open() as ledger:
        assert ledger.verify().trusted


def test_a_curators_role_decides_and_still_removes_nothing(remote: Place, role: str):
    grant_ledger(remote.location, role, "curator")
    with as_role(remote, role).open() as ledger:
        ledger.set_limit("clinic", Scope(analyst="ben"), PureBudget("0.5"), reason="a trainee")
        ledger.create_dataset("other", PureBudget(1), reason="new")
        assert ledger.verify().trusted
    forbidden(as_role(remote, role))


def test_an_auditors_role_reads_everything_and_writes_nothing(remote: Place, role: str):
    grant_ledger(remote.location, role, "auditor")
    with as_role(remote, role).open(role="auditor") as ledger:
        assert ledger.verify().trusted
        assert ledger.budget("clinic").limits
        with pytest.raises(LedgerError, match="opened as auditor"):
            ledger.reserve(ask("a"))
    with as_role(remote, role).open() as ledger, pytest.raises(LedgerError, match="permission denied"):
        ledger.reserve(ask("a"))
    forbidden(as_role(remote, role))


def test_a_role_that_changes_its_duty_keeps_nothing_of_the_old_one(remote: Place, role: str):
    grant_ledger(remote.location, role, "curator")
    grant_ledger(remote.location, role, "analyst")
    with as_role(remote, role).open() as ledger, pytest.raises(LedgerError, match="only a curator"):
        ledger.set_limit("clinic", Scope(), PureBudget(100), reason="mine")
    with psycopg.connect(as_role(remote, role).location, autocommit=True) as database:
        for statement in (
            "UPDATE discreet_ledger SET key = 'x'",
            "INSERT INTO discreet_former VALUES ('clinic', 9, 'x')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                database.execute(statement)


@pytest.mark.parametrize("kind", ["limited", "paced", "adopted", "restored", "rotated", "closed", "created"])
def test_the_database_itself_takes_no_decision_from_an_analyst(remote: Place, role: str, kind: str):
    grant_ledger(remote.location, role, "analyst")
    values = f"'clinic', 9, '{kind}', NULL, NULL, NULL, '', '', '', NULL"
    with (
        psycopg.connect(as_role(remote, role).location, autocommit=True) as database,
        pytest.raises(psycopg.errors.RaiseException, match="only a curator"),
    ):
        database.execute(f"INSERT INTO discreet_entry VALUES ({values})")


def forbidden(place: Place) -> None:
    """Check that the database lets this role forget nothing, whatever program it uses."""
    with psycopg.connect(place.location, autocommit=True) as database:
        for table in ("ledger", "entry", "head", "secret", "former", "duty", "total"):
            with pytest.raises(psycopg.Error):
                database.execute(f"TRUNCATE discreet_{table}")
            if table != "total":
                with pytest.raises(psycopg.Error):
                    database.execute(f"DELETE FROM discreet_{table}")
        for statement in (
            "UPDATE discreet_head SET state = 'x'",
            "UPDATE discreet_head SET number = 1",
            "UPDATE discreet_entry SET body = ''",
            "UPDATE discreet_ledger SET identity = 'x'",
            "INSERT INTO discreet_duty VALUES (current_user, 'curator')",
            "DROP TABLE discreet_entry",
            "ALTER TABLE discreet_entry DISABLE TRIGGER ALL",
        ):
            with pytest.raises(psycopg.Error):
                database.execute(statement)


def test_whoever_waits_for_a_writer_that_never_ends_is_told_so(remote: Place, monkeypatch):
    monkeypatch.setattr(postgres, "PATIENCE", 1)
    with psycopg.connect(remote.location) as stuck, remote.open() as ledger:
        stuck.execute("SELECT * FROM discreet_head FOR UPDATE")
        with pytest.raises(BusyError, match="busy"):
            ledger.reserve(ask("a"))
        stuck.rollback()
        ledger.reserve(ask("a"))


def test_only_turns_that_write_nothing_end_without_waiting_for_the_disk(remote: Place, monkeypatch):
    """Whatever is not waited for is lost here; and nothing is."""
    monkeypatch.setattr(postgres, "HASTILY", b"ROLLBACK AND CHAIN; COMMIT")
    with remote.open() as ledger:
        stored = ledger.answer(ledger.reserve(ask("a", question="q")), b"1")
        assert ledger.reserve(ask("b", question="q")) == stored
        ledger.fail(ledger.reserve(ask("c")), "no")
        ledger.set_limit("clinic", Scope("wards"), PureBudget("1/2"), reason="less")
        stream = ledger.open_stream(ask("stream s"), b"begun")
        step = ledger.advance(stream, 1, lambda state: Taken(1, b"went on", b"one"))
        assert ledger.verify().trusted
    with remote.open() as ledger:
        assert [entry.number for entry in ledger.history("clinic")] == list(range(1, 10))
        assert ledger.recorded(stream, 1, 1) == (step,)
        assert ledger.advance(stream, 2, lambda state: Taken(1, state, state)).payload == b"went on"
        assert ledger.verify(incremental=True).findings[0].trusted == 9
