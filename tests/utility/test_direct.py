"""A channel solved for at once: its columns are mixtures of rays, and the search only has to confirm it."""

from importlib import import_module
from math import exp

import numpy as np
import pytest

from discreet.utility import Graph, Loss, Prior, optimal
from discreet.utility.direct import _flows, direct, rays
from discreet.utility.pricing import LinearPricer

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
        found, guesses = rays(graph, column[None, :], EPSILON)
        assert set(guesses) == {0}
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
    assert rounds[0] < rounds[1]


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
    assert whole.short <= 1e-7
    multipliers = np.zeros((size, 2 * len(graph.edges)))
    for row, flow in zip(multipliers, whole.flows, strict=True):
        pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
        row[:] = [-flow.get(pair, 0.0) * exp(EPSILON) * 2 for pair in pairs]
    need = whole.belief * costs - whole.dual
    hints, short = _flows(graph, need, multipliers.reshape(-1), EPSILON)
    assert short > 0.01
    supported = [
        need[w, y]
        + sum(f for (i, _), f in hint.items() if i == y)
        - exp(EPSILON) * sum(f for (_, j), f in hint.items() if j == y)
        for w, hint in enumerate(hints)
        for y in range(size)
    ]
    assert short == pytest.approx(-min(supported))


def test_channels_of_too_many_entries_are_left_to_the_rays():
    assert direct(ring(101), np.ones((101, 101)), np.ones(101) / 101, 1.0) is None
