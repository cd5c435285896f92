"""Where requests are paid for and settled: the lease of a question around the turns that it needs.

Whoever pays holds the lease of its question until it is settled, so nobody else runs it meanwhile.  As a rule
the lease is free, and the clerk of a dataset does all of it, before and after its turn: whoever asked is
woken once.  Otherwise (somebody else runs the question, the lease has to be asked for on a server, or another
process does the errand) it is done by shielded work, which may wait.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from discreet.errors import BudgetError, BusyError, ConflictError, LedgerError
from discreet.ledger import asking
from discreet.ledger.codec import fingerprint, lease_key
from discreet.ledger.deputy import Told, paying, repeating
from discreet.ledger.entry import Granted, Request, Stored
from discreet.ledger.gauge import Counters, log, reason
from discreet.ledger.sharing import Lines, Outcome
from discreet.ledger.shield import refuse_deserted, shielded, within_shield
from discreet.ledger.store import Asked, Store
from discreet.ledger.turn import Turn

PATIENCE = 60.0
"""For so many seconds a caller waits for the answer that somebody else is just finding."""

SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.1

REMEMBERED = 10_000
"""Of so many questions it is remembered that they were answered; whether they are, the ledger says."""

Result = TypeVar("Result")
Paid = Granted | Stored


class Leased(Exception):  # noqa: N818
    """Somebody else runs a question."""


class Teller:
    """Pays for requests and settles them; threads may come at once."""

    def __init__(self, store: Store, ledger: str, lines: Lines, counters: Counters) -> None:
        self._store = store
        self._ledger = ledger
        self._lines = lines
        self._counters = counters
        self._answered: dict[str, None] = {}
        """The leases of questions that were answered: whoever asks one again need not hold it to be told."""

    def pay(self, request: Request, unwanted: Callable[[Paid], None]) -> Paid:
        """Pay, or return the answer that there is; what nobody waits for any more is `unwanted`."""
        if self._entrusts():
            try:
                return self._promptly(request, unwanted)
            except Leased:
                pass
        return shielded(lambda: self._counted(request, lambda: self._patiently(request)), dropped=unwanted)

    def settle(
        self, granted: Granted, act: Callable[[Turn], Result], told: Callable[[], Told] | None = None
    ) -> Result:
        """Write how a request ended, and let go of its lease."""
        lease = lease_key(self._ledger, granted.request)

        def after(outcome: Outcome) -> Result:
            if isinstance(outcome.result, Stored):
                self._remember(lease)
            self._store.release(lease, settled=isinstance(outcome.result, Stored))
            if outcome.refusal is not None:
                raise outcome.refusal
            settled: Result = outcome.result
            return settled

        if self._entrusts():
            return self._lines.entrusted(granted.dataset, act, None, lambda _: None, after)
        return shielded(lambda: after(self._done(granted.dataset, act, told=told)))

    def _entrusts(self) -> bool:
        """Return whether the clerk of this process can do all of an errand."""
        return self._store.prompt and not self._lines.deputy.asks and not within_shield()

    def _promptly(self, request: Request, unwanted: Callable[[Paid], None]) -> Paid:
        lease, asked = lease_key(self._ledger, request), (request.request_id, fingerprint(request))
        leased = False

        def before(deserted: bool) -> None:
            nonlocal leased
            if deserted:
                raise BusyError("whoever asked was interrupted and no longer waits for an answer")
            leased = self._store.lease(lease, 0)
            if not leased:
                raise Leased

        def after(outcome: Outcome) -> Paid:
            if isinstance(outcome.refusal, Leased):
                raise outcome.refusal
            # What somebody else holds is not let go of.
            return self._counted(request, lambda: self._paid(lease if leased else None, outcome))

        act = partial(asking.reserve, request=request)
        return self._lines.entrusted(request.dataset, act, asked, before, after, dropped=unwanted)

    def _patiently(self, request: Request) -> Paid:
        lease, asked = lease_key(self._ledger, request), (request.request_id, fingerprint(request))
        found = self._told_again(request, asked) if lease in self._answered else None
        found = self._wait_for(lease, request) if found is None else found
        if found is not None:
            return found
        act = partial(asking.reserve, request=request)
        try:
            refuse_deserted()
        except BusyError as refusal:
            return self._paid(lease, Outcome(None, refusal))
        return self._paid(lease, self._done(request.dataset, act, asked, partial(paying, request)))

    def _told_again(self, request: Request, asked: Asked) -> Stored | None:
        """Return the answer that a question has, if nothing stands against its being asked under this id."""
        act = partial(asking.repeat, request=request)
        return self._lines.done(request.dataset, act, asked, partial(repeating, request))

    def _remember(self, lease: str) -> None:
        if len(self._answered) >= REMEMBERED:
            self._answered.clear()
        self._answered[lease] = None

    def _done(
        self,
        dataset: str,
        act: Callable[[Turn], object],
        asked: Asked | None = None,
        told: Callable[[], Told] | None = None,
    ) -> Outcome:
        try:
            return Outcome(self._lines.done(dataset, act, asked, told), None)
        except BaseException as refusal:
            return Outcome(None, refusal)

    def _paid(self, lease: str | None, outcome: Outcome) -> Paid:
        """Return or raise what came of paying, and let go of the lease unless something is to be run."""
        paid, refusal = outcome
        if lease is not None and isinstance(paid, Stored):
            self._remember(lease)
        if lease is not None and not isinstance(paid, Granted):
            self._store.release(lease, settled=isinstance(paid, Stored))
        if refusal is None and isinstance(paid, Granted | Stored):
            return paid
        raise refusal or paid

    def _counted(self, request: Request, pay: Callable[[], Paid]) -> Paid:
        """Pay, and count what came of it."""
        try:
            outcome = pay()
        except (BudgetError, ConflictError, LedgerError) as refusal:
            self._counters.refused(reason(refusal), request.dataset)
            raise
        if isinstance(outcome, Stored):
            self._counters.count("repeated")
        else:
            self._counters.count("reserved" if outcome.attempt == 1 else "retried")
            log("reserved", request.dataset, entry=outcome.number, attempt=outcome.attempt)
        return outcome

    def _wait_for(self, lease: str, request: Request) -> Stored | None:
        """Become the one who runs a question, or return the answer that somebody else has found meanwhile."""
        if self._store.lease(lease, 0):
            return None
        self._counters.count("waited")
        deadline, pause = time.monotonic() + PATIENCE, SHORTEST_PAUSE
        while True:
            refuse_deserted()
            found = self._lines.done(request.dataset, lambda turn: asking.find(turn, request))
            if found is not None or self._store.lease(lease, pause):
                return found
            if time.monotonic() > deadline:
                raise BusyError(
                    f"request {request.request_id} asks what is still being run by somebody else; nothing "
                    "was charged: ask again later, and the answer is free"
                )
            pause = min(2 * pause, LONGEST_PAUSE)
