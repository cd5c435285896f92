"""Shuffled reports against enumeration of everything that can be reported."""

import random
from fractions import Fraction
from math import comb

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy.crowd import excess
from discreet.privacy.shuffle import Shuffled


def _counts(odds, values, categories):
    """Return the law of the numbers of reports of each value, by adding one person after the other."""
    truth, lie = odds / (odds + categories - 1), 1 / (odds + categories - 1)
    law = {(0,) * categories: Fraction(1)}
    for value in values:
        following = {}
        for counts, chance in law.items():
            for report in range(categories):
                after = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                part = chance * (truth if report == value else lie)
                following[after] = following.get(after, Fraction(0)) + part
        law = following
    return law


def _delta(odds, others, pair, categories, x):
    one, two = (_counts(odds, (*others, value), categories) for value in pair)
    keys = one.keys() | two.keys()
    return sum((max(one.get(k, 0) - x * two.get(k, 0), Fraction(0)) for k in keys), Fraction(0))


def _worst(odds, people, categories, x):
    """Return the largest delta over all data of the others and both orders of all pairs."""
    others = [[]]
    for _ in range(people - 1):
        others = [[*some, value] for some in others for value in range(some[-1] if some else 0, categories)]
    pairs = [(a, b) for a in range(categories) for b in range(categories) if a != b]
    return max(_delta(odds, some, pair, categories, x) for some in others for pair in pairs)


@pytest.mark.parametrize(("people", "categories"), [(1, 2), (2, 2), (6, 2), (3, 3), (2, 4)])
def test_shuffled_responses_promise_what_the_worst_neighbours_attain_at_most(people, categories):
    for odds in (Fraction(2), Fraction(7)):
        for x in (Fraction(1), Fraction(3, 2), Fraction(19, 10)):
            truth = _worst(odds, people, categories, x)
            promise = dp.RandomizedResponse(odds, categories).shuffled(people)
            assert truth <= promise._cloned(x)
            if categories == 2:
                assert promise._same(x) <= truth
                least, most = excess(odds, x, people)
                assert least <= truth <= most
                assert most - least <= Fraction(1, 10**9)
            else:
                assert promise._third(x) <= truth


def test_the_same_value_of_all_others_is_attained_exactly():
    odds, x, people = Fraction(3), Fraction(6, 5), 12
    attained = max(
        _delta(odds, [value] * (people - 1), pair, 2, x) for value in (0, 1) for pair in ((0, 1), (1, 0))
    )
    found = dp.RandomizedResponse(odds).shuffled(people)._same(x)
    assert attained * (1 - Fraction(1, 10**6)) <= found <= attained


def test_the_others_are_worst_when_their_values_differ():
    """Why all their data are tried out: with the same value for everybody the truth would be missed."""
    odds, people, x = Fraction(2), 3, Fraction(101, 100)
    same = max(_delta(odds, [value] * 2, pair, 2, x) for value in (0, 1) for pair in ((0, 1), (1, 0)))
    least, most = excess(odds, x, people)
    assert least <= _worst(odds, people, 2, x) <= most
    assert same * Fraction(6, 5) < least


@pytest.mark.parametrize("people", [1, 2, 5])
def test_a_third_value_of_all_others_is_attained_exactly(people):
    for odds, x in ((Fraction(3), Fraction(1)), (Fraction(3), Fraction(6, 5)), (Fraction(9), Fraction(4))):
        attained = _delta(odds, [2] * (people - 1), (0, 1), 3, x)
        found = dp.RandomizedResponse(odds, 3).shuffled(people)._third(x)
        assert attained * (1 - Fraction(1, 10**6)) <= found <= attained


def _seen(odds, categories, people, x):
    """Return the excess of how many reports name either of two values, when all others have a third one."""
    truth, lie = odds / (odds + categories - 1), 1 / (odds + categories - 1)
    others = people - 1
    law = {}
    for a in range(people):
        for b in range(people - a):
            named = comb(others, a) * comb(others - a, b) * lie ** (a + b)
            law[a, b] = named * (1 - 2 * lie) ** (others - a - b)
    total = 0.0
    for a in range(people + 1):
        for b in range(people + 1 - a):
            first, second = law.get((a - 1, b), 0.0), law.get((a, b - 1), 0.0)
            neither = (1 - truth - lie) * law.get((a, b), 0.0)
            p, q = truth * first + lie * second + neither, lie * first + truth * second + neither
            total += max(p - x * q, 0.0)
    return total


def test_blocks_of_clones_say_nothing_that_is_not_attained():
    for odds, categories, x in ((3.0, 4, 1.25), (20.0, 3, 2.0)):
        exact = _seen(odds, categories, 100, x)
        found = float(dp.RandomizedResponse(Fraction(odds), categories).shuffled(100)._third(Fraction(x)))
        assert 0.85 * exact <= found <= exact


def test_both_ends_of_a_thousand_shuffled_answers_meet():
    bounds = dp.RandomizedResponse.calibrate(epsilon=1).shuffled(1000).epsilon("1e-6")
    assert bounds.low <= bounds.high <= bounds.low * 1.001


def _clones(odds, clone, people, x):
    """Return the curve of the pair with its clones, summed over everything in rationals."""
    total = Fraction(0)
    for c in range(people):
        weight = comb(people - 1, c) * clone**c * (1 - clone) ** (people - 1 - c)
        for a in range(c + 2):
            up = Fraction(comb(c, a - 1) if a else 0, 2**c)
            stay = Fraction(comb(c, a), 2**c)
            p, q = (odds * up + stay) / (odds + 1), (up + odds * stay) / (odds + 1)
            total += weight * max(p - x * q, Fraction(0))
    return total


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_of_clones_is_the_sum_over_all_of_them(seed):
    rng = random.Random(seed)
    odds = 1 + Fraction(rng.randint(1, 80), 10)
    x = 1 + (odds - 1) * Fraction(rng.randint(0, 99), 100)
    people = rng.randint(1, 60)
    exact = _clones(odds, 1 / odds, people, x)
    found = Shuffled(odds, 1 / odds, Fraction(1), people)._cloned(x)
    assert exact <= found <= exact * (1 + Fraction(1, 10**6)) + Fraction(1, 10**30)


def test_a_crowd_hides_each_of_its_members():
    local = dp.RandomizedResponse.calibrate(epsilon=2)
    found = [dp.shuffled(local, people).epsilon("1e-6") for people in (10, 200, 4_000)]
    assert found[0].high > found[1].high > found[2].high
    assert found[2].high < Fraction(1, 4)
    for bounds in found:
        assert 0 <= bounds.low <= bounds.high <= 2


def test_both_questions_agree():
    promise = dp.shuffled(dp.Pure(2), 1_200)
    epsilon = promise.epsilon("1e-6").high
    assert promise.delta(epsilon).high <= Fraction(1, 10**6)
    assert promise.delta(epsilon * Fraction(99, 100)).high > Fraction(1, 10**6)


def test_responses_are_known_better_than_by_their_epsilon():
    response = dp.RandomizedResponse.calibrate(epsilon=3, categories=8)
    known, plain = (dp.shuffled(each, 10_000) for each in (response, dp.Pure(3)))
    for epsilon in ("0.1", "0.2"):
        assert 0 < known.delta(epsilon).high < plain.delta(epsilon).high


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dp.shuffled(dp.Pure(1), 0),
        lambda: dp.shuffled(dp.Pure(1), "many"),
        lambda: dp.shuffled(dp.Concentrated(1), 10),
        lambda: dp.RandomizedResponse(3, questions=2).shuffled(10),
        lambda: dp.shuffled(dp.Pure(1), 10).delta(-1),
    ],
)
def test_what_cannot_be_shuffled_is_refused(ask):
    with pytest.raises(ParameterError):
        ask()


def test_no_epsilon_below_the_local_one_holds_without_delta():
    assert dp.shuffled(dp.Pure(1), 100).epsilon().high == dp.shuffled(dp.Pure(1), 100).local
    assert dp.shuffled(dp.Pure(0), 100).epsilon("1e-6").high == 0
