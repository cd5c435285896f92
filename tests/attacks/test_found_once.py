"""What an attack on keys found with Gaussian noise, and on adaptive histograms, found once."""

from contextlib import suppress
from math import exp

import numpy as np
import pandas as pd
import pytest

from discreet.errors import DiscreetError
from discreet.mechanisms.codec import decode
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.query.check.formula import evaluate
from discreet.query.price.interval import Intervals
from discreet.release.opening import open as open_session
from discreet.workload import AdaptivePlan

PEOPLE = pd.DataFrame({"person": range(40), "city": ["a"] * 40})


def opened(epsilon="100"):
    return open_session(
        people=PEOPLE,
        unit="person",
        rows_per_unit=20,
        groups_per_unit=20,
        epsilon=epsilon,
        delta="1e-6",
        columns={"city": "text"},
    )


def refusal(data, text, **price):
    """Return why a question has no price, or nothing where it has one."""
    try:
        data.quote(text, **price)
    except DiscreetError as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("column", ["{} * 2", "{} + 0", "{} / 400.0"])
def test_what_is_made_of_a_found_count_lies_in_its_interval_as_often_as_the_count_itself(column):
    """A group of 55 is shown where noise was large: twice its count was 22 % of the time outside."""
    with opened() as data:
        text = f"SELECT city, {column.format('COUNT(DISTINCT person)')} AS n FROM people GROUP BY city"
        priced = data.quote(text, epsilon=2)
    (share,), formula, intervals = priced.shares, priced.checked.columns[-1].formula, Intervals(priced)
    least, v = share.mechanism.threshold, float(share.mechanism.sigma_squared)
    for people in (least // 2, least * 4 // 5):
        truth, shown, held = evaluate(formula, ("a",), {0: people}), 0.0, 0.0
        for count in range(least, least + int(12 * v**0.5)):
            mass = exp(-((count - people) ** 2) / (2 * v))
            low, high = intervals.of(formula, ("a",), {0: count})
            shown += mass
            held += mass if (low is None or low <= truth) and (high is None or truth <= high) else 0
        assert held >= 0.95 * shown


@pytest.mark.parametrize("epsilon", ["1e-330", "1e350"])
def test_an_extreme_epsilon_is_priced_or_refused_in_words(epsilon):
    """A service says of it that something went wrong after the question was paid for."""
    with opened("1e400") as data:
        assert "defect" not in refusal(data, "SELECT city FROM people GROUP BY city", epsilon=epsilon)


def test_a_question_with_a_large_delta_of_its_own_does_not_claim_that_of_the_budget():
    """Whoever is alone is shown with probability 0.001, and (0.5, 1e-6) was said of it."""
    with opened("1") as data:
        priced = data.quote(
            "SELECT city, COUNT(DISTINCT person) AS n FROM people GROUP BY city", epsilon="0.5", delta="1e-3"
        )
    assert priced.alone is None or priced.alone[1] >= priced.cost.delta


def test_a_tiny_delta_is_not_called_a_defect():
    with opened("1") as data:
        assert "defect" not in refusal(
            data, "SELECT city FROM people GROUP BY city", epsilon=1, delta="1e-900"
        )


@pytest.mark.parametrize("beta", ["1e-11", "1e-13", "1e-20", "1e-60"])
def test_intervals_are_honest_at_any_confidence(beta):
    """1 - tail is nothing in floats where it is 4e-17: 59 people were said to be impossible at 1 - 1e-20."""
    made = KeyGaussian.calibrate(rho="0.1", delta="1e-6")
    low, high = made.interval(40, beta)
    v = float(made.sigma_squared)

    def chance(people, counts):
        return sum(exp(-((count - people) ** 2) / (2 * v)) for count in counts)

    shown = range(made.threshold, 400)
    assert chance(high + 1, range(made.threshold, 41)) < float(beta) / 2 * chance(high + 1, shown)
    assert low == 1 or chance(low - 1, range(40, 400)) < float(beta) / 2 * chance(low - 1, shown)


def test_an_interval_that_is_surer_than_any_float_is_found_at_once():
    made = KeyGaussian.calibrate(rho="0.1", delta="1e-6")
    low, high = made.interval(40, "1e-400")
    assert low == 1
    assert 40 < high < 300
    for wrong in ("x", None, 40.5, made.threshold - 1):
        with pytest.raises(DiscreetError):
            made.interval(wrong, "0.05")


@pytest.mark.parametrize(
    "text", ['["key-gaussian/1","1/0","3"]', '["gaussian/1","x"]', "[", '["geometric/1","2"]']
)
def test_a_damaged_mechanism_is_refused_in_words(text):
    with pytest.raises(DiscreetError):
        decode(text)


def test_counts_of_64_bits_without_sign_do_not_wrap_around():
    """One more person in a cell made a histogram of 2**63 people one of minus as many."""
    plan = AdaptivePlan.calibrate(epsilon=1, cells=4)
    assert plan.estimate(plan.measure(np.array([2**63, 0, 0, 0], dtype=np.uint64))).sum() > 2**62


@pytest.mark.parametrize(
    "given",
    [{"sensitivity": 0}, {"sensitivity": "2"}, {"cells": 8.0}, {"cells": "8"}, {"total": "3"}],
    ids=str,
)
def test_what_is_no_parameter_of_an_adaptive_histogram_is_refused_in_words(given):
    with suppress(DiscreetError):
        plan = AdaptivePlan.calibrate(**{"epsilon": 1, "cells": 8, **given})
        assert plan.guarantee.cost <= 1
        plan.measure(np.zeros(8, dtype=np.int64))
