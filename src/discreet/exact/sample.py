"""Exact samplers: every value is drawn with exactly the probability its law states.

Theorem (digits).  Let G be geometric, Pr[G = k] = (1 - a) a**k.  In base m the digits of G are
independent; digit j is geometric with ratio a**(m**j) conditioned on being below m, and what remains
after J digits is geometric with ratio a**(m**J).  Hence for independent copies G, G' the difference
G - G', whose law is the two-sided geometric (1 - a) / (1 + a) * a**|k|, is a sum over j of m**j times
independent digit differences, each drawn by one look-up in a small certified table.

The number of look-ups depends on the ratio only, never on the value drawn, and no draw is rejected.

Theorem (discrete Gaussian by rejection).  Propose y with probability proportional to a**|y| and keep it
with probability exp(-(|y| - s L)**2 / (2 s)), L = -ln(a).  The kept y has probability proportional to
exp(-y**2 / (2 s)), because the two exponents add up to -y**2 / (2 s) and a constant.  A float decides
when its certified error cannot matter; otherwise a ball does.

References.  Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020
(rejection from a discrete Laplace).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate, repeat
from math import exp, floor, log, log1p, sqrt
from operator import mul
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.coins import Coins, source
from discreet.exact.inversion import STANDARD, Shape, Table, Uniform, resolve
from discreet.exact.number import ball

Integers = NDArray[Any]
"""int64, or object holding Python integers where int64 would be too narrow."""

BLOCK = 1 << 16
"""Draws per pass: small enough for the tables and buffers to stay in cache."""

FEW = 32
"""Up to this many draws, a look-up at a time is quicker than a pass over arrays."""


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
            k, lambda n: _power(self.alpha, self.power * n) / (1 + _power(self.alpha, self.power))
        )

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        b = _powers(self.alpha, self.power, max(-low, high + 1))
        tails = [power / (1 + b[1]) for power in b]
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
        return 1 - _power(self.alpha, self.power * (k + 1)) if k >= 0 else arb(0)

    def cumulatives(self, low: int, high: int) -> list[arb]:
        """Return balls around Pr[X <= k] for every k from low to high."""
        b = _powers(self.alpha, self.power, high + 1)
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
        b = _powers(self.alpha, self.power, self.base)
        # Certainty is stated, not computed: a quotient of equal balls is only nearly one.
        inner = [(1 - power) / (1 - b[-1]) for power in b[:-1]] + [arb(1)]
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
        b = _powers(self.alpha, self.power, 2 * m)
        whole = (1 + b[1]) * (1 - b[m]) ** 2

        def tail(n: int) -> arb:
            return (b[n] - b[m] - b[m + 1] + b[2 * m - n + 1]) / whole if n < m else arb(0)

        return [_mirrored(k, tail) for k in range(low, high + 1)]

    def denominator_bits(self, low: int, high: int) -> int:
        """Return a number of bits that holds the denominator of every Pr[X <= k], low <= k <= high."""
        return _size(self.alpha) * self.power * (4 * self.base + 2)


def _size(alpha: Fraction) -> int:
    """Return a number of bits that holds the numerator, the denominator and their sum."""
    return (alpha.numerator + alpha.denominator).bit_length()


def _mirrored(k: int, tail: Callable[[int], arb]) -> arb:
    """Return Pr[X <= k] of a symmetric integer law from its lower tail Pr[X <= -n], n >= 1."""
    return tail(-k) if k < 0 else 1 - tail(k + 1)


def two_sided_geometric(
    alpha: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return one integer (count None) or an array of draws with Pr[k] = (1-a)/(1+a) a**|k|."""
    return _draw(TwoSided(_ratio(alpha)), count, coins or source(), shape)


def geometric(
    alpha: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return one integer (count None) or an array of draws with Pr[k] = (1-a) a**k, k >= 0."""
    return _draw(OneSided(_ratio(alpha)), count, coins or source(), shape)


def _draw(law: TwoSided | OneSided, count: int | None, coins: Coins, shape: Shape) -> Any:
    tables = _digit_tables(law, shape)
    if count is None:
        return sum(table.draw_one(coins) << (shape.digit * place) for place, table in enumerate(tables))
    if count <= FEW:
        return _narrow([_draw(law, None, coins, shape) for _ in range(count)])
    return _assemble(tables, count, coins, shape)


@lru_cache(maxsize=64)
def _digit_tables(law: TwoSided | OneSided, shape: Shape) -> tuple[Table, ...]:
    """Return one table per base-m digit; the last digit is unbounded, but passes m only in a tie."""
    base = 1 << shape.digit
    alpha, power, tables = law.alpha, 1, []
    while not _light_tail(alpha, power, base, shape.word):
        match law:
            case TwoSided():
                tables.append(Table.build(DigitDifference(alpha, power, base), -(base - 1), base - 1, shape))
            case OneSided():
                tables.append(Table.build(Digit(alpha, power, base), 0, base - 1, shape))
        power *= base
    match law:
        case TwoSided():
            tables.append(Table.build(TwoSided(alpha, power), -(base - 1), base - 1, shape))
        case OneSided():
            tables.append(Table.build(OneSided(alpha, power), 0, base - 1, shape))
    return tuple(tables)


def _light_tail(alpha: Fraction, power: int, base: int, word: int) -> bool:
    # Pr[|X| >= base] < 2**-word, decided generously on the side of one more digit.
    with ctx.workprec(64):
        return bool((_log(alpha) * (power * base)).exp() < arb(2) ** (-word))


def _assemble(tables: Sequence[Table], count: int, coins: Coins, shape: Shape) -> Integers:
    # |X| stays below base**digits except after a tie in the last digit: two bits of head-room and more.
    exact_type: Any = np.int64 if shape.digit * (len(tables) + 1) < 62 else object
    out = np.empty(count, dtype=exact_type)
    for start in range(0, count, BLOCK):
        block = out[start : start + BLOCK]
        block[:] = tables[0].draw(block.size, coins)
        for place, table in enumerate(tables[1:], start=1):
            digit = table.draw(block.size, coins).astype(exact_type)
            digit *= 1 << (shape.digit * place)
            block += digit
    return out


def discrete_gaussian(
    sigma_squared: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return one integer (count None) or an array of draws with Pr[k] proportional to exp(-k**2 / (2 s))."""
    coins = coins or source()
    if sigma_squared <= 0:
        raise ParameterError(f"sigma squared must be greater than 0, got {sigma_squared}")
    test = _Acceptance.of(sigma_squared)
    if count is None:
        while True:
            proposal = two_sided_geometric(test.alpha, coins=coins, shape=shape)
            if test.keeps(proposal, coins, shape):
                return proposal
    kept: list[Integers] = []
    missing = count
    while missing > 0:
        # Three proposals in four are kept; a little more than that rarely needs a second round.
        proposals = two_sided_geometric(test.alpha, min(missing + missing // 3 + 16, BLOCK), coins=coins)
        accepted = proposals[test.keeps_each(proposals, coins)][:missing]
        kept.append(accepted)
        missing -= accepted.size
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Acceptance:
    """The event of probability exp(-(|y| - s L)**2 / (2 s)), L = -ln(alpha)."""

    variance: Fraction
    alpha: Fraction
    peak: float
    width: float

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, variance: Fraction) -> "_Acceptance":
        """Choose the proposal's ratio near exp(-1/sigma), which keeps most proposals."""
        sigma = sqrt(variance)
        bits = max(16, variance.numerator.bit_length() - variance.denominator.bit_length() + 16)
        alpha = (
            Fraction(max(1, floor(exp(-1 / sigma) * 2**53)), 2**53)
            if bits < 53
            else 1 - Fraction(1, floor(sigma) + 1)
        )
        alpha = max(alpha.limit_denominator(2**bits), Fraction(1, 2**16))
        return cls(variance, alpha, float(variance) * -_float_log(alpha), sigma)

    def exact(self, y: int) -> arb:
        """Return a ball around the probability of keeping y."""
        s = ball(self.variance)
        return (-((abs(y) + s * _log(self.alpha)) ** 2) / (2 * s)).exp()

    def keeps(self, y: int, coins: Coins, shape: Shape = STANDARD) -> bool:
        """Decide whether to keep one proposal."""
        return Uniform.fresh(coins, shape).below(partial(self.exact, y))

    def keeps_each(self, proposals: Integers, coins: Coins, shape: Shape = STANDARD) -> NDArray[np.bool_]:
        """Decide whether to keep each proposal."""
        if proposals.dtype == object or self.width > 2.0**40:
            return np.array([self.keeps(int(y), coins, shape) for y in proposals], dtype=np.bool_)
        words = coins.words(proposals.size, shape.word)
        u = words * 2.0**-shape.word
        # Where p exceeds 2**-50 its exponent is below 35 and known to 2**-44, so p is known to a relative
        # 2**-43; where it does not, the absolute margin covers it. u is off by 2**-53 and its unread bits.
        p = np.exp(-0.5 * np.square((np.abs(proposals) - self.peak) / self.width))
        margin = p * 2.0**-36 + 2.0**-50 + 2.0**-shape.word
        kept: NDArray[np.bool_] = u < p
        for place in np.flatnonzero(np.abs(u - p) <= margin):
            y = int(proposals[place])
            kept[place] = Uniform(int(words[place]), coins, shape).below(partial(self.exact, y))
        return kept


def bernoulli(
    p: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return True with probability p, once or `count` times."""
    if not 0 <= p <= 1:
        raise ParameterError(f"a probability must lie between 0 and 1, got {p}")
    return _flip(lambda: ball(p), count, coins or source(), shape)


def bernoulli_exp(
    gamma: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return True with probability exp(-gamma), gamma >= 0, once or `count` times."""
    if gamma < 0:
        raise ParameterError(f"gamma must not be negative, got {gamma}")
    return _flip(lambda: (-ball(gamma)).exp(), count, coins or source(), shape)


def _flip(value: Callable[[], arb], count: int | None, coins: Coins, shape: Shape) -> Any:
    if count is None:
        return Uniform.fresh(coins, shape).below(value)
    with ctx.workprec(128):
        scaled = value() * arb(2) ** shape.word
        ends = int(scaled.lower().floor().fmpz()), int(scaled.upper().ceil().fmpz())
    lower, upper = (np.uint64(min(max(end, 0), 2**shape.word - 1)) for end in ends)
    words = coins.words(count, shape.word)
    result: NDArray[np.bool_] = words < lower
    # Words between the two sides of the ball, and the last word of all, are decided exactly.
    for place in np.flatnonzero((words >= lower) & (words <= upper)):
        result[place] = Uniform(int(words[place]), coins, shape).below(value)
    return result


def uniform_below(bound: int, count: int | None = None, *, coins: Coins | None = None) -> Any:
    """Return a uniform integer in [0, bound), once or `count` times."""
    coins = coins or source()
    if bound < 1:
        raise ParameterError(f"the bound must be at least 1, got {bound}")
    width = (bound - 1).bit_length()
    if count is None:
        while (value := coins.bits(width)) >= bound:
            pass
        return value
    if width == 0:
        return np.zeros(count, dtype=np.int64)
    if width > 62:
        return _narrow([uniform_below(bound, coins=coins) for _ in range(count)])
    out = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        tries = coins.words(2 * (count - filled) + 16, width)
        good = tries[tries < bound][: count - filled]
        out[filled : filled + good.size] = good
        filled += good.size
    return out


def choose_counted(weights: Sequence[int], *, coins: Coins | None = None) -> int:
    """Return index i with probability weights[i] / sum, for integer weights."""
    running = list(accumulate(weights))
    if not running or running[-1] <= 0 or min(weights) < 0:
        raise ParameterError("weights must be non-negative integers, not all zero")
    return bisect_right(running, uniform_below(running[-1], coins=coins))


def choose_powers(
    alpha: Fraction,
    gaps: Sequence[int] | NDArray[Any],
    multiplicities: Sequence[int] | None = None,
    *,
    coins: Coins | None = None,
    shape: Shape = STANDARD,
) -> int:
    """Return index i with probability proportional to multiplicities[i] * alpha**gaps[i]."""
    ratio = _ratio(alpha)
    logs = np.asarray(gaps, dtype=np.float64) * _float_log(ratio)

    def weight(i: int) -> arb:
        return (_log(ratio) * int(gaps[i])).exp()

    return _choose(logs, weight, multiplicities, coins or source(), shape)


def choose_exponents(
    exponents: Sequence[Fraction],
    multiplicities: Sequence[int] | None = None,
    *,
    coins: Coins | None = None,
    shape: Shape = STANDARD,
) -> int:
    """Return index i with probability proportional to multiplicities[i] * exp(-exponents[i])."""
    least = min(exponents, default=Fraction(0))
    logs = np.array([-float(e - least) for e in exponents])

    def weight(i: int) -> arb:
        return (-ball(exponents[i] - least)).exp()

    return _choose(logs, weight, multiplicities, coins or source(), shape)


def _choose(
    logs: NDArray[np.float64],
    weight: Callable[[int], arb],
    multiplicities: Sequence[int] | None,
    coins: Coins,
    shape: Shape,
) -> int:
    """Choose by float weights when the drawn bits are clear of every error, by balls when they are not."""
    size = logs.size
    if size == 0:
        raise ParameterError("there must be at least one candidate")
    if multiplicities is not None:
        if len(multiplicities) != size or min(multiplicities) < 0 or max(multiplicities) == 0:
            raise ParameterError("multiplicities must be non-negative, one for each candidate, not all zero")
        with np.errstate(divide="ignore"):
            logs = logs + np.array([log(m) if m else -np.inf for m in multiplicities])
    logs = logs - logs.max()
    running = np.cumsum(np.exp(logs))
    u = Uniform.fresh(coins, shape)
    target = u.prefix * 2.0**-shape.word * running[-1]
    index = int(min(np.searchsorted(running, target, side="right"), size - 1))
    # Each weight above exp(-700) has relative error below 700 * 2**-50; summation adds size * 2**-52.
    margin = running[-1] * (2.0**-38 + size * 2.0**-50 + 2.0**-shape.word)
    if (index == 0 or target - running[index - 1] > margin) and (
        index == size - 1 or running[index] - target > margin
    ):
        return index
    law = _Weighted(weight, multiplicities, size)
    return resolve(law, u, index)


class _Weighted:
    """The law of an index under ball weights, with prefix sums computed once per precision."""

    def __init__(self, weight: Callable[[int], arb], multiplicities: Sequence[int] | None, size: int) -> None:
        self._weight = weight
        self._multiplicities = multiplicities
        self._size = size
        self._sums: dict[int, list[arb]] = {}

    def cumulative(self, k: int) -> arb:
        """Return a ball around Pr[index <= k]."""
        if k < 0:
            return arb(0)
        if k >= self._size - 1:
            return arb(1)
        sums = self._sums.get(ctx.prec)
        if sums is None:
            weights = (
                self._weight(i) * (self._multiplicities[i] if self._multiplicities else 1)
                for i in range(self._size)
            )
            sums = self._sums[ctx.prec] = list(accumulate(weights))
        return sums[k] / sums[-1]


def _ratio(alpha: Fraction) -> Fraction:
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie strictly between 0 and 1, got {alpha}")
    return alpha


@lru_cache(maxsize=1024)
def _log_at(alpha: Fraction, precision: int) -> arb:
    with ctx.workprec(precision):
        return ball(alpha).log()


def _log(alpha: Fraction) -> arb:
    """Return a ball around ln(alpha) at the working precision, with room for large multiples of it."""
    return _log_at(alpha, ctx.prec + 64)


def _power(alpha: Fraction, n: int) -> arb:
    """Return a ball around alpha**n at the working precision."""
    return (_log(alpha) * n).exp()


def _powers(alpha: Fraction, step: int, count: int) -> list[arb]:
    """Return balls around alpha**(step * n) for n = 0 .. count."""
    return list(accumulate(repeat(_power(alpha, step), count), mul, initial=arb(1)))


@lru_cache(maxsize=1024)
def _float_log(alpha: Fraction) -> float:
    return (
        log1p(-float(1 - alpha)) if alpha > Fraction(1, 2) else log(alpha.numerator) - log(alpha.denominator)
    )


def _narrow(values: list[int]) -> Integers:
    fits = all(-(2**62) < value < 2**62 for value in values)
    return np.array(values, dtype=np.int64 if fits else object)
