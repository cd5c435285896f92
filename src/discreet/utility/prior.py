"""What the analyst believes before she sees the answer: an exact law on the true answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from discreet.errors import ParameterError
from discreet.exact.number import Real, non_negative, rational
from discreet.mechanisms.table import Label, exact_sum


@dataclass(frozen=True, slots=True)
class Prior:
    """A probability for each true answer, by position; they sum to 1 exactly."""

    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.weights:
            raise ParameterError("a prior needs at least one answer")
        if min(self.weights) < 0:
            raise ParameterError("a prior must not hold negative probabilities")
        total = exact_sum(self.weights)
        if total != 1:
            raise ParameterError(
                f"a prior must sum to 1 exactly, this one sums to {float(total)!r}; "
                "use Prior.proportional for weights that still have to be divided by their sum"
            )

    @classmethod
    def of(cls, weights: Sequence[Real]) -> "Prior":
        """Return the prior with exactly these probabilities."""
        return cls(tuple(rational(weight, "prior") for weight in weights))

    @classmethod
    def proportional(cls, weights: Sequence[Real]) -> "Prior":
        """Return the prior proportional to these weights, such as counts in public data."""
        exact = [non_negative(weight, "weight") for weight in weights]
        total = exact_sum(exact)
        if total == 0:
            raise ParameterError("a prior needs at least one positive weight")
        return cls(tuple(weight / total for weight in exact))

    @classmethod
    def uniform(cls, size: int) -> "Prior":
        """Return equal belief in each of `size` answers."""
        return cls.proportional([1] * size)

    @classmethod
    def binomial(cls, n: int, p: Real = Fraction(1, 2)) -> "Prior":
        """Return the law of a count among n independent people who each count with probability p."""
        chance = rational(p, "p")
        if not 0 <= chance <= 1:
            raise ParameterError(f"p must lie between 0 and 1, got {p}")
        return cls(tuple(comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)))

    @classmethod
    def induced(
        cls, databases: Mapping[Label, Real], query: Callable[[Label], Label], answers: Sequence[Label]
    ) -> "Prior":
        """Return the belief about the answers that a belief about databases induces through a query."""
        mass = dict.fromkeys(answers, Fraction(0))
        for database, weight in databases.items():
            answer = query(database)
            if answer not in mass:
                raise ParameterError("the query gives an answer that is not among `answers`")
            mass[answer] += rational(weight, "prior")
        return cls(tuple(mass.values()))

    def __len__(self) -> int:
        return len(self.weights)
