"""The `discreet stream` command: begin, step, look, across processes of its own."""

import csv
import io
import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import ConflictError, ParameterError

MANIFEST = """
[dataset]
name = "clinic"
[budget]
epsilon = 2
[tables.visits]
source = "visits.csv"
unit = "person"
"""
BEGIN = ("--length", 365, "--epsilon", 1, "--contribution", 3)


@pytest.fixture
def manifest(tmp_path):
    pd.DataFrame({"person": range(20)}).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "clinic.toml").write_text(MANIFEST)
    return tmp_path / "clinic.toml"


def run(manifest, *arguments):
    return CliRunner().invoke(app, ["stream", str(manifest), "visits", *map(str, arguments)])


def test_a_stream_is_begun_stepped_and_shown(manifest, tmp_path):
    done = run(manifest, *BEGIN, "--card")
    assert done.exit_code == 0
    assert "0 of 365 steps released · epsilon 1 for all of them" in done.stderr
    assert "adds at most 3" in done.stdout
    stepped = run(manifest, "--step", 1, "--add", 40)
    assert "1 of 365" in stepped.stderr
    assert run(manifest, "--step", 1, "--add", 7).stdout == stepped.stdout
    run(manifest, "--step", 2, "--add", 2)
    body = json.loads(run(manifest, "--format", "json").stdout)
    assert [count["step"] for count in body["counts"]] == [1, 2]
    assert body["steps"] == 2
    rows = list(csv.DictReader(io.StringIO(run(manifest, "--format", "csv", "--last", 1).stdout)))
    assert [row["step"] for row in rows] == ["2"]
    assert run(manifest, "--plot", tmp_path / "visits.svg").exit_code == 0
    assert (tmp_path / "visits.svg").exists()


def test_what_cannot_be_done_is_refused(manifest):
    assert isinstance(run(manifest).exception, ParameterError)
    run(manifest, *BEGIN)
    assert isinstance(run(manifest, "--step", 1).exception, ParameterError)
    assert isinstance(run(manifest, "--step", 3, "--add", 1).exception, ConflictError)
    assert isinstance(run(manifest, *BEGIN[:-1], 1).exception, ConflictError)
