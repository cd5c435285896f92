"""One process does the errands of others: a crowd of processes shares turns as a crowd of threads does.

A process that finds that others write too calls the one that does errands for all, and if there is none,
becomes it.  Alone, each of them would have to read, check and follow all that the others write, wait for its
turn, and sync by itself.

Promises stay what they are, because an errand is the same whoever does it.  It is done in a turn, after every
check of a turn, by a process that holds the ledger's key, has the same store and the same anchor open, and is
of the same make; all of that is in the name under which it listens, so others never meet.  It is answered
once the turn is durable and anchored.  The lease of a question stays with whoever asked.

Whoever hears nothing (the other has died, stands still, or refuses) hangs up first and then takes a turn of
its own, in which it finds what was written, or writes it.  Whoever does an errand looks, inside the turn,
whether the one who asked is still there.  Turns exclude each other, so nothing is written for somebody who
has gone on alone.  If the other died after it had written, a payment is found as one whose run broke off, and
an answer as given: as after any crash.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from socket import socket
from typing import Any, NamedTuple

from discreet.errors import BudgetError, BusyError, ConflictError, LedgerError
from discreet.ledger import asking, call
from discreet.ledger.anchor import Anchor, FileAnchor
from discreet.ledger.call import Message, PrivateCall
from discreet.ledger.chain import framed, mac_of
from discreet.ledger.check import Seals
from discreet.ledger.codec import fingerprint, read_event, same_question, write_event
from discreet.ledger.entry import Granted, Receipt, Request, Reserved, Stored
from discreet.ledger.store import Asked, Store
from discreet.ledger.switchboard import Switchboard
from discreet.ledger.turn import Turn

PATIENCE = 5.0
"""For so many seconds one waits for another process, before one takes a turn of one's own."""

SHUNNED = 30.0
"""For so many seconds nobody else is asked after one who did not answer."""

BRIEFLY = 1.0
"""The same where somebody listens who cannot be asked, as another part of this process does."""

MOST = 512
"""The errands of so many threads are done at once."""

BRIEF = 2**16
"""So many bytes can be said to somebody who waits for them without waiting until they listen."""

KIND = b"discreet turns 2"
"""The make: it has to change whenever messages, or what is to be checked in a turn, do."""


class Told(NamedTuple):
    """An errand that another process can do: what is to be done, and the bytes that go with it."""

    said: list[Any]
    payload: bytes
    request: Request | None = None
    """What is paid for, where something is."""


class Deserted(ConflictError):  # noqa: N818
    """Whoever asked for an errand takes a turn of its own."""


Act = Callable[[Turn], Granted | Stored | ConflictError | None]
Heard = Callable[[Any, BaseException | None], object]
"""Hears what came of an errand: a result, or what refused it."""

Do = Callable[[str, Act, Asked | None, Heard], object]


def paying(request: Request) -> Told:
    """Return the errand of paying for a request."""
    return Told(["pay", write_event(Reserved(request))], b"", request)


def repeating(request: Request) -> Told:
    """Return the errand of finding the answer that a question has."""
    return Told(["repeat", write_event(Reserved(request))], b"", request)


def answering(granted: Granted, payload: bytes) -> Told:
    """Return the errand of recording an answer."""
    what = granted.dataset, granted.request.dataset, granted.number, fingerprint(granted.request)
    return Told(["answer", *what], payload)


class Deputy:
    """Does errands for other processes, or lets another do one's own; threads may use it at once."""

    def __init__(self, store: Store, seals: Seals, anchor: Anchor, do: Do) -> None:
        """Begin alone; `do` has an errand of others done in a turn, and is a method of whoever owns this."""
        self._key, self._ledger = seals.key, seals.ledger
        self._name = None
        if isinstance(anchor, FileAnchor):
            place = KIND, seals.ledger.encode(), store.place.encode(), *anchor.place
            self._name = mac_of(seals.key, framed(*place)).hex().encode()
        self._do = weakref.WeakMethod(do)
        self._owner = weakref.ref(do.__self__)  # type: ignore[attr-defined]
        self._process = os.getpid()
        self._crowded = False
        self._shunned = 0.0
        self._idle: list[PrivateCall] = []
        self._listening: socket | None = None
        self._board = Switchboard(self._serve)
        self._busy = 0
        self._change = threading.Condition()
        self.reached: dict[str, int] = {}
        """The newest entry of each dataset that one has heard of."""

    def notice(self) -> None:
        """From now on share turns with the others who write."""
        self._crowded = True

    @property
    def asks(self) -> bool:
        """Whether another process may do one's errands."""
        return self._crowded and self._listening is None

    def done(self, told: Callable[[], Told]) -> Granted | Stored | None:
        """Let another process do an errand, and return or raise what came of it; None if none does."""
        if not self.asks or self._name is None:
            return None
        if time.monotonic() < self._shunned:
            return None
        try:
            called = self._idle.pop()
        except IndexError:
            found = self._called(self._name)
            if found is None:
                return None
            called = found
        errand, begun = told(), time.monotonic()
        try:
            called.say(errand.said, errand.payload)
            (what, *facts), payload = called.hear()
        except (OSError, ValueError, TypeError):
            # Before one takes a turn of one's own, the other has to know.
            called.hang_up()
            self._shun(begun)
            return None
        self._idle.append(called)
        return self._understood(errand, what, facts, payload)

    def _understood(
        self, errand: Told, what: str, facts: list[Any], payload: bytes
    ) -> Granted | Stored | None:
        match what, facts:
            case "granted", [str(dataset), int(number), int(attempt), how] if errand.request is not None:
                self._reach(dataset, number)
                return Granted(dataset, number, attempt, _granted(errand.request, how))
            case "stored", [str(dataset), int(number), str(mac), bool(same)]:
                self._reach(dataset, number)
                given = errand.payload if same else payload
                return Stored(given, Receipt(self._ledger, dataset, number, mac))
            case "budget", [str(words)]:
                raise BudgetError(words)
            case "conflict", [str(words)]:
                raise ConflictError(words)
        return None

    def _reach(self, dataset: str, number: int) -> None:
        self.reached[dataset] = max(number, self.reached.get(dataset, 0))

    def _called(self, name: bytes) -> PrivateCall | None:
        """PrivateCall whoever does errands, or become it."""
        begun = time.monotonic()
        end = call.dialled(name, PATIENCE)
        if end is None:
            if self._become(name):
                return None
            end = call.dialled(name, PATIENCE)  # somebody else was faster
        if end is None:
            self._shunned = time.monotonic() + BRIEFLY
            return None
        try:
            return PrivateCall(end, self._key, calling=True)
        except OSError:
            call.hang_up(end)
            self._shun(begun)
            return None

    def _shun(self, begun: float) -> None:
        """Ask nobody for a while, if somebody who was asked did not answer in time."""
        now = time.monotonic()
        if now - begun >= PATIENCE:
            self._shunned = now + SHUNNED

    def _become(self, name: bytes) -> bool:
        """Do the errands of others from now on, unless somebody else does."""
        with self._change:
            owner = self._owner()
            if self._listening is None and owner is not None and self._name is not None:
                self._listening = call.listen(name)
                if self._listening is not None:
                    weakref.finalize(owner, call.hang_up, self._listening)
                    threading.Thread(target=self._listen, args=(self._listening,), daemon=True).start()
            return self._listening is not None

    def _listen(self, listening: socket) -> None:
        while True:
            try:
                end = call.picked_up(listening)
            except OSError:
                return
            if end is not None and len(self._board) < MOST:
                threading.Thread(target=self._greet, args=(end,), daemon=True).start()
            elif end is not None:
                call.hang_up(end)

    def _greet(self, end: socket) -> None:
        """Agree on a key with a thread of another process, and listen to it until either hangs up."""
        try:
            end.settimeout(PATIENCE)
            served = PrivateCall(end, self._key, calling=False)
            with self._change:
                if self._listening is None:
                    raise OSError("nobody listens any more")
                self._board.add(served)
        except OSError:
            call.hang_up(end)

    def _serve(self, come: list[tuple[PrivateCall, Message]]) -> None:
        """Have everything done that others ask for."""
        for served, (said, payload) in come:
            with self._change:
                self._busy += 1
            try:
                self._begin(served, said, payload)
            except Exception:
                self._end(served, go_on=False)

    def _begin(self, served: PrivateCall, said: Any, payload: bytes) -> None:
        """Let an errand wait for its turn, or raise what speaks against that."""
        do, errand = self._do(), _errand(said, payload)
        if self._listening is None or do is None or errand is None:
            raise OSError("nobody does this errand")
        act = errand.act
        served.wait(0)  # whoever has the turn waits for nobody

        def acted(turn: Turn) -> Granted | Stored | ConflictError | None:
            if not served.quiet():
                raise Deserted("whoever asked for this has gone on alone")
            return act(turn)

        do(errand.dataset, acted, errand.asked, partial(self._told, served, errand, payload))

    def _told(
        self,
        served: PrivateCall,
        errand: "_Errand",
        payload: bytes,
        result: Any,
        refusal: BaseException | None,
    ) -> None:
        """Say what came of an errand to whoever asked for it; nobody else waits until they have heard it."""
        reply = self._reply(errand, payload, result, refusal)
        if reply is None:
            self._end(served, go_on=False)
        elif len(reply[1]) <= BRIEF:
            self._say(served, reply)
        else:
            threading.Thread(target=self._say, args=(served, reply, PATIENCE), daemon=True).start()

    def _reply(
        self, errand: "_Errand", payload: bytes, result: Any, refusal: BaseException | None
    ) -> Message | None:
        """Return what is said of an outcome; None where they have to look for themselves."""
        match refusal:
            case None:
                return _outcome(result, errand, payload)
            case BusyError():
                return None
            case BudgetError():
                return ["budget", str(refusal)], b""
            case ConflictError():
                return ["conflict", str(refusal)], b""
        # What is wrong may be wrong here only.
        self._step_down()
        return None

    def _say(self, served: PrivateCall, reply: Message, patience: float = 0) -> None:
        try:
            if patience:
                served.wait(patience)
            served.say(*reply)
        except OSError:
            self._end(served, go_on=False)  # they are gone, or do not listen
        else:
            self._end(served, go_on=True)

    def _end(self, served: PrivateCall, *, go_on: bool) -> None:
        """Be done with an errand, and listen to whoever asked for it again or no more."""
        (self._board.listen if go_on else self._board.drop)(served)
        with self._change:
            self._busy -= 1
            self._change.notify_all()

    def rest(self) -> None:
        """Do nothing more for others, once what was begun for them is done."""
        self._step_down()
        with self._change:
            self._change.wait_for(lambda: not self._busy, PATIENCE)
        self._board.close()

    def close(self) -> None:
        """Do nothing more for others, and ask nobody."""
        if os.getpid() != self._process:
            return  # a forked child has none of its parent's lines
        self._name = None
        self.rest()
        while self._idle:
            self._idle.pop().hang_up()

    def _step_down(self) -> None:
        with self._change:
            listening, self._listening = self._listening, None
        if listening is not None:
            call.hang_up(listening)


class _Errand(NamedTuple):
    """What another process wants done."""

    dataset: str
    act: Act
    asked: Asked | None = None
    request: Request | None = None


def _errand(said: Any, payload: bytes) -> _Errand | None:
    """Return what another process wants done; None for what nobody of this make would say."""
    match said:
        case ["pay" | "repeat" as what, event]:
            paid = read_event(event)
            if isinstance(paid, Reserved):
                request, do = paid.request, asking.reserve if what == "pay" else asking.repeat
                asked = request.request_id, fingerprint(request)
                return _Errand(request.dataset, lambda turn: do(turn, request), asked, request)
        case ["answer", str(dataset), str(same), int(number), str(question)] if same == dataset:
            return _Errand(dataset, lambda turn: asking.record(turn, number, question, payload))
    return None


def _outcome(
    outcome: Granted | Stored | ConflictError | None, errand: _Errand, payload: bytes
) -> Message | None:
    match outcome:
        case None:
            return None
        case Granted(dataset, number, attempt, request):
            return ["granted", dataset, number, attempt, _how(request, errand.request)], b""
        case Stored(given, receipt):
            same = given == payload
            facts = receipt.dataset, receipt.number, receipt.mac, same
            return ["stored", *facts], b"" if same else given
        case ConflictError():
            return ["conflict", str(outcome)], b""


SAME, PLAIN = "same", "plain"


def _how(granted: Request, asked: Request | None) -> Any:
    """Return what was granted: in a word, if it is what was asked, with or without its Renyi costs."""
    if granted == asked:
        return SAME
    if asked is not None and granted == asked.priced(asked.cost.plain):
        return PLAIN
    return write_event(Reserved(granted))


def _granted(asked: Request, how: Any) -> Request:
    if how == SAME:
        return asked
    if how == PLAIN:
        return same_question(asked, asked.priced(asked.cost.plain))
    event = read_event(how)
    if not isinstance(event, Reserved):
        raise LedgerError("another process of this ledger grants something that was never asked for")
    return event.request
