"""The lecture on the exponential mechanism and on properties of privacy; neighbours differ by one record."""

from fractions import Fraction
from itertools import product
from math import ceil, exp, log, prod, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.seeds.covered import covers

import discreet as dp
from discreet.privacy.allocate import budget_each, corollary_each
from discreet.privacy.sensitivity import workload
from discreet.verify import Proved

ADD_REMOVE, REPLACE = dp.Adjacency.ADD_REMOVE, dp.Adjacency.REPLACE
HALF = Fraction(1, 2)
TINY = Fraction(1, 10**6)
PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"


def line(composition, delta, route):
    """Return what one route says about a composition."""
    return next(row for row in composition.explain(delta).lines if row.route == route)


# The exponential mechanism.


@covers("003-R1", "003-R2")
def test_good_scores_are_in_order_and_tell_a_close_second_from_a_bad_outcome():
    """Eye colours by their counts, by whether they are the most common one, and by something else."""
    counts = [40, 38, 3, 1]
    best_only = [1, 0, 0, 0]
    upside_down = [1, 2, 3, 4]
    good, crude, wrong = (dp.fitness(scores, counts) for scores in (counts, best_only, upside_down))
    assert (good.ordered, good.graded) == (True, True)
    assert (crude.ordered, crude.graded) == (True, False)
    assert crude.tie == (1, 2)
    assert (wrong.ordered, wrong.graded) == (False, True)
    assert wrong.disorder == (0, 1)
    # Why it matters: at the same privacy the crude score takes a bad colour far more often.
    choice = dp.Exponential.calibrate(epsilon=1)
    for scores, share in ((counts, Fraction(1, 10**6)), (best_only, Fraction(1, 3))):
        bad = sum(choice.pmf(scores)[2:])
        assert (bad < share) if scores is counts else (bad > share)


@covers("003-R1", "003-R2")
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=5))
def test_the_two_properties_are_judged_by_every_pair_of_outcomes(outcomes):
    scores, merits = zip(*outcomes, strict=True)
    found = dp.fitness(scores, merits)
    pairs = [(a, b) for a in range(len(merits)) for b in range(len(merits)) if merits[a] > merits[b]]
    assert found.ordered == all(scores[a] >= scores[b] for a, b in pairs)
    assert found.graded == all(scores[a] != scores[b] for a, b in pairs)
    for pair, offends in ((found.disorder, lambda a, b: a < b), (found.tie, lambda a, b: a == b)):
        assert pair is None or (pair in pairs and offends(scores[pair[0]], scores[pair[1]]))


@covers("003-D1", "003-W1")
def test_the_most_common_eye_colour_has_a_score_of_sensitivity_one():
    colours = ("brown", "blue", "green", "grey")
    scores = [lambda person, colour=colour: int(person == colour) for colour in colours]
    for adjacency in (ADD_REMOVE, REPLACE):
        assert workload(scores, colours, adjacency).linf == 1
    # The largest change over candidates, not their sum, is what counts: replacing moves two of them.
    assert workload(scores, colours, REPLACE).l1 == 2
    noise = dp.Exponential.calibrate(epsilon=1)
    assert [float(p) for p in noise.pmf([9, 5, 2, 0])] == pytest.approx(
        [exp(q / 2) / sum(exp(c / 2) for c in (9, 5, 2, 0)) for q in (9, 5, 2, 0)], rel=1e-9
    )


@covers("003-S21")
def test_candidates_may_be_fewer_than_the_possible_records_and_data_count_the_records():
    """R need not be X, and a database counts records of X; the mechanism takes x, q and epsilon."""
    colours, candidates = ("brown", "blue", "green", "grey"), ("brown", "blue", "green")
    scores = [lambda person, colour=colour: int(person == colour) for colour in candidates]
    assert [score("grey") for score in scores] == [0, 0, 0]
    assert workload(scores, colours, ADD_REMOVE).linf == 1
    assert len(dp.Exponential.calibrate(epsilon=1).pmf([4, 3, 3])) == len(candidates) < len(colours)
    # Prices: a database is a list of valuations, or how many buyers have each valuation.
    prices = dp.Revenue(cap=500)
    one, two = prices.levels([100, 100, 100, 401]), prices.levels([100, 401], [3, 1])
    assert one.scores.tolist() == two.scores.tolist()
    assert one.starts.tolist() == two.starts.tolist()


@covers("003-D2")
def test_better_outcomes_are_exponentially_likelier():
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=2)
    law = choice.pmf([7, 5, 5, -1])
    assert sum(law) == 1
    assert float(law[0] / law[1]) == pytest.approx(exp(1 * (7 - 5) / (2 * 2)), rel=1e-9)
    assert float(law[1] / law[3]) == pytest.approx(exp(1 * (5 + 1) / (2 * 2)), rel=1e-9)
    assert law[1] == law[2]


@covers("003-T3")
def test_the_exponential_mechanism_is_private_over_all_small_databases_and_by_proof():
    """Databases of up to four people in three colours; the score of a colour is its count."""
    databases = [x for x in product(range(5), repeat=3) if sum(x) <= 4]
    near = [
        (x, tuple(c + (i == j) for j, c in enumerate(x))) for x in databases for i in range(3) if sum(x) < 4
    ]
    choice = dp.Exponential(HALF)
    law = {x: choice.pmf(x) for x in databases}
    ratios = [p / q for x, y in near for p, q in zip(law[x], law[y], strict=True)]
    worst = max(*ratios, *(1 / ratio for ratio in ratios))
    # Counts are monotone, so the ratio stays below 1 / alpha; in general it stays below 1 / alpha**2.
    assert worst < 2
    assert float(choice.guarantee(1, monotone=True).cost) == pytest.approx(log(2))
    assert float(choice.guarantee(1).cost) == pytest.approx(log(4))
    verdict = dp.verify(PROGRAMS / "exponential_mechanism.dp")
    assert isinstance(verdict, Proved)


@covers("003-T4", "003-S14")
def test_the_accuracy_theorem_holds_with_t_outside_the_logarithm_and_fails_inside():
    units = 1000
    choice = dp.Exponential.calibrate(epsilon=1, sensitivity=units)

    def failure(gap, size):
        return 1 - float(choice.chances([gap] + [0] * (size - 1))[0].high)

    for size, t in ((2, 5), (5, 3), (100, 1)):
        right = 2 * (log(size) + t)
        for gap in (right, right + 1, right + 5):
            assert failure(ceil(gap * units), size) <= exp(-t)
        # In terms of beta = exp(-t) the printed form is right, and it is the same number.
        beta = exp(-t)
        assert 2 * log(size / beta) == pytest.approx(right)
        assert choice.shortfall(Fraction(beta), candidates=size) <= right * units
    as_printed = failure(ceil(2 * log(2 + 5) * units), 2)
    assert as_printed == pytest.approx(0.125, abs=5e-4)
    assert as_printed > exp(-5)
    assert exp(-5) == pytest.approx(0.0067, abs=5e-5)


@covers("003-W2")
def test_prices_need_a_cap_and_a_grid():
    for cap in (5, 8):
        prices, moved = dp.Revenue(cap=cap), 0
        for buyers in product(range(cap + 1), repeat=2):
            before, after = (
                np.repeat(levels.scores, levels.sizes.tolist())
                for levels in (prices.levels([buyers[0]]), prices.levels(list(buyers)))
            )
            moved = max(moved, int((after - before).max()))
            assert (after >= before).all()
        assert prices.sensitivity(ADD_REMOVE).linf == moved == cap
    # A coarser grid is quicker and can miss the best price: a trade of optimality for efficiency.
    buyers = [100, 100, 100, 401]

    def best(step):
        return max(price * sum(v >= price for v in buyers) for price in range(step, 501, step))

    assert [best(step) for step in (1, 10, 300)] == [401, 400, 300]


@covers("003-W3")
def test_noise_on_the_best_price_brings_less_than_choosing_a_price():
    """The best of the four buyers' prices is $4.01; a cent more brings nothing."""
    buyers, epsilon = [100, 100, 100, 401], 10
    prices = dp.Revenue(cap=500, low=100)
    revenue = {p: p * sum(v >= p for v in buyers) for p in range(100, 501)}
    levels = prices.levels(buyers)
    law = dp.Exponential.calibrate(epsilon=epsilon, sensitivity=prices.sensitivity(ADD_REMOVE)).chances(
        levels
    )
    chosen = sum(float(p) * int(score) for p, score in zip(law, levels.scores, strict=True))
    # One buyer can move the best price itself across the whole grid: sensitivity 400.
    noise = dp.TruncatedGeometric.calibrate(epsilon=epsilon, low=100, high=500, sensitivity=400)
    perturbed = {p: float(noise.pmf(p, 401)) for p in revenue}
    assert sum(perturbed[p] for p in revenue if revenue[p] == 0) > 0.45
    assert sum(perturbed[p] * revenue[p] for p in revenue) < 0.8 * chosen


# Post-processing and groups.


LEAKY = dp.Table.of(
    [[Fraction(6, 12), Fraction(5, 12), Fraction(1, 12)], [Fraction(3, 12), Fraction(9, 12), 0]],
    inputs=["x", "y"],
    outputs=["a", "b", "c"],
)
"""An (ln 2, 1/12)-private mechanism: one outcome gives x away."""


@covers("003-T5", "003-S15")
def test_deterministic_post_processing_keeps_epsilon_and_delta():
    delta = LEAKY.delta_at_ratio(2)
    assert delta == Fraction(1, 12)
    for images in product("uvw", repeat=3):
        after = LEAKY.then(dict(zip("abc", images, strict=True)))
        assert after.delta_at_ratio(2) <= delta
    # As printed, without delta and without e**epsilon, both lines are false for the event {u}.
    after = LEAKY.then({"a": "v", "b": "v", "c": "u"})
    here, there = after.pmf("x")["u"], after.pmf("y")["u"]
    assert not here <= 2 * there
    plain = LEAKY.then({"a": "u", "b": "v", "c": "v"})
    assert not plain.pmf("x")["u"] <= plain.pmf("y")["u"]
    assert here <= 2 * there + delta
    assert after.delta_at_ratio(2) == delta  # nothing is lost here: the theorem is tight


@covers("003-T5", "003-S15")
def test_a_randomized_map_is_a_mixture_of_maps_with_weights_that_sum_to_one():
    second = dp.Table.of([[HALF, HALF], [Fraction(1, 3), Fraction(2, 3)], [0, 1]], inputs=["a", "b", "c"])
    weights, mixed = [], [[Fraction(0)] * 2 for _ in range(2)]
    for images in product((0, 1), repeat=3):
        weight = prod(second.row(z)[image] for z, image in zip("abc", images, strict=True))
        weights.append(weight)
        after = LEAKY.then(dict(zip("abc", images, strict=True)))
        for i, truth in enumerate("xy"):
            for image, p in after.pmf(truth).items():
                mixed[i][image] += weight * p
    assert min(weights) >= 0
    assert sum(weights) == 1
    whole = LEAKY.then(second)
    assert [list(row) for row in whole.rows] == mixed
    # The deltas of the parts are averaged with these weights, so the whole has no more than delta.
    assert whole.delta_at_ratio(2) <= sum(weight * LEAKY.delta_at_ratio(2) for weight in weights)


@covers("003-T6", "003-S16")
def test_group_privacy_holds_with_the_sum_of_powers_and_no_less():
    """delta (e**(k eps) - 1) / (e**eps - 1), attained by an explicit mechanism along a chain of k changes."""
    ratio, delta = 3, Fraction(1, 1000)
    chances = [Fraction(0)]
    for _ in range(4):
        chances.append(ratio * chances[-1] + delta)
    chain = dp.Table.of([[p, 1 - p] for p in chances], neighbours=[(i, i + 1) for i in range(4)])
    assert chain.delta_at_ratio(ratio) == delta
    for k in (2, 3, 4):
        tight = delta * Fraction(ratio**k - 1, ratio - 1)
        assert chain.delta_at_ratio(ratio**k, steps=k) == tight
        assert tight < k * ratio ** (k - 1) * delta  # as printed: valid, but not tight
    for k, printed, better in ((2, 5.44e-6, 3.72e-6), (5, 2.73e-4, 8.58e-5)):
        assert k * exp(k - 1) * 1e-6 == pytest.approx(printed, rel=2e-3)
        group = dp.Approximate(1, TINY).group(k)
        assert float(group.slack) == pytest.approx(better, rel=2e-3)
        assert float(group.slack) == pytest.approx(1e-6 * (exp(k) - 1) / (exp(1) - 1), rel=1e-9)
        assert group.cost == k


@covers("003-T6", "003-S16")
def test_privacy_degrades_linearly_for_pure_guarantees_only():
    assert [dp.Pure(HALF).group(k).cost for k in (1, 2, 4)] == [HALF, 1, 2]
    noise = dp.Geometric(HALF)
    assert noise.guarantee(dp.Sensitivity.of(1).group(3)).cost == noise.guarantee(1).group(3).cost
    slack = [dp.Approximate(1, TINY).group(k).slack for k in (1, 2, 4)]
    assert slack[1] > 2 * slack[0]
    assert slack[2] > 2 * slack[1]


# Composition.


@covers("003-T7", "003-S17")
@pytest.mark.parametrize("k", [2, 3, 5])
def test_independent_mechanisms_multiply_and_their_product_is_e_to_the_k_epsilon(k):
    report = dp.RandomizedResponse(Fraction(2))
    joint = [[prod(report.pmf(truth)[a] for a in z) for z in product((0, 1), repeat=k)] for truth in (0, 1)]
    worst = dp.Table.of(joint).ratio()
    assert worst == 2**k
    assert not worst <= 2  # as printed, e**epsilon for the product of k factors e**epsilon
    together = dp.compose([(dp.Pure(HALF), k)])
    assert together.epsilon(0).low == together.epsilon(0).high == k * HALF


@covers("003-T7")
def test_epsilons_and_deltas_add_up():
    parts = [dp.Approximate(HALF, TINY), dp.Approximate(1, 2 * TINY), dp.Pure("0.25")]
    together = dp.compose(parts)
    at = together.epsilon(3 * TINY)
    assert at.high <= Fraction("1.75")
    # The slacks combine to 1 - (1 - d1)(1 - d2), a little less than their sum, and nothing below is enough.
    exact = 1 - (1 - TINY) * (1 - 2 * TINY)
    assert together.slack[0] <= exact <= together.slack[1] < 3 * TINY
    assert together.epsilon(2 * TINY).high is None
    assert together.delta("1.75").high < 3 * TINY


@covers("003-W4")
def test_a_budget_of_epsilon_admits_k_mechanisms_of_epsilon_over_k():
    for k in (1, 3, 7):
        budget = dp.Filter(dp.PureBudget(1))
        for _ in range(k):
            budget = budget.spend(dp.Cost.pure(Fraction(1, k)))
        assert budget.remaining.epsilon == 0
        with pytest.raises(dp.BudgetError):
            budget.spend(dp.Cost.pure(Fraction(1, 1000)))
        assert budget_each(k, 1) == Fraction(1, k)


@covers("003-D3", "003-S18", "003-S19")
def test_basic_composition_is_adaptive_and_an_adaptive_mechanism_has_a_range():
    """The second mechanism, its range included, is chosen by the first answer; the ratios multiply."""
    first = dp.RandomizedResponse(Fraction(2))
    later = {
        0: dp.Table.of(dp.RandomizedResponse(Fraction(3)).channel()),
        1: dp.Table.of(dp.RandomizedResponse(3, 4).channel()),
    }
    joint = {}
    for truth in (0, 1):
        # The second mechanism maps data and the first answer to a law on a range that depends on the answer.
        joint[truth] = {
            (z, w): first.pmf(truth)[z] * p for z in (0, 1) for w, p in later[z].pmf(truth).items()
        }
        assert sum(joint[truth].values()) == 1
        assert {w for z, w in joint[truth] if z == 1} == {0, 1, 2, 3}
    ratios = {key: joint[0][key] / joint[1][key] for key in joint[0]}
    assert max(max(ratios.values()), 1 / min(ratios.values())) == 2 * 3
    # The library says which routes allow prices, too, to depend on earlier answers: basic does.
    together = dp.compose([(dp.Pure("0.1"), 10)])
    assert line(together, TINY, "basic").adaptive == "fully adaptive"
    assert line(together, TINY, "optimal").adaptive == "fixed parameters"


@covers("003-T8", "003-S20")
def test_advanced_composition_as_printed_and_when_it_helps():
    for epsilon, k, delta in (("0.01", 1000, "1e-6"), ("0.1", 100, "1e-5"), (1, 8, "1e-6")):
        e, d = float(epsilon), float(delta)
        formula = e * sqrt(2 * k * log(1 / d)) + k * e * (exp(e) - 1)
        together = dp.compose([(dp.Pure(epsilon), k)])
        assert float(line(together, delta, "lecture").epsilon) == pytest.approx(formula, rel=1e-9)
        # It is a valid bound: exact composition is never above it.
        assert float(together.epsilon(delta).high) <= formula
    # The second term is very small for epsilon far below 1 / sqrt(k), not for all epsilon < 1.
    assert 8 * (exp(1) - 1) > 0.9 * sqrt(16 * log(1e6))
    assert 1000 * 0.01 * (exp(0.01) - 1) < 0.1 * 0.01 * sqrt(2000 * log(1e6))
    eight = dp.compose([(dp.Pure(1), 8)])
    assert float(line(eight, TINY, "lecture").epsilon) == pytest.approx(28.6, abs=0.05)
    assert eight.epsilon(TINY).high <= 8 == line(eight, TINY, "basic").epsilon


@covers("003-T8")
def test_the_total_of_small_epsilons_grows_with_the_root_of_k_and_deltas_are_added():
    exact = [float(dp.compose([(dp.Pure("0.01"), k)]).epsilon(TINY).high) for k in (100, 400, 1600)]
    assert 1.8 < exact[1] / exact[0] < 2.2
    assert 1.8 < exact[2] / exact[1] < 2.2
    # With (epsilon, delta) parts: (epsilon', k delta + delta').
    k, part = 50, Fraction(1, 10**9)
    together = dp.compose([(dp.Approximate("0.05", part), k)])
    formula = 0.05 * sqrt(2 * k * log(1e6)) + k * 0.05 * (exp(0.05) - 1)
    assert float(together.epsilon(k * part + TINY).high) <= formula


@covers("003-T9")
@pytest.mark.parametrize(
    ("epsilon", "k", "delta"), [("0.5", 100, "1e-6"), ("0.99", 10, "1e-6"), ("0.9", 3, "0.01")]
)
def test_the_corollary_keeps_its_promise(epsilon, k, delta):
    each = corollary_each(k, epsilon, delta)
    assert float(each) == pytest.approx(float(epsilon) / sqrt(8 * k * log(1 / float(delta))), rel=1e-9)
    assert dp.compose([(dp.Pure(each), k)]).epsilon(delta).high <= Fraction(epsilon)


@covers("003-S22", "003-T9")
def test_the_corollary_is_loose_and_does_not_follow_from_the_theorem_for_large_delta():
    each = corollary_each(2, "0.99", "0.8")
    together = dp.compose([(dp.Pure(each), 2)])
    assert float(line(together, "0.8", "lecture").epsilon) == pytest.approx(1.217, abs=5e-4)
    assert line(together, "0.8", "lecture").epsilon > Fraction("0.99")  # the theorem does not give it
    assert together.epsilon("0.8").high <= Fraction("0.99")  # exact composition does
    # The theorem gives it where ln(1/delta) is well above epsilon / 4.
    each = corollary_each(2, "0.99", "0.5")
    assert line(dp.compose([(dp.Pure(each), 2)]), "0.5", "lecture").epsilon <= Fraction("0.99")
    # Loose: what the shares really cost together, and how large they could be.
    for epsilon, k, share, total, largest in (
        ("0.5", 100, 0.004756, 0.1775, 0.012581),
        ("0.99", 10, 0.02978, 0.297, 0.09906),
    ):
        each = corollary_each(k, epsilon, TINY)
        assert float(each) == pytest.approx(share, rel=2e-4)
        assert float(dp.compose([(dp.Pure(each), k)]).epsilon(TINY).high) == pytest.approx(total, rel=5e-4)
        allowed = budget_each(k, epsilon, TINY)
        assert float(allowed) == pytest.approx(largest, rel=1e-4)
        assert dp.compose([(dp.Pure(allowed), k)]).epsilon(TINY).high <= Fraction(epsilon)
        more = allowed * Fraction(1001, 1000)
        assert dp.compose([(dp.Pure(more), k)]).epsilon(TINY).low > Fraction(epsilon)
