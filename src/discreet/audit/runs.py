"""Running a black box many times: one by one, in arrays, or in several processes.

Runs must be independent of each other, as the releases of a mechanism without memory are; a function that
counts its calls or caches its answers is not a black box that an audit can speak about: `independence`
looks whether they seem so.  A run that raises has an output too, the kind of its error, which whoever asked
would see.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np

from discreet.audit.outputs import Failure, concatenate
from discreet.errors import DiscreetError, ParameterError
from discreet.exact.coins import SystemCoins, source

Progress = Callable[[int], None]
"""Told how many runs were just finished."""

CHUNK = 1 << 20
"""Runs in one array: enough to amortise a call, little enough to keep memory small."""

PIECE = 512
"""Runs handed to a worker process at a time."""


class BatchError(DiscreetError, RuntimeError):
    """A function that makes many runs at once raised, so that none of them has an output."""

    def __init__(self, kind: str, where: str) -> None:
        self.failure = Failure(kind, where)
        super().__init__(kind, where)

    def __str__(self) -> str:
        return f"the mechanism {self.failure} ({self.failure.where})"


@dataclass(frozen=True, slots=True)
class Box:
    """A black box: `many(input, count)` returns `count` independent outputs.

    `ours` says that it is a mechanism of this package, a frozen value without a memory.
    """

    many: Callable[[Any, int], Any]
    whole: bool
    ours: bool = False

    @classmethod
    def of(cls, subject: Any, *, batched: bool = False) -> "Box":
        """Wrap a function of one input, a batched function of (input, count), or a mechanism."""
        if isinstance(subject, Box):
            return subject
        if batched:
            return cls(_AtOnce(_callable(subject)), whole=True)
        sample = getattr(subject, "sample", None)
        if sample is None:
            return cls(_OneByOne(_callable(subject)), whole=False)
        ours = type(subject).__module__.startswith("discreet.mechanisms.")
        if hasattr(subject, "radius") or hasattr(subject, "lie"):
            return cls(_AtOnce(_Spread(sample)), whole=True, ours=ours)
        return cls(_OneByOne(sample), whole=False, ours=ours)


@dataclass(frozen=True, slots=True)
class _OneByOne:
    function: Callable[[Any], Any]

    def __call__(self, value: Any, count: int) -> list[Any]:
        return [self._run(value) for _ in range(count)]

    def _run(self, value: Any) -> Any:
        try:
            return self.function(value)
        except (Exception, SystemExit) as error:
            return _failure(error)


@dataclass(frozen=True, slots=True)
class _AtOnce:
    function: Callable[[Any, int], Any]

    def __call__(self, value: Any, count: int) -> Any:
        try:
            made = self.function(value, count)
        except (Exception, SystemExit) as error:
            failure = _failure(error)
            raise BatchError(failure.kind, failure.where) from error
        if not hasattr(made, "__len__") or len(made) != count:
            raise ParameterError(f"a batched function must return {count} outputs when asked for {count}")
        return made


def _failure(error: BaseException) -> Failure:
    # The message may quote the input, which a saved verdict must not.
    frames = extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else "unknown place"
    return Failure(type(error).__name__, where)


@dataclass(frozen=True, slots=True)
class _Spread:
    """A mechanism that gives every entry of an array noise of its own: one array, many runs."""

    sample: Callable[[Any], Any]

    def __call__(self, value: Any, count: int) -> Any:
        one = np.asarray(value)
        return self.sample(np.broadcast_to(one, (count, *one.shape)).copy())


def _callable(subject: Any) -> Callable[..., Any]:
    if not callable(subject):
        raise ParameterError("an audit needs a function or a mechanism with a method `sample`")
    return subject  # type: ignore[no-any-return]


Runner = Callable[[Any, int], Any]


@contextmanager
def running(box: Box, workers: int = 1, progress: Progress | None = None) -> Iterator[Runner]:
    """Give a function that makes runs, in this process or spread over several."""
    if workers < 1:
        raise ParameterError(f"workers must be at least 1, got {workers}")
    tell = progress or (lambda _: None)
    # Replaced coins live in this process only; forked copies of them would all toss the same.
    if workers == 1 or not isinstance(source(), SystemCoins):
        yield lambda value, count: _here(box, value, count, tell)
        return
    # A forked worker inherits the box instead of unpickling it, so that any function will do.
    with ProcessPoolExecutor(workers, get_context("fork"), initializer=_adopt, initargs=(box,)) as pool:
        yield lambda value, count: _spread(pool, box, value, count, tell)


def _here(box: Box, value: Any, count: int, tell: Progress) -> Any:
    parts = []
    for size in _sizes(count, CHUNK if box.whole else PIECE):
        parts.append(box.many(value, size))
        tell(size)
    return concatenate(parts) if parts else []


def _spread(pool: ProcessPoolExecutor, box: Box, value: Any, count: int, tell: Progress) -> Any:
    sizes = _sizes(count, CHUNK if box.whole else PIECE)
    parts = []
    for size, part in zip(sizes, pool.map(_adopted, [value] * len(sizes), sizes), strict=True):
        parts.append(part)
        tell(size)
    return concatenate(parts) if parts else []


_box: Box | None = None


def _adopt(box: Box) -> None:
    global _box
    _box = box


def _adopted(value: Any, count: int) -> Any:
    if _box is None:
        raise ParameterError("this worker has no box to run")
    return _box.many(value, count)


def _sizes(count: int, piece: int) -> list[int]:
    return [min(piece, count - start) for start in range(0, count, piece)]


def fair_split(trials: int) -> tuple[int, int]:
    """Return how many of `trials` fair coins fell left and right; the order does not matter to a count."""
    words = source().words((trials + 63) // 64, 64)
    right = int(np.bitwise_count(words[:-1]).sum()) if len(words) else 0
    if len(words):
        right += (int(words[-1]) & ((1 << ((trials - 1) % 64 + 1)) - 1)).bit_count()
    return trials - right, right
