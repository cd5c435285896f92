"""Threads that wait at the same time share one turn: one commit for all, and to each their own outcome."""

import multiprocessing
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import count

import pytest
from tests.ledger.world import Place, ask, server_place

import discreet.ledger.turn as turn_module
from discreet.errors import BudgetError, ConflictError, LedgerError
from discreet.ledger import Granted, Ledger, asking, book, sharing
from discreet.ledger.account import Account, Running
from discreet.ledger.entry import Failed
from discreet.ledger.turn import Turn
from discreet.privacy.filter import PureBudget


def opened(place: Place, epsilon: int = 1) -> Ledger:
    ledger = place.open()
    ledger.create_dataset("clinic", PureBudget(epsilon), reason="opened")
    return ledger


def at_once(ledger: Ledger, acts: list[Callable[[], object]]) -> list[object]:
    """Let all of them queue before the gate, in this order, and return what each returned or raised."""
    heard: list[object] = [None] * len(acts)

    def hear(number: int) -> None:
        try:
            heard[number] = acts[number]()
        except Exception as error:
            heard[number] = error

    ledger.find(ask("nothing"))  # from here on there is a queue
    line = ledger._errands["clinic"]
    entered, leave = threading.Event(), threading.Event()

    def stay(turn: Turn) -> None:
        entered.set()
        leave.wait(60)

    threads = [threading.Thread(target=ledger._write, args=("clinic", stay))]
    threads[0].start()
    entered.wait(60)
    for number in range(len(acts)):
        threads.append(threading.Thread(target=hear, args=(number,)))
        threads[-1].start()
        while len(line._waiting) <= number:
            time.sleep(0.001)
    leave.set()
    for thread in threads:
        thread.join()
    return heard


@contextmanager
def turns(monkeypatch):
    """Count the turns that are taken."""
    taken: list[object] = []
    take = book.take_turn

    def counted(*arguments, **options):
        taken.append(arguments)
        return take(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(book, "take_turn", counted)
        yield taken


def test_a_crowd_is_served_in_one_turn_in_its_order_and_each_hears_what_concerns_them(
    place: Place, monkeypatch
):
    with opened(place) as ledger:
        first = ledger.reserve(ask("first"))
        acts = [
            lambda: ledger.reserve(ask("a", epsilon="1/2")),
            lambda: ledger.answer(first, b"1"),
            lambda: ledger.reserve(ask("b", epsilon="1/2")),  # the first of the crowd has taken that
            lambda: ledger.reserve(ask("a", question="another")),
            lambda: ledger.reserve(ask("c", epsilon="2/5")),
            lambda: ledger.find(ask("d", question=first.request.question)),
        ]
        with turns(monkeypatch) as taken:
            heard = at_once(ledger, acts)
        assert len(taken) == 3  # to look, to stay, and one for the crowd
        assert not ledger._anchor.read().pending, "an answer is among them, and waits for the anchor's disk"
        assert isinstance(heard[0], Granted)
        assert heard[1].payload == b"1"
        assert isinstance(heard[2], BudgetError)
        assert isinstance(heard[3], ConflictError)
        assert isinstance(heard[4], Granted)
        assert heard[5] == heard[1]
        assert ledger.verify_receipt(heard[1].receipt).number == heard[1].receipt.number
        assert ledger.answer(heard[4], b"4").payload == b"4"
        assert ledger.budget("clinic").limits[0].spent.epsilon == 1
        assert ledger.verify().trusted
    with place.open() as ledger:
        assert [entry.number for entry in ledger.history("clinic")] == list(range(1, 7))


def test_what_was_answered_before_is_found_by_everybody_who_shares_a_turn(place: Place, monkeypatch):
    with opened(place) as ledger:
        given = {name: ledger.answer(ledger.reserve(ask(name)), name.encode()) for name in ("a", "b", "c")}
        acts = [
            lambda: ledger.reserve(ask("a")),
            lambda: ledger.reserve(ask("another", question=ask("b").question)),
            lambda: ledger.reserve(ask("fresh")),
            lambda: ledger.reserve(ask("c", question="another question under a known id")),
        ]
        with turns(monkeypatch) as taken:
            same, repeated, fresh, conflict = at_once(ledger, acts)
        assert len(taken) == 3, "one to find nothing, one that stays, one for all four"
        assert (same, repeated) == (given["a"], given["b"])
        assert isinstance(fresh, Granted)
        assert isinstance(conflict, ConflictError)
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(4, 10)


@pytest.mark.parametrize("wrong", ["half", "broken"])
def test_an_errand_that_goes_wrong_is_undone_and_the_others_are_done_without_it(
    place: Place, wrong: str, monkeypatch
):
    """One breaks off after it has written; of what it wrote nothing stays."""
    with opened(place) as ledger:
        true = asking.reserve
        refusal = {"half": ConflictError("half way"), "broken": LedgerError("something is damaged")}

        def reserve(turn: Turn, request):
            outcome = true(turn, request)
            if request.request_id in refusal:
                turn.append(Failed(outcome.number, "engine-error"))
                raise refusal[request.request_id]
            return outcome

        monkeypatch.setattr(asking, "reserve", reserve)
        heard = at_once(ledger, [lambda name=name: ledger.reserve(ask(name)) for name in ("a", wrong, "b")])
        assert [type(outcome) for outcome in heard] == [Granted, type(refusal[wrong]), Granted]
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(2, 10)
        assert len(ledger.history("clinic")) == 3
        assert ledger.verify().trusted


def test_an_errand_that_the_database_refuses_is_undone_and_the_others_are_done_without_it(
    file: Place, monkeypatch
):
    """Broken code answers twice, which the account does not notice, but an index does."""
    with opened(file) as ledger:
        granted = ledger.reserve(ask("first"))
        ledger.answer(granted, b"1")
        monkeypatch.setattr(Account, "_waiting", lambda self, reservation: Running(1, ""))
        acts = [
            lambda: ledger.reserve(ask("a")),
            lambda: ledger.fail(granted, "engine-error"),
            lambda: ledger.reserve(ask("b")),
        ]
        heard = at_once(ledger, acts)
        assert [isinstance(outcome, Granted) for outcome in heard] == [True, False, True]
        assert "UNIQUE" in str(heard[1])
        assert len(ledger.history("clinic")) == 5
        assert ledger.verify().trusted


def test_a_turn_that_fails_to_become_durable_is_heard_of_by_everybody_in_it(place: Place, monkeypatch):
    with opened(place) as ledger:
        granted = ledger.reserve(ask("first"))
        fasten, stands = turn_module.fasten, ledger.newest("clinic").number

        def fail(*place: object, **options: object) -> None:
            if place[4].number > stands:
                raise LedgerError("the anchor cannot be written")
            fasten(*place, **options)

        acts = [
            lambda: ledger.reserve(ask("a")),
            lambda: ledger.answer(granted, b"must not leave"),
            lambda: ledger.reserve(ask("b")),
        ]
        monkeypatch.setattr(turn_module, "fasten", fail)
        with turns(monkeypatch) as taken:
            heard = at_once(ledger, acts)
        assert [str(outcome) for outcome in heard] == ["the anchor cannot be written"] * 3
        assert len(taken) == 3, "nobody tries again: what was committed is not known"
        monkeypatch.undo()
        assert ledger.reserve(ask("first")).payload == b"must not leave"
        assert ledger.reserve(ask("a")).attempt == 2
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(3, 10)


@pytest.mark.parametrize("place_in_line", [1, 2])
def test_who_waits_too_long_leaves_the_line_and_pays_nothing(place: Place, place_in_line: int, monkeypatch):
    """Whoever is first waits for the gate, the others wait for whoever is first."""
    with opened(place) as ledger:
        ledger.find(ask("nothing"))
        entered, leave = threading.Event(), threading.Event()

        def stay(turn: Turn) -> None:
            entered.set()
            leave.wait(60)

        holders = [threading.Thread(target=ledger._write, args=("clinic", stay))]
        holders[0].start()
        entered.wait(60)
        if place_in_line == 2:
            holders.append(threading.Thread(target=ledger.reserve, args=(ask("first"),)))
            holders[1].start()
            while not ledger._errands["clinic"]._waiting:
                time.sleep(0.001)
        monkeypatch.setattr("discreet.ledger.pool.PATIENCE", 0.01)
        with pytest.raises(ConflictError, match="busy"):
            ledger.reserve(ask("a"))
        leave.set()
        for holder in holders:
            holder.join()
        assert ledger.reserve(ask("a")).attempt == 1
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(place_in_line, 10)


def test_no_more_than_so_many_share_a_turn(file: Place, monkeypatch):
    monkeypatch.setattr(sharing, "MOST", 2)
    with opened(file) as ledger, turns(monkeypatch) as taken:
        heard = at_once(ledger, [lambda name=name: ledger.reserve(ask(name)) for name in "abcde"])
        assert [outcome.attempt for outcome in heard] == [1] * 5
        assert len(taken) == 2 + 3


@pytest.mark.parametrize(
    "words", ["it's", "'); DROP TABLE discreet_entry; --", "\\'", "$1 %s ? {x}", "ä\u2028\U0001f600"]
)
def test_whatever_a_question_says_is_kept_as_it_is(place: Place, words: str):
    with opened(place) as ledger:
        granted = ledger.reserve(ask("a", question=words, snapshot="it's"))
        stored = ledger.answer(granted, words.encode() + bytes(range(256)))
        assert ledger.reserve(ask("b", question=words, snapshot="it's")) == stored
        with place.open() as other:
            assert other.reserve(ask("a", question=words, snapshot="it's")) == stored
            assert [entry.event for entry in other.history("clinic")][1].request.question == words


def test_what_is_answered_is_let_go_of_with_the_answer(server):
    """A name that stays beside an answered question would keep those waiting who ask the same."""
    with server_place(server) as place, opened(place) as ledger:
        names = "SELECT count(*) FROM discreet_lease"
        granted, other = ledger.reserve(ask("a")), ledger.reserve(ask("b"))
        assert place.query(names) == [(2,)]
        ledger.answer(granted, b"1")
        assert place.query(names) == [(1,)]
        assert ledger.reserve(ask("a")).payload == b"1"
        assert place.query(names) == [(1,)]
        ledger.fail(other, "engine-error")
        assert place.query(names) == [(0,)]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("processes", "threads"), [(2, 5), pytest.param(8, 8, marks=pytest.mark.fuzz)], ids=["small", "large"]
)
def test_a_crowd_that_shares_its_turns_is_granted_exactly_the_budget(
    place: Place, processes: int, threads: int
):
    """Every process has one ledger for all its threads, which pay and answer until they are refused."""
    with opened(place):
        pass
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(processes), context.SimpleQueue()

    def process(number: int) -> None:
        receipts: list[int] = []

        def client(ledger: Ledger, thread: int) -> None:
            with suppress(BudgetError):
                for turn in count():
                    granted = ledger.reserve(ask(f"{number}.{thread}.{turn}", epsilon="1/40"))
                    receipts.append(ledger.answer(granted, b"%d" % turn).receipt.number)

        with place.open() as ledger:
            start.wait(200)
            working = [threading.Thread(target=client, args=(ledger, n)) for n in range(threads)]
            for thread in working:
                thread.start()
            for thread in working:
                thread.join()
        told.put(receipts)

    children = [context.Process(target=process, args=(n,), daemon=True) for n in range(processes)]
    for child in children:
        child.start()
    heard = [number for _ in children for number in told.get()]
    for child in children:
        child.join(100)
    assert len(heard) == len(set(heard)) == 40
    with place.open() as ledger:
        assert ledger.budget("clinic").limits[0].spent.epsilon == 1
        assert ledger.verify().trusted
