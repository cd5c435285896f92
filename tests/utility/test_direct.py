"""A channel solved for at once: its columns are mixtures of rays, and the search only has to confirm it."""

from fractions import Fraction
from importlib import import_module
from math import exp

import numpy as np
import pytest

from discreet.utility import Graph, Loss, Prior, optimal
from discreet.utility.direct import direct, rays, shortfall
from discreet.utility.pricing import LinearPricer, directed, steps_apart, values
from discreet.utility.search import search

EPSILON = 0.7


def ring(size):
    return Graph.of(range(size), [(k, (k + 1) % size) for k in range(size)])


def test_a_column_is_the_mixture_of_its_rays_that_the_theorem_names():
    random, graph = np.random.default_rng(3), ring(9)
    for _ in range(20):
        h = np.cumsum(random.uniform(-0.5, 0.5, 9))
        h -= np.linspace(0, h[-1] - h[0], 9) * random.uniform(0.8, 1.0)
        steps = np.abs(np.diff(np.append(h, h[0])))
        h = h / max(1.0, steps.max())
        column = np.exp(EPSILON * (h - h.max()))
        found, guesses, weights = rays(graph, column[None, :], EPSILON)
        assert set(guesses) == {0}
        assert np.allclose(weights @ values(found, EPSILON), column)
        # Neighbours of a ray differ by at most one step.
        around = np.abs(np.diff(found, axis=1, append=found[:, :1]))
        assert around.max() <= 1
        e = exp(EPSILON)
        high = h - h.max()
        ends = np.sort(np.unique(np.concatenate([[0.0, 1.0], 1 - (high - np.floor(high))])))
        law = np.diff((e - e ** (1 - ends)) / (e - 1))
        middles = (ends[:-1] + ends[1:]) / 2
        mixed = sum(w * e ** np.floor(high + s) for w, s in zip(law, middles, strict=True))
        assert np.allclose(mixed, column)
        named = {tuple(np.floor(high + s) - np.floor(high + s).max()) for s in middles}
        assert named == {tuple(ray) for ray in found.tolist()}


@pytest.mark.parametrize("average", [True, False])
def test_the_search_confirms_what_was_solved_at_once(average, monkeypatch):
    random, size = np.random.default_rng(4), 10
    loss = Loss.of(random.integers(0, 100, (size, size)).tolist())
    prior = Prior.proportional(random.integers(1, 9, size).tolist()) if average else None
    rounds = []
    solving, searching = (import_module(f"discreet.utility.{name}") for name in ("optimal", "search"))
    plain = searching.search

    def counted(*given, **named):
        found = plain(*given, **named)
        rounds.append(found.rounds)
        return found

    monkeypatch.setattr(solving, "search", counted)
    started = optimal(ring(size), prior, loss, "0.7")
    monkeypatch.setattr(searching, "direct", lambda *given: None)
    alone = optimal(ring(size), prior, loss, "0.7")
    assert float(started.loss) == pytest.approx(float(alone.loss), rel=1e-8)
    assert started.gap <= 1e-8
    # One search each was enough for its proof.
    first, second = rounds
    assert first < second


@pytest.mark.parametrize("average", [True, False])
def test_what_was_solved_at_once_is_told_in_the_units_of_the_costs(average):
    random, graph = np.random.default_rng(6), ring(8)
    loss = random.integers(0, 100, (8, 8)) * 7e5
    prior = np.full(8, 1 / 8) if average else None
    found = search(
        graph, loss, prior, EPSILON, tolerance=1e-9, pricer=LinearPricer(graph, EPSILON), at_once=True
    )
    assert found.rounds == 0
    short = shortfall(directed(graph), found.prior * loss - found.dual, found.flows, EPSILON)
    assert short.max() <= 1e-7 * loss.max()


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("chords", [0, 6])
def test_the_multipliers_are_the_proof_and_no_column_is_priced(average, chords, monkeypatch):
    """Also where the graph is more than a cycle, which another method solves."""
    random, size = np.random.default_rng(5), 12
    edges = [*ring(size).edges, *((k, k + 5) for k in range(chords))]
    graph = Graph.of(range(size), sorted({(min(pair), max(pair)) for pair in edges}))
    loss = Loss.of(random.integers(0, 100, (size, size)).tolist())
    prior = Prior.proportional(random.integers(1, 9, size).tolist()) if average else None

    def refused(*given):
        raise AssertionError("a column was priced")

    for verb in ("rays", "flows"):
        monkeypatch.setattr(LinearPricer, verb, refused)
    best = optimal(graph, prior, loss, "0.7")
    assert 0 <= best.gap <= 1e-8
    # What falls short is told: flows of twice the size take more where they end.
    costs = np.array(loss.numerators, dtype=float)
    belief = None if prior is None else np.array([float(w) for w in prior.weights])
    whole = direct(graph, costs, belief, EPSILON)
    assert whole.short.min() >= 0
    assert whole.short.max() <= 1e-7
    need, twice = whole.belief * costs - whole.dual, 2 * whole.flows
    short = shortfall(directed(graph), need, twice, EPSILON)
    assert short.max() > 0.01
    left = need.copy()
    for place, (start, end) in enumerate(directed(graph).tolist()):
        left[:, start] += twice[:, place]
        left[:, end] -= exp(EPSILON) * twice[:, place]
    # Prices that are lower by so much are supported, and by no less at any answer.
    assert short == pytest.approx(np.maximum(-left.min(axis=0), 0))


def test_entries_below_rounding_follow_from_larger_ones():
    """A column that falls by whole steps to where floats of a solver end is still one ray."""
    graph, steep = ring(20), 4.0
    h = -np.minimum(np.arange(20), 20 - np.arange(20))
    column = np.exp(steep * h)
    blurred = np.where(column < 1e-9, 3e-11, column)
    pairs = directed(graph)
    tight = (h[pairs[:, 0]] - h[pairs[:, 1]] == 1)[None, :]
    found, _, weights = rays(graph, blurred[None, :], steep, tight)
    assert found.tolist() == [h.tolist()]
    assert weights == pytest.approx([1.0])
    assert len(rays(graph, blurred[None, :], steep)[0]) > 1


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "2"])
@pytest.mark.parametrize("shape", ["path", "ring", "chords", "complete"])
def test_whatever_way_the_solver_goes_the_optimum_is_the_one_that_rays_find(
    average, epsilon, shape, monkeypatch
):
    random, size = np.random.default_rng(6), 9
    edges = {
        "path": [(k, k + 1) for k in range(size - 1)],
        "ring": ring(size).edges,
        "chords": sorted({*ring(size).edges, *((k, k + 3) for k in range(5))}),
        "complete": [(i, j) for i in range(size) for j in range(i)],
    }[shape]
    graph = Graph.of(range(size), edges)
    rough = random.integers(0, 100, (size, size))
    smooth = steps_apart(graph) * 10 + rough // 40
    prior = Prior.proportional(random.integers(1, 9, size).tolist()) if average else None
    searching = import_module("discreet.utility.search")
    for costs in (rough, smooth):
        loss = Loss.of(costs.tolist())
        at_once = optimal(graph, prior, loss, epsilon)
        with monkeypatch.context() as patched:
            patched.setattr(searching, "direct", lambda *given: None)
            by_rays = optimal(graph, prior, loss, epsilon)
        assert at_once.gap <= Fraction(1, 10**6)
        assert float(at_once.loss) == pytest.approx(float(by_rays.loss), rel=1e-7)


@pytest.mark.parametrize("shape", ["ring", "lone"])
def test_steps_apart_are_the_distances_of_the_graph(shape):
    graph = ring(7) if shape == "ring" else Graph.of(range(4), [(0, 1), (1, 2)])
    told = [[len(graph) if far is None else far for far in graph.distances(k)] for k in range(len(graph))]
    assert steps_apart(graph).tolist() == told


def test_channels_of_too_many_entries_are_left_to_the_rays():
    assert direct(ring(101), np.ones((101, 101)), np.ones(101) / 101, 1.0) is None


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
@pytest.mark.parametrize("wrong", [1, 7])
def test_the_worst_case_of_right_or_wrong_is_proved_whatever_solves_it(epsilon, wrong, monkeypatch):
    size = 9
    graph = Graph.of(range(size), [*ring(size).edges, (0, 4), (2, 7)])
    loss = Loss.of([[wrong * (i != j) for j in range(size)] for i in range(size)])
    at_once = optimal(graph, None, loss, epsilon)
    searching = import_module("discreet.utility.search")
    monkeypatch.setattr(searching, "direct", lambda *given: None)
    by_rays = optimal(graph, None, loss, epsilon)
    assert 0 <= at_once.gap <= 1e-8 * wrong
    assert float(at_once.loss) == pytest.approx(float(by_rays.loss), rel=1e-8)


def test_a_price_falls_by_what_is_missing_at_its_own_answer():
    """One flow that is a little too small costs the bound that little, and not once for every answer."""
    pairs = directed(ring(12))
    flows = np.zeros((3, len(pairs)))
    need = np.full((3, 12), 0.5)
    need[1, 4] = -0.25
    assert shortfall(pairs, need, flows, EPSILON).tolist() == [0.25 * (y == 4) for y in range(12)]
    flows[1, pairs.tolist().index([4, 5])] = 0.2
    short = shortfall(pairs, need, flows, EPSILON)
    assert short[4] == pytest.approx(0.05)
    assert short[5] == pytest.approx(max(0.0, 0.2 * exp(EPSILON) - 0.5))
    assert short.sum() == pytest.approx(short[4] + short[5])
