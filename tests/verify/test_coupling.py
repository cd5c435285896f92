"""Couplings: they exist exactly when Strassen's condition says so, and are what they claim to be."""

from fractions import Fraction
from itertools import combinations

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.verify import Coupling, Different, Equal, NoCoupling, Undecided, couple, lifted_delta, same_law


def law(weights):
    total = sum(weights)
    return {k: Fraction(w, total) for k, w in enumerate(weights)}


weights = st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any)
relations = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)))


def subsets(items):
    items = list(items)
    return (set(c) for n in range(len(items) + 1) for c in combinations(items, n))


@settings(deadline=None, max_examples=150)
@given(weights, weights, relations)
def test_a_coupling_exists_exactly_when_no_set_has_too_much_mass(first, second, related):
    mu, nu = law(first), law(second)
    found = couple(mu, nu, lambda a, b: (a, b) in related)
    worst = max(
        sum(mu[a] for a in s) - sum(nu[b] for b in nu if any((a, b) in related for a in s))
        for s in subsets(mu)
    )
    if isinstance(found, Coupling):
        assert worst <= 0
        assert all((a, b) in related and mass > 0 for (a, b), mass in found.joint.items())
        for side, marginal in ((0, mu), (1, nu)):
            for outcome, mass in marginal.items():
                assert sum(m for pair, m in found.joint.items() if pair[side] == outcome) == mass
    else:
        assert isinstance(found, NoCoupling)
        assert found.mass > found.related_mass
        assert found.mass == sum(mu[a] for a in found.outcomes)
        assert found.related == {b for b in nu if any((a, b) in related for a in found.outcomes)}


@settings(deadline=None, max_examples=60)
@given(weights, weights, relations, st.integers(1, 3))
def test_the_lifted_delta_is_the_largest_excess_and_agrees_with_another_flow(first, second, related, factor):
    mu, nu = law(first), law(second)
    delta = lifted_delta(mu, nu, lambda a, b: (a, b) in related, Fraction(factor))
    excess = max(
        sum(mu[a] for a in s) - factor * sum(nu[b] for b in nu if any((a, b) in related for a in s))
        for s in subsets(mu)
    )
    assert delta == excess
    scale = sum(first) * sum(second)
    graph = networkx.DiGraph()
    graph.add_nodes_from(("source", "sink"))
    for a, mass in mu.items():
        graph.add_edge("source", ("a", a), capacity=int(mass * scale))
    for b, mass in nu.items():
        graph.add_edge(("b", b), "sink", capacity=int(factor * mass * scale))
    for a, b in related:
        if a in mu and b in nu:
            graph.add_edge(("a", a), ("b", b), capacity=scale)
    assert networkx.maximum_flow_value(graph, "source", "sink") == (1 - delta) * scale


def test_coins_are_coupled_so_that_one_never_exceeds_the_other():
    found = couple(
        {0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1, 4), 1: Fraction(3, 4)}, lambda a, b: a <= b
    )
    assert isinstance(found, Coupling)
    assert found.joint == {(0, 0): Fraction(1, 4), (0, 1): Fraction(1, 4), (1, 1): Fraction(1, 2)}


def test_what_is_not_a_law_is_refused():
    with pytest.raises(ParameterError, match="add up to 1"):
        couple({0: Fraction(1, 2), 1: Fraction(2, 3)}, {0: Fraction(1)}, lambda a, b: True)
    with pytest.raises(ParameterError, match="non-negative"):
        couple({0: Fraction(-1, 2), 1: Fraction(1)}, {0: Fraction(1, 2)}, lambda a, b: True)


HEAD = "P (x : private real) : real\n"


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("  z := $ Laplace(1/eps, x)\n  return z\n", "  y := $ Laplace(1/eps)\n  return x + y\n", Equal),
        ("  z := $ Laplace(1/eps)\n  return x + z\n", "  z := $ Laplace(2/(2*eps))\n  return z + x\n", Equal),
        ("  z := $ Laplace(1/eps)\n  return x + z\n", "  z := $ Laplace(2/eps)\n  return x + z\n", Undecided),
        ("  z := $ Laplace(1/eps)\n  return x + z\n", "  z := $ Laplace(1/eps)\n  return x - z\n", Undecided),
        (
            "  z := $ Laplace(1/eps)\n  return x + z\n",
            "  z := $ Gaussian(1/eps)\n  return x + z\n",
            Undecided,
        ),
    ],
)
def test_equality_of_laws_by_coupling_the_draws(first, second, answer):
    assert isinstance(same_law(HEAD + first, HEAD + second), answer)


def test_finite_laws_are_compared_exactly():
    one = "P (x : private {0,1}) : bool\n  b := $ Bernoulli(1/2)\n  c := b xor (x = 1)\n  return c\n"
    two = "P (x : private {0,1}) : bool\n  b := $ Bernoulli(1/2)\n  return b\n"
    three = "P (x : private {0,1}) : bool\n  b := $ Bernoulli(1/3)\n  return b\n"
    assert isinstance(same_law(one, two), Equal)
    assert isinstance(same_law(one, three), Different)
