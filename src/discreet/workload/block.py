"""One attribute of thousands of cells: every cell is measured, and what serves best for blocks of cells.

What is gained by measuring sums is gained by sums of many cells, and those hardly change if their ends move
by a few.  So the sums are optimised for blocks of cells, of which there are few enough, and all arithmetic is
with matrices of blocks: nothing of the size cells x cells is ever written out.

Pure noise.  The weights of cells and of sums of blocks are found by the same descent (see `pidentity`).

Gaussian noise.  Let D be the certified optimum for blocks (see `certified`), with X = D' D, and let cells be
measured e times.  Columns are then of length at most sqrt(1 + e**2).  With x_k the eigenvalues of X, g_k the
entries of the workload's Gram matrix of blocks on its eigenvectors, w cells in a block and t questions about
single cells, the total squared error at unit columns is

    (1 + e**2) (t / e**2 - sum over k of g_k x_k / (e**2 (e**2 + w x_k))),

which is minimised over e.  How much better anything could be is known from the singular values of the
workload (see `certified.spectral_bound`).
"""

import numpy as np

from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload.certified import optimum
from discreet.workload.forecast import block_gram, questions_of_cells
from discreet.workload.linear import AllRange, Floats, Prefix, Workload
from discreet.workload.noise import Promise
from discreet.workload.pidentity import p_identity_of_blocks
from discreet.workload.strategy import CellsAndBlocks, information, rounded

PURE_WIDTH, BELL_WIDTH = 8, 4
_FEWER_CELLS = 1024
"""Up to so many cells have blocks of half the width: there is time for more of them."""

_BLOCKS_PER_SUM = 4
_NEAR = 1e-4
"""The strategy for blocks need not be better: more is lost by the blocks themselves."""

_SHARES = np.geomspace(1e-3, 1e3, 400)


def cells_and_blocks(workload: Workload, guarantee: Promise) -> CellsAndBlocks:
    """Return a strategy for a workload over many cells."""
    match guarantee:
        case Pure():
            return _pure(workload, PURE_WIDTH if workload.cells > _FEWER_CELLS else PURE_WIDTH // 2)
        case Concentrated():
            return _bell(workload, BELL_WIDTH)


def _pure(workload: Workload, width: int) -> CellsAndBlocks:
    gram = block_gram(workload, width)
    extra = max(1, gram.shape[0] // _BLOCKS_PER_SUM)
    return p_identity_of_blocks(workload.cells, width, gram, _questions(workload, width), extra)


def _bell(workload: Workload, width: int) -> CellsAndBlocks:
    gram = block_gram(workload, width)
    count = gram.shape[0]
    match workload:
        case Prefix() | AllRange():
            family = type(workload)
            best = optimum(lambda cells: family(cells).gram(), count, tolerance=_NEAR)
        case _:
            best = optimum(gram, count, tolerance=_NEAR)
    made = rounded("certified optimum for blocks", best.matrix)
    share = _share(information(made) / made.scale**2, gram, float(_questions(workload, width).sum()), width)
    each = max(1, round(made.scale * share**0.5))
    return CellsAndBlocks(workload.cells, width, np.full(count, each, dtype=np.int64), made)


def _share(known: Floats, gram: Floats, questions: float, width: int) -> float:
    """Return the best e**2, as if all blocks were full."""
    values, vectors = np.linalg.eigh(known)
    asked = np.einsum("ik,ik->k", vectors, gram @ vectors)
    share = _SHARES[:, None]
    helped = (asked * values / (share * (share + width * values))).sum(axis=1)
    errors = (1 + _SHARES) * (questions / _SHARES - helped)
    return float(_SHARES[int(np.argmin(errors))])


def _questions(workload: Workload, width: int) -> Floats:
    starts = np.arange(0, workload.cells, width)
    return np.asarray(np.add.reduceat(questions_of_cells(workload), starts))
