"""The anchor: how far each history is known to have come, kept where a restored backup does not reach.

A keyed chain cannot show that its end was cut off, that yesterday's copy was put back, or that there are two
copies: a prefix of a true history is a true history.  So after every commit, and before anything is returned,
the newest entry is written to a second place, and

    a ledger goes on only where it contains the anchored entry, by its mac and not by its number;
    the anchor moves only from the mark that was read to one that follows it.

Of two copies that race, the first to move the anchor goes on; the other finds a mark that its history does
not contain, and is refused before anything leaves.  The order is commit, then anchor, then return.  A crash
in between leaves the anchor behind the store, which is recovered silently; it is never ahead of the store
unless the store lost something.

Anchor and ledger vouch for each other.  A mark is sealed under the ledger's key, so nobody without the key
can make one; every entry says which anchor held when it was written and how far it had come, so an anchor
that was cut, put back or exchanged for another is noticed as long as the ledger was not put back with it.  A
mark also holds what had been spent, so that a restored backup knows what it lost.

An anchor is anything with the methods of `Anchor`.  `FileAnchor` is a file; `LogAnchor`, in
`discreet.ledger.journal`, anything that can append a line which nobody else appended; `PostgresAnchor` is in
`discreet.ledger.remote`.
"""

import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import LedgerError
from discreet.ledger.chain import framed, mac_of, sync_directory
from discreet.ledger.codec import canonical
from discreet.ledger.lock import locks_at

LINES = 256
"""How many marks a file anchor collects before it is rewritten with only the newest ones."""

ANY = "*"
"""Stands for the name of whichever anchor a ledger's entries name, where it is only looked at."""

PATIENCE = 30.0
"""For so many seconds one waits for others who are writing to an anchor."""

ROOM = 2**14
"""A file anchor has room for more lines, up to a multiple of so many bytes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One dataset's newest known entry, what had been spent then, and the seal of all this.

    A mark that an older version wrote has no seal.
    """

    number: int
    mac: str
    spent: str = ""
    seal: str = ""

    def stored(self) -> list[object]:
        """Return the mark as plain values."""
        return [self.number, self.mac, self.spent, self.seal]

    @classmethod
    def read(cls, stored: Any) -> "Mark":
        """Return the mark that was stored, or raise TypeError."""
        match stored:
            case [int(number), str(mac)]:
                return cls(number, mac)
            case [int(number), str(mac), str(spent), str(seal)]:
                return cls(number, mac, spent, seal)
        raise TypeError


@dataclass(frozen=True, slots=True)
class Marks:
    """What an anchor says: its own random name, which ledger it belongs to, and how far each dataset was.

    The name is empty in an anchor of an older version.
    """

    ledger: str
    heads: Mapping[str, Mark]
    name: str = ""
    pending: bool = field(default=False, compare=False)
    """Whether the newest mark may not be durable yet."""

    def settled(self, *, pending: bool) -> "Marks":
        """Return the same marks, of which the newest may, or may not, be durable yet."""
        return Marks(self.ledger, self.heads, self.name, pending)


class Anchor(Protocol):
    """A place outside the store that remembers how far it had come; several machines may share one."""

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there never was an anchor here."""

    def start(self, ledger: str) -> Marks:
        """Begin anchoring a ledger, under a new name; if it was begun already, return what stands."""

    def move(self, marks: Marks, dataset: str, mark: Mark) -> Mark | None:
        """Put a dataset's mark in the place of the one in `marks`, durably, if that one still stands.

        Returns None, or the mark that stands there instead.
        """

    def close(self) -> None:
        """Let go of whatever is needed to reach it."""


def sealed_mark(key: bytes, marks: Marks, dataset: str, mark: Mark) -> Mark:
    """Return a mark with its seal, which only the holder of the ledger's key can make."""
    seal = _mark_seal(key, marks.name, marks.ledger, dataset, mark.number, mark.mac, mark.spent)
    return Mark(mark.number, mark.mac, mark.spent, seal)


@lru_cache(1024)
def _mark_seal(key: bytes, name: str, ledger: str, dataset: str, number: int, mac: str, spent: str) -> str:
    # Whoever moves a mark recognises it in the next turn.
    names = name.encode(), ledger.encode(), dataset.encode()
    parts = b"discreet anchor mark", *names, b"%d" % number, mac.encode(), spent.encode()
    return mac_of(key, framed(*parts)).hex()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was read last: its ended lines, how many, the rest, and what all of them say.

    The rest is a line that lacks its end, or the torn beginning of one; `ended` is what the lines before say.
    """

    text: bytes
    count: int
    ended: Marks
    rest: bytes
    marks: Marks
    torn: bool = False
    """Whether anything stands behind a zero."""

    def says(self, data: bytes, *, torn: bool) -> bool:
        """Return whether this is what the file says now."""
        same = len(data) == len(self.text) + len(self.rest) and torn == self.torn
        return same and data.startswith(self.text) and data.endswith(self.rest)


class FileAnchor:
    """An anchor in one small file, best on another volume than the store.

    The file is a list of marks, one per line.  A mark is appended without its line end, one writer at a time;
    then, while others may go on, it is synced, and gets its end, which the next line would bring as well.  So
    if the last line has its end, all lines are on the disk.  If not, whoever relies on them syncs the file
    first, or drops the last one if a crash tore it.  A mark that is only noted is not synced.  A file that
    has grown long is rewritten, atomically.

    Behind the lines there are zeros, over which the next ones are written: a file that grows takes longer to
    be synced, with its size.  What is written over reaches the disk in any order; so after a power cut
    something may stand behind a zero, on which nobody has relied, for what was synced has no zeros before its
    end.  It is never read, and the file is rewritten before anything is added.  Neither size nor time tell
    whether such a file has changed, so it is read each time.
    """

    def __init__(self, path: Path) -> None:
        # The process may change its directory while the ledger is open; and where a link leads to the anchor,
        # a rewritten one must take the place of what it leads to.
        self.path = Path(os.path.realpath(path))
        self._place, self._folder = str(self.path), str(self.path.parent)
        self._locks = Path(f"{self.path}.lock")
        self._seen: _Seen | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def place(self) -> tuple[bytes, ...]:
        """Return what tells this file from every other on this machine, whatever it is called."""
        folder = os.stat(self._folder)
        return b"%d" % folder.st_dev, b"%d" % folder.st_ino, self.path.name.encode()

    def read(self) -> Marks | None:
        """Return what is anchored, or None if there is no file."""
        found = self._look()
        return None if found is None else found.marks

    def _look(self) -> _Seen | None:
        """Return the file as it is; threads may look at once."""
        try:
            descriptor = os.open(self._place, os.O_RDONLY)
            try:
                data, torn = _unpadded(os.read(descriptor, os.fstat(descriptor).st_size))
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            self._seen = None
            return None
        except OSError as error:
            raise LedgerError(f"the anchor {self.path} cannot be read: {error.strerror}") from None
        seen = self._seen
        if seen is None or not seen.says(data, torn=torn):
            seen = self._seen = self._understood(seen, data, torn=torn)
        return seen

    def start(self, ledger: str) -> Marks:
        """Write an anchor without marks, unless there is one."""
        with self._turn():
            marks = self.read()
            if marks is None:
                marks = Marks(ledger, {}, secrets.token_hex(16))
                self._rewrite(marks)
            return marks

    def move(
        self, marks: Marks, dataset: str, mark: Mark, follows: Callable[[Mark], bool] | None = None
    ) -> Mark | None:
        """Append a mark, if nobody else has moved this dataset's since, or if it follows what they moved."""
        with self._turn():
            found, added = self._moved(marks, dataset, mark, follows, durably=True)
        if added is not None:
            self._sync(*added)
        return found

    def note(
        self, marks: Marks, dataset: str, mark: Mark, follows: Callable[[Mark], bool] | None = None
    ) -> Mark | None:
        """Do the same without waiting for the disk, where nothing leaves that relies on it."""
        with self._turn():
            found, added = self._moved(marks, dataset, mark, follows, durably=False)
        if added is not None:
            os.close(added[0])
        return found

    def _moved(
        self,
        marks: Marks,
        dataset: str,
        mark: Mark,
        follows: Callable[[Mark], bool] | None,
        *,
        durably: bool,
    ) -> tuple[Mark | None, tuple[int, _Seen] | None]:
        """Return the mark that is in the way, or the open file with a new line that is not synced yet."""
        seen = self._look()
        if seen is None or (seen.marks.ledger, seen.marks.name) != (marks.ledger, marks.name):
            raise LedgerError(
                f"the anchor {self.path} disappeared or was exchanged while the ledger was open"
            )
        found, expected = seen.marks.heads.get(dataset), marks.heads.get(dataset)
        if found is None and expected is not None:
            raise LedgerError(f"the anchor {self.path} was cut while the ledger was open")
        others = found is not None and found != expected
        if found == mark or (found is not None and others and (follows is None or not follows(found))):
            if durably and (seen.rest or seen.torn):
                self._settle(seen)
            return found if others else None, None
        moved = Marks(marks.ledger, {**seen.marks.heads, dataset: mark}, marks.name)
        if seen.torn or seen.count > LINES + len(moved.heads):
            self._rewrite(moved)
            return None, None
        return None, self._append(seen, canonical([dataset, *mark.stored()]).encode(), moved)

    def _settle(self, seen: _Seen) -> None:
        """Make durable what the file says."""
        if seen.torn:
            self._rewrite(seen.marks)
        else:
            self._sync(*self._append(seen, b"", seen.marks))

    def close(self) -> None:
        """Do nothing: the file is opened anew each time."""

    def upgrade(self, marks: Marks) -> Marks:
        """Give an anchor of an older version a name, and marks that the caller has sealed."""
        with self._turn():
            self._rewrite(marks)
            return marks

    def _understood(self, before: _Seen | None, data: bytes, *, torn: bool) -> _Seen:
        """Return what stands in the file, understanding only what was added since the last time."""
        known = before if before is not None and data.startswith(before.text) else None
        start = 0 if known is None else len(known.text)
        end = data.rfind(b"\n") + 1
        ended = added(None if known is None else known.ended, data[start:end].splitlines(), self.path)
        count, rest = data.count(b"\n", start, end) + (0 if known is None else known.count), data[end:]
        marks = added(ended, [rest], self.path) if _whole(rest) else ended
        return _Seen(data[:end], count, ended, rest, marks.settled(pending=bool(rest) or torn), torn)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            locks = locks_at(self._locks)
        except LedgerError:
            if os.path.isdir(self._folder):
                raise
            raise LedgerError(
                f"the anchor {self.path} cannot be written: its directory does not exist"
            ) from None
        if not locks.take("anchor", PATIENCE):
            raise LedgerError(f"the anchor {self.path} is busy: others have kept it for {PATIENCE:g} seconds")
        try:
            yield
        finally:
            locks.free("anchor")

    def _append(self, seen: _Seen, line: bytes, moved: Marks) -> tuple[int, _Seen]:
        """Add a line, ending or cutting off the one before that lacks its end; without a line only that.

        What is then in the file is known, and need not be read again; it is not on the disk yet.
        """
        before = seen.rest if _whole(seen.rest) else b""
        start = len(seen.text) + len(before)
        text, rest = (seen.text + before + b"\n" if before else seen.text), line
        if not line:
            text, rest = seen.text, before
        try:
            descriptor = os.open(self._place, os.O_RDWR)
            try:
                self._write_over(descriptor, b"\n" + line if before and line else line, start, seen)
            except OSError:
                self._seen = None
                with suppress(OSError):
                    os.ftruncate(descriptor, start)
                os.close(descriptor)
                raise
        except OSError as error:
            raise self._unwritable(error) from None
        count, ended = seen.count, seen.ended
        if line:
            count, ended = seen.count + bool(before), seen.marks.settled(pending=False)
        self._seen = known = _Seen(text, count, ended, rest, moved.settled(pending=True))
        return descriptor, known

    def _write_over(self, descriptor: int, data: bytes, start: int, seen: _Seen) -> None:
        """Write something over the zeros behind the lines, and zeros over what else stands there."""
        end = start + len(data)
        behind = max(end, len(seen.text) + len(seen.rest))
        if end + 1 > os.fstat(descriptor).st_size:
            behind = _roomy(max(behind, end + 1))
        if behind > start:
            write_at(descriptor, data.ljust(behind - start, b"\0"), start)

    def _sync(self, descriptor: int, known: _Seen) -> None:
        """Wait for the disk and end the last line, which others may have ended by a line of their own."""
        try:
            os.fdatasync(descriptor)
            text, count, marks = known.text, known.count, known.marks.settled(pending=False)
            if known.rest:
                write_at(descriptor, b"\n", len(known.text) + len(known.rest))
                text, count = known.text + known.rest + b"\n", known.count + 1
            self._seen = _Seen(text, count, marks, b"", marks)
        except OSError as error:
            self._seen = None
            raise self._unwritable(error) from None
        finally:
            os.close(descriptor)

    def _rewrite(self, marks: Marks) -> None:
        draft = Path(f"{self.path}.new")
        lines = [canonical({"anchor": marks.name, "ledger": marks.ledger}).encode()]
        lines += [canonical([dataset, *mark.stored()]).encode() for dataset, mark in marks.heads.items()]
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                text = b"".join(line + b"\n" for line in lines)
                write_at(descriptor, text.ljust(_roomy(len(text) + 1), b"\0"), 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> LedgerError:
        return LedgerError(f"the anchor {self.path} cannot be written: {error.strerror}")


def write_at(descriptor: int, data: bytes, at: int) -> None:
    """Write some bytes at a place, all of them or raise OSError."""
    if os.pwrite(descriptor, data, at) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _roomy(size: int) -> int:
    return -(-size // ROOM) * ROOM


def _unpadded(data: bytes) -> tuple[bytes, bool]:
    """Return what stands before the first zero, and whether anything but zeros follows it."""
    end = data.find(b"\0")
    return (data, False) if end < 0 else (data[:end], data[end:] != bytes(len(data) - end))


def _whole(line: bytes) -> bool:
    """Return whether a last line without its end is a mark, and not the torn beginning of one."""
    return line.startswith(b"[") and line.endswith(b"]") and _marked(line) is not None


@lru_cache(1024)
def _marked(line: bytes) -> tuple[str, Mark] | None:
    """Return whose mark a line is, and the mark; a line is met again when it has got its end."""
    with suppress(ValueError, TypeError):
        dataset, *mark = json.loads(line)
        return str(dataset), Mark.read(mark)
    return None


def _plain_name(line: bytes) -> bytes:
    """Return how a line begins, up to the end of a name; the whole line where something in it is escaped."""
    name = line[: line.find(b'",')]
    return line if b"\\" in name else name


def added(marks: Marks | None, lines: list[bytes], path: object) -> Marks:
    """Return the marks after some more lines."""
    try:
        if marks is None:
            head = json.loads(lines[0])
            marks, lines = Marks(str(head["ledger"]), {}, str(head.get("anchor", ""))), lines[1:]
        if not lines:
            return marks
        # Of the lines that begin with the same plain name only the last one counts.
        latest = {_plain_name(line): line for line in lines}
        fresh = [_marked(line) for line in latest.values()]
        whole = [mark for mark in fresh if mark is not None]
        if len(whole) < len(fresh):
            raise ValueError
        return Marks(marks.ledger, {**marks.heads, **dict(whole)}, marks.name)
    except (ValueError, TypeError, KeyError, IndexError):
        raise LedgerError(
            f"the anchor {path} is damaged, so it cannot be told whether the ledger was rolled back"
        ) from None
