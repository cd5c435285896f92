"""Integers in two parts: their sums with floats are rounded once, and they come back whole."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact.wide import HELD, Wide


def parts(numbers, bits):
    rest = np.array([k % 2**bits for k in numbers], dtype=np.int64 if bits <= 62 else object)
    return Wide(np.array([k >> bits for k in numbers], dtype=np.int64), rest, bits)


def hard_sums(bits):
    """Pairs of an integer and a whole float whose sum is next to the middle of two floats."""
    rng = random.Random(5)
    for _ in range(3000):
        size = 2 ** rng.randrange(54, 49 + bits)
        middle = size + (2 * rng.randrange(2**52) + 1) * size // 2**53
        total = rng.choice((-1, 1)) * (middle + rng.choice((-1, 0, 1)))
        whole = int(
            float(rng.randrange(-(2 ** rng.randrange(1, 49 + bits)), 2 ** rng.randrange(1, 49 + bits)))
        )
        yield total - whole, whole


def rounded_wrongly(bits, add):
    numbers, whole = zip(*hard_sums(bits), strict=True)
    wide = parts(numbers, bits)
    assert wide.held
    sums = add(wide, np.array(whole, dtype=np.float64))
    # Python rounds integers to the nearest float, ties to even.
    return [k for k, w, s in zip(numbers, whole, sums.tolist(), strict=True) if s != float(k + w)]


def rounding_twice(wide, whole):
    return (wide.head * 2.0**wide.bits + wide.rest) + whole


@pytest.mark.parametrize("bits", [10, 16, 30, 50])
def test_sums_are_the_nearest_floats_and_rounding_twice_is_caught(bits):
    assert rounded_wrongly(bits, Wide.plus) == []
    assert rounded_wrongly(bits, rounding_twice) != []


@given(st.integers(1, 200), st.data())
def test_integers_come_back_whole(bits, data):
    numbers = data.draw(st.lists(st.integers(-(2 ** (bits + 61)), 2 ** (bits + 61)), max_size=5))
    whole = parts(numbers, bits).integers()
    assert whole.tolist() == numbers
    small = bits <= 62 and all(-(2**62) <= k < 2**62 for k in numbers)
    assert (whole.dtype == np.int64) == small


def test_parts_that_floats_cannot_add_are_not_held():
    assert parts([(HELD - 1) << 20], 20).held
    assert not parts([HELD << 20], 20).held
    assert not parts([-(HELD + 1) << 20], 20).held
    assert not parts([1], 52).held
