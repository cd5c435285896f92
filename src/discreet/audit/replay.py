"""Record and replay: neighbouring inputs with identical coins.

With the same coins a mechanism's noise is the same number for both inputs, so what differs between the two
outputs is what the data alone changed.  That makes visible without any statistics

    control flow    whether the coins that were asked for, their number and widths, depend on the data,
    structure       whether rows, keys or kinds of values depend on it,
    sensitivity     how far the numbers moved: for additive noise exactly the true answers' distance,

and finds deterministic leaks that sampling misses.  Nothing seen here says that a mechanism is private.

The coins of a replay are known, so ANSWERS DRAWN DURING A REPLAY ARE NOT PRIVATE: run it on invented inputs
only. It replaces the coins of the whole process, so no release may be made beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from discreet.audit.outputs import atoms
from discreet.errors import DiscreetError, ParameterError
from discreet.exact.coins import Coins, Words, _using, source
from discreet.exact.number import Real, non_negative

Asked = tuple[str, int, int]
"""A request for coins: its kind, how many, and of what width."""


class Recorder:
    """Coins that pass on another source's and remember them; with them, nothing is private."""

    def __init__(self, coins: Coins) -> None:
        self._coins = coins
        self.tape: list[tuple[Asked, int | Words]] = []

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits."""
        drawn = self._coins.bits(count)
        self.tape.append((("bits", 1, count), drawn))
        return drawn

    def words(self, count: int, width: int) -> Words:
        """Return `count` independent uniform integers of `width` bits."""
        drawn = self._coins.words(count, width)
        self.tape.append((("words", count, width), drawn))
        return drawn


class Player:
    """Coins that repeat a tape as long as the same ones are asked for; with them, nothing is private."""

    def __init__(self, tape: list[tuple[Asked, int | Words]], coins: Coins) -> None:
        self._tape = tape
        self._coins = coins
        self.asked: list[Asked] = []

    def _next(self, asked: Asked) -> Any:
        place = len(self.asked)
        self.asked.append(asked)
        on_tape = place < len(self._tape) and self._tape[place][0] == asked
        return self._tape[place][1] if on_tape else None

    def bits(self, count: int) -> int:
        """Return the recorded integer, or a fresh one off the tape."""
        drawn = self._next(("bits", 1, count))
        return self._coins.bits(count) if drawn is None else int(drawn)

    def words(self, count: int, width: int) -> Words:
        """Return the recorded words, or fresh ones off the tape."""
        drawn = self._next(("words", count, width))
        return self._coins.words(count, width) if drawn is None else drawn


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that ended in a deliberate error, which is an output like any other."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What the data alone changed over `runs` pairs of runs with identical coins."""

    runs: int
    l1: Fraction
    linf: Fraction
    coins: int
    findings: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Return whether nothing was found; this is no proof of privacy."""
        return not self.findings

    def __str__(self) -> str:
        moved = f"outputs moved by l1 {float(self.l1):g}, linf {float(self.linf):g} at most"
        if self.clean:
            return f"no deterministic leak found in {self.runs} replays; {moved}"
        return f"LEAK in {self.runs} replays: {'; '.join(self.findings)}; {moved}"


def replay(
    function: Callable[[Any], Any],
    left: Any,
    right: Any,
    *,
    l1: Real | None = None,
    linf: Real | None = None,
    same_flow: bool = True,
    runs: int = 20,
) -> Replay:
    """Run neighbouring inputs with identical coins and report what the data alone changed.

    `l1` and `linf` are the declared sensitivities of the numbers in the output; exceeding them is a
    finding.  Set `same_flow` to False for mechanisms that may stop early, such as the sparse vector
    technique.
    """
    if runs < 1:
        raise ParameterError(f"runs must be at least 1, got {runs}")
    findings: dict[str, None] = {}
    most = {"l1": Fraction(0), "linf": Fraction(0)}
    coins = 0
    for _ in range(runs):
        recorder = Recorder(source())
        with _using(recorder):
            first = _outcome(function, left)
        player = Player(recorder.tape, source())
        with _using(player):
            second = _outcome(function, right)
        asked = [request for request, _ in recorder.tape]
        coins = max(coins, len(asked))
        if same_flow and asked != player.asked:
            findings[_flow(asked, player.asked)] = None
            continue
        moved = _moved(first, second)
        if isinstance(moved, str):
            findings[moved] = None
            continue
        most["l1"] = max(most["l1"], sum(moved, Fraction(0)))
        most["linf"] = max(most["linf"], max(moved, default=Fraction(0)))
    for name, declared in (("l1", l1), ("linf", linf)):
        if declared is not None and most[name] > non_negative(declared, name):
            findings[
                f"outputs moved by {name} {float(most[name]):g}, declared {float(Fraction(declared)):g}"
            ] = None
    return Replay(runs, most["l1"], most["linf"], coins, tuple(findings))


def _outcome(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except DiscreetError as error:
        return FailedRun(type(error).__name__, str(error))


def _flow(first: list[Asked], second: list[Asked]) -> str:
    for place, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return f"control flow depends on the data: coin request {place} was {one} and {two}"
    return f"control flow depends on the data: {len(first)} and {len(second)} coin requests"


def _moved(first: Any, second: Any) -> list[Fraction] | str:
    """Return how far each number moved, or what else changed."""
    left, right = list(atoms(first)), list(atoms(second))
    if len(left) != len(right):
        return f"structure depends on the data: {len(left)} and {len(right)} values"
    distances = []
    for place, (one, two) in enumerate(zip(left, right, strict=True)):
        a, b = _exact(one), _exact(two)
        if (a is None) != (b is None) or (a is None and not _same(one, two)):
            return f"structure depends on the data: value {place} changed and is not a number"
        if a is not None and b is not None:
            distances.append(abs(a - b))
    return distances


def _exact(atom: Any) -> Fraction | None:
    match atom:
        case bool():
            return None
        case int() | Fraction():
            return Fraction(atom)
        case float() if isfinite(atom):
            return Fraction(atom)
        case Decimal() if atom.is_finite():
            return Fraction(atom)
        case _:
            return None


def _same(one: Any, two: Any) -> bool:
    return repr(one) == repr(two)
