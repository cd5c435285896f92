"""The exercises of the lecture on utility, recomputed: certified digits against brute force."""

from fractions import Fraction
from math import exp, tanh

import numpy as np
import pytest

from discreet.mechanisms.table import Table
from discreet.utility import (
    Gain,
    Loss,
    Prior,
    best_remap,
    expected_gain,
    exponential_enclosure,
    geometric_enclosure,
    optimal,
    path,
    truncated_geometric,
    utility,
)

N = 100
SPAN = range(N + 1)


def brute_geometric(epsilon):
    """The channel by its definition, including answers far outside the interval, clamped one by one."""
    a = exp(-epsilon)
    channel = np.zeros((N + 1, N + 1))
    reach = int(60 / epsilon)
    for y in SPAN:
        for z in range(y - reach, y + reach + 1):
            channel[y, min(max(z, 0), N)] += (1 - a) / (1 + a) * a ** abs(z - y)
    return channel


def brute_utility(channel, prior, gain):
    joint = np.asarray(prior)[:, None] * channel
    return (np.asarray(gain) @ joint).max(axis=0).sum()


@pytest.mark.parametrize(
    ("epsilon", "identity", "distance", "identity_binomial", "distance_binomial"),
    [
        ("0.1", 0.059365, 91.4462, 0.089036, 96.3372),
        pytest.param("0.5", 0.252395, 98.1359, 0.245349, 98.2297, marks=pytest.mark.fuzz),
        ("1", 0.467443, 99.1624, 0.462117, 99.1508),
        pytest.param("2", 0.763955, 99.7274, 0.761594, 99.7243, marks=pytest.mark.fuzz),
    ],
)
def test_exercises_four_and_five_have_these_certified_digits(
    epsilon, identity, distance, identity_binomial, distance_binomial
):
    enclosure = geometric_enclosure(N, epsilon)
    brute = brute_geometric(float(epsilon))
    gains = {"identity": Gain.identity(SPAN), "distance": Gain.distance(SPAN)}
    matrices = {"identity": np.eye(N + 1), "distance": N - np.abs(np.subtract.outer(SPAN, SPAN))}
    priors = {"uniform": Prior.uniform(N + 1), "binomial": Prior.binomial(N)}
    printed = {
        ("uniform", "identity"): identity,
        ("uniform", "distance"): distance,
        ("binomial", "identity"): identity_binomial,
        ("binomial", "distance"): distance_binomial,
    }
    for (belief, worth), figure in printed.items():
        bounds = utility(enclosure, priors[belief], gains[worth])
        assert bounds.high - bounds.low < Fraction(1, 10**40)
        independent = brute_utility(brute, [float(p) for p in priors[belief].weights], matrices[worth])
        assert abs(float(bounds.low) - independent) < 1e-9
        digits = 6 if worth == "identity" else 4
        assert round(float(bounds.low), digits) == figure


@pytest.mark.parametrize(
    "epsilon", ["0.1", "2", *(pytest.param(epsilon, marks=pytest.mark.fuzz) for epsilon in ("0.5", "1"))]
)
def test_exercise_four_in_closed_form(epsilon):
    a = exp(-float(epsilon))
    closed = (N + 1 - (N - 1) * a) / ((N + 1) * (1 + a))
    bounds = utility(geometric_enclosure(N, epsilon), Prior.uniform(N + 1), Gain.identity(SPAN))
    assert abs(float(bounds.low) - closed) < 1e-12
    assert abs(closed - tanh(float(epsilon) / 2)) < 2 / N


@pytest.mark.parametrize(("n", "alpha"), [(1, Fraction(1, 2)), (7, Fraction(1, 3)), (12, Fraction(9, 10))])
def test_the_closed_form_of_exercise_four_is_exact_for_rational_alpha(n, alpha):
    found = utility(truncated_geometric(n, alpha), Prior.uniform(n + 1), Gain.identity(range(n + 1)))
    assert found.high == (n + 1 - (n - 1) * alpha) / ((n + 1) * (1 + alpha))


@pytest.mark.parametrize(
    ("alpha", "helps"), [(Fraction(1, 3), False), (Fraction(1, 2), False), (Fraction(9, 10), True)]
)
def test_exercise_five_without_remap_in_closed_form_and_when_a_remap_helps(alpha, helps):
    n = 20
    table, prior, gain = truncated_geometric(n, alpha), Prior.uniform(n + 1), Gain.distance(range(n + 1))
    plain = expected_gain(table, prior, gain)
    a = alpha
    assert plain == n - a / (1 - a * a) * (2 - 2 * (1 - a ** (n + 1)) / ((n + 1) * (1 - a)))
    remap = best_remap(table, prior, gain)
    assert any(answer != guess for answer, guess in remap.items()) == helps
    assert (utility(table, prior, gain).high > plain) == helps


def test_how_many_columns_are_remapped():
    """With n = 100: 46 of 101 answers are worth correcting at epsilon 0.1, and 2 at 0.5."""
    for epsilon, changed in ((0.1, 46), (0.5, 2)):
        channel = brute_geometric(epsilon)
        gain = N - np.abs(np.subtract.outer(SPAN, SPAN))
        independent = (gain @ (channel / (N + 1))).argmax(axis=0)
        alpha = Fraction(exp(-epsilon)).limit_denominator(10**6)
        remap = best_remap(truncated_geometric(N, alpha), Prior.uniform(N + 1), Gain.distance(SPAN))
        assert (
            sum(answer != guess for answer, guess in remap.items()) == changed == (independent != SPAN).sum()
        )


def test_exercise_six_equally_private_mechanisms_with_lower_utility():
    prior, gain = Prior.uniform(N + 1), Gain.identity(SPAN)
    best = utility(geometric_enclosure(N, 1), prior, gain).low
    e = exp(1)
    other = Fraction(1) / (Fraction(e) + N)
    response = Table.of([[other * Fraction(e) if y == z else other for z in SPAN] for y in SPAN])
    weak = utility(response, prior, gain).high
    assert round(float(weak), 5) == 0.02646
    assert abs(float(weak) - e / (e + N)) < 1e-12
    distances = [[abs(y - z) for z in SPAN] for y in SPAN]
    exponential = exponential_enclosure(distances, 1)
    assert round(float(utility(exponential, prior, gain).high), 5) == 0.25118
    assert round(float(utility(exponential, prior, Gain.distance(SPAN)).high), 4) == 98.1303
    constant = response.then(lambda _: 0)
    assert utility(constant, prior, gain).high == Fraction(1, N + 1)
    assert Fraction(1, N + 1) < weak < Fraction(26, 100) < best


def test_exercise_seven_post_processing_can_strictly_decrease_utility_but_never_increase_it():
    n = 10
    table, prior, gain = (
        truncated_geometric(n, Fraction(1, 2)),
        Prior.uniform(n + 1),
        Gain.distance(range(n + 1)),
    )
    before = utility(table, prior, gain).high
    assert utility(table.then(lambda z: z // 3), prior, gain).high < before
    assert utility(table.then(lambda z: n - z), prior, gain).high == before


@pytest.mark.parametrize(
    "epsilon", ["1", *(pytest.param(epsilon, marks=pytest.mark.fuzz) for epsilon in ("0.1", "0.5", "2"))]
)
def test_the_geometric_mechanism_attains_the_certified_optimum_on_the_lecture_s_example(epsilon):
    for gain in (Gain.identity(SPAN), Gain.distance(SPAN)):
        best = optimal(path(N), Prior.uniform(N + 1), gain.loss(), epsilon)
        reached = utility(geometric_enclosure(N, epsilon), Prior.uniform(N + 1), gain)
        assert best.method.startswith("geometric")
        assert best.gap < Fraction(1, 10**9)
        assert -best.loss - Fraction(1, 10**9) <= reached.low
        assert reached.high <= -best.bound


def test_every_loss_in_the_lecture_is_monotone():
    assert Loss.zero_one(range(9)).is_monotone()
    assert Loss.absolute(range(9)).is_monotone()
