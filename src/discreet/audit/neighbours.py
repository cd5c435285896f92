"""Where to look for violations: patterns of neighbouring inputs, and climbing from the best of them.

Broken mechanisms betray themselves on few shapes of input: one answer moves, all move together, or they
move against each other.  Starting from the best pattern, small changes are kept while they help.  All
comparisons use runs of their own; the final bound comes from fresh runs on the one pair that won.
"""

from collections.abc import Iterator
from typing import Any

from discreet.audit.batch import FEWEST, audit, promise
from discreet.audit.runs import Box, Progress, running
from discreet.audit.verdict import Verdict
from discreet.errors import ParameterError
from discreet.exact.number import Real, non_negative

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


def search(
    subject: Any,
    length: int,
    *,
    epsilon: Real,
    delta: Real = 0,
    reach: int = 1,
    one: bool = False,
    runs: int = 20_000,
    search_runs: int = 4_000,
    steps: int = 0,
    confidence: Real = "0.95",
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Find a damning pair of answer vectors by patterns and up to `steps` improvements, then audit it."""
    box, slack = Box.of(subject, batched=batched), non_negative(delta, "delta")
    each = max(FEWEST, search_runs)
    with running(box, workers, progress) as run:
        found = {
            pair: promise(run, *pair, each, delta=slack) for pair in patterns(length, reach=reach, one=one)
        }
        best = max(found, key=found.__getitem__)
        for _ in range(steps):
            nearby = {
                pair: promise(run, *pair, each, delta=slack)
                for pair in moves(best, reach)
                if pair not in found
            }
            if not nearby:
                break
            candidate = max(nearby, key=nearby.__getitem__)
            found |= nearby
            # A lucky comparison must not lead away: the incumbent is measured again beside the newcomer.
            found[best] = promise(run, *best, 2 * each, delta=slack)
            if promise(run, *candidate, 2 * each, delta=slack) <= found[best]:
                break
            best = candidate
    return audit(
        box,
        *best,
        epsilon=epsilon,
        delta=delta,
        runs=runs,
        confidence=confidence,
        workers=workers,
        progress=progress,
    )
