"""The anchor: how far each history is known to have come, kept where a restored backup does not reach.

A keyed chain cannot show that its end was cut off, or that yesterday's copy was put back: a prefix of a true
history is a true history.  So after every commit, and before anything is returned, the number and mac of the
newest entry are written to a second place.  The rule on opening and on every spend is

    the store must contain the anchored entry, with that mac.

The order is commit, then anchor, then return.  A crash in between leaves the anchor behind the store, which
is recovered silently, because the entries above it carry valid seals; the anchor is never ahead of the store
unless the store lost something.  Several processes share one anchor: it only ever moves forward.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.chain import sync_directory
from discreet.ledger.codec import canonical


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


class Anchor(Protocol):
    """A place outside the store that remembers how far it had come."""

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there never was an anchor here."""

    def start(self, ledger: str) -> Marks:
        """Begin anchoring a new ledger; if it was begun already, return what stands."""

    def advance(self, ledger: str, dataset: str, mark: Mark) -> None:
        """Move one dataset's mark forward, durably; a mark at or behind the present one changes nothing."""


class FileAnchor:
    """An anchor in one small file, replaced atomically and synced; best on another volume than the store."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there is no file."""
        try:
            return _parse(self.path.read_bytes(), self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be read: {error.strerror}") from None

    def start(self, ledger: str) -> Marks:
        """Write an anchor without marks, unless there is one."""
        with self._turn():
            marks = self.read()
            if marks is None:
                marks = Marks(ledger, {})
                self._replace(marks)
            return marks

    def advance(self, ledger: str, dataset: str, mark: Mark) -> None:
        """Move the mark forward; whoever comes second in a crowd finds the work done and syncs nothing."""
        with self._turn():
            marks = self.read()
            if marks is None or marks.ledger != ledger:
                raise LedgerError(
                    f"the anchor {self.path} disappeared or was exchanged while the ledger was open"
                )
            present = marks.heads.get(dataset)
            if present is None or present.number < mark.number:
                self._replace(Marks(ledger, {**marks.heads, dataset: mark}))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            descriptor = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, marks: Marks) -> None:
        draft = Path(f"{self.path}.new")
        heads = {dataset: [mark.number, mark.mac] for dataset, mark in marks.heads.items()}
        text = canonical({"ledger": marks.ledger, "heads": heads})
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                with open(descriptor, "wb", closefd=False) as file:
                    file.write(text.encode() + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}") from None


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


def _parse(data: bytes, path: Path) -> Marks:
    try:
        match json.loads(data):
            case {"ledger": str(ledger), "heads": dict(heads)}:
                return Marks(ledger, {str(d): Mark(int(n), str(mac)) for d, (n, mac) in heads.items()})
    except (ValueError, TypeError):
        pass
    raise LedgerError(
        f"the anchor {path} is damaged, so it cannot be told whether the ledger was rolled back"
    )
