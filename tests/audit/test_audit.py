"""What audits find, what they must not find, and how often they may be wrong."""

from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from scipy.stats import binom
from tests.audit.seeded import seeded

from discreet.audit import Consistent, Violated, audit, audit_pairs, audit_until, search
from discreet.audit import specimens as sp
from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector


@pytest.mark.parametrize(("runs", "repeats", "bound"), [(20_000, 9, 0.93), (200_000, 5, 0.97)])
def test_laplace_bounds_come_close_to_the_truth(runs, repeats, bound):
    laplace = Laplace.calibrate(epsilon=1)
    with seeded(1):
        found = [
            audit(laplace, 0.0, 1.0, epsilon=1, runs=runs, confidence="0.95").epsilon_lower
            for _ in range(repeats)
        ]
    assert median(found) >= bound


SOUND = [
    (Geometric.calibrate(epsilon=1), 0, 1, 1, 0),
    (RandomizedResponse.calibrate(epsilon=2), 0, 1, 2, 0),
    (Gaussian.calibrate(epsilon=1, delta="0.05"), 0, 1, 1, "0.05"),
    (Geometric.calibrate(epsilon="0.2", sensitivity=2), (0, 0), (1, -1), "0.2", 0),
]


def false_alarms(subjects, audits, runs):
    alarms = 0
    for turn in range(audits):
        subject, left, right, epsilon, delta = subjects[turn % len(subjects)]
        verdict = audit(subject, left, right, epsilon=epsilon, delta=delta, runs=runs, confidence="0.95")
        alarms += verdict.violated
    return alarms


def test_correct_mechanisms_are_reported_violated_no_more_often_than_the_confidence_allows():
    """Three hundred audits at 95 %; the count of false alarms is within a 1e-7 binomial limit."""
    audits = 300
    with seeded(2):
        alarms = false_alarms(SOUND[:3], audits, 300)
    assert alarms <= binom.isf(1e-7, audits, 0.05)
    # The stated confidence is not merely a formality: the game is close to its limit for some of these.
    assert alarms > 0


@pytest.mark.fuzz
def test_correct_mechanisms_are_rarely_accused_over_many_audits():
    audits = 12_000
    alarms = false_alarms(SOUND, audits, 400)
    assert alarms <= binom.isf(1e-7, audits, 0.05)


def test_a_tenth_more_epsilon_than_claimed_is_caught_with_ten_million_draws():
    with seeded(3):
        verdict = audit(Geometric.calibrate(epsilon="1.1"), 0, 1, epsilon=1, runs=5_000_000)
    assert isinstance(verdict, Violated)
    assert 1.09 < verdict.epsilon_lower < 1.105


def test_the_honest_twin_of_the_dishonest_geometric_is_not_accused():
    with seeded(4):
        verdict = audit(Geometric.calibrate(epsilon=1), 0, 1, epsilon=1, runs=5_000_000)
    assert isinstance(verdict, Consistent)
    assert 0.995 < verdict.epsilon_lower <= 1


def test_naive_floating_point_laplace_is_caught_by_its_bits():
    with seeded(5):
        verdict = audit(sp.float_laplace(0.1), 0.0, 1.0, epsilon="0.1", batched=True)
    assert isinstance(verdict, Violated)
    assert verdict.epsilon_lower > 3
    assert "lowest set bit" in str(verdict)


def test_laplace_on_the_grid_has_no_such_bits():
    with seeded(6):
        verdict = audit(Laplace.calibrate(epsilon="0.1"), 0.0, 1.0, epsilon="0.1")
    assert isinstance(verdict, Consistent)


def test_one_noise_draw_broadcast_to_several_groups_is_caught():
    with seeded(7):
        verdict = audit(
            sp.broadcast_histogram(10.0), (3, 1, 4), (3, 2, 4), epsilon="0.1", runs=2000, batched=True
        )
        twin = audit(sp.histogram(10.0), (3, 1, 4), (3, 2, 4), epsilon="0.1", runs=1000, batched=True)
    assert isinstance(verdict, Violated)
    assert verdict.epsilon_lower > 5
    assert "output[1] - output[0]" in str(verdict.event) or "output[2] - output[1]" in str(verdict.event)
    assert isinstance(twin, Consistent)


def test_gaussian_noise_is_consistent_with_its_delta_and_not_with_a_smaller_one():
    noise = Gaussian.calibrate(epsilon=1, delta="0.02")
    with seeded(8):
        assert not audit(noise, 0, 1, epsilon=1, delta="0.02", runs=200_000).violated
        assert audit(noise, 0, 1, epsilon=1, delta="0.005", runs=200_000).violated


def test_publishing_the_noisy_maximum_itself_is_caught_and_its_position_is_not():
    """With five answers the value of the maximum costs five halves of epsilon."""
    with seeded(9):
        value = search(sp.noisy_max(1, value=True), 5, epsilon=1, runs=60_000, batched=True)
        place = search(sp.noisy_max(1), 5, epsilon=1, runs=60_000, batched=True)
    assert isinstance(value, Violated)
    assert value.epsilon_lower > 2
    assert isinstance(place, Consistent)


LONG = pytest.mark.fuzz


@pytest.mark.parametrize(
    "variant",
    [*(pytest.param(variant, marks=LONG) for variant in (3, 4, 6)), 5],
)
def test_broken_sparse_vectors_are_caught(variant):
    with seeded(10 + variant):
        verdict = search(
            sp.sparse_vector(variant, 1.0),
            8,
            epsilon=1,
            runs=10_000 if variant == 5 else 40_000,
            batched=True,
        )
    assert isinstance(verdict, Violated)


@pytest.mark.fuzz
@pytest.mark.parametrize("variant", [1, 2])
def test_correct_sparse_vectors_are_not_accused_and_most_of_their_cost_is_seen(variant):
    with seeded(30 + variant):
        verdict = search(sp.sparse_vector(variant, 1.0), 8, epsilon=1, runs=100_000, batched=True)
    assert isinstance(verdict, Consistent)
    assert verdict.epsilon_lower > 0.3


@pytest.mark.fuzz
def test_two_mechanisms_side_by_side_are_told_apart_by_both():
    """Each alone is consistent with the claim; their outputs together are not."""
    pair = sp.both(sp.noisy_max(1), sp.sparse_vector(1, 1.0))
    with seeded(25):
        verdict = audit(pair, (0,) * 4, (-1, 1, 1, 1), epsilon=1, runs=200_000, batched=True)
    assert isinstance(verdict, Violated)


@pytest.mark.fuzz
def test_sessions_with_structured_outputs_can_be_audited():
    """The product's own sparse vector returns None or a gap; neither is a plain number."""
    mechanism = SparseVector.calibrate(epsilon=1, answers=1)

    def run(values):
        session = mechanism.start(5)
        answers = []
        for value in values:
            answers.append(session.ask(value))
            if session.left == 0:
                break
        return tuple(answers)

    with seeded(30):
        verdict = audit(run, (5, 5, 5), (4, 4, 6), epsilon=1, runs=4_000)
    assert isinstance(verdict, Consistent)
    assert verdict.epsilon_lower > 0.2


def test_choices_are_audited_one_by_one():
    mechanism = NoisyMax.calibrate(epsilon=1)
    with seeded(31):
        verdict = audit_pairs(
            mechanism, [((0, 0), (0, 1)), ((0, 0), (-1, 1))], epsilon=1, runs=3_000, search_runs=400
        )
    assert isinstance(verdict, Consistent)
    assert verdict.right == (-1, 1)


def test_a_leak_through_structure_is_caught():
    """The number of rows is as good as a name."""
    with seeded(32):
        verdict = audit(lambda rows: ["x"] * len(rows), (1, 2), (1, 2, 3), epsilon=1, runs=500)
    assert isinstance(verdict, Violated)


def test_one_event_is_described_in_words_and_can_be_replayed():
    with seeded(33):
        verdict = audit(Geometric.calibrate(epsilon=3), 0, 1, epsilon=1, runs=2_000)
    assert isinstance(verdict, Violated)
    assert "VIOLATED" in str(verdict)
    guesses = verdict.event.guess(np.array([-5, 0, 1, 6]))
    assert list(guesses) == [-1, -1, 1, 1]


def test_a_consistent_verdict_never_says_private():
    with seeded(34):
        verdict = audit(Geometric.calibrate(epsilon=1), 0, 1, epsilon=1, runs=1_000)
    assert "private" not in str(verdict)
    assert str(verdict).startswith("consistent with epsilon 1; at least")


def test_sequential_audits_stop_early_on_gross_violations():
    with seeded(35):
        verdict = audit_until(Geometric.calibrate(epsilon=3), 0, 1, epsilon=1)
    assert isinstance(verdict, Violated)
    assert verdict.tally.trials < 4_000


def test_sequential_audits_find_small_violations_with_more_runs():
    with seeded(36):
        verdict = audit_until(Geometric.calibrate(epsilon="1.1"), 0, 1, epsilon=1, at_most=400_000)
    assert isinstance(verdict, Violated)
    assert verdict.epsilon_lower <= Fraction("1.1")


def sequential_alarms(audits):
    alarms = 0
    for _ in range(audits):
        verdict = audit_until(
            Geometric.calibrate(epsilon=1), 0, 1, epsilon=1, first=100, at_most=1_600, confidence="0.9"
        )
        alarms += verdict.violated
        assert verdict.epsilon_lower <= 1 or verdict.violated
    return alarms


@pytest.mark.parametrize("audits", [80, pytest.param(2_000, marks=LONG)])
def test_sequential_audits_rarely_accuse_the_innocent_however_long_they_watch(audits):
    """Each audit at 90 % looks after every doubling; false alarms are within a 1e-7 binomial limit."""
    with seeded(37):
        assert sequential_alarms(audits) <= binom.isf(1e-7, audits, 0.1)


def test_workers_make_the_same_kind_of_runs():
    seen = []
    verdict = audit(
        Geometric.calibrate(epsilon=2).sample, 0, 1, epsilon=1, runs=3_000, workers=2, progress=seen.append
    )
    assert verdict.epsilon_lower > 1
    assert sum(seen) == 6_000


def test_parameters_are_refused_with_reasons():
    with pytest.raises(ParameterError, match="runs must be at least 100"):
        audit(Geometric.calibrate(epsilon=1), 0, 1, epsilon=1, runs=10)
    with pytest.raises(ParameterError, match="confidence"):
        audit(Geometric.calibrate(epsilon=1), 0, 1, epsilon=1, confidence=1)
    with pytest.raises(ParameterError, match="function or a mechanism"):
        audit(3, 0, 1, epsilon=1)
    with pytest.raises(ParameterError, match="pair"):
        audit_pairs(Geometric.calibrate(epsilon=1), [], epsilon=1)
