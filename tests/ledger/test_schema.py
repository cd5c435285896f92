"""Old, new, foreign and unreachable stores: a clear error, nothing lost, and a way to go on."""

import sqlite3
from pathlib import Path

import pytest
from tests.ledger.world import KEY, Place, ask

import discreet.ledger.postgres as postgres
import discreet.ledger.shelf as shelf
import discreet.ledger.sqlite as sqlite
import discreet.ledger.store as store
from discreet.errors import LedgerError
from discreet.ledger import migrate_ledger, open_ledger
from discreet.privacy.filter import PureBudget


@pytest.fixture
def old(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A ledger written by the first version of the tables."""
    with monkeypatch.context() as past:
        for module in (store, sqlite, postgres):
            past.setattr(module, "SCHEMA", 1)
        for module in (sqlite, postgres):
            past.setattr(module, "MIGRATIONS", module.MIGRATIONS[:1])
        past.setattr(shelf.Shelf, "answer", lambda *_: None)  # its index came with the second version
        with place.open() as ledger:
            ledger.create_dataset("clinic", PureBudget(1), reason="opened")
            ledger.answer(ledger.reserve(ask("a")), b"kept")
    return place


def test_an_old_schema_is_refused_with_the_way_to_migrate(old: Place):
    before = old.query("SELECT * FROM {entry}")
    with pytest.raises(LedgerError, match=r"schema version 1 .* needs version 3.*migrate"):
        old.open()
    assert old.query("SELECT * FROM {entry}") == before


def test_migration_keeps_every_entry_and_answer(old: Place):
    before = old.query("SELECT * FROM {entry}")
    migrate_ledger(old.location)
    migrate_ledger(old.location)
    assert old.query("SELECT * FROM {entry}") == before
    with old.open() as ledger:
        assert ledger.reserve(ask("a")).payload == b"kept"
        assert ledger.verify().trusted


def test_a_newer_schema_is_refused(place: Place):
    with place.open():
        pass
    place.tamper("UPDATE {meta} SET schema = 99")
    for act in (place.open, lambda: migrate_ledger(place.location)):
        with pytest.raises(LedgerError, match="written by a newer discreet"):
            act()


def test_a_migrated_store_has_the_same_tables_as_a_new_one(old: Place, tmp_path: Path):
    if not old.is_file:
        pytest.skip("the catalogue of PostgreSQL names the schema in every definition")
    migrate_ledger(old.location)
    new = Place(str(tmp_path / "new.ledger"), tmp_path / "anchor")
    with new.open():
        pass
    tables = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    assert old.query(tables) == new.query(tables)


def test_an_unreachable_server_is_named_without_its_password(tmp_path: Path):
    with pytest.raises(LedgerError, match="cannot be reached") as refusal:
        open_ledger(
            f"postgresql://me:secret@/nowhere?host={tmp_path}",
            key=KEY,
            anchor=tmp_path / "anchor",
            create=False,
        )
    assert "secret" not in str(refusal.value)


def test_a_server_without_fsync_is_refused(server, monkeypatch):
    true = postgres.PostgresStore._all
    monkeypatch.setattr(
        postgres.PostgresStore,
        "_all",
        lambda self, sql, *v: [("off",)] if sql == "SHOW fsync" else true(self, sql, *v),
    )
    with pytest.raises(LedgerError, match="fsync=off"):
        postgres.PostgresStore(server.url())


def test_the_ledger_really_runs_durably(place: Place):
    with place.open() as ledger:
        if place.is_file:
            assert ledger._store._all("PRAGMA journal_mode") == [("wal",)]
            assert ledger._store._all("PRAGMA synchronous") == [(2,)]
        else:
            assert ledger._store._all("SHOW synchronous_commit") == [("on",)]
            with ledger._store.writing("clinic"):
                assert ledger._store._all("SHOW transaction_isolation") == [("serializable",)]


def test_a_ledger_file_is_private_and_needs_a_log(tmp_path: Path, monkeypatch):
    with Place(str(tmp_path / "a.ledger"), tmp_path / "a.anchor").open():
        found = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if path.is_file()}
    assert {"a.ledger", "a.ledger-wal", "a.anchor"} <= set(found)
    assert set(found.values()) == {0}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="local disk"):
        sqlite.SqliteStore(Path(":memory:"))


def test_what_is_not_a_ledger_is_refused(tmp_path: Path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database " * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        open_ledger(text, key=KEY)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE ledger (x)")
    database.close()
    with pytest.raises(LedgerError):
        open_ledger(other, key=KEY)
    with pytest.raises(LedgerError, match="no ledger at"):
        open_ledger(tmp_path / "missing.ledger", key=KEY, create=False)
    assert not (tmp_path / "missing.ledger").exists()
    with pytest.raises(LedgerError, match="cannot be"):
        open_ledger(tmp_path / "no such directory" / "x.ledger", key=KEY)


def test_a_server_ledger_needs_a_key_and_an_anchor(server, tmp_path: Path, monkeypatch):
    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(LedgerError, match="needs an anchor"):
        open_ledger(server.url(), key=KEY)
    with pytest.raises(LedgerError, match="needs a key"):
        open_ledger(server.url(), anchor=tmp_path / "anchor")
