"""The `discreet query` command, as a new user types it."""

import csv
import io
import json
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli import app, main
from discreet.errors import BudgetError, CatalogError, ParameterError, QueryError
from discreet.release.draft import draft

MANIFEST = """
[dataset]
name = "clinic"
[budget]
epsilon = 2
[tables.visits]
source = "visits.csv"
unit = "person"
rows_per_unit = 2
[tables.visits.columns]
ward = { type = "text", values = ["A", "B", "=cmd"] }
age = { type = "integer", low = 0, high = 100 }
"""
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def folder(tmp_path):
    people = np.arange(300)
    frame = pd.DataFrame({"person": people, "ward": np.where(people % 3 == 0, "A", "B"), "age": people % 90})
    frame.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "clinic.toml").write_text(MANIFEST)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["query", *map(str, arguments)])


def test_a_table_with_error_bars_and_the_price(folder):
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1")
    assert done.exit_code == 0
    assert "±" in done.stdout
    assert "epsilon 1" in done.stderr
    again = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1")
    assert again.stdout == done.stdout
    assert "free" in again.stderr


def test_a_question_may_be_written_in_another_dialect(folder):
    words = ["--epsilon", "1", "--dialect"]
    done = run(
        folder / "clinic.toml",
        "SELECT TOP 1 [ward], COUNT(*) AS n FROM visits GROUP BY [ward]",
        *words,
        "tsql",
    )
    assert done.exit_code == 0
    assert "free" in run(folder / "clinic.toml", BY_WARD, "--epsilon", "1").stderr
    refused = run(folder / "clinic.toml", BY_WARD, *words, "klingon")
    assert "bigquery" in str(refused.exception)


def test_json_carries_intervals_cost_and_receipt(folder):
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--format", "json")
    body = json.loads(done.stdout)
    assert {"rows", "cost", "confidence", "receipt", "free"} == set(body)
    assert {"ward", "n", "n_low", "n_high"} == set(body["rows"][0])


def test_csv_cells_cannot_become_formulas(folder):
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["ward"] for row in rows} == {"A", "B", "'=cmd"}


def test_a_dry_run_spends_nothing_and_shows_what_would_run(folder):
    done = run(folder / "clinic.toml", BY_WARD, "--within", "20", "--dry-run")
    assert done.exit_code == 0
    assert "Geometric" in done.stdout
    assert "SELECT" in done.stdout
    assert isinstance(run(folder / "clinic.toml", BY_WARD, "--epsilon", "2").exception, type(None))


def test_an_explanation_spends_nothing_and_shows_which_operator_bounds_what(folder):
    asked = (folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--explain")
    done = run(*asked)
    assert done.exit_code == 0
    assert done.stdout.startswith("statement: each person")
    assert "private table: visits" in done.stdout
    assert "output m0: moves by at most" in done.stdout
    (tree,) = json.loads(run(*asked, "--format", "json").stdout)
    assert tree["rule"] == "statement"
    assert {"rule", "says"} <= set(tree["from"][0])
    # The whole budget is still there.
    assert run(folder / "clinic.toml", BY_WARD, "--epsilon", "2").exit_code == 0


def test_a_chart_and_a_card(folder):
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--plot", folder / "n.svg", "--card")
    assert "<svg" in (folder / "n.svg").read_text()
    assert "Protects" in done.stdout


def test_refusals_are_deliberate_errors(folder):
    assert isinstance(
        run(folder / "clinic.toml", "SELECT * FROM visits", "--epsilon", "1").exception, QueryError
    )
    assert isinstance(run(folder / "clinic.toml", BY_WARD, "--epsilon", "9").exception, BudgetError)
    assert isinstance(run(folder / "visits.csv", BY_WARD, "--epsilon", "1").exception, CatalogError)


def test_a_file_of_data_needs_no_manifest(folder):
    question = "SELECT AVG(clamp(CAST(age AS INTEGER), 0, 100)) AS a FROM visits"
    done = run(
        folder / "visits.csv",
        question,
        "--epsilon",
        "1",
        "--budget",
        "1",
        "--unit",
        "person",
        "--rows-per-unit",
        "1",
    )
    assert done.exit_code == 0, done.exception
    assert (folder / "visits.csv.ledger").exists()


def test_a_drafted_manifest_is_valid_toml_without_a_bound_from_the_data(folder):
    text = draft([str(folder / "visits.csv")])
    document = tomllib.loads(text)
    assert set(document["tables"]["visits"]["columns"]) >= {"ward", "age"}
    assert "299" not in text
    assert "low" not in str(document)


def test_the_question_may_come_from_standard_input_or_a_file(folder):
    (folder / "question.sql").write_text(BY_WARD)
    given = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--format", "json")
    read = run(folder / "clinic.toml", f"@{folder}/question.sql", "--epsilon", "1", "--format", "json")
    arguments = ["query", str(folder / "clinic.toml"), "-", "--epsilon", "1", "--format", "json"]
    piped = CliRunner().invoke(app, arguments, input=BY_WARD)
    for other in (read, piped):
        assert json.loads(other.stdout) == json.loads(given.stdout) | {"free": True}
    missing = run(folder / "clinic.toml", "@nowhere.sql", "--epsilon", "1").exception
    assert isinstance(missing, ParameterError)


def test_a_quote_is_printed_in_the_format_that_was_asked_for(folder):
    quoted = [folder / "clinic.toml", BY_WARD, "--epsilon", "0.5", "--dry-run", "--format"]
    body = json.loads(run(*quoted, "json").stdout)
    assert body["questions_left"] == 4
    assert [column["name"] for column in body["columns"]] == ["ward", "n"]
    rows = list(csv.DictReader(io.StringIO(run(*quoted, "csv").stdout)))
    assert [row["column"] for row in rows] == ["ward", "n"]


def test_a_quote_says_when_the_budget_does_not_suffice(folder):
    quoted = run(folder / "clinic.toml", BY_WARD, "--epsilon", "3", "--dry-run")
    assert "does not suffice" in quoted.stdout
    assert (
        "about 20 such questions"
        in run(folder / "clinic.toml", BY_WARD, "--epsilon", "0.1", "--dry-run").stdout
    )


@pytest.mark.parametrize("target", ["chart.pdf", "chart", "nowhere/chart.svg", ""])
def test_a_chart_that_cannot_be_saved_is_refused_before_anything_is_paid(folder, target):
    place = folder / target
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1", "--plot", place)
    assert isinstance(done.exception, ParameterError)
    assert not (folder / "clinic.ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("query", "clinic.toml", BY_WARD, "--epsilon", "1"), 0),
        (("query", "clinic.toml", "SELECT * FROM visits", "--epsilon", "1"), 1),
        (("query", "clinic.toml", 'SELECT COUNT(*) FROM visits WHERE "[/x]" = 1', "--epsilon", "1"), 1),
        (("query", "nowhere.toml", BY_WARD, "--epsilon", "1"), 1),
        (("query", "clinic.toml", BY_WARD, "--epsilon", "minus one"), 2),
        (("query", "clinic.toml", BY_WARD, "--nonsense"), 2),
        (("query", "clinic.toml", BY_WARD, "--epsilon", "9"), 3),
    ],
)
def test_the_exit_status_says_what_happened(folder, monkeypatch, capsys, arguments, expected):
    """0 answered, 1 refused, 2 not understood, 3 over budget; with --format json the reason is JSON."""
    monkeypatch.chdir(folder)
    for form in ((), ("--format", "json")):
        monkeypatch.setattr(sys, "argv", ["discreet", *arguments, *form])
        with pytest.raises(SystemExit) as left:
            main()
        assert (left.value.code or 0) == expected
        said = capsys.readouterr().err
        if form and expected in (1, 3):
            body = json.loads(said)
            assert body["status"] == expected
            assert body["message"]
        elif expected and not form:
            assert "Traceback" not in said
            assert "[/x]" in said or "[/x]" not in arguments[2]


def test_the_version_and_completion_are_offered():
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == f"discreet {discreet.__version__}"
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout


def test_keys_that_look_like_markup_are_shown_as_they_are(folder):
    text = (folder / "clinic.toml").read_text().replace("=cmd", "[/x]")
    (folder / "clinic.toml").write_text(text)
    done = run(folder / "clinic.toml", BY_WARD, "--epsilon", "1")
    assert done.exit_code == 0, done.exception
    assert "[/x]" in done.stdout


def test_a_refusal_for_a_program_says_where(folder, monkeypatch, capsys):
    question = "SELECT COUNT(*)\nFROM visits WHERE nobody = 1"
    monkeypatch.setattr(
        sys, "argv", ["discreet", "query", str(folder / "clinic.toml"), question, "--format=json"]
    )
    with pytest.raises(SystemExit):
        main()
    body = json.loads(capsys.readouterr().err)
    assert (body["line"], body["column"]) == (2, 19)
