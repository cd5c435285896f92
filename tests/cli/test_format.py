"""What a command finds can be read by a program: JSON and CSV on standard output, and nothing else there."""

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.cli.paper import Cell, Format, Paper

PROGRAMS = Path(__file__).parents[2] / "examples" / "programs"
ASKED = {
    "a law": ["mechanism", "randomized-response", "--epsilon", "1"],
    "a selection": ["mechanism", "exponential"],
    "names": ["mechanism", "list"],
    "a composition": ["compose", "laplace:0.1x10", "--epsilon", "0.5"],
    "an optimum": ["optimal", "4", "--target", "1"],
    "a plan": ["workload", "prefix:8", "--epsilon", "1", "--delta", "1e-6"],
    "a stream": ["workload", "stream:100"],
    "an audit": ["audit", "discreet.mechanisms.geometric:Geometric", "--left", "0", "--right", "1"],
    "an attack": ["attack", "float"],
    "a proof": ["verify", str(PROGRAMS / "lap_added.dp")],
    "a counterexample": ["verify", str(PROGRAMS / "mean_without_noise.dp")],
}


def said(words, form):
    result = CliRunner().invoke(app, [*words, "--format", form], catch_exceptions=False)
    assert result.exit_code in (0, 1, 3), result.output
    return result.stdout


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_standard_output_is_one_json_object_or_tables_of_equal_rows(words):
    body = json.loads(said(words, "json"))
    assert isinstance(body, dict)
    assert body
    for part in said(words, "csv").replace("\r", "").strip().split("\n\n"):
        rows = list(csv.reader(io.StringIO(part)))
        assert len({len(row) for row in rows}) == 1


def test_numbers_are_numbers_and_say_what_people_read():
    body = json.loads(said(["mechanism", "randomized-response", "--epsilon", "1"], "json"))
    assert body["people"] == 3455
    assert body["law_of_a_report"][0]["probability"] == pytest.approx(0.731058578)
    composed = json.loads(said(["compose", "pure:0.5x3"], "json"))
    assert 1.49 < composed["epsilon"]["low"] <= composed["epsilon"]["high"] < 1.5


def test_a_failed_command_prints_no_half_of_an_object(capsys):
    with pytest.raises(ZeroDivisionError), Paper(Format.JSON) as paper:
        paper.fact("one", 1 / 0)
    assert capsys.readouterr().out == ""


def test_facts_and_tables_are_the_same_in_every_format(capsys):
    for form in Format:
        with Paper(form) as paper:
            paper.table("costs", ("a route", "epsilon"), [("=basic", Cell(1.5, "1 1/2"))])
            paper.fact("bounds", {"low": 1, "high": 2}, "between 1 and 2")
            paper.say("drawn")
        out, err = capsys.readouterr()
        match form:
            case Format.JSON:
                table = {"costs": [{"a_route": "=basic", "epsilon": 1.5}], "bounds": {"low": 1, "high": 2}}
                assert json.loads(out) == table
                assert err.strip() == "drawn"
            case Format.CSV:
                told = ["a_route,epsilon", "'=basic,1.5", "", "name,value", "bounds.low,1", "bounds.high,2"]
                assert out.split() == [line for line in told if line]
                assert err.strip() == "drawn"
            case Format.TABLE:
                assert "1 1/2" in out
                assert "bounds between 1 and 2" in out
                assert "drawn" in out
