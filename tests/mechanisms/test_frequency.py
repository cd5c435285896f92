"""Local reports: exact laws, exact estimates, and bands that hold."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms.frequency import band, estimated, squared_error

ONE = Fraction(1)


def _reports(oracle):
    """Return all reports of an oracle, and for each the values for which it speaks."""
    k = oracle.categories
    match oracle:
        case dp.RandomizedResponse():
            return {y: {y} for y in range(k)}
        case dp.UnaryEncoding():
            return {bits: {v for v in range(k) if bits[v]} for bits in product((False, True), repeat=k)}
        case dp.HadamardResponse():
            return {
                y: {v for v in range(k) if ((v + 1) & y).bit_count() % 2 == 0} for y in range(oracle.size)
            }
        case dp.SubsetSelection():
            return {some: set(some) for some in combinations(range(k), oracle.chosen)}


def _law(oracle, value):
    if isinstance(oracle, dp.RandomizedResponse):
        return dict(enumerate(oracle.pmf(value)))
    return {report: oracle.pmf(value, report) for report in _reports(oracle)}


ORACLES = [
    dp.RandomizedResponse(Fraction(3), 5),
    dp.UnaryEncoding(Fraction(1, 2), Fraction(1, 5), 4),
    dp.UnaryEncoding.calibrate(epsilon=1, categories=3, symmetric=True),
    dp.HadamardResponse(Fraction(3), 5),
    dp.HadamardResponse(Fraction(7, 2), 3),
    dp.SubsetSelection(Fraction(2), 5, 2),
    dp.SubsetSelection(Fraction(4), 6, 3),
    dp.SubsetSelection(Fraction(4), 4, 1),
]


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_laws_add_up_and_keep_their_promise_exactly(oracle):
    laws = [_law(oracle, value) for value in range(oracle.categories)]
    ratios = set()
    for one in laws:
        assert sum(one.values()) == 1
        for other in laws:
            ratios |= {one[report] / other[report] for report in one}
    odds = oracle.odds
    assert max(ratios) == odds
    assert oracle.guarantee().epsilon().high >= oracle.profile().epsilon().low


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_reports_speak_for_the_truth_and_for_others_as_often_as_stated(oracle):
    spoken = _reports(oracle)
    for value in range(oracle.categories):
        law = _law(oracle, value)
        for other in range(oracle.categories):
            chance = sum((p for report, p in law.items() if other in spoken[report]), Fraction(0))
            assert chance == (oracle.truth if other == value else oracle.lie)


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_profiles_are_the_laws_of_two_values(oracle):
    one, two = _law(oracle, 0), _law(oracle, 1)
    for x in (ONE, Fraction(3, 2), Fraction(2)):
        exact = sum((max(one[r] - x * two[r], Fraction(0)) for r in one), Fraction(0))
        law = oracle.profile().law
        atoms = law.atoms if hasattr(law, "hockey_stick") else None
        found = (
            law.hockey_stick(x) if atoms else sum(max(p - x * q, Fraction(0)) for p, q in law.atoms().atoms)
        )
        assert found == exact


def _fits(counts, chances, people):
    """Whether the counts are what the chances say, at a false alarm of less than 1e-9 for all of them."""
    for report, chance in chances.items():
        p = float(chance)
        room = 7.5 * np.sqrt(people * p * (1 - p)) + 12
        assert abs(counts.get(report, 0) - people * p) <= room, report


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_draws_have_the_law_and_are_counted_right(oracle):
    people = 20_000
    value = oracle.categories - 1
    reports = oracle.sample(np.full(people, value))
    rows = [tuple(r.tolist()) if r.ndim else int(r) for r in np.asarray(reports)]
    counts = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    _fits(counts, _law(oracle, value), people)
    spoken = _reports(oracle)
    by_hand = [sum(n for row, n in counts.items() if v in spoken[row]) for v in range(oracle.categories)]
    assert list(oracle.supports(reports)) == by_hand


@pytest.mark.parametrize("oracle", ORACLES, ids=str)
def test_estimates_are_unbiased_and_their_squared_error_is_as_stated(oracle):
    k, spoken = oracle.categories, _reports(oracle)
    law = _law(oracle, 0)
    means, squares = [Fraction(0)] * k, Fraction(0)
    for report, chance in law.items():
        for v in range(k):
            found = estimated(oracle, 1 if v in spoken[report] else 0, 1)
            means[v] += chance * found
            squares += chance * (found - (1 if v == 0 else 0)) ** 2
    assert means == [1] + [0] * (k - 1)
    assert squares == squared_error(oracle)


def test_the_band_covers_all_values_at_once():
    oracle = dp.frequency_oracle(epsilon=1, categories=16)
    truth = np.repeat(np.arange(16), np.arange(1, 17) * 100)
    counts, missed = np.bincount(truth).tolist(), 0
    for _ in range(20):
        found = dp.frequencies(oracle, oracle.sample(truth), beta="0.05")
        inside = [low <= n <= high for (low, high), n in zip(found.intervals, counts, strict=True)]
        missed += not all(inside)
    # Each misses with a chance of at most 0.05: more than 12 of 20 come about once in 10**11.
    assert missed <= 12
    assert found.people == len(truth)


def test_bands_shrink_with_people_and_grow_with_certainty():
    oracle = dp.HadamardResponse.calibrate(epsilon=1, categories=100)
    assert band(oracle, 10_000) / 10_000 < band(oracle, 100) / 100
    assert band(oracle, 10_000, "0.001") > band(oracle, 10_000, "0.1")


def test_the_best_report_depends_on_epsilon_and_the_domain():
    kinds = {(e, k): type(dp.frequency_oracle(e, k)) for e in ("0.5", "6") for k in (2, 4, 200)}
    assert kinds["6", 4] in (dp.RandomizedResponse, dp.SubsetSelection)
    assert kinds["0.5", 200] is dp.SubsetSelection
    errors = dp.frequency_oracles("1", 50)
    assert list(errors.values()) == sorted(errors.values())
    for oracle in errors:
        assert oracle.guarantee().epsilon().high <= 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: dp.UnaryEncoding(Fraction(1, 2), Fraction(1, 2), 3),
        lambda: dp.UnaryEncoding(Fraction(1, 2), Fraction(1, 4), 1),
        lambda: dp.HadamardResponse(1, 3),
        lambda: dp.HadamardResponse(2, 1),
        lambda: dp.SubsetSelection(2, 4, 4),
        lambda: dp.SubsetSelection(2, 4, 0),
        lambda: dp.SubsetSelection(2, 4, 2).sample(4),
        lambda: dp.HadamardResponse(2, 4).sample([-1]),
        lambda: dp.UnaryEncoding(Fraction(1, 2), Fraction(1, 4), 3).supports([[1, 0, 1]]),
        lambda: dp.SubsetSelection(2, 4, 2).supports([[0, 1, 2]]),
        lambda: dp.HadamardResponse(2, 4).supports([8]),
        lambda: dp.frequency_oracle(1, 1),
        lambda: dp.frequencies(dp.HadamardResponse(2, 4), [], beta="0.1"),
        lambda: dp.frequencies(dp.HadamardResponse(2, 4), [1], beta=0),
    ],
)
def test_what_makes_no_sense_is_refused(ask):
    with pytest.raises(ParameterError):
        ask()
