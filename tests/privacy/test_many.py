"""Products of many characteristic functions, and the compositions that they serve."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.privacy import many
from discreet.privacy.atoms import multiplied as exactly
from discreet.privacy.compose import compose
from discreet.privacy.guarantee import Pure
from discreet.privacy.inverse import delta_at, epsilon_at
from discreet.privacy.loss import AtomsLoss, GeometricLoss, LaplaceLoss, ResponseLoss
from discreet.privacy.many import multiplied, phases
from discreet.privacy.optimal import Responses
from discreet.privacy.total import LossSum, three_valued


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


def _three(c, middle, s):
    """E[exp(s (L - c))] of losses c, 0 and -c, likely as exp(c) : middle : 1."""
    c, middle = mpf(c), mpf(middle)
    return (mp.exp(c) + middle * mp.exp(-s * c) + mp.exp(-2 * s * c)) / (1 + middle + mp.exp(c))


@pytest.mark.parametrize("seed", range(4))
def test_products_of_three_losses_lie_within_their_error_of_forty_digits(seed):
    random = Random(seed)
    number = random.choice((1, 5, 30, 60))
    losses = np.array([random.uniform(0.001, 0.4) for _ in range(number)])
    middles = np.array([random.choice((1.0, 2.0, 9.0, 0.37)) for _ in losses])
    counts = np.array([float(random.choice((1, 1, 2, 7))) for _ in losses])
    theta, step, count = random.uniform(0.1, 5), random.uniform(0.01, 1.3), 5000
    product, error = multiplied(ResponseLoss, losses, counts, theta, step, count, middles)
    assert float(error.max()) < 1e-8
    for k in [0, 1, 255, 256, 4096, count - 1, *(random.randrange(count) for _ in range(6))]:
        s = mp.mpc(theta, k * mpf(step))
        exact = mp.fprod(
            (_three(c, m, s) / _three(c, m, mpf(theta))) ** int(n)
            for c, m, n in zip(losses, middles, counts, strict=True)
        )
        assert abs(mp.mpc(complex(product[k])) - exact) <= mpf(float(error[k]))


def test_rows_that_are_not_computed_hold_next_to_nothing():
    """Far more laws than it takes: most rows are left out, and those with a revival are not."""
    costs = np.linspace(0.030017, 0.059917, 300)
    some = costs.copy()
    some[:] = 0.05  # at multiples of pi / 0.05 every one of these is as large as at zero again
    for losses, most in ((costs, 3), (some, 12)):
        size, inside = np.exp(-losses * 9), np.exp(-losses * 5)
        whole = 1 + size + inside
        parts = (inside / whole, size / whole, 1 / whole)
        kept = many._alive(losses, np.ones(300), parts, 0.5, 12)
        t = 0.5 * np.arange(12 * 256)
        z = np.exp(-1j * np.multiply.outer(losses, t))
        log_size = np.log(np.abs(parts[2][:, None] + parts[0][:, None] * z + parts[1][:, None] * z * z))
        rows = np.unique(np.flatnonzero(log_size.sum(axis=0) > np.log(many._NOTHING)) // 256)
        assert set(rows) <= set(kept)
        assert len(kept) <= most


def test_three_losses_that_are_no_response_are_not_taken_for_one():
    """Uneven ones are composed by themselves; the truth is multiplied out in rationals."""
    uneven = AtomsLoss.of([("0.5", "0.25"), ("0.25", "0.3"), ("0.25", "0.45")])
    shifted = AtomsLoss.of([("0.5", "0.25"), ("0.25", "0.5"), ("0.25", "0.25")])
    assert three_valued(uneven) is None
    assert three_valued(shifted) == 1
    low, high = exactly(((uneven, 9),), 10**7).delta(Fraction(1))
    found = delta_at(LossSum(((uneven, 9),)), Fraction(1))
    assert found[0] <= low <= high <= found[1] <= high * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize(("categories", "how_many"), [(3, 12), (10, 8)])
def test_responses_of_many_categories_meet_delta_where_rationals_do(categories, how_many):
    """Their product is multiplied out; the transform is asked for the same."""
    laws = []
    for k in range(how_many):
        odds = 1 + Fraction(1 + k % 4, 8)
        whole = odds + categories - 1
        same = (categories - 2) / whole
        laws.append(AtomsLoss(((odds / whole, 1 / whole), (same, same), (1 / whole, odds / whole))))
    counted = {law: laws.count(law) for law in laws}
    product = exactly(tuple(counted.items()), 10**7)
    for delta in (Fraction(1, 10**3), Fraction(1, 10**6)):
        low, high = product.epsilon(delta)
        found = epsilon_at(LossSum(tuple(counted.items())), delta)
        assert found[0] <= low <= high <= found[1]
        assert found[1] - found[0] <= found[1] / 10**4
