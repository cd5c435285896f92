"""Any sequence of honest and dishonest acts, against a model of a few lines.

The model knows nothing of chains, stores or leases: it has a dictionary of requests and adds up what was
charged.  The machine spends, answers, fails, retries, crashes, races, tampers, restores and administers at
will; after every step the ledger must say what the model says.
"""

import shutil
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.ledger.world import Place, ask, scratch, server_place

from discreet.errors import BudgetError, BusyError, ConflictError, LedgerError
from discreet.ledger import EVERYBODY, Granted, Request, Scope, Stored, Streaming, Taken
from discreet.ledger.account import Account
from discreet.ledger.entry import Advanced, Failed, Retried
from discreet.privacy.filter import Cost, PureBudget

ANALYSTS, PROJECTS = ("ann", "bob", "cy"), ("wards", "costs")
TENTHS = st.integers(1, 4)
SCOPES = st.sampled_from(
    [EVERYBODY, Scope(analyst="ann"), Scope(analyst="bob"), Scope("wards"), Scope("costs", "ann")]
)
EDITS = st.sampled_from(
    [
        "UPDATE {entry} SET body = body || ' ' WHERE number = (SELECT max(number) FROM {entry})",
        "UPDATE {entry} SET mac = previous WHERE number = (SELECT max(number) FROM {entry})",
        "DELETE FROM {entry} WHERE number = (SELECT max(number) FROM {entry})",
        "DELETE FROM {entry} WHERE number = 1",
        "UPDATE {head} SET number = number - 1",
        "UPDATE {head} SET state = replace(state, 'closed', 'clothed')",
        'UPDATE {head} SET state = replace(state, \'"pure",\', \'"pure","1"||\')',
        "DELETE FROM {head}",
        "UPDATE {meta} SET identity = 'other'",
    ]
)


@dataclass
class Known:
    """What the model remembers of a request that was charged."""

    request: Request
    attempts: int = 1
    payload: bytes | None = None
    failed: bool = False


@dataclass
class Model:
    """The whole specification."""

    limits: dict[Scope, Fraction] = field(default_factory=lambda: {EVERYBODY: Fraction(2)})
    analysts: set[str] = field(default_factory=lambda: {"ann", "bob"})
    closed: bool = False
    charged: dict[str, Known] = field(default_factory=dict)
    answers: list[tuple[tuple, bytes]] = field(default_factory=list)
    streams: dict[str, tuple[Streaming, list[bytes]]] = field(default_factory=dict)

    def total(self, scope: Scope) -> Fraction:
        asked = [known.request for known in self.charged.values()]
        asked += [stream.request for stream, _ in self.streams.values()]
        return sum((r.cost.epsilon for r in asked if scope.covers(r.project, r.analyst)), Fraction(0))

    def affords(self, request: Request) -> bool:
        return not self.closed and all(
            self.total(scope) + request.cost.epsilon <= limit
            for scope, limit in self.limits.items()
            if scope.covers(request.project, request.analyst)
        )

    def answered(self, request: Request) -> bytes | None:
        return next((payload for asked, payload in self.answers if asked == _asks(request)), None)

    def orphan(self, request: Request, held: dict) -> Known | None:
        """Return the earliest payment for the same question that nobody runs and that has a try left."""
        idle = (known for name, known in self.charged.items() if name not in held)
        waiting = (
            known for known in idle if known.payload is None and not known.failed and known.attempts < 3
        )
        return next((known for known in waiting if _asks(known.request) == _asks(request)), None)


def _asks(request: Request) -> tuple:
    return request.snapshot, request.question, request.cost, request.mechanisms


class LedgerMachine(RuleBasedStateMachine):
    def new_place(self) -> Place:
        self.home = scratch()
        return Place(str(self.home / "m.ledger"), self.home / "elsewhere.anchor")

    def remove_place(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)

    @initialize()
    def begin(self) -> None:
        self.model = Model()
        self.place = self.new_place()
        self.ledger = self.place.open()
        self.ledger.create_dataset("clinic", PureBudget(2), analysts=["ann", "bob"], reason="opened")
        self.held: dict[str, Granted] = {}
        self.names = 0
        self.yesterday = None

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.ledger.close()
            self.remove_place()

    def fresh(self, analyst: str, project: str, tenths: int, question: str | None = None) -> Request:
        self.names += 1
        request = ask(f"r{self.names}", question=question, analyst=analyst, project=project)
        return replace(request, cost=Cost.pure(Fraction(tenths, 10)).plain)

    def expect(self, request: Request) -> None:
        """Reserve, and check the outcome against the model."""
        model, known = self.model, self.model.charged.get(request.request_id)
        orphan = None if known else model.orphan(request, self.held)
        if any(_asks(held.request) == _asks(request) for held in self.held.values()):
            with pytest.raises(BusyError if request.analyst in model.analysts else BudgetError):
                self.ledger.reserve(request)
            return
        try:
            outcome = self.ledger.reserve(request)
        except BudgetError:
            refused = known is None and orphan is None and not model.affords(request)
            assert request.analyst not in model.analysts or refused
            return
        except ConflictError:
            assert request.analyst in model.analysts
            assert known is not None
            if _asks(known.request) == _asks(request):
                assert known.failed or known.attempts == 3
                known.failed = True
            return
        assert request.analyst in model.analysts
        if isinstance(outcome, Stored):
            assert outcome.payload == (known.payload if known else model.answered(request))
        elif known is None and orphan is not None:
            assert model.answered(request) is None
            assert outcome.request == orphan.request
            orphan.attempts += 1
            assert outcome.attempt == orphan.attempts <= 3
            self.held[orphan.request.request_id] = outcome
        elif known is None:
            assert model.answered(request) is None
            assert model.affords(request)
            assert outcome.attempt == 1
            model.charged[request.request_id] = Known(request)
            self.held[request.request_id] = outcome
        else:
            assert known.payload is None
            assert not known.failed
            known.attempts += 1
            assert outcome.attempt == known.attempts <= 3
            self.held[request.request_id] = outcome

    @rule(analyst=st.sampled_from(ANALYSTS), project=st.sampled_from(PROJECTS), tenths=TENTHS)
    def spend(self, analyst: str, project: str, tenths: int) -> None:
        self.expect(self.fresh(analyst, project, tenths))

    @rule(analyst=st.sampled_from(ANALYSTS), tenths=TENTHS, number=st.integers(1, 3))
    def ask_something_common(self, analyst: str, tenths: int, number: int) -> None:
        self.expect(self.fresh(analyst, "wards", tenths, f"common question {number}"))

    @rule(analyst=st.sampled_from(ANALYSTS), tenths=st.integers(1, 2), number=st.integers(1, 2))
    def open_stream(self, analyst: str, tenths: int, number: int) -> None:
        name = f"stream {number}"
        request = replace(self.fresh(analyst, "wards", tenths, f"{name} at {tenths}"), request_id=name)
        known = self.model.streams.get(name)
        try:
            stream = self.ledger.open_stream(request, b"0")
        except BudgetError:
            assert analyst not in self.model.analysts or (known is None and not self.model.affords(request))
            return
        except ConflictError:
            assert known is not None
            assert known[0].request.question != request.question
            return
        assert analyst in self.model.analysts
        if known is None:
            assert self.model.affords(request)
            self.model.streams[name] = stream, []
        else:
            assert replace(stream, analyst=known[0].analyst) == known[0]

    @precondition(lambda self: self.model.streams)
    @rule(data=st.data(), analyst=st.sampled_from(ANALYSTS), ahead=st.integers(-2, 1), payload=st.binary())
    def take_a_step(self, data, analyst: str, ahead: int, payload: bytes) -> None:
        stream, released = self.model.streams[data.draw(st.sampled_from(sorted(self.model.streams)))]
        step = max(1, len(released) + 1 + ahead)

        def take(state: bytes) -> Taken:
            assert state == b"%d" % len(released), "the state is not the one that the last step left"
            return Taken(1, b"%d" % (len(released) + 1), payload)

        try:
            stored = self.ledger.advance(replace(stream, analyst=analyst), step, take)
        except BudgetError:
            assert analyst not in self.model.analysts or (self.model.closed and step == len(released) + 1)
            return
        except ConflictError:
            foreign = analyst != stream.request.analyst and step > len(released)
            assert foreign or step == len(released) + 2
            return
        assert analyst in self.model.analysts
        if step == len(released) + 1:
            assert not self.model.closed
            assert analyst == stream.request.analyst
            released.append(payload)
        assert stored.payload == released[step - 1]
        assert self.ledger.steps(stream) == len(released)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), payload=st.binary(max_size=8))
    def answer(self, data, payload: bytes) -> None:
        name = data.draw(st.sampled_from(sorted(self.held)))
        stored = self.ledger.answer(self.held.pop(name), payload)
        self.model.charged[name].payload = payload
        self.model.answers.append((_asks(self.model.charged[name].request), payload))
        assert stored.payload == payload
        assert self.ledger.verify_receipt(stored.receipt).number == stored.receipt.number

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def fail(self, data) -> None:
        name = data.draw(st.sampled_from(sorted(self.held)))
        self.ledger.fail(self.held.pop(name), "engine-error")
        self.model.charged[name].failed = True

    @precondition(lambda self: set(self.model.charged) - set(self.held))
    @rule(data=st.data(), analyst=st.sampled_from(ANALYSTS))
    def retry(self, data, analyst: str) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.model.charged) - set(self.held))))
        self.expect(replace(self.model.charged[name].request, analyst=analyst))

    @precondition(lambda self: set(self.model.charged) - set(self.held))
    @rule(data=st.data())
    def reuse_an_id(self, data) -> None:
        name = data.draw(st.sampled_from(sorted(set(self.model.charged) - set(self.held))))
        with pytest.raises((ConflictError, BudgetError)):
            self.ledger.reserve(replace(self.model.charged[name].request, question="something else"))

    @rule()
    def crash(self) -> None:
        self.ledger.close()
        self.held.clear()
        self.ledger = self.place.open()

    @rule(tenths=TENTHS)
    def race(self, tenths: int) -> None:
        requests = [self.fresh(analyst, "costs", tenths) for analyst in ("ann", "bob")]
        outcomes: dict[str, Granted] = {}

        def client(request: Request) -> None:
            with self.place.open() as other, suppress(BudgetError):
                outcomes[request.request_id] = other.reserve(request)

        threads = [threading.Thread(target=client, args=(request,)) for request in requests]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for request in sorted(requests, key=lambda r: r.request_id not in outcomes):
            assert (request.request_id in outcomes) == (
                request.analyst in self.model.analysts and self.model.affords(request)
            )
            if request.request_id in outcomes:
                self.model.charged[request.request_id] = Known(request)

    @rule(statement=EDITS)
    def tamper(self, statement: str) -> None:
        self.ledger.close()
        self.held.clear()
        backup = self.place.copy()
        before = self.everything()
        if "{meta}" in statement and not self.place.is_file:
            statement = "DELETE FROM {head}"
        self.place.tamper(statement)
        if self.everything() != before or "{meta}" in statement:
            with pytest.raises(LedgerError):
                self.place.open()
        self.place.restore(backup)
        self.ledger = self.place.open()

    def everything(self) -> tuple:
        return self.place.query("SELECT * FROM {head}"), self.place.query("SELECT * FROM {entry}")

    @rule()
    def back_up(self) -> None:
        self.yesterday = self.place.copy(), self.place.query("SELECT number FROM {head}")

    @precondition(lambda self: self.yesterday)
    @rule()
    def restore_yesterday(self) -> None:
        backup, then = self.yesterday
        if self.place.query("SELECT number FROM {head}") == then:
            return
        self.ledger.close()
        self.held.clear()
        today = self.place.copy()
        self.place.restore(backup)
        with pytest.raises(LedgerError, match="rolled back"):
            self.place.open()
        self.place.restore(today)
        self.ledger = self.place.open()

    @rule(scope=SCOPES, tenths=st.integers(1, 40))
    def set_limit(self, scope: Scope, tenths: int) -> None:
        self.ledger.set_limit("clinic", scope, PureBudget(Fraction(tenths, 10)), reason="decided")
        self.model.limits[scope] = Fraction(tenths, 10)

    @rule(analyst=st.sampled_from(ANALYSTS))
    def add_or_remove_an_analyst(self, analyst: str) -> None:
        if analyst in self.model.analysts:
            self.ledger.remove_analyst("clinic", analyst, reason="left")
        else:
            self.ledger.add_analyst("clinic", analyst, reason="came")
        self.model.analysts ^= {analyst}

    @precondition(lambda self: len(self.model.charged) > 3)
    @rule()
    def close_dataset(self) -> None:
        self.ledger.close_dataset("clinic", reason="enough")
        self.model.closed = True

    @invariant()
    def totals_agree(self) -> None:
        if hasattr(self, "ledger"):
            for limit in self.ledger.budget("clinic").limits:
                assert limit.spent.epsilon == self.model.total(limit.scope)
                assert limit.budget == PureBudget(self.model.limits[limit.scope])

    @rule()
    def verify(self) -> None:
        report = self.ledger.verify()
        assert report.trusted, report.findings


pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 0.005)


HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


def run_machine(machine, *, settings: settings) -> None:
    """Run a machine; when two threads raced differently in a repeated example, begin again.

    Hypothesis takes such a race for a mistake of the test; a broken rule is another exception than this.
    """
    for _ in range(5):
        try:
            run_state_machine_as_test(machine, settings=settings)
        except FlakyStrategyDefinition:
            continue
        return
    raise AssertionError("five runs in a row raced differently")


def configured(runs: int, steps: int, **more) -> settings:
    return settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=HEALTH,
        **more,
    )


@pytest.mark.parametrize("runs", [12, pytest.param(300, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_any_sequence_of_acts_leaves_the_ledger_saying_what_the_model_says(runs: int):
    run_machine(LedgerMachine, settings=configured(runs, 50))


@pytest.mark.parametrize("runs", [3, pytest.param(50, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_any_sequence_of_acts_agrees_with_the_model_in_postgresql(server, runs: int):
    class ServerMachine(LedgerMachine):
        def new_place(self) -> Place:
            self.context = server_place(server)
            return self.context.__enter__()

        def remove_place(self) -> None:
            self.context.__exit__(None, None, None)

    run_machine(ServerMachine, settings=configured(runs, 30))


def refund_failures(self: Account, event, number: int) -> Account:
    after = TRUE_AFTER(self, event, number)
    return replace(after, spent={}, used=None) if isinstance(event, Failed) else after


def charge_retries_to_nobody_else(self: Account, event, number: int) -> Account:
    after = TRUE_AFTER(self, event, number)
    if isinstance(event, Retried):
        return replace(after, spent={m: c + Cost.pure("0.1") for m, c in after.spent.items()}, used=None)
    return after


def refund_streams(self: Account, event, number: int) -> Account:
    after = TRUE_AFTER(self, event, number)
    return replace(after, spent={}, used=None) if isinstance(event, Advanced) else after


def forget_steps(self: Account, event, number: int) -> Account:
    after = TRUE_AFTER(self, event, number)
    if isinstance(event, Advanced):
        return replace(after, streams={n: replace(s, step=0) for n, s in after.streams.items()})
    return after


def forget_narrow_limits(self: Account, request: Request, day: int | None = None) -> None:
    TRUE_CHECK(replace(self, limits={EVERYBODY: self.limits[EVERYBODY]}), request)


def let_anybody_in(self: Account, analyst: str) -> None:
    return None


def stay_open(self: Account, event, number: int) -> Account:
    return replace(TRUE_AFTER(self, event, number), closed=False)


TRUE_AFTER, TRUE_CHECK = Account.after, Account.check


@pytest.mark.parametrize(
    ("method", "twin"),
    [
        ("after", refund_failures),
        ("after", charge_retries_to_nobody_else),
        pytest.param("after", refund_streams, marks=pytest.mark.fuzz),
        pytest.param("after", forget_steps, marks=pytest.mark.fuzz),
        pytest.param("check", forget_narrow_limits, marks=pytest.mark.fuzz),
        ("admit", let_anybody_in),
        pytest.param("after", stay_open, marks=pytest.mark.fuzz),
    ],
)
def test_the_machine_catches_broken_rules(method: str, twin, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Account, method, twin)
    with pytest.raises((AssertionError, LedgerError, ConflictError)):
        run_machine(
            LedgerMachine,
            settings=configured(
                300, 50, phases=[Phase.generate], report_multiple_bugs=False, derandomize=True
            ),
        )
