"""Opening a ledger: find the store, the key and the anchor, and refuse unless the three agree.

                     store empty                      store has entries
    no anchor        a new ledger begins              refused: adopt_ledger() after an inspection
    anchor empty     a new ledger begins              recovered: the first entries were not anchored yet
    anchor full      refused: the store was lost      must contain every anchored entry

A key is made only together with a new ledger; a ledger that has lost its key is refused.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.anchor import Anchor, FileAnchor, Mark, Unanchored
from discreet.ledger.book import Ledger
from discreet.ledger.chain import KEY_VARIABLE, key_name, load_key
from discreet.ledger.check import Report, Seals
from discreet.ledger.postgres import PostgresStore
from discreet.ledger.shield import shielded
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.store import Identity, Store
from discreet.ledger.turn import exclusively

ANCHOR_VARIABLE = "DISCREET_LEDGER_ANCHOR"
EVERYTHING = ""
"""The name, which no dataset can have, under which the tables themselves are locked."""


def open_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | None = None,
    create: bool = True,
) -> Ledger:
    """Open a ledger, a SQLite file or a postgresql:// URL, creating it on first use if `create`.

    The key comes from `key`, else from the environment variable DISCREET_LEDGER_KEY, else, for a file,
    from a file beside it ending in `.key`.  The anchor comes from `anchor`, else from
    DISCREET_LEDGER_ANCHOR, else, for a file, from a file beside it ending in `.anchor`.  Keep both out of
    the ledger's backups.
    """
    return shielded(lambda: _open(location, key, anchor, create=create), dropped=Ledger.close)


def _open(
    location: str | Path, key: bytes | Path | None, anchor: Anchor | Path | None, *, create: bool
) -> Ledger:
    anchored = _find_anchor(location, anchor)
    store = _connect(location, create=create)
    try:
        seals = _agree(store, _find_key(location, key), anchored, create=create)
        ledger = Ledger(store, seals, anchored)
        ledger.check_recent()
    except BaseException:
        store.close()
        raise
    return ledger


def verify_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Check a whole ledger and report what was found, also for a ledger that refuses to be opened."""
    anchored = _find_anchor(location, anchor)
    store = _connect(location, create=False)
    try:
        seals = _agree(store, _find_key(location, key), anchored, create=False)
        return Ledger(store, seals, anchored).verify(progress)
    finally:
        store.close()


def adopt_ledger(
    location: str | Path, *, key: bytes | Path | None = None, anchor: Anchor | Path | None = None
) -> Report:
    """Verify a whole ledger and begin an anchor for it where there is none, such as on a new machine.

    An anchor that exists is never touched.  Without an anchor nothing can tell whether the end of the history
    was cut off, so compare the entry numbers of the report with a receipt or another anchor.
    """
    anchored = _find_anchor(location, anchor)
    if anchored.read() is not None:
        raise LedgerError(f"the anchor {anchored} exists; open the ledger with it")
    store = _connect(location, create=False)
    try:
        identity = _known(store)
        seals = _seals(identity, _find_key(location, key))
        report = Ledger(store, seals, Unanchored(identity.ledger)).verify()
        if report.trusted:
            anchored.start(identity.ledger)
            for finding in report.findings:
                row = store.shelf.row(finding.dataset, finding.entries)
                if row is not None:
                    anchored.advance(identity.ledger, finding.dataset, Mark(row.number, row.mac.hex()))
        return report
    finally:
        store.close()


def migrate_ledger(location: str | Path) -> None:
    """Bring the tables of an older version up to date, in one transaction; entries are not touched."""
    store = _connect(location, create=False)
    try:
        exclusively(store, EVERYTHING, store.migrate)
    finally:
        store.close()


def _connect(location: str | Path, *, create: bool) -> Store:
    if _is_url(location):
        return PostgresStore(str(location))
    path = Path(location)
    if not create and not path.exists():
        raise LedgerError(f"there is no ledger at {path}")
    return SqliteStore(path)


def _agree(store: Store, key: bytes | Path | None, anchor: Anchor, *, create: bool) -> Seals:
    identity, marks = store.identity(), anchor.read()
    if identity is None:
        if marks is not None and marks.heads:
            raise LedgerError(
                f"the ledger {store.name} is empty, but its anchor {anchor} knows {len(marks.heads)} "
                "dataset(s): the ledger was lost or emptied; restore it"
            )
        if not create:
            raise LedgerError(f"there is no ledger at {store.name}")
        secret = load_key(key, create=True)
        fresh = Identity(secrets.token_hex(16), key_name(secret))
        identity = exclusively(store, EVERYTHING, lambda: store.create(fresh))
        anchor.start(identity.ledger)
    elif marks is None:
        if store.datasets():
            raise LedgerError(
                f"the ledger {store.name} has entries but its anchor {anchor} is missing, so it cannot be "
                "told whether it was rolled back; bring the anchor back, or inspect the ledger and call "
                "adopt_ledger()"
            )
        anchor.start(identity.ledger)
    elif marks.ledger != identity.ledger:
        raise LedgerError(f"the anchor {anchor} belongs to another ledger than {store.name}")
    return _seals(identity, key)


def _known(store: Store) -> Identity:
    identity = store.identity()
    if identity is None:
        raise LedgerError(f"there is no ledger at {store.name}")
    return identity


def _seals(identity: Identity, source: bytes | Path | None) -> Seals:
    key = load_key(source, create=False)
    if key_name(key) != identity.key:
        raise LedgerError("this is not the key that the ledger was created with; bring that key")
    return Seals(key, identity.ledger)


def _find_key(location: str | Path, key: bytes | Path | None) -> bytes | Path | None:
    if key is not None or KEY_VARIABLE in os.environ:
        return key
    if _is_url(location):
        raise LedgerError(f"a ledger in PostgreSQL needs a key: give key=, or set {KEY_VARIABLE}")
    return Path(f"{location}.key")


def _find_anchor(location: str | Path, anchor: Anchor | Path | None) -> Anchor:
    if anchor is None and ANCHOR_VARIABLE in os.environ:
        anchor = Path(os.environ[ANCHOR_VARIABLE])
    if anchor is None:
        if _is_url(location):
            raise LedgerError(
                f"a ledger in PostgreSQL needs an anchor: give anchor=, or set {ANCHOR_VARIABLE}"
            )
        anchor = Path(f"{location}.anchor")
    return FileAnchor(anchor) if isinstance(anchor, Path) else anchor


def _is_url(location: str | Path) -> bool:
    return isinstance(location, str) and location.startswith(("postgresql://", "postgres://"))
