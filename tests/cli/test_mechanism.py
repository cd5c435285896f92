"""`discreet mechanism` shows every mechanism, draws it, and refuses in one clear line."""

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.mechanism import BUILDERS, mechanism
from discreet.errors import ParameterError

app = typer.Typer()
app.command()(mechanism)

ARGUMENTS = {
    "gaussian": ["--delta", "1e-6"],
    "noisy-threshold": ["--delta", "1e-6", "--groups", "2"],
    "threshold": ["--delta", "1e-6"],
    "staircase": ["--sensitivity", "10"],
    "truncated-geometric": ["--low", "0", "--high", "100"],
    "truncated-laplace": ["--low", "0", "--high", "100", "--sensitivity", "10", "--step", "0.01"],
}


def run(*arguments):
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120", "NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


@pytest.mark.parametrize("name", BUILDERS)
def test_every_mechanism_states_its_privacy_and_accuracy_and_is_drawn(name, tmp_path):
    picture = tmp_path / "a.svg"
    output = run(name, *ARGUMENTS.get(name, []), "--plot", str(picture))
    assert "privacy ε = 1" in output
    assert "accuracy" in output
    assert picture.read_text().startswith("<svg")


def test_the_numbers_are_the_lectures():
    assert "0.731059" in run("truncated-geometric", "--low", "0", "--high", "100")
    assert "3,455" in run("randomized-response")
    assert "mean |error| 0.850918, standard deviation 1.35696" in run("geometric")


def test_all_names_are_listed():
    assert run("list").split() == ["mechanism", *BUILDERS]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("geometry",), "no mechanism 'geometry'"),
        (("gaussian",), "--delta"),
        (("truncated-geometric", "--low", "0"), "--high"),
        (("geometric", "--epsilon", "0"), "epsilon must be greater than 0"),
        (("geometric", "--epsilon", "nan"), "epsilon"),
        (("exponential", "--scores", "1,x"), "--scores"),
        (("truncated-geometric", "--low", "5", "--high", "1"), "low must be less than high"),
        (("knorm", "--ball", "l2"), "ball"),
        (("staircase", "--loss", "cubic"), "loss"),
        (("geometric", "--plot", "a.bmp"), ".svg"),
    ],
)
def test_refusals_name_the_culprit(arguments, said):
    with pytest.raises(ParameterError, match=said):
        run(*arguments)
