"""A second opinion: every obligation of a certificate put to another solver, where one is installed.

Each question is answered by a process of its own, since not every method of cvc5 heeds a time limit.
"""

import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from discreet.errors import CertificateError, ParameterError
from discreet.verify.acceptance import scripts
from discreet.verify.certificate import Certificate

SECONDS = 10
"""For one question."""
METHODS = ((), ("nl-cov",))
"""Options of cvc5 that are tried in turn: linear questions need none, prices are not linear."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What another solver makes of a certificate: how much it has proved, and what it left open."""

    proved: int
    undecided: tuple[str, ...]


def second_opinion(program: str, certificate: Certificate | str) -> Opinion:
    """Put every obligation of an alignment to cvc5; raises CertificateError if it finds one wrong."""
    if find_spec("cvc5") is None:
        raise ParameterError("a second opinion needs the package cvc5")
    texts = scripts(program, certificate)
    undecided: list[str] = []
    for text in texts:
        place = text.partition("\n")[0].removeprefix("; ")
        answers = (_asked(text, options) for options in METHODS)
        answer = next((found for found in answers if found in ("sat", "unsat")), "unknown")
        if answer == "sat":
            raise CertificateError(f"cvc5 does not agree: {place}")
        if answer != "unsat":
            undecided.append(place)
    return Opinion(len(texts) - len(undecided), tuple(undecided))


def _asked(text: str, options: tuple[str, ...]) -> str:
    command = [sys.executable, str(Path(__file__).with_name("asking.py")), *options]
    try:
        done = subprocess.run(  # noqa: S603 - our own file, and no text of a certificate among the words
            command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "unknown"
    return done.stdout.strip()
