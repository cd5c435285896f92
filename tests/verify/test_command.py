"""The command line: verdict, words, JSON, certificates, scripts, and exit status."""

import json
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.verify import changes, verify
from discreet.verify import Refuted

FOLDER = Path(__file__).parents[2] / "examples" / "programs"
app = typer.Typer()
app.command()(verify)


ROOM = import_module("discreet.verify")
remembered = cache(ROOM.verify)


@pytest.fixture(autouse=True)
def _each_program_is_decided_once(monkeypatch):
    """The command is what is looked at here: the same question is not put to the verifier again."""
    monkeypatch.setattr(ROOM, "verify", remembered)


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_proof_is_told_in_words_and_exits_with_zero():
    result = call(FOLDER / "svt.dp")
    assert result.exit_code == 0
    assert "PROVED" in result.output
    assert "moved by 1" in result.output
    assert "will come from append number 1" in result.output
    assert "ends because" in result.output


def test_a_counterexample_is_shown_and_exits_with_one(tmp_path):
    picture = tmp_path / "event.svg"
    result = call(FOLDER / "bad_partial_sum.dp", "--plot", picture)
    assert result.exit_code == 1
    assert "REFUTED" in result.output
    assert "privacy loss" in result.output
    assert "█" in result.output
    assert "<svg" in picture.read_text()


def test_unknown_exits_with_two_and_says_why():
    result = call(FOLDER / "never_ends.dp", "--seconds", 1)
    assert result.exit_code == 2
    assert "number of turns" in result.output


def test_json_is_plain_data():
    proved = json.loads(call(FOLDER / "partial_sum.dp", "--format", "json").output)
    assert proved["verdict"] == "PROVED"
    assert proved["certificate"]["claim"] == "epsilon eps"
    refuted = json.loads(call(FOLDER / "mean_without_noise.dp", "--format", "json").output)
    assert refuted["witness"]["loss at least"] == "infinity"


def test_a_certificate_is_written_and_checked_later(tmp_path):
    certificate, scripts = tmp_path / "proof.json", tmp_path / "obligations"
    program = FOLDER / "partial_sum.dp"
    assert call(program, "--certificate", certificate, "--smt2", scripts).exit_code == 0
    assert "ACCEPTED" in call(program, "--check", certificate).output
    assert len(list(scripts.glob("*.smt2"))) > 3
    other = call(FOLDER / "bad_partial_sum.dp", "--check", certificate, "--format", "json")
    assert other.exit_code == 4
    assert json.loads(other.output)["error"] == "CertificateError"


def test_the_room_and_its_main_function_answer_to_the_same_name():
    assert type(ROOM(FOLDER / "mean_without_noise.dp")) is Refuted
    assert type(ROOM.verify(FOLDER / "mean_without_noise.dp")) is Refuted


def test_two_programs_are_compared():
    result = call(FOLDER / "lap_added.dp", "--against", FOLDER / "lap_centred.dp")
    assert result.exit_code == 0
    assert "EQUAL" in result.output
    different = call(FOLDER / "randomized_response.dp", "--against", FOLDER / "fair_coin_response.dp")
    assert different.exit_code == 1


def test_a_mistake_in_the_program_is_reported_with_its_place(tmp_path):
    path = tmp_path / "typo.dp"
    path.write_text("P (x : private real) : real\n  return x +\n")
    result = call(path)
    assert result.exit_code == 3
    assert "line 2, column 13" in result.output
    body = json.loads(call(path, "--format", "json").output)
    assert body["verdict"] == "ERROR"
    assert (body["error"], body["line"], body["column"], body["status"]) == ("ProgramError", 2, 13, 3)


def test_a_file_that_cannot_be_read_is_a_wrong_program(tmp_path):
    (tmp_path / "bytes.dp").write_bytes(b"\xff\xfe")
    assert call(tmp_path / "missing.dp").exit_code == 3
    assert call(tmp_path / "bytes.dp").exit_code == 3


def test_the_first_line_says_what_was_taken_as_public(tmp_path):
    result = call(FOLDER / "lap_added.dp")
    assert "ensures epsilon e, taking e as public" in result.output.splitlines()[0]
    assert json.loads(call(FOLDER / "lap_added.dp", "--format", "json").output)["public"] == ["e"]
    assert "taking" not in call(FOLDER / "partial_sum.dp").output.splitlines()[0]


def test_a_watched_file_is_looked_at_again_when_it_changes(tmp_path):
    path = tmp_path / "program.dp"
    path.write_text("one")
    turns = iter(["two", None, "three!", KeyboardInterrupt])

    def sleep(_):
        now = next(turns)
        if now is KeyboardInterrupt:
            raise KeyboardInterrupt
        if now is not None:
            path.write_text(now)

    assert len(list(changes(path, sleep))) == 2


@pytest.mark.parametrize("name", ["noisy_max", "one_time_pad"])
def test_a_proof_has_words(name):
    """Those of every other proof are read where the examples are proved."""
    result = call(FOLDER / f"{name}.dp")
    assert result.exit_code == 0
    assert "draw 1" in result.output
