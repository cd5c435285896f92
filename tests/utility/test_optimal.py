"""Optimal mechanisms against independent linear programs and enumeration."""

import random
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from discreet.mechanisms.table import Table
from discreet.utility import (
    Graph,
    Loss,
    Prior,
    Universality,
    advise,
    band,
    bayes_risk,
    check,
    complete,
    cycle,
    optimal,
    path,
    universality,
)


def direct_program(graph, prior, loss, ratio, delta=0.0):
    """The textbook formulation, all entries as variables; prior None for the worst case."""
    size, width = len(graph), len(loss.guesses)
    costs = np.array([[float(entry) for entry in row] for row in loss.rows])
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    slack = len(pairs) * width if delta else 0
    extra = 1 if prior is None else 0
    columns = size * width + slack + extra
    above, bound = [], []
    for k, (i, j) in enumerate(pairs):
        for w in range(width):
            row = np.zeros(columns)
            row[i * width + w], row[j * width + w] = 1, -ratio
            if delta:
                row[size * width + k * width + w] = -1
            above.append(row)
            bound.append(0.0)
        if delta:
            row = np.zeros(columns)
            row[size * width + k * width : size * width + (k + 1) * width] = 1
            above.append(row)
            bound.append(delta)
    objective = np.zeros(columns)
    if prior is None:
        objective[-1] = 1
        for y in range(size):
            row = np.zeros(columns)
            row[y * width : (y + 1) * width] = costs[:, y]
            row[-1] = -1
            above.append(row)
            bound.append(0.0)
    else:
        for y in range(size):
            objective[y * width : (y + 1) * width] = float(prior.weights[y]) * costs[:, y]
    sums = np.zeros((size, columns))
    for y in range(size):
        sums[y, y * width : (y + 1) * width] = 1
    bounds = [(0, None)] * (columns - extra) + [(None, None)] * extra
    result = linprog(
        objective,
        A_ub=sparse.csr_matrix(np.array(above)) if above else None,
        b_ub=bound or None,
        A_eq=sums,
        b_eq=np.ones(size),
        bounds=bounds,
        method="highs",
    )
    assert result.status == 0
    return result.fun


@st.composite
def questions(draw, largest=6):
    size = draw(st.integers(1, largest))
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    kind = draw(st.sampled_from(["path", "tree", "any"]))
    if kind == "path":
        edges = [(i, i + 1) for i in range(size - 1)]
    elif kind == "tree":
        edges = [(draw(st.integers(0, j - 1)), j) for j in range(1, size)]
    else:
        edges = [pair for pair in pairs if draw(st.booleans())]
    prior = Prior.proportional(draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any)))
    guesses = draw(st.integers(1, 5))
    loss = Loss.of([[draw(st.integers(-5, 9)) for _ in range(size)] for _ in range(guesses)])
    return Graph(tuple(range(size)), tuple(sorted(edges))), prior, loss


def private(channel, graph, epsilon):
    assert channel.inputs == graph.nodes
    return Table.of(channel.rows, neighbours=graph.edges).delta(epsilon).high == 0


@settings(max_examples=60, deadline=None)
@given(questions(), st.sampled_from(["0.1", "0.7", "1.5", "4"]))
def test_any_question_is_solved_to_a_certified_gap_and_agrees_with_the_direct_program(question, epsilon):
    graph, prior, loss = question
    best = optimal(graph, prior, loss, epsilon)
    assert check(best.certificate) == best.verdict
    assert 0 <= best.gap <= Fraction(1, 10**7)
    assert private(best.channel, graph, Fraction(epsilon))
    assert abs(direct_program(graph, prior, loss, exp(float(epsilon))) - float(best.loss)) < 1e-5


@settings(max_examples=40, deadline=None)
@given(questions(5), st.sampled_from([Fraction(3, 2), Fraction(4)]))
def test_rational_levels_on_forests_are_solved_exactly(question, ratio):
    graph, prior, loss = question
    best = optimal(graph, prior, loss, ratio=ratio)
    assert best.gap <= Fraction(1, 10**7)
    assert Table.of(best.channel.rows, neighbours=graph.edges).ratio() in (None, best.channel.ratio())
    assert best.channel.delta_at_ratio(ratio) == 0
    assert abs(direct_program(graph, prior, loss, float(ratio)) - float(best.loss)) < 1e-5


@settings(max_examples=40, deadline=None)
@given(questions(5), st.sampled_from(["0.3", "1", "3"]))
def test_the_worst_case_agrees_with_the_direct_program_and_names_a_hardest_prior(question, epsilon):
    graph, _, loss = question
    best = optimal(graph, None, loss, epsilon)
    assert 0 <= best.gap <= Fraction(1, 10**6)
    assert abs(direct_program(graph, None, loss, exp(float(epsilon))) - float(best.loss)) < 1e-5
    against = optimal(graph, best.prior, loss, epsilon)
    assert abs(against.loss - best.loss) <= Fraction(1, 10**6)


@settings(max_examples=30, deadline=None)
@given(questions(4), st.sampled_from(["0.001", "0.05", "0.4"]))
def test_a_delta_is_used_but_never_exceeded(question, delta):
    graph, prior, loss = question
    best = optimal(graph, prior, loss, 1, delta=delta)
    table = Table.of(best.channel.rows, neighbours=graph.edges)
    assert table.delta(1).high <= Fraction(delta)
    assert 0 <= best.gap <= Fraction(1, 10**6)
    assert abs(direct_program(graph, prior, loss, exp(1), float(delta)) - float(best.loss)) < 1e-5
    assert best.bound <= optimal(graph, prior, loss, 1).loss


@settings(max_examples=40, deadline=None)
@given(
    questions(7),
    st.sampled_from([Fraction(1, 10**9), Fraction(1, 7), Fraction(10**9)]),
    st.sampled_from(["0.01", "3", "8", "20"]),
    st.booleans(),
)
def test_neither_the_unit_of_the_loss_nor_an_extreme_epsilon_spoils_the_proof(question, unit, epsilon, worst):
    graph, prior, loss = question
    scaled = Loss.of([[entry * unit for entry in row] for row in loss.rows])
    best = optimal(graph, None if worst else prior, scaled, epsilon)
    assert best.gap <= Fraction(1, 10**6) * max(scaled.span, unit)
    assert private(best.channel, graph, Fraction(epsilon))


LOST = [
    ("20", [(0, 1), (0, 2), (0, 3)], [[-3, 0, 0, -1], [0, -2, 0, 0], [0, 0, -2, 0], [0, 0, 0, 0]]),
    ("20.7", [(0, 1), (0, 2)], [[1, 0, -2], [1, 0, 0], [-2, -2, -1], [0, 5, -3]]),
    ("22", [(0, 1), (1, 2), (0, 2)], [[0, 0, -3], [0, -3, 5], [-1, -2, 0], [-2, 0, -3]]),
    ("22", [(0, 1), (0, 2), (2, 3), (0, 3)], [[5, -3, -3, 0], [5, 0, -1, 5], [0, 1, 0, -1], [-1, 0, -3, -3]]),
    ("8", [(0, 1), (1, 2), (1, 3), (0, 3)], [[-2, 0, 0, -1], [0, -3, -3, -2]]),
]


@pytest.mark.parametrize(("epsilon", "edges", "rows"), LOST)
def test_where_one_search_loses_its_way_another_finds_the_proof(epsilon, edges, rows):
    loss = Loss.of(rows)
    best = optimal(Graph(tuple(range(len(rows[0]))), tuple(sorted(edges))), None, loss, epsilon)
    assert best.gap <= Fraction(1, 10**6) * loss.span


def test_proofs_are_found_where_a_step_of_privacy_is_as_small_as_a_solvers_tolerance():
    chance = random.Random(20)
    for _ in range(400):
        size = chance.randint(2, 7)
        edges = {(chance.randrange(end), end) for end in range(1, size)} | {(0, size - 1)}
        loss = Loss.of([[chance.choice([0, 0, -1, -2, -3, 1, 5]) for _ in range(size)] for _ in range(4)])
        best = optimal(
            Graph(tuple(range(size)), tuple(sorted(edges))),
            chance.choice([None, Prior.uniform(size)]),
            loss,
            chance.choice(["11.9", "15", "18", "20", "20.7", "22", "25", "30"]),
        )
        assert best.gap <= Fraction(1, 10**6) * loss.span


def test_costs_with_thousands_of_digits_are_just_numbers():
    unit = 1 + Fraction(1, 10**400)
    loss = Loss.of([[abs(w - y) * unit for y in range(5)] for w in range(5)])
    best = optimal(path(4), Prior.uniform(5), loss, ratio=2)
    assert best.loss == unit * optimal(path(4), Prior.uniform(5), Loss.absolute(range(5)), ratio=2).loss


def test_a_guess_that_is_always_best_needs_no_answer():
    loss = Loss.of([[3, 1, 2], [3, 0, 1]])
    for graph in (path(2), cycle(3), Graph((0, 1, 2), ())):
        for prior in (Prior.uniform(3), None):
            best = optimal(graph, prior, loss, 1)
            assert best.method == "a constant guess"
            assert best.gap == 0
            assert len(best.channel.outputs) == 1
    assert optimal(path(2), Prior.uniform(3), loss, 1, delta="0.1").gap == 0


def lipschitz_rays(graph, ratio):
    """All columns ratio**h with integer potentials that change by at most 1 along an edge, by enumeration."""
    size = len(graph)
    for h in product(range(-size + 1, 1), repeat=size):
        if max(h) == 0 and all(abs(h[i] - h[j]) <= 1 for i, j in graph.edges):
            yield [ratio**step for step in h]


@settings(max_examples=25, deadline=None)
@given(questions(4))
def test_exact_duals_hold_on_every_ray_by_enumeration(question):
    graph, prior, loss = question
    if len(graph.components()) > 1 or not graph.is_forest:
        return
    ratio = Fraction(3)
    best = optimal(graph, prior, loss, ratio=ratio)
    dual = best.certificate.dual
    assert sum(dual) == best.bound
    for ray in lipschitz_rays(graph, ratio):
        for row in loss.rows:
            assert sum((p * c - d) * v for p, c, d, v in zip(prior.weights, row, dual, ray, strict=True)) >= 0


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_on_counts_the_geometric_mechanism_is_optimal_for_every_prior_and_monotone_loss(data):
    n = data.draw(st.integers(1, 7))
    prior = Prior.proportional(
        data.draw(st.lists(st.integers(0, 9), min_size=n + 1, max_size=n + 1).filter(any))
    )
    columns = []
    for truth in range(n + 1):
        steps = data.draw(st.lists(st.integers(0, 4), min_size=n + 1, max_size=n + 1))
        columns.append([sum(steps[: abs(guess - truth)]) for guess in range(n + 1)])
    loss = Loss.of([[columns[truth][guess] for truth in range(n + 1)] for guess in range(n + 1)])
    assert loss.is_monotone()
    best = optimal(
        path(n), prior, loss, ratio=data.draw(st.sampled_from([Fraction(5, 4), Fraction(2), Fraction(9)]))
    )
    assert best.method in ("geometric mechanism with the best remap", "a constant guess")
    assert best.gap == 0


def test_an_analyst_of_parity_is_better_served_than_by_the_geometric_mechanism():
    """Her loss is not monotone: the best she can have is a randomised response about the parity alone."""
    loss = Loss.of([[y % 2 for y in range(8)], [1 - y % 2 for y in range(8)]], guesses=["even", "odd"])
    found = universality(path(7), Prior.uniform(8), loss, ratio=3)
    assert found.best.method.startswith("column generation")
    assert found.best.loss == Fraction(1, 4)
    assert found.best.gap < Fraction(1, 10**12)
    assert found.refuted
    assert found.excess.low > Fraction(1, 20)


@pytest.mark.parametrize(
    ("n", "width", "epsilon", "best", "geometric", "exponential"),
    [
        pytest.param(20, 5, 1, 3.168, 3.304, 4.568, marks=pytest.mark.fuzz),
        (20, 5, 2, 1.695, 2.017, 3.451),
        (20, 5, 4, 0.403, 1.029, 2.062),
        pytest.param(30, 10, 2, 3.187, 3.814, 5.948, marks=pytest.mark.fuzz),
    ],
)
def test_sums_are_answered_better_than_by_any_fixed_noise(n, width, epsilon, best, geometric, exponential):
    graph, prior, loss = band(n, width), Prior.uniform(n + 1), Loss.absolute(range(n + 1))
    found = universality(graph, prior, loss, epsilon)
    assert isinstance(found, Universality)
    assert found.best.gap < Fraction(1, 10**9)
    assert round(float(found.best.loss), 3) == best
    assert round(float(found.geometric), 3) == geometric
    assert found.refuted
    if n == 20:
        advice = {c.name: c for c in advise(graph, epsilon, loss, prior).candidates}
        assert round(float(advice["exponential"].loss), 3) == exponential
        assert abs(float(advice["geometric"].loss) - float(found.geometric)) < 1e-9


def test_the_graphs_on_which_no_mechanism_serves_everybody():
    """On a cycle some analyst is better served than by its geometric mechanism; on a path none is."""
    prior = Prior.proportional([3, 1, 1, 3, 1, 1])
    assert universality(cycle(6), prior, Loss.circular(6), 1).refuted
    assert not universality(cycle(6), Prior.uniform(6), Loss.circular(6), 1).refuted
    assert universality(band(6, 2), Prior.uniform(7), Loss.absolute(range(7)), 1).refuted
    for prior in (Prior.uniform(7), Prior.binomial(6, "0.2"), Prior.proportional([1, 0, 0, 5, 0, 0, 1])):
        for loss in (Loss.absolute(range(7)), Loss.squared(range(7)), Loss.zero_one(range(7))):
            found = universality(path(6), prior, loss, ratio=2)
            assert found.excess.low == found.excess.high == 0


def test_answers_that_are_never_neighbours_need_not_be_confused():
    """Two components: each is solved by itself, and telling them apart is free."""
    graph = Graph.of(range(4), [(0, 1), (2, 3)])
    prior, loss = Prior.uniform(4), Loss.zero_one(range(4))
    best = optimal(graph, prior, loss, ratio=3)
    assert best.loss == Fraction(1, 4)  # in each pair the better answer has probability 3/4
    assert "2 components" in best.method
    assert bayes_risk(best.channel, prior, loss).high == Fraction(1, 4)
    certain = optimal(Graph((0, 1), ()), Prior.uniform(2), Loss.zero_one(range(2)), 1)
    assert certain.loss == 0


def test_with_one_possible_truth_nothing_is_lost():
    assert optimal(path(0), Prior.uniform(1), Loss.absolute(range(1)), 1).loss == 0
    sure = optimal(path(5), Prior.proportional([0, 0, 1, 0, 0, 0]), Loss.absolute(range(6)), 1)
    assert sure.loss <= Fraction(1, 10**12)


def test_on_a_category_randomised_response_is_optimal_for_the_uniform_prior():
    best = optimal(complete("abcde"), Prior.uniform(5), Loss.zero_one("abcde"), ratio=3)
    assert best.loss == best.bound == 1 - Fraction(3, 7)


def test_sums_and_cycles_are_solved_exactly_when_the_level_is_rational():
    for graph, loss in ((band(12, 4), Loss.absolute(range(13))), (cycle(9), Loss.circular(9))):
        best = optimal(graph, Prior.proportional(range(1, len(graph) + 1)), loss, ratio=3)
        assert best.gap == 0
        assert best.channel.ratio() == 3
        assert bayes_risk(best.channel, best.prior, loss).high == best.loss


def test_large_random_problems_that_stall_plain_column_generation_converge():
    generator = np.random.default_rng(1)
    n = 100
    prior = Prior.proportional(generator.integers(1, 100, n + 1).tolist())
    loss = Loss.of(generator.integers(0, 1000, (n + 1, n + 1)).tolist())
    best = optimal(path(n), prior, loss, "0.5")
    assert best.gap < Fraction(1, 10**5)  # of a loss around 200
    assert private(best.channel, path(n), Fraction(1, 2))


def test_plain_solver_output_is_not_private_but_ours_is():
    """Why the repair exists: the linear program's own answer breaks the ratios by its tolerance."""
    n, ratio = 20, exp(1)
    graph, prior, loss = path(n), Prior.uniform(n + 1), Loss.absolute(range(n + 1))
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    width = n + 1
    above = sparse.lil_matrix((len(pairs) * width, width * width))
    for k, (i, j) in enumerate(pairs):
        for w in range(width):
            above[k * width + w, i * width + w] = 1
            above[k * width + w, j * width + w] = -ratio
    cost = np.array([[float(c) / width for c in row] for row in loss.rows]).T.ravel()
    sums = sparse.kron(sparse.identity(width), np.ones((1, width)))
    result = linprog(
        cost,
        A_ub=above.tocsr(),
        b_ub=np.zeros(len(pairs) * width),
        A_eq=sums,
        b_eq=np.ones(width),
        method="highs-ipm",
    )
    proposal = result.x.reshape(width, width)
    entries = [[max(Fraction(0), Fraction(float(p))) for p in row] for row in proposal]
    rows = [[p / sum(row) for p in row] for row in entries]
    assert Table.of(rows, neighbours=graph.edges).delta(1).low > 0
    assert private(optimal(graph, prior, loss, 1).channel, graph, Fraction(1))
