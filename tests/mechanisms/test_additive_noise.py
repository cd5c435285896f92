"""The additive mechanisms: laws, privacy, accuracy, and what they refuse."""

import random
from decimal import Decimal
from fractions import Fraction
from math import exp, floor, inf, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.exact.number import exp_bounds
from discreet.exact.wide import Wide
from discreet.mechanisms import laplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.truncated_geometric import TruncatedGeometric
from discreet.mechanisms.truncated_laplace import TruncatedLaplace
from discreet.privacy.sensitivity import Sensitivity

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=20)
alphas = st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=50)


# ---- geometric ----


@given(epsilons, st.integers(1, 10**6))
def test_geometric_calibration_never_spends_more_than_asked(epsilon, sensitivity):
    law = Geometric.calibrate(epsilon=epsilon, sensitivity=sensitivity)
    spent = law.guarantee(sensitivity).epsilon().high
    assert spent is not None
    assert spent <= epsilon
    assert spent >= epsilon * (1 - Fraction(1, 10**12))


@given(alphas, st.integers(1, 6))
def test_geometric_ratio_is_bounded_everywhere_and_attained(alpha, shift):
    law = Geometric(alpha)
    ratios = [law.pmf(k) / law.pmf(k - shift) for k in range(-20, 21)]
    assert max(ratios) == alpha**-shift
    assert min(ratios) == alpha**shift


def test_a_claim_of_a_hundredth_less_is_refused_by_the_law():
    law = Geometric.calibrate(epsilon=1)
    worst = max(law.pmf(k) / law.pmf(k - 1) for k in range(-5, 6))
    assert worst <= exp_bounds(Fraction(1))[1]
    assert worst > exp_bounds(Fraction(99, 100))[1]


@given(alphas, st.integers(-30, 30))
def test_geometric_cdf_is_the_sum_of_its_pmf(alpha, k):
    law = Geometric(alpha)
    assert law.cdf(k) - law.cdf(k - 1) == law.pmf(k)
    assert law.cdf(k) + law.cdf(-k - 1) == 1


@given(alphas, st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(9, 10)))
def test_geometric_radius_is_the_smallest_that_covers(alpha, beta):
    law = Geometric(alpha)
    radius = law.radius(beta)
    assert 2 * alpha ** (radius + 1) / (1 + alpha) <= beta
    assert radius == 0 or 2 * alpha**radius / (1 + alpha) > beta


def test_a_radius_whose_tail_is_exactly_beta_is_the_smallest():
    # With alpha = 1/2, Pr[|Z| > 0] = 2/3 and Pr[|Z| > 1] = 1/3.
    assert Geometric(Fraction(1, 2)).radius("2/3") == 0
    assert Geometric(Fraction(1, 2)).radius("1/3") == 1
    assert TruncatedGeometric(Fraction(1, 2), 0, 100).radius("1/3") == 1


@given(alphas)
def test_geometric_moments_agree_with_the_law(alpha):
    law = Geometric(alpha)
    reach = 4000
    # Tail sums: E|Z| = sum of Pr[|Z| > r], Var Z = sum of (2r + 1) Pr[|Z| > r].
    beyond = [2 * float(alpha) ** (r + 1) / (1 + float(alpha)) for r in range(reach)]
    assert float(law.mean_error) == pytest.approx(sum(beyond), rel=1e-9)
    assert float(law.variance) == pytest.approx(sum((2 * r + 1) * p for r, p in enumerate(beyond)), rel=1e-9)


def test_scalars_and_arrays_of_any_size_of_integer_get_noise():
    law = Geometric.calibrate(epsilon=1)
    assert isinstance(law.sample(5), int)
    noisy = law.sample(np.array([[1, 2], [3, 4]]))
    assert noisy.shape == (2, 2)
    assert noisy.dtype == np.int64
    huge = law.sample(np.array([2**100, -(2**100)], dtype=object))
    assert abs(int(huge[0]) - 2**100) < 1000
    edge = law.sample(np.array([2**63 - 1] * 100))
    assert all(abs(int(v) - (2**63 - 1)) < 1000 for v in edge)
    unsigned = law.sample(np.array([2**64 - 1], dtype=np.uint64))
    assert abs(int(unsigned[0]) - (2**64 - 1)) < 1000
    assert law.sample(np.array([], dtype=np.int64)).size == 0


def test_noise_far_beyond_int64_is_exact():
    law = Geometric.calibrate(epsilon=Fraction(1, 2**80))
    draws = [law.sample(0) for _ in range(50)] + list(law.sample(np.zeros(50, dtype=np.int64)))
    assert max(abs(int(d)) for d in draws) > 2**70


@pytest.mark.parametrize("epsilon", [0, -1, nan, inf, "", "x", None, True, Decimal("NaN")])
def test_an_epsilon_that_means_nothing_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        Geometric.calibrate(epsilon=epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1, nan])
def test_a_sensitivity_that_means_nothing_is_refused(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity"):
        Geometric.calibrate(epsilon=1, sensitivity=sensitivity)


@pytest.mark.parametrize("values", [1.5, np.array([1.5]), "3", None, True, np.array([True])])
def test_counts_that_are_not_integers_are_refused(values):
    with pytest.raises(ParameterError, match="integers"):
        Geometric.calibrate(epsilon=1).sample(values)


@pytest.mark.parametrize("alpha", [0, 1, -1, 2])
def test_a_ratio_outside_the_open_unit_interval_is_refused(alpha):
    with pytest.raises(ParameterError, match="alpha"):
        Geometric(Fraction(alpha))


# ---- truncated geometric ----


@given(alphas, st.integers(-5, 5), st.integers(1, 12), st.data())
def test_truncation_is_clamping_the_noise(alpha, low, width, data):
    law = TruncatedGeometric(alpha, low, low + width)
    answer = data.draw(st.integers(low, low + width))
    noise = Geometric(alpha)
    row = [law.pmf(z, answer) for z in range(low, low + width + 1)]
    assert sum(row) == 1
    assert row[0] == noise.cdf(low - answer)
    assert row[-1] == 1 - noise.cdf(low + width - 1 - answer)
    assert law.cdf(low + width, answer) == 1
    assert law.cdf(low, answer) == row[0]
    assert law.mean_error(answer) == sum(abs(z - answer) * p for z, p in enumerate(row, start=low))


@given(alphas, st.integers(1, 10), st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2)))
def test_truncated_radius_is_the_smallest_that_covers_every_answer(alpha, width, beta):
    law = TruncatedGeometric(alpha, 0, width)

    def worst(r):
        return max(sum(law.pmf(z, y) for z in range(width + 1) if abs(z - y) > r) for y in range(width + 1))

    assert law.radius(beta) == next(r for r in range(width + 1) if worst(r) <= beta)


def test_truncated_samples_stay_inside_and_reach_both_ends():
    law = TruncatedGeometric.calibrate(epsilon=1, low=0, high=3)
    draws = law.sample(np.full(1000, 2))
    assert set(draws.tolist()) == {0, 1, 2, 3}
    assert 0 <= law.sample(3) <= 3


def test_a_range_that_is_empty_is_refused():
    with pytest.raises(ParameterError, match="low"):
        TruncatedGeometric(Fraction(1, 2), 3, 3)


# ---- Laplace ----


@given(epsilons, st.fractions(min_value=Fraction(1, 100), max_value=1000))
def test_laplace_calibration_accounts_for_its_grid(epsilon, sensitivity):
    law = Laplace.calibrate(epsilon=epsilon, sensitivity=sensitivity)
    spent = law.guarantee(sensitivity).epsilon().high
    assert spent is not None
    assert spent <= epsilon
    assert spent >= epsilon * (1 - Fraction(1, 10**5))


@given(
    st.floats(-1e6, 1e6),
    st.floats(0, 100),
    st.sampled_from([Fraction(1, 1024), Fraction(1, 3), Fraction(1, 10)]),
)
def test_rounding_moves_neighbours_no_further_than_the_guarantee_assumes(x, change, step):
    law = Laplace(Fraction(1, 2), step)
    left, right = law.round(np.array([x, x + change]))
    moved = Fraction(x + change) - Fraction(x)
    assert abs(int(right) - int(left)) <= -(-moved // step)


def test_laplace_tends_to_its_continuous_law():
    law = Laplace.calibrate(epsilon=1, sensitivity=10)
    assert float(law.scale) == pytest.approx(10, rel=1e-5)
    assert float(law.mean_error) == pytest.approx(10, rel=1e-5)
    assert float(law.variance) == pytest.approx(200, rel=1e-5)
    for t in (0.5, 1.0, 3.0):
        assert 2 * float(law.cdf(Fraction(-10 * t))) == pytest.approx(exp(-t), rel=1e-4)
    assert law.distribution(5.0) == pytest.approx(float(law.cdf(5)), abs=1e-5)
    assert law.density(0.0) == pytest.approx(0.05, rel=1e-5)


def test_laplace_outputs_lie_on_one_grid_whatever_the_input():
    law = Laplace.calibrate(epsilon=1, sensitivity=1)
    for start in (0.0, 1.0, 0.1, 1e-9):
        noisy = law.sample(np.full(1000, start))
        assert all((Fraction(v) / law.step).denominator == 1 for v in noisy)


@pytest.mark.parametrize("step", [Fraction(1, 2**30), Fraction(2**60), Fraction(1, 2**1070), Fraction(1, 10)])
def test_long_arrays_are_rounded_as_exactly_as_single_numbers(step, monkeypatch):
    """Halves go up, nothing is lost next to a large number, and no zero has a sign."""
    law, tiny = Laplace(Fraction(1, 2), step), 5e-324
    ties = [float(step * (k + Fraction(1, 2))) for k in range(-3, 3)]
    near = [float(np.nextafter(x, side)) for x in ties for side in (-inf, inf)]
    values = np.array([*ties, *near, 0.0, -0.0, tiny, -tiny, float(step), -float(step), float(step * 2**40)])
    noise = np.arange(values.size) % 5 - 2
    left = noise.tolist()
    monkeypatch.setattr(laplace, "BLOCK", 4)
    monkeypatch.setattr(
        laplace,
        "two_sided_geometric_wide",
        lambda alpha, count: np.array([left.pop(0) for _ in range(count)]),
    )
    exact = [
        float((floor(Fraction(float(x)) / step + Fraction(1, 2)) + int(n)) * step)
        for x, n in zip(values, noise, strict=True)
    ]
    drawn = law.sample(values)
    assert drawn.tolist() == exact
    assert not np.signbit(drawn[drawn == 0]).any()


@pytest.mark.parametrize("step", [Fraction(1, 2**20), Fraction(8), Fraction(1, 10)])
def test_noise_beyond_floats_makes_the_nearest_floats_to_points_of_the_grid(step):
    law, rng = Laplace(Fraction(1, 2), step), random.Random(7)
    for size, bits in ((2**60, 0), (2**70, 16), (2**90, 50), (2**100, 60)):
        noise = [rng.randrange(-size, size) for _ in range(200)]
        head = np.array([k >> bits for k in noise])
        rest = np.array([k % 2**bits for k in noise])
        values = np.array([rng.uniform(-1, 1) * 2.0 ** rng.randrange(-30, 60) for _ in noise])
        drawn = law._noisy(values, Wide(head, rest, bits) if bits else head)
        exact = [
            float((floor(Fraction(float(x)) / step + Fraction(1, 2)) + k) * step)
            for x, k in zip(values, noise, strict=True)
        ]
        assert drawn.tolist() == exact


def test_arrays_of_the_widest_laplace_noise_have_its_scale():
    for scale in (10**9, 10**12, 10**18, 10**30):
        drawn = Laplace.calibrate(epsilon=Fraction(1, scale)).sample(np.zeros(10_000))
        # 5.4 standard deviations of the mean of absolute values are a false alarm of 1e-7.
        assert abs(float(np.mean(np.abs(drawn / scale))) - 1) < 5.4 / 100


@pytest.mark.parametrize("step", ["1/3", "1/8", "7/5", "4"])
def test_single_numbers_are_rounded_to_the_nearest_step_and_halves_go_up(step, monkeypatch):
    law = Laplace(Fraction(1, 2), Fraction(step))
    monkeypatch.setattr(laplace, "two_sided_geometric", lambda alpha: -2)
    for value in (Fraction(k, 16) * law.step for k in range(-40, 41)):
        assert law.sample(value) == (floor(value / law.step + Fraction(1, 2)) - 2) * law.step
    # A float stands for its shortest decimal, and comes back as the float nearest to a point of the grid.
    assert law.sample(0.1) == float((floor(Fraction(1, 10) / law.step + Fraction(1, 2)) - 2) * law.step)
    assert law.sample(7) == (floor(7 / law.step + Fraction(1, 2)) - 2) * law.step
    assert (type(law.sample(0.1)), type(law.sample(7))) == (float, Fraction)


def test_long_arrays_are_drawn_in_blocks_that_know_nothing_of_each_other(monkeypatch):
    """Each entry keeps its place, in any shape and order in memory, and none shares its noise."""
    noise = Laplace.calibrate(epsilon="0.01")
    monkeypatch.setattr(laplace, "BLOCK", 64)
    values = np.arange(400.0).reshape(20, 20).T * 10**6
    drawn = noise.sample(values)
    assert drawn.shape == values.shape
    assert (np.abs(drawn - values) < 5000).all()
    assert len(set((drawn - values).ravel())) > 390
    values[19, 19] = nan
    with pytest.raises(ParameterError, match="finite"):
        noise.sample(values)


def test_naive_floating_point_noise_fails_the_grid_test():
    rng = np.random.default_rng(1)
    porous = 1.0 + rng.laplace(0, 1, 2000)
    near = porous[np.abs(porous) < 0.5]
    other = rng.laplace(0, 1, 2000)
    fine = other[np.abs(other) < 0.5]

    def off_grid(values):
        return np.mean([(Fraction(v) * 2**53).denominator != 1 for v in values])

    assert off_grid(near) == 0
    assert off_grid(fine) > 0.1


def test_exact_inputs_give_exact_outputs_and_floats_give_floats():
    law = Laplace.calibrate(epsilon=1, sensitivity=1, step="1/100")
    assert isinstance(law.sample("0.25"), Fraction)
    assert isinstance(law.sample(0.25), float)


def test_laplace_refuses_what_is_not_finite_and_vectors_of_unknown_width():
    law = Laplace.calibrate(epsilon=1)
    with pytest.raises(ParameterError, match="finite"):
        law.sample(np.array([1.0, nan]))
    with pytest.raises(ParameterError, match="l0"):
        Laplace.calibrate(epsilon=1, sensitivity=Sensitivity(Fraction(2), Fraction(2), Fraction(1)))


def test_truncated_laplace_has_an_atom_at_each_end():
    law = TruncatedLaplace.calibrate(epsilon=1, low=0, high=100, sensitivity="0.1", step="1/4096")
    for answer in ("0.05", "0.2"):
        low, _ = law.atoms(answer)
        assert float(low) == pytest.approx(exp(-10 * float(answer)) / 2, rel=1e-2)
    _, high = law.atoms("99.9")
    assert float(high) == pytest.approx(exp(-1) / 2, rel=1e-2)
    assert float(law.mean_error("50")) == pytest.approx(0.1, rel=1e-2)
    assert float(law.cdf(100, 3)) == 1
    assert float(law.cdf(0, "0.2")) == float(law.pmf(0, "0.2"))
    draws = law.sample(np.full(2000, 0.05))
    assert 0.0 in draws
    assert draws.min() >= 0


def test_truncated_laplace_needs_ends_on_its_grid():
    with pytest.raises(ParameterError, match="multiples"):
        TruncatedLaplace(Fraction(1, 2), Fraction(1, 3), Fraction(1, 2), Fraction(1))


# ---- Gaussian ----


def brute_gaussian(variance: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * variance))
    return k, weights / weights.sum()


@pytest.mark.parametrize("variance", ["1/4", "1", "7/3", "100", "9000", "20000"])
def test_gaussian_probabilities_enclose_brute_force(variance):
    law = Gaussian(Fraction(variance))
    reach = int(12 * float(Fraction(variance)) ** 0.5) + 3
    k, p = brute_gaussian(float(Fraction(variance)), reach)
    for value in (-2, 0, 1, 3):
        assert float(law.pmf(value)) == pytest.approx(p[reach + value], rel=1e-10)
        assert float(law.cdf(value)) == pytest.approx(p[: reach + value + 1].sum(), rel=1e-10)
    assert float(law.variance) == pytest.approx((k**2 * p).sum(), rel=1e-9)
    assert float(law.mean_error) == pytest.approx((np.abs(k) * p).sum(), rel=1e-8)
    radius = law.radius("0.01")
    assert p[np.abs(k) > radius].sum() <= 0.01 + 1e-12
    assert p[np.abs(k) > radius - 1].sum() > 0.01 - 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), ("0.5", "1e-5")])
def test_gaussian_calibration_is_private_by_brute_force_and_no_looser_than_needed(epsilon, delta):
    law = Gaussian.calibrate(epsilon=epsilon, delta=delta)

    def brute_delta(variance):
        _, p = brute_gaussian(variance, int(14 * variance**0.5) + 5)
        return np.maximum(p[:-1] - exp(float(epsilon)) * p[1:], 0).sum()

    assert brute_delta(float(law.sigma_squared)) <= float(delta) * (1 + 1e-6)
    assert brute_delta(float(law.sigma_squared) * 0.999) > float(delta)


def test_gaussian_calibration_to_rho_is_exact():
    change = Sensitivity.spread(4, 3)
    law = Gaussian.calibrate(rho="1/8", sensitivity=change)
    assert law.sigma_squared == 36 * 4
    assert law.guarantee(change).price().rho <= Fraction(1, 8) * (1 + Fraction(1, 10**30))


def test_no_pure_epsilon_is_enough_for_the_gaussian():
    law = Gaussian(Fraction(4))
    ratios = [float(law.pmf(k)) / float(law.pmf(k - 1)) for k in (0, -10, -40)]
    assert ratios[0] < ratios[1] < ratios[2]
    assert log(ratios[2]) > 10


@pytest.mark.parametrize(
    "arguments", [{}, {"epsilon": 1}, {"delta": "1e-6"}, {"rho": 1, "epsilon": 1, "delta": "0.1"}]
)
def test_gaussian_calibration_asks_for_one_complete_target(arguments):
    with pytest.raises(ParameterError, match="rho"):
        Gaussian.calibrate(**arguments)
