"""Backing up and restoring: a backup is a ledger file, and a restored one charges what it cannot know.

A backup holds entries, accounts, concealed states and former keys, out of either kind of store, in the tables
of a SQLite ledger, written while nobody writes and verified afterwards.  It goes back into either kind of
store.  Key and anchor are not in it.

What was released after a backup is not in it either, but it was paid for and must stay paid.  So a restored
history goes on with an entry that counts as spent, towards every limit,

    what the anchor knows to have been spent beyond the backup, for an answer leaves only after its payment
    was anchored; or, where there is no anchor or it is behind a receipt or behind what the backup says of it,
    what the curator states; or else all that was left.

Requests that were running and streams that were going on may have been released from, so neither goes on.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.anchor import ANY, Anchor, Mark, Marks
from discreet.ledger.book import Ledger
from discreet.ledger.check import Report, Seals
from discreet.ledger.codec import read_cost
from discreet.ledger.entry import EVERYBODY, Closed, Created, Receipt, Restored
from discreet.ledger.opening import connect, find_anchor, find_key, known, seals_of
from discreet.ledger.postgres import EVERYTHING
from discreet.ledger.shield import shielded
from discreet.ledger.signing import check_signature, public_name
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.store import LedgerIdentity, Store
from discreet.ledger.turn import NOWHERE, Position, Turn, exclusively, fasten, recognise, stand
from discreet.ledger.unanchored import Unanchored
from discreet.privacy.filter import ApproximateBudget, Cost, Filter, PureBudget


@dataclass(frozen=True, slots=True)
class Charge:
    """What restoring counted as spent for one dataset, and whether that was known or had to be assumed."""

    dataset: str
    lost: Cost
    known: bool


def backup_ledger(
    location: str | Path,
    target: Path,
    *,
    key: bytes | Path | None = None,
) -> Report:
    """Write everything that a ledger holds into a new file, and return how verifying that file went."""
    if target.exists():
        raise ParameterError(f"{target} exists, and a backup never replaces another file; choose a new name")
    return shielded(lambda: _back_up(location, target, key))


def _back_up(location: str | Path, target: Path, key: bytes | Path | None) -> Report:
    store = connect(location, create=False)
    try:
        identity = known(store)
        seals = seals_of(store, identity, find_key(location, key))
        copy = SqliteStore(target)
        try:
            exclusively(store, EVERYTHING, lambda: copy_ledger(store, copy, identity))
            return Ledger(copy, seals, Unanchored(identity.ledger)).verify()
        finally:
            copy.close()
    finally:
        store.close()


def copy_ledger(source: Store, target: Store, identity: LedgerIdentity) -> None:
    """Copy all datasets into an empty store, in one transaction of the target."""
    exclusively(target, EVERYTHING, lambda: _copy(source, target, identity))


def _copy(source: Store, target: Store, identity: LedgerIdentity) -> None:
    if target.identity() is not None:
        raise LedgerError(
            f"{target.name} already holds a ledger, and nothing is ever written over one; move it aside first"
        )
    target.create(identity)
    for dataset in source.datasets():
        last = source.head(dataset).number
        for row in source.shelf.rows(dataset, 1, last):
            rows = source.shelf.table(dataset) if row.number == last else []
            target.append(row, list(rows))
        for number, concealed in source.shelf.secrets(dataset):
            target.shelf.keep_secret(dataset, number, concealed)
    for former in source.shelf.former_keys():
        target.shelf.keep_former_key(*former)


def restore_ledger(
    backup: Path,
    location: str | Path,
    *,
    reason: str,
    key: bytes | Path | None = None,
    anchor: Anchor | Path | str | None = None,
    lost: Cost | None = None,
    receipts: Iterable[Receipt] = (),
) -> tuple[Charge, ...]:
    """Put a backup where there is no ledger, and count what may have been released since as spent.

    `lost` is what the curator states to be the most that was, for each dataset; it may not be less than what
    the anchor knows.  `receipts` that came with answers show that an anchor or a statement falls short.
    """
    held = tuple(receipts)
    return shielded(lambda: _restore(backup, location, key, anchor, reason, lost, held))


def _restore(
    backup: Path,
    location: str | Path,
    key: bytes | Path | None,
    anchor: Anchor | Path | str | None,
    reason: str,
    stated: Cost | None,
    receipts: tuple[Receipt, ...],
) -> tuple[Charge, ...]:
    anchored = find_anchor(location, anchor)
    source = connect(backup, create=False)
    try:
        identity = known(source)
        seals = seals_of(source, identity, find_key(location, key))
        report = Ledger(source, seals, Unanchored(identity.ledger)).verify()
        if not report.trusted:
            found = next((finding.problem for finding in report.findings if finding.problem), report.damage)
            raise LedgerError(f"the backup {backup} does not hold, so nothing was restored: {found}")
        marks = anchored.read()
        if marks is not None and marks.ledger != identity.ledger:
            raise LedgerError(f"the anchor {anchored} belongs to another ledger than the backup {backup}")
        for receipt in receipts:
            _accept(seals, receipt)
        target = connect(location, create=True)
        try:
            return _go_on(source, target, identity, seals, anchored, marks, _Facts(stated, receipts, reason))
        finally:
            target.close()
    finally:
        source.close()
        anchored.close()


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the curator brings along."""

    stated: Cost | None
    receipts: tuple[Receipt, ...]
    reason: str


def _accept(seals: Seals, receipt: Receipt) -> None:
    if receipt.ledger != seals.ledger:
        raise LedgerError("a receipt belongs to another ledger than the backup")
    check_signature([public_name(key) for key in seals.keys_since(receipt.dataset, receipt.number)], receipt)


def _go_on(
    source: Store,
    target: Store,
    identity: LedgerIdentity,
    seals: Seals,
    anchor: Anchor,
    before: Marks | None,
    facts: _Facts,
) -> tuple[Charge, ...]:
    """Copy everything and add the entries that charge, in one transaction; then anchor them."""
    charges: list[Charge] = []
    turns: list[Turn] = []
    marks = anchor.start(identity.ledger)

    def go_on() -> None:
        charges.clear()
        turns.clear()
        _copy(source, target, identity)
        kept = target.datasets()
        for dataset in kept:
            position = stand(target, seals, dataset, Marks(seals.ledger, {}, ANY))
            charge, mark = _charge(target, seals, dataset, position, before, facts)
            turn = Turn(target, seals, dataset, position, marks)
            number, mac = (mark.number, mark.mac) if mark is not None else (0, "")
            counted = any(pace.day is not None for pace in turn.account.paces.values())
            day = turn.day if counted else None
            turn.append(Restored(charge.lost.plain, number, mac, facts.reason, day))
            charges.append(charge)
            turns.append(turn)
        for dataset in sorted(set(marks.heads) - set(kept)):
            turns.append(_closed(target, seals, dataset, marks, facts.reason))
            charges.append(Charge(dataset, Cost.zero, known=False))

    exclusively(target, EVERYTHING, go_on)
    for turn in turns:
        fasten(target, seals, anchor, turn.dataset, turn.standing, marks)
    return tuple(charges)


def _closed(store: Store, seals: Seals, dataset: str, marks: Marks, reason: str) -> Turn:
    """Close a dataset that the anchor knows and the backup does not: nothing more can be promised of it."""
    mark = marks.heads[dataset]
    recognise(seals, marks, dataset, mark)
    turn = Turn(store, seals, dataset, NOWHERE, marks)
    words = f"younger than the backup, its history is lost; {reason}"
    turn.append(Created(PureBudget(Fraction(1)), (), words))
    turn.append(Restored(Cost.pure(1).plain, mark.number, mark.mac, reason))
    turn.append(Closed(reason))
    return turn


def _charge(
    store: Store, seals: Seals, dataset: str, position: Position, before: Marks | None, facts: _Facts
) -> tuple[Charge, Mark | None]:
    """Return what may have been released beyond a position, and the mark that says so."""
    if position.account is None:
        raise LedgerError(f"the backup holds no account of dataset {dataset}")
    spent = position.account.filter(EVERYBODY).spent
    mark = None if before is None else before.heads.get(dataset)
    if before is not None and mark is not None:
        recognise(seals, before, dataset, mark)
    if before is not None and _newest_known(position, before, dataset, mark, facts.receipts):
        lost = Cost.zero if mark is None else _beyond(store, dataset, position, mark, spent)
        if facts.stated is not None and not _covers(facts.stated, lost):
            raise LedgerError(
                f"the anchor knows that {lost} was spent on dataset {dataset} after the backup, and "
                f"{facts.stated} was stated; state at least that, or leave it to the anchor"
            )
        return Charge(dataset, lost if facts.stated is None else facts.stated, known=True), mark
    shown = max((r.number for r in facts.receipts if r.dataset == dataset), default=0)
    if facts.stated is None:
        return Charge(dataset, all_that_is_left(position.account), known=False), mark
    if facts.stated == Cost.zero and shown > position.number:
        raise LedgerError(
            f"a receipt shows entry {shown} of dataset {dataset}, and the backup ends at entry "
            f"{position.number}: something was released since; state the most that it may have cost"
        )
    return Charge(dataset, facts.stated, known=False), mark


def _newest_known(
    position: Position, before: Marks, dataset: str, mark: Mark | None, receipts: tuple[Receipt, ...]
) -> bool:
    """Return whether nothing shows that the anchor itself is an old copy, or another one."""
    number = 0 if mark is None else mark.number
    name, reached = position.anchor or ("", 0)
    shown = max((r.number for r in receipts if r.dataset == dataset), default=0)
    return name == before.name and number >= reached and number >= shown


def _beyond(store: Store, dataset: str, position: Position, mark: Mark, spent: Cost) -> Cost:
    """Return what was spent between a position and the anchored entry."""
    if mark.number <= position.number:
        row = store.shelf.row(dataset, mark.number)
        if row is None or row.mac.hex() != mark.mac:
            raise LedgerError(
                f"the backup and the anchor hold two different histories of dataset {dataset}; a backup of "
                "the anchored one is needed"
            )
        return Cost.zero
    anchored = read_cost(json.loads(mark.spent))
    epsilon = None
    if anchored.epsilon is not None and spent.epsilon is not None:
        epsilon = max(Fraction(0), anchored.epsilon - spent.epsilon)
    return Cost(
        epsilon, max(Fraction(0), anchored.rho - spent.rho), max(Fraction(0), anchored.delta - spent.delta)
    )


def all_that_is_left(account: Account) -> Cost:
    """Return a cost after which the cap on everybody admits nothing any more."""
    whole: Filter = account.filter(EVERYBODY)
    spent = whole.spent
    epsilon = None
    if spent.epsilon is not None:
        epsilon = max(Fraction(0), whole.budget.epsilon - spent.epsilon)
    match whole.budget:
        case PureBudget():
            return Cost(epsilon, Fraction(0)) if epsilon is not None else Cost.zero
        case ApproximateBudget(slack=slack) as budget:
            # Enough zCDP for every route, as a sum of releases of which nothing better is known.
            left = [(route.most - route.used(spent)) / route.order for route in budget.routes]
            rho, delta = max(Fraction(0), *left), max(Fraction(0), slack - spent.delta)
            return Cost(epsilon, rho, delta).plain


def _covers(stated: Cost, needed: Cost) -> bool:
    """Return whether a statement is at least as large under each measure."""
    pure = stated.epsilon is None or (needed.epsilon is not None and needed.epsilon <= stated.epsilon)
    return pure and needed.rho <= stated.rho and needed.delta <= stated.delta
