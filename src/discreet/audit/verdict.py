"""What an audit may say: that a claim is violated, or that this evidence does not contradict it.

An audit never says "private".  A mechanism that leaks on an event nobody thought of, or too rarely for the
runs that were made, passes every audit; only a proof excludes it.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.audit.evidence import Tally
from discreet.audit.score import Event
from discreet.markup import BAD, OPEN, card


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

    violated: ClassVar[bool] = True

    def __str__(self) -> str:
        return (
            f"VIOLATED: claimed {_claim(self.epsilon, self.delta)}, but at least {self.epsilon_lower:.4f} "
            f"at {self.confidence:.4g} confidence; {_guesses(self.tally)}; {self.event}"
        )

    def _repr_html_(self) -> str:
        return card("VIOLATED", _facts(self), colour=BAD)


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

    violated: ClassVar[bool] = False

    def __str__(self) -> str:
        return (
            f"consistent with {_claim(self.epsilon, self.delta)}; at least {self.epsilon_lower:.4f} "
            f"at {self.confidence:.4g} confidence; {_guesses(self.tally)}; {self.event}"
        )

    def _repr_html_(self) -> str:
        return card(
            "Consistent", _facts(self), colour=OPEN, note="an audit that finds nothing proves nothing"
        )


Verdict = Violated | Consistent


def judge(
    event: Event,
    claim: tuple[Fraction, Fraction],
    epsilon_lower: float,
    confidence: float,
    tally: Tally,
    pair: tuple[object, object],
    *,
    violated: bool,
) -> Verdict:
    """Return the verdict with its evidence."""
    kind = Violated if violated else Consistent
    return kind(event, *claim, epsilon_lower, confidence, tally, *pair)


def _facts(verdict: Verdict) -> list[tuple[str, str]]:
    # The inputs are left out: whoever audits with real records must not find them in a saved notebook.
    return [
        ("claimed", _claim(verdict.epsilon, verdict.delta)),
        (
            "established",
            f"epsilon at least {verdict.epsilon_lower:.4f} at {verdict.confidence:.4g} confidence",
        ),
        ("evidence", _guesses(verdict.tally)),
        ("event", str(verdict.event)),
    ]


def _claim(epsilon: Fraction, delta: Fraction) -> str:
    return f"epsilon {float(epsilon):g}" + (f", delta {float(delta):g}" if delta else "")


def _guesses(tally: Tally) -> str:
    return f"{tally.correct} of {tally.guesses} guesses right in {tally.trials} runs"
