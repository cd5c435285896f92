"""What is handed over to prove that a mechanism is private and cannot be beaten.

A certificate holds the question, the mechanism, and numbers from which anyone can recompute two bounds
by exact arithmetic: what the mechanism costs, and what every private mechanism costs at least.  It
contains no claim that has to be believed.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from discreet.mechanisms.table import Table
from discreet.utility.problem import Level, Problem

Flow = tuple[tuple[int, int, Fraction], ...]
"""Amounts f >= 0 on directed pairs of neighbours (from, to), for one guess."""


class Aim(StrEnum):
    """Whether the cost is averaged over the prior, or taken at the worst true answer."""

    AVERAGE = "average"
    WORST_CASE = "worst case"


@dataclass(frozen=True, slots=True)
class ChannelCertificate:
    """A channel from truths to guesses, and a dual solution that bounds every other channel from below.

    With Aim.WORST_CASE the prior of the problem is part of the proof: the average over any prior bounds
    the worst case from below.  `flows` has one entry per guess; None asks the checker to derive them,
    which it can when the graph is a forest and delta is 0.
    """

    problem: Problem
    level: Level
    channel: Table
    dual: tuple[Fraction, ...]
    flows: tuple[Flow, ...] | None = None
    delta: Fraction = Fraction(0)
    aim: Aim = Aim.AVERAGE


@dataclass(frozen=True, slots=True)
class CountCertificate:
    """The truncated geometric mechanism on a path, its remap (a guess per output), and a dual solution."""

    problem: Problem
    level: Level
    alpha: Fraction
    remap: tuple[int, ...]
    dual: tuple[Fraction, ...]


Certificate = ChannelCertificate | CountCertificate


@dataclass(frozen=True, slots=True)
class LossBounds:
    """What a certificate proves: the mechanism costs at most `loss`, and none costs less than `bound`."""

    loss: Fraction
    bound: Fraction

    @property
    def gap(self) -> Fraction:
        """How much the best private mechanism could save at most; 0 proves optimality."""
        return self.loss - self.bound
