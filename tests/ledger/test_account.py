"""The rules themselves, as a pure function: whatever happens, no limit is passed and nothing comes back."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.world import ask

from discreet.errors import BudgetError, ConflictError, DiscreetError
from discreet.ledger.account import Account
from discreet.ledger.entry import (
    EVERYBODY,
    Advanced,
    Answered,
    Closed,
    Created,
    Failed,
    Joined,
    Left,
    Limited,
    Reserved,
    Retried,
    Scope,
)
from discreet.ledger.written import read_account, write_account
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget

tenths = st.integers(1, 5).map(lambda n: Cost.pure(Fraction(n, 10)))
requests = st.builds(
    lambda cost, analyst, project: Reserved(ask("r", cost=cost, analyst=analyst, project=project)),
    tenths,
    st.sampled_from(["ann", "bob"]),
    st.sampled_from(["p", "q"]),
)
numbers = st.integers(2, 20)
events = st.one_of(
    requests,
    requests,
    st.builds(Retried, numbers, st.integers(1, 4)),
    st.builds(Answered, numbers, st.just("q"), st.just("d"), st.just(1)),
    st.builds(Failed, numbers, st.just("engine-error")),
    st.builds(
        lambda paid, first, more: Advanced(paid, first, first + more, "s", "d", 1),
        numbers,
        st.integers(1, 4),
        st.integers(-1, 1),
    ),
    st.just(lambda number: Advanced(number - 1, 1, 0, "s", "d", 1)),
    st.builds(
        Limited,
        st.builds(Scope, st.sampled_from([None, "p", "q"]), st.sampled_from([None, "ann", "bob"])),
        st.integers(1, 20).map(lambda n: PureBudget(Fraction(n, 10))),
        st.just("decided"),
    ),
    st.builds(Joined, st.sampled_from(["ann", "bob"]), st.just("came")),
    st.builds(Left, st.sampled_from(["ann", "bob"]), st.just("left")),
)


@settings(deadline=None)
@given(st.lists(events, max_size=25))
def test_spending_never_falls_and_is_admitted_by_every_limit_at_the_time(history):
    account = Account.opened("clinic", Created(PureBudget(1), ("ann", "bob"), "opened"))
    answered: set[int] = set()
    released: set[tuple[int, int]] = set()
    for number, drawn in enumerate(history, 2):
        event = drawn(number) if callable(drawn) else drawn
        before = account.filter(EVERYBODY).spent.epsilon
        try:
            after = account.after(event, number)
        except DiscreetError:
            continue
        spent = after.filter(EVERYBODY).spent.epsilon
        if isinstance(event, Reserved):
            assert spent == before + event.request.cost.epsilon
            for scope, budget in account.limits.items():
                if scope.covers(event.request.project, event.request.analyst):
                    assert after.filter(scope).spent.epsilon <= budget.epsilon
        else:
            assert spent == before
        if isinstance(event, Answered | Failed):
            assert event.reservation not in answered, "one payment bought two outcomes"
            answered.add(event.reservation)
        if isinstance(event, Advanced):
            assert event.reservation not in answered, "a question that was answered became a stream"
            steps = {(event.reservation, step) for step in range(event.first, event.last + 1)}
            assert not steps & released, "a step was released twice"
            released |= steps
        assert read_account(write_account(after)) == after
        account = after


def test_an_unpaid_number_cannot_be_answered_failed_or_retried():
    account = Account.opened("clinic", Created(PureBudget(1), None, "opened"))
    for event in (Answered(7, "q", "d", 1), Failed(7, "engine-error"), Retried(7, 2)):
        with pytest.raises(ConflictError, match="not waiting"):
            account.after(event, 8)


def test_a_gaussian_cannot_be_paid_from_a_pure_budget_and_the_limit_is_named():
    account = Account.opened("clinic", Created(ApproximateBudget(1, "1e-6"), None, "opened"))
    account = account.after(Limited(Scope(analyst="ann"), PureBudget(1), "pure only"), 2)
    gaussian = Reserved(ask("a", cost=Cost.concentrated("0.001")))
    with pytest.raises(BudgetError, match=r"the limit on analyst ann of dataset clinic .*no pure guarantee"):
        account.after(gaussian, 3)


def test_a_closed_dataset_spends_nothing():
    account = Account.opened("clinic", Created(PureBudget(1), None, "opened")).after(Closed("over"), 2)
    with pytest.raises(BudgetError, match="closed"):
        account.after(Reserved(ask("a")), 3)


def test_an_open_dataset_keeps_no_list_of_analysts():
    account = Account.opened("clinic", Created(PureBudget(1), None, "opened"))
    for event in (Joined("ann", "came"), Left("ann", "left")):
        with pytest.raises(ConflictError, match="keeps no list"):
            account.after(event, 2)


def test_a_free_request_is_admitted_by_an_exhausted_budget():
    """What was exhausted by paying admits whatever adds nothing to it."""
    account = Account.opened("clinic", Created(PureBudget("0.1"), None, "opened")).after(
        Reserved(ask("a")), 2
    )
    account = account.after(Reserved(ask("b", cost=Cost.zero)), 3)
    assert account.filter(EVERYBODY).spent.epsilon == Fraction(1, 10)


def test_a_paid_question_runs_three_times_at_most():
    account = Account.opened("clinic", Created(PureBudget(1), None, "opened"))
    account = account.after(Reserved(ask("r")), 2)
    for attempt in (2, 3):
        account = account.after(Retried(2, attempt), attempt + 1)
    with pytest.raises(ConflictError, match="no attempts left"):
        account.after(Retried(2, 4), 5)
