"""Utility, remaps and posteriors against enumeration."""

from fractions import Fraction
from itertools import product
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.table import Table
from discreet.utility import (
    Gain,
    Loss,
    Prior,
    bayes_risk,
    best_remap,
    evidence,
    expected_gain,
    expected_loss,
    exponential_enclosure,
    geometric_enclosure,
    non_oblivious_utility,
    posterior,
    truncated_geometric,
    utility,
)

entries = st.fractions(-3, 3, max_denominator=4)


@st.composite
def priors(draw, size):
    return Prior.proportional(draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)))


@st.composite
def settings_of_an_analyst(draw):
    size, width, guesses = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rows = []
    for _ in range(size):
        weights = draw(st.lists(st.integers(0, 4), min_size=width, max_size=width).filter(any))
        rows.append([Fraction(w, sum(weights)) for w in weights])
    gain = [[draw(entries) for _ in range(size)] for _ in range(guesses)]
    return Table.of(rows), draw(priors(size)), Gain.of(gain)


def gain_of_remap(table, prior, gain, remap):
    return sum(
        prior.weights[y] * table.rows[y][z] * gain.rows[remap[z]][y]
        for y in range(len(table.inputs))
        for z in range(len(table.outputs))
    )


def brute_force(table, prior, gain):
    remaps = product(range(len(gain.guesses)), repeat=len(table.outputs))
    return max(gain_of_remap(table, prior, gain, remap) for remap in remaps)


@given(settings_of_an_analyst())
def test_utility_is_the_best_of_all_remaps(analyst):
    table, prior, gain = analyst
    best = brute_force(table, prior, gain)
    assert utility(table, prior, gain).low == utility(table, prior, gain).high == best
    remap = best_remap(table, prior, gain)
    assert expected_gain(table, prior, gain, remap) == best
    assert bayes_risk(table, prior, gain.loss(7)).high == 7 - best


@given(settings_of_an_analyst(), st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_post_processing_never_increases_utility(analyst, images):
    table, prior, gain = analyst
    merged = table.then(dict(zip(table.outputs, images, strict=False)))
    assert utility(merged, prior, gain).high <= utility(table, prior, gain).low


@given(settings_of_an_analyst())
def test_forgetting_the_answer_leaves_the_prior_utility(analyst):
    table, prior, gain = analyst
    alone = max(sum(p * g for p, g in zip(prior.weights, row, strict=True)) for row in gain.rows)
    assert utility(table.then(lambda _: 0), prior, gain).high == alone <= utility(table, prior, gain).high


@given(settings_of_an_analyst())
def test_posteriors_average_back_to_the_prior(analyst):
    table, prior, _ = analyst
    total = [Fraction(0)] * len(prior)
    for z, answer in enumerate(table.outputs):
        chance = sum(p * row[z] for p, row in zip(prior.weights, table.rows, strict=True))
        if chance == 0:
            with pytest.raises(ParameterError, match="impossible"):
                posterior(table, prior, answer)
            continue
        total = [t + chance * p for t, p in zip(total, posterior(table, prior, answer), strict=True)]
    assert tuple(total) == prior.weights


@settings(max_examples=40)
@given(st.data())
def test_truncation_costs_nothing_for_any_prior_and_gain(data):
    """The geometric mechanism reports all integers; everything below 0 is as informative as 0 itself."""
    n = data.draw(st.integers(1, 5))
    alpha = data.draw(st.fractions("1/10", "9/10", max_denominator=10))
    noise, far = Geometric(alpha), 4
    rows = [
        [
            noise.cdf(-far - y),
            *(noise.pmf(z - y) for z in range(1 - far, n + far)),
            1 - noise.cdf(n + far - 1 - y),
        ]
        for y in range(n + 1)
    ]
    full = Table.of(rows, outputs=range(-far, n + far + 1))
    prior = data.draw(priors(n + 1))
    gain = Gain.of([[data.draw(entries) for _ in range(n + 1)] for _ in range(3)])
    assert utility(full, prior, gain) == utility(truncated_geometric(n, alpha), prior, gain)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    st.fractions("1/9", "8/9", max_denominator=9),
)
def test_evidence_by_recursion_is_the_sum_it_stands_for(weights, alpha):
    prior = Prior.proportional(weights).weights
    direct = [sum(p * alpha ** abs(z - y) for y, p in enumerate(prior)) for z in range(len(prior))]
    assert evidence(prior, alpha) == direct


def test_a_non_oblivious_mechanism_is_judged_by_the_answer_it_allows_to_guess():
    """Two bits; the mechanism leaks the second one, the query is their sum."""
    databases = ((0, 0), (0, 1), (1, 0), (1, 1))
    names = [str(database) for database in databases]
    value = dict(zip(names, databases, strict=True))
    leak = Table.of([[1 - second, second] for _, second in databases], inputs=names)
    found = non_oblivious_utility(
        leak, lambda name: sum(value[name]), Prior.uniform(4), Gain.identity(range(3)), range(3)
    )
    # Seeing the second bit, the sum is one of two equally likely values.
    assert found == Fraction(1, 2)
    # An oblivious mechanism gives the same in both forms.
    noise = truncated_geometric(2, Fraction(1, 3))
    pulled = Table.of([noise.row(sum(database)) for database in databases], inputs=names)
    assert (
        non_oblivious_utility(
            pulled, lambda name: sum(value[name]), Prior.uniform(4), Gain.identity(range(3)), range(3)
        )
        == utility(noise, Prior.binomial(2), Gain.identity(range(3))).high
    )


def test_face_value_needs_answers_that_are_guesses():
    table = Table.of([[1]], outputs=["other"])
    with pytest.raises(ParameterError, match="remap"):
        expected_loss(table, Prior.uniform(1), Loss.of([[0]]))


@given(st.integers(1, 6), st.fractions("1/10", 3, max_denominator=10))
def test_enclosures_contain_the_float_channel_and_are_thin(n, epsilon):
    a = exp(-epsilon)
    for enclosure, law in (
        (
            geometric_enclosure(n, epsilon),
            lambda y, z: a ** abs(z - y) * ((1 - a) if 0 < z < n else 1) / (1 + a),
        ),
        (
            exponential_enclosure([[abs(y - z) for z in range(n + 1)] for y in range(n + 1)], epsilon),
            lambda y, z: (
                exp(-epsilon * abs(y - z) / 2) / sum(exp(-epsilon * abs(y - k) / 2) for k in range(n + 1))
            ),
        ),
    ):
        for y in range(n + 1):
            for z in range(n + 1):
                low, high = enclosure.low[y][z], enclosure.high[y][z]
                assert low <= high < low + Fraction(1, 2**150)
                assert abs(float(low) - law(y, z)) < 1e-12
