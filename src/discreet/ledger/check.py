"""Checking a history: one entry by its seal, a stretch of it by its links, all of it by replaying the rules.

`verify` trusts nothing but the key and the anchor.  It recomputes every mac, every link, every account from
the events alone (so a total that was ever wrong, or a limit that was ever passed, is found even if the seals
are right), every answer's digest, every look-up column, and the anchor.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.account import Account, Standing, read_account, write_account
from discreet.ledger.anchor import Mark, Marks
from discreet.ledger.chain import FIRST, sealed
from discreet.ledger.codec import digest, fingerprint, read_event, step_key
from discreet.ledger.entry import Advanced, Answered, Created, Entry, Failed, Reserved, Retried
from discreet.ledger.store import Head, Row, Store


@dataclass(frozen=True, slots=True)
class Seals:
    """What is needed to recognise this ledger's own entries."""

    key: bytes
    ledger: str

    def open(self, row: Row) -> Entry:
        """Return the entry in a row, or raise LedgerError if the row is not what was sealed."""
        where = f"entry {row.number} of dataset {row.dataset}"
        if not sealed(self.key, self.ledger, row.dataset, row.number, row.previous, row.body, row.mac):
            raise LedgerError(f"{where} was edited or forged: its seal does not match")
        body = json.loads(row.body)
        event = read_event(body["event"])
        entry = Entry(row.dataset, row.number, event, body["time"], body["state"], row.previous, row.mac)
        if not _columns_agree(row, body["event"]["kind"], entry):
            raise LedgerError(f"{where} was edited: its look-up columns do not match what was sealed")
        if not _payload_agrees(row, entry):
            raise LedgerError(f"{where} was edited: the stored answer does not match its sealed digest")
        return entry


def _columns_agree(row: Row, kind: str, entry: Entry) -> bool:
    if row.kind != kind:
        return False
    match entry.event:
        case Reserved(request):
            found = row.request, row.asked, row.refers
            return (
                found == (request.request_id, fingerprint(request), None) and request.dataset == row.dataset
            )
        case Answered(reservation, question):
            return (row.request, row.asked, row.refers) == (None, question, reservation)
        case Retried(reservation) | Failed(reservation):
            return (row.request, row.asked, row.refers) == (None, None, reservation)
        case Advanced(reservation, last=last):
            return (row.request, row.asked, row.refers) == (None, step_key(last), reservation)
        case _:
            return (row.request, row.asked, row.refers) == (None, None, None)


def _payload_agrees(row: Row, entry: Entry) -> bool:
    match entry.event:
        case Answered(digest=expected, size=size) | Advanced(digest=expected, size=size):
            return row.payload is not None and len(row.payload) == size and digest(row.payload) == expected
        case _:
            return row.payload is None


def linked(seals: Seals, rows: Iterator[Row], dataset: str, first: int, last: int) -> Iterator[Entry]:
    """Return the entries first..last, raising LedgerError at the first missing, edited or unlinked one."""
    expected, previous = first, FIRST if first == 1 else None
    for row in rows:
        if row.number != expected:
            break
        entry = seals.open(row)
        if previous is not None and entry.previous != previous:
            raise LedgerError(
                f"entry {row.number} of dataset {row.dataset} does not follow the one before it"
            )
        expected, previous = expected + 1, entry.mac
        yield entry
    if expected <= last:
        raise LedgerError(
            f"entry {expected} of dataset {dataset} is missing: the history was cut or thinned out"
        )


def hold(store: Store, dataset: str, head: Head, mark: Mark | None) -> None:
    """Raise LedgerError unless the store, whose history ends at `head`, contains what was anchored."""
    if mark is None:
        return
    if mark.number > head.number:
        raise LedgerError(
            f"dataset {dataset} was rolled back: its anchor knows entry {mark.number}, the ledger ends at "
            f"entry {head.number}.  Restore the newer ledger; if it is lost, what was spent is unknown: "
            "close the dataset and do not reuse its budget"
        )
    row = head.row if mark.number == head.number else store.shelf.row(dataset, mark.number)
    if row is None or row.mac.hex() != mark.mac:
        raise LedgerError(
            f"dataset {dataset} does not contain its anchored entry {mark.number}: it was exchanged"
        )


def trusted_head(seals: Seals, head: Head, dataset: str) -> Entry:
    """Return the newest entry, if nothing stands above it and the stored account is its own."""
    if head.row is None or head.last != head.number:
        raise LedgerError(
            f"dataset {dataset} is damaged: its head says entry {head.number}, its entries end at {head.last}"
        )
    entry = seals.open(head.row)
    if digest(head.state.encode()) != entry.state:
        raise LedgerError(
            f"the running totals of dataset {dataset} were edited: they do not match the sealed digest"
        )
    return entry


def kept_secret(store: Store, dataset: str, number: int, standing: Standing) -> bytes:
    """Return the concealed state of a stream, if it is the one that the account says."""
    secret = store.shelf.secret(dataset, number)
    if secret is None or digest(secret) != standing.secret:
        raise LedgerError(
            f"the state of the stream that entry {number} of dataset {dataset} paid for is missing, older or "
            f"edited; its {standing.step} released steps stay readable, but it can never go on: a new state "
            "would mean new noise that nobody paid for"
        )
    return secret


def check_secrets(store: Store, seals: Seals, dataset: str) -> None:
    """Raise LedgerError unless every stream's state is the one under the seal; only inside `writing`."""
    head = store.head(dataset)
    trusted_head(seals, head, dataset)
    for number, standing in read_account(head.state).streams.items():
        kept_secret(store, dataset, number, standing)


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of checking one dataset; `problem` is None when everything holds."""

    dataset: str
    entries: int
    anchored: int
    problem: str | None

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem
        return f"dataset {self.dataset}: {self.entries} entries, sealed, linked, replayed, within every limit"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of checking a whole ledger."""

    ledger: str
    findings: tuple[Finding, ...]
    damage: str | None
    """What the database finds wrong with its own files."""

    @property
    def trusted(self) -> bool:
        """Return whether nothing was found."""
        return self.damage is None and all(finding.problem is None for finding in self.findings)


def verify_dataset(
    store: Store,
    seals: Seals,
    dataset: str,
    find_head: Callable[[], Head],
    check_streams: Callable[[], None],
    marks: Marks,
    progress: Callable[[int, int], None],
) -> Finding:
    """Replay one dataset from its first entry to its head."""
    mark = marks.heads.get(dataset)
    number, anchored = 0, mark.number if mark else 0
    try:
        head = find_head()
        number = head.number
        hold(store, dataset, head, mark)
        trusted_head(seals, head, dataset)
        account = None
        reserved: dict[int, str] = {}
        for entry, account in replay(linked(seals, store.shelf.rows(dataset, 1, number), dataset, 1, number)):
            _check_question(entry, reserved)
            if digest(write_account(account).encode()) != entry.state:
                raise LedgerError(
                    f"entry {entry.number} of dataset {dataset} seals totals that its history contradicts"
                )
            progress(entry.number, number)
        if account is None or write_account(account) != head.state:
            raise LedgerError(f"the running totals of dataset {dataset} were edited")
        check_streams()
    except DiscreetError as error:
        return Finding(dataset, number, anchored, str(error))
    return Finding(dataset, number, anchored, None)


def replay(history: Iterable[Entry]) -> Iterator[tuple[Entry, Account]]:
    """Return each entry of a whole history with the account after it, applying every rule again."""
    account = None
    for entry in history:
        account = _replayed(account, entry)
        yield entry, account


def _replayed(account: Account | None, entry: Entry) -> Account:
    match entry.event:
        case Created() as event if account is None:
            return Account.opened(entry.dataset, event)
        case event if account is not None:
            try:
                return account.after(event, entry.number)
            except DiscreetError as error:
                raise LedgerError(
                    f"entry {entry.number} of dataset {entry.dataset} breaks the rules: {error}"
                ) from None
    raise LedgerError(f"the history of dataset {entry.dataset} does not begin with its creation")


def _check_question(entry: Entry, reserved: dict[int, str]) -> None:
    """Check that an answer is filed under the question that was paid for."""
    match entry.event:
        case Reserved(request):
            reserved[entry.number] = fingerprint(request)
        case Answered(reservation, question):
            if reserved.pop(reservation) != question:
                raise LedgerError(
                    f"entry {entry.number} of dataset {entry.dataset} is filed under another question"
                )
        case Failed(reservation):
            del reserved[reservation]
        case _:
            pass
