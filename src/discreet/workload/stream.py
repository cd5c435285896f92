"""Counting without end: a number that grows, released again at every step, under one guarantee for all steps.

Crash safety.  A step draws noise, computes the state after it, writes state and answer to a new file,
forces it to disk, puts it in the place of the old one in a single operation, and only then lets the answer
out.  So

1. whatever has been released is on disk with the noise that produced it, and a restart goes on from there;
2. if the machine stops before the replacement, nothing of the step has been released: taking it again with
   fresh noise is the first release of that step;
3. if it stops after it, the stored answer is the one to hand out (`last`), and asking again for the same
   step returns it instead of drawing anew.

Any failure in between leaves the object closed, because it cannot know which of the two happened; opening
the file again decides.  What no file can detect is being put back to an older version by hand:
`Stream.open` therefore takes the number of steps that are known to have been released, and refuses a file
that is behind.  A stream that draws on a dataset's budget, `Session.stream`, keeps its state in the ledger
instead, where that is noticed.

A stream is locked while it is open, so that two processes cannot take the same step with different noise.
"""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any, assert_never

from discreet.errors import LedgerError, ParameterError
from discreet.exact.process import Life, no_copies
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload.codec import Counter, State, decode_counter, decode_state, encode_counter, encode_state
from discreet.workload.dummy import EachItem, EachPrefix, RunningState
from discreet.workload.noise import Promise
from discreet.workload.root import RootCounter, RootState
from discreet.workload.tree import TreeCounter, TreeState

FORMAT = "discreet-stream/1"


@dataclass(frozen=True, slots=True)
class RunningCount:
    """One released running count."""

    step: int
    value: float
    deviation: float


def counter_for(length: int, guarantee: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Counter:
    """Return the best known counter: a balanced tree for pure privacy, the square root for concentrated."""
    match guarantee:
        case Pure():
            return TreeCounter.calibrate(length, guarantee, adjacency)
        case Concentrated():
            return RootCounter.calibrate(length, guarantee, adjacency)
        case _:
            assert_never(guarantee)


def advance(counter: Counter, state: State, increment: int) -> tuple[State, float]:
    """Return the state after one step and the answer, as a pure function but for the noise it draws."""
    if isinstance(increment, bool) or not isinstance(increment, int):
        raise ParameterError(f"an increment must be an integer, got {type(increment).__name__}")
    match counter, state:
        case TreeCounter(), TreeState():
            return counter.step(state, increment)
        case RootCounter(), RootState():
            return counter.step(state, increment)
        case ((EachPrefix() | EachItem()), RunningState()):
            return counter.step(state, increment)
    raise LedgerError("the state of a stream does not belong to its counter; nothing may be released from it")


class Stream:
    """A running count under one guarantee, in memory or, with a path, durable across crashes.

    It has one life: threads take turns, and it can neither be copied nor go on in a forked process.
    """

    __copy__ = __deepcopy__ = __reduce_ex__ = no_copies

    def __init__(
        self,
        counter: Counter,
        state: State | None = None,
        *,
        path: Path | None = None,
        last: tuple[RunningCount, ...] = (),
    ) -> None:
        self.counter = counter
        self._life = Life("stream")
        self._state = counter.start() if state is None else state
        self._path = path
        self._last = last
        self._closed = False
        self._lock = None if path is None else _locked(path)

    @classmethod
    def create(
        cls,
        length: int,
        guarantee: Promise,
        adjacency: Adjacency = Adjacency.ADD_REMOVE,
        *,
        path: str | Path | None = None,
    ) -> "Stream":
        """Start a stream of at most `length` steps; with a path, a durable one in a new file."""
        return cls.start(counter_for(length, guarantee, adjacency), path=path)

    @classmethod
    def start(cls, counter: Counter, *, path: str | Path | None = None) -> "Stream":
        """Start a stream with a counter of your choice."""
        if path is None:
            return cls(counter)
        file = Path(path)
        stream = cls(counter, path=file)
        # Only under the lock is "not there yet" still true when the file is written.
        if file.exists():
            stream.close()
            raise LedgerError("the file of a new stream exists already; open it, or choose another name")
        _replace(file, stream._document(stream._state, ()))
        return stream

    @classmethod
    def open(cls, path: str | Path, *, at_least: int = 0) -> "Stream":
        """Continue a durable stream; `at_least` is the number of steps known to have been released."""
        file = Path(path)
        lock = _locked(file)
        try:
            counter, state, last = _read(file)
            if state.step < at_least:
                raise LedgerError(
                    f"the stream's file is at step {state.step} but {at_least} steps were released: it is an "
                    "older version, and going on would release the same steps with different noise"
                )
            stream = cls(counter, state, last=last)
        except BaseException:
            lock.close()
            raise
        stream._path, stream._lock = file, lock
        return stream

    @property
    def guarantee(self) -> Promise:
        """The privacy of all answers together, however many steps are taken."""
        return self.counter.guarantee

    @property
    def steps(self) -> int:
        """How many steps have been taken."""
        return self._state.step

    @property
    def state(self) -> State:
        """The confidential state, a frozen value that `encode_state` can store."""
        return self._state

    @property
    def last(self) -> tuple[RunningCount, ...]:
        """The answers of the last call, kept so that a crash on the way out loses nothing."""
        return self._last

    def add(self, increment: int = 1, *, step: int | None = None) -> RunningCount:
        """Take one step and release the running count; with `step`, at most once for that step."""
        with self._life.turn():
            if step is not None and step <= self.steps:
                for count in self._last:
                    if count.step == step:
                        return count
                raise ParameterError(
                    f"step {step} was taken before the last call and its answer is not kept here"
                )
            if step is not None and step != self.steps + 1:
                raise ParameterError(f"the next step is {self.steps + 1}, got {step}")
            return self._extend([increment])[0]

    def extend(self, increments: Iterable[int]) -> tuple[RunningCount, ...]:
        """Take several steps, made durable by one write, and release all their running counts."""
        with self._life.turn():
            return self._extend(increments)

    def _extend(self, increments: Iterable[int]) -> tuple[RunningCount, ...]:
        if self._closed:
            raise LedgerError(
                "this stream was closed, or a write failed half-way; open it again from its file"
            )
        state, counts = self._state, []
        for increment in increments:
            state, value = advance(self.counter, state, increment)
            counts.append(RunningCount(state.step, value, sqrt(self.counter.variance(state.step))))
        if not counts:
            return ()
        if self._path is not None:
            try:
                _replace(self._path, self._document(state, tuple(counts)))
            except BaseException:
                self.close()
                raise
        self._state, self._last = state, tuple(counts)
        return self._last

    def close(self) -> None:
        """Let go of the file; a durable stream can be opened again, one in memory is gone."""
        self._closed = True
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _document(self, state: State, last: tuple[RunningCount, ...]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "counter": encode_counter(self.counter),
            "state": encode_state(state),
            "last": [[count.step, count.value, count.deviation] for count in last],
        }


def _read(path: Path) -> tuple[Counter, State, tuple[RunningCount, ...]]:
    try:
        text = path.read_text(encoding="ascii")
        seal, body = text.split("\n", 1)
        document = json.loads(body)
    except (OSError, ValueError) as problem:
        raise LedgerError("the stream's file cannot be read; nothing may be released from it") from problem
    if seal != sha256(body.encode("ascii")).hexdigest():
        raise LedgerError("the stream's file does not match its checksum; nothing may be released from it")
    match document:
        case {"format": str(form), "counter": dict(counter), "state": dict(state), "last": list(last)} if (
            form == FORMAT
        ):
            return decode_counter(counter), decode_state(state), tuple(RunningCount(*entry) for entry in last)
    raise LedgerError(
        "a stored stream has a form this version does not know; nothing may be released from it"
    )


def _replace(path: Path, document: dict[str, Any]) -> None:
    """Put a document in the place of a file, so that always the old or the new one is whole on disk."""
    body = json.dumps(document, separators=(",", ":"), allow_nan=False)
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(sha256(body.encode("ascii")).hexdigest() + "\n" + body)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    with _directory(path.parent) as folder:
        os.fsync(folder)


@contextlib.contextmanager
def _directory(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _locked(path: Path) -> Any:
    """Return an open, exclusively locked file beside the stream; closing it, or dying, lets go."""
    try:
        import fcntl
    except ImportError as problem:
        raise LedgerError("durable streams need a system with file locks; this one has none") from problem
    lock = open(path.with_name(path.name + ".lock"), "a", encoding="ascii")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise LedgerError(
            "another process has this stream open; two of them must not take the same step"
        ) from None
    return lock
