"""Changing the key: everything stays checkable, nothing that the old key could make is accepted any more."""

from pathlib import Path

import pytest
from tests.ledger.world import Place, ask

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Taken, open_ledger, rotating
from discreet.ledger.anchor import Mark, sealed_mark
from discreet.ledger.chain import load_key, seal
from discreet.ledger.entry import Rotated
from discreet.ledger.rotating import rotate_ledger
from discreet.ledger.signing import signed
from discreet.privacy.filter import PureBudget


class Keyed:
    """A ledger whose key is in a file."""

    def __init__(self, place: Place, tmp_path: Path) -> None:
        self.place, self.key = place, tmp_path / "the.key"
        self.key.write_text(place.key.hex())
        self.key.chmod(0o600)

    def open(self):
        return open_ledger(self.place.location, key=self.key, anchor=self.place.anchor)

    def rotate(self, **options) -> Path:
        given = {"key": self.key, "anchor": self.place.anchor, "reason": "somebody left"}
        return rotate_ledger(self.place.location, **{**given, **options})


@pytest.fixture
def keyed(place: Place, tmp_path: Path) -> Keyed:
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.create_dataset("school", PureBudget(1), reason="opened")
        ledger.answer(ledger.reserve(ask("first")), b"1")
        stream = ledger.open_stream(ask("stream s"), b"0")
        ledger.advance(stream, 1, lambda state: Taken(1, state + b"1", b"one"))
    return Keyed(place, tmp_path)


def test_everything_goes_on_under_the_new_key(keyed: Keyed):
    with keyed.open() as ledger:
        receipt = ledger.reserve(ask("first")).receipt
        before = ledger.account_name("clinic")
    for _ in range(2):
        keyed.rotate()
        with keyed.open() as ledger:
            assert ledger.verify().trusted
            assert ledger.verify(incremental=True).trusted
            assert isinstance(ledger.history("clinic")[-1].event, Rotated)
            again = ledger.reserve(ask("first"))
            assert again.payload == b"1"
            assert ledger.verify_receipt(receipt) == ledger.verify_receipt(again.receipt)
            ledger.require_account("clinic", before)
            stream = ledger.find_stream("clinic", "stream s", "ann")
            step = ledger.steps(stream) + 1
            seen: list[bytes] = []
            ledger.advance(stream, step, lambda s, seen=seen: seen.append(s) or Taken(1, s + b"+", b"more"))
            assert seen[0].startswith(b"01")
    with keyed.open() as ledger:
        assert ledger.verify().trusted


def test_the_old_key_opens_nothing_and_seals_nothing(keyed: Keyed):
    old = keyed.place.key
    keyed.rotate()
    with pytest.raises(LedgerError, match="not the key"):
        keyed.place.open()
    with keyed.open() as ledger:
        receipt = ledger.answer(ledger.reserve(ask("later")), b"2").receipt
        with pytest.raises(LedgerError, match="not signed"):
            ledger.verify_receipt(signed(old, receipt))
        row = ledger._store.shelf.row("clinic", receipt.number)
        marks = ledger._anchor.read()
    forged = seal(old, receipt.ledger, "clinic", row.number, row.previous, row.body)
    changed = f"'{forged.hex()}'"
    value = f"x{changed}" if keyed.place.is_file else f"decode({changed}, 'hex')"
    keyed.place.tamper(
        f"UPDATE {{entry}} SET mac = {value} WHERE number = {row.number} AND dataset = 'clinic'"
    )
    with pytest.raises(LedgerError):
        keyed.open()
    mark = marks.heads["clinic"]
    assert sealed_mark(old, marks, "clinic", Mark(mark.number, mark.mac, mark.spent)) != mark


def test_a_mark_sealed_by_the_old_key_is_refused_once_the_new_one_is_in_force(keyed: Keyed):
    old = keyed.place.key
    keyed.rotate()
    with keyed.open() as ledger:
        ledger.answer(ledger.reserve(ask("later")), b"2")
        marks = ledger._anchor.read()
        mark = marks.heads["clinic"]
        ledger._anchor.move(marks, "clinic", sealed_mark(old, marks, "clinic", mark))
        with pytest.raises(LedgerError, match="edited or forged"):
            ledger.budget("clinic")


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_change_that_breaks_off_is_undone_or_completed(keyed: Keyed, moment: str, monkeypatch):
    class Cut(BaseException):
        """The machine stops."""

    def cut(*_: object) -> None:
        raise Cut

    with monkeypatch.context() as patch:
        patch.setattr(rotating, "_turn" if moment == "before" else "fasten", cut)
        with pytest.raises(Cut):
            keyed.rotate()
    assert Path(f"{keyed.key}.new").exists()
    with keyed.open() as ledger:
        assert ledger.verify().trusted
        rotated = [e for e in ledger.history("clinic") if isinstance(e.event, Rotated)]
        assert len(rotated) == (moment == "after")
        ledger.answer(ledger.reserve(ask("later")), b"2")
    keyed.rotate()
    with keyed.open() as ledger:
        assert ledger.verify().trusted


def test_a_former_key_that_was_edited_is_noticed(keyed: Keyed):
    keyed.rotate()
    table = "former" if keyed.place.is_file else "discreet_former"
    keyed.place.tamper(f"UPDATE {table} SET concealed = {'x' if keyed.place.is_file else ''}'00'")
    with pytest.raises(LedgerError, match="former key"):
        keyed.open()


def test_a_key_from_the_environment_is_renewed_into_a_file(keyed: Keyed, tmp_path: Path):
    with pytest.raises(ParameterError, match="name a new file"):
        keyed.rotate(key=keyed.place.key)
    where = keyed.rotate(key=keyed.place.key, target=tmp_path / "new.key")
    assert where.stat().st_mode & 0o077 == 0
    with open_ledger(
        keyed.place.location, key=load_key(where, create=False), anchor=keyed.place.anchor
    ) as ledger:
        assert ledger.verify().trusted
    with pytest.raises(ParameterError, match="exists"):
        keyed.rotate(key=where, target=where)
