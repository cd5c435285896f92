"""A copy of the black box from before its first call, to tell a missing noise from a memory.

A function that answers 17 in all of twenty thousand runs has no noise, and is rightly accused; or it drew
noise once and remembers the answer, and a single release of it may be private.  Copies of the process,
forked before the first call, are asked in the other order with randomness of their own.  If one of them too
gives one and the same answer in every run, but another one, then the function remembers.

For independent runs that give a common answer with probability p this would happen with probability at most
COPIES p**n (1 - p)**AGAIN after n equal runs: less than 1e-17 for any p from n = 50 on.  A remembered answer
goes unnoticed only if every copy happens to draw the same one.

A run that raises tells nothing, neither of a copy nor of the original: a box that holds connections, locks or
threads cannot run in another process than its own, and its error there, the same in every run, is no answer
that was ever remembered.  So errors are left out on both sides, and a copy is asked again until it has
answered often enough.
"""

import json
import os
import select
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from discreet.audit.outputs import Failure, atoms, word
from discreet.audit.runs import Box

COPIES, AGAIN, ROUNDS = 8, 20, 10
"""Copies that are asked, the answers wanted of each on either input, and how often so many runs are made."""

PATIENCE = 20.0
"""Seconds after which the copy's answer is no longer waited for."""

Answers = tuple[list[str], list[str]]
"""What runs gave, in words: on the left and on the right input; nothing where too few of them answered."""

Pair = tuple[Any, Any]


class Pristine:
    """The black box as it was before its first call; asking it uses it up."""

    def __init__(self, pairs: Sequence[Pair], ask: int, hear: int) -> None:
        self._pairs, self._ask, self._hear = pairs, ask, hear

    def answers(self, left: Any, right: Any) -> list[Answers] | None:
        """Return what copies answer to the right and then to the left input; None if it cannot be known."""
        known = [place for place, pair in enumerate(self._pairs) if pair[0] is left and pair[1] is right]
        try:
            # Inputs that the copy holds are named by their place; others must be vectors of numbers.
            question = known[0] if known else [left, right]
            os.write(self._ask, json.dumps(question).encode() + b"\n")
            heard = bytearray()
            while select.select([self._hear], [], [], PATIENCE)[0]:
                part = os.read(self._hear, 1 << 16)
                if not part:
                    told = [json.loads(line) for line in heard.splitlines()]
                    return [(first, second) for first, second in told] or None
                heard += part
        except (OSError, TypeError, ValueError):
            return None
        return None


@contextmanager
def pristine(box: Box, pairs: Sequence[Pair]) -> "Iterator[Pristine | None]":
    """Keep a copy of this process, with these inputs, while an audit may want to ask it; None without one.

    A mechanism of ours is a frozen value and needs none.
    """
    if box.ours or not hasattr(os, "fork"):
        yield None
        return
    from signal import SIGKILL

    (commanded, ask), (hear, told) = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        # Newer interpreters warn of threads in general; the copy uses none and leaves without cleaning up.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    for end in (ask, hear) if pid == 0 else (commanded, told):
        os.close(end)
    if pid == 0:
        _serve(box, pairs, commanded, told)
    try:
        yield Pristine(pairs, ask, hear)
    finally:
        for end in (ask, hear):
            os.close(end)
        # The copy may have copies of its own at work; it leads their group unless it has not yet come so far.
        for stop in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                stop(pid, SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _serve(box: Box, pairs: Sequence[Pair], commanded: int, told: int) -> None:
    try:
        os.setpgid(0, 0)
        with os.fdopen(commanded, "rb") as stream:
            question = stream.readline()
        if question:
            asked = json.loads(question)
            left, right = pairs[asked] if isinstance(asked, int) else map(tuple, asked)
            for _ in range(COPIES):
                pid = os.fork()
                if pid == 0:
                    _renew()
                    second, first = _asked(box, right), _asked(box, left)
                    os.write(told, json.dumps([first, second]).encode() + b"\n")
                    os._exit(0)
                os.waitpid(pid, 0)
    finally:
        # Nothing of the parent's is flushed, closed or reported twice.
        os._exit(0)


def _renew() -> None:
    """Give NumPy's common generator another state than the parent's; Python's and ours renew themselves."""
    np.random.seed(int.from_bytes(os.urandom(4), "big"))


def _words(sample: Any) -> list[str]:
    return [" ".join(word(atom, None) for atom in atoms(output)) for output in sample]


def _asked(box: Box, value: Any) -> list[str]:
    """Return enough answers of a copy, in words, or none."""
    found: list[str] = []
    for _ in range(ROUNDS):
        more = _words(answered(box.many(value, AGAIN)))
        found += more
        if not more or len(found) >= AGAIN:
            break
    return found[:AGAIN] if len(found) >= AGAIN else []


def answered(sample: Any) -> Any:
    """Return the outputs of the runs that did not raise."""
    if isinstance(sample, np.ndarray) and sample.dtype != object:
        return sample
    return [output for output in sample if not isinstance(output, Failure)]


def memory(copies: Sequence[Answers], own: tuple[Any, Any]) -> bool | None:
    """Return whether a copy is constant on an input where the original always gave `own`, but differs.

    An input on which the original varied is given as an empty sample.  None: no copy could be asked.
    """
    heard = [
        (answers, sample)
        for copy in copies
        for answers, sample in zip(copy, own, strict=True)
        if len(sample) and answers
    ]
    if not heard:
        return None
    return any(len(set(answers)) == 1 and answers[:1] != _words(sample[:1]) for answers, sample in heard)
