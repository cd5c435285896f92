"""Verifying at speed finds exactly what the strict way finds: entry by entry, in the same words.

The strict way is `Seals.open`, `linked` and `Replay`, one entry after the other, in rationals.  Histories of
every kind, broken in every way that somebody with or without the key could break them, are put to both.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, DiscreetError
from discreet.ledger import Ledger, Scope, crew
from discreet.ledger.account import Account, Running, Standing
from discreet.ledger.chain import FIRST, seal
from discreet.ledger.check import Replayed, linked
from discreet.ledger.codec import digest, fingerprint
from discreet.ledger.entry import (
    Advanced,
    Answered,
    Closed,
    Failed,
    Joined,
    Left,
    Limited,
    Paced,
    Reserved,
    Restored,
    Retried,
)
from discreet.ledger.pace import Pace
from discreet.ledger.sieve import Sieve
from discreet.ledger.store import Row
from discreet.ledger.turn import Turn
from discreet.ledger.verifying import replayed
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget, Rule

PEOPLE, PROJECTS = ("ann", "ben", "cem"), ("wards", "trial")
WITH_ORDERS = (
    Cost.pure("1/10"),
    Cost.pure("0.003"),
    Cost.concentrated("1/7"),
    Cost.approximate("1/9", "1e-9"),
    Cost.pure(0),
    Cost.pure("1/2"),
)
"""Prices with their Renyi costs, which both ways add up, each in its own arithmetic."""

PRICES = tuple(cost.plain for cost in WITH_ORDERS)


def any_event(
    chance: random.Random, turn: Turn, rules: tuple[Rule, ...] = (Rule.CONCENTRATED,)
) -> tuple[object, bytes | None]:
    """Return some event, perhaps one that a rule forbids, and its payload."""
    number, account = turn.standing.number, turn.account
    some = chance.choice([*account.running, number, 2])
    stream = chance.choice([*account.streams, number])
    standing = account.streams.get(stream, Standing(0, ""))
    who = Scope(chance.choice([None, *PROJECTS]), chance.choice([None, *PEOPLE]))
    budget = chance.choice(
        [
            PureBudget(chance.randint(1, 4)),
            ApproximateBudget(chance.randint(1, 3), "1e-6", rule=chance.choice(rules)),
        ]
    )
    prices = PRICES if Rule.ORDERS not in rules else (*PRICES, *WITH_ORDERS)
    request = ask(
        f"r{number}",
        cost=chance.choice(prices),
        analyst=chance.choice(PEOPLE),
        project=chance.choice(PROJECTS),
        question=chance.choice([None, "ätsch, was? \U0001f642"]),
    )
    run = account.running.get(some, Running(1, fingerprint(request)))
    step = standing.step + chance.choice([1, 1, 1, 2])
    turn.moment += timedelta(hours=chance.choice([0, 0, 0, 1, 25, -30]))
    counts = any(pace.day is not None for pace in account.paces.values())
    payload = chance.randbytes(5)
    sealed = digest(payload), len(payload)
    return chance.choices(
        (
            (Reserved(request, turn.day if account.keeps_days(request) else None), None),
            (Answered(some, run.question, *sealed), payload),
            (Retried(some, run.attempts + 1), None),
            (Failed(some, "engine-error"), None),
            (Advanced(number, 1, 0, digest(b"%d" % number), *sealed), payload),
            (Advanced(stream, step, step + 1, digest(b"%d" % number), *sealed), payload),
            (Limited(who, budget, "why"), None),
            (Paced(who, Pace(*(chance.choice([None, budget]) for _ in range(2))), "why"), None),
            (Joined(chance.choice(PEOPLE), "why"), None),
            (Left(chance.choice(PEOPLE), "why"), None),
            (Restored(chance.choice(prices), 0, "", "why", turn.day if counts else None), None),
            (Closed("why"), None),
        ),
        (30, 20, 4, 4, 4, 12, 4, 2, 4, 1, 0.3, 0.1),
    )[0]


def grow(
    ledger: Ledger, chance: random.Random, size: int, rules: tuple[Rule, ...] = (Rule.CONCENTRATED,)
) -> None:
    """Add valid entries of all kinds."""

    def add(turn: Turn) -> None:
        while turn.standing.number < size:
            append(turn, *any_event(chance, turn, rules))

    ledger._write("clinic", add)


def append(turn: Turn, event: object, payload: bytes | None) -> None:
    """Add an entry unless the rules refuse it; an advanced stream keeps a secret too."""
    before = turn.standing
    try:
        row = turn.append(event, payload)
        turn.store._write_later()  # the database refuses what is answered twice, whatever broken code says
    except DiscreetError:
        turn.standing = before
        return
    if isinstance(event, Advanced):
        turn.store.shelf.keep_secret("clinic", event.reservation, b"%d" % (row.number - 1))


def begin(
    place: Place, analysts: tuple[str, ...] | None = PEOPLE[:2], rule: Rule = Rule.CONCENTRATED
) -> Ledger:
    ledger = place.open()
    budget = ApproximateBudget(5, "1e-5", rule=rule)
    ledger.create_dataset("clinic", budget, analysts=analysts, reason="opened")
    return ledger


def rows_of(ledger: Ledger) -> list[Row]:
    return list(ledger._store.shelf.rows("clinic", 1, 10**6))


class Rows:
    """A store that holds these rows and nothing else."""

    name = location = "rows"

    def __init__(self, rows: list[Row]) -> None:
        self.rows, self.shelf = rows, self

    def batch(self, dataset: str, first: int, last: int) -> list[tuple]:
        return [tuple(row) for row in self.rows if first <= row.number <= last]


def strictly(seals, rows: list[Row], last: int) -> Account | str:
    state = Replayed(seals, "clinic")
    try:
        for entry in linked(seals, iter(rows), "clinic", 1, last):
            state.take(entry)
    except DiscreetError as problem:
        return str(problem)
    return state.account


def quickly(seals, rows: list[Row], last: int) -> Account | str:
    begin = Replayed(seals, "clinic"), FIRST
    try:
        return replayed(Rows(rows), seals, "clinic", (1, last), begin, lambda done, total: None)[0].account
    except DiscreetError as problem:
        return str(problem)


@pytest.fixture
def short_stretches(monkeypatch):
    monkeypatch.setattr(crew, "STRETCH", 7)


@pytest.mark.parametrize("histories", [3, pytest.param(200, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_histories_of_every_kind_lead_to_the_same_account(file: Place, histories: int, short_stretches):
    kinds = set()
    for seed in range(histories):
        with begin(replace(file, location=f"{file.location}{seed}", anchor=f"{file.anchor}{seed}")) as ledger:
            grow(ledger, random.Random(seed), 120)
            rows, seals = rows_of(ledger), ledger._seals
            kinds |= {row.kind for row in rows}
            for last in (*range(1, 40, 13), len(rows)):
                account = strictly(seals, rows[:last], last)
                assert isinstance(account, Account)
                assert quickly(seals, rows[:last], last) == account
            assert ledger.verify().trusted
    assert len(kinds) >= 10


@pytest.mark.parametrize("first", list(Rule))
@pytest.mark.parametrize("histories", [2, pytest.param(100, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_histories_that_add_up_renyi_costs_lead_to_the_same_account(
    file: Place, histories: int, first: Rule, short_stretches
):
    """Limits of both rules come and go, and prices of both forms are paid in between."""
    for seed in range(histories):
        place = replace(file, location=f"{file.location}{seed}", anchor=f"{file.anchor}{seed}")
        with begin(place, rule=first) as ledger:
            grow(ledger, random.Random(seed), 90, tuple(Rule))
            rows, seals = rows_of(ledger), ledger._seals
            paid = [row.number for row in rows if row.kind == "reserved" and '"day":' not in row.body]
            sifted = Sieve(seals, "clinic", "rows").stretch(rows, 1, len(rows)).items
            assert all(isinstance(sifted[number - 1], tuple) for number in paid), "left to the slow way"
            for last in (*range(1, 40, 13), len(rows)):
                account = strictly(seals, rows[:last], last)
                assert isinstance(account, Account)
                assert quickly(seals, rows[:last], last) == account
            assert ledger.verify().trusted
            grow(ledger, random.Random(seed + 1), 110, tuple(Rule))
            assert ledger.verify(incremental=True).trusted
        with place.open() as again:
            assert again.verify().trusted


def test_only_a_ledger_that_adds_up_renyi_costs_writes_them_down(file: Place):
    dear = Cost.pure("1/10")
    for rule in Rule:
        place = replace(file, location=f"{file.location}{rule}", anchor=f"{file.anchor}{rule}")
        with begin(place, rule=rule) as ledger:
            for number in range(2):
                granted = ledger.reserve(ask(f"r{number}", cost=dear, question=f"q{number}", analyst="ann"))
                ledger.answer(granted, b"answer")
            assert len(ledger.budget("clinic").limits[0].spent.renyi.steps) == (
                60 if rule is Rule.ORDERS else 0
            )
            again = ledger.reserve(ask("again", cost=dear, question="q1", analyst="ann"))
            assert again.payload == b"answer"


def edited(row: Row, chance: random.Random) -> Row:
    """Return a row in which one column was changed a little."""
    column = chance.choice([c for c in Row._fields if c != "dataset"])
    value = getattr(row, column)
    match value:
        case None:
            changed: object = chance.choice(["x", b"x", 7])
        case int():
            changed = value + chance.choice([1, -1])
        case bytes():
            changed = bytes([*value[:-1], value[-1] ^ 1]) if value else b"x"
        case str():
            place = chance.randrange(len(value))
            changed = chance.choice([value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :], None])
    return row._replace(**{column: changed})


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("edits", [75, pytest.param(10_000, marks=pytest.mark.fuzz)], ids=["some", "many"])
def test_every_edit_is_found_at_the_same_entry_in_the_same_words(
    file: Place, edits: int, rule: Rule, short_stretches
):
    chance = random.Random(edits)
    with begin(file, rule=rule) as ledger:
        grow(ledger, chance, 40, (rule,))
        rows, seals = rows_of(ledger), ledger._seals
    for _ in range(edits):
        row, other = chance.sample(rows, 2)
        damaged = {r.number: r for r in rows}
        del damaged[row.number]
        match chance.randrange(4):
            case 0:
                damaged[row.number] = other._replace(number=row.number)
            case 1 | 2:
                changed = edited(row, chance)
                damaged[changed.number] = changed
        damaged = [damaged[number] for number in sorted(damaged)]
        found = quickly(seals, damaged, len(rows))
        if isinstance(found, Account):
            assert damaged == rows
        elif "wrong types" not in found:  # which the database's own door finds first
            assert found == strictly(seals, damaged, len(rows))


@pytest.mark.parametrize("place", [7, 8])  # where a stretch begins, and within one
def test_entries_of_two_true_histories_cannot_be_spliced(file: Place, place: int, short_stretches):
    with begin(file) as ledger:
        grow(ledger, random.Random(5), 20)
        rows, seals = rows_of(ledger), ledger._seals
    row = rows[place]
    mac = seal(seals.key, seals.ledger, "clinic", row.number, rows[2].mac, row.body)
    rows[place] = row._replace(previous=rows[2].mac, mac=mac)
    problem = f"entry {row.number} of dataset clinic does not follow the one before it"
    assert quickly(seals, rows, 20) == strictly(seals, rows, 20) == problem


def misfiled(self: Account, reservation: int) -> Account:
    """Let an answer settle whatever waits, under whichever question."""
    other = min((n for n in self.running if n != reservation), default=reservation)
    run = self.running.get(other, Running(1, ""))
    return replace(self, running={**self.running, other: replace(run, question="?")})


LAX: dict[str, tuple[str, Callable]] = {
    "people who are not on the list": ("admit", lambda self, analyst: None),
    "limits that are not checked": ("check", lambda self, request, day: self.admit(request.analyst)),
    "a closed dataset that goes on": ("_require_open", lambda self: None),
    "answers to what does not wait": (
        "_waiting",
        lambda self, reservation: self.running.get(reservation, Running(1, "")),
    ),
    "streams that jump": (
        "_advanced",
        lambda self, event, number: replace(
            self, streams={**self.streams, event.reservation: Standing(event.last, event.secret)}
        ),
    ),
    "spending that is forgotten": (
        "_reserved",
        lambda self, request, day, number: replace(
            self, running={**self.running, number: Running(1, fingerprint(request))}
        ),
    ),
    "paces that are not kept": ("_check_paces", lambda self, request, day: None),
    "questions that are too dear": ("_check_paces", lambda self, request, day: None),
    "days that are not counted": ("_counted", lambda self, scopes, day, cost: self.daily),
    "answers filed anywhere": ("_settled", misfiled),
    "lists that nobody keeps": ("_listed", lambda self: self.analysts or frozenset()),
}


COSTLY = "limits that are not checked", "spending that is forgotten"


@pytest.mark.parametrize(
    ("lax", "rule"), [*((lax, Rule.CONCENTRATED) for lax in LAX), *((lax, Rule.ORDERS) for lax in COSTLY)]
)
def test_whatever_broken_code_with_the_key_has_written_is_found_by_both(
    file: Place, lax: str, rule: Rule, short_stretches, monkeypatch
):
    chance = random.Random(lax)
    with begin(file, None if lax == "lists that nobody keeps" else PEOPLE[:2], rule) as ledger:
        if lax == "a closed dataset that goes on":
            ledger.close_dataset("clinic", reason="over")
        if lax == "people who are not on the list":
            ledger.remove_analyst("clinic", PEOPLE[0], reason="left")
        if lax == "limits that are not checked":
            ledger.set_limit("clinic", Scope(PROJECTS[0], PEOPLE[0]), PureBudget(1), reason="a trial")
        if lax in ("paces that are not kept", "days that are not counted"):
            slow = Pace(PureBudget("1/4"), PureBudget("1/2"))
            ledger.set_pace("clinic", Scope(analyst=PEOPLE[0]), slow, reason="a trial")
        if lax == "questions that are too dear":
            ledger.set_pace("clinic", Scope(analyst=PEOPLE[0]), Pace(PureBudget("1/4")), reason="a trial")
        with monkeypatch.context() as patch:
            patch.setattr(Account, *LAX[lax])
            grow(ledger, chance, 120, (rule,))
        rows, seals = rows_of(ledger), ledger._seals
    problem = strictly(seals, rows, len(rows))
    assert isinstance(problem, str)
    assert quickly(seals, rows, len(rows)) == problem


def test_a_rule_that_only_one_of_the_two_hands_knows_is_a_finding(file: Place, monkeypatch):
    with begin(file) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Account, "check", lambda self, request, day=None: None)
            ledger.reserve(ask("too dear", cost=Cost.pure(9)))
            (finding,) = ledger.verify().findings
        assert "two ways of replaying entry 2 of dataset clinic disagree" in finding.problem


@pytest.mark.parametrize("short", [False, True], ids=["on the brink", "beyond it"])
def test_both_stop_a_budget_that_adds_up_renyi_costs_at_the_same_payment(
    file: Place, short: bool, short_stretches, monkeypatch
):
    """Far above its epsilon a budget still admits what one of its orders does, and not one payment more."""
    price, number = Cost.pure("1/5"), 0
    with begin(file, None, Rule.ORDERS) as ledger:

        def spend(turn: Turn) -> None:
            nonlocal number
            while True:
                number += 1
                turn.append(Reserved(ask(f"r{number}", cost=price, analyst="ann")))

        with pytest.raises(BudgetError):
            ledger._write("clinic", lambda turn: [spend(turn)])
        paid = number - 1
        assert paid * price.epsilon > 5

        def again(turn: Turn) -> None:
            for number in range(paid + short):
                turn.append(Reserved(ask(f"s{number}", cost=price, analyst="ann")))

        with monkeypatch.context() as patch:
            patch.setattr(Account, "check", lambda *anything: None)
            ledger._write("clinic", again)
        rows, seals = rows_of(ledger), ledger._seals
    found = strictly(seals, rows, len(rows))
    assert quickly(seals, rows, len(rows)) == found
    assert isinstance(found, str) == short
    assert not short or f"entry {len(rows)} of" in found


@pytest.fixture
def with_a_crew(monkeypatch):
    monkeypatch.setattr(crew, "ALONE", 0)
    monkeypatch.setattr(crew, "STRETCH", 9)
    monkeypatch.setattr(crew, "_cores", lambda: 2)


def hired(monkeypatch) -> list[crew.Connection]:
    """Return those who will be hired, as they are hired."""
    found: list[crew.Connection] = []
    hire = crew._hire

    def hiring(stack):
        found.append(hire(stack))
        return found[-1]

    monkeypatch.setattr(crew, "_hire", hiring)
    return found


def test_a_crew_verifies_both_stores_and_finds_an_old_edit(place: Place, with_a_crew, monkeypatch):
    found = hired(monkeypatch)
    with begin(place) as ledger:
        grow(ledger, random.Random(1), 100)
        assert ledger.verify().trusted
        assert len(found) == 2
        if not place.is_file:
            return  # where the edit is found is the same, and starting processes takes long
        place.tamper("UPDATE {entry} SET body = body || ' ' WHERE number = 50")
        (finding,) = ledger.verify().findings
        assert finding.problem == "entry 50 of dataset clinic was edited or forged: its seal does not match"


def test_a_crew_that_dies_or_cannot_be_hired_is_not_missed(file: Place, with_a_crew, monkeypatch):
    found = hired(monkeypatch)
    with begin(file) as ledger:
        grow(ledger, random.Random(2), 100)

        def leave(done: int, total: int) -> None:
            if done >= 50:
                for connection in found:
                    connection.close()

        assert ledger.verify(leave).trusted
        assert found[0].closed
        monkeypatch.setattr(crew.sys, "executable", "/nowhere")
        assert ledger.verify().trusted


def test_incremental_verification_goes_on_where_the_last_one_stopped(file: Place, short_stretches):
    with begin(file) as ledger:
        grow(ledger, random.Random(3), 60)
        assert ledger.verify().trusted
        grow(ledger, random.Random(4), 100)
        (finding,) = ledger.verify(incremental=True).findings
        assert (finding.problem, finding.trusted) == (None, 60)
