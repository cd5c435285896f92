"""Products of the characteristic functions of many laws of one family, at equally spaced frequencies.

Randomised response and Laplace noise of largest loss c, tilted by theta, centred at c, have at t = k step

    phi = ((1 + r) + z (1 - r)) / m,    z = exp(-c (1 + 2 theta + 2 i t)),

with r = 0 for the former and r = 1 / (1 + 2 theta + 2 i t) for the latter, m being the value above at t = 0.
The powers of exp(-2 i c step) are products of two short rows, so that a law costs three operations on a
number and no exponential.  A response of k categories also has a loss of zero, k - 2 times as likely as -c:

    phi = (1 + a y + b y**2) / m,    y = exp(-i c t),  a = (k - 2) exp(-c (1 + theta)),  b = |z|.

Error.  A computed phi is off by at most e = u (ROUNDING + 8 t (1 + 2 c)), as everywhere.  The sum of n laws'
e / |phi| bounds, through exp(x) - 1, the relative error of their product, and |phi| is bounded from below by

    cos(c t) for c t < pi / 2,      since all losses lie within c of their middle;
    (1 - |z|) / m,                  since |1 + r| >= 1 and |1 + r| >= |1 - r|.

Where no loss is likelier than the others together, as for some responses of three categories and more, only
the first of the two is known.  Beyond it the error is at most the product of all 1 + e less one, since no
|phi| is above one.

A product below 2**-80 is taken for zero, which the bound then says, since later factors only lower it.  Most
of a long row is that small, and need not be computed: |phi| moves by at most c for every unit of t, because
all losses lie within c of their middle, so that one value bounds those around it.
"""

from math import inf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.privacy.loss import LaplaceLoss, ResponseLoss
from discreet.privacy.moment import ROUNDING, UNIT, Complexes, Reals

_BLOCK, _ROWS = 256, 16
"""Frequencies are taken in rows of a block each, so many rows at a time as stay near the processor."""

_NOTHING = 2.0**-80
_CHECKED = 8
_AROUND, _LAWS = 16, 64
"""One value bounds so many around it, of so many laws at a time."""

_MOST_ERROR = 2.0**-10

Product = tuple[Complexes, Reals]
Places: TypeAlias = npt.NDArray[np.signedinteger[Any]]


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
    middles: Reals | None = None,
) -> Product | None:
    """Return the product of the laws' phi at the first multiples of the step, and bounds on its error.

    It is None where the laws are so many or so weak that the bounds would say little.  Responses with middles
    have a third loss of zero, each so many times as likely as its smallest one.
    """
    t = np.arange(count) * step
    real = 1 / (1 + 2 * theta) if family is LaplaceLoss else 0.0
    size = np.exp(-losses * (1 + 2 * theta))
    inside = np.zeros(losses.shape) if middles is None else middles * np.exp(-losses * (1 + theta))
    whole = (1 + real) + size * (1 - real) + inside
    error = _relative(losses, counts, (1 - size - inside) / whole, t)
    most = np.inf if middles is None else np.expm1(_summed(losses, counts, t)) * (1 + 4 * _MOST_ERROR)
    if float(np.minimum(error, most)[-1]) > _MOST_ERROR:
        return None
    found = np.zeros((-(-count // _BLOCK), _BLOCK), dtype=np.complex128)
    kept = np.arange(len(found))
    if family is ResponseLoss:
        kept = kept[_alive(losses, counts, (inside / whole, size / whole, 1 / whole), step, len(found))]
    turns = (-2 if middles is None else -1) * losses * step
    short = _angles(turns[:, None], _BLOCK)
    for start in range(0, len(kept), _ROWS):
        rows = kept[start : start + _ROWS]
        product = np.ones((len(rows), _BLOCK), dtype=np.complex128)
        long = _turned(turns * _BLOCK, rows)
        if middles is not None:
            _multiply_three(product, short, long, (inside / whole, size / whole, 1 / whole), counts)
        else:
            place = step * (rows[:, None] * _BLOCK + np.arange(_BLOCK))
            inverse = 1 / (1 + 2 * theta + 2j * place) if family is LaplaceLoss else None
            _multiply(product, short, long * (size / whole)[:, None], 1 / whole, inverse, counts)
        found[rows] = product
    product, known = found.ravel()[:count], np.zeros(found.shape)
    known[kept] = 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        relative = np.abs(product) * np.expm1(np.minimum(error, 1.0)) * (1 + 4 * _MOST_ERROR)
    slip = np.where(error <= _MOST_ERROR, np.minimum(relative, most), most)
    # What was left out is known to be next to nothing, whatever rounding would have made of it.
    return product, np.where(known.ravel()[:count] > 0, slip, 0.0) + _NOTHING


def _alive(losses: Reals, counts: Reals, parts: tuple[Reals, Reals, Reals], step: float, rows: int) -> Places:
    """Return which rows of frequencies hold a product that may be more than nothing."""
    left, height = np.arange(rows), np.zeros((rows, _BLOCK // _AROUND))
    within = step * (_AROUND * np.arange(_BLOCK // _AROUND) + (_AROUND - 1) / 2)
    for start in range(0, len(losses), _LAWS):
        some = slice(start, start + _LAWS)
        inside, size, unit = (part[some, None, None] for part in parts)
        c = losses[some, None, None]
        near, far = c * within, c * (step * _BLOCK) * left[:, None]
        turn = np.cos(near) * np.cos(far) - np.sin(near) * np.sin(far)
        square = (unit - size) ** 2 + inside**2 + turn * (2 * inside * (unit + size) + 4 * unit * size * turn)
        around = np.minimum(np.sqrt(np.maximum(square, 0.0)) + c * step * (_AROUND / 2), 1.0)
        height[left] += np.tensordot(counts[some], np.log(around), 1)
        # A whole unit less covers the rounding of everything above.
        left = left[(height[left] > np.log(_NOTHING) - 1).any(axis=1)]
        if not len(left) or (
            start == 0 and float(np.median(height)) * len(losses) > np.log(_NOTHING) * _LAWS
        ):
            # Nothing is left, or so much is that looking for it is not worth it.
            break
    return left


def _turned(turns: Reals, places: Places) -> Complexes:
    angle = turns[:, None] * places
    return np.asarray(np.cos(angle) + 1j * np.sin(angle))


def _summed(losses: Reals, weights: Reals, t: Reals) -> Reals:
    """Return the sum of e, each with its weight, and of what rounding the product adds."""
    fixed, growing = float(weights.sum()), float((weights * (1 + 2 * losses)).sum())
    return np.asarray(UNIT * ((ROUNDING + 4) * fixed + 8 * t * growing))


def _relative(losses: Reals, counts: Reals, least: Reals, t: Reals) -> Reals:
    """Return a bound on the sum of e / |phi| and of what rounding the product adds."""
    middle = t * float(losses.max())
    near = _summed(losses, counts, t) * np.where(middle < 1.4, 1 / np.cos(np.minimum(middle, 1.4)), inf)
    if float(least.min()) <= 0:
        return np.asarray(near)
    return np.asarray(np.minimum(near, _summed(losses, counts / least, t)))


def _multiply(
    product: Complexes,
    short: Complexes,
    long: Complexes,
    units: Reals,
    inverse: Complexes | None,
    counts: Reals,
) -> None:
    """Multiply by all laws over a few rows of frequencies."""
    factor = np.empty_like(product)
    for place, (unit, n) in enumerate(zip(units.tolist(), counts.tolist(), strict=True)):
        np.multiply(long[place, :, None], short[place], out=factor)
        if inverse is None:
            factor += unit
        else:
            factor *= 1 - inverse
            factor += unit * (1 + inverse)
        _raise(product, factor, int(n))
        if place % _CHECKED == _CHECKED - 1 and _gone(product):
            return


def _multiply_three(
    product: Complexes,
    short: Complexes,
    long: Complexes,
    parts: tuple[Reals, Reals, Reals],
    counts: Reals,
) -> None:
    """Multiply by all laws of three losses over a few rows of frequencies, by Horner's rule."""
    turn, factor = np.empty_like(product), np.empty_like(product)
    inside, size, unit = (part.tolist() for part in parts)
    for place, n in enumerate(counts.tolist()):
        np.multiply(long[place, :, None], short[place], out=turn)
        np.multiply(turn, size[place], out=factor)
        factor += inside[place]
        factor *= turn
        factor += unit[place]
        _raise(product, factor, int(n))
        if place % _CHECKED == _CHECKED - 1 and _gone(product):
            return


def _gone(product: Complexes) -> bool:
    """Set to zero what is next to nothing; return whether that is all."""
    small = product.real**2 + product.imag**2 < _NOTHING**2
    product[small] = 0
    return bool(small.all())


def _raise(product: Complexes, factor: Complexes, n: int) -> None:
    """Multiply the product by the n-th power of the factor, which is spent."""
    while True:
        if n & 1:
            product *= factor
        n >>= 1
        if not n:
            return
        factor *= factor
