"""Wide laws in one look-up: a cell from a certified table, a place in it from plain bits, seldom a rejection.

Theorem.  Let f be a weight on the integers that depends on |k| only and never grows with it, let m be
positive and g(c) = f(m c).  Draw a cell C with probability proportional to g(c), where c is C or, for
negative C, -1 - C, and a place D that is uniform on 0 .. m - 1.  The integer k = m C + D is every integer in
exactly one way, and m c <= |k| <= m (c + 1).  Keep it with probability f(k) / g(c), else draw again: what is
kept has probability proportional to f(k).

A cell has two strips, of weights g(c + 1) and g(c) - g(c + 1).  In the first one k is kept whatever it is; in
the second one it is rejected with probability

    (g(c) - f(k)) / (g(c) - g(c + 1)) = (1 - exp(-x)) / (1 - exp(-y)),

x being ln g(c) - ln f(k) and y being ln g(c) - ln g(c + 1): together the same as above.  The second strip is
rare, a float decides in it when its certified error cannot matter, and a ball when it can.  The cells of a
geometric law of ratio a have ratio a**m, those of a Gaussian of variance v have variance v / m**2: one small
table whatever the width.  Where int64 does not hold k, the low bits of the place stand apart (`Wide`).

References.  Rejection from a histogram with strips that need no test: Devroye, Non-Uniform Random Variate
Generation, 1986, section VIII.2.  Lazy comparison: Karney, ACM TOMS 42(1), 2016.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, expm1, frexp, log, sqrt
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.coins import Coins, Words
from discreet.exact.digits import float_log, log_ball, power_balls
from discreet.exact.inversion import AMBIGUOUS, STANDARD, LawTable, Shape, Uniform
from discreet.exact.lattice_gaussian import gaussian_tail
from discreet.exact.number import ball
from discreet.exact.wide import Floats, Wide

BLOCK = 15 << 10
"""Draws per pass: what is written in between stays in the cache, and below the 128 KiB from which on memory
comes from the operating system and goes back to it, which takes longer than the drawing."""

WIDTH = 5
"""Cells are at most a 2**WIDTH-th of the scale, and more than half that: few to tabulate, seldom rejected."""

ROOM = 1 << 60
"""Draws are int64 where the table ends below this; no tie leads from there to where int64 ends."""

HEAD, LONGEST = 38, 62
"""Of wider laws so many bits of the place stand with the cell, and up to so many others apart in int64."""

SPARE = 48
"""One draw more for so many, which are seldom too few: cells reject at most one in 64 on average."""


class Weight(Protocol):
    """A weight f(k) in cells of m integers, by g(c) = f(m c)."""

    @property
    def end(self) -> int:
        """A cell beyond which, on either side, less than 2**-64 of the weight lies."""

    def sums(self, last: int) -> tuple[list[arb], list[arb]]:
        """Return balls around g(n) and around g(n) + g(n+1) + ..., each for n = 0 .. last."""

    def rejection(self, cell: Floats, part: Floats) -> Floats:
        """Return the chance of rejecting |k| = m (cell + part) in the second strip, to a relative 2**-45."""

    def fall(self, cell: int, excess: int) -> arb:
        """Return a ball around ln g(cell) - ln f(m cell + excess)."""


@dataclass(frozen=True, slots=True)
class GeometricWeight:
    """The weight a**|k| in cells of 2**`bits` integers."""

    alpha: Fraction
    bits: int
    _decay: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_decay", -float_log(self.alpha) * 2.0**self.bits)

    @property
    def end(self) -> int:
        """A cell beyond which, on either side, less than 2**-64 of the weight lies."""
        return ceil(65 * log(2) / self._decay) + 2

    def sums(self, last: int) -> tuple[list[arb], list[arb]]:
        """Return balls around g(n) and around g(n) + g(n+1) + ..., each for n = 0 .. last."""
        terms = power_balls(self.alpha, 1 << self.bits, last)
        whole = 1 / (1 - terms[1])
        return terms, [term * whole for term in terms]

    def rejection(self, cell: Floats, part: Floats) -> Floats:
        """Return the chance of rejecting |k| = m (cell + part) in the second strip, to a relative 2**-45."""
        return np.asarray(np.expm1(-self._decay * part) / expm1(-self._decay))

    def fall(self, cell: int, excess: int) -> arb:
        """Return a ball around ln g(cell) - ln f(m cell + excess)."""
        return -log_ball(self.alpha) * excess


@dataclass(frozen=True, slots=True)
class GaussianWeight:
    """The weight exp(-k**2 / (2 v)) in cells of 2**`bits` integers."""

    variance: Fraction
    bits: int
    _rate: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rate", float(1 / (2 * self._reduced)))

    @property
    def _reduced(self) -> Fraction:
        return self.variance / (1 << 2 * self.bits)

    @property
    def end(self) -> int:
        """A cell beyond which, on either side, less than 2**-64 of the weight lies."""
        return ceil(sqrt(self._reduced) * sqrt(2 * log(2) * 65)) + 4

    def sums(self, last: int) -> tuple[list[arb], list[arb]]:
        """Return balls around g(n) and around g(n) + g(n+1) + ..., each for n = 0 .. last."""
        twice = 2 * ball(self._reduced)
        terms = [(-(arb(n) ** 2) / twice).exp() for n in range(last + 1)]
        tails = [gaussian_tail(last, self._reduced)]
        for term in reversed(terms[:-1]):
            tails.append(tails[-1] + term)
        return terms, tails[::-1]

    def rejection(self, cell: Floats, part: Floats) -> Floats:
        """Return the chance of rejecting |k| = m (cell + part) in the second strip, to a relative 2**-45."""
        twice = 2 * cell
        x, y = part * (part + twice), 1 + twice
        return np.asarray(np.expm1(-self._rate * x) / np.expm1(-self._rate * y))

    def fall(self, cell: int, excess: int) -> arb:
        """Return a ball around ln g(cell) - ln f(m cell + excess)."""
        return ball(excess * (excess + (cell << (self.bits + 1))) / (2 * self.variance))


@dataclass(frozen=True, slots=True)
class Strips:
    """The law of 2 C in the first strip of cell C and of 2 C + 1 in the second."""

    weight: Weight

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k]."""
        return self.cumulatives(k, k)[0]

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        terms, tails = self.weight.sums(max(-(low // 2), high // 2 + 1, 1) + 1)
        whole = 2 * tails[0]

        def upto(k: int) -> arb:
            cell, second = divmod(k, 2)
            if k == -1:
                return arb(1) / 2
            if cell < 0:
                return (tails[-cell - 1] if second else tails[-cell] + terms[-cell]) / whole
            above = tails[cell + 1] if second else tails[cell + 1] + terms[cell] - terms[cell + 1]
            return 1 - above / whole

        return [upto(k) for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return more bits than any ball has: only 1/2, which is stated exactly, is taken for a fraction.

        Theorem.  No other one is a multiple of 2**-64 for a geometric weight of ratio a / b in lowest terms,
        b >= 1024, in cells of m >= 32 integers.
        Proof.  With r = (a / b)**m the others, or their complements, are half of r**n with n >= 1, of
        r**n (2 - r) and of r**n (1 - r + r**2).  Their numerators over powers of b have no prime in common
        with b, because a, 2 b**m - a**m and b**(2 m) - (a b)**m + a**(2 m) have none.  So they are no binary
        fractions unless b is a power of two, and then of at least 320 bits.
        """
        return 1 << 60


@dataclass(frozen=True, slots=True)
class CellTable:
    """A wide law: the table of its strips, and the bits that tell a place in a cell, `low` of them apart."""

    weight: Weight
    bits: int
    low: int
    strips: LawTable
    guide: NDArray[np.int16]
    shape: Shape

    @classmethod
    def build(cls, weight: Weight, bits: int, shape: Shape = STANDARD, low: int | None = None) -> "CellTable":
        """Tabulate the strips of cells of 2**bits integers; the guide tells the cells of first strips."""
        end = weight.end
        apart = (0 if end << bits < ROOM else bits - HEAD) if low is None else low
        strips = LawTable.build(Strips(weight), -2 * end - 2, 2 * end + 1, shape)
        first = (strips.guide != AMBIGUOUS) & (strips.guide & 1 == 0)
        return cls(weight, bits, apart, strips, np.where(first, strips.guide >> 1, AMBIGUOUS), shape)

    def draw(self, count: int, coins: Coins) -> NDArray[Any]:
        """Return `count` independent draws: int64, or Python integers where int64 does not hold all."""
        drawn = self.draw_wide(count, coins)
        return drawn.integers() if isinstance(drawn, Wide) else drawn

    def draw_wide(self, count: int, coins: Coins) -> NDArray[np.int64] | Wide:
        """Return `count` independent draws: int64 where that always holds them, else in two parts."""
        parts = self._parts(count, coins)
        return Wide(parts[0], parts[1], self.low) if self.low else parts[0]

    def draw_one(self, coins: Coins) -> int:
        """Return one draw, however wide."""
        while True:
            cell, second = divmod(self.strips.draw_one(coins), 2)
            value = cell << self.bits | coins.bits(self.bits)
            if not second:
                return value
            if not Uniform.fresh(coins, self.shape).below(partial(self._exact, value)):
                return value

    def _parts(self, count: int, coins: Coins) -> list[NDArray[Any]]:
        """Return `count` independent draws, in parts.

        Some are drawn beyond `count`: those of them that are kept take the places of rejected ones.  Which
        places are rejected is all that decides who goes where, and given that, what is kept are independent
        draws of the law.
        """
        size = count + count // SPARE
        parts = [np.empty(size, dtype=np.int64)]
        if self.low:
            parts.append(np.empty(size, dtype=np.int64 if self.low <= LONGEST else object))
        # Memory for a large array makes memory for a quarter of it quick to get.
        step = max(BLOCK, min(size // 4, 8 * BLOCK))
        blocks = [slice(start, start + step) for start in range(0, size, step)]
        seconds = [some.start + self._fill([part[some] for part in parts], coins) for some in blocks]
        second = np.concatenate(seconds) if seconds else np.empty(0, dtype=np.int64)
        again = second[self._rejects([part[second] for part in parts], coins)]
        return self._replace(parts, count, again, coins)

    def _replace(
        self, parts: list[NDArray[Any]], count: int, again: NDArray[np.int64], coins: Coins
    ) -> list[NDArray[Any]]:
        """Return the first `count` draws, those at the places `again` replaced by spare ones or new ones."""
        inside = int(again.searchsorted(count))
        kept = np.ones(parts[0].size - count, dtype=np.bool_)
        kept[again[inside:] - count] = False
        spare = kept.nonzero()[0][:inside] + count
        for part in parts:
            part[again[: spare.size]] = part[spare]
        missing = again[spare.size : inside]
        if missing.size:
            for part, new in zip(parts, self._parts(missing.size, coins), strict=True):
                part[missing] = new
        return [part[:count] for part in parts]

    def _fill(self, parts: list[NDArray[Any]], coins: Coins) -> NDArray[np.int64]:
        """Draw once for each place of a block; return the places where it fell in a second strip."""
        head, kept = parts[0], self.bits - self.low
        prefix, place = _two_words(head.size, self.shape.guide, kept, coins)
        cells = self.guide.take(prefix)
        others = (cells == AMBIGUOUS).nonzero()[0]
        strips, tied = self.strips.settle(prefix[others], coins)
        # A tie may lead beyond the table; what int64 does not hold is an error, never another number.
        if tied and int(np.abs(strips).max()) >= 1 << (62 - kept):
            raise OverflowError("noise beyond 64 bits was drawn")
        head[:] = cells
        head[others] = strips >> 1
        head <<= kept
        head |= place
        for rest in parts[1:]:
            rest[:] = _words(rest.size, self.low, coins)
        second: NDArray[np.int64] = others[(strips & 1) == 1]
        return second

    def _rejects(self, parts: list[NDArray[Any]], coins: Coins) -> NDArray[np.bool_]:
        """Decide which numbers of second strips are rejected."""
        head, kept = parts[0], self.bits - self.low
        cell = head >> kept
        cell ^= cell >> 63
        excess = (np.abs(head) - (cell << kept)).astype(np.float64)
        for rest in parts[1:]:
            excess += np.where(head < 0, -1.0, 1.0) * rest.astype(np.float64) * 2.0**-self.low
        p = self.weight.rejection(cell.astype(np.float64), excess * 2.0**-kept)
        words = coins.words(cell.size, self.shape.word)
        u = words * 2.0**-self.shape.word
        rejected: NDArray[np.bool_] = u < p
        # The relative error of 1 - exp(-x) is at most that of x and of the function, so p is known to a
        # relative 2**-45; that of a rest, at most 2**-52 of a place, moves p by less than 2**-50; u is off by
        # 2**-53 and its unread bits.
        margin = p * 2.0**-40 + (2.0**-48 + 2.0**-self.shape.word)
        for place in (np.abs(u - p) <= margin).nonzero()[0]:
            value = (int(head[place]) << self.low) + sum(int(rest[place]) for rest in parts[1:])
            drawn = Uniform(int(words[place]), coins, self.shape)
            rejected[place] = drawn.below(partial(self._exact, value))
        return rejected

    def _exact(self, value: int) -> arb:
        """Return a ball around the probability of rejecting a number of a second strip."""
        cell = value >> self.bits
        inner = cell if cell >= 0 else -1 - cell
        return self.rejection(inner, abs(value) - (inner << self.bits))

    def rejection(self, cell: int, excess: int) -> arb:
        """Return a ball around the probability of rejecting |k| = m cell + excess in the second strip."""
        # Whoever stands at an end is kept or rejected for certain, which no ball would ever say.
        if excess in (0, 1 << self.bits):
            return arb(1 if excess else 0)
        x, y = self.weight.fall(cell, excess), self.weight.fall(cell, 1 << self.bits)
        return (-x).expm1() / (-y).expm1()


def _two_words(count: int, upper: int, lower: int, coins: Coins) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return independent words of two lengths, each pair from one word where that is long enough."""
    if upper + lower > 64:
        return coins.words(count, upper), _signed(coins.words(count, lower))
    both = coins.words(count, upper + lower)
    return _signed(both >> np.uint8(lower)), _signed(both & both.dtype.type((1 << lower) - 1))


def _signed(words: Words) -> NDArray[Any]:
    """Return words of less than 64 bits as what goes with int64."""
    return words.view(np.int64) if words.dtype == np.uint64 else words


def _words(count: int, bits: int, coins: Coins) -> Any:
    """Return words of any length."""
    if bits <= LONGEST:
        return _signed(coins.words(count, bits))
    return [coins.bits(bits) for _ in range(count)]


@lru_cache(maxsize=32)
def cell_table(
    weight: type[GeometricWeight] | type[GaussianWeight], parameter: Fraction, scale: float, shape: Shape
) -> CellTable:
    """Return the cells of a law of this scale, which is at least 2**WIDTH."""
    bits = max(frexp(scale)[1] - 1 - WIDTH, 1)
    return CellTable.build(weight(parameter, bits), bits, shape)
