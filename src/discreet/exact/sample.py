"""Exact samplers: every value is drawn with exactly the probability its law states.

Geometric variables are drawn digit by digit (`discreet.exact.digits`), each digit by one look-up in a
certified table.  The number of look-ups depends on the ratio only, never on the value; nothing is rejected.

Theorem (discrete Gaussian by rejection).  Propose y with probability proportional to a**|y| and keep it
with probability exp(-(|y| - s L)**2 / (2 s)), L = -ln(a).  The kept y has probability proportional to
exp(-y**2 / (2 s)), because the two exponents add up to -y**2 / (2 s) and a constant.  A float decides
when its certified error cannot matter; otherwise a ball does.

Single draws come from stock (`discreet.exact.stock`), where a law is drawn from more than once.
Many draws of a discrete Gaussian of moderate width are looked up in one certified table instead, and many
draws of a wide law in a table of cells (`discreet.exact.cells`).

References.  Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020
(rejection from a discrete Laplace).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, exp, floor, isqrt, log, sqrt
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.cells import BLOCK, CellTable, GaussianWeight, GeometricWeight, cell_table
from discreet.exact.coins import Coins, source
from discreet.exact.digits import OneSided, TwoSided, digit_tables, float_log, log_ball, proper_ratio
from discreet.exact.inversion import SPARSE, STANDARD, LawTable, Shape, Uniform, resolve
from discreet.exact.lattice_gaussian import GaussianLaw
from discreet.exact.number import Real, ball, positive, shown
from discreet.exact.stock import from_stock, restock
from discreet.exact.wide import Wide

Integers = NDArray[Any]
"""int64, or object holding Python integers where int64 would be too narrow."""

FEW = 32
"""Up to this many draws, small tables that are read whole are quicker than large ones with a guide."""


NARROW = 32**2
"""Up to this variance, single draws of a discrete Gaussian are looked up in a table of every integer."""

WIDE, MANY = 128**2, 1 << 13
"""Up to this variance, so many draws of a discrete Gaussian of small width are worth a table of their own."""

SEVERAL_DIGITS = 2.0**10
"""From this scale on, many draws of a geometric law come from cells sooner than from their digits."""


@lru_cache(maxsize=32)
def gaussian_table(variance: Fraction, shape: Shape) -> LawTable:
    """Return the table of a discrete Gaussian; beyond its ends lies less than 2**-word."""
    # Pr[Z > s x] is less than exp(-x**2 / 2), and for x < 1 some integers more are enough.
    end = ceil(sqrt(variance) * sqrt(2 * log(2) * (shape.word + 1))) + 4
    return LawTable.build(GaussianLaw(variance), -end, end, shape)


@lru_cache(maxsize=64)
def _gaussian_cells(over: int, under: int, shape: Shape) -> CellTable | None:
    """Return the cells that many draws of a wide Gaussian come from."""
    variance = proper_variance(Fraction(over, under))
    return cell_table(GaussianWeight, variance, sqrt(variance), shape) if variance > WIDE else None


@lru_cache(maxsize=64)
def _gaussian_table(over: int, under: int, shape: Shape) -> LawTable | CellTable:
    """Return what one draw is looked up in: a table of every integer, or of cells."""
    variance = proper_variance(Fraction(over, under))
    if variance <= NARROW:
        return gaussian_table(variance, shape)
    return cell_table(GaussianWeight, variance, sqrt(variance), shape)


def two_sided_geometric(
    alpha: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return one integer (count None) or an array of draws with Pr[k] = (1-a)/(1+a) a**|k|."""
    if count is not None:
        drawn = two_sided_geometric_wide(alpha, count, coins=coins, shape=shape)
        return drawn.integers() if isinstance(drawn, Wide) else drawn
    ratio = (alpha.numerator, alpha.denominator)
    if coins is not None or shape is not STANDARD:
        return _one(_two_sided_digits(*ratio, shape), coins or source())
    value = from_stock(("geometric", ratio))
    if value is not None:
        return value
    tables = _two_sided_digits(*ratio, shape)
    return restock(
        ("geometric", ratio), partial(_one, tables), lambda n, coins: _assemble(tables, n, coins, shape)
    )


def two_sided_geometric_wide(
    alpha: Fraction, count: int, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Integers | Wide:
    """Return an array of the same draws, which may be left in two parts where int64 does not hold them."""
    if count >= MANY and shape is STANDARD:
        cells = _geometric_cells(alpha.numerator, alpha.denominator)
        if cells is not None:
            return cells.draw_wide(count, coins or source())
    drawn: Integers = _draw(_two_sided(alpha), count, coins or source(), shape)
    return drawn


@lru_cache(maxsize=64)
def _geometric_cells(over: int, under: int) -> CellTable | None:
    """Return the cells of a law that has several digits."""
    alpha = _two_sided(Fraction(over, under)).alpha
    scale = -1 / float_log(alpha)
    return cell_table(GeometricWeight, alpha, scale, STANDARD) if scale >= SEVERAL_DIGITS else None


def geometric(
    alpha: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return one integer (count None) or an array of draws with Pr[k] = (1-a) a**k, k >= 0."""
    return _draw(_one_sided(alpha), count, coins or source(), shape)


def reaches(
    alpha: Fraction, values: NDArray[np.int64], *, coins: Coins | None = None, shape: Shape = STANDARD
) -> NDArray[np.bool_]:
    """Return for every value v >= 0 a coin of its own: heads if a geometric draw reaches v, so alpha**v."""
    tables, coins, flat = digit_tables(_one_sided(alpha), shape), coins or source(), values.reshape(-1)
    if len(tables) > 1:
        return np.asarray(geometric(alpha, flat.size, coins=coins, shape=shape) >= flat).reshape(values.shape)
    heads = np.empty(flat.size, dtype=bool)
    for start in range(0, flat.size, BLOCK):
        some = slice(start, start + BLOCK)
        heads[some] = tables[0].reach(flat[some], coins)
    return heads.reshape(values.shape)


@lru_cache(maxsize=256, typed=True)
def _two_sided(alpha: Fraction) -> TwoSided:
    return TwoSided(proper_ratio(alpha))


@lru_cache(maxsize=256, typed=True)
def _one_sided(alpha: Fraction) -> OneSided:
    return OneSided(proper_ratio(alpha))


@lru_cache(maxsize=64)
def _two_sided_digits(over: int, under: int, shape: Shape) -> tuple[LawTable, ...]:
    # Looked up by two integers: a fraction takes longer to hash than a digit to draw.
    return digit_tables(_two_sided(Fraction(over, under)), shape)


def _one(tables: Sequence[LawTable], coins: Coins) -> int:
    value = tables[0].draw_one(coins)
    for place, table in enumerate(tables[1:], start=1):
        value += table.draw_one(coins) << (table.shape.digit * place)
    return value


def _draw(law: TwoSided | OneSided, count: int | None, coins: Coins, shape: Shape) -> Any:
    if count is None:
        return _one(digit_tables(law, shape), coins)
    if count <= FEW:
        return _narrow(_few(law, count, coins, SPARSE if shape is STANDARD else shape))
    return _assemble(digit_tables(law, shape), count, coins, shape)


def _few(law: TwoSided | OneSided, count: int, coins: Coins, shape: Shape) -> list[int]:
    """Return a few draws: each word is compared with every threshold of its digit, whatever comes out."""
    tables = digit_tables(law, shape)
    words = coins.words(len(tables) * count, shape.word).reshape(len(tables), count, 1)
    thresholds = np.array([table.thresholds for table in tables])[:, np.newaxis]
    passed = np.count_nonzero(thresholds < words, axis=2)
    digits = (passed + tables[0].below).astype(object)
    for place, draw in np.argwhere(passed != np.count_nonzero(thresholds <= words, axis=2)):
        u = Uniform(int(words[place, draw, 0]), coins, shape)
        digits[place, draw] = resolve(tables[place].law, u, digits[place, draw])
    return [sum(digit << (shape.digit * place) for place, digit in enumerate(draw)) for draw in digits.T]


def _assemble(tables: Sequence[LawTable], count: int, coins: Coins, shape: Shape) -> Integers:
    # |X| stays below base**digits, and what the last has more, except after a tie in the last digit: two bits
    # of head-room and more.
    exact_type: Any = np.int64 if shape.digit * (len(tables) + 1) + shape.head < 62 else object
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
    if count is None:
        return _one_gaussian((sigma_squared.numerator, sigma_squared.denominator), coins, shape)
    coins = coins or source()
    if count >= MANY:
        cells = _gaussian_cells(sigma_squared.numerator, sigma_squared.denominator, shape)
        if cells is not None:
            return cells.draw(count, coins)
    test = _Acceptance.of(proper_variance(sigma_squared))
    if sigma_squared <= WIDE and count >= MANY * (1 + test.width / 8):
        return _assemble((gaussian_table(sigma_squared, shape),), count, coins, shape)
    kept: list[Integers] = []
    missing = count
    while missing > 0:
        # Three proposals in four are kept; a little more than that rarely needs a second round.
        proposals = two_sided_geometric(test.alpha, min(missing + missing // 3 + 16, BLOCK), coins=coins)
        accepted = proposals[test.keeps_each(proposals, coins)][:missing]
        kept.append(accepted)
        missing -= accepted.size
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def _one_gaussian(variance: tuple[int, int], coins: Coins | None, shape: Shape) -> int:
    """Return one integer, from stock where there may be one."""
    if coins is None and shape is STANDARD:
        value = from_stock(("gaussian", variance))
        if value is not None:
            return value
    table = _gaussian_table(*variance, shape)
    if coins is not None or shape is not STANDARD:
        return table.draw_one(coins or source())
    return restock(("gaussian", variance), table.draw_one, table.draw)


MOST_BITS = 512
"""Discrete Gaussians are drawn for variances between 2**-MOST_BITS and 2**MOST_BITS."""


def proper_variance(value: Real, name: str = "sigma_squared") -> Fraction:
    """Return the variance parameter of a discrete Gaussian, refusing what is beyond drawing."""
    variance = positive(value, name)
    if not Fraction(1, 1 << MOST_BITS) <= variance <= 1 << MOST_BITS:
        raise ParameterError(
            f"{name} must lie between 2**-{MOST_BITS} and 2**{MOST_BITS}, got {shown(variance)}"
        )
    return variance


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
        return cls(variance, alpha, float(variance) * -float_log(alpha), sigma)

    def exact(self, y: int) -> arb:
        """Return a ball around the probability of keeping y."""
        s = ball(self.variance)
        return (-((abs(y) + s * log_ball(self.alpha)) ** 2) / (2 * s)).exp()

    def keeps(self, y: int, coins: Coins, shape: Shape = STANDARD) -> bool:
        """Decide whether to keep one proposal."""
        drawn = Uniform.fresh(coins, shape)
        if self.width <= 2.0**40 and abs(y) < 2**53:
            u, p = drawn.prefix * 2.0**-shape.word, exp(-0.5 * ((abs(y) - self.peak) / self.width) ** 2)
            # As of many proposals, below.
            if abs(u - p) > p * 2.0**-36 + 2.0**-50 + 2.0**-shape.word:
                return u < p
        return drawn.below(partial(self.exact, y))

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
        raise ParameterError(f"a probability must lie between 0 and 1, got {shown(p)}")
    return _flip(lambda: ball(p), count, coins or source(), shape)


def bernoulli_exp(
    gamma: Fraction, count: int | None = None, *, coins: Coins | None = None, shape: Shape = STANDARD
) -> Any:
    """Return True with probability exp(-gamma), gamma >= 0, once or `count` times."""
    if gamma < 0:
        raise ParameterError(f"gamma must not be negative, got {shown(gamma)}")
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
        raise ParameterError(f"the bound must be at least 1, got {shown(bound)}")
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
        missing = count - filled
        # As many as hold the missing ones on average, and a little more: seldom is there a second round.
        tries = coins.words((missing << width) // bound + 4 * isqrt(missing) + 16, width)
        good = tries[tries < bound][:missing]
        out[filled : filled + good.size] = good
        filled += good.size
    return out


def uniform_below_each(bounds: NDArray[np.int64], *, coins: Coins | None = None) -> NDArray[np.int64]:
    """Return for every bound, from 1 to 2**31, a uniform integer in [0, bound)."""
    coins = coins or source()
    out = np.zeros(bounds.shape, dtype=np.int64)
    missing = np.flatnonzero(bounds > 1)
    # frexp is exact: what is below 2**w and not below 2**(w - 1) has w bits.
    widths = np.frexp((bounds - 1).astype(np.float64))[1].astype(np.uint64)
    while missing.size:
        tries = coins.words(missing.size, 32).astype(np.uint64) >> (np.uint64(32) - widths[missing])
        good = tries < bounds[missing].astype(np.uint64)
        out[missing[good]] = tries[good]
        missing = missing[~good]
    return out


def _narrow(values: list[int]) -> Integers:
    fits = all(-(2**62) < value < 2**62 for value in values)
    return np.array(values, dtype=np.int64 if fits else object)
