"""The normal law on whole arrays, to a few units in the last place, from a table that balls prove.

Mills' ratio in its even form, E(x) = exp(x**2) erfc(x), is for x >= 0 the integral of
2 exp(-t**2 - 2 x t) / sqrt(pi) over t >= 0.

Theorem (table).  Around a point c >= 0 the Taylor coefficients obey
a_0 = E(c),  a_1 = 2 c a_0 - 2 / sqrt(pi),  (n + 1) a_(n+1) = 2 c a_n + 2 a_(n-1),
and |a_n| <= E(c - 1): the integral bounds E on the circle of radius 1 by its value at the leftmost point.
So ten terms at a distance of at most 1/64 leave out less than E(c - 1) 64**-10 * 64/63 < 2**-57 E(c).

The coefficients are computed as balls of 256 bits and rounded once.  Horner's rule then errs by less than 16
units, since every term is at most 1/32 of the one before it.  Squares in exponents are split so that no more
is lost there.
"""

from functools import cache
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

Reals: TypeAlias = npt.NDArray[np.floating[Any]]

_TERMS, _PER_UNIT, _LAST = 10, 32, 40


def scaled_tail(x: Reals) -> Reals:
    """Return exp(x**2) erfc(x) for x >= 0; beyond the table its first asymptotic terms."""
    near = np.minimum(x, float(_LAST))
    places = np.rint(near * _PER_UNIT).astype(np.int64)
    away = near - places / _PER_UNIT
    rows = _table()
    value = rows[-1][places]
    for row in rows[-2::-1]:
        value = value * away + row[places]
    # Only what is smaller than any float asks for it there.
    return np.asarray(np.where(x > _LAST, 1 / np.maximum(x * sqrt(np.pi), 1.0), value))


def normal(x: Reals) -> Reals:
    """Return the probability that a standard normal number is at most x."""
    return both(x)[0]


def both(x: Reals) -> tuple[Reals, Reals]:
    """Return the probabilities that a standard normal number is at most x, and that it is more."""
    size = np.abs(np.clip(x, -60.0, 60.0))
    tail = bell(size) * scaled_tail(size / sqrt(2)) / 2
    rest = 1 - tail
    left = x < 0
    return np.where(left, tail, rest), np.where(left, rest, tail)


def bell(x: Reals) -> Reals:
    """Return exp(-x**2 / 2), the square split into a part without rounding and a small one."""
    short = np.rint(np.clip(x, -60.0, 60.0) * 16) / 16
    rest = np.clip(x, -60.0, 60.0) - short
    return np.asarray(np.exp(-short * short / 2) * np.exp(-rest * (short + rest / 2)))


@cache
def _table() -> Reals:
    """Return the coefficients, one row for each power."""
    columns = []
    with ctx.workprec(256):
        for place in range(_LAST * _PER_UNIT + 1):
            c = arb(place) / _PER_UNIT
            terms = [(c * c).exp() * c.erfc()]
            terms.append(2 * c * terms[0] - 2 / arb.pi().sqrt())
            for n in range(1, _TERMS - 1):
                terms.append((2 * c * terms[n] + 2 * terms[n - 1]) / (n + 1))
            columns.append([float(term) for term in terms])
    return np.array(columns).T.copy()
