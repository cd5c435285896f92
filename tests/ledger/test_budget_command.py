"""The command that shows a budget and checks a ledger."""

import json
from pathlib import Path

import pytest
import typer
from tests.ledger.world import ask
from typer.testing import CliRunner

from discreet.cli.budget import budget
from discreet.errors import LedgerError
from discreet.ledger import Ledger, Scope, Taken, open_ledger
from discreet.privacy.filter import ApproximateBudget, Cost, PureBudget

app = typer.Typer()
app.command()(budget)


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})


def story(path: Path) -> Ledger:
    ledger = open_ledger(path)
    ledger.create_dataset("clinic", PureBudget(1), analysts=["ann", "bob"], reason="study 7")
    ledger.set_limit("clinic", Scope(analyst="ann"), PureBudget("0.5"), reason="trial")
    ledger.answer(ledger.reserve(ask("a", epsilon="0.25")), b"1")
    ledger.fail(ledger.reserve(ask("b", epsilon="0.05")), "engine-error")
    ledger.reserve(ask("c", analyst="bob"))
    return ledger


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("DISCREET_LEDGER_KEY", "DISCREET_LEDGER_ANCHOR"):
        monkeypatch.delenv(variable, raising=False)
    path = tmp_path / "clinic.ledger"
    story(path).close()
    return path


def test_the_table_shows_every_limit_and_the_history(place: Path):
    shown = run(place)
    assert shown.exit_code == 0, shown.exception
    for words in (
        "the whole dataset",
        "analyst ann",
        "epsilon 1",
        "epsilon 0.5",
        "study 7",
        "SELECT count(*)",
    ):
        assert words in shown.output
    for words in (
        "If everybody pools their answers: epsilon 0.4",
        "engine-error; stays spent",
        "40.0 %",
        "60.0 %",
    ):
        assert words in shown.output
    assert "1 request(s) paid for and not answered yet" in shown.output


def test_json_is_exact_and_complete(place: Path):
    shown = json.loads(run(place, "--format", "json").output)
    (clinic,) = shown["datasets"]
    assert clinic["limits"][0]["budget"] == ["pure", "1"]
    assert clinic["limits"][0]["spent"][0] == "2/5"
    assert clinic["limits"][0]["remaining"]["epsilon"] == "3/5"
    assert [line["what"] for line in clinic["history"]][:4] == ["opened", "limit set", "paid", "answered"]
    assert json.loads(run(place, "--format", "json", "--history", 0).output)["datasets"][0]["history"] == []


def test_verify_explains_what_holds(place: Path):
    shown = run(place, "--verify")
    assert shown.exit_code == 0, shown.exception
    assert "holds" in shown.output
    assert "the ledger can be trusted" in shown.output.replace("\n", " ")
    assert json.loads(run(place, "--verify", "--format", "json").output)["trusted"] is True


def test_verify_explains_what_is_broken_and_fails(place: Path):
    import sqlite3

    with sqlite3.connect(place) as database:
        database.execute("DROP TRIGGER entry_is_final")
        database.execute("UPDATE entry SET payload = x'32' WHERE number = 4")
    database.close()
    shown = run(place, "--verify")
    assert shown.exit_code == 1
    assert "broken  entry 4 of dataset clinic was edited" in shown.output.replace("\n", " ")
    assert "Do not release anything" in shown.output
    assert json.loads(run(place, "--verify", "--format", "json").output)["trusted"] is False
    assert isinstance(run(place).exception, LedgerError)


def test_a_receipt_is_checked(place: Path):
    with open_ledger(place) as ledger:
        receipt = ledger.reserve(ask("a", epsilon="0.25")).receipt
    shown = run(place, "--receipt", receipt)
    assert shown.exit_code == 0
    assert "valid  entry 4 of clinic" in shown.output
    wrong = str(receipt).replace("/4/", "/3/")
    assert isinstance(run(place, "--receipt", wrong).exception, LedgerError)


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_spending_is_drawn(place: Path, tmp_path: Path, ending: str):
    target = tmp_path / f"spending.{ending}"
    shown = run(place, "--plot", target)
    assert shown.exit_code == 0, shown.exception
    assert "analyst ann" in target.read_text()
    assert "Privacy budget of clinic" in target.read_text()


def test_the_picture_ends_where_the_budget_stands(place: Path):
    from discreet.ledger.picture import spending_picture

    with open_ledger(place) as ledger:
        chart = spending_picture(ledger.history("clinic", last=100)).to_dict()
    values = (
        chart["data"]["values"] if "values" in chart.get("data", {}) else chart["layer"][0]["data"]["values"]
    )
    last = [row for row in values if row["x"] == max(r["x"] for r in values)]
    assert {row["series"]: row["y"] for row in last} == {"the whole dataset": 40.0, "analyst ann": 60.0}


def test_a_manifest_leads_to_its_ledger(place: Path):
    manifest = place.parent / "study.toml"
    manifest.write_text(
        '[dataset]\nname = "clinic"\nledger = "clinic.ledger"\n[budget]\nepsilon = 1\n'
        '[tables.visits]\nsource = "visits.csv"\n[tables.visits.columns]\n'
        'age = { type = "integer", low = 0, high = 9 }\n'
    )
    shown = run(manifest)
    assert shown.exit_code == 0, shown.exception
    assert "Dataset clinic" in shown.output


def test_a_hostile_question_cannot_paint_the_terminal(place: Path):
    with open_ledger(place) as ledger:
        ledger.reserve(
            ask("x", analyst="bob", question="[/bold][link=http://x]\x1b[2J\x1b]0;owned\x07 [red]")
        )
    shown = run(place)
    assert shown.exit_code == 0, shown.exception
    assert "\x1b]0;" not in shown.output
    assert "\x1b[2J" not in shown.output
    assert "[/bold][link=http://x]" in shown.output


def test_the_history_shows_the_steps_of_a_stream(place: Path):
    with open_ledger(place) as ledger:
        stream = ledger.open_stream(ask("stream visits", analyst="bob", epsilon="0.01"), b"")
        ledger.advance(stream, 1, lambda _: Taken(7, b"", b"counts"))
    shown = run(place)
    assert shown.exit_code == 0, shown.exception
    words = " ".join(shown.output.split())
    assert f"entry {stream.number}, begun" in words
    assert f"entry {stream.number}, steps 1 to 7, free" in words
    assert run(place, "--verify").exit_code == 0


def test_a_missing_ledger_is_not_created(tmp_path: Path):
    shown = run(tmp_path / "none.ledger")
    assert isinstance(shown.exception, LedgerError)
    assert list(tmp_path.iterdir()) == []


def test_an_approximate_budget_is_shown_with_what_is_left(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("DISCREET_LEDGER_KEY", raising=False)
    with open_ledger(tmp_path / "a.ledger") as ledger:
        ledger.create_dataset("clinic", ApproximateBudget(2, "1e-6"), reason="opened")
        ledger.reserve(ask("a", cost=Cost.concentrated("0.01")))
    shown = run(tmp_path / "a.ledger")
    assert shown.exit_code == 0, shown.exception
    assert "delta 1e-06" in shown.output
    assert "rho 0.01" in shown.output


def test_a_lost_anchor_can_be_begun_anew(place: Path):
    anchor = Path(f"{place}.anchor")
    anchor.unlink()
    assert isinstance(run(place).exception, LedgerError)
    shown = run(place, "--adopt")
    assert shown.exit_code == 0, shown.exception
    assert anchor.exists()
    assert run(place).exit_code == 0
