"""How fast a budget may be spent: at most so much for one question, and at most so much in one day.

A pace is kept beside the limit on a whole scope, by a filter of its own: for a question one that is always
fresh, for a day one that is fresh at midnight, universal time.

Theorem.  Let a scope have a limit per day from some moment on.  Whatever the clocks of all writers say, in
whatever order, the requests that were counted under one day were admitted by one filter with that limit.

Proof.  A scope remembers the latest day that it has seen and what was spent on it.  A request that brings a
later day begins that day with nothing spent; one that brings an earlier day is counted on the day that is
remembered.  So the days of a scope never go back, none begins twice, and each request is counted on one.

Hence a clock that is put back gives nothing more, and one that runs ahead gives a day early, once.  A limit
per day counts what is spent while it is in force; one that is changed goes on with what it has counted.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.privacy.filter import Budget, Cost, Filter


@dataclass(frozen=True, slots=True)
class Pace:
    """The most that one question and one day may cost; None where nothing was decided."""

    question: Budget | None = None
    day: Budget | None = None

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """Return the limits that were decided."""
        return tuple(budget for budget in (self.question, self.day) if budget is not None)


@dataclass(frozen=True, slots=True)
class Daily:
    """The latest day that a scope has seen, counted from the year 1, and what was spent on it."""

    day: int = 0
    spent: Cost = Cost.zero

    def on(self, day: int) -> "Daily":
        """Return what counts when a clock says this day: a later one is fresh, an earlier one is ignored."""
        return self if day <= self.day else Daily(day)

    def after(self, day: int, cost: Cost) -> "Daily":
        """Return what counts after one more payment."""
        now = self.on(day)
        return Daily(now.day, now.spent + cost)


def utc() -> datetime:
    """Return what the clock of this machine says."""
    return datetime.now(UTC)


def day_of(moment: datetime) -> int:
    """Return the day of a moment, counted from the year 1."""
    return moment.astimezone(UTC).date().toordinal()


def too_fast(pace: Pace, daily: Daily, day: int, cost: Cost) -> tuple[str, str] | None:
    """Return which limit of a pace refuses a payment, and why; None where it may be made."""
    if pace.question is not None and not (alone := Filter(pace.question)).can_spend(cost):
        return "question", f"{alone.refusal(cost)}; one question may cost no more, ask at a smaller epsilon"
    if pace.day is not None and not (today := Filter(pace.day, daily.on(day).spent)).can_spend(cost):
        return "day", f"{today.refusal(cost)} today; a new day begins at midnight, universal time"
    return None
