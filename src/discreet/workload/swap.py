"""Made-up records from released tables: columns are dealt out, then swapped until all pairs agree.

Every column is dealt to the records by its own counts, in any order: the records of independence.  Then two
records at a time may exchange their values of one column.  An exchange leaves the counts of all columns as
they are and moves four cells of each of its tables with another column; it is made if that lessens

    sum over all cells of all pairs of columns of (count - expected count)**2 / (expected count + 1).

Many disjoint exchanges are weighed at once against the same tables and made together.  Together they may
overshoot: then all of them are taken back, and half as many are tried the next time.  So the sum never grows.

No model of all columns is needed, however many hang together: the records themselves are one, and starting
from independence they take on no more dependence than the tables ask for.  An expected count of 5.7 is met by
5 or 6 records, where drawing them by chance would be off by 2.4.

Only released values are seen.  What is left to an order of no meaning follows from a digest of them.

Reference.  Records that are changed step by step until they agree with noisy tables: Zhang et al., "PrivSyn",
USENIX Security 2021, which overwrites and copies whole values; an exchange keeps what is known best.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.expansion import Expansion
from discreet.workload.grouped import GroupedTables
from discreet.workload.linear import Floats

SWEEPS = 40

MOST_WORK = 2**24
"""Records times pairs of columns that are fitted; of more records some are alike."""

Column = NDArray[np.int64]


def draw_records(tables: GroupedTables, rows: int, expansion: Expansion) -> NDArray[Any]:
    """Return coded records, one column per attribute, whose tables of pairs follow the given ones."""
    if rows < 0:
        raise ParameterError(f"the number of rows must not be negative, got {rows}")
    sizes = tables.sizes
    fitted = min(rows, max(MOST_WORK // len(sizes) ** 2, 1))
    columns = [_dealt(counts, fitted, expansion) for counts in tables.singles]
    expected = {pair: _scaled(tables.table(pair), fitted) for pair in combinations(range(len(sizes)), 2)}
    pairs = _Pairs(sizes, expected)
    shares = [1.0] * len(sizes)
    for _ in range(SWEEPS):
        order = expansion.order(fitted)
        for place in expansion.order(len(sizes)).tolist():
            shares[place] = _exchange(pairs, columns, place, order, shares[place])
    # Codes are small, and records may be many.
    records = np.column_stack(columns).astype(np.int16 if max(sizes) < 2**15 else np.int64)
    return records if fitted == rows else records[np.resize(expansion.order(fitted), rows)]


@dataclass(frozen=True, slots=True, eq=False)
class _TableBeside:
    """The table of one column with another, flat: steps along it and across, its excess and its weights."""

    other: int
    along: int
    across: int
    over: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The expected counts of all pairs of columns, flat."""

    sizes: tuple[int, ...]
    expected: dict[tuple[int, int], Floats]

    def beside(self, columns: Sequence[Column], place: int) -> list[_TableBeside]:
        """Return the tables of one column with each other one."""
        return [self._table(columns, place, other) for other in range(len(columns)) if other != place]

    def _table(self, columns: Sequence[Column], place: int, other: int) -> _TableBeside:
        first, second = min(place, other), max(place, other)
        wanted = self.expected[first, second]
        counts = np.bincount(columns[first] * self.sizes[second] + columns[second], minlength=wanted.size)
        along, across = (self.sizes[second], 1) if place == first else (1, self.sizes[second])
        return _TableBeside(other, along, across, counts - wanted, 1 / (wanted + 1))


def _off(tables: Sequence[_TableBeside]) -> float:
    """Return what is weighed of these tables."""
    return sum(float((one.over * one.over * one.weight).sum()) for one in tables)


def _changes(
    tables: Sequence[_TableBeside], columns: Sequence[Column], place: int, one: Column, other: Column
) -> Floats:
    """Return what each pair of records would add to that by exchanging its values of one column."""
    found = np.zeros(one.size)
    mine, theirs = columns[place][one], columns[place][other]
    for table in tables:
        along, over, weight = table.along, table.over, table.weight
        leave, arrive = weight * (1 - 2 * over), weight * (1 + 2 * over)
        here, there = (columns[table.other][rows] * table.across for rows in (one, other))
        moved = (
            leave[here + mine * along]
            + arrive[here + theirs * along]
            + leave[there + theirs * along]
            + arrive[there + mine * along]
        )
        found += np.where((here == there) | (mine == theirs), 0.0, moved)
    return found


def _exchange(pairs: _Pairs, columns: list[Column], place: int, order: Column, share: float) -> float:
    """Exchange values of one column where that helps; return the share of records to try the next time."""
    half = order.size // 2
    count = min(half, ceil(half * share))
    one, other = order[:count], order[half : half + count]
    tables, column = pairs.beside(columns, place), columns[place]
    gains = _changes(tables, columns, place, one, other) < 0
    left, right = one[gains], other[gains]
    column[left], column[right] = column[right], column[left]
    if _off(pairs.beside(columns, place)) <= _off(tables):
        return min(1.0, share * 1.5)
    column[left], column[right] = column[right], column[left]
    return share / 2


def _scaled(table: Floats, rows: int) -> Floats:
    total = float(table.sum())
    return np.asarray(table.reshape(-1) * (rows / total) if total > 0 else np.zeros(table.size))


def _dealt(shares: Floats, rows: int, expansion: Expansion) -> Column:
    """Return values for so many records in any order, each value as often as its share says."""
    values = np.repeat(np.arange(shares.size), apportioned(shares, rows, expansion))
    return values[expansion.order(values.size)]


def apportioned(shares: Floats, rows: int, expansion: Expansion) -> Column:
    """Return whole numbers of the sum `rows`: each is rows times its share, rounded up or down.

    Systematic sampling: the k-th record goes where u + k falls among the summed expectations, for one uniform
    u, so every number has the right mean.  Shares of nothing at all count as equal ones.
    """
    even = shares if shares.sum() > 0 else np.ones_like(shares)
    order = expansion.order(even.size)
    ends = np.cumsum(even[order])
    marks = np.floor(ends / ends[-1] * rows + expansion.fraction()).astype(np.int64)
    marks[-1] = rows
    counts = np.zeros(even.size, dtype=np.int64)
    counts[order] = np.diff(np.minimum(marks, rows), prepend=0)
    return counts
