"""Verifying a whole ledger: every entry from the first, or from where an earlier verification stopped.

What can be checked of an entry by itself is sifted in stretches, by several processes where there is much to
do; what depends on the entries before is replayed here, in order.  Nothing is kept but the account.

A verification that finds nothing wrong leaves a checkpoint: the account at the newest entry, sealed under the
ledger's key together with that entry's mac.  The next one may begin there, since what a seal once covered and
a replay once confirmed is still confirmed as long as the entries after it are linked to that mac.  A
checkpoint that is missing, old or edited only means more to do.
"""

import hmac
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.abacus import KNOWN, Abacus
from discreet.ledger.anchor import Marks
from discreet.ledger.chain import FIRST, framed
from discreet.ledger.check import Finding, Progress, Replayed, Report, Seals, kept_secret, linked
from discreet.ledger.crew import sifted
from discreet.ledger.entry import Entry
from discreet.ledger.sieve import Item
from discreet.ledger.store import Checkpoint, Head, Store
from discreet.ledger.turn import Position, exclusively, glimpse, newest, stand
from discreet.ledger.written import all_rows, read_account, tally, write_account

RECENT = 1000
"""So many of the newest entries are looked at when a ledger is opened."""


def verify_all(
    store: Store, seals: Seals, anchored_now: Callable[[], Marks], progress: Progress, *, incremental: bool
) -> Report:
    """Check every dataset, and the database's own files beside it."""
    marks = anchored_now()
    with ThreadPoolExecutor(1) as beside:
        # What was verified before is not looked at again, and so the whole file is not either.
        damage = beside.submit(store.damage if not incremental else lambda: None)
        findings = [
            verify_dataset(store, seals, dataset, anchored_now, progress, incremental=incremental)
            for dataset in sorted({*store.datasets(), *marks.heads})
        ]
    return Report(seals.ledger, tuple(findings), damage.result())


def verify_dataset(
    store: Store,
    seals: Seals,
    dataset: str,
    anchored_now: Callable[[], Marks],
    progress: Progress,
    *,
    incremental: bool,
) -> Finding:
    """Replay one dataset up to its head, from its first entry or from the last checkpoint."""
    mark = anchored_now().heads.get(dataset)
    number, anchored, begun = 0, mark.number if mark else 0, 0
    try:
        head = exclusively(store, dataset, lambda: store.head(dataset))
        number = head.number
        newest(seals, head, dataset)
        state, mac = Replayed(seals, dataset), FIRST
        if incremental:
            state, begun, mac = _begin(store, seals, dataset, head)
        state, mac = replayed(store, seals, dataset, (begun + 1, number), (state, mac), progress)
        if head.row is not None and mac != head.row.mac:
            raise LedgerError(f"entry {number} of dataset {dataset} was exchanged while it was verified")
        known = glimpse(store, seals, dataset)
        exclusively(store, dataset, partial(_standing_now, store, seals, dataset, anchored_now, known))
        _check_rows(store, seals, dataset, state, number)
        _keep(store, seals, dataset, head, state)
    except DiscreetError as error:
        return Finding(dataset, number, anchored, str(error), begun)
    return Finding(dataset, number, anchored, None, begun)


def verify_recent(store: Store, seals: Seals, anchored_now: Callable[[], Marks]) -> dict[str, Position]:
    """Return where every dataset stands, if its newest entries, head, totals and anchor hold."""
    marks, found = anchored_now(), {}
    for dataset in sorted({*store.datasets(), *marks.heads}):
        # The anchor is looked at inside the turn: others may have gone on since, and have anchored it.
        known = glimpse(store, seals, dataset)
        position = exclusively(
            store, dataset, partial(_standing_now, store, seals, dataset, anchored_now, known)
        )
        anchored = marks.heads[dataset].number if dataset in marks.heads else 1
        first = max(1, min(anchored, position.number - RECENT + 1))
        rows = store.shelf.rows(dataset, first, position.number)
        for _ in linked(seals, rows, dataset, first, position.number):
            pass
        found[dataset] = position
    return found


def _standing_now(
    store: Store, seals: Seals, dataset: str, anchored_now: Callable[[], Marks], known: Position | None
) -> Position:
    return stand(store, seals, dataset, anchored_now(), known)


def replayed(
    store: Store,
    seals: Seals,
    dataset: str,
    between: tuple[int, int],
    begin: tuple[Replayed, bytes],
    progress: Progress,
) -> tuple[Replayed, bytes]:
    """Sift and replay the entries between two numbers, from a state and the mac before; return both after."""
    replaying, mac = Replaying(seals, dataset, begin[0]), begin[1]
    with closing(sifted(store, seals, dataset, *between)) as stretches:
        for first, stretch in stretches:
            if stretch.items and stretch.previous != mac:
                raise LedgerError(f"entry {first} of dataset {dataset} does not follow the one before it")
            replaying.take(first, stretch.items)
            if stretch.problem is not None:
                raise LedgerError(stretch.problem)
            mac = stretch.mac
            progress(first + len(stretch.items) - 1, between[1])
    return replaying.state, mac


class Replaying:
    """A history that is being replayed: quickly as a rule, by `Replay` where something unusual happens."""

    def __init__(self, seals: Seals, dataset: str, state: Replayed) -> None:
        self._seals = seals
        self._dataset = dataset
        self._state = state
        self._abacus: Abacus | None = None
        self._turning = {until for until, _ in seals.earlier.get(dataset, ())}

    @property
    def state(self) -> Replayed:
        """Return where the history stands."""
        return self._state if self._abacus is None else self._abacus.replayed()

    def take(self, first: int, items: Iterable[Item]) -> None:
        """Replay some entries, or raise LedgerError at the first that breaks a rule."""
        for number, item in enumerate(items, first):
            if type(item) is tuple and self._abacus is not None:
                self._abacus.take(number, item)
                continue
            if isinstance(item, Entry) and not self._usual(item):
                state = self.state
                state.take(item)
                self._state, self._abacus = state, None
                continue
            if self._abacus is None:
                self._abacus = Abacus(self._seals, self._dataset, number, self._state)
            self._abacus.take(number, item)

    def _usual(self, entry: Entry) -> bool:
        return (
            entry.anchor is not None and isinstance(entry.event, KNOWN) and entry.number not in self._turning
        )


def _check_rows(store: Store, seals: Seals, dataset: str, state: Replayed, number: int) -> None:
    """Check, while nobody writes, that the account's rows and the streams' states are what was replayed."""

    def check() -> None:
        if state.account is None:
            raise LedgerError(f"the running totals of dataset {dataset} were edited")
        if store.head(dataset).number != number:
            return  # somebody has gone on meanwhile, and `stand` has checked what they left
        if dict(store.shelf.table(dataset)) != dict(all_rows(state.account)):
            raise LedgerError(f"the running totals of dataset {dataset} were edited")
        for reservation, standing in state.account.streams.items():
            if standing.secret:
                kept_secret(store, dataset, reservation, standing)

    exclusively(store, dataset, check)


def _begin(store: Store, seals: Seals, dataset: str, head: Head) -> tuple[Replayed, int, bytes]:
    """Return a replay that stands where the last verification stopped, if that place is still there."""
    point = store.shelf.checkpoint(dataset)
    fresh = Replayed(seals, dataset)
    if point is None or not 0 < point.number <= head.number:
        return fresh, 0, FIRST
    row = store.shelf.row(dataset, point.number)
    key = seals.key_at(dataset, point.number)
    if row is None or not hmac.compare_digest(point.mac, _seal(key, seals, dataset, point, row.mac)):
        return fresh, 0, FIRST
    entry = seals.open(row)
    account = read_account(point.state)
    total = None if entry.anchor is None else tally(seals.own(dataset, key), all_rows(account))
    anchor = None if entry.anchor is None else entry.anchor[0]
    running = {number: run.question for number, run in account.running.items()}
    return Replayed(seals, dataset, account, total, anchor, running), point.number, row.mac


def _keep(store: Store, seals: Seals, dataset: str, head: Head, state: Replayed) -> None:
    if state.account is None or head.row is None:
        return
    text, key = write_account(state.account), seals.key_at(dataset, head.number)
    point = Checkpoint(head.number, text, b"")
    point = Checkpoint(head.number, text, _seal(key, seals, dataset, point, head.row.mac))
    exclusively(store, dataset, lambda: store.shelf.keep_checkpoint(dataset, point))


def _seal(key: bytes, seals: Seals, dataset: str, point: Checkpoint, mac: bytes) -> bytes:
    place = seals.ledger.encode(), dataset.encode(), b"%d" % point.number
    return hmac.digest(key, framed(b"discreet checkpoint", *place, mac, point.state.encode()), "sha256")
