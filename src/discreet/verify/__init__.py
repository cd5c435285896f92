"""Programs and their privacy: read them, run them, prove them private, or refute them with a witness."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from discreet.errors import ExtraError

try:
    import z3  # noqa: F401 - every other module of the room needs it
except ImportError:
    raise ExtraError("the verifier", "lab") from None

from discreet.verify.acceptance import Accepted, check_certificate
from discreet.verify.call import run
from discreet.verify.certificate import Certificate
from discreet.verify.check import CheckedProgram, parse
from discreet.verify.coupling import Coupling, NoCoupling, couple, lifted_delta
from discreet.verify.equal import Different, Equal, Undecided, same_law
from discreet.verify.judgement import Invalid, Valid, slack, valid
from discreet.verify.limit import DEFAULT_MEGABYTES
from discreet.verify.noise import (
    Private,
    bernoulli,
    choose,
    discrete_gaussian,
    exponential,
    gaussian,
    geometric,
    gumbel,
    laplace,
    response,
    uniform,
)
from discreet.verify.python import PythonProgram, program
from discreet.verify.table import epsilon_distance, is_private, worst_ratio
from discreet.verify.verdict import Proved, Refuted, Unknown, Verdict, verify
from discreet.verify.witness import Witness

__all__ = [
    "Accepted",
    "Certificate",
    "CheckedProgram",
    "Coupling",
    "Different",
    "Equal",
    "Invalid",
    "NoCoupling",
    "Private",
    "Proved",
    "PythonProgram",
    "Refuted",
    "Undecided",
    "Unknown",
    "Valid",
    "Verdict",
    "Witness",
    "bernoulli",
    "check_certificate",
    "choose",
    "couple",
    "discrete_gaussian",
    "epsilon_distance",
    "exponential",
    "gaussian",
    "geometric",
    "gumbel",
    "is_private",
    "laplace",
    "lifted_delta",
    "parse",
    "program",
    "response",
    "run",
    "same_law",
    "slack",
    "uniform",
    "valid",
    "verify",
    "worst_ratio",
]


class _VerifyRoom(ModuleType):
    """The room answers to its own name: `discreet.verify` may mean this module or its main function."""

    def __call__(
        self,
        program: str | Path | Callable[..., object],
        *,
        seconds: float = 30.0,
        samples: int = 0,
        megabytes: int = DEFAULT_MEGABYTES,
    ) -> Verdict:
        return verify(program, seconds=seconds, samples=samples, megabytes=megabytes)


sys.modules[__name__].__class__ = _VerifyRoom
