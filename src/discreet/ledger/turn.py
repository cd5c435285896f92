"""One writer's turn at one dataset: check where it stands, add entries, commit, anchor.

A turn begins by checking the head's seal, the account's digest under it, that nothing stands above the head,
and that the store contains what was anchored.  The anchor is read inside the turn, when nobody else can move
the head, so an honest one is never ahead.  After the commit the head is anchored, and only then does the
turn return; that holds also for a turn that only read, because an answer may not leave above an old anchor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from discreet.errors import LedgerError
from discreet.ledger.account import Account, read_account, write_account
from discreet.ledger.anchor import Anchor, Mark, Marks
from discreet.ledger.chain import FIRST, seal
from discreet.ledger.check import Seals, hold, trusted_head
from discreet.ledger.codec import canonical, digest, fingerprint, step_key, write_event
from discreet.ledger.entry import Advanced, Answered, Created, Event, Failed, Reserved, Retried
from discreet.ledger.store import Again, Row, Store

RACES = 50
"""How often a transaction that lost a race is run again before the store is called unusable."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a dataset's history stands, checked; the account is None before its first entry."""

    number: int
    mac: bytes
    account: Account | None


class Turn:
    """The sole writer of a dataset, until the transaction ends."""

    def __init__(self, store: Store, seals: Seals, dataset: str, standing: Position) -> None:
        self.store = store
        self.seals = seals
        self.dataset = dataset
        self.standing = standing

    @property
    def account(self) -> Account:
        """Return the dataset's account, or raise LedgerError if there is none."""
        if self.standing.account is None:
            raise LedgerError(f"the ledger has no dataset {self.dataset}; create it first")
        return self.standing.account

    def append(self, event: Event, payload: bytes | None = None) -> Row:
        """Apply an event to the account, seal it and store it; if a rule forbids it, raise."""
        number = self.standing.number + 1
        account = self._after(event, number)
        state = write_account(account)
        stored = write_event(event)
        body = canonical(
            {
                "event": stored,
                "state": digest(state.encode()),
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        mac = seal(self.seals.key, self.seals.ledger, self.dataset, number, self.standing.mac, body)
        row = Row(
            self.dataset, number, str(stored["kind"]), *_columns(event), body, self.standing.mac, mac, payload
        )
        self.store.append(row, state)
        self.standing = Position(number, mac, account)
        return row

    def _after(self, event: Event, number: int) -> Account:
        match event, self.standing.account:
            case Created(), None:
                return Account.opened(self.dataset, event)
            case _:
                return self.account.after(event, number)


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
    store: Store, seals: Seals, anchor: Anchor, dataset: str, act: Callable[[Turn], Result]
) -> Result:
    """Run `act` as the dataset's only writer; commit, anchor, and return its result."""

    def run() -> tuple[Result, Position]:
        marks = read_marks(anchor, seals.ledger)
        turn = Turn(store, seals, dataset, stand(store, seals, dataset, marks))
        result = act(turn)
        return result, turn.standing

    result, standing = exclusively(store, dataset, run)
    if standing.number:
        anchor.advance(seals.ledger, dataset, Mark(standing.number, standing.mac.hex()))
    return result


def exclusively(store: Store, dataset: str, act: Callable[[], Result]) -> Result:
    """Run `act` as the dataset's only writer and commit, from the beginning again if a race was lost."""
    for _ in range(RACES):
        try:
            with store.writing(dataset):
                result = act()
        except Again:
            continue
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


def stand(store: Store, seals: Seals, dataset: str, marks: Marks) -> Position:
    """Return where a dataset stands, or raise LedgerError if its head, totals or anchor do not hold."""
    head = store.head(dataset)
    hold(store, dataset, head, marks.heads.get(dataset))
    if head.number == head.last == 0:
        return Position(0, FIRST, None)
    entry = trusted_head(seals, head, dataset)
    return Position(head.number, entry.mac, read_account(head.state))
