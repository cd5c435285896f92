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
table whatever the width.

References.  Rejection from a histogram with strips that need no test: Devroye, Non-Uniform Random Variate
Generation, 1986, section VIII.2.  Lazy comparison: Karney, ACM TOMS 42(1), 2016.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, frexp, log, sqrt
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.exact.coins import Coins
from discreet.exact.digits import float_log, log_ball, power_balls
from discreet.exact.inversion import STANDARD, LawTable, Shape, Uniform
from discreet.exact.lattice_gaussian import gaussian_tail
from discreet.exact.number import ball

Floats = NDArray[np.float64]

BLOCK = 1 << 17
"""Draws per pass: small enough for the tables and buffers to stay in cache."""

WIDTH = 5
"""Cells are at most a 2**WIDTH-th of the scale, and more than half that: few to tabulate, seldom rejected."""

WIDEST = 2.0**50
"""The largest scale for which cells are used: beyond it int64 would be too narrow."""


class Weight(Protocol):
    """A weight f(k) in cells of m integers, by g(c) = f(m c)."""

    @property
    def end(self) -> int:
        """A cell beyond which, on either side, less than 2**-64 of the weight lies."""

    def sums(self, last: int) -> tuple[list[arb], list[arb]]:
        """Return balls around g(n) and around g(n) + g(n+1) + ..., each for n = 0 .. last."""

    def exponent(self, cell: Floats, part: Floats) -> Floats:
        """Return ln g(cell) - ln f(m (cell + part)) to a relative 2**-48."""

    def fall(self, cell: int, excess: int) -> arb:
        """Return a ball around ln g(cell) - ln f(m cell + excess)."""


@dataclass(frozen=True, slots=True)
class GeometricWeight:
    """The weight a**|k| in cells of 2**`bits` integers."""

    alpha: Fraction
    bits: int

    @property
    def _decay(self) -> float:
        return -float_log(self.alpha) * 2.0**self.bits

    @property
    def end(self) -> int:
        """A cell beyond which, on either side, less than 2**-64 of the weight lies."""
        return ceil(65 * log(2) / self._decay) + 2

    def sums(self, last: int) -> tuple[list[arb], list[arb]]:
        """Return balls around g(n) and around g(n) + g(n+1) + ..., each for n = 0 .. last."""
        terms = power_balls(self.alpha, 1 << self.bits, last)
        whole = 1 / (1 - terms[1])
        return terms, [term * whole for term in terms]

    def exponent(self, cell: Floats, part: Floats) -> Floats:
        """Return ln g(cell) - ln f(m (cell + part)) to a relative 2**-48."""
        return self._decay * part

    def fall(self, cell: int, excess: int) -> arb:
        """Return a ball around ln g(cell) - ln f(m cell + excess)."""
        return -log_ball(self.alpha) * excess


@dataclass(frozen=True, slots=True)
class GaussianWeight:
    """The weight exp(-k**2 / (2 v)) in cells of 2**`bits` integers."""

    variance: Fraction
    bits: int

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

    def exponent(self, cell: Floats, part: Floats) -> Floats:
        """Return ln g(cell) - ln f(m (cell + part)) to a relative 2**-48."""
        return float(1 / (2 * self._reduced)) * part * (part + 2 * cell)

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
    """A wide law: the table of its strips, and how many bits tell the place in a cell."""

    weight: Weight
    bits: int
    strips: LawTable
    shape: Shape

    @classmethod
    def build(cls, weight: Weight, bits: int, shape: Shape = STANDARD) -> "CellTable":
        """Tabulate the strips of cells of 2**bits integers."""
        end = weight.end
        return cls(weight, bits, LawTable.build(Strips(weight), -2 * end - 2, 2 * end + 1, shape), shape)

    def draw(self, count: int, coins: Coins) -> NDArray[np.int64]:
        """Return `count` independent draws."""
        out = np.empty(count, dtype=np.int64)
        blocks = range(0, count, BLOCK)
        seconds = [start + self._fill(out[start : start + BLOCK], coins) for start in blocks]
        second = np.concatenate(seconds) if seconds else np.empty(0, dtype=np.int64)
        again = second[self._rejects(out[second], coins)]
        if again.size:
            out[again] = self.draw(again.size, coins)
        return out

    def draw_one(self, coins: Coins) -> int:
        """Return one draw, however wide."""
        while True:
            cell, second = divmod(self.strips.draw_one(coins), 2)
            value = cell << self.bits | coins.bits(self.bits)
            if not second:
                return value
            inner = cell if cell >= 0 else -1 - cell
            exact = partial(self.rejection, inner, abs(value) - (inner << self.bits))
            if not Uniform.fresh(coins, self.shape).below(exact):
                return value

    def _fill(self, out: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Draw once for each place of an array; return the places where it fell in a second strip."""
        strips = self.strips.draw(out.size, coins)
        # A tie may lead beyond the table; what int64 does not hold is an error, never another number.
        if strips.dtype != np.int16 and int(np.abs(strips).max()) >= 1 << (62 - self.bits):
            raise OverflowError("noise beyond 64 bits was drawn")
        out[:] = strips >> 1
        out <<= self.bits
        out |= coins.words(out.size, self.bits).astype(np.int64)
        return np.flatnonzero((strips & 1) == 1)

    def _rejects(self, values: NDArray[np.int64], coins: Coins) -> NDArray[np.bool_]:
        """Decide which numbers of second strips are rejected."""
        cell = values >> self.bits
        cell ^= cell >> 63
        excess = np.abs(values) - (cell << self.bits)
        inner = cell.astype(np.float64)
        top = self.weight.exponent(inner, np.ones(cell.size))
        p = np.expm1(-self.weight.exponent(inner, excess * 2.0**-self.bits)) / np.expm1(-top)
        words = coins.words(cell.size, self.shape.word)
        u = words * 2.0**-self.shape.word
        rejected: NDArray[np.bool_] = u < p
        # The relative error of 1 - exp(-x) is at most that of x and of the function, so p is known to a
        # relative 2**-45; u is off by 2**-53 and its unread bits.
        margin = p * 2.0**-40 + 2.0**-50 + 2.0**-self.shape.word
        for place in np.flatnonzero(np.abs(u - p) <= margin):
            exact = partial(self.rejection, int(cell[place]), int(excess[place]))
            rejected[place] = Uniform(int(words[place]), coins, self.shape).below(exact)
        return rejected

    def rejection(self, cell: int, excess: int) -> arb:
        """Return a ball around the probability of rejecting |k| = m cell + excess in the second strip."""
        # Whoever stands at an end is kept or rejected for certain, which no ball would ever say.
        if excess in (0, 1 << self.bits):
            return arb(1 if excess else 0)
        x, y = self.weight.fall(cell, excess), self.weight.fall(cell, 1 << self.bits)
        return (-x).expm1() / (-y).expm1()


@lru_cache(maxsize=32)
def cell_table(
    weight: type[GeometricWeight] | type[GaussianWeight], parameter: Fraction, scale: float, shape: Shape
) -> CellTable:
    """Return the cells of a law of this scale, which is at least 2**WIDTH."""
    bits = max(frexp(scale)[1] - 1 - WIDTH, 1)
    return CellTable.build(weight(parameter, bits), bits, shape)
