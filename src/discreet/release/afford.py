"""What a price means for a budget as it stands: how many such questions fit, and which route they close."""

from collections.abc import Sequence
from dataclasses import replace

from discreet.ledger import BudgetView, LimitView
from discreet.privacy.filter import Cost, Filter
from discreet.query.price.expected import Quote


def compared(priced: Quote, budget: BudgetView, project: str, analyst: str) -> Quote:
    """Return a quote with what it would mean for the budget as it stands."""
    cost, spent = priced.cost, budget.limits[0].spent
    closes = cost.epsilon is None and spent.epsilon is not None
    copies, today = (
        _fitting(_applying(limits, project, analyst), cost) for limits in (budget.limits, budget.paces)
    )
    return replace(priced, copies=copies, today=today, closes=closes)


def require_room(cost: Cost, budget: BudgetView, project: str, analyst: str) -> None:
    """Raise BudgetError unless all limits that apply admit this cost; nothing is reserved by that."""
    for limit in _applying(budget.limits, project, analyst):
        Filter(limit.budget, limit.spent).spend(cost)


def _applying(limits: Sequence[LimitView], project: str, analyst: str) -> list[LimitView]:
    return [limit for limit in limits if limit.scope.covers(project, analyst)]


def _fitting(limits: Sequence[LimitView], cost: Cost) -> int | None:
    """Return how many such questions the tightest of the limits would admit."""
    found = [(limit.per, Filter(limit.budget, limit.spent).copies(cost)) for limit in limits]
    # A limit per question admits as many as are asked, or none.
    counts = [number for per, number in found if number is not None and (per != "question" or not number)]
    return min(counts, default=None)
