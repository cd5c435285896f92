"""A picture of a budget: how much of each limit was used up, entry after entry."""

from collections.abc import Iterable
from typing import Any

from discreet.ledger.account import Account
from discreet.ledger.check import replay
from discreet.ledger.entry import Entry
from discreet.ledger.view import in_order, view_limit
from discreet.show import steps

POINTS = 1000
"""A longer history is drawn at about this many of its entries."""


def spending_picture(history: Iterable[Entry], *, title: str = "") -> Any:
    """Return a step chart of the share of every limit that was used after each entry of a whole history."""
    entries = tuple(history)
    every = max(1, len(entries) // POINTS)
    rows = [
        row
        for entry, account in replay(entries)
        if entry.number % every == 0 or entry.number == len(entries)
        for row in _shares(entry, account)
    ]
    return steps(
        rows,
        x="entry",
        y="used",
        series="limit",
        title=title,
        subtitle="share of each limit that is used up; a limit that is raised makes a step down",
        x_title="entry of the ledger",
        y_title="used, %",
        y_domain=(0, 100),
    )


def _shares(entry: Entry, account: Account) -> Iterable[dict[str, object]]:
    for scope in sorted(account.limits, key=in_order):
        used = view_limit(scope, account.filter(scope)).used
        yield {"entry": entry.number, "limit": str(scope), "used": 100 * used}
