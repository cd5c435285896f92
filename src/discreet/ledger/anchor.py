"""The anchor: how far each history is known to have come, kept where a restored backup does not reach.

A keyed chain cannot show that its end was cut off, or that yesterday's copy was put back: a prefix of a true
history is a true history.  So after every commit, and before anything is returned, the number and mac of the
newest entry are written to a second place.  The rule on opening and on every spend is

    the store must contain the anchored entry, with that mac.

The order is commit, then anchor, then return.  A crash in between leaves the anchor behind the store, which
is recovered silently, because the entries above it carry valid seals; the anchor is never ahead of the store
unless the store lost something.  Several processes share one anchor: it only ever moves forward.
"""

import errno
import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.chain import sync_directory
from discreet.ledger.codec import canonical
from discreet.ledger.lock import locks_at

LINES = 64
"""How many marks a file anchor collects before it is rewritten with only the newest ones."""

PATIENCE = 30.0
"""For so many seconds one waits for others who are writing to an anchor."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One dataset's newest known entry."""

    number: int
    mac: str


@dataclass(frozen=True, slots=True)
class Marks:
    """What an anchor says: which ledger it belongs to and how far each dataset had come."""

    ledger: str
    heads: Mapping[str, Mark]

    def reach(self, dataset: str, mark: Mark) -> bool:
        """Return whether a dataset is anchored at this mark or further on."""
        return dataset in self.heads and self.heads[dataset].number >= mark.number


class Anchor(Protocol):
    """A place outside the store that remembers how far it had come."""

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there never was an anchor here."""

    def start(self, ledger: str) -> Marks:
        """Begin anchoring a new ledger; if it was begun already, return what stands."""

    def advance(self, ledger: str, dataset: str, mark: Mark) -> None:
        """Move one dataset's mark forward, durably; a mark at or behind the present one changes nothing."""


class FileAnchor:
    """An anchor in one small file, best on another volume than the store.

    The file is a list of marks, one per line.  A mark is appended, synced, and only then given its line
    end; so a line that has its end is on the disk, and a last line without one is synced by whoever meets it
    next, or dropped if a crash tore it.  A file that has grown long is rewritten, atomically.
    """

    def __init__(self, path: Path) -> None:
        # The process may change its directory while the ledger is open; and where a link leads to the anchor,
        # a rewritten one must take the place of what it leads to.
        self.path = Path(os.path.realpath(path))

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there is no file."""
        found = self._lines()
        return None if found is None else _marks([*found.synced, *found.last], self.path)

    def start(self, ledger: str) -> Marks:
        """Write an anchor without marks, unless there is one."""
        with self._turn():
            marks = self.read()
            if marks is None:
                marks = Marks(ledger, {})
                self._rewrite(marks)
            return marks

    def advance(self, ledger: str, dataset: str, mark: Mark) -> None:
        """Move the mark forward; whoever comes second in a crowd finds the work done and syncs nothing."""
        with self._turn():
            found = self._lines()
            if found is None or (marks := _marks(found.synced, self.path)).ledger != ledger:
                raise LedgerError(
                    f"the anchor {self.path} disappeared or was exchanged while the ledger was open"
                )
            if marks.reach(dataset, mark):
                return
            pending = [*found.last]
            if not pending or not _marks([*found.synced, *pending], self.path).reach(dataset, mark):
                pending.append(_line(dataset, mark))
            if len(found.synced) > LINES + len(marks.heads):
                self._rewrite(_marks([*found.synced, *pending], self.path))
                return
            end = found.end
            for line in pending:
                end = self._append(line, end)

    def _turn(self) -> AbstractContextManager[None]:
        if not self.path.parent.is_dir():
            raise LedgerError(f"the anchor {self.path} cannot be written: its directory does not exist")
        return locks_at(Path(f"{self.path}.lock")).holding("anchor", PATIENCE)

    def _lines(self) -> "_Lines | None":
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be read: {error.strerror}") from None
        end = data.rfind(b"\n") + 1
        return _Lines(data[:end].splitlines(), [data[end:]] if _whole(data[end:]) else [], end)

    def _append(self, line: bytes, end: int) -> int:
        """Add a line at `end`, cutting off whatever is there, and return where it ends."""
        try:
            descriptor = os.open(self.path, os.O_WRONLY)
            try:
                os.ftruncate(descriptor, end)
                _write(descriptor, line, end)
                os.fdatasync(descriptor)
                _write(descriptor, b"\n", end + len(line))
            except OSError:
                with suppress(OSError):
                    os.ftruncate(descriptor, end)
                raise
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unwritable(error) from None
        return end + len(line) + 1

    def _rewrite(self, marks: Marks) -> None:
        draft = Path(f"{self.path}.new")
        lines = [canonical({"ledger": marks.ledger}).encode()]
        lines += [_line(dataset, mark) for dataset, mark in marks.heads.items()]
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                _write(descriptor, b"".join(line + b"\n" for line in lines), 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> LedgerError:
        return LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}")


@dataclass(frozen=True, slots=True)
class _Lines:
    """A file anchor's lines: those known to be on the disk, the last one if it has no end yet, and where."""

    synced: list[bytes]
    last: list[bytes]
    end: int


class Unanchored:
    """No anchor at all, for looking at a ledger that has none yet; it remembers nothing."""

    def __init__(self, ledger: str) -> None:
        self._nothing = Marks(ledger, {})

    def read(self) -> Marks | None:
        """Return an anchor without marks."""
        return self._nothing

    def start(self, ledger: str) -> Marks:
        """Return an anchor without marks."""
        return self._nothing

    def advance(self, ledger: str, dataset: str, mark: Mark) -> None:
        """Do nothing."""


def _write(descriptor: int, data: bytes, at: int) -> None:
    if os.pwrite(descriptor, data, at) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _line(dataset: str, mark: Mark) -> bytes:
    return canonical([dataset, mark.number, mark.mac]).encode()


def _whole(line: bytes) -> bool:
    """Return whether a last line without its end is a mark, and not the torn beginning of one."""
    return line.startswith(b"[") and line.endswith(b"]")


def _marks(lines: list[bytes], path: Path) -> Marks:
    try:
        head, *rest = (json.loads(line) for line in lines)
        return Marks(str(head["ledger"]), {str(dataset): _mark(number, mac) for dataset, number, mac in rest})
    except (ValueError, TypeError, KeyError):
        raise LedgerError(
            f"the anchor {path} is damaged, so it cannot be told whether the ledger was rolled back"
        ) from None


def _mark(number: object, mac: object) -> Mark:
    match number, mac:
        case int(), str():
            return Mark(number, mac)
    raise TypeError
