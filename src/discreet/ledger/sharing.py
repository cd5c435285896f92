"""Turns that several threads share: whoever gets the next turn at a dataset does the errands of all who wait.

A turn is a transaction, one sync of the store and perhaps one of the anchor, whatever is done in it; so a
crowd that waits is served in one turn, in the order in which it came, each errand seeing what those before it
have left.  Nobody is told anything before that turn is durable and anchored.

An errand that a rule refuses has written nothing, and the others go on.  Where anything else goes wrong in
the turn, it is undone, and each errand is done in a turn of its own, so that everybody hears what concerns
them.  If committing or anchoring fails, nobody knows what became of it, and everybody hears that.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from discreet.errors import BudgetError, BusyError, ConflictError
from discreet.ledger import pool
from discreet.ledger.anchor import Anchor
from discreet.ledger.check import Seals
from discreet.ledger.deputy import Deputy, Told
from discreet.ledger.entry import Granted
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
    """Something that is to be done in a turn, by whoever has one."""

    def __init__(self, act: Callable[[Turn], Result], asked: Asked | None) -> None:
        self.act = act
        self.asked = asked
        self.outcome: Outcome | None = None
        self.leads = False
        """Whether whoever brought it is to do what waits."""
        self.called = threading.Lock()
        """Held until it is done, or leads."""
        self.called.acquire()

    def result(self) -> Result:
        """Return what came of it, or raise what refused it."""
        result, refusal = self.outcome or Outcome(None, BusyError("nobody has done this errand"))
        if refusal is not None:
            raise refusal
        done: Result = result
        return done


class Errands:
    """The errands that wait for a turn at one dataset, in the order in which they came.

    The first one leads: whoever brought it does what waits, calls all whose errands it has done, and lets the
    first of those who came meanwhile lead.  So nobody is woken in vain, and whoever comes during a turn is
    served in the next.
    """

    def __init__(self, gate: Callable[[], AbstractContextManager[None]], turn: Callable[..., Any]) -> None:
        self._gate = gate
        self._turn = turn
        self._waiting: deque[Errand[Any]] = deque()
        self._led = False
        self._guard = threading.Lock()

    def done(self, act: Callable[[Turn], Result], asked: Asked | None = None) -> Result:
        """Do an errand, or let whoever has the turn do it, and return or raise what came of it.

        `asked` is what it will ask the store for.
        """
        errand = Errand(act, asked)
        with self._guard:
            self._waiting.append(errand)
            errand.leads, self._led = not self._led, True
        if not errand.leads:
            self._wait(errand)
        if errand.leads:
            self._lead(errand)
        return errand.result()

    def _wait(self, errand: Errand[Any]) -> None:
        """Wait until an errand is done or leads, but not for ever for its turn to begin."""
        if errand.called.acquire(timeout=pool.PATIENCE):
            return
        with self._guard:
            if errand in self._waiting and not errand.leads:
                self._waiting.remove(errand)
                raise BusyError("the ledger is busy: other threads keep using it")
        errand.called.acquire()

    def _lead(self, errand: Errand[Any]) -> None:
        try:
            with self._gate():
                self._serve()
        finally:
            with self._guard:
                if errand in self._waiting:  # others never left the gate
                    self._waiting.remove(errand)
                self._led = bool(self._waiting)
                if self._led:
                    self._waiting[0].leads = True
                    self._waiting[0].called.release()

    def _serve(self) -> None:
        """Do what waits; only one thread at a time."""
        with self._guard:
            errands = [self._waiting.popleft() for _ in range(min(MOST, len(self._waiting)))]
        try:
            for errand, outcome in zip(errands, self._outcomes(errands), strict=True):
                errand.outcome = outcome
        except BaseException as error:
            for errand in errands:
                errand.outcome = errand.outcome or Outcome(None, error)
        for errand in errands:
            errand.called.release()

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


class Lines(dict[str, Errands]):
    """Where errands wait, by dataset, unless another process does them."""

    def __init__(self, store: Store, seals: Seals, anchor: Anchor, turn: Callable[..., Any]) -> None:
        self.deputy = Deputy(store, seals, anchor, self.done_here)
        self._gate = store.gate
        self._turn = turn

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
        """Do an errand in this process, for whomever."""
        waiting = self.get(dataset)
        if waiting is None:
            fresh = Errands(partial(self._gate, dataset), partial(self._turn, dataset))
            waiting = self.setdefault(dataset, fresh)
        return waiting.done(act, asked)


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
