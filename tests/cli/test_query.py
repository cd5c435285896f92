"""The `discreet query` command, as a new user types it."""

import csv
import io
import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.init import draft
from discreet.errors import BudgetError, CatalogError, QueryError

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
    question = "SELECT AVG(clamp(age, 0, 100)) AS a FROM visits"
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
