"""A channel solved for at once: its columns are mixtures of rays, and the search only has to confirm it."""

from importlib import import_module
from math import exp

import numpy as np
import pytest

from discreet.utility import Graph, Loss, Prior, optimal
from discreet.utility.direct import direct, rays

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


def test_channels_of_too_many_entries_are_left_to_the_rays():
    assert direct(ring(101), np.ones((101, 101)), np.ones(101) / 101, 1.0) is None
