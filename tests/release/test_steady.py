"""Running counts are shown so that they never fall, no further from the truth than what was drawn."""

from fractions import Fraction
from itertools import pairwise

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from discreet.release.opening import open as open_session
from discreet.release.steady import steady

numbers = st.fractions(-9, 9, max_denominator=4)


def by_averages(drawn: list[Fraction]) -> list[Fraction]:
    """Return the same sequence by its formula: the least of the largest averages."""
    size = len(drawn)

    def mean(first: int, last: int) -> Fraction:
        return sum(drawn[first : last + 1], Fraction(0)) / (last + 1 - first)

    found = [min(max(mean(k, j) for k in range(i + 1)) for j in range(i, size)) for i in range(size)]
    return [max(value, Fraction(0)) for value in found]


@given(st.lists(numbers, max_size=9))
def test_the_nearest_sequence_that_never_falls_is_found(drawn: list[Fraction]) -> None:
    assert steady(drawn) == by_averages(drawn)


@given(st.lists(st.tuples(numbers, st.fractions(0, 3, max_denominator=4)), min_size=1, max_size=12))
def test_no_truth_that_never_falls_is_further_away_than_before(
    pairs: list[tuple[Fraction, Fraction]],
) -> None:
    truth = [sum((step for _, step in pairs[: n + 1]), Fraction(0)) for n in range(len(pairs))]
    drawn = [t + noise for t, (noise, _) in zip(truth, pairs, strict=True)]
    shown = steady(drawn)
    assert all(a <= b for a, b in pairwise(shown))
    assert shown[0] >= 0

    def errors(found: list[Fraction]) -> list[Fraction]:
        return [abs(a - b) for a, b in zip(found, truth, strict=True)]

    assert max(errors(shown)) <= max(errors(drawn))
    assert sum(e * e for e in errors(shown)) <= sum(e * e for e in errors(drawn))


def test_a_distribution_of_few_people_never_falls_and_what_was_drawn_is_kept() -> None:
    frame = pd.DataFrame({"person": range(40), "age": [20] * 20 + [70] * 20})
    columns = {"age": {"type": "integer", "low": 0, "high": 99}}
    opened = {"people": frame, "unit": "person", "rows_per_unit": 1, "columns": columns, "epsilon": 1}
    with open_session(**opened) as data:
        answer = data.query("SELECT CDF(age) AS n FROM people", epsilon="0.5")
    shown = [row[-1] for row in answer]
    drawn = [row[-1] for row in answer.as_drawn()]
    assert all(a <= b for a, b in pairwise(shown))
    assert shown[0] >= 0
    # A hundred noisy running counts that all rise by themselves are as good as impossible.
    assert any(a > b for a, b in pairwise(drawn))
    assert all(row["n_low"] <= row["n"] <= row["n_high"] for row in answer.intervals())
