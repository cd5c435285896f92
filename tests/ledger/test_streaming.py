"""Streams through the ledger: one payment, one noise per step, whatever breaks in between.

The detector is a witness outside, who remembers every count that left, and who may also read the concealed
state.  A run of the tree counter can be recognised: a step draws new noise only for the levels below the
digit that grows, and everything above stays.  So two runs glued together, or one step drawn twice, show.
"""

import itertools
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from tests.ledger.test_concurrency import SIZES, crowd
from tests.ledger.test_crash import in_child
from tests.ledger.world import Place, ask, server_place

import discreet.ledger.streaming as streaming
from discreet.errors import BudgetError, ConflictError, LedgerError, ParameterError
from discreet.ledger import Ledger, Stored
from discreet.ledger.account import Account
from discreet.ledger.entry import Advanced, Closed, Created, Reserved
from discreet.ledger.secret import conceal, reveal
from discreet.ledger.shelf import Shelf
from discreet.privacy.filter import ApproximateBudget, PureBudget
from discreet.release.stream import LARGEST, NamedStream, open_stream
from discreet.workload.codec import decode_state
from discreet.workload.tree import TreeState, noise_now

BUDGET = PureBudget(1)
PRICE = Fraction(1, 1000)
LENGTH = 400
REPEATS = 3
pytestmark = [pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"), pytest.mark.timeout(600)]


def stream_of(ledger: Ledger, name: str = "visits", length: int = LENGTH) -> NamedStream:
    return open_stream(
        ledger, BUDGET, "clinic", "wards", "ann", name, length=length, epsilon=PRICE, contribution=1
    )


def state_of(stream: NamedStream) -> TreeState:
    """Return the state as only the holder of the key can see it."""
    ledger = stream.book.ledger
    concealed = ledger._store.shelf.secret("clinic", stream.book.right.number)
    place = ledger.identity, "clinic", stream.book.right.number, stream.steps
    return decode_state(json.loads(reveal(ledger._seals.key, *place, concealed)))


def spent(ledger: Ledger) -> Fraction:
    return ledger.budget("clinic").limits[0].spent.epsilon


@pytest.fixture
def opened(place: Place) -> Place:
    with place.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
    return place


@dataclass
class Witness:
    """Remembers what left, and checks that all of it comes from one run."""

    left: dict[int, float] = field(default_factory=dict)
    states: list[TreeState] = field(default_factory=list)

    def saw(self, step: int, value: float) -> None:
        assert self.left.setdefault(step, value) == value, "two noises for one step"

    def look(self, stream: NamedStream, increment: int = 1) -> None:
        state = state_of(stream)
        if self.states and state == self.states[-1]:
            return
        known = not self.states or follows(stream, self.states[-1], state, increment)
        assert known, "another run took over"
        self.states.append(state)
        if state.step:
            self.saw(state.step, state.count + noise_now(state))


def follows(stream: NamedStream, before: TreeState, after: TreeState, increment: int) -> bool:
    """Return whether one step leads from one state to another, for some noise."""
    rising = stream.counter._rising(after.step)
    grows, grown = before.levels[rising], after.levels[rising]
    expected = (
        replace(grows, pending=grows.pending[1:]) if grows.pending else replace(grows, settled=grown.settled)
    )
    return (
        after.step == before.step + 1
        and after.count == before.count + increment
        and after.levels[rising + 1 :] == before.levels[rising + 1 :]
        and grown == expected
    )


def test_a_stream_is_charged_once_and_goes_on_after_a_restart(opened: Place):
    witness = Witness()
    for step in range(1, 15):
        with opened.open() as ledger:
            stream = stream_of(ledger)
            if step == 1:
                assert state_of(stream) == stream.counter.start()
            witness.look(stream)
            count = stream.add(1, step=step)
            witness.saw(step, count.value)
            witness.look(stream)
            assert stream.steps == step
            assert PRICE * Fraction(99, 100) < spent(ledger) <= PRICE
    with opened.open() as ledger:
        assert {count.step: count.value for count in stream_of(ledger).released()} == witness.left
        assert ledger.verify().trusted
    assert len(witness.states) == 15


def take_a_step(ledger: Ledger, step: int, steps, send) -> None:
    steps("open the stream")
    count = stream_of(ledger).add(1, step=step)
    steps("send")
    send(repr(count.value).encode())
    steps("leave")


def take_a_step_carelessly(ledger: Ledger, step: int, steps, send) -> None:
    """Draw, let the answer out, and record it afterwards."""
    stream = stream_of(ledger)
    state = state_of(stream)
    taken = stream.book._taken([1], json.dumps(_encoded(state)).encode())
    send(repr(json.loads(taken.payload)[0][1]).encode())
    steps("record")
    ledger.advance(stream.book.right, step, lambda _: taken)


def _encoded(state: TreeState) -> dict:
    from discreet.workload.codec import encode_state

    return encode_state(state)


def after_a_kill(place: Place, witness: Witness, step: int, fatal: int | None, how=take_a_step) -> bytes:
    """Take a step in a process that dies, then again in one that does not; return the names of its acts."""
    received, acts, killed = in_child(place, step, fatal, how)
    assert killed == (fatal is not None)
    with place.open() as ledger:
        stream = stream_of(ledger)
        witness.look(stream)
        if received:
            witness.saw(step, float(received))
        witness.saw(step, stream.add(1, step=step).value)
        witness.look(stream)
        assert stream.steps == step
    return acts


@pytest.mark.parametrize("repeats", [1, pytest.param(REPEATS, marks=pytest.mark.fuzz)], ids=["once", "often"])
def test_a_step_killed_at_any_point_is_released_with_one_noise_only(opened: Place, repeats: int):
    with opened.open() as ledger:
        witness, steps = Witness(), itertools.count(1)
        witness.look(stream_of(ledger))
    acts = after_a_kill(opened, witness, next(steps), None).decode().split("\n")
    assert {"COMMIT", "find a state", "keep a state", "anchor fdatasync", "send"} <= set(acts)
    assert len(acts) >= 14
    for fatal in list(range(len(acts))) * repeats:
        after_a_kill(opened, witness, next(steps), fatal)
    with opened.open() as ledger:
        assert ledger.verify().trusted
        assert {c.step: c.value for c in stream_of(ledger).released()} == witness.left
        assert spent(ledger) <= PRICE


def test_the_witness_catches_a_stream_that_answers_before_it_records(file: Place):
    with file.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
        stream_of(ledger)
    acts = after_a_kill(file, Witness(), 1, None, take_a_step_carelessly).decode().split("\n")
    caught = 0
    for step in range(2, 6):
        try:
            after_a_kill(file, Witness(), step, acts.index("record"), take_a_step_carelessly)
        except AssertionError as complaint:
            caught += "two noises for one step" in str(complaint)
    assert caught >= 2


def begin_a_stream(ledger: Ledger, name: str, steps, send) -> None:
    stream_of(ledger, name)
    steps("begun")


def test_a_beginning_killed_at_any_point_is_paid_for_and_can_go_on_or_neither(opened: Place):
    acts = in_child(opened, "rehearsed", None, begin_a_stream)[1].decode().split("\n")
    with opened.open() as ledger:
        (price,) = {spent(ledger)}
    for fatal in range(len(acts)):
        assert in_child(opened, f"s{fatal}", fatal, begin_a_stream)[2]
        with opened.open() as ledger:
            begun = ledger.find_stream("clinic", f"stream s{fatal}", "ann") is not None
            assert spent(ledger) == price * (fatal + 1 + begun)
            stream_of(ledger, f"s{fatal}").add(1, step=1)
            assert spent(ledger) == price * (fatal + 2)
    with opened.open() as ledger:
        assert ledger.verify().trusted


class PowerCut(BaseException):
    """The machine stops."""


def cut(point: str, ledger: Ledger, patch: pytest.MonkeyPatch) -> None:
    """Let the machine stop at one point of the next step."""

    def stop(*_args, **_options):
        raise PowerCut

    anchor = ledger._anchor
    match point:
        case "drawing":
            patch.setattr("discreet.release.stream._write_state", stop)
        case "recording":
            patch.setattr(Shelf, "keep_secret", stop)
        case "anchoring":
            patch.setattr(anchor, "move", stop)
        case "leaving":
            true = anchor.move
            patch.setattr(anchor, "move", lambda *mark: (true(*mark), stop()))


@pytest.mark.parametrize("steps", [2, pytest.param(3, marks=pytest.mark.fuzz)])
def test_every_pattern_of_crashes_leaves_the_prefix_of_one_run(file: Place, steps: int, monkeypatch):
    import discreet.ledger.verifying as verifying

    monkeypatch.setattr(verifying, "RECENT", 10)  # opening checks no more than what this pattern wrote
    with file.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
    points = "none", "drawing", "recording", "anchoring", "leaving"
    for number, pattern in enumerate(itertools.product(points, repeat=steps)):
        witness = Witness()
        for step, point in enumerate(pattern, start=1):
            with file.open() as ledger, pytest.MonkeyPatch.context() as patch:
                stream = stream_of(ledger, f"pattern {number}", steps)
                witness.look(stream)
                if point != "none":
                    cut(point, ledger, patch)
                    with pytest.raises(PowerCut):
                        stream.add(1, step=step)
                    patch.undo()
                    assert stream.steps == step - (point in ("drawing", "recording"))
                    witness.look(stream)
                witness.saw(step, stream.add(1, step=step).value)
                witness.look(stream)
        assert sorted(witness.left) == list(range(1, steps + 1))
    with file.open() as ledger:
        assert ledger.verify().trusted


def values_in_a_crowd(place: Place, processes: int, threads: int, length: int) -> set[tuple[int, float]]:
    """Let every process take every step, all at once, and return all counts that any of them got."""
    import multiprocessing

    queue = multiprocessing.get_context("fork").SimpleQueue()
    with place.open() as ledger:
        stream_of(ledger)

    def client(number: int, barrier) -> None:
        with place.open() as ledger:
            stream = stream_of(ledger)
            barrier.wait(300)
            found = [(step, stream.add(number, step=step).value) for step in range(1, length + 1)]
        queue.put(found)

    with crowd(processes, threads, client) as barrier:
        barrier.wait(300)
        return {count for _ in range(processes * threads) for count in queue.get()}


@SIZES
def test_a_crowd_on_one_stream_takes_every_step_once(opened: Place, processes: int, threads: int):
    found = values_in_a_crowd(opened, processes, threads, 6)
    assert sorted(step for step, _ in found) == list(range(1, 7))
    with opened.open() as ledger:
        stream = stream_of(ledger)
        assert {(count.step, count.value) for count in stream.released()} == found
        assert ledger.verify().trusted
        advances = [e.event for e in ledger.history("clinic") if isinstance(e.event, Advanced)]
        assert [(event.first, event.last) for event in advances] == [(1, 0), *((k, k) for k in range(1, 7))]


def test_the_crowd_catches_a_ledger_that_draws_before_its_turn(file: Place, monkeypatch):
    with file.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
    true = Ledger.advance

    def hasty(self: Ledger, stream, first: int, take) -> Stored:
        def look(turn) -> bytes | None:
            standing = turn.account.standing(stream.number)
            place = turn.seals.ledger, "clinic", stream.number, standing.step
            secret = turn.store.shelf.secret("clinic", stream.number)
            return reveal(turn.seals.key, *place, secret) if standing.step < first else None

        state = self._write("clinic", look)
        if state is None:
            return true(self, stream, first, take)
        own = take(state)
        time.sleep(0.01)
        return replace(true(self, stream, first, lambda _: own), payload=own.payload)

    monkeypatch.setattr(Ledger, "advance", hasty)
    assert len(values_in_a_crowd(file, 4, 4, 1)) > 1


def test_the_steps_of_a_stream_are_taken_by_who_began_it_and_read_by_everybody(opened: Place):
    with opened.open() as ledger:
        stream = stream_of(ledger)
        first = stream.add(1, step=1)
        foreign = replace(stream.book.right, analyst="ben")
        assert json.loads(ledger.recorded(foreign, 1, 1)[0].payload)[0][1] == first.value
        with pytest.raises(ConflictError, match="begun by somebody else, who alone can take its steps"):
            ledger.advance(foreign, 2, lambda state: pytest.fail("a state was shown to somebody else"))
        assert stream.steps == 1


def begun(place: Place, steps: int = 5) -> Witness:
    witness = Witness()
    with place.open() as ledger:
        stream = stream_of(ledger)
        witness.look(stream)
        for step in range(1, steps + 1):
            witness.saw(step, stream.add(1, step=step).value)
            witness.look(stream)
    return witness


def put_back(place: Place, concealed: bytes) -> None:
    """Put another state in the place of the stream's."""
    blob = "x'{}'" if place.is_file else "'\\x{}'"
    place.tamper("UPDATE {secret} SET concealed = " + blob.format(bytes(concealed).hex()))


def older_state(place: Place) -> bytes:
    ((concealed,),) = place.query("SELECT concealed FROM {secret}")
    with place.open() as ledger:
        stream = stream_of(ledger)
        stream.add(1, step=stream.steps + 1)
    return bytes(concealed)


def test_a_missing_edited_or_older_state_is_refused_and_never_begun_again(opened: Place):
    begun(opened)
    older = older_state(opened)
    backup = opened.copy()
    for damage in (
        lambda: opened.tamper("DELETE FROM {secret}"),
        lambda: opened.tamper("UPDATE {secret} SET number = number + 1"),
        lambda: opened.tamper("UPDATE {secret} SET dataset = 'school'"),
        lambda: put_back(opened, older),
        lambda: put_back(opened, b""),
    ):
        damage()
        with opened.open() as ledger:
            stream = stream_of(ledger)
            with pytest.raises(LedgerError, match="missing, older or edited"):
                stream.add(1, step=7)
            assert len(stream.released()) == stream.steps == 6
            assert not ledger.verify().trusted
        opened.restore(backup)
    with opened.open() as ledger:
        assert ledger.verify().trusted
        stream_of(ledger).add(1, step=7)


def test_a_stream_that_lost_its_state_stops_nothing_else(opened: Place):
    begun(opened)
    opened.tamper("DELETE FROM {secret}")
    with opened.open() as ledger:
        ledger.answer(ledger.reserve(ask("another question", epsilon="1/100")), b"not affected")
        stream_of(ledger, "another stream").add(1, step=1)


@pytest.mark.parametrize("lacking", ["digest", "step", "both"])
def test_an_older_state_is_caught_by_either_of_two_seals(file: Place, monkeypatch, lacking: str):
    with file.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
    witness = begun(file, 4)
    older = older_state(file)
    with file.open() as ledger:
        witness.look(stream_of(ledger))
    put_back(file, older)
    if lacking in ("digest", "both"):
        monkeypatch.setattr(
            streaming, "kept_secret", lambda store, dataset, number, _: store.shelf.secret(dataset, number)
        )
    if lacking in ("step", "both"):
        monkeypatch.setattr(streaming, "reveal", lambda *place: reveal(*place[:4], place[4] - 1, place[5]))
    with file.open() as ledger:
        stream = stream_of(ledger)
        if lacking != "both":
            with pytest.raises(LedgerError, match="stream"):
                stream.add(1, step=6)
            return
        with suppress(LedgerError):
            stream.add(1, step=6)  # the broken twin goes on from the state after step 4
        with pytest.raises(AssertionError, match="another run"):
            witness.look(stream)


def test_a_state_of_another_stream_is_not_its_own(file: Place):
    with file.open() as ledger:
        key = ledger._seals.key
        concealed = conceal(key, "ledger", "clinic", 2, 5, b"state")
        assert reveal(key, "ledger", "clinic", 2, 5, concealed) == b"state"
        for place in (("other", "clinic", 2, 5), ("ledger", "school", 2, 5), ("ledger", "clinic", 3, 5)):
            with pytest.raises(LedgerError, match="not its own"):
                reveal(key, *place, concealed)
        for damaged in (concealed[:-1], concealed[:5], b"", concealed[:-1] + bytes([concealed[-1] ^ 1])):
            with pytest.raises(LedgerError, match="not its own"):
                reveal(key, "ledger", "clinic", 2, 5, damaged)


def test_yesterdays_copy_of_the_store_is_refused(opened: Place):
    begun(opened)
    yesterday = opened.copy()
    with opened.open() as ledger:
        stream_of(ledger).add(1, step=6)
    opened.restore(yesterday)
    with pytest.raises(LedgerError, match="rolled back"):
        opened.open()


def test_a_removed_step_is_missed(opened: Place, monkeypatch):
    import discreet.ledger.verifying as verifying

    monkeypatch.setattr(verifying, "RECENT", 1)
    begun(opened)
    ((number,),) = opened.query("SELECT number FROM {entry} WHERE asked = '000000000002'")
    opened.tamper(f"DELETE FROM {{entry}} WHERE number = {number}")
    with opened.open() as ledger:
        stream = stream_of(ledger)
        with pytest.raises(LedgerError, match=r"step 2 .* is not in the ledger"):
            stream.add(1, step=2)
        with pytest.raises(LedgerError, match=r"step 2 .* is not in the ledger"):
            stream.released()
        assert not ledger.verify().trusted


@pytest.mark.parametrize("budget", [BUDGET, ApproximateBudget(1, "1e-9")])
def test_the_store_alone_tells_nothing_about_the_counts(place: Place, budget):
    sizes = {}
    with place.open() as ledger:
        ledger.create_dataset("clinic", ApproximateBudget(1, "1e-9"), reason="opened")
        for name, increment in (("quiet", 0), ("busy", LARGEST), ("falling", -LARGEST)):
            parameters = {"length": 50, "epsilon": "1/100", "contribution": 1}
            stream = open_stream(ledger, budget, "clinic", "wards", "ann", name, **parameters)
            for step in range(1, 31):
                stream.add(increment, step=step)
                concealed = ledger._store.shelf.secret("clinic", stream.book.right.number)
                assert b"state" not in concealed
                sizes.setdefault(step, set()).add(len(concealed))
    assert all(len(found) == 1 for found in sizes.values())


def test_rules_of_the_account_refuse_what_is_not_the_next_step():
    request = ask("stream visits")
    account = Account.opened("clinic", Created(BUDGET, None, "opened")).after(Reserved(request), 2)
    begin = Advanced(2, 1, 0, "s0", "", 0)
    assert not account.after(begin, 3).running
    with pytest.raises(ConflictError):
        account.after(begin, 4)  # a question that is being answered cannot become a stream
    with pytest.raises(ConflictError):
        account.after(Advanced(2, 1, 1, "s1", "", 0), 3)
    account = account.after(begin, 3).after(Advanced(2, 1, 4, "s4", "", 0), 4)
    assert account.standing(2).step == 4
    for first, last in ((1, 1), (4, 4), (4, 5), (6, 6), (5, 4), (5, 3), (1, 0)):
        with pytest.raises(ConflictError):
            account.after(Advanced(2, first, last, "x", "", 0), 5)
    with pytest.raises(ConflictError):
        account.after(Advanced(9, 1, 1, "x", "", 0), 5)
    assert account.after(Advanced(2, 5, 5, "s5", "", 0), 5).standing(2).step == 5
    with pytest.raises(BudgetError, match="closed"):
        account.after(Closed("over"), 5).after(Advanced(2, 5, 5, "s5", "", 0), 6)


def test_ids_of_questions_and_streams_do_not_mix(opened: Place):
    with opened.open() as ledger:
        stream = stream_of(ledger)
        for same in (ask("stream visits"), stream.book.right.request):
            with pytest.raises(ParameterError, match="ids of streams"):
                ledger.reserve(same)
        begun = ledger.open_stream(ask("another", epsilon="1/100"), b"state")
        with pytest.raises(ConflictError, match="stands for a stream"):
            ledger.reserve(begun.request)
        ledger.answer(ledger.reserve(ask("taken", epsilon="1/100")), b"1")
        with pytest.raises(ConflictError, match="used for a question"):
            ledger.open_stream(ask("taken", epsilon="1/100"), b"state")


def test_a_failed_write_leaves_the_step_to_be_taken(opened: Place, monkeypatch):
    with opened.open() as ledger:
        stream = stream_of(ledger)
        with monkeypatch.context() as patch:
            patch.setattr(Shelf, "keep_secret", lambda *_: (_ for _ in ()).throw(LedgerError("disk full")))
            with pytest.raises(LedgerError, match="disk full"):
                stream.add(1, step=1)
        assert stream.steps == 0
        assert stream.add(1, step=1).step == 1


def test_a_step_costs_the_same_after_a_long_history(file: Place):
    counted = []
    with file.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
        stream = stream_of(ledger, length=4000)
        database = ledger._store._database
        for start in (1, 3000):
            stream.extend([1] * (start - 1 - stream.steps), first=stream.steps + 1)
            ticks = itertools.count()
            database.set_progress_handler(lambda ticks=ticks: next(ticks) and None, 1)
            for step in range(start, start + 20):
                stream.add(1, step=step)
                stream.add(1, step=step)
            database.set_progress_handler(None, 1)
            counted.append(next(ticks))
    assert counted[1] < 1.1 * counted[0]


def test_a_killed_server_loses_no_step(server):
    import signal

    with server_place(server) as place:
        with place.open() as ledger:
            ledger.create_dataset("clinic", BUDGET, reason="opened")
        witness = begun(place, 3)
        with place.open() as ledger:
            stream = stream_of(ledger)
            server.stop(signal.SIGQUIT)
            with pytest.raises(LedgerError):
                stream.add(1, step=4)
        server.start()
        with place.open() as ledger:
            stream = stream_of(ledger)
            witness.look(stream)
            witness.saw(4, stream.add(1, step=4).value)
            witness.look(stream)
            assert {c.step: c.value for c in stream.released()} == witness.left


def test_postgresql_finds_steps_by_an_index(server):
    with server_place(server) as place, place.open() as ledger:
        ledger.create_dataset("clinic", BUDGET, reason="opened")
        stream = stream_of(ledger)
        for step in range(1, 40):
            stream.add(1, step=step)
        store = ledger._store
        store._all("ANALYZE discreet_entry")
        store._all("SET enable_seqscan = off")
        where = "dataset = 'clinic' AND refers = 2 AND kind = 'advanced' AND asked >= '000000000007'"
        plan = store._all(f"EXPLAIN SELECT * FROM discreet_entry WHERE {where} ORDER BY asked LIMIT 3")
        text = "\n".join(line for (line,) in plan)
        assert "discreet_entry_step" in text
        assert "Sort" not in text
