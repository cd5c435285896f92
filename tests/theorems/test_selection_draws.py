"""Every sampler, walked through branch by branch, returns each value with exactly its stated probability.

The exact primitives (geometric, Bernoulli, uniform, weighted choice) are proved elsewhere; here they are
replaced by branching points with their stated laws, and the tree of a mechanism's draws is enumerated.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.exact.coin_tree import ReplayedCoins

from discreet.exact.coins import _using
from discreet.mechanisms import (
    exponential,
    knorm,
    noisy_max,
    permute_and_flip,
    randomized_response,
    sparse_vector,
    staircase,
    threshold,
)
from discreet.mechanisms.exponential import Exponential, Levels
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import NoisyThreshold, Threshold


class BranchError(Exception):
    def __init__(self, chances):
        self.chances = chances


class CutError(Exception):
    """A branch beyond the enumerated part of an infinite law."""


class Walk:
    """One path through the tree: replays its choices and stops at the first new branching point."""

    def __init__(self, path, reach):
        self.path, self.reach, self.chance, self.place = path, reach, Fraction(1), 0

    def pick(self, chances):
        if self.place == len(self.path):
            raise BranchError(chances)
        index = self.path[self.place]
        self.place += 1
        self.chance *= chances[index]
        return index

    def many(self, one, count):
        return one() if count is None else np.array([one() for _ in range(count)], dtype=np.int64)

    def geometric(self, alpha, count=None):
        law = [(1 - alpha) * alpha**k for k in range(self.reach)] + [alpha**self.reach]

        def one():
            k = self.pick(law)
            if k == self.reach:
                raise CutError
            return k

        return self.many(one, count)

    def reaches(self, alpha, values):
        flat = [self.bernoulli(alpha ** int(value)) for value in values.reshape(-1)]
        return np.array(flat).reshape(values.shape)

    def two_sided_geometric(self, alpha, count=None):
        side = self.reach
        law = [(1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(-side, side + 1)]
        law.append(1 - sum(law))

        def one():
            k = self.pick(law)
            if k == 2 * side + 1:
                raise CutError
            return k - side

        return self.many(one, count)

    def bernoulli(self, p, count=None):
        return self.many(lambda: bool(self.pick([1 - p, p])), count)

    def uniform_below(self, bound, count=None):
        return self.many(lambda: self.pick([Fraction(1, bound)] * bound), count)

    def uniform_below_each(self, bounds):
        return np.array([self.uniform_below(int(bound)) for bound in bounds], dtype=np.int64)

    def choose_powers(self, alpha, gaps, multiplicities=None):
        sizes = multiplicities or [1] * len(gaps)
        weights = [size * alpha ** int(gap) for gap, size in zip(gaps, sizes, strict=True)]
        return self.pick([weight / sum(weights) for weight in weights])


PRIMITIVES = (
    "geometric",
    "reaches",
    "two_sided_geometric",
    "bernoulli",
    "uniform_below",
    "uniform_below_each",
    "choose_powers",
)


def enumerate_draws(module, draw, monkeypatch, reach=8):
    """Return the exact mass found on each value, and the mass that was cut off."""
    found, cut, pending = {}, Fraction(0), [()]
    while pending:
        path = pending.pop()
        walk = Walk(path, reach)
        for name in PRIMITIVES:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(walk, name))
        try:
            value = draw()
        except BranchError as branch:
            pending += [(*path, index) for index, chance in enumerate(branch.chances) if chance]
        except CutError:
            cut += walk.chance
        else:
            found[value] = found.get(value, Fraction(0)) + walk.chance
    assert sum(found.values()) + cut == 1
    return found, cut


def agrees(found, cut, pmf):
    return all(mass <= pmf(value) <= mass + cut for value, mass in found.items())


@pytest.mark.parametrize(
    "noise",
    [Staircase(Fraction(1, 5), 3, 2), Staircase(Fraction(1, 4), 1, 1), Staircase(Fraction(1, 6), 4, 4)],
)
def test_the_staircase(noise, monkeypatch):
    # Under coins of a test nothing is drawn ahead.
    with _using(ReplayedCoins(())):
        found, cut = enumerate_draws(staircase, lambda: noise.sample(0), monkeypatch)
    assert cut < Fraction(1, 1000)
    assert agrees(found, cut, noise.pmf)
    off_by_one = Staircase(noise.alpha, noise.width + 1, noise.inner)
    assert not agrees(found, cut, off_by_one.pmf)


def test_the_exponential_mechanism_and_its_levels(monkeypatch):
    choice = Exponential(Fraction(2, 3))
    scores = [4, 1, 4, 0]
    found, cut = enumerate_draws(exponential, lambda: choice.sample(scores), monkeypatch)
    assert cut == 0
    assert [found[i] for i in range(4)] == list(choice.pmf(scores))
    levels = Levels.of([3, 0, 1], [2, 5, 1])
    found, cut = enumerate_draws(exponential, lambda: choice.sample(levels), monkeypatch)
    flat = choice.pmf([3, 3, 0, 0, 0, 0, 0, 1])
    assert [found[i] for i in range(8)] == list(flat)


@pytest.mark.parametrize("scores", [[2, 0, 1], [1, 1, 1], [3, 0]])
def test_permute_and_flip(scores, monkeypatch):
    choice = PermuteAndFlip(Fraction(1, 4))
    found, cut = enumerate_draws(permute_and_flip, lambda: choice.sample(scores), monkeypatch, reach=5)
    law = choice.pmf(scores)
    assert agrees(found, cut, lambda i: law[i])
    assert cut < Fraction(1, 300)
    wrong = Exponential(Fraction(1, 4)).pmf(scores)
    assert agrees(found, cut, lambda i: wrong[i]) == (len(set(scores)) == 1)


def test_rows_of_permute_and_flip_are_independent(monkeypatch):
    choice, rows = PermuteAndFlip(Fraction(1, 6)), [[2, 0], [1, 1]]
    found, cut = enumerate_draws(
        permute_and_flip, lambda: tuple(choice.sample_each(rows).tolist()), monkeypatch
    )
    first, second = (choice.pmf(row) for row in rows)
    assert cut == 0
    assert agrees(found, cut, lambda pair: first[pair[0]] * second[pair[1]])
    assert not agrees(found, cut, lambda pair: first[pair[1]] * second[pair[0]])


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("scores", [[2, 0, 1], [1, 1], [3, 0]])
def test_the_noisy_maximum(scores, two_sided, monkeypatch):
    choice = NoisyMax(Fraction(1, 5), two_sided=two_sided)
    found, cut = enumerate_draws(noisy_max, lambda: choice.sample(scores), monkeypatch, reach=5)
    law = choice.pmf(scores)
    assert agrees(found, cut, lambda i: law[i])
    assert cut < Fraction(1, 300)


def test_randomized_response(monkeypatch):
    response = RandomizedResponse(Fraction(7, 2), 4)
    for truth in range(4):
        found, cut = enumerate_draws(
            randomized_response, lambda truth=truth: response.sample(truth), monkeypatch
        )
        assert cut == 0
        assert [found[report] for report in range(4)] == list(response.pmf(truth))


def test_the_sparse_vector(monkeypatch):
    mechanism = SparseVector(Fraction(1, 5), Fraction(1, 4), 1)

    def flags():
        session = mechanism.start(10)
        found = []
        for value in (10, 11):
            if session.left:
                found.append(session.ask(value) is not None)
        return tuple(found)

    found, cut = enumerate_draws(sparse_vector, flags, monkeypatch, reach=7)
    assert cut < Fraction(1, 1000)
    assert agrees(found, cut, lambda seen: mechanism.pmf((0, 1)[: len(seen)], 0, seen))
    swapped = SparseVector(Fraction(1, 4), Fraction(1, 5), 1)
    assert not agrees(found, cut, lambda seen: swapped.pmf((0, 1)[: len(seen)], 0, seen))


def test_group_selection(monkeypatch):
    selection = Threshold(Fraction(3), Fraction(1, 50))
    for count in range(selection.certain + 2):
        found, _ = enumerate_draws(threshold, lambda count=count: selection.sample(count), monkeypatch)
        assert found.get(True, Fraction(0)) == selection.keep(count)
    noisy = NoisyThreshold(Fraction(1, 4), 3)
    for count in range(5):
        found, cut = enumerate_draws(
            threshold, lambda count=count: bool(noisy.sample(np.array([count]))[0][0]), monkeypatch
        )
        shown = found.get(True, Fraction(0))
        assert shown <= noisy.keep(count) <= shown + cut


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(KNorm(Fraction(1, 6), 2, "linf"), marks=pytest.mark.fuzz),
        KNorm(Fraction(1, 6), 2, "linf", ((1, 0), (2, 1))),
    ],
)
def test_lattice_noise_on_a_cube(noise, monkeypatch):
    def draw():
        return tuple(int(x) for x in noise.sample(np.zeros(2, dtype=np.int64)))

    found, cut = enumerate_draws(knorm, draw, monkeypatch, reach=3)
    assert cut < Fraction(1, 50)
    assert agrees(found, cut, noise.pmf)
    assert not agrees(found, cut, KNorm(noise.alpha, 2, "l1", noise.image).pmf)
