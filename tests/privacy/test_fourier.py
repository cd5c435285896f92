"""The certified inversion encloses exact sums, and inversions that cut corners are caught."""

from dataclasses import replace
from fractions import Fraction
from math import comb, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.exact.number import log_bounds
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.fourier import curve, sample
from discreet.privacy.inverse import delta_at, epsilon_at
from discreet.privacy.loss import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    ResponseLoss,
)
from discreet.privacy.moment import log_moment, tilted
from discreet.privacy.total import LossSum, saddle


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def _atoms_delta(laws, epsilon):
    """delta of a product of finite pairs by multiplying them out."""
    pairs = {Fraction(1): (Fraction(1), Fraction(1))}
    for law in laws:
        grown = {}
        for p, q in pairs.values():
            for a, b in law.atoms:
                key = p * a / (q * b)
                at = grown.get(key, (Fraction(0), Fraction(0)))
                grown[key] = (at[0] + p * a, at[1] + q * b)
        pairs = grown
    x = mp.exp(_mpf(epsilon))
    return mp.fsum(max(_mpf(p) - x * _mpf(q), mpf(0)) for p, q in pairs.values())


@st.composite
def finite_laws(draw):
    weights = draw(st.lists(st.integers(1, 9), min_size=2, max_size=3))
    mirror = draw(st.permutations(weights))
    total = sum(weights)
    return AtomsLoss(
        tuple((Fraction(a, total), Fraction(b, total)) for a, b in zip(weights, mirror, strict=True))
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(finite_laws(), min_size=2, max_size=5), st.fractions(0, 4, max_denominator=97))
def test_products_of_arbitrary_finite_laws_are_enclosed(laws, epsilon):
    parts = {}
    for law in laws:
        if law.pure != 0:
            parts[law] = parts.get(law, 0) + 1
    exact = _atoms_delta(laws, epsilon)
    if not parts:
        return
    total = LossSum(tuple(parts.items()))
    if total.ceiling <= epsilon:
        assert exact <= mpf(10) ** -25
        return
    low, high = delta_at(total, epsilon)
    assert _mpf(low) <= exact + mpf(10) ** -50
    assert exact <= _mpf(high) + mpf(10) ** -50
    assert high - low <= Fraction(1, 100)


def _geometric_delta(alpha, k, x):
    p, q = 1 / (1 + alpha), alpha / (1 + alpha)
    terms = (p ** (k - lies) * q**lies - x * q ** (k - lies) * p**lies for lies in range(k + 1))
    return sum((comb(k, lies) * max(term, Fraction(0)) for lies, term in enumerate(terms)), Fraction(0))


@pytest.mark.parametrize("exponent", [1, 6, 30, 100, 200])
@pytest.mark.parametrize(("alpha", "k"), [(Fraction(9, 10), 400), (Fraction(1, 2), 150)])
def test_tiny_deltas_agree_with_exact_rationals(alpha, k, exponent):
    delta = Fraction(1, 10**exponent)
    low, high = epsilon_at(LossSum(((GeometricLoss(alpha, 1), k),)), delta)
    from discreet.exact.number import exp_down, exp_up

    if high < k * log_bounds(1 / alpha)[0]:
        assert _geometric_delta(alpha, k, exp_up(high)) <= delta
    assert _geometric_delta(alpha, k, exp_down(low)) >= delta
    assert high - low <= high / 10**9


@pytest.mark.parametrize(
    "law",
    [
        GaussianLoss(Fraction(1, 3)),
        LaplaceLoss(Fraction(3, 2)),
        BoundedRangeLoss(Fraction(3, 2)),
        ResponseLoss(Fraction(3, 2)),
        GeometricLoss(Fraction(4, 5), 7),
        DiscreteGaussianLoss(Fraction(1, 4), 1),
        DiscreteGaussianLoss(Fraction(5, 4), 2),
        DiscreteGaussianLoss(Fraction(50), 3),
        AtomsLoss.of([("0.5", "0.2"), ("0.3", "0.3"), ("0.2", "0.5")]),
    ],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(6, 5)])
def test_a_sum_of_one_loss_is_the_law_itself(law, epsilon):
    if law.pure is not None and epsilon >= law.pure:
        return
    low, high = delta_at(LossSum(((law, 1),)), epsilon)
    exact_low, exact_high = law.delta(epsilon)
    assert low <= exact_high
    assert exact_low <= high
    assert high - low <= high / 10**6


@pytest.mark.parametrize(
    "law", [LaplaceLoss(Fraction(1, 2)), BoundedRangeLoss(Fraction(1)), GaussianLoss(Fraction(1, 4))]
)
def test_characteristic_functions_are_those_of_the_densities(law):
    """Moments by quadrature over the loss, at one tilt and a few frequencies."""
    theta = Fraction(3, 4)
    for t in (0.7, 20.0):
        s = mpf("0.75") + 1j * mpf(t)
        with mp.workdps(20):
            exact = _moment_by_quadrature(law, s) / _moment_by_quadrature(law, mpf("0.75"))
        got = complex(tilted(law, theta, np.array([t]))[0]) * np.exp(1j * t * float(_centre(law, theta)))
        assert abs(got - complex(exact)) < 1e-12
    with mp.workdps(20):
        log_exact = mp.log(_moment_by_quadrature(law, mpf("0.75")))
    assert float(log_moment(law, np.array([0.75]))[0]) == pytest.approx(
        float(log_exact), rel=1e-12, abs=1e-14
    )


def _centre(law, theta):
    from discreet.privacy.moment import centre

    return centre(law, theta)


def _moment_by_quadrature(law, s):
    match law:
        case LaplaceLoss(ratio):
            c = _mpf(ratio)
            inside = mp.quad(lambda x: mp.exp((x - c) / 2 + s * x) / 4, mp.linspace(-c, c, 9))
            return mp.exp(s * c) / 2 + mp.exp(-c - s * c) / 2 + inside
        case BoundedRangeLoss(cost):
            c = _mpf(cost)
            size = mp.quad(lambda x: mp.exp(x / 2), [-c, c])
            return mp.quad(lambda x: mp.exp(x / 2 + s * x) / size, mp.linspace(-c, c, 17))
        case GaussianLoss(mu_squared):
            m = _mpf(mu_squared)
            return mp.quad(lambda x: mp.npdf(x, m / 2, mp.sqrt(m)) * mp.exp(s * x), mp.linspace(-7, 7, 29))


def test_smoothing_without_its_correction_is_caught():
    """Near the top of three Laplace losses the smoothed curve alone is too high to be a lower bound."""
    epsilon = Fraction(299, 100)
    total = LossSum(((LaplaceLoss(Fraction(1)), 3),))
    # exact: only the atom of three largest losses and what is just below it matter; integrate the rest away.
    with mp.workdps(20):
        exact_low, exact_high = _laplace_three(epsilon)
    samples = sample(total, 3.0, epsilon)
    coarse = replace(
        samples,
        smoothing=1e-4,
        t=samples.t[: len(samples.t) // 8],
        phi=samples.phi[: len(samples.t) // 8] * np.exp(-1e-4 * samples.t[: len(samples.t) // 8] ** 2 / 2),
        error=samples.error[: len(samples.t) // 8],
        centre=samples.centre + Fraction(1e-4) * (samples.theta + Fraction(1, 2)),
        log_scale=samples.log_scale + 1e-4 * 3.0 * 4.0 / 2,
        missing=(1e-18, 1e-18),
    )
    honest = curve(coarse, epsilon)
    lazy = curve(replace(coarse, smoothing=0.0), epsilon)
    scale = float(np.exp(float(honest.log_scale)))
    assert honest.low * scale <= exact_high
    assert honest.high * scale >= exact_low
    assert lazy.low * scale > exact_high


def _laplace_three(epsilon):
    """delta(epsilon) of three Laplace losses of 1 for epsilon > 1, by convolving their exact densities."""
    mp_eps = _mpf(epsilon)

    def payoff(x):
        return max(1 - mp.exp(mp_eps - x), mpf(0))

    def density(x):
        return mp.exp((x - 1) / 2) / 4

    # 3 - epsilon is tiny, so at most a little is lost in all three: expand over how many sit at the top atom.
    room = 3 - mp_eps
    one = 3 * mpf(1) / 4 * mp.quad(lambda u: density(1 - u) * payoff(3 - u), [0, room])
    two = (
        mpf(3)
        / 2
        * mp.quad(
            lambda u: mp.quad(lambda v: density(1 - u) * density(1 - v) * payoff(3 - u - v), [0, room - u]),
            [0, room],
        )
    )
    three = (mpf(1) / 4) ** 3 * room**4
    base = mpf(1) / 8 * payoff(mpf(3)) + one + two
    return float(base * (1 - mpf(10) ** -12)), float((base + three) * (1 + mpf(10) ** -12))


def test_a_window_too_narrow_wraps_around_and_the_fold_bound_says_so():
    """The fault of trusting too small a domain: mass outside it returns on the other side."""
    total = LossSum(((ResponseLoss(Fraction(1)), 100),))
    epsilon = Fraction(75)
    exact = _mpf(delta_at(total, epsilon)[1])
    good = sample(total, saddle(total, epsilon), epsilon)
    step = 2.0
    count = 5
    narrow = replace(
        good,
        window=count * step,
        t=np.arange((count + 1) // 2) * (2 * pi / (count * step)),
        phi=np.array([_phi(good, j * 2 * pi / (count * step)) for j in range((count + 1) // 2)]),
        error=np.zeros((count + 1) // 2),
    )
    wrapped = curve(narrow, epsilon)
    scale = mp.exp(_mpf(wrapped.log_scale))
    assert wrapped.high * scale > exact * mpf("1.01")
    assert wrapped.low * scale <= exact
    trusting = replace(narrow, folds=replace(narrow.folds, left_moment=narrow.folds.left_moment - 1e6))
    trusting = replace(trusting, folds=replace(trusting.folds, right_moment=narrow.folds.right_moment - 1e6))
    assert curve(trusting, epsilon).low * scale > exact


def _phi(samples, t):
    law, n = samples.total.parts[0]
    return complex(tilted(law, samples.theta, np.array([t]))[0]) ** n


def test_bounds_without_outward_rounding_are_caught():
    """The twin rounds its midpoint to a float and claims both ends: exact rationals refute one of them."""
    caught = 0
    for k in (50, 100, 150, 200):
        total = LossSum(((GeometricLoss(Fraction(9, 10), 1), k),))
        epsilon = Fraction(5, 2)
        low, high = delta_at(total, epsilon)
        from discreet.exact.number import exp_bounds

        below, above = exp_bounds(epsilon)
        exact_low = _geometric_delta(Fraction(9, 10), k, above)
        exact_high = _geometric_delta(Fraction(9, 10), k, below)
        assert low <= exact_high
        assert exact_low <= high
        twin = Fraction(float((low + high) / 2))
        caught += not exact_low <= twin <= exact_high
    assert caught == 4


@given(st.integers(1, 6))
@settings(max_examples=6, deadline=None)
def test_losses_in_different_orders_give_the_same_enclosure(seed):
    parts = [
        (LaplaceLoss(Fraction(1, 5 + seed)), 30),
        (GaussianLoss(Fraction(1, 90)), 20),
        (ResponseLoss(Fraction(1, 7)), 9),
    ]
    turned = parts[seed % 3 :] + parts[: seed % 3]
    one, two = (epsilon_at(LossSum(tuple(order)), Fraction(1, 10**6)) for order in (parts, turned))
    assert one[0] <= two[1]
    assert two[0] <= one[1]
    assert one[1] - one[0] <= one[1] / 10**8
