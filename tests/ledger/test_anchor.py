"""The anchor moves only from the mark that was read, whole or not at all, in every kind of place."""

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ledger.world import server_place

import discreet.ledger.anchor as module
from discreet.errors import LedgerError
from discreet.ledger.anchor import LINES, Anchor, FileAnchor, Mark, Marks
from discreet.ledger.codec import canonical
from discreet.ledger.journal import DirectoryLog, LogAnchor
from discreet.ledger.remote import PostgresAnchor


@pytest.fixture(params=["file", "log", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    """Return what opens the same anchor again and again."""
    if request.param == "file":
        yield lambda: FileAnchor(tmp_path / "anchor")
    elif request.param == "log":
        yield lambda: LogAnchor(DirectoryLog(tmp_path / "anchor"))
    else:
        with server_place(request.getfixturevalue("server")) as found, ExitStack() as opened:

            def anchor() -> PostgresAnchor:
                return opened.enter_context(closing(PostgresAnchor(found.location)))

            yield anchor


def put(anchor: Anchor, dataset: str, mark: Mark) -> Mark | None:
    """Move a mark from wherever it stands."""
    return anchor.move(anchor.read(), dataset, mark)


def said(anchor: FileAnchor) -> bytes:
    """Return what stands in the file, without the room behind it."""
    return anchor.path.read_bytes().rstrip(b"\0")


def test_an_anchor_remembers_each_dataset(place):
    anchor = place()
    assert anchor.read() is None
    begun = anchor.start("me")
    assert (begun.ledger, begun.heads) == ("me", {})
    assert put(anchor, "clinic", Mark(3, "aa", "s", "x")) is None
    assert put(anchor, "school", Mark(1, "bb", "s", "y")) is None
    heads = {"clinic": Mark(3, "aa", "s", "x"), "school": Mark(1, "bb", "s", "y")}
    assert place().read() == Marks("me", heads, begun.name)
    assert place().start("another") == Marks("me", heads, begun.name)


def test_an_anchor_moves_only_from_the_mark_that_was_read(place):
    first, second = place(), place()
    first.start("me")
    before = second.read()
    assert put(first, "clinic", Mark(3, "aa")) is None
    assert second.move(before, "clinic", Mark(4, "zz")) == Mark(3, "aa")
    assert second.move(second.read(), "clinic", Mark(4, "bb")) is None
    assert first.move(second.read(), "clinic", Mark(4, "bb")) is None, "what stands already, stands"
    assert first.read().heads["clinic"] == Mark(4, "bb")


def test_an_anchor_that_vanishes_or_changes_hands_is_noticed(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    with pytest.raises(LedgerError, match="disappeared"):
        anchor.move(Marks("me", {}, "n"), "clinic", Mark(1, "aa"))
    anchor.start("another")
    with pytest.raises(LedgerError, match="exchanged"):
        anchor.move(Marks("me", {}, "n"), "clinic", Mark(1, "aa"))


def test_a_crowd_of_writers_moves_a_mark_one_after_the_other(place):
    place().start("me")
    taken: list[int] = []

    def climb(name: int) -> None:
        anchor = place()
        for _ in range(12):
            while True:
                marks = anchor.read()
                number = marks.heads["clinic"].number + 1 if "clinic" in marks.heads else 1
                if anchor.move(marks, "clinic", Mark(number, f"{name}.{number}")) is None:
                    taken.append(number)
                    break

    threads = [threading.Thread(target=climb, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 73))
    assert place().read().heads["clinic"].number == 72


def test_a_torn_line_is_dropped_and_written_over(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    put(anchor, "clinic", Mark(1, "aa"))
    whole = said(anchor)
    put(anchor, "clinic", Mark(2, "b" * 20))
    longer = said(anchor)
    for size in range(len(whole), len(longer) - 1):
        anchor.path.write_bytes(longer[:size])
        assert anchor.read().heads["clinic"] == Mark(1, "aa")
        put(anchor, "clinic", Mark(3, "c"))
        assert anchor.read().heads["clinic"] == Mark(3, "c")
        assert len(said(anchor).splitlines()) == 3


def test_a_line_that_only_lacks_its_end_counts_and_is_synced_by_whoever_meets_it(tmp_path: Path, monkeypatch):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    put(anchor, "clinic", Mark(5, "aa"))
    unfinished = said(anchor)[:-1]
    synced = []
    monkeypatch.setattr(module.os, "fdatasync", synced.append)
    for dataset, mark in (("clinic", Mark(5, "aa")), ("school", Mark(1, "bb"))):
        anchor.path.write_bytes(unfinished)
        synced.clear()
        assert anchor.read().heads == {"clinic": Mark(5, "aa")}
        assert anchor.read().pending
        put(anchor, dataset, mark)
        assert len(synced) == 1, "one sync is enough for both lines"
        assert anchor.read().heads["clinic"] == Mark(5, "aa")
        assert said(anchor).startswith(unfinished + b"\n")
        put(anchor, dataset, mark)
        assert len(synced) == 1, "what is known to be synced is not synced again"


def test_a_mark_that_is_only_noted_is_seen_by_all_and_synced_by_whoever_relies_on_it(
    tmp_path: Path, monkeypatch
):
    anchor, other = FileAnchor(tmp_path / "anchor"), FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    put(anchor, "clinic", Mark(5, "aa"))
    synced = []
    monkeypatch.setattr(module.os, "fdatasync", synced.append)
    for number in (6, 7):
        assert anchor.note(anchor.read(), "clinic", Mark(number, "bb")) is None
        for whoever in (anchor, other, FileAnchor(anchor.path)):
            assert whoever.read().heads["clinic"] == Mark(number, "bb")
            assert whoever.read().pending
    assert other.note(Marks("me", {}, anchor.read().name), "clinic", Mark(1, "x")) == Mark(7, "bb")
    assert not synced
    put(other, "clinic", Mark(7, "bb"))
    assert len(synced) == 1
    assert not anchor.read().pending
    anchor.note(anchor.read(), "clinic", Mark(8, "cc"))
    old = Marks("me", {}, anchor.read().name)
    assert other.move(old, "clinic", Mark(8, "xx")) == Mark(8, "cc")
    assert len(synced) == 2, "a mark that is in the way was noted only, and is relied on from now on"
    anchor.note(anchor.read(), "clinic", Mark(9, "dd"))
    put(other, "clinic", Mark(10, "ee"))
    assert len(synced) == 3
    for whoever in (anchor, other, FileAnchor(anchor.path)):
        assert whoever.read().heads["clinic"] == Mark(10, "ee")
        assert not whoever.read().pending
    assert [line.split(b",")[1] for line in said(anchor).splitlines()[1:]] == [
        b"%d" % number for number in range(5, 11)
    ]


def test_of_many_marks_only_the_newest_of_each_dataset_is_read(tmp_path: Path, monkeypatch):
    spent = canonical(["1/50", "1/5000", "0"])
    names = "clinic", 'a",b', 'a",c', "clinic,", "clin"
    lines = [canonical([name, n, f"{n:064x}", spent, "s"]).encode() for n in range(1, 40) for name in names]
    read = []
    true = Mark.read
    monkeypatch.setattr(Mark, "read", lambda stored: read.append(stored) or true(stored))
    marks = module.added(Marks("ledger", {}, "name"), lines, "here")
    assert {name: mark.number for name, mark in marks.heads.items()} == dict.fromkeys(names, 39)
    assert sum(stored[0] < 39 for stored in read) == 2 * 38, "only names that are escaped are read each time"


def test_after_a_power_cut_what_nobody_relied_on_may_be_torn_anywhere(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    put(anchor, "clinic", Mark(5, "aa"))
    synced = said(anchor)
    for number in (6, 7, 8):
        anchor.note(anchor.read(), "clinic", Mark(number, "bb"))
    noted = said(anchor)
    for start in range(len(synced), len(noted) - 4, 3):
        # Blocks reach the disk in any order: some bytes are there, those before them are not.
        anchor.path.write_bytes(noted[:start] + bytes(4) + noted[start + 4 :])
        found = FileAnchor(anchor.path).read()
        assert found.pending
        assert found.heads["clinic"].number in (5, 6, 7, 8)
        put(anchor, "clinic", Mark(9, "cc"))
        assert FileAnchor(anchor.path).read().heads["clinic"] == Mark(9, "cc")
    anchor.path.write_bytes(noted[: len(synced) + 9] + b"\1" * 4 + noted[len(synced) + 13 :] + b"\n")
    with pytest.raises(LedgerError, match="is damaged"):
        anchor.read()


SECTOR = 512


class Disk:
    """A disk that keeps what was synced, and of what was written since any sectors, each as it was once."""

    def __init__(self, anchor: FileAnchor, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = anchor.path
        self.versions = [self.path.read_bytes()]
        write = module.os.pwrite

        def pwrite(descriptor: int, data: bytes, at: int) -> int:
            written = write(descriptor, data, at)
            self.versions.append(self.path.read_bytes())
            return written

        def fdatasync(descriptor: int) -> None:
            if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                self.versions = [self.path.read_bytes()]

        monkeypatch.setattr(module.os, "pwrite", pwrite)
        monkeypatch.setattr(module.os, "fdatasync", fdatasync)
        monkeypatch.setattr(module.os, "fsync", lambda descriptor: None)  # of a file that replaces another

    def torn(self, choose: Callable[[list[bytes]], bytes]) -> bytes:
        """Return what stands there after a power cut, in which each sector is as it was chosen."""
        longest = max(map(len, self.versions))
        versions = [version.ljust(longest, b"\0") for version in self.versions]
        places = range(0, longest, SECTOR)
        return b"".join(choose([version[at : at + SECTOR] for version in versions]) for at in places)


def long_mark(anchor: FileAnchor, number: int, chance: random.Random) -> Mark:
    """Return a mark of any length, or of one after whose line and its end a sector begins."""
    plain = Mark(number, "a" * 64, "", "b" * 64)
    if chance.random() < 0.5:
        return replace(plain, spent="s" * chance.randrange(300))
    short = len(said(anchor).rstrip(b"\n")) + 1 + len(canonical(["clinic", *plain.stored()])) + 1
    return replace(plain, spent="s" * (-short % SECTOR))


def test_sectors_that_reach_the_disk_in_any_order_never_damage_an_anchor(tmp_path: Path, monkeypatch):
    chance = random.Random(9)
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    disk, durable = Disk(anchor, monkeypatch), 0
    for number in range(1, 46):
        if chance.random() < 0.1:
            put(anchor, "clinic", long_mark(anchor, number, chance))
            durable = number
        else:
            anchor.note(anchor.read(), "clinic", long_mark(anchor, number, chance))
        for side in (min, *[chance.choice] * 4):
            (tmp_path / "after").write_bytes(disk.torn(side))
            found = FileAnchor(tmp_path / "after")
            heads = found.read().heads
            assert durable <= (heads["clinic"].number if heads else 0) <= number
            for later in (1000, 1001, 1002):
                assert put(found, "clinic", Mark(later, "z" * 300)) is None
                assert FileAnchor(found.path).read().heads["clinic"].number == later


def test_an_anchor_grows_rarely_and_says_the_same_wherever_its_room_ends(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(module, "ROOM", 700)
    anchor, sizes = FileAnchor(tmp_path / "anchor"), set()
    anchor.start("me")
    for number in range(1, 60):
        mark = Mark(number, "m" * (number % 7), "s" * (13 * number % 100))
        put(anchor, "clinic", mark)
        assert FileAnchor(anchor.path).read() == anchor.read()
        assert anchor.read().heads == {"clinic": mark}
        assert len(said(anchor)) < anchor.path.stat().st_size
        sizes.add(anchor.path.stat().st_size)
    assert 2 < len(sizes) < 12
    assert all(size % 700 == 0 for size in sizes)


def test_a_long_anchor_is_rewritten_and_stays_short(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    for number in range(1, 301):
        put(anchor, f"d{number % 3}", Mark(number, "a" * 64))
        assert len(said(anchor).splitlines()) <= LINES + 5
    newest = {name: mark.number for name, mark in anchor.read().heads.items()}
    assert newest == {"d0": 300, "d1": 298, "d2": 299}


def test_a_new_file_that_looks_like_the_old_one_is_read_anew(tmp_path: Path, monkeypatch):
    """The number of a file that is gone may come again, with the same size."""
    anchor = FileAnchor(tmp_path / "a.anchor")
    marks = anchor.start("ledger")
    anchor.move(marks, "clinic", Mark(1, "a"))
    first = anchor.read()
    other = said(anchor).replace(b'"a"', b'"b"')
    anchor.path.write_bytes(other)  # the same file, as long as before
    assert first.heads["clinic"].mac == "a"
    assert anchor.read().heads["clinic"].mac == "b"
    assert FileAnchor(anchor.path).read() == anchor.read()


def test_an_anchor_in_an_impossible_place_says_so(tmp_path: Path):
    with pytest.raises(LedgerError, match="cannot be written"):
        FileAnchor(tmp_path / "nowhere" / "anchor").start("me")
    with pytest.raises(LedgerError, match="cannot be read"):
        FileAnchor(tmp_path).read()
