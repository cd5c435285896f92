"""Counts of groups found in the data: the optimal selection, and the count at no further price, exactly."""

from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.codec import decode, encode
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.threshold import NoisyThreshold, Threshold

SETTINGS = [("1", "1e-6"), ("0.5", "1e-3"), ("2", "1e-9"), ("0.3", "0.02")]


@lru_cache(maxsize=8)
def masses(mechanism: KeyCount) -> dict[int, Fraction]:
    return {k: mechanism.pmf(k) for k in range(-400, 400) if mechanism.pmf(k)}


def law(mechanism: KeyCount, n: int) -> dict[int | None, Fraction]:
    """Return the probabilities of all outcomes of a group: its counts, or that it is not shown."""
    least = mechanism.threshold
    shown: dict[int | None, Fraction] = {n + k: p for k, p in masses(mechanism).items() if n + k >= least}
    return {**shown, None: 1 - sum(shown.values(), Fraction(0))}


def divergence(p: dict[int | None, Fraction], q: dict[int | None, Fraction], odds: Fraction) -> Fraction:
    return sum((max(Fraction(0), p[y] - odds * q.get(y, Fraction(0))) for y in p), Fraction(0))


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_shown_counts_are_private_by_exact_sums(epsilon: str, delta: str) -> None:
    mechanism = KeyCount.calibrate(epsilon=epsilon, delta=delta)
    promise, certain = mechanism.guarantee(1), Threshold(mechanism.odds, mechanism.delta).certain
    assert promise.cost <= Fraction(epsilon)
    assert promise.slack <= Fraction(delta)
    worst = Fraction(0)
    for n in range(certain + 3):
        one, other = law(mechanism, n), law(mechanism, n + 1)
        for found in (divergence(one, other, mechanism.odds), divergence(other, one, mechanism.odds)):
            assert found <= promise.slack
            worst = max(worst, found)
    assert worst > promise.slack * Fraction(999, 1000)


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_a_group_is_shown_as_often_as_the_best_selection_shows_it(epsilon: str, delta: str) -> None:
    mechanism, best = (
        KeyCount.calibrate(epsilon=epsilon, delta=delta),
        Threshold.calibrate(epsilon=epsilon, delta=delta),
    )
    noisy = NoisyThreshold.calibrate(epsilon=epsilon, delta=delta)
    for n in range(best.certain + 1):
        shown = 1 - law(mechanism, n)[None]
        assert shown == mechanism.keep(n)
        assert shown >= best.keep(n) * (1 - Fraction(1, 2**20))
        assert shown >= noisy.keep(n) * (1 - Fraction(1, 2**20))


def test_the_count_is_as_good_as_one_that_is_paid_for() -> None:
    """The geometric mechanism at the same epsilon has a variance of 1.84."""
    assert float(KeyCount.calibrate(epsilon=1, delta="1e-6").variance) < 1.92
    masses = [KeyCount.calibrate(epsilon=1, delta="1e-6").pmf(k) for k in range(-60, 60)]
    assert sum(masses) == 1
    assert abs(sum(k * p for k, p in zip(range(-60, 60), masses, strict=True))) <= Fraction(1, 2)


@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
@pytest.mark.parametrize("beta", ["0.05", "0.3"])
def test_an_interval_holds_as_often_as_it_says_among_shown_groups(
    epsilon: str, delta: str, beta: str
) -> None:
    mechanism = KeyCount.calibrate(epsilon=epsilon, delta=delta)
    for n in range(1, 2 * mechanism.threshold, 3):
        outcomes = law(mechanism, n)
        shown = 1 - outcomes.pop(None)
        held = Fraction(0)
        for y, chance in outcomes.items():
            assert y is not None
            low, high = mechanism.interval(y, beta)
            assert 1 <= low <= high
            held += chance if low <= n <= high else 0
        assert held >= (1 - Fraction(beta)) * shown


def test_a_radius_is_the_smallest() -> None:
    mechanism = KeyCount.calibrate(epsilon=1, delta="1e-6")
    for beta in ("0.5", "0.05", "0.001"):
        radius = mechanism.radius(beta)
        beyond = sum(mechanism.pmf(k) for k in range(-80, 80) if abs(k) > radius)
        nearer = sum(mechanism.pmf(k) for k in range(-80, 80) if abs(k) > radius - 1)
        assert beyond <= Fraction(beta) < nearer


def test_draws_follow_the_law() -> None:
    mechanism, runs, n = KeyCount.calibrate(epsilon=1, delta="0.01"), 20_000, 6
    kept, noisy = mechanism.sample(np.full(runs, n))
    seen = Counter(int(y) if keep else None for y, keep in zip(noisy, kept, strict=True))
    exact = law(mechanism, n)
    assert set(seen) <= set(exact)
    square = sum(
        (seen[y] - runs * float(p)) ** 2 / (runs * float(p)) for y, p in exact.items() if p * runs > 5
    )
    # A chi-squared variable of at most twenty degrees exceeds 80 once in 10**8 times.
    assert len([p for p in exact.values() if p * runs > 5]) <= 21
    assert square < 80
    assert not mechanism.sample(np.zeros(2000, dtype=int))[0].any()


@given(
    st.fractions(Fraction(1, 10), 5, max_denominator=10),
    st.sampled_from(["1e-3", "1e-6", "1e-12"]),
    st.integers(1, 5),
)
@settings(max_examples=20)
def test_calibration_never_spends_more_than_asked(epsilon: Fraction, delta: str, groups: int) -> None:
    found = KeyCount.calibrate(epsilon=epsilon, delta=delta, groups=groups)
    promise = found.guarantee(groups)
    assert epsilon * (1 - Fraction(1, 2**50)) <= promise.cost <= epsilon
    assert (
        Fraction(delta) * (1 - Fraction(1, 2**30) - Fraction(groups, 100)) <= promise.slack <= Fraction(delta)
    )
    assert decode(encode(found)) == KeyCount(found.odds, found.delta)


def test_a_curve_shifted_by_one_is_caught() -> None:
    """The broken twin: a threshold below where the curve says shows lone people too often."""
    mechanism = KeyCount.calibrate(epsilon=1, delta="1e-6")
    one, nobody = law(mechanism, 1), {None: Fraction(1)}
    assert divergence(one, nobody, mechanism.odds) <= mechanism.guarantee(1).slack
    shown = mechanism.pmf(mechanism.threshold - 1) + mechanism.pmf(mechanism.threshold - 2)
    assert shown > mechanism.guarantee(1).slack


def test_what_is_no_count_is_refused() -> None:
    mechanism = KeyCount.calibrate(epsilon=1, delta="1e-6")
    for counts in ([-1], 3, [[1]]):
        with pytest.raises(ParameterError):
            mechanism.sample(np.array(counts))
