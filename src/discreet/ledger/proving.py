"""Holding a receipt against a ledger, as somebody who has neither its key nor its anchor.

Whoever got an answer got a signed receipt of it.  With the public name that the manifest pins, and a look at
the tables, anybody can tell whether the ledger still holds the entry that it once confirmed.
"""

from dataclasses import dataclass
from pathlib import Path

from discreet.ledger.entry import Receipt
from discreet.ledger.opening import connect, known
from discreet.ledger.signing import Name, check_signature


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a ledger holds what a receipt proves it to have held, and in which words to say so."""

    holds: bool
    words: str


def hold_against(location: str | Path, name: Name, receipt: Receipt) -> Verdict:
    """Return what a receipt proves about a ledger; raise LedgerError if its signature proves nothing."""
    check_signature([name.public], receipt)
    store = connect(location, create=False)
    try:
        identity = known(store)
        where = f"entry {receipt.number} of dataset {receipt.dataset}"
        if receipt.ledger != name.ledger:
            return Verdict(False, "the receipt belongs to another ledger than the manifest names")
        if identity.ledger != receipt.ledger:
            return Verdict(False, f"the ledger was exchanged: it is not the one that confirmed {where}")
        row = store.shelf.row(receipt.dataset, receipt.number)
        if row is None:
            last = store.head(receipt.dataset).number
            return Verdict(
                False, f"the ledger was rolled back: it once confirmed {where}, and now ends at entry {last}"
            )
        if row.mac.hex() != receipt.mac:
            return Verdict(False, f"the ledger was rolled back and went on otherwise: {where} is another one")
        return Verdict(True, f"the ledger still holds {where}, as it confirmed")
    finally:
        store.close()
