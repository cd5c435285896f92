"""Intervals of sums, means and variances hold as often as they say, and hardly more often."""

from fractions import Fraction
from itertools import product
from math import ceil, comb, exp, floor, log
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.staircase import Staircase
from discreet.query.check.formula import Combination, Mean, Variance
from discreet.query.price.expected import stepped
from discreet.query.price.fieller import mean, variance
from discreet.query.price.tail import Peaked, Round, chance, parts_of, quantile, rate_of

BETA = Fraction(1, 20)
WIDTH, SCALE = 40, 8
"""Values from 0 to 40 in steps of an eighth."""


def people(count: int) -> list[int]:
    """Return so many values, most of them near the lower end, in steps."""
    return [min(SCALE * WIDTH, int(x)) for x in np.random.default_rng(5).gamma(1.5, 4 * SCALE, count)]


def sums(values: list[int], degree: int) -> list[int]:
    top = SCALE * WIDTH
    return [
        sum(comb(degree, i) * x**i * (top - x) ** (degree - i) for x in values) for i in range(degree + 1)
    ]


class World:
    """Corners of a simplex with noise, many times over."""

    def __init__(self, count: int, degree: int, epsilon: str, *, bell: bool = False) -> None:
        self.values, top = people(count), (SCALE * WIDTH) ** degree
        self.unit = SCALE**degree
        if bell:
            noise: Any = Gaussian.calibrate(rho=Fraction(epsilon) ** 2 / 2, sensitivity=top)
            law: Any = Round(float(noise.sigma_squared) ** 0.5)
        else:
            noise = Geometric.calibrate(epsilon=epsilon, sensitivity=top)
            law = Peaked(rate_of(noise.alpha))
        self.noise, self.exact = noise, sums(self.values, degree)
        self.laws = dict.fromkeys(range(degree + 1), (1 / self.unit, law))
        self.degree = degree

    def draws(self, runs: int) -> list[dict[int, Fraction]]:
        drawn = [self.noise.sample(np.array([exact] * runs, dtype=object)) for exact in self.exact]
        return [
            {p: Fraction(int(z), self.unit) for p, z in enumerate(row)} for row in zip(*drawn, strict=True)
        ]

    def least(self) -> Fraction:
        terms = dict.fromkeys(range(self.degree + 1), 1 / WIDTH**self.degree)
        return Fraction(quantile(parts_of(terms, self.laws), 0.1))


def mean_node(least: Fraction) -> Mean:
    total = Combination(((0, Fraction(0)), (1, Fraction(1))))
    count = Combination(((0, Fraction(1, WIDTH)), (1, Fraction(1, WIDTH))), counts=True)
    return Mean(total, count, Fraction(0), Fraction(WIDTH), least)


def covered(count: int, epsilon: str, runs: int, *, spread: bool, bell: bool = False) -> tuple[int, int]:
    """Return how many intervals of so many hold the exact value, and how many values are shown at all."""
    world = World(count, 2 if spread else 1, epsilon, bell=bell)
    node: Any = (
        Variance((0, 1, 2), Fraction(WIDTH), False, world.least()) if spread else mean_node(world.least())
    )
    find: Any = variance if spread else mean
    values = [Fraction(x, SCALE) for x in world.values]
    middle = sum(values, Fraction(0)) / max(count, 1)
    truth = sum(((x - middle) ** 2 for x in values), Fraction(0)) / max(count, 1) if spread else middle
    held = shown = 0
    for noisy in world.draws(runs):
        low, high = find(node, noisy, world.laws, BETA)
        point = node.at(noisy)
        shown += point is not None
        held += low <= truth <= high
        assert 0 <= low <= high
        assert point is None or low <= point <= high or low == high
    return held, shown


GRID = [(count, epsilon) for count in (1, 5, 40, 1000) for epsilon in ("0.1", "1", "3")]


def sure(held: int, runs: int, share: float) -> bool:
    """Whether so few successes contradict a probability; a false alarm happens once in 10**8."""
    return held >= runs * share - 5.7 * (runs * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(("spread", "bell"), [(False, False), (True, False), (False, True)])
def test_intervals_hold_as_often_as_they_say(spread: bool, bell: bool) -> None:
    runs, total = 60, 0
    for count, epsilon in GRID:
        held, _ = covered(count, epsilon, runs, spread=spread, bell=bell)
        assert sure(held, runs, 0.95), (count, epsilon, held)
        total += held
    assert sure(total, runs * len(GRID), 0.95)


def test_intervals_do_not_hold_more_often_than_needed_where_people_can_be_told_apart() -> None:
    """Boxes around each sum hold in 98 to 99.7 of 100 cases; these in 95."""
    runs = 900
    held, shown = covered(1000, "1", runs, spread=False)
    assert shown == runs
    assert held <= 0.955 * runs + 5.7 * (runs * 0.05 * 0.95) ** 0.5
    held, _ = covered(1000, "1", 500, spread=True)
    assert held <= 0.97 * 500 + 5.7 * (500 * 0.03 * 0.97) ** 0.5


def test_nobody_is_shown_as_nobody() -> None:
    """Without anybody a mean is NULL in 95 of 100 cases, and its interval is everything there could be."""
    world = World(0, 1, "1")
    node, runs = mean_node(world.least()), 600
    nulls = sum(node.at(noisy) is None for noisy in world.draws(runs))
    assert sure(nulls, runs, 0.95)
    assert nulls < runs
    empty = {0: Fraction(0), 1: Fraction(0)}
    assert mean(node, empty, world.laws, BETA) == (0, WIDTH)


@pytest.mark.fuzz
@pytest.mark.parametrize(("count", "epsilon"), GRID)
@pytest.mark.parametrize(("spread", "bell"), [(False, False), (True, False), (False, True)])
def test_intervals_hold_as_often_as_they_say_at_length(
    count: int, epsilon: str, spread: bool, bell: bool
) -> None:
    runs = 2000
    held, _ = covered(count, epsilon, runs, spread=spread, bell=bell)
    assert sure(held, runs, 0.95), held
    if count == 1000 and not spread:
        assert held <= 0.97 * runs


def direct(parts: list[tuple[float, float]], distance: float) -> float:
    """Return the probability by adding up all outcomes of geometric noises."""
    reach = [int(30 / rate) for _, rate in parts]
    total = 0.0
    for z in product(*(range(-r, r + 1) for r in reach)):
        if abs(sum(by * k for (by, _), k in zip(parts, z, strict=True))) >= distance - 1e-12:
            mass = 1.0
            for (_, rate), k in zip(parts, z, strict=True):
                mass *= (1 - exp(-rate)) / (1 + exp(-rate)) * exp(-rate * abs(k))
            total += mass
    return total


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.3, 4.0])
def test_two_noises_are_added_up_exactly(distance: float) -> None:
    for parts in (
        [(1.0, 1.0)],
        [(0.7, 1.0), (-0.3, 1.0)],
        [(0.5, 0.7), (0.5, 2.0)],
        [(1.0, 3.0), (0.01, 1.0)],
    ):
        found = chance(tuple((by, Peaked(rate)) for by, rate in parts), distance)
        assert found == pytest.approx(direct(parts, distance), abs=1e-9)


def test_three_noises_are_never_taken_for_fewer() -> None:
    for by in ((0.8, -0.1, 0.1), (0.5, 0.5, 0.5), (1.0, 1.0, 0.2)):
        for distance in (1.0, 3.0, 6.0):
            found = chance(tuple((c, Peaked(2.5)) for c in by), distance)
            assert direct([(c, 2.5) for c in by], distance) <= found


def added_up(
    by: tuple[Fraction, Fraction], noises: tuple[Staircase | Geometric, ...], x: Fraction
) -> Fraction:
    """Return Pr[|c X + d Y| >= x] by adding up rationals, but for what lies far outside: that counts too."""
    if x <= 0:
        return Fraction(1)
    reach = [noise.radius("1e-9") for noise in noises]
    inside = Fraction(0)
    for m in range(-reach[0], reach[0] + 1):
        # For each X the Y that leave the sum inside are whole numbers in a row.
        ends = [(edge - by[0] * m) / by[1] for edge in (-x, x)]
        low, high = max(floor(min(ends)) + 1, -reach[1]), min(ceil(max(ends)) - 1, reach[1])
        if low <= high:
            inside += noises[0].pmf(m) * (noises[1].cdf(high) - noises[1].cdf(low - 1))
    return 1 - inside


STAIRS = Staircase(Fraction(1, 16), 12, 3)


@pytest.mark.parametrize(
    ("by", "other"),
    [
        ((Fraction(1), Fraction(1)), Geometric(Fraction(1, 4))),
        ((Fraction(1), Fraction(-7, 3)), Geometric(Fraction(3, 4))),
        ((Fraction(1), Fraction(1)), Staircase(Fraction(1, 6), 12, 4)),
        ((Fraction(1), Fraction(1, 9)), Staircase(Fraction(1, 6), 12, 4)),
    ],
)
def test_staircases_beside_other_noise_are_never_taken_for_less_and_hardly_for_more(
    by: tuple[Fraction, Fraction], other: Any
) -> None:
    law = stepped(other) if isinstance(other, Staircase) else Peaked(rate_of(other.alpha))
    parts = ((float(by[0]), stepped(STAIRS)), (float(by[1]), law))
    for x in (1, 8, 20, 30):
        # At most one step of either noise is given away.
        exact, nearer = (
            float(added_up(by, (STAIRS, other), Fraction(end))) for end in (x, x - 1 - abs(by[1]))
        )
        assert exact <= chance(parts, x) <= nearer * 1.05 + 1e-4
    assert chance(parts[:1], 17) == pytest.approx(2 * float(STAIRS.tail(17)))


def test_three_noises_with_a_staircase_are_never_taken_for_fewer() -> None:
    """Sums of three by their transforms, which floats add up to within 1e-12."""
    noises = (STAIRS, Staircase(Fraction(1, 6), 5, 2), Geometric(Fraction(1, 2)))
    size = 1 << 10
    law = np.fft.rfft([1.0] + [0.0] * (size - 1))
    for noise in noises:
        pmf = np.zeros(size)
        for k in range(-200, 201):
            pmf[k % size] = float(noise.pmf(k))
        law = law * np.fft.rfft(pmf)
    whole = np.fft.irfft(law, size)
    away = np.minimum(np.arange(size), size - np.arange(size))
    parts = tuple(
        (1.0, stepped(noise) if isinstance(noise, Staircase) else Peaked(rate_of(noise.alpha)))
        for noise in noises
    )
    for x in (6, 15, 30):
        exact = float(whole[away >= x].sum())
        assert exact - 1e-9 <= chance(parts, x) <= exact * 1.15 + 1e-4


def test_many_fine_noises_are_nearly_exact() -> None:
    """Three Laplace variables of equal scale: the tail has a closed form."""
    rate, x = 1e-5, 4.0
    exact = exp(-x) * (1 + x * 5 / 8 + x**2 / 8)
    found = chance(tuple((1.0, Peaked(rate)) for _ in range(3)), x / rate)
    assert exact <= found <= exact * 1.01
    assert quantile(((1.0, Peaked(rate)),), 0.05) * rate == pytest.approx(log(20), rel=1e-4)


@pytest.mark.parametrize(
    "laws", [(Peaked(0.5), Peaked(2e-3)), (Round(3.0), Round(9.0)), (Peaked(0.5), Round(2.0))]
)
def test_a_quantile_is_where_the_chance_falls_below(laws: tuple[Any, ...]) -> None:
    parts = tuple((1.0, law) for law in laws)
    for beta in (0.1, 0.05, 0.01):
        reach = quantile(parts, beta)
        assert chance(parts, reach * (1 + 1e-9)) <= beta
        assert chance(parts, reach * 0.9) > beta
