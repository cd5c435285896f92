"""Hockey-stick curves of whole arrays at once, in floats whose error is bounded.

For the laws below the pairs (P, Q) and (Q, P) have the same curve, and the best events are those of a
likelihood ratio dP/dQ above exp(level).  With P(level) and Q(level) their probabilities the curve is
P - exp(level) Q.

    Gaussian          N(mu - z), N(-z),   z = level / mu + mu / 2
    Laplace           1 - exp((level - c) / 2) / 2, exp(-(level + c) / 2) / 2,  for -c <= level < c
    bounded range     q = (exp(c/2) - r) / (r (exp(c) - 1)), p = H + r**2 q,  r = exp(level / 2), |level| < c
    geometric, and    the half-line {k <= m} of integers that ends before the loss passes the level
    discrete Gaussian

Error.  Assume of NumPy's functions four units in the last place.  Exponents are below 2**10, so that an
exponential of a rounded exponent errs by less than 2**-43, and so does the normal law where mu or z is
rounded: distances are at most 15 deviations and mu at most 22.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, sqrt
from typing import Protocol

import numpy as np

from discreet.privacy.normal import Reals, bell, both, scaled_tail

DEEP = 15.0
"""A Gaussian lies beyond so many deviations with a probability below 2**-160: the most ever looked at."""


Event = tuple[Reals, Reals]
"""The probabilities of an event under P and under Q."""


class Steep(Protocol):
    """A symmetric law as events in falling order of their likelihood ratio."""

    @property
    def unit(self) -> float:
        """Return a bound on the relative error of both probabilities."""
        ...

    @property
    def end(self) -> float:
        """Return the largest loss, or one beyond which hardly anything lies."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether no loss lies beyond the end."""
        ...

    def above(self, level: Reals) -> Event:
        """Return the probabilities under P and under Q of a likelihood ratio above exp(level)."""
        ...

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of this event and of its complement, however small."""
        ...

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return P - exp(level) Q for levels that are not negative, and a bound on its error."""
        ...


@dataclass(frozen=True, slots=True)
class SteepGaussian:
    """The Gaussian pair at distance mu."""

    mu: float
    deep: float = DEEP
    unit: float = 2.0**-43
    bounded: bool = False

    @property
    def end(self) -> float:
        """Return a loss beyond which hardly anything lies."""
        return self.mu * (self.deep + self.mu / 2)

    def above(self, level: Reals) -> Event:
        """Return the probabilities of {z > level / mu + mu / 2}."""
        return self.sides(level)[0]

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of this event and of its complement, from the same two tails."""
        z = level / self.mu + self.mu / 2
        (p, p_below), (q, q_below) = both(self.mu - z), both(-z)
        return (p, q), (p_below, q_below)

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return the curve, by Mills' ratios where both probabilities are tails."""
        z = level / self.mu + self.mu / 2
        p, q = self.above(level)
        lost = np.exp(np.minimum(level, 700.0)) * q
        left = np.maximum(z - self.mu, 0.0)
        mills = bell(left) / 2 * (scaled_tail(left / sqrt(2)) - scaled_tail(np.maximum(z, 0.0) / sqrt(2)))
        return np.where(z > self.mu, mills, p - lost), self.unit * (p + lost)


@dataclass(frozen=True, slots=True)
class SteepLaplace:
    """The Laplace pair at distance c."""

    c: float
    unit: float = 2.0**-49
    bounded: bool = True

    @property
    def end(self) -> float:
        """Return the largest loss."""
        return self.c

    def above(self, level: Reals) -> Event:
        """Return the probabilities of a loss above the level."""
        inside = np.clip(level, -self.c, self.c)
        p, q = 1 - np.exp((inside - self.c) / 2) / 2, np.exp(-(inside + self.c) / 2) / 2
        return _ended(level, self.c, p, q)

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of this event and of its complement."""
        return _complemented(self.above(level))

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return 1 - exp((level - c) / 2)."""
        height = -np.expm1((np.minimum(level, self.c) - self.c) / 2)
        return height, self.unit * height + _slipped(level, self.c)


@dataclass(frozen=True, slots=True)
class SteepRange:
    """The envelope of all pairs whose loss lies in an interval of length c."""

    c: float
    unit: float = 2.0**-48
    bounded: bool = True

    @property
    def end(self) -> float:
        """Return the largest loss."""
        return self.c

    def above(self, level: Reals) -> Event:
        """Return the probabilities whose difference is the envelope's tangent."""
        inside = np.clip(level, -self.c, self.c)
        gap, whole = -np.expm1((inside - self.c) / 2), -np.expm1(-self.c)
        return _ended(level, self.c, gap / whole, gap * np.exp(-(inside + self.c) / 2) / whole)

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of this event and of its complement."""
        return _complemented(self.above(level))

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return (exp(c/2) - exp(level/2))**2 / (exp(c) - 1)."""
        gap = -np.expm1((np.minimum(level, self.c) - self.c) / 2)
        height = gap * gap / -np.expm1(-self.c)
        return height, self.unit * height + 2 * gap * _slipped(level, self.c) / -np.expm1(-self.c)


@dataclass(frozen=True, slots=True)
class SteepGeometric:
    """Two-sided geometric noise of ratio exp(-rate), moved by `shift`."""

    rate: float
    shift: int
    unit: float = 2.0**-46
    bounded: bool = True

    @property
    def end(self) -> float:
        """Return the largest loss."""
        return self.rate * self.shift

    def above(self, level: Reals) -> Event:
        """Return the probabilities of {k <= m}: 1 - a**(m + 1) / (1 + a) and a**(shift - m) / (1 + a)."""
        edge = np.clip(level, -self.end, self.end) / self.rate
        m = np.clip(np.ceil((self.shift - edge) / 2) - 1, 0, self.shift - 1)
        whole = 1 + exp(-self.rate)
        p, q = 1 - np.exp(-self.rate * (m + 1)) / whole, np.exp(-self.rate * (self.shift - m)) / whole
        return _ended(level, self.end, p, q)

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of this event and of its complement."""
        return _complemented(self.above(level))

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return the best half-line's excess."""
        return _difference(self, level)


@dataclass(frozen=True, slots=True)
class SteepLattice:
    """Discrete Gaussian noise of this variance, moved by `shift`."""

    variance: float
    shift: int
    deep: float = DEEP
    unit: float = 2.0**-42
    bounded: bool = False

    @property
    def end(self) -> float:
        """Return a loss beyond which hardly anything lies."""
        return self.shift / self.variance * (self.deep * sqrt(self.variance) + self.shift / 2)

    def above(self, level: Reals) -> Event:
        """Return the probabilities of {k <= m} without and with the shift."""
        m = self._last(level)
        return _half_line(self.variance, m), _half_line(self.variance, m - self.shift)

    def sides(self, level: Reals) -> tuple[Event, Event]:
        """Return the probabilities of {k <= m} and of {k > m}."""
        m = self._last(level)
        beyond = _half_line(self.variance, -m - 1), _half_line(self.variance, self.shift - m - 1)
        return self.above(level), beyond

    def _last(self, level: Reals) -> Reals:
        edge = self.shift / 2 - np.clip(level, -1e300, 1e300) * (self.variance / self.shift)
        return np.asarray(np.ceil(edge) - 1)

    def curve(self, level: Reals) -> tuple[Reals, Reals]:
        """Return the best half-line's excess."""
        return _difference(self, level)


def _complemented(event: Event) -> tuple[Event, Event]:
    return event, (1 - event[0], 1 - event[1])


def _difference(law: Steep, level: Reals) -> tuple[Reals, Reals]:
    p, q = law.above(level)
    lost = np.exp(np.minimum(level, 700.0)) * q
    return np.maximum(p - lost, 0.0), law.unit * (p + lost) + 2.0**-50 * (1 + np.abs(level)) * lost


def _half_line(variance: float, m: Reals) -> Reals:
    """Return Pr[Z <= m]."""
    tails = _tails(variance)
    last = len(tails) - 1
    below = tails[np.clip(-m, 0, last).astype(np.int64)] * (-m <= last)
    over = tails[np.clip(m + 1, 0, last).astype(np.int64)] * (m + 1 <= last)
    return np.asarray(np.where(m < 0, below, 1 - over))


@lru_cache(maxsize=16)
def _tails(variance: float) -> Reals:
    """Return Pr[Z >= k] for k from 0 on, until nothing is left."""
    k = np.arange(ceil(36 * sqrt(variance)) + 36, dtype=np.float64)
    weights = np.exp(-k * k / (2 * variance))
    total = 2 * float(suffix_sums(weights)[0]) - 1
    return suffix_sums(weights) / total


_BLOCK = 512


def suffix_sums(values: Reals) -> Reals:
    """Return the sums from each place on, block by block: none adds over 512 + n / 512 numbers in a row."""
    blocks = np.zeros(-(-len(values) // _BLOCK) * _BLOCK)
    blocks[: len(values)] = values
    rows = np.cumsum(blocks.reshape(-1, _BLOCK)[:, ::-1], axis=1)[:, ::-1]
    after = np.cumsum(rows[::-1, 0])[::-1]
    rows = rows.copy()
    rows[:-1] += after[1:, None]
    return np.asarray(rows.reshape(-1)[: len(values)])


def _ended(level: Reals, c: float, p: Reals, q: Reals) -> tuple[Reals, Reals]:
    """Return everything below the smallest loss and nothing from the largest on."""
    all_of_it, none = level < -c, level >= c
    return (
        np.where(all_of_it, 1.0, np.where(none, 0.0, p)),
        np.where(all_of_it, 1.0, np.where(none, 0.0, q)),
    )


def _slipped(level: Reals, c: float) -> Reals:
    """Return what rounding level - c costs: the curve falls by at most 1/2 per unit, and not beyond c."""
    return np.where(level < c, 2.0**-52 * (1 + np.abs(level) + c), 0.0)
