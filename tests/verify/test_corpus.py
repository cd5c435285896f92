"""Programs with a known truth: each file states its verdict and the reason; slow ones run in `make fuzz`."""

from pathlib import Path

import pytest

from discreet.errors import ProgramError
from discreet.verify import Proved, Refuted, Unknown, check_certificate, parse, verify
from discreet.verify.relate import are_neighbours

PROGRAMS = sorted((Path(__file__).parent / "corpus").glob("*.dp"))


def stated(path):
    return path.read_text().splitlines()[0].removeprefix("# verdict: ").strip()


def reason(path):
    lines = path.read_text().splitlines()[1:]
    return " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))


def parameters():
    for path in PROGRAMS:
        marks = [pytest.mark.fuzz] if "# slow" in path.read_text() else []
        yield pytest.param(path, id=path.stem, marks=marks)


def test_every_program_states_its_verdict_and_why():
    for path in PROGRAMS:
        assert stated(path) in ("proved", "refuted", "unknown", "error"), path
        assert len(reason(path)) > 20, path


@pytest.mark.parametrize("path", list(parameters()))
def test_the_verdict_is_the_stated_one(path):
    text = path.read_text()
    if stated(path) == "error":
        with pytest.raises(ProgramError):
            verify(text, seconds=20)
        return
    verdict = verify(text, seconds=60 if "# slow" in text else 20)
    match verdict:
        case Proved(certificate):
            assert stated(path) == "proved"
            assert check_certificate(text, certificate).claim == certificate.claim
        case Refuted(witness):
            assert stated(path) == "refuted"
            first = {**witness.constants, **witness.first}
            second = {**witness.constants, **witness.second}
            checked = parse(text)
            queries = {p.name for p in checked.program.parameters} - set(first)
            assert queries or are_neighbours(checked, first, second)
        case Unknown():
            assert stated(path) == "unknown", verdict.reason
