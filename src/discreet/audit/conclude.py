"""From what an audit has seen to what it says: first whether its premises hold, then the bound.

Runs that raised are told apart from outputs, and runs that depend on each other end in no verdict on the
claim: a bound computed from them would be wrong with any probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.evidence import Tally
from discreet.audit.fresh import Pristine, answered, memory
from discreet.audit.independence import CONSIDERED, constant, dependence
from discreet.audit.outputs import Failure, Layout
from discreet.audit.runs import BatchError
from discreet.audit.score import Event
from discreet.audit.verdict import Consistent, Dependent, Raised, Verdict, Violated
from discreet.exact.number import Real, non_negative, probability

UNTOLD = "every run gave the same output: a missing noise, unless answers are remembered"
REMEMBERED = "every run gave the same output, and a copy started afresh another: answers are remembered"


@dataclass(frozen=True, slots=True)
class PairClaim:
    """What is claimed of one pair of inputs, and how sure an accusation must be."""

    left: Any
    right: Any
    epsilon: Fraction
    delta: Fraction
    alpha: float

    @classmethod
    def of(cls, left: Any, right: Any, epsilon: Real, delta: Real, confidence: Real) -> "PairClaim":
        """Return a claim with its numbers checked."""
        alpha = float(1 - probability(confidence, "confidence"))
        return cls(left, right, non_negative(epsilon, "epsilon"), non_negative(delta, "delta"), alpha)

    @property
    def confidence(self) -> float:
        """Return the confidence of a verdict."""
        return 1 - self.alpha

    def raised(self, error: BatchError) -> Raised:
        """Return the verdict on a function whose runs were all lost at once."""
        nothing = LargestBound(None, 0.0, Tally(0, 0, 0), violated=False)
        return _raised(self, nothing, error.failure, (0, 0), (0, 0))


@dataclass(frozen=True, slots=True)
class LargestBound:
    """The largest bound, the event that gave it and how that fared."""

    event: Event | None
    bound: float
    tally: Tally
    violated: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """What is remembered of the runs on one input: the first outputs in order, how many, and what raised."""

    first: tuple[Any, ...] = ()
    runs: int = 0
    raised: int = 0
    failure: Failure | None = None

    def after(self, sample: Any) -> "Seen":
        """Return what is remembered after more runs."""
        kept = sum(map(len, self.first))
        # Half of what is looked at may come from the first call: a mechanism may change with later ones.
        part = sample[: min(CONSIDERED // 2, CONSIDERED - kept)]
        failures = _failures(sample)
        return Seen(
            (*self.first, part) if len(part) else self.first,
            self.runs + len(sample),
            self.raised + len(failures),
            self.failure or next(iter(failures), None),
        )


def _failures(sample: Any) -> list[Failure]:
    if isinstance(sample, np.ndarray) and sample.dtype != object:
        return []
    return [output for output in sample if isinstance(output, Failure)]


def conclude(
    claim: PairClaim, seen: tuple[Seen, Seen], layout: Layout, finding: LargestBound, copy: Pristine | None
) -> Verdict:
    """Return the verdict on a claim."""
    calls = [[layout.rows(part) for part in side.first] for side in seen]
    same = [_constant(layout, side) for side in seen]
    reason, note = dependence(layout, *calls), ""
    if reason is None and any(same):
        reason, note = _same(claim, seen, same, copy)
    pair = claim.left, claim.right
    if reason is not None:
        return Dependent(reason, claim.epsilon, claim.delta, claim.confidence, finding.tally, *pair)
    failure = seen[0].failure or seen[1].failure
    if failure is not None:
        counts = (seen[0].raised, seen[0].runs), (seen[1].raised, seen[1].runs)
        return _raised(claim, finding, failure, *counts)
    kind = Violated if finding.violated else Consistent
    shown = claim.epsilon, claim.delta, finding.bound, claim.confidence, finding.tally
    if finding.event is None:
        raise AssertionError("only a claim that raised has no event")
    return kind(finding.event, *shown, *pair, note)


def _constant(layout: Layout, side: Seen) -> bool:
    """Return whether all runs that did not raise gave the same."""
    outputs = [part for part in map(answered, side.first) if len(part)]
    return bool(outputs) and constant(layout, np.concatenate([layout.rows(part) for part in outputs]))


def _raised(
    claim: PairClaim, finding: LargestBound, failure: Failure, left: tuple[int, int], right: tuple[int, int]
) -> Raised:
    return Raised(
        failure,
        *left,
        *right,
        event=finding.event,
        epsilon=claim.epsilon,
        delta=claim.delta,
        epsilon_lower=finding.bound,
        confidence=claim.confidence,
        tally=finding.tally,
        left=claim.left,
        right=claim.right,
        violated=finding.violated,
    )


def _first(side: Seen) -> Any:
    """Return the outputs of the first call in which some run did not raise."""
    return next(part for part in map(answered, side.first) if len(part))


def _same(
    claim: PairClaim, seen: tuple[Seen, Seen], same: Sequence[bool], copy: Pristine | None
) -> tuple[str | None, str]:
    """Return why a constant answer is known to be remembered, or what could not be told about it."""
    answers = copy.answers(claim.left, claim.right) if copy is not None else None
    own = [_first(side) if alike else [] for side, alike in zip(seen, same, strict=True)]
    match memory(answers or (), (own[0], own[1])):
        case None:
            return None, UNTOLD
        case found:
            return (REMEMBERED, "") if found else (None, "")
