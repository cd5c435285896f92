"""Turns that several threads share: the clerk of a dataset does the errands of all who wait, in one turn.

A turn is a transaction, one sync of the store and perhaps one of the anchor, whatever is done in it; so a
crowd that waits is served in one turn, in the order in which it came, each errand seeing what those before it
have left.  Nobody is told anything before that turn is durable and anchored.

An errand that a rule refuses has written nothing, and the others go on.  Where anything else goes wrong in
the turn, it is undone, and each errand is done in a turn of its own, so that everybody hears what concerns
them.  If committing or anchoring fails, nobody knows what became of it, and everybody hears that.
"""

import _thread
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, NamedTuple, TypeVar

from discreet.errors import BudgetError, BusyError, ConflictError
from discreet.ledger import pool
from discreet.ledger.anchor import Anchor
from discreet.ledger.check import Seals
from discreet.ledger.deputy import Deputy, Heard, Told
from discreet.ledger.entry import Granted
from discreet.ledger.shield import Work, entrusted, within_shield
from discreet.ledger.store import Again, Asked, Store, Unwritten
from discreet.ledger.turn import Turn

MOST = 64
"""So many errands are done in one turn."""

Result = TypeVar("Result")


class Outcome(NamedTuple):
    """What an errand led to: a result, or the rule that refused it."""

    result: Any
    refusal: BaseException | None


class Apart(Exception):  # noqa: N818
    """Errands cannot be done in one turn."""


class Errand(Generic[Result]):
    """Something that is to be done in a turn, by the clerk of its dataset."""

    def __init__(self, act: Callable[[Turn], Result], asked: Asked | None) -> None:
        self.act = act
        self.asked = asked
        self.outcome: Outcome | None = None
        self._called = threading.Lock()
        """Held until it is done."""
        self._called.acquire()

    def prepare(self) -> None:
        """Do what has to be done before a turn, or raise what speaks against one."""

    def end(self, outcome: Outcome) -> None:
        """Say what came of it to whoever waits."""
        self.outcome = outcome
        self._called.release()

    def wait(self, patience: float = -1) -> bool:
        """Wait for the end, for so many seconds; return whether it came."""
        return self._called.acquire(timeout=patience)

    def result(self) -> Result:
        """Return what came of it, or raise what refused it."""
        result, refusal = self.outcome or Outcome(None, BusyError("nobody has done this errand"))
        if refusal is not None:
            raise refusal
        done: Result = result
        return done


class Overheard(Errand[Result]):
    """An errand of somebody who does not wait here: the clerk tells them what came of it."""

    def __init__(self, act: Callable[[Turn], Result], asked: Asked | None, heard: Heard) -> None:
        super().__init__(act, asked)
        self._heard = heard

    def end(self, outcome: Outcome) -> None:
        """Say what came of it."""
        with suppress(Exception):
            self._heard(*outcome)


class Entrusted(Errand[Result]):
    """An errand of somebody who waits where interrupts strike: the clerk also does what goes with it.

    `before` comes before the turn, and `after` makes of its outcome what is heard.
    """

    def __init__(
        self,
        act: Callable[[Turn], Any],
        asked: Asked | None,
        work: Work[Result],
        before: Callable[[bool], object],
        after: Callable[[Outcome], Result],
    ) -> None:
        super().__init__(act, asked)
        self._work = work
        self._before = before
        self._after = after

    def prepare(self) -> None:
        """Do what comes before, which hears whether anybody still waits."""
        self._before(self._work.deserted)

    def end(self, outcome: Outcome) -> None:
        """Say what came of it, or hand it to whoever takes what nobody waits for."""
        with suppress(Exception):
            try:
                heard = self._after(outcome)
            except BaseException as error:
                self._work.fail(error)
            else:
                self._work.succeed(heard)


class Errands:
    """The errands that wait for a turn at one dataset, in the order in which they came.

    A thread of their own, the clerk, does what waits; whoever comes during a turn is served in the next.  So
    of all threads only one at a time uses the store, and each of the others is woken once.  One that nothing
    interrupts and that finds nobody else there is its own clerk.  The clerk knows nothing but its bell
    between two turns; it ends when nobody can ring any more.
    """

    def __init__(self, gate: Callable[[], AbstractContextManager[None]], turn: Callable[..., Any]) -> None:
        self._gate = gate
        self._turn = turn
        self._waiting: deque[Errand[Any]] = deque()
        self._bell: SimpleQueue[Callable[[], Any]] = SimpleQueue()
        self._stopped = True
        self._serving = False
        weakref.finalize(self, self._bell.put, _stop)

    def done(self, act: Callable[[Turn], Result], asked: Asked | None = None) -> Result:
        """Have an errand done, and return or raise what came of it.

        `asked` is what it will ask the store for.
        """
        errand = Errand(act, asked)
        if within_shield() and not self._waiting and not self._serving:
            # Nobody else is there, and nothing interrupts this thread: it need not wake another.
            self._waiting.append(errand)
            self.serve()
        else:
            self.give(errand)
        if not errand.wait(pool.PATIENCE):
            self.withdraw(errand)
            errand.wait()
        return errand.result()

    def give(self, errand: Errand[Any]) -> None:
        """Let an errand wait in line; an interrupt leaves it there, or not."""
        self._waiting.append(errand)
        self._ring()

    def _ring(self) -> None:
        self._bell.put(weakref.ref(self))
        if self._stopped:
            # Not through `threading`, whose own locks an interrupted caller could leave behind; and one clerk
            # too many does no harm.
            _thread.start_new_thread(_attend, (self._bell,))
            self._stopped = False

    def stop(self) -> None:
        """Let the clerk go, until there is something to be done again."""
        self._stopped = True
        self._bell.put(_stop)

    def withdraw(self, errand: Errand[Any]) -> None:
        """Take an errand out of the line, unless its turn has begun: nobody waits for ever for that."""
        with suppress(ValueError):
            self._waiting.remove(errand)
            errand.end(Outcome(None, BusyError("the ledger is busy: other threads keep using it")))

    def serve(self) -> None:
        """Do what waits; only the clerk does, and whoever has found nobody there."""
        if not self._waiting:
            return
        try:
            with self._gate():
                self._serving = True
                try:
                    self._serve(self._next())
                finally:
                    self._serving = False
        except BusyError:
            # Others did not leave the gate; whoever waits too long withdraws.
            self._ring()

    def _next(self) -> list[Errand[Any]]:
        errands: list[Errand[Any]] = []
        with suppress(IndexError):
            while len(errands) < MOST:
                errands.append(self._waiting.popleft())
        return errands

    def _serve(self, given: list[Errand[Any]]) -> None:
        errands = []
        for errand in given:
            try:
                errand.prepare()
            except Exception as error:
                errand.end(Outcome(None, error))
            else:
                errands.append(errand)
        try:
            outcomes = self._outcomes(errands)
        except BaseException as error:
            outcomes = [Outcome(None, error)] * len(errands)
        for errand, outcome in zip(errands, outcomes, strict=True):
            errand.end(outcome)

    def _outcomes(self, errands: list[Errand[Any]]) -> list[Outcome]:
        if len(errands) > 1:
            try:
                asked = [errand.asked for errand in errands if errand.asked is not None]
                found: list[Outcome] = self._turn(
                    lambda turn: [_did(turn, errand.act) for errand in errands], stays=_kept, asked=asked
                )
                return found
            except (Apart, Unwritten):
                pass
        return [self._alone(errand) for errand in errands]

    def _alone(self, errand: Errand[Any]) -> Outcome:
        asked = [] if errand.asked is None else [errand.asked]
        try:
            return Outcome(self._turn(errand.act, stays=_granted, asked=asked), None)
        except Exception as error:
            return Outcome(None, error)


def _attend(bell: "SimpleQueue[Callable[[], Any]]") -> None:
    """Do what waits whenever the bell rings, until it is to stop."""
    while (ring := bell.get()) is not _stop:
        errands = ring()
        if errands is not None:
            with suppress(Exception):  # whoever comes next needs a clerk too
                errands.serve()
        del errands


def _stop() -> None:
    """End a clerk's work."""


class Lines(dict[str, Errands]):
    """Where errands wait, by dataset, unless another process does them."""

    def __init__(self, store: Store, seals: Seals, anchor: Anchor, turn: Callable[..., Any]) -> None:
        self.deputy = Deputy(store, seals, anchor, self.take_in)
        self._gate = store.gate
        self._turn = turn

    def close(self) -> None:
        """Let other processes and the clerks go."""
        self.deputy.close()
        for errands in tuple(self.values()):
            errands.stop()

    def done(
        self,
        dataset: str,
        act: Callable[[Turn], Result],
        asked: Asked | None = None,
        told: Callable[[], Told] | None = None,
    ) -> Result:
        """Do an errand, or let whoever has the turn do it; what can be told, perhaps in another process."""
        done: Any = None if told is None else self.deputy.done(told)
        return self.done_here(dataset, act, asked) if done is None else done

    def done_here(self, dataset: str, act: Callable[[Turn], Result], asked: Asked | None) -> Result:
        """Do an errand in this process."""
        return self.at(dataset).done(act, asked)

    def take_in(self, dataset: str, act: Callable[[Turn], Any], asked: Asked | None, heard: Heard) -> None:
        """Let another process's errand wait for its turn in this one."""
        self.at(dataset).give(Overheard(act, asked, heard))

    def at(self, dataset: str) -> Errands:
        """Return the line at a dataset."""
        waiting = self.get(dataset)
        if waiting is None:
            fresh = Errands(partial(self._gate, dataset), partial(self._turn, dataset))
            waiting = self.setdefault(dataset, fresh)
        return waiting

    def entrusted(
        self,
        dataset: str,
        act: Callable[[Turn], Any],
        asked: Asked | None,
        before: Callable[[bool], object],
        after: Callable[[Outcome], Result],
        *,
        dropped: Callable[[Result], object] = lambda result: None,
    ) -> Result:
        """Do an errand in this process for somebody who may be interrupted, with what goes with it."""
        line = self.at(dataset)

        def give(work: Work[Result]) -> Callable[[], object]:
            errand = Entrusted(act, asked, work, before, after)
            line.give(errand)
            return partial(line.withdraw, errand)

        return entrusted(give, pool.PATIENCE, dropped=dropped)


def _did(turn: Turn, act: Callable[[Turn], Any]) -> Outcome:
    before = turn.standing
    try:
        return Outcome(act(turn), None)
    except Again:
        raise
    except BusyError:
        raise Apart from None
    except (BudgetError, ConflictError) as refusal:
        if turn.standing is not before:
            raise Apart from None
        return Outcome(None, refusal)
    except Exception:
        raise Apart from None


def _granted(result: object) -> bool:
    return isinstance(result, Granted)


def _kept(outcomes: list[Outcome]) -> bool:
    """Return whether nothing of this leaves: there are only payments and refusals."""
    return all(isinstance(outcome.result, Granted) or outcome.refusal is not None for outcome in outcomes)
