"""Verifying a whole ledger: every entry from the first, or from where an earlier verification stopped.

A verification that finds nothing wrong leaves a checkpoint: the account at the newest entry, sealed under the
ledger's key together with that entry's mac.  The next one may begin there, since what a seal once covered and
a replay once confirmed is still confirmed as long as the entries after it are linked to that mac.  A
checkpoint that is missing, old or edited only means more to do.
"""

import hmac

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.anchor import Marks
from discreet.ledger.chain import framed
from discreet.ledger.check import Finding, Progress, Replay, Seals, kept_secret, linked
from discreet.ledger.store import Checkpoint, Head, Store
from discreet.ledger.turn import exclusively, newest, stand
from discreet.ledger.written import all_rows, read_account, tally, write_account


def verify_dataset(
    store: Store, seals: Seals, dataset: str, marks: Marks, progress: Progress, *, incremental: bool
) -> Finding:
    """Replay one dataset up to its head, from its first entry or from the last checkpoint."""
    mark = marks.heads.get(dataset)
    number, anchored, begun = 0, mark.number if mark else 0, 0
    try:
        head = exclusively(store, dataset, lambda: store.head(dataset))
        number = head.number
        newest(seals, head, dataset)
        state, begun, mac = Replay(seals, dataset), 0, None
        if incremental:
            state, begun, mac = _begin(store, seals, dataset, head)
        rows = store.shelf.rows(dataset, begun + 1, number)
        for entry in linked(seals, rows, dataset, begun + 1, number, mac):
            state.take(entry)
            progress(entry.number, number)
        exclusively(store, dataset, lambda: stand(store, seals, dataset, marks))
        _check_rows(store, seals, dataset, state, number)
        _keep(store, seals, dataset, head, state)
    except DiscreetError as error:
        return Finding(dataset, number, anchored, str(error), begun)
    return Finding(dataset, number, anchored, None, begun)


def _check_rows(store: Store, seals: Seals, dataset: str, state: Replay, number: int) -> None:
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


def _begin(store: Store, seals: Seals, dataset: str, head: Head) -> tuple[Replay, int, bytes | None]:
    """Return a replay that stands where the last verification stopped, if that place is still there."""
    point = store.shelf.checkpoint(dataset)
    fresh = Replay(seals, dataset)
    if point is None or not 0 < point.number <= head.number:
        return fresh, 0, None
    row = store.shelf.row(dataset, point.number)
    key = seals.key_at(dataset, point.number)
    if row is None or not hmac.compare_digest(point.mac, _seal(key, seals, dataset, point, row.mac)):
        return fresh, 0, None
    entry = seals.open(row)
    account = read_account(point.state)
    total = None if entry.anchor is None else tally(seals.own(dataset, key), all_rows(account))
    anchor = None if entry.anchor is None else entry.anchor[0]
    running = {number: run.question for number, run in account.running.items()}
    return Replay(seals, dataset, account, total, anchor, running), point.number, row.mac


def _keep(store: Store, seals: Seals, dataset: str, head: Head, state: Replay) -> None:
    if state.account is None or head.row is None:
        return
    text, key = write_account(state.account), seals.key_at(dataset, head.number)
    point = Checkpoint(head.number, text, b"")
    point = Checkpoint(head.number, text, _seal(key, seals, dataset, point, head.row.mac))
    exclusively(store, dataset, lambda: store.shelf.keep_checkpoint(dataset, point))


def _seal(key: bytes, seals: Seals, dataset: str, point: Checkpoint, mac: bytes) -> bytes:
    place = seals.ledger.encode(), dataset.encode(), b"%d" % point.number
    return hmac.digest(key, framed(b"discreet checkpoint", *place, mac, point.state.encode()), "sha256")
