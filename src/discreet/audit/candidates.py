"""The scores that compete for an event: what one feature says, what cells say together, and sums of both.

Which kind of score finds a leak depends on where it is: a table of whole outputs where few occur, a table of
coarse cells where a mixed output has a pattern, a sum over parts where several mechanisms ran side by side, a
single number where the noise is simply too small.  All are learned, and the best on other rows is used.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.audit.features import Families, families, smallest_beside
from discreet.audit.grid import GLIMPSE, Grid, blocks, frequent
from discreet.audit.outputs import Layout, Matrix
from discreet.audit.score import Binned, CellScore, FeatureScore, Score, Weighted

CROWD = 1_000_000
"""Rows per input that are counted in tables of cells."""

CLASS = 200_000
"""Rows per input from which scores of single features are learned."""

FEW = 5_000
"""Rows per distinct output from which on a table of whole outputs is all that is tried."""


def candidates(layout: Layout, left: Matrix, right: Matrix) -> Iterator[Score]:
    """Yield the scores learned from the first part of the training runs."""
    if layout.columns > 1:
        tables = CellScore.fit(Grid(tuple(range(layout.columns))), left, right, (1.0, 8.0, 64.0))
        yield from tables
        # Where few outputs occur, and often, their table says all there is to say.
        if tables and FEW * len(tables[0].seen) <= len(left) + len(right):
            return
        yield from _grids(left[:CROWD], right[:CROWD])
    left, right = left[:CLASS], right[:CLASS]
    known = families(layout, np.concatenate([left, right]))
    for feature in known.all:
        # Tags name things and have no order.
        if feature.words is None:
            yield FeatureScore(feature, 1)
            yield FeatureScore(feature, -1)
    single = tuple(Binned.fit(feature, left, right) for feature in known.all)
    yield from single
    for feature in known.positions:
        if feature.words is None:
            yield Binned.of_repeats(feature, left, right)
    if layout.columns > 1:
        yield from _sums(known, left, right)
        yield logistic(single, left, right)


def _grids(left: Matrix, right: Matrix) -> Iterator[Score]:
    """Yield tables of positions together, coarse or fine, and sums of tables of independent blocks."""
    both = np.concatenate([left[:GLIMPSE], right[:GLIMPSE]])
    everything = tuple(range(both.shape[1]))
    for bins in (1, 2, 4, 8):
        yield from CellScore.fit(Grid.cut(both, everything, bins), left, right, (8.0, 64.0))
    apart = blocks(left)
    if len(apart) == len(everything):
        return
    known: dict[object, list[CellScore]] = {}
    for grids in _partitions(both, apart):
        for grid in grids:
            if grid.alike not in known:
                known[grid.alike] = CellScore.fit(grid, left, right, (64.0, 256.0))
        for parts in zip(*(known[grid.alike] for grid in grids if known[grid.alike]), strict=True):
            yield Weighted(parts, np.ones(len(parts)), "the sum of log ratios of independent parts")


def _partitions(rows: Matrix, apart: list[tuple[int, ...]]) -> Iterator[list[Grid]]:
    """Yield ways to cut every block into cells."""
    if len(apart) > 1:
        for bins in (1, 2, 4):
            yield [Grid.cut(rows, block, bins) for block in apart]
    # Where atoms say what happened, one ordinary number beside them says how close it was.
    atoms = tuple(frequent(column) for column in rows.T)
    least = [smallest_beside(atoms, block) for block in apart]
    mixed = [(feature,) if np.isfinite(feature(rows)).any() else () for feature in least]
    if any(mixed) and any(map(len, atoms)):
        for slices in (4, 16):
            yield [
                Grid.cut(rows, block, 1, beside, slices) for block, beside in zip(apart, mixed, strict=True)
            ]


def _sums(known: Families, left: Matrix, right: Matrix) -> Iterator[Score]:
    for name, family in (("positions", known.positions), ("steps", known.differences)):
        for bins in (2, 8, 64):
            parts = tuple(Binned.fit(feature, left, right, bins) for feature in family)
            yield Weighted(parts, np.ones(len(parts)), f"the sum of log ratios of {name}")


def logistic(parts: tuple[Binned, ...], left: Matrix, right: Matrix, rounds: int = 8) -> Weighted:
    """Return log ratios weighed by a ridge logistic regression, fitted by Newton's method."""
    limit = 1 << 15
    left, right = left[:limit], right[:limit]
    design = np.stack([np.concatenate([part.of(left), part.of(right)]) for part in parts], axis=1)
    truth = np.concatenate([np.zeros(len(left)), np.ones(len(right))])
    width = design.shape[1]
    design = np.column_stack([design, np.ones(len(design))])
    ridge = np.diag(np.append(np.full(width, 1e-3 * len(design) * _scale(design[:, :width])), 0.0))
    weights = np.zeros(width + 1)
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (truth - chance) - ridge @ weights
        curve = (design * (chance * (1 - chance))[:, None]).T @ design + ridge
        step = np.linalg.lstsq(curve, slope, rcond=None)[0]
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return Weighted(parts, weights[:width], "a logistic score")


def _scale(design: NDArray[np.float64]) -> float:
    return float(np.mean(np.var(design, axis=0))) + 1e-12
