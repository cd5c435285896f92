"""What is promised: pure, approximate and concentrated privacy, and whole loss laws, as values.

A mechanism M is (epsilon, delta)-private when, for all neighbours D, D' and all events S,

    Pr[M(D) in S] <= exp(epsilon) * Pr[M(D') in S] + delta.

Each guarantee answers the same questions: `epsilon(delta)`, the smallest epsilon it promises at that
delta; `delta(epsilon)`; `group(k)`, what it promises to k units at once; and `price()`, what a filter
charges.  For pure, approximate and whole-law guarantees the answers are tight: some mechanism that
satisfies the guarantee attains them, and the bounds differ by rounding only.  For concentrated privacy
`high` is the best known conversion and `low` what the Gaussian, one such mechanism, attains.

References.  The extremal mechanism of (epsilon, delta)-privacy: Kairouz, Oh, Viswanath, ICML 2015.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp

from discreet.errors import ParameterError
from discreet.exact.number import Real, float_up, non_negative, rational, shown
from discreet.markup import built, card, figure
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.bounds import Bounds
from discreet.privacy.filter import Cost
from discreet.privacy.loss import GaussianLoss, Law, ResponseLoss, response_epsilon
from discreet.privacy.zcdp import delta_of_rho, epsilon_of_rho


def small_delta(value: Real) -> Fraction:
    """Return the delta that a user meant, refusing what no guarantee can mean."""
    delta = rational(value, "delta")
    if not 0 <= delta.numerator < delta.denominator:
        raise ParameterError(f"delta must be at least 0 and less than 1, got {shown(value)}")
    return delta


_NONE = Fraction(0)

LARGEST_GROUP = 16
"""The curve of a finite law is iterated for groups up to this size."""

SHOWN = ("1e-9", "1e-6", "1e-3")
"""The deltas at which notebooks show the epsilon of a promise that is more than one number."""


def group_size(value: int) -> int:
    """Return the size of a group, refusing what is not a group."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"a group is a whole number of at least one unit, got {shown(value)}")
    return value


@dataclass(frozen=True, slots=True)
class Pure:
    """Pure differential privacy: no event becomes more than exp(cost) times likelier."""

    cost: Fraction

    __repr__ = built

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", non_negative(self.cost, "epsilon"))

    def __hash__(self) -> int:
        # The hash of a fraction inverts its denominator; guarantees are looked up often.
        return hash((self.cost.numerator, self.cost.denominator))

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon promised at this delta."""
        return Bounds(*response_epsilon(self.cost, _NONE, small_delta(delta)))

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta promised at this epsilon."""
        return Profile(ResponseLoss(self.cost)).delta(epsilon)

    def group(self, size: int) -> "Pure":
        """Return the promise to `size` units at once: the cost multiplies."""
        return Pure(self.cost * group_size(size))

    def price(self) -> Cost:
        """Return what a filter charges."""
        return Cost.pure(self.cost)

    @property
    def words(self) -> str:
        """Return the promise in words."""
        return f"ε = {figure(self.cost)}"

    def _repr_html_(self) -> str:
        return card("Pure differential privacy", [("ε", figure(self.cost)), _odds(self.cost)])


@dataclass(frozen=True, slots=True)
class Approximate:
    """Approximate differential privacy: pure at `cost`, except for events of total probability `slack`."""

    cost: Fraction
    slack: Fraction

    __repr__ = built

    def __post_init__(self) -> None:
        object.__setattr__(self, "cost", non_negative(self.cost, "epsilon"))
        object.__setattr__(self, "slack", rational(self.slack, "delta"))
        if not 0 <= self.slack.numerator <= self.slack.denominator:
            raise ParameterError(f"delta must lie between 0 and 1, got {shown(self.slack)}")

    def __hash__(self) -> int:
        cost, slack = self.cost, self.slack
        return hash((cost.numerator, cost.denominator, slack.numerator, slack.denominator))

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon promised at this delta."""
        return Bounds(*response_epsilon(self.cost, self.slack, small_delta(delta)))

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta promised at this epsilon."""
        return Profile(ResponseLoss(self.cost, self.slack)).delta(epsilon)

    def group(self, size: int) -> "Approximate":
        """Return the promise to `size` units at once: k c, and slack (e^{kc} - 1) / (e^c - 1), rounded up."""
        law = ResponseLoss(self.cost, self.slack).group(group_size(size))
        return Approximate(law.cost, law.slack)

    def price(self) -> Cost:
        """Return what a filter charges."""
        return Cost.approximate(self.cost, self.slack)

    @property
    def words(self) -> str:
        """Return the promise in words."""
        return f"ε = {figure(self.cost)} with δ = {figure(self.slack)}"

    def _repr_html_(self) -> str:
        facts = [("ε", figure(self.cost)), ("δ", figure(self.slack)), _odds(self.cost, self.slack)]
        return card("Approximate differential privacy", facts)


@dataclass(frozen=True, slots=True)
class Concentrated:
    """Concentrated privacy: rho-zCDP, except for events of total probability `slack`."""

    rho: Fraction
    slack: Fraction = Fraction(0)

    __repr__ = built

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", non_negative(self.rho, "rho"))
        object.__setattr__(self, "slack", small_delta(self.slack))

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon promised at this delta."""
        left = (small_delta(delta) - self.slack) / (1 - self.slack)
        if self.rho == 0 and left >= 0:
            return Bounds.exactly(Fraction(0), "concentrated")
        if left <= 0:
            return Bounds(Fraction(0), None, "concentrated")
        low, _ = GaussianLoss(2 * self.rho).epsilon(left)
        return Bounds(low, max(low, epsilon_of_rho(self.rho, left)), "concentrated")

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta promised at this epsilon."""
        at = non_negative(epsilon, "epsilon")
        low, _ = GaussianLoss(2 * self.rho).delta(at)
        high = max(low, delta_of_rho(self.rho, at))
        return Bounds(
            self.slack + (1 - self.slack) * low, self.slack + (1 - self.slack) * high, "concentrated"
        )

    def group(self, size: int) -> "Concentrated":
        """Return the promise to `size` units at once: rho grows with the square of the size."""
        if self.slack and group_size(size) > 1:
            raise ParameterError(
                "no group bound is known for concentrated privacy with slack; use its epsilon and delta"
            )
        return Concentrated(self.rho * group_size(size) ** 2)

    def price(self) -> Cost:
        """Return what a filter charges."""
        return Cost.concentrated(self.rho, self.slack)

    @property
    def words(self) -> str:
        """Return the promise in words."""
        return f"ρ = {figure(self.rho)}, concentrated" + (
            f", with δ = {figure(self.slack)}" if self.slack else ""
        )

    def _repr_html_(self) -> str:
        facts = [("ρ", figure(self.rho)), *([("δ", figure(self.slack))] if self.slack else [])]
        return card("Concentrated differential privacy", [*facts, *_at(self, *SHOWN)])


@dataclass(frozen=True, slots=True)
class Profile:
    """The whole privacy-loss law of a mechanism: everything that composition can use."""

    law: Law

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon promised at this delta."""
        low, high = self.law.epsilon(small_delta(delta))
        return Bounds(low, high, "exact")

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta promised at this epsilon."""
        low, high = self.law.delta(non_negative(epsilon, "epsilon"))
        return Bounds(max(Fraction(0), low), min(Fraction(1), high), "exact")

    def group(self, size: int) -> "Profile":
        """Return the promise to `size` units at once; a finite law stands for its epsilon in large groups."""
        members, law = group_size(size), self.law
        if isinstance(law, AtomsLoss) and members > LARGEST_GROUP:
            return Profile(ResponseLoss(law.pure, law.slack).group(members))
        return Profile(law.group(members))

    def price(self) -> Cost:
        """Return what a filter charges: the law's own zCDP, smaller than that of its epsilon alone."""
        return Cost(self.law.pure, self.law.rho, self.law.slack)

    @property
    def words(self) -> str:
        """Return the promise in words."""
        return f"ε = {self.epsilon().words} at δ = 0, and less at larger δ"

    def _repr_html_(self) -> str:
        return card("The whole law of the privacy loss", _at(self, "0", *SHOWN))

    @classmethod
    def of_atoms(cls, *pairs: tuple[tuple[Fraction, Fraction], ...]) -> "Profile":
        """Return the exact profile of a finite mechanism from its neighbouring pairs, each given once."""
        both = [*pairs, *(tuple((q, p) for p, q in pair) for pair in pairs)]
        return cls(AtomsLoss.envelope(both))


Guarantee = Pure | Approximate | Concentrated | Profile


def _odds(cost: Fraction, slack: Fraction = Fraction(0)) -> tuple[str, str]:
    factor = f"{exp(float_up(cost)):.4g}" if cost < 100 else f"exp({figure(cost)})"
    but = f", but for a chance of {figure(slack)}" if slack else ""
    return "meaning", f"no event becomes more than {factor} times likelier{but}"


def _at(guarantee: Concentrated | Profile, *deltas: str) -> list[tuple[str, str]]:
    return [(f"ε at δ = {delta}", guarantee.epsilon(delta).words) for delta in deltas]
