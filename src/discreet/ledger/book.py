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
  * No error gives anything back, and no clock decides anything but how long somebody waits and on which day
    a payment counts; one that goes back gives nothing more.
  * An interrupt at any moment leaves the ledger usable: what is being written is written, or is not.
  * Edits, forgeries, truncations, second copies and restored ones are refused, on opening and on every write.
  * Names have one form, limits are decided by curators, and a stream's steps are taken by who began it.

What is checked when.  Opening checks the seals and links of the newest entries (`RECENT` of each dataset,
and everything above the anchor), the heads, every row of the accounts and the anchor.  Every write checks
that the newest entry is the one that this ledger remembers, what others added since, the anchor, and every
entry it makes use of.  So an edit of an old entry can never move a budget or reach an answer unnoticed;
`verify` replays everything and finds it even where nobody looks.
"""

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, TypeVar

from discreet.errors import BudgetError, ConflictError, LedgerError, ParameterError
from discreet.ledger import asking, check, past, streaming
from discreet.ledger.anchor import Anchor, Marks
from discreet.ledger.codec import lease_key
from discreet.ledger.deputy import answering
from discreet.ledger.entry import (
    EVERYBODY,
    STREAM_ID,
    Closed,
    Created,
    Entry,
    Event,
    Granted,
    Joined,
    Left,
    Limited,
    Paced,
    Receipt,
    Request,
    Scope,
    Stored,
    Streaming,
    Succeeded,
    named,
)
from discreet.ledger.gauge import Counters, Gauges, log, measured
from discreet.ledger.name import normal, normal_scope, one_name
from discreet.ledger.pace import Pace, utc
from discreet.ledger.sharing import Apart, Lines
from discreet.ledger.shield import shielded
from discreet.ledger.signing import Name, check_signature, public_name, signed
from discreet.ledger.store import Store
from discreet.ledger.teller import Teller
from discreet.ledger.turn import Position, Turn, read_marks, take_turn
from discreet.ledger.verifying import verify_all, verify_recent
from discreet.ledger.view import BudgetView, view
from discreet.privacy.filter import Budget

Role = Literal["curator", "analyst", "auditor"]
CURATOR: Role = "curator"
Result = TypeVar("Result")


class Ledger:
    """An open ledger; one object may be shared by threads, not by processes."""

    def __init__(self, store: Store, seals: check.Seals, anchor: Anchor, role: Role = CURATOR) -> None:
        self._store = store
        self._seals = seals
        self._anchor = anchor
        self._role = role
        self._process = os.getpid()
        self._known: dict[str, Position] = {}
        self._errands = Lines(store, seals, anchor, self._turn)
        self.counters = Counters()
        self._teller = Teller(store, seals.ledger, self._errands, self.counters)
        self.clock = utc

    @property
    def identity(self) -> str:
        """Return the ledger's random name, which stands in every receipt."""
        return self._seals.ledger

    @property
    def role(self) -> Role:
        """Return what whoever holds this object may do."""
        return self._role

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; requests still running may then be run by others."""

        def close() -> None:
            self._errands.close()
            with self._store.gate(""):
                self._store.close()
                self._anchor.close()

        shielded(close)

    def reserve(self, request: Request) -> Granted | Stored:
        """Pay for a request, or return the answer that was already paid for.

        Raises BudgetError, naming the limit, if one refuses; nothing is then charged.  Raises ConflictError
        if the id was used for another question, or its request failed or is still run by somebody else.
        """
        self._require("curator", "analyst")
        asked = normal(request)
        if asked.request_id.startswith(STREAM_ID):
            raise ParameterError(
                f"request_id must not begin with {STREAM_ID!r}, as the ids of streams do; choose another id"
            )

        def unwanted(outcome: Granted | Stored) -> None:
            if isinstance(outcome, Granted):
                self.abandon(outcome)

        self._refuse_fork()
        outcome = self._teller.pay(asked, unwanted)
        return outcome if isinstance(outcome, Granted) else self._signed(outcome)

    def find(self, request: Request) -> Stored | None:
        """Return the answer to a question, if it was paid for and given before; nothing is charged."""
        self._require("curator", "analyst")
        asked = normal(request)
        found = self._share(asked.dataset, lambda turn: asking.find(turn, asked))
        return None if found is None else self._signed(found)

    def answer(self, granted: Granted, payload: bytes) -> Stored:
        """Record an answer and return the one that may leave: the first that was recorded."""
        self._refuse_fork()
        act = partial(asking.answer, granted=granted, payload=payload)
        stored = self._teller.settle(granted, act, partial(answering, granted, payload))
        self.counters.count("answered")
        log("answered", granted.dataset, entry=stored.receipt.number, size=len(stored.payload))
        return self._signed(stored)

    def fail(self, granted: Granted, reason_code: str) -> None:
        """Record that a paid request will not be answered; it stays spent."""
        self._refuse_fork()
        self._teller.settle(granted, lambda turn: asking.fail(turn, granted, reason_code))
        self.counters.count("failed")
        log("failed", granted.dataset, entry=granted.number, code=reason_code)

    def abandon(self, granted: Granted) -> None:
        """Give up running a request without an outcome: it stays spent, and may be asked again, free."""
        shielded(lambda: self._store.release(lease_key(self.identity, granted.request)))
        self.counters.count("abandoned")

    def open_stream(self, request: Request, state: bytes) -> Streaming:
        """Pay for a stream that begins in this state, or go on with the one that the same question began."""
        self._require("curator", "analyst")
        return self._write(request.dataset, lambda turn: streaming.begin(turn, normal(request), state))

    def find_stream(self, dataset: str, request_id: str, analyst: str) -> Streaming | None:
        """Return the stream that was begun under this id, or None if there is none."""
        name = one_name(analyst, "analyst")
        return self._write(dataset, lambda turn: streaming.find(turn, request_id, name))

    def streams(self, dataset: str, analyst: str) -> tuple[Streaming, ...]:
        """Return the streams that an analyst began, the oldest first."""
        return self._write(dataset, lambda turn: streaming.begun(turn, one_name(analyst, "analyst")))

    def advance(self, stream: Streaming, first: int, take: Callable[[bytes], streaming.Taken]) -> Stored:
        """Release the step `first` of a stream, or return what was released for it before.

        `take` gets the state after the steps before, draws, and returns what it leads to; it may be called
        again if a race was lost, and only what it returned last is recorded and may leave.
        """
        self._require("curator", "analyst")
        return self._write(stream.dataset, lambda turn: streaming.advance(turn, stream, first, take))

    def recorded(self, stream: Streaming, first: int, last: int) -> tuple[Stored, ...]:
        """Return what a stream released at the steps first .. last, in order; entries may reach further."""
        return self._write(stream.dataset, lambda turn: streaming.recorded(turn, stream, first, last))

    def steps(self, stream: Streaming) -> int:
        """Return how many steps a stream has released."""
        return self._write(stream.dataset, lambda turn: turn.account.standing(stream.number).step)

    def create_dataset(
        self,
        dataset: str,
        budget: Budget,
        *,
        analysts: Iterable[str] | None = None,
        reason: str,
        instead_of: str | None = None,
    ) -> None:
        """Open an account: `budget` caps what everybody together will ever learn.

        `analysts` names who may ask; None lets whoever can open the ledger ask.  `instead_of` is the name of
        an account that was lost or is given up, which the new one remembers.
        """
        self._require("curator")
        listed = None if analysts is None else tuple(sorted({one_name(name, "analyst") for name in analysts}))

        def create(turn: Turn) -> None:
            turn.append(Created(budget, listed, reason))
            if instead_of is not None:
                turn.append(Succeeded(instead_of, reason))

        self._write(named(dataset, "dataset"), create)
        log("created", dataset)

    def set_limit(self, dataset: str, scope: Scope, budget: Budget, *, reason: str) -> None:
        """Set, raise or lower the limit on a scope; everything spent before counts."""
        self._administer(dataset, Limited(normal_scope(scope), budget, reason))

    def set_pace(self, dataset: str, scope: Scope, pace: Pace, *, reason: str) -> None:
        """Set the most that one question and one day of a scope may cost; an empty pace lifts both."""
        self._administer(dataset, Paced(normal_scope(scope), pace, reason))

    def add_analyst(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Let an analyst ask."""
        self._administer(dataset, Joined(one_name(analyst, "analyst"), reason))

    def remove_analyst(self, dataset: str, analyst: str, *, reason: str) -> None:
        """Let an analyst no longer ask; what they spent stays spent."""
        self._administer(dataset, Left(one_name(analyst, "analyst"), reason))

    def close_dataset(self, dataset: str, *, reason: str) -> None:
        """Spend nothing more on a dataset, for ever."""
        self._administer(dataset, Closed(reason))

    def datasets(self) -> tuple[str, ...]:
        """Return the names of all datasets."""
        return self._alone(lambda: tuple(self._store.datasets()))

    def budget(self, dataset: str) -> BudgetView:
        """Return each limit, what is spent and what is left, and what everybody could learn together."""
        return self._write(dataset, lambda turn: view(turn.account, turn.standing.number, turn.day))

    def cap(self, dataset: str) -> Budget | None:
        """Return the cap on what everybody together may learn, None where there is no such dataset."""
        limits = self._write(dataset, lambda t: {} if t.standing.account is None else t.account.limits)
        return limits.get(EVERYBODY)

    def account_name(self, dataset: str) -> Name:
        """Return the name of a dataset's account, to be pinned where its data is declared."""

        def name(turn: Turn) -> Name:
            row = turn.store.shelf.row(dataset, 1)
            if row is None or turn.standing.account is None:
                raise LedgerError(f"the ledger has no dataset {dataset}; create it first")
            return Name(self.identity, turn.seals.open(row).mac.hex()[:32], public_name(self._seals.key))

        return self._write(dataset, name)

    def require_account(self, dataset: str, name: Name) -> None:
        """Raise LedgerError unless this dataset's account is the one with this name."""
        found = self.account_name(dataset) if dataset in self.datasets() else None
        known = {public_name(key) for key in self._seals.ring(dataset)}
        same = found is not None and (found.ledger, found.first) == (name.ledger, name.first)
        if not same or name.public not in known:
            raise LedgerError(
                f"the ledger {self._store.name} does not hold the account {name.short} that was declared for "
                f"dataset {dataset}: it was lost, emptied, renamed or exchanged, and what was spent there is "
                "not known here.  Bring that ledger back, or restore it with `discreet ledger restore`; to "
                "begin a new account that remembers the old one, run `discreet ledger begin` with a reason"
            )

    def history(self, dataset: str, *, last: int = 100, before: int | None = None) -> tuple[Entry, ...]:
        """Return the newest entries, or the newest before one, oldest first, each one checked."""
        end = self._end(dataset, before)
        part = dataset, max(1, end - last + 1), end
        shelf, seals = self._store.shelf, self._seals
        return self._alone(lambda: tuple(check.linked(seals, shelf.rows(*part), *part)))

    def questions_of(
        self, dataset: str, analyst: str, *, last: int = 100, before: int | None = None
    ) -> past.Page:
        """Return what one analyst asked, whatever others did, and what became of it; each entry is checked.

        At most the `past.SEARCHED` entries before `before` are looked at; the page says where to go on.
        """
        end = self._end(dataset, before)
        part = self._seals, self._store.shelf, dataset, one_name(analyst, "analyst"), end, last
        return self._alone(lambda: past.page(*part))

    def _end(self, dataset: str, before: int | None) -> int:
        """Return the number of the newest entry, or of the newest before one."""
        end = self._write(dataset, lambda turn: turn.standing.number)
        return end if before is None else min(end, before - 1)

    def newest(self, dataset: str) -> Receipt:
        """Return the signed receipt of the newest entry: kept with a backup, it shows whether more came."""
        return self._write(dataset, asking.newest)

    def verify_receipt(self, receipt: Receipt) -> Entry:
        """Return the entry that a receipt proves, or raise LedgerError if this ledger does not hold it."""
        if receipt.signature:
            keys = self._seals.keys_since(receipt.dataset, receipt.number)
            check_signature([public_name(key) for key in keys], receipt)
        row = self._alone(lambda: self._store.shelf.row(receipt.dataset, receipt.number))
        return check.proven(self._seals, row, receipt)

    def verify(
        self, progress: check.Progress = lambda done, total: None, *, incremental: bool = False
    ) -> check.Report:
        """Check everything, trusting nothing but the key and the anchor, and explain what was found.

        `incremental` begins where the last verification that found nothing stopped.
        """
        self._errands.deputy.rest()  # it may take long, and nobody else has to wait for it
        place = self._store, self._seals, self._marks, progress
        return self._alone(lambda: verify_all(*place, incremental=incremental))

    def check_recent(self) -> None:
        """Raise LedgerError unless the newest entries, the heads, the totals and the anchor hold."""
        self._known.update(self._alone(lambda: verify_recent(self._store, self._seals, self._marks)))

    def gauges(self, dataset: str) -> Gauges:
        """Return how a dataset stands at this moment, for a monitor; the anchor as it was found."""

        def measure(turn: Turn) -> Gauges:
            mark = turn.marks.heads.get(dataset)
            return measured(turn.account, turn.standing.number, mark.number if mark else 0)

        return self._write(dataset, measure)

    def _signed(self, stored: Stored) -> Stored:
        return Stored(stored.payload, signed(self._seals.key, stored.receipt))

    def _administer(self, dataset: str, event: Event) -> None:
        self._require("curator")
        self._write(dataset, lambda turn: turn.append(event))
        log(type(event).__name__.lower(), dataset)

    def _require(self, *roles: Role) -> None:
        if self._role not in roles:
            raise LedgerError(
                f"this ledger was opened as {self._role}, who may not do this; open it as {roles[0]}"
            )

    def _write(self, dataset: str, act: Callable[[Turn], Result]) -> Result:
        return self._alone(lambda: self._turn(dataset, act), dataset)

    def _share(self, dataset: str, act: Callable[[Turn], Result], *hints: Any) -> Result:
        """Write at most one entry, after every check, in one turn with whoever else waits for one."""
        self._refuse_fork()
        return shielded(partial(self._errands.done, dataset, act, *hints))

    def _turn(self, dataset: str, act: Callable[[Turn], Result], **hints: Any) -> Result:
        known = self._known.pop(dataset, None)
        place = self._store, self._seals, self._anchor, dataset

        def looked(turn: Turn) -> Result:
            if known is not None and turn.standing is not known:
                self._errands.deputy.notice()
            return act(turn)

        result: Result
        try:
            reached = self._errands.deputy.reached.get(dataset, 0)
            turned = take_turn(*place, looked, known, self.clock, reached=reached, **hints)
            result, self._known[dataset] = turned
        except (BudgetError, ConflictError, Apart):
            if known is not None:
                self._known[dataset] = known  # a rule refused, and nothing was written
            raise
        return result

    def _alone(self, act: Callable[[], Result], dataset: str = "") -> Result:
        """Use the store without other threads, and where no interrupt leaves it half used."""
        self._refuse_fork()

        def alone() -> Result:
            with self._store.gate(dataset):
                return act()

        return shielded(alone)

    def _marks(self) -> Marks:
        return read_marks(self._anchor, self.identity)

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            raise LedgerError("this ledger was opened by another process; open it again after a fork")
