"""Old, new, foreign and unreachable stores: a clear error, nothing lost, and a way to go on."""

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from tests.ledger.world import KEY, Place, ask

import discreet.ledger.postgres as postgres
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Receipt, Scope, migrate_ledger, migrating, open_ledger
from discreet.ledger.sqlite import SqliteStore
from discreet.privacy.filter import PureBudget
from discreet.release.stream import open_stream

OLD = Path(__file__).parent / "old"
RECEIPT = {
    "plain": "fc1987e2e369504b4d1374c6b874ebfe/5/"
    "ba18e58265fe213ca055c00b488c43f5ae3a8794f2c264f67ffd07be25c136e3/clinic",
    "streams": "a7f1f70d1e911cf4adf10a04878b38e0/5/"
    "f64718716679c1a71b05b57f04cd0c7cdce4a600b7ab9a46cb43977dc2d681d5/clinic",
}


def put_back(place: Place, name: str, schema: int = 3) -> None:
    """Put a ledger that version 3 of the tables really held in a place."""
    place.anchor.write_bytes((OLD / f"{name}.anchor").read_bytes())
    database = sqlite3.connect(place.location if place.is_file else ":memory:")
    database.executescript((OLD / f"{name}.sql").read_text())
    if schema < 3:
        database.executescript("DROP TABLE secret; DROP INDEX entry_step;")
    if schema < 2:
        database.executescript("DROP INDEX entry_asked;")
    database.execute(f"UPDATE ledger SET schema = {schema}")
    database.commit()
    if not place.is_file:
        import psycopg

        with psycopg.connect(place.location) as server:
            for statement in (s for step in postgres.MIGRATIONS[:schema] for s in step):
                server.execute(statement)
            for table in ("entry", "head", *(["secret"] if schema == 3 else [])):
                for row in database.execute(f"SELECT * FROM {table}"):
                    marks = ", ".join(["%s"] * len(row))
                    server.execute(f"INSERT INTO discreet_{table} VALUES ({marks})", row)
            meta = database.execute("SELECT schema, identity, key FROM ledger").fetchone()
            server.execute("INSERT INTO discreet_ledger (schema, identity, key) VALUES (%s, %s, %s)", meta)
    database.close()


def migrate(place: Place) -> None:
    migrate_ledger(place.location, key=place.key, anchor=place.anchor)


@pytest.fixture(params=[("plain", 1), ("plain", 2), ("plain", 3), ("streams", 3)], ids=str)
def old(place: Place, request: pytest.FixtureRequest) -> Place:
    put_back(place, *request.param)
    return place


def test_an_old_schema_is_refused_with_the_way_to_migrate(old: Place):
    before = old.query("SELECT * FROM {entry}")
    with pytest.raises(LedgerError, match=r"schema version \d .* needs version 4.*migrate"):
        old.open()
    assert old.query("SELECT * FROM {entry}") == before


def test_migration_keeps_every_entry_answer_and_receipt_and_says_that_it_was(old: Place):
    before = old.query("SELECT * FROM {entry} ORDER BY 1, 2")
    name = "plain" if "fc1987e2" in old.anchor.read_text() else "streams"
    migrate(old)
    migrate(old)
    after = old.query("SELECT * FROM {entry} ORDER BY 1, 2")
    assert [row for row in after if row[2] != "migrated"] == before
    assert [row[0] for row in after if row[2] == "migrated"] == ["clinic", "school"]
    with old.open() as ledger:
        assert ledger.reserve(ask("a")).payload == b"kept"
        assert ledger.verify_receipt(Receipt.parse(RECEIPT[name])).number == 5
        again = ledger.reserve(ask("another", question="unanswered"))
        assert again.attempt == 2
        ledger.answer(again, b"1")
        assert ledger.verify().trusted
        assert ledger.reserve(ask("z", dataset="school")).payload == b"school"
    with old.open() as ledger:
        assert ledger.verify().trusted


def test_migration_merges_the_spellings_of_a_name_and_the_smaller_limit_stays(old: Place):
    migrate(old)
    with old.open() as ledger:
        shown = {limit.scope: limit for limit in ledger.budget("clinic").limits}
        assert shown[Scope(analyst="ben")].budget == PureBudget("0.3")
        assert shown[Scope(analyst="ben")].spent.epsilon == Fraction(4, 10)
        assert Scope(analyst="Ben") not in shown
        assert ledger.budget("clinic").analysts == ("ann", "ben", "cy")
        with pytest.raises(BudgetError, match="limit on analyst ben"):
            ledger.reserve(ask("more", analyst="BEN", epsilon="1/100"))


def test_a_stream_goes_on_after_a_migration(place: Place):
    put_back(place, "streams")
    migrate(place)
    with place.open() as ledger:
        stream = open_stream(ledger, PureBudget(3), "clinic", "wards", "ann", "visits")
        assert [count.step for count in stream.released()] == [1, 2, 3]
        assert stream.add(1, step=4).step == 4
        assert ledger.verify().trusted


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE {entry} SET body = replace(body, 'trainee', 'traitor') WHERE number = 3",
        "UPDATE {head} SET state = replace(state, '3', '4')",
        "DELETE FROM {entry} WHERE dataset = 'school'",
        "UPDATE {entry} SET payload = previous WHERE number = 5",
    ],
)
def test_a_ledger_that_does_not_hold_is_not_migrated(file: Place, edit: str):
    put_back(file, "plain")
    file.tamper(edit)
    before = file.query("SELECT * FROM {entry}")
    with pytest.raises(LedgerError):
        migrate(file)
    assert file.query("SELECT schema FROM {meta}") == [(3,)]
    assert file.query("SELECT * FROM {entry}") == before


def test_a_migration_that_broke_off_before_the_anchor_was_sealed_is_completed(place: Place, monkeypatch):
    put_back(place, "plain")
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "_seal", lambda *_: (_ for _ in ()).throw(LedgerError("power cut")))
        with pytest.raises(LedgerError, match="power cut"):
            migrate(place)
    with pytest.raises(LedgerError, match="anchor"):
        place.open()
    migrate(place)
    with place.open() as ledger:
        assert ledger.verify().trusted


def test_a_newer_schema_is_refused(place: Place):
    with place.open():
        pass
    place.tamper("UPDATE {meta} SET schema = 99")
    for act in (place.open, lambda: migrate(place)):
        with pytest.raises(LedgerError, match="written by a newer discreet"):
            act()


def test_a_migrated_store_has_the_same_tables_as_a_new_one(file: Place, tmp_path: Path):
    put_back(file, "plain", 1)
    migrate(file)
    new = Place(str(tmp_path / "new.ledger"), tmp_path / "anchor")
    with new.open():
        pass
    tables = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    assert file.query(tables) == new.query(tables)


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
            assert ledger._store._all("PRAGMA synchronous") == [(1,)]
        else:
            assert ledger._store._all("SHOW synchronous_commit") == [("on",)]
            with ledger._store.writing("clinic"):
                assert ledger._store._all("SHOW transaction_isolation") == [("read committed",)]


def test_a_ledger_file_is_private_and_needs_a_log(tmp_path: Path, monkeypatch):
    with Place(str(tmp_path / "a.ledger"), tmp_path / "a.anchor").open():
        found = {path.name: path.stat().st_mode & 0o077 for path in tmp_path.iterdir() if path.is_file()}
    assert {"a.ledger", "a.ledger-wal", "a.anchor"} <= set(found)
    assert set(found.values()) == {0}
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="local disk"):
        SqliteStore(Path(":memory:"))


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
