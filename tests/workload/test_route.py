"""Both routes to (epsilon, delta) keep the promise, and the better one depends on the questions."""

from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.workload import Identity, Marginals, Prefix, routes

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


@pytest.mark.parametrize("workload", [Prefix(32), Marginals.of_order((3, 2, 2), 1, 2)], ids=repr)
def test_both_routes_stay_within_epsilon_and_delta(workload):
    both = routes(workload, EPSILON, DELTA)
    for made in (both.pure, both.concentrated):
        assert made.guarantee.epsilon(DELTA).high <= EPSILON
    assert both.best.error.total == min(both.pure.error.total, both.concentrated.error.total)
    assert both.gain >= 1


def test_a_plain_histogram_favours_geometric_noise_and_many_marginals_favour_gaussian():
    assert isinstance(routes(Identity(16), EPSILON, DELTA).best.noise, Geometric)
    many = routes(Marginals.of_order((2,) * 12, 2), EPSILON, DELTA).best
    assert all(isinstance(table.noise, Gaussian) for table in many.tables)


def test_delta_must_be_a_probability():
    with pytest.raises(ParameterError, match="delta"):
        routes(Identity(4), 1, 0)
