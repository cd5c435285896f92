"""The manifest names its account: no ledger that is lost, renamed or exchanged gives a new budget."""

import json
import multiprocessing
import os
import shutil
import tomllib
from pathlib import Path

import pytest
from tests.ledger.world import ask
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import CatalogError, LedgerError
from discreet.ledger import open_ledger
from discreet.ledger.entry import Reserved, Succeeded
from discreet.ledger.signing import Name
from discreet.privacy.filter import PureBudget
from discreet.release import pinning
from discreet.release.opening import open as open_session
from discreet.release.pinning import pin

MANIFEST = """\
# whose data this is
[dataset]
name = "clinic"          # a comment

[budget]
epsilon = 1
[tables.people]
source = "people.csv"
unit = "person"
rows_per_unit = 1
[tables.people.columns]
age = { type = "integer", low = 0, high = 100 }
"""
QUESTION = "SELECT COUNT(*) AS n FROM people WHERE age > 30"


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "people.csv").write_text("person,age\n" + "".join(f"{n},{n % 90}\n" for n in range(50)))
    path = tmp_path / "clinic.toml"
    path.write_text(MANIFEST)
    return path


def opened(manifest: Path, **options: object):
    return open_session(manifest, **options)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def spend(manifest: Path, epsilon: str = "0.5", **options: object):
    with opened(manifest, **options) as session:
        return session.query(QUESTION, epsilon=epsilon)


def test_the_first_opening_pins_the_account_and_leaves_the_rest_of_the_manifest_alone(manifest: Path):
    spend(manifest)
    text = manifest.read_text()
    document, before = tomllib.loads(text), tomllib.loads(MANIFEST)
    account = document["dataset"].pop("account")
    assert document == before
    assert "# a comment" in text
    with open_ledger(manifest.parent / "clinic.ledger") as ledger:
        assert str(ledger.account_name("clinic")) == account
    spend(manifest)
    assert manifest.read_text() == text


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_several_processes_that_open_for_the_first_time_at_once_share_one_account(manifest: Path):
    context = multiprocessing.get_context("fork")
    start, told = context.Barrier(5), context.SimpleQueue()

    def client() -> None:
        start.wait(60)
        try:
            with opened(manifest) as session:
                told.put(str(session.ledger.account_name("clinic")))
        except BaseException as problem:
            told.put(f"{type(problem).__name__}: {problem}")

    children = [context.Process(target=client) for _ in range(5)]
    for child in children:
        child.start()
    found = {told.get() for _ in children}
    for child in children:
        child.join(60)
    assert found == {tomllib.loads(manifest.read_text())["dataset"]["account"]}


def lose(manifest: Path) -> None:
    for left in manifest.parent.glob("clinic.ledger*"):
        left.unlink()


def empty(manifest: Path) -> None:
    lose(manifest)
    open_ledger(manifest.parent / "clinic.ledger").close()


def refill(manifest: Path) -> None:
    lose(manifest)
    with open_ledger(manifest.parent / "clinic.ledger") as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="a full budget")


def rename_the_dataset(manifest: Path) -> None:
    manifest.write_text(manifest.read_text().replace('"clinic" ', '"hospital" '))


def rename_the_ledger(manifest: Path) -> None:
    manifest.write_text(manifest.read_text().replace("[dataset]\n", '[dataset]\nledger = "other.ledger"\n'))


@pytest.mark.parametrize("change", [lose, empty, refill, rename_the_dataset, rename_the_ledger])
def test_no_loss_exchange_or_renaming_gives_a_new_budget(manifest: Path, change):
    spend(manifest)
    change(manifest)
    before = sorted(manifest.parent.glob("*.ledger*"))
    with pytest.raises(LedgerError, match=r"discreet ledger restore.*discreet ledger begin"):
        opened(manifest)
    assert sorted(manifest.parent.glob("*.ledger*")) == before, "nothing new is begun"


def test_another_ledger_given_by_keyword_is_refused_too(manifest: Path):
    spend(manifest)
    with pytest.raises(LedgerError, match="discreet ledger begin"):
        opened(manifest, ledger="other.ledger")


def test_a_new_account_is_declared_with_a_reason_and_remembers_the_old_one(manifest: Path):
    spend(manifest)
    old = tomllib.loads(manifest.read_text())["dataset"]["account"]
    assert run("ledger", "begin", manifest, "--reason", "twice").exit_code != 0
    lose(manifest)
    shown = run("ledger", "begin", manifest, "--reason", "the disk burnt")
    assert shown.exit_code == 0, shown.exception
    with opened(manifest) as session:
        events = [entry.event for entry in session.ledger.history("clinic")]
        assert events[1] == Succeeded(old, "the disk burnt")
        assert session.budget.limits[0].spent.epsilon == 0


def test_a_manifest_that_cannot_be_written_is_refused_with_the_line_to_add(manifest: Path, monkeypatch):
    class Refusing:
        def __getattr__(self, name: str):
            return self.refuse if name == "replace" else getattr(os, name)

        def refuse(self, *_: object) -> None:
            raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(pinning, "os", Refusing())
        with pytest.raises(CatalogError, match="add this line") as refusal:
            opened(manifest)
    line = str(refusal.value).rpartition(": ")[2]
    manifest.write_text(MANIFEST.replace("[dataset]\n", f"[dataset]\n{line}\n"))
    spend(manifest)
    assert not list(manifest.parent.glob(".clinic.toml*"))


@pytest.mark.parametrize(
    "text",
    [
        'dataset = { name = "clinic" }\n',
        "[budget]\nepsilon = 1\n",
        '[dataset]\r\nname = "clinic"\r\n',
        '[dataset]\nname = """\n[dataset]\n"""\n',
        '[dataset]\n"account" = "a.b.c"\n',
        "",
    ],
)
def test_pinning_changes_nothing_else_or_refuses(tmp_path: Path, text: str):
    path = tmp_path / "m.toml"
    path.write_bytes(text.encode())
    name = Name("ledger", "first", "public")
    before = tomllib.loads(text)
    try:
        pin(path, name, instead_of="a.b.c")
    except CatalogError:
        assert path.read_bytes() == text.encode()
        return
    after = tomllib.loads(path.read_bytes().decode())
    assert after.pop("dataset") == {**before.pop("dataset", {}), "account": str(name)}
    assert after == before


def test_a_pin_is_not_replaced_by_somebody_who_did_not_read_it(tmp_path: Path):
    path = tmp_path / "m.toml"
    path.write_text('[dataset]\naccount = "a.b.c"\n')
    with pytest.raises(CatalogError, match="another account"):
        pin(path, Name("d", "e", "f"))


def test_scratch_sessions_never_touch_the_key_or_anchor_of_the_environment(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER_ANCHOR", str(tmp_path / "production.anchor"))
    monkeypatch.setenv("DISCREET_LEDGER_KEY", "not a key")
    (tmp_path / "people.csv").write_text("person,age\n1,2\n")
    with open_session(people=str(tmp_path / "people.csv"), unit="person", rows_per_unit=1, epsilon=1) as one:
        one.query("SELECT COUNT(*) AS n FROM people", epsilon="0.5")
    assert not list(tmp_path.glob("production*"))


def test_the_history_shows_the_words_in_which_a_question_was_asked(manifest: Path):
    words = "select   count(*) as people from people where age > 30"
    with opened(manifest) as session:
        session.query(words, epsilon="0.5")
        free = session.query(QUESTION, epsilon="0.5")
        assert free.free, "other words for the same question"
        (request,) = [
            e.event.request for e in session.ledger.history("clinic") if isinstance(e.event, Reserved)
        ]
    assert request.text == words
    assert request.question != words
    shown = run("budget", manifest)
    assert "select count(*) as people from people where age > 30" in shown.output


def test_a_receipt_held_against_the_ledger_proves_a_rollback_without_any_key(manifest: Path, tmp_path: Path):
    spend(manifest, "0.3")
    kept = tmp_path / "kept"
    shutil.copy(manifest.parent / "clinic.ledger", kept)
    with opened(manifest) as session:
        receipt = session.query("SELECT COUNT(*) AS n FROM people", epsilon="0.3").receipt
    told = tmp_path / "receipt.json"
    told.write_text(json.dumps({"receipt": str(receipt)}))
    for path in manifest.parent.glob("clinic.ledger.*"):
        path.unlink()  # neither key nor anchor
    held = run("budget", manifest, "--against", told)
    assert held.exit_code == 0, held.output
    assert "still holds" in held.output
    shutil.copy(kept, manifest.parent / "clinic.ledger")
    held = run("budget", manifest, "--against", told)
    assert held.exit_code == 1
    assert "rolled back" in held.output
    told.write_text(str(receipt).replace(f"/{receipt.number}/", f"/{receipt.number + 1}/"))
    forged = run("budget", manifest, "--against", told)
    assert isinstance(forged.exception, LedgerError)
    assert "proves nothing" in str(forged.exception)


def test_the_commands_back_up_restore_rotate_and_watch(manifest: Path, tmp_path: Path):
    spend(manifest)
    backup = tmp_path / "monday.backup"
    assert run("ledger", "backup", manifest, backup).exit_code == 0
    with opened(manifest) as session:
        session.query("SELECT COUNT(*) AS n FROM people", epsilon="0.25")
    (manifest.parent / "clinic.ledger").unlink()
    shown = run("ledger", "restore", backup, manifest, "--reason", "the disk burnt")
    assert shown.exit_code == 0, shown.exception
    assert "epsilon 0.25" in shown.output
    with opened(manifest) as session:
        assert float(session.budget.limits[0].spent.epsilon) == 0.75
    assert run("ledger", "rotate", manifest, "--reason", "somebody left").exit_code == 0
    with opened(manifest) as session:
        assert str(session.ledger.account_name("clinic")) == session.catalog.account
        assert session.ledger.verify().trusted
    watched = run("ledger", "watch", manifest)
    assert watched.exit_code == 0, watched.exception
    assert 'discreet_ledger_used{dataset="clinic"} 0.75' in watched.output
    assert 'discreet_ledger_anchor_lag{dataset="clinic"} 0' in watched.output
    assert run("ledger", "grant", manifest, "ann", "analyst").exception is not None


def test_counters_and_log_lines_tell_no_data(manifest: Path, caplog):
    with caplog.at_level("INFO", logger="discreet.ledger"), opened(manifest) as session:
        session.query(QUESTION, epsilon="0.5")
        session.query(QUESTION, epsilon="0.5")
        with pytest.raises(Exception, match="refuses"):
            session.query("SELECT COUNT(*) AS n FROM people", epsilon="0.9")
        counts = session.ledger.counters.read()
    assert {"reserved": 1, "answered": 1, "repeated": 1, "refused_budget": 1}.items() <= counts.items()
    lines = [json.loads(record.message) for record in caplog.records]
    assert {line["event"] for line in lines} == {"created", "reserved", "answered", "refused"}
    assert {key for line in lines for key in line} <= {
        *("event", "dataset", "entry", "attempt", "size", "code", "reason"),
    }
    assert not any("people" in record.message or "analyst" in record.message for record in caplog.records)


def test_a_role_that_may_not_decide_is_refused(tmp_path: Path):
    with open_ledger(tmp_path / "x.ledger") as ledger:
        ledger.create_dataset("clinic", PureBudget(1), reason="opened")
    with open_ledger(tmp_path / "x.ledger", role="analyst") as ledger:
        ledger.answer(ledger.reserve(ask("a")), b"1")
        with pytest.raises(LedgerError, match="opened as analyst"):
            ledger.close_dataset("clinic", reason="mine")
