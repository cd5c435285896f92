"""A ledger that catches up with others stands where it would stand if it had replayed entry by entry."""

import random

import pytest
from tests.ledger.test_verifying import LAX, PEOPLE, PRICES, WITH_ORDERS, any_event, append, begin
from tests.ledger.world import Place, ask

from discreet.errors import LedgerError
from discreet.ledger import Ledger, account, turn
from discreet.ledger.account import Account
from discreet.ledger.entry import Answered, Reserved
from discreet.ledger.turn import Turn
from discreet.privacy.filter import Cost, PureBudget, Rule


def write(
    ledger: Ledger, chance: random.Random, often: int, kinds: tuple[type, ...] | type, rule: Rule
) -> None:
    """Add some entries of these kinds."""

    def add(turn: Turn) -> None:
        for _ in range(often):
            event, payload = any_event(chance, turn, (rule,))
            if isinstance(event, kinds):
                append(turn, event, payload)

    ledger._write("clinic", add)


@pytest.mark.parametrize("rounds", [15, pytest.param(2000, marks=pytest.mark.fuzz)], ids=["some", "many"])
@pytest.mark.parametrize(
    ("kinds", "rule"),
    [((Reserved, Answered), Rule.CONCENTRATED), ((Reserved, Answered), Rule.ORDERS), (object, Rule.ORDERS)],
    ids=["usual", "usual with orders", "any"],
)
def test_whoever_catches_up_stands_where_the_writer_stands(
    file: Place, rounds: int, kinds, rule: Rule, monkeypatch
):
    chance, at_once = random.Random(rounds), 0

    def counting(*arguments):
        nonlocal at_once
        found = true(*arguments)
        at_once += found is not None
        return found

    true = turn.caught_up
    monkeypatch.setattr(turn, "caught_up", counting)
    monkeypatch.setattr(turn, "MANY", 5)
    with begin(file, PEOPLE, rule) as writer, file.open() as reader:
        for turns in range(rounds):
            write(writer, chance, chance.randint(1, 12), kinds, rule)
            if turns % 2:  # whoever has heard how far others came reads most of it before its turn
                reader._errands.deputy.reached["clinic"] = writer._known["clinic"].number
            reader.budget("clinic")
            ours, theirs = reader._known["clinic"], writer._known["clinic"]
            assert ours == theirs
            assert ours.account.used == theirs.account.used
            if ours.account.closed:
                break
        assert reader.verify().trusted
    assert at_once >= (10 if kinds == (Reserved, Answered) else 1)


EDITS = (
    "UPDATE {entry} SET body = replace(body, 'wards', 'trial') WHERE number = 4",
    "UPDATE {entry} SET payload = NULL WHERE number = 3",
    "UPDATE {entry} SET refers = 40 WHERE number = 3",
    "UPDATE {entry} SET previous = mac WHERE number = 4",
    "DELETE FROM {entry} WHERE number = 4",
)


def test_many_payments_of_one_price_are_added_up_at_once(file: Place, monkeypatch):
    with file.open() as writer, file.open() as reader:
        writer.create_dataset("clinic", PureBudget(1), reason="opened")
        reader.budget("clinic")
        for number in range(5):
            writer.answer(writer.reserve(ask(f"r{number}")), b"1")
        monkeypatch.setattr(turn, "linked", None)  # the slow way is closed
        assert reader.budget("clinic") == writer.budget("clinic")


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_what_is_caught_up_with_is_noticed(place: Place, edit: str):
    with begin(place) as writer, place.open() as reader:
        for number in range(3):
            writer.answer(writer.reserve(ask(f"r{number}")), b"1")
        place.tamper(edit)
        with pytest.raises(LedgerError):
            reader.reserve(ask("mine"))


def test_a_limit_that_broken_code_passed_is_noticed_by_whoever_catches_up(file: Place, monkeypatch):
    with begin(file) as writer, file.open() as reader:
        with monkeypatch.context() as patch:
            patch.setattr(Account, "check", lambda self, request, day=None: None)
            for number in range(3):
                writer.answer(writer.reserve(ask(f"r{number}", cost=Cost.pure(2))), b"1")
        with pytest.raises(LedgerError, match="entry 6 of dataset clinic breaks the rules"):
            reader.reserve(ask("mine"))


def test_somebody_who_was_not_on_the_list_is_noticed_by_whoever_catches_up(file: Place, monkeypatch):
    with begin(file) as writer, file.open() as reader:
        with monkeypatch.context() as patch:
            patch.setattr(Account, "admit", lambda self, analyst: None)
            writer.reserve(ask("r", analyst="cem"))
        with pytest.raises(LedgerError, match="entry 2 of dataset clinic breaks the rules"):
            reader.reserve(ask("mine"))


def test_a_payment_that_broken_code_forgot_is_noticed_by_whoever_catches_up(file: Place, monkeypatch):
    with begin(file) as writer, file.open() as reader:
        with monkeypatch.context() as patch:
            patch.setattr(Account, *LAX["spending that is forgotten"])
            writer.answer(writer.reserve(ask("r")), b"1")
        with pytest.raises(LedgerError, match="entry 3 of dataset clinic seals totals"):
            reader.reserve(ask("mine"))


def test_others_go_on_while_somebody_reads_a_large_account(place: Place, monkeypatch):
    true = turn._loaded
    with begin(place) as writer:
        writer.reserve(ask("before"))

        def slow(*arguments):
            found = true(*arguments)
            writer.answer(writer.reserve(ask("meanwhile")), b"1")
            return found

        monkeypatch.setattr(turn, "_loaded", slow)
        with place.open() as reader:
            assert reader.budget("clinic") == writer.budget("clinic")
            assert reader.budget("clinic").entries == 4


def test_a_sum_of_many_costs_is_what_adding_them_one_by_one_leads_to():
    chance = random.Random(3)
    costs = (*WITH_ORDERS, *PRICES, Cost.zero, Cost.approximate(0, "1e-9"))
    for _ in range(100):
        some = [chance.choice(costs) for _ in range(chance.randrange(5))]
        assert repr(account._total(some)) == repr(sum(some, Cost.zero))
