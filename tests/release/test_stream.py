"""Named streams of a session: charged once, told apart by their parameters, clear about whom they protect."""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pandas as pd
import pytest

from discreet.errors import BudgetError, ConflictError, LedgerError, ParameterError
from discreet.ledger.entry import Advanced, Reserved
from discreet.privacy.filter import ApproximateBudget
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.zcdp import largest_rho
from discreet.release import stream as module
from discreet.release.opening import open as open_session
from discreet.workload.noise import towards_one
from discreet.workload.root import RootCounter
from discreet.workload.stream import counter_for
from discreet.workload.tree import TreeCounter

PEOPLE = pd.DataFrame({"person": [1, 2, 3]})
BEGIN = {"length": 100, "epsilon": 1, "contribution": 2}


def opened(**options):
    """Open a session with a budget of its own."""
    return open_session(visits=PEOPLE, unit="person", rows_per_unit=1, **{"epsilon": 2, **options})


@pytest.fixture
def session():
    with opened() as found:
        yield found


def spent(session) -> Fraction:
    return session.budget.limits[0].spent.epsilon


def test_the_whole_stream_is_charged_before_its_first_step_and_nothing_after(session):
    stream = session.stream("visits", **BEGIN)
    assert 1 - Fraction(1, 10**6) < spent(session) <= 1
    price = spent(session)
    assert stream.cost.epsilon == price
    stream.extend([1] * 100, first=1)
    assert spent(session) == price
    kinds = [type(entry.event) for entry in session.ledger.history("dataset")]
    assert kinds[1:] == [Reserved, Advanced, Advanced]


def test_a_stream_that_the_budget_cannot_pay_is_never_begun(session):
    session.query("SELECT COUNT(*) AS n FROM visits", epsilon="1.5")
    with pytest.raises(BudgetError, match=r"only epsilon 0\.5"):
        session.stream("visits", **BEGIN)
    with pytest.raises(ParameterError, match="no stream 'visits' yet"):
        session.stream("visits")


def test_opening_again_goes_on_free_of_charge_with_parameters_or_the_name_alone(tmp_path):
    home = tmp_path / "clinic.ledger"
    with opened(ledger=home) as session:
        counts = session.stream("visits", **BEGIN).extend([1, 2, 3], first=1)
    for parameters in (BEGIN, {}, {**BEGIN, "epsilon": "1.0"}):
        with opened(ledger=home) as session:
            stream = session.stream("visits", **parameters)
            assert stream.released() == counts
            assert stream.released(2, 2) == counts[1:2]
            assert stream.contribution == 2
            assert spent(session) <= 1
    with opened(ledger=home) as session:
        assert session.stream("visits").add(4, step=4).step == 4


@pytest.mark.parametrize("change", [{"length": 99}, {"epsilon": "0.5"}, {"contribution": 1}])
def test_other_parameters_under_the_same_name_are_refused_with_both_sets_named(session, change):
    session.stream("visits", **BEGIN)
    with pytest.raises(ConflictError) as refusal:
        session.stream("visits", **{**BEGIN, **change})
    message = str(refusal.value)
    assert 'stream "visits" of 100 steps at epsilon 1, one person adding at most 2' in message
    assert str(next(iter(change.values()))).replace("0.5", "1/2") in message
    assert "choose a new name" in message


def test_streams_of_different_names_are_different_and_both_charged(session):
    first = session.stream("visits", length=10, epsilon=1, contribution=1)
    second = session.stream("calls", length=10, epsilon="0.5", contribution=1)
    first.add(5, step=1)
    assert second.steps == 0
    assert Fraction("1.499") < spent(session) <= Fraction("1.5")


def test_a_newer_calibration_goes_on_with_the_counter_that_was_paid_for(session, monkeypatch):
    stream = session.stream("visits", **BEGIN)
    monkeypatch.setattr(
        module, "counter_for", lambda length, promise: TreeCounter.calibrate(length, promise, radix=2)
    )
    assert session.stream("visits", **BEGIN).counter == stream.counter


def test_a_step_taken_before_returns_its_answer_and_counts_nothing_twice(session):
    stream = session.stream("visits", **BEGIN)
    counts = stream.extend([1, 1, 1, 1], first=1)
    assert stream.add(50, step=3) == counts[2]
    again = stream.extend([9, 9, 1, 1], first=3)
    assert again[:2] == counts[2:]
    assert [count.step for count in again] == [3, 4, 5, 6]
    assert stream.steps == 6
    assert stream.released() == counts + again[2:]
    assert stream.extend([], first=7) == ()


def test_a_long_batch_is_recorded_in_parts_and_read_back_whole(session, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 7)
    stream = session.stream("visits", **BEGIN)
    counts = stream.extend([1] * 40, first=1)
    assert stream.released() == counts
    assert stream.released(5, 23) == counts[4:23]
    advances = [e.event for e in session.ledger.history("dataset") if isinstance(e.event, Advanced)]
    assert [event.last for event in advances] == [0, 7, 14, 21, 28, 35, 40]


def test_steps_out_of_order_and_increments_that_are_not_counts_are_refused(session):
    stream = session.stream("visits", **BEGIN)
    with pytest.raises(ConflictError, match=r"next step of this stream is 1, got 2; .* taken with 0"):
        stream.add(1, step=2)
    for step in (0, -1, 101):
        with pytest.raises(ParameterError, match="steps 1 to 100"):
            stream.add(1, step=step)
    for increment in (True, 0.5, "1", 2**32 + 1, -(2**32) - 1):
        with pytest.raises(ParameterError, match="increment"):
            stream.add(increment, step=1)
    for step in (True, 1.0, "1"):
        with pytest.raises(ParameterError, match="step must be an integer"):
            stream.add(1, step=step)
    with pytest.raises(LedgerError, match="not taken"):
        stream.released(1, 1)
    assert stream.steps == 0
    with pytest.raises(ParameterError, match="at least one row"):
        stream.plot()
    stream.extend([2**32, -(2**32), 0], first=1)


def test_integers_of_other_libraries_are_integers(session):
    stream = session.stream("visits", length=np.int64(50), epsilon=1, contribution=np.int8(1))
    counts = stream.extend(np.arange(5), first=np.int32(1))
    assert stream.released() == counts
    assert stream.add(np.uint8(7), step=np.int64(6)).step == 6
    with pytest.raises(ParameterError, match="integer, got bool"):
        stream.add(np.True_, step=7)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 1, "contribution": 1}, "give length=, how many steps"),
        ({"length": 10, "epsilon": 1}, "give contribution=, the most that one person adds"),
        ({"length": 10, "epsilon": 1, "contribution": 0}, "contribution must be"),
        ({"length": 10.5, "epsilon": 1, "contribution": 1}, "length must be"),
        ({"length": 10, "contribution": 1}, "either epsilon or rho"),
        ({"length": 10, "epsilon": 1, "rho": 1, "contribution": 1}, "either epsilon or rho"),
        ({"length": 10, "epsilon": 0, "contribution": 1}, "epsilon"),
    ],
)
def test_what_is_missing_is_named(session, parameters, message):
    with pytest.raises(ParameterError, match=message):
        session.stream("visits", **parameters)
    assert spent(session) == 0


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 101, 7])
def test_names_are_short_and_printable(session, name):
    with pytest.raises(ParameterError, match="name of a stream"):
        session.stream(name, **BEGIN)


def test_under_a_budget_with_delta_epsilon_means_what_it_means_in_a_query():
    with opened(delta="1e-6") as session:
        budget = ApproximateBudget(Fraction(2), Fraction(1, 10**6))
        stream = session.stream("visits", **BEGIN)
        assert isinstance(stream.counter, RootCounter)
        allowed = largest_rho(Fraction(1), budget.delta - budget.slack)
        assert allowed * Fraction(99, 100) < stream.guarantee.rho <= allowed
        assert session.budget.limits[0].spent.rho >= stream.guarantee.rho
        other = session.stream("calls", length=100, rho="0.001", contribution=2)
        assert other.guarantee.rho <= Fraction(1, 1000)
        counts = stream.extend([3] * 100, first=1)
        assert stream.released() == counts


def test_a_pure_budget_refuses_a_stream_without_a_pure_guarantee(session):
    with pytest.raises(BudgetError, match="no pure guarantee"):
        session.stream("visits", length=10, rho="0.1", contribution=1)


@pytest.mark.parametrize("asked", [Pure(Fraction(1)), Concentrated(Fraction(1, 8))])
@pytest.mark.parametrize("contribution", [1, 2, 5])
def test_the_noise_covers_a_whole_contribution(asked, contribution):
    """A person's contribution moves what is measured by at most its size times what a single event moves."""
    counter = counter_for(20, towards_one(asked, contribution))
    kept = counter.guarantee.group(contribution)
    if isinstance(asked, Pure):
        assert Fraction(99, 100) <= kept.cost <= 1
        assert counter.guarantee.cost * contribution == kept.cost
    else:
        assert Fraction(99, 800) <= kept.rho <= Fraction(1, 8)


def test_where_data_may_be_replaced_a_contribution_goes_and_another_comes():
    with opened(neighbours="replace") as session:
        stream = session.stream("visits", **BEGIN)
        assert Fraction(99, 100) <= stream.guarantee.cost <= 1
        assert stream.guarantee.cost == 4 * stream.counter.guarantee.cost
        assert "one person replacing at most 2" in stream.book.right.request.question
        assert "whatever their data were" in stream.card()
        assert session.stream("visits").guarantee == stream.guarantee
    with opened(delta="1e-9", neighbours="replace") as session:
        stream = session.stream("visits", **BEGIN)
        assert stream.guarantee.rho == 16 * stream.counter.guarantee.rho
        assert session.budget.limits[0].spent.rho >= stream.guarantee.rho


def moved(length: int, radices: tuple[int, ...], change: tuple[int, ...]) -> list[int]:
    """Return, level by level, by how much a change of the increments moves the sums of the blocks in all."""
    sizes, size = [], 1
    for radix in (*radices, 0):
        sizes.append(size)
        size *= radix
    return [sum(abs(sum(change[start : start + size])) for start in range(0, length, size)) for size in sizes]


def test_no_person_within_the_contribution_moves_a_block_further_than_was_paid_for():
    """Every way to spread a contribution of 2 over 6 steps; one unit more is the broken twin."""
    counter = TreeCounter.calibrate(6, Pure(Fraction(1, 2)), radix=2)
    costs = [noise.guarantee(1).cost for noise in counter.noises]

    def price(change: tuple[int, ...]) -> Fraction:
        return sum(
            (d * c for d, c in zip(moved(6, counter.radices, change), costs, strict=True)), Fraction(0)
        )

    allowed = counter.guarantee.group(2).cost
    changes = [change for change in product(range(-2, 3), repeat=6) if 0 < sum(map(abs, change)) <= 2]
    assert max(price(change) for change in changes) == allowed <= 1
    assert price((3, 0, 0, 0, 0, 0)) > allowed


def test_counts_are_as_far_off_as_they_say(session):
    stream = session.stream("visits", length=400, epsilon=1, contribution=1)
    counts = stream.extend([2] * 400, first=1)
    for count in counts:
        assert abs(count.value - 2 * count.step) < 20 * count.deviation
        assert count.deviation == pytest.approx(sqrt(stream.counter.variance(count.step)))
    assert any(count.value != 2 * count.step for count in counts)


def test_a_closed_dataset_releases_no_more_steps_but_shows_those_it_released(session):
    stream = session.stream("visits", **BEGIN)
    counts = stream.extend([1, 2], first=1)
    session.ledger.close_dataset("dataset", reason="study over")
    with pytest.raises(BudgetError, match="closed"):
        stream.add(1, step=3)
    assert stream.add(1, step=2) == counts[1]
    assert session.stream("visits").released() == counts


def test_somebody_who_may_not_ask_may_not_go_on(tmp_path):
    from discreet.ledger import open_ledger
    from discreet.privacy.filter import PureBudget

    home = tmp_path / "clinic.ledger"
    with open_ledger(home) as ledger:
        ledger.create_dataset("dataset", PureBudget(2), analysts=["ann", "bob"], reason="opened")
    with opened(ledger=home, analyst="ann") as session:
        stream = session.stream("visits", **BEGIN)
        stream.add(1, step=1)
    with opened(ledger=home, analyst="bob") as session:
        other = session.stream("visits")
        assert other.add(7, step=1) == other.released()[0]
        session.ledger.remove_analyst("dataset", "bob", reason="left")
        for act in (lambda: other.add(1, step=2), other.released, lambda: session.stream("visits")):
            with pytest.raises(BudgetError, match="may not ask"):
                act()


def test_a_stream_outlives_versions_of_the_data(session):
    from dataclasses import replace

    stream = session.stream("visits", **BEGIN)
    session.catalog = replace(session.catalog, version="next year")
    assert session.stream("visits", **BEGIN).book.right.number == stream.book.right.number


def test_the_card_says_whom_the_stream_protects(session):
    stream = session.stream("visits", **BEGIN)
    assert "adds at most 2 to all steps together" in stream.card()
    assert "epsilon 1, for the whole stream" in stream.card()
    assert "<th" in stream._repr_html_()
    assert "each single event" in session.stream("calls", length=5, epsilon="0.5", contribution=1).card()


def test_a_stored_stream_of_an_unknown_form_is_refused(session):
    from dataclasses import replace

    right = session.stream("visits", **BEGIN).book.right
    changed = replace(right, request=replace(right.request, mechanisms=('{"name":"stream/9"}',)))
    with pytest.raises(LedgerError, match="does not know"):
        module._continued(session.ledger, "visits", changed)


def test_the_chart_shows_what_was_released(session, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "DRAWN", 10)
    stream = session.stream("visits", **BEGIN)
    counts = stream.extend([1] * 35, first=1)
    drawn = stream.plot().to_dict()
    (rows,) = drawn["datasets"].values() if "datasets" in drawn else [drawn["data"]["values"]]
    assert [row["x"] for row in rows] == list(range(2, 36, 3))
    assert rows[-1]["y"] == counts[-1].value
    stream.plot(str(tmp_path / "visits.svg"))
    assert (tmp_path / "visits.svg").read_text().startswith("<svg")
