"""Choosing an event on training runs: many scores, one yardstick.

The training runs are split.  On the first part the scores are learned; on the second, every score is tried
with every pair of thresholds, and the pair wins whose Clopper-Pearson bound is largest: the very kind of
number that will be reported, at a stricter level since it is the largest of thousands.  So the search
prefers a common event with a modest ratio to a rare one with a huge ratio exactly as far as the sample
warrants.

A rare decisive event cannot win there: seen a dozen times in training, it looks like luck.  So the runners-up
are kept beside the winner: of each score the pair of thresholds that would bound most if the game went on as
the training did.  They play in the same game, each for a share of the error.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.candidates import candidates
from discreet.audit.evidence import Tally, free_guesses, guess_bound
from discreet.audit.features import Column
from discreet.audit.outputs import Layout
from discreet.audit.score import Event, FeatureScore, Score

THRESHOLDS = 250
"""Thresholds tried on each side of a score."""

CAUTION = 0.001
"""The level of the bounds compared, stricter still among many: the best must not win by luck alone."""

HEARING = 100_000
"""Rows per input on which all scores are compared before the best are compared on all rows."""

PLAIN = 0.97
"""The share of the best bound at which a single number is preferred to a learned table."""

SHORTLIST = 8
"""Scores that are compared on all rows."""

RUNNERS_UP = 8
"""Events that play beside the best."""

GAME = 6
"""Trials of the game for one trial on which thresholds are compared: three quarters to an eighth."""

HOPEFUL = 4.5
"""Standard deviations of Wilson's limit where rare events are compared."""

FINALISTS = 12
"""Pairs of thresholds whose exact bound is computed, after ranking by a normal approximation."""


def learn(
    left: object,
    right: object,
    delta: Fraction = Fraction(0),
    *,
    caution: float | None = None,
    steps: int = THRESHOLDS,
) -> Event:
    """Return the event that promises the largest bound, from training outputs of both inputs.

    `caution` is the level of the bounds compared, by default so strict that none wins by luck alone.
    """
    return study(left, right, delta, caution=caution, steps=steps)[0]


def study(
    left: object,
    right: object,
    delta: Fraction = Fraction(0),
    *,
    caution: float | None = None,
    steps: int = THRESHOLDS,
) -> tuple[Event, ...]:
    """Return the event that promises the largest bound, then those that might win by being rare."""
    layout = Layout.of(left, right)
    rows = layout.rows(left), layout.rows(right)
    first = rows[0][::2], rows[1][::2]
    second = rows[0][1::2], rows[1][1::2]
    scores = list(candidates(layout, *first))
    # Among so many comparisons about one is this lucky.
    level = caution or min(CAUTION, 1 / (len(scores) * THRESHOLDS))
    if len(second[0]) + len(second[1]) > 2 * HEARING:
        heard = second[0][:HEARING], second[1][:HEARING]
        scores = _shortlist(
            scores,
            [thresholds(score.of(heard[0]), score.of(heard[1]), delta, 80, level) for score in scores],
        )
    tried = [
        (thresholds(score.of(second[0]), score.of(second[1]), delta, steps, level), score) for score in scores
    ]
    cut, score = max(tried, key=_merit)
    plain = max(
        (pair for pair in tried if isinstance(pair[1], FeatureScore)), key=_merit, default=(cut, score)
    )
    # Bins fitted to luck win narrowly here and lose on fresh runs; one number against thresholds does not.
    if plain[0].bound >= PLAIN * cut.bound > 0:
        cut, score = plain
    best = Event(layout, score, cut.low, cut.high)
    rare = sorted(tried, key=lambda pair: -pair[0].hope)[:RUNNERS_UP]
    return best, *(
        Event(layout, other, *cut.rare)
        for cut, other in rare
        if cut.hope > -np.inf and (other is not score or cut.rare != (best.low, best.high))
    )


def _shortlist(scores: "list[Score]", cuts: "list[Cut]") -> "list[Score]":
    by_promise = np.argsort([-cut.promise for cut in cuts], kind="stable")
    by_hope = np.argsort([-cut.hope for cut in cuts], kind="stable")
    plain = [place for place in by_promise[SHORTLIST:] if isinstance(scores[place], FeatureScore)][:1]
    chosen = dict.fromkeys([*by_promise[:SHORTLIST], *plain, *by_hope[: SHORTLIST // 2]])
    return [scores[place] for place in chosen]


def _merit(pair: "tuple[Cut, Score]") -> tuple[float, float]:
    return pair[0].bound, pair[0].promise


@dataclass(frozen=True, slots=True)
class Cut:
    """A pair of thresholds, the bound it earned and a smooth promise that also ranks hopeless ones.

    `rare` are the thresholds that would bound most in a game that goes on alike, and `hope` is how much.
    """

    low: float
    high: float
    bound: float
    promise: float
    rare: tuple[float, float] = (-np.inf, np.inf)
    hope: float = -np.inf


def thresholds(
    left: Column,
    right: Column,
    delta: Fraction = Fraction(0),
    count: int = THRESHOLDS,
    caution: float = CAUTION,
) -> Cut:
    """Return the thresholds with the largest bound at confidence 1 - `caution` on these scores."""
    from scipy.special import ndtri

    steps = _steps(np.concatenate([left, right]), count)
    left, right = np.sort(left), np.sort(right)
    # Row 0 is "never guess right", column 0 is "never guess left".
    right_wrong, right_correct = (
        np.append(0, side.size - np.searchsorted(side, steps, side="left")) for side in (left, right)
    )
    left_correct, left_wrong = (
        np.append(0, np.searchsorted(side, steps, side="right")) for side in (left, right)
    )
    highs, lows = np.append(np.inf, steps), np.append(-np.inf, steps)
    correct = right_correct[:, None] + left_correct[None, :]
    wrong = right_wrong[:, None] + left_wrong[None, :]
    trials = left.size + right.size
    possible = highs[:, None] > lows[None, :]
    possible[0, 0] = False
    hopes = np.where(possible, hope_of(correct, wrong, _free(correct.shape, trials, float(delta))), -np.inf)
    top = divmod(int(np.argmax(hopes)), len(lows))
    rare, hope = (float(lows[top[1]]), float(highs[top[0]])), float(hopes[top])
    promises = promise_of(correct, wrong, trials, float(delta), -float(ndtri(caution)))
    promises[~possible] = -np.inf
    few = min(FINALISTS, promises.size - 1)
    best = Cut(-np.inf, np.inf, 0.0, -np.inf, rare, hope)
    for place in np.argpartition(promises, -few, axis=None)[-few:]:
        i, j = divmod(int(place), len(lows))
        if promises[i, j] == -np.inf:
            continue
        tally = Tally(trials, int(correct[i, j]), int(wrong[i, j]), int(i > 0) + int(j > 0))
        free = free_guesses(trials, delta, tally.sides, caution / 10)
        bound = guess_bound(tally.correct - free, tally.guesses - free, caution * 9 / 10)
        cut = Cut(float(lows[j]), float(highs[i]), bound, float(promises[i, j]), rare, hope)
        if (cut.bound, cut.promise) > (best.bound, best.promise):
            best = cut
    return best


def promise_of(correct: Any, wrong: Any, trials: int, delta: float, deviations: float = 2.0) -> Any:
    """Return a normal approximation of the bound, which ranks but proves nothing."""
    k, w = np.maximum(correct - trials * delta, 0) + 0.5, wrong + 0.5
    return np.log(k / w) - deviations * np.sqrt(1 / k + 1 / w)


def hope_of(correct: Any, wrong: Any, free: Any) -> Any:
    """Return the bound of a game in which the same share of many more trials goes the same way.

    Wilson's limit, unlike the promise, thinks well of a dozen right guesses and no wrong one.
    """
    k, w = np.maximum(GAME * (correct - free), 0.0), GAME * wrong
    n = np.maximum(k + w, 1)
    share, z = k / n, HOPEFUL
    spread = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = np.maximum((share + z * z / (2 * n) - spread) / (1 + z * z / n), 1e-12)
    return np.log(low / (1 - low))


def _free(shape: tuple[int, ...], trials: int, delta: float) -> Column:
    """Return the right guesses that delta may explain, for guesses on none, one or both sides."""
    one = trials * delta / 2
    free = np.full(shape, 2 * one)
    free[0, :] = free[:, 0] = one
    return free


def _steps(scores: Column, count: int) -> Column:
    if scores.size <= count:
        return np.unique(scores)
    tail = _tail(scores.size, count)
    ranks = np.unique(np.concatenate([tail, scores.size - 1 - tail]))
    return np.unique(np.partition(scores, ranks)[ranks])


@lru_cache(maxsize=64)  # all scores of a training have the same size
def _tail(size: int, count: int) -> NDArray[np.int64]:
    # Evenly in the middle, and ever finer towards the end, where rare events live.
    even = np.linspace(0, size - 1, count // 2)
    fine = np.geomspace(1, size / 2, count // 4) - 1
    return np.unique(np.concatenate([even, fine]).astype(np.int64))
