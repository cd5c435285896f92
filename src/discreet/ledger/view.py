"""What people see of a budget: each limit, what is spent and left, and what all could learn together."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.ledger.account import Account
from discreet.ledger.codec import write_budget, write_cost
from discreet.ledger.entry import EVERYBODY, Scope
from discreet.ledger.pace import Daily
from discreet.markup import aligned, table
from discreet.privacy.filter import Budget, Cost, Filter, PureBudget, Remaining

Per = Literal["question", "day"]
HEADS = ("limit on", "budget", "spent", "left", "used")


@dataclass(frozen=True, slots=True)
class LimitView:
    """One limit: its budget, what those it covers have spent together, and what they may still spend.

    Of a limit per day that is what was spent today; a limit per question has nothing spent.
    """

    scope: Scope
    budget: Budget
    spent: Cost
    per: Per | None = None

    @property
    def remaining(self) -> Remaining:
        """Return what those it covers may still spend."""
        return Filter(self.budget, self.spent).remaining

    @property
    def used(self) -> Fraction:
        """Return the share of the limit that is used up, under the measure in which most of it remains."""
        if isinstance(self.budget, PureBudget):
            return _share(self.spent.epsilon, self.budget.epsilon)
        return min(Fraction(1), self.budget.share(self.spent))

    @property
    def paid(self) -> str:
        """Return what was spent in words, under the measures in which the limit counts."""
        if isinstance(self.budget, PureBudget) and self.spent.epsilon is not None:
            return f"epsilon {float(self.spent.epsilon):.6g}"
        return str(self.spent)

    @property
    def row(self) -> tuple[str, str, str, str]:
        """Return the limit in words: on whom, how much, spent and left."""
        whom = str(self.scope) if self.per is None else f"{self.scope}, per {self.per}"
        return whom, str(self.budget), self.paid, str(self.remaining)

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the limit in words, with the share that is used."""
        return *self.row, f"{float(self.used):.1%}"

    def __repr__(self) -> str:
        return aligned([HEADS, self.cells])

    def _repr_html_(self) -> str:
        return _html([self], f"The limit on {self.scope}")


@dataclass(frozen=True, slots=True)
class Collusion:
    """What all analysts learn together if they pool their answers: so far, and at the very most."""

    spent: Cost
    worst: Budget
    sum_of_limits: Fraction | None
    """The sum of the analysts' own epsilons, or None if some analyst has no limit of their own."""


@dataclass(frozen=True, slots=True)
class BudgetView:
    """The budget of one dataset after its newest entry."""

    dataset: str
    entries: int
    closed: bool
    analysts: tuple[str, ...] | None
    running: int
    limits: tuple[LimitView, ...]
    members: tuple[tuple[str, str, Cost], ...]
    """What each project and analyst has spent."""
    collusion: Collusion
    paces: tuple[LimitView, ...] = ()
    """The limits on one question and on one day, today."""

    @property
    def _title(self) -> str:
        state = "closed, " if self.closed else ""
        entries = "1 entry" if self.entries == 1 else f"{self.entries} entries"
        return f"Dataset {self.dataset} ({state}{entries})"

    def __repr__(self) -> str:
        return f"{self._title}\n{aligned([HEADS, *(limit.cells for limit in self.every)])}"

    def _repr_html_(self) -> str:
        return _html(self.every, self._title)

    @property
    def every(self) -> tuple[LimitView, ...]:
        """Return all limits, those on questions and days last."""
        return *self.limits, *self.paces

    def to_json(self) -> dict[str, object]:
        """Return the view as plain values; rationals are text, in lowest terms."""
        return {
            "dataset": self.dataset,
            "entries": self.entries,
            "closed": self.closed,
            "analysts": None if self.analysts is None else list(self.analysts),
            "running": self.running,
            "limits": [_limit_json(limit) for limit in self.limits],
            "paces": [_limit_json(limit) | {"per": limit.per} for limit in self.paces],
            "spent": [{"project": p, "analyst": a, "cost": write_cost(c)} for p, a, c in self.members],
            "collusion": {
                "spent": write_cost(self.collusion.spent),
                "worst": write_budget(self.collusion.worst),
                "sum_of_limits": None
                if self.collusion.sum_of_limits is None
                else str(self.collusion.sum_of_limits),
            },
        }


def view(account: Account, entries: int, day: int = 0) -> BudgetView:
    """Return what people see of an account on a day."""
    limits = tuple(view_limit(scope, account.filter(scope)) for scope in sorted(account.limits, key=in_order))
    return BudgetView(
        dataset=account.dataset,
        entries=entries,
        closed=account.closed,
        analysts=None if account.analysts is None else tuple(sorted(account.analysts)),
        running=len(account.running),
        limits=limits,
        members=tuple((p, a, cost) for (p, a), cost in sorted(account.spent.items())),
        collusion=_collusion(account),
        paces=_paces(account, day),
    )


def _paces(account: Account, day: int) -> tuple[LimitView, ...]:
    found = []
    for scope in sorted(account.paces, key=in_order):
        pace, today = account.paces[scope], account.daily.get(scope, Daily()).on(day)
        if pace.question is not None:
            found.append(view_limit(scope, Filter(pace.question), "question"))
        if pace.day is not None:
            found.append(view_limit(scope, Filter(pace.day, today.spent), "day"))
    return tuple(found)


def in_order(scope: Scope) -> tuple[int, str, str]:
    """Return the order in which limits are shown: the widest first."""
    narrow = (scope.project is not None) + (scope.analyst is not None)
    return narrow, scope.project or "", scope.analyst or ""


def view_limit(scope: Scope, filter_: Filter, per: Per | None = None) -> LimitView:
    """Return what people see of one limit."""
    return LimitView(scope, filter_.budget, filter_.spent, per)


def _collusion(account: Account) -> Collusion:
    whole = account.filter(EVERYBODY)
    own = {s.analyst: b for s, b in account.limits.items() if s.project is None and s.analyst is not None}
    known = None if account.analysts is None else account.analysts | {analyst for _, analyst in account.spent}
    total = sum((b.epsilon for b in own.values()), Fraction(0)) if known and known <= set(own) else None
    worst = whole.budget
    if total is not None and isinstance(worst, PureBudget) and 0 < total < worst.epsilon:
        worst = PureBudget(total) if all(isinstance(b, PureBudget) for b in own.values()) else worst
    return Collusion(whole.spent, worst, total)


def _share(spent: Fraction | None, total: Fraction) -> Fraction:
    if spent is None:
        return Fraction(1)
    return min(Fraction(1), spent / total) if total else Fraction(int(spent > 0))


def _html(limits: Sequence[LimitView], caption: str) -> str:
    return table(HEADS, [limit.cells for limit in limits], caption=caption)


def _limit_json(limit: LimitView) -> dict[str, object]:
    remaining = limit.remaining
    return {
        "project": limit.scope.project,
        "analyst": limit.scope.analyst,
        "budget": write_budget(limit.budget),
        "spent": write_cost(limit.spent),
        "remaining": {
            "epsilon": str(remaining.epsilon),
            "rho": str(remaining.rho),
            "delta": str(remaining.delta),
        },
        "used": float(limit.used),
    }
