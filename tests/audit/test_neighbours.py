"""Patterns are neighbours, and climbing finds what patterns miss."""

import numpy as np
import pytest
from tests.audit.seeded import seeded

from discreet.audit import patterns, search
from discreet.audit.neighbours import moves
from discreet.audit.specimens import laplace_noise
from discreet.errors import ParameterError


def distance(pair):
    return max(abs(a - b) for a, b in zip(*pair, strict=True))


@pytest.mark.parametrize("length", [1, 2, 5, 10])
def test_patterns_and_moves_keep_every_entry_within_reach(length):
    for pair in patterns(length, reach=3):
        assert 0 < distance(pair) <= 3
        assert all(distance(moved) == distance(pair) for moved in moves(pair, 3))


def test_patterns_for_one_moving_entry_move_one():
    for left, right in patterns(6, one=True):
        assert sum(a != b for a, b in zip(left, right, strict=True)) == 1


def trap(q, count):
    """Return a histogram with far too little noise once its first count reaches four."""
    return np.asarray(q) + laplace_noise(10.0 if q[0] < 4 else 0.5, count, len(q))


@pytest.mark.fuzz
def test_climbing_finds_a_violation_that_no_pattern_meets():
    with seeded(400):
        still = search(trap, 2, epsilon=1, runs=2_000, search_runs=2_000, one=True, batched=True)
        climbed = search(trap, 2, epsilon=1, runs=2_000, search_runs=4_000, one=True, steps=3, batched=True)
    assert not still.violated
    assert climbed.violated
    assert climbed.left[0] >= 3


def test_an_empty_vector_is_refused():
    with pytest.raises(ParameterError, match="length"):
        patterns(0)
