"""Sampled releases against computations that share nothing with them: rationals, quadratures, transforms."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import mp, mpf

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy.compose import Composition, compose
from discreet.privacy.direction import WAYS, orders, summand
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import (
    AtomsLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    MeshLoss,
    ResponseLoss,
    SampledLoss,
)
from discreet.privacy.mesh import Sampling, dominating
from discreet.privacy.steep import SteepGaussian, SteepLaplace


def _around(epsilon):
    """Return rationals around exp(epsilon)."""
    with mp.workdps(40):
        middle = mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
        near = Fraction(int(mp.floor(middle * 10**30)), 10**30)
    return near - Fraction(1, 10**29), near + Fraction(1, 10**29)


def _enumerated(pairs, x):
    """Return sup P(E) - x Q(E) of independent releases by going through all of their outcomes."""
    total = Fraction(0)
    for outcome in product(*pairs):
        p = q = Fraction(1)
        for a, b in outcome:
            p, q = p * a, q * b
        total += max(p - x * q, Fraction(0))
    return total


def _mixtures(atoms, rate):
    """Return the pairs of a sampled finite mechanism: everybody's sample with one unit more, and without."""
    removed = [(rate * p + (1 - rate) * q, q) for p, q in atoms]
    return removed, [(q, p) for p, q in removed]


def _random_finite(rng):
    """Return a symmetric finite law and its atoms."""
    if rng.random() < 0.5:
        odds = 1 + Fraction(rng.randint(1, 40), 10)
        truth = odds / (1 + odds)
        return GeometricLoss(1 / odds, 1), ((truth, 1 - truth), (1 - truth, truth))
    weights = [Fraction(rng.randint(1, 30)) for _ in range(rng.randint(1, 2))]
    others = [Fraction(rng.randint(1, 30)) for _ in weights]
    whole = sum(weights) + sum(others) + 7
    atoms = [(a / whole, b / whole) for a, b in zip(weights, others, strict=True)]
    atoms += [(b, a) for a, b in atoms] + [(Fraction(7) / whole, Fraction(7) / whole)]
    return AtomsLoss(tuple(atoms)), tuple(atoms)


def _finite_case(rng):
    parts, removed, added = [], [], []
    for _ in range(rng.randint(2, 4)):
        law, atoms = _random_finite(rng)
        rate = Fraction(rng.randint(1, 99), 100)
        parts.append((dp.sampled(Profile(law), rate), 1))
        one, two = _mixtures(atoms, rate)
        removed.append(one)
        added.append(two)
    epsilon = Fraction(rng.randint(0, 150), 100)
    low, high = _around(epsilon)
    least = max(_enumerated(removed, high), _enumerated(added, high))
    most = max(_enumerated(removed, low), _enumerated(added, low))
    found = compose(parts).delta(epsilon)
    assert found.low <= most
    assert least <= found.high
    assert found.high - found.low <= max(found.high, Fraction(1, 10**12)) / 10**5


@pytest.mark.parametrize("seed", range(12))
def test_sampled_finite_mechanisms_are_what_enumeration_says(seed):
    _finite_case(random.Random(seed))


def test_adding_a_unit_may_be_worse_than_removing_one():
    """Two sampled responses at a large delta; all is multiplied out in rationals."""
    alpha, rate, delta = Fraction(57, 100), Fraction(11, 100), Fraction(2, 100)
    truth = 1 / (1 + alpha)
    pair = ((truth, 1 - truth), (1 - truth, truth))
    removed = [(rate * p + (1 - rate) * q, q) for p, q in pair]
    added = [(q, p) for p, q in removed]
    step = dp.sampled(Profile(GeometricLoss(alpha, 1)), rate)
    found = compose([(step, 2)]).epsilon(delta)
    assert _enumerated([added] * 2, _around(found.low)[1]) >= delta * (1 - Fraction(1, 10**9))
    assert _enumerated([added] * 2, _around(found.high)[0]) <= delta * (1 + Fraction(1, 10**9))
    assert _enumerated([removed] * 2, _around(found.low)[0]) < delta * Fraction(99, 100)
    there = compose([(step, 2)]).delta(found.high)
    assert float(there.high) == pytest.approx(float(delta), rel=1e-9)


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(20))
def test_many_sampled_finite_mechanisms_are_what_enumeration_says(block):
    for seed in range(15):
        _finite_case(random.Random(1000 + 15 * block + seed))


def _quadrature(law, rate, way, count=600):
    """Return nodes of the loss of a sampled release and their weights under its first law, by Gauss' rule."""
    x, w = np.polynomial.legendre.leggauss(count)
    r = float(rate)
    if isinstance(law, GaussianLoss):
        mu = float(law.mu_squared) ** 0.5
        z = 12 * x + mu / 2 * 1.0
        low = np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * w * 12
        level = mu * z - mu * mu / 2
        p, q = low * np.exp(level), low
    else:
        c = float(law.ratio)
        level = c * x
        q = np.exp(-(level + c) / 2) / 4 * w * c
        p = q * np.exp(level)
        ends = np.array([-c, c])
        level = np.append(level, ends)
        p = np.append(p, [np.exp(-c) / 2, 0.5])
        q = np.append(q, [0.5, np.exp(-c) / 2])
    mixed = np.log1p(r * np.expm1(level))
    return (mixed, r * p + (1 - r) * q) if way == "remove" else (-mixed, q)


def _transformed(parts, way, epsilon):
    """Return delta by inverting the characteristic function of the whole along a line, in plain floats."""
    laws = [(*_quadrature(law, rate, way), n) for law, rate, n in parts]

    def log_moment(s):
        return sum(n * np.log((w * np.exp(s * loss)).sum()) for loss, w, n in laws)

    tilts = np.linspace(0.2, 40, 400)
    heights = [log_moment(t) - t * epsilon - np.log(t * (t + 1)) for t in tilts]
    theta = tilts[int(np.argmin(heights))]
    spread = np.sqrt((log_moment(theta + 1e-3) - 2 * log_moment(theta) + log_moment(theta - 1e-3)) / 1e-6)
    # The sum over multiples of a step is the integral, up to what lies 2 pi / step away.
    step = 2 * np.pi / (40 * spread + 10 / theta + 4 * epsilon)
    s = theta + 1j * step * np.arange(int(12 / spread / step) + 1)
    size = -s * epsilon
    for loss, w, n in laws:
        size = size + n * np.log(np.exp(np.outer(s, loss)) @ w)
    terms = (np.exp(size) / (s * (s + 1))).real
    assert abs(terms[-1]) < 1e-13 * terms[0]
    return (terms.sum() - terms[0] / 2) * step / np.pi


TRAINED = {
    "training": ([(GaussianLoss(1 / Fraction(11, 10) ** 2), Fraction(1, 100), 3000)], Fraction(3)),
    "two kinds": (
        [
            (GaussianLoss(Fraction(1, 4)), Fraction(1, 10), 150),
            (GaussianLoss(Fraction(1)), Fraction(1, 50), 300),
        ],
        Fraction(2),
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_many_sampled_gaussians_are_what_a_plain_transform_says(name):
    parts, epsilon = TRAINED[name]
    found = compose([(Profile(SampledLoss(law, rate)), n) for law, rate, n in parts]).delta(epsilon)
    truth = max(_transformed(parts, way, float(epsilon)) for way in WAYS)
    assert float(found.low) * (1 - 1e-8) <= truth <= float(found.high) * (1 + 1e-8)
    assert found.width < Fraction(1, 10**4)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(40))
def test_random_sampled_gaussians_are_what_a_plain_transform_says(seed):
    rng = random.Random(seed)
    parts = [
        (
            GaussianLoss(Fraction(rng.randint(2, 40), 20) ** 2),
            Fraction(rng.randint(1, 30), 100),
            rng.randint(60, 400),
        )
        for _ in range(rng.randint(1, 2))
    ]
    epsilon = Fraction(rng.randint(5, 60), 10)
    found = compose([(Profile(SampledLoss(law, rate)), n) for law, rate, n in parts]).delta(epsilon)
    truth = max(_transformed(parts, way, float(epsilon)) for way in WAYS)
    if truth > 1e-30:
        assert float(found.low) * (1 - 1e-7) <= truth <= float(found.high) * (1 + 1e-7)


def _height(law, y):
    """Return the hockey-stick curve of a base at y, from its definition, in 60 digits."""
    if y <= 0:
        return 1 - y
    if isinstance(law, GaussianLoss):
        mu = mp.sqrt(mpf(law.mu_squared.numerator) / law.mu_squared.denominator)
        z = mp.log(y) / mu + mu / 2
        return mp.ncdf(mu - z) - y * mp.ncdf(-z)
    c = mpf(law.ratio.numerator) / law.ratio.denominator
    level = mp.log(y)
    if level >= c:
        return mpf(0)
    return 1 - mp.exp((level - c) / 2) if level > -c else 1 - y


def _sampled_height(law, rate, way, x):
    r = mpf(rate.numerator) / rate.denominator
    if way == "remove":
        return r * _height(law, (x - 1 + r) / r)
    scale = 1 - x * (1 - r)
    return scale * _height(law, x * r / scale) if scale > 0 else mpf(0)


def _pair(law, rate, epsilon, other, other_rate, way):
    """Return delta of two sampled releases: the curve of one, averaged over the outcomes of the other."""
    r = mpf(rate.numerator) / rate.denominator
    mu = mp.sqrt(mpf(law.mu_squared.numerator) / law.mu_squared.denominator)

    def inside(z):
        q = mp.npdf(z)
        mixed = q * (1 - r + r * mp.exp(mu * z - mu * mu / 2))
        p, q = (mixed, q) if way == "remove" else (q, mixed)
        return p * _sampled_height(other, other_rate, way, mp.exp(epsilon) * q / p)

    # The curve bends sharply where the other's smallest loss (removing) or largest one (adding) is met.
    s = mpf(other_rate.numerator) / other_rate.denominator
    odds = (mp.exp(epsilon if way == "remove" else -epsilon) / (1 - s) - 1 + r) / r
    bend = [mp.log(odds) / mu + mu / 2] if odds > 0 else []
    near = [place + step for place in bend for step in (-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1)]
    with mp.workdps(20):
        return mp.quad(inside, sorted([*range(-12, 16, 3), *(z for z in near if -12 < z < 15)]), maxdegree=6)


def _two_case(rng, tries=1):
    for _ in range(tries):
        law = GaussianLoss(Fraction(rng.randint(4, 30), 10) ** 2)
        other = GaussianLoss(Fraction(rng.randint(4, 30), 10) ** 2)
        rates = [Fraction(rng.randint(1, 60), 100) for _ in range(2)]
        epsilon = Fraction(rng.randint(1, 30), 10)
        whole = compose([Profile(SampledLoss(law, rates[0])), Profile(SampledLoss(other, rates[1]))])
        found = whole.delta(epsilon)
        at = mpf(epsilon.numerator) / epsilon.denominator
        truth = max(_pair(law, rates[0], at, other, rates[1], way) for way in WAYS)
        assert mpf(found.low.numerator) / found.low.denominator <= truth * (1 + mpf(10) ** -12)
        assert truth * (1 - mpf(10) ** -12) <= mpf(found.high.numerator) / found.high.denominator
        assert found.width < Fraction(1, 10**4)


@pytest.mark.parametrize("seed", [1])
def test_two_sampled_gaussians_are_what_a_quadrature_says(seed):
    _two_case(random.Random(seed))


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_many_pairs_of_sampled_gaussians_are_what_a_quadrature_says(seed):
    _two_case(random.Random(100 + seed))


LAWS = {
    "gaussian": GaussianLoss(Fraction(1)),
    "sharp gaussian": GaussianLoss(Fraction(9)),
    "faint gaussian": GaussianLoss(Fraction(1, 400)),
    "laplace": LaplaceLoss(Fraction(1, 2)),
    "sharp laplace": LaplaceLoss(Fraction(4)),
}


def _mesh_height(mesh, x):
    losses = float(mesh.top) - np.arange(len(mesh.weights)) * float(mesh.step)
    inside = mesh.weights * np.maximum(-np.expm1(np.log(x) - losses), 0.0)
    return float(mesh.slack) + (1 - float(mesh.slack)) * float(inside.sum())


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2)])
@pytest.mark.parametrize("name", LAWS)
def test_a_mesh_lies_above_or_below_the_true_curve_between_its_corners_too(name, rate):
    law, rng = SampledLoss(LAWS[name], rate), random.Random(5)
    for above, below in orders([(law, 7), (law, 1)], Fraction(1, 10**6), 2**10):
        high, low = summand(law, above), summand(law, below)
        assert isinstance(high, MeshLoss)
        assert isinstance(low, MeshLoss)
        bottom = float(high.top) - len(high.weights) * float(high.step)
        for _ in range(25):
            loss = bottom + rng.random() * (float(high.top) - bottom) * rng.choice((1.0, 0.1))
            truth = float(_sampled_height(law.base, rate, above.way, mp.exp(mpf(loss))))
            assert _mesh_height(low, np.exp(loss)) <= truth * (1 + 1e-11) + 1e-200
            assert truth * (1 - 1e-11) <= _mesh_height(high, np.exp(loss)) + 1e-200


@pytest.mark.parametrize("deep", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_to_infinite_loss_is_not_counted_for_less(way, deep):
    """A mesh that looks at a few deviations only, so that its slack is large, as composition takes it."""
    law, rate = GaussianLoss(Fraction(1)), Fraction(1, 2)
    side = Sampling(SteepGaussian(1.0, deep), 0.5, way)
    low, high = side.ends()
    mesh = dominating(("shallow",), (side,), Fraction((high - low) / 4096), Fraction(0), Fraction(1))
    for loss in np.linspace(1.5 * low, high, 40):
        truth = float(_sampled_height(law, rate, way, mp.exp(mpf(float(loss)))))
        assert truth * (1 - 1e-11) <= _mesh_height(mesh, np.exp(loss))


@pytest.mark.parametrize("name", LAWS)
def test_one_sampled_release_is_its_theorem(name):
    for rate, epsilon in ((Fraction(1, 100), Fraction(1, 20)), (Fraction(1, 3), Fraction(1, 2))):
        one = dp.sampled(Profile(LAWS[name]), rate)
        found = one.delta(epsilon)
        x = mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
        both = [_sampled_height(LAWS[name], rate, way, x) for way in WAYS]
        assert both[0] >= both[1]
        assert abs(float(found.high) - float(both[0])) <= 1e-12 * float(both[0])
        back = one.epsilon(found.high)
        if found.high:
            assert back.low <= epsilon * (1 + Fraction(1, 10**12))
            assert back.high >= epsilon * (1 - Fraction(1, 10**12))


def test_laplace_answers_of_many_rounds_stay_tight():
    whole = compose([(dp.sampled(Profile(LaplaceLoss(Fraction(1, 2))), "0.05"), 100)])
    bounds = whole.epsilon("1e-5")
    assert bounds.width < Fraction(1, 10**7)
    assert Fraction("0.8840") < bounds.low < bounds.high < Fraction("0.8842")


def test_replacement_lies_above_both_orders_and_below_twice_nothing():
    law = GaussianLoss(Fraction(1))
    removed = compose([(dp.sampled(Profile(law), "0.05"), 50)]).epsilon("1e-6")
    replaced = compose([(dp.sampled(Profile(law), "0.05", adjacency="replace"), 50)]).epsilon("1e-6")
    unsampled = compose([(Profile(law), 50)]).epsilon("1e-6")
    assert removed.high <= replaced.high * (1 + Fraction(1, 10**5))
    assert replaced.low >= removed.low * (1 - Fraction(1, 10**5))
    assert replaced.high < unsampled.low


def test_replacement_of_finite_laws_covers_the_pairs_of_drawing_without_replacement():
    """m of n people answer a yes/no question by lot: all outcomes are enumerated for a replaced person."""
    odds, n, m = Fraction(3), 4, 2
    truth = odds / (1 + odds)
    others = (1, 0, 0)

    def law(person):
        """Return the probabilities of the number of yes reports."""
        from itertools import combinations

        people, out = (person, *others), [Fraction(0)] * (m + 1)
        drawn = list(combinations(range(n), m))
        for sample in drawn:
            for reports in product((0, 1), repeat=m):
                chance = Fraction(1)
                for place, report in zip(sample, reports, strict=True):
                    chance *= truth if report == people[place] else 1 - truth
                out[sum(reports)] += chance / len(drawn)
        return out

    promise = dp.sampled(
        Pure(dp.RandomizedResponse(odds).guarantee().cost), Fraction(m, n), adjacency="replace"
    )
    for one, two in ((1, 0), (0, 1)):
        p, q = law(one), law(two)
        for epsilon in (Fraction(0), Fraction(1, 5), Fraction(1, 2)):
            x = _around(epsilon)[0] if epsilon else Fraction(1)
            excess = sum((max(a - x * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
            assert excess <= promise.delta(epsilon).high + Fraction(1, 10**20)


@pytest.mark.parametrize(
    "law",
    [
        BoundedRangeLoss(Fraction(1)),
        DiscreteGaussianLoss(Fraction(9), 2),
        GeometricLoss(Fraction(99, 100), 100),
        ResponseLoss(Fraction(1, 2), Fraction(1, 10**7)),
    ],
)
def test_every_law_composes_sampled_and_with_others(law):
    sampled = dp.sampled(Profile(law), "0.1")
    bounds = compose([(sampled, 20), (Pure(Fraction(1, 10)), 2)]).epsilon("1e-5")
    unsampled = compose([(Profile(law), 20), (Pure(Fraction(1, 10)), 2)]).epsilon("1e-5")
    assert Fraction(1, 20) < bounds.low <= bounds.high < unsampled.high
    rounds = compose([(sampled, 20)])
    at = rounds.epsilon("1e-5").high
    assert rounds.delta(at).low <= Fraction(1, 10**5) * (1 + Fraction(1, 10**6))


def test_basic_composition_holds_at_delta_zero():
    sampled = dp.sampled(Pure(1), "0.1")
    found = compose([(sampled, 3)]).epsilon()
    top = 3 * np.log1p(0.1 * np.expm1(1.0))
    assert abs(float(found.high) - top) < 1e-12
    assert found.low > Fraction(99, 100) * found.high
    assert compose([(dp.sampled(Profile(GaussianLoss(Fraction(1))), "0.1"), 2)]).epsilon().high is None


def test_concentrated_parts_are_added_to_sampled_ones():
    sampled = dp.sampled(Profile(GaussianLoss(Fraction(1))), "0.05")
    alone = compose([(sampled, 20)]).epsilon("1e-6")
    both = compose([(sampled, 20), Concentrated(Fraction(1, 100))]).epsilon("1e-6")
    assert both.high > alone.high
    assert both.low >= alone.low


def test_the_peer_agrees_on_training():
    from dp_accounting.pld import privacy_loss_distribution as peer

    theirs = peer.from_gaussian_mechanism(1.1, sampling_prob=0.01).self_compose(10_000)
    ours = compose([(dp.sampled(Profile(GaussianLoss(1 / Fraction(11, 10) ** 2)), "0.01"), 10_000)])
    bounds = ours.epsilon("1e-5")
    assert bounds.width < Fraction(1, 10**5)
    # Theirs rounds up on a grid; what it rounds up is never below what is proved from below.
    assert float(bounds.low) <= theirs.get_epsilon_for_delta(1e-5) <= float(bounds.high) * (1 + 1e-4)
    assert abs(float(bounds.high) - 5.19258) < 1e-4


def test_the_noise_for_training_is_enough_and_hardly_more_than_that():
    noise = dp.noise_for(steps=500, rate="0.02", epsilon=2, delta="1e-6")

    def spent(sigma):
        return compose([(dp.sampled(Profile(GaussianLoss(1 / sigma**2)), "0.02"), 500)]).delta(2)

    assert spent(noise).high <= Fraction(1, 10**6)
    assert spent(noise * (1 - Fraction(1, 2**15))).low > Fraction(1, 10**6)


def test_noise_without_sampling_is_the_gaussian_one():
    noise = dp.noise_for(steps=10, rate=1, epsilon=1, delta="1e-6")
    exact = dp.least_noise(lambda variance: Profile(GaussianLoss(1 / variance)), 10, 1, "1e-6")
    assert exact <= noise**2 <= exact * (1 + Fraction(1, 2**14))


def test_sampling_twice_multiplies_the_rates():
    law = Profile(LaplaceLoss(Fraction(1)))
    assert dp.sampled(dp.sampled(law, "0.5"), "0.2") == dp.sampled(law, "0.1")
    assert dp.sampled(law, 1) == law


def test_mechanisms_are_sampled_as_they_are():
    noise = dp.Geometric.calibrate(epsilon=1, sensitivity=1)
    assert dp.sampled(noise, "0.1").epsilon().high < Fraction(1, 5)


@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (lambda: dp.sampled(Pure(1), 0), "rate"),
        (lambda: dp.sampled(Pure(1), "1.5"), "rate"),
        (lambda: dp.sampled(Concentrated(1), "0.5"), "profile"),
        (lambda: dp.sampled(Pure(1), "0.5", adjacency="near"), "adjacency"),
        (lambda: dp.sampled(dp.sampled(Pure(1), "0.5"), "0.5", adjacency="replace"), "same"),
        (lambda: dp.sampled(compose([(Pure(1), 10**6)]), "0.5"), "sample each"),
        (lambda: dp.noise_for(0, "0.1", 1, "1e-6"), "steps"),
        (lambda: dp.noise_for(10, 2, 1, "1e-6"), "rate"),
        (lambda: dp.noise_for(10, "0.1", 1, 0), "delta"),
        (lambda: compose([(dp.sampled(Pure(1), "0.5"), 3)]).group(2), "group"),
        (lambda: dp.renyi(dp.sampled(Pure(1), "0.5"), 2), "sampled"),
    ],
)
def test_what_has_no_meaning_is_refused_with_a_word_that_helps(ask, word):
    with pytest.raises(ParameterError, match=word):
        ask()


def test_explanations_show_every_route_of_a_sampled_composition():
    lines = {
        line.route: line.epsilon for line in compose([(dp.sampled(Pure(1), "0.1"), 50)]).explain("1e-6").lines
    }
    assert lines["loss distribution"] < lines["concentrated"] < lines["basic"]


def test_slacks_of_samples_shrink_with_the_rate():
    sampled = dp.sampled(Approximate(Fraction(1), Fraction(1, 1000)), "0.1")
    assert sampled.law.slack == Fraction(1, 10_000)
    assert compose([(sampled, 2)]).epsilon("1e-5").high is None
    assert isinstance(compose([(sampled, 2)]), Composition)


def test_promises_about_other_neighbours_are_not_mixed():
    removed, replaced = dp.sampled(Pure(1), "0.1"), dp.sampled(Pure(1), "0.1", adjacency="replace")
    with pytest.raises(ParameterError, match="neighbours"):
        compose([removed, replaced])
    with pytest.raises(ParameterError, match="neighbours"):
        compose([compose([(removed, 2)]), Pure(1), compose([(replaced, 3)])])
    for part, neighbours in ((removed, "replace"), (replaced, "add-remove")):
        with pytest.raises(ParameterError, match="sampled under"):
            dp.parallel([part, Pure(1)], neighbours, "by index")
    with pytest.raises(ParameterError, match="by index"):
        dp.parallel([replaced, replaced], "replace", "by value")
    with pytest.raises(ParameterError, match="add-remove"):
        dp.shuffled(removed, 100)
    assert dp.parallel([replaced, replaced], "replace", "by index") == replaced
    assert dp.parallel([removed, removed], "add-remove", "by value") == removed


def _excess(p, q, x):
    return sum((max(p.get(key, 0) - x * q.get(key, 0), Fraction(0)) for key in {*p, *q}), Fraction(0))


def _about_lots(base, rate, person):
    """Return the law of a release about a sample that the one person enters by lot."""
    law = {key: rate * chance for key, chance in base((person,)).items()}
    for key, chance in base(()).items():
        law[key] = law.get(key, Fraction(0)) + (1 - rate) * chance
    return law


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(9, 10)])
def test_lots_of_their_own_need_a_base_that_covers_removing_as_well(rate):
    """A report that tells whether anybody was drawn is about replacing alone, and lots add nothing to it."""
    odds = Fraction(3)
    true, false = odds / (1 + odds), 1 / (1 + odds)
    reports = {(1,): {1: true, 0: false}, (0,): {1: false, 0: true}}
    told = {**reports, (): {None: Fraction(1)}}
    covered = {**reports, (): {1: Fraction(1, 2), 0: Fraction(1, 2)}}
    promise = dp.sampled(Pure(dp.RandomizedResponse(odds).guarantee().cost), rate, adjacency="replace")
    x = _around(promise.epsilon().high)[1]
    broken = [_about_lots(told.__getitem__, rate, person) for person in (1, 0)]
    assert _excess(*broken, x) > 0
    assert _excess(*broken, odds) == 0
    kept = [_about_lots(covered.__getitem__, rate, person) for person in (1, 0)]
    assert _excess(*kept, x) == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_smaller_rate_loses_less_in_either_order(seed):
    rng = random.Random(seed)
    _, atoms = _random_finite(rng)
    rates = sorted(Fraction(rng.randint(1, 99), 100) for _ in range(2))
    for x in (Fraction(rng.randint(1, 40), 20) for _ in range(10)):
        for one, two in zip(*(_mixtures(atoms, rate) for rate in rates), strict=True):
            assert _enumerated([one, one], x) <= _enumerated([two, two], x)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("law", [GaussianLoss(Fraction(1)), LaplaceLoss(Fraction(3))])
def test_tiny_rates_are_not_taken_for_none(law, adjacency):
    """At least what one release loses, and no more than one at the smallest rate that has a mesh."""
    tiny, least = (dp.sampled(Profile(law), rate, adjacency=adjacency) for rate in ("1e-9", "1/16777216"))
    found, known = compose([(tiny, 50)]), compose([(least, 50)])
    assert tiny.epsilon("1e-12").low <= found.epsilon("1e-12").high <= known.epsilon("1e-12").high
    assert known.epsilon("1e-12").high < Fraction(1, 10)
    assert tiny.delta("1e-8").low <= found.delta("1e-8").high
    assert found.delta("1e-8").low <= 50 * tiny.delta(0).high


@pytest.mark.parametrize("way", WAYS)
def test_weights_that_are_a_bad_guess_are_corrected_by_the_comparison(way, monkeypatch):
    from discreet.privacy import mesh
    from discreet.privacy.steep import SteepGaussian

    law, rate, step = GaussianLoss(Fraction(1)), Fraction(1, 10), Fraction(1, 100)
    side = mesh.Sampling(SteepGaussian(1.0, 8.0), 0.1, way)
    split, moved = mesh._split, mesh._moved
    monkeypatch.setattr(mesh, "_split", lambda *given: np.roll(split(*given), -3))
    monkeypatch.setattr(mesh, "_moved", lambda *given: np.roll(moved(*given), 3))
    high = mesh.dominating(("guess",), (side,), step, Fraction(0), Fraction(1))
    low = mesh.dominated(("guess",), side, step, Fraction(0), Fraction(1))
    for loss in np.linspace(-0.9, 0.9, 37):
        truth = float(_sampled_height(law, rate, way, mp.exp(mpf(float(loss)))))
        assert _mesh_height(low, np.exp(loss)) <= truth * (1 + 1e-11) + 1e-200
        assert truth * (1 - 1e-11) <= _mesh_height(high, np.exp(loss)) + 1e-200


@pytest.mark.parametrize("way", WAYS)
def test_the_error_of_a_curve_covers_the_rounding_of_where_it_is_looked_at(way):
    """Corners counted from a large loss are rounded by parts of that, which is much near zero."""
    law, rate = LaplaceLoss(Fraction(17)), Fraction(1, 2**24)
    side = Sampling(SteepLaplace(17.0), float(rate), way)
    low, high = side.ends()
    offset, step = side.top(), Fraction(high - low) / 4099
    numbers = np.array([n for n in range(-4099, 1) if abs(offset + n * step) < Fraction(1, 50)])
    with mp.workdps(50):
        assert _sampled_height(law, rate, way, mp.exp(mpf(offset.numerator) / offset.denominator)) == 0
    found, slips = side.curve(float(offset) + numbers * float(step))
    for n, height, slip in zip(numbers, found, slips, strict=True):
        place = offset + int(n) * step
        with mp.workdps(50):
            truth = _sampled_height(law, rate, way, mp.exp(mpf(place.numerator) / place.denominator))
            assert abs(truth - mpf(float(height))) <= slip


@pytest.mark.parametrize(("cost", "rate", "slack"), [("2", "1/4", "0"), ("3", "1/10", "1/1000")])
def test_replaced_units_lose_at_least_what_three_answers_tell(cost, rate, slack):
    """Three releases: what is said from below is attained by one of three mechanisms, gone through whole."""
    odds, q, s = float(np.exp(float(cost))), float(Fraction(rate)), float(Fraction(slack))
    true, false = (1 - s) * odds / (odds + 2), (1 - s) / (odds + 2)
    # Outcomes: three categories, then each category told by itself.
    first, second, third = (
        np.array([true if j == i else false for j in range(3)] + [s if j == i else 0.0 for j in range(3)])
        for i in range(3)
    )
    three = list(zip(q * first + (1 - q) * third, q * second + (1 - q) * third, strict=True))
    yes, no = (1 - s) * odds / (odds + 1), (1 - s) / (odds + 1)
    removed = [(q * a + (1 - q) * b, b) for a, b in ((yes, no), (no, yes), (s, 0.0), (0.0, s))]
    added = [(b, a) for a, b in removed]
    part = dp.sampled(Approximate(Fraction(cost), Fraction(slack)), rate, adjacency="replace")

    def attained(pair, x):
        outcomes = [(np.prod([a for a, _ in o]), np.prod([b for _, b in o])) for o in product(pair, repeat=3)]
        return sum(max(p - x * r, 0.0) for p, r in outcomes)

    for epsilon in ("0", "0.7", "2"):
        x, found = np.exp(float(epsilon)), compose([(part, 3)]).delta(epsilon)
        most = max(attained(pair, x) for pair in (three, removed, added))
        assert float(found.low) <= most * (1 + 1e-9) + 1e-15
        assert most <= float(found.high) * (1 + 1e-9) + 1e-15
        assert attained(three, x) <= float(found.low) * (1 + 1e-6) + 1e-12
