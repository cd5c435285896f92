"""Descent: it ends where the slope ends, within the quarter it was given, and never above where it began."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.workload.descent import descend


def bowl(size, seed):
    """A convex quadratic function whose curvatures lie four orders apart."""
    draw = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(draw.normal(size=(size, size)))
    curve = (turn * np.logspace(0, 4, size)) @ turn.T
    middle = draw.normal(size=size)

    def value_and_slope(x):
        away = x - middle
        return 0.5 * float(away @ curve @ away), curve @ away

    return value_and_slope, middle, curve


@pytest.mark.parametrize("size", [1, 2, 30])
def test_the_bottom_of_a_bowl_is_found(size):
    function, middle, _ = bowl(size, size)
    found = descend(function, np.zeros(size), steps=3000, memory=20, flat=0.0, level=1e-9)
    assert np.abs(found - middle).max() < 1e-8


def test_the_bent_valley_is_followed_to_its_end():
    def rosenbrock(x):
        bend = x[1] - x[0] ** 2
        slope = np.array([-400 * x[0] * bend - 2 * (1 - x[0]), 200 * bend])
        return 100 * bend**2 + (1 - x[0]) ** 2, slope

    assert np.abs(descend(rosenbrock, np.array([-1.2, 1.0]), steps=200, flat=0.0) - 1).max() < 1e-6


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 12))
def test_within_the_quarter_no_step_pays_at_the_end(seed, size):
    """What is positive is level, and what is zero could only fall by leaving: then nothing is lower."""
    function, _, _ = bowl(size, seed)
    start = np.abs(np.random.default_rng(seed + 1).normal(size=size))
    found = descend(function, start, steps=2000, flat=0.0, level=1e-7, positive=True)
    value, slope = function(found)
    assert value <= function(start)[0]
    assert (found >= 0).all()
    assert np.abs(np.where(found > 0, slope, np.minimum(slope, 0))).max() < 1e-3


def test_the_same_start_ends_in_the_same_place_to_the_last_bit():
    function, _, _ = bowl(20, 3)
    first, second = (descend(function, np.ones(20), steps=40, positive=True) for _ in range(2))
    assert first.tobytes() == second.tobytes()
