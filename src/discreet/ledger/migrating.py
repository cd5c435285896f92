"""Bringing a ledger of an older version up to date: verify first, then change everything or nothing.

The tables are changed, every dataset is replayed under the rules of its time, and gets an entry from which on
the rules of this version hold, all in one transaction.  Then the anchor is sealed.  A crash before the commit
leaves everything as it was; one after it is completed by running the migration again.
"""

import secrets
from functools import partial
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.anchor import ANY, Anchor, FileAnchor, Marks
from discreet.ledger.check import Replayed, Seals, linked
from discreet.ledger.codec import digest
from discreet.ledger.entry import Migrated
from discreet.ledger.opening import connect, find_anchor, find_key, known, seals_of
from discreet.ledger.postgres import EVERYTHING
from discreet.ledger.store import SCHEMA, Store
from discreet.ledger.turn import Position, Turn, exclusively, mark_of, newest, rolled_back, stand
from discreet.ledger.written import write_account


def migrate_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
) -> None:
    """Bring the tables of an older version up to date, in one transaction, after verifying every entry."""
    anchored = find_anchor(location, anchor)
    store = connect(location, create=False)
    try:
        marks = anchored.read()
        if marks is None:
            raise LedgerError(f"the anchor {anchored} is missing; a ledger is migrated with its anchor")
        fresh = Marks(marks.ledger, marks.heads, marks.name or secrets.token_hex(16))
        named = exclusively(store, EVERYTHING, lambda: _migrate(store, find_key(location, key), marks, fresh))
        if marks.name == "":
            _seal(store, find_key(location, key), anchored, fresh, named)
    finally:
        store.close()
        anchored.close()


def _migrate(store: Store, key: bytes | Path | None, marks: Marks, fresh: Marks) -> str:
    """Change everything inside one transaction; return the name that the entries give the anchor."""
    store.migrate()
    identity = known(store)
    if marks.ledger != identity.ledger:
        raise LedgerError(f"the anchor belongs to another ledger than {store.name}")
    seals = seals_of(store, identity, key)
    name = fresh.name
    for dataset in store.datasets():
        head = store.head(dataset)
        entry = newest(seals, head, dataset)
        if entry.anchor is not None:
            name = entry.anchor[0]
            continue
        position = _replayed(store, seals, dataset, marks)
        Turn(store, seals, dataset, position, fresh).append(Migrated(SCHEMA))
    return name


def _replayed(store: Store, seals: Seals, dataset: str, marks: Marks) -> Position:
    """Verify a history under the rules of its time and return where it stands."""
    head, mark = store.head(dataset), marks.heads.get(dataset)
    if mark is not None and mark.number > head.number:
        raise rolled_back(dataset, mark.number, head.number)
    state, entry = Replayed(seals, dataset), None
    for entry in linked(seals, store.shelf.rows(dataset, 1, head.number), dataset, 1, head.number):
        state.take(entry)
        if mark is not None and mark.number == entry.number and mark.mac != entry.mac.hex():
            raise LedgerError(f"dataset {dataset} does not contain its anchored entry {mark.number}")
    text = store.former_state(dataset)
    if entry is None or state.account is None or digest(text.encode()) != entry.state:
        raise LedgerError(
            f"the running totals of dataset {dataset} were edited: they do not match the sealed digest"
        )
    if write_account(state.account) != text:
        raise LedgerError(f"the running totals of dataset {dataset} were edited")
    return Position(head.number, entry.mac, state.account, None, head.row, None)


def _seal(store: Store, key: bytes | Path | None, anchor: Anchor, fresh: Marks, name: str) -> None:
    """Give an anchor of an older version its name and its seals."""
    if not isinstance(anchor, FileAnchor):
        raise LedgerError(f"the anchor {anchor} has no name, and only a file can be given one")
    seals = seals_of(store, known(store), key)
    unnamed, named = Marks(fresh.ledger, {}, ANY), Marks(fresh.ledger, {}, name)
    heads = {}
    for dataset in store.datasets():
        mark = fresh.heads.get(dataset)
        row = None if mark is None else store.shelf.row(dataset, mark.number)
        if mark is not None and (row is None or row.mac.hex() != mark.mac):
            raise LedgerError(f"dataset {dataset} does not contain its anchored entry {mark.number}")
        position = exclusively(store, dataset, partial(stand, store, seals, dataset, unnamed))
        heads[dataset] = mark_of(seals, named, dataset, position)
    anchor.upgrade(Marks(fresh.ledger, heads, name))
