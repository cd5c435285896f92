"""Somebody who can write to the store, but has neither the key nor the anchor, tries to get away with it.

Each attack is tried on the ledger, which must notice it when it is opened or used, and on a broken twin that
lacks the one protection the attack is about, where the attack must succeed: otherwise it would prove nothing.
"""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.ledger.world import Place, ask

import discreet.ledger.turn as turn_module
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import EVERYBODY, Granted, Scope, Stored, adopt_ledger, open_ledger
from discreet.ledger.anchor import FileAnchor
from discreet.ledger.chain import seal
from discreet.ledger.codec import canonical
from discreet.ledger.entry import Event, Limited, Succeeded
from discreet.ledger.unanchored import Unanchored
from discreet.ledger.written import own_key, tally, tally_seal
from discreet.privacy.filter import PureBudget


def fill(place: Place, answers: int = 3) -> list[Stored]:
    """Make a short history and return its answers."""
    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        return [ledger.answer(ledger.reserve(ask(f"a{n}")), b"answer %d" % n) for n in range(answers)]


def refused(place: Place) -> bool:
    """Return whether the ledger refuses to be opened, or fails its verification."""
    try:
        with place.open() as ledger:
            return not ledger.verify().trusted
    except LedgerError:
        return True


pytestmark = pytest.mark.timeout(1800)
EXHAUSTIVE = "DISCREET_EXHAUSTIVE" in os.environ
"""Whether the slow tests try every single byte of a file and not only those of its newest part."""


def test_every_byte_of_every_column_of_the_last_three_entries_is_under_the_seal(place: Place):
    fill(place, 2)
    rows = place.query(
        "SELECT number, kind, request, asked, refers, body, previous, mac, payload FROM {entry}"
    )
    last = sorted(rows)[-3:]
    with place.open() as ledger:
        store = ledger._store
        seals = ledger._seals
        for values in last:
            original = store.shelf.row("clinic", values[0])
            seals.open(original)
            for field in (
                "number",
                "kind",
                "request",
                "asked",
                "refers",
                "body",
                "previous",
                "mac",
                "payload",
            ):
                for edited in edits(getattr(original, field)):
                    with pytest.raises(LedgerError):
                        seals.open(original._replace(**{field: edited}))


def edits(value):
    """Return the value with each of its bytes changed, and as nothing, and as something."""
    match value:
        case None:
            return ["x"]
        case int():
            return [value + 1, value - 1, value + 256, -value]
        case bytes():
            flips = [
                value[:i] + bytes([value[i] ^ bit]) + value[i + 1 :]
                for i in range(len(value))
                for bit in (1, 128)
            ]
            return [*flips, value[:-1], value + b"\0"]
        case str():
            flips = [value[:i] + chr(ord(value[i]) ^ 1) + value[i + 1 :] for i in range(len(value))]
            return [*flips, value[:-1], value + " "]
        case _:
            raise TypeError


def test_an_edit_in_the_store_is_refused_on_opening(place: Place):
    fill(place)
    for number in (5, 6, 7):
        backup = place.copy()
        for statement in (
            f"UPDATE {{entry}} SET body = body || ' ' WHERE number = {number}",
            f"UPDATE {{entry}} SET kind = 'failed' WHERE number = {number}",
            f"UPDATE {{entry}} SET refers = 99 WHERE number = {number}",
            f"UPDATE {{entry}} SET request = 'zz' WHERE number = {number}",
            f"UPDATE {{entry}} SET asked = 'zz' WHERE number = {number}",
            f"UPDATE {{entry}} SET payload = previous WHERE number = {number}",
            f"UPDATE {{entry}} SET mac = previous WHERE number = {number}",
            f"UPDATE {{entry}} SET previous = mac WHERE number = {number}",
            f"UPDATE {{entry}} SET dataset = 'school' WHERE number = {number}",
            f"DELETE FROM {{entry}} WHERE number = {number}",
        ):
            place.tamper(statement)
            with pytest.raises(LedgerError):
                place.open()
            place.restore(backup)
        with place.open() as ledger:
            assert ledger.verify().trusted


def test_an_edit_is_noticed_by_a_ledger_that_is_already_open(place: Place):
    answers = fill(place)
    with place.open() as ledger:
        place.tamper("UPDATE {entry} SET payload = previous WHERE number = 3")
        with pytest.raises(LedgerError, match="digest"):
            ledger.reserve(ask("a0"))
        assert ledger.reserve(ask("a1")) == answers[1]
        place.tamper("UPDATE {entry} SET body = body || ' ' WHERE number = 7")
        with pytest.raises(LedgerError, match="edited"):
            ledger.reserve(ask("b"))


def test_an_old_edit_that_nobody_looks_at_is_found_by_verify(place: Place, monkeypatch):
    import discreet.ledger.verifying as verifying

    monkeypatch.setattr(verifying, "RECENT", 2)
    fill(place)
    place.tamper("UPDATE {entry} SET payload = previous WHERE number = 3")
    with place.open() as ledger:
        report = ledger.verify()
        assert not report.trusted
        assert "entry 3" in report.findings[0].problem


def lower_totals(place: Place) -> None:
    """Give the budget back by editing the running totals."""
    place.tamper("DELETE FROM {total} WHERE name LIKE '[\"spent\"%'")


def test_running_totals_cannot_be_edited(place: Place):
    fill(place)
    with place.open() as ledger:
        lower_totals(place)
        for name in range(7):  # an open ledger remembers what was spent, and reads no totals
            ledger.reserve(ask(f"b{name}"))
        with pytest.raises(BudgetError):
            ledger.reserve(ask("more"))
        place.tamper('UPDATE {total} SET value = \'["0","0","0"]\' WHERE name LIKE \'["spent"%\'')
        assert not ledger.verify().trusted
    with pytest.raises(LedgerError, match="running totals"):
        place.open()


def test_a_twin_whose_totals_are_not_under_the_seal_is_overspent(place: Place, monkeypatch):
    fill(place, 10)
    with place.open() as ledger, pytest.raises(BudgetError):
        ledger.reserve(ask("b"))
    monkeypatch.setattr(turn_module, "tally_seal", lambda key, total: Anything())
    lower_totals(place)
    with place.open() as ledger:
        assert isinstance(ledger.reserve(ask("b")), Granted)


class Anything(str):
    def __ne__(self, other: object) -> bool:
        return False


def forge(place: Place, key: bytes) -> None:
    """Append a limit of a million, sealed with a key that the forger guesses."""
    ((number,),) = place.query("SELECT number FROM {head}")
    ((mac,),) = place.query(f"SELECT mac FROM {{entry}} WHERE number = {number}")
    ((ledger,),) = place.query("SELECT identity FROM " + ("ledger" if place.is_file else "discreet_ledger"))
    million = '["pure","1000000"]'
    rows = dict(place.query("SELECT name, value FROM {total}"))
    rows['["limit",null,null]'] = million
    own = own_key(key, ledger, "clinic")
    anchor = [FileAnchor(place.anchor).read().name, number]
    event = {
        "kind": "limited",
        "project": None,
        "analyst": None,
        "budget": ["pure", "1000000"],
        "reason": "gift",
    }
    sealed = tally_seal(own, tally(own, rows.items()))
    body = canonical({"event": event, "rows": sealed, "anchor": anchor, "time": "2026-01-01T00:00:00+00:00"})
    forged = seal(key, ledger, "clinic", number + 1, bytes(mac), body).hex()
    previous = bytes(mac).hex()
    blob = "x'{}'" if place.is_file else "'\\x{}'"
    quoted = body.replace("{", "{{").replace("}", "}}")
    place.tamper(
        f"INSERT INTO {{entry}} VALUES ('clinic', {number + 1}, 'limited', NULL, NULL, NULL, '{quoted}', "
        f"{blob.format(previous)}, {blob.format(forged)}, NULL)",
        f"UPDATE {{head}} SET number = {number + 1}",
        f"UPDATE {{total}} SET value = '{million}' WHERE name = '[\"limit\",null,null]'",
    )


def test_entries_cannot_be_forged_without_the_key(place: Place):
    fill(place)
    forge(place, bytes(32))
    with pytest.raises(LedgerError, match="edited or forged"):
        place.open()


def test_a_twin_with_a_known_key_is_forged(place: Place):
    twin = replace(place, key=bytes(32))
    fill(twin)
    forge(twin, bytes(32))
    with twin.open() as ledger:
        assert isinstance(ledger.reserve(ask("b", epsilon="1000")), Granted)


def test_entries_of_another_ledger_or_dataset_do_not_fit(place: Place):
    with place.open() as ledger:
        for dataset in ("clinic", "school"):
            ledger.create_dataset(dataset, PureBudget(1), reason="opened")
        ledger.reserve(ask("a"))
    copied = "(SELECT {} FROM {{entry}} WHERE dataset = 'clinic' AND number = 1)"
    place.tamper(
        f"UPDATE {{entry}} SET body = {copied.format('body')} WHERE dataset = 'school'",
        f"UPDATE {{entry}} SET mac = {copied.format('mac')} WHERE dataset = 'school'",
    )
    with pytest.raises(LedgerError, match="entry 1 of dataset school was edited or forged"):
        place.open()
    with pytest.raises(LedgerError, match="seal"):
        place.open(anchor=Unanchored(FileAnchor(place.anchor).read().ledger))


def test_yesterdays_copy_is_refused(place: Place):
    fill(place)
    backup = place.copy()
    with place.open() as ledger:
        ledger.answer(ledger.reserve(ask("later")), b"1")
    place.restore(backup)
    with pytest.raises(LedgerError, match="its anchor knows entry 9, the ledger ends at entry 7"):
        place.open()


def test_yesterdays_copy_is_refused_by_a_ledger_that_is_already_open(place: Place):
    fill(place)
    backup = place.copy()
    with place.open() as ledger:
        ledger.answer(ledger.reserve(ask("later")), b"1")
        if place.is_file:  # a restore that replaces the file under the open connection
            Path(place.location).rename(place.location + ".gone")
            Path(place.location).write_bytes(backup["file"])
        else:
            place.restore(backup)
        with pytest.raises(LedgerError, match=r"exchanged|rolled back"):
            ledger.reserve(ask("more"))


def test_a_twin_without_an_anchor_accepts_yesterdays_copy(place: Place):
    fill(place, 9)
    identity = FileAnchor(place.anchor).read().ledger
    backup = place.copy()
    for name in ("x", "y"):
        place.restore(backup)
        with place.open(anchor=Unanchored(identity)) as twin:
            twin.answer(twin.reserve(ask(name)), b"paid from the same tenth")


def test_cutting_off_the_end_is_refused(place: Place):
    fill(place)
    for kept in (6, 4, 1):
        place.tamper(f"DELETE FROM {{entry}} WHERE number > {kept}", f"UPDATE {{head}} SET number = {kept}")
        with pytest.raises(LedgerError):
            place.open()
    place.tamper("DELETE FROM {entry}", "DELETE FROM {head}")
    with pytest.raises(LedgerError, match="rolled back"):
        place.open()


def test_a_deleted_index_or_outcome_never_buys_a_second_answer(place: Place):
    """Whoever hides an answer from the look-up gets an error, not a second draw for the same money."""
    fill(place)
    with place.open() as ledger:
        place.tamper("UPDATE {entry} SET refers = 40 WHERE number = 3")
        with pytest.raises(LedgerError):
            ledger.reserve(ask("a0"))
        place.tamper("UPDATE {entry} SET refers = 2 WHERE number = 3")
        place.tamper("UPDATE {entry} SET request = 'hidden' WHERE number = 4")
        before = ledger.budget("clinic").limits[0].spent.epsilon
        outcome = ledger.reserve(ask("a1"))
        assert isinstance(outcome, Stored)  # found again by its question
        assert ledger.budget("clinic").limits[0].spent.epsilon == before


def test_a_missing_or_foreign_anchor_is_refused_and_can_be_adopted(place: Place, tmp_path: Path):
    fill(place)
    place.anchor.unlink()
    with pytest.raises(LedgerError, match=r"anchor .* is missing"):
        place.open()
    report = adopt_ledger(place.location, key=place.key, anchor=place.anchor)
    assert report.trusted
    assert report.findings[0].entries == 7
    with pytest.raises(LedgerError, match="exists"):
        adopt_ledger(place.location, key=place.key, anchor=place.anchor)
    with place.open() as ledger:
        assert ledger.verify().trusted
    other = Place(str(tmp_path / "other.ledger"), tmp_path / "other.anchor")
    fill(other, 1)
    with pytest.raises(LedgerError, match="belongs to another ledger"):
        place.open(anchor=other.anchor)


def test_adopting_a_damaged_ledger_writes_no_anchor(place: Place):
    fill(place)
    place.anchor.unlink()
    place.tamper("UPDATE {entry} SET payload = previous WHERE number = 3")
    assert not adopt_ledger(place.location, key=place.key, anchor=place.anchor).trusted
    assert not place.anchor.exists()


def test_a_damaged_anchor_is_refused(place: Place):
    fill(place, 1)
    whole = place.anchor.read_bytes()
    for damaged in (b"", b"{}", b"[]", b"\xff", whole[9:], whole.replace(b'["clinic",3,', b'["clinic",4,')):
        place.anchor.write_bytes(damaged)
        with pytest.raises(LedgerError):
            place.open()


def test_an_anchor_left_behind_by_a_crash_is_caught_up(place: Place):
    fill(place, 1)
    older = place.anchor.read_bytes()
    with place.open() as ledger:
        granted = ledger.reserve(ask("b"))
        old = place.anchor.read_bytes()
        ledger.answer(granted, b"1")
    place.anchor.write_bytes(older)
    with pytest.raises(LedgerError, match="cut or put back"):
        place.open()
    place.anchor.write_bytes(old)
    with place.open() as ledger:
        assert ledger.verify().trusted
        assert isinstance(ledger.reserve(ask("b")), Stored)
    assert FileAnchor(place.anchor).read().heads["clinic"].number == 5


def test_another_key_is_told_apart_from_a_forgery(place: Place):
    fill(place, 1)
    with pytest.raises(LedgerError, match="not the key"):
        place.open(key=bytes(32))


def test_verify_replays_the_rules_even_if_the_seals_are_right(place: Place, monkeypatch):
    """A ledger written by broken code that had the key: limits were not checked when it was written."""
    from discreet.ledger.account import Account

    with place.open() as ledger:
        ledger.create_dataset("clinic", PureBudget("0.1"), reason="opened")
        with monkeypatch.context() as patch:
            patch.setattr(Account, "check", lambda self, request, day=None: None)
            for name in ("a", "b"):
                ledger.reserve(ask(name))
        report = ledger.verify()
        assert not report.trusted
        assert "entry 3 of dataset clinic breaks the rules" in report.findings[0].problem


@pytest.mark.parametrize(
    "event", [Limited(Scope(analyst="ann"), PureBudget(1), "why"), Succeeded("another", "why")]
)
def test_verify_finds_an_entry_that_seals_other_totals_than_its_history_has(
    file: Place, monkeypatch, event: Event
):
    fill(file, 1)
    with file.open() as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(turn_module, "tally_seal", lambda key, total: "00" * 32)
            ledger._write("clinic", lambda turn: turn.append(event))
        ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget(2), reason="sealed well")
        (finding,) = ledger.verify().findings
        assert finding.problem == "entry 4 of dataset clinic seals totals that its history contradicts"


def test_changing_the_stored_limit_by_hand_is_refused(place: Place):
    fill(place)
    place.tamper('UPDATE {total} SET value = replace(value, \'"pure","1"\', \'"pure","9"\')')
    with pytest.raises(LedgerError, match="running totals"):
        place.open()


KEPT = ("ledger", "entry", "head", "secret", "total", "former", "duty")


def test_the_store_itself_refuses_to_forget(place: Place):
    """The second line of defence: even with an open connection, entries are neither changed nor deleted."""
    fill(place)
    with place.open() as ledger:
        entry, head = ("entry", "head") if place.is_file else ("discreet_entry", "discreet_head")
        for statement in (
            f"UPDATE {entry} SET payload = NULL",
            f"DELETE FROM {entry}",
            f"DELETE FROM {head}",
            f"UPDATE {head} SET number = number - 1",
            f"UPDATE {head} SET number = number + 2",
            *(() if place.is_file else (f"TRUNCATE discreet_{t}" for t in KEPT)),
        ):
            with pytest.raises(LedgerError):
                ledger._store._all(statement)
        assert ledger.verify().trusted


def flat_copy(place: Place) -> bytes:
    """Return the ledger as one file, its log merged in."""
    return place.copy()["file"]


def opens_unharmed(place: Place, data: bytes, answers: list[Stored]) -> bool:
    """Put these bytes in the ledger's place; return whether it opens, and if so check what it says."""
    for suffix in ("-wal", "-shm"):
        Path(place.location + suffix).unlink(missing_ok=True)
    Path(place.location).write_bytes(data)
    try:
        with place.open() as ledger:
            whole = next(limit for limit in ledger.budget("clinic").limits if limit.scope == EVERYBODY)
            assert whole.spent.epsilon * 10 == len(answers)
            for number, answer in enumerate(answers[-2:], len(answers) - 2):
                outcome = ledger.reserve(ask(f"a{number}"))
                assert outcome in (answer,) or isinstance(outcome, Granted)
                if isinstance(outcome, Granted):  # a broken index: it was charged again
                    assert ledger.budget("clinic").limits[0].spent.epsilon > whole.spent.epsilon
                    return True
        return True
    except LedgerError:
        return False


def test_every_flipped_byte_of_the_last_three_entries_in_the_file_is_refused_or_harmless(file: Place):
    answers = fill(file, 2)
    data = flat_copy(file)
    rows = file.query("SELECT body, mac, payload FROM {entry} WHERE number >= 3")
    spans = [
        (data.index(part), len(part))
        for body, mac, payload in rows
        for part in (body.encode(), mac, payload)
        if part
    ]
    places = sorted({start + offset for start, size in spans for offset in range(size)})
    assert len(places) > 1000
    survived = [
        at
        for at in places[:: 1 if EXHAUSTIVE else 3]
        if opens_unharmed(file, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], answers)
    ]
    assert survived == []


def test_bytes_flipped_anywhere_in_the_file_never_make_it_lie(file: Place):
    answers = fill(file, 2)
    data = flat_copy(file)
    for at in range(0, len(data), 1 if EXHAUSTIVE else 401):
        opens_unharmed(file, data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], answers)


def test_a_file_cut_anywhere_is_refused_or_tells_the_truth(file: Place):
    answers = fill(file, 2)
    data = flat_copy(file)
    assert opens_unharmed(file, data, answers)
    last = len(data) - 4096
    step = 1 if EXHAUSTIVE else 499
    newest = sorted({*range(0, last, step), *range(last, last + 9), *range(last, len(data), step)})
    opened = [size for size in newest if opens_unharmed(file, data[:size], answers)]
    assert all(size > last for size in opened)  # within the last page, which holds no entry
    for size in opened[:3]:
        Path(file.location).write_bytes(data[:size])
        assert refused(file)


def test_a_log_cut_anywhere_is_refused_or_recovers_to_what_was_anchored(file: Place):
    """The newest entries live in the write-ahead log; SQLite drops a torn end of it without a word."""
    with file.open() as ledger:
        ledger._store._database.execute("PRAGMA wal_autocheckpoint = 0")
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger._store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        stored = ledger.answer(ledger.reserve(ask("a0")), b"answer")
        main, log = Path(file.location).read_bytes(), Path(file.location + "-wal").read_bytes()
    assert len(log) > 8000
    opened = []
    for size in [*range(0, len(log), 1 if EXHAUSTIVE else 97), len(log)]:
        Path(file.location).write_bytes(main)
        Path(file.location + "-wal").write_bytes(log[:size])
        Path(file.location + "-shm").unlink(missing_ok=True)
        try:
            with file.open() as ledger:
                assert ledger.reserve(ask("a0")) == stored
            opened.append(size)
        except LedgerError:
            pass
    assert opened == [len(log)]


def test_two_processes_creating_the_same_ledger_agree(place: Place):
    opened = []
    threads = [threading.Thread(target=lambda: opened.append(place.open())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({ledger.identity for ledger in opened}) == 1
    for ledger in opened:
        ledger.close()


def test_the_default_key_and_anchor_lie_beside_a_file_and_are_private(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
        ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget(1), reason="cap")
    key = tmp_path / "a.ledger.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex(key.read_text().strip())) == 32
    with open_ledger(tmp_path / "a.ledger") as ledger:
        assert ledger.datasets() == ("clinic",)
    secret = key.read_bytes()
    assert secret.strip() not in (tmp_path / "a.ledger").read_bytes()
    key.chmod(0o644)
    with pytest.raises(LedgerError, match="chmod 600"):
        open_ledger(tmp_path / "a.ledger")
    key.unlink()
    with pytest.raises(LedgerError, match="missing or unreadable"):
        open_ledger(tmp_path / "a.ledger")
    monkeypatch.setenv("DISCREET_LEDGER_KEY", secret.decode().strip())
    with open_ledger(tmp_path / "a.ledger") as ledger:
        assert ledger.verify().trusted
