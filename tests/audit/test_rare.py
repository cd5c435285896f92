"""Rare decisive outputs: found as soon as a plain histogram finds them, and without false alarms."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from benchmarks.peers import histogram
from scipy.stats import binom
from tests.audit.seeded import seeded

from discreet.audit import Violated, audit
from discreet.audit.blind import Blind, _tails
from discreet.audit.evidence import Tally, betting_bound, epsilon_lower, free_guesses, guess_bound
from discreet.audit.features import Feature
from discreet.audit.outputs import Layout
from discreet.audit.specimens import now_and_then

LEAKS = {
    "far away": lambda x: 1000.0 + x,
    "in the middle": lambda x: 2.0**-40 + x,
    "not a number": lambda x: np.nan if x else 0.5,
}


@pytest.mark.parametrize(
    ("name", "delta"),
    [
        *(("far away", "0"), ("in the middle", "1e-4"), ("not a number", "0")),
        *(pytest.param(name, "1e-4", marks=pytest.mark.fuzz) for name in ("far away", "not a number")),
        pytest.param("in the middle", "0", marks=pytest.mark.fuzz),
    ],
)
def test_a_leak_of_one_in_a_thousand_is_found_in_a_hundred_thousand_runs(name, delta):
    subject = now_and_then("0.001", LEAKS[name])
    with seeded(600):
        found = audit(subject, 0, 1, epsilon=1, delta=delta, runs=100_000, confidence="0.95", batched=True)
        twin = audit(now_and_then("0", LEAKS[name]), 0, 1, epsilon=1, delta=delta, runs=100_000, batched=True)
    assert isinstance(found, Violated)
    assert not twin.violated


@pytest.mark.parametrize(("delta", "runs"), [("0", 100_000), ("1e-4", 200_000)])
def test_it_is_found_at_the_confidence_of_test_suites_too(delta, runs):
    """Behind a delta of a tenth of it, a hundred thousand runs would find it seven times in eight."""
    with seeded(601):
        found = audit(
            now_and_then("0.001", LEAKS["far away"]), 0, 1, epsilon=1, delta=delta, runs=runs, batched=True
        )
    assert isinstance(found, Violated)
    assert found.confidence == 0.999999


@pytest.mark.parametrize(
    ("chance", "delta", "name"),
    [("0.01", "0", "far away"), ("0.001", "0", "not a number"), ("0.0005", "1e-5", "far away")],
)
def test_audits_are_not_behind_a_plain_histogram_on_as_many_runs(chance, delta, name):
    """The histogram has all runs and an even share of the error for each cell, and is told no event."""
    subject = now_and_then(chance, LEAKS[name])
    with seeded(602):
        left, right = subject(0, 100_000), subject(1, 100_000)
        ours = audit(subject, 0, 1, epsilon="0.1", delta=delta, runs=100_000, confidence="0.95", batched=True)
    plain = histogram.lower_bound(left, right, 0.05, float(delta))
    assert plain > 0.1
    assert ours.epsilon_lower > plain


def blind_alarms(law, epsilon, delta, games, *, trials=400, alpha=0.1):
    coins = np.random.default_rng(603)
    law = np.array(law)
    alarms = 0
    for _ in range(games):
        left = coins.binomial(trials, 0.5)
        rows = [
            coins.choice(len(law), size, p=law[:, side]).astype(float)[:, None]
            for side, size in ((0, left), (1, trials - left))
        ]
        found = Blind.of(Layout(1, tagged=False), *rows).after(*rows).best(alpha, Fraction(delta))
        alarms += found is not None and found[0] > epsilon
    return alarms


def test_histograms_whose_cells_are_chosen_on_all_runs_accuse_no_more_often_than_promised():
    """Laws at the very limit of epsilon 1 on every output, without and with delta, at 90 %."""
    e = exp(1)
    tight = [(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))]
    split = [(p / 6, q / 6) for p, q in tight for _ in range(6)]
    games = 400
    assert blind_alarms(tight, 1, 0, games) <= binom.isf(1e-7, games, 0.1)
    assert blind_alarms(split, 1, 0, games) <= binom.isf(1e-7, games, 0.1)
    spare = [(0.95 * p, 0.95 * q) for p, q in tight] + [(0.05, 0.0), (0.0, 0.05)]
    assert blind_alarms(spare, 1, "0.05", games) <= binom.isf(1e-7, games, 0.1)


def test_a_histogram_that_forgets_delta_accuses_too_often():
    e = exp(1)
    tight = [(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))]
    spare = [(0.8 * p, 0.8 * q) for p, q in tight] + [(0.2, 0.0), (0.0, 0.2)]
    assert blind_alarms(spare, 1, "0.2", 50) <= binom.isf(1e-7, 50, 0.1)
    assert blind_alarms(spare, 1, 0, 50) > binom.isf(1e-7, 50, 0.1)


def test_a_histogram_says_how_its_cell_fared():
    left, right = np.array([[0.0]] * 300 + [[1.0]] * 100), np.array([[0.0]] * 300 + [[7.0]] * 50)
    bound, event, tally = (
        Blind.of(Layout(1, tagged=False), left, right).after(left, right).best(0.05, Fraction(0))
    )
    assert (tally.trials, tally.correct, tally.wrong) == (750, 100, 0)
    assert str(event) == "guess left when output is 1"
    assert event.tally(left, right) == tally
    # Three histograms share the error, both directions of each, and three values that repeat in the first.
    assert bound == guess_bound(100, 100, 0.05 / (3 * 2 * 3))


def test_tails_are_what_lies_beyond_a_cut():
    rows = np.arange(10.0)[:, None]
    found = _tails(Feature("output", lambda matrix: matrix[:, 0]), np.array([2.0, 7.0]))
    # Below 2, below 7, from 2 on, from 7 on.
    assert list(found.count(rows)) == [2, 7, 8, 3]
    texts = [str(found.event(Layout(1, tagged=False), cell, 1)) for cell in range(4)]
    assert texts == [f"guess right when output {bound}" for bound in ("< 2", "< 7", ">= 2", ">= 7")]
    assert [
        found.event(Layout(1, tagged=False), cell, 1).tally(rows[:0], rows).correct for cell in range(4)
    ] == [
        2,
        7,
        8,
        3,
    ]


def capital_alarm_rate(epsilon, delta, wrong, trials, alpha):
    """Enumerate every outcome of a game at the limit c = exp(epsilon) w + delta; sum where e is exceeded."""
    correct = exp(epsilon) * wrong + delta
    passed = 1 - correct - wrong
    rate = 0.0
    for k in range(trials + 1):
        for w in range(trials - k + 1):
            chance = (
                comb(trials, k) * comb(trials - k, w) * correct**k * wrong**w * passed ** (trials - k - w)
            )
            if chance > 1e-12 and betting_bound(Tally(trials, k, w), alpha, delta) > epsilon:
                rate += chance
    return rate


@pytest.mark.parametrize(("epsilon", "delta", "wrong"), [(0.5, 0.1, 0.1), (1.0, 0.2, 0.02)])
def test_bets_exceed_the_truth_no_more_often_than_promised(epsilon, delta, wrong):
    assert capital_alarm_rate(epsilon, delta, wrong, 24, 0.2) <= 0.2


def test_bets_are_lost_on_wrong_guesses_and_on_delta():
    assert betting_bound(Tally(1000, 500, 500), 0.05, 0.01) == 0
    assert betting_bound(Tally(1000, 60, 0), 0.05, 0.06) == 0
    assert betting_bound(Tally(1000, 60, 0), 0.05, 0.01) > 1


def test_bets_show_more_of_rare_decisive_guesses_than_taking_free_ones_away():
    """At small levels; at large ones it is the other way round, so both are used."""
    tally, delta, alpha = Tally(150_000, 80, 0, 1), Fraction(5, 10_000), 1e-3
    free = free_guesses(tally.trials, delta, 1, alpha / 10)
    assert guess_bound(80 - free, 80 - free, alpha * 9 / 10) < 0.8
    assert epsilon_lower(tally, alpha, delta) > 1.1
    assert epsilon_lower(tally, alpha, Fraction(2, 1000)) == 0
