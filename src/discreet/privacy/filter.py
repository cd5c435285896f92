"""Filters: how long an analyst may go on when every price is chosen after seeing earlier answers.

A release has a `Cost` under each measure at once.  A filter is fixed before the first release and decides,
from the costs alone, whether one more may be made; whatever the analyst does within it, everything released
together keeps the budget's promise.

Theorem (pure).  If the sum of the epsilons on every path is at most epsilon, the whole is epsilon-private.
Proof.  The privacy loss of the transcript is the sum of the losses, each at most its epsilon.

Theorem (approximate).  Fix epsilon, delta, a share s < delta, and routes j = 1, 2, ..., each an order a_j >
1 with a part d_j of delta, such that s and all d_j add up to at most delta.  Let c_a = (1 - 1/a)**a / (a -
1) and

    b_j = epsilon + ln(d_j / c_(a_j)) / (a_j - 1).

Admit a release only while the sum of the slacks is at most s and, besides, the sum of the epsilons is at most
epsilon, or for some j the sum of the Renyi costs of order a_j is at most b_j.  Then the whole interaction is
(epsilon, delta)-private, however the costs are chosen.
Proof.  A release with slack d is, with probability 1 - d, a release without slack (for (epsilon,
d)-privacy this is the decomposition of Kairouz, Oh and Viswanath, whose good part is epsilon-private).  A
union bound over the steps pays at most s for ever leaving the good parts.  On the good parts let L be the
loss of the transcript and R_j the sum of the Renyi costs of order a_j along it.  W_j = exp((a_j - 1) (L -
R_j)) is a non-negative supermartingale that starts at 1, because the next cost is known before the next
answer; so its mean at the end is at most 1.  Assign each transcript to one of the conditions that its last
release met.  Those with epsilons summing to at most epsilon have L <= epsilon and add nothing to
E[(1 - exp(epsilon - L))_+].  For those of route j the positive part is at most c_a exp((a - 1) (L - epsilon))
<= c_a exp((a - 1) (b_j - epsilon)) W_j = d_j W_j, so together they add at most d_j.

The pure sum costs no delta, and a session may change from one condition to another on its way.  A release
that answers in many steps, between which others are made, such as a stream, is paid for once, before its
first step: W_j is then multiplied by the largest mean of exp((a_j - 1) L) that its remaining steps can
have, which is at least 1, at most exp((a_j - 1) r) in the beginning, and makes a supermartingale again.

Not covered: adding up whole laws of the privacy loss and stopping when their exact delta reaches the budget.
That is a theorem for plans fixed in advance; an analyst who chooses by her answers breaks it (the tests do).

Two rules.  `Rule.CONCENTRATED` has one route, the order at which the budget is worth most zCDP, and adds up
rhos, whose Renyi cost of order a is a rho.  `Rule.ORDERS` gives most of delta to the best rung of the
ladder of `discreet.privacy.ladder`, and little parts to rungs at half, twice, four and eight times that
order, where few large and mostly pure releases fit better.  A ledger keeps the rule that it began with.

The share s must be fixed in advance: letting the analyst trade slack for rho as answers come in is not
covered, because she could spend slack where the loss came out low and rho where it came out high.  What is
not spent of it is lost, so it is a tenth of delta unless told otherwise, and a half under the older rule.

Costs are kept on one grid of rationals and are rounded up when they enter, so sums never grow in size; the
grid holds every decimal of up to 40 places and every fraction with a denominator up to 60 exactly.

References.  Filters: Rogers, Roth, Ullman, Vadhan, NeurIPS 2016.  Concentrated and Renyi filters: Feldman
and Zrnic, NeurIPS 2021; Lecuyer, 2021; approximate zCDP filters: Whitehouse, Ramdas, Rogers, Wu, ICML
2023.  Interleaved interactive mechanisms: Lyu, NeurIPS 2022; Haney et al., TCC 2023.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, assert_never

from discreet.errors import BudgetError, ParameterError
from discreet.exact.number import Real, non_negative, positive, probability, rational, shown, whole, word
from discreet.markup import LEAST, MOST, figure
from discreet.privacy.grid import below_grid, on_grid, pure_within
from discreet.privacy.ladder import RUNGS, Curve, curve_of, most_at
from discreet.privacy.ladder import pure_within as pure_within_rung
from discreet.privacy.zcdp import largest_rho, pure_rho


@dataclass(frozen=True, slots=True)
class Cost:
    """What one release costs under each measure at once.

    With probability at least 1 - delta, the release is rho-zCDP and, unless `epsilon` is None,
    epsilon-private.  The Renyi costs are those of such a release, unless a `curve` says what several of them
    cost together.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)
    curve: Curve | None = None

    zero: ClassVar["Cost"]

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", on_grid(non_negative(self.epsilon, "epsilon")))
        object.__setattr__(self, "rho", on_grid(non_negative(self.rho, "rho")))
        object.__setattr__(self, "delta", on_grid(non_negative(self.delta, "delta")))
        if self.curve is None:
            return
        if not isinstance(self.curve, Curve):
            raise ParameterError(f"the curve of a cost is a Renyi curve or None, not {shown(self.curve)}")
        if not self.curve.steps and (self.epsilon is None or self.rho == 0):
            # Without an epsilon rho says it all: one value, one form.
            object.__setattr__(self, "curve", None)

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

    @property
    def renyi(self) -> Curve:
        """Return the Renyi cost of every order of the ladder."""
        return curve_of(self.epsilon, self.rho) if self.curve is None else self.curve

    @property
    def plain(self) -> "Cost":
        """Return the cost with no better Renyi costs than zCDP gives, for those who never add them up."""
        bare = self.epsilon is None or not self.rho
        return _made(self.epsilon, self.rho, self.delta, None if bare else Curve(self.rho))

    @property
    def nothing(self) -> bool:
        """Whether the release gives nothing away."""
        return self.epsilon == 0 and self.rho == 0 and self.delta == 0

    def __add__(self, other: "Cost") -> "Cost":
        if (not self.rho and self.nothing) or (not other.rho and other.nothing):
            return self if other.nothing else other
        both = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        rho = self.rho + other.rho
        delta = self.delta + other.delta if other.delta else self.delta
        return _made(both, rho, delta, _joined(self, other, both, rho))

    def times(self, number: int) -> "Cost":
        """Return the cost of so many such releases."""
        count = whole(positive(number, "number"), "number")
        if count == 1:
            return self
        epsilon = None if self.epsilon is None else count * self.epsilon
        return Cost(epsilon, count * self.rho, count * self.delta, self.renyi.times(count))

    def __str__(self) -> str:
        parts = [] if self.epsilon is None else [f"epsilon {_show(self.epsilon)}"]
        parts += [f"rho {_show(self.rho)}"] + ([f"delta {_show(self.delta)}"] if self.delta else [])
        return ", ".join(parts)


def _made(epsilon: Fraction | None, rho: Fraction, delta: Fraction, curve: Curve | None) -> Cost:
    """Return a cost from parts that are multiples of 1/GRID: they need no rounding and no second look."""
    cost = object.__new__(Cost)
    object.__setattr__(cost, "epsilon", epsilon)
    object.__setattr__(cost, "rho", rho)
    object.__setattr__(cost, "delta", delta)
    object.__setattr__(cost, "curve", curve)
    return cost


def _joined(one: Cost, other: Cost, epsilon: Fraction | None, rho: Fraction) -> Curve | None:
    """Return the Renyi costs of two costs together, in the one form that a value has."""
    first, second = one.renyi, other.renyi
    if not first.steps and not second.steps:
        if epsilon is None or not rho:
            return None
        if first.plain is one.rho and second.plain is other.rho:
            return Curve(rho)
    both = first + second
    return both if both.steps or (epsilon is not None and rho) else None


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

    def share(self, cost: Cost) -> Fraction:
        """Return the part of a fresh budget that a pure cost takes up, and more than all for any other."""
        paid = as_cost(cost)
        return Fraction(2) if paid.epsilon is None or paid.delta else paid.epsilon / self.epsilon


class Rule(StrEnum):
    """How a budget with delta is kept, under the name by which ledgers call it, which never changes."""

    CONCENTRATED = "approximate-zcdp"
    ORDERS = "approximate-renyi"


MAIN = Fraction(97, 100)
"""What the best order gets of the delta that is left to the orders."""

ASIDE = (-4, 4, 8, 12)
"""The other rungs, counted from the best: half, twice, four and eight times its order."""


@dataclass(frozen=True, slots=True)
class FilterRoute:
    """One sum that may reach `most`: of Renyi costs at a rung of the ladder, or of rhos without one."""

    rung: int | None
    most: Fraction

    def used(self, cost: Cost) -> Fraction:
        """Return what a cost counts for on this route."""
        return cost.rho if self.rung is None else cost.renyi.at(self.rung)

    @property
    def order(self) -> Fraction:
        """Return what one rho counts for on this route."""
        return Fraction(1) if self.rung is None else 1 + RUNGS[self.rung]

    def pure(self, left: Fraction, least: Fraction) -> Fraction:
        """Return the largest epsilon of a pure release that counts for no more than `left`, or `least`."""
        if self.rung is None:
            return max(least, pure_within(left))
        # An epsilon counts for more than epsilon - 1 / t.
        t = RUNGS[self.rung]
        return least if left + 1 / t <= least else max(least, pure_within_rung(left, t))


@lru_cache(maxsize=4096)
def routes(epsilon: Fraction, delta: Fraction, rule: Rule) -> tuple[FilterRoute, ...]:
    """Return the routes of a budget whose releases leave it so much of its delta, the best one first."""
    match rule:
        case Rule.CONCENTRATED:
            return (FilterRoute(None, below_grid(largest_rho(epsilon, delta))),)
        case Rule.ORDERS:
            every = [FilterRoute(rung, most_at(epsilon, MAIN * delta, t)) for rung, t in enumerate(RUNGS)]
            best = max(range(len(RUNGS)), key=lambda rung: every[rung].most / every[rung].order)
            main = every[best]
            if best in (0, len(RUNGS) - 1):
                # Very small and very large budgets have their best order beyond the ends of the ladder.
                main = FilterRoute(None, below_grid(largest_rho(epsilon, MAIN * delta)))
            part = (1 - MAIN) * delta / len(ASIDE)
            rungs = [best + far for far in ASIDE if 0 <= best + far < len(RUNGS)]
            aside = [FilterRoute(rung, most_at(epsilon, part, RUNGS[rung])) for rung in rungs]
            return main, *(route for route in aside if route.most > 0)
        case never:
            assert_never(never)


@dataclass(frozen=True, slots=True)
class ApproximateBudget:
    """A budget of (epsilon, delta)-privacy.

    Releases may use up to `slack` of the delta as their own, a tenth of it unless told otherwise; the rest
    pays for the routes.
    """

    epsilon: Fraction
    delta: Fraction
    slack: Fraction = Fraction(-1)
    rule: Rule = Rule.ORDERS

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", Rule(word(self.rule, "rule", tuple(Rule))))
        epsilon, delta = positive(self.epsilon, "epsilon"), probability(self.delta, "delta")
        asked = rational(self.slack, "slack")
        usual = delta / (2 if self.rule is Rule.CONCENTRATED else 10)
        slack = usual if asked == -1 else non_negative(asked, "slack")
        if slack >= delta:
            raise ParameterError(f"slack must be less than delta = {_show(delta)}, got {_show(slack)}")
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "slack", slack)

    def __str__(self) -> str:
        return f"epsilon {_show(self.epsilon)}, delta {_show(self.delta)}"

    @property
    def routes(self) -> tuple[FilterRoute, ...]:
        """Return the sums of which one has to stay within its limit, unless that of the epsilons does."""
        return routes(self.epsilon, self.delta - self.slack, self.rule)

    @property
    def rho(self) -> Fraction:
        """Return the zCDP that the budget is worth, rounded down."""
        return self.worth(self.epsilon)

    def worth(self, epsilon: Fraction) -> Fraction:
        """Return the zCDP that a budget of this epsilon and the same delta would be worth, rounded down."""
        found = routes(positive(epsilon, "epsilon"), self.delta - self.slack, self.rule)
        return below_grid(max(route.most / route.order for route in found))

    def share(self, cost: Cost) -> Fraction:
        """Return the part of a fresh budget that a cost takes up, on the route on which it takes least."""
        paid = as_cost(cost)
        parts = [_part(route.used(paid), route.most) for route in self.routes]
        if paid.epsilon is not None:
            parts.append(_part(paid.epsilon, self.epsilon))
        return max(min(parts), _part(paid.delta, self.slack))


Budget = PureBudget | ApproximateBudget


def adds_orders(budget: Budget) -> bool:
    """Return whether a budget adds up Renyi costs, besides epsilons, rhos and slacks."""
    return isinstance(budget, ApproximateBudget) and budget.rule is Rule.ORDERS


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
        return admits(self.budget, self.spent + as_cost(cost))

    def spend(self, cost: Cost) -> "Filter":
        """Return the filter after a release of this cost, or raise BudgetError and change nothing."""
        after = self.spent + as_cost(cost)
        if not admits(self.budget, after):
            raise BudgetError(self.refusal(cost))
        return Filter(self.budget, after)

    @property
    def remaining(self) -> Remaining:
        """Return what may still be spent."""
        match self.budget:
            case PureBudget(epsilon):
                return Remaining(_left(epsilon, self.spent.epsilon), Fraction(0), Fraction(0))
            case ApproximateBudget(epsilon, _, slack) as budget:
                if not admits(self.budget, self.spent):
                    return Remaining(Fraction(0), Fraction(0), Fraction(0))
                left = [
                    (route, max(Fraction(0), route.most - route.used(self.spent))) for route in budget.routes
                ]
                rho = max(below_grid(rest / route.order) for route, rest in left)
                single = _left(epsilon, self.spent.epsilon)
                for route, rest in left:
                    single = route.pure(rest, single)
                return Remaining(single, rho, _left(slack, self.spent.delta))
            case never:
                assert_never(never)

    def copies(self, cost: Cost) -> int | None:
        """Return how many more releases of this same cost fit, or None when it costs nothing."""
        match self.budget:
            case PureBudget(epsilon):
                return 0 if cost.delta else _fits(epsilon, self.spent.epsilon, cost.epsilon)
            case ApproximateBudget(epsilon, _, slack) as budget:
                ways = [_fits(epsilon, self.spent.epsilon, cost.epsilon)]
                ways += [
                    _fits(route.most, route.used(self.spent), route.used(cost)) for route in budget.routes
                ]
                found = [
                    _fits(slack, self.spent.delta, cost.delta),
                    None if None in ways else max(way for way in ways if way is not None),
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


def admits(budget: Budget, total: Cost) -> bool:
    """Return whether releases that cost so much together keep the budget's promise."""
    match budget:
        case PureBudget(epsilon):
            return total.epsilon is not None and total.epsilon <= epsilon and total.delta == 0
        case ApproximateBudget(epsilon, _, slack):
            if total.delta > slack:
                return False
            pure = total.epsilon is not None and total.epsilon <= epsilon
            return pure or any(route.used(total) <= route.most for route in budget.routes)
        case never:
            assert_never(never)


def _fits(limit: Fraction, used: Fraction | None, each: Fraction | None) -> int | None:
    """Return how many times a cost fits under one measure, or None when it costs nothing there."""
    if used is None or each is None or used > limit:
        return 0
    return None if each == 0 else int((limit - used) / each)


def _part(spent: Fraction, limit: Fraction) -> Fraction:
    return Fraction(0) if spent == 0 else spent / limit if limit else Fraction(2)


def _left(limit: Fraction, spent: Fraction | None) -> Fraction:
    return Fraction(0) if spent is None else max(Fraction(0), below_grid(limit - spent))


def _show(x: Fraction) -> str:
    return f"{float(x):.6g}" if not x or LEAST <= abs(x) <= MOST else figure(x)
