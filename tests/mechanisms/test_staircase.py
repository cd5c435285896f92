"""The staircase: exact law, exact optimum over its inner step, exact privacy."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import ParameterError
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.sensitivity import Sensitivity

alphas = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=40)
widths = st.integers(1, 12)


@st.composite
def staircases(draw):
    width = draw(widths)
    return Staircase(draw(alphas), width, draw(st.integers(1, width)))


def mass(noise, reach=400):
    return {k: noise.pmf(k) for k in range(-reach, reach + 1)}


@given(staircases())
def test_the_law_is_a_probability_and_the_cdf_its_running_sum(noise):
    running = noise.cdf(-30)
    assert noise.cdf(-30) == noise.tail(30)
    for k in range(-29, 30):
        running += noise.pmf(k)
        assert running == noise.cdf(k)
    assert noise.cdf(29) + noise.tail(30) == 1


@given(staircases())
def test_neighbours_never_differ_by_more_than_one_over_alpha_and_some_reach_it(noise):
    ratios = [noise.pmf(k) / noise.pmf(k + s) for k in range(-40, 41) for s in range(noise.width + 1)]
    assert max(ratios) == 1 / noise.alpha
    assert min(ratios) == noise.alpha


@given(staircases(), st.integers(0, 30))
def test_the_guarantee_is_the_exact_price_of_any_move(noise, move):
    worst = max(noise.level(k + move) - noise.level(k) for k in range(noise.width + 1))
    assert noise.guarantee(move).cost == noise.guarantee().cost * worst


def test_a_vector_pays_for_every_coordinate_that_moves():
    noise = Staircase(Fraction(1, 2), 5, 2)
    one = noise.guarantee().cost
    worst = max(
        -(-x // 5) + -(-y // 5) + -(-z // 5)
        for x in range(8)
        for y in range(8)
        for z in range(8)
        if x + y + z <= 7 and max(x, y, z) <= 7
    )
    assert noise.guarantee(Sensitivity(Fraction(7), Fraction(49), Fraction(7), 3)).cost == one * worst
    assert noise.guarantee(Sensitivity.spread(3, 5)).cost == 3 * one
    assert noise.guarantee(Sensitivity(Fraction(4), Fraction(4), Fraction(1))).cost == 4 * one


@given(alphas, widths)
def test_the_chosen_inner_step_is_the_best_of_all(alpha, width):
    from discreet.mechanisms.staircase import _best

    everyone = [Staircase(alpha, width, r) for r in range(1, width + 1)]
    assert _best(alpha, width, lambda z: z.mean_error).mean_error == min(z.mean_error for z in everyone)
    assert _best(alpha, width, lambda z: z.variance).variance == min(z.variance for z in everyone)


@given(alphas)
def test_with_sensitivity_one_it_is_the_geometric_mechanism(alpha):
    noise, geometric = Staircase(alpha, 1, 1), Geometric(alpha)
    assert all(noise.pmf(k) == geometric.pmf(k) for k in range(-9, 10))
    assert (noise.mean_error, noise.variance) == (geometric.mean_error, geometric.variance)


@given(staircases())
def test_mean_error_and_variance_equal_their_sums(noise):
    law = mass(noise, 60 * noise.width)
    left = noise.alpha**59 * 10**6
    assert abs(noise.mean_error - sum(abs(k) * p for k, p in law.items())) < left
    assert abs(noise.variance - sum(k * k * p for k, p in law.items())) < left * 10**4


@given(staircases(), st.fractions(Fraction(1, 10**6), Fraction(1, 2)))
def test_the_radius_is_the_smallest(noise, beta):
    r = noise.radius(beta)
    assert 2 * noise.tail(r + 1) <= beta
    assert r == 0 or 2 * noise.tail(r) > beta


@given(st.fractions(Fraction(1, 50), 8, max_denominator=50), st.integers(1, 40))
def test_calibration_never_spends_more_than_asked_and_wastes_nothing_visible(epsilon, sensitivity):
    for loss in ("absolute", "squared"):
        cost = (
            Staircase.calibrate(epsilon=epsilon, sensitivity=sensitivity, loss=loss)
            .guarantee(sensitivity)
            .cost
        )
        assert epsilon * (1 - Fraction(1, 2**50)) <= cost <= epsilon


@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_it_beats_geometric_noise_of_the_same_price(epsilon):
    stairs = Staircase.calibrate(epsilon=epsilon, sensitivity=50)
    wide = Geometric.calibrate(epsilon=epsilon, sensitivity=50)
    assert stairs.mean_error < wide.mean_error
    assert Staircase.calibrate(epsilon=epsilon, sensitivity=50, loss="squared").variance < wide.variance


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 1.042), (2, 1.175), (5, 2.42), (10, 14.8)])
def test_fine_grids_approach_the_published_advantage_over_laplace(epsilon, ratio):
    width = 200_000
    noise = Staircase.calibrate(epsilon=epsilon, sensitivity=width)
    limit = exp(epsilon / 2) / (exp(epsilon) - 1)
    assert float(noise.mean_error) / width == pytest.approx(limit, rel=1e-4)
    assert (1 / epsilon) / (float(noise.mean_error) / width) == pytest.approx(ratio, rel=4e-3)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1, 1.043), (2, 1.183), (5, 2.69), (10, 23.6)])
def test_fine_grids_approach_the_published_variance_advantage(epsilon, ratio):
    width = 200_000
    noise = Staircase.calibrate(epsilon=epsilon, sensitivity=width, loss="squared")
    assert (2 / epsilon**2) / (float(noise.variance) / width**2) == pytest.approx(ratio, rel=4e-3)


@pytest.mark.parametrize(
    "noise",
    [Staircase(Fraction(1, 3), 4, 2), Staircase(Fraction(9, 10), 3, 1), Staircase(Fraction(1, 7), 1, 1)],
    ids=str,
)
def test_samples_follow_the_law(noise):
    draws = noise.sample(np.zeros(200_000, dtype=np.int64))
    reach = noise.radius(Fraction(1, 5000))
    expected = [draws.size * float(noise.tail(reach + 1))]
    observed = [int((draws > reach).sum())]
    for k in range(-reach, reach + 1):
        expected.append(draws.size * float(noise.pmf(k)))
        observed.append(int((draws == k).sum()))
    expected.append(draws.size * float(noise.tail(reach + 1)))
    observed.append(int((draws < -reach).sum()))
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    assert chi2.sf(statistic, len(expected) - 1) > 1e-8


def test_one_number_and_huge_numbers_work():
    noise = Staircase.calibrate(epsilon=1, sensitivity=10**30)
    assert isinstance(noise.sample(7), int)
    assert abs(noise.sample(2**200) - 2**200) < 10**33
    gentle = Staircase(1 - Fraction(1, 3**32), 2**40, 2**39)
    assert all(abs(int(z)) < 2**97 for z in gentle.sample(np.zeros(50, dtype=np.int64)))
    assert any(abs(int(z)) > 2**63 for z in gentle.sample(np.zeros(50, dtype=np.int64)))
    assert noise.sample(np.zeros(3, dtype=np.int64)).shape == (3,)
    assert Staircase(Fraction(2, 3), 3, 2).sample(np.zeros((2, 5), dtype=np.int64)).dtype == np.int64


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1, "sensitivity": 0}, "sensitivity"),
        ({"epsilon": 1, "sensitivity": "1.5"}, "sensitivity"),
        ({"epsilon": 1, "loss": "cubic"}, "loss"),
    ],
)
def test_bad_parameters_are_named(arguments, named):
    with pytest.raises(ParameterError, match=named):
        Staircase.calibrate(**arguments)


@pytest.mark.parametrize(("width", "inner"), [(3, 0), (3, 4), (0, 0)])
def test_an_impossible_step_is_refused(width, inner):
    with pytest.raises(ParameterError, match="inner"):
        Staircase(Fraction(1, 2), width, inner)


def test_reals_are_refused():
    with pytest.raises(ParameterError, match="integers"):
        Staircase(Fraction(1, 2), 3, 2).sample(1.5)


@settings(max_examples=25)
@given(staircases(), st.integers(0, 12))
def test_the_profile_is_the_exact_curve_of_the_worst_move(noise, move):
    moved = min(move, noise.width)
    law = noise.profile(moved).law
    reach = 40 * noise.width
    for x in (Fraction(1), (1 + 1 / noise.alpha) / 2, 1 / noise.alpha):
        curves = [
            sum(max(Fraction(0), noise.pmf(k) - x * noise.pmf(k + s)) for k in range(-reach, reach))
            for s in ([moved] if noise.width > 4 else range(moved + 1))
        ]
        assert 0 <= law.hockey_stick(x) - max(curves) <= noise.alpha**38
    assert law.hockey_stick(1 / noise.alpha) == 0


def test_moves_beyond_one_step_are_covered_as_groups():
    noise = Staircase(Fraction(1, 2), 3, 2)
    law = noise.profile(7).law
    for x in (Fraction(1), Fraction(3), Fraction(5)):
        for s in range(8):
            gain = sum(max(Fraction(0), noise.pmf(k) - x * noise.pmf(k + s)) for k in range(-90, 90))
            assert gain <= law.hockey_stick(x)
