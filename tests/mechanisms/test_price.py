"""Prices: the levels are every price's revenue, and their sensitivity is a theorem."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.price import Revenue
from discreet.privacy.adjacency import Adjacency

goods = st.builds(
    lambda cap, unit, low: Revenue(cap, unit, min(low, cap)),
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(1, 30),
)
buyers = st.lists(st.integers(0, 35), max_size=8)


def scores(revenue, valuations):
    levels = revenue.levels(valuations)
    found = {}
    for score, size, start in zip(levels.scores, levels.sizes, levels.starts, strict=True):
        for price in range(int(start), int(start) + int(size)):
            assert price not in found
            found[price] = int(score)
    return found


@given(goods, buyers)
def test_every_price_has_its_revenue_in_whole_units(revenue, valuations):
    assert scores(revenue, valuations) == {
        price: price * sum(value >= price for value in valuations) // revenue.unit
        for price in range(revenue.low, revenue.cap + 1)
    }


@settings(max_examples=60)
@given(goods, buyers, st.integers(0, 35), st.integers(0, 35))
def test_one_buyer_moves_scores_one_way_and_no_further_than_stated(revenue, valuations, new, other):
    limit = revenue.sensitivity(Adjacency.ADD_REMOVE).linf
    before, after = scores(revenue, valuations), scores(revenue, [*valuations, new])
    assert all(0 <= after[price] - before[price] <= limit for price in before)
    swapped = scores(revenue, [*valuations, other])
    limit = revenue.sensitivity(Adjacency.REPLACE).linf
    assert all(abs(after[price] - swapped[price]) <= limit for price in before)
    assert revenue.monotone(Adjacency.ADD_REMOVE)
    assert not revenue.monotone(Adjacency.REPLACE)


def test_the_sensitivity_is_attained():
    revenue = Revenue(cap=10, unit=4)
    moves = [scores(revenue, [10] * n)[10] - scores(revenue, [10] * (n - 1))[10] for n in range(1, 5)]
    assert max(moves) == revenue.sensitivity(Adjacency.ADD_REMOVE).linf == 3


def test_levels_choose_exactly_as_all_prices_would():
    revenue = Revenue(cap=60, unit=7, low=10)
    valuations = [12, 12, 30, 55, 58]
    choice = Exponential.calibrate(
        epsilon=2, sensitivity=revenue.sensitivity(Adjacency.ADD_REMOVE), monotone=True
    )
    levels = revenue.levels(valuations)
    each = choice.pmf([score for _, score in sorted(scores(revenue, valuations).items())])
    for mass, size, start in zip(choice.pmf(levels), levels.sizes, levels.starts, strict=True):
        assert mass == sum(each[int(start) - 10 : int(start) - 10 + int(size)])


def test_a_grid_of_astronomical_prices_is_sampled():
    cap = 2**190
    revenue = Revenue(cap=cap, unit=cap // 64)
    valuations = [cap // 2] * 4000 + [cap // 3] * 500
    levels = revenue.levels(valuations)
    assert levels.candidates == cap
    choice = Exponential.calibrate(
        epsilon=50, sensitivity=revenue.sensitivity(Adjacency.ADD_REMOVE), monotone=True
    )
    price = choice.sample(levels)
    best = max(p * sum(v >= p for v in valuations) for p in (cap // 2, cap // 3))
    # 4500 buyers: being 400 units short has probability below 10**-100 even with so many prices.
    assert price * sum(v >= price for v in valuations) > best - 400 * revenue.unit


def test_the_apples_are_the_same_through_levels():
    revenue = Revenue(cap=500, unit=1, low=100)
    choice = Exponential(Fraction(99, 100))
    levels = revenue.levels([100, 401], [3, 1])
    assert [int(s) for s in levels.scores if s >= 400] == [400, 400, 401]
    assert choice.mean_shortfall(scores=levels) > 0


@pytest.mark.parametrize(
    "build",
    [
        lambda: Revenue(cap=0),
        lambda: Revenue(cap=10, unit=0),
        lambda: Revenue(cap=10, low=11),
        lambda: Revenue(cap="1.5"),
        lambda: Revenue(cap=10).levels([-1]),
        lambda: Revenue(cap=10).levels([1], [1, 2]),
        lambda: Revenue(cap=10).levels([1.5]),
        lambda: Revenue(cap=2**60).levels([2**59]),
        lambda: Revenue(cap=10).sensitivity(Adjacency.REPLACE, 0),
    ],
)
def test_impossible_prices_are_refused(build):
    with pytest.raises(ParameterError):
        build()


def test_nobody_buying_leaves_every_price_worth_nothing():
    levels = Revenue(cap=10).levels([])
    assert (levels.scores.tolist(), levels.sizes.tolist()) == ([0], [10])
