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
from typing import Any, Generic, NamedTuple, TypeVar

from discreet.errors import BudgetError, BusyError, ConflictError
from discreet.ledger.entry import Granted
from discreet.ledger.store import Again, Asked
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

    def result(self) -> Result:
        """Return what came of it, or raise what refused it."""
        result, refusal = self.outcome or Outcome(None, BusyError("nobody has done this errand"))
        if refusal is not None:
            raise refusal
        done: Result = result
        return done


class Errands:
    """The errands that wait for a turn at one dataset, in the order in which they came."""

    def __init__(self, gate: Callable[[], AbstractContextManager[None]], turn: Callable[..., Any]) -> None:
        self._gate = gate
        self._turn = turn
        self._waiting: deque[Errand[Any]] = deque()
        self._guard = threading.Lock()

    def done(self, act: Callable[[Turn], Result], asked: Asked | None = None) -> Result:
        """Do an errand, or let whoever has the turn do it, and return or raise what came of it.

        `asked` is what it will ask the store for.
        """
        errand = Errand(act, asked)
        with self._guard:
            self._waiting.append(errand)
        while errand.outcome is None:
            try:
                with self._gate():
                    if errand.outcome is None:
                        self._serve()
            except BusyError:
                with self._guard:
                    if errand in self._waiting:
                        self._waiting.remove(errand)
                        raise
        return errand.result()

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

    def _outcomes(self, errands: list[Errand[Any]]) -> list[Outcome]:
        if len(errands) > 1:
            try:
                asked = [errand.asked for errand in errands if errand.asked is not None]
                found: list[Outcome] = self._turn(
                    lambda turn: [_did(turn, errand.act) for errand in errands], stays=_kept, asked=asked
                )
                return found
            except Apart:
                pass
        return [self._alone(errand) for errand in errands]

    def _alone(self, errand: Errand[Any]) -> Outcome:
        asked = [] if errand.asked is None else [errand.asked]
        try:
            return Outcome(self._turn(errand.act, stays=_granted, asked=asked), None)
        except Exception as error:
            return Outcome(None, error)


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
