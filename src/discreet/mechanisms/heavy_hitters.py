"""Heavy hitters without a curator: values that many people have, found among 2**bits, one report each.

Everybody draws a round.  In a round the beginnings of values that are still in question are continued by
`step` bits in all ways, and who takes part reports, as a local frequency oracle has it, which of them
begins her value, or that none does.  The beginnings whose estimate exceeds the radius of the round go on,
the `keep` largest at most; those of the last round are whole values.

Privacy.  Each person sends one report, which is epsilon-private towards everybody.  What she is asked
depends on other people's reports only, so the whole is as private for her as that report.

Theorem.  Let n people have values and let n_r of them draw round r of R, each round at random.  Let b be
the radius of all estimates of a round at once, but for a chance beta / 2R (`frequency.band`), and s =
sqrt(n_r L / 2) with L = ln(4 n R / beta).  Then with probability 1 - beta

- every estimate of the last round, times n / n_r, is within (b + s) n / n_r of how many people have the
  value,
- somebody has each value that is found, and
- every value that at least  max_r (2 b + s + n_r / keep) n / n_r  people have is found.

Proof.  Given their numbers the people of a round are a sample without replacement.  At most n beginnings of
a round occur; by Hoeffding's inequality and a union bound over them and the rounds, all of them occur in
the sample within s of n_r / n times as often as among all, but for a chance beta / 2; and all estimates are
within b of how often they occur in the sample, but for another beta / 2.  What exceeds b occurs.  A
beginning that m >= (2 b + s + n_r / keep) n / n_r people share occurs at least 2 b + n_r / keep times and
its estimate is at least b + n_r / keep.  Beginnings with a larger estimate occur more than n_r / keep times
each, so fewer than `keep` of them exist: it goes on.

References.  Bassily, Nissim, Stemmer, Thakurta, "Practical locally private heavy hitters", NeurIPS 2017;
Wang, Li, Jha, "Locally differentially private heavy hitter identification", IEEE TDSC 2019 (prefixes and
groups).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import Real, log_bounds, positive, probability, rational, shown, sqrt_up, whole
from discreet.exact.perturb import integers
from discreet.exact.sample import uniform_below
from discreet.markup import built, card, figure, listed
from discreet.mechanisms.frequency import band, estimated, squared_error
from discreet.mechanisms.hadamard_response import HadamardResponse
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.guarantee import Pure

LONGEST = 62
"""Values are whole numbers below 2**62; longer ones are hashed before."""

MOST = 2**20
"""Beginnings in question at once."""

TITLE = "Values that many people have"


@dataclass(frozen=True, slots=True)
class HeavyHitters:
    """A search for frequent values below 2**bits, `step` bits a round, with `keep` beginnings at most."""

    epsilon: Fraction
    bits: int
    step: int = 4
    keep: int = 64

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(rational(self.epsilon, "epsilon"), "epsilon"))
        for name, most in (("bits", LONGEST), ("step", LONGEST), ("keep", MOST)):
            value = whole(getattr(self, name), name)
            if not 1 <= value <= most:
                raise ParameterError(f"{name} must be a whole number from 1 to {most}, got {shown(value)}")
            object.__setattr__(self, name, value)
        if self.keep << min(self.step, self.bits) > MOST:
            raise ParameterError(f"keep times 2**step must be at most {MOST}; take fewer bits in each step")

    @property
    def rounds(self) -> int:
        """Return how many rounds there are."""
        return -(-self.bits // self.step)

    def guarantee(self) -> Pure:
        """Return the promise to each person, towards everybody."""
        return Pure(self.epsilon)

    def begin(self) -> "SearchRound":
        """Return the first round."""
        return SearchRound(self, 0, (0,))

    def run(self, values: Any, *, beta: Real = "0.05") -> "FrequentValues":
        """Return what the whole search finds: every device's draw and report, and the collector's work."""
        truths = _values(values, self.bits)
        drawn = np.asarray(uniform_below(self.rounds, truths.size), dtype=np.int64)
        state: SearchRound | FrequentValues = self.begin()
        while isinstance(state, SearchRound):
            reports = state.report(truths[drawn == state.number])
            state = state.collect(reports, people=truths.size, beta=beta)
        return state


@dataclass(frozen=True, slots=True)
class FrequentValues:
    """Values with estimates of how many people have each; see `HeavyHitters` for what is certain of them."""

    values: tuple[int, ...]
    estimates: tuple[Fraction, ...]
    radius: Fraction
    """All estimates are this close, but for a chance beta."""
    sure: Fraction
    """Every value that so many people have is among them."""
    beta: Fraction

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return the first values with their estimates, and what is certain."""
        first = zip(self.values[:20], self.estimates, strict=False)
        chance = f"but for a chance of {figure(self.beta)}"
        return [
            *((str(value), figure(round(each))) for value, each in first),
            ("each", f"± {float(self.radius):.0f}, {chance}"),
            ("missing", f"no value that {float(self.sure):.0f} people have"),
        ]

    def __repr__(self) -> str:
        return listed(TITLE, self.facts)

    def _repr_html_(self) -> str:
        return card(TITLE, self.facts)


@dataclass(frozen=True, slots=True)
class SearchRound:
    """One round: the beginnings in question, the report of a device, and what the collector does next."""

    search: HeavyHitters
    number: int
    kept: tuple[int, ...]
    """The beginnings that were kept before, sorted."""
    sure: Fraction = Fraction(0)

    @property
    def length(self) -> int:
        """Return how many bits the beginnings of this round have."""
        return min((self.number + 1) * self.search.step, self.search.bits)

    @property
    def asked(self) -> tuple[int, ...]:
        """Return the beginnings in question, in order."""
        more = self.length - self.number * self.search.step
        return tuple(begun << more | end for begun in self.kept for end in range(1 << more))

    @property
    def oracle(self) -> RandomizedResponse | HadamardResponse:
        """Return the report of this round; its last value stands for all other beginnings."""
        values = len(self.asked) + 1
        each: list[RandomizedResponse | HadamardResponse] = [
            RandomizedResponse.calibrate(epsilon=self.search.epsilon, categories=values),
            HadamardResponse.calibrate(epsilon=self.search.epsilon, categories=values),
        ]
        return min(each, key=squared_error)

    def report(self, values: Any) -> Any:
        """Return the report of each value's device, to be sent once by whoever drew this round."""
        begun = _values(values, self.search.bits) >> (self.search.bits - self.length)
        asked = np.asarray(self.asked, dtype=np.int64)
        place = np.searchsorted(asked, begun)
        known = asked[np.minimum(place, asked.size - 1)] == begun
        return self.oracle.sample(np.where(known, place, asked.size))

    def collect(self, reports: Any, *, people: int, beta: Real = "0.05") -> "SearchRound | FrequentValues":
        """Return the next round, or what is found, from this round's reports; `people` are all of them."""
        chance, everybody = probability(beta, "beta"), whole(people, "people")
        mine = len(reports)
        if not 1 <= mine <= everybody:
            raise ParameterError(
                f"round {self.number} needs the reports of 1 to {everybody} people, got {mine}; "
                "with few people take more bits in each step"
            )
        rounds, oracle = self.search.rounds, self.oracle
        radius = band(oracle, mine, chance / (2 * rounds))
        sampling = sqrt_up(mine * log_bounds(4 * everybody * rounds / chance)[1] / 2)
        scale = Fraction(everybody, mine)
        sure = max(self.sure, scale * (2 * radius + sampling + Fraction(mine, self.search.keep)))
        supports = oracle.supports(reports)[:-1]
        kept = _largest(
            self.asked, [estimated(oracle, count, mine) for count in supports], radius, self.search.keep
        )
        if kept and self.number + 1 < rounds:
            return SearchRound(self.search, self.number + 1, tuple(sorted(kept)), sure)
        named = tuple(sorted(kept, key=lambda value: -kept[value]))
        return FrequentValues(
            named, tuple(scale * kept[value] for value in named), scale * (radius + sampling), sure, chance
        )


def _largest(
    asked: Sequence[int], estimates: Sequence[Fraction], least: Fraction, keep: int
) -> dict[int, Fraction]:
    """Return the beginnings whose estimates exceed the least, the largest so many."""
    high = sorted((each, -value) for value, each in zip(asked, estimates, strict=True) if each > least)
    return {-value: each for each, value in high[-keep:]}


def _values(values: Any, bits: int) -> Any:
    truths = integers(values).ravel().astype(np.int64)
    if truths.size and (int(truths.min()) < 0 or int(truths.max()) >= 1 << bits):
        raise ParameterError(f"values must be whole numbers from 0 to {(1 << bits) - 1}")
    return truths
