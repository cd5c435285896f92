"""What a ledger promises to one honest caller, in both stores."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from tests.ledger.world import Place, ask

from discreet.errors import BudgetError, BusyError, ConflictError, LedgerError, ParameterError
from discreet.ledger import EVERYBODY, Granted, Receipt, Scope, Stored, book, open_ledger
from discreet.ledger.entry import Answered, Closed, Created, Failed, Joined, Limited, Reserved, Retried
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget
from discreet.privacy.grid import below_grid


def spent(ledger, dataset="clinic", scope=EVERYBODY):
    return next(limit.spent.epsilon for limit in ledger.budget(dataset).limits if limit.scope == scope)


def test_a_request_is_paid_for_before_it_is_granted(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = ledger.reserve(ask("a"))
        assert isinstance(granted, Granted)
        assert granted.attempt == 1
    with place.open() as ledger:
        assert spent(ledger) == Fraction(1, 10)


def test_the_same_request_returns_the_same_bytes_free(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        first = ledger.answer(ledger.reserve(ask("a")), b"42 \x00\xff")
        assert first.payload == b"42 \x00\xff"
        assert ledger.reserve(ask("a")) == first
    with place.open() as ledger:
        assert ledger.reserve(ask("a")) == first
        assert spent(ledger) == Fraction(1, 10)


def test_the_same_id_with_another_question_price_snapshot_or_mechanism_is_refused(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.answer(ledger.reserve(ask("a")), b"1")
        for other in (ask("a", question="another"), ask("a", epsilon="1/5"), ask("a", snapshot="2026-02")):
            with pytest.raises(ConflictError, match="another question"):
                ledger.reserve(other)
        assert spent(ledger) == Fraction(1, 10)


def test_the_same_question_on_the_same_snapshot_is_free_for_whoever_may_see_the_dataset(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), analysts=["ann", "bob"], reason="opened")
        first = ledger.answer(ledger.reserve(ask("a", question="q")), b"1")
        assert ledger.reserve(ask("b", question="q", analyst="bob", project="other")) == first
        with pytest.raises(BudgetError, match="analyst eve may not ask"):
            ledger.reserve(ask("c", question="q", analyst="eve"))
        assert isinstance(ledger.reserve(ask("d", question="q", snapshot="2026-02")), Granted)
        assert isinstance(ledger.reserve(ask("e", question="q", epsilon="1/5")), Granted)
        assert spent(ledger) == Fraction(4, 10)


def test_a_thousand_repeats_of_a_question_cost_once_and_answer_alike(file: Place):
    with file.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        answers = set()
        for turn in range(1000):
            outcome = ledger.reserve(ask(f"r{turn}", question="q"))
            answers.add(outcome if isinstance(outcome, Stored) else ledger.answer(outcome, b"%d" % turn))
        assert len(answers) == 1
        assert spent(ledger) == Fraction(1, 10)


def test_a_request_that_broke_off_runs_again_free_but_at_most_three_times(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
    for attempt in (1, 2, 3):
        with place.open() as ledger:
            granted = ledger.reserve(ask("a"))
            assert isinstance(granted, Granted)
            assert granted.attempt == attempt
    for _ in range(2):
        with place.open() as ledger, pytest.raises(ConflictError, match="stays spent"):
            ledger.reserve(ask("a"))
    with place.open() as ledger:
        assert spent(ledger) == Fraction(1, 10)
        assert ledger.verify().trusted


def test_a_question_that_broke_off_is_taken_over_under_a_new_id_at_no_second_cost(place: Place, monkeypatch):
    monkeypatch.setattr("discreet.ledger.teller.PATIENCE", 0.05)
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget("0.2"), reason="opened")
        ledger.reserve(ask("a", question="q"))
    with place.open() as ledger:
        taken = ledger.reserve(ask("b", question="q", analyst="bob"))
        assert (taken.number, taken.attempt, taken.request.request_id) == (2, 2, "a")
        assert spent(ledger) == Fraction(1, 10)
        with place.open() as other, pytest.raises(BusyError, match="nothing was charged"):
            other.reserve(ask("c", question="q"))
        stored = ledger.answer(taken, b"1")
        for name in ("a", "b", "d"):
            assert ledger.reserve(ask(name, question="q")) == stored
        assert spent(ledger) == Fraction(1, 10)
        assert ledger.verify().trusted


def test_a_question_that_broke_off_three_times_is_paid_for_anew(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
    for name in ("a", "b", "c"):
        with place.open() as ledger:
            assert ledger.reserve(ask(name, question="q")).number == 2
    with place.open() as ledger:
        assert ledger.reserve(ask("d", question="q")).attempt == 1
        assert spent(ledger) == Fraction(2, 10)


def test_an_abandoned_request_stays_spent_and_runs_again_at_once(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.abandon(ledger.reserve(ask("a")))
        assert spent(ledger) == Fraction(1, 10)
        again = ledger.reserve(ask("a"))
        assert again.attempt == 2
        ledger.answer(again, b"1")
        ledger.abandon(again)
        assert isinstance(ledger.reserve(ask("a")), Stored)


def test_the_first_answer_wins_over_a_slower_attempt(place: Place):
    with place.open() as slow:
        slow.create_dataset("clinic", PureBudget(1), reason="opened")
        first_try = slow.reserve(ask("a"))
        slow.abandon(first_try)  # as if the first process were taken for dead
        with place.open() as quick:
            answered = quick.answer(quick.reserve(ask("a")), b"quick")
        assert slow.answer(first_try, b"slow") == answered
        assert answered.payload == b"quick"
        assert spent(slow) == Fraction(1, 10)


def test_a_failed_request_stays_spent_and_is_final(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = ledger.reserve(ask("a"))
        ledger.fail(granted, "engine-error")
        assert spent(ledger) == Fraction(1, 10)
        for again in (lambda: ledger.reserve(ask("a")), lambda: ledger.answer(granted, b"late")):
            with pytest.raises(ConflictError, match="engine-error"):
                again()
        with pytest.raises(ConflictError):
            ledger.fail(granted, "engine-error")
        with pytest.raises(ParameterError, match="free text could carry data"):
            ledger.fail(granted, "value 17 of Mr Smith overflowed")


def test_an_answer_cannot_be_turned_into_a_failure(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        granted = ledger.reserve(ask("a"))
        ledger.answer(granted, b"1")
        with pytest.raises(ConflictError):
            ledger.fail(granted, "engine-error")


def test_every_limit_that_covers_a_request_must_admit_it(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.set_limit("clinic", Scope(project="wards"), PureBudget("0.5"), reason="project")
        ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget("0.4"), reason="analyst")
        ledger.set_limit("clinic", Scope("wards", "ann"), PureBudget("0.3"), reason="member")
        for turn in range(3):
            ledger.reserve(ask(f"a{turn}"))
        with pytest.raises(BudgetError, match="the limit on analyst ann in project wards of dataset clinic"):
            ledger.reserve(ask("a3"))
        ledger.reserve(ask("a4", project="other"))
        with pytest.raises(BudgetError, match="the limit on analyst ann of"):
            ledger.reserve(ask("a5", project="other"))
        for turn in range(2):
            ledger.reserve(ask(f"b{turn}", analyst="bob"))
        with pytest.raises(BudgetError, match="the limit on project wards of"):
            ledger.reserve(ask("b2", analyst="bob"))
        for turn in range(4):
            ledger.reserve(ask(f"c{turn}", analyst="cy", project="third"))
        with pytest.raises(BudgetError, match="the limit on all of dataset clinic"):
            ledger.reserve(ask("c4", analyst="cy", project="third"))
        assert spent(ledger) == 1


def test_budgets_are_summed_exactly(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        for turn in range(10):
            ledger.reserve(ask(f"a{turn}", epsilon="0.1"))
        with pytest.raises(BudgetError):
            ledger.reserve(ask("b", epsilon="1e-40"))
        assert spent(ledger) == 1


def test_an_approximate_budget_is_kept_by_its_filter(place: Place):
    budget = ApproximateBudget(1, "1e-6")
    with place.open() as ledger:
        ledger.create_dataset("clinic", budget, reason="opened")
        each = Cost.concentrated(below_grid(budget.rho / 4))
        for turn in range(4):
            ledger.reserve(ask(f"a{turn}", cost=each))
        with pytest.raises(BudgetError):
            ledger.reserve(ask("b", cost=Cost.concentrated("1e-30")))


def test_a_limit_set_late_counts_what_was_spent_before(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.reserve(ask("a", epsilon="0.3"))
        ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget("0.35"), reason="late")
        with pytest.raises(BudgetError, match="analyst ann"):
            ledger.reserve(ask("b"))
        ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget("0.5"), reason="raised after review")
        ledger.reserve(ask("b"))


def test_administration_is_history_with_reasons(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), analysts=["ann"], reason="study 7")
        ledger.add_analyst("clinic", "bob", reason="joined the study")
        ledger.set_limit("clinic", Scope(analyst="bob"), PureBudget("0.2"), reason="trial")
        granted = ledger.reserve(ask("a", analyst="bob"))
        ledger.answer(granted, b"1")
        ledger.remove_analyst("clinic", "bob", reason="left")
        with pytest.raises(BudgetError, match="bob"):
            ledger.reserve(ask("b", analyst="bob"))
        ledger.close_dataset("clinic", reason="study over")
        with pytest.raises(BudgetError, match="closed"):
            ledger.reserve(ask("c"))
        assert isinstance(ledger.reserve(ask("a")), Stored)
        events = [type(entry.event) for entry in ledger.history("clinic")]
        assert events[:5] == [Created, Joined, Limited, Reserved, Answered]
        assert events[-1] is Closed
        reasons = [getattr(entry.event, "reason", None) for entry in ledger.history("clinic")]
        assert "joined the study" in reasons
        assert "study over" in reasons


def test_what_was_asked_is_stored_whole(place: Place):
    asked = ask("é/ü 1", question='SELECT "naïve"\n\u2028 \\ \U0001f600')
    request = replace(asked, cost=asked.cost.plain)  # a pure budget adds up nothing else
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.reserve(asked)
    with place.open() as ledger:
        retried = ledger.reserve(asked)
        assert retried.request == request
        events = [entry.event for entry in ledger.history("clinic")]
        assert events[1:] == [Reserved(request), Retried(2, 2)]


def test_accounts_follow_the_dataset_not_its_place(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.create_dataset("school", PureBudget(2), reason="opened")
        with pytest.raises(ConflictError, match="already has an account"):
            ledger.create_dataset("clinic", PureBudget(9), reason="again")
        ledger.reserve(ask("a"))
        ledger.reserve(ask("a", dataset="school"))
        assert spent(ledger, "clinic") == spent(ledger, "school") == Fraction(1, 10)
        assert ledger.datasets() == ("clinic", "school")
        with pytest.raises(LedgerError, match="no dataset nowhere"):
            ledger.reserve(ask("b", dataset="nowhere"))


def test_a_receipt_can_be_checked_later(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        receipt = ledger.answer(ledger.reserve(ask("a")), b"1").receipt
    with place.open() as ledger:
        assert Receipt.parse(str(receipt)) == receipt
        assert isinstance(ledger.verify_receipt(receipt).event, Answered)
        for wrong in (
            Receipt(receipt.ledger, "clinic", 3, "0" * 64),
            Receipt(receipt.ledger, "clinic", 99, receipt.mac),
            Receipt("f" * 32, "clinic", 3, receipt.mac),
            Receipt(receipt.ledger, "school", 3, receipt.mac),
        ):
            with pytest.raises(LedgerError, match="receipt"):
                ledger.verify_receipt(wrong)


def test_the_view_shows_every_limit_and_what_colluders_learn_together(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(3), analysts=["ann", "bob"], reason="opened")
        for analyst in ("ann", "bob"):
            ledger.set_limit("clinic", Scope(analyst=analyst), PureBudget(1), reason="each")
            ledger.reserve(ask(analyst, analyst=analyst, epsilon="0.25"))
        budget = ledger.budget("clinic")
        assert [str(limit.scope) for limit in budget.limits] == [
            "the whole dataset",
            "analyst ann",
            "analyst bob",
        ]
        assert [limit.remaining.epsilon for limit in budget.limits] == [
            Fraction(5, 2),
            Fraction(3, 4),
            Fraction(3, 4),
        ]
        assert budget.collusion.spent.epsilon == Fraction(1, 2)
        assert budget.collusion.worst == PureBudget(2)
        assert budget.collusion.sum_of_limits == 2
        ledger.add_analyst("clinic", "cy", reason="without a limit of her own")
        assert ledger.budget("clinic").collusion.worst == PureBudget(3)


def test_no_clock_decides_anything(place: Place):
    years = itertools.cycle((1990, 2090, 1970, 2500))
    with place.open() as ledger:
        ledger.clock = lambda: datetime(next(years), 1, 1, tzinfo=UTC)
        ledger.create_dataset("clinic", PureBudget("0.1"), reason="opened")
        stored = ledger.answer(ledger.reserve(ask("a")), b"1")
        with pytest.raises(BudgetError):
            ledger.reserve(ask("b"))
        assert ledger.reserve(ask("a")) == stored
        assert [entry.time[:4] for entry in ledger.history("clinic")] == ["1990", "2090", "1970"]
        assert ledger.verify().trusted


def test_a_ledger_is_not_used_across_a_fork(file: Place, monkeypatch: pytest.MonkeyPatch):

    with file.open() as ledger, monkeypatch.context() as patch:
        patch.setattr(book.os, "getpid", lambda: -1)
        with pytest.raises(LedgerError, match="fork"):
            ledger.datasets()


def test_failed_event_type_is_recorded(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.fail(ledger.reserve(ask("a")), "engine-error")
        assert ledger.history("clinic")[-1].event == Failed(2, "engine-error")


def test_a_ledger_named_by_a_relative_path_survives_a_change_of_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    with open_ledger("clinic.ledger") as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        monkeypatch.chdir(tmp_path / "elsewhere")
        ledger.answer(ledger.reserve(ask("a")), b"1")
        assert spent(ledger) == Fraction(1, 10)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_id_of_a_question_cannot_take_the_place_of_a_stream(place: Place):
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        with pytest.raises(ParameterError, match="as the ids of streams do"):
            ledger.reserve(ask("stream visits"))
        assert ledger.find_stream("clinic", "stream visits", "ann") is None
        stream = ledger.open_stream(ask("stream visits"), b"state")
        assert ledger.steps(stream) == 0
