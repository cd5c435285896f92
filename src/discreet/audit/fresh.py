"""A copy of the black box from before its first call, to tell a missing noise from a memory.

A function that answers 17 in all of twenty thousand runs has no noise, and is rightly accused; or it drew
noise once and remembers the answer, and a single release of it may be private.  A copy of the process, forked
before the first call, is asked in the other order with randomness of its own.  If it too gives one and the
same answer in every run, but another one, then the function remembers.

For independent runs that give a common answer with probability p this would happen with probability at most
p**n (1 - p)**AGAIN after n equal runs: less than 1e-20 for any p from n = 50 on.
"""

import os
import pickle
import random
import select
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from discreet.audit.outputs import atoms, word
from discreet.audit.runs import Box

AGAIN = 50
"""Runs of the copy."""

PATIENCE = 20.0
"""Seconds after which the copy's answer is no longer waited for."""

Answers = tuple[tuple[str, ...], tuple[str, ...]]
"""What each run gave, in words: on the left and on the right input."""


class Pristine:
    """The black box as it was before its first call; asking it uses it up."""

    def __init__(self, pid: int, ask: int, hear: int) -> None:
        self._pid, self._ask, self._hear = pid, ask, hear

    def answers(self, left: Any, right: Any) -> Answers | None:
        """Return what it answers to the right and then to the left input; None if it cannot be known."""
        try:
            payload = pickle.dumps((left, right))
            os.write(self._ask, len(payload).to_bytes(8, "big"))
            for start in range(0, len(payload), 1 << 15):
                os.write(self._ask, payload[start : start + (1 << 15)])
            heard = bytearray()
            while select.select([self._hear], [], [], PATIENCE)[0]:
                part = os.read(self._hear, 1 << 16)
                if not part:
                    return pickle.loads(bytes(heard)) if heard else None  # noqa: S301, our own copy speaks
                heard += part
        except Exception:
            return None
        return None


@contextmanager
def pristine(box: Box) -> "Iterator[Pristine | None]":
    """Keep a copy of this process for as long as an audit may want to ask it; None where there is none.

    A mechanism of ours is a frozen value and needs none.
    """
    if box.ours or not hasattr(os, "fork"):
        yield None
        return
    (commanded, ask), (hear, told) = os.pipe(), os.pipe()
    with warnings.catch_warnings():
        # Newer interpreters warn of threads in general; the copy uses none and leaves without cleaning up.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    for end in (ask, hear) if pid == 0 else (commanded, told):
        os.close(end)
    if pid == 0:
        _serve(box, commanded, told)
    try:
        yield Pristine(pid, ask, hear)
    finally:
        for end in (ask, hear):
            os.close(end)
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _serve(box: Box, commanded: int, told: int) -> None:
    try:
        with os.fdopen(commanded, "rb") as stream:
            size = stream.read(8)
            if len(size) == 8:
                left, right = pickle.loads(stream.read(int.from_bytes(size, "big")))  # noqa: S301
                _renew()
                second, first = box.many(right, AGAIN), box.many(left, AGAIN)
                payload = pickle.dumps((_words(first), _words(second)))
                with os.fdopen(told, "wb") as out:
                    out.write(payload)
    finally:
        # Nothing of the parent's is flushed, closed or reported twice.
        os._exit(0)


def _renew() -> None:
    """Give the common sources of randomness another state than the parent's; ours renews itself."""
    random.seed()
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed(int.from_bytes(os.urandom(4), "big"))


def _words(sample: Any) -> tuple[str, ...]:
    return tuple(" ".join(word(atom, None) for atom in atoms(output)) for output in sample)


def memory(copy: Answers, own: tuple[Any, Any]) -> bool:
    """Return whether the copy is constant on an input where the original always gave `own`, but differs.

    An input on which the original varied is given as an empty sample.
    """
    return any(
        len(set(answers)) == 1 and (answers[0],) != _words(sample[:1])
        for answers, sample in zip(copy, own, strict=True)
        if len(sample)
    )
