"""Graphs, priors and losses: what an analyst's question is made of."""

from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.utility import Gain, Graph, Loss, Prior, Problem, band, complete, cycle, optimal, path


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 7))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    return Graph(tuple(range(size)), tuple(p for p in pairs if draw(st.booleans())))


@given(graphs())
def test_components_distances_and_forests_agree_with_an_independent_library(graph):
    other = nx.Graph(list(graph.edges))
    other.add_nodes_from(range(len(graph)))
    assert sorted(map(tuple, graph.components())) == sorted(
        tuple(sorted(c)) for c in nx.connected_components(other)
    )
    assert graph.is_forest == nx.is_forest(other)
    for start in range(len(graph)):
        lengths = nx.single_source_shortest_path_length(other, start)
        assert graph.distances(start) == [lengths.get(end) for end in range(len(graph))]


@given(graphs())
def test_the_outward_order_reaches_every_answer_after_its_parent(graph):
    seen = set()
    for place, parent in graph.outward():
        assert parent is None or (parent in seen and tuple(sorted((place, parent))) in graph.edges)
        seen.add(place)
    assert seen == set(range(len(graph)))
    assert sum(parent is None for _, parent in graph.outward()) == len(graph.components())


def test_named_graphs_have_the_neighbours_of_their_queries():
    assert path(3).edges == ((0, 1), (1, 2), (2, 3))
    assert band(3, 2).edges == ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
    assert cycle(4).edges == ((0, 1), (0, 3), (1, 2), (2, 3))
    assert len(complete("abcd").edges) == 6
    assert path(3).is_path
    assert not cycle(4).is_path


def test_priors_sum_to_one_exactly():
    assert sum(Prior.binomial(30, "0.1").weights) == 1
    assert Prior.proportional([3, 1]).weights == (Fraction(3, 4), Fraction(1, 4))
    databases = {"a": "0.5", "b": "0.25", "c": "0.25"}
    induced = Prior.induced(databases, lambda name: int(name != "a"), [0, 1])
    assert induced.weights == (Fraction(1, 2), Fraction(1, 2))


@given(st.integers(1, 12))
def test_uniform_databases_of_bits_induce_the_binomial_prior(n):
    databases = {index: Fraction(1, 2**n) for index in range(2**n)}
    assert Prior.induced(databases, int.bit_count, range(n + 1)) == Prior.binomial(n)


def test_losses_are_the_matrices_they_say():
    assert Loss.absolute(range(3)).rows == ((0, 1, 2), (1, 0, 1), (2, 1, 0))
    assert Loss.squared([0, Fraction(1, 2)]).rows == ((0, Fraction(1, 4)), (Fraction(1, 4), 0))
    assert Loss.asymmetric(range(3), over=2, under="1/2").rows[1] == (2, 0, Fraction(1, 2))
    assert Loss.within(range(4), 1).rows[0] == (0, 0, 1, 1)
    assert Loss.circular(5).rows[0] == (0, 1, 2, 2, 1)
    assert Gain.distance(range(3)).rows == ((2, 1, 0), (1, 2, 1), (0, 1, 2))
    assert Gain.identity("ab").loss(1) == Loss.zero_one("ab")


def test_monotone_losses_are_recognised():
    assert all(make(range(6)).is_monotone() for make in (Loss.absolute, Loss.squared, Loss.zero_one))
    assert Loss.within(range(6), 2).is_monotone()
    assert not Loss.asymmetric(range(6), over=2, under=1).is_monotone()
    assert not Loss.circular(6).is_monotone()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Prior.of(["1/2", "1/3"]), "sum to 1 exactly.*proportional"),
        (lambda: Prior.of(["3/2", "-1/2"]), "negative"),
        (lambda: Prior.of([]), "at least one"),
        (lambda: Prior.proportional([0, 0]), "positive weight"),
        (lambda: Prior.binomial(3, 2), "between 0 and 1"),
        (lambda: Loss.of([[float("inf")]]), "finite number"),
        (lambda: Loss.of([[float("nan")]]), "finite number"),
        (lambda: Loss.of([[1, 2], [3]]), "equal lengths"),
        (lambda: Loss.of([]), "at least one"),
        (lambda: Loss.absolute("ab"), "numbers"),
        (lambda: Gain.of([[1]], guesses=["a", "b"]), "one row per guess"),
        (lambda: Graph.of([0, 0], []), "distinct"),
        (lambda: Graph.of([0, 1], [(0, 5)]), "not an input"),
        (lambda: Graph((), ()), "at least one"),
        (lambda: cycle(2), "at least 3"),
        (lambda: band(4, 0), "width"),
        (lambda: Problem(path(2), Prior.uniform(2), Loss.absolute(range(3))), "prior must have one entry"),
        (lambda: Problem(path(2), Prior.uniform(3), Loss.absolute(range(2))), "loss must have one column"),
        (lambda: optimal(path(2), ["1/2", "1/4", "1/8"], Loss.absolute(range(3)), 1), "sum to 1"),
        (lambda: optimal(path(2), None, Loss.absolute(range(3)), 0), "epsilon must be greater than 0"),
        (lambda: optimal(path(2), None, Loss.absolute(range(3)), ratio=1), "greater than 1"),
        (lambda: optimal(path(2), None, Loss.absolute(range(3))), "either epsilon"),
        (lambda: optimal(path(2), None, Loss.absolute(range(3)), 1, delta="0.1"), "worst case"),
        (lambda: optimal(path(2), Prior.uniform(3), Loss.absolute(range(3)), 1, delta=1), "below 1"),
        (
            lambda: optimal(path(300), Prior.uniform(301), Loss.absolute(range(301)), 1, delta="0.1"),
            "variables",
        ),
    ],
)
def test_bad_questions_are_refused_with_the_reason(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
