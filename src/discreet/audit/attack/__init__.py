"""Attacks: what happens to people in answers without privacy, and where a budget stops it."""

from collections.abc import Callable

from discreet.audit.attack.average import average
from discreet.audit.attack.decode import closest, tolerated_error, wrong_bits
from discreet.audit.attack.difference import difference
from discreet.audit.attack.floating import floating
from discreet.audit.attack.reconstruction import linear_program, reconstruction
from discreet.audit.attack.report import AttackReport, Figure, page
from discreet.audit.attack.timing import timing
from discreet.audit.attack.trace import trace

ATTACKS: dict[str, Callable[[], AttackReport]] = {
    "reconstruction": reconstruction,
    "difference": difference,
    "average": average,
    "trace": trace,
    "float": floating,
    "timing": timing,
}

__all__ = [
    "ATTACKS",
    "AttackReport",
    "Figure",
    "average",
    "closest",
    "difference",
    "floating",
    "linear_program",
    "page",
    "reconstruction",
    "timing",
    "tolerated_error",
    "trace",
    "wrong_bits",
]
