"""Released values made possible: running counts that never fall, tables that no negative cell contradicts.

Groups that overlap are sums W x of disjoint cells x, and no count of a cell is negative.  Answers y of least
squares agree with each other, but with small counts some cells of theirs are below zero; raising those alone
to zero would make them disagree with their totals.

Theorem.  Let z = W x be nearest to y over all x >= 0, in the sum of squares over all groups.  For every true
t = W x' with x' >= 0, the sum of (z - t)**2 is at most that of (y - t)**2, because the nearest point of a
convex set is no further from any point of it.  Large groups count as much as small ones, so totals stay near
what was drawn instead of growing with every cell that is raised.  It is computed from released values alone,
so it costs nothing, and whoever wants the values without bias can have what was drawn.

Method.  Projected descent with momentum.  W' W has no negative entry; let r be its row sums: diag(r) - W' W
is positive semidefinite, as a symmetric matrix with a dominant diagonal is, so that steps of 1 / r in each
cell never overshoot.  Cells are rounded at the end and then added up exactly.

An interval stays around what was drawn and is widened where it would miss the point shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.query.check.batch import Slice
from discreet.query.check.formula import Public
from discreet.query.check.measurement import Cell, Classes, Measurement, RunningGroups, Sets
from discreet.query.check.tables import tables
from discreet.query.price.expected import Quote
from discreet.query.price.together import GRID, Together
from discreet.release.noisy import Key, Noisy
from discreet.release.parted import possible
from discreet.release.shrunk import shrunk
from discreet.release.steady import running

CELLS = 2**14
"""Beyond so many cells each table is made possible by itself (see `shrunk`)."""

STEPS, NEAR = 2_000, 1e-9

Array: TypeAlias = NDArray[Any]


def settled(priced: Quote, noisy: Noisy) -> Noisy | None:
    """Return released values made possible, or None where they are or nothing is known of them."""
    match priced.checked.keys:
        case RunningGroups(levels=()) as keys:
            return running(keys, noisy)
        case Sets() | Classes() as overlapping if _possible(priced, overlapping):
            columns = enumerate(noisy.values)
            return Noisy(noisy.keys, tuple(_settled(overlapping, place, column) for place, column in columns))
        case Sets():
            return shrunk(priced, noisy)
        case _ if noisy.widths:
            return possible(noisy)
        case _:
            return None


def _possible(priced: Quote, keys: Sets | Classes) -> bool:
    """Whether everything measured is a sum of what is not negative, over cells that are few enough."""
    adds = all(
        isinstance(share.mechanism, Together)
        and isinstance(share.measured, Measurement)
        and not share.measured.fixed.degree
        and share.measured.low >= 0
        for share in priced.shares
    )
    return adds and prod(len(column.values or ()) for column in keys.columns) <= CELLS


@dataclass(frozen=True, slots=True)
class _ConsistentSums:
    """How groups follow from cells, and back."""

    cells: int
    apply: Callable[[Array], Array]
    adjoint: Callable[[Array], Array]


def _sums(keys: Sets | Classes) -> _ConsistentSums:
    if isinstance(keys, Classes):
        every = keys.columns[0].values or ()
        matrix = np.array([[int(cell in group) for cell in every] for group in keys.groups], dtype=np.int64)
        return _ConsistentSums(len(every), lambda x: matrix @ x, lambda y: matrix.T @ y)
    shape = tuple(len(column.values or ()) for column in keys.columns)
    others = [tuple(a for a in range(len(shape)) if a not in chosen) for chosen in keys.sets]
    kept = [tuple(1 if a in rest else size for a, size in enumerate(shape)) for rest in others]
    stops = np.cumsum([prod(size) for size in kept])[:-1]

    def apply(x: Array) -> Array:
        table = x.reshape(shape)
        return np.concatenate([table.sum(axis=rest).reshape(-1) for rest in others])

    def adjoint(y: Array) -> Array:
        total = np.zeros(shape)
        for part, size in zip(np.split(y, stops), kept, strict=True):
            total = total + part.reshape(size)
        return total.reshape(-1)

    return _ConsistentSums(prod(shape), apply, adjoint)


def _settled(keys: Sets | Classes, position: int, drawn: tuple[Public, ...]) -> tuple[Public, ...]:
    """Return the nearest answers to what is asked of one measurement."""
    if isinstance(keys, Sets):
        return _nearest(keys, drawn)
    asked = keys.places(position)
    own = _counted(keys, [keys.groups[place] for place in asked])
    found = dict(zip(asked, _nearest(own, tuple(drawn[place] for place in asked)), strict=True))
    return tuple(found.get(place, value) for place, value in enumerate(drawn))


def _counted(keys: Classes, groups: Sequence[frozenset[Cell]]) -> Classes:
    """Return some groups as unions of the cells that are in any of them."""
    (column,) = keys.columns
    inside = frozenset[Cell]().union(*groups)
    values = tuple(cell for cell in column.values or () if cell in inside)
    return Classes((replace(column, values=values),), tuple(groups), ())


@lru_cache(maxsize=64)
def _nearest(keys: Sets | Classes, drawn: tuple[Public, ...]) -> tuple[Public, ...]:
    """Return the nearest answers of cells that are not negative."""
    numbers = np.array([float(value) for value in drawn])  # type: ignore[arg-type]
    if isinstance(keys, Sets) and _stands(keys, numbers):
        return drawn
    sums = _sums(keys)
    if not sums.cells:
        return drawn
    rounded = [round(value * GRID) for value in _descend(sums, numbers)]
    exact = np.array(rounded, dtype=object if sum(rounded) >= 2**62 else np.int64)
    return tuple(_natural(int(value)) for value in sums.apply(exact))


def _stands(keys: Sets, numbers: Array) -> bool:
    """Whether the largest table, of which all others are sums, has no negative cell anyway."""
    (largest, *more) = tables(keys)
    if more:
        return False
    first = 0
    for chosen in keys.sets:
        size = prod(len(keys.columns[place].values or ()) for place in chosen)
        if chosen == largest:
            return bool((numbers[first : first + size] >= 0).all())
        first += size
    return False


def _descend(sums: _ConsistentSums, drawn: Array) -> Array:
    from discreet.workload.nearest import descend

    def pull(x: Array) -> Array:
        return sums.adjoint(sums.apply(x) - drawn)

    # Every cell is in some group, so no rate is zero.
    rates = sums.adjoint(sums.apply(np.ones(sums.cells)))
    start = np.maximum(sums.adjoint(drawn) / rates, 0)
    return descend(start, lambda x: np.maximum(x - pull(x) / rates, 0), rates=rates, steps=STEPS, near=NEAR)


def _natural(value: int) -> int | Fraction:
    natural = Fraction(value, GRID)
    return natural.numerator if natural.denominator == 1 else natural


def cut(noisy: Noisy, keys: Sequence[Key], slices: Sequence[Slice]) -> Noisy:
    """Return the part of released values that belongs to one question of a batch."""
    return Noisy(tuple(keys), tuple(noisy.values[s.measurement][s.start : s.stop] for s in slices))
