"""The digits of geometric variables: independent, small, and tabulated.

Theorem.  Let G be geometric, Pr[G = k] = (1 - a) a**k.  In base m the digits of G are independent; digit j is
geometric with ratio a**(m**j) conditioned on being below m, and what remains after J digits is geometric with
ratio a**(m**J).  Hence for independent copies G, G' the difference G - G', whose law is the two-sided
geometric (1 - a) / (1 + a) * a**|k|, is a sum over j of m**j times independent digit differences.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat
from math import log, log1p
from operator import mul

from flint import arb, ctx

from discreet.errors import ParameterError
from discreet.exact.inversion import LawTable, Shape
from discreet.exact.number import Real, probability, shown
from discreet.exact.number import log_ball as accurate_log


@dataclass(frozen=True, slots=True)
class TwoSided:
    """The two-sided geometric law with ratio b = `alpha`**`power`.

    Pr[X <= -n] = b**n / (1 + b) for n >= 1, and by symmetry Pr[X <= k] = 1 - Pr[X <= -k-1].
    """

    alpha: Fraction
    power: int = 1

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k]."""
        return _mirrored(
            k, lambda n: power_ball(self.alpha, self.power * n) / (1 + power_ball(self.alpha, self.power))
        )

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        b = power_balls(self.alpha, self.power, max(-low, high + 1))
        whole = 1 + b[1]
        tails = [power / whole for power in b]
        return [_mirrored(k, tails.__getitem__) for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""
        return _size(self.alpha) * self.power * (max(-low, high + 1) + 1)


@dataclass(frozen=True, slots=True)
class OneSided:
    """The geometric law on k >= 0 with ratio b = `alpha`**`power`: Pr[X <= k] = 1 - b**(k+1)."""

    alpha: Fraction
    power: int = 1

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k]."""
        return 1 - power_ball(self.alpha, self.power * (k + 1)) if k >= 0 else arb(0)

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        b = power_balls(self.alpha, self.power, high + 1)
        return [1 - b[max(k + 1, 0)] for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""
        return _size(self.alpha) * self.power * (max(high, 0) + 1)


@dataclass(frozen=True, slots=True)
class Digit:
    """One base-m digit of a geometric variable of ratio b = `alpha`**`power`.

    Pr[X <= k] = (1 - b**(k+1)) / (1 - b**m) for 0 <= k < m.
    """

    alpha: Fraction
    power: int
    base: int

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k]."""
        return self.cumulatives(k, k)[0]

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        b = power_balls(self.alpha, self.power, self.base)
        # Certainty is stated, not computed: a quotient of equal balls is only nearly one.
        whole = 1 - b[-1]
        inner = [(1 - power) / whole for power in b[:-1]] + [arb(1)]
        return [inner[min(max(k + 1, 0), self.base)] for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""
        return _size(self.alpha) * self.power * 2 * self.base


@dataclass(frozen=True, slots=True)
class DigitDifference:
    """The difference of two independent base-m digits of geometric variables of ratio b = `alpha`**`power`.

    For 0 < n <= m, Pr[X <= -n] = (b**n - b**m - b**(m+1) + b**(2m-n+1)) / ((1 + b) (1 - b**m)**2),
    which is the sum over i = n .. m-1 of the probability (1-b) (b**i - b**(2m-i)) / ((1+b) (1-b**m)**2).
    """

    alpha: Fraction
    power: int
    base: int

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[X <= k]."""
        return self.cumulatives(k, k)[0]

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        m = self.base
        b = power_balls(self.alpha, self.power, 2 * m)
        whole = (1 + b[1]) * (1 - b[m]) ** 2
        ends = b[m] + b[m + 1]
        tails = [(b[n] - ends + b[2 * m - n + 1]) / whole for n in range(1, m)]
        return [_mirrored(k, lambda n: tails[n - 1] if n < m else arb(0)) for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""
        return _size(self.alpha) * self.power * (4 * self.base + 2)


def _size(alpha: Fraction) -> int:
    """Return a number of bits that holds the numerator, the denominator and their sum."""
    return (alpha.numerator + alpha.denominator).bit_length()


def _mirrored(k: int, tail: Callable[[int], arb]) -> arb:
    """Return Pr[X <= k] of a symmetric integer law from its lower tail Pr[X <= -n], n >= 1."""
    return tail(-k) if k < 0 else 1 - tail(k + 1)


@lru_cache(maxsize=64)
def digit_tables(law: TwoSided | OneSided, shape: Shape) -> tuple[LawTable, ...]:
    """Return one table per base-m digit; the last digit is unbounded, but passes its table only in a tie."""
    base = 1 << shape.digit
    alpha, power, tables = law.alpha, 1, []
    while not _light_tail(alpha, power, base << shape.head, shape.word):
        match law:
            case TwoSided():
                tables.append(
                    LawTable.build(DigitDifference(alpha, power, base), -(base - 1), base - 1, shape)
                )
            case OneSided():
                tables.append(LawTable.build(Digit(alpha, power, base), 0, base - 1, shape))
        power *= base
    end = (base << shape.head) - 1
    while end >= base and _light_tail(alpha, power, end // 2 + 1, shape.word):
        end //= 2
    match law:
        case TwoSided():
            tables.append(LawTable.build(TwoSided(alpha, power), -end, end, shape))
        case OneSided():
            tables.append(LawTable.build(OneSided(alpha, power), 0, end, shape))
    return tuple(tables)


def _light_tail(alpha: Fraction, power: int, base: int, word: int) -> bool:
    # Pr[|X| >= base] < 2**-word, decided generously on the side of one more digit.
    with ctx.workprec(64):
        return bool((log_ball(alpha) * (power * base)).exp() < arb(2) ** (-word))


WIDEST = 512
"""Noise is drawn up to scales of 2**WIDEST, one digit of which takes one table."""

SHARPEST = 2**13
"""Ratios below 2**-SHARPEST are refused: their noise is zero for all purposes, and so is their privacy."""


def proper_ratio(alpha: Real, name: str = "alpha") -> Fraction:
    """Return the ratio of a geometric law, refusing what is not between 0 and 1 or too near to either."""
    ratio = probability(alpha, name)
    over, under = ratio.numerator, ratio.denominator
    if (under - over) << WIDEST < under:
        raise ParameterError(
            f"{name} is so close to 1 that the noise passes 2**{WIDEST}, more than can be drawn: "
            f"a larger epsilon or a smaller sensitivity is needed, got {shown(ratio)}"
        )
    if over << SHARPEST < under:
        raise ParameterError(f"{name} must be at least 2**-{SHARPEST}: smaller ratios protect nobody")
    return ratio


@lru_cache(maxsize=1024)
def _log_at(alpha: Fraction, precision: int) -> arb:
    with ctx.workprec(precision):
        return accurate_log(alpha)


def log_ball(alpha: Fraction) -> arb:
    """Return a ball around ln(alpha) at the working precision, with room for large multiples of it."""
    return _log_at(alpha, ctx.prec + 64)


def power_ball(alpha: Fraction, n: int) -> arb:
    """Return a ball around alpha**n at the working precision."""
    return (log_ball(alpha) * n).exp()


LONGEST_POWER = 2**23
"""Bits of the longest exact power that is written out."""


def writable(alpha: Fraction, n: int) -> bool:
    """Whether alpha**n may be written out exactly."""
    return n * alpha.denominator.bit_length() <= LONGEST_POWER


def power(alpha: Fraction, n: int) -> Fraction:
    """Return alpha**n for n >= 0, refusing to write out millions of digits."""
    if not writable(alpha, n):
        raise ParameterError(
            f"the exact probability has more than {LONGEST_POWER} bits; ask for one nearer to the centre"
        )
    return Fraction(alpha**n)


def power_balls(alpha: Fraction, step: int, count: int) -> list[arb]:
    """Return balls around alpha**(step * n) for n = 0 .. count."""
    return list(accumulate(repeat(power_ball(alpha, step), count), mul, initial=arb(1)))


@lru_cache(maxsize=1024)
def float_log(alpha: Fraction) -> float:
    """Return ln(alpha) to nearly full float precision, also for alpha close to 1."""
    return (
        log1p(-float(1 - alpha)) if alpha > Fraction(1, 2) else log(alpha.numerator) - log(alpha.denominator)
    )
