"""The `discreet synthesise` command: quoted free, written once, the same file again for nothing."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ParameterError

MANIFEST = """
[dataset]
name = "clinic"
[budget]
epsilon = 20
[tables.visits]
source = "visits.csv"
unit = "person"
rows_per_unit = 1
[tables.visits.columns]
ward = { type = "text", values = ["A", "B"] }
age = { type = "integer", low = 0, high = 99 }
flag = "boolean"
note = "text"
"""


@pytest.fixture
def manifest(tmp_path):
    rows = {"person": range(90), "ward": ["A", "B", "B"] * 30, "age": range(90), "flag": [True] * 90}
    pd.DataFrame({**rows, "note": "x"}).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "clinic.toml").write_text(MANIFEST)
    return tmp_path / "clinic.toml"


def run(manifest, *arguments):
    return CliRunner().invoke(app, ["synthesise", str(manifest), *map(str, arguments)])


def test_records_are_quoted_made_up_and_written_again_free(manifest, tmp_path):
    asked = ("--epsilon", 20, "--bins", 10)
    quoted = run(manifest, *asked, "--dry-run", "--format", "json")
    assert quoted.exit_code == 0, quoted.exception
    body = json.loads(quoted.stdout)
    assert body["left_out"] == "note"
    assert {row["column"]: row["cells"] for row in body["columns"]} == {"ward": 3, "age": 11, "flag": 3}
    made = run(manifest, *asked, "--to", tmp_path / "made.csv", "--format", "json")
    assert made.exit_code == 0, made.exception
    facts = json.loads(made.stdout)
    records = pd.read_csv(tmp_path / "made.csv")
    assert len(records) == facts["records"]
    assert list(records.columns) == ["ward", "age", "flag"]
    assert len(facts["pairs"]) == 3
    again = run(manifest, *asked, "--to", tmp_path / "made.parquet", "--plot", tmp_path / "off.json")
    assert "paid for before" in again.stdout
    assert pd.read_parquet(tmp_path / "made.parquet").ward.tolist() == records.ward.tolist()
    assert (tmp_path / "off.json").exists()


def test_what_has_no_place_to_go_is_refused_before_anything_is_paid(manifest, tmp_path):
    for wrong in ((), ("--to", tmp_path / "made.xlsx"), ("--to", tmp_path / "nowhere" / "made.csv")):
        assert isinstance(run(manifest, "--epsilon", 1, *wrong).exception, ParameterError)
    spent = CliRunner().invoke(app, ["budget", str(manifest), "--format", "json"])
    assert '"visits"' not in spent.stdout
    assert run(manifest, "--to", tmp_path / "made.csv").exit_code != 0
