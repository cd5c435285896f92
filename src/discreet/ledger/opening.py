"""Opening a ledger: find the store, the key and the anchor, and refuse unless the three agree.

                     store empty                      store has entries
    no anchor        a new ledger begins              refused: adopt_ledger() after an inspection
    anchor empty     a new ledger begins              recovered: the first entries were not anchored yet
    anchor full      refused: the store was lost      must contain every anchored entry

A key is made only together with a new ledger; a ledger that has lost its key is refused, and so is a key that
has lost its ledger.
"""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from discreet.errors import LedgerError
from discreet.ledger.anchor import ANY, Anchor, FileAnchor, Marks
from discreet.ledger.book import CURATOR, Ledger, Role
from discreet.ledger.chain import KEY_VARIABLE, key_name, load_key, sync_directory
from discreet.ledger.check import Report, Seals
from discreet.ledger.entry import Adopted
from discreet.ledger.journal import DirectoryLog, LogAnchor
from discreet.ledger.postgres import EVERYTHING, PostgresStore
from discreet.ledger.rotation import earlier_keys
from discreet.ledger.shield import shielded
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.store import LedgerIdentity, Store
from discreet.ledger.turn import Turn, exclusively, fasten, stand
from discreet.ledger.unanchored import Unanchored

ANCHOR_VARIABLE = "DISCREET_LEDGER_ANCHOR"


def open_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
    create: bool = True,
    role: Role = CURATOR,
) -> Ledger:
    """Open a ledger, a SQLite file or a postgresql:// URL, creating it on first use if `create`.

    The key comes from `key`, else from the environment variable DISCREET_LEDGER_KEY, else, for a file,
    from a file beside it ending in `.key`.  The anchor comes from `anchor`, else from
    DISCREET_LEDGER_ANCHOR, else, for a file, from a file beside it ending in `.anchor`; it may be a file, a
    directory that ends in a slash, or a postgresql:// URL, and must be the same one for all machines.  Keep
    both out of the ledger's backups.

    `role` is what whoever holds the opened ledger may do: a "curator" everything, an "analyst" ask, an
    "auditor" read.
    """
    return shielded(lambda: _open(location, key, anchor, create=create, role=role), dropped=Ledger.close)


def _open(
    location: str | Path,
    key: bytes | Path | None,
    anchor: Anchor | Path | str | None,
    *,
    create: bool,
    role: Role,
) -> Ledger:
    anchored = find_anchor(location, anchor)
    store = connect(location, create=create)
    try:
        seals = _agree(store, find_key(location, key), anchored, create=create)
        ledger = Ledger(store, seals, anchored, role)
        ledger.check_recent()
    except BaseException:
        store.close()
        anchored.close()
        raise
    return ledger


def verify_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    incremental: bool = False,
) -> Report:
    """Check a whole ledger and report what was found, also for a ledger that refuses to be opened.

    `incremental` begins where the last verification that found nothing stopped.
    """
    anchored = find_anchor(location, anchor)
    store = connect(location, create=False)
    try:
        seals = _agree(store, find_key(location, key), anchored, create=False)
        return Ledger(store, seals, anchored).verify(progress, incremental=incremental)
    finally:
        store.close()
        anchored.close()


def adopt_ledger(
    location: str | Path,
    *,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
    reason: str = "adopted after an inspection",
) -> Report:
    """Verify a whole ledger and begin an anchor for it where there is none, such as on a new machine.

    An anchor that exists is never touched.  Without an anchor nothing can tell whether the end of the history
    was cut off, so compare the entry numbers of the report with a receipt or another anchor.  Every dataset
    gets an entry that says so.
    """
    anchored = find_anchor(location, anchor)
    if anchored.read() is not None:
        raise LedgerError(f"the anchor {anchored} exists; open the ledger with it")
    store = connect(location, create=False)
    try:
        identity = known(store)
        seals = seals_of(store, identity, find_key(location, key))
        # Verified without an anchor: what its entries say of the lost one is all there is to go by.
        report = Ledger(store, seals, Unanchored(identity.ledger)).verify()
        if report.trusted:
            _adopt(store, seals, anchored, reason)
        return report
    finally:
        store.close()
        anchored.close()


def _adopt(store: Store, seals: Seals, anchor: Anchor, reason: str) -> None:
    marks = anchor.start(seals.ledger)
    for dataset in store.datasets():

        def adopt(dataset: str = dataset) -> Turn:
            position = stand(store, seals, dataset, Marks(seals.ledger, {}, ANY))
            turn = Turn(store, seals, dataset, position, marks)
            turn.append(Adopted(marks.name, reason))
            return turn

        turn = exclusively(store, dataset, adopt)
        fasten(store, seals, anchor, dataset, turn.standing, marks)


def connect(location: str | Path, *, create: bool) -> Store:
    """Return the store at a place."""
    if is_url(location):
        return PostgresStore(str(location))
    path = Path(location)
    if not create and not path.exists():
        raise missing(path)
    return SqliteStore(path)


def missing(place: object) -> LedgerError:
    """Return the error for a ledger that should be somewhere and is not, with the ways on."""
    return LedgerError(
        f"there is no ledger at {place}.  Bring it back, or restore a backup with `discreet ledger restore`; "
        "to begin a new account that remembers the old one, run `discreet ledger begin` with a reason"
    )


def _agree(store: Store, key: bytes | Path | None, anchor: Anchor, *, create: bool) -> Seals:
    # Others may be beginning this ledger: its identity is written first, then its anchor, then its entries.
    # So whatever shows that something is missing is read before that which is missed.
    marks, identity = anchor.read(), store.identity()
    if identity is None:
        if marks is not None and marks.heads:
            raise LedgerError(
                f"the ledger {store.name} is empty, but its anchor {anchor} knows {len(marks.heads)} "
                "dataset(s): the ledger was lost or emptied.  Restore it with `discreet ledger restore`; or "
                "move that anchor and the key aside and run `discreet ledger begin` with a reason"
            )
        if not create:
            raise missing(store.name)
        secret = load_key(key, create=True)
        fresh = LedgerIdentity(secrets.token_hex(16), key_name(secret))
        identity = exclusively(store, EVERYTHING, lambda: store.create(fresh))
        marks = anchor.start(identity.ledger)
    elif marks is None:
        if store.datasets() and anchor.read() is None:
            raise LedgerError(
                f"the ledger {store.name} has entries but its anchor {anchor} is missing, so it cannot be "
                "told whether it was rolled back; bring the anchor back, or inspect the ledger and call "
                "adopt_ledger()"
            )
        marks = anchor.start(identity.ledger)
    if marks.ledger != identity.ledger:
        raise LedgerError(f"the anchor {anchor} belongs to another ledger than {store.name}")
    return seals_of(store, identity, key)


def known(store: Store) -> LedgerIdentity:
    """Return who a ledger is, or raise LedgerError if there is none."""
    identity = store.identity()
    if identity is None:
        raise missing(store.name)
    return identity


def seals_of(store: Store, identity: LedgerIdentity, source: bytes | Path | None) -> Seals:
    """Return what recognises a ledger's entries, or raise LedgerError if this is not its key."""
    key = load_key(source, create=False)
    if key_name(key) != identity.key and isinstance(source, Path):
        key = _renewed(source, identity) or key
    if key_name(key) != identity.key:
        raise LedgerError(
            "this is not the key that the ledger was created with, or that it was given last; bring that key"
        )
    return Seals(key, identity.ledger, earlier_keys(key, identity.ledger, store.shelf.former_keys()))


def _renewed(source: Path, identity: LedgerIdentity) -> bytes | None:
    """Put the key in its place that a change of keys did not live to put there."""
    beside = Path(f"{source}.new")
    if not beside.exists():
        return None
    key = load_key(beside, create=False)
    if key_name(key) != identity.key:
        return None
    os.replace(beside, source)
    sync_directory(source.parent)
    return key


def find_key(location: str | Path, key: bytes | Path | None) -> bytes | Path | None:
    """Return where the key of a ledger is."""
    if key is not None or KEY_VARIABLE in os.environ:
        return key
    if is_url(location):
        raise LedgerError(f"a ledger in PostgreSQL needs a key: give key=, or set {KEY_VARIABLE}")
    return Path(f"{location}.key")


def find_anchor(location: str | Path, anchor: Anchor | Path | str | None) -> Anchor:
    """Return the anchor of a ledger."""
    if anchor is None and os.environ.get(ANCHOR_VARIABLE):
        anchor = os.environ[ANCHOR_VARIABLE]
    if anchor is None:
        if is_url(location):
            raise LedgerError(
                f"a ledger in PostgreSQL needs an anchor: give anchor=, or set {ANCHOR_VARIABLE}"
            )
        anchor = Path(f"{location}.anchor")
    if isinstance(anchor, str):
        if is_url(anchor):
            from discreet.ledger.remote import PostgresAnchor

            return PostgresAnchor(anchor)
        if anchor.endswith("/"):
            return LogAnchor(DirectoryLog(Path(anchor)), anchor)
        anchor = Path(anchor)
    return FileAnchor(anchor) if isinstance(anchor, Path) else anchor


def is_url(location: object) -> bool:
    """Return whether a place is a database server and not a file."""
    return isinstance(location, str) and location.startswith(("postgresql://", "postgres://"))
