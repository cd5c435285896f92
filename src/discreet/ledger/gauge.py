"""What a monitor sees of a ledger: counters, gauges and log lines, without data or names of people.

Log lines are JSON objects on the logger `discreet.ledger`, one per event, with the dataset, the entry's
number and codes out of a fixed vocabulary; never a question, an answer, an analyst or a cost.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields

from discreet.errors import BudgetError, BusyError, ConflictError
from discreet.ledger.account import Account
from discreet.ledger.entry import EVERYBODY
from discreet.ledger.view import view_limit

_logger = logging.getLogger("discreet.ledger")
_logger.addHandler(logging.NullHandler())


class Counters:
    """How often things happened since a ledger was opened."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def count(self, what: str) -> None:
        """Count one more of something."""
        with self._lock:
            self._counts[what] += 1

    def refused(self, reason: str, dataset: str) -> None:
        """Count a refusal, by its reason."""
        self.count(f"refused_{reason}")
        log("refused", dataset, reason=reason)

    def read(self) -> dict[str, int]:
        """Return all counts so far."""
        with self._lock:
            return dict(self._counts)


@dataclass(frozen=True, slots=True)
class Gauges:
    """How a dataset stands: its entries, unanswered requests, streams, and how far its anchor is behind."""

    entries: int
    running: int
    streams: int
    analysts: int
    anchor_lag: int
    used: float


def measured(account: Account, entries: int, anchored: int) -> Gauges:
    """Return how an account stands after so many entries, of which so many are anchored."""
    return Gauges(
        entries=entries,
        running=len(account.running),
        streams=len(account.streams),
        analysts=len({analyst for _, analyst in account.spent}),
        anchor_lag=entries - anchored,
        used=float(view_limit(EVERYBODY, account.filter(EVERYBODY)).used),
    )


def exposition(datasets: Mapping[str, Gauges], counts: Mapping[str, int]) -> str:
    """Return gauges and counters in the text format that Prometheus reads."""
    lines = []
    for field in fields(Gauges) if datasets else ():
        metric = f"discreet_ledger_{field.name}"
        lines.append(f"# TYPE {metric} gauge")
        lines += [
            f"{metric}{{dataset={_quoted(name)}}} {getattr(gauges, field.name)}"
            for name, gauges in datasets.items()
        ]
    for what, number in sorted(counts.items()):
        metric = f"discreet_ledger_{what}_total"
        lines += [f"# TYPE {metric} counter", f"{metric} {number}"]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def log(what: str, dataset: str, **facts: int | str) -> None:
    """Write one structured line."""
    if _logger.isEnabledFor(logging.INFO):
        _logger.info(json.dumps({"event": what, "dataset": dataset, **facts}))


def reason(refusal: Exception) -> str:
    """Return the word under which a refusal is counted."""
    match refusal:
        case BusyError():
            return "busy"
        case ConflictError():
            return "conflict"
    return "budget" if isinstance(refusal, BudgetError) else "ledger"
