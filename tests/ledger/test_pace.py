"""Limits per question and per day: decided with the payment, kept for ever, deaf to clocks that go back."""

import threading
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.test_backup import backed_up, lose, restore
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, ConflictError, LedgerError
from discreet.ledger import EVERYBODY, Granted, Ledger, Scope
from discreet.ledger.account import Account
from discreet.ledger.check import linked
from discreet.ledger.codec import canonical, read_event, write_event
from discreet.ledger.entry import Created, Paced, Reserved, Restored
from discreet.ledger.pace import Daily, Pace
from discreet.ledger.written import read_account, write_account
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget, Rule

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENTH, THIRD = PureBudget("1/10"), PureBudget("3/10")


def clinic(place: Place, **paces: Pace) -> Ledger:
    """Return a ledger with paces for some analysts, or for `everybody`, at noon."""
    ledger = place.open()
    ledger.clock = lambda: NOON
    ledger.create_dataset("clinic", PureBudget(10), reason="opened")
    for name, pace in paces.items():
        scope = EVERYBODY if name == "everybody" else Scope(analyst=name)
        ledger.set_pace("clinic", scope, pace, reason="slowly")
    return ledger


def pay(ledger: Ledger, name: str, epsilon: str = "1/10", **who: str) -> None:
    granted = ledger.reserve(ask(name, epsilon=epsilon, **who))
    assert isinstance(granted, Granted)
    ledger.answer(granted, b"1")


def test_a_question_may_cost_so_much_and_no_more(place: Place):
    with clinic(place, ann=Pace(question=TENTH)) as ledger:
        for name in "abc":
            pay(ledger, name)
        with pytest.raises(BudgetError, match="limit per question on analyst ann of dataset clinic"):
            pay(ledger, "dear", "1/9")
        pay(ledger, "another's", "1/9", analyst="ben")
        assert ledger.verify().trusted


def test_a_day_ends_and_another_begins(place: Place):
    with clinic(place, ann=Pace(day=THIRD)) as ledger:
        for name in "abc":
            pay(ledger, name)
        with pytest.raises(BudgetError, match=r"limit per day on analyst ann .* midnight, universal time"):
            pay(ledger, "d", "1/1000")
        ledger.clock = lambda: NOON + timedelta(hours=12)
        pay(ledger, "d", "3/10")
        with pytest.raises(BudgetError, match="limit per day"):
            pay(ledger, "e", "1/1000")
        assert ledger.verify().trusted
        assert ledger.budget("clinic").limits[0].spent.epsilon == Fraction(6, 10)


def test_everybody_together_has_a_day_too_and_the_narrower_limit_binds(file: Place):
    with clinic(file, everybody=Pace(day=THIRD), ann=Pace(day=TENTH)) as ledger:
        pay(ledger, "a")
        with pytest.raises(BudgetError, match="analyst ann"):
            pay(ledger, "b")
        pay(ledger, "c", "2/10", analyst="ben")
        with pytest.raises(BudgetError, match="all of dataset clinic"):
            pay(ledger, "d", analyst="cem")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 3)), max_size=20))
def test_no_run_of_clocks_gets_more_out_of_a_day_than_its_limit(readings):
    """The days under which payments are counted never go back, and each gets its limit at most."""
    account = Account.opened("clinic", Created(PureBudget(100), None, "opened"))
    account = account.after(Paced(EVERYBODY, Pace(day=THIRD), "slowly"), 2)
    granted: dict[int, Fraction] = {}
    latest = 0
    for number, (shift, tenths) in enumerate(readings, 3):
        read = 1000 + shift
        request = ask(f"r{number}", epsilon=f"{tenths}/10")
        try:
            account = account.after(Reserved(request, read), number)
        except BudgetError:
            counted = max(latest, read)
            assert granted.get(counted, 0) + request.cost.epsilon > THIRD.epsilon
            continue
        latest = max(latest, read)
        granted[latest] = granted.get(latest, Fraction(0)) + request.cost.epsilon
    assert all(spent <= THIRD.epsilon for spent in granted.values())
    assert account.daily.get(EVERYBODY, Daily()).day == (max(granted) if granted else 0)
    assert read_account(write_account(account)) == account


def test_a_clock_that_is_put_back_gives_nothing(file: Place):
    with clinic(file, ann=Pace(day=TENTH)) as ledger:
        pay(ledger, "a")
        for back in (1, 30, 4000):
            ledger.clock = lambda back=back: NOON - timedelta(days=back)
            with pytest.raises(BudgetError, match="limit per day"):
                pay(ledger, f"b{back}", "1/1000")
        ledger.clock = lambda: NOON + timedelta(days=400)
        pay(ledger, "early")
        ledger.clock = lambda: NOON
        with pytest.raises(BudgetError, match="limit per day"):
            pay(ledger, "late")
        assert ledger.verify().trusted


def test_a_limit_that_is_changed_goes_on_with_what_was_counted_and_one_that_is_lifted_admits(file: Place):
    with clinic(file, ann=Pace(TENTH, TENTH)) as ledger:
        pay(ledger, "a")
        ledger.set_pace("clinic", Scope(analyst="ann"), Pace(day=PureBudget("15/100")), reason="more")
        with pytest.raises(BudgetError):
            pay(ledger, "b")
        pay(ledger, "c", "5/100")
        ledger.set_pace("clinic", Scope(analyst="ann"), Pace(), reason="enough")
        assert ledger.budget("clinic").paces == ()
        pay(ledger, "d", "9/10")
        ledger.set_pace("clinic", Scope(analyst="ann"), Pace(day=PureBudget("15/100")), reason="again")
        with pytest.raises(BudgetError):
            pay(ledger, "e", "1/100")
        assert ledger.verify().trusted


def test_the_day_outlives_the_process_and_the_other_process_sees_it(place: Place):
    with clinic(place, ann=Pace(day=THIRD)) as first, place.open() as second:
        second.clock = first.clock
        for number in range(3):
            pay((first, second)[number % 2], f"r{number}")
        for ledger in (first, second):
            with pytest.raises(BudgetError, match="limit per day"):
                pay(ledger, "more")
    with place.open() as third:
        third.clock = lambda: NOON
        with pytest.raises(BudgetError, match="limit per day"):
            pay(third, "more")
        assert third.verify().trusted
        assert third.verify(incremental=True).trusted


def test_a_crowd_gets_one_days_limit(place: Place):
    with clinic(place, everybody=Pace(day=PureBudget(1))) as ledger:
        granted: list[str] = []

        def ask_often(who: str) -> None:
            with place.open() as own:
                own.clock = ledger.clock
                for number in range(5):
                    try:
                        pay(own, f"{who}{number}", analyst=who)
                    except BudgetError:
                        continue
                    granted.append(who)

        crowd = [threading.Thread(target=ask_often, args=(who,)) for who in ("ann", "ben", "cem")]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        assert len(granted) == 10
        assert ledger.verify().trusted


def test_streams_are_paid_on_a_day_as_well(file: Place):
    with clinic(file, ann=Pace(question=THIRD, day=THIRD)) as ledger:
        ledger.open_stream(ask("stream a", epsilon="2/10"), b"state")
        with pytest.raises(BudgetError, match="limit per day"):
            ledger.open_stream(ask("stream b", epsilon="2/10"), b"state")
        assert ledger.verify().trusted


def test_repeats_and_retries_are_free_on_a_day_that_is_spent(file: Place):
    with clinic(file, ann=Pace(day=TENTH)) as ledger:
        granted = ledger.reserve(ask("a"))
        ledger.abandon(granted)
        again = ledger.reserve(ask("a"))
        ledger.answer(again, b"1")
        assert ledger.reserve(ask("other id", question=granted.request.question)).payload == b"1"


def test_what_may_have_been_released_beyond_a_backup_counts_today(file: Place, tmp_path: Path):
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(10), reason="opened")
        ledger.set_pace("clinic", EVERYBODY, Pace(day=THIRD), reason="slowly")
        backed_up(file, tmp_path)
        pay(ledger, "a", "2/10")
    lose(file)
    restore(file, tmp_path / "backup")
    with file.open() as ledger:
        with pytest.raises(BudgetError, match="limit per day"):
            pay(ledger, "b", "2/10")
        pay(ledger, "c", "1/10")
        assert ledger.verify().trusted


def test_a_restored_account_says_on_which_day(file: Place):
    with clinic(file, ann=Pace(day=TENTH)) as ledger:
        account = ledger._write("clinic", lambda turn: turn.account)
    with pytest.raises(ConflictError, match="brings its day"):
        account.after(Restored(Cost.pure("1/20"), 0, "", "why"), 9)
    tomorrow = NOON.toordinal() + 1
    restored = account.after(Restored(Cost.pure("1/20"), 0, "", "why", tomorrow), 9)
    with pytest.raises(BudgetError, match="limit per day"):
        restored.check(ask("b"), tomorrow)
    restored.check(ask("b"), tomorrow + 1)


def test_a_payment_without_its_day_breaks_a_rule(file: Place):
    with clinic(file, ann=Pace(day=TENTH)) as ledger:
        for event in (Reserved(ask("a")), Reserved(ask("b", analyst="ben"), NOON.toordinal())):
            with pytest.raises(ConflictError, match="brings its day where one is counted"):
                ledger._write("clinic", lambda turn, event=event: turn.append(event))


def test_a_day_that_is_not_that_of_its_time_is_found(file: Place):
    with clinic(file, ann=Pace(day=TENTH)) as ledger:
        pay(ledger, "a")
        tomorrow = Reserved(ask("b"), NOON.toordinal() + 1)
        ledger._write("clinic", lambda turn: turn.append(tomorrow))
        (finding,) = ledger.verify().findings
        assert finding.problem == "entry 5 of dataset clinic counts on another day than that of its time"
        rows = ledger._store.shelf.rows("clinic", 1, 9)
        with pytest.raises(LedgerError, match="another day"):
            list(linked(ledger._seals, rows, "clinic", 1, 5))


def test_budgets_with_delta_pace_gaussian_questions(file: Place):
    day = ApproximateBudget("1/2", "1e-6")
    with file.open() as ledger:
        ledger.clock = lambda: NOON
        ledger.create_dataset("clinic", ApproximateBudget(10, "1e-6"), reason="opened")
        ledger.set_pace("clinic", EVERYBODY, Pace(day=day), reason="slowly")
        cost = Cost.concentrated(day.rho * Fraction(33, 100))
        for name in "abc":
            ledger.answer(ledger.reserve(ask(name, cost=cost)), b"1")
        with pytest.raises(BudgetError, match="limit per day"):
            ledger.reserve(ask("d", cost=cost))
        assert ledger.verify().trusted


def test_the_stored_forms_are_for_ever():
    event = Paced(
        Scope(analyst="ann"), Pace(TENTH, ApproximateBudget(1, "1/100", rule=Rule.CONCENTRATED)), "x"
    )
    text = (
        '{"analyst":"ann","kind":"paced","pace":[["pure","1/10"],["approximate-zcdp","1","1/100","1/200"]],'
        '"project":null,"reason":"x"}'
    )
    assert canonical(write_event(event)) == text
    assert read_event(write_event(event)) == event
    assert read_event(write_event(Paced(EVERYBODY, Pace(), "x"))) == Paced(EVERYBODY, Pace(), "x")
    paid = Reserved(ask("a"), 739_000)
    assert write_event(paid)["day"] == 739_000
    assert read_event(write_event(paid)) == paid
    for odd in (True, "1", 0, None, 1.5):
        with pytest.raises(LedgerError, match="a day in a form"):
            read_event(write_event(paid) | {"day": odd})


def test_the_view_shows_today_and_not_yesterday(file: Place):
    with clinic(file, ann=Pace(TENTH, THIRD)) as ledger:
        pay(ledger, "a")
        question, day = ledger.budget("clinic").paces
        assert (question.per, day.per) == ("question", "day")
        assert day.remaining.epsilon == Fraction(2, 10)
        assert "analyst ann, per day" in repr(ledger.budget("clinic"))
        ledger.clock = lambda: NOON + timedelta(days=1)
        assert ledger.budget("clinic").paces[1].remaining.epsilon == Fraction(3, 10)
