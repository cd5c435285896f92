"""Cutting outputs into cells, so that what hardly repeats can be counted.

A mixed law has atoms, single values of positive probability such as "below" or "stopped", beside a continuous
part.  Atoms are always told apart; the rest is cut into quantiles, as coarsely as the number of rows demands.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.audit.features import Column, Feature
from discreet.audit.outputs import Matrix

GLIMPSE = 20_000
"""Rows that show where values lie, whether they repeat, and which columns depend on each other."""

INDEPENDENT = 6.0
"""Standard deviations above its mean that chi-square must reach before two columns count as dependent."""


def edges(values: Column, bins: int) -> Column:
    """Return the values themselves where they are few, and quantiles of them where they are many."""
    finite = values[~np.isnan(values)]
    if finite.size == 0:
        return np.zeros(1)
    # A spread-out part of the values is enough to place edges.
    some = np.sort(finite[:: max(1, finite.size >> 15)])
    distinct = some[np.append(True, some[1:] != some[:-1])]
    if len(distinct) <= bins:
        return np.asarray(distinct)
    ranks = np.linspace(0, some.size - 1, bins + 1)[1:-1].astype(np.intp)
    return np.unique(some[ranks])


def bin_of(cuts: Column, values: Column) -> NDArray[np.intp]:
    """Return the number of cuts at or below each value; one more than there can be for NaN."""
    places = np.searchsorted(cuts, np.ascontiguousarray(values), side="right")
    missing = np.isnan(values)
    return np.where(missing, len(cuts) + 1, places) if missing.any() else places


def frequent(values: Column) -> Column:
    """Return the values that occur in more than one row of two hundred: atoms of a mixed law."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return np.asarray(distinct[counts * 200 > values.size])


REPEATED = 4
"""Rows from which on a value counts as one that repeats."""

ATOMS = 512
"""Values that repeat and are told apart, the most frequent first."""


def most_frequent(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the places of the largest counts of at least REPEATED, up to ATOMS of them."""
    order = np.argsort(-counts, kind="stable")[:ATOMS]
    return order[counts[order] >= REPEATED]


def repeated(values: Column) -> Column:
    """Return the values that repeat, in order."""
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    return np.sort(distinct[most_frequent(counts)])


def cells(values: Column, bins: int) -> Column:
    """Return edges that set values occurring often apart and cut the rest into quantiles."""
    some = values[:: max(1, values.size >> 15)]
    some = np.sort(some[~np.isnan(some)])
    if some.size == 0:
        return np.zeros(1)
    atoms = frequent(some)
    rest = np.setdiff1d(some, atoms, assume_unique=False)
    ranks = np.linspace(0, max(0, rest.size - 1), bins + 1)[1:-1].astype(np.intp)
    cuts = rest[ranks] if rest.size else rest
    return np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf), cuts]))


@dataclass(frozen=True, slots=True)
class Grid:
    """Some columns and features of a row, each cut into cells; without edges, values count as they are."""

    columns: tuple[int, ...]
    edges: tuple[Column, ...] | None = None
    beside: tuple[Feature, ...] = ()

    @classmethod
    def cut(
        cls,
        rows: Matrix,
        columns: tuple[int, ...],
        bins: int,
        beside: tuple[Feature, ...] = (),
        slices: int = 16,
    ) -> "Grid":
        """Cut each column into `bins` cells beside its frequent values, and each feature into `slices`."""
        cuts = [cells(rows[:, column], bins) for column in columns]
        cuts += [cells(feature(rows), slices) for feature in beside]
        return cls(columns, tuple(cuts), beside)

    @property
    def alike(self) -> tuple[object, ...]:
        """Return what two grids share that put all rows into the same cells."""
        cuts = () if self.edges is None else tuple(edge.tobytes() for edge in self.edges)
        return self.columns, cuts, len(self.beside)

    def keys(self, rows: Matrix) -> NDArray[np.uint64]:
        """Return one number per row, equal in equal cells; others collide rarely, and harmlessly."""
        key = np.zeros(len(rows), dtype=np.uint64)
        values = [rows[:, column] for column in self.columns] + [feature(rows) for feature in self.beside]
        for place, column in enumerate(values):
            if self.edges is None:
                # Adding zero makes -0.0 and 0.0 the same, and all NaN are made one.
                part = np.ascontiguousarray(np.where(np.isnan(column), np.nan, column) + 0.0).view(np.uint64)
            else:
                part = bin_of(self.edges[place], column).astype(np.uint64)
            key = (key ^ part) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        return key


def blocks(rows: Matrix) -> list[tuple[int, ...]]:
    """Return groups of columns such that columns of different groups look independent of each other."""
    codes = [bin_of(cells(column, 4), column) for column in rows[:GLIMPSE].T]
    group = list(range(len(codes)))
    for one, two in combinations(range(len(codes)), 2):
        if group[one] != group[two] and _dependent(codes[one], codes[two]):
            old, new = group[two], group[one]
            group = [new if label == old else label for label in group]
    return [tuple(i for i, label in enumerate(group) if label == name) for name in dict.fromkeys(group)]


def _dependent(one: NDArray[np.intp], two: NDArray[np.intp]) -> bool:
    width = int(two.max()) + 1
    table = np.bincount(one * width + two, minlength=(int(one.max()) + 1) * width).reshape(-1, width)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    excess = float(((table - expected) ** 2 / expected).sum()) - freedom
    return excess > INDEPENDENT * float(np.sqrt(2 * freedom))
