"""Exact sampling by lazy inversion: bits are drawn until they decide, and never more than needed.

Let C(k) = Pr[X <= k].  For a uniform real u in [0, 1) the smallest k with u < C(k) has exactly the
law of X.  A machine never holds u; it holds its first bits, that is an interval, and C(k) is known as
a ball of Arb, that is another interval.  When the two are disjoint the comparison is decided, with
certainty; when they overlap, more bits and more precision are taken.  So every comparison is exact,
and the sample has the law of X exactly, not approximately.

Two forms share this rule.  `resolve` inverts one draw starting from a guess.  `LawTable` inverts
millions: thresholds floor(C(k) * 2**64) are certified once, a guide indexed by the first 16 bits
decides more than 99 in 100 draws with one look-up, the others read 48 more bits, and a draw that ties
with a threshold (probability below 2**-54) goes to `resolve`.

References.  Lazy comparison of random bits: Karney, ACM TOMS 42(1), 2016.  Guide tables: Chen and
Asau, 1974.  Arb: Johansson, IEEE Trans. Computers 66(8), 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.exact.coins import Coins, Words

GUARD = 64
"""Bits of working precision beyond the bits of u."""


class Law(Protocol):
    """An integer-valued law given by its distribution function."""

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k] at the working precision."""


class TabulatedLaw(Law, Protocol):
    """A law that gives many values of its distribution function more cheaply together than apart."""

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many bits each step reads; the tests shrink these to enumerate every coin."""

    digit: int = 8
    guide: int = 16
    rest: int = 48
    more: int = 64
    head: int = 0
    """By how many bits the last digit may be longer than the others."""

    @property
    def word(self) -> int:
        """The bits that a threshold is compared with before a tie is declared."""
        return self.guide + self.rest


STANDARD = Shape(head=2)

SPARSE = Shape(digit=4, guide=8, rest=56)
"""Smaller digits for a few draws of a law that may not be drawn from again: a tenth of the table."""


class Uniform:
    """A uniform real in [0, 1) of which only the first bits are known."""

    __slots__ = ("_coins", "_more", "bits", "prefix")

    def __init__(self, prefix: int, coins: Coins, shape: Shape = STANDARD) -> None:
        self.prefix = prefix
        self.bits = shape.word
        self._coins = coins
        self._more = shape.more

    @classmethod
    def fresh(cls, coins: Coins, shape: Shape = STANDARD) -> "Uniform":
        """Return a uniform real of which one word is known."""
        return cls(coins.bits(shape.word), coins, shape)

    def below(self, value: Callable[[], arb]) -> bool:
        """Decide u < value(), drawing more bits for as long as the known ones leave it open."""
        while True:
            with ctx.workprec(self.bits + GUARD):
                scaled = value() * arb(2) ** self.bits
                if scaled >= self.prefix + 1:
                    return True
                if scaled <= self.prefix:
                    return False
            self.prefix = self.prefix << self._more | self._coins.bits(self._more)
            self.bits += self._more


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


FAR = 1 << 80
"""Python has the integers from -5 to 256 ready and takes longer to make others; far out it makes them all."""

AMBIGUOUS = np.iinfo(np.int16).min


@dataclass(frozen=True, slots=True)
class LawTable:
    """A law tabulated on the integers above `below`: certified thresholds and their guide."""

    law: TabulatedLaw
    below: int
    thresholds: NDArray[np.uint64]
    guide: NDArray[np.int16]
    shape: Shape

    @classmethod
    def build(cls, law: TabulatedLaw, low: int, high: int, shape: Shape = STANDARD) -> "LawTable":
        """Tabulate a law of which each tail, below `low` and above `high`, is rarer than 2**-word.

        The thresholds of low - 1 and of high are then the two extreme words, so a draw outside the table
        shows as a tie and is resolved exactly like any other.
        """
        largest = (1 << shape.word) - 1
        floors = _certified_floors(law, low - 1, high, shape.word)
        if floors[0] != 0 or floors[-1] != largest:
            raise ValueError("the tails of the law are too heavy for this table")
        thresholds = np.array(floors, dtype=np.uint64)
        cells = (thresholds >> np.uint64(shape.rest)).astype(np.int64)
        inside = np.bincount(cells, minlength=1 << shape.guide)
        guide = np.where(inside == 0, np.cumsum(inside) + (low - 1), AMBIGUOUS).astype(np.int16)
        return cls(law, low - 1, thresholds, guide, shape)

    def draw_one(self, coins: Coins) -> int:
        """Return one draw, reading the whole table whatever comes out: the time taken tells nothing."""
        # Never as a Python integer, which takes longer to convert on one side of 2**63 than on the other.
        word = coins.words(1, self.shape.word)
        passed = int(np.count_nonzero(self.thresholds < word))
        # The last threshold is the largest word, so there is always one that was not passed.
        if self.thresholds[passed] != word[0]:
            return passed + (self.below + FAR) - FAR
        return resolve(self.law, Uniform(int(word[0]), coins, self.shape), passed + self.below)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int16 | np.int64]:
        """Return `count` independent draws."""
        prefix = coins.words(count, self.shape.guide)
        values: NDArray[np.int16 | np.int64] = self.guide.take(prefix)
        doubtful = (values == AMBIGUOUS).nonzero()[0]
        if not doubtful.size:
            return values
        settled, tied = self.settle(prefix[doubtful], coins)
        # A tie may lead beyond the table, where 16 bits no longer hold the value.
        if tied:
            values = values.astype(np.int64)
        values[doubtful] = settled
        return values

    def settle(self, prefix: Words, coins: Coins) -> tuple[NDArray[np.int64], bool]:
        """Return the draws that begin with these bits, which the guide does not tell, and if any tied."""
        shape = self.shape
        rest = coins.words(prefix.size, shape.rest).astype(np.uint64)
        words = prefix.astype(np.uint64) << np.uint64(shape.rest) | rest
        passed = self.thresholds.searchsorted(words, side="left")
        values: NDArray[np.int64] = passed + self.below
        ties = (self.thresholds[passed] == words).nonzero()[0]
        for tie in ties:
            u = Uniform(int(words[tie]), coins, shape)
            values[tie] = resolve(self.law, u, int(values[tie]))
        return values, ties.size > 0

    def reach(self, values: NDArray[np.int64], coins: Coins) -> NDArray[np.bool_]:
        """Return for every value, none below the table, whether a draw of its own is at least as large.

        It is exactly when u >= C(value - 1), so one threshold decides; beyond the table the last one does,
        unless u ties with it.
        """
        shape, places = self.shape, values - (self.below + 1) if self.below != -1 else values
        prefix = coins.words(values.size, shape.guide)
        cuts = (self.thresholds >> np.uint64(shape.rest)).astype(prefix.dtype)
        cut = cuts.take(places, mode="clip")
        reached = prefix > cut
        doubtful = np.flatnonzero(prefix == cut)
        if not doubtful.size:
            return reached
        rest = coins.words(doubtful.size, shape.rest).astype(np.uint64)
        words = prefix[doubtful].astype(np.uint64) << np.uint64(shape.rest) | rest
        thresholds = self.thresholds.take(places[doubtful], mode="clip")
        reached[doubtful] = words > thresholds
        for tie in np.flatnonzero(words == thresholds):
            value, u = int(values[doubtful[tie]]), Uniform(int(words[tie]), coins, shape)
            reached[doubtful[tie]] = not u.below(partial(self.law.cumulative, value - 1))
        return reached


def _certified_floors(law: TabulatedLaw, low: int, high: int, bits: int) -> list[int]:
    """Return floor(C(k) * 2**bits), at most the largest word, raising the precision until all are certain.

    A probability may be a multiple of 2**-bits, and then no ball around it has one floor.  But two numbers
    whose denominators have at most B bits are equal or 2**-B apart, so a smaller ball that holds an integer
    holds nothing else the probability could be.
    """
    precision, largest = bits + GUARD, (1 << bits) - 1
    words, last = arb(2) ** bits, arb(largest)
    apart = arb(2) ** -(law.denominator_bits(low, high) + 2)
    while True:
        with ctx.workprec(precision):
            scaled = [value * words for value in law.cumulatives(low, high)]
            floors = [_floor(x, apart) for x in scaled]
            # What is known to reach the largest word is cut off there, however near to the next it is.
            found = [
                largest if floor is None and x >= last else floor
                for x, floor in zip(scaled, floors, strict=True)
            ]
        if None not in found:
            return [min(int(floor), largest) for floor in found]
        precision *= 2


def _floor(x: arb, apart: arb) -> Any:
    """Return the floor of x when it is certain; x is an integer if a ball smaller than `apart` holds one."""
    floor = x.floor().unique_fmpz()
    if floor is None and x.rad() < apart:
        return (x + arb(1) / 2).floor().unique_fmpz()
    return floor
