"""Composition: the promises of the accountant, against exact sums, peers and itself."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.errors import ParameterError
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.bounds import FIXED, FULLY
from discreet.privacy.compose import compose
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    ResponseLoss,
)

SIX = Fraction(1, 10**6)


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def laplace(ratio):
    return Profile(LaplaceLoss(Fraction(ratio)))


def gaussian(sigma):
    return Profile(GaussianLoss(1 / Fraction(sigma) ** 2))


GUARANTEES = st.one_of(
    st.integers(1, 200).map(lambda n: Pure(Fraction(n, 100))),
    st.integers(1, 200).map(lambda n: laplace(Fraction(n, 100))),
    st.integers(1, 60).map(lambda n: gaussian(Fraction(n, 3))),
    st.integers(1, 100).map(lambda n: Approximate(Fraction(n, 100), Fraction(n, 10**9))),
    st.tuples(st.integers(1, 9), st.integers(1, 3)).map(
        lambda x: Profile(GeometricLoss(Fraction(x[0], 10), x[1]))
    ),
    st.integers(1, 30).map(lambda n: Profile(DiscreteGaussianLoss(Fraction(n, 2), 1))),
    st.integers(1, 100).map(lambda n: Profile(BoundedRangeLoss(Fraction(n, 100)))),
    st.integers(1, 50).map(lambda n: Concentrated(Fraction(n, 100))),
)
RELEASES = st.lists(st.tuples(GUARANTEES, st.integers(1, 12)), min_size=1, max_size=4)
DELTAS = st.sampled_from(
    [Fraction(1, 10), Fraction(1, 10**3), SIX, Fraction(1, 10**30), Fraction(1, 10**100)]
)


@pytest.mark.parametrize(
    ("cost", "k", "exact"),
    [
        ("1", 100, 83.5307016784),
        ("1", 300, 207.149618968),
        ("0.5", 1000, 193.504425943),
        ("0.1", 100, 4.77456758811),
    ],
)
def test_cases_where_a_peer_certifies_too_little_lie_inside_our_bounds(cost, k, exact):
    bounds = compose([(Profile(ResponseLoss(Fraction(cost))), k)]).epsilon(SIX)
    assert float(bounds) == pytest.approx(exact, rel=1e-10)
    assert _pattern_delta(Fraction(cost), k, bounds.high) <= _mpf(SIX) * (1 + mpf(10) ** -20)
    assert _pattern_delta(Fraction(cost), k, bounds.low) >= _mpf(SIX) * (1 - mpf(10) ** -20)


def _pattern_delta(cost, k, epsilon):
    with mp.workdps(150):
        c, x = _mpf(cost), mp.exp(_mpf(epsilon))
        return (
            mp.fsum(
                mp.binomial(k, lies) * max(mp.exp((k - lies) * c) - x * mp.exp(lies * c), mpf(0))
                for lies in range(k + 1)
            )
            / (1 + mp.exp(c)) ** k
        )


def test_a_thousand_different_releases_are_bounded_to_a_millionth():
    parts = [laplace(Fraction(n, 4000)) for n in range(1, 335)]
    parts += [gaussian(Fraction(20) + Fraction(n, 7)) for n in range(333)]
    parts += [Pure(Fraction(n, 5003)) for n in range(1, 334)]
    bounds = compose(parts).epsilon(SIX)
    assert bounds.width <= Fraction(1, 10**6)
    assert bounds.route == "loss distribution"
    assert bounds.adaptive == FIXED


@pytest.mark.parametrize(
    ("guarantee", "k", "expected"),
    [(laplace(Fraction(1, 100)), 100_000, 19.3816674), (gaussian(100), 100_000, 19.4236565)],
)
def test_a_hundred_thousand_releases_are_bounded_to_a_millionth(guarantee, k, expected):
    bounds = compose([(guarantee, k)]).epsilon(SIX)
    assert bounds.width <= Fraction(1, 10**6)
    assert float(bounds) == pytest.approx(expected, rel=1e-8)


def test_gaussian_releases_compose_to_one_gaussian():
    exact = GaussianLoss(Fraction(1000, 400)).epsilon(SIX)
    assert compose([(gaussian(20), 1000)]).epsilon(SIX).high == exact[1]


@settings(max_examples=25, deadline=None)
@given(RELEASES, DELTAS, st.randoms(use_true_random=False))
def test_order_and_grouping_do_not_matter(releases, delta, random):
    shuffled = [guarantee for guarantee, n in releases for _ in range(n)]
    random.shuffle(shuffled)
    nested = compose(
        [compose(shuffled[::2] or shuffled), *([compose(shuffled[1::2])] if shuffled[1::2] else [])]
    )
    one, two = compose(releases).epsilon(delta), nested.epsilon(delta)
    if len(shuffled) > 1:
        assert (one.high is None) == (two.high is None)
        if one.high is not None:
            assert one.low <= two.high
            assert two.low <= one.high


@settings(max_examples=25, deadline=None)
@given(RELEASES, GUARANTEES, DELTAS)
def test_more_releases_never_cost_less(releases, extra, delta):
    before, after = compose(releases).epsilon(delta), compose([*releases, extra]).epsilon(delta)
    if after.high is not None:
        assert before.high is not None
        assert before.low <= after.high


@given(RELEASES, DELTAS)
def test_epsilon_and_delta_are_inverse_within_their_bounds(releases, delta):
    whole = compose(releases)
    bounds = whole.epsilon(delta)
    if bounds.high is None:
        return
    assert whole.delta(bounds.high).low <= delta
    if bounds.low > 0:
        assert whole.delta(bounds.low).high >= delta
    for at in (Fraction(1, 2), Fraction(3)):
        found = whole.delta(at)
        if 0 < found.high < 1:
            back = whole.epsilon(found.high)
            assert back.low <= at


@settings(max_examples=20, deadline=None)
@given(RELEASES, st.integers(1, 3), DELTAS)
def test_groups_cost_at_least_as_much_as_one_unit(releases, size, delta):
    if any(isinstance(guarantee, Concentrated) and guarantee.slack for guarantee, _ in releases):
        return
    whole = compose(releases)
    alone, together = whole.epsilon(delta), whole.group(size).epsilon(delta)
    if together.high is not None:
        assert alone.low <= together.high


@settings(max_examples=20, deadline=None)
@given(RELEASES, st.sampled_from([Fraction(1, 10**3), SIX]))
def test_every_route_lies_above_what_is_attained(releases, delta):
    explanation = compose(releases).explain(delta)
    for line in explanation.lines:
        if line.epsilon is not None:
            assert line.epsilon >= explanation.bounds.low
    assert "loss distribution" in str(explanation)


@pytest.mark.parametrize("odd", [[], [Pure(Fraction(1, 7))]], ids=["finite", "with a pure release"])
def test_small_tables_compose_as_their_products_enumerate(odd):
    """Two different finite laws, five releases, every combination of outcomes multiplied out in rationals."""
    first = AtomsLoss.of([("0.6", "0.1"), ("0.3", "0.3"), ("0.1", "0.6")])
    second = AtomsLoss.of([("0.01", 0), ("0.54", "0.45"), ("0.45", "0.54"), (0, "0.01")])
    whole = compose([(Profile(first), 3), (Profile(second), 2), *odd])
    chance = 1 / (1 + mp.exp(-mpf(1) / 7)) if odd else mpf(1)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(2), Fraction(5), Fraction(6)):
        x, exact = mp.exp(_mpf(epsilon)), mpf(0)
        for combination in product(first.atoms, first.atoms, first.atoms, second.atoms, second.atoms):
            p, q = Fraction(1), Fraction(1)
            for a, b in combination:
                p, q = p * a, q * b
            exact += max(_mpf(p) * chance - x * _mpf(q) * (1 - chance if odd else 1), mpf(0))
            exact += max(_mpf(p) * (1 - chance) - x * _mpf(q) * chance, mpf(0))
        bounds = whole.delta(epsilon)
        assert _mpf(bounds.low) - mpf(10) ** -50 <= exact <= _mpf(bounds.high) + mpf(10) ** -50
        assert bounds.high - bounds.low <= Fraction(1, 10**6)


def test_slacks_combine_exactly():
    whole = compose([(Approximate(Fraction(1, 10), Fraction(1, 1000)), 3)])
    spent = 1 - Fraction(999, 1000) ** 3
    assert whole.delta(Fraction(3, 10)).low <= spent <= whole.delta(Fraction(3, 10)).high
    assert whole.epsilon(spent * Fraction(99, 100)).high is None
    assert whole.epsilon(spent * Fraction(101, 100)).high is not None


def test_pure_releases_add_up_at_delta_zero():
    assert compose([Pure("0.25"), (Pure("0.5"), 3)]).epsilon().high == Fraction(7, 4)
    assert compose([Pure(1), gaussian(1)]).epsilon().high is None
    bounds = compose([(laplace("0.1"), 10)]).epsilon()
    assert (bounds.high, bounds.route, bounds.adaptive) == (1, "basic", FULLY)


def test_explanations_put_the_documents_theorem_beside_the_others():
    lines = {line.route: line for line in compose([(Pure("0.1"), 1000)]).explain("1e-6").lines}
    expected = {"basic": 100, "lecture": 27.14, "advanced": 21.62, "concentrated": 20.54, "optimal": 19.3447}
    for name, epsilon in expected.items():
        assert float(lines[name].epsilon) == pytest.approx(epsilon, rel=4e-4)
    assert lines["optimal"].adaptive == lines["loss distribution"].adaptive == FIXED
    assert lines["advanced"].adaptive == lines["concentrated"].adaptive == FULLY


def test_bounded_range_releases_take_the_smaller_of_two_theorems():
    lines = {
        line.route: line.epsilon
        for line in compose([(Profile(BoundedRangeLoss(Fraction(1, 10))), 1000)]).explain(SIX).lines
    }
    few = {
        line.route: line.epsilon
        for line in compose([(Profile(BoundedRangeLoss(Fraction(1))), 3)]).explain(SIX).lines
    }
    assert lines["concentrated"] < lines["loss distribution"] < lines["optimal"]
    assert few["loss distribution"] < few["concentrated"]


def test_prices_are_the_sums_that_a_filter_charges():
    whole = compose([(laplace(1), 2), (Pure(1), 3), Approximate(1, "1e-9")])
    price = whole.price()
    assert price.epsilon == 6
    assert price.delta == Fraction(1, 10**9)
    assert price.rho < Cost.pure(1).rho * 6
    assert compose([gaussian(2)]).price() == Cost(None, Fraction(1, 8))


class _Noise:
    """A mechanism reduced to what composition needs."""

    def guarantee(self, sensitivity=1):
        return Pure(Fraction(sensitivity, 10))


class _Smooth(_Noise):
    """A mechanism that knows its whole law."""

    def profile(self, sensitivity=1):
        return laplace(Fraction(sensitivity, 10))


def test_mechanisms_compose_at_sensitivity_one_and_by_their_law_if_they_know_it():
    assert compose([_Noise(), (_Noise(), 9)]).epsilon().high == 1
    assert compose([(_Smooth(), 10)]) == compose([(laplace("0.1"), 10)])
    assert compose([(_Smooth(), 10)]).epsilon(SIX).high < compose([(_Noise(), 10)]).epsilon(SIX).high


@pytest.mark.parametrize(
    "ask",
    [
        lambda: compose([]),
        lambda: compose([(Pure(1), 0)]),
        lambda: compose([(Pure(1), -2)]),
        lambda: compose([(Pure(1), 1.5)]),
        lambda: compose([1.0]),
        lambda: compose([Pure(1), Pure(1)]).epsilon(1),
        lambda: compose([Pure(1), Pure(1)]).epsilon("-1e-9"),
        lambda: compose([Pure(1), Pure(1)]).delta(-1),
        lambda: compose([Pure(1), Pure(1)]).explain(2),
    ],
)
def test_meaningless_questions_are_refused(ask):
    with pytest.raises(ParameterError):
        ask()
