"""What follows from a digest: the same each time, all of it from the digest, and evenly spread."""

from hashlib import sha256, shake_256

import numpy as np
import pytest
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.workload import Expansion

SURE = 1e-9
"""Digests are fixed, so the outcome is the same each time; few others would make these tests fail."""


def digest(word):
    return sha256(word).digest()


def pieces(expansion):
    return [
        expansion.words(3).tolist(),
        expansion.fraction(),
        expansion.order(50).tolist(),
        expansion.between([0, -5], [9, 2**62]).tolist(),
    ]


def test_the_same_digest_says_the_same_and_another_one_something_else():
    assert pieces(Expansion(digest(b"a"))) == pieces(Expansion(digest(b"a")))
    both = zip(pieces(Expansion(digest(b"a"))), pieces(Expansion(digest(b"b"))), strict=True)
    assert all(one != other for one, other in both)


def test_no_piece_is_said_twice():
    expansion = Expansion(digest(b"once"))
    words = np.concatenate([expansion.words(count) for count in (1, 7, 7, 500, 500)])
    assert np.unique(words).size == words.size


def test_the_words_are_those_of_the_standard_on_every_machine():
    # SHAKE-256 of the number of the piece and the digest, the lowest byte of a word first.
    first = int.from_bytes(shake_256(bytes(40)).digest(8), "little")
    assert int(Expansion(bytes(32)).words(1)[0]) == first


def test_orders_hold_each_place_once_and_favour_none():
    expansion = Expansion(digest(b"order"))
    orders = np.array([expansion.order(5) for _ in range(2000)])
    assert np.all(np.sort(orders, axis=1) == np.arange(5))
    low, high = binom.ppf([SURE, 1 - SURE], 2000, 1 / 5)
    for place in range(5):
        times = np.bincount(orders[:, place], minlength=5)
        assert np.all((low <= times) & (times <= high))
    assert expansion.order(0).size == 0


def test_numbers_lie_between_their_ends_and_favour_none():
    expansion = Expansion(digest(b"between"))
    low, high = np.full(4000, -3), np.full(4000, 4)
    drawn = expansion.between(low, high)
    assert set(drawn.tolist()) == set(range(-3, 4))
    least, most = binom.ppf([SURE, 1 - SURE], 4000, 1 / 7)
    times = np.bincount(drawn + 3)
    assert np.all((least <= times) & (times <= most))
    assert expansion.between([7, -1], [8, 0]).tolist() == [7, -1]
    parts = [expansion.fraction() for _ in range(2000)]
    assert 0 <= min(parts) < 0.05
    assert 0.95 < max(parts) < 1


@pytest.mark.parametrize("short", [b"", b"seven", "x" * 32, 5])
def test_what_is_no_digest_is_refused(short):
    with pytest.raises(ParameterError, match="digest of 32 bytes"):
        Expansion(short)
