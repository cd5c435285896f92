"""What an audit may say: that a claim is violated, that this evidence does not contradict it, or neither.

An audit never says "private".  A mechanism that leaks on an event nobody thought of, or too rarely for the
runs that were made, passes every audit; only a proof excludes it.  And it says nothing at all where its own
premise fails: where runs raised, or where they depend on each other.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.audit.evidence import Tally
from discreet.audit.outputs import Failure
from discreet.audit.score import Event
from discreet.markup import BAD, OPEN, card, listed

FOR_TESTS = "0.999999"
"""The default confidence: a test suite that audits a sound mechanism fails once in a million times."""


@dataclass(frozen=True, slots=True)
class Violated:
    """The claim is false: whoever guesses by `event` wins more often than it allows."""

    event: Event
    epsilon: Fraction
    delta: Fraction
    epsilon_lower: float
    confidence: float
    tally: Tally
    left: object
    right: object
    note: str = ""

    violated: ClassVar[bool] = True
    status: ClassVar[str] = "VIOLATED"

    def __str__(self) -> str:
        return (
            f"VIOLATED: claimed {_claim(self)}, but at least {self.epsilon_lower:.4f} "
            f"at {self.confidence:.10g} confidence; {_guesses(self.tally)}; {self.event}{_note(self)}"
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, by name."""
        return _facts(self)

    def __repr__(self) -> str:
        return listed(self.status, self.facts)

    def _repr_html_(self) -> str:
        return card(self.status, self.facts, colour=BAD)


@dataclass(frozen=True, slots=True)
class Consistent:
    """Nothing found against the claim; `epsilon_lower` is what the evidence does establish."""

    event: Event
    epsilon: Fraction
    delta: Fraction
    epsilon_lower: float
    confidence: float
    tally: Tally
    left: object
    right: object
    note: str = ""

    violated: ClassVar[bool] = False
    status: ClassVar[str] = "No violation found"

    def __str__(self) -> str:
        return (
            f"consistent with {_claim(self)}; at least {self.epsilon_lower:.4f} "
            f"at {self.confidence:.10g} confidence; {_guesses(self.tally)}; {self.event}{_note(self)}"
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, by name."""
        return _facts(self)

    def __repr__(self) -> str:
        return listed(self.status, self.facts)

    def _repr_html_(self) -> str:
        return card("Consistent", self.facts, colour=OPEN, note="an audit that finds nothing proves nothing")


@dataclass(frozen=True, slots=True)
class Raised:
    """Runs ended in an error: `left_raised` of `left_runs` on the left input, and alike on the right.

    An error is an output that somebody sees, so it is guessed by like any other: `epsilon_lower` is what the
    evidence establishes, errors included, and `violated` whether that exceeds the claim.  A function that
    makes many runs at once loses them all, and then nothing was established.
    """

    failure: Failure
    left_raised: int
    left_runs: int
    right_raised: int
    right_runs: int
    event: Event | None
    epsilon: Fraction
    delta: Fraction
    epsilon_lower: float
    confidence: float
    tally: Tally
    left: object
    right: object
    violated: bool

    status: ClassVar[str] = "RAISED"

    @property
    def story(self) -> str:
        """Return what happened, how often and where."""
        runs = (
            f"in {self.left_raised} of {self.left_runs} runs on the left input and "
            f"{self.right_raised} of {self.right_runs} on the right"
            if self.left_runs + self.right_runs
            else "instead of making runs"
        )
        return f"the mechanism {self.failure} ({self.failure.where}) {runs}"

    @property
    def advice(self) -> str:
        """Return what this means for the claim."""
        if self.violated:
            return (
                f"errors are outputs too: epsilon is at least {self.epsilon_lower:.4f} "
                f"at {self.confidence:.10g} confidence, above the claim; {self.event}"
            )
        return "mend it, or audit it on inputs that it accepts; nothing is said about the claim"

    def __str__(self) -> str:
        return f"RAISED: {self.story}; {self.advice}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, by name."""
        return [("claimed", _claim(self)), ("what happened", self.story), ("so", self.advice)]

    def __repr__(self) -> str:
        return listed(self.status, self.facts)

    def _repr_html_(self) -> str:
        return card(self.status, self.facts, colour=BAD)


@dataclass(frozen=True, slots=True)
class Dependent:
    """The runs depend on each other, so no bound computed from them means anything."""

    reason: str
    epsilon: Fraction
    delta: Fraction
    confidence: float
    tally: Tally
    left: object
    right: object

    epsilon_lower: ClassVar[float] = 0.0
    violated: ClassVar[bool] = False
    status: ClassVar[str] = "NOT INDEPENDENT"

    @property
    def advice(self) -> str:
        """Return what to do instead."""
        return (
            "an audit needs runs that know nothing of each other: draw fresh noise in every call and "
            "remember nothing between calls; releases that share noise have to be audited together, "
            "as one output"
        )

    def __str__(self) -> str:
        return f"NOT INDEPENDENT: {self.reason}; nothing is said about {_claim(self)}; {self.advice}"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, by name."""
        return [("claimed", _claim(self)), ("why", self.reason), ("instead", self.advice)]

    def __repr__(self) -> str:
        return listed(self.status, self.facts)

    def _repr_html_(self) -> str:
        return card(self.status, self.facts, colour=OPEN)


Verdict = Violated | Consistent | Raised | Dependent


def _facts(verdict: Violated | Consistent) -> list[tuple[str, str]]:
    # The inputs are left out: whoever audits with real records must not find them in a saved notebook.
    return [
        ("claimed", _claim(verdict)),
        (
            "established",
            f"epsilon at least {verdict.epsilon_lower:.4f} at {verdict.confidence:.10g} confidence",
        ),
        ("evidence", _guesses(verdict.tally)),
        ("event", str(verdict.event)),
        *([("note", verdict.note)] if verdict.note else []),
    ]


def _claim(verdict: Verdict) -> str:
    delta = f", delta {float(verdict.delta):g}" if verdict.delta else ""
    return f"epsilon {float(verdict.epsilon):g}{delta}"


def _guesses(tally: Tally) -> str:
    return f"{tally.correct} of {tally.guesses} guesses right in {tally.trials} runs"


def _note(verdict: Violated | Consistent) -> str:
    return f"; {verdict.note}" if verdict.note else ""
