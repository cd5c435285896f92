"""Quantiles by rank: the levels are the grid's scores, and their sensitivity is a theorem."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.quantile import Quantile
from discreet.privacy.adjacency import Adjacency

targets = st.builds(
    Quantile,
    st.fractions(0, 1, max_denominator=6),
    st.sampled_from([Fraction(0), Fraction(1), Fraction(-2), Fraction(1, 2)]),
)


def score_by_definition(target, records, value):
    rank = target.quantile * len(records) + target.offset
    below = sum(record < value for record in records)
    upto = sum(record <= value for record in records)
    return -target.unit * max(Fraction(0), below - rank, rank - upto)


def scores(target, records, size):
    positions, counts = np.unique(np.array(records, dtype=np.int64), return_counts=True)
    levels = target.levels(positions, counts, size)
    out = {}
    for score, width, start in zip(levels.scores, levels.sizes, levels.starts, strict=True):
        for value in range(int(start), int(start) + int(width)):
            assert value not in out
            out[value] = int(score)
    return out


@given(targets, st.lists(st.integers(0, 11), max_size=9))
def test_levels_give_every_grid_value_its_score_exactly_once(target, records):
    found = scores(target, records, 12)
    assert found == {value: score_by_definition(target, records, value) for value in range(12)}


@given(st.lists(st.integers(0, 11), min_size=1, max_size=9))
def test_the_best_candidates_of_the_median_are_the_medians(records):
    found = scores(Quantile.of("0.5"), records, 12)
    best = {value for value, score in found.items() if score == 0}
    assert int(np.median(records)) in best or set(records) & best
    assert sorted(records)[len(records) // 2] in best


@settings(max_examples=60)
@given(targets, st.lists(st.integers(0, 7), max_size=6), st.lists(st.integers(0, 7), min_size=1, max_size=3))
def test_adding_records_moves_no_score_by_more_than_the_sensitivity(target, records, added):
    before, after = scores(target, records, 8), scores(target, records + added, 8)
    limit = target.sensitivity(Adjacency.ADD_REMOVE, len(added)).linf
    assert max(abs(before[value] - after[value]) for value in range(8)) <= limit


@settings(max_examples=60)
@given(
    targets,
    st.lists(st.integers(0, 7), max_size=5),
    st.lists(st.integers(0, 7), max_size=2),
    st.lists(st.integers(0, 7), max_size=2),
)
def test_replacing_records_moves_no_score_by_more_than_the_sensitivity(target, rest, old, new):
    before, after = scores(target, rest + old, 8), scores(target, rest + new, 8)
    limit = target.sensitivity(Adjacency.REPLACE, 2).linf
    assert max(abs(before[value] - after[value]) for value in range(8)) <= limit


@pytest.mark.parametrize(
    "quantile", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)]
)
def test_the_sensitivities_are_attained(quantile):
    target = Quantile(quantile)
    moved = {Adjacency.ADD_REMOVE: 0, Adjacency.REPLACE: 0}
    for size in range(5):
        for records in combinations_with_replacement(range(4), size):
            before = scores(target, list(records), 4)
            for new in range(4):
                after = scores(target, [*records, new], 4)
                furthest = max(abs(before[v] - after[v]) for v in before)
                moved[Adjacency.ADD_REMOVE] = max(moved[Adjacency.ADD_REMOVE], furthest)
                if records:
                    swapped = scores(target, [*records[1:], new], 4)
                    furthest = max(abs(before[v] - swapped[v]) for v in before)
                    moved[Adjacency.REPLACE] = max(moved[Adjacency.REPLACE], furthest)
    for adjacency, furthest in moved.items():
        assert furthest == target.sensitivity(adjacency).linf


def test_a_score_that_ignores_ties_would_be_caught():
    # The broken twin: counting only the records below misplaces the median of equal records.
    records = [3, 3, 3, 3]
    naive = {value: -abs(2 * sum(r < value for r in records) - 4) for value in range(8)}
    assert naive != scores(Quantile.of("0.5"), records, 8)
    assert naive[3] == naive[0] < scores(Quantile.of("0.5"), records, 8)[3]


def test_the_private_median_is_private_end_to_end():
    target = Quantile.of("0.5")
    choice = Exponential.calibrate(epsilon=1, sensitivity=target.sensitivity(Adjacency.ADD_REMOVE))
    worst = Fraction(1)
    for size in range(4):
        for records in combinations_with_replacement(range(5), size):
            before = choice.pmf([scores(target, list(records), 5)[v] for v in range(5)])
            for new in range(5):
                after = choice.pmf([scores(target, [*records, new], 5)[v] for v in range(5)])
                worst = max(worst, *(max(p / q, q / p) for p, q in zip(before, after, strict=True)))
    assert 1.5 < float(worst) <= 2.718281828459046


def test_a_million_cells_on_an_astronomical_grid_are_sampled():
    rng = np.random.default_rng(5)
    positions = np.sort(rng.choice(2**40, 10**6, replace=False))
    counts = rng.integers(1, 10, 10**6)
    target = Quantile.of("0.9")
    levels = target.levels(positions, counts, 2**40)
    choice = Exponential.calibrate(epsilon=1, sensitivity=target.sensitivity(Adjacency.ADD_REMOVE))
    value = choice.sample(levels)
    rank = int(counts[positions < value].sum()) / int(counts.sum())
    # Missing the rank by more than 10**-4 of 5 million records has probability far below 10**-100.
    assert abs(rank - 0.9) < 1e-4


def test_the_grid_may_be_wider_than_machine_integers():
    levels = Quantile.of("0.5").levels([5, 2**199], [1, 1], 2**200)
    assert levels.candidates == 2**200
    value = Exponential.calibrate(epsilon=50, sensitivity=1).sample(levels)
    assert 5 <= value <= 2**199


def test_no_records_leave_every_value_equally_good():
    levels = Quantile.of("0.5").levels([], [], 10)
    assert (levels.scores.tolist(), levels.sizes.tolist()) == ([0], [10])


def test_a_minimum_aims_inside_the_records_when_told_to():
    found = scores(Quantile.of(0, 2), [4, 5, 6, 7], 9)
    assert [value for value, score in found.items() if score == 0] == [5, 6]
    found = scores(Quantile.of(1, -1), [4, 5, 6, 7], 9)
    assert [value for value, score in found.items() if score == 0] == [6, 7]


@pytest.mark.parametrize(
    ("positions", "counts", "size"),
    [
        ([3, 2], [1, 1], 9),
        ([1, 1], [1, 1], 9),
        ([9], [1], 9),
        ([-1], [1], 9),
        ([1], [-1], 9),
        ([1], [1, 2], 9),
        ([], [], 0),
    ],
)
def test_impossible_cells_are_refused(positions, counts, size):
    with pytest.raises(ParameterError):
        Quantile.of("0.5").levels(positions, counts, size)


@pytest.mark.parametrize("quantile", ["1.5", -1, "nan"])
def test_impossible_quantiles_are_refused(quantile):
    with pytest.raises(ParameterError, match="quantile"):
        Quantile.of(quantile)
