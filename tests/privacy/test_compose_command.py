"""`discreet compose` on the command line."""

import json
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.compose import compose, read_release
from discreet.errors import ParameterError
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import (
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
)


def _run(*arguments):
    app = typer.Typer()
    app.command()(compose)
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "160"})


def test_the_table_shows_every_route_and_the_answer():
    result = _run("pure:0.1x1000", "--epsilon", "10")
    assert result.exit_code == 0
    for text in (
        "basic",
        "27.13967",
        "21.61842",
        "optimal",
        "19.34467",
        "fully adaptive",
        "delta at epsilon = 10",
    ):
        assert text in result.output


def test_json_carries_both_ends_and_rounds_them_outwards():
    result = _run("laplace:0.1x1000", "--format", "json", "--epsilon", "18")
    data = json.loads(result.output)
    assert data["epsilon"]["low"] <= 18.9502873675 <= data["epsilon"]["high"]
    assert data["delta"]["low"] <= data["delta"]["high"]
    assert {line["route"]: line["epsilon"] for line in data["routes"]}["basic"] == 100


def test_groups_cost_as_if_every_release_moved_further():
    alone, pair = (
        json.loads(_run("gaussian:20x10", "--format", "json", "--group", size).output) for size in ("1", "2")
    )
    assert pair["epsilon"]["low"] > alone["epsilon"]["high"]


def test_the_chart_is_drawn(tmp_path):
    picture = tmp_path / "growth.svg"
    result = _run("pure:0.5x3", "--plot", str(picture))
    assert result.exit_code == 0
    assert "loss distribution" in picture.read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pure:0.1x10", (Pure("0.1"), 10)),
        ("approximate:1:1e-9", (Approximate(1, "1e-9"), 1)),
        ("zcdp:1/2", (Concentrated("1/2"), 1)),
        ("laplace:0.5", (Profile(LaplaceLoss(Fraction(1, 2))), 1)),
        ("gaussian:2x3", (Profile(GaussianLoss(Fraction(1, 4))), 3)),
        ("geometric:0.9:2", (Profile(GeometricLoss(Fraction(9, 10), 2)), 1)),
        ("discrete-gaussian:4", (Profile(DiscreteGaussianLoss(Fraction(4), 1)), 1)),
        ("exponential:1", (Profile(BoundedRangeLoss(Fraction(1))), 1)),
    ],
)
def test_each_kind_of_release_is_read(text, expected):
    assert read_release(text) == expected


@pytest.mark.parametrize(
    "text", ["laplace", "laplace:", "gauss:1", "pure:1x0", "pure:1:2", "geometric:2", "pure:0.1xten"]
)
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(ParameterError):
        read_release(text)


def test_samples_are_written_with_their_rate():
    data = json.loads(
        _run("gaussian:1@0.05x20", "pure:0.1@0.5", "--delta", "1e-6", "--format", "json").output
    )
    assert data["epsilon"]["low"] <= data["epsilon"]["high"] <= 1.001 * data["epsilon"]["low"]
    replaced = json.loads(
        _run("pure:0.1@0.5x3", "--neighbours", "replace", "--delta", "1e-6", "--format", "json").output
    )
    assert replaced["epsilon"]["high"] <= 3 * 0.0513


@pytest.mark.parametrize(
    "text", ["gaussian:1@", "gaussian:1@2", "zcdp:1@0.5", "gaussian@0.1", "pure:1@0.5x0"]
)
def test_samples_that_cannot_be_are_refused(text):
    with pytest.raises(ParameterError):
        read_release(text)
