"""Runs that know of each other, runs that raise, and what an audit says of them."""

import os
from itertools import product
from math import comb, exp

import numpy as np
import pytest
from tests.audit.seeded import seeded
from typer.testing import CliRunner

from discreet.audit import (
    Consistent,
    Dependent,
    Raised,
    Violated,
    assert_consistent,
    audit,
    audit_until,
    search,
)
from discreet.audit.batch import BEST, PLAIN, RARE
from discreet.audit.fresh import pristine
from discreet.audit.independence import _halves, _repeats, _runs, dependence
from discreet.audit.outputs import Layout
from discreet.audit.runs import Box
from discreet.audit.sequential import STAKES
from discreet.cli import app
from discreet.errors import AuditError, ParameterError
from discreet.mechanisms.geometric import Geometric

NOISE = Geometric.calibrate(epsilon=1)


def remembering(noise=NOISE):
    """A private answer for each input, drawn once."""
    known = {}

    def run(x):
        if x not in known:
            known[x] = noise.sample(x)
        return known[x]

    return run


def generator_remembering():
    """The same with a generator of its own, whose state a copy of the process shares."""
    known, generator = {}, np.random.default_rng(7)

    def run(x):
        if x not in known:
            known[x] = x + generator.laplace()
        return known[x]

    return run


def twice():
    """Noise drawn on every other call and used again on the next."""
    state = {"calls": 0, "noise": 0}

    def run(x):
        if state["calls"] % 2 == 0:
            state["noise"] = NOISE.sample(0)
        state["calls"] += 1
        return x + state["noise"]

    return run


def drifting():
    """Answers that grow with the number of calls."""
    calls = []

    def run(x):
        calls.append(x)
        return NOISE.sample(x) + len(calls) // 200

    return run


@pytest.mark.parametrize("kind", [remembering, generator_remembering, twice, drifting])
def test_functions_with_a_memory_get_a_warning_and_no_verdict(kind):
    verdict = audit(kind(), 0, 1, epsilon=1, runs=2000)
    assert isinstance(verdict, Dependent)
    assert not verdict.violated
    assert str(verdict).startswith("NOT INDEPENDENT")


def test_a_function_without_noise_is_accused_though_its_answers_are_all_the_same():
    verdict = audit(lambda x: x, 0, 1, epsilon=1, runs=1000)
    assert isinstance(verdict, Violated)
    assert verdict.note == ""


def test_copies_have_randomness_of_their_own():
    """The state of NumPy's common generator is copied with a process; eight copies must not repeat it."""
    known = {}

    def run(x):
        if x not in known:
            known[x] = x + np.random.random()
        return known[x]

    # The generator is seeded when it is first used.
    np.random.random()
    with pristine(Box.of(run), [(0, 1)]) as copy:
        heard = copy.answers(0, 1)
    assert len({answers[0][0] for answers in heard}) == 8
    assert all(len(set(side)) == 1 for answers in heard for side in answers)


def only_here(function):
    """The function where it was made; copies of the process cannot run it, as they cannot run a session."""
    home = os.getpid()

    def run(x):
        if os.getpid() != home:
            raise RuntimeError
        return function(x)

    return run


def test_a_copy_that_only_raises_is_no_sign_of_a_memory():
    """Noise that happens to be silent is rare, and no reason to take honest runs for remembered."""
    quiet = audit(only_here(lambda x: 0), 0, 1, epsilon=1, runs=200)
    assert isinstance(quiet, Consistent)
    assert "unless answers are remembered" in quiet.note
    one_sided = audit(only_here(lambda x: NOISE.sample(0) if x else 0), 0, 1, epsilon=4, runs=100)
    assert not isinstance(one_sided, Dependent)


def sometimes_raising(function, *, here, first=False):
    """The function, but for errors: in one run of ten here or in copies only, or in the first run alone."""
    home, calls = os.getpid(), []

    def run(x):
        calls.append(x)
        unlucky = len(calls) == 1 if first else os.urandom(1)[0] < 26
        if unlucky and (here or os.getpid() != home):
            raise TimeoutError
        return function(x)

    return run


@pytest.mark.parametrize(
    "errors",
    [
        pytest.param({"here": True}, marks=pytest.mark.fuzz),
        {"here": False},
        pytest.param({"here": True, "first": True}, marks=pytest.mark.fuzz),
    ],
)
def test_errors_do_not_hide_a_memory_nor_make_one(errors):
    wide = Geometric.calibrate(epsilon="0.01")
    remembered = audit(sometimes_raising(remembering(wide), **errors), 0, 1, epsilon=1, runs=600)
    assert isinstance(remembered, Dependent)
    leaking = audit(sometimes_raising(lambda x: x, **errors), 0, 1, epsilon=1, runs=600)
    assert isinstance(leaking, Raised if errors["here"] else Violated)
    assert leaking.violated
    honest = audit(sometimes_raising(wide.sample, **errors), 0, 1, epsilon=1, runs=600)
    assert isinstance(honest, Raised if errors["here"] else Consistent)
    assert not honest.violated


def test_a_leak_that_cannot_be_copied_is_accused_all_the_same():
    verdict = audit(only_here(lambda x: x), 0, 1, epsilon=1, runs=1000)
    assert isinstance(verdict, Violated)
    assert "unless answers are remembered" in verdict.note


def test_a_memory_is_found_though_copies_raise_on_the_other_input():
    home, known = os.getpid(), {}

    def run(x):
        if x and os.getpid() != home:
            raise RuntimeError
        return NOISE.sample(x) if x else known.setdefault(x, NOISE.sample(x))

    assert isinstance(audit(run, 0, 1, epsilon=1, runs=2000), Dependent)


def test_the_shares_of_the_error_add_up_to_no_more_than_all():
    assert pytest.approx(1) == BEST + RARE + PLAIN
    assert sum(np.exp(STAKES)) <= 1


def test_a_memory_is_found_behind_a_search_for_pairs_and_by_sequential_audits():
    assert isinstance(search(remembering(), 2, epsilon=1, runs=400), Dependent)
    assert isinstance(audit_until(remembering(), 0, 1, epsilon=1, at_most=20_000), Dependent)


def test_batches_that_share_or_repeat_their_noise_get_a_warning():
    def shared(x, count):
        return np.full(count, x + NOISE.sample(0))

    def repeated(x, count):
        return (
            x
            + np.random.default_rng(3).geometric(0.4, count)
            - np.random.default_rng(4).geometric(0.4, count)
        )

    for subject in (shared, repeated):
        assert isinstance(audit(subject, 0, 1, epsilon=1, runs=2000, batched=True), Dependent)


def test_independent_runs_get_no_warning():
    """Sixty audits of mechanisms with many and with few outputs; a warning has a chance of 1e-9 each."""
    with seeded(700):
        for epsilon in ("0.01", "1", "4"):
            subject = Geometric.calibrate(epsilon=epsilon)
            for _ in range(20):
                assert isinstance(audit(subject, 0, 1, epsilon=epsilon, runs=300), Consistent)


def exact_tails(marks, statistic):
    """Return Pr[statistic <= seen] and Pr[statistic >= seen] over all orders of these marks."""
    seen = statistic(marks)
    orders = [order for order in product((False, True), repeat=len(marks)) if sum(order) == sum(marks)]
    values = [statistic(np.array(order)) for order in orders]
    return [sum(test(v) for v in values) / len(orders) for test in (lambda v: v <= seen, lambda v: v >= seen)]


@pytest.mark.parametrize("text", ["0001110101", "1111100000", "0101010101", "0000000001", "1101111111"])
def test_tails_of_runs_and_halves_are_those_of_all_orders(text):
    marks = np.array([letter == "1" for letter in text])
    runs = exact_tails(marks, lambda m: 1 + int(np.count_nonzero(m[1:] != m[:-1])))
    halves = exact_tails(marks, lambda m: int(m[: len(m) // 2].sum()))
    assert exp(_runs(marks)) == pytest.approx(min(1, 2 * min(runs)))
    assert exp(_halves(marks)) == pytest.approx(min(1, 2 * min(halves)))


def test_the_tail_of_repeats_is_hypergeometric():
    """Forty calls: 4 + 4 close pairs of which 6 are equal, 10 folded ones of which none is."""
    keys = np.arange(40, dtype=np.uint64)
    for first in (0, 2, 4, 6, 11, 13):
        keys[first + 1] = keys[first]
    close, folded, equal = 5 + 4, 10, 6
    ways = sum(comb(close, k) * comb(folded, equal - k) for k in (6,)) / comb(close + folded, equal)
    assert exp(_repeats(keys, 1)) == pytest.approx(ways)


def test_a_warning_says_what_was_seen():
    layout = Layout(1, tagged=False)
    coins = np.random.default_rng(9)
    fresh = coins.normal(size=(4000, 1))
    assert dependence(layout, [fresh[:2000], fresh[2000:]]) is None
    assert "consecutive" in dependence(layout, [np.repeat(fresh[:2000], 2, axis=0)])
    assert "course" in dependence(layout, [fresh + np.linspace(0, 3, 4000)[:, None]])
    assert "10 calls apart" in dependence(layout, [np.tile(fresh[:10], (400, 1))])
    assert "recur" in dependence(layout, [fresh[:2000], fresh[:2000]])


def divides(x):
    return 1 // x


def test_a_mechanism_that_raises_has_a_status_of_its_own():
    verdict = audit(divides, 0, 0, epsilon=1, runs=200)
    assert isinstance(verdict, Raised)
    assert not verdict.violated
    assert verdict.left_raised == verdict.left_runs > 100
    assert "raised ZeroDivisionError (test_independence.py, line" in str(verdict)


def test_an_error_on_one_input_only_is_a_leak_and_said_to_be_one():
    verdict = audit(divides, 0, 1, epsilon=1, runs=200)
    assert isinstance(verdict, Raised)
    assert verdict.violated
    assert verdict.right_raised == 0
    assert "errors are outputs too" in str(verdict)


def test_a_batch_that_raises_is_reported_without_runs():
    def fails(x, count):
        raise KeyError("alice")

    for verdict in (
        audit(fails, 0, 1, epsilon=1, batched=True),
        search(fails, 2, epsilon=1, batched=True),
        audit_until(fails, 0, 1, epsilon=1, batched=True),
    ):
        assert isinstance(verdict, Raised)
        assert "KeyError" in str(verdict)
        assert "alice" not in str(verdict) + verdict._repr_html_()


def test_a_batch_of_the_wrong_size_is_refused():
    with pytest.raises(ParameterError, match="must return"):
        audit(lambda x, count: np.zeros(3), 0, 1, epsilon=1, batched=True)


def test_suites_can_demand_a_consistent_verdict():
    assert_consistent(NOISE, 0, 1, epsilon=1, runs=500)
    for subject in (lambda x: x, divides, remembering()):
        with pytest.raises(AuditError):
            assert_consistent(subject, 0, 1, epsilon=1, runs=500)


def test_by_default_one_audit_in_a_million_is_a_false_alarm():
    assert audit(NOISE, 0, 1, epsilon=1, runs=200).confidence == 0.999999
    assert "at 0.999999 confidence" in str(audit(NOISE, 0, 1, epsilon=1, runs=200))


def test_events_on_text_are_told_in_words():
    with seeded(701):
        said = audit(
            lambda x: ("often", None) if x and NOISE.sample(0) > 0 else ("seldom", 3),
            0,
            1,
            epsilon=1,
            runs=500,
        )
    assert isinstance(said, Violated)
    assert "often" in str(said.event) or "seldom" in str(said.event) or "None" in str(said.event)
    assert not any(
        len(digits) > 6 for digits in str(said.event).replace(",", " ").split() if digits.isdigit()
    )


PROGRAM = """
import random
from discreet.mechanisms.geometric import Geometric
noise, known = Geometric.calibrate(epsilon=1), {}

def exact(x): return x
def raises(x): return [][x]
def fine(x): return noise.sample(x)
def remembers(x): return known.setdefault(x, noise.sample(x))
"""


def test_the_command_has_an_exit_status_for_each_verdict(tmp_path, monkeypatch):
    (tmp_path / "audited_module.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    for name, status, words in (
        ("fine", 0, "No violation found"),
        ("exact", 1, "VIOLATED"),
        ("raises", 3, "raised IndexError"),
        ("remembers", 4, "NOT INDEPENDENT"),
    ):
        arguments = ["audit", f"audited_module:{name}", "--left", "0", "--right", "1", "--runs", "300"]
        done = CliRunner().invoke(app, arguments)
        assert (done.exit_code, words in done.output) == (status, True), done.output


@pytest.mark.parametrize(
    "target", ["--plot=nowhere/chart.svg", "--plot=chart.pdf", "--html=nowhere/page.html"]
)
def test_an_attack_refuses_its_targets_before_it_begins(target, monkeypatch):
    from discreet.audit.attack import ATTACKS

    monkeypatch.setitem(ATTACKS, "trace", lambda: pytest.fail("the attack has run"))
    done = CliRunner().invoke(app, ["attack", "trace", target])
    assert isinstance(done.exception, ParameterError)
