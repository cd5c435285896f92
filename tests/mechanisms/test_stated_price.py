"""What a mechanism states is what its law loses, found by trying neighbours, for vectors and coarse grids."""

from fractions import Fraction
from itertools import pairwise, product
from math import floor

import pytest

import discreet as dp
from discreet.exact.number import exp_bounds
from discreet.mechanisms import sparse_vector
from discreet.mechanisms.codec import decode, encode

HALF = Fraction(1, 2)


def covers(cost, ratio):
    """Whether exp(cost) reaches a ratio that is attained, and no more than rounding beyond it."""
    low, high = exp_bounds(cost)
    return high >= ratio and low <= ratio * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize("coordinates", [1, 2, 3])
@pytest.mark.parametrize(("each", "step"), [("1/2", 1), ("1/3", 1), (1, "2/3"), (1, 1), ("5/2", 1)])
def test_rounding_to_a_coarse_grid_is_paid_for_in_every_coordinate(coordinates, each, step):
    change = dp.Sensitivity.spread(coordinates, each)
    noise = dp.Laplace(HALF, step)
    grid = Fraction(step)

    def place(x):
        return floor(x / grid + HALF)

    starts = [Fraction(k, 12) * grid for k in range(12)]
    furthest = max(abs(place(x + Fraction(each)) - place(x)) for x in starts)
    # Each coordinate can be moved across as many grid points as one can, all in the same direction.
    assert exp_bounds(noise.guarantee(change).cost)[1] >= 2 ** (furthest * coordinates)
    if coordinates == 1:
        assert covers(noise.guarantee(change).cost, 2**furthest)
    made = dp.Laplace.calibrate(epsilon=1, sensitivity=change, step=step)
    assert made.alpha ** (-furthest * coordinates) <= exp_bounds(Fraction(1))[1]


@pytest.mark.parametrize("ball", ["l1", "linf"])
@pytest.mark.parametrize("coordinates", [1, 2])
def test_lattice_noise_is_paid_for_in_the_norm_of_its_ball(ball, coordinates):
    noise = dp.KNorm(HALF, 2, ball)
    change = dp.Sensitivity.spread(coordinates, 1)
    moves = [move for move in product((-1, 0, 1), repeat=2) if sum(map(abs, move)) <= coordinates]
    grid = list(product(range(-4, 5), repeat=2))
    worst = max(noise.pmf(z) / noise.pmf((z[0] - move[0], z[1] - move[1])) for z in grid for move in moves)
    assert covers(noise.guarantee(change).cost, worst)
    assert noise.norm((2, -1)) == (3 if ball == "l1" else 2)
    calibrated = dp.KNorm.calibrate(epsilon=1, dimension=2, ball=ball, sensitivity=change)
    lengths = coordinates if ball == "l1" else 1
    assert calibrated.alpha**-lengths <= exp_bounds(Fraction(1))[0]


def test_vectors_of_staircase_noise_climb_a_step_in_every_coordinate():
    noise = dp.Staircase(HALF, 3, 2)
    for coordinates, each in ((1, 3), (2, 1), (2, 4), (3, 3)):
        change = dp.Sensitivity.spread(coordinates, each)
        levels = max(abs(noise.level(k + each) - noise.level(k)) for k in range(-20, 20))
        assert exp_bounds(noise.guarantee(change).cost)[1] >= 2 ** (levels * coordinates)


def test_the_value_of_a_sparse_vector_is_not_the_one_that_was_compared(monkeypatch):
    """Publishing the compared value is the variant that is not private: the value has noise of its own."""
    compared, fresh = [], []

    def one_sided(alpha):
        compared.append(alpha)
        return 7

    def two_sided(alpha):
        fresh.append(alpha)
        return 1000

    monkeypatch.setattr(sparse_vector, "geometric", one_sided)
    monkeypatch.setattr(sparse_vector, "two_sided_geometric", two_sided)
    session = dp.SparseVector("1/2", "1/3", 2, "1/5").start(10)
    answer = session.ask(50)
    assert answer == sparse_vector.Above(50 + 7 - (10 + 7), 50 + 1000)
    assert compared == [Fraction(1, 2), Fraction(1, 3)]
    assert fresh == [Fraction(1, 5)]
    # The threshold's noise is drawn once, that of the values anew for each.
    assert session.ask(9) is None
    assert compared == [Fraction(1, 2), Fraction(1, 3), Fraction(1, 3)]
    assert session.left == 1
    assert session.ask(10) == sparse_vector.Above(0, 1010)
    with pytest.raises(dp.BudgetError, match="has given its 2 answers"):
        session.ask(50)


def test_a_sparse_vector_states_threshold_queries_and_values():
    noise = dp.SparseVector("1/2", "1/3", 2, "1/5")
    assert covers(noise.guarantee(1).cost, 2 * 3**4 * 5**2)
    assert covers(noise.guarantee(1, monotone=True).cost, 2 * 3**2 * 5**2)
    assert covers(noise.guarantee(3).cost, (2 * 3**4 * 5**2) ** 3)
    assert noise.guarantee(dp.Sensitivity.spread(5, 3)) == noise.guarantee(3)


@pytest.mark.parametrize("kind", [dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax])
def test_selections_state_twice_the_sensitivity_unless_all_scores_move_one_way(kind):
    choice = kind(HALF)
    scores = [(0, 0, 0), (2, 0, 1), (4, 4, 0)]
    for monotone, moves in ((False, (-1, 0, 1)), (True, (0, 1))):
        worst = max(
            p / q
            for base in scores
            for move in product(moves, repeat=3)
            for one, two in [(choice.pmf(base), choice.pmf([b + m for b, m in zip(base, move, strict=True)]))]
            for p, q in [*zip(one, two, strict=True), *zip(two, one, strict=True)]
        )
        stated = exp_bounds(choice.guarantee(1, monotone=monotone).cost)[1]
        assert worst <= stated
        assert exp_bounds(choice.guarantee(1, monotone=monotone).cost)[0] <= (2 if monotone else 4)
        assert choice.guarantee(2, monotone=monotone).cost == 2 * choice.guarantee(1, monotone=monotone).cost


def test_groups_multiply_epsilon_and_unite_delta():
    selection = dp.Threshold(2, "1e-3")
    three = selection.guarantee(3)
    assert covers(three.cost, 8)
    assert three.slack == 1 - Fraction(999, 1000) ** 3
    noisy = dp.NoisyThreshold(HALF, 5)
    assert noisy.guarantee(1).slack == noisy.keep(1) == HALF**4 / (1 + HALF)
    assert noisy.guarantee(2).slack == 1 - (1 - noisy.keep(1)) ** 2
    assert covers(noisy.guarantee(2).cost, 4)
    shown, counts = dp.NoisyThreshold(Fraction(1, 10**9), 5).sample([0, 4, 5, 6])
    assert shown.tolist() == [False, False, True, True]
    assert counts.tolist() == [0, 4, 5, 6]
    # A group without people is none, however large its noise.
    assert not dp.NoisyThreshold(Fraction(99, 100), -(10**6)).sample([0, 0, 0])[0].any()


def test_the_chance_to_be_kept_obeys_both_conditions_and_none_other():
    odds, delta = Fraction(3, 2), Fraction(1, 50)
    keep = [dp.Threshold(odds, delta).keep(n) for n in range(40)]
    assert keep[0] == 0
    for before, after in pairwise(keep):
        assert after <= odds * before + delta
        assert 1 - before <= odds * (1 - after) + delta
        tight = min(odds * before + delta, 1 - (1 - before - delta) / odds, 1)
        assert tight - after < Fraction(1, 2**100)


@pytest.mark.parametrize(
    "mechanism",
    [
        dp.Geometric("1/3"), dp.TruncatedGeometric("1/3", -2, 5), dp.Laplace("1/3", "1/7"),
        dp.TruncatedLaplace("1/3", "1/7", -1, 2), dp.Gaussian("22/7"), dp.Staircase("1/3", 4, 2),
        dp.Exponential("1/3"), dp.PermuteAndFlip("1/3"), dp.NoisyMax("1/3"),
        dp.NoisyMax("1/3", two_sided=True),
        dp.RandomizedResponse("7/2", 3), dp.Threshold("7/2", "1/100"), dp.NoisyThreshold("1/3", 9),
    ],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_a_stored_law_is_read_back_as_it_was(mechanism):
    assert decode(encode(mechanism)) == mechanism
