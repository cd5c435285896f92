from collections import Counter
from fractions import Fraction
from itertools import chain, combinations
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact import coins
from discreet.mechanisms.table import Table
from discreet.privacy.guarantee import Approximate, Pure

HALF = Fraction(1, 2)


class GeometricLaw:
    """Two-sided geometric noise written down independently of the package's own."""

    def __init__(self, alpha):
        self.alpha = alpha

    def pmf(self, k):
        return (1 - self.alpha) / (1 + self.alpha) * self.alpha ** abs(k)

    def cdf(self, k):
        if k < 0:
            return self.alpha**-k / (1 + self.alpha)
        return 1 - self.alpha ** (k + 1) / (1 + self.alpha)


class ScriptedCoins:
    def __init__(self, bits):
        self.left = list(bits)

    def bits(self, count):
        value = 0
        for _ in range(count):
            value = value << 1 | self.left.pop(0)
        return value


@st.composite
def tables(draw, zeros=True):
    size, width = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    low = 0 if zeros else 1
    rows = []
    for _ in range(size):
        weights = draw(st.lists(st.integers(low, 6), min_size=width, max_size=width).filter(any))
        rows.append([Fraction(w, sum(weights)) for w in weights])
    edges = draw(
        st.none() | st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=5)
    )
    return Table.of(rows, neighbours=edges)


def events(table):
    columns = range(len(table.outputs))
    return chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1))


def worst_event(table, ratio, pairs):
    """The definition itself: the largest Pr[S | y] - e**epsilon Pr[S | y'] over all events S."""
    return max(
        (
            sum(table.rows[i][z] for z in event) - ratio * sum(table.rows[j][z] for z in event)
            for a, b in pairs
            for i, j in ((a, b), (b, a))
            for event in events(table)
        ),
        default=0,
    )


@given(tables(), st.fractions(1, 6, max_denominator=5))
def test_delta_is_the_worst_event(table, ratio):
    assert table.delta_at_ratio(ratio) == worst_event(table, ratio, list(table.pairs()))


@given(tables())
def test_smallest_epsilon_holds_for_every_event_and_nothing_smaller_does(table):
    ratio = table.ratio()
    pairs = list(table.pairs())
    if ratio is None:
        assert worst_event(table, Fraction(10**9), pairs) > 0
    else:
        assert worst_event(table, ratio, pairs) == 0
        if ratio > 1:
            assert worst_event(table, ratio - Fraction(1, 10**9), pairs) > 0


@given(tables(), st.fractions(0, 3, max_denominator=7))
def test_certified_delta_contains_the_float_value(table, epsilon):
    bounds = table.delta(epsilon)
    near = float(worst_event(table, Fraction(exp(epsilon)), list(table.pairs())))
    assert float(bounds.low) - 1e-12 <= near <= float(bounds.high) + 1e-12
    assert bounds.low <= bounds.high


@given(tables())
def test_the_guarantee_is_true_and_tight(table):
    match table.guarantee():
        case Pure(cost):
            assert table.delta(cost).low == 0
            if cost > 0:
                assert table.delta(cost - Fraction(1, 10**6) * cost).low > 0
        case Approximate(cost, slack):
            assert table.delta(cost).low <= slack
            assert table.delta(cost + 50).high == slack > 0


@given(tables(), st.fractions(0, 3, max_denominator=5))
def test_the_profile_is_the_exact_curve_of_the_worst_pair(table, epsilon):
    bounds, curve = table.delta(epsilon), table.profile().delta(epsilon)
    assert curve.low <= bounds.high
    assert bounds.low <= curve.high
    assert curve.high - curve.low < Fraction(1, 2**60)


@given(tables(), st.integers(0, 2**32))
def test_post_processing_never_costs_privacy(table, code):
    images = {z: code // 3**k % 3 for k, z in enumerate(table.outputs)}
    merged = table.then(images)
    for ratio in (1, Fraction(3, 2), 4):
        assert merged.delta_at_ratio(ratio) <= table.delta_at_ratio(ratio)
    assert merged == table.then(lambda z: images[z])


@given(tables(), st.data())
def test_a_remap_is_the_same_as_its_zero_one_channel(table, data):
    images = data.draw(st.lists(st.integers(0, 1), min_size=len(table.outputs), max_size=len(table.outputs)))
    second = Table.of([[1 - image, image] for image in images], inputs=table.outputs)
    by_channel = table.then(second)
    by_remap = table.then(dict(zip(table.outputs, images, strict=True)))
    for truth in table.inputs:
        law = by_channel.pmf(truth)
        assert {z: p for z, p in law.items() if z in by_remap.outputs} == {
            z: by_remap.pmf(truth)[z] for z in by_remap.outputs
        }


@given(tables())
def test_storing_restores_the_same_mechanism(table):
    assert Table.from_json(table.to_json()) == table


def test_clamped_geometric_is_the_truncated_geometric_of_the_lecture():
    alpha = Fraction(1, 3)
    table = Table.from_noise(GeometricLaw(alpha), 0, 5)
    assert table.pmf(2)[0] == alpha**2 / (1 + alpha)
    assert table.pmf(2)[5] == alpha**3 / (1 + alpha)
    assert table.pmf(2)[4] == (1 - alpha) / (1 + alpha) * alpha**2
    assert table.ratio() == 3
    assert [table.cdf(2, z) for z in (-1, 0, 4, 5)] == [
        0,
        alpha**2 / (1 + alpha),
        1 - alpha**3 / (1 + alpha),
        1,
    ]


def test_group_privacy_follows_the_graph():
    table = Table.from_noise(GeometricLaw(HALF), 0, 5)
    assert [table.ratio(steps) for steps in (1, 2, 3)] == [2, 4, 8]
    wide = Table.from_noise(GeometricLaw(HALF), 0, 5, sensitivity=2)
    assert wide.ratio() == 4
    # Inputs that no chain of neighbours connects owe each other nothing.
    apart = Table.of([[1, 0], [1, 0], [0, 1]], neighbours=[(0, 1)])
    assert apart.ratio(10) == 1


def test_exactly_private_tables_report_logarithms_on_both_sides():
    table = Table.of([["3/4", "1/4"], ["1/4", "3/4"]])
    bounds = table.epsilon()
    assert bounds.low <= bounds.high
    assert abs(float(bounds.high) - log(3)) < 1e-12
    assert Table.of([[1, 0], [HALF, HALF]]).epsilon().high is None


def test_radius_is_the_smallest_error_bound():
    table = Table.from_noise(GeometricLaw(HALF), 0, 8)
    radius = table.radius("0.2")
    tails = [
        [sum(p for z, p in table.pmf(y).items() if abs(z - y) > r) for y in table.inputs]
        for r in (radius, radius - 1)
    ]
    assert max(tails[0]) <= Fraction(1, 5) < max(tails[1])


def test_sampling_enumerated_over_its_coins_equals_the_row():
    row = [Fraction(1, 8), Fraction(0), Fraction(3, 8), HALF]
    table = Table.of([row], outputs=["a", "b", "c", "d"])
    seen = Counter()
    for word in range(8):
        with coins._using(ScriptedCoins([word >> 2 & 1, word >> 1 & 1, word & 1])):
            seen[table.sample(0)] += 1
    assert {label: Fraction(seen[label], 8) for label in table.outputs} == table.pmf(0)


def test_sampling_rejects_words_beyond_the_total():
    table = Table.of([["1/3", "1/3", "1/3"]])
    for word, answer in (((0, 0), 0), ((0, 1), 1), ((1, 0), 2), ((1, 1, 0, 1), 1)):
        with coins._using(ScriptedCoins(word)):
            assert table.sample(0) == answer


def test_draws_stay_in_the_support_and_reach_all_of_it():
    table = Table.of([["1/2", 0, "1/2"]], outputs=["x", "never", "y"])
    assert {table.sample(0) for _ in range(200)} == {"x", "y"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Table.of([["1/2", "1/3"]]), "must sum to 1 exactly"),
        (lambda: Table.of([["3/2", "-1/2"]]), "negative probability"),
        (lambda: Table.of([[1], ["1/2", "1/2"]]), "needs 1 entries"),
        (lambda: Table.of([]), "at least one"),
        (lambda: Table.of([[1], [1]], inputs=["a", "a"]), "distinct"),
        (lambda: Table.of([[1], [1]], neighbours=[(0, 7)]), "not an input"),
        (lambda: Table.of([["nan"]]), "finite number"),
        (lambda: Table.of([[1]]).row("x"), "not an input"),
        (lambda: Table.of([[1]]).delta_at_ratio("1/2"), "at least 1"),
        (lambda: Table.of([[1]]).delta(-1), "must not be negative"),
        (lambda: Table.of([[1]], outputs=["a"]).cdf(0, 1), "numbers"),
        (lambda: Table.from_noise(GeometricLaw(HALF), 3, 2), "low must not exceed high"),
        (lambda: Table.from_noise(GeometricLaw(HALF), 0, 2, sensitivity=0), "sensitivity"),
        (lambda: Table.from_json('{"mechanism": "other"}'), "not a stored table"),
        (lambda: Table.from_json("[]"), "not a stored table"),
        (
            lambda: Table.from_json(
                '{"mechanism": "table", "inputs": [0], "outputs": [0], "neighbours": null, "rows": [["1/2"]]}'
            ),
            "must sum to 1",
        ),
    ],
)
def test_bad_tables_are_refused_with_the_reason(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
