"""Filters: how long an analyst may go on when every price is chosen after seeing earlier answers.

A release has a `Cost` under each measure at once.  A filter is fixed before the first release and decides,
from the costs alone, whether one more may be made; whatever the analyst does within it, everything released
together keeps the budget's promise.

Theorem (pure).  If the sum of the epsilons on every path is at most epsilon, the whole is epsilon-private.
Proof.  The privacy loss of the transcript is the sum of the losses, each at most its epsilon.

Theorem (approximate).  Fix epsilon, delta, a share s < delta, and a rho whose conversion to epsilon costs
delta - s.  Admit a release only while the sum of the slacks is at most s and, besides,

    the sum of the rhos is at most rho,   or   the sum of the epsilons is at most epsilon.

Then the whole interaction is (epsilon, delta)-private, however the costs are chosen.
Proof.  A release with slack d is, with probability 1 - d, a release without slack (for (epsilon,
d)-privacy this is the decomposition of Kairouz, Oh and Viswanath, whose good part is epsilon-private,
hence also zCDP).  A union bound over the steps pays at most s for ever leaving the good parts.  On the
good parts let L be the loss of the transcript and R the sum of the rhos along it.  For a fixed order a,
exp((a - 1) L - a (a - 1) R) is a supermartingale that starts at 1, because the next rho is known before
the next answer; so its mean at the end is at most 1.  The transcripts that end with their epsilons
summing to at most epsilon have L <= epsilon and add nothing to E[(1 - exp(epsilon - L))_+]; all others
have R <= rho, where the positive part is at most c_a exp((a - 1) (L - epsilon)), so together they add at
most c_a exp((a - 1) (a rho - epsilon)) = delta - s.

The share s must be fixed in advance: letting the analyst trade slack for rho as answers come in is not
covered, because she could spend slack where the loss came out low and rho where it came out high.

Costs are kept on one grid of rationals and are rounded up when they enter, so sums never grow in size; the
grid holds every decimal of up to 40 places and every fraction with a denominator up to 60 exactly.

References.  Filters: Rogers, Roth, Ullman, Vadhan, NeurIPS 2016.  Concentrated and Renyi filters: Feldman
and Zrnic, NeurIPS 2021; Lecuyer, 2021; approximate zCDP filters: Whitehouse, Ramdas, Rogers, Wu, ICML
2023.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import lcm
from typing import ClassVar, assert_never

from discreet.errors import BudgetError, ParameterError
from discreet.exact.number import Real, non_negative, positive, probability, rational, shown
from discreet.markup import LEAST, MOST, figure
from discreet.privacy.zcdp import largest_rho, pure_rho

GRID = 10**40 * lcm(*range(1, 61))
"""Costs are multiples of 1/GRID."""


def on_grid(x: Fraction) -> Fraction:
    """Return the smallest multiple of 1/GRID at or above x."""
    return x if GRID % x.denominator == 0 else Fraction(-(-x.numerator * GRID // x.denominator), GRID)


def below_grid(x: Fraction) -> Fraction:
    """Return the largest multiple of 1/GRID at or below x."""
    return x if GRID % x.denominator == 0 else Fraction(x.numerator * GRID // x.denominator, GRID)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one release costs under each measure at once.

    With probability at least 1 - delta, the release is rho-zCDP and, unless `epsilon` is None,
    epsilon-private.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)

    zero: ClassVar["Cost"]

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", on_grid(non_negative(self.epsilon, "epsilon")))
        object.__setattr__(self, "rho", on_grid(non_negative(self.rho, "rho")))
        object.__setattr__(self, "delta", on_grid(non_negative(self.delta, "delta")))

    @classmethod
    def pure(cls, epsilon: Real) -> "Cost":
        """Return the cost of a release known only to be epsilon-private."""
        return cls.approximate(epsilon, Fraction(0))

    @classmethod
    def approximate(cls, epsilon: Real, delta: Real) -> "Cost":
        """Return the cost of a release known only to be (epsilon, delta)-private."""
        exact = on_grid(non_negative(epsilon, "epsilon"))
        return cls(exact, pure_rho(exact), non_negative(delta, "delta"))

    @classmethod
    def concentrated(cls, rho: Real, delta: Real = 0) -> "Cost":
        """Return the cost of a release known only to be delta-approximately rho-zCDP."""
        exact = non_negative(rho, "rho")
        return cls(None if exact else Fraction(0), exact, non_negative(delta, "delta"))

    def __add__(self, other: "Cost") -> "Cost":
        both = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        total = object.__new__(Cost)  # a sum of multiples of 1/GRID needs no rounding and no second look
        object.__setattr__(total, "epsilon", both)
        object.__setattr__(total, "rho", self.rho + other.rho)
        object.__setattr__(total, "delta", self.delta + other.delta if other.delta else self.delta)
        return total

    def __str__(self) -> str:
        parts = [] if self.epsilon is None else [f"epsilon {_show(self.epsilon)}"]
        parts += [f"rho {_show(self.rho)}"] + ([f"delta {_show(self.delta)}"] if self.delta else [])
        return ", ".join(parts)


def as_cost(value: Cost) -> Cost:
    """Return a cost as it is, refusing what is none."""
    if not isinstance(value, Cost):
        raise ParameterError(f"a cost is what the price() of a guarantee returns, got {shown(value)}")
    return value


Cost.zero = Cost(Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class PureBudget:
    """A budget of pure privacy: the sum of all epsilons may reach `epsilon`."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))

    def __str__(self) -> str:
        return f"epsilon {_show(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class ApproximateBudget:
    """A budget of (epsilon, delta)-privacy.

    Releases may use up to `slack` of the delta as their own, half of it unless told otherwise; the rest pays
    for the conversion from zCDP.
    """

    epsilon: Fraction
    delta: Fraction
    slack: Fraction = Fraction(-1)

    def __post_init__(self) -> None:
        epsilon, delta = positive(self.epsilon, "epsilon"), probability(self.delta, "delta")
        asked = rational(self.slack, "slack")
        slack = delta / 2 if asked == -1 else non_negative(asked, "slack")
        if slack >= delta:
            raise ParameterError(f"slack must be less than delta = {_show(delta)}, got {_show(slack)}")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "slack", slack)

    def __str__(self) -> str:
        return f"epsilon {_show(self.epsilon)}, delta {_show(self.delta)}"

    @property
    def rho(self) -> Fraction:
        """Return the zCDP that the budget is worth, rounded down."""
        return below_grid(largest_rho(self.epsilon, self.delta - self.slack))


Budget = PureBudget | ApproximateBudget


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a filter still admits; `epsilon` is the largest single pure release that fits."""

    epsilon: Fraction
    rho: Fraction
    delta: Fraction

    def __str__(self) -> str:
        text = f"epsilon {_show(self.epsilon)}"
        return text + (
            f" (rho {_show(self.rho)}, delta {_show(self.delta)})" if self.rho or self.delta else ""
        )


@dataclass(frozen=True, slots=True)
class Filter:
    """A budget and what has been spent of it: valid however adaptively the costs are chosen."""

    budget: Budget
    spent: Cost = Cost.zero

    def __post_init__(self) -> None:
        as_cost(self.spent)
        if not isinstance(self.budget, PureBudget | ApproximateBudget):
            raise ParameterError(
                f"a filter needs a PureBudget or an ApproximateBudget, got {shown(self.budget)}"
            )

    def can_spend(self, cost: Cost) -> bool:
        """Return whether a release of this cost keeps the budget's promise."""
        return _admits(self.budget, self.spent + as_cost(cost))

    def spend(self, cost: Cost) -> "Filter":
        """Return the filter after a release of this cost, or raise BudgetError and change nothing."""
        after = self.spent + as_cost(cost)
        if not _admits(self.budget, after):
            raise BudgetError(self.refusal(cost))
        return Filter(self.budget, after)

    @property
    def remaining(self) -> Remaining:
        """Return what may still be spent."""
        match self.budget:
            case PureBudget(epsilon):
                return Remaining(_left(epsilon, self.spent.epsilon), Fraction(0), Fraction(0))
            case ApproximateBudget(epsilon, _, slack) as budget:
                if not _admits(self.budget, self.spent):
                    return Remaining(Fraction(0), Fraction(0), Fraction(0))
                left = _left(budget.rho, self.spent.rho)
                single = max(_left(epsilon, self.spent.epsilon), pure_within(left))
                return Remaining(single, left, _left(slack, self.spent.delta))
            case never:
                assert_never(never)

    def copies(self, cost: Cost) -> int | None:
        """Return how many more releases of this same cost fit, or None when it costs nothing."""
        fits = partial(_fits, spent=self.spent, cost=cost)
        match self.budget:
            case PureBudget(epsilon):
                return 0 if cost.delta else fits("epsilon", epsilon)
            case ApproximateBudget(epsilon, _, slack) as budget:
                routes = [fits("epsilon", epsilon), fits("rho", budget.rho)]
                found = [
                    fits("delta", slack),
                    None if None in routes else max(r for r in routes if r is not None),
                ]
                return min((count for count in found if count is not None), default=None)
            case never:
                assert_never(never)

    def refusal(self, cost: Cost) -> str:
        """Return in words why a release of this cost is refused."""
        if isinstance(self.budget, PureBudget) and (cost.epsilon is None or cost.delta):
            return (
                f"the budget is pure epsilon, and a release costing {cost} has no pure guarantee; "
                "use a pure mechanism, or give the budget a delta"
            )
        return f"the release costs {cost}, and only {self.remaining} of the budget remains"


def _admits(budget: Budget, total: Cost) -> bool:
    match budget:
        case PureBudget(epsilon):
            return total.epsilon is not None and total.epsilon <= epsilon and total.delta == 0
        case ApproximateBudget(epsilon, _, slack):
            within = total.rho <= budget.rho or (total.epsilon is not None and total.epsilon <= epsilon)
            return total.delta <= slack and within
        case never:
            assert_never(never)


def _fits(measure: str, limit: Fraction, *, spent: Cost, cost: Cost) -> int | None:
    """Return how many times a cost fits under one measure, or None when it costs nothing there."""
    used, each = getattr(spent, measure), getattr(cost, measure)
    if used is None or each is None or used > limit:
        return 0
    return None if each == 0 else int((limit - used) / each)


def _left(limit: Fraction, spent: Fraction | None) -> Fraction:
    return Fraction(0) if spent is None else max(Fraction(0), below_grid(limit - spent))


def pure_within(rho: Fraction) -> Fraction:
    """Return the largest epsilon, to 80 bits, whose pure cost is at most rho."""
    low, high = Fraction(0), Fraction(1)
    while Cost.pure(high).rho <= rho:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        if Cost.pure(middle).rho <= rho:
            low = middle
        else:
            high = middle
    return low


def _show(x: Fraction) -> str:
    return f"{float(x):.6g}" if not x or LEAST <= abs(x) <= MOST else figure(x)
