"""Advice, its inverse, and reading a release with Bayes."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.table import Table
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.utility import (
    Graph,
    Loss,
    Prior,
    advise,
    band,
    bayes,
    bayes_risk,
    best_remap,
    candidate_loss,
    complete,
    curve,
    cycle,
    expected_loss,
    path,
    posterior,
    smallest_epsilon,
    truncated_geometric,
)
from discreet.utility.advise import candidate_names


@pytest.mark.parametrize(
    ("graph", "loss"),
    [
        (path(6), Loss.absolute(range(7))),
        (band(6, 2), Loss.squared(range(7))),
        (cycle(7), Loss.circular(7)),
        (complete("abcd"), Loss.zero_one("abcd")),
    ],
)
def test_no_candidate_beats_the_certified_optimum(graph, loss):
    prior = Prior.proportional(range(1, len(graph) + 1))
    advice = advise(graph, "0.8", loss, prior)
    for candidate in advice.candidates:
        assert candidate.loss.high >= advice.best.bound
        assert candidate.loss.high - candidate.loss.low < Fraction(1, 10**40)
        if candidate.unmapped is not None:
            assert candidate.unmapped.high >= candidate.loss.low
    assert advice.winner.loss.low == min(candidate.loss.low for candidate in advice.candidates)
    assert advice.excess.low <= advice.excess.high


@pytest.mark.parametrize("graph", [path(6), band(6, 2), cycle(7), complete("abcd")])
def test_every_candidate_is_as_private_as_asked(graph):
    epsilon = Fraction(4, 5)
    prior = Prior.uniform(len(graph))
    for candidate in advise(graph, epsilon, Loss.zero_one(graph.nodes), prior).candidates:
        rows = []
        for row in candidate.channel.low:
            # What rounding took away goes to the most likely output: far below the tolerance used here.
            top = row.index(max(row))
            rows.append([p + (1 - sum(row) if k == top else 0) for k, p in enumerate(row)])
        table = Table.of(rows, neighbours=graph.edges)
        assert table.delta(epsilon).high < Fraction(1, 10**15), candidate.name


def test_candidates_are_the_mechanisms_they_are_named_after():
    graph, prior, loss = band(8, 2), Prior.binomial(8, "0.3"), Loss.absolute(range(9))
    advice = {candidate.name: candidate for candidate in advise(graph, 1, loss, prior).candidates}
    noises = {
        "geometric": Geometric.calibrate(epsilon=1, sensitivity=2),
        "staircase": Staircase.calibrate(epsilon=1, sensitivity=2),
    }
    for name, noise in noises.items():
        table = Table.from_noise(noise, 0, 8, sensitivity=2)
        assert advice[name].loss.low <= bayes_risk(table, prior, loss).low <= advice[name].loss.high
        assert advice[name].unmapped.low <= expected_loss(table, prior, loss) <= advice[name].unmapped.high
    flip = PermuteAndFlip.calibrate(epsilon=1, sensitivity=2)
    table = Table.of([flip.pmf([-abs(z - y) for z in range(9)]) for y in range(9)])
    exact = bayes_risk(table, prior, loss).low
    assert advice["permute-and-flip"].loss.low <= exact <= advice["permute-and-flip"].loss.high


def test_a_gaussian_takes_part_only_when_a_delta_allows_it():
    graph, prior, loss = path(6), Prior.uniform(7), Loss.absolute(range(7))
    assert "gaussian" not in candidate_names(graph)
    names = [candidate.name for candidate in advise(graph, 1, loss, prior, delta="1e-6").candidates]
    assert "gaussian" in names


def test_numbers_and_categories_get_the_candidates_that_apply():
    assert candidate_names(complete("abc")) == ("exponential", "permute-and-flip", "randomized response")
    assert candidate_names(cycle(5)) == (
        "geometric of the graph",
        "exponential",
        "permute-and-flip",
        "randomized response",
    )
    assert set(candidate_names(band(5, 2))) >= {"geometric", "laplace", "staircase"}


@pytest.mark.parametrize("size", [7, 24])
def test_a_graph_is_offered_its_own_geometric_mechanism(size):
    """Without it the winner on a cycle of 24 was 70 % above the optimum that it attains."""
    advice = advise(cycle(size), "0.5", Loss.circular(size), Prior.uniform(size))
    assert advice.winner.name == "geometric of the graph"
    assert advice.winner.loss.high <= advice.best.loss * (1 + Fraction(1, 10**9))
    others = [candidate for candidate in advice.candidates if candidate is not advice.winner]
    assert min(candidate.loss.low for candidate in others) > advice.best.loss * Fraction(11, 10)


def test_a_graph_without_one_is_compared_without_it():
    star = Graph(tuple(range(6)), tuple((0, leaf) for leaf in range(1, 6)))
    loss, prior = Loss.zero_one(range(6)), Prior.uniform(6)
    names = [[one.name for one in advise(star, level, loss, prior).candidates] for level in ("0.5", 3)]
    assert "geometric of the graph" not in names[0]
    assert "geometric of the graph" in names[1]
    with pytest.raises(ParameterError, match="no geometric mechanism at this level"):
        candidate_loss("geometric of the graph", star, "0.5", loss, prior)


@pytest.mark.parametrize("mechanism", ["optimal", "geometric", "randomized response"])
def test_the_smallest_epsilon_reaches_the_target_and_slightly_less_does_not(mechanism):
    graph, prior, loss = path(8), Prior.uniform(9), Loss.absolute(range(9))
    found = smallest_epsilon(graph, prior, loss, "0.6", mechanism=mechanism)
    assert found.high - found.low <= Fraction(1, 1000)
    assert candidate_loss(mechanism, graph, found.high, loss, prior).high <= Fraction(3, 5)
    assert candidate_loss(mechanism, graph, found.low, loss, prior).high > Fraction(3, 5)


def test_targets_that_need_nothing_or_cannot_be_reached_are_said_to_be_so():
    graph, prior, loss = path(8), Prior.uniform(9), Loss.absolute(range(9))
    assert smallest_epsilon(graph, prior, loss, 5).high == 0
    with pytest.raises(ParameterError, match="below the loss of knowing"):
        smallest_epsilon(graph, prior, loss, -1)
    with pytest.raises(ParameterError, match="not reached"):
        smallest_epsilon(graph, prior, loss, "1e-9", largest=2)
    with pytest.raises(ParameterError, match="must be one of"):
        candidate_loss("magic", graph, 1, loss, prior)


def test_losses_fall_as_epsilon_grows():
    rows = curve(band(8, 2), Prior.uniform(9), Loss.absolute(range(9)), ["0.25", "1", "3"])
    names = {row["mechanism"] for row in rows}
    assert {"optimal", "geometric", "staircase", "randomized response"} <= names
    for name in names:
        losses = [row["loss"] for row in rows if row["mechanism"] == name]
        assert losses == sorted(losses, reverse=True)


def test_comparisons_refuse_what_they_cannot_write_out():
    with pytest.raises(ParameterError, match="at most"):
        advise(path(500), 1, Loss.absolute(range(501)), Prior.uniform(501))
    with pytest.raises(ParameterError, match="at most"):
        curve(path(500), Prior.uniform(501), Loss.absolute(range(501)), [1], ["geometric"])
    with pytest.raises(ParameterError, match="connected"):
        advise(Graph((0, 1, 2), ((0, 1),)), 1, Loss.zero_one(range(3)), Prior.uniform(3))


@settings(max_examples=40)
@given(st.data())
def test_a_release_is_read_as_the_remap_of_the_written_out_mechanism(data):
    n = data.draw(st.integers(1, 6))
    prior = Prior.proportional(data.draw(st.lists(st.integers(1, 9), min_size=n + 1, max_size=n + 1)))
    mechanism = TruncatedGeometric(data.draw(st.fractions("1/9", "8/9", max_denominator=9)), 0, n)
    table = truncated_geometric(n, mechanism.alpha)
    for loss in (Loss.absolute(range(n + 1)), Loss.squared(range(n + 1)), Loss.zero_one(range(n + 1))):
        remap = best_remap(table, prior, loss)
        for released in range(n + 1):
            belief = bayes(released, mechanism, prior, loss)
            assert belief.posterior == posterior(table, prior, released)
            assert belief == bayes(released, table, prior, loss)
            costs = [sum(p * c for p, c in zip(belief.posterior, row, strict=True)) for row in loss.rows]
            assert belief.loss == min(costs) == costs[loss.guesses.index(remap[released])]


@settings(max_examples=40)
@given(st.data())
def test_named_losses_give_the_same_guess_as_their_matrices(data):
    n = data.draw(st.integers(1, 6))
    prior = Prior.proportional(
        data.draw(st.lists(st.integers(0, 9), min_size=n + 1, max_size=n + 1).filter(any))
    )
    noise, released = Geometric(Fraction(1, 2)), data.draw(st.integers(-3, n + 3))
    for name, make in (("absolute", Loss.absolute), ("squared", Loss.squared), ("zero-one", Loss.zero_one)):
        short, full = bayes(released, noise, prior, name), bayes(released, noise, prior, make(range(n + 1)))
        assert short.posterior == full.posterior
        assert short.loss == full.loss


def test_long_ranges_are_read_with_the_same_answer_as_exact_ones():
    n = 200
    prior = Prior.binomial(n, "0.3")
    noise = Geometric(Fraction(4, 5))
    belief = bayes(90, noise, prior)
    exact = [p * noise.pmf(90 - y) for y, p in enumerate(prior.weights)]
    total = sum(exact)
    assert max(abs(a - b / total) for a, b in zip(belief.posterior, exact, strict=True)) < Fraction(1, 2**200)
    assert sum(belief.posterior) == 1
    assert 60 < belief.guess < 90  # between what the prior and what the release say
    low, high = belief.interval("0.95")
    inside = sum(p for y, p in enumerate(belief.posterior) if low <= y <= high)
    assert low < belief.mean < high
    assert inside >= Fraction(95, 100)


def test_a_gaussian_release_and_shifted_answers_are_read_too():
    noise = Gaussian.calibrate(rho="0.5", sensitivity=1)
    belief = bayes(12, noise, Prior.uniform(5), "squared", answers=range(10, 15))
    assert belief.guess == 12
    assert sum(belief.posterior) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bayes(1, Geometric(Fraction(1, 2)), Prior.uniform(3), "cubic"), "loss must be"),
        (
            lambda: bayes(1, Geometric(Fraction(1, 2)), Prior.uniform(3), answers=[1, 2]),
            "one entry per answer",
        ),
        (lambda: bayes("x", Geometric(Fraction(1, 2)), Prior.uniform(3)), "whole numbers"),
        (
            lambda: bayes(1, Geometric(Fraction(1, 2)), Prior.uniform(3), Loss.of([[0, 1]])),
            "one column per answer",
        ),
        (lambda: bayes(9, truncated_geometric(2, Fraction(1, 2)), Prior.uniform(3)), "not an output"),
        (lambda: bayes(0, Table.of([[1, 0], [0, 1]]), Prior.of([0, 1])), "impossible"),
    ],
)
def test_bad_readings_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
