"""Groups found by weights: the promise holds for every pair of neighbours by enumeration, and is not beaten.

Small laws are summed here by themselves, so nothing of the mechanism's own arithmetic is trusted.
"""

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
from discreet.mechanisms.key_weight import MOST_GROUPS, ONE, KeyWeight, weight, weights

HAIR = 1e-12
SMALL = [
    (KeyWeight.calibrate(rho="0.5", delta="0.01", groups=3, one=3), 3),
    (KeyWeight.calibrate(rho="0.2", delta="0.001", groups=2, one=4), 2),
    (KeyWeight.calibrate(rho="1", delta="0.05", groups=3, one=2), 3),
]


@lru_cache(maxsize=16)
def noise(variance: Fraction) -> dict[int, float]:
    """Return the law of discrete Gaussian noise, summed until nothing is left."""
    reach = int(12 * float(variance) ** 0.5) + 3
    masses = {k: exp(-k * k / (2 * float(variance))) for k in range(-reach, reach + 1)}
    total = sum(masses.values())
    return {k: mass / total for k, mass in masses.items()}


def shown(mechanism: KeyWeight, total: int) -> float:
    """Return how often a group of this weight is shown."""
    return sum(p for k, p in noise(mechanism.sigma_squared).items() if total + k >= mechanism.threshold)


def of_one(mechanism: KeyWeight, total: int, top: int) -> NDArray[np.float64]:
    """Return the law of one group: hidden, or shown with each noisy weight that is ever reached."""
    law = np.zeros(top + 2)
    for k, p in noise(mechanism.sigma_squared).items():
        y = total + k
        law[y - mechanism.threshold + 1 if total and y >= mechanism.threshold else 0] += p
    return law


def release(mechanism: KeyWeight, totals: tuple[int, ...], top: int) -> NDArray[np.float64]:
    """Return the law of all that is shown of groups of these weights."""
    law = np.ones(1)
    for total in totals:
        law = np.multiply.outer(law, of_one(mechanism, total, top)).ravel()
    return law


def hockey_stick(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def worst(
    mechanism: KeyWeight, pairs: list[tuple[tuple[int, ...], tuple[int, ...]]], epsilon: float
) -> float:
    """Return the largest delta of all pairs, both ways."""
    top = max(max(totals) for pair in pairs for totals in pair) + max(noise(mechanism.sigma_squared))
    found = 0.0
    for one, other in pairs:
        p, q = release(mechanism, one, top), release(mechanism, other, top)
        found = max(found, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
    return found


def with_one_more(
    own: tuple[int, ...], groups: int, others: list[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return weights without and with somebody, in every number of groups, beside others or alone in them."""
    found = []
    for number in range(1, groups + 1):
        for base in product(others, repeat=number):
            found.append((base, tuple(total + own[number - 1] for total in base)))
    return found


@pytest.mark.parametrize(("mechanism", "groups"), SMALL)
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5])
def test_one_more_person_changes_no_more_than_promised(
    mechanism: KeyWeight, groups: int, epsilon: float
) -> None:
    others = [0, mechanism.threshold // 2 + 1, mechanism.threshold]
    pairs = with_one_more(mechanism.weights, groups, others)
    promised = mechanism.guarantee().delta(Fraction(epsilon)).high
    assert promised is not None
    assert worst(mechanism, pairs, epsilon) <= float(promised) + HAIR


def test_a_replaced_person_changes_no_more_than_promised() -> None:
    mechanism = KeyWeight.calibrate(rho="0.5", delta="0.02", groups=2, one=3, adjacency="replace")
    own, pairs = mechanism.weights, []
    for base in product([0, mechanism.threshold], repeat=3):
        # Somebody in one or two groups goes, somebody in one or two comes, with or without one in common.
        for gone, come in product([(0,), (0, 1)], [(0,), (1,), (2,), (1, 2), (0, 1)]):
            left = tuple(t + (own[len(gone) - 1] if i in gone else 0) for i, t in enumerate(base))
            right = tuple(t + (own[len(come) - 1] if i in come else 0) for i, t in enumerate(base))
            pairs.append((left, right))
    for epsilon in (0.0, 1.0):
        promised = mechanism.guarantee().delta(Fraction(epsilon)).high
        assert promised is not None
        assert worst(mechanism, pairs, epsilon) <= float(promised) + HAIR
    assert mechanism.guarantee("add-remove").rho == mechanism.guarantee().rho / 2


def test_the_slack_is_what_somebody_alone_in_all_groups_loses() -> None:
    """At a very large epsilon only what one side can never show is left: it is the whole delta."""
    for mechanism, groups in SMALL:
        pairs = [((0,) * m, (mechanism.weight(m),) * m) for m in range(1, groups + 1)]
        lost = worst(mechanism, pairs, 60.0)
        assert lost == pytest.approx(float(mechanism.guarantee().slack), rel=1e-9)


def test_a_threshold_below_a_weight_is_told_for_what_it_is() -> None:
    for threshold in (1, 2, 3, 5):
        low = KeyWeight(Fraction(9), threshold, 4, 3)
        lost = [1 - (1 - shown(low, low.weight(m))) ** m for m in (1, 2, 3)]
        assert float(low.guarantee("replace").slack) == pytest.approx(max(lost), rel=1e-9)


def test_weights_that_do_not_fall_are_caught() -> None:
    """The broken twin: people add the weight of one group to each of several."""
    mechanism, groups = SMALL[0]
    pairs = with_one_more((mechanism.one,) * groups, groups, [0, mechanism.threshold])
    epsilon = 1.5
    promised = mechanism.guarantee().delta(Fraction(epsilon)).high
    assert promised is not None
    assert worst(mechanism, pairs, epsilon) > 1.5 * float(promised)


def test_a_threshold_for_one_group_alone_is_caught() -> None:
    """The broken twin: the threshold forgets that any one of several new groups gives a person away."""
    alone = KeyWeight.calibrate(rho="0.2", delta="0.01", groups=1, one=1024)
    several = KeyWeight(alone.sigma_squared, alone.threshold, 1024, 16)
    assert several.guarantee("add-remove").slack > Fraction("0.02")


@given(
    st.fractions(Fraction(1, 50), 2, max_denominator=50),
    st.sampled_from(["0.2", "0.01", "1e-4", "1e-6"]),
    st.integers(1, 9),
    st.sampled_from([3, 7, 40]),
)
@settings(max_examples=30, deadline=None)
def test_a_threshold_is_the_lowest_that_keeps_the_promise(
    rho: Fraction, delta: str, groups: int, one: int
) -> None:
    mechanism = KeyWeight.calibrate(rho=rho, delta=delta, groups=groups, one=one)
    promise = mechanism.guarantee()
    assert promise.rho <= rho
    assert promise.slack <= Fraction(delta)
    # Sums of floats are off by their rounding, for which a millionth is more than enough.
    assert max(given_away(mechanism)) <= float(delta) * (1 + 1e-6)
    assert float(promise.slack) == pytest.approx(max(given_away(mechanism)), rel=1e-6)
    if mechanism.threshold > 1:
        lower = KeyWeight(mechanism.sigma_squared, mechanism.threshold - 1, one, groups)
        assert max(given_away(lower)) > float(delta) * (1 - 1e-6)


def given_away(mechanism: KeyWeight) -> list[float]:
    """Return how often a new group of somebody in 1, 2, ... groups is shown, by tails summed here."""
    law, found = noise(mechanism.sigma_squared), []
    for m in range(1, mechanism.groups + 1):
        own = int(mechanism.one / m**0.5 + 1e-9)
        tail = sum(p for k, p in law.items() if own + k >= mechanism.threshold)
        found.append(1 - (1 - tail) ** m)
    return found


@pytest.mark.parametrize(("groups", "worst"), [(6, 5), (13, 12)])
def test_neither_end_need_be_the_worst(groups: int, worst: int) -> None:
    """Where a weight has just been rounded down, whoever is in one group less is given away more often."""
    mechanism = KeyWeight.calibrate(rho="0.245", delta="0.0075", groups=groups, one=7)
    chances = given_away(mechanism)
    assert chances.index(max(chances)) + 1 == worst
    assert float(mechanism.guarantee().slack) == pytest.approx(max(chances), rel=1e-9)
    lower = KeyWeight(mechanism.sigma_squared, mechanism.threshold - 1, 7, groups)
    below = given_away(lower)
    assert max(below) > 0.0075 > max(below[0], below[-1])


@given(st.integers(1, 10**6), st.integers(1, MOST_GROUPS))
def test_weights_are_the_largest_whole_numbers_whose_squares_fit(one: int, groups: int) -> None:
    found = weight(one, groups)
    assert groups * found**2 <= one**2 < groups * (found + 1) ** 2


def test_weights_fall_and_are_never_nothing() -> None:
    found = weights(ONE, MOST_GROUPS)
    assert list(found) == sorted(found, reverse=True)
    assert found[0] == ONE
    assert found[-1] >= 1000


def test_a_weight_is_shown_as_often_as_its_law_says() -> None:
    for mechanism, _ in SMALL:
        for total in range(1, 3 * mechanism.threshold):
            chance = mechanism.keep(total)
            assert float(chance.low or 0) - HAIR <= shown(mechanism, total) <= float(chance.high or 0) + HAIR
        assert mechanism.keep(0).high == 0


def test_draws_follow_the_law() -> None:
    mechanism, runs = SMALL[0][0], 20_000
    for total in (1, mechanism.threshold - 1, mechanism.threshold + 2):
        kept, noisy = mechanism.sample(np.full(runs, total))
        chance = shown(mechanism, total)
        # Hoeffding: beyond this once in 10**8 runs.
        assert abs(kept.mean() - chance) <= (log(2e8) / (2 * runs)) ** 0.5
        assert ((np.array(noisy) >= mechanism.threshold) == kept).all()
    # At so low a threshold nearly half of such draws would pass.
    assert not KeyWeight(Fraction(9), 1, 4, 3).sample(np.zeros(2000, dtype=int))[0].any()


def test_a_stored_mechanism_means_the_same() -> None:
    made = KeyWeight.calibrate(rho="0.02", delta="1e-6", groups=12)
    back = decode(encode(made))
    assert isinstance(back, KeyWeight)
    assert (back.sigma_squared, back.threshold) == (made.sigma_squared, made.threshold)
    assert (back.one, back.groups) == (made.one, made.groups)
    assert back.guarantee("add-remove") == made.guarantee()
    assert encode(made).startswith('["key-weight/1",')


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="groups"):
        KeyWeight.calibrate(rho=1, delta="1e-6", groups=MOST_GROUPS + 1)
    with pytest.raises(ParameterError, match="root"):
        KeyWeight(Fraction(1), 3, 2, 5)
    with pytest.raises(ParameterError, match="neighbours"):
        KeyWeight(Fraction(1), 3, 2, 4).guarantee()
    with pytest.raises(ParameterError, match="negative"):
        SMALL[0][0].sample([-1])
    with pytest.raises(ParameterError, match="more than 3"):
        SMALL[0][0].weight(4)
