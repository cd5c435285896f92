"""Tables of pairs of wide columns from tables of groups of their cells: fewer cells, far less noise.

Noise falls on every cell alike.  A table of two columns of 100 values has ten thousand cells, of which most
hold fewer people than the noise is wide; a table of 16 groups by 16 has 256.  What a column's cells are by
themselves is known well from its own counts, which also say where groups can begin: neighbours are joined
while they hold at most one part in 16 of everybody, so groups are narrow where people are many.

Estimate.  Let x be the counts of single cells and t the shrunk table of two columns' groups (see `shrink`).
If within a pair of groups both columns were independent, the table of the cells would be

    t[group of a, group of b] (x_a / x of its group) (x_b / x of its group).

Single cells are counted twice: y by themselves, with variance v, and z summed in groups, with variance u.
The least-squares estimate spreads over the m cells of a group what z has more than their sum:

    y + (z - sum of y) v / (m v + u).

Proof.  Given their sum, the cells are as y says up to an equal shift; the sum is the mean of m v and u's
two measurements weighed by precision, which moves it by (z - sum of y) m v / (m v + u), in m equal parts.

Only released values are seen, so all of this is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.linear import Floats
from discreet.workload.marginal import Attributes
from discreet.workload.nearest import nearest_counts
from discreet.workload.shrink import KnownTables, ShrunkTables, pooled
from discreet.workload.table import centred

GROUPS = 16
"""Neighbours are joined while they hold at most this part of everybody; fewer cells than that stay alone."""

Starts = tuple[int, ...]
"""The first cell of each group of neighbours, from cell 0 on."""


def groups_of(counts: Floats, *, missing: bool = False) -> Starts:
    """Return where groups of a column's cells begin; a last cell for what is missing stays by itself."""
    if counts.size <= GROUPS:
        return tuple(range(counts.size))
    most = float(counts.sum()) / GROUPS
    starts, held = [0], 0.0
    for cell, count in enumerate(counts.tolist()):
        if (held > 0 and held + count > most) or (missing and cell == counts.size - 1):
            starts.append(cell)
            held = 0.0
        held += count
    return tuple(starts)


def even_groups(size: int, *, missing: bool = False) -> Starts:
    """Return groups of equal width: what they are before anything is known."""
    cells = size - missing
    starts = tuple(range(0, cells, -(-cells // GROUPS)))
    return (*starts, cells) if missing else starts


@dataclass(frozen=True, slots=True, eq=False)
class GroupedTables:
    """What is known of single cells and of pairs of groups of them, as counts that can be."""

    singles: tuple[Floats, ...]
    groups: tuple[Starts, ...]
    shrunk: ShrunkTables

    @classmethod
    def of(
        cls, pairs: KnownTables, groups: Sequence[Starts] | None = None, singles: KnownTables | None = None
    ) -> "GroupedTables":
        """Return what tables of groups and counts of single cells tell; without these, groups are cells."""
        if groups is None or singles is None:
            shrunk = ShrunkTables(pairs)
            found = tuple(shrunk.table((i,)) for i in range(len(pairs.sizes)))
            return cls(found, tuple(tuple(range(size)) for size in pairs.sizes), shrunk)
        whole = tuple(groups)
        if tuple(map(len, whole)) != pairs.sizes or len(singles.sizes) != len(whole):
            raise ParameterError("every column needs its groups, and the tables one cell for each of them")
        known = pooled(pairs, _summed(singles, whole))
        fine = [_both(singles, pairs, i, starts) for i, starts in enumerate(whole)]
        return cls(tuple(nearest_counts(one, known.total) for one in fine), whole, ShrunkTables(known))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(one.size for one in self.singles)

    @property
    def total(self) -> float:
        """The released number of records; never negative."""
        return self.shrunk.known.total

    def table(self, pair: Attributes) -> Floats:
        """Return the expected counts of two columns' cells."""
        one, other = pair
        rows, columns = self._numbers(one), self._numbers(other)
        spread = np.outer(self._within(one), self._within(other))
        return np.asarray(self.shrunk.table(pair)[np.ix_(rows, columns)] * spread)

    def grouped(self, codes: NDArray[np.int64], column: int) -> NDArray[np.int64]:
        """Return the numbers of the groups that cells of one column belong to."""
        return self._numbers(column)[codes]

    def _numbers(self, column: int) -> NDArray[np.int64]:
        return _numbers(self.groups[column], self.singles[column].size)

    def _within(self, column: int) -> Floats:
        """Return the share of each cell in its group; nobody at all is spread evenly."""
        counts, starts = self.singles[column], self.groups[column]
        numbers = self._numbers(column)
        whole, width = np.add.reduceat(counts, starts)[numbers], np.bincount(numbers)[numbers]
        return np.divide(counts, whole, out=1.0 / width, where=whole > 0)


def _numbers(starts: Starts, size: int) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(starts, np.arange(size), side="right") - 1, dtype=np.int64)


def _summed(singles: KnownTables, groups: Sequence[Starts]) -> KnownTables:
    """Return what counts of single cells tell about groups; their variance is that of a mean group."""
    pieces: dict[Attributes, Floats] = {(): singles.centred[()]}
    variances: dict[Attributes, float] = {(): singles.variances[()]}
    for i, starts in enumerate(groups):
        pieces[(i,)] = centred(np.add.reduceat(singles.table((i,)), starts))
        variances[(i,)] = singles.variances[(i,)] * singles.sizes[i] / len(starts)
    return KnownTables(tuple(map(len, groups)), pieces, variances)


def _both(singles: KnownTables, pairs: KnownTables, column: int, starts: Starts) -> Floats:
    """Return the least-squares counts of a column's cells from both ways they were counted."""
    alone, together = singles.table((column,)), pairs.table((column,))
    own, shared = singles.variance((column,)), pairs.variance((column,))
    numbers = _numbers(starts, alone.size)
    more = together - np.add.reduceat(alone, starts)
    doubt = own * np.bincount(numbers) + shared
    part = np.divide(own * more, doubt, out=np.zeros_like(more), where=doubt > 0)
    return np.asarray(alone + part[numbers])
