"""Streams as text: an explicit JSON form for every counter and state.

A stored name never changes its meaning, a new meaning gets a new name, and an unknown one is refused.
Nothing is imported or called because a file says so.  Rationals are written as "numerator/denominator";
floats in their shortest form that reads back to the same number.
"""

from fractions import Fraction
from typing import Any, assert_never

from discreet.errors import LedgerError
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.workload.dummy import EachItem, EachPrefix, RunningState
from discreet.workload.noise import Noise
from discreet.workload.root import DyadicBlock, RootCounter, RootState
from discreet.workload.tree import LevelState, TreeCounter, TreeState

Counter = TreeCounter | RootCounter | EachPrefix | EachItem
State = TreeState | RootState | RunningState
Json = dict[str, Any]


def encode_counter(counter: Counter) -> Json:
    """Return a counter as JSON."""
    match counter:
        case TreeCounter(length, radices, noises, each):
            kept = [encode_noise(noise) for noise in noises]
            return {
                "name": "tree/1",
                "length": length,
                "radices": list(radices),
                "noises": kept,
                "each": each,
            }
        case RootCounter(length, noise, each):
            return {"name": "root/1", "length": length, "noise": encode_noise(noise), "each": each}
        case EachPrefix(length, noise, adjacency):
            return _encode_plain("each-prefix/1", length, noise, adjacency)
        case EachItem(length, noise, adjacency):
            return _encode_plain("each-item/1", length, noise, adjacency)
        case _:
            assert_never(counter)


def decode_counter(stored: Json) -> Counter:
    """Return the counter that JSON stands for."""
    match stored:
        case {
            "name": "tree/1",
            "length": int(length),
            "radices": list(radices),
            "noises": list(noises),
            "each": int(each),
        }:
            return TreeCounter(length, tuple(map(int, radices)), tuple(_geometric(n) for n in noises), each)
        case {"name": "root/1", "length": int(length), "noise": dict(noise), "each": int(each)}:
            return RootCounter(length, _gaussian(noise), each)
        case {
            "name": "each-prefix/1",
            "length": int(length),
            "noise": dict(noise),
            "adjacency": str(adjacency),
        }:
            return EachPrefix(length, _decode_noise(noise), Adjacency(adjacency))
        case {
            "name": "each-item/1",
            "length": int(length),
            "noise": dict(noise),
            "adjacency": str(adjacency),
        }:
            return EachItem(length, _decode_noise(noise), Adjacency(adjacency))
    raise LedgerError(
        "a stored stream has a form this version does not know; nothing may be released from it"
    )


def encode_state(state: State) -> Json:
    """Return a state as JSON.  It is as confidential as the stream itself."""
    match state:
        case TreeState(step, count, levels):
            kept = [[level.settled, list(level.pending)] for level in levels]
            return {"name": "tree-state/1", "step": step, "count": count, "levels": kept}
        case RootState(step, released, blocks):
            rows = [
                [b.level, b.first, b.exact, b.exact_moment, b.estimate, b.estimate_moment] for b in blocks
            ]
            return {"name": "root-state/1", "step": step, "released": released, "blocks": rows}
        case RunningState(step, count, noise):
            return {"name": "running-state/1", "step": step, "count": count, "noise": noise}
        case _:
            assert_never(state)


def decode_state(stored: Json) -> State:
    """Return the state that JSON stands for."""
    match stored:
        case {"name": "tree-state/1", "step": int(step), "count": int(count), "levels": list(levels)}:
            return TreeState(step, count, tuple(LevelState(s, tuple(p)) for s, p in levels))
        case {"name": "root-state/1", "step": int(step), "released": released, "blocks": list(blocks)}:
            return RootState(step, float(released), tuple(_block(row) for row in blocks))
        case {"name": "running-state/1", "step": int(step), "count": int(count), "noise": int(noise)}:
            return RunningState(step, count, noise)
    raise LedgerError(
        "a stored stream has a form this version does not know; nothing may be released from it"
    )


def _block(row: list[Any]) -> DyadicBlock:
    level, first, exact, exact_moment, estimate, estimate_moment = row
    return DyadicBlock(level, first, exact, exact_moment, float(estimate), float(estimate_moment))


def _encode_plain(name: str, length: int, noise: Noise, adjacency: Adjacency) -> Json:
    return {"name": name, "length": length, "noise": encode_noise(noise), "adjacency": adjacency.value}


def encode_noise(noise: Noise) -> Json:
    """Return a noise as it is stored, with counters and in records of plans."""
    match noise:
        case Geometric(alpha):
            return {"law": "geometric", "alpha": str(alpha)}
        case Gaussian(sigma_squared):
            return {"law": "gaussian", "sigma_squared": str(sigma_squared)}
        case _:
            assert_never(noise)


def _decode_noise(stored: Json) -> Noise:
    match stored:
        case {"law": "geometric", "alpha": str(alpha)}:
            return Geometric(Fraction(alpha))
        case {"law": "gaussian", "sigma_squared": str(sigma_squared)}:
            return Gaussian(Fraction(sigma_squared))
    raise LedgerError(
        "a stored stream has a noise this version does not know; nothing may be released from it"
    )


def _geometric(stored: Json) -> Geometric:
    noise = _decode_noise(stored)
    if not isinstance(noise, Geometric):
        raise LedgerError("a stored tree must have geometric noise; nothing may be released from it")
    return noise


def _gaussian(stored: Json) -> Gaussian:
    noise = _decode_noise(stored)
    if not isinstance(noise, Gaussian):
        raise LedgerError("a stored square root must have Gaussian noise; nothing may be released from it")
    return noise
