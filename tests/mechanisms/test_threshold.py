"""Selection of groups: a lone person's group is shown with probability at most delta, exactly."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.table import Table
from discreet.mechanisms.threshold import NoisyThreshold, Threshold

selections = st.builds(
    Threshold,
    st.fractions(Fraction(11, 10), 20, max_denominator=10),
    st.fractions(Fraction(1, 10**9), Fraction(1, 10), max_denominator=10**9),
)


def bernoulli_table(keep, up_to):
    rows = [(1 - keep(n), keep(n)) for n in range(up_to + 1)]
    return Table.of(rows, neighbours=[(n, n + 1) for n in range(up_to)])


@given(selections)
def test_selection_is_private_at_exactly_its_parameters(selection):
    table = bernoulli_table(selection.keep, selection.certain + 2)
    delta = table.delta_at_ratio(selection.odds)
    assert delta <= selection.delta
    assert delta > selection.delta * (1 - Fraction(1, 2**60))
    assert table.delta_at_ratio(1 + (selection.odds - 1) * Fraction(99, 100)) > selection.delta


@given(selections)
def test_a_lone_persons_group_is_kept_with_probability_delta_and_nobodys_never(selection):
    assert selection.keep(0) == 0
    assert selection.delta * (1 - Fraction(1, 2**60)) < selection.keep(1) <= selection.delta
    assert selection.keep(selection.certain) == 1 > selection.keep(selection.certain - 1)


@given(selections)
def test_more_people_are_never_kept_less(selection):
    chances = [selection.keep(n) for n in range(selection.certain + 1)]
    assert all(a < b for a, b in pairwise(chances))


@pytest.mark.parametrize(
    ("odds", "delta"), [(Fraction(2), Fraction(1, 100)), (Fraction(3, 2), Fraction(1, 50))]
)
def test_no_private_selection_keeps_more_at_any_size(odds, delta):
    selection = Threshold(odds, delta)
    size = selection.certain + 1
    upper, limits = [], []
    for n in range(1, size):
        for first, second in ((n, n - 1), (n - 1, n)):
            kept = np.zeros(size)
            kept[first], kept[second] = 1, -float(odds)
            upper.append(kept)
            limits.append(float(delta))
            hidden = np.zeros(size)
            hidden[first], hidden[second] = -1, float(odds)
            upper.append(hidden)
            limits.append(float(delta) + float(odds) - 1)
    for n in range(1, size):
        goal = np.zeros(size)
        goal[n] = -1
        best = linprog(goal, upper, limits, bounds=[(0, 0)] + [(0, 1)] * (size - 1))
        assert -best.fun == pytest.approx(float(selection.keep(n)), abs=1e-7)


def test_a_threshold_rounded_down_is_caught():
    # The broken twin: a real threshold of 37.3 shortened to 37 lets lone people through too often.
    sound = NoisyThreshold.calibrate(epsilon="0.5", delta="1e-6")
    assert sound.keep(1) <= Fraction(1, 10**6)
    assert NoisyThreshold(sound.alpha, sound.threshold - 1).keep(1) > Fraction(1, 10**6)


@given(
    st.fractions(Fraction(1, 10), 5, max_denominator=10),
    st.sampled_from(["1e-3", "1e-6", "1e-12"]),
    st.integers(1, 5),
)
@settings(max_examples=40)
def test_calibration_never_spends_more_than_asked(epsilon, delta, groups):
    for kind in (Threshold, NoisyThreshold):
        promise = kind.calibrate(epsilon=epsilon, delta=delta, groups=groups).guarantee(groups)
        assert epsilon * (1 - Fraction(1, 2**50)) <= promise.cost <= epsilon
        assert promise.slack <= Fraction(delta)


def test_selection_keeps_more_than_noise_and_threshold():
    for epsilon, delta in product(["0.1", 1, 3], ["1e-5", "1e-10"]):
        best = Threshold.calibrate(epsilon=epsilon, delta=delta)
        noisy = NoisyThreshold.calibrate(epsilon=epsilon, delta=delta)
        assert all(best.keep(n) >= noisy.keep(n) * (1 - Fraction(1, 2**60)) for n in range(best.certain + 1))


def test_noisy_counts_are_private_by_exact_sums():
    # One group, sizes n and n + 1: outputs are "hidden" or the noisy count.
    mechanism = NoisyThreshold(Fraction(1, 2), 6)
    centre = (1 - mechanism.alpha) / (1 + mechanism.alpha)

    def law(n):
        if n == 0:
            return [Fraction(1)] + [Fraction(0)] * 60
        shown = [centre * mechanism.alpha ** abs(6 + k - n) for k in range(60)]
        return [1 - mechanism.keep(n), *shown]

    promise = mechanism.guarantee(1)
    for n in range(12):
        for p, q in ((law(n), law(n + 1)), (law(n + 1), law(n))):
            assert sum(max(Fraction(0), a - 2 * b) for a, b in zip(p, q, strict=True)) <= promise.slack
    assert promise.slack == mechanism.keep(1)


def test_people_in_several_groups_pay_for_each():
    selection = Threshold(Fraction(2), Fraction(1, 100))
    keep = [selection.keep(n) for n in range(4)]
    promise = selection.guarantee(2)

    def pair(n, m):
        return [
            (keep[n] if x else 1 - keep[n]) * (keep[m] if y else 1 - keep[m]) for x in (0, 1) for y in (0, 1)
        ]

    worst = max(
        sum(max(Fraction(0), a - 4 * b) for a, b in zip(p, q, strict=True))
        for n, m in product(range(3), repeat=2)
        for p, q in ((pair(n, m), pair(n + 1, m + 1)), (pair(n + 1, m + 1), pair(n, m)))
    )
    assert selection.delta < worst <= promise.slack


def test_samples_follow_the_keep_probabilities():
    selection = Threshold.calibrate(epsilon=1, delta="0.01")
    sizes = np.repeat(np.arange(selection.certain + 3), 4_000)
    kept = selection.sample(sizes).reshape(-1, 4_000).sum(axis=1)
    statistic, degrees = 0.0, 0
    for n, seen in enumerate(kept):
        chance = float(selection.keep(n))
        if chance in (0, 1):
            assert seen == 4_000 * chance
        else:
            statistic += (seen - 4_000 * chance) ** 2 / (4_000 * chance * (1 - chance))
            degrees += 1
    assert chi2.sf(statistic, degrees) > 1e-8


def test_noisy_samples_never_show_an_empty_group():
    mechanism = NoisyThreshold(Fraction(9, 11), 2)
    shown, noisy = mechanism.sample(np.array([0] * 5_000 + [400] * 5_000))
    assert not shown[:5_000].any()
    assert shown[5_000:].all()
    assert (noisy[:5_000] >= 2).any()


def test_counts_may_be_single_or_huge():
    selection = Threshold.calibrate(epsilon=1, delta="1e-9")
    assert selection.sample(10**30) is True
    assert selection.sample(0) is False
    assert selection.sample(np.zeros((2, 3), dtype=np.int64)).shape == (2, 3)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Threshold.calibrate(epsilon=0, delta="1e-6"),
        lambda: Threshold.calibrate(epsilon=1, delta=0),
        lambda: Threshold.calibrate(epsilon=1, delta=1),
        lambda: Threshold.calibrate(epsilon=1, delta="1e-6", groups=0),
        lambda: Threshold.calibrate(epsilon="1e-9", delta="1e-6"),
        lambda: Threshold(Fraction(1), Fraction(1, 2)),
        lambda: Threshold(Fraction(2), Fraction(1, 2)).keep(-1),
        lambda: Threshold(Fraction(2), Fraction(1, 2)).sample([-1]),
        lambda: NoisyThreshold(Fraction(1, 2), 3).sample([1.5]),
        lambda: NoisyThreshold(Fraction(1, 2), 3).keep(-1),
    ],
)
def test_bad_parameters_are_refused(build):
    with pytest.raises(ParameterError):
        build()
