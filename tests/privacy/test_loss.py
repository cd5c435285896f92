"""Every loss law against an independent computation of its own definition."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    ResponseLoss,
)

ALPHAS = st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=60)
EPSILONS = st.fractions(0, 4, max_denominator=300)


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def _lies_in(value, low, high):
    return _mpf(low) * (1 - mpf(10) ** -25) <= value <= _mpf(high) * (1 + mpf(10) ** -25)


def _hockey_stick(pairs, epsilon):
    """The definition, over any list of (probability under P, under Q)."""
    x = mp.exp(_mpf(epsilon))
    return mp.fsum(max(p - x * q, mpf(0)) for p, q in pairs)


@given(ALPHAS, st.integers(1, 9), EPSILONS)
def test_geometric_noise_has_the_curve_of_its_own_probabilities(alpha, shift, epsilon):
    a = _mpf(alpha)
    reach = 250
    pairs = [
        ((1 - a) / (1 + a) * a ** abs(k), (1 - a) / (1 + a) * a ** abs(k - shift))
        for k in range(-reach, reach + 1)
    ]
    low, high = GeometricLoss(alpha, shift).delta(epsilon)
    cut = 2 * a ** (reach + 1)
    assert _mpf(low) - cut <= _hockey_stick(pairs, epsilon) <= _mpf(high) + cut
    assert high - low <= high / 2**80


@given(ALPHAS, st.integers(1, 9), st.fractions(Fraction(1, 10**6), Fraction(3, 5)))
def test_geometric_noise_and_its_atoms_agree_on_everything(alpha, shift, delta):
    law = GeometricLoss(alpha, shift)
    atoms = law.atoms()
    mine, theirs = law.epsilon(delta), atoms.epsilon(delta)
    assert mine[0] <= theirs[1]
    assert theirs[0] <= mine[1]
    assert abs(law.pure - atoms.pure) <= law.pure / 2**80
    assert sum(p * q for p, q in atoms.atoms) >= 0


def test_geometric_noise_for_sums_in_cents_needs_no_giant_numbers():
    law = GeometricLoss(Fraction(999_999, 1_000_000), 500_000)
    low, high = law.epsilon(Fraction(1, 10**9))
    assert 0 < high - low <= high / 2**80
    assert abs(float(high) - 0.5) < 1e-4


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(100)])
@pytest.mark.parametrize("shift", [1, 3])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(2)])
def test_discrete_gaussian_noise_has_the_curve_of_its_own_probabilities(variance, shift, epsilon):
    v = _mpf(variance)
    weights = {k: mp.exp(-mpf(k * k) / (2 * v)) for k in range(-500, 501)}
    total = mp.fsum(weights.values())
    pairs = [(weights[k] / total, weights.get(k - shift, mpf(0)) / total) for k in range(-490, 490)]
    low, high = DiscreteGaussianLoss(variance, shift).delta(epsilon)
    assert _lies_in(_hockey_stick(pairs, epsilon), low, high)


def test_long_lattice_sums_agree_with_short_ones_where_both_are_possible():
    from flint import ctx

    from discreet.exact.lattice_gaussian import _direct_tail, _euler_maclaurin_tail

    with ctx.workprec(160):
        for start, variance in product((1, 40, 900, 3000), (Fraction(10**5), Fraction(3 * 10**5, 7))):
            direct = _direct_tail(start, variance, 6000)
            smooth = _euler_maclaurin_tail(start, variance)
            assert direct.overlaps(smooth)
            assert smooth.rel_accuracy_bits() > 100


def test_discrete_gaussian_with_a_huge_variance_is_near_the_continuous_one():
    discrete = DiscreteGaussianLoss(Fraction(10**12), 500_000).epsilon(Fraction(1, 10**9))
    continuous = GaussianLoss(Fraction(1, 4)).epsilon(Fraction(1, 10**9))
    assert abs(discrete[1] - continuous[1]) < Fraction(1, 10**5)
    assert discrete[1] - discrete[0] <= discrete[1] / 2**50


@given(st.fractions(Fraction(1, 50), 6, max_denominator=100), EPSILONS)
def test_gaussian_noise_has_the_analytic_curve(mu_squared, epsilon):
    mu, e = mp.sqrt(_mpf(mu_squared)), _mpf(epsilon)
    exact = mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)
    low, high = GaussianLoss(mu_squared).delta(epsilon)
    assert _mpf(low) * (1 - mpf(10) ** -30) <= exact <= _mpf(high) * (1 + mpf(10) ** -30)


@settings(max_examples=20)
@given(st.fractions(Fraction(1, 10), 4, max_denominator=50), st.fractions(0, 3, max_denominator=50))
def test_laplace_noise_has_the_curve_of_its_density(ratio, epsilon):
    r, x = _mpf(ratio), mp.exp(_mpf(epsilon))

    def excess(z):
        return max(mp.exp(-abs(z)) - x * mp.exp(-abs(z - r)), mpf(0)) / 2

    crossing = (r - _mpf(epsilon)) / 2
    exact = mp.quad(excess, [-60, 0, crossing, r]) if epsilon < ratio else mpf(0)
    low, high = LaplaceLoss(ratio).delta(epsilon)
    assert _mpf(low) - mpf(10) ** -20 <= exact <= _mpf(high) + mpf(10) ** -20


@given(st.fractions(Fraction(1, 10), 5, max_denominator=50), EPSILONS, st.fractions(0, 1, max_denominator=40))
def test_no_bounded_range_pair_lies_above_the_envelope_and_one_touches_it(cost, epsilon, share):
    c, e = _mpf(cost), _mpf(epsilon)

    def pair(top):
        p = (mp.exp(c) - mp.exp(top)) / mp.expm1(c)
        return [(p, p * mp.exp(-top)), (1 - p, (1 - p) * mp.exp(c - top))]

    _, high = BoundedRangeLoss(cost).delta(epsilon)
    assert _hockey_stick(pair(c * _mpf(share)), epsilon) <= _mpf(high) + mpf(10) ** -40
    if epsilon < cost:
        assert _hockey_stick(pair((c + e) / 2), epsilon) >= _mpf(high) * (1 - mpf(10) ** -20)


LAWS = [
    ResponseLoss(Fraction(1)),
    ResponseLoss(Fraction(1, 10), Fraction(1, 10**4)),
    GeometricLoss(Fraction(2, 3), 1),
    GeometricLoss(Fraction(9, 10), 6),
    LaplaceLoss(Fraction(3, 2)),
    BoundedRangeLoss(Fraction(2)),
    GaussianLoss(Fraction(1, 2)),
    DiscreteGaussianLoss(Fraction(3), 2),
    AtomsLoss.of([("0.5", "0.2"), ("0.3", "0.3"), ("0.2", "0.5")]),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 100), Fraction(1, 10**9), Fraction(1, 10**60)])
def test_epsilon_is_the_inverse_of_delta_and_rounds_outwards(law, delta):
    low, high = law.epsilon(delta)
    if high is None:
        assert delta < law.slack
        return
    assert low <= high
    assert law.delta(high)[0] <= delta
    if low > 0:
        assert law.delta(low)[1] >= delta
        assert law.delta(low * Fraction(99, 100))[0] > delta


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_groups_cost_more_and_a_group_of_one_costs_the_same(law):
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1)):
        alone = law.delta(epsilon)
        assert law.group(1).delta(epsilon) == alone
        assert law.group(3).delta(epsilon)[1] >= law.group(2).delta(epsilon)[0] >= alone[0]


@given(st.fractions(Fraction(1, 20), 6), st.fractions(Fraction(101, 100), 60))
def test_laplace_noise_is_as_concentrated_as_stated_at_every_order(ratio, order):
    c, a = _mpf(ratio), _mpf(order)
    moment = a / (2 * a - 1) * mp.exp((a - 1) * c) + (a - 1) / (2 * a - 1) * mp.exp(-a * c)
    assert mp.log(moment) / (a - 1) <= a * _mpf(LaplaceLoss(ratio).rho)


@given(ALPHAS, st.integers(1, 8), st.fractions(Fraction(101, 100), 40))
def test_geometric_noise_is_as_concentrated_as_stated_at_every_order(alpha, shift, order):
    a = _mpf(order)
    moment = mp.fsum(_mpf(p) ** a * _mpf(q) ** (1 - a) for p, q in GeometricLoss(alpha, shift).atoms().atoms)
    assert mp.log(moment) / (a - 1) <= a * _mpf(GeometricLoss(alpha, shift).rho)


@given(st.fractions(Fraction(1, 10), 5), st.fractions(0, 1), st.fractions(Fraction(101, 100), 40))
def test_bounded_range_laws_are_as_concentrated_as_stated_at_every_order(cost, share, order):
    c, top, a = _mpf(cost), _mpf(cost * share), _mpf(order)
    p = (mp.exp(c) - mp.exp(top)) / mp.expm1(c)
    moment = p * mp.exp((a - 1) * top) + (1 - p) * mp.exp((a - 1) * (top - c))
    assert mp.log(moment) / (a - 1) <= a * _mpf(BoundedRangeLoss(cost).rho) * (1 + mpf(10) ** -30)


@given(ALPHAS, st.lists(st.integers(1, 3), min_size=2, max_size=3), st.fractions(1, 50))
def test_a_vector_moved_in_l1_is_dominated_by_one_coordinate_moved_as_far(alpha, moves, x):
    whole = GeometricLoss(alpha, sum(moves)).atoms()
    atoms = [(Fraction(1), Fraction(1))]
    for move in moves:
        step = GeometricLoss(alpha, move).atoms().atoms
        atoms = [(p * a, q * b) for p, q in atoms for a, b in step]
    assert AtomsLoss(tuple(atoms)).hockey_stick(x) <= whole.hockey_stick(x)


def test_moving_a_vector_in_l2_is_not_dominated_by_one_coordinate_moved_as_far_in_l2():
    """The twin of the theorem above: replacing l1 by l2 must be caught."""
    alpha = Fraction(1, 2)
    step = GeometricLoss(alpha, 1).atoms().atoms
    atoms = [(Fraction(1), Fraction(1))]
    for _ in range(4):
        atoms = [(p * a, q * b) for p, q in atoms for a, b in step]
    four_by_one, one_by_two = AtomsLoss(tuple(atoms)), GeometricLoss(alpha, 2).atoms()
    assert four_by_one.hockey_stick(Fraction(8)) > one_by_two.hockey_stick(Fraction(8))


def test_concentrated_privacy_lies_between_the_gaussian_and_the_conversion():
    bounds = Concentrated("0.1").epsilon("1e-6")
    assert bounds.low < bounds.high
    assert Concentrated("0.1").delta(bounds.high).high <= Fraction(1, 10**6) * (1 + Fraction(1, 2**40))
    assert Concentrated("0.1").group(3).rho == Fraction(9, 10)
    assert Concentrated("0.1").epsilon(0).high is None
    assert Concentrated(0).epsilon(0).high == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Pure(-1),
        lambda: Approximate(1, 2),
        lambda: Pure(1).epsilon(1),
        lambda: Pure(1).epsilon(-0.1),
        lambda: Pure(1).delta(-1),
        lambda: Pure(1).group(0),
        lambda: Pure(1).group(1.5),
        lambda: Concentrated("0.1", "1e-9").group(2),
        lambda: Profile(LaplaceLoss(Fraction(1))).epsilon(2),
        lambda: GeometricLoss(Fraction(1), 1),
        lambda: GeometricLoss(Fraction(1, 2), -1),
        lambda: DiscreteGaussianLoss(Fraction(0), 1),
        lambda: LaplaceLoss(Fraction(-1)),
        lambda: GaussianLoss(Fraction(-1)),
        lambda: AtomsLoss.of([("0.5", "0.5")]),
        lambda: AtomsLoss.of([("-0.5", "0.5"), ("1.5", "0.5")]),
    ],
)
def test_what_no_guarantee_can_mean_is_refused(ask):
    with pytest.raises(ParameterError):
        ask()
