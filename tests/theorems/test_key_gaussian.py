"""Counts of groups found in the data with Gaussian noise, outcome by outcome, against their theorem."""

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.codec import decode, encode
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import WIDE, KeyGaussian, _tails

HAIR = 1e-12
SMALL = [
    KeyGaussian.calibrate(rho="0.5", delta="0.01", groups=3),
    KeyGaussian.calibrate(rho="0.2", delta="0.001", groups=2),
    KeyGaussian.calibrate(rho="1", delta="0.05", groups=1),
    KeyGaussian.calibrate(rho="8", delta="1e-6", groups=2),
]

Pair = tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=16)
def noise(variance: Fraction) -> dict[int, float]:
    """Return the law of discrete Gaussian noise, summed until nothing is left."""
    reach = int(12 * float(variance) ** 0.5) + 9
    masses = {k: exp(-k * k / (2 * float(variance))) for k in range(-reach, reach + 1)}
    total = sum(masses.values())
    return {k: mass / total for k, mass in masses.items()}


def of_one(mechanism: KeyGaussian, count: int, top: int) -> NDArray[np.float64]:
    """Return the law of one group: hidden, or shown with each noisy count that is ever reached."""
    law = np.zeros(top + 2)
    for k, p in noise(mechanism.sigma_squared).items():
        y = count + k
        law[y - mechanism.threshold + 1 if count and y >= mechanism.threshold else 0] += p
    return law


def release(mechanism: KeyGaussian, counts: tuple[int, ...], top: int) -> NDArray[np.float64]:
    law = np.ones(1)
    for count in counts:
        law = np.multiply.outer(law, of_one(mechanism, count, top)).ravel()
    return law


def neighbours(mechanism: KeyGaussian) -> list[Pair]:
    """Return counts of as many groups as may change, and each way in which they come, go or move by one."""
    groups, near = mechanism.groups or 0, mechanism.threshold
    changes = {0: (1,), 1: (0, 2), near: (near - 1, near + 1)}
    return [
        (base, moved)
        for base in product(changes, repeat=groups)
        for moved in product(*(changes[count] for count in base))
    ]


def worst(mechanism: KeyGaussian, pairs: list[Pair], epsilon: float) -> float:
    """Return the largest delta of all pairs, both ways."""
    top = mechanism.threshold + 1 + max(noise(mechanism.sigma_squared))
    found = 0.0
    for pair in pairs:
        p, q = (release(mechanism, counts, top) for counts in pair)
        for one, other in ((p, q), (q, p)):
            found = max(found, float(np.maximum(one - exp(epsilon) * other, 0).sum()))
    return found


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_neighbours_differ_by_no_more_than_promised(mechanism: KeyGaussian, epsilon: float) -> None:
    promised = mechanism.guarantee().delta(Fraction(epsilon)).high
    assert promised is not None
    assert worst(mechanism, neighbours(mechanism), epsilon) <= float(promised) + HAIR


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_the_slack_is_what_somebody_alone_in_all_groups_loses(mechanism: KeyGaussian) -> None:
    """At a very large epsilon only what one side can never show is left: it is the whole delta."""
    groups, slack = mechanism.groups or 0, float(mechanism.guarantee().slack)
    alone = [((0,) * groups, (1,) * groups)]
    assert worst(mechanism, alone, 200.0) == pytest.approx(slack, rel=1e-9)
    # The broken twin: a threshold lower by one shows lone people more often than anybody was promised.
    lower = KeyGaussian(mechanism.sigma_squared, mechanism.threshold - 1, groups=groups)
    assert worst(lower, alone, 200.0) > slack


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_where_no_new_group_is_shown_it_is_concentrated(mechanism: KeyGaussian, order: float) -> None:
    """The Renyi divergence of what groups show that both sides have, all of which move: at most order rho."""
    groups, rho = mechanism.groups or 0, float(mechanism.guarantee().rho)
    top = mechanism.threshold + 1 + max(noise(mechanism.sigma_squared))
    largest = 0.0
    for start in (1, 2, mechanism.threshold, mechanism.threshold + 3):
        p, q = (release(mechanism, (count,) * groups, top) for count in (start, start + 1))
        seen = (p > 0) & (q > 0)
        for one, other in ((p, q), (q, p)):
            moment = float(np.exp(order * np.log(one[seen]) + (1 - order) * np.log(other[seen])).sum())
            largest = max(largest, log(moment) / (order - 1))
    assert largest <= order * rho * (1 + 1e-9)
    # Far above the threshold nothing is hidden, and nothing of the promise is given away.
    if mechanism.sigma_squared > 1:
        assert largest > order * rho / 4


@given(
    st.fractions(Fraction(1, 10**6), 50, max_denominator=10**6),
    st.sampled_from(["0.01", "1e-6", "1e-12", "1e-30"]),
    st.integers(1, 40),
)
@settings(max_examples=40)
def test_calibration_never_spends_more_than_asked_and_wastes_nothing(
    rho: Fraction, delta: str, groups: int
) -> None:
    made = KeyGaussian.calibrate(rho=rho, delta=delta, groups=groups)
    promise = made.guarantee()
    assert promise.rho <= rho
    assert promise.rho > rho * (1 - Fraction(1, 2**30))
    assert promise.slack <= Fraction(delta)
    if made.threshold > 1:
        lower = KeyGaussian(made.sigma_squared, made.threshold - 1, groups=groups)
        assert lower.guarantee().slack > Fraction(delta) * (1 - Fraction(1, 2**30))
    assert decode(encode(made)) == KeyGaussian(made.sigma_squared, made.threshold)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
@pytest.mark.parametrize("beta", ["0.05", "0.3"])
def test_an_interval_holds_as_often_as_it_says_among_shown_groups(mechanism: KeyGaussian, beta: str) -> None:
    law = noise(mechanism.sigma_squared)
    for n in range(1, 3 * mechanism.threshold):
        outcomes = {n + k: p for k, p in law.items() if n + k >= mechanism.threshold}
        held = 0.0
        for y, p in outcomes.items():
            low, high = mechanism.interval(y, beta)
            assert 1 <= low <= y <= high
            held += p if low <= n <= high else 0
        assert held >= (1 - float(beta)) * sum(outcomes.values()) - HAIR


def test_intervals_of_groups_that_are_surely_shown_are_those_of_the_noise() -> None:
    """Far above the threshold hiding plays no part: each tail has at most half of beta."""
    for rho in ("0.02", "0.0001", "1e-9"):
        made = KeyGaussian.calibrate(rho=rho, delta="1e-6")
        radius = made.radius("0.05")
        low, high = made.interval(20 * made.threshold, "0.05")
        assert 0 <= radius - (20 * made.threshold - low) <= 1 + radius // 1000
        assert 0 <= radius - (high - 20 * made.threshold) <= 1 + radius // 1000


def test_the_smallest_counts_that_are_shown_lie_in_their_intervals() -> None:
    """Of wide noise each of them is rare under every number of people: an interval without them was told."""
    for made in (
        KeyGaussian.calibrate(rho="1e-6", delta="1e-9"),
        KeyCount.calibrate(epsilon="0.02", delta="1e-7"),
    ):
        for y in range(made.threshold, made.threshold + 5):
            low, high = made.interval(y, "0.05")
            assert low <= y <= high


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(30), Fraction(10**6), Fraction(2 * WIDE**2)])
def test_tails_in_floats_are_those_of_the_exact_law(variance: Fraction) -> None:
    tail, exact, sigma = _tails(variance), Gaussian(variance), float(variance) ** 0.5
    for far in (-3.0, -0.5, 0.0, 0.5, 3.0, 6.0):
        a = round(far * sigma)
        held = exact.cdf(-a)
        assert held.high is not None
        assert tail(a) == pytest.approx(float((held.low + held.high) / 2), rel=1e-8)


def test_draws_follow_the_law_and_nobody_is_no_group() -> None:
    mechanism, runs, n = KeyGaussian.calibrate(rho="0.1", delta="0.01"), 20_000, 6
    kept, noisy = mechanism.sample(np.full(runs, n))
    seen = Counter(int(y) if keep else None for y, keep in zip(noisy, kept, strict=True))
    exact: dict[int | None, float] = {
        n + k: p for k, p in noise(mechanism.sigma_squared).items() if n + k >= mechanism.threshold
    }
    exact[None] = 1 - sum(exact.values())
    often = {y: p for y, p in exact.items() if p * runs > 5}
    square = sum((seen[y] - runs * p) ** 2 / (runs * p) for y, p in often.items())
    # A chi-squared variable of at most twenty degrees exceeds 80 once in 10**8 times.
    assert len(often) <= 21
    assert square < 80
    assert mechanism.keep(n).low <= Fraction(1 - exact[None]) + Fraction(1, 10**9)
    assert not KeyGaussian(Fraction(9), 1).sample(np.zeros(2000, dtype=int))[0].any()
    assert mechanism.keep(0).high == 0


def test_what_is_no_count_is_refused() -> None:
    mechanism = KeyGaussian.calibrate(rho=1, delta="1e-6")
    for counts in ([-1], 3, [[1]]):
        with pytest.raises(ParameterError):
            mechanism.sample(np.array(counts))
    with pytest.raises(ParameterError, match="groups"):
        KeyGaussian(Fraction(1), 3).guarantee()
    with pytest.raises(ParameterError, match="threshold"):
        KeyGaussian(Fraction(1), 0)
