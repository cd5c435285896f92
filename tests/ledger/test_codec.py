"""The stored form of events is for ever: these texts must decode to these values in every later version."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.account import Account, Running
from discreet.ledger.codec import (
    canonical,
    fingerprint,
    read_budget,
    read_cost,
    read_event,
    write_budget,
    write_cost,
    write_event,
)
from discreet.ledger.entry import (
    Advanced,
    Answered,
    Closed,
    Created,
    Failed,
    Joined,
    Left,
    Limited,
    Receipt,
    Request,
    Reserved,
    Retried,
    Scope,
)
from discreet.ledger.written import read_account, write_account
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget, Rule

REQUEST = Request(
    request_id="r1",
    dataset="clinic",
    snapshot="2026-01",
    project="wards",
    analyst="ann",
    question="SELECT count(*) FROM visits",
    cost=Cost(Fraction(1, 3), Fraction(1, 18), Fraction(0)).plain,
    mechanisms=('{"alpha":"2/3","mechanism":"geometric"}',),
)

GOLDEN = {
    '{"analysts":null,"budget":["pure","3"],"kind":"created","reason":"start"}': Created(
        PureBudget(3), None, "start"
    ),
    '{"analysts":["ann"],"budget":["approximate-zcdp","1/2","1/1000","1/2000"],"kind":"created",'
    '"reason":""}': (Created(ApproximateBudget("1/2", "1/1000", rule=Rule.CONCENTRATED), ("ann",), "")),
    '{"analysts":null,"budget":["approximate-renyi","1/2","1/1000","1/10000"],"kind":"created",'
    '"reason":""}': (Created(ApproximateBudget("1/2", "1/1000"), None, "")),
    '{"analyst":"ann","budget":["pure","1/10"],"kind":"limited","project":null,"reason":"cap"}': (
        Limited(Scope(analyst="ann"), PureBudget("0.1"), "cap")
    ),
    '{"analyst":"bob","kind":"joined","reason":"new"}': Joined("bob", "new"),
    '{"analyst":"bob","kind":"left","reason":"gone"}': Left("bob", "gone"),
    '{"kind":"closed","reason":"over"}': Closed("over"),
    '{"analyst":"ann","cost":["1/3","1/18","0"],"dataset":"clinic","kind":"reserved","mechanisms":'
    '["{\\"alpha\\":\\"2/3\\",\\"mechanism\\":\\"geometric\\"}"],"project":"wards","question":'
    '"SELECT count(*) FROM visits","request":"r1","snapshot":"2026-01"}': Reserved(REQUEST),
    '{"analyst":"ann","cost":["1/3","1/18","0","renyi/1"],"dataset":"clinic","kind":"reserved","mechanisms":'
    '["{\\"alpha\\":\\"2/3\\",\\"mechanism\\":\\"geometric\\"}"],"project":"wards","question":'
    '"SELECT count(*) FROM visits","request":"r1","snapshot":"2026-01"}': (
        Reserved(replace(REQUEST, cost=Cost(Fraction(1, 3), Fraction(1, 18), Fraction(0))))
    ),
    '{"attempt":2,"kind":"retried","reservation":5}': Retried(5, 2),
    '{"digest":"ab","kind":"answered","question":"cd","reservation":5,"size":7}': Answered(5, "cd", "ab", 7),
    '{"code":"engine-error","kind":"failed","reservation":5}': Failed(5, "engine-error"),
    '{"digest":"ab","first":3,"kind":"advanced","last":4,"reservation":5,"secret":"ef","size":7}': (
        Advanced(5, 3, 4, "ef", "ab", 7)
    ),
}


COSTS = [
    Cost.zero,
    Cost.pure("1/3"),
    Cost.pure("1/3").plain,
    Cost.concentrated("1/7", "1e-9"),
    Cost.approximate("1/3", "1e-9") + Cost.pure("1/4"),
    Cost.pure("1/3").plain + Cost.pure("1/4") + Cost.concentrated("1/7"),
    Cost.pure("1/3").plain + Cost.pure("1/4").plain + Cost.concentrated("1/7"),
]


@pytest.mark.parametrize("cost", COSTS)
def test_costs_and_their_sums_come_back_as_they_were(cost: Cost) -> None:
    assert read_cost(json.loads(canonical(write_cost(cost)))) == cost
    assert read_cost(write_cost(cost)).renyi == cost.renyi


def test_what_was_stored_without_renyi_costs_stays_so() -> None:
    """A history of an older version adds up to the very texts that it sealed then."""
    old = [
        read_cost(["1/3", "1/18", "0"]),
        read_cost(["1/4", "1/32", "0"]),
        read_cost([None, "1/50", "1/1000"]),
    ]
    assert write_cost(old[0] + old[1]) == ["7/12", "25/288", "0"]
    assert write_cost(sum(old, Cost.zero)) == [None, str(Fraction(25, 288) + Fraction(1, 50)), "1/1000"]


@pytest.mark.parametrize("curve", ["renyi/2", "renyi/1 0", "renyi/1 0 1 2", "renyi/1 0" + " 1" * 61, ""])
def test_renyi_costs_on_another_ladder_are_refused(curve: str) -> None:
    with pytest.raises(LedgerError, match="does not know"):
        read_cost(["1/3", "1/18", "0", curve])


def test_a_question_is_the_same_question_under_both_forms() -> None:
    """What an older version answered is found again, free."""
    assert fingerprint(REQUEST) == fingerprint(replace(REQUEST, cost=replace(REQUEST.cost, curve=None)))


@pytest.mark.parametrize(("text", "event"), GOLDEN.items())
def test_stored_events_keep_their_meaning(text: str, event):
    assert read_event(json.loads(text)) == event
    assert canonical(write_event(event)) == text


@pytest.mark.parametrize(
    "stored", [{}, {"kind": "refunded"}, {"kind": "closed"}, [], None, {"kind": "retried", "attempt": "2"}]
)
def test_unknown_events_are_refused(stored):
    with pytest.raises(LedgerError, match="upgrade discreet"):
        read_event(stored)


@pytest.mark.parametrize("stored", [["renyi", "3"], ["pure"], [], None, ["pure", 3], "pure"])
def test_unknown_budgets_are_refused(stored):
    with pytest.raises(LedgerError, match="upgrade discreet"):
        read_budget(stored)


@pytest.mark.parametrize("stored", [[], ["1"], [None, None, None], ["1", "2", 3], {}])
def test_unknown_costs_are_refused(stored):
    with pytest.raises(LedgerError, match="upgrade discreet"):
        read_cost(stored)


rationals = st.fractions(min_value=0, max_value=50, max_denominator=10**6)
costs = st.builds(Cost, st.none() | rationals, rationals, st.fractions(0, 1, max_denominator=10**9))
budgets = st.builds(PureBudget, rationals.filter(bool)) | st.builds(
    ApproximateBudget, rationals.filter(bool), st.fractions("1/1000000", "1/2", max_denominator=10**6)
)
names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
scopes = st.builds(Scope, st.none() | names, st.none() | names)


@settings(deadline=None)
@given(costs)
def test_costs_survive_storage_exactly(cost: Cost):
    assert read_cost(json.loads(canonical(write_cost(cost)))) == cost


@settings(deadline=None)
@given(budgets)
def test_budgets_survive_storage_exactly(budget):
    assert read_budget(json.loads(canonical(write_budget(budget)))) == budget


@settings(deadline=None)
@given(
    st.dictionaries(scopes, budgets, max_size=4),
    st.none() | st.frozensets(names, max_size=3),
    st.booleans(),
    st.dictionaries(st.tuples(names, names), costs, max_size=4),
    st.dictionaries(
        st.integers(1, 10**9), st.builds(Running, st.integers(1, 3), st.text(max_size=4)), max_size=4
    ),
)
def test_accounts_survive_storage_and_have_one_text(limits, analysts, closed, spent, running):
    account = Account("clinic", limits, analysts, closed, spent, running)
    text = write_account(account)
    assert read_account(text) == account
    turned = Account(
        "clinic",
        dict(reversed(limits.items())),
        analysts,
        closed,
        dict(reversed(spent.items())),
        dict(reversed(running.items())),
    )
    assert write_account(turned) == text


def test_a_fingerprint_depends_on_the_question_not_on_who_asks():
    print_ = fingerprint(REQUEST)
    for same in ({"request_id": "r2"}, {"analyst": "bob"}, {"project": "other"}):
        assert fingerprint(replace(REQUEST, **same)) == print_
    for other in (
        {"snapshot": "2026-02"},
        {"question": "SELECT count(*) FROM visits "},
        {"cost": Cost.pure("1/3")},
        {"mechanisms": ()},
        {"mechanisms": (*REQUEST.mechanisms, "{}")},
    ):
        assert fingerprint(replace(REQUEST, **other)) != print_


@pytest.mark.parametrize(
    "cost", [Cost.pure("1/10"), Cost.approximate("1/9", "1e-9"), Cost.concentrated("1/7"), Cost.pure(0)]
)
def test_a_question_stays_the_same_without_its_renyi_costs(cost: Cost):
    request = replace(REQUEST, cost=cost)
    account = Account.opened("clinic", Created(PureBudget(1), None, "opened"))
    paid = account.recorded(request)
    assert fingerprint(paid) == fingerprint(request) == fingerprint(replace(REQUEST, cost=cost.plain))


@pytest.mark.parametrize("field", ["request_id", "dataset", "snapshot", "project", "analyst"])
@pytest.mark.parametrize("name", ["", "x" * 201, "line\nbreak", "nul\0", "\ud800", None, 3])
def test_names_are_short_and_printable(field: str, name):
    with pytest.raises(ParameterError, match=field):
        replace(REQUEST, **{field: name})


@pytest.mark.parametrize("question", ["", "\ud83d\ude00"])
def test_a_question_is_valid_text(question: str):
    with pytest.raises(ParameterError, match="question"):
        replace(REQUEST, question=question)


@pytest.mark.parametrize("text", ["", "a/b", "a/b/c/d", "a/-1/c/d"])
def test_a_receipt_is_read_strictly(text: str):
    with pytest.raises(ParameterError, match="receipt"):
        Receipt.parse(text)


def test_a_dataset_name_may_contain_a_slash_in_a_receipt():
    receipt = Receipt("ab", "north/clinic", 3, "cd")
    assert Receipt.parse(str(receipt)) == receipt
