"""The lecture on Laplace noise for workloads of counts; neighbours differ in the value of one record."""

from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, exp, log, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.seeds.covered import covers

import discreet as dp
from discreet.mechanisms.knorm import running_sums
from discreet.privacy.sensitivity import histogram, scaled, workload
from discreet.verify import is_private, worst_ratio
from discreet.workload import Matrix, Prefix, records_by_union_bound, records_needed, workload_sensitivity

REPLACE, ADD_REMOVE = dp.Adjacency.REPLACE, dp.Adjacency.ADD_REMOVE
HALF = Fraction(1, 2)
PEOPLE = list(product((0, 1), repeat=3))
"""Records of three bits: smoker, over thirty, heart disease."""

QUERIES = [
    lambda x: x[0],
    lambda x: x[0] and x[1],
    lambda x: x[0] and x[2],
    lambda x: x[0] and x[1] and x[2],
]


def answers(data):
    """Return the normalised answers (1/n) sum q(x_i) of the workload."""
    return tuple(Fraction(sum(q(x) for x in data), len(data)) for q in QUERIES)


@covers("002-D1", "002-D2", "002-D3", "002-T2")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_workload_has_answers_in_the_cube_and_its_exact_sensitivity(n):
    """By brute force over all datasets of n records and all replacements of one."""
    largest = Fraction(0)
    for data in product(PEOPLE, repeat=n):
        here = answers(data)
        assert all(0 <= a <= 1 for a in here)
        for other in PEOPLE:
            there = answers((*data[:-1], other))
            largest = max(largest, sum(abs(a - b) for a, b in zip(here, there, strict=True)))
    stated = scaled(workload(QUERIES, PEOPLE, REPLACE), Fraction(1, n))
    assert stated.l1 == largest == Fraction(len(QUERIES), n)  # smoker, over 30, ill against a non-smoker


@covers("002-T2")
def test_k_over_n_is_only_a_bound():
    """Smokers and non-smokers: of two queries, one changes each way; of a query and itself, both."""
    assert workload([lambda x: x, lambda x: x], (0, 1), REPLACE).l1 == 2
    apart = [lambda x: int(x == 1), lambda x: int(x in (1, 2)), lambda x: int(x == 3)]
    assert workload(apart, range(4), REPLACE).l1 == 3 == len(apart)
    nested = [lambda x, j=j: int(x >= j) for j in (1, 2, 3)] + [lambda x: int(x == 0)]
    exact = max(sum(abs(q(x) - q(y)) for q in nested) for x, y in product(range(4), repeat=2))
    assert workload(nested, range(4), REPLACE).l1 == exact
    assert exact <= len(nested)
    constant = [lambda x: 1, lambda x: x]
    assert workload(constant, (0, 1), REPLACE).l1 == 1 < 2


@covers("002-T3")
def test_a_partition_has_sensitivity_two_over_n_under_replace_and_one_under_presence():
    parts = [lambda x, j=j: int(x == j) for j in range(5)]
    for n in (1, 10):
        assert scaled(workload(parts, range(6), REPLACE), Fraction(1, n)).l1 == Fraction(2, n)
    assert histogram(REPLACE).l1 == 2
    assert histogram(ADD_REMOVE).l1 == 1
    assert workload_sensitivity(Matrix.of(np.eye(5, dtype=int)), REPLACE).l1 == 2


# The mechanism.


@covers("002-D4", "002-S13")
def test_the_density_of_the_noise_integrates_to_one_with_epsilon_in_front():
    """epsilon / (2 Delta) in front; 1 / (2 Delta), as printed, integrates to 1 / epsilon."""
    for epsilon, change in ((HALF, 1), (3, Fraction(1, 4))):
        scale = float(change / epsilon)
        noise = dp.Laplace.calibrate(epsilon=epsilon, sensitivity=change)
        front = float(epsilon / (2 * change))
        assert noise.density(0) == pytest.approx(front, rel=1e-5)
        x = np.linspace(-30 * scale, 30 * scale, 60_001)
        shape = np.exp(-np.abs(x) / scale)
        assert front * np.trapezoid(shape, x) == pytest.approx(1, rel=1e-5)
        as_printed = np.trapezoid(shape / (2 * float(change)), x)
        assert as_printed == pytest.approx(1 / float(epsilon), rel=1e-5)
        assert abs(as_printed - 1) > 0.5
        # In k dimensions the constants are k-th powers: densities of independent coordinates multiply.
        k, z = 3, (0.1 * scale, -2 * scale, scale)
        joint = front**k * exp(-sum(abs(c) for c in z) / scale)
        assert np.prod([noise.density(c) for c in z]) == pytest.approx(joint, rel=1e-4)


@covers("002-M2", "002-T4")
def test_laplace_noise_is_private_by_the_triangle_inequality_and_no_better():
    """|z - f(X')| - |z - f(X)| <= |f(X) - f(X')|, with equality beyond both."""
    moved = scaled(workload(QUERIES, PEOPLE, REPLACE), Fraction(1, 10))
    noise = dp.Laplace.calibrate(epsilon=1, sensitivity=moved)
    assert float(noise.scale) == pytest.approx(4 / 10, rel=1e-4)
    assert 1 - Fraction(1, 1000) < noise.guarantee(moved).cost <= 1
    here, there = (0.0, 0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.1)
    scale = float(noise.scale)

    def log_ratio(z):
        return sum(abs(c - b) - abs(c - a) for a, b, c in zip(here, there, z, strict=True)) / scale

    points = list(product((-1.0, 0.05, 1.0), repeat=4))
    assert max(log_ratio(z) for z in points) == pytest.approx(1, rel=1e-4)
    assert all(abs(log_ratio(z)) <= 1 for z in points)
    assert log_ratio((-1.0,) * 4) > 1 - 0.01


@covers("002-T5")
def test_a_coordinate_is_off_by_t_or_more_with_probability_e_to_minus_t_over_b():
    noise = dp.Laplace.calibrate(epsilon=4, sensitivity=2)
    for t in (Fraction(1, 8), HALF, 2):
        outside = 1 - (noise.cdf(t - noise.step).low - noise.cdf(-t).high)
        assert float(outside) == pytest.approx(exp(-2 * t), rel=1e-4)
    for beta in ("0.05", "1e-6"):
        assert float(noise.radius(beta)) == pytest.approx(-log(float(beta)) / 2, rel=1e-4)


# How many records are needed.


def misses(k, n, alpha, epsilon, change):
    """Return the probability that some of k answers is off by more than alpha: independent coordinates."""
    return 1 - (1 - exp(-alpha * epsilon * n / change)) ** k


def holds(k, n, alpha, epsilon, beta, change):
    """Whether the mechanism that we run keeps the promise: its noise lies on a grid, a little finer."""
    noise = dp.Laplace.calibrate(epsilon=epsilon, sensitivity=dp.Sensitivity.spread(change, Fraction(1, n)))
    miss = exp(-alpha / float(noise.scale))
    return 1 - (1 - miss) ** k <= beta


@covers("002-T6", "002-T7", "002-W1")
@pytest.mark.parametrize(
    ("k", "response", "union", "exact", "partition"),
    [(1, 3455, 60, 60, None), (10, 480_117, 1060, 1056, 212), (100, 66_350_000, 15_202, 15_152, 305)],
)
def test_records_needed_for_all_answers_within_five_hundredths(k, response, union, exact, partition):
    asked = {"within": "0.05", "epsilon": 1, "beta": "0.05"}
    assert records_by_union_bound(k, **asked) == union
    assert records_needed(k, **asked) == exact
    assert holds(k, union + 1, 0.05, 1, 0.05, k)
    assert not holds(k, exact - 1, 0.05, 1, 0.05, k)
    if partition is not None:
        assert records_by_union_bound(k, change=2, **asked) == partition
        assert records_needed(k, change=2, **asked) <= partition
    report = dp.RandomizedResponse.calibrate(epsilon=1, questions=k)
    needed = report.records_needed(within="0.05", beta="0.05", questions=k)
    independent = (1 / tanh(1 / (2 * k))) ** 2 * log(2 * k / 0.05) / (2 * 0.05**2)
    assert needed == ceil(independent)
    assert needed == pytest.approx(response, rel=1e-4)
    assert needed > 50 * union


@covers("002-T6", "002-T7")
@given(
    st.integers(1, 50),
    st.sampled_from([1, 2, 5]),
    st.sampled_from(["0.01", "0.2"]),
    st.sampled_from(["0.1", "1", "3"]),
    st.sampled_from(["0.001", "0.3"]),
)
def test_the_number_of_records_is_the_least_that_does(k, change, within, epsilon, beta):
    asked = {"change": change, "within": within, "epsilon": epsilon, "beta": beta}
    n, union = records_needed(k, **asked), records_by_union_bound(k, **asked)
    alpha, e, b = float(within), float(epsilon), float(beta)
    assert misses(k, n, alpha, e, change) <= b * (1 + 1e-9)
    assert n == 1 or misses(k, n - 1, alpha, e, change) > b * (1 - 1e-9)
    assert k * exp(-alpha * e * union / change) <= b * (1 + 1e-9)
    assert union == 1 or k * exp(-alpha * e * (union - 1) / change) > b * (1 - 1e-9)
    assert n <= union


@covers("002-T6")
def test_records_are_counted_for_any_workload_and_any_size_of_parameters():
    """The exact sensitivity of a workload instead of k / n; and numbers far beyond doubles."""
    moved = workload(QUERIES, PEOPLE, REPLACE).l1
    assert records_needed(4, change=moved, within="0.1", epsilon=1) == records_needed(
        4, within="0.1", epsilon=1
    )
    many = records_needed(3, within="1e-300", epsilon="1e-100", beta="1e-500")
    assert len(str(many)) == 404
    for wrong in ({"answers": 0}, {"answers": True}, {"beta": 0}, {"within": 0}, {"change": -1}):
        with pytest.raises(dp.ParameterError):
            records_needed(**{"answers": 2, "within": 1, "epsilon": 1, **wrong})


@covers("002-T8")
@given(
    st.lists(st.integers(1, 9), min_size=4, max_size=4), st.lists(st.integers(1, 9), min_size=4, max_size=4)
)
def test_a_ratio_bounded_at_every_point_is_bounded_for_every_event(first, second):
    """Slide 7: it is enough to look at points; the worst event is a point, and worst_ratio finds it."""
    p, q = ({k: Fraction(w, sum(weights)) for k, w in enumerate(weights)} for weights in (first, second))
    sets = [s for n in range(1, 5) for s in combinations(range(4), n)]
    by_event = max(
        max(sum(a[o] for o in s) / sum(b[o] for o in s) for s in sets) for a, b in ((p, q), (q, p))
    )
    assert worst_ratio({"x": p, "y": q}, [("x", "y")]) == by_event
    epsilon = Fraction(log(by_event)) + Fraction(1, 10**9)
    assert is_private({"x": p, "y": q}, [("x", "y")], epsilon)
    assert by_event == 1 or not is_private({"x": p, "y": q}, [("x", "y")], epsilon - Fraction(2, 10**9))


@covers("002-T8")
def test_the_density_of_laplace_noise_bounds_all_intervals_by_integration():
    """Pr[S | X] = integral of p <= exp(epsilon) integral of p' for sets of intervals; tails attain it."""
    noise = dp.Laplace.calibrate(epsilon=1)

    def chance(low, high, centre):
        return noise.distribution(high - centre) - noise.distribution(low - centre)

    ends = [-8, -1, 0, 0.25, 0.5, 1, 3, 9]
    ratios = [chance(a, b, 0) / chance(a, b, 1) for a, b in combinations(ends, 2)]
    pointwise = max(noise.density(x) / noise.density(x - 1) for x in np.linspace(-8, 9, 400))
    assert max(ratios) <= pointwise * (1 + 1e-9) <= exp(1) * (1 + 1e-6)
    assert max(ratios) == pytest.approx(exp(1), rel=1e-4)


# Randomized response for k queries.


@covers("002-M1", "002-T1")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_randomized_responses_at_epsilon_over_k_are_epsilon_private_together(k):
    report = dp.RandomizedResponse(Fraction(3, 2))
    rows = {
        truth: {
            answer: np.prod([report.pmf(t)[a] for t, a in zip(truth, answer, strict=True)])
            for answer in product((0, 1), repeat=k)
        }
        for truth in product((0, 1), repeat=k)
    }
    # One person's k bits may all change at once.
    worst = max(rows[a][z] / rows[b][z] for a in rows for b in rows for z in rows)
    assert worst == Fraction(3, 2) ** k
    assert float(report.guarantee(k).cost) == pytest.approx(k * log(1.5), rel=1e-12)
    asked = dp.RandomizedResponse.calibrate(epsilon=1, questions=k)
    assert 1 - Fraction(1, 10**9) < asked.guarantee(k).cost <= 1
    for together in (dp.compose([asked]), dp.compose([(asked.profile(), k)])):
        assert float(together.epsilon(0).high) == pytest.approx(1, rel=1e-9)


@covers("002-X1")
def test_the_estimate_is_unbiased_of_width_coth_and_concentrates_as_hoeffding_says():
    """The exercise: ((e**e0 + 1) Y - 1) / (e**e0 - 1) per report, then Hoeffding and a union bound over k."""
    report = dp.RandomizedResponse(Fraction(3, 2))
    e0 = log(1.5)
    values = [((exp(e0) + 1) * y - 1) / (exp(e0) - 1) for y in (0, 1)]
    for truth in (0, 1):
        assert sum(float(p) * v for p, v in zip(report.pmf(truth), values, strict=True)) == pytest.approx(
            truth
        )
    assert values[1] - values[0] == pytest.approx(1 / tanh(e0 / 2))
    # The library's estimate of the counts is the sum of these.
    zeros, ones = report.estimate([4, 6])
    assert float(ones) == pytest.approx(4 * values[0] + 6 * values[1])
    assert zeros + ones == 10
    # Exactly, for n people of whom none says yes: unbiased, and off by t no more often than Hoeffding allows.
    n, t = 60, 1.5
    law = [float(comb(n, c) * report.lie**c * report.truth ** (n - c)) for c in range(n + 1)]
    shares = [float(report.estimate([n - c, c])[1]) / n for c in range(n + 1)]
    assert np.dot(law, shares) == pytest.approx(0, abs=1e-12)
    off = sum(p for p, s in zip(law, shares, strict=True) if abs(s) >= t)
    assert off <= 2 * exp(-2 * n * t**2 * tanh(e0 / 2) ** 2)
    assert float(report.variance([n, 0])[1]) == pytest.approx(n**2 * np.dot(law, np.square(shares)), rel=1e-9)


@covers("002-X1")
def test_records_for_randomized_response_grow_like_k_squared_log_k():
    """About 2 k**2 ln(2k / beta) / (epsilon alpha)**2: what the garbled handwriting must mean."""
    for k in (10, 1000):
        report = dp.RandomizedResponse.calibrate(epsilon=HALF, questions=k)
        needed = report.records_needed(within="0.1", beta="0.01", questions=k)
        assert needed == pytest.approx(2 * k**2 * log(2 * k / 0.01) / (0.5 * 0.1) ** 2, rel=1e-3)


# K-norm noise.


@covers("002-M3")
def test_k_norm_noise_generalises_laplace_noise():
    """With the l1 ball it is independent noise; with a cube only the largest coordinate counts."""
    independent, noise = dp.KNorm(HALF, 2), dp.Geometric(HALF)
    cube = dp.KNorm(HALF, 2, "linf")
    grid = list(product(range(-40, 41), repeat=2))
    for z in grid[::7]:
        assert independent.pmf(z) == noise.pmf(z[0]) * noise.pmf(z[1])
        assert cube.pmf(z) == cube.pmf((0, 0)) * HALF ** max(abs(c) for c in z)
    assert 1 - Fraction(1, 10**9) < sum(cube.pmf(z) for z in grid) < 1
    # exp(-epsilon |z|_K): a move in K costs epsilon, here in both coordinates at once, and attains it.
    ratios = [cube.pmf(z) / cube.pmf((z[0] - 1, z[1] - 1)) for z in grid[::5]]
    assert max(max(ratios), 1 / min(ratios)) == 2
    assert float(cube.guarantee(1).cost) == pytest.approx(log(2))
    # Independent noise would have to pay for both coordinates.
    both = dp.Geometric.calibrate(epsilon=cube.guarantee(1).cost, sensitivity=2)
    assert both.variance > cube.variance()


@covers("002-W2")
def test_for_all_prefixes_k_norm_noise_is_noise_on_each_item_summed_up():
    k = 3
    prefixes = dp.KNorm(HALF, k, image=running_sums(k))
    item = dp.Geometric(HALF)
    for noise in product(range(-3, 4), repeat=k):
        steps = (noise[0], noise[1] - noise[0], noise[2] - noise[1])
        assert prefixes.pmf(noise) == item.pmf(steps[0]) * item.pmf(steps[1]) * item.pmf(steps[2])
    # K is the image of the l1 ball: adding a person to item i moves all later prefixes, and has norm 1.
    for i in range(k):
        assert prefixes.norm([int(j >= i) for j in range(k)]) == 1
    assert [prefixes.variance(i) / item.variance for i in range(k)] == [1, 2, 3]
    assert workload_sensitivity(Prefix(k), ADD_REMOVE).l1 == k  # what noise on each prefix would pay
