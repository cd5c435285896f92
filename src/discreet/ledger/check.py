"""Checking a history: one entry by its seal, a stretch of it by its links, all of it by replaying the rules.

`verify_dataset` trusts nothing but the key and the anchor.  It recomputes every mac, every link, every
account from the events alone (so a total that was ever wrong, or a limit that was ever passed, is found
even if the seals are right), every answer's digest, every look-up column, every row of the account, and the
anchor.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from discreet.errors import DiscreetError, LedgerError
from discreet.ledger.account import Account, Standing
from discreet.ledger.chain import FIRST, sealed
from discreet.ledger.codec import digest, fingerprint, read_event, step_key
from discreet.ledger.entry import (
    Adopted,
    Advanced,
    Answered,
    Created,
    Entry,
    Failed,
    Migrated,
    Receipt,
    Reserved,
    Restored,
    Retried,
    Rotated,
)
from discreet.ledger.pace import day_of
from discreet.ledger.store import Row, Store
from discreet.ledger.written import all_rows, changes, own_key, retallied, tally, tally_seal, write_account

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Seals:
    """What is needed to recognise this ledger's own entries.

    `earlier` holds, for each dataset whose key was changed, the keys before the present one, newest first,
    each with the number of the first entry that it did not seal any more.
    """

    key: bytes
    ledger: str
    earlier: Mapping[str, tuple[tuple[int, bytes], ...]] = field(default_factory=dict)

    def ring(self, dataset: str) -> tuple[bytes, ...]:
        """Return all keys of a dataset, the present one first."""
        return (self.key, *(key for _, key in self.earlier.get(dataset, ())))

    def key_at(self, dataset: str, number: int) -> bytes:
        """Return the key that seals an entry: no other will do, for an old key may be known to others."""
        found = self.key
        for until, key in self.earlier.get(dataset, ()):
            if number >= until:
                break
            found = key
        return found

    def keys_since(self, dataset: str, number: int) -> tuple[bytes, ...]:
        """Return the key that sealed an entry and those after it: no older one vouches for it."""
        if dataset not in self.earlier:
            return (self.key,)
        older = [until for until, _ in self.earlier[dataset]]
        return self.ring(dataset)[: 1 + sum(number < until for until in older)]

    def own(self, dataset: str, key: bytes) -> bytes:
        """Return the key under which the rows of a dataset are added up."""
        return _own_key(key, self.ledger, dataset)

    def open(self, row: Row) -> Entry:
        """Return the entry in a row, or raise LedgerError if the row is not what was sealed."""
        where = f"entry {row.number} of dataset {row.dataset}"
        key = self.key_at(row.dataset, row.number)
        if not sealed(key, self.ledger, row.dataset, row.number, row.previous, row.body, row.mac):
            raise LedgerError(f"{where} was edited or forged: its seal does not match")
        body = json.loads(row.body)
        event = read_event(body["event"])
        anchor = (str(body["anchor"][0]), int(body["anchor"][1])) if "anchor" in body else None
        state = body["state"] if anchor is None else body["rows"]
        entry = Entry(row.dataset, row.number, event, body["time"], state, row.previous, row.mac, anchor)
        if not _columns_agree(row, body["event"]["kind"], entry):
            raise LedgerError(f"{where} was edited: its look-up columns do not match what was sealed")
        if not _day_agrees(entry):
            raise LedgerError(f"{where} counts on another day than that of its time")
        if not _payload_agrees(row, entry):
            raise LedgerError(f"{where} was edited: the stored answer does not match its sealed digest")
        return entry


_own_key = lru_cache(1024)(own_key)


def proven(seals: Seals, row: Row | None, receipt: Receipt) -> Entry:
    """Return the entry that a receipt proves, found in this row, or raise LedgerError if it is another."""
    if receipt.ledger != seals.ledger or row is None or row.mac.hex() != receipt.mac:
        raise LedgerError(
            f"this ledger does not hold entry {receipt.number} of dataset {receipt.dataset} as the receipt "
            "has it: either the receipt is not from here, or the ledger was rolled back"
        )
    return seals.open(row)


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


def _day_agrees(entry: Entry) -> bool:
    match entry.event:
        case Reserved(_, int(day)) | Restored(day=int(day)):
            return day_of(datetime.fromisoformat(entry.time)) == day
        case _:
            return True


def _payload_agrees(row: Row, entry: Entry) -> bool:
    match entry.event:
        case Answered(digest=expected, size=size) | Advanced(digest=expected, size=size):
            return row.payload is not None and len(row.payload) == size and digest(row.payload) == expected
        case _:
            return row.payload is None


def linked(
    seals: Seals, rows: Iterator[Row], dataset: str, first: int, last: int, previous: bytes | None = None
) -> Iterator[Entry]:
    """Return the entries first..last, raising LedgerError at the first missing, edited or unlinked one."""
    expected = first
    if first == 1:
        previous = FIRST
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


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of checking one dataset; `problem` is None when everything holds.

    Entries up to `trusted` were verified before, and were not read again.
    """

    dataset: str
    entries: int
    anchored: int
    problem: str | None
    trusted: int = 0

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem
        before = f" ({self.trusted} of them before)" if self.trusted else ""
        return (
            f"dataset {self.dataset}: {self.entries} entries, sealed, linked, replayed, within every "
            f"limit{before}"
        )


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


@dataclass
class Replayed:
    """A history that is being replayed: the account so far, and what its rows add up to."""

    seals: Seals
    dataset: str
    account: Account | None = None
    total: int | None = None
    anchor: str | None = None
    reserved: dict[int, str] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Apply one entry, and raise LedgerError if it breaks a rule or seals anything but what follows."""
        before, self.account = self.account, applied(self.account, entry)
        self._check_question(entry)
        self._check_state(before, self.account, entry)
        self._check_anchor(entry)

    def _check_state(self, before: Account | None, account: Account, entry: Entry) -> None:
        if entry.anchor is None:
            holds = digest(write_account(account).encode()) == entry.state
        else:
            own = self.seals.own(self.dataset, self.seals.key_at(self.dataset, entry.number))
            if before is None or self.total is None or isinstance(entry.event, Rotated | Migrated):
                self.total = tally(own, all_rows(account))
            else:
                changed = changes(before, account, entry.event, entry.number)
                self.total = retallied(own, self.total, changed)
            holds = tally_seal(own, self.total) == entry.state
        if not holds:
            raise LedgerError(
                f"entry {entry.number} of dataset {self.dataset} seals totals that its history contradicts"
            )

    def _check_anchor(self, entry: Entry) -> None:
        name = None if entry.anchor is None else entry.anchor[0]
        settled = isinstance(entry.event, Adopted | Migrated | Restored)
        if self.anchor is not None and name != self.anchor and not settled:
            raise LedgerError(
                f"entry {entry.number} of dataset {self.dataset} was anchored elsewhere, and nothing says why"
            )
        self.anchor = name

    def _check_question(self, entry: Entry) -> None:
        """Check that an answer is filed under the question that was paid for."""
        match entry.event:
            case Reserved(request):
                self.reserved[entry.number] = fingerprint(request)
            case Answered(reservation, question):
                if self.reserved.pop(reservation) != question:
                    raise LedgerError(
                        f"entry {entry.number} of dataset {entry.dataset} is filed under another question"
                    )
            case Failed(reservation):
                del self.reserved[reservation]
            case Restored():
                self.reserved.clear()
            case _:
                pass


def replay(history: Iterable[Entry]) -> Iterator[tuple[Entry, Account]]:
    """Return each entry of a whole history with the account after it, applying every rule again."""
    account = None
    for entry in history:
        account = applied(account, entry)
        yield entry, account


def applied(account: Account | None, entry: Entry) -> Account:
    """Return the account after an entry, or raise LedgerError if the entry breaks a rule."""
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
