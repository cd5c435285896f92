"""Kill a release at every step, with SIGKILL, and look at what is left.

The steps are not listed by hand: a rehearsal counts every statement sent to the store and every call that
makes the anchor durable, and the matrix then dies before each of them, and between the verbs.  Whatever the
step, the ledger must open, verify, have charged every answer that left, and let the request be asked again:
the same bytes if any left, and never a second charge.
"""

import os
import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction

import pytest
from tests.ledger.world import Place, ask, file_place, server_place

from discreet.errors import DiscreetError
from discreet.ledger import EVERYBODY, Granted, Ledger, Request, Stored
from discreet.ledger import anchor as anchor_module
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.shelf import Shelf
from discreet.ledger.sqlite import SqliteStore
from discreet.privacy.filter import PureBudget

REPEATS = 3
PRICE = Fraction(1, 1000)
pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(1800)]


class Steps:
    """Counts steps, and dies before the one it was told."""

    def __init__(self, fatal: int | None) -> None:
        self.fatal = fatal
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        if len(self.names) == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)


def watch(steps: Steps) -> None:
    """Announce every statement and every durable write of this process; only ever called in a child."""

    def announced(call: Callable, name: Callable[..., str]) -> Callable:
        def announcing(*arguments, **options):
            steps(name(*arguments))
            return call(*arguments, **options)

        return announcing

    for store in (SqliteStore, PostgresStore):
        store._all = announced(store._all, lambda self, statement, *_: " ".join(statement.split()[:3]))
        store.lease = announced(store.lease, lambda *_: "lease")
        store.release = announced(store.release, lambda *_: "release")
    for look, name in (
        ("_find", "find entries"),
        ("secret", "find a state"),
        ("keep_secret", "keep a state"),
    ):
        setattr(Shelf, look, announced(getattr(Shelf, look), lambda *_, name=name: name))
    SqliteStore.sync = announced(SqliteStore.sync, lambda *_: "sync")
    PostgresStore._queue = announced(PostgresStore._queue, lambda *_: "BEGIN")
    PostgresStore._commit = announced(PostgresStore._commit, lambda *_: "COMMIT")

    class Watched:
        def __getattr__(self, name):
            found = getattr(os, name)
            return (
                announced(found, lambda *_: f"anchor {name}")
                if name in ("open", "pwrite", "fdatasync", "fsync", "replace")
                else found
            )

    anchor_module.os = Watched()


def release(ledger: Ledger, request: Request, steps: Steps, send: Callable[[bytes], None]) -> None:
    """Do what the system does with a question: pay, look, add noise, record, send."""
    granted = ledger.reserve(request)
    steps("run the engine")
    noise = os.urandom(8)
    steps("record the answer")
    stored = granted if isinstance(granted, Stored) else ledger.answer(granted, noise)
    steps("send")
    send(stored.payload)
    steps("leave")


def careless_release(ledger: Ledger, request: Request, steps: Steps, send: Callable[[bytes], None]) -> None:
    """Do what others do: look first, pay afterwards."""
    noise = os.urandom(8)
    send(noise)
    granted = ledger.reserve(request)
    steps("record the answer")
    ledger.answer(granted, noise)


def in_child(
    place: Place, request: Request, fatal: int | None, how: Callable = release
) -> tuple[bytes, bytes, bool]:
    """Release in a forked process; return what it sent, the steps it named, and whether it was killed."""
    answers, told = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(answers[0])
            os.close(told[0])
            steps = Steps(fatal)
            with place.open() as ledger:
                watch(steps)
                how(ledger, request, steps, lambda payload: os.write(answers[1], payload))
                os.write(told[1], "\n".join(steps.names).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(answers[1])
    os.close(told[1])
    with open(answers[0], "rb") as sent, open(told[0], "rb") as names:
        received, steps = sent.read(), names.read()
    _, status = os.waitpid(child, 0)
    return received, steps, os.WIFSIGNALED(status)


class Witness:
    """Somebody outside who saw every answer that left, and asks the ledger to account for them."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.asked = 0
        self.seen: dict[str, bytes] = {}
        with place.open() as ledger:
            ledger.create_dataset("clinic", PureBudget(1), reason="opened")

    def question(self) -> Request:
        self.asked += 1
        return ask(f"r{self.asked}", epsilon=str(PRICE))

    def check(self, request: Request, received: bytes) -> None:
        with self.place.open() as ledger:
            if received:
                self.seen[request.request_id] = received
            assert self.spent(ledger) >= PRICE * len(self.seen)
            outcome = ledger.reserve(request)
            if isinstance(outcome, Granted):
                assert not received, "an answer left that was not recorded"
                outcome = ledger.answer(outcome, os.urandom(8))
            assert received in (b"", outcome.payload), "two answers to one request"
            self.seen[request.request_id] = outcome.payload
            assert self.spent(ledger) == PRICE * self.asked, "a retry was charged again, or not at all"

    def spent(self, ledger: Ledger) -> Fraction:
        return next(
            limit.spent.epsilon for limit in ledger.budget("clinic").limits if limit.scope == EVERYBODY
        )

    def check_all(self) -> None:
        with self.place.open() as ledger:
            report = ledger.verify()
            assert report.trusted, report.findings


def rehearse(place: Place) -> list[str]:
    witness = Witness(place)
    received, steps, killed = in_child(place, witness.question(), None)
    assert received
    assert not killed
    return steps.decode().split("\n")


@pytest.mark.parametrize("repeats", [1, pytest.param(REPEATS, marks=pytest.mark.fuzz)], ids=["once", "often"])
def test_a_release_killed_at_any_step_is_paid_for_and_can_be_asked_again(place: Place, repeats: int, request):
    steps = rehearse(place)
    assert len(steps) >= 10
    assert {"lease", "COMMIT", "anchor pwrite", "anchor fdatasync", "send"} <= set(steps)
    deaths = 0
    with file_place() if place.is_file else server_place(request.getfixturevalue("server")) as fresh:
        witness = Witness(fresh)
        for fatal in [*range(len(steps))] * repeats:
            question = witness.question()
            received, _, killed = in_child(fresh, question, fatal)
            deaths += killed
            witness.check(question, received)
        witness.check_all()
    assert deaths == len(steps) * repeats


def start_release(place: Place, request: Request) -> tuple[int, int]:
    """Start a release in a forked process; return its id and where its answer arrives."""
    answers = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with place.open() as ledger:
                release(ledger, request, Steps(None), lambda payload: os.write(answers[1], payload))
        finally:
            os._exit(0)
    os.close(answers[1])
    return child, answers[0]


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_a_release_killed_at_a_random_moment_is_paid_for(place: Place, kills: int):
    witness = Witness(place)
    chance = random.Random(7)
    for _ in range(kills):
        question = witness.question()
        child, answers = start_release(place, question)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(answers, "rb") as sent:
            witness.check(question, sent.read())
    witness.check_all()


def test_the_matrix_catches_a_system_that_looks_before_it_pays(file: Place):
    witness = Witness(file)
    caught = 0
    for fatal in range(6):
        question = witness.question()
        received, _, _ = in_child(file, question, fatal, careless_release)
        assert received
        try:
            witness.check(question, received)
        except AssertionError:
            caught += 1
            witness = Witness.__new__(Witness)
            witness.place, witness.asked, witness.seen = file, fatal + 1, {}
    assert caught == 6


def test_three_kills_in_a_row_use_up_a_request(file: Place):
    witness = Witness(file)
    question = witness.question()
    for _ in range(3):
        assert in_child(file, question, 12)[2]
    with file.open() as ledger:
        with pytest.raises(DiscreetError, match="stays spent"):
            ledger.reserve(question)
        assert witness.spent(ledger) == PRICE
    witness.check_all()


def test_a_killed_server_loses_nothing(server):
    with server_place(server) as place:
        witness = Witness(place)
        with place.open() as ledger:
            granted = ledger.reserve(first := witness.question())
            stored = ledger.answer(granted, b"before")
            waiting = ledger.reserve(witness.question())
            server.stop(signal.SIGQUIT)
            with pytest.raises(DiscreetError):
                ledger.answer(waiting, b"never recorded")
            with pytest.raises(DiscreetError, match="cannot be reached"):
                place.open()
        server.start()
        with place.open() as ledger:
            assert ledger.reserve(first) == stored
            assert witness.spent(ledger) == 2 * PRICE
            again = ledger.reserve(waiting.request)
            assert again.attempt == 2
        witness.check_all()
