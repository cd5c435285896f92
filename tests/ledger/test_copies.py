"""Two copies of a ledger, yesterday's dump, a cut anchor: only one goes on, and only forwards."""

import multiprocessing
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.world import Place, Server, ask, file_place, server_place

from discreet.errors import LedgerError
from discreet.ledger import Anchor, FileAnchor, Granted, Stored, Taken, adopt_ledger
from discreet.ledger.entry import Adopted
from discreet.ledger.journal import DirectoryLog, LogAnchor
from discreet.ledger.remote import PostgresAnchor
from discreet.privacy.filter import PureBudget

TENTH = Fraction(1, 10)


def copied(place: Place, folder: Path) -> Place:
    """Return a second machine's copy of a file ledger, which shares the anchor."""
    folder.mkdir()
    twin = replace(place, location=str(folder / "twin.ledger"))
    shutil.copy(place.location, twin.location)
    return twin


def begun(place: Place, anchor: Anchor | None = None) -> None:
    with place.open(**({} if anchor is None else {"anchor": anchor})) as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.answer(ledger.reserve(ask("first")), b"1")
        ledger.open_stream(ask("stream s"), b"0")


def release(place: Place, start: threading.Barrier | None, name: str) -> bool:
    """Open, wait for the other, release; return whether an answer left."""
    try:
        with place.open(anchor=FileAnchor(place.anchor)) as ledger:
            if start is not None:
                start.wait(30)
            outcome = ledger.reserve(ask(name, question=name))
            stored = ledger.answer(outcome, b"2") if isinstance(outcome, Granted) else outcome
            return isinstance(stored, Stored)
    except LedgerError:
        return False


@pytest.mark.parametrize("races", [4, pytest.param(200, marks=pytest.mark.fuzz)], ids=["some", "many"])
@pytest.mark.parametrize("act", ["release", "step"])
def test_of_two_copies_started_together_only_one_goes_on(races: int, act: str):
    for _ in range(races):
        with file_place() as file:
            begun(file)
            places = file, copied(file, Path(file.location).parent / "second")
            assert sum(raced(places, release if act == "release" else step)) <= 1
            later = [release(place, None, "later") for place in places * 2]
            assert sum(later) == 2, "one of them, twice"


def raced(places: tuple[Place, ...], act: Callable[..., bool]) -> list[bool]:
    """Do something with several copies at once; return from which of them something left."""
    start, left = threading.Barrier(len(places)), []
    threads = [
        threading.Thread(target=lambda p=p, n=n: left.append(act(p, start, f"{n}")))
        for n, p in enumerate(places)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return left


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_of_two_copies_in_two_processes_only_one_goes_on():
    context = multiprocessing.get_context("fork")
    for _ in range(100):
        with file_place() as file:
            begun(file)
            places = file, copied(file, Path(file.location).parent / "second")
            start, told = context.Barrier(2), context.SimpleQueue()
            racing = [
                context.Process(target=lambda p=p, n=n, s=start, t=told: t.put(release(p, s, f"{n}")))
                for n, p in enumerate(places)
            ]
            for process in racing:
                process.start()
            assert sum(told.get() for _ in racing) <= 1
            for process in racing:
                process.join()


def step(place: Place, start: threading.Barrier, name: str) -> bool:
    """Open, wait for the other, take the next step of a stream; return whether it was released."""
    try:
        with place.open(anchor=FileAnchor(place.anchor)) as ledger:
            stream = ledger.find_stream("clinic", "stream s", "ann")
            start.wait(30)
            ledger.advance(stream, 1, lambda state: Taken(1, state, name.encode()))
            return True
    except LedgerError:
        return False


class Overtaken(FileAnchor):
    """An anchor that another copy of the ledger moves at the last moment."""

    def __init__(self, path: Path, other: Place) -> None:
        super().__init__(path)
        self.other: Place | None = other

    def move(self, *arguments):
        other, self.other = self.other, None
        if other is not None:
            assert release(other, None, "faster")
        return super().move(*arguments)

    def note(self, *arguments):
        return self.move(*arguments)


def test_a_copy_that_is_overtaken_between_its_commit_and_its_anchor_lets_nothing_leave(
    file: Place, tmp_path: Path
):
    begun(file)
    twin = copied(file, tmp_path / "second")
    with file.open() as ledger:
        ledger._anchor = Overtaken(file.anchor, twin)
        with pytest.raises(LedgerError, match="exists twice"):
            ledger.reserve(ask("slower"))


def test_a_copy_that_went_as_far_another_way_is_told_by_its_content(file: Place, tmp_path: Path):
    begun(file)
    twin = replace(copied(file, tmp_path / "second"), anchor=tmp_path / "second.anchor")
    shutil.copy(file.anchor, twin.anchor)
    assert release(file, None, "this way")
    assert release(twin, None, "that way")
    with pytest.raises(LedgerError, match="does not contain its anchored entry"):
        replace(twin, anchor=file.anchor).open()


@pytest.fixture(params=["file", "directory", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path: Path):
    """An anchor that two machines can reach, as each of them opens it."""
    if request.param == "file":
        yield lambda: FileAnchor(tmp_path / "volume.anchor")
    elif request.param == "directory":
        yield lambda: LogAnchor(DirectoryLog(tmp_path / "log"), "log")
    else:
        with server_place(request.getfixturevalue("server")) as other:
            yield lambda: PostgresAnchor(other.location)


def test_yesterdays_dump_restored_on_another_machine_cannot_spend_again(server: Server, shared):
    with server_place(server) as first, server_place(server) as second:
        begun(first, shared())
        dump = {**first.copy(), "former": [], "ledger": first.query("SELECT * FROM {meta}")}
        with first.open(anchor=shared()) as ledger:
            ledger.answer(ledger.reserve(ask("later", epsilon="0.8")), b"2")
        with second.open(key=bytes(reversed(range(32)))):
            pass  # the tables, which the dump then fills
        second.restore(dump)
        with pytest.raises(LedgerError, match="rolled back"):
            second.open(anchor=shared())
        with first.open(anchor=shared()) as ledger:
            assert ledger.verify().trusted


@pytest.mark.parametrize("lines", [1, 2])
def test_an_anchor_cut_to_its_first_lines_is_refused(place: Place, lines: int):
    begun(place)
    with place.open() as ledger:
        ledger.answer(ledger.reserve(ask("more")), b"2")
    whole = place.anchor.read_bytes().rstrip(b"\0").splitlines(keepends=True)
    assert len(whole) > lines
    place.anchor.write_bytes(b"".join(whole[:lines]))
    with pytest.raises(LedgerError, match="cut or put back"):
        place.open()


def test_a_mark_that_nobody_with_the_key_made_is_refused(place: Place):
    begun(place)
    lines = place.anchor.read_text().rstrip("\0").splitlines()
    place.anchor.write_text("\n".join([*lines[:-1], lines[-1].replace('"clinic",', '"clinic",1')]) + "\n")
    with pytest.raises(LedgerError):
        place.open()


def test_an_anchor_of_another_name_is_refused_until_it_is_adopted_and_adopting_leaves_an_entry(place: Place):
    begun(place)
    place.anchor.unlink()
    with pytest.raises(LedgerError, match="adopt_ledger"):
        place.open()
    report = adopt_ledger(place.location, key=place.key, anchor=place.anchor, reason="new machine")
    assert report.trusted
    with place.open() as ledger:
        newest = ledger.history("clinic")[-1].event
        assert isinstance(newest, Adopted)
        assert newest.reason == "new machine"
        assert ledger.verify().trusted
        assert ledger.budget("clinic").limits[0].spent.epsilon == 2 * TENTH
