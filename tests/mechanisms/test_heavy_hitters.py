"""Frequent values found without a curator: what is certain of them, and one report from each person."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms.frequency import band
from discreet.mechanisms.heavy_hitters import FrequentValues, SearchRound

SELDOM = Fraction(1, 10**7)


def crowd(bits, *heavy, others=20_000):
    """Return people of whom some share a value, and the others hardly any."""
    rng = np.random.default_rng(bits)
    return np.concatenate(
        [np.full(count, value) for value, count in heavy] + [rng.integers(0, 2**bits, others)]
    )


@pytest.mark.parametrize(("bits", "step"), [(20, 5), (13, 4), (6, 6)])
def test_what_is_found_is_certain(bits, step):
    heavy = ((2**bits - 1, 60_000), (5, 40_000))
    values = crowd(bits, *heavy)
    found = dp.HeavyHitters(Fraction(4), bits, step, 16).run(values, beta=SELDOM)
    often = Counter(values.tolist())
    assert {value for value, count in often.items() if count >= found.sure} <= set(found.values)
    assert {2**bits - 1, 5} <= set(found.values)
    for value, each in zip(found.values, found.estimates, strict=True):
        assert often[value] > 0
        assert abs(each - often[value]) <= found.radius
    assert list(found.estimates) == sorted(found.estimates, reverse=True)


def test_the_radius_remembers_that_a_round_is_a_sample():
    """The band of the reports alone would be too narrow for all people."""
    search = dp.HeavyHitters(Fraction(8), 4, 2, 4)
    last = SearchRound(search, 1, (0, 1, 2, 3))
    reports = np.zeros(5_000, dtype=np.int64)
    found = last.collect(reports, people=10_000, beta="0.05")
    assert isinstance(found, FrequentValues)
    alone = 2 * band(last.oracle, 5_000, Fraction(1, 80))
    # Hoeffding's inequality for 20,000 chances, two rounds, both sides and half of beta.
    assert float(found.radius) == pytest.approx(
        float(alone) + 2 * (5_000 * np.log(4 * 10_000 * 2 / 0.05) / 2) ** 0.5
    )
    assert found.sure >= found.radius + 10_000 / 4


def test_a_device_says_which_beginning_is_hers_or_that_none_is():
    search = dp.HeavyHitters(Fraction(40), 6, 2, 4)
    second = SearchRound(search, 1, (0, 2))
    assert second.asked == (0, 1, 2, 3, 8, 9, 10, 11)
    values = np.array([0b000000, 0b001111, 0b100111, 0b111111, 0b010000])
    # At such an epsilon a report is the truth but once in 10**16 times.
    assert isinstance(second.oracle, dp.RandomizedResponse)
    assert second.report(values).tolist() == [0, 3, 5, 8, 8]


def test_everybody_sends_one_report_of_the_stated_epsilon():
    search = dp.HeavyHitters(Fraction(1, 2), 12, 4, 8)
    assert search.rounds == 3
    assert search.guarantee() == dp.Pure(Fraction(1, 2))
    for each in (search.begin(), SearchRound(search, 1, (1, 2, 3)), SearchRound(search, 2, (255,))):
        assert each.oracle.guarantee().epsilon().high <= Fraction(1, 2)
        assert each.oracle.categories == len(each.asked) + 1


def test_nothing_frequent_is_nothing_found():
    values = np.random.default_rng(3).integers(0, 2**30, 30_000)
    found = dp.HeavyHitters(Fraction(1), 30, 10, 8).run(values, beta=SELDOM)
    assert found.values == ()
    assert "no value that" in repr(found)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dp.HeavyHitters(0, 8),
        lambda: dp.HeavyHitters(1, 63),
        lambda: dp.HeavyHitters(1, 0),
        lambda: dp.HeavyHitters(1, 40, 20, 64),
        lambda: dp.HeavyHitters(1, 8).run([256]),
        lambda: dp.HeavyHitters(1, 8).run([-1]),
        lambda: dp.HeavyHitters(1, 8).begin().collect([], people=3),
        lambda: dp.HeavyHitters(1, 8).begin().collect([0, 0], people=1),
        lambda: dp.HeavyHitters(1, 8).run([1, 2, 3] * 10, beta=0),
    ],
)
def test_what_cannot_be_searched_is_refused(ask):
    with pytest.raises(ParameterError):
        ask()
