"""Products of the characteristic functions of many laws of one family, at equally spaced frequencies.

Randomised response and Laplace noise of largest loss c, tilted by theta, centred at c, have at t = k step

    phi = ((1 + r) + z (1 - r)) / m,    z = exp(-c (1 + 2 theta + 2 i t)),

with r = 0 for the former and r = 1 / (1 + 2 theta + 2 i t) for the latter, m being the value above at t = 0.
The powers of exp(-2 i c step) are products of two short rows, so that a law costs three operations on a
number and no exponential.

Error.  A computed phi is off by at most e = u (ROUNDING + 8 t (1 + 2 c)), as everywhere.  The sum of n laws'
e / |phi| bounds, through exp(x) - 1, the relative error of their product, and |phi| is bounded from below by

    cos(c t) for c t < pi / 2,      since all losses lie within c of their middle;
    (1 - |z|) / m,                  since |1 + r| >= 1 and |1 + r| >= |1 - r|.

A product below 2**-80 is taken for zero, which the bound then says, since later factors only lower it.
"""

from math import inf

import numpy as np

from discreet.privacy.loss import LaplaceLoss, ResponseLoss
from discreet.privacy.moment import ROUNDING, UNIT, Complexes, Reals

_BLOCK, _ROWS = 256, 16
"""Frequencies are taken in rows of a block each, so many rows at a time as stay near the processor."""

_NOTHING = 2.0**-80
_CHECKED = 8
_MOST_ERROR = 2.0**-10

Product = tuple[Complexes, Reals]


def phases(turn: float, count: int) -> Complexes:
    """Return exp(i turn k) for k below the count, from two rows of exponentials."""
    rows = -(-count // _BLOCK)
    short, long = _angles(turn, _BLOCK), _angles(turn * _BLOCK, rows)
    return np.multiply.outer(long, short).ravel()[:count]


def _angles(turn: float | Reals, count: int) -> Complexes:
    angle = turn * np.arange(count)
    return np.asarray(np.cos(angle) + 1j * np.sin(angle))


def multiplied(
    family: type[ResponseLoss] | type[LaplaceLoss],
    losses: Reals,
    counts: Reals,
    theta: float,
    step: float,
    count: int,
) -> Product | None:
    """Return the product of the laws' phi at the first multiples of the step, and bounds on its error.

    It is None where the laws are so many or so weak that the bounds would say little.
    """
    t = np.arange(count) * step
    real = 1 / (1 + 2 * theta) if family is LaplaceLoss else 0.0
    size = np.exp(-losses * (1 + 2 * theta))
    whole = (1 + real) + size * (1 - real)
    error = _relative(losses, counts, (1 - size) / whole, t)
    if float(error[-1]) > _MOST_ERROR:
        return None
    found = np.zeros((-(-count // _BLOCK), _BLOCK), dtype=np.complex128)
    turns = -2 * losses * step
    short = _angles(turns[:, None], _BLOCK)
    long = _angles(turns[:, None] * _BLOCK, len(found)) * (size / whole)[:, None]
    for start in range(0, len(found), _ROWS):
        rows = slice(start, start + _ROWS)
        place = step * (start * _BLOCK + np.arange(found[rows].size).reshape(-1, _BLOCK))
        inverse = 1 / (1 + 2 * theta + 2j * place) if family is LaplaceLoss else None
        _multiply(found[rows], short, long[:, rows], 1 / whole, inverse, counts)
    product = found.ravel()[:count]
    return product, np.abs(product) * np.expm1(error) * (1 + 4 * _MOST_ERROR) + _NOTHING


def _relative(losses: Reals, counts: Reals, least: Reals, t: Reals) -> Reals:
    """Return a bound on the sum of e / |phi| and of what rounding the product adds."""

    def summed(weights: Reals) -> Reals:
        fixed, growing = float(weights.sum()), float((weights * (1 + 2 * losses)).sum())
        return np.asarray(UNIT * (ROUNDING * fixed + 8 * t * growing))

    middle = t * float(losses.max())
    near = np.where(middle < 1.4, 1 / np.cos(np.minimum(middle, 1.4)), inf)
    with np.errstate(divide="ignore"):
        far = summed(counts / least)
    return np.asarray(np.minimum(summed(counts) * near, far) + 4 * UNIT * float(counts.sum()))


def _multiply(
    product: Complexes,
    short: Complexes,
    long: Complexes,
    units: Reals,
    inverse: Complexes | None,
    counts: Reals,
) -> None:
    """Write the product of all laws over a few rows of frequencies to where it belongs."""
    product[:] = 1
    factor = np.empty_like(product)
    for place, (unit, n) in enumerate(zip(units.tolist(), counts.tolist(), strict=True)):
        np.multiply(long[place, :, None], short[place], out=factor)
        if inverse is None:
            factor += unit
        else:
            factor *= 1 - inverse
            factor += unit * (1 + inverse)
        _raise(product, factor, int(n))
        if place % _CHECKED == _CHECKED - 1:
            small = product.real**2 + product.imag**2 < _NOTHING**2
            product[small] = 0
            if small.all():
                return


def _raise(product: Complexes, factor: Complexes, n: int) -> None:
    """Multiply the product by the n-th power of the factor, which is spent."""
    while True:
        if n & 1:
            product *= factor
        n >>= 1
        if not n:
            return
        factor *= factor
