"""Audits that may be watched and stopped at any time.

Theorem.  Play the guessing game of `evidence` trial after trial, guessing by any rule fixed before the
trial.  If the mechanism is (epsilon, delta)-private on the pair, then for every 0 <= b <= 1 / (exp(epsilon)
+ delta) the capital

    E_t = product over trials of  1 + b (correct - exp(epsilon) wrong - delta)

of a gambler who starts with 1 is a non-negative supermartingale, because the bracket has mean c -
exp(epsilon) w - delta <= 0 whatever happened before.  A mixture of such capitals over a fixed list of b is
one too, and so is a mixture over several gamblers, each with a rule of its own; by Ville's inequality it ever
reaches 1 / a with probability at most a.  So the audit may look after every trial, stop when it likes, and
change its rules between trials as long as it looks only at the past.  Most of the capital follows the rule
that promises most, the rest the runners-up that might win by being rare.

Theorem (bound).  Give every epsilon of a fixed grid its own capital and report the last grid point up to
which *all* capitals have reached 1 / a at some time.  If the truth is e, the report exceeds e only when the
first grid point at or above e was refuted, which has probability at most a: the bound holds at all times at
once.

References.  Ville, 1939; Shafer, JRSS A 184, 2021; Ramdas, Grunwald, Vovk, Shafer, Statistical Science 38,
2023. Sequential audits by e-processes: Gonzalez, Dulce-Rubio, Ramdas, Ribero, NeurIPS 2025.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.batch import BEST, FEWEST, trials
from discreet.audit.conclude import LargestBound, PairClaim, Seen, conclude
from discreet.audit.evidence import BETS, WORN, Tally, log_capital
from discreet.audit.fresh import Pristine, pristine
from discreet.audit.learn import RUNNERS_UP, study
from discreet.audit.outputs import concatenate
from discreet.audit.runs import BatchError, Box, Progress, Runner, running
from discreet.audit.score import Event
from discreet.audit.verdict import FOR_TESTS, Verdict
from discreet.errors import ParameterError
from discreet.exact.number import Real, float_up

GAMBLERS = 1 + RUNNERS_UP
"""One follows the rule that promises most, the others runners-up."""

STAKES = np.log([BEST, *((1 - BEST) / 2**place for place in range(1, GAMBLERS))])
"""The logarithm of what each starts with; together it is no more than 1."""

LEARN_UP_TO = 200_000
"""Runs per input after which the rule is no longer relearned."""


@dataclass(frozen=True, slots=True, eq=False)
class Capital:
    """The logarithms of the capitals of every gambler against each epsilon of a grid, for each bet."""

    grid: NDArray[np.float64]
    delta: float
    logs: NDArray[np.float64]
    refuted: NDArray[np.bool_]

    @classmethod
    def start(cls, claim: float, delta: float) -> "Capital":
        """Return capitals against the claim and a grid of other values around it."""
        grid = np.unique(
            np.concatenate([np.linspace(0, 2 * claim, 161), [claim], np.geomspace(1e-3, 30, 160)])
        )
        logs = np.broadcast_to(STAKES[:, None, None], (GAMBLERS, grid.size, BETS))
        return cls(grid, delta, logs, np.zeros(grid.size, dtype=np.bool_))

    def after(self, tallies: Sequence[Tally], alpha: float) -> "Capital":
        """Return the capitals after more trials; a gambler without a tally has not played."""
        logs = self.logs.copy()
        for place, tally in enumerate(tallies):
            logs[place] += log_capital(tally, self.grid, self.delta * tally.sides / 2)
        peak = logs.max(axis=(0, 2), keepdims=True)
        mixed = peak[0, :, 0] + np.log(np.exp(logs - peak).mean(axis=2).sum(axis=0))
        return Capital(self.grid, self.delta, logs, self.refuted | (mixed >= WORN - log(alpha)))

    @property
    def epsilon_lower(self) -> float:
        """Return the last grid point up to which every epsilon was refuted, or -1."""
        standing = np.flatnonzero(~self.refuted)
        first = int(standing[0]) if standing.size else self.grid.size
        return float(self.grid[first - 1]) if first else -1.0

    def richest(self, epsilon: float, among: int) -> int:
        """Return which of the first gamblers has most against this epsilon."""
        place = int(np.searchsorted(self.grid, epsilon))
        return int(np.argmax(self.logs[:among, place].max(axis=1)))


def audit_until(
    subject: Any,
    left: Any,
    right: Any,
    *,
    epsilon: Real,
    delta: Real = 0,
    at_most: int = 1_000_000,
    first: int = 200,
    confidence: Real = FOR_TESTS,
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Test a claim with as few runs as it takes, `at_most` per input: stop at the first refutation.

    The rules are learned from `first` runs per input and relearned each time the number of runs has doubled.
    """
    claim = PairClaim.of(left, right, epsilon, delta, confidence)
    if first < FEWEST // 2 or at_most <= first:
        raise ParameterError(
            f"first must be at least {FEWEST // 2} and below at_most, got {first} and {at_most}"
        )
    box = Box.of(subject, batched=batched)
    with pristine(box, [(left, right)]) as copy, running(box, workers, progress) as run:
        try:
            return _watch(run, claim, first, at_most, copy)
        except BatchError as error:
            return claim.raised(error)


def _watch(run: Runner, claim: PairClaim, first: int, at_most: int, copy: Pristine | None) -> Verdict:
    limit = float_up(claim.epsilon)
    capital = Capital.start(limit, float_up(claim.delta))
    past = [run(claim.left, first)], [run(claim.right, first)]
    seen = Seen().after(past[0][0]), Seen().after(past[1][0])
    made = first
    totals = [Tally(0, 0, 0) for _ in range(GAMBLERS)]
    events: tuple[Event, ...] = ()
    while made < at_most and capital.epsilon_lower < limit:
        if not events or made <= LEARN_UP_TO:
            events = study(concatenate(past[0]), concatenate(past[1]), claim.delta)
        sample = trials(run, claim, 2 * min(made, at_most - made))
        tallies = [event.play(*sample) for event in events]
        capital, made = capital.after(tallies, claim.alpha), made + tallies[0].trials // 2
        totals = [old + new for old, new in zip_longest(totals, tallies, fillvalue=Tally(0, 0, 0, 0))]
        seen = seen[0].after(sample[0]), seen[1].after(sample[1])
        for memory, output in zip(past, sample, strict=True):
            memory.append(output)
    lowest, richest = capital.epsilon_lower, capital.richest(limit, len(events))
    event, tally = events[richest], totals[richest]
    finding = LargestBound(event, max(0.0, lowest), tally, violated=lowest >= limit)
    return conclude(claim, seen, event.layout, finding, copy)
