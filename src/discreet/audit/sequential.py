"""Audits that may be watched and stopped at any time.

Theorem.  Play the guessing game of `evidence` trial after trial, guessing by any rule fixed before the
trial.  If the mechanism is (epsilon, delta)-private on the pair, then for every 0 <= b <= 1 / (exp(epsilon)
+ delta) the capital

    E_t = product over trials of  1 + b (correct - exp(epsilon) wrong - delta)

of a gambler who starts with 1 is a non-negative supermartingale, because the bracket has mean c -
exp(epsilon) w - delta <= 0 whatever happened before.  A mixture of such capitals over a fixed list of b is
one too, and by Ville's inequality it ever reaches 1 / a with probability at most a.  So the audit may look
after every trial, stop when it likes, and change its rule between trials as long as it looks only at the
past.

Theorem (bound).  Give every epsilon of a fixed grid its own capital and report the last grid point up to
which *all* capitals have reached 1 / a at some time.  If the truth is e, the report exceeds e only when the
first grid point at or above e was refuted, which has probability at most a: the bound holds at all times at
once.

References.  Ville, 1939; Shafer, JRSS A 184, 2021; Ramdas, Grunwald, Vovk, Shafer, Statistical Science 38,
2023. Sequential audits by e-processes: Gonzalez, Dulce-Rubio, Ramdas, Ribero, NeurIPS 2025.
"""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.batch import FEWEST
from discreet.audit.evidence import HAIR, Tally
from discreet.audit.learn import learn
from discreet.audit.outputs import concatenate
from discreet.audit.runs import Box, Progress, fair_split, running
from discreet.audit.verdict import Verdict, judge
from discreet.errors import ParameterError
from discreet.exact.number import Real, float_up, non_negative, probability

BETS = 48
"""Bets in the mixture: fractions of the largest admissible one, from a thousandth to nearly all."""

LEARN_UP_TO = 200_000
"""Runs per input after which the rule is no longer relearned."""


@dataclass(frozen=True, slots=True, eq=False)
class Capital:
    """The logarithms of the capitals against each epsilon of a grid, for each bet."""

    grid: NDArray[np.float64]
    delta: float
    logs: NDArray[np.float64]
    refuted: NDArray[np.bool_]

    @classmethod
    def start(cls, claim: float, delta: float) -> "Capital":
        """Return a capital of 1 against the claim and a grid of other values around it."""
        grid = np.unique(
            np.concatenate([np.linspace(0, 2 * claim, 161), [claim], np.geomspace(1e-3, 30, 160)])
        )
        return cls(grid, delta, np.zeros((grid.size, BETS)), np.zeros(grid.size, dtype=np.bool_))

    def after(self, tally: Tally, alpha: float) -> "Capital":
        """Return the capital after more trials."""
        loss = np.exp(self.grid)[:, None] * (1 + HAIR)
        slack = self.delta * (1 + HAIR)
        bets = np.geomspace(1e-3, 0.999, BETS)[None, :] / (loss + slack)
        passed = tally.trials - tally.guesses
        logs = (
            self.logs
            + tally.correct * np.log1p(bets * (1 - slack))
            + tally.wrong * np.log1p(-bets * (loss + slack))
            + passed * np.log1p(-bets * slack)
        )
        peak = logs.max(axis=1, keepdims=True)
        mixed = peak[:, 0] + np.log(np.exp(logs - peak).mean(axis=1))
        return Capital(self.grid, self.delta, logs, self.refuted | (mixed >= -log(alpha)))

    @property
    def epsilon_lower(self) -> float:
        """Return the last grid point up to which every epsilon was refuted, or -1."""
        standing = np.flatnonzero(~self.refuted)
        first = int(standing[0]) if standing.size else self.grid.size
        return float(self.grid[first - 1]) if first else -1.0


def audit_until(
    subject: Any,
    left: Any,
    right: Any,
    *,
    epsilon: Real,
    delta: Real = 0,
    at_most: int = 1_000_000,
    first: int = 200,
    confidence: Real = "0.95",
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Test a claim with as few runs as it takes, `at_most` per input: stop at the first refutation.

    The rule is learned from `first` runs per input and relearned each time the number of runs has doubled.
    """
    claim = non_negative(epsilon, "epsilon"), non_negative(delta, "delta")
    alpha = float(1 - probability(confidence, "confidence"))
    if first < FEWEST // 2 or at_most <= first:
        raise ParameterError(
            f"first must be at least {FEWEST // 2} and below at_most, got {first} and {at_most}"
        )
    limit = float_up(claim[0])
    capital = Capital.start(limit, float_up(claim[1]))
    total = Tally(0, 0, 0)
    with running(Box.of(subject, batched=batched), workers, progress) as run:
        seen = [run(left, first)], [run(right, first)]
        made, event = first, None
        while made < at_most and capital.epsilon_lower < limit:
            if event is None or made <= LEARN_UP_TO:
                event = learn(concatenate(seen[0]), concatenate(seen[1]), claim[1])
            lefts, rights = fair_split(2 * min(made, at_most - made))
            outputs = run(left, lefts), run(right, rights)
            tally = event.play(*outputs)
            total, capital, made = total + tally, capital.after(tally, alpha), made + tally.trials // 2
            for memory, output in zip(seen, outputs, strict=True):
                memory.append(output)
    if event is None:
        raise ParameterError("at_most leaves no runs to test with")
    lowest = capital.epsilon_lower
    return judge(event, claim, max(0.0, lowest), 1 - alpha, total, (left, right), violated=lowest >= limit)
