"""Counterexamples: two neighbouring inputs, an event, and the probabilities that break the claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.verify.run import Value


@dataclass(frozen=True, slots=True)
class Witness:
    """Pr[first in event] > exp(epsilon) Pr[second in event] + delta, with both probabilities enclosed.

    `exact` witnesses are certified: the inequality was decided in exact arithmetic, and the enclosures
    only report the numbers.  `sampled` ones hold with the stated confidence, for the program as executed
    on a grid.
    """

    method: Literal["exact", "sampled"]
    first: Mapping[str, Value]
    second: Mapping[str, Value]
    constants: Mapping[str, Value]
    event: str
    first_probability: tuple[Fraction, Fraction]
    second_probability: tuple[Fraction, Fraction]
    epsilon: Fraction
    delta: Fraction
    loss: float
    """A lower bound on ln(first / second), infinity when the second probability is zero."""
    confidence: Fraction = Fraction(1)
    rho: Fraction | None = None
    """The claim, if it is one of concentrated privacy; then epsilon is what it allows for this very event."""

    def as_dict(self) -> dict[str, object]:
        """Return the witness as plain data, for JSON."""
        return {
            "method": self.method,
            "first": {k: _plain(v) for k, v in self.first.items()},
            "second": {k: _plain(v) for k, v in self.second.items()},
            "constants": {k: _plain(v) for k, v in self.constants.items()},
            "event": self.event,
            "probability of the first": [float(p) for p in self.first_probability],
            "probability of the second": [float(p) for p in self.second_probability],
            "claimed epsilon": str(self.epsilon),
            "claimed delta": str(self.delta),
            "loss at least": "infinity" if self.loss == float("inf") else self.loss,
            "confidence": str(self.confidence),
            **({} if self.rho is None else {"claimed rho": str(self.rho)}),
        }


def _plain(value: Value) -> object:
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value if isinstance(value, bool | int) else str(value)
