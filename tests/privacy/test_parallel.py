"""Parallel composition, by enumerating neighbouring datasets of a small universe."""

from fractions import Fraction
from itertools import product

import pytest

from discreet.errors import ParameterError
from discreet.exact.number import log_up
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.compose import compose
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import LaplaceLoss
from discreet.privacy.parallel import Routing, Worst, parallel

ALPHAS = (Fraction(1, 2), Fraction(1, 4))


def _counts(records, routing):
    """What the two releases count: ones in odd and even places, or the records of each value."""
    if routing is Routing.INDEX:
        return [sum(records[0::2]), sum(records[1::2])]
    return [records.count(0), records.count(1)]


def _largest_ratio(pairs, routing):
    """The largest ratio of probabilities of the two noisy counts over the given neighbours."""
    worst = Fraction(1)
    for one, two in pairs:
        ratio = Fraction(1)
        for alpha, a, b in zip(ALPHAS, _counts(one, routing), _counts(two, routing), strict=True):
            ratio *= (1 / alpha) ** abs(a - b)
        worst = max(worst, ratio)
    return worst


def _neighbours(adjacency):
    for size in (1, 2, 3):
        for records in product((0, 1), repeat=size):
            match adjacency:
                case Adjacency.ADD_REMOVE:
                    yield records, records[:-1]
                case Adjacency.REPLACE:
                    for index, value in product(range(size), (0, 1)):
                        yield records, (*records[:index], value, *records[index + 1 :])


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("routing", list(Routing))
def test_the_claimed_cost_is_what_the_worst_neighbours_cost(adjacency, routing):
    exact = _largest_ratio(_neighbours(adjacency), routing)
    claimed = parallel([Pure(log_up(1 / alpha)) for alpha in ALPHAS], adjacency, routing)
    assert abs(claimed.cost - log_up(exact)) < Fraction(1, 2**80)


def test_taking_the_maximum_under_replacement_by_value_is_caught():
    exact = _largest_ratio(_neighbours(Adjacency.REPLACE), Routing.VALUE)
    assert exact > max(1 / alpha for alpha in ALPHAS)


def test_profiles_compose_in_pairs_when_records_can_move():
    parts = [Profile(LaplaceLoss(Fraction(1, n))) for n in (1, 2, 3)]
    whole = parallel(parts, "replace", "by value")
    assert isinstance(whole, Worst)
    two = compose(parts[:2]).epsilon("1e-6")
    assert whole.epsilon("1e-6").high == two.high
    assert whole.delta(1).high == compose(parts[:2]).delta(1).high
    assert whole.group(2).epsilon("1e-6").high > two.high
    assert parallel(parts, "add-remove", "by value").epsilon("1e-6").high == parts[0].epsilon("1e-6").high
    assert parallel(parts[:1], "replace", "by value") == parts[0]


def test_the_worst_of_several_is_charged_as_the_worst_under_each_measure():
    worst = parallel([Pure(1), Approximate("0.1", "1e-9")], "add-remove", "by value")
    assert worst.price() == Cost(Fraction(1), Cost.pure(1).rho, Fraction(1, 10**9))
    assert worst.simple() == Approximate(1, Fraction(1, 10**9))
    assert parallel([Pure(1), Concentrated("0.1")], "add-remove", "by index").simple() == Concentrated(
        Cost.pure(1).rho
    )
    assert parallel([Concentrated(1), Concentrated(2)], "replace", "by index") == Concentrated(2)
    assert parallel([Pure(1), Concentrated(1)], "add-remove", "by index").epsilon(0).high is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda: parallel([], "replace", "by value"),
        lambda: parallel([Pure(1)], "sometimes", "by value"),
        lambda: parallel([Pure(1)], "replace", "by luck"),
    ],
)
def test_a_partition_must_be_named(ask):
    with pytest.raises(ParameterError):
        ask()
