"""What one analyst asked, newest first in the looking and oldest first in the telling, a page at a time.

Entries are not kept by analyst, so their own are looked for backwards from an entry.  The database compares
the bodies, and only what may be theirs leaves it; of that, every seal is checked.  One page looks at so many
entries and no more, however long the history is, and says where to go on.
"""

from dataclasses import dataclass

from discreet.ledger.check import Seals
from discreet.ledger.codec import canonical
from discreet.ledger.entry import Answered, Entry, Failed, Reserved
from discreet.ledger.shelf import Shelf

SEARCHED = 100_000
"""So many entries are looked at for one page."""


@dataclass(frozen=True, slots=True)
class Page:
    """Somebody's questions, each with what became of it, in the order of their numbers.

    `questions` counts them.  Those before the entry `before` were not looked for; None means that there are
    none.
    """

    entries: tuple[Entry, ...]
    questions: int
    before: int | None


def page(seals: Seals, shelf: Shelf, dataset: str, analyst: str, end: int, last: int) -> Page:
    """Return the newest questions of an analyst that were paid by the entry `end`."""
    first = max(1, end - SEARCHED + 1)
    rows = shelf.paid(dataset, first, end, _begun(analyst), last)
    paid = [entry for entry in map(seals.open, rows) if _asked(entry, analyst)]
    outcomes = shelf.outcomes(dataset, [entry.number for entry in paid]) if paid else []
    ended = [entry for entry in map(seals.open, outcomes) if isinstance(entry.event, Answered | Failed)]
    reached = rows[-1].number if len(rows) == last else first
    entries = tuple(sorted((*paid, *ended), key=lambda entry: entry.number))
    return Page(entries, len(paid), reached if reached > 1 else None)


def _asked(entry: Entry, analyst: str) -> bool:
    return isinstance(entry.event, Reserved) and entry.event.request.analyst == analyst


def _begun(analyst: str) -> str:
    """Return how the event of an analyst's payment begins, in the one text that stands for it."""
    return f'"event":{{"analyst":{canonical(analyst)},'
