"""The PostgreSQL protocol under attack: strangers, wrong roles, half connections, frames that mean nothing.

Whatever comes, the service goes on, the ledger does not move but for what was paid, and no cell is anywhere.
"""

import os
import re
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest
from tests.attacks.test_sql_refused import CORPUS
from tests.service.test_wall import QUESTIONS
from tests.service.wire_client import (
    FLUSH,
    GOODBYE,
    STARTUP,
    SYNC,
    TLS,
    Client,
    bind,
    describe,
    execute,
    fields,
    frame,
    parse,
    proof,
    query,
    text,
)
from tests.service.world import CANARY, COUNT, ROLES, Service, halt

from discreet.service.role import Role
from discreet.service.wire.statement import Asks, split


def alive(service: Service) -> bool:
    with psycopg.connect(**service.dsn()) as line:
        return line.execute("SELECT 1").fetchall() == [(1,)]


@pytest.fixture(autouse=True)
def standing(service: Service) -> Iterator[None]:
    """After each of these tests the service still answers, and has complained about nothing."""
    yield
    assert alive(service)
    assert (service.folder / "stderr.txt").read_text() == ""


@pytest.fixture
def unmoved(service: Service) -> Iterator[None]:
    before = service.spent()
    yield
    assert service.spent() == before


def refused(frames: list[tuple[str, bytes]]) -> dict[str, str]:
    """Return the fields of the error that ends a connection."""
    assert frames[-1][0] == "E", frames
    return fields(frames[-1][1])


def test_nothing_is_said_without_tls(service: Service, unmoved: None):
    with Client(service, tls=False) as line:
        line.start("analyst")
        told = refused(line.until())
    assert (told["C"], told["S"]) == ("28000", "FATAL")
    assert "sslmode=require" in told["H"]
    with pytest.raises(psycopg.OperationalError, match="TLS"):
        psycopg.connect(**service.dsn(sslmode="disable"))


def test_what_was_said_in_the_open_before_tls_is_nobodys_word(service: Service):
    """Bytes behind the wish for TLS could be slipped in by somebody on the way; they end the connection."""
    body = STARTUP + text("user", "analyst", "")
    with socket.create_connection(("localhost", service.wire), timeout=30) as line:
        line.sendall(TLS + struct.pack("!I", len(body) + 4) + body)
        said = b""
        with suppress(ConnectionError):
            while more := line.recv(4096):
                said += more
    assert b"SCRAM" not in said
    assert not said.startswith(b"S")


def test_the_unknown_the_revoked_and_the_wrong_are_told_the_same(service: Service, unmoved: None):
    people = service.people
    revoked = people.add("ruth", Role.ANALYST, "clinic")
    people.revoke("ruth")
    told = set()
    salts: dict[str, set[str]] = {}
    good = service.tokens["analyst"]
    for name, token in (
        ("analyst", good[:-1]),
        ("analyst", service.tokens["curator"]),
        ("ruth", revoked),
        ("nobody", good),
        ("", good),
        ("Analyst", good),
        ("a" * 5000, good),
    ):
        for _ in range(2):
            with Client(service) as line:
                line.start(name)
                offered = line.receive()
                bare, challenge = line.challenged()
                salts.setdefault(name, set()).add(challenge.partition(",s=")[2])
                line.send(frame("p", proof(token, bare, challenge)))
                ended = line.until()
                said = refused(ended)
                told.add(
                    (offered, said["C"], said["M"].replace(repr(name[:63]), "NAME"), said["H"], len(ended))
                )
    assert len(told) == 1
    assert all(len(found) == 1 for found in salts.values())
    assert len({next(iter(found)) for found in salts.values()}) == len(salts)


def test_proofs_are_bound_to_the_certificate_and_cannot_be_talked_down(service: Service):
    with psycopg.connect(**service.dsn(channel_binding="require")) as line:
        assert line.execute("SELECT 1").fetchone() == (1,)
    with Client(service) as client:
        client.start("analyst")
        client.receive()
        _, said = client.challenged("y")
        assert "28P01" in said


@pytest.mark.parametrize("role", ROLES)
def test_each_role_does_what_it_may(service: Service, role: str):
    with psycopg.connect(**service.dsn(role), autocommit=True) as line:
        assert line.execute("SELECT relname FROM pg_class").fetchall() == [("visits",)]
        budget = str(line.execute("SHOW discreet.budget").fetchall())
        assert "clinic" in budget
        assert role != "analyst" or "curator" not in budget
        for asked in (COUNT, f"EXPLAIN {COUNT}"):
            if role == "auditor":
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    line.execute(asked)
            else:
                assert line.execute(asked).fetchall()
        if role == "auditor":
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                line.execute(f"{COUNT} WHERE stay > %s", (1,))


def test_a_dataset_that_is_not_yours_and_one_that_does_not_exist_look_the_same(service: Service):
    told = set()
    for dataset in ("clinic", "nowhere"):
        with pytest.raises(psycopg.OperationalError) as refusal:
            psycopg.connect(**service.dsn("stranger", dataset))
        told.add(str(refusal.value).replace(dataset, "DATASET").rpartition("FATAL")[2])
    assert len(told) == 1
    with psycopg.connect(**service.dsn("stranger", "stranger")) as line:
        assert line.execute("SELECT current_database()").fetchone() == ("other",)


def test_a_connection_ends_when_its_token_does(service: Service, unmoved: None):
    people = service.people
    service.tokens["tom"] = people.add("tom", Role.ANALYST, "clinic")
    for end in (lambda: people.rotate("tom"), lambda: people.revoke("tom")):
        with psycopg.connect(**service.dsn("tom"), autocommit=True) as line:
            assert line.execute("SELECT 1").fetchone() == (1,)
            service.tokens["tom"] = end() or ""
            with pytest.raises(psycopg.OperationalError):
                line.execute("SELECT 1")
            assert line.closed


def test_hostile_questions_are_refused_through_this_door_too(service: Service, unmoved: None):
    refusals: list[str] = []
    about: list[tuple[Any, ...]] = []
    with psycopg.connect(**service.dsn(dataset="right"), autocommit=True) as line:
        for sql, _ in CORPUS[::9]:
            try:
                found = line.execute(sql.encode())
            except psycopg.Error as refusal:
                refusals.append(str(refusal))
                continue
            about += [] if found.description is None else found.fetchall()
            # What is answered is about the catalogue or the session; a question would have been refused.
            assert not any(isinstance(one.meaning, Asks) for one in split(sql))
    assert CANARY not in str([refusals, about])
    assert len(about) < 20


FIRST = {
    "nothing at all": b"",
    "half a length": b"\0\0",
    "no length": b"\0\0\0\0",
    "an endless length": b"\xff\xff\xff\xff" + b"x" * 100,
    "a long first message": struct.pack("!I", 20_000) + b"x" * 20_000,
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS at once": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an old version": struct.pack("!II", 9, 2 << 16) + b"\0",
    "no end": struct.pack("!I", 12) + STARTUP + b"user",
    "wishes for ever": struct.pack("!II", 8, 80877104) * 9,
    "a foreign cancel": struct.pack("!IIII", 16, 80877102, 1, 1),
    "half a cancel": struct.pack("!II", 8, 80877102),
}


@pytest.mark.parametrize("case", FIRST)
def test_a_beginning_that_is_none_ends_at_once(service: Service, unmoved: None, case: str):
    with socket.create_connection(("localhost", service.wire), timeout=30) as line:
        line.sendall(FIRST[case])
        line.shutdown(socket.SHUT_WR)
        said = b""
        with suppress(ConnectionError):
            while more := line.recv(4096):
                said += more
    assert b"SCRAM" not in said
    assert len(said) < 300


LATER = {
    "a long message": b"Q" + struct.pack("!I", 1 << 20),
    "a negative length": b"Q\xff\xff\xff\xff",
    "a length of nothing": b"Q\0\0\0\0",
    "no such letter": frame("!", b"x"),
    "a text without an end": frame("Q", b"SELECT 1"),
    "not UTF-8": frame("Q", b"\xff\xfe\0"),
    "a text and more": frame("Q", b"SELECT 1\0SELECT 2\0"),
    "a parameter beyond the message": frame("B", text("", "") + struct.pack("!HHI", 0, 1, 1 << 30)),
    "a password again": frame("p", b"x"),
    "copying": frame("d", b"x"),
}


@pytest.mark.parametrize("case", LATER)
def test_a_message_that_is_none_ends_the_connection_or_is_refused(service: Service, unmoved: None, case: str):
    with Client(service) as line:
        assert line.login("analyst", service.tokens["analyst"])[-1][0] == "Z"
        line.send(LATER[case], SYNC)
        told = line.until("E")
        assert fields(told[-1][1])["C"] == "08P01"


def test_long_messages_are_not_waited_for_before_somebody_is_known(service: Service, unmoved: None):
    with Client(service) as line:
        line.start("analyst")
        assert line.receive()
        line.send(b"p" + struct.pack("!I", 5000))
        assert refused(line.until())["C"] == "08P01"


def test_whoever_only_stands_at_the_door_is_sent_away_when_others_come(service: Service):
    waiting = [socket.create_connection(("localhost", service.wire), timeout=30) for _ in range(80)]
    try:
        assert alive(service)
        counted = service.ask("GET", "/metrics", who="auditor").body.decode()
        assert int(re.findall(r"discreet_postgres_strangers (\d+)", counted)[0]) <= 64
        for line in waiting[:10]:
            with suppress(ConnectionError):
                assert line.recv(1) == b""
    finally:
        for line in waiting:
            line.close()


def test_nobody_has_more_connections_than_their_share(service: Service):
    with ExitStack() as lines:
        for _ in range(20):
            lines.enter_context(psycopg.connect(**service.dsn("curator")))
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(**service.dsn("curator"))
        assert alive(service)


def test_a_question_is_asked_once_at_its_first_execute_and_never_before(service: Service):
    with Client(service) as line:
        line.login("analyst", service.tokens["analyst"], options="-c discreet.epsilon=0.1")
        asked = "SELECT ward, COUNT(*) AS n FROM visits WHERE stay > 2 AND stay < $1 GROUP BY ward"
        before = service.spent()
        said = line.ask(parse(asked, "s"), describe("S", "s"), bind(b"27", name="s"), describe(), SYNC)
        assert [letter for letter, _ in said] == ["1", "t", "T", "2", "T", "Z"]
        assert struct.unpack("!HI", said[1][1]) == (1, 20)
        assert service.spent() == before
        line.ask(query("BEGIN"))
        line.send(bind(b"27", portal="p", name="s"), execute(2, "p"), FLUSH, execute(0, "p"), SYNC)
        said = line.until("Z")
        assert "".join(letter for letter, _ in said) == "2NDDsDCZ"
        assert service.spent()[0] == before[0] + 2
        line.ask(query("COMMIT"))
        said = line.ask(bind(b"27", name="s", result=1), describe(), execute(), SYNC)
        assert "".join(letter for letter, _ in said) == "2TNDDDCZ"
        assert service.spent()[0] == before[0] + 2
        line.send(GOODBYE)
        assert line.receive() is None


def test_after_an_error_everything_is_skipped_up_to_the_next_sync(service: Service, unmoved: None):
    with Client(service) as line:
        line.login("analyst", service.tokens["analyst"], options="-c discreet.epsilon=0.1")
        said = line.ask(
            parse("SELECT * FROM visits"), bind(), describe(), execute(), parse(COUNT), execute(), SYNC
        )
        assert "".join(letter for letter, _ in said) == "12EZ"
        said = line.ask(bind(portal="gone", name="never"), execute(0, "gone"), SYNC)
        assert "".join(letter for letter, _ in said) == "EZ"
        assert line.ask(query(""))[0][0] == "I"


def test_a_cancelled_question_is_given_up_and_only_by_who_holds_the_key(service: Service):
    with Client(service) as line:
        frames = line.login("analyst", service.tokens["analyst"], options="-c discreet.epsilon=0.1")
        number, secret = next(struct.unpack("!II", body) for letter, body in frames if letter == "K")
        (worker,) = service.workers()
        halt(worker)
        try:
            line.send(query(f"{COUNT} WHERE stay > 23 AND cost > 3"))
            for key in (secret ^ 1, secret):
                time.sleep(0.1)
                with socket.create_connection(("localhost", service.wire), timeout=30) as other:
                    other.sendall(struct.pack("!IIII", 16, 80877102, number, key))
                    assert other.recv(1) == b""
                if key != secret:
                    line.line.settimeout(0.2)
                    with pytest.raises(TimeoutError):
                        line.receive()
                    line.line.settimeout(30)
            told = line.until("Z")
        finally:
            os.kill(worker, signal.SIGCONT)
        assert fields(told[0][1])["C"] == "57014"
        again = line.ask(query(f"{COUNT} WHERE stay > 23 AND cost > 3"))
        assert "D" in [letter for letter, _ in again]
    paid = [one for one in _newest(service) if "23" in str(one.get("question"))]
    assert len({one["number"] for one in paid if one["event"] == "reserved"}) <= 1


def _newest(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.ask(
        "GET", "/v1/datasets/clinic/history?last=20", who="auditor"
    ).json()["entries"]
    return found


def told_of(service: Service, dataset: str, sql: str, form: int) -> tuple[Any, ...]:
    """Return everything that leaves for a question but numbers and names."""
    with Client(service) as line:
        line.login("analyst", service.tokens["analyst"], dataset, options="-c discreet.epsilon=5")
        said = line.ask(parse(sql), bind(result=form), describe(), execute(), SYNC)
        assert CANARY.encode() not in b"".join(body for _, body in said)
        notices = [fields(body) for letter, body in said if letter in "NE"]
        words = re.sub(r"receipt \S+|-?\d+(\.\d+)?", "#", str(notices))
        return "".join(letter for letter, _ in said), said[2][1], words


@pytest.mark.parametrize("sql", QUESTIONS)
def test_with_or_without_one_odd_person_everything_but_numbers_is_equal(service: Service, sql: str):
    for form in (0, 1):
        assert told_of(service, "dleft", sql, form) == told_of(service, "right", sql, form)


def test_a_cell_is_nowhere(service: Service):
    with psycopg.connect(**service.dsn(dataset="right"), autocommit=True) as line:
        for sql in (
            "SELECT note, COUNT(*) FROM visits GROUP BY note",
            "SELECT * FROM visits",
            "TABLE visits",
        ):
            with pytest.raises(psycopg.Error) as refusal:
                line.execute(sql)
            assert CANARY not in str(refusal.value)
        for sql in (
            "SELECT * FROM pg_class",
            "SELECT * FROM pg_attribute",
            "SELECT * FROM information_schema.columns",
        ):
            assert CANARY not in str(line.execute(sql).fetchall())
    files = [path for path in service.folder.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]


def test_many_at_once_get_what_they_asked_for_and_pay_once(service: Service):
    asked = f"{COUNT} WHERE stay > 13 AND cost < 77"
    before = service.spent()[0]
    found: list[Any] = []

    def ask() -> None:
        with psycopg.connect(**service.dsn(), autocommit=True) as line:
            found.append(line.execute(asked).fetchall())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len({str(one) for one in found}) == 1
    assert service.spent()[0] == before + 2
