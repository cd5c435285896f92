"""Anchors in a log that only grows: a line for every mark, each of which only one writer can have added."""

import os
import secrets
import threading
from pathlib import Path
from typing import Protocol

from discreet.errors import LedgerError
from discreet.ledger.anchor import Mark, Marks, added, write_at
from discreet.ledger.chain import sync_directory
from discreet.ledger.codec import canonical


class Log(Protocol):
    """Something that lines can be appended to and never removed from, shared by whoever can reach it.

    An object store that refuses to overwrite will do: line n is the object named n.
    """

    def lines(self, first: int) -> list[bytes]:
        """Return the lines from number `first` on, in order; the first of all has number 0."""

    def append(self, number: int, line: bytes) -> bool:
        """Add the line `number`, durably; return whether it is new, leaving one that exists as it is."""


class LogAnchor:
    """An anchor in an append-only log."""

    def __init__(self, log: Log, name: str = "log") -> None:
        self._log = log
        self._name = name
        self._seen = 0
        self._known: Marks | None = None
        self._reading = threading.Lock()

    def __str__(self) -> str:
        return self._name

    def read(self) -> Marks | None:
        """Return what is anchored, or None for an empty log."""
        return self._look()[0]

    def _look(self) -> tuple[Marks | None, int]:
        """Return what is anchored, and how many lines say so."""
        with self._reading:
            fresh = self._log.lines(self._seen)
            if fresh:
                self._known = added(self._known, fresh, self._name)
                self._seen += len(fresh)
            return self._known, self._seen

    def start(self, ledger: str) -> Marks:
        """Write the first line, unless there is one."""
        if self.read() is None:
            self._log.append(0, canonical({"anchor": secrets.token_hex(16), "ledger": ledger}).encode())
        marks = self.read()
        if marks is None:
            raise LedgerError(f"the anchor {self} cannot be written")
        return marks

    def move(self, marks: Marks, dataset: str, mark: Mark) -> Mark | None:
        """Append a mark, if nobody else has moved this dataset's since."""
        while True:
            standing, lines = self._look()
            if standing is None or (standing.ledger, standing.name) != (marks.ledger, marks.name):
                raise LedgerError(f"the anchor {self} disappeared or was exchanged while the ledger was open")
            found = standing.heads.get(dataset)
            if found != marks.heads.get(dataset):
                return found
            if found == mark or self._log.append(lines, canonical([dataset, *mark.stored()]).encode()):
                return None

    def close(self) -> None:
        """Do nothing: whoever made the log closes it."""


class DirectoryLog:
    """An append-only log of one file per line, on a volume that several machines may share."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))

    def lines(self, first: int) -> list[bytes]:
        """Return the lines from a number on."""
        found: list[bytes] = []
        while True:
            try:
                found.append((self.folder / f"{first + len(found):012d}").read_bytes())
            except FileNotFoundError:
                return found
            except OSError as error:
                raise LedgerError(f"the anchor {self.folder} cannot be read: {error.strerror}") from None

    def append(self, number: int, line: bytes) -> bool:
        """Add a line, whole or not at all, unless there is one."""
        draft = self.folder / f".{secrets.token_hex(8)}"
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                write_at(descriptor, line, 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            try:
                os.link(draft, self.folder / f"{number:012d}")
            except FileExistsError:
                return False
            finally:
                draft.unlink()
            sync_directory(self.folder)
        except OSError as error:
            raise LedgerError(f"the anchor {self.folder} cannot be written: {error.strerror}") from None
        return True
