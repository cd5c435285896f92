"""Scores of candidates: whole numbers, of which only the distances to the best matter.

A mechanism that selects sees each candidate's gap, the best score minus its own.  Scores are integers so
that every probability is rational; rational scores become integers when they and their sensitivity are
multiplied by a common denominator, which changes neither the selection nor its privacy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import LONGEST as LONGEST_NUMBER
from discreet.exact.number import MOST_PRECISE, Real, ends, flag, positive, probability, rational, whole
from discreet.privacy.bounds import Bounds
from discreet.privacy.sensitivity import Sensitivity

Scores = Sequence[int] | NDArray[Any]

SAFE = 2**62

LONGEST = 2**24
"""Bits of the largest power that an exact law may need; beyond, only enclosures are computed."""


def gaps(scores: Scores) -> NDArray[Any]:
    """Return best - score for each candidate: int64, or object holding Python integers."""
    array = np.asarray(scores)
    if array.ndim != 1 or array.size == 0:
        raise ParameterError("scores must be a list of at least one integer, one for each candidate")
    if array.dtype == object and all(isinstance(s, int) and not isinstance(s, bool) for s in array):
        pass
    elif array.dtype.kind not in "iu":
        raise ParameterError(
            f"scores must be integers, got {array.dtype}; multiply the scores and their sensitivity "
            "by a common denominator"
        )
    best, worst = int(array.max()), int(array.min())
    if max(abs(best), abs(worst), best - worst) < SAFE:
        return np.asarray(best - array.astype(np.int64))
    exact: NDArray[Any] = best - array.astype(object)
    return exact.astype(np.int64) if best - worst < SAFE else exact


def gaps_of_rows(scores: Sequence[Scores] | NDArray[Any]) -> NDArray[np.int64]:
    """Return best - score in every row of a table of integer scores, one column for each candidate."""
    try:
        array = np.asarray(scores)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "iu":
        raise ParameterError(
            "scores must be a table of integers of at most 64 bits, one row for each selection and one "
            "column for each candidate"
        )
    best = array.max(axis=1, keepdims=True)
    if array.size and max(abs(int(best.max())), abs(int(array.min()))) >= SAFE // 2:
        raise ParameterError(
            f"scores of many selections must lie between -2**61 and 2**61; got {array.dtype}"
        )
    return np.asarray(np.subtract(best, array, dtype=np.int64, casting="unsafe"))


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best score, and how many candidates attain it."""

    score: int
    candidates: int


def optimum(scores: Scores, sizes: Sequence[int] | NDArray[Any] | None = None) -> Optimum:
    """Return OPT and |R_OPT|; with `sizes`, each score is that of so many candidates."""
    distance = gaps(scores)
    counted = [1] * len(distance) if sizes is None else [int(size) for size in sizes]
    if len(counted) != len(distance) or min(counted) < 1:
        raise ParameterError("sizes must be one number of at least 1 for each score")
    best = max(int(score) for score in np.asarray(scores))
    return Optimum(best, sum(size for gap, size in zip(distance, counted, strict=True) if gap == 0))


@dataclass(frozen=True, slots=True)
class Fitness:
    """Whether a score says what it should: two outcomes that contradict each property, or None.

    ordered   better outcomes get higher scores: no worse outcome scores above a better one
    graded    a close second is told from a very bad outcome: no two of different merit score the same
    """

    disorder: tuple[int, int] | None
    tie: tuple[int, int] | None

    @property
    def ordered(self) -> bool:
        """Return whether no worse outcome scores above a better one."""
        return self.disorder is None

    @property
    def graded(self) -> bool:
        """Return whether outcomes of different merit have different scores."""
        return self.tie is None


def fitness(scores: Scores, merits: Sequence[Real]) -> Fitness:
    """Judge scores by what outcomes are really worth; offending pairs are named better one first."""
    distance, worth = gaps(scores), [rational(merit, "merit") for merit in merits]
    if len(worth) != len(distance):
        raise ParameterError("merits must be one number for each score")
    better = [(a, b) for a, b in product(range(len(worth)), repeat=2) if worth[a] > worth[b]]
    return Fitness(
        next(((a, b) for a, b in better if distance[a] > distance[b]), None),
        next(((a, b) for a, b in better if distance[a] == distance[b]), None),
    )


def expandable(alpha: Fraction, furthest: int) -> None:
    """Refuse to write out a law whose exact fractions would have millions of digits."""
    if furthest * alpha.denominator.bit_length() > LONGEST:
        raise ParameterError(
            "these scores are so far apart that exact fractions would have millions of digits; use chances"
        )


def enclosed(law: Callable[[], Sequence[arb]], bits: int = 64) -> tuple[Bounds, ...]:
    """Return rationals around each probability, agreeing to `bits`, raising the precision until they do."""
    precision = 2 * bits
    while True:
        with ctx.workprec(precision):
            values = law()
            if all(value.rel_accuracy_bits() >= bits for value in values):
                return _bounds(values)
            if precision > MOST_PRECISE + 2 * LONGEST_NUMBER:
                return _bounds(values)
        precision *= 2


def _bounds(values: Sequence[arb]) -> tuple[Bounds, ...]:
    pairs = (ends(value) for value in values)
    return tuple(Bounds(max(low, Fraction(0)), min(high, Fraction(1))) for low, high in pairs)


def reach(sensitivity: Sensitivity | Real, *, monotone: bool) -> Fraction:
    """Return how far a gap can move: twice the sensitivity of a score, or once when all move one way."""
    change = positive(Sensitivity.of(sensitivity).linf, "sensitivity")
    return change if flag(monotone, "monotone") else 2 * change


def quantile_of_gap(law: Sequence[Fraction], gap: Sequence[int] | NDArray[Any], beta: Real) -> int:
    """Return the smallest s with Pr[gap of the selected > s] <= beta."""
    left = Fraction(1)
    bound = probability(beta, "beta")
    by_gap: dict[int, Fraction] = {}
    for distance, p in zip(gap, law, strict=True):
        by_gap[int(distance)] = by_gap.get(int(distance), Fraction(0)) + p
    for distance in sorted(by_gap):
        left -= by_gap[distance]
        if left <= bound:
            return distance
    raise ParameterError("the probabilities of the candidates must add up to 1")


def mean_gap(law: Sequence[Fraction], gap: Sequence[int] | NDArray[Any]) -> Fraction:
    """Return the expected gap of the selected candidate."""
    return sum((int(distance) * p for distance, p in zip(gap, law, strict=True)), Fraction(0))


def several(candidates: int | None) -> int:
    """Return the number of candidates, refusing fewer than one."""
    number = whole(0 if candidates is None else candidates, "candidates")
    if number < 1:
        raise ParameterError(f"candidates must be a whole number of at least 1, got {candidates!r}")
    return number


def one_of(candidates: int | None, scores: object | None) -> None:
    """Refuse a question about accuracy that names neither or both of `candidates` and `scores`."""
    if (candidates is None) == (scores is None):
        raise ParameterError("name either candidates (the worst case over all scores) or scores, not both")
