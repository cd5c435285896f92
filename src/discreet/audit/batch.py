"""Audits with a fixed number of runs.

A quarter of the runs chooses an event; the others are a fresh guessing game, played once, from which the
bound is computed.  Nothing of the training leaks into the game, so the confidence is exact whatever was
learned.
"""

from fractions import Fraction
from typing import Any

from discreet.audit.evidence import Tally, epsilon_lower
from discreet.audit.learn import learn
from discreet.audit.runs import CHUNK, Box, Progress, Runner, fair_split, running
from discreet.audit.score import Event
from discreet.audit.verdict import Verdict, judge
from discreet.errors import ParameterError
from discreet.exact.number import Real, non_negative, probability

FEWEST = 100
"""Fewer runs than this cannot both teach and test."""

SCHOOL = 2_500_000
"""Training runs per input beyond which nothing more is learned."""


def audit(
    subject: Any,
    left: Any,
    right: Any,
    *,
    epsilon: Real,
    delta: Real = 0,
    runs: int = 20_000,
    confidence: Real = "0.95",
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Test the claim that `subject` is (epsilon, delta)-private on two neighbouring inputs.

    `subject` is a mechanism, a function of one input, or with `batched` a function of an input and a count
    that returns that many independent outputs.  `runs` is the number of runs per input, on average over
    fair coins.
    """
    claim = non_negative(epsilon, "epsilon"), non_negative(delta, "delta")
    alpha = float(1 - probability(confidence, "confidence"))
    if runs < FEWEST:
        raise ParameterError(f"runs must be at least {FEWEST}, got {runs}")
    training = min(runs // 4, SCHOOL)
    with running(Box.of(subject, batched=batched), workers, progress) as run:
        event = learn(run(left, training), run(right, training), claim[1])
        tally = play(run, left, right, event, 2 * (runs - training))
    bound = epsilon_lower(tally, alpha, claim[1])
    violated = Fraction(bound) > claim[0]
    return judge(event, claim, bound, 1 - alpha, tally, (left, right), violated=violated)


def play(run: Runner, left: Any, right: Any, event: Event, trials: int) -> Tally:
    """Play a fresh game of this many trials, a fair coin for each."""
    total = Tally(0, 0, 0, event.sides)
    for start in range(0, trials, CHUNK):
        lefts, rights = fair_split(min(CHUNK, trials - start))
        total += event.play(run(left, lefts), run(right, rights))
    return total
