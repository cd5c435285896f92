"""Exact sampling by lazy inversion: bits are drawn until they decide, and never more than needed.

Let C(k) = Pr[X <= k].  For a uniform real u in [0, 1) the smallest k with u < C(k) has exactly the
law of X.  A machine never holds u; it holds its first bits, that is an interval, and C(k) is known as
a ball of Arb, that is another interval.  When the two are disjoint the comparison is decided, with
certainty; when they overlap, more bits and more precision are taken.  So every comparison is exact,
and the sample has the law of X exactly, not approximately.

Two forms share this rule.  `resolve` inverts one draw starting from a guess.  `Table` inverts
millions: thresholds floor(C(k) * 2**64) are certified once, a guide indexed by the first 16 bits
decides more than 99 in 100 draws with one look-up, the others read 48 more bits, and a draw that ties
with a threshold (probability below 2**-54) goes to `resolve`.

References.  Lazy comparison of random bits: Karney, ACM TOMS 42(1), 2016.  Guide tables: Chen and
Asau, 1974.  Arb: Johansson, IEEE Trans. Computers 66(8), 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.exact.coins import Coins

GUARD = 64
"""Bits of working precision beyond the bits of u."""


class Law(Protocol):
    """An integer-valued law given by its distribution function."""

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k] at the working precision."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many bits each step reads; the tests shrink these to enumerate every coin."""

    digit: int = 8
    guide: int = 16
    rest: int = 48

    @property
    def word(self) -> int:
        """The bits that a threshold is compared with before a tie is declared."""
        return self.guide + self.rest


STANDARD = Shape()


class Uniform:
    """A uniform real in [0, 1) of which only the first bits are known."""

    __slots__ = ("_coins", "bits", "prefix")

    def __init__(self, prefix: int, bits: int, coins: Coins) -> None:
        self.prefix = prefix
        self.bits = bits
        self._coins = coins

    def below(self, value: Callable[[], arb]) -> bool:
        """Decide u < value(), drawing more bits for as long as the known ones leave it open."""
        while True:
            with ctx.workprec(self.bits + GUARD):
                scaled = value() * arb(2) ** self.bits
                if scaled >= self.prefix + 1:
                    return True
                if scaled <= self.prefix:
                    return False
            # Doubling keeps the number of rounds small even when the ball was wide, not the prefix short.
            more = self.bits
            self.prefix = self.prefix << more | self._coins.bits(more)
            self.bits += more


def resolve(law: Law, u: Uniform, guess: int) -> int:
    """Return the smallest k with u < C(k), searching outwards from a guess."""

    def above(k: int) -> bool:
        return u.below(lambda: law.cumulative(k))

    step = 1
    if above(guess):
        high = guess
        while above(high - step):
            high -= step
            step *= 2
        low = high - step
    else:
        low = guess
        while not above(low + step):
            low += step
            step *= 2
        high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def certified_floor(value: Callable[[], arb], bits: int) -> int:
    """Return floor(value() * 2**bits), raising the precision until it is certain."""
    precision = bits + GUARD
    while True:
        with ctx.workprec(precision):
            integer = (value() * arb(2) ** bits).floor().unique_fmpz()
        if integer is not None:
            return int(integer)
        precision *= 2


AMBIGUOUS = np.iinfo(np.int16).min


@dataclass(frozen=True, slots=True)
class Table:
    """A law tabulated on the integers from `below` + 1: certified thresholds and their guide."""

    law: Law
    below: int
    thresholds: NDArray[np.uint64]
    guide: NDArray[np.int16]
    shape: Shape

    @classmethod
    def build(cls, law: Law, low: int, high: int, shape: Shape = STANDARD) -> "Table":
        """Tabulate a law of which each tail, below `low` and above `high`, is rarer than 2**-word.

        The thresholds of low - 1 and of high are then the two extreme words, so a draw outside the table
        shows as a tie and is resolved exactly like any other.
        """
        largest = (1 << shape.word) - 1
        floors = [
            min(certified_floor(partial(law.cumulative, k), shape.word), largest)
            for k in range(low - 1, high + 1)
        ]
        if floors[0] != 0 or floors[-1] != largest:
            raise ValueError("the tails of the law are too heavy for this table")
        thresholds = np.array(floors, dtype=np.uint64)
        starts = np.arange(1 << shape.guide, dtype=np.uint64) << np.uint64(shape.rest)
        passed = np.searchsorted(thresholds, starts, side="left")
        reached = np.searchsorted(thresholds, starts + np.uint64((1 << shape.rest) - 1), side="right")
        guide = np.where(passed == reached, passed + (low - 1), AMBIGUOUS).astype(np.int16)
        return cls(law, low - 1, thresholds, guide, shape)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int16 | np.int64]:
        """Return `count` independent draws."""
        shape = self.shape
        prefix = coins.words(count, shape.guide)
        values = self.guide[prefix]
        doubtful = np.flatnonzero(values == AMBIGUOUS)
        if not doubtful.size:
            return values
        rest = coins.words(doubtful.size, shape.rest).astype(np.uint64)
        words = prefix[doubtful].astype(np.uint64) << np.uint64(shape.rest) | rest
        passed = np.searchsorted(self.thresholds, words, side="left")
        values[doubtful] = passed + self.below
        ties = np.flatnonzero(passed != np.searchsorted(self.thresholds, words, side="right"))
        if not ties.size:
            return values
        # A tie may lead beyond the table, where 16 bits no longer hold the value.
        wide = values.astype(np.int64)
        for tie in ties:
            u = Uniform(int(words[tie]), shape.word, coins)
            wide[doubtful[tie]] = resolve(self.law, u, int(passed[tie]) + self.below)
        return wide
