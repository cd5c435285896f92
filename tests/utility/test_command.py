"""`discreet optimal` and its pictures."""

import json
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.optimal import optimal
from discreet.errors import ParameterError
from discreet.mechanisms.table import Table
from discreet.utility import Loss, Prior, bayes_risk, check
from discreet.utility.picture import channel_picture
from discreet.utility.proof import from_json


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(optimal)

    def call(*words):
        return CliRunner().invoke(
            app, [str(word) for word in words], env={"COLUMNS": "120"}, catch_exceptions=False
        )

    return call


def test_the_mechanism_is_reported_compared_saved_and_usable_again(run, tmp_path):
    stored = tmp_path / "mechanism.json"
    result = run(6, "--graph", "sum", "--width", 2, "--epsilon", "1", "--save", stored, "--target", "1")
    assert result.exit_code == 0
    assert "gap" in result.output
    assert "staircase" in result.output
    assert "smallest epsilon" in result.output
    table = Table.from_json(stored.read_text())
    assert table.delta(1).high == 0
    assert table.ratio() is not None
    shown = float(result.output.split("expected loss")[1].split("│")[1])
    exact = bayes_risk(table, Prior.uniform(7), Loss.absolute(range(7))).high
    assert abs(float(exact) - shown) < 1e-6
    assert table.sample(3) in table.outputs


def test_the_proof_is_written_for_anyone_to_check(run, tmp_path):
    stored = tmp_path / "proof.json"
    assert run(8, "--epsilon", "0.3", "--no-compare", "--proof", stored).exit_code == 0
    assert 0 <= check(from_json(stored.read_text())).gap < Fraction(1, 10**9)


def test_the_channel_and_the_curves_are_drawn(run, tmp_path):
    channel, curves = tmp_path / "channel.svg", tmp_path / "curves.svg"
    result = run(5, "--prior", "binomial:0.3", "--no-compare", "--plot", channel, "--curves", curves)
    assert result.exit_code == 0
    assert channel.read_text().count("<path") >= 36
    assert "staircase" in curves.read_text()


def test_the_remap_is_drawn_on_the_channel():
    table = Table.of([["1/2", "1/2"], ["1/4", "3/4"]])
    bare, framed = channel_picture(table).to_dict(), channel_picture(table, {0: 0, 1: 1}).to_dict()
    frames = framed["layer"][-1]
    assert frames["mark"]["fill"] is None
    assert frames["data"]["values"] == [{"x": "0", "y": "0"}, {"x": "1", "y": "1"}]
    assert '"fill": null' not in json.dumps(bare)


def test_losses_and_priors_come_from_files(run, tmp_path):
    loss, prior = tmp_path / "loss.csv", tmp_path / "prior.json"
    loss.write_text("0, 1, 1.5\n2, 0, 0.1\n")
    prior.write_text("[3, 2, 0.5]")
    result = run(3, "--graph", "category", "--loss", loss, "--prior", prior, "--epsilon", "0.5")
    assert result.exit_code == 0
    shown = float(result.output.split("expected loss")[1].split("│")[1])
    matrix = Loss.of([[0, 1, "1.5"], [2, 0, "0.1"]])
    alone = min(
        sum(p * c for p, c in zip(Prior.proportional([3, 2, "0.5"]).weights, row, strict=True))
        for row in matrix.rows
    )
    assert 0 < shown <= float(alone) + 1e-9


def test_the_worst_case_and_a_delta_are_options(run):
    assert "worst case loss" in run(4, "--prior", "worst").output
    assert "delta 0.01" in run(4, "--delta", "0.01").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((4, "--graph", "star"), "graph must be one of"),
        ((4, "--loss", "nothing"), "loss must be a known name"),
        ((4, "--prior", "missing.json"), "prior must be a known name"),
        ((4, "--epsilon", "0"), "epsilon must be greater than 0"),
        ((4, "--prior", "worst", "--target", "1"), "need a prior"),
        ((4, "--loss", "within:x"), "finite number"),
    ],
)
def test_bad_options_are_refused_with_the_reason(run, words, message):
    with pytest.raises(ParameterError, match=message):
        run(*words)
