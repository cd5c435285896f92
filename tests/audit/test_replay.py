"""Identical coins on neighbouring inputs show what the data alone changed."""

from fractions import Fraction

import pytest

from discreet.audit import replay
from discreet.errors import ParameterError, QueryError
from discreet.exact.coins import SystemCoins, source
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.sparse_vector import SparseVector

NOISE = Geometric.calibrate(epsilon="0.1")


def test_additive_noise_cancels_so_that_the_sensitivity_shows_exactly():
    found = replay(lambda rows: NOISE.sample(sum(rows)), (1, 2, 3), (1, 2, 3, 7), l1=10)
    assert found.clean
    assert found.l1 == found.linf == 7


def test_a_sensitivity_larger_than_declared_is_a_finding():
    found = replay(lambda rows: NOISE.sample(sum(rows)), (1, 2, 3), (1, 2, 3, 7), l1=5)
    assert not found.clean
    assert "declared 5" in str(found)


def test_each_coordinate_counts_towards_l1():
    found = replay(lambda q: [NOISE.sample(x) for x in q], (0, 0, 0), (1, 1, 1), l1=2, linf=1)
    assert (found.l1, found.linf) == (3, 1)
    assert not found.clean


def test_noise_that_depends_on_the_data_is_a_finding():
    """A scale chosen by the data asks for other coins."""

    def careless(rows):
        return Geometric(Fraction(1, 2) if len(rows) > 2 else Fraction(9999, 10000)).sample(len(rows))

    found = replay(careless, (1, 2), (1, 2, 3))
    assert not found.clean


def test_an_early_exit_is_a_finding_even_when_it_is_too_rare_to_sample():
    found = replay(lambda rows: NOISE.sample(0) if "alice" in rows else 0, ("alice", "bob"), ("bob",))
    assert "control flow depends on the data" in str(found)


def test_a_row_that_only_one_input_has_is_a_finding():
    found = replay(lambda rows: {key: NOISE.sample(1) for key in rows}, ("a",), ("b",))
    assert "structure depends on the data" in str(found)


def test_errors_are_outputs():
    def fragile(rows):
        if len(rows) > 1:
            raise QueryError("sum", "overflow", "use fewer rows")
        return NOISE.sample(len(rows))

    found = replay(fragile, (1,), (1, 2), same_flow=False)
    assert not found.clean


def test_early_stopping_mechanisms_are_compared_without_their_flow():
    mechanism = SparseVector.calibrate(epsilon=1)

    def run(values):
        session = mechanism.start(2)
        return [session.ask(value) is not None for value in values if session.left]

    assert replay(run, (0, 0, 9), (0, 0, 9), same_flow=False).clean


def test_floats_on_the_grid_move_by_whole_steps():
    laplace = Laplace.calibrate(epsilon=1)
    found = replay(laplace.sample, 0.0, 1.0, l1=1)
    assert found.clean
    assert found.l1 == 1


def test_afterwards_the_systems_coins_are_back():
    replay(NOISE.sample, 0, 1)
    assert isinstance(source(), SystemCoins)
    with pytest.raises(ZeroDivisionError):
        replay(lambda x: x // 0, 0, 1)
    assert isinstance(source(), SystemCoins)


def test_at_least_one_replay_is_needed():
    with pytest.raises(ParameterError, match="runs"):
        replay(NOISE.sample, 0, 1, runs=0)
