"""How often intervals hold the truth, for every kind of column, few people and many, at any noise."""

from math import sqrt

import numpy as np
import pytest
from benchmarks.coverage import COUNTS, DELTA, EPSILONS, KINDS, RUNS, SURE, shares

FEW = 100
"""Tables of a thousand cells are judged in fewer runs: as many intervals as elsewhere, and more."""


def least(shown: int) -> float:
    """Return the least share that is not short: of some ten thousand rows one is below once in 10^7 times."""
    return SURE - 7 * sqrt(SURE * (1 - SURE) / shown)


@pytest.mark.fuzz
@pytest.mark.parametrize("people", COUNTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [None, DELTA])
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_as_often_as_they_say(name: str, delta: str | None, epsilon: str, people: int) -> None:
    found = shares(KINDS[name], people, epsilon, delta, FEW if name == "sparse cells" else RUNS)
    for share, shown in zip(*found, strict=True):
        # A key that is hardly ever found is left to those that are.
        assert shown < RUNS // 40 or share >= least(shown)


@pytest.mark.fuzz
@pytest.mark.parametrize("people", [40, 1000])
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.closed])
def test_intervals_of_known_laws_are_no_wider_than_they_need_be(name: str, people: int) -> None:
    """At a small epsilon, where neither steps of noise nor the end of counts at zero widen them."""
    share, _ = shares(KINDS[name], people, "0.1" if people > 40 else "1", None)
    widest = 0.97 if people > 40 else 0.99
    assert (share <= widest + 5.5 * sqrt(widest * (1 - widest) / RUNS)).all(), share


@pytest.mark.fuzz
def test_a_key_that_many_people_have_is_found() -> None:
    _, shown = shares(KINDS["keys found"], 1000, "1", DELTA)
    assert np.all(shown >= RUNS // 2)
