"""The lecture on utility: geometric noise, truncation, remaps and optimal mechanisms."""

from fractions import Fraction
from itertools import product
from math import exp, log, tanh

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.seeds.covered import covers

import discreet as dp
from discreet.privacy.sensitivity import count, mean
from discreet.utility import (
    Analyst,
    Gain,
    Graph,
    Loss,
    Prior,
    band,
    bayes_risk,
    best_remap,
    complete,
    cycle,
    exclusion,
    expected_gain,
    expected_loss,
    exponential_enclosure,
    geometric_enclosure,
    no_universal_mechanism,
    non_oblivious_utility,
    optimal,
    path,
    truncated_geometric,
    universality,
    utility,
)
from discreet.verify import worst_ratio

ADD_REMOVE, REPLACE = dp.Adjacency.ADD_REMOVE, dp.Adjacency.REPLACE
HALF = Fraction(1, 2)
N = 100
SPAN = range(N + 1)


def geometric_by_definition(n, epsilon):
    """Return the truncated geometric channel: each report outside [0, n] is moved to the nearer end."""
    a, reach = exp(-epsilon), int(60 / epsilon)
    channel = np.zeros((n + 1, n + 1))
    for y in range(n + 1):
        z = np.arange(y - reach, y + reach + 1)
        np.add.at(channel[y], np.clip(z, 0, n), (1 - a) / (1 + a) * a ** np.abs(z - y))
    return channel


# Noise.


@covers("004-D1", "004-W1")
def test_laplacian_densities_at_ten_and_twenty_and_their_ratio():
    noise = dp.Laplace.calibrate(epsilon=1, sensitivity=10)
    assert noise.density(0) == pytest.approx(1 / (2 * 10), rel=1e-5)  # c = epsilon / (2 Delta)

    def at(z):
        return noise.density(z - 10), noise.density(z - 20)

    for z, values in ((10, (0.05, 0.01839)), (15, (0.03033, 0.03033)), (20, (0.01839, 0.05))):
        assert at(z) == pytest.approx(values, abs=5e-6)
    ratios = {z: at(z)[0] / at(z)[1] for z in (-5, 10, 12, 15, 18, 20, 31)}
    for z, ratio in ratios.items():
        exact = exp(1) if z <= 10 else exp(-1) if z >= 20 else exp((30 - 2 * z) / 10)
        assert ratio == pytest.approx(exact, rel=1e-5)
    # Outside the interval the ratio is e**epsilon one way or the other; inside it is smaller.
    assert all(exp(-1) < ratios[z] < exp(1) for z in (12, 15, 18))


@covers("004-S23")
def test_without_the_minus_sign_the_density_grows_without_bound():
    noise = dp.Laplace.calibrate(epsilon=1, sensitivity=10)
    for z in (10, 20, 110):
        assert noise.density(z - 10) == pytest.approx(exp(-abs(z - 10) / 10) / 20, rel=1e-4)
    as_printed = [exp(abs(z - 10) / 10) / 20 for z in (10, 20, 110, 1010)]
    assert as_printed == sorted(as_printed)
    assert as_printed[-1] > 1e40  # no density: its integral is infinite


@covers("004-W2", "004-S24")
def test_gaussian_noise_is_not_private_at_any_variance_but_approximately():
    """The log-ratio at a neighbour is linear in the output, so no epsilon bounds it."""
    for variance in (1, 100):
        noise = dp.Gaussian(Fraction(variance))
        losses = [log(noise.pmf(k).low / noise.pmf(k + 1).high) for k in (0, 20, 40)]
        assert losses == pytest.approx([(2 * k + 1) / (2 * variance) for k in (0, 20, 40)], rel=1e-6)
        assert noise.profile(1).epsilon(0).high is None
        assert noise.profile(1).epsilon("1e-6").high < 10

    # In the exponent, epsilon shapes the noise: exp(-epsilon k**2 / sigma) has variance sigma / (2 epsilon).
    # As a factor in front, as printed, it disappears when the weights are made to sum to 1.
    def law(weight):
        weights = [weight(k) for k in range(-60, 61)]
        return [w / sum(weights) for w in weights]

    inside = [law(lambda k, e=e: exp(-e * k * k / 8)) for e in (0.5, 2)]
    printed = [law(lambda k, e=e: exp(-k * k / 8) * e) for e in (0.5, 2)]
    assert printed[0] == pytest.approx(printed[1], rel=1e-12)
    for epsilon, values in zip((HALF, 2), inside, strict=True):
        noise = dp.Gaussian(Fraction(8) / (2 * epsilon))
        assert values[63] == pytest.approx(float(noise.pmf(3).high), rel=1e-9)
    assert inside[0][60] < inside[1][60]


@covers("004-W3")
def test_more_sensitivity_or_less_epsilon_make_the_noise_more_uniform():
    alphas = [dp.Geometric.calibrate(epsilon=1, sensitivity=s).alpha for s in (1, 2, 10)]
    assert alphas == sorted(alphas)
    alphas = [dp.Geometric.calibrate(epsilon=e).alpha for e in (2, 1, "0.1")]
    assert alphas == sorted(alphas)
    # The nearer alpha to 1, the flatter the law and the less useful the answer.
    worth = [utility(truncated_geometric(20, a), Prior.uniform(21), Gain.identity(range(21))) for a in alphas]
    assert worth[0].low > worth[1].low > worth[2].low


@covers("004-W4")
def test_the_sensitivity_of_the_average_age():
    assert mean(0, 120, 100, REPLACE).l1 == Fraction("1.2")
    assert mean(0, 120, 100, ADD_REMOVE).l1 == Fraction(120, 101)
    assert mean(0, 120, 1, REPLACE).l1 == 120
    assert mean(0, 120, 1, ADD_REMOVE).l1 == 60

    def brute(n, adjacency):
        moved = Fraction(0)
        for old in range(n + 1):  # n - old records of age 0, old of age 120
            average = Fraction(120 * old, n)
            near = (
                [Fraction(120 * (old + age), n + 1) for age in (0, 1)]
                if adjacency is ADD_REMOVE
                else [Fraction(120 * other, n) for other in (old - 1, old + 1) if 0 <= other <= n]
            )
            moved = max(moved, *(abs(average - other) for other in near))
        return moved

    for n in (1, 3, 100):
        for adjacency in (ADD_REMOVE, REPLACE):
            assert brute(n, adjacency) == mean(0, 120, n, adjacency).l1
    # No restriction at all: the average of nobody has to be invented, and wherever it is put in [0, 120],
    # one person of age 0 or 120 moves it by at least 60; put at 0, by 120.  So it is refused.
    assert min(max(invented, 120 - invented) for invented in range(121)) == 60
    with pytest.raises(dp.ParameterError, match="at least one record"):
        mean(0, 120, 0, ADD_REMOVE)


@covers("004-D2", "004-W5")
@pytest.mark.parametrize(("spread", "epsilon"), [(1, 1), (300, 1), (300, HALF)])
def test_the_geometric_mechanism_for_a_count_and_for_a_largest_weight(spread, epsilon):
    """How many diabetics weigh over 100 kg moves by 1; the largest weight by the whole range of weights."""
    assert count().l1 == 1
    noise = dp.Geometric.calibrate(epsilon=epsilon, sensitivity=spread)
    a = exp(-epsilon / spread)
    assert float(noise.alpha) == pytest.approx(a, rel=1e-12)
    for k in (0, 1, -5):
        assert float(noise.pmf(k)) == pytest.approx((1 - a) / (1 + a) * a ** abs(k), rel=1e-9)
    if (spread, epsilon) == (300, 1):
        assert a == pytest.approx(0.99667, abs=5e-6)
        assert float(noise.pmf(0)) == pytest.approx(0.0016667, abs=5e-8)


@covers("004-S27")
def test_the_normalisation_is_for_all_integers_only():
    noise = dp.Geometric(HALF)
    c = (1 - noise.alpha) / (1 + noise.alpha)
    weights = [noise.alpha ** abs(k) for k in range(-50, 51)]
    assert 1 - c * sum(weights) == 2 * noise.alpha**51 / (1 + noise.alpha)  # what the rest of the line holds
    inside = c * sum(noise.alpha ** abs(z - 3) for z in range(11))
    assert inside < 1  # on [0, 10] the same constant leaves mass over, which truncation moves to the ends
    assert sum(dp.TruncatedGeometric(HALF, 0, 10).pmf(z, 3) for z in range(11)) == 1
    # Optimality is about the graph of answers: a count's is a path, whatever the databases' is.
    graph = dp.Graph.of(range(4), [(sum(x), sum(x) + 1) for x in product((0, 1), repeat=3) if sum(x) < 3])
    assert graph == path(3)
    assert graph.is_path


# Truncation and post-processing.


@covers("004-D3", "004-W6")
def test_the_truncated_geometric_mechanism_on_zero_to_a_hundred():
    mechanism = dp.TruncatedGeometric.calibrate(epsilon=1, low=0, high=100)
    a = exp(-1)
    brute = geometric_by_definition(100, 1)
    for y in (0, 1, 40, 100):
        assert float(mechanism.pmf(0, y)) == pytest.approx(a**y / (1 + a), rel=1e-9)
        assert float(mechanism.pmf(100, y)) == pytest.approx(a ** (100 - y) / (1 + a), rel=1e-9)
        assert [float(mechanism.pmf(z, y)) for z in SPAN] == pytest.approx(brute[y].tolist(), rel=1e-9)
        assert sum(mechanism.pmf(z, y) for z in SPAN) == 1
    assert float(mechanism.pmf(0, 0)) == pytest.approx(0.73106, abs=5e-6)
    assert float(mechanism.pmf(40, 40)) == pytest.approx(0.46212, abs=5e-6)


@covers("004-T1", "004-T2")
def test_post_processing_does_not_harm_privacy_and_truncation_is_one():
    channel = truncated_geometric(6, HALF)
    noise = dp.Geometric(HALF)
    clamped = dp.Table.from_noise(noise, 0, 6)
    assert clamped.rows == channel.rows
    assert channel.ratio() == 2 == 1 / noise.alpha
    response = dp.Table.of([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 3), Fraction(2, 3)]])
    steps = [lambda z: z // 2, lambda z: z % 2, lambda z: 0, lambda z: -z]
    for step in steps:
        assert channel.then(step).ratio() <= channel.ratio()
    assert channel.then(lambda z: z % 2).then(response).ratio() < channel.ratio()
    # The privacy of the truncated mechanism is what it states: attained, so no smaller epsilon is true.
    mechanism = dp.TruncatedGeometric(HALF, 0, 6)
    assert float(mechanism.guarantee(1).cost) == pytest.approx(log(channel.ratio()))


# Utility.


@covers("004-D4", "004-D6", "004-D7", "004-S25")
def test_utility_averages_over_databases_and_maximises_over_remaps():
    """All remaps of a small mechanism, one by one, on databases of two bits whose sum is asked for."""
    databases = list(product((0, 1), repeat=2))
    prior = {"".join(map(str, x)): Fraction(w, 10) for x, w in zip(databases, (4, 3, 2, 1), strict=True)}
    answers = (0, 1, 2)
    channel, gain = truncated_geometric(2, Fraction(2, 3)), Gain.distance(answers)

    def query(database):
        return database.count("1")

    def at(database, remap):
        """Return the expected gain at one database: sum over z of p(z | f(x)) g(r(z), f(x))."""
        row = channel.pmf(query(database))
        return sum(p * gain.rows[remap[z]][query(database)] for z, p in row.items())

    remaps = [dict(zip(answers, guesses, strict=True)) for guesses in product(answers, repeat=3)]
    averages = [sum(weight * at(x, r) for x, weight in prior.items()) for r in remaps]
    induced = Prior.induced(prior, query, answers)
    assert utility(channel, induced, gain).high == max(averages)
    best = remaps[averages.index(max(averages))]
    assert expected_gain(channel, induced, gain, best) == max(averages)
    assert expected_gain(channel, induced, gain, best_remap(channel, induced, gain)) == max(averages)
    # As printed, "the maximum expected gain over all possible databases": that is another, larger number.
    assert max(at(x, r) for x in prior for r in remaps) > max(averages)
    # A mechanism that sees the database itself: the same number when it only uses the answer.
    whole = dp.Table.of([channel.row(query(x)) for x in prior], inputs=list(prior), outputs=answers)
    weights = Prior.of(list(prior.values()))
    assert non_oblivious_utility(whole, query, weights, gain, answers) == max(averages)


@covers("004-D5")
def test_gains_fall_with_distance():
    answers = range(8)
    for gain in (Gain.identity(answers), Gain.distance(answers)):
        for y, w, v in product(answers, repeat=3):
            if abs(w - y) <= abs(v - y):
                assert gain.rows[w][y] >= gain.rows[v][y]
        assert gain.loss().is_monotone()
    assert not Loss.circular(8).is_monotone()


@covers("004-D8")
def test_with_the_identity_gain_utility_is_the_chance_of_guessing_right():
    channel, prior = truncated_geometric(9, Fraction(3, 5)), Prior.binomial(9, "0.3")
    worth = utility(channel, prior, Gain.identity(range(10))).high
    assert worth == sum(max(prior.weights[y] * channel.rows[y][z] for y in range(10)) for z in range(10))
    assert worth == 1 - bayes_risk(channel, prior, Loss.zero_one(range(10))).high


@covers("004-D9", "004-S26")
def test_with_the_gain_d_minus_distance_utility_is_d_minus_the_expected_distance():
    channel, prior = truncated_geometric(9, Fraction(3, 5)), Prior.uniform(10)
    gain, loss = Gain.distance(range(10)), Loss.absolute(range(10))
    remap = best_remap(channel, prior, gain)
    distance = expected_loss(channel, prior, loss, remap)
    worth = utility(channel, prior, gain).high
    assert worth == 9 - distance
    assert worth != distance  # as printed
    # D bounds the distance between guesses and answers, so no gain is negative; with D = 0 all others are.
    assert min(min(row) for row in gain.rows) == 0
    assert max(max(row) for row in loss.gain().rows) == 0
    assert utility(channel, prior, loss.gain()).high == worth - 9


# Optimal mechanisms.


@covers("004-D10", "004-D11", "004-T3")
@pytest.mark.parametrize("loss", [Loss.absolute(range(8)), Loss.zero_one(range(8)), Loss.squared(range(8))])
def test_the_geometric_mechanism_is_optimal_for_a_count_whatever_the_prior(loss):
    priors = [Prior.uniform(8), Prior.binomial(7, "0.2"), Prior.proportional([9, 0, 0, 1, 5, 0, 2, 2])]
    for prior in priors:
        found = universality(path(7), prior, loss, ratio=3)
        assert found.best.gap == 0
        assert found.geometric == found.best.loss
        assert not found.refuted
        # Privacy does not depend on the prior, the loss does; and no cheaper privacy is hidden in it.
        assert found.best.channel.ratio() <= 3


@covers("004-D10")
def test_linear_optimisation_finds_the_same_optimum():
    """The linear program of the lecture, written out with variables p(w|y) and solved by another library."""
    from scipy.optimize import linprog

    size, ratio = 5, 2.5
    prior, loss = Prior.proportional([1, 2, 3, 2, 4]), Loss.absolute(range(size))
    cost = [float(prior.weights[y] * loss.rows[w][y]) for y in range(size) for w in range(size)]
    rows = []
    for y, z in [pair for i in range(size - 1) for pair in ((i, i + 1), (i + 1, i))]:
        for w in range(size):
            row = np.zeros(size * size)
            row[y * size + w], row[z * size + w] = 1, -ratio
            rows.append(row)
    sums = np.kron(np.eye(size), np.ones(size))
    solved = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(size))
    best = optimal(path(size - 1), prior, loss, ratio=Fraction(5, 2))
    assert best.gap == 0
    assert solved.fun == pytest.approx(float(best.loss), rel=1e-9)


@covers("004-T4")
@pytest.mark.parametrize(
    ("graph", "loss"),
    [
        (cycle(5), Loss.circular(5)),
        (complete(range(3)), Loss.absolute(range(3))),
        (band(5, 2), Loss.absolute(range(6))),
    ],
    ids=["cycle", "category", "sum"],
)
def test_other_query_graphs_have_analysts_whom_the_geometric_mechanism_does_not_serve_best(graph, loss):
    """A path is fine; here some prior is served strictly better by another mechanism."""
    size = len(graph)
    priors = [
        Prior.uniform(size),
        Prior.proportional(range(1, size + 1)),
        Prior.proportional([1] * 2 + [0] * (size - 2)),
    ]
    assert not graph.is_path
    assert any(universality(graph, prior, loss, ratio=2).refuted for prior in priors)


STAR = Graph.of(range(4), [(0, 1), (0, 2), (0, 3)])


def least(graph, ratio, cost):
    """Return min sum cost[w][y] p(w | y) over private channels, by another solver, in floating point."""
    size, guesses = len(graph), len(cost)
    rows, place = [], {(w, y): w * size + y for w in range(guesses) for y in range(size)}
    for a, b in [*graph.edges, *((b, a) for a, b in graph.edges)]:
        for w in range(guesses):
            row = np.zeros(len(place))
            row[place[w, a]], row[place[w, b]] = 1, -ratio
            rows.append(row)
    sums = np.tile(np.eye(size), guesses)
    found = linprog(np.array(cost, dtype=float).ravel(), rows, np.zeros(len(rows)), sums, np.ones(size))
    return found.fun


@covers("004-T4")
@pytest.mark.parametrize(
    ("graph", "loss"),
    [
        (cycle(5), Loss.circular(5)),
        (complete(range(3)), Loss.zero_one(range(3))),
        (band(4, 2), Loss.absolute(range(5))),
        (STAR, None),
    ],
    ids=["cycle", "category", "sum", "star"],
)
def test_no_mechanism_at_all_is_universally_optimal_on_other_graphs(graph, loss):
    """Two analysts with the same loss and different priors, whose best mechanisms exclude each other."""
    found = no_universal_mechanism(graph, loss, ratio=2)
    assert found is not None
    assert found.proved
    one, other = found.analysts
    assert one.loss == other.loss
    assert one.prior != other.prior
    # Independently: what each costs alone, and what a private pair of guesses costs both, in doubles.
    costs = [
        [[float(p * c) for p, c in zip(who.prior.weights, row, strict=True)] for row in who.loss.rows]
        for who in found.analysts
    ]
    alone = [least(graph, 2, cost) for cost in costs]
    pairs = [[a + b for a, b in zip(v, w, strict=True)] for v in costs[0] for w in costs[1]]
    assert [float(best.loss) for best in found.alone] == pytest.approx(alone)
    assert float(found.price) == pytest.approx(least(graph, 2, pairs) - sum(alone), abs=1e-7)
    assert found.price > Fraction(1, 1000)


@covers("004-T4", "004-T3")
def test_on_a_path_no_two_analysts_exclude_each_other():
    assert no_universal_mechanism(path(3), ratio=2) is None
    one = Analyst(Prior.proportional([5, 1, 1, 1]), Loss.absolute(range(4)))
    other = Analyst(Prior.proportional([1, 1, 1, 9]), Loss.zero_one(range(4)))
    both = exclusion(path(3), one, other, ratio=2)
    assert both.price == 0
    assert not both.proved


@covers("004-S28", "004-D11")
def test_universal_optimality_needs_a_loss_that_grows_with_distance_and_a_user_who_remaps():
    # A loss that is small far away, and a prior: the geometric mechanism with the best remap is beaten.
    odd = Loss.of([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert not odd.is_monotone()
    losses = [odd, Loss.of([[0, 3, 0], [1, 0, 1], [2, 3, 0]])]
    priors = [Prior.uniform(3), Prior.proportional([1, 2, 1]), Prior.proportional([1, 1, 3])]
    assert any(universality(path(2), prior, loss, ratio=2).refuted for loss in losses for prior in priors)
    # A user who takes reports at face value is not served best either.
    prior, loss = Prior.proportional([50, 1, 1, 1]), Loss.absolute(range(4))
    channel = truncated_geometric(3, HALF)
    best = optimal(path(3), prior, loss, ratio=2)
    assert bayes_risk(channel, prior, loss).high == best.loss
    assert expected_loss(channel, prior, loss) > best.loss


# Exercises.


@covers("004-X1", "004-X2", "004-S27")
def test_exercises_one_and_two_a_percentage_of_at_least_a_thousand_people():
    moved = mean(0, 100, 1000, REPLACE)
    assert moved.l1 == Fraction(1, 10)
    assert mean(0, 100, 1000, ADD_REMOVE).l1 == Fraction(100, 1001)
    for epsilon in (HALF, 1):
        noise = dp.Laplace.calibrate(epsilon=epsilon, sensitivity=moved)
        for x in (0, 0.03, -0.4):
            exact = 5 * epsilon * exp(-10 * epsilon * abs(x))
            assert noise.density(x) == pytest.approx(float(exact), rel=1e-4)
        clamped = dp.TruncatedLaplace.calibrate(
            epsilon=epsilon, low=0, high=100, sensitivity=moved, step=Fraction(1, 2**16)
        )
        for y in (Fraction(1, 8), Fraction(1, 2)):
            bottom, top = clamped.atoms(y)[0].high, clamped.atoms(100 - y)[1].high
            assert float(bottom) == pytest.approx(exp(-10 * epsilon * y) / 2, rel=2e-3)
            assert top == bottom
            inside = clamped.pmf(y + Fraction(1, 16), y).high / clamped.step
            assert float(inside) == pytest.approx(5 * epsilon * exp(-10 * epsilon / 16), rel=2e-3)
            assert clamped.cdf(100, y).low == 1
        assert clamped.guarantee(moved).cost <= epsilon


@covers("004-X3")
def test_exercise_three_privacy_at_hamming_distance_h_is_e_to_the_epsilon_h():
    """Two bits answered by randomized response, then asked for both, for their sum and for one of them."""
    report = dp.RandomizedResponse(Fraction(3))
    databases = list(product((0, 1), repeat=2))
    table = {x: {z: report.pmf(x[0])[z[0]] * report.pmf(x[1])[z[1]] for z in databases} for x in databases}

    def distance(x, y):
        return sum(a != b for a, b in zip(x, y, strict=True))

    neighbours = [(x, y) for x in databases for y in databases if distance(x, y) == 1]
    assert worst_ratio(table, neighbours) == 3
    # The chain along a path of neighbours, and that it is attained.
    far = [(x, y) for x in databases for y in databases if distance(x, y) == 2]
    assert worst_ratio(table, far) == 3**2
    # The same along the graph of a count, where the largest step apart is the number of people.
    channel = truncated_geometric(5, HALF)
    assert [channel.ratio(steps) for steps in range(1, 6)] == [2**h for h in range(1, 6)]
    # Conversely, the bound at all distances at once contains the one for neighbours.
    assert all(worst_ratio(table, [(x, y)]) == 3 ** distance(x, y) for x in databases for y in databases)


@covers("004-X4")
def test_exercise_four_identity_gain_under_the_uniform_prior():
    """U = (n + 1 - (n - 1) a) / ((n + 1) (1 + a)), truncated or not; tanh(epsilon / 2) for large n."""
    figures = {"0.1": 0.059365, "0.5": 0.252395, "1": 0.467443, "2": 0.763955}
    binomial = {"0.1": 0.089036, "0.5": 0.245349, "1": 0.462117, "2": 0.761594}
    for epsilon, printed in figures.items():
        a = exp(-float(epsilon))
        closed = (N + 1 - (N - 1) * a) / ((N + 1) * (1 + a))
        brute = geometric_by_definition(N, float(epsilon)).max(axis=0).sum() / (N + 1)
        channel = geometric_enclosure(N, epsilon)
        worth = utility(channel, Prior.uniform(N + 1), Gain.identity(SPAN))
        assert float(worth.low) == pytest.approx(closed, rel=1e-12)
        assert brute == pytest.approx(closed, rel=1e-9)
        assert round(closed, 6) == printed
        assert abs(closed - tanh(float(epsilon) / 2)) < 2 / N
        counted = utility(channel, Prior.binomial(N), Gain.identity(SPAN))
        assert round(float(counted.low), 6) == binomial[epsilon]
    # Exactly, for a rational a, on a short range with all integers as reports: the same as truncated.
    a, n = Fraction(3, 5), 6
    reports = range(-40, n + 41)
    whole = sum(max(dp.Geometric(a).pmf(z - y) for y in range(n + 1)) for z in reports) / (n + 1)
    closed = (n + 1 - (n - 1) * a) / ((n + 1) * (1 + a))
    assert 0 <= closed - whole < 2 * a**40
    assert (
        utility(truncated_geometric(n, a), Prior.uniform(n + 1), Gain.identity(range(n + 1))).high == closed
    )


@covers("004-X5")
def test_exercise_five_distance_gain():
    """Without a remap in closed form; a remap helps if a > 1/2."""
    n, gain, prior = 12, Gain.distance(range(13)), Prior.uniform(13)
    for a, helps in ((Fraction(1, 3), False), (HALF, False), (Fraction(9, 10), True)):
        channel = truncated_geometric(n, a)
        plain = expected_gain(channel, prior, gain)
        assert plain == n - a / (1 - a**2) * (2 - 2 * (1 - a ** (n + 1)) / ((n + 1) * (1 - a)))
        assert (utility(channel, prior, gain).high > plain) == helps
    # Exactly: the median after a report of 0 is 0 if and only if 1 >= a + a**2 + ... + a**n.
    for n, a in product((1, 3, 6), (Fraction(i, 40) for i in range(16, 38, 3))):
        channel, prior, gain = truncated_geometric(n, a), Prior.uniform(n + 1), Gain.distance(range(n + 1))
        helps = utility(channel, prior, gain).high > expected_gain(channel, prior, gain)
        assert helps == (2 * a - a ** (n + 1) > 1)
    figures = {
        "0.1": (91.4462, 96.3372),
        "0.5": (98.1359, 98.2297),
        "1": (99.1624, 99.1508),
        "2": (99.7274, 99.7243),
    }
    unremapped = {"0.1": (91.0553, 46), "0.5": (98.1293, 2), "1": (99.1624, 0), "2": (99.7274, 0)}
    worth = N - np.abs(np.subtract.outer(SPAN, SPAN))
    for epsilon, printed in figures.items():
        channel = geometric_enclosure(N, epsilon)
        found = [
            utility(channel, prior, Gain.distance(SPAN))
            for prior in (Prior.uniform(N + 1), Prior.binomial(N))
        ]
        assert [round(float(bounds.low), 4) for bounds in found] == list(printed)
        brute = geometric_by_definition(N, float(epsilon)) / (N + 1)
        scores = worth @ brute
        assert scores.max(axis=0).sum() == pytest.approx(float(found[0].low), rel=1e-9)
        plain, changed = unremapped[epsilon]
        assert round(float(np.trace(scores)), 4) == plain
        assert int((scores.max(axis=0) > np.diagonal(scores) + 1e-12).sum()) == changed


@covers("004-X6")
def test_exercise_six_mechanisms_of_the_same_privacy_and_lower_utility():
    prior, gain = Prior.uniform(N + 1), Gain.identity(SPAN)
    best = utility(geometric_enclosure(N, 1), prior, gain).low
    response = dp.RandomizedResponse.calibrate(epsilon=1, categories=N + 1)
    weak = utility(dp.Table.of(response.channel()), prior, gain).high
    assert float(weak) == pytest.approx(exp(1) / (exp(1) + N), rel=1e-9)
    assert round(float(weak), 5) == 0.02646
    distances = [[abs(y - z) for z in SPAN] for y in SPAN]
    chosen = exponential_enclosure(distances, 1)
    middle = utility(chosen, prior, gain).high
    assert round(float(middle), 5) == 0.25118
    assert round(float(utility(chosen, prior, Gain.distance(SPAN)).high), 4) == 98.1303
    constant = dp.Table.of([[1]] * (N + 1), outputs=[0])
    assert utility(constant, prior, gain).high == Fraction(1, N + 1) < weak < middle < best


@covers("004-X7")
def test_exercise_seven_post_processing_can_decrease_utility_and_truncation_does_not():
    n, a = 8, HALF
    channel, prior = truncated_geometric(n, a), Prior.binomial(n, "0.4")
    for gain in (Gain.distance(range(n + 1)), Gain.identity(range(n + 1))):
        before = utility(channel, prior, gain).high
        assert utility(channel.then(lambda z: z // 3), prior, gain).high < before
        assert utility(channel.then(lambda z: n - z), prior, gain).high == before
        # A constant leaves what the prior alone is worth.
        alone = max(sum(p * g for p, g in zip(prior.weights, row, strict=True)) for row in gain.rows)
        assert utility(channel.then(lambda z: 0), prior, gain).high == alone < before
    # Truncation: reports below 0 are evidence of the same strength for every answer, as 0 is.
    for z in (-1, -7):
        ratios = {dp.Geometric(a).pmf(z - y) / dp.Geometric(a).pmf(-y) for y in range(n + 1)}
        assert len(ratios) == 1
