"""Half-widths cover what they say, whatever the price: noise that moves in steps needs one step more."""

from fractions import Fraction
from math import floor, sqrt

import numpy as np
import pytest

from discreet.mechanisms.geometric import Geometric
from discreet.privacy.guarantee import Pure
from discreet.workload import (
    Identity,
    Marginals,
    Prefix,
    answer_marginals,
    measure_marginals,
    plan,
    plan_marginals,
    quantiles,
)
from discreet.workload.noise import grain, half_widths

EPSILONS = ("0.1", "0.5", "1", "2", "3", "5")
RUNS = 300


def missed(noise: Geometric, radius: float) -> Fraction:
    """Return exactly how often one noisy integer is farther off than this."""
    return 2 * noise.alpha ** (floor(radius) + 1) / (1 + noise.alpha)


@pytest.mark.parametrize("beta", ["0.2", "0.05", "0.01"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_single_count_is_covered_exactly_as_often_as_stated(epsilon: str, beta: str) -> None:
    noise = Geometric.calibrate(epsilon=epsilon)
    own = np.array(sqrt(noise.variance))
    radius = float(half_widths(own, beta, bell=False, grain=grain(noise)))
    assert missed(noise, radius) <= Fraction(beta)


def test_without_the_step_a_single_count_is_not_covered() -> None:
    """The broken twin takes a quantile of a continuous law for that of steps."""
    short = 0
    for epsilon in EPSILONS:
        noise = Geometric.calibrate(epsilon=epsilon)
        radius = float(half_widths(np.array(sqrt(noise.variance)), "0.05", bell=False, grain=0.0))
        short += missed(noise, radius) > Fraction(1, 20)
    assert short >= 4


def enough(hits: int) -> None:
    """Refuse coverage that is below .95 by more than chance allows once in ten million."""
    assert hits / RUNS >= 0.95 - 5.3 * sqrt(0.05 * 0.95 / RUNS)


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_answers_to_a_workload_lie_within_their_radius(epsilon: str) -> None:
    counts = np.array([40, 0, 5, 1, 300, 0, 0, 17])
    for workload in (Identity(8), Prefix(8)):
        made = plan(workload, Pure(Fraction(epsilon)))
        truth = workload.apply(counts.astype(float))
        hits = np.zeros(truth.size, dtype=int)
        for _ in range(RUNS):
            answers = made.estimate(made.measure(counts)).answer(workload)
            hits += np.abs(answers.values - truth) <= answers.radius("0.05")
        enough(int(hits.min()))


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_cells_of_marginals_lie_within_their_radius(epsilon: str) -> None:
    sets = ((0,), (1,), (0, 1))
    made = plan_marginals(Marginals((2, 3), sets), Pure(Fraction(epsilon)))
    both = np.array([[40, 0, 5], [1, 300, 17]])
    tables = {(0,): both.sum(axis=1), (1,): both.sum(axis=0), (0, 1): both}
    hits = dict.fromkeys(sets, 0)
    for _ in range(RUNS):
        answers = answer_marginals(measure_marginals(made, {(0, 1): both}))
        for chosen in sets:
            off = abs(answers.table(chosen).flat[0] - tables[chosen].flat[0])
            hits[chosen] += off <= answers.radius(chosen)
    for found in hits.values():
        enough(found)


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_quantiles_lie_between_their_ends(epsilon: str) -> None:
    counts = np.array([3, 4, 3, 4, 3, 4, 3, 4])
    made = plan(Prefix(8), Pure(Fraction(epsilon)))
    hits = 0
    for _ in range(RUNS):
        (found,) = quantiles(made.estimate(made.measure(counts)), ["0.5"])
        hits += found.low <= 3 <= found.high
    enough(hits)
