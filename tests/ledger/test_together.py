"""The same question asked at once: one payment, one run, one answer for everybody who waits for it."""

import multiprocessing
import os
import threading
import time
from fractions import Fraction
from itertools import count

import pandas as pd
import pytest
from tests.ledger.test_concurrency import SIZES, crowd
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, BusyError, ConflictError
from discreet.ledger import EVERYBODY, Granted, Ledger, asking
from discreet.ledger.name import normal
from discreet.privacy.filter import PureBudget
from discreet.release.opening import open as open_session

QUESTIONS, THREADS = 6, 8
pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(1800)]


def spent(ledger: Ledger, dataset: str = "clinic") -> Fraction:
    return next(limit.spent.epsilon for limit in ledger.budget(dataset).limits if limit.scope == EVERYBODY)


def find(ledger: Ledger, request_id: str, question: str) -> bytes:
    """Do what the system does, slowly, with noise that tells two runs apart."""
    outcome = ledger.reserve(ask(request_id, question=question))
    if isinstance(outcome, Granted):
        assert outcome.attempt == 1, "a run that goes on was taken for one that broke off"
        time.sleep(0.01)
        outcome = ledger.answer(outcome, os.urandom(8))
    return outcome.payload


@SIZES
def test_processes_that_ask_the_same_at_once_without_ids_pay_once_and_hear_the_same(
    place: Place, processes: int, threads: int
):
    told = multiprocessing.get_context("fork").SimpleQueue()
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10), reason="opened")

    def client(number: int, barrier) -> None:
        names = (f"{number}.{turn}" for turn in count())
        with place.open() as ledger:
            barrier.wait(200)
            told.put([find(ledger, next(names), f"q{question}") for question in range(QUESTIONS)])

    with crowd(processes, threads, client) as barrier:
        barrier.wait(200)
        heard = [told.get() for _ in range(processes * threads)]
    assert len({tuple(answers) for answers in heard}) == 1
    with place.open() as ledger:
        assert spent(ledger) == QUESTIONS * Fraction(1, 10)
        assert ledger.verify().trusted


def test_threads_that_ask_the_same_at_once_pay_once_and_hear_the_same(place: Place):
    heard: list[bytes] = []
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10), reason="opened")
        for number in range(QUESTIONS):
            start = threading.Barrier(THREADS)

            def client(name: str, question: str, start: threading.Barrier) -> None:
                start.wait()
                heard.append(find(ledger, name, question))

            threads = [
                threading.Thread(target=client, args=(f"{number}.{t}", f"q{number}", start))
                for t in range(THREADS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(set(heard)) == QUESTIONS
        assert spent(ledger) == QUESTIONS * Fraction(1, 10)


def test_a_session_asked_the_same_by_many_threads_pays_once():
    people = pd.DataFrame({"person": range(100), "age": [30] * 100})
    with open_session(people=people, unit="person", rows_per_unit=1, epsilon=10) as session:
        heard: list[object] = []
        start = threading.Barrier(8)

        def client() -> None:
            start.wait()
            heard.append(session.query("SELECT COUNT(*) AS n FROM people", epsilon=1).value)

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(heard) == 8
        assert len(set(heard)) == 1
        assert session.budget.limits[0].spent.epsilon == 1


def test_waiting_for_the_same_question_is_bounded_and_free(place: Place, monkeypatch):
    monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 0.05)
    with place.open() as first, place.open() as second:
        first.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = first.reserve(ask("a", question="q"))
        for other in (first, second):
            with pytest.raises(BusyError, match="nothing was charged"):
                other.reserve(ask("b", question="q"))
        stored = first.answer(granted, b"1")
        assert second.reserve(ask("b", question="q")) == stored
        assert spent(second) == Fraction(1, 10)


def test_a_question_whose_run_failed_for_good_is_paid_anew_by_whoever_waited(place: Place):
    with place.open() as first, place.open() as second:
        first.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = first.reserve(ask("a", question="q"))
        waited: list[object] = []
        waiter = threading.Thread(target=lambda: waited.append(second.reserve(ask("b", question="q"))))
        waiter.start()
        first.fail(granted, "engine-error")
        waiter.join()
        assert waited[0].attempt == 1
        assert spent(second) == Fraction(2, 10)


def test_whoever_asks_again_is_told_without_a_lease_but_not_under_an_id_of_another_question(
    place: Place, monkeypatch
):
    with place.open() as ledger, place.open() as other:
        ledger.create_dataset("clinic", PureBudget(1), analysts=["ann"], reason="opened")
        stored = ledger.answer(ledger.reserve(ask("a", question="q")), b"1")
        ledger.answer(ledger.reserve(ask("b", question="another")), b"2")
        deputy_crowd(ledger)  # so that both stores go the way on which one may wait
        monkeypatch.setattr(ledger._store, "lease", lambda *_: pytest.fail("nobody runs this"))
        for name in ("c", "a"):
            assert ledger.reserve(ask(name, question="q")) == stored
        with pytest.raises(BudgetError, match="may not ask"):
            ledger.reserve(ask("d", question="q", analyst="eve"))
        with pytest.raises(ConflictError, match="used for another question"):
            ledger.reserve(ask("b", question="q"))
        monkeypatch.undo()
        assert other.reserve(ask("e", question="q")) == stored
        assert ledger.verify().trusted


def deputy_crowd(ledger: Ledger) -> None:
    """Let a ledger ask others, of whom there are none."""
    ledger._errands.deputy.notice()
    ledger._errands.deputy._name = None


def test_whoever_only_looks_for_an_answer_writes_nothing(place: Place):
    """Nor does the one who looks take over what somebody else runs, whose lease they do not hold."""
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = ledger.reserve(ask("a"))
        before = ledger.history("clinic")
        assert ledger._share("clinic", lambda turn: asking.repeat(turn, normal(ask("a")))) is None
        assert ledger.history("clinic") == before
        stored = ledger.answer(granted, b"1")
        again = ledger._share("clinic", lambda turn: asking.repeat(turn, normal(ask("a"))))
        assert again.payload == stored.payload
