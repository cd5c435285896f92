"""The command line: plans printed, pictures written, nonsense refused by name."""

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.workload import workload
from discreet.errors import ParameterError


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(workload)

    def invoke(*arguments: str):
        result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "120"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["prefix:32", "--epsilon", "1"], ["32 questions", "hierarchy of 2", "epsilon 1", "below"]),
        (
            ["ranges:16", "--rho", "0.5", "--neighbours", "replace"],
            ["136 questions", "certified optimum", "rho 0.5"],
        ),
        (["prefix:8", "identity:3", "--rho", "0.5"], ["24 questions", "identity x identity"]),
        (["marginals:4,3,2", "--order", "1,2", "--rho", "0.5"], ["35 questions", "centred tables"]),
        (
            ["prefix:16", "--epsilon", "1", "--delta", "1e-6"],
            ["noise geometric", "times smaller", "16 questions"],
        ),
        (["stream:1000", "--epsilon", "1"], ["1000 running counts", "tree", "noise on each item"]),
        (["stream:1000", "--rho", "0.5"], ["root, the best known"]),
    ],
)
def test_plans_are_printed_with_their_rivals_and_their_guarantee(run, arguments, expected):
    output = run(*arguments).output
    for text in expected:
        assert text in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["prefix:16"],
        ["marginals:4,3", "--rho", "1"],
        ["marginals:4,3", "--order", "1", "--neighbours", "replace"],
        ["stream:50"],
    ],
)
def test_pictures_are_written(run, arguments, tmp_path):
    run(*arguments, "--plot", str(tmp_path / "errors.svg"), "--demo", str(tmp_path / "release.svg"))
    assert (tmp_path / "release.svg").read_text().startswith("<svg")
    assert (tmp_path / "errors.svg").exists() == (arguments[0] != "stream:50")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["prefix"], "number of cells"),
        (["median:5"], "a question is"),
        (["prefix:5", "--epsilon", "1", "--rho", "1"], "not both"),
        (["prefix:5", "--delta", "1e-6"], "goes with --epsilon"),
        (["prefix:5", "--neighbours", "friends"], "add-remove or replace"),
        (["marginals:3,2", "prefix:4"], "by themselves"),
        (["prefix:5", "--epsilon", "0"], "greater than 0"),
        (["prefix:4", "identity:2", "--demo", "x.svg"], "one attribute"),
    ],
)
def test_nonsense_is_refused_by_name(run, arguments, reason):
    with pytest.raises(ParameterError, match=reason):
        run(*arguments)
