"""One writer's turn at one dataset: check where it stands, add entries, commit, anchor.

A turn begins by finding where the history stands.  A ledger that was just opened reads the account's rows
and checks them against the seal of the newest entry; from then on it remembers where it stood, and reads
only what others have added since, entry by entry, each one's seal, link and rules checked.  Then it checks
that the store contains what was anchored, and that the anchor has not gone back behind what the entries say
of it. The anchor is read inside the turn, when nobody else can move the head, so an honest one is never
ahead.  After the commit the head is anchored, and only then does the turn return; that holds also for a
turn that only read, because an answer may not leave above an old anchor.  After a payment, with which nothing
leaves yet, a mark in a file need not be on the disk: a power cut can then only leave the anchor behind the
store, as a crash before anchoring does, and the answer waits for the disk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from discreet.errors import LedgerError
from discreet.ledger.account import Account
from discreet.ledger.anchor import ANY, Anchor, FileAnchor, Mark, Marks, sealed_mark
from discreet.ledger.chain import FIRST, seal
from discreet.ledger.check import Seals, applied, linked
from discreet.ledger.codec import canonical, fingerprint, step_key, write_event
from discreet.ledger.entry import (
    EVERYBODY,
    Adopted,
    Advanced,
    Answered,
    Created,
    Entry,
    Event,
    Failed,
    Request,
    Reserved,
    Restored,
    Retried,
    Rotated,
)
from discreet.ledger.following import MANY, caught_up
from discreet.ledger.pace import day_of, utc
from discreet.ledger.store import Again, Asked, Head, Row, Store
from discreet.ledger.written import all_rows, changes, price_text, read_rows, retallied, tally, tally_seal

RACES = 50
"""How often a transaction that lost a race is run again before the store is called unusable."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a dataset's history stands, checked; the account is None before its first entry.

    `total` is the tally of the account's rows, None where they have not been written yet; `row` is the newest
    entry as it is stored, and `anchor` what that entry says of the anchor.
    """

    number: int
    mac: bytes
    account: Account | None
    total: int | None
    row: Row | None
    anchor: tuple[str, int] | None


NOWHERE = Position(0, FIRST, None, 0, None, None)


class Turn:
    """The sole writer of a dataset, until the transaction ends."""

    def __init__(
        self,
        store: Store,
        seals: Seals,
        dataset: str,
        standing: Position,
        marks: Marks,
        moment: datetime | None = None,
    ) -> None:
        self.store = store
        self.seals = seals
        self.dataset = dataset
        self.standing = standing
        self.marks = marks
        self.moment = moment or utc()
        self._said: tuple[datetime, str] | None = None

    @property
    def account(self) -> Account:
        """Return the dataset's account, or raise LedgerError if there is none."""
        if self.standing.account is None:
            raise LedgerError(f"the ledger has no dataset {self.dataset}; create it first")
        return self.standing.account

    @property
    def day(self) -> int:
        """Return the day of this turn."""
        return day_of(self.moment)

    def pay(self, request: Request) -> Row:
        """Write a payment down, with its day where a limit per day covers it."""
        return self.append(Reserved(request, self.day if self.account.keeps_days(request) else None))

    def append(self, event: Event, payload: bytes | None = None, *, key: bytes | None = None) -> Row:
        """Apply an event to the account, seal it and store it; if a rule forbids it, raise.

        A key is given only with the event from which on it is to seal.
        """
        number = self.standing.number + 1
        account = self._after(event, number)
        secret = self.seals.key if key is None else key
        own = self.seals.own(self.dataset, secret)
        changed, total = self._changes(account, event, number, own)
        mark = self.marks.heads.get(self.dataset)
        anchor = self.marks.name, 0 if mark is None or isinstance(event, Adopted | Restored) else mark.number
        stored = write_event(event)
        body = canonical(
            {
                "event": stored,
                "rows": tally_seal(own, total),
                "anchor": list(anchor),
                "time": self._time(),
            }
        )
        mac = seal(secret, self.seals.ledger, self.dataset, number, self.standing.mac, body)
        row = Row(
            self.dataset, number, str(stored["kind"]), *_columns(event), body, self.standing.mac, mac, payload
        )
        self.store.append(row, [(name, new) for name, _, new in changed])
        self.standing = Position(number, mac, account, total, row, anchor)
        return row

    def _time(self) -> str:
        """Return the time of this turn in words, which are found once."""
        if self._said is None or self._said[0] is not self.moment:
            self._said = self.moment, self.moment.isoformat(timespec="seconds")
        return self._said[1]

    def _after(self, event: Event, number: int) -> Account:
        match event, self.standing.account:
            case Created(), None:
                return Account.opened(self.dataset, event)
            case _:
                return self.account.after(event, number)

    def _changes(
        self, account: Account, event: Event, number: int, own: bytes
    ) -> tuple[list[tuple[str, str | None, str | None]], int]:
        """Return the rows that an event changes, and the tally after them."""
        before = self.standing
        if before.account is None or before.total is None:
            rows = list(all_rows(account))
            return [(name, None, value) for name, value in rows], tally(own, rows)
        changed = changes(before.account, account, event, number)
        if isinstance(event, Rotated):
            return changed, tally(own, all_rows(account))
        return changed, retallied(own, before.total, changed)


def _columns(event: Event) -> tuple[str | None, str | None, int | None]:
    """Return the look-up columns of an event: request, asked, refers."""
    match event:
        case Reserved(request):
            return request.request_id, fingerprint(request), None
        case Answered(reservation, question):
            return None, question, reservation
        case Retried(reservation) | Failed(reservation):
            return None, None, reservation
        case Advanced(reservation, last=last):
            return None, step_key(last), reservation
        case _:
            return None, None, None


def take_turn(
    store: Store,
    seals: Seals,
    anchor: Anchor,
    dataset: str,
    act: Callable[[Turn], Result],
    known: Position | None = None,
    clock: Callable[[], datetime] = utc,
    *,
    stays: Callable[[Result], bool] = lambda result: False,
    asked: Sequence[Asked] = (),
    reached: int = 0,
) -> tuple[Result, Position]:
    """Run `act` as the dataset's only writer; commit, anchor, and return its result and where it led.

    `stays` says of a result that nothing leaves with it yet; `asked` is what will be asked for; `reached` is
    the newest entry that one has heard of.
    """
    if known is None or reached > known.number + MANY:
        known = glimpse(store, seals, dataset, known)

    def run() -> tuple[Result, Position, Marks]:
        marks = read_marks(anchor, seals.ledger)
        # The clock is read once the dataset is held, so that two who wait for it read it in their order.
        turn = Turn(store, seals, dataset, stand(store, seals, dataset, marks, known), marks, clock())
        result = act(turn)
        return result, turn.standing, marks

    result, standing, marks = exclusively(store, dataset, run, asked, durably=False)
    if standing.number:
        fasten(store, seals, anchor, dataset, standing, marks, durably=not stays(result))
    else:
        store.sync()
    return result, standing


def fasten(
    store: Store,
    seals: Seals,
    anchor: Anchor,
    dataset: str,
    standing: Position,
    marks: Marks,
    *,
    durably: bool = True,
) -> None:
    """Anchor where a history stands, unless somebody else has anchored a later entry of this very history.

    What is anchored is on the disk; the rest may be somebody's commit that is not, so it is synced first.  A
    file that is the anchor need not be on the disk yet where nothing leaves: whoever answers syncs it.
    """
    mark = mark_of(seals, marks, dataset, standing)
    before = marks.heads.get(dataset)
    if before == mark and not (marks.pending and durably):
        return
    if before != mark:
        store.sync()

    def follows(found: Mark) -> bool:
        """Return whether this turn went further than what others have anchored of this very history."""
        recognise(seals, marks, dataset, found)
        row = standing.row if found.number == standing.number else store.shelf.row(dataset, found.number)
        if row is None or row.mac.hex() != found.mac:
            raise LedgerError(
                f"dataset {dataset} exists twice: another copy of its ledger went on meanwhile and was "
                "anchored first.  Nothing was released from this copy; go on with the other one"
            )
        return found.number < mark.number

    if isinstance(anchor, FileAnchor):
        (anchor.move if durably else anchor.note)(marks, dataset, mark, follows)
        return
    for _ in range(RACES):
        found = anchor.move(marks, dataset, mark)
        if found is None or not follows(found):
            return
        marks = Marks(marks.ledger, {**marks.heads, dataset: found}, marks.name)
    raise LedgerError(f"the anchor {anchor} is too busy: others kept moving it")


def mark_of(seals: Seals, marks: Marks, dataset: str, standing: Position) -> Mark:
    """Return the sealed mark of a position."""
    account = standing.account
    spent = "" if account is None else price_text(account.spending(EVERYBODY))
    return sealed_mark(seals.key, marks, dataset, Mark(standing.number, standing.mac.hex(), spent))


def exclusively(
    store: Store,
    dataset: str,
    act: Callable[[], Result],
    asked: Sequence[Asked] = (),
    *,
    durably: bool = True,
) -> Result:
    """Run `act` as the dataset's only writer and commit, from the beginning again if a race was lost."""
    for _ in range(RACES):
        try:
            with store.writing(dataset, asked):
                result = act()
        except Again:
            continue
        if durably:
            store.sync()
        return result
    raise LedgerError(
        f"the ledger {store.name} is too busy, or damaged: {RACES} attempts to write lost a race"
    )


def read_marks(anchor: Anchor, ledger: str) -> Marks:
    """Return what is anchored, refusing another ledger's anchor or none."""
    marks = anchor.read()
    if marks is None or marks.ledger != ledger:
        raise LedgerError(f"the anchor {anchor} is missing or belongs to another ledger")
    return marks


def stand(store: Store, seals: Seals, dataset: str, marks: Marks, known: Position | None = None) -> Position:
    """Return where a dataset stands, or raise LedgerError if its head, totals or anchor do not hold."""
    head = store.head(dataset)
    _contain(store, seals, dataset, head, marks)
    if head.number == head.last == 0 and (known is None or known.number == 0):
        position = NOWHERE
    elif known is None or known.number == 0:
        position = _loaded(store, seals, dataset, head)
    else:
        position = _followed(store, seals, dataset, head, known)
    _hold(dataset, position, marks)
    return position


def glimpse(store: Store, seals: Seals, dataset: str, known: Position | None = None) -> Position | None:
    """Return where a dataset stood a moment ago, None where it has no entries; others go on meanwhile.

    Reading a large account, or much that was added, takes long.  Whoever then takes a turn follows what was
    added since, and only then looks at the anchor, which may have moved on.
    """
    with store.reading():
        head = store.head(dataset)
        if known is not None and known.number:
            return _followed(store, seals, dataset, head, known)
        return None if head.number == head.last == 0 else _loaded(store, seals, dataset, head)


def _loaded(store: Store, seals: Seals, dataset: str, head: Head) -> Position:
    """Read the account's rows, and trust them if they are the ones under the newest entry's seal."""
    entry = newest(seals, head, dataset)
    rows = store.shelf.table(dataset)
    own = seals.own(dataset, seals.key)
    total = tally(own, rows)
    if entry.anchor is None or tally_seal(own, total) != entry.state:
        raise LedgerError(
            f"the running totals of dataset {dataset} were edited: they do not match the sealed digest"
        )
    return Position(head.number, entry.mac, read_rows(dataset, rows), total, head.row, entry.anchor)


def newest(seals: Seals, head: Head, dataset: str) -> Entry:
    """Return the newest entry, if nothing stands above it."""
    if head.row is None or head.last != head.number:
        raise LedgerError(
            f"dataset {dataset} is damaged: its head says entry {head.number}, its entries end at {head.last}"
        )
    return seals.open(head.row)


def _followed(store: Store, seals: Seals, dataset: str, head: Head, known: Position) -> Position:
    """Read what was added since the position that this process remembers."""
    if head.number < known.number:
        raise rolled_back(dataset, known.number, head.number)
    if head.row is None or head.last != head.number:
        newest(seals, head, dataset)
    if head.number == known.number:
        if head.row != known.row:
            raise LedgerError(
                f"entry {head.number} of dataset {dataset} was edited or exchanged while the ledger was open"
            )
        return known
    position = _caught_up(store, seals, dataset, head, known)
    if position is not None:
        return position
    account, previous, entry = known.account, known.mac, None
    rows = store.shelf.rows(dataset, known.number + 1, head.number)
    own, total = seals.own(dataset, seals.key), known.total
    for entry in linked(seals, rows, dataset, known.number + 1, head.number, previous):
        before, account = account, applied(account, entry)
        if total is None or before is None or isinstance(entry.event, Rotated):
            total = tally(own, all_rows(account))
        else:
            total = retallied(own, total, changes(before, account, entry.event, entry.number))
    if entry is None or account is None or total is None or tally_seal(own, total) != entry.state:
        raise LedgerError(
            f"entry {head.number} of dataset {dataset} seals totals that its history contradicts"
        )
    return Position(head.number, entry.mac, account, total, head.row, entry.anchor)


def _caught_up(store: Store, seals: Seals, dataset: str, head: Head, known: Position) -> Position | None:
    """Return where the payments and answers of others have led to, None where anything else is among them."""
    newest, position = head.row, known
    while newest is not None and position.number < head.number:
        first, last = position.number + 1, min(position.number + MANY, head.number)
        rows = [tuple(newest)] if first == head.number else store.shelf.batch(dataset, first, last)
        if position.account is None or position.total is None or len(rows) != last - first + 1:
            return None
        before = position.account, position.total
        found = caught_up(seals, dataset, before, position.mac, first, rows)
        if found is None or (last == head.number and rows[-1] != newest):
            return None
        account, total, anchor = found
        row = Row._make(rows[-1])
        position = Position(last, row.mac, account, total, row, anchor)
    return position


def _contain(store: Store, seals: Seals, dataset: str, head: Head, marks: Marks) -> None:
    """Raise LedgerError unless the store contains what is anchored."""
    mark = marks.heads.get(dataset)
    if mark is None:
        return
    recognise(seals, marks, dataset, mark)
    if mark.number > head.number:
        raise rolled_back(dataset, mark.number, head.number)
    row = head.row if mark.number == head.number else store.shelf.row(dataset, mark.number)
    if row is None or row.mac.hex() != mark.mac:
        raise LedgerError(
            f"dataset {dataset} does not contain its anchored entry {mark.number}: it was exchanged, or "
            "another copy of it went on and was anchored first"
        )


def _hold(dataset: str, position: Position, marks: Marks) -> None:
    """Raise LedgerError unless the anchor is the one that the newest entry names, and as far as it says."""
    if position.anchor is None or marks.name == ANY:
        return
    name, reached = position.anchor
    if name != marks.name:
        raise LedgerError(
            f"dataset {dataset} is anchored elsewhere than in the anchor that was given; bring the anchor "
            "that its entries name, or inspect the ledger and call adopt_ledger()"
        )
    if reached and (dataset not in marks.heads or marks.heads[dataset].number < reached):
        raise LedgerError(
            f"the anchor was cut or put back: entry {position.number} of dataset {dataset} was written "
            f"when it had reached entry {reached}; bring back the newest anchor"
        )


def rolled_back(dataset: str, known: int, found: int) -> LedgerError:
    """Return the error for a history that ends before what is known of it."""
    return LedgerError(
        f"dataset {dataset} was rolled back: its anchor knows entry {known}, the ledger ends at entry "
        f"{found}.  Bring the newer ledger back; if it is lost, run discreet ledger restore, which counts "
        "what may have been released since as spent, or close the dataset"
    )


def recognise(seals: Seals, marks: Marks, dataset: str, mark: Mark) -> None:
    """Raise LedgerError unless a mark was sealed by this ledger, under a key that was in force then."""
    keys = seals.keys_since(dataset, mark.number)
    if not any(sealed_mark(key, marks, dataset, mark) == mark for key in keys):
        raise LedgerError(
            f"the anchor's mark of dataset {dataset} was edited or forged: its seal does not match"
        )
