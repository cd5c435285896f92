"""Quantiles from one release: they are those of the histogram, and their intervals cover."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import Prefix, Product, plan
from discreet.workload.quantile import quantiles

LEVELS = ("0.1", "0.5", "0.9")


def exact(counts: np.ndarray, level: str) -> int:
    running = np.cumsum(counts)
    return int(np.argmax(running * Fraction(level).denominator >= Fraction(level).numerator * running[-1]))


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(
    "guarantee", [Pure(Fraction(1)), Concentrated(Fraction(1, 2))], ids=["pure", "concentrated"]
)
def test_intervals_cover_the_quantiles_of_the_data(guarantee, adjacency):
    """Of 200 intervals at 95 %, fewer than 163 are covered with probability below 1e-7."""
    counts = np.random.default_rng(0).integers(0, 12, 64)
    made = plan(Prefix(64), guarantee, adjacency)
    total = int(counts.sum()) if adjacency is Adjacency.REPLACE else None
    hits = dict.fromkeys(LEVELS, 0)
    for _ in range(200):
        found = quantiles(made.estimate(made.measure(counts), total=total), LEVELS)
        for level, quantile in zip(LEVELS, found, strict=True):
            assert quantile.low <= quantile.cell <= quantile.high
            hits[level] += quantile.low <= exact(counts, level) <= quantile.high
    assert min(hits.values()) >= 163


def test_with_little_noise_quantiles_are_those_of_the_histogram():
    counts = np.array([100, 300, 0, 500, 100])
    made = plan(Prefix(5), Concentrated(Fraction(1000)))
    found = quantiles(made.estimate(made.measure(counts)), ["0.05", "0.3", "0.6", "0.95"])
    assert [q.cell for q in found] == [0, 1, 3, 4]


def test_levels_and_shapes_that_make_no_sense_are_refused():
    made = plan(Prefix(4), Pure(Fraction(1)))
    estimate = made.estimate(made.measure(np.array([1, 2, 3, 4])))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        quantiles(estimate, ["1.5"])
    table = plan(Product((Prefix(2), Prefix(2))), Pure(Fraction(1)))
    with pytest.raises(ParameterError, match="one ordered attribute"):
        quantiles(table.estimate(table.measure(np.array([1, 2, 3, 4]))), ["0.5"])
