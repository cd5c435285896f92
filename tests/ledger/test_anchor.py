"""The anchor moves forward only, whole or not at all."""

import threading
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.anchor import LINES, FileAnchor, Mark, Marks


def test_an_anchor_remembers_each_dataset(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    assert anchor.read() is None
    assert anchor.start("me") == Marks("me", {})
    anchor.advance("me", "clinic", Mark(3, "aa"))
    anchor.advance("me", "school", Mark(1, "bb"))
    assert FileAnchor(tmp_path / "anchor").read() == Marks(
        "me", {"clinic": Mark(3, "aa"), "school": Mark(1, "bb")}
    )


def test_an_anchor_never_moves_back(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    anchor.advance("me", "clinic", Mark(3, "aa"))
    for number in (1, 2, 3):
        anchor.advance("me", "clinic", Mark(number, "zz"))
    assert anchor.read().heads["clinic"] == Mark(3, "aa")
    assert anchor.start("another").ledger == "me"


def test_an_anchor_that_vanishes_or_changes_hands_is_noticed(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    with pytest.raises(LedgerError, match="disappeared"):
        anchor.advance("me", "clinic", Mark(1, "aa"))
    anchor.start("another")
    with pytest.raises(LedgerError, match="exchanged"):
        anchor.advance("me", "clinic", Mark(1, "aa"))


def test_a_crowd_of_writers_leaves_the_highest_mark(tmp_path: Path):
    FileAnchor(tmp_path / "anchor").start("me")

    def climb(first: int) -> None:
        for number in range(first, 200, 8):
            FileAnchor(tmp_path / "anchor").advance("me", "clinic", Mark(number, str(number)))

    threads = [threading.Thread(target=climb, args=(first,)) for first in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert FileAnchor(tmp_path / "anchor").read().heads["clinic"] == Mark(199, "199")


def test_a_torn_line_is_dropped_and_written_over(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    anchor.advance("me", "clinic", Mark(1, "aa"))
    whole = anchor.path.read_bytes()
    anchor.advance("me", "clinic", Mark(2, "bb"))
    longer = anchor.path.read_bytes()
    for size in range(len(whole), len(longer) - 1):
        anchor.path.write_bytes(longer[:size])
        assert anchor.read().heads["clinic"] == Mark(1, "aa")
        anchor.advance("me", "clinic", Mark(3, "c"))
        assert anchor.read().heads["clinic"] == Mark(3, "c")
        assert len(anchor.path.read_bytes().splitlines()) == 3


def test_a_line_that_only_lacks_its_end_counts_and_is_synced_by_whoever_meets_it(tmp_path: Path, monkeypatch):
    import discreet.ledger.anchor as module

    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    anchor.advance("me", "clinic", Mark(5, "aa"))
    unfinished = anchor.path.read_bytes()[:-1]
    synced = []
    monkeypatch.setattr(module.os, "fdatasync", synced.append)
    for dataset, mark in (("clinic", Mark(5, "aa")), ("clinic", Mark(4, "zz")), ("school", Mark(1, "bb"))):
        anchor.path.write_bytes(unfinished)
        synced.clear()
        assert anchor.read().heads == {"clinic": Mark(5, "aa")}
        anchor.advance("me", dataset, mark)
        assert len(synced) == (2 if dataset == "school" else 1)
        assert anchor.read().heads["clinic"] == Mark(5, "aa")
        assert anchor.path.read_bytes().startswith(unfinished + b"\n")
        anchor.advance("me", dataset, mark)
        assert len(synced) == (2 if dataset == "school" else 1), (
            "what is known to be synced is not synced again"
        )


def test_a_long_anchor_is_rewritten_and_stays_short(tmp_path: Path):
    anchor = FileAnchor(tmp_path / "anchor")
    anchor.start("me")
    for number in range(1, 301):
        anchor.advance("me", f"d{number % 3}", Mark(number, "a" * 64))
        assert len(anchor.path.read_bytes().splitlines()) <= LINES + 5
    newest = {name: mark.number for name, mark in anchor.read().heads.items()}
    assert newest == {"d0": 300, "d1": 298, "d2": 299}


def test_an_anchor_in_an_impossible_place_says_so(tmp_path: Path):
    with pytest.raises(LedgerError, match="cannot be written"):
        FileAnchor(tmp_path / "nowhere" / "anchor").start("me")
    with pytest.raises(LedgerError, match="cannot be read"):
        FileAnchor(tmp_path).read()
