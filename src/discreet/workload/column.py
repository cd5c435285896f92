"""How far one person moves the answers of a workload or the rows of a strategy, exactly.

A person sits in one cell.  Adding or removing one changes the exact answers A x by one column of A;
replacing one changes them by the difference of two columns.  So, for an integer matrix,

    add-remove:  l_p sensitivity = max over i of |A e_i|_p
    replace:     l_p sensitivity = max over i < j of |A (e_i - e_j)|_p

Where units may also come or go alone, and numbers may have both signs, answers move by A e_i and by
A e_i + r A e_j too, for some r up to 1 (`swapped`); where several numbers are measured by the same A, a unit
that leaves one for another moves two of them at once (`beside`).

For 0/1 entries every power of the norm is the number of rows in which the two columns differ,
g_ii + g_jj - 2 g_ij with g the Gram matrix.  Float matrix products are used only where every partial sum is
an integer below 2**53, so that they are exact.
"""

from fractions import Fraction
from math import prod
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity, marginals
from discreet.workload.linear import (
    AllRange,
    Identity,
    Marginals,
    Matrix,
    Prefix,
    Product,
    Total,
    Union,
    Workload,
)

Integers = NDArray[np.int64]

EXACT_PAIRS = 4096
"""Up to this many cells every pair of columns is compared; beyond, replace is bounded by twice add-remove."""

EXACT_VECTOR = 1 << 24
"""Up to this many cells the column sums of a union are written out; beyond, the parts' maxima are added."""

WRITTEN_OUT = 1 << 22
"""Up to this many entries a Kronecker product is written out to compare its columns."""

_EXACT_FLOAT = 2**53
_PAIR_WORK = 1 << 32


def workload_sensitivity(workload: Workload, adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of asking the workload directly.

    It is exact, except that unions beyond `EXACT_VECTOR` cells, and products and unions beyond `EXACT_PAIRS`
    cells under replace, get the stated upper bounds.
    """
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return Sensitivity.spread(_largest_column(workload), 1)
        case Adjacency.REPLACE:
            return Sensitivity.spread(_largest_difference(workload), 1)


def matrix_sensitivity(matrix: Integers, adjacency: Adjacency) -> Sensitivity:
    """Return the exact sensitivity of measuring the rows of an integer matrix.

    Under replace the l1 and l0 parts compare all pairs of columns while that is affordable; beyond, they are
    bounded by twice the largest column.  The squared l2 part is always exact.
    """
    _require_exact(matrix)
    magnitude = np.abs(matrix)
    l1 = int(magnitude.sum(axis=0).max())
    touched = int((matrix != 0).sum(axis=0).max())
    largest = int(magnitude.max())
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return _sensitivity(l1, int((matrix * matrix).sum(axis=0).max()), largest, touched)
        case Adjacency.REPLACE:
            square = _difference_square(matrix)
            rows, cells = matrix.shape
            if cells * cells * rows > _PAIR_WORK:
                spread = int((matrix.max(axis=1) - matrix.min(axis=1)).max())
                return _sensitivity(2 * l1, square, spread, min(2 * touched, rows))
            return _sensitivity(*_difference_extremes(matrix, square))


def swapped(matrix: Integers, back: Fraction = Fraction(0)) -> tuple[Fraction, Fraction, Fraction]:
    """Return the largest l1, squared l2 and linf norms by which a unit that is swapped moves A x, exactly.

    They are those of A e_i, A (e_i - e_j) and A e_i + back A e_j, for all i and j: how far apart two of the
    points 0, A e_i and -back A e_j are at most.
    """
    _require_exact(matrix)
    if not 0 <= back <= 1:
        raise ParameterError(f"back must be a part of a unit, from 0 to 1, got {back}")
    a, b = back.numerator, back.denominator
    # Python's integers where the common denominator is so large that sums of 64 bits might not hold.
    fits = 2 * b * matrix.shape[0] * int(np.abs(matrix).max(initial=1)) < 2**62
    columns = matrix.T if fits else matrix.T.astype(object)
    points = np.vstack([0 * columns[:1], b * columns, *([-a * columns] if a else [])])
    linf = (points.max(axis=0) - points.min(axis=0)).max()
    return (
        Fraction(int(_width(points)), b),
        Fraction(_square_apart(matrix, a, b), b * b),
        Fraction(int(linf), b),
    )


def _square_apart(matrix: Integers, a: int, b: int) -> int:
    """Return b**2 times the largest squared l2 norm of A e_i, A (e_i - e_j) and A e_i + a / b A e_j."""
    floats = matrix.astype(np.float64)
    gram = floats.T @ floats
    own = np.diagonal(gram).copy()
    apart = b * b * max(int(own.max()), _pairwise(gram))
    if not a:
        return apart
    whole, mine = gram.astype(np.int64).astype(object), own.astype(np.int64).astype(object)
    return max(apart, int((b * b * mine[:, None] + a * a * mine[None, :] + 2 * a * b * whole).max()))


def _width(points: NDArray[Any]) -> int:
    """Return the largest l1 distance of two points, which are rows of integers.

    Rule.  With r_i the distance of point i from some place, no two are further apart than r_i + r_j.  From
    the largest r_i on, a point is compared only with those that may so be further from it than any two that
    were found are apart; where there is none, there is none for the points after it either.
    """
    middle = np.sort(points, axis=0)[points.shape[0] // 2]
    radii = np.abs(points - middle).sum(axis=1)
    order = np.argsort(-radii, kind="stable")
    points, radii = points[order], radii[order]
    found = 0
    for place in range(points.shape[0] - 1):
        left = int((radii[place + 1 :] > found - radii[place]).sum())
        if not left:
            break
        others = points[place + 1 : place + 1 + left]
        found = max(found, int(np.abs(others - points[place]).sum(axis=1).max()))
    return found


def beside(matrix: Integers) -> tuple[Fraction, Fraction, Fraction]:
    """Return the largest l1, squared l2 and linf norms by which a unit that is swapped moves several A x.

    The same A measures several vectors side by side: the unit leaves a cell for another of its own vector,
    which moves that by A (e_i - e_j), or for any of another one, which moves both, by A e_i and -A e_j.
    """
    _require_exact(matrix)
    l1 = int(np.abs(matrix).sum(axis=0).max())
    square = int((matrix * matrix).sum(axis=0).max())
    most, least = matrix.max(axis=1), matrix.min(axis=1)
    linf = int(max((most - least).max(), np.abs(matrix).max()))
    # In l1 two columns are never further apart than both are long.
    return Fraction(2 * l1), Fraction(max(2 * square, _difference_square(matrix))), Fraction(linf)


def kronecker_sensitivity(factors: list[Integers], adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of measuring a Kronecker product of integer matrices.

    The columns of the product are the products of the factors' columns, so each norm of the largest column
    is the product of the factors'.  Under replace the product is written out while it is small; beyond, two
    columns are at most twice as far apart as the longest is long (and sqrt 2 times when no inner product of
    columns is negative).
    """
    parts = [matrix_sensitivity(factor, Adjacency.ADD_REMOVE) for factor in factors]
    alone = Sensitivity(
        prod((part.l1 for part in parts), start=Fraction(1)),
        prod((part.l2_squared for part in parts), start=Fraction(1)),
        prod((part.linf for part in parts), start=Fraction(1)),
        prod(part.l0 or 0 for part in parts),
    )
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return alone
        case Adjacency.REPLACE:
            cells, rows = prod(f.shape[1] for f in factors), prod(f.shape[0] for f in factors)
            fits = 4 * alone.l2_squared < _EXACT_FLOAT and rows * alone.linf**2 < 2**63
            if cells * rows <= WRITTEN_OUT and fits:
                whole = factors[0]
                for factor in factors[1:]:
                    whole = np.kron(whole, factor)
                return matrix_sensitivity(whole, adjacency)
            acute = all((factor.T.astype(np.float64) @ factor).min() >= 0 for factor in factors)
            return Sensitivity(
                2 * alone.l1,
                (2 if acute else 4) * alone.l2_squared,
                2 * alone.linf,
                None if alone.l0 is None else 2 * alone.l0,
            )


def _largest_column(workload: Workload) -> int:
    match workload:
        case Identity() | Total():
            return 1
        case Prefix(cells):
            return cells
        case AllRange(cells):
            return (cells + 1) // 2 * (cells // 2 + 1)
        case Matrix():
            return int(workload.array().sum(axis=0).max())
        case Product(factors):
            return prod(_largest_column(factor) for factor in factors)
        case Union(parts):
            if workload.cells > EXACT_VECTOR:
                return sum(_largest_column(part) for part in parts)
            return int(workload.transpose_apply(np.ones(workload.queries, dtype=np.int64)).max())
        case Marginals(_, sets):
            return len(sets)
        case _:
            assert_never(workload)


def _largest_difference(workload: Workload) -> int:
    match workload:
        case Identity(cells):
            return min(2, 2 * (cells - 1))
        case Total():
            return 0
        case Prefix(cells):
            return cells - 1
        case Marginals(sizes, sets):
            return int(marginals(sizes, sets, Adjacency.REPLACE).l1)
        case AllRange() | Matrix() | Product() | Union():
            if workload.cells > EXACT_PAIRS:
                return 2 * _largest_column(workload)
            gram = workload.gram().astype(np.int64)
            return int(_pairwise(gram))
        case _:
            assert_never(workload)


def _pairwise(gram: NDArray[Any]) -> int:
    own = np.diagonal(gram)
    return int((own[:, None] + own[None, :] - 2 * gram).max())


def _difference_square(matrix: Integers) -> int:
    floats = matrix.astype(np.float64)
    return _pairwise(floats.T @ floats)


def _difference_extremes(matrix: Integers, square: int) -> tuple[int, int, int, int]:
    l1 = linf = touched = 0
    for cell in range(matrix.shape[1] - 1):
        difference = np.abs(matrix[:, cell + 1 :] - matrix[:, cell : cell + 1])
        l1 = max(l1, int(difference.sum(axis=0).max()))
        linf = max(linf, int(difference.max()))
        touched = max(touched, int((difference != 0).sum(axis=0).max()))
    return l1, square, linf, touched


def _require_exact(matrix: Integers) -> None:
    if not matrix.size:
        raise ParameterError("a matrix that moves nothing has no sensitivity")
    # As Python's integers: the least of 64 bits has no absolute value among them.
    largest = max(int(matrix.max(initial=0)), -int(matrix.min(initial=0)))
    # By Cauchy-Schwarz every partial sum of an inner product of columns is below the longest one's square.
    if matrix.shape[0] * largest**2 >= 2**63 or 4 * int((matrix * matrix).sum(axis=0).max()) >= _EXACT_FLOAT:
        raise ParameterError(
            "the integer strategy is too large for exact sensitivities; use fewer bits when rounding it"
        )


def _sensitivity(l1: int, l2_squared: int, linf: int, l0: int) -> Sensitivity:
    return Sensitivity(Fraction(l1), Fraction(l2_squared), Fraction(linf), l0)
