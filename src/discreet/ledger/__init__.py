"""What has been spent: durable, sealed, and checked before every answer."""

from discreet.ledger.anchor import Anchor, FileAnchor
from discreet.ledger.book import Ledger
from discreet.ledger.check import Finding, Report
from discreet.ledger.entry import EVERYBODY, Entry, Granted, Receipt, Request, Scope, Stored, Streaming
from discreet.ledger.migrating import migrate_ledger
from discreet.ledger.opening import adopt_ledger, open_ledger, verify_ledger
from discreet.ledger.pace import Pace
from discreet.ledger.streaming import Taken
from discreet.ledger.view import BudgetView, LimitView

__all__ = [
    "EVERYBODY",
    "Anchor",
    "BudgetView",
    "Entry",
    "FileAnchor",
    "Finding",
    "Granted",
    "Ledger",
    "LimitView",
    "Pace",
    "Receipt",
    "Report",
    "Request",
    "Scope",
    "Stored",
    "Streaming",
    "Taken",
    "adopt_ledger",
    "migrate_ledger",
    "open_ledger",
    "verify_ledger",
]
