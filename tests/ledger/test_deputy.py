"""One process does the errands of others: the same outcomes, each paid once, whatever becomes of either."""

import multiprocessing
import os
import random
import secrets
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from itertools import count

import pytest
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, ConflictError, LedgerError
from discreet.ledger import Granted, Ledger, book, call, deputy
from discreet.ledger.call import PrivateCall
from discreet.ledger.deputy import Deputy
from discreet.ledger.entry import Reserved, Retried
from discreet.privacy.filter import ApproximateBudget, PureBudget

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.skipif(sys.platform != "linux", reason="errands are done for others on Linux"),
]
SIZE = 32
Arrange = Callable[[pytest.MonkeyPatch], object]


def deputy_of(ledger: Ledger) -> Deputy:
    return ledger._errands.deputy


@contextmanager
def another(place: Place, arrange: Arrange = lambda patch: None) -> Iterator[multiprocessing.Process]:
    """Have another process that does errands, in which something may be arranged to go wrong."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()  # an event would wait for a sleeper that was killed

    def lead() -> None:
        with place.open() as ledger, pytest.MonkeyPatch.context() as patch:
            deputy_of(ledger).notice()
            ledger.answer(ledger.reserve(ask(f"leading {secrets.token_hex(4)}", epsilon="1/1000")), b"1")
            assert deputy_of(ledger)._listening is not None
            arrange(patch)
            theirs.send("ready")
            theirs.poll(60)

    process = context.Process(target=lead)
    process.start()
    assert ours.recv() == "ready"
    try:
        yield process
    finally:
        with suppress(OSError):
            os.kill(process.pid, signal.SIGCONT)
            ours.send("leave")
        process.join()


@contextmanager
def asking(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ledger, list[object]]]:
    """Open a ledger that has noticed the others, and count the turns that it takes itself."""
    taken: list[object] = []
    take = book.take_turn

    def counted(*arguments, **options):
        taken.append(arguments)
        return take(*arguments, **options)

    monkeypatch.setattr(book, "take_turn", counted)
    with place.open() as ledger:
        deputy_of(ledger).notice()
        taken.clear()
        yield ledger, taken


def created(place: Place, budget=None) -> None:
    with place.open() as ledger:
        ledger.create_dataset("clinic", budget or PureBudget(1), reason="opened")


def spent(ledger: Ledger) -> Fraction:
    return ledger.budget("clinic").limits[0].spent.epsilon - Fraction(1, 1000)


def test_everybody_hears_from_another_process_what_a_turn_of_their_own_would_say(place: Place, monkeypatch):
    """With or without Renyi costs beside."""
    created(place, PureBudget(1) if place.is_file else ApproximateBudget(1, "1e-6"))
    with another(place), asking(place, monkeypatch) as (ledger, taken):
        granted = ledger.reserve(ask("a", epsilon="1/2"))
        assert (granted.attempt, granted.request.request_id) == (1, "a")
        stored = ledger.answer(granted, b"first")
        assert ledger.answer(granted, b"second") == stored
        assert ledger.reserve(ask("b", question=ask("a").question, epsilon="1/2")) == stored
        with pytest.raises(BudgetError, match="refuses"):
            ledger.reserve(ask("c", epsilon="10"))
        with pytest.raises(ConflictError, match="another question"):
            ledger.reserve(ask("a", question="another"))
        with pytest.raises(LedgerError, match="not the request that was granted"):
            ledger.answer(replace(granted, request=replace(granted.request, dataset="other")), b"1")
        assert len(taken) == 1
        left = ledger.reserve(ask("d", analyst="ann"))
        ledger.abandon(left)
        again = ledger.reserve(ask("e", question=ask("d").question, analyst="bob"))
        assert (again.attempt, again.request, again.number) == (2, left.request, left.number)
        ledger.abandon(again)
        assert len(taken) == 1
        assert ledger.verify_receipt(stored.receipt).number == stored.receipt.number
        assert spent(ledger) == Fraction(6, 10)
        assert ledger.history("clinic")[3].event.request == granted.request
        assert ledger.verify().trusted


def test_nobody_else_is_asked_to_run_what_was_answered_there(place: Place, monkeypatch):
    """The lease of a question stays with whoever asked, and is let go of by them."""
    created(place)
    with another(place), asking(place, monkeypatch) as (ledger, _), place.open() as third:
        for name, question in (("a", "q"), ("b", "q")):
            outcome = ledger.reserve(ask(name, question=question))
            if isinstance(outcome, Granted):
                ledger.answer(outcome, b"1")
        monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 0.01)
        lease = book.lease_key(third.identity, ask("a", question="q"))
        assert third._store.lease(lease, 5)
        third._store.release(lease)


@pytest.mark.parametrize("committed", [False, True])
def test_if_the_other_dies_in_its_turn_one_goes_on_alone_and_nothing_is_paid_twice(
    file: Place, committed: bool, monkeypatch
):
    created(file)

    def die(*arguments, **options):
        if committed:
            book_take(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    book_take = book.take_turn
    dying = another(file, lambda patch: patch.setattr(book, "take_turn", die))
    with dying, asking(file, monkeypatch) as (ledger, taken):
        granted = ledger.reserve(ask("a"))
        assert granted.attempt == 1 + committed
        assert len(taken) == 1
        assert ledger.answer(granted, b"1").payload == b"1"
        assert spent(ledger) == Fraction(1, 10)
        assert ledger.verify().trusted


def test_an_answer_of_which_one_hears_nothing_is_found_in_ones_own_turn(file: Place, monkeypatch):
    created(file)

    def silent(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(PrivateCall, "say", lambda self, *words: os.kill(os.getpid(), signal.SIGKILL))

    with asking(file, monkeypatch) as (ledger, _):
        with place_alone(ledger):
            granted = ledger.reserve(ask("a"))
        with another(file, silent):
            stored = ledger.answer(granted, b"1")
        assert ledger.reserve(ask("a")) == stored
        assert len([e for e in ledger.history("clinic") if "Answered" in str(type(e.event))]) == 2


@contextmanager
def place_alone(ledger: Ledger) -> Iterator[None]:
    found = deputy_of(ledger)
    found._crowded = False
    yield
    found._crowded = True


def test_one_who_stands_still_is_not_waited_for_and_does_nothing_later(file: Place, monkeypatch):
    monkeypatch.setattr(deputy, "PATIENCE", 0.2)
    created(file)
    with another(file) as process, asking(file, monkeypatch) as (ledger, taken):
        assert ledger.reserve(ask("a")).attempt == 1
        os.kill(process.pid, signal.SIGSTOP)
        # Until it has stopped, it may still do an errand.
        os.waitpid(process.pid, os.WUNTRACED)
        granted = ledger.reserve(ask("b"))
        assert (granted.attempt, len(taken)) == (1, 1)
        begun = time.monotonic()
        assert ledger.reserve(ask("c")).attempt == 1
        assert deputy_of(ledger)._shunned > begun, "nobody is asked for a while"
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.2)
        events = [entry.event for entry in ledger.history("clinic")]
        assert not any(isinstance(event, Retried) for event in events)
        assert spent(ledger) == Fraction(3, 10)


def ask_for_ever(place: Place, answers: int, name: str) -> None:
    """Release one thing after the other, and write down what left."""
    with place.open() as ledger:
        deputy_of(ledger).notice()
        for number in count():
            request = f"{name}.{number}"
            granted = ledger.reserve(ask(request, epsilon="1/1000"))
            stored = ledger.answer(granted, request.encode())
            os.write(answers, stored.payload.ljust(SIZE))


def started(place: Place, answers: int, name: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            ask_for_ever(place, answers, name)
        finally:
            os._exit(1)
    return child


@pytest.mark.parametrize("kills", [4, pytest.param(300, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_kills_in_a_crowd_that_shares_turns_lose_nothing_and_pay_nothing_twice(place: Place, kills: int):
    created(place, PureBudget(10**6))
    chance, names = random.Random(11), count()
    reading, writing = os.pipe()
    crowd = [started(place, writing, f"c{next(names)}") for _ in range(3)]
    left = bytearray()
    for _ in range(kills):
        time.sleep(chance.uniform(0, 0.1))
        os.kill(crowd[0], signal.SIGKILL)
        os.waitpid(crowd.pop(0), 0)
        crowd.append(started(place, writing, f"c{next(names)}"))
        while select.select([reading], [], [], 0)[0]:
            left += os.read(reading, 2**16)
    while len(left) < 3 * SIZE:
        left += os.read(reading, 2**16)
    for child in crowd:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(writing)
    with open(reading, "rb") as rest:
        left += rest.read()
    released = {left[at : at + SIZE].decode().strip() for at in range(0, len(left), SIZE)}
    assert len(released) >= 3
    with place.open() as ledger:
        entries = ledger.history("clinic", last=10**6)
        paid = [entry.event.request.request_id for entry in entries if isinstance(entry.event, Reserved)]
        assert len(set(paid)) == len(paid), "a request was paid for twice"
        assert released <= set(paid)
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(len(paid), 1000)
        for name in released:
            assert ledger.reserve(ask(name, epsilon="1/1000")).payload == name.encode()
        report = ledger.verify()
        assert report.trusted, report.findings


def test_one_whose_ledger_is_damaged_leaves_the_others_to_look_for_themselves(file: Place, monkeypatch):
    created(file)

    def broken(*arguments, **options):
        raise LedgerError("the disk is full")

    failing = another(file, lambda patch: patch.setattr(book, "take_turn", broken))
    with failing, asking(file, monkeypatch) as (ledger, _):
        assert ledger.reserve(ask("a")).attempt == 1
        # On busy cores the other is not asked again for some seconds.
        deadline, names = time.monotonic() + 60, count()
        while deputy_of(ledger)._listening is None:
            assert time.monotonic() < deadline, "the other has not stepped down"
            assert ledger.reserve(ask(f"b{next(names)}", epsilon="1/100000")).attempt == 1


def test_what_is_too_long_to_be_said_is_written_by_oneself(file: Place, monkeypatch):
    created(file)
    with another(file), asking(file, monkeypatch) as (ledger, taken):
        granted = ledger.reserve(ask("a"))
        body = bytes(call.LONGEST)
        assert ledger.answer(granted, body).payload == body
        assert len(taken) == 1
        assert ledger.reserve(ask("b", question=ask("a").question)).payload == body


def test_what_takes_long_to_be_said_is_heard_and_one_who_does_not_listen_keeps_nobody_waiting(
    file: Place, monkeypatch
):
    created(file)
    patient = another(file, lambda patch: patch.setattr(deputy, "PATIENCE", 60))
    with patient, asking(file, monkeypatch) as (ledger, taken):
        body = bytes(call.LONGEST // 2)
        ledger.answer(ledger.reserve(ask("a")), body)
        deaf = deputy_of(ledger)._called(deputy_of(ledger)._name)
        told = deputy.paying(ask("b", question=ask("a").question))
        deaf.say(told.said, told.payload)
        assert ledger.reserve(ask("c", question=ask("a").question)).payload == body
        ledger.answer(ledger.reserve(ask("d")), b"1")
        assert taken == []
        deaf.hang_up()


def test_whoever_verifies_keeps_nobody_waiting(file: Place, monkeypatch):
    created(file)
    with place_that_leads(file, monkeypatch) as ledger:
        assert ledger.verify().trusted
        assert deputy_of(ledger)._listening is None


@contextmanager
def place_that_leads(file: Place, monkeypatch) -> Iterator[Ledger]:
    with asking(file, monkeypatch) as (ledger, _):
        ledger.answer(ledger.reserve(ask("first", epsilon="1/1000")), b"1")
        assert deputy_of(ledger)._listening is not None
        yield ledger


def test_two_ledgers_of_one_process_and_other_stores_never_meet(file: Place, monkeypatch, tmp_path):
    created(file)
    with place_that_leads(file, monkeypatch) as first, file.open() as second:
        deputy_of(second).notice()
        assert second.reserve(ask("a")).attempt == 1
        assert deputy_of(second)._idle == []
        names = {deputy_of(first)._name, deputy_of(second)._name}
        assert len(names) == 1
        elsewhere = Place(str(tmp_path / "other.ledger"), tmp_path / "other.anchor")
        with elsewhere.open() as other:
            assert deputy_of(other)._name not in names


def test_without_the_key_nobody_is_served_and_nobody_is_believed():
    """Somebody in the middle changes, repeats, reflects or makes up what is said."""
    said: list[object] = []

    def exchange(key: bytes, meddle: Callable[[bytes], bytes]) -> bool:
        ours, theirs = socket.socketpair()
        middle, far = socket.socketpair()
        ends: list[PrivateCall] = []
        listening = threading.Thread(target=lambda: ends.append(PrivateCall(far, b"k" * 32, calling=False)))
        listening.start()
        relay = threading.Thread(
            target=lambda: (middle.sendall(theirs.recv(32)), theirs.sendall(middle.recv(32)))
        )
        relay.start()
        calling = PrivateCall(ours, key, calling=True)
        relay.join()
        listening.join()
        calling.say(["pay", 1], b"x")
        middle.sendall(meddle(theirs.recv(4096)))
        try:
            said.append(ends[0].hear())
        except (OSError, ValueError):
            return False
        finally:
            for end in (ours, theirs, middle, far):
                end.close()
        return True

    assert exchange(b"k" * 32, lambda data: data)
    assert said == [(["pay", 1], b"x")]
    assert not exchange(b"l" * 32, lambda data: data)
    assert not exchange(b"k" * 32, lambda data: data.replace(b"1", b"2"))
    assert not exchange(b"k" * 32, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    assert not exchange(b"k" * 32, lambda data: data + b"more")
    assert len(said) == 1


def test_nothing_that_was_said_can_be_said_again_or_back():
    ours, theirs = socket.socketpair()
    ends: list[PrivateCall] = []
    listening = threading.Thread(target=lambda: ends.append(PrivateCall(theirs, b"k" * 32, calling=False)))
    listening.start()
    calling = PrivateCall(ours, b"k" * 32, calling=True)
    listening.join()
    calling.say(["pay", 1])
    recorded = theirs.recv(4096, socket.MSG_PEEK)
    assert ends[0].hear() == (["pay", 1], b"")
    ours.sendall(recorded)
    with pytest.raises(OSError, match="not sealed"):
        ends[0].hear()
    theirs.sendall(recorded)
    with pytest.raises(OSError, match="not sealed"):
        calling.hear()
    ours.close()
    theirs.close()


def test_another_users_process_is_refused(monkeypatch):
    name = secrets.token_hex(16).encode()
    listening = call.listen(name)
    assert call.dialled(name, 1) is None, "nobody calls their own process"
    monkeypatch.setattr(os, "getpid", lambda: -1)
    called = call.dialled(name, 1)
    assert called is not None
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    assert call.dialled(name, 1) is None
    assert [call.picked_up(listening) for _ in range(3)] == [None] * 3
    call.hang_up(called)
    call.hang_up(listening)
    assert call.dialled(name, 1) is None
