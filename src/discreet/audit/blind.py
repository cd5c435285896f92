"""Events chosen without looking at who is who: a plain histogram, tested on all runs at once.

Theorem.  Play the guessing game of `evidence` N times, and let cells C_1, ..., C_M be chosen as any function
of the outputs, but not of the coins.  If the mechanism is epsilon-private on the pair then, given all
outputs, the number of trials in C_i whose coin fell right is stochastically at most Binomial(m_i, q), where
m_i is the number of trials in C_i and q = exp(epsilon) / (1 + exp(epsilon)).  So testing every cell in both
directions with Clopper-Pearson at level a_i, 2 (a_1 + ... + a_M) <= a, gives bounds of which the largest
holds at confidence 1 - a; no run need be set apart for choosing.
Proof.  Let p and r be the laws on the right and on the left input.  Given its output o, the coin of a trial
fell right with probability p(o) / (p(o) + r(o)) <= q, since p(o) <= exp(epsilon) r(o), independently of all
other trials.  A sum of independent coins that are at most q each is at most Binomial(m_i, q); left likewise;
and the union bound holds given the outputs, hence at all.

With delta.  Let d(o) = max(0, p(o) - exp(epsilon) r(o)), whose total is at most delta, and call a trial on
the right input with output o free with probability d(o) / p(o).  All free trials together are at most
Binomial(N, delta / 2), whatever the cells.  Given the outputs and which trials are free, the coin of any
other trial fell right with probability (p - d) / (p - d + r) <= q.  Let f bound the number of free trials on
either side at confidence 1 - a / 20 each, and share 9 a / 10 among the tests after taking f right guesses
away: the test of C_i rejects wrongly with more than its share only if more than f trials were free, since
Pr[Binomial(m - g, q) >= k - g] grows with g.

Cells are: outputs that repeat, cells of equal width, cells of equal count, and tails.  A rare output that
only one input can produce is found here, though training has seen it too seldom to trust it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.evidence import Tally, free_guesses, guess_bound
from discreet.audit.features import Column, Feature, families
from discreet.audit.grid import Grid, bin_of, most_frequent, repeated
from discreet.audit.outputs import Layout, Matrix
from discreet.audit.score import Binned, CellScore, Event

Counts = NDArray[np.int64]

FEATURES = 24
"""Features of an output that get histograms: positions first, then differences, summaries and bits."""

CELLS = 32
"""Cells of equal width, and of equal count."""

GLANCE = 1 << 18
"""Rows per input that show where cells should lie."""


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Cells of one feature: runs of bins between cuts, given as first and last bin."""

    feature: Feature
    cuts: Column
    cells: NDArray[np.intp]

    def count(self, rows: Matrix) -> Counts:
        """Return how many rows lie in each cell."""
        bins = np.bincount(bin_of(self.cuts, self.feature(rows)), minlength=len(self.cuts) + 2)
        sums = np.append(0, np.cumsum(bins))
        return np.asarray(sums[self.cells[:, 1] + 1] - sums[self.cells[:, 0]])

    def event(self, layout: Layout, cell: int, side: int) -> Event:
        """Return the event of guessing one side in one cell."""
        ratios = np.zeros(len(self.cuts) + 2)
        ratios[self.cells[cell, 0] : self.cells[cell, 1] + 1] = side
        return _on(layout, Binned(self.feature, self.cuts, ratios), side)


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Whole outputs that repeat, each a cell."""

    grid: Grid
    seen: NDArray[np.uint64]
    examples: Matrix

    def count(self, rows: Matrix) -> Counts:
        """Return how many rows are each of the outputs."""
        wanted = self.grid.keys(rows)
        places = np.minimum(np.searchsorted(self.seen, wanted), len(self.seen) - 1)
        return np.bincount(places[self.seen[places] == wanted], minlength=len(self.seen))

    def event(self, layout: Layout, cell: int, side: int) -> Event:
        """Return the event of guessing one side on one output."""
        alone = slice(cell, cell + 1)
        ratios = np.array([float(side)])
        return _on(layout, CellScore(self.grid, self.seen[alone], ratios, self.examples[alone]), side)


def _on(layout: Layout, score: Binned | CellScore, side: int) -> Event:
    return Event(layout, score, -np.inf, 1.0) if side > 0 else Event(layout, score, -1.0, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Blind:
    """Histograms, and how many trials of either input fell into each of their cells."""

    layout: Layout
    histograms: tuple[Histogram | Repeats, ...]
    left: tuple[Counts, ...]
    right: tuple[Counts, ...]
    trials: int

    @classmethod
    def of(cls, layout: Layout, left: Matrix, right: Matrix) -> "Blind":
        """Return histograms placed by these rows, with nothing counted.

        Up to twice GLANCE of them are all used, so that nothing depends on which input they came from, and
        may be counted too; of more, a part of each input is, and only other runs may be counted.
        """
        rows = np.concatenate([left, right])
        if len(rows) > 2 * GLANCE:
            rows = np.concatenate([left[:GLANCE], right[:GLANCE]])
        found = tuple(histogram for histogram in _histograms(layout, rows) if _cells(histogram))
        nothing = tuple(np.zeros(_cells(histogram), dtype=np.int64) for histogram in found)
        return cls(layout, found, nothing, nothing, 0)

    def after(self, left: Matrix, right: Matrix) -> "Blind":
        """Return the counts after more trials."""
        lefts, rights = (
            tuple(
                count + histogram.count(rows)
                for histogram, count in zip(self.histograms, counted, strict=True)
            )
            for rows, counted in ((left, self.left), (right, self.right))
        )
        return Blind(self.layout, self.histograms, lefts, rights, self.trials + len(left) + len(right))

    def best(self, alpha: float, delta: Fraction) -> tuple[float, Event, Tally] | None:
        """Return the largest bound at confidence 1 - alpha over all cells, its event and how that fared."""
        from scipy.special import betaincinv

        free = free_guesses(self.trials, delta, 1, alpha / 20)
        level = (alpha * 9 / 10 if delta else alpha) / (2 * max(1, len(self.histograms)))
        best, winner = -1.0, None
        for histogram, left, right in zip(self.histograms, self.left, self.right, strict=True):
            for side, correct, wrong in ((1, right, left), (-1, left, right)):
                each = level / len(correct)
                kept = np.maximum(correct - free, 0)
                shares = np.where(kept, betaincinv(np.maximum(kept, 1), wrong + 1.0, each), 0.0)
                cell = int(np.argmax(shares))
                if shares[cell] > best:
                    best, winner = float(shares[cell]), (histogram, cell, side, each)
                    tally = Tally(self.trials, int(correct[cell]), int(wrong[cell]), 1)
        if winner is None:
            return None
        histogram, cell, side, each = winner
        bound = guess_bound(tally.correct - free, tally.guesses - free, each)
        return bound, histogram.event(self.layout, cell, side), tally


def _cells(histogram: Histogram | Repeats) -> int:
    return len(histogram.cells) if isinstance(histogram, Histogram) else len(histogram.seen)


def _histograms(layout: Layout, rows: Matrix) -> Iterator[Histogram | Repeats]:
    if layout.columns > 1:
        yield _repeats(Grid(tuple(range(layout.columns))), rows)
    for feature in families(layout, rows).all[:FEATURES]:
        yield from _of_feature(feature, feature(rows))


def _repeats(grid: Grid, rows: Matrix) -> Repeats:
    keys, first, counts = np.unique(grid.keys(rows), return_index=True, return_counts=True)
    often = np.sort(most_frequent(counts))
    return Repeats(grid, keys[often], rows[first[often]])


def _of_feature(feature: Feature, values: Column) -> Iterator[Histogram]:
    numbers = np.sort(values[~np.isnan(values)])
    atoms = repeated(numbers)
    cuts = np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf)]))
    cells = np.repeat(np.searchsorted(cuts, atoms, side="right")[:, None], 2, axis=1)
    if len(numbers) < len(values):
        cells = np.concatenate([cells, np.full((1, 2), len(cuts) + 1)])
    yield Histogram(feature, cuts, cells)
    if feature.words is not None or numbers.size == 0 or numbers[0] == numbers[-1]:
        return
    low, high = np.clip(numbers[[0, -1]], -1e300, 1e300)
    yield _partition(feature, np.linspace(low, high, CELLS + 1)[1:-1])
    if len(np.unique(numbers)) > CELLS:
        yield _partition(
            feature, np.unique(numbers[_ranks(np.linspace(0, 1, CELLS + 1)[1:-1], numbers.size)])
        )
    tails = np.geomspace(min(0.25, 8 / numbers.size), 0.5, 12)
    yield _tails(feature, np.unique(numbers[_ranks(np.concatenate([tails, 1 - tails]), numbers.size)]))


def _ranks(shares: Column, size: int) -> NDArray[np.intp]:
    return np.clip((shares * size).astype(np.intp), 0, size - 1)


def _partition(feature: Feature, cuts: Column) -> Histogram:
    bins = np.arange(len(cuts) + 1)
    return Histogram(feature, cuts, np.stack([bins, bins], axis=1))


def _tails(feature: Feature, cuts: Column) -> Histogram:
    bins, last = np.arange(len(cuts)), len(cuts)
    upper = np.stack([bins + 1, np.full_like(bins, last)], axis=1)
    lower = np.stack([np.zeros_like(bins), bins], axis=1)
    return Histogram(feature, cuts, np.concatenate([lower, upper]))
