"""DP-Sniper's published bounds, reached with a fraction of its samples.

Its table used 232 million samples per input; the runs here are per input, and the slow rows are left to the
benchmark.  Coins are seeded, so a bound is the same number every time.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest
from benchmarks.audit import (
    BENT,
    CASES,
    EARLY,
    FLAT10,
    LATE,
    LAWS,
    THEIRS,
    first_above_law,
    largest_law,
    limit,
)
from tests.audit.seeded import seeded

from discreet.audit import Tally, audit, epsilon_lower

ROWS = {case.name: case for case in CASES}


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        pytest.param("Laplace", 7_000_000, marks=pytest.mark.fuzz),
        pytest.param("TruncatedGeometric", 8_000_000, marks=pytest.mark.fuzz),
        ("NoisyHist2", 100_000),
        ("RNM4", 400_000),
        ("SVT5", 50_000),
        pytest.param("SVT6", 1_500_000, marks=pytest.mark.fuzz),
        pytest.param("PrefixSum", 300_000, marks=pytest.mark.fuzz),
        pytest.param("OneTimeRAPPOR", 300_000, marks=pytest.mark.fuzz),
        ("float Laplace", 5_000),
    ],
)
def test_published_bounds_are_reached_with_a_twentieth_of_the_samples(name, runs):
    case = ROWS[name]
    assert 20 * runs <= THEIRS
    with seeded(300):
        verdict = audit(
            case.subject,
            case.left,
            case.right,
            epsilon="0.1",
            runs=runs,
            confidence="0.9",
            batched=case.batched,
        )
    assert verdict.epsilon_lower >= case.published


def test_no_row_of_the_benchmark_uses_more_than_a_twentieth_of_their_samples():
    assert all(20 * case.runs <= THEIRS for case in CASES)


def found_above(rows):
    return np.where(rows == 1, 1, 0)


@pytest.mark.parametrize(
    ("name", "law", "sides", "cells"),
    [
        ("SVT1", partial(first_above_law, hidden=20, noise=40, threshold=0.5), (FLAT10, LATE), found_above),
        ("SVT4", partial(first_above_law, hidden=40, noise=40 / 3, threshold=1), (EARLY, BENT), found_above),
        ("RNM3", largest_law, (0, 1), None),
    ],
)
def test_the_laws_behind_the_limits_are_those_of_the_specimens(name, law, sides, cells):
    """Expected and seen counts of each cell differ by no more than six standard deviations."""
    case, runs = ROWS[name], 200_000
    for side in sides:
        with seeded(301):
            if cells is None:
                edges = np.concatenate([[-np.inf], np.arange(-100, 400, 0.25), [np.inf]])
                seen = np.histogram(case.subject((side,) * 5, runs) + 1e-9, edges)[0]
            else:
                above = cells(case.subject(side, runs))
                first = np.where(above.any(axis=1), above.argmax(axis=1), len(side))
                seen = np.bincount(first, minlength=len(side) + 1)
        expected = runs * law(side)
        # Cells that hardly ever occur are not normal enough to be judged one by one.
        often = expected > 200
        assert often.any()
        assert (np.abs(seen - expected)[often] < 6 * np.sqrt(expected[often])).all()


def test_a_limit_is_the_best_bound_over_all_events():
    """Enumerate every pair of disjoint sets of four outputs."""
    left, right = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    bounds = []
    for guess in product((-1, 0, 1), repeat=4):
        guesses = np.array(guess)
        correct = round(float(left[guesses < 0].sum() + right[guesses > 0].sum()) * 1000)
        wrong = round(float(right[guesses < 0].sum() + left[guesses > 0].sum()) * 1000)
        bounds.append(epsilon_lower(Tally(2000, correct, wrong), 0.1))
    assert limit((left, right), 1000) == max(bounds)


def test_what_was_published_beyond_the_limit_is_beyond_it():
    """Nobody shows these two with a twentieth of the samples, but by luck; with all of them one can."""
    for name in ("RNM3", "SVT4"):
        assert limit(LAWS[name], THEIRS // 20) < ROWS[name].published < limit(LAWS[name], 200_000_000)


def test_what_was_published_within_the_limit_is_within_it():
    assert limit(LAWS["SVT1"], THEIRS // 20) > ROWS["SVT1"].published
