"""The ledger: a privacy budget that cannot be overspent, lost or forged.

Promises, each one tested:

  * What is released was paid for before: `reserve` is durable when it returns, and `answer` is durable before
    the bytes may leave.  A crash at any point leaves spent >= released.
  * Check and spend are one transaction against every limit that covers the request.
  * A request id has one question and one answer, for ever.  Asked again it returns the same bytes, free;
    asked again before it was answered it runs again, free, at most three times in all; asked with another
    question it is refused.  The same question on the same snapshot is free for whoever may see the dataset:
    it waits for an answer that is just being found, and takes over a run that broke off, under whatever id.
  * A stream is paid for once, for all its steps.  A step has one answer, for ever, and goes on from the state
    that the step before it left, which only the ledger's key can read.
  * No error gives anything back, and no clock decides anything but how long somebody waits.
  * An interrupt at any moment leaves the ledger usable: what is being written is written, or is not.
  * Edits, forgeries, truncations and restored copies are refused, on opening and on every write.

What is checked when.  Opening checks the seals and links of the newest entries (`RECENT` of each dataset, and
everything above the anchor), the heads, the totals and the anchor.  Every write checks the head's seal, the
totals under it, the anchor, and every entry it makes use of.  So an edit of an old entry can never move a
budget or reach an answer unnoticed; `verify` replays everything and finds it even where nobody looks.
"""

import os
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from discreet.errors import BusyError, ConflictError, LedgerError
from discreet.ledger import asking, check, streaming
from discreet.ledger.anchor import Anchor
from discreet.ledger.codec import lease_key
from discreet.ledger.entry import (
    Closed,
    Created,
    Entry,
    Event,
    Granted,
    Joined,
    Left,
    Limited,
    Receipt,
    Request,
    Scope,
    Stored,
    Streaming,
    named,
)
from discreet.ledger.shield import refuse_deserted, shielded
from discreet.ledger.store import Store
from discreet.ledger.turn import Turn, exclusively, read_marks, stand, take_turn
from discreet.ledger.view import BudgetView, view
from discreet.privacy.filter import Budget

RECENT = 1000
PATIENCE = 60.0
"""For so many seconds a caller waits for the answer that somebody else is just finding."""

Result = TypeVar("Result")


class Ledger:
    """An open ledger; one object may be shared by threads, not by processes."""

    def __init__(self, store: Store, seals: check.Seals, anchor: Anchor) -> None:
        self._store = store
        self._seals = seals
        self._anchor = anchor
        self._lock = threading.RLock()
        self._process = os.getpid()

    @property
    def identity(self) -> str:
        """Return the ledger's random name, which stands in every receipt."""
        return self._seals.ledger

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; requests still running may then be run by others."""

        def close() -> None:
            with self._lock:
                self._store.close()

        shielded(close)

    def reserve(self, request: Request) -> Granted | Stored:
        """Pay for a request, or return the answer that was already paid for.

        Raises BudgetError, naming the limit, if one refuses; nothing is then charged.  Raises ConflictError
        if the id was used for another question, or its request failed or is still run by somebody else.
        """

        def unwanted(outcome: Granted | Stored) -> None:
            if isinstance(outcome, Granted):
                self.abandon(outcome)

        return shielded(lambda: self._reserve(request), dropped=unwanted)

    def _reserve(self, request: Request) -> Granted | Stored:
        lease = lease_key(self.identity, request)
        self._wait_for(lease, request)
        try:
            refuse_deserted()
            outcome = self._write(request.dataset, lambda turn: asking.reserve(turn, request))
        except BaseException:
            self._store.release(lease)
            raise
        if not isinstance(outcome, Granted):
            self._store.release(lease)
        if isinstance(outcome, ConflictError):
            raise outcome
        return outcome

    def answer(self, granted: Granted, payload: bytes) -> Stored:
        """Record an answer and return the one that may leave: the first that was recorded."""
        return self._settle(granted, lambda turn: asking.answer(turn, granted, payload))

    def fail(self, granted: Granted, reason_code: str) -> None:
        """Record that a paid request will not be answered; it stays spent."""
        self._settle(granted, lambda turn: asking.fail(turn, granted, reason_code))

    def abandon(self, granted: Granted) -> None:
        """Give up running a request without an outcome: it stays spent, and may be asked again, free."""
        shielded(lambda: self._store.release(lease_key(self.identity, granted.request)))

    def _settle(self, granted: Granted, act: Callable[[Turn], Result]) -> Result:
        def settle() -> Result:
            try:
                return self._write(granted.dataset, act)
            finally:
                self._store.release(lease_key(self.identity, granted.request))

        return shielded(settle)

    def open_stream(self, request: Request, state: bytes) -> Streaming:
        """Pay for a stream that begins in this state, or go on with the one that the same question began.

        Raises BudgetError if a limit refuses, and ConflictError if the id stands for something else.
        """
        return self._write(request.dataset, lambda turn: streaming.begin(turn, request, state))

    def find_stream(self, dataset: str, request_id: str, analyst: str) -> Streaming | None:
        """Return the stream that was begun under this id, or None if there is none."""
        return self._write(dataset, lambda turn: streaming.find(turn, request_id, analyst))

    def advance(self, stream: Streaming, first: int, take: Callable[[bytes], streaming.Taken]) -> Stored:
        """Release the step `first` of a stream, or return what was released for it before.

        `take` gets the state after the steps before, draws, and returns what it leads to; it may be called
        again if a race was lost, and only what it returned last is recorded and may leave.
        """
        return self._write(stream.dataset, lambda turn: streaming.advance(turn, stream, first, take))

    def recorded(self, stream: Streaming, first: int, last: int) -> tuple[Stored, ...]:
        """Return what a stream released at the steps first .. last, in order; entries may reach further."""
        return self._write(stream.dataset, lambda turn: streaming.recorded(turn, stream, first, last))

    def steps(self, stream: Streaming) -> int:
        """Return how many steps a stream has released."""
        return self._write(stream.dataset, lambda turn: turn.account.standing(stream.number).step)

    def create_dataset(
        self, dataset: str, budget: Budget, *, analysts: Iterable[str] | None = None, reason: str
    ) -> None:
        """Open an account: `budget` caps what everybody together will ever learn.

        `analysts` names who may ask; None lets whoever can open the ledger ask.
        """
        names = (
            None if analysts is None else tuple(sorted({named(analyst, "analyst") for analyst in analysts}))
        )
        self._administer(named(dataset, "dataset"), Created(budget, names, reason))

    def set_limit(self, dataset: str, scope: Scope, budget: Budget, *, reason: str) -> None:
        """Set, raise or lower the limit on a scope; everything spent before counts."""
        self._administer(dataset, Limited(scope, budget, reason))

    def add_analyst(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Let an analyst ask."""
        self._administer(dataset, Joined(named(analyst, "analyst"), reason))

    def remove_analyst(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Let an analyst no longer ask; what they spent stays spent."""
        self._administer(dataset, Left(named(analyst, "analyst"), reason))

    def close_dataset(self, dataset: str, *, reason: str) -> None:
        """Spend nothing more on a dataset, for ever."""
        self._administer(dataset, Closed(reason))

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all datasets."""
        return self._alone(lambda: tuple(self._store.datasets()))

    def budget(self, dataset: str) -> BudgetView:
        """Return each limit, what is spent and what is left, and what everybody could learn together."""
        return self._write(dataset, lambda turn: view(turn.account, turn.standing.number))

    def history(self, dataset: str, *, last: int = 100) -> tuple[Entry, ...]:
        """Return the newest entries, oldest first, each one checked."""
        end = self._write(dataset, lambda turn: turn.standing.number)
        first = max(1, end - last + 1)

        def read() -> tuple[Entry, ...]:
            rows = self._store.shelf.rows(dataset, first, end)
            return tuple(check.linked(self._seals, rows, dataset, first, end))

        return self._alone(read)

    def verify_receipt(self, receipt: Receipt) -> Entry:
        """Return the entry that a receipt proves, or raise LedgerError if this ledger does not hold it."""
        row = (
            self._alone(lambda: self._store.shelf.row(receipt.dataset, receipt.number))
            if receipt.ledger == self.identity
            else None
        )
        if row is None or row.mac.hex() != receipt.mac:
            raise LedgerError(
                f"this ledger does not hold entry {receipt.number} of dataset {receipt.dataset} as the "
                "receipt has it: either the receipt is not from here, or the ledger was rolled back"
            )
        return self._seals.open(row)

    def verify(self, progress: Callable[[int, int], None] = lambda done, total: None) -> check.Report:
        """Check everything, trusting nothing but the key and the anchor, and explain what was found."""
        return self._alone(lambda: self._verify(progress))

    def _verify(self, progress: Callable[[int, int], None]) -> check.Report:
        findings = []
        marks = read_marks(self._anchor, self.identity)
        for dataset in sorted({*self._store.datasets(), *marks.heads}):
            head = partial(exclusively, self._store, dataset, partial(self._store.head, dataset))
            inside = partial(check.check_secrets, self._store, self._seals, dataset)
            streams = partial(exclusively, self._store, dataset, inside)
            findings.append(
                check.verify_dataset(self._store, self._seals, dataset, head, streams, marks, progress)
            )
        return check.Report(self.identity, tuple(findings), self._store.damage())

    def check_recent(self) -> None:
        """Raise LedgerError unless the newest entries, the heads, the totals and the anchor hold."""
        self._alone(self._check_recent)

    def _check_recent(self) -> None:
        marks = read_marks(self._anchor, self.identity)
        for dataset in sorted({*self._store.datasets(), *marks.heads}):
            where = partial(stand, self._store, self._seals, dataset, marks)
            end = exclusively(self._store, dataset, where).number
            anchored = marks.heads[dataset].number if dataset in marks.heads else 1
            first = max(1, min(anchored, end - RECENT + 1))
            for _ in check.linked(
                self._seals, self._store.shelf.rows(dataset, first, end), dataset, first, end
            ):
                pass

    def _administer(self, dataset: str, event: Event) -> None:
        self._write(dataset, lambda turn: turn.append(event))

    def _write(self, dataset: str, act: Callable[[Turn], Result]) -> Result:
        return self._alone(lambda: take_turn(self._store, self._seals, self._anchor, dataset, act))

    def _alone(self, act: Callable[[], Result]) -> Result:
        """Use the store without other threads, and where no interrupt leaves it half used."""
        if os.getpid() != self._process:
            raise LedgerError("this ledger was opened by another process; open it again after a fork")

        def alone() -> Result:
            with self._lock:
                return act()

        return shielded(alone)

    def _wait_for(self, lease: str, request: Request) -> None:
        if os.getpid() != self._process:
            raise LedgerError("this ledger was opened by another process; open it again after a fork")
        if not self._store.lease(lease, PATIENCE):
            raise BusyError(
                f"request {request.request_id} asks what is still being run by somebody else; nothing was "
                "charged: ask again later, and the answer is free"
            )
