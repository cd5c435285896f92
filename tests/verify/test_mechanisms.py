"""The library's finite mechanisms, decided by the verifier: what they guarantee is true, and no less is."""

from fractions import Fraction
from itertools import product

import pytest

from discreet.exact.number import exp_up, log_up
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.table import Table
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.verify import epsilon_distance, is_private, worst_ratio


def upper(guarantee):
    return guarantee.epsilon().high


def decided(table, pairs, guarantee):
    """The guarantee holds, and it is tight: a thousandth less is refuted."""
    epsilon = upper(guarantee)
    assert is_private(table, pairs, epsilon)
    assert not is_private(table, pairs, epsilon * Fraction(999, 1000))
    ratio = worst_ratio(table, pairs)
    assert ratio is not None
    assert ratio <= exp_up(epsilon)


@pytest.mark.parametrize("categories", [2, 3, 5])
def test_randomized_response_is_exactly_as_private_as_it_says(categories):
    mechanism = RandomizedResponse.calibrate(epsilon="0.7", categories=categories)
    table = {x: dict(enumerate(mechanism.pmf(x))) for x in range(categories)}
    decided(table, [(a, b) for a in table for b in table if a < b], mechanism.guarantee())


def test_the_truncated_geometric_is_exactly_as_private_as_it_says():
    mechanism = TruncatedGeometric(Fraction(2, 3), 0, 6)
    table = {x: {z: mechanism.pmf(z, x) for z in range(7)} for x in range(7)}
    decided(table, [(x, x + 1) for x in range(6)], mechanism.guarantee(1))


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize("monotone", [False, True])
def test_selections_are_as_private_as_they_say(kind, monotone):
    mechanism = kind(Fraction(1, 2))
    scores = list(product(range(3), repeat=3))
    table = {s: dict(enumerate(mechanism.pmf(list(s)))) for s in scores}
    pairs = [
        (a, b)
        for a, b in product(scores, repeat=2)
        if a != b
        and all(abs(x - y) <= 1 for x, y in zip(a, b, strict=True))
        and (not monotone or all(x <= y for x, y in zip(a, b, strict=True)))
    ]
    epsilon = upper(mechanism.guarantee(1, monotone=monotone))
    assert is_private(table, pairs, epsilon)
    ratio = worst_ratio(table, pairs)
    assert ratio is not None
    # Three candidates with scores 0..2 come close to the bound that holds for any number of them.
    assert log_up(ratio) > epsilon * Fraction(1, 2)


def test_a_table_and_the_verifier_measure_the_same_distance():
    table = Table.of([["1/2", "1/2"], ["1/5", "4/5"]], inputs=["a", "b"], outputs=["x", "y"])
    laws = {row: table.pmf(row) for row in ("a", "b")}
    assert worst_ratio(laws, [("a", "b")]) == table.ratio()
    low, high = epsilon_distance(laws["a"], laws["b"], Fraction(1, 10))
    bounds = table.delta("0.1")
    assert bounds.low <= high
    assert low <= bounds.high
