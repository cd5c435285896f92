"""Counting queries over the cells of a histogram, as 0/1 matrices that are never written out.

A histogram is a vector x of integer counts over `cells` declared cells.  A workload is a 0/1 matrix W, one
row per question, whose exact answers are W x.  Each value below knows its matrix implicitly:

    apply(x)             W x, along the first axis, exact for integer x
    transpose_apply(y)   W' y
    gram()               W' W, dense; its entry (i, j) is the number of questions that count both cells
    gram_apply(x)        W' W x without the dense matrix

Everything the error of a strategy needs to know about a workload is its Gram matrix: two workloads with the
same one are answered equally well by every strategy.

References.  Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", VLDB Journal 24, 2015; the implicit
forms: McKenna, Miklau, Hay, Machanavajjhala, "Optimizing error of high-dimensional statistical queries",
PVLDB 11(10), 2018.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

Array = NDArray[Any]
Floats = NDArray[np.float64]

DENSE_CELLS = 8192
"""The largest domain whose Gram matrix is written out: half a gigabyte."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Every cell by itself: the histogram."""

    cells: int

    def __post_init__(self) -> None:
        _at_least_one(self.cells)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return self.cells

    def apply(self, x: Array) -> Array:
        """Return x."""
        return _columns(x, self.cells)

    def transpose_apply(self, y: Array) -> Array:
        """Return y."""
        return _columns(y, self.queries)

    def gram(self) -> Floats:
        """Return the identity."""
        return np.eye(_dense(self.cells))

    def gram_apply(self, x: Array) -> Array:
        """Return x."""
        return _columns(x, self.cells)


@dataclass(frozen=True, slots=True)
class Total:
    """The one question how many there are."""

    cells: int

    def __post_init__(self) -> None:
        _at_least_one(self.cells)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return 1

    def apply(self, x: Array) -> Array:
        """Return the sum, as one row."""
        return np.asarray(_columns(x, self.cells).sum(axis=0, keepdims=True))

    def transpose_apply(self, y: Array) -> Array:
        """Return the one number repeated for every cell."""
        return np.repeat(_columns(y, 1), self.cells, axis=0)

    def gram(self) -> Floats:
        """Return the matrix of ones."""
        return np.ones((_dense(self.cells),) * 2)

    def gram_apply(self, x: Array) -> Array:
        """Return the sum repeated for every cell."""
        return self.transpose_apply(self.apply(x))


@dataclass(frozen=True, slots=True)
class Prefix:
    """Running counts along an ordered domain: the cumulative distribution, not normalised."""

    cells: int

    def __post_init__(self) -> None:
        _at_least_one(self.cells)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return self.cells

    def apply(self, x: Array) -> Array:
        """Return the running sums."""
        return np.cumsum(_columns(x, self.cells), axis=0)

    def transpose_apply(self, y: Array) -> Array:
        """Return the running sums from the far end."""
        return np.cumsum(_columns(y, self.queries)[::-1], axis=0)[::-1]

    def gram(self) -> Floats:
        """Return the matrix n - max(i, j), positions counted from zero."""
        place = np.arange(_dense(self.cells))
        return (self.cells - np.maximum.outer(place, place)).astype(np.float64)

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x by two running sums."""
        return self.transpose_apply(self.apply(x))


@dataclass(frozen=True, slots=True)
class AllRange:
    """Every interval i <= j of an ordered domain, ordered by i and then by j."""

    cells: int

    def __post_init__(self) -> None:
        _at_least_one(self.cells)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return self.cells * (self.cells + 1) // 2

    def apply(self, x: Array) -> Array:
        """Return every interval's sum, a difference of two running sums."""
        running = self._running(x)
        first, last = np.triu_indices(self.cells)
        return running[last + 1] - running[first]

    def transpose_apply(self, y: Array) -> Array:
        """Return, for every cell, the sum over the intervals that contain it."""
        answers = _columns(y, self.queries)
        first, last = np.triu_indices(self.cells)
        ends = np.zeros((self.cells + 1, *answers.shape[1:]), dtype=answers.dtype)
        np.add.at(ends, last + 1, answers)
        np.subtract.at(ends, first, answers)
        return np.cumsum(ends[:0:-1], axis=0)[::-1]

    def gram(self) -> Floats:
        """Return the matrix (min(i, j) + 1) (n - max(i, j)), positions counted from zero."""
        place = np.arange(_dense(self.cells))
        before, after = np.minimum.outer(place, place) + 1, self.cells - np.maximum.outer(place, place)
        return np.asarray(before * after, dtype=np.float64)

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x by running sums: all pairs of n + 1 end points have Gram matrix (n + 1) I - J."""
        running = self._running(x)
        spread = (self.cells + 1) * running - running.sum(axis=0)
        return np.cumsum(spread[:0:-1], axis=0)[::-1]

    def _running(self, x: Array) -> Array:
        counts = _columns(x, self.cells)
        return np.concatenate([np.zeros((1, *counts.shape[1:]), counts.dtype), np.cumsum(counts, axis=0)])


@dataclass(frozen=True, slots=True)
class Matrix:
    """Any 0/1 counting queries, one tuple of zeros and ones per question."""

    rows: tuple[tuple[int, ...], ...]
    _array: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0]:
            raise ParameterError("a matrix of counting queries needs at least one row and one column")
        if len({len(row) for row in self.rows}) != 1:
            raise ParameterError("every row of a matrix of counting queries must have one entry per cell")
        if not all(entry in (0, 1) for row in self.rows for entry in row):
            raise ParameterError("a counting query counts a cell or it does not: entries must be 0 or 1")
        array = np.array(self.rows, dtype=np.int64)
        array.setflags(write=False)
        object.__setattr__(self, "_array", array)

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> "Matrix":
        """Return the workload of an array or a list of lists."""
        return cls(tuple(tuple(int(entry) for entry in row) for row in rows))

    @property
    def cells(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def queries(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def array(self) -> NDArray[np.int64]:
        """Return the matrix itself, which cannot be written to."""
        return self._array

    def apply(self, x: Array) -> Array:
        """Return W x."""
        return np.tensordot(self.array(), _columns(x, self.cells), 1)

    def transpose_apply(self, y: Array) -> Array:
        """Return W' y."""
        return np.tensordot(self.array().T, _columns(y, self.queries), 1)

    def gram(self) -> Floats:
        """Return W' W."""
        rows = self.array().astype(np.float64)
        return rows.T @ rows

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x."""
        return self.transpose_apply(self.apply(x))


@dataclass(frozen=True, slots=True)
class Product:
    """All combinations of one question per attribute: the Kronecker product, last attribute fastest."""

    factors: "tuple[Workload, ...]"

    def __post_init__(self) -> None:
        if not self.factors:
            raise ParameterError("a product of workloads needs at least one factor")

    @property
    def cells(self) -> int:
        """The number of columns."""
        return prod(factor.cells for factor in self.factors)

    @property
    def queries(self) -> int:
        """The number of rows."""
        return prod(factor.queries for factor in self.factors)

    def apply(self, x: Array) -> Array:
        """Return W x, one attribute at a time."""
        counts = _columns(x, self.cells)
        table = counts.reshape([factor.cells for factor in self.factors] + list(counts.shape[1:]))
        for axis, factor in enumerate(self.factors):
            table = np.moveaxis(factor.apply(np.moveaxis(table, axis, 0)), 0, axis)
        return table.reshape(self.queries, *counts.shape[1:])

    def transpose_apply(self, y: Array) -> Array:
        """Return W' y, one attribute at a time."""
        answers = _columns(y, self.queries)
        table = answers.reshape([factor.queries for factor in self.factors] + list(answers.shape[1:]))
        for axis, factor in enumerate(self.factors):
            table = np.moveaxis(factor.transpose_apply(np.moveaxis(table, axis, 0)), 0, axis)
        return table.reshape(self.cells, *answers.shape[1:])

    def gram(self) -> Floats:
        """Return the Kronecker product of the factors' Gram matrices."""
        _dense(self.cells)
        return kron([factor.gram() for factor in self.factors])

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x, one attribute at a time."""
        counts = _columns(x, self.cells)
        table = counts.reshape([factor.cells for factor in self.factors] + list(counts.shape[1:]))
        for axis, factor in enumerate(self.factors):
            table = np.moveaxis(factor.gram_apply(np.moveaxis(table, axis, 0)), 0, axis)
        return table.reshape(counts.shape)


@dataclass(frozen=True, slots=True)
class Union:
    """Several workloads over the same histogram, answered one after the other."""

    parts: "tuple[Workload, ...]"

    def __post_init__(self) -> None:
        if not self.parts:
            raise ParameterError("a union of workloads needs at least one part")
        if len({part.cells for part in self.parts}) != 1:
            raise ParameterError("all parts of a union must ask about the same cells")

    @property
    def cells(self) -> int:
        """The number of columns."""
        return self.parts[0].cells

    @property
    def queries(self) -> int:
        """The number of rows."""
        return sum(part.queries for part in self.parts)

    def apply(self, x: Array) -> Array:
        """Return the parts' answers, concatenated."""
        return np.concatenate([part.apply(x) for part in self.parts])

    def transpose_apply(self, y: Array) -> Array:
        """Return the sum of the parts' transposed products."""
        ends = np.cumsum([part.queries for part in self.parts])[:-1]
        pieces = np.split(_columns(y, self.queries), ends)
        terms = [part.transpose_apply(p) for part, p in zip(self.parts, pieces, strict=True)]
        return reduce(np.add, terms)

    def gram(self) -> Floats:
        """Return the sum of the parts' Gram matrices."""
        return reduce(np.add, [part.gram() for part in self.parts])

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x."""
        return reduce(np.add, [part.gram_apply(x) for part in self.parts])


@dataclass(frozen=True, slots=True)
class Marginals:
    """The tables of counts by some sets of attributes, of a domain that may be far too large to write out.

    `sizes` are the numbers of values of the attributes; each set is a sorted tuple of attribute positions,
    and its table has one cell per combination of their values, last attribute fastest.
    """

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for size in self.sizes:
            _at_least_one(size)
        if not self.sets:
            raise ParameterError("a workload of marginals needs at least one set of attributes")
        if len(set(self.sets)) != len(self.sets):
            raise ParameterError("a set of attributes is listed twice")
        for chosen in self.sets:
            if list(chosen) != sorted(set(chosen)) or any(not 0 <= i < len(self.sizes) for i in chosen):
                raise ParameterError(
                    f"a set of attributes must list distinct positions below {len(self.sizes)} in order, "
                    f"got {chosen}"
                )

    @classmethod
    def of_order(cls, sizes: Sequence[int], *orders: int) -> "Marginals":
        """Return all marginals of the given orders; order 0 is the total."""
        positions = range(len(sizes))
        return cls(tuple(sizes), tuple(s for order in orders for s in combinations(positions, order)))

    @property
    def cells(self) -> int:
        """The number of cells of the full domain."""
        return prod(self.sizes)

    @property
    def queries(self) -> int:
        """The number of cells of all tables together."""
        return sum(self.table_cells(chosen) for chosen in self.sets)

    def table_cells(self, chosen: tuple[int, ...]) -> int:
        """Return the number of cells of one table."""
        return prod(self.sizes[i] for i in chosen)

    def union(self) -> Union:
        """Return the same workload as a union of products of identities and totals."""
        return Union(
            tuple(
                Product(tuple(Identity(n) if i in chosen else Total(n) for i, n in enumerate(self.sizes)))
                for chosen in self.sets
            )
        )

    def apply(self, x: Array) -> Array:
        """Return the tables of a full histogram, flattened and concatenated."""
        return self.union().apply(x)

    def transpose_apply(self, y: Array) -> Array:
        """Return W' y."""
        return self.union().transpose_apply(y)

    def gram(self) -> Floats:
        """Return W' W."""
        return self.union().gram()

    def gram_apply(self, x: Array) -> Array:
        """Return W' W x."""
        return self.union().gram_apply(x)


Workload = Identity | Total | Prefix | AllRange | Matrix | Product | Union | Marginals


def kron(arrays: Sequence[Floats]) -> Floats:
    """Return the Kronecker product of vectors, or of matrices, in order."""
    whole = arrays[0]
    for array in arrays[1:]:
        whole = np.asarray(np.kron(whole, array))
    return whole


def _columns(x: Array, rows: int) -> Array:
    array = np.asarray(x)
    if array.ndim == 0 or array.shape[0] != rows:
        got = "a single number" if array.ndim == 0 else f"{array.shape[0]}"
        raise ParameterError(f"expected {rows} entries along the first axis, got {got}")
    return array


def _at_least_one(cells: int) -> None:
    if cells < 1:
        raise ParameterError(f"a domain has at least one cell, got {cells}")


def _dense(cells: int) -> int:
    if cells > DENSE_CELLS:
        raise ParameterError(
            f"a domain of {cells} cells is too large for a dense matrix (at most {DENSE_CELLS}); "
            "declare it as a product of attributes, or use coarser cells"
        )
    return cells
