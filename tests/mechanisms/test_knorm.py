"""Lattice K-norm noise: exact laws by counting, exact draws, running sums as the lectures' second program."""

from fractions import Fraction
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.knorm import KNorm, _eulerian, power_series, running_sums
from discreet.privacy.sensitivity import Sensitivity

A = Fraction(1, 3)
alphas = st.fractions(Fraction(1, 10), Fraction(4, 5), max_denominator=20)
SHEAR = ((1, 0), (3, 1))
STRETCH = ((2, 0), (0, 3))


def box(reach, dimension):
    return product(range(-reach, reach + 1), repeat=dimension)


@given(alphas, st.integers(1, 4))
def test_the_sum_of_a_polynomial_times_powers_is_exact(ratio, degree):
    exact = power_series(lambda m: (2 * m + 1) ** degree - m, degree, ratio)
    partial = sum(((2 * m + 1) ** degree - m) * ratio**m for m in range(400))
    assert 0 <= exact - partial < Fraction(1, 10**20)


@pytest.mark.parametrize("ball", ["l1", "linf"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_normaliser_counts_the_lattice(ball, dimension):
    noise = KNorm(A, dimension, ball)
    reach = 12 if dimension == 3 else 18
    size = sum if ball == "l1" else max
    inside = sum(A ** size(abs(x) for x in point) for point in box(reach, dimension))
    assert 0 <= noise.normaliser - inside < 10**4 * A**reach
    assert sum(noise.pmf(point) for point in box(3, dimension)) < 1


def test_in_one_dimension_both_balls_are_the_geometric_mechanism():
    for ball in ("l1", "linf"):
        noise, geometric = KNorm(A, 1, ball), Geometric(A)
        assert all(noise.pmf([k]) == geometric.pmf(k) for k in range(-6, 7))
        assert noise.radius("0.01") == geometric.radius("0.01")
        assert noise.mean_error() == geometric.mean_error
        assert noise.variance() == geometric.variance


@pytest.mark.parametrize(
    "noise",
    [
        KNorm(A, 2),
        pytest.param(KNorm(A, 2, "linf"), marks=pytest.mark.fuzz),
        KNorm(A, 2, "linf", SHEAR),
        KNorm(A, 2, "l1", STRETCH),
    ],
)
def test_moves_of_norm_one_cost_exactly_one_factor(noise):
    moves = [m for m in box(6, 2) if on_lattice(noise, m) and noise.norm(m) == 1]
    assert moves
    points = [z for z in box(12, 2) if noise.pmf(z)]
    ratios = [
        noise.pmf(z) / noise.pmf([x + m for x, m in zip(z, move, strict=True)])
        for z in points
        for move in moves
    ]
    assert max(ratios) == 1 / noise.alpha
    assert min(ratios) == noise.alpha


def on_lattice(noise, move):
    try:
        noise.norm(move)
    except ParameterError:
        return False
    return True


def test_a_move_off_the_lattice_is_refused_because_it_would_show():
    noise = KNorm(A, 2, "l1", STRETCH)
    with pytest.raises(ParameterError, match="columns of image"):
        noise.norm([1, 0])
    assert noise.pmf([0, 0]) > 0 == noise.pmf([1, 0])


def test_running_sums_are_noise_on_items_followed_by_summation():
    n = 4
    noise = KNorm(A, n, "l1", running_sums(n))
    item = Geometric(A)
    for prefix in box(1, n):
        steps = [prefix[0], *(b - a for a, b in pairwise(prefix))]
        assert noise.pmf(prefix) == prod(item.pmf(step) for step in steps)
    # Changing one item by one moves every later prefix by one, and costs one epsilon for all of them.
    for place in range(n):
        assert noise.norm([0] * place + [1] * (n - place)) == 1
    assert noise.guarantee(1).cost == item.guarantee(1).cost
    # Noise on each prefix instead is charged the l1 norm of that move: n epsilon.
    assert item.guarantee(Sensitivity.spread(n, 1)).cost == n * item.guarantee(1).cost
    assert [noise.variance(i) for i in range(n)] == [(i + 1) * item.variance for i in range(n)]


def test_the_lectures_figures_for_ten_running_sums():
    # At total epsilon: variance 200 / epsilon**2 for each prefix against 2 i / epsilon**2, as epsilon -> 0.
    n, epsilon = 10, Fraction(1, 1000)
    items = KNorm.calibrate(epsilon=epsilon, dimension=n, image=running_sums(n))
    prefixes = Geometric.calibrate(epsilon=epsilon, sensitivity=n)
    assert float(prefixes.variance * epsilon**2) == pytest.approx(200, rel=1e-6)
    assert [round(float(items.variance(i) * epsilon**2), 3) for i in range(n)] == [
        2 * (i + 1) for i in range(n)
    ]


def marginal(noise, coordinate, reach=14):
    law = {}
    for y in box(reach, noise.dimension):
        size = max(map(abs, y)) if noise.ball == "linf" else sum(map(abs, y))
        row = (1,) if noise.image is None else noise.image[coordinate]
        value = y[coordinate] if noise.image is None else sum(t * x for t, x in zip(row, y, strict=True))
        law[value] = law.get(value, Fraction(0)) + noise.alpha**size / noise.normaliser
    return law


@pytest.mark.parametrize(
    ("noise", "coordinate"),
    [
        (KNorm(A, 2, "linf"), 1),
        (KNorm(A, 3, "linf"), 0),
        (KNorm(A, 2, "linf", STRETCH), 1),
        (KNorm(A, 2, "l1", running_sums(2)), 1),
        (KNorm(A, 3, "l1", running_sums(3)), 2),
        (KNorm(A, 2, "l1", STRETCH), 0),
    ],
)
def test_accuracy_of_a_coordinate_is_that_of_its_marginal(noise, coordinate):
    law = marginal(noise, coordinate, 14 if noise.dimension == 2 else 11)
    assert float(noise.mean_error(coordinate)) == pytest.approx(
        float(sum(abs(k) * p for k, p in law.items())), rel=2e-3
    )
    assert float(noise.variance(coordinate)) == pytest.approx(
        float(sum(k * k * p for k, p in law.items())), rel=2e-2
    )
    for beta in ("0.3", "0.05", "0.01"):
        r = noise.radius(beta, coordinate=coordinate)
        assert sum(p for k, p in law.items() if abs(k) > r) <= Fraction(beta)
        assert r == 0 or sum(p for k, p in law.items() if abs(k) >= r) > Fraction(beta) - Fraction(1, 500)


def test_cube_noise_beats_box_noise_for_moves_that_fill_the_cube():
    d = 20
    cube = KNorm.calibrate(epsilon=1, dimension=d, ball="linf")
    box_noise = Geometric.calibrate(epsilon=1, sensitivity=d)
    assert 0.5 < cube.mean_error() / box_noise.mean_error < 0.56
    assert cube.guarantee(Sensitivity.spread(d, 1)).cost <= 1


def test_eulerian_weights_are_positive_and_add_up():
    for d in range(1, 9):
        weights = _eulerian(d)
        assert min(weights) > 0
        assert sum(weights) == 2**d * prod(range(1, d + 1))


def fits(observed, expected):
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return chi2.sf(statistic, len(expected) - 1) > 1e-8


@pytest.mark.parametrize(
    "noise",
    [
        KNorm(Fraction(2, 5), 2),
        pytest.param(KNorm(Fraction(2, 5), 2, "linf"), marks=pytest.mark.fuzz),
        KNorm(Fraction(2, 5), 2, "linf", SHEAR),
    ],
)
def test_samples_follow_the_law(noise):
    runs = 20_000
    drawn = noise.sample(np.zeros((runs, 2), dtype=np.int64))
    seen = {}
    for x, y in drawn.tolist():
        seen[x, y] = seen.get((x, y), 0) + 1
    cells = [z for z in box(7, 2) if runs * noise.pmf(z) >= 10]
    expected = [runs * float(noise.pmf(z)) for z in cells]
    observed = [seen.get(z, 0) for z in cells]
    assert fits([*observed, runs - sum(observed)], [*expected, runs - sum(expected)])


def test_a_sampler_with_the_wrong_shape_is_caught():
    runs, noise = 20_000, KNorm(Fraction(2, 5), 2, "linf")
    drawn = KNorm(Fraction(2, 5), 2, "l1").sample(np.zeros((runs, 2), dtype=np.int64)).tolist()
    cells = [z for z in box(3, 2) if runs * noise.pmf(z) >= 10]
    observed = [sum(tuple(d) == z for d in drawn) for z in cells]
    expected = [runs * float(noise.pmf(z)) for z in cells]
    assert not fits([*observed, runs - sum(observed)], [*expected, runs - sum(expected)])


def test_vectors_rows_and_huge_values_are_kept():
    noise = KNorm(A, 3, "linf", running_sums(3))
    assert noise.sample([1, 2, 3]).shape == (3,)
    assert noise.sample(np.zeros((5, 3), dtype=np.int64)).shape == (5, 3)
    far = noise.sample([2**70, 0, -(2**70)])
    assert abs(int(far[0]) - 2**70) < 10**6


@given(
    st.fractions(Fraction(1, 20), 8, max_denominator=20), st.integers(1, 6), st.sampled_from(["l1", "linf"])
)
@settings(max_examples=40)
def test_calibration_never_spends_more_than_asked(epsilon, dimension, ball):
    moved = Sensitivity.spread(dimension, 1)
    cost = (
        KNorm.calibrate(epsilon=epsilon, dimension=dimension, ball=ball, sensitivity=moved)
        .guarantee(moved)
        .cost
    )
    assert epsilon * (1 - Fraction(1, 2**50)) <= cost <= epsilon


@pytest.mark.parametrize(
    "build",
    [
        lambda: KNorm(Fraction(1), 2),
        lambda: KNorm(A, 0),
        lambda: KNorm(A, 2, "l2"),
        lambda: KNorm(A, 2, "l1", ((1, 1), (1, 1))),
        lambda: KNorm(A, 2, "l1", ((1, 1),)),
        lambda: KNorm(A, 2, "l1", ((1, "0.5"), (0, 1))),
        lambda: KNorm(A, 2).sample([1, 2, 3]),
        lambda: KNorm(A, 2).pmf([1]),
        lambda: KNorm(A, 2).variance(2) if KNorm(A, 2).radius(coordinate=2) else None,
        lambda: KNorm(A, 2, "linf", SHEAR).radius(coordinate=1),
        lambda: KNorm.calibrate(epsilon=0, dimension=2),
    ],
)
def test_bad_parameters_are_refused(build):
    with pytest.raises(ParameterError):
        build()
