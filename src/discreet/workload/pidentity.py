"""A good strategy for pure noise on one ordered domain: every cell, and a few weighted sums of cells.

A p-identity strategy is A = [I; T] D with T a non-negative p x n matrix and D the diagonal matrix that
makes every column sum to one, so that its l1 sensitivity is one whatever T is.  With s = 1 + (column sums
of T), S = diag(s) and H = (I_p + T T')^-1 the total squared error at unit noise is

    f(T) = tr(S G S X),   X = (I + T' T)^-1 = I - T' H T,   G = W' W,

which costs O(p n) products with G and O(p**2 n) otherwise, and its gradient as much:

    df/dT = -2 H T S G S X + 1 (2 diag(G S X))'.

Blocks.  On a large domain the sums are the same for all cells of a block of w: T = U B, with B the 0/1 matrix
of which cell is in which block.  Then T T' = w U U', and the same formulas hold for U with B G B' for G, the
sums of its diagonal over blocks for the diagonal, and w U U' for T T'.

The problem is not convex, so nothing is promised about the point that is found except its error, which is
computed.  The descent starts from nested intervals; it is deterministic.

Reference.  McKenna, Miklau, Hay, Machanavajjhala, "Optimizing error of high-dimensional statistical queries
under differential privacy", PVLDB 11(10), 2018.
"""

from collections.abc import Callable

import numpy as np

from discreet.workload.descent import descend
from discreet.workload.linear import Floats
from discreet.workload.strategy import ROUNDING_BITS, CellsAndBlocks, Dense, Integers

_LIFT = 0.01
_BLOCK_STEPS = 200

_FLAT = 1e-7
"""Steps that gain less than this share are not worth the wait: all that follow gain a third of a percent."""


def p_identity(
    gram_apply: Callable[[Floats], Floats], gram_diagonal: Floats, extra: int, *, steps: int = 400
) -> Dense:
    """Return an optimised integer strategy with `extra` rows beside the cells."""
    return _integers(_descended(gram_apply, gram_diagonal, extra, 1, steps, _FLAT))


def p_identity_of_blocks(
    cells: int, width: int, gram: Floats, diagonal: Floats, extra: int
) -> CellsAndBlocks:
    """Return an optimised strategy of cells and of `extra` sums of blocks; `gram` is B G B'."""
    sums = _descended(lambda x: gram @ x, diagonal, extra, width, _BLOCK_STEPS, 1e-11)
    each, below = _shares(sums)
    made = Dense("optimised sums of blocks", below, float(2**ROUNDING_BITS))
    return CellsAndBlocks(cells, width, each, made)


def _descended(
    gram_apply: Callable[[Floats], Floats],
    gram_diagonal: Floats,
    extra: int,
    width: int,
    steps: int,
    flat: float,
) -> Floats:
    cells = gram_diagonal.size
    scale = float(gram_diagonal.sum())

    def value_and_slope(place: Floats) -> tuple[float, Floats]:
        value, slope = error_and_gradient(place.reshape(extra, cells), gram_apply, gram_diagonal, width)
        return value / scale, slope.reshape(-1) / scale

    start = _nested(extra, cells).reshape(-1)
    found = descend(value_and_slope, start, steps=steps, flat=flat, level=1e-5, positive=True)
    return found.reshape(extra, cells)


def error_and_gradient(
    sums: Floats, gram_apply: Callable[[Floats], Floats], gram_diagonal: Floats, width: int = 1
) -> tuple[float, Floats]:
    """Return f(T) and its gradient; for blocks, as functions of U.

    So far out that floats lose the cells beside their sums it counts as infinite: no step leads there.
    """
    s = 1 + sums.sum(axis=0)
    try:
        inner = np.linalg.inv(np.eye(sums.shape[0]) + width * sums @ sums.T)
    except np.linalg.LinAlgError:
        return np.inf, np.zeros(sums.shape)
    weighted = inner @ sums
    asked = gram_apply((sums * s).T).T
    value = float(gram_diagonal @ (s * s) - np.sum((inner @ asked) * (sums * s)))
    towards = gram_apply((weighted * s).T).T * s
    direct = -2 * (towards - width * (towards @ sums.T) @ weighted)
    through_s = 2 * (gram_diagonal * s - np.sum(asked * weighted, axis=0))
    return value, direct + through_s


def _nested(extra: int, cells: int) -> Floats:
    """Return intervals that halve from level to level, lifted off zero so that every entry can move."""
    sums = np.zeros((extra, cells))
    row, pieces = 0, 2
    while row < extra:
        pieces = min(pieces, extra - row)
        edges = np.linspace(0, cells, pieces + 1).astype(int)
        for piece in range(pieces):
            sums[row + piece, edges[piece] : edges[piece + 1]] = 1
        row += pieces
        pieces *= 2
    return np.asarray(sums / np.log2(extra + 2) + _LIFT)


def _integers(sums: Floats) -> Dense:
    """Return [I; T] D in integers."""
    alone, below = _shares(sums)
    return Dense("optimised cells and sums", np.vstack([np.diag(alone), below]), float(2**ROUNDING_BITS))


def _shares(sums: Floats) -> tuple[Integers, Integers]:
    """Return the cells' weights and the sums' in integers: what rounding leaves goes to the cell itself."""
    share = 2**ROUNDING_BITS
    s = 1 + sums.sum(axis=0)
    below = np.rint(sums / s * share).astype(np.int64)
    below = below[np.any(below != 0, axis=1)]
    alone = share - below.sum(axis=0)
    # A cell whose sums took everything keeps one unit, and the others follow so that columns stay equal.
    deficit = max(0, 1 - int(alone.min()))
    return alone + deficit, below
