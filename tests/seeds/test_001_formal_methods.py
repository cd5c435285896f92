"""The lecture on differential privacy for programs; neighbours differ in the value of one record."""

from fractions import Fraction
from itertools import chain, combinations, product
from math import exp, log, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.seeds.covered import covers

import discreet as dp
from discreet.audit.attack import closest, tolerated_error, wrong_bits
from discreet.audit.attack.curator import coin_flips
from discreet.audit.attack.reconstruction import (
    agreement,
    budgeted,
    least_squares,
    linear_program,
    subset_sums,
)
from discreet.exact.sample import uniform_below
from discreet.privacy.parallel import Routing, parallel
from discreet.privacy.sensitivity import mean, prefix_sums, scaled, total, workload
from discreet.utility import Gain, Prior, posterior, utility
from discreet.verify import (
    Coupling,
    Equal,
    Invalid,
    NoCoupling,
    Proved,
    Refuted,
    Valid,
    couple,
    epsilon_distance,
    is_private,
    lifted_delta,
    run,
    same_law,
    slack,
    valid,
    worst_ratio,
)
from discreet.workload import Matrix, Prefix, error, identity, plan, tabulate, workload_sensitivity
from discreet.workload.dummy import EachItem, EachPrefix
from discreet.workload.tree import TreeCounter

ADD_REMOVE, REPLACE = dp.Adjacency.ADD_REMOVE, dp.Adjacency.REPLACE
HALF, THIRD, QUARTER = Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
FINE = Fraction(1, 1000)
"""An epsilon so small that integer noise has the variance 2 / epsilon**2 of Laplace noise to six digits."""

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
RECORDS = ["000", "101", "010", "101", "000", "001", "110", "000", "010", "101"]
COUNTS = np.bincount([int(record, 2) for record in RECORDS], minlength=8)

laws = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)


def law(weights):
    """Return the law on 0, 1, ... with these weights."""
    return {k: Fraction(w, sum(weights)) for k, w in enumerate(weights)}


def events(outcomes):
    """Yield every set of outcomes."""
    return chain.from_iterable(combinations(outcomes, n) for n in range(len(outcomes) + 1))


def program(name, *changes):
    """Return the text of an example program, some words replaced."""
    text = (PROGRAMS / f"{name}.dp").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def equal(a, b):
    """Relate equal outcomes."""
    return a == b


# Relational reasoning about probabilistic programs.


@covers("001-D1", "001-P1")
def test_the_one_time_pad_is_valid_for_any_two_messages_and_proved_secret():
    """pad ~ pad : true => equal ciphertexts, as a coupling for each pair of messages of three bits."""
    messages = range(8)

    def cipher(message, combine):
        found = dict.fromkeys(messages, Fraction(0))
        for key in messages:
            found[combine(message, key)] += Fraction(1, 8)
        return found

    for one, two in product(messages, repeat=2):
        found = couple(cipher(one, int.__xor__), cipher(two, int.__xor__), equal)
        assert isinstance(found, Coupling)
    # A broken pad: "and" for "xor".  The quadruple is not valid, and a set of ciphertexts shows why.
    broken = couple(cipher(7, int.__and__), cipher(0, int.__and__), equal)
    assert isinstance(broken, NoCoupling)
    assert broken.mass > broken.related_mass
    assert isinstance(dp.verify(program("one_time_pad")), Proved)
    assert not isinstance(dp.verify(program("two_time_pad"), seconds=2), Proved)


@covers("001-D2", "001-D3")
@settings(max_examples=60)
@given(laws, laws, st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_laws_are_in_the_lifting_of_a_relation_exactly_when_a_coupling_exists(first, second, related):
    """A coupling has the right marginals and support; without one, some event has too much mass."""
    mu, nu = law(first), law(second)
    found = couple(mu, nu, lambda a, b: (a, b) in related)
    excess = max(
        sum(mu[a] for a in event) - sum(nu[b] for b in nu if any((a, b) in related for a in event))
        for event in events(range(4))
    )
    assert isinstance(found, Coupling) == (excess <= 0)
    if isinstance(found, Coupling):
        assert set(found.joint) <= related
        for a in range(4):
            assert sum(m for pair, m in found.joint.items() if pair[0] == a) == mu[a]
            assert sum(m for pair, m in found.joint.items() if pair[1] == a) == nu[a]


def strassen(mu, nu, related):
    """Decide by all events whether two subdistributions are in the lifting of a relation."""
    return sum(mu.values()) == sum(nu.values()) and all(
        sum(mu[a] for a in event) <= sum(nu[b] for b in nu if any((a, b) in related for a in event))
        for event in events(list(mu))
    )


thin = st.lists(st.integers(0, 3), min_size=3, max_size=3)
pairs_of_three = st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2)))


@covers("001-D3")
@settings(max_examples=80)
@given(thin, thin, pairs_of_three)
def test_subdistributions_are_in_the_lifting_when_their_masses_agree_and_no_event_is_too_heavy(
    one, two, related
):
    """Programs that may not end: ninths of mass, of which some is missing."""
    mu, nu = ({k: Fraction(w, 9) for k, w in enumerate(weights)} for weights in (one, two))
    found = couple(mu, nu, lambda a, b: (a, b) in related)
    assert isinstance(found, Coupling) == strassen(mu, nu, related)
    if isinstance(found, Coupling):
        assert set(found.joint) <= related
        assert all(sum(m for p, m in found.joint.items() if p[0] == a) == mu[a] for a in mu)
        assert all(sum(m for p, m in found.joint.items() if p[1] == a) == nu[a] for a in nu)
    else:
        here, there = (nu, mu) if found.backwards else (mu, nu)
        turned = {(b, a) for a, b in related} if found.backwards else related
        assert found.mass == sum(here[a] for a in found.outcomes) > found.related_mass
        behind = {b for b in there if any((a, b) in turned for a in found.outcomes)}
        assert found.related == behind
        assert found.related_mass == sum(there[b] for b in behind)


@covers("001-D3")
def test_a_program_that_may_not_end_is_in_no_lifting_with_one_that_does():
    ends, loops = {0: HALF, 1: HALF}, {0: HALF}
    assert isinstance(couple(loops, {0: QUARTER, 1: QUARTER}, lambda a, b: True), Coupling)
    for one, two in ((ends, loops), (loops, ends)):
        found = couple(one, two, lambda a, b: True)
        assert isinstance(found, NoCoupling)
        assert (found.mass, found.related_mass) == (1, HALF)
    with pytest.raises(dp.ParameterError, match="add up"):
        couple({0: HALF, 1: Fraction(3, 4)}, ends, equal)


kernels = st.lists(thin, min_size=3, max_size=3)


@covers("001-D1")
@settings(max_examples=60)
@given(kernels, kernels, pairs_of_three, pairs_of_three)
def test_a_quadruple_is_valid_when_every_related_pair_of_memories_ends_in_the_lifting(c1, c2, before, after):
    """Any two programs over three memories, any P and any Q, against the definition."""
    programs = [
        {m: {k: Fraction(w, 9) for k, w in enumerate(row)} for m, row in enumerate(kernel)}
        for kernel in (c1, c2)
    ]
    judged = valid(
        programs[0].get,
        programs[1].get,
        lambda a, b: (a, b) in before,
        lambda a, b: (a, b) in after,
        range(3),
    )
    truth = {pair: strassen(programs[0][pair[0]], programs[1][pair[1]], after) for pair in before}
    assert isinstance(judged, Valid) == all(truth.values())
    if isinstance(judged, Valid):
        assert set(judged.couplings) == before
        assert all(set(coupling.joint) <= after for coupling in judged.couplings.values())
    else:
        assert not truth[judged.memories]
        assert judged.reason.mass > judged.reason.related_mass


@covers("001-D1")
def test_quadruples_say_more_than_that_results_are_equal():
    """A counter with noise: orders and distances survive it, equality does not; and two programs differ."""

    def noisy(m):
        return {m + step: Fraction(1, 3) for step in (-1, 0, 1)}

    memories = range(4)
    order, near = (lambda a, b: a <= b), (lambda a, b: abs(a - b) <= 1)
    assert isinstance(valid(noisy, noisy, order, order, memories), Valid)
    assert isinstance(valid(noisy, noisy, near, near, memories), Valid)
    assert isinstance(valid(noisy, noisy, equal, equal, memories), Valid)
    wrong = valid(noisy, noisy, order, equal, memories)
    assert isinstance(wrong, Invalid)
    assert wrong.memories[0] < wrong.memories[1]
    lazy = valid(lambda m: {m: Fraction(1)}, noisy, equal, order, memories)
    assert isinstance(lazy, Invalid)
    assert isinstance(valid(lambda m: {m - 1: Fraction(1)}, noisy, equal, order, memories), Valid)
    # Privacy is one more judgement: neighbours => equal, up to a factor and a delta.
    table = dp.Table.from_noise(dp.Geometric(HALF), 0, 3)

    def mechanism(m):
        return dict(enumerate(table.rows[m]))

    assert slack(mechanism, mechanism, near, equal, memories, Fraction(2)) == 0
    assert slack(mechanism, mechanism, near, equal, memories, Fraction(3, 2)) > 0
    assert slack(mechanism, mechanism, lambda a, b: False, equal, memories) == 0


# Reconstruction, and what cannot be asked for.


@covers("001-D4")
def test_many_accurate_answers_give_the_data_back_and_a_budget_stops_it():
    """Subset sums over 400 people; the attacker wins at Hamming distance near 0."""
    people = 400
    secret, questions = coin_flips(people), coin_flips(4 * people, people)
    exact = subset_sums(secret, questions)
    assert least_squares(questions, exact).tolist() == secret.tolist()
    # Noise of standard deviation 1.4, far below the root of 400.
    noisy = dp.Geometric.calibrate(epsilon=1).sample(exact)
    hamming = people * (1 - agreement(secret, least_squares(questions, noisy)))
    assert hamming <= people / 100
    # All answers within epsilon = 1: a coin does as well, give or take ten standard deviations.
    private = budgeted(exact, 1)
    assert abs(agreement(secret, least_squares(questions, private)) - 0.5) < 10 * 0.5 / people**0.5


@covers("001-D4")
def test_linear_programming_wins_on_a_small_table():
    secret, questions = coin_flips(40), coin_flips(200, 40)
    assert linear_program(questions, subset_sums(secret, questions)).tolist() == secret.tolist()


@covers("001-D4")
def test_noise_far_below_the_root_of_the_number_of_people_is_decoded_and_noise_above_is_not():
    """One hundred people, eight hundred questions; errors of up to 2 in each answer, then private ones."""
    people = 100
    secret, questions = coin_flips(people), coin_flips(8 * people, people)
    exact = subset_sums(secret, questions)
    small = exact + np.asarray(uniform_below(5, len(exact))) - 2
    assert agreement(secret, closest(questions, small)) >= 0.99
    assert agreement(secret, linear_program(questions, small)) >= 0.9
    private = budgeted(exact, 1)
    for attack in (closest, linear_program):
        assert agreement(secret, attack(questions, private)) < 0.9


@covers("001-D4")
def test_no_error_within_the_threshold_spoils_more_bits_than_it_says():
    """The worst noise that we can think of at the tolerated error: the weakest direction, and others."""
    people, wrong = 24, 2
    secret, questions = coin_flips(people), coin_flips(12 * people, people)
    exact = subset_sums(secret, questions)
    error = tolerated_error(questions, wrong)
    assert wrong_bits(questions, error) == wrong
    assert wrong_bits(questions, error * 1.0001) == wrong + 1
    assert wrong_bits(questions, 0) == 0
    weakest = np.linalg.svd(questions.astype(float))[2][-1]
    for direction in (weakest, -weakest, *np.random.default_rng(4).normal(size=(3, people))):
        moved = questions @ direction
        noise = error * moved / np.abs(moved).max()
        guess = closest(questions, exact + noise)
        assert np.count_nonzero(guess != secret) <= wrong


@covers("001-D4")
def test_the_threshold_grows_like_the_root_of_the_number_of_people():
    shares = []
    for people in (40, 160):
        questions = coin_flips(10 * people, people)
        shares.append(tolerated_error(questions, people // 10) / people**0.5)
    assert shares[0] == pytest.approx(shares[1], rel=0.25)
    # sqrt(c) (1 - sqrt(n / m)) / 8 for a tenth of the bits.
    assert shares[1] == pytest.approx(0.1**0.5 * (1 - 0.1**0.5) / 8, rel=0.25)
    # Questions that cannot tell people apart tolerate nothing.
    assert tolerated_error(np.ones((5, 3), dtype=np.int8)) == 0
    assert wrong_bits(np.ones((5, 3), dtype=np.int8), 0) == 3


@covers("001-D4")
def test_lies_in_an_eighth_of_the_answers_do_not_stop_linear_programming():
    secret, questions = coin_flips(60), coin_flips(600, 60)
    answers = subset_sums(secret, questions)
    answers[::8] = np.asarray(uniform_below(60, len(answers[::8])))
    assert linear_program(questions, answers).tolist() == secret.tolist()


@covers("001-D5")
def test_whoever_learns_nothing_about_anyone_learns_nothing_at_all():
    """The posterior equals the prior for all answers only if the answer does not depend on the data."""
    prior, gain = Prior.proportional([5, 3, 2]), Gain.identity(range(3))
    silent = dp.Table.of([[QUARTER, 3 * QUARTER]] * 3)
    assert all(posterior(silent, prior, z) == prior.weights for z in (0, 1))
    assert utility(silent, prior, gain).high == max(prior.weights)
    useful = dp.Table.from_noise(dp.Geometric(HALF), 0, 2)
    assert all(posterior(useful, prior, z) != prior.weights for z in range(3))
    assert utility(useful, prior, gain).high > max(prior.weights)
    # What privacy does promise: odds of neighbouring truths move by at most e**epsilon, here 2.
    for z, (a, b) in product(range(3), [(0, 1), (1, 2)]):
        after = posterior(useful, prior, z)
        change = (after[a] / after[b]) / (prior.weights[a] / prior.weights[b])
        assert HALF <= change <= 2


# Privacy: definitions.


@covers("001-D6")
def test_adjacent_datasets_differ_in_one_place_and_others_along_a_path():
    databases = ["".join(bits) for bits in product("01", repeat=3)]

    def distance(one, two):
        return sum(a != b for a, b in zip(one, two, strict=True))

    near = [(a, b) for a in databases for b in databases if distance(a, b) == 1]
    table = dp.Table.of([[1]] * 8, inputs=databases, neighbours=near)
    for steps in (1, 2, 3):
        within = {(databases[i], databases[j]) for i, j in table.pairs(steps)}
        assert within == {(a, b) for a, b in combinations(databases, 2) if distance(a, b) <= steps}


@covers("001-D7", "001-S9")
@settings(max_examples=60)
@given(laws, laws, st.integers(1, 4))
def test_a_bounded_loss_with_probability_one_minus_delta_implies_approximate_privacy(first, second, ratio):
    """If Pr[loss > epsilon] <= delta under both laws, then (epsilon, delta)-privacy holds."""
    table = dp.Table.of([list(law(weights).values()) for weights in (first, second)])
    worst = max(
        sum((p for p, q in zip(a, b, strict=True) if p > ratio * q), Fraction(0))
        for a, b in (table.rows, table.rows[::-1])
    )
    assert table.delta_at_ratio(ratio) <= worst


@covers("001-D7", "001-S9")
def test_approximate_privacy_does_not_imply_a_bounded_loss_with_probability_one_minus_delta():
    """Randomized response of odds 3 at epsilon = ln 2: delta is 1/4, but the loss is ln 3 with chance 3/4."""
    report = dp.RandomizedResponse(Fraction(3))
    losses = [log(p / q) for p, q in zip(report.pmf(0), report.pmf(1), strict=True)]
    assert losses == pytest.approx([log(3), -log(3)])
    table = dp.Table.of(report.channel())
    assert table.ratio() == 3
    assert table.delta_at_ratio(2) == QUARTER
    assert sum(p for p, q in zip(*table.rows, strict=True) if p > 2 * q) == 3 * QUARTER


@covers("001-D8", "001-D9", "001-D10", "001-D11")
@settings(max_examples=60)
@given(laws, laws, st.sampled_from([Fraction(0), HALF, Fraction(2)]))
def test_the_distances_are_the_largest_excess_over_all_events(first, second, epsilon):
    mu, nu = law(first), law(second)
    factor = exp(epsilon)
    excess = max(
        float(sum(p[o] for o in event)) - factor * float(sum(q[o] for o in event))
        for event in events(range(4))
        for p, q in ((mu, nu), (nu, mu))
    )
    low, high = epsilon_distance(mu, nu, epsilon)
    assert low <= high <= low + Fraction(1, 2**80)
    assert float(high) == pytest.approx(excess, abs=1e-12)
    # Closed form: the larger of two sums of positive parts.
    parts = [sum(max(float(p[o]) - factor * float(q[o]), 0) for o in p) for p, q in ((mu, nu), (nu, mu))]
    assert float(high) == pytest.approx(max(parts), abs=1e-12)
    # (epsilon, delta)-indistinguishable from this delta on, and not below.
    pair = {"b1": mu, "b2": nu}
    assert is_private(pair, [("b1", "b2")], epsilon, high)
    if low > 0:
        assert not is_private(pair, [("b1", "b2")], epsilon, low * Fraction(99, 100))
    if epsilon == 0:  # the statistical distance, which is symmetric
        assert high == sum(max(mu[o] - nu[o], 0) for o in mu) == sum(max(nu[o] - mu[o], 0) for o in mu)


@covers("001-D12")
def test_privacy_is_a_relational_property():
    """Two runs on neighbours are indistinguishable: as a lifting of equality both ways, and as a proof."""
    report = dp.RandomizedResponse(Fraction(3))
    one, two = (dict(enumerate(report.pmf(truth))) for truth in (0, 1))
    for factor, delta in ((Fraction(3), 0), (Fraction(2), QUARTER), (Fraction(1), HALF)):
        assert lifted_delta(one, two, equal, factor) == delta == lifted_delta(two, one, equal, factor)
    assert isinstance(dp.verify(program("randomized_response")), Proved)
    cheaper = program("randomized_response", ("ensures epsilon eps", "ensures epsilon 9*eps/10"))
    assert isinstance(dp.verify(cheaper), Refuted)


@covers("001-D13", "001-S12")
def test_global_sensitivity_of_sums_and_means_of_bounded_data():
    """Over all lists of three values in {-1, 0, 2}, the largest change by replacing one value."""
    values = (-1, 0, 2)
    neighbours = [
        (data, (*data[:i], v, *data[i + 1 :]))
        for data in product(values, repeat=3)
        for i, v in product(range(3), values)
    ]
    assert max(abs(sum(a) - sum(b)) for a, b in neighbours) == 3 == total(-1, 2, REPLACE).l1
    worst = max(abs(Fraction(sum(a), 3) - Fraction(sum(b), 3)) for a, b in neighbours)
    assert worst == 1 == mean(-1, 2, 3, REPLACE).l1  # (b - a) / n


@covers("001-D14", "001-S10")
def test_b_is_the_scale_of_the_laplace_law_and_its_skewness_is_zero():
    wide, narrow = (dp.Laplace.calibrate(epsilon=e) for e in (HALF, 2))
    for noise, b in ((wide, 2), (narrow, 0.5)):
        mu = 3
        for x in (mu, mu + 1, mu - 1):
            assert noise.density(x - mu) == pytest.approx(exp(-abs(mu - x) / b) / (2 * b), rel=1e-5)
        assert float(noise.variance) == pytest.approx(2 * b * b, rel=1e-5)
        law = {k: noise.noise.pmf(k) for k in range(-9, 10)}
        assert sum(k**3 * p for k, p in law.items()) == 0  # no skew, whatever b


# Programs.


@covers("001-P2", "001-S12")
def test_the_mean_without_noise_is_refuted_at_any_price():
    verdict = dp.verify(program("mean_without_noise"))
    assert isinstance(verdict, Refuted)
    assert verdict.witness.loss == float("inf")
    assert isinstance(dp.verify(program("mean_without_noise", ("epsilon eps", "epsilon 1000*eps"))), Refuted)
    with pytest.raises(dp.ProgramError, match="division by zero"):
        run(program("mean_without_noise", ("  requires size(d) >= 1\n", "")), d=[], eps=1)
    assert run(program("mean_without_noise"), d=[0, 1, 1, 1], eps=1) == 3 * QUARTER


@covers("001-P3", "001-S12")
def test_the_mean_with_laplace_noise_is_proved_for_bounded_data_and_not_otherwise():
    assert isinstance(dp.verify(program("mean")), Proved)
    assert isinstance(
        dp.verify(program("mean", ("ensures epsilon eps", "ensures epsilon 9*eps/10"))), Refuted
    )
    # As printed: sens has no value, data have no bounds, and the empty list has no mean.
    with pytest.raises(dp.ProgramError, match="sens has no value"):
        dp.verify(program("mean", ("  requires sens * size(d) >= 1\n", "")))
    assert isinstance(dp.verify(program("mean", (" in [0, 1]", ""))), Refuted)
    unguarded = (("  requires size(d) >= 1\n", ""), ("requires sens * size(d) >= 1", "requires sens > 0"))
    with pytest.raises(dp.ProgramError, match="division by zero"):
        run(program("mean", *unguarded), d=[], eps=1, sens=1)
    with pytest.raises(dp.ParameterError, match="at least one record"):
        mean(0, 1, 0, REPLACE)


@covers("001-P4", "001-P5", "001-T1", "001-X5")
def test_the_two_laplace_programs_are_proved_have_the_same_law_and_claim_no_less_than_they_need():
    """Noise of scale GS / epsilon is what makes any numeric query (epsilon, 0)-private."""
    added, centred = program("lap_added"), program("lap_centred")
    assert isinstance(dp.verify(added), Proved)
    assert isinstance(dp.verify(centred), Proved)
    assert isinstance(same_law(added, centred), Equal)
    for text in (added, centred):
        assert isinstance(dp.verify(text.replace("ensures epsilon e\n", "ensures epsilon 9*e/10\n")), Refuted)
        assert isinstance(dp.verify(text.replace("GSf/e", "GSf/(2*e)")), Refuted)


@covers("001-P6", "001-P7")
def test_noise_on_each_prefix_costs_n_epsilon_and_noise_on_each_item_epsilon():
    assert isinstance(dp.verify(program("dummy_sum_a")), Proved)
    fewer = program("dummy_sum_a", ("size(d) * eps", "(size(d) - 1) * eps"))
    assert isinstance(dp.verify(fewer), Refuted)
    cheap = dp.verify(program("dummy_sum_a_cheap"))
    assert isinstance(cheap, Refuted)
    assert cheap.witness.loss == pytest.approx(2, rel=1e-9)  # two prefixes, 2 eps
    assert isinstance(dp.verify(program("dummy_sum_b")), Proved)
    assert isinstance(dp.verify(program("dummy_sum_b", ("epsilon eps", "epsilon 9*eps/10"))), Refuted)
    assert prefix_sums(10, ADD_REMOVE).l1 == 10
    assert len(run(program("dummy_sum_b"), d=[0, 1, 1], eps=1)) == 3


@covers("001-P6", "001-P7")
def test_an_audit_of_both_running_sums_as_black_boxes_accuses_only_the_one_on_prefixes():
    noise = dp.Geometric.calibrate(epsilon=1)

    def on_prefixes(data, count):
        return noise.sample(np.tile(np.cumsum(data), (count, 1)))

    def on_items(data, count):
        return np.cumsum(noise.sample(np.tile(data, (count, 1))), axis=1)

    claim = {"epsilon": 1, "runs": 20_000, "batched": True, "confidence": "0.99999999"}
    left, right = np.array([0, 0, 0, 0]), np.array([1, 0, 0, 0])
    assert dp.audit(on_prefixes, left, right, **claim).violated
    assert not dp.audit(on_items, left, right, **claim).violated


@covers("001-W4")
def test_the_errors_of_the_two_running_sums_at_the_same_privacy():
    """n = 10: 200 / epsilon**2 for each prefix, or 2 i / epsilon**2 at step i, 11 / epsilon**2 on average."""
    promise, unit = dp.Pure(FINE), float(FINE) ** 2
    prefixes, items = EachPrefix.calibrate(10, promise), EachItem.calibrate(10, promise)
    assert prefixes.mean_squared_error() * unit == pytest.approx(200, rel=1e-5)
    assert [items.variance(i) * unit for i in (1, 5, 10)] == pytest.approx([2, 10, 20], rel=1e-5)
    assert items.mean_squared_error() * unit == pytest.approx(11, rel=1e-5)
    # Better still: a planned strategy for ten steps, a tree for a thousand.
    assert plan(Prefix(10), promise).error.mean * unit < 10.5
    tree, naive = TreeCounter.calibrate(1024, promise), EachItem.calibrate(1024, promise)
    assert tree.mean_squared_error() < naive.mean_squared_error() / 5


# Properties.


@covers("001-T2", "001-X1")
def test_nothing_computed_from_a_private_answer_is_less_private_so_answers_may_be_published():
    table = dp.Table.from_noise(dp.Geometric(HALF), 0, 3)
    for images in product(range(3), repeat=4):
        assert table.then(dict(enumerate(images))).ratio() <= table.ratio() == 2
    for last in (0, HALF, 1):
        second = dp.Table.of([[HALF, HALF], [1, 0], [THIRD, 2 * THIRD], [last, 1 - last]])
        assert table.then(second).ratio() <= 2


@covers("001-T3", "001-X2")
def test_a_group_of_k_is_protected_with_k_epsilon_and_no_less():
    """So privacy is meaningful at other granularities: a family, or one person's several records."""
    table = dp.Table.from_noise(dp.Geometric(HALF), 0, 6)
    assert [table.ratio(k) for k in (1, 2, 3)] == [2, 4, 8]
    promise = dp.Geometric(HALF).guarantee(1)
    assert [float(promise.group(k).cost) for k in (1, 2, 3)] == pytest.approx([log(2), log(4), log(8)])


@covers("001-T4")
def test_epsilons_and_deltas_add_up_and_pure_ones_exactly():
    one, two = dp.RandomizedResponse(Fraction(2)), dp.RandomizedResponse(Fraction(3))
    joint = [[p * q for p in one.pmf(x) for q in two.pmf(x)] for x in (0, 1)]
    assert dp.Table.of(joint).ratio() == 2 * 3
    together = dp.compose([dp.Approximate(1, "1e-7"), dp.Approximate(2, "1e-6")])
    assert together.epsilon("1.1e-6").high <= 3
    assert together.delta(3).high <= Fraction("1.1e-6")
    assert together.delta(3).low > Fraction("1.0999e-6")  # no accountant can promise less
    assert isinstance(dp.verify(program("two_releases")), Proved)
    more = program("two_releases", ("Total(q, eps/3)", "Total(q, eps/2)"))
    assert isinstance(dp.verify(more), Refuted)


@covers("001-T5", "001-X3", "001-W3")
@pytest.mark.parametrize("releases", [8, 3])
def test_a_budget_of_k_epsilon_pays_for_k_releases_and_refuses_the_next(releases):
    each = Fraction(1, 10)
    budget = dp.Filter(dp.PureBudget(releases * each))
    for spent in range(1, releases + 1):
        budget = budget.spend(dp.Cost.pure(each))
        assert budget.remaining.epsilon == releases * each - spent * each
    with pytest.raises(dp.BudgetError, match="remains"):
        budget.spend(dp.Cost.pure(each))
    assert dp.compose([(dp.Pure(each), releases)]).epsilon(0).high == releases * each


def split(records, routing):
    """Return how many ones there are in each part: by place in the list, or the records of each value."""
    if routing is Routing.INDEX:
        return sum(records[0::2]), sum(records[1::2])
    return records.count(0), records.count(1)


@covers("001-T6", "001-S11")
@pytest.mark.parametrize("adjacency", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("routing", list(Routing))
def test_parallel_releases_cost_the_maximum_unless_a_replaced_record_changes_part(adjacency, routing):
    """Two counts with geometric noise, one per part: all lists of up to three bits, and all neighbours."""
    alphas = (HALF, QUARTER)
    worst = Fraction(1)
    for size in (1, 2, 3):
        for records in product((0, 1), repeat=size):
            near = (
                [records[:-1]]
                if adjacency is ADD_REMOVE
                else [(*records[:i], 1 - records[i], *records[i + 1 :]) for i in range(size)]
            )
            for other in near:
                moves = zip(alphas, split(records, routing), split(other, routing), strict=True)
                # The pair of answers lies in R x R; its largest ratio is the product of the parts'.
                worst = max(worst, prod((1 / alpha) ** abs(a - b) for alpha, a, b in moves))
    claimed = parallel([dp.Geometric(alpha).guarantee(1) for alpha in alphas], adjacency, routing)
    assert float(claimed.cost) == pytest.approx(log(worst))
    moved_twice = adjacency is REPLACE and routing is Routing.VALUE
    assert worst == (2 * 4 if moved_twice else max(2, 4))


@covers("001-X4")
def test_the_laplace_mechanism_is_within_ln_one_over_beta_times_its_scale():
    for epsilon, beta in ((1, "0.05"), (HALF, "0.001")):
        noise = dp.Laplace.calibrate(epsilon=epsilon)
        radius = noise.radius(beta)
        assert float(radius) == pytest.approx(log(1 / float(beta)) / epsilon, rel=1e-4)
        # Exactly: outside the radius with probability at most beta, and a little inside with more.
        outside = 2 * noise.cdf(-radius - noise.step).high
        inside = 2 * noise.cdf(-radius * Fraction(99, 100)).low
        assert outside <= Fraction(beta) < inside


# Ten records of three bits.


@covers("001-W1", "001-W2")
def test_the_cumulative_values_and_marginals_of_the_table_are_those_printed():
    assert COUNTS.tolist() == [3, 1, 2, 0, 0, 3, 1, 0]
    assert (Prefix(8).apply(COUNTS) / 10).tolist() == [0.3, 0.4, 0.6, 0.6, 0.6, 0.9, 1, 1]
    bits = np.array([[int(bit) for bit in record] for record in RECORDS])
    tables = tabulate(bits, (2, 2, 2), [(0,), (1,), (2,)])
    assert [int(tables[place,][1]) / 10 for place in range(3)] == [0.4, 0.3, 0.4]


@covers("001-S8", "001-W3")
def test_the_cumulative_values_cost_seven_epsilon_and_the_marginals_three():
    """The last cumulative value is always 1; replacing 000 by 111 moves all others, and all three bits."""
    below = [lambda record, top=top: int(record <= top) for top in range(8)]
    ones = [lambda record, bit=bit: record >> bit & 1 for bit in range(3)]
    cumulative = scaled(workload(below, range(8), REPLACE), Fraction(1, 10))
    marginal = scaled(workload(ones, range(8), REPLACE), Fraction(1, 10))
    assert (cumulative.l1, cumulative.l2_squared) == (Fraction(7, 10), Fraction(7, 100))
    assert marginal.l1 == Fraction(3, 10)
    rows = [[int(record <= top) for record in range(8)] for top in range(8)]
    assert (
        workload_sensitivity(Matrix.of(rows), REPLACE).l1 == workload_sensitivity(Prefix(8), REPLACE).l1 == 7
    )
    # As printed, L(1 / epsilon) on each value: far more noise than 8 epsilon needs.  Here epsilon = 1.
    printed = dp.Laplace.calibrate(epsilon=1, sensitivity=1)
    assert float(printed.guarantee(cumulative).cost) == pytest.approx(0.7, rel=1e-4)
    # As meant, L(1 / (10 epsilon)), like the marginals: 7 epsilon, and 3 epsilon for those.
    meant = dp.Laplace.calibrate(epsilon=1, sensitivity=Fraction(1, 10))
    assert float(meant.guarantee(cumulative).cost) == pytest.approx(7, rel=1e-4)
    assert float(meant.guarantee(marginal).cost) == pytest.approx(3, rel=1e-4)
    # It is attained: at reports below all values, ten records 111 against nine of them and one 000.
    ratio = 1.0
    for query in below:
        here, there = query(7), Fraction(9 * query(7) + query(0), 10)
        ratio *= meant.density(-1 - here) / meant.density(-1 - float(there))
    assert log(ratio) == pytest.approx(7, rel=1e-4)


@covers("001-W5")
def test_a_histogram_with_least_squares_beats_eight_separate_releases():
    """Total epsilon 1, ten records: 1.28 for eight releases, 0.98 for seven, 0.12 on average together."""
    unit = float(FINE) ** 2 / 100
    separate = [float(dp.Geometric.calibrate(epsilon=FINE / k).variance) * unit for k in (8, 7)]
    assert separate == pytest.approx([1.28, 0.98], rel=1e-4)
    together = error(Prefix(8), identity(8), dp.Pure(FINE), REPLACE)
    by_hand = [0.08 * j * (8 - j) / 8 for j in range(1, 8)]
    assert np.mean(by_hand) == pytest.approx(0.12)
    assert together.total / 7 * unit == pytest.approx(0.12, rel=1e-4)
    assert 8 < separate[1] / 0.12 < separate[0] / 0.12 < 11
    estimate = plan(Prefix(8), dp.Pure(1), REPLACE).answer(COUNTS)
    assert estimate.values[-1] == pytest.approx(10)  # the public number of records


@covers("001-D8", "001-T1")
def test_a_count_with_laplace_noise_on_a_grid_is_private_over_all_events():
    table = dp.Table.from_noise(dp.Geometric(HALF), 0, 3)
    rows = {y: table.pmf(y) for y in range(4)}
    for a, b in [(y, z) for y in range(4) for z in (y - 1, y + 1) if 0 <= z < 4]:
        for event in events(range(4)):
            assert sum(rows[a][o] for o in event) <= 2 * sum(rows[b][o] for o in event)
    assert worst_ratio(rows, [(y, y + 1) for y in range(3)]) == 2
