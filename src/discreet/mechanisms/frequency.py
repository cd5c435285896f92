"""Frequencies from local reports: unbiased estimates of how many people have each value, with a band.

Theorem.  Let a report speak for the sender's value with probability t, and for any given other value with
probability l < t, independently between people.  If c of n reports speak for a value,

    (c - n l) / (t - l)

is an unbiased estimate of how many have it, with variance [m t (1 - t) + (n - m) l (1 - l)] / (t - l)**2 if m
have it.  By Bernstein's and Hoeffding's inequalities and a union bound all k estimates are at once within

    min(sqrt(n L / 2), L / 3 + sqrt(L**2 / 9 + 2 n v L)) / (t - l),      L = ln(2 k / b),

of the truth with probability 1 - b, where v is the larger of t (1 - t) and l (1 - l).

The squared errors of all k estimates add up to n [t (1 - t) + (k - 1) l (1 - l)] / (t - l)**2 on average,
whatever the data: that is what `frequency_oracle` compares.

References.  Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation",
USENIX Security 2017 (such reports as "pure protocols").
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from discreet.errors import ParameterError
from discreet.exact.number import Real, log_bounds, probability, shown, sqrt_up, whole
from discreet.markup import card, figure, listed


class Oracle(Protocol):
    """A local report that speaks for values."""

    @property
    def categories(self) -> int:
        """Return how many values there are."""

    @property
    def truth(self) -> Fraction:
        """Return the probability that a report speaks for the sender's value."""

    @property
    def lie(self) -> Fraction:
        """Return the probability that it speaks for one given other value."""

    def supports(self, reports: Any) -> tuple[int, ...]:
        """Return how many reports speak for each value."""


TITLE = "Frequencies from local reports"


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Estimates of how many people have each value; all are within `radius` at once but for a chance beta."""

    estimates: tuple[Fraction, ...]
    radius: Fraction
    people: int
    beta: Fraction = field(default=Fraction(1, 20))

    @property
    def intervals(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the band: the least and the largest possible number for each value."""
        low, high = Fraction(0), Fraction(self.people)
        return tuple(
            (min(max(each - self.radius, low), high), max(min(each + self.radius, high), low))
            for each in self.estimates
        )

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return the first estimates and the band that holds all of them."""
        facts = [(str(value), figure(each)) for value, each in enumerate(self.estimates[:20])]
        chance = f"± {figure(self.radius)}, all at once but for a chance of {figure(self.beta)}"
        return [*facts, ("band", chance)]

    def __repr__(self) -> str:
        return listed(TITLE, self.facts)

    def _repr_html_(self) -> str:
        return card(TITLE, self.facts)


def frequencies(oracle: Oracle, reports: Any, *, beta: Real = "0.05") -> Frequencies:
    """Return what the reports of many people say about how many have each value."""
    chance = probability(beta, "beta")
    found = oracle.supports(reports)
    people = len(reports)
    each = tuple(estimated(oracle, count, people) for count in found)
    return Frequencies(each, band(oracle, people, chance), people, chance)


def estimated(oracle: Oracle, supports: int, people: int) -> Fraction:
    """Return the unbiased estimate for a value for which so many of the reports speak."""
    return (supports - people * oracle.lie) / (oracle.truth - oracle.lie)


def band(oracle: Oracle, people: int, beta: Real = "0.05") -> Fraction:
    """Return how far off all estimates are at most, but for a chance beta; rounded up."""
    chance, n = probability(beta, "beta"), whole(people, "people")
    if n < 1:
        raise ParameterError(f"there must be at least one report, got {shown(people)}")
    term = log_bounds(2 * oracle.categories / chance)[1]
    spread = max(oracle.truth * (1 - oracle.truth), oracle.lie * (1 - oracle.lie))
    hoeffding = sqrt_up(n * term / 2)
    bernstein = term / 3 + sqrt_up(term**2 / 9 + 2 * n * spread * term)
    return min(hoeffding, bernstein) / (oracle.truth - oracle.lie)


def squared_error(oracle: Oracle) -> Fraction:
    """Return the mean squared error of all estimates together, for each person."""
    truth, lie, k = oracle.truth, oracle.lie, oracle.categories
    return (truth * (1 - truth) + (k - 1) * lie * (1 - lie)) / (truth - lie) ** 2
