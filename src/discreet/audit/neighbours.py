"""Where to look for violations: patterns of neighbouring inputs, races among them, climbing from the best.

Broken mechanisms betray themselves on few shapes of input: one answer moves, all move together, or they
move against each other.  Starting from the best pattern, small changes are kept while they help.  All
comparisons use runs of their own; the final bound comes from fresh runs on the one pair that won, so however
many pairs were looked at, the confidence is exact.

References.  Successive halving: Karnin, Koren, Somekh, ICML 2013.  Patterns: Ding, Wang, Wang, Zhang, Kifer,
CCS 2018.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.audit.batch import FEWEST, enough, settle
from discreet.audit.conclude import PairClaim
from discreet.audit.fresh import pristine
from discreet.audit.learn import learn, promise_of
from discreet.audit.runs import BatchError, Box, Progress, Runner, running
from discreet.audit.verdict import FOR_TESTS, Verdict
from discreet.errors import ParameterError
from discreet.exact.number import Real

COARSE = 80
"""Thresholds that are tried where pairs are only compared with each other."""

HOPE = 0.002
"""The level at which events are chosen while pairs are compared: a rare leak deserves a second look."""

Numbers = tuple[int, ...]
Pair = tuple[Numbers, Numbers]


def patterns(length: int, *, reach: int = 1, one: bool = False) -> tuple[Pair, ...]:
    """Return pairs of vectors in which every entry, or with `one` a single entry, moves by `reach`."""
    if length < 1:
        raise ParameterError(f"length must be at least 1, got {length}")
    flat = (0,) * length
    half = length // 2
    single = [
        (flat, (reach, *flat[1:])),
        (flat, (-reach, *flat[1:])),
        (flat, (*flat[:-1], reach)),
    ]
    if one or length == 1:
        return tuple(dict.fromkeys(single))
    up, down = (reach,) * length, (-reach,) * length
    return tuple(
        dict.fromkeys(
            [
                *single,
                (flat, up),
                (flat, down),
                (flat, (reach, *down[1:])),
                (flat, (-reach, *up[1:])),
                (flat, (*down[1:], reach)),
                (flat, (*up[1:], -reach)),
                (flat, up[:half] + down[half:]),
                (up[:half] + flat[half:], flat[:half] + up[half:]),
                (up, (0, *(2 * reach,) * (length - 1))),
                (down, (0, *(-2 * reach,) * (length - 1))),
            ]
        )
    )


def moves(pair: Pair, reach: int) -> Iterator[Pair]:
    """Yield pairs one change away: an entry shifted in both inputs, or moved the other way in the second."""
    left, right = pair
    for i in range(len(left)):
        for shift in (-4 * reach, -reach, reach, 4 * reach):
            yield _put(left, i, left[i] + shift), _put(right, i, right[i] + shift)
        if right[i] != left[i]:
            yield left, _put(right, i, 2 * left[i] - right[i])


def _put(values: Numbers, place: int, value: int) -> Numbers:
    return (*values[:place], value, *values[place + 1 :])


def race(run: Runner, pairs: Sequence[tuple[Any, Any]], runs: int, *, delta: Fraction) -> tuple[Any, Any]:
    """Return the most promising pair, found with about `runs` runs per input over all pairs.

    Every round costs the same and the better half of the pairs goes on, so that those which are hard to
    tell apart are compared with ever more runs.
    """
    standing = list(pairs)
    rounds = max(1, (len(standing) - 1).bit_length())
    if runs // (rounds * len(standing)) < FEWEST:
        # Too few for several rounds: one has to do.
        each = max(FEWEST, runs // len(standing))
        return max(standing, key=lambda pair: promise(run, pair[0], pair[1], each, delta=delta))
    while len(standing) > 1:
        each = runs // (rounds * len(standing))
        merit = [promise(run, left, right, each, delta=delta) for left, right in standing]
        order = sorted(range(len(standing)), key=merit.__getitem__, reverse=True)
        standing = [standing[place] for place in order[: (len(standing) + 1) // 2]]
    return standing[0]


def promise(run: Runner, left: Any, right: Any, runs: int, *, delta: Fraction = Fraction(0)) -> float:
    """Return how promising a pair of inputs is, for comparing pairs only."""
    half = runs // 2
    one, two = ((run(left, half), run(right, half)) for _ in range(2))
    # Each half is judged by what the other taught, so that no run is wasted; this ranks and proves nothing.
    first, second = (learn(*half, delta, caution=HOPE, steps=COARSE) for half in (one, two))
    tally = first.play(*two) + second.play(*one)
    return float(promise_of(tally.correct, tally.wrong, tally.trials, float(delta), 1.0))


def audit_pairs(
    subject: Any,
    pairs: Sequence[tuple[Any, Any]],
    *,
    epsilon: Real,
    delta: Real = 0,
    runs: int = 20_000,
    search_runs: int | None = None,
    confidence: Real = FOR_TESTS,
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Test the claim on the most promising of several pairs, chosen with `search_runs` runs of their own."""
    if not pairs:
        raise ParameterError("there must be at least one pair of neighbours to audit")
    first = PairClaim.of(*pairs[0], epsilon, delta, confidence)
    enough(runs)
    box = Box.of(subject, batched=batched)
    with pristine(box, pairs) as copy, running(box, workers, progress) as run:
        try:
            best = race(run, pairs, runs if search_runs is None else search_runs, delta=first.delta)
        except BatchError as error:
            return first.raised(error)
        return settle(run, replace(first, left=best[0], right=best[1]), runs, copy)


def search(
    subject: Any,
    length: int,
    *,
    epsilon: Real,
    delta: Real = 0,
    reach: int = 1,
    one: bool = False,
    runs: int = 20_000,
    search_runs: int | None = None,
    steps: int = 0,
    confidence: Real = FOR_TESTS,
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Find a damning pair of answer vectors by patterns and up to `steps` improvements, then audit it.

    The patterns, and each step, are compared with `search_runs` runs per input in all: as many as `runs`
    unless told otherwise.
    """
    shapes = patterns(length, reach=reach, one=one)
    first = PairClaim.of(*shapes[0], epsilon, delta, confidence)
    enough(runs)
    box = Box.of(subject, batched=batched)
    share = runs if search_runs is None else search_runs
    with pristine(box, shapes) as copy, running(box, workers, progress) as run:
        try:
            best = race(run, shapes, share, delta=first.delta)
            tried = {best}
            for _ in range(steps):
                nearby = [pair for pair in moves(best, reach) if pair not in tried]
                winner = race(run, [best, *nearby], share, delta=first.delta)
                tried.update(nearby)
                if winner == best:
                    break
                best = winner
        except BatchError as error:
            return first.raised(error)
        return settle(run, replace(first, left=best[0], right=best[1]), runs, copy)
