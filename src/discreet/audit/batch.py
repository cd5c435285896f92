"""Audits with a fixed number of runs.

A fair coin picks the input of every run.  A quarter of the runs teaches: it chooses one event that promises
most and a few runners-up that might win by being rare.  The other runs are a fresh guessing game for them, of
which nothing was seen before.  Beside it stands a plain histogram, whose cells are chosen without looking at
the coins and are tested on all runs, those of the training included (`blind`).

Theorem.  Let the chosen event be tested at level 0.7 a, the runners-up at 0.2 a / 2, 0.2 a / 4, and so on,
and the histogram at 0.1 a.  By the union bound the largest of their bounds exceeds the true epsilon with
probability at most a: for every sample size, whatever was learned.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.audit.blind import GLANCE, Blind
from discreet.audit.conclude import LargestBound, PairClaim, Seen, conclude
from discreet.audit.evidence import Tally, epsilon_lower
from discreet.audit.fresh import Pristine, pristine
from discreet.audit.learn import study
from discreet.audit.outputs import Matrix
from discreet.audit.runs import CHUNK, BatchError, Box, Progress, Runner, fair_split, running
from discreet.audit.score import Event
from discreet.audit.verdict import FOR_TESTS, Consistent, Verdict
from discreet.errors import AuditError, ParameterError
from discreet.exact.number import Real

FEWEST = 100
"""Fewer runs than this cannot both teach and test."""

SCHOOL = 2_500_000
"""Training runs per input beyond which nothing more is learned."""

EXTRAS = 4_000_000
"""Trials in which runners-up and histogram take part; beyond, the chosen event goes on alone."""

BEST, RARE, PLAIN = 0.7, 0.2, 0.1
"""Shares of the error: of the chosen event, of the runners-up together, and of the histogram."""


def audit(
    subject: Any,
    left: Any,
    right: Any,
    *,
    epsilon: Real,
    delta: Real = 0,
    runs: int = 20_000,
    confidence: Real = FOR_TESTS,
    batched: bool = False,
    workers: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """Test the claim that `subject` is (epsilon, delta)-private on two neighbouring inputs.

    `subject` is a mechanism, a function of one input, or with `batched` a function of an input and a count
    that returns that many independent outputs.  `runs` is the number of runs per input, on average over
    fair coins.  A sound mechanism is accused with probability 1 - confidence at most: by default once in a
    million audits, as a test suite needs; ask for 0.95 where one audit in twenty may be wrong.
    """
    claim = PairClaim.of(left, right, epsilon, delta, confidence)
    enough(runs)
    box = Box.of(subject, batched=batched)
    with pristine(box, [(left, right)]) as copy, running(box, workers, progress) as run:
        return settle(run, claim, runs, copy)


def assert_consistent(subject: Any, left: Any, right: Any, **options: Any) -> None:
    """Audit, and fail a test with the verdict unless it is consistent; options are those of `audit`."""
    verdict = audit(subject, left, right, **options)
    if not isinstance(verdict, Consistent):
        raise AuditError(str(verdict))


def enough(runs: int) -> None:
    """Refuse a number of runs that cannot both teach and test."""
    if runs < FEWEST:
        raise ParameterError(f"runs must be at least {FEWEST}, got {runs}")


def trials(run: Runner, claim: PairClaim, count: int) -> tuple[Any, Any]:
    """Return the outputs of this many trials, left and right, a fair coin for each."""
    lefts, rights = fair_split(count)
    return run(claim.left, lefts), run(claim.right, rights)


def settle(run: Runner, claim: PairClaim, runs: int, copy: Pristine | None = None) -> Verdict:
    """Train, play and judge."""
    training = min(runs // 4, SCHOOL)
    count = 2 * (runs - training)
    try:
        school = trials(run, claim, 2 * training)
        game = Game.taught_by(*school, claim.delta)
        seen = Seen().after(school[0]), Seen().after(school[1])
        for start in range(0, count, CHUNK):
            sample = trials(run, claim, min(CHUNK, count - start))
            game = game.after(*sample, alone=start >= EXTRAS)
            seen = seen[0].after(sample[0]), seen[1].after(sample[1])
    except BatchError as error:
        return claim.raised(error)
    bound, event, tally = game.strongest(claim)
    finding = LargestBound(event, bound, tally, violated=Fraction(bound) > claim.epsilon)
    return conclude(claim, seen, event.layout, finding, copy)


@dataclass(frozen=True, slots=True)
class Game:
    """The events that were chosen, and how they fared so far."""

    events: tuple[Event, ...]
    tallies: tuple[Tally, ...]
    blind: Blind

    @classmethod
    def taught_by(cls, left: Any, right: Any, delta: Fraction) -> "Game":
        """Return a game that has not begun, with events chosen on these outputs."""
        events = study(left, right, delta)
        layout = events[0].layout
        rows = layout.rows(left), layout.rows(right)
        blind = Blind.of(layout, *rows)
        if len(rows[0]) + len(rows[1]) <= 2 * GLANCE:
            blind = blind.after(*rows)
        return cls(events, tuple(Tally(0, 0, 0, event.sides) for event in events), blind)

    def after(self, left: Any, right: Any, *, alone: bool = False) -> "Game":
        """Return the game after more trials; `alone` leaves them to the chosen event."""
        layout = self.events[0].layout
        rows: tuple[Matrix, Matrix] = layout.rows(left), layout.rows(right)
        playing = self.events[:1] if alone else self.events
        more = [event.tally(*rows) for event in playing]
        tallies = tuple(old + new for old, new in zip(self.tallies, more, strict=False))
        blind = self.blind if alone else self.blind.after(*rows)
        return Game(self.events, tallies + self.tallies[len(more) :], blind)

    def strongest(self, claim: PairClaim) -> tuple[float, Event, Tally]:
        """Return the largest bound at the claim's confidence, with its event and how that fared."""
        shares = [BEST, *(RARE / 2**place for place in range(1, len(self.events)))]
        found = [
            (epsilon_lower(tally, claim.alpha * share, claim.delta), event, tally)
            for share, event, tally in zip(shares, self.events, self.tallies, strict=True)
        ]
        plain = self.blind.best(claim.alpha * PLAIN, claim.delta)
        # The first of equals: where nothing was found, the chosen event says what was tried.
        return max([*found, *([plain] if plain else [])], key=lambda one: one[0])
