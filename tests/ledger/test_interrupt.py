"""An interrupt at any moment: the session and the ledger stay usable, and nothing is paid twice or lost.

Python raises KeyboardInterrupt between any two instructions of the main thread.  A timer does so here, after
a time drawn anew for each question, from before it is read until after it was answered.
"""

import ctypes
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from tests.ledger.world import KEY, Place, ask

from discreet.errors import BusyError, EngineError
from discreet.ledger import Granted, shield
from discreet.ledger.codec import lease_key
from discreet.ledger.shield import shielded
from discreet.ledger.turn import Turn
from discreet.privacy.filter import PureBudget
from discreet.release.opening import open as open_session
from discreet.release.session import Session

PEOPLE = pd.DataFrame({"person": range(2000), "age": [n % 90 for n in range(2000)]})
DECLARED = {
    "unit": "person",
    "rows_per_unit": 1,
    "columns": {"age": {"type": "integer", "low": 0, "high": 100}},
}
PRICE = Fraction(1, 100)
# An interrupt that strikes inside a finaliser or a callback of the garbage collector cannot be raised there:
# Python reports it and goes on, as if it had not struck.
LOST = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.timeout(1800), pytest.mark.filterwarnings(LOST)]


def interrupted(act: Callable[[], object], after: float) -> bool:
    """Do something and interrupt it after some seconds; return whether the interrupt struck inside."""
    armed = [True]

    def strike(*_: object) -> None:
        if armed[0]:
            armed[0] = False
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            act()
        finally:
            armed[0] = False
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


def question(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM people WHERE age < {number % 90} AND age > {-number // 90}"


def duration(session: Session) -> float:
    for number in range(3):
        begin = time.perf_counter()
        session.query(question(number), epsilon=PRICE)
    return time.perf_counter() - begin


def interrupt_a_session(session: Session, times: int, chance: random.Random) -> int:
    """Interrupt so many questions, ask each again, check what was paid; return how many were struck."""
    longest, struck = 1.2 * duration(session), 0
    for number in range(3, times + 3):
        text = question(number)
        struck += interrupted(
            lambda text=text: session.query(text, epsilon=PRICE), chance.uniform(0, longest)
        )
        first = session.query(text, epsilon=PRICE).value
        assert session.query(text, epsilon=PRICE).value == first
        assert session.budget.limits[0].spent.epsilon == PRICE * (number + 1)
    assert session.budget.running == 0
    assert session.ledger.verify().trusted
    return struck


@pytest.fixture
def asked(place: Place, monkeypatch) -> Iterator[Session]:
    monkeypatch.setenv("DISCREET_LEDGER_KEY", KEY.hex())
    monkeypatch.setenv("DISCREET_LEDGER_ANCHOR", str(place.anchor))
    home = place.location if not place.is_file else Path(place.location)
    with open_session(people=PEOPLE, **DECLARED, epsilon=1000, ledger=home) as session:
        yield session


def test_an_interrupted_session_goes_on_and_pays_for_each_question_once(asked: Session):
    assert interrupt_a_session(asked, 30, random.Random(5)) >= 1


@pytest.mark.fuzz
def test_a_thousand_interrupts_leave_the_session_as_it_was(asked: Session):
    assert interrupt_a_session(asked, 1000, random.Random(6)) >= 100


def test_an_interrupted_ledger_goes_on(place: Place):
    chance = random.Random(7)
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(100), reason="opened")
        for number in range(60):
            request = ask(f"r{number}")

            def release(request=request) -> None:
                outcome = ledger.reserve(request)
                if isinstance(outcome, Granted):
                    try:
                        ledger.answer(outcome, b"1")
                    except BaseException:
                        ledger.abandon(outcome)
                        raise

            interrupted(release, chance.uniform(0, 0.004))
            with place.open() as other:  # nobody else is kept waiting by what was interrupted
                other.budget("clinic")
            assert ledger.budget("clinic").limits[0].spent.epsilon <= Fraction(number + 1, 10)
        assert ledger.verify().trusted


def test_a_killed_thread_leaves_its_session_usable():
    """Notebooks and servers stop threads by raising inside them."""
    with open_session(people=PEOPLE, **DECLARED, epsilon=1000) as session:
        pause, chance = duration(session), random.Random(8)

        def victim(text: str) -> None:
            with suppress(SystemExit):
                session.query(text, epsilon=PRICE)

        for number in range(3, 15):
            thread = threading.Thread(target=victim, args=(question(number),))
            thread.start()
            time.sleep(chance.uniform(0, pause))
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            )
            thread.join()
            session.query(question(number), epsilon=PRICE)
        assert session.budget.limits[0].spent.epsilon == 15 * PRICE


def test_an_interrupt_stops_the_engine_and_is_no_failure_of_the_question(monkeypatch):
    with open_session(people=PEOPLE, **DECLARED, epsilon=10) as session:
        stopped = threading.Event()

        def endless(requests, choice):
            if not stopped.wait(20):
                raise AssertionError("the engine was not told to stop")
            raise EngineError("stopped")

        run = session.engine.run
        monkeypatch.setattr(session.engine, "run", endless)
        monkeypatch.setattr(session.engine, "interrupt", stopped.set)
        assert interrupted(lambda: session.query(question(1), epsilon=1), 0.2)
        assert stopped.wait(20)
        monkeypatch.setattr(session.engine, "run", run)
        session.query(question(1), epsilon=1)
        assert session.budget.limits[0].spent.epsilon == 1
        kinds = [type(entry.event).__name__ for entry in session.ledger.history("dataset")]
        assert "Failed" not in kinds


def test_whoever_was_interrupted_while_waiting_does_not_pay_later(place: Place, monkeypatch):
    monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 20.0)
    monkeypatch.setattr(shield, "PATIENCE", 0.05)
    with place.open() as first, place.open() as second:
        first.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = first.reserve(ask("a", question="q"))
        assert interrupted(lambda: second.reserve(ask("b", question="q")), 0.1)
        first.fail(granted, "engine-error")
        for _ in range(200):
            if second._store.lease("nothing", 0):
                second._store.release("nothing")
            time.sleep(0.001)
        assert first.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


def test_whoever_is_interrupted_in_line_pays_nothing_and_lets_go_of_nothing_that_is_not_theirs(
    file: Place, monkeypatch
):
    """Somebody else runs the same question, and holds its lease."""
    monkeypatch.setattr(shield, "PATIENCE", 0.05)
    entered, leave = threading.Event(), threading.Event()

    def stay(turn: Turn) -> None:
        entered.set()
        leave.wait(20)

    with file.open() as ledger, file.open() as other:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = ledger.reserve(ask("a", question="q"))
        staying = threading.Thread(target=ledger._write, args=("clinic", stay))
        staying.start()
        entered.wait(20)
        for request in (ask("b", question="q"), ask("another question")):
            assert interrupted(lambda request=request: ledger.reserve(request), 0.05)
        leave.set()
        staying.join()
        ledger.find(ask("c"))  # whatever stood in line before this was served
        assert not other._store.lease(lease_key(other.identity, granted.request), 0)
        ledger.answer(granted, b"1")
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(1, 10)


def test_work_whose_caller_left_hands_its_result_to_nobody_else(monkeypatch):
    monkeypatch.setattr(shield, "PATIENCE", 0.05)
    dropped: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go_on.wait(20)
        return 7

    assert interrupted(lambda: shielded(work, dropped=dropped.append), 0.05)
    assert begun.is_set()
    assert dropped == []
    go_on.set()
    for _ in range(2000):
        if dropped:
            break
        time.sleep(0.001)
    assert dropped == [7]


def test_errors_of_shielded_work_reach_the_caller():
    def refuse() -> None:
        raise BusyError("words")

    with pytest.raises(BusyError, match="words"):
        shielded(lambda: shielded(refuse))
