"""Products of many characteristic functions, and the compositions that they serve."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.privacy import many
from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Pure
from discreet.privacy.inverse import epsilon_at
from discreet.privacy.loss import GeometricLoss, LaplaceLoss, ResponseLoss
from discreet.privacy.many import multiplied, phases
from discreet.privacy.optimal import Responses
from discreet.privacy.total import LossSum


def _factor(family, c, s):
    """E[exp(s (L - c))] from the law of the loss: two values, or two ends and a density between them."""
    c = mpf(c)
    if family is ResponseLoss:
        return (mp.exp(c) + mp.exp(-2 * s * c)) / (1 + mp.exp(c))
    ends = mpf(1) / 2 + mp.exp(-c) / 2 * mp.exp(-2 * s * c)
    # Between the ends the loss x has density exp((x - c) / 2) / 4.
    rate = s + mpf(1) / 2
    return ends + (1 - mp.exp(-2 * c * rate)) / (4 * rate)


@pytest.mark.parametrize("family", [ResponseLoss, LaplaceLoss])
@pytest.mark.parametrize("seed", range(3))
def test_products_lie_within_their_error_of_forty_digits(family, seed):
    random = Random(seed)
    losses = np.array([random.uniform(0.001, 0.4) for _ in range(random.choice((1, 5, 60)))])
    counts = np.array([float(random.choice((1, 1, 2, 7))) for _ in losses])
    theta, step, count = random.uniform(0.1, 5), random.uniform(0.01, 1.3), 5000
    product, error = multiplied(family, losses, counts, theta, step, count)
    assert len(product) == len(error) == count
    assert float(error.max()) < 1e-9
    for k in [0, 1, 255, 256, 4095, 4096, count - 1, *(random.randrange(count) for _ in range(6))]:
        s = mp.mpc(theta, k * mpf(step))
        exact = mp.fprod(
            (_factor(family, c, s) / _factor(family, c, mpf(theta))) ** int(n)
            for c, n in zip(losses, counts, strict=True)
        )
        assert abs(mp.mpc(complex(product[k])) - exact) <= mpf(float(error[k]))


def test_a_row_of_phases_is_what_its_angles_say():
    row = phases(0.7310281, 3000)
    for k in (0, 1, 255, 256, 257, 2999):
        assert abs(mp.mpc(complex(row[k])) - mp.expj(mpf(0.7310281) * k)) < 1e-12


def test_laws_too_weak_for_a_bound_are_taken_one_by_one():
    assert multiplied(ResponseLoss, np.array([1e-9]), np.array([1e9]), 0.01, 1e8, 300) is None


def _costs(seed, how_many):
    random = Random(seed)
    return [Fraction(random.randint(5, 200), 1000) for _ in range(how_many)]


@pytest.mark.parametrize(("seed", "how_many"), [(1, 40), (2, 90)])
def test_different_responses_meet_delta_where_the_exact_sum_does(seed, how_many):
    """Costs that are multiples of 1/1000 have an exact sum, which shares nothing with the transform."""
    costs = _costs(seed, how_many)
    laws = {}
    for cost in costs:
        laws[ResponseLoss(cost)] = laws.get(ResponseLoss(cost), 0) + 1
    found = epsilon_at(LossSum(tuple(laws.items())), Fraction(1, 10**6))
    low, high = Responses.of(tuple(laws.items())).epsilon(Fraction(1, 10**6))
    assert found[0] <= low
    assert high <= found[1]
    assert found[1] - found[0] <= found[1] / 10**6


def test_three_hundred_different_responses_are_known_to_six_digits():
    random = Random(7)
    costs = [Fraction(random.randint(10**10, 2 * 10**11), 10**12) for _ in range(300)]
    bounds = compose([Pure(cost) for cost in costs]).epsilon("1e-6")
    # Rounded to a common unit downwards and upwards they have exact sums on both sides.
    sides = []
    for up in (0, 1):
        laws = {}
        for cost in costs:
            law = ResponseLoss(Fraction(cost * 100 // 1 + up, 100))
            laws[law] = laws.get(law, 0) + 1
        sides.append(
            Responses.of(tuple((law, n) for law, n in laws.items() if law.cost)).epsilon(Fraction(1, 10**6))
        )
    assert sides[0][0] <= bounds.low <= bounds.high <= sides[1][1]
    assert bounds.high - bounds.low <= bounds.high / 10**6


def test_geometric_noise_on_counts_is_summed_as_a_response():
    cost = Fraction(1, 3)
    alpha = Fraction(round(2**60 * float(np.exp(-1 / 3))), 2**60)
    laws = ((GeometricLoss(alpha, 1), 30), (LaplaceLoss(Fraction(1, 4)), 3))
    twin = ((ResponseLoss(cost), 30), (LaplaceLoss(Fraction(1, 4)), 3))
    found, same = (epsilon_at(LossSum(these), Fraction(1, 10**6)) for these in (laws, twin))
    assert float(found[0]) == pytest.approx(float(same[0]), rel=1e-9)
    assert float(found[1]) == pytest.approx(float(same[1]), rel=1e-9)


def test_a_product_cut_off_early_says_so(monkeypatch):
    """What is taken for zero is in the bound: without it the truth lies outside."""
    losses, counts = np.linspace(0.2, 0.4, 24), np.ones(24)
    arguments = (ResponseLoss, losses, counts, 0.3, 0.9, 600)
    exact, _ = multiplied(*arguments)
    monkeypatch.setattr(many, "_NOTHING", 1e-3)
    product, error = multiplied(*arguments)
    assert (product == 0).any()
    assert (np.abs(product - exact) <= error).all()
    assert not (np.abs(product - exact) <= error - 1e-3).all()
