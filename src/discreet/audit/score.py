"""Scores that rank outputs from "surely left" to "surely right", and the events they define.

By the lemma of Neyman and Pearson the best event to guess on is a set of outputs whose likelihood ratio is
high.  Ratios are learned as tables of smoothed counts: for whole outputs where they repeat, for single
features in bins, and for sums of features; a logistic regression weighs features that are not independent.
Whatever is learned, and however badly, the bound computed afterwards on fresh runs holds.
"""

from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.audit.evidence import Tally
from discreet.audit.features import Column, Feature
from discreet.audit.grid import GLIMPSE, Grid, bin_of, edges, repeated
from discreet.audit.outputs import Layout, Matrix

PART = 1 << 19
"""Rows that are scored at a time."""

FINE = 128
"""Values that occur are told apart up to this number; beyond it, quantiles are."""


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """The log ratio of one feature, bin by bin; the last entry is for NaN."""

    feature: Feature
    cuts: Column
    ratios: Column

    @property
    def name(self) -> str:
        """Return what is looked at."""
        return self.feature.name

    @classmethod
    def fit(
        cls, feature: Feature, left: Matrix, right: Matrix, bins: int = FINE, prior: float = 4.0
    ) -> "Binned":
        """Learn the ratios from training rows."""
        a, b = feature(left), feature(right)
        return cls._counted(feature, edges(np.concatenate([a, b]), bins), a, b, prior)

    @classmethod
    def of_repeats(cls, feature: Feature, left: Matrix, right: Matrix, prior: float = 0.5) -> "Binned":
        """Learn the ratios of values that repeat, each by itself: where rare decisive outputs are united."""
        a, b = feature(left), feature(right)
        atoms = repeated(np.concatenate([a, b]))
        return cls._counted(
            feature, np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf)])), a, b, prior
        )

    @classmethod
    def _counted(cls, feature: Feature, cuts: Column, left: Column, right: Column, prior: float) -> "Binned":
        lefts, rights = (np.bincount(bin_of(cuts, x), minlength=len(cuts) + 2) for x in (left, right))
        return cls(feature, cuts, _ratios(lefts, rights, prior))

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        return self.ratios[bin_of(self.cuts, self.feature(rows))]

    def text(self, low: float, high: float, _: Layout) -> str:
        """Return in words which outputs are guessed."""
        parts = []
        for side, chosen in (("right", self.ratios >= high), ("left", self.ratios <= low)):
            if chosen.any():
                parts.append(f"{side} when {self.feature.name} {self._cells(chosen)}")
        return "; ".join(parts)

    def _cells(self, chosen: NDArray[np.bool_]) -> str:
        if self.feature.words is None:
            return _intervals(self.cuts, chosen)
        tags = np.array(list(self.feature.words))
        inside = chosen[bin_of(self.cuts, tags)]
        words = [word for word, here in zip(self.feature.words.values(), inside, strict=True) if here]
        return _either([f"is {word}" for word in words] or ["is something else"], "values")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureScore:
    """A feature taken as the score itself, upwards or downwards."""

    feature: Feature
    sign: int

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        return np.nan_to_num(self.feature(rows), nan=0.0) * self.sign

    def text(self, low: float, high: float, layout: Layout) -> str:
        """Return in words which outputs are guessed."""
        up, down = (">=", "<=") if self.sign > 0 else ("<=", ">=")
        parts = [f"right when {self.feature.name} {up} {high * self.sign:g}"] if high < np.inf else []
        # What is not a number scores zero.
        odd = " or is not a number" if layout.tagged else ""
        parts = [f"{part}{odd if high <= 0 else ''}" for part in parts]
        if low > -np.inf:
            parts.append(f"left when {self.feature.name} {down} {low * self.sign:g}{odd if low >= 0 else ''}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class CellScore:
    """The log ratio of each cell of a grid that occurred; unseen ones score 0."""

    grid: Grid
    seen: NDArray[np.uint64]
    ratios: Column
    examples: Matrix

    @classmethod
    def fit(cls, grid: Grid, left: Matrix, right: Matrix, priors: tuple[float, ...]) -> "list[CellScore]":
        """Learn the ratios from training rows, once for each prior; none if cells hardly repeat."""
        glimpse = grid.keys(left[:GLIMPSE])
        if 10 * len(np.unique(glimpse)) > 9 * len(glimpse) > 0 and len(left) > GLIMPSE:
            return []
        both = np.concatenate([left, right])
        seen, first, places = np.unique(grid.keys(both), return_index=True, return_inverse=True)
        if 2 * len(seen) > len(places):
            return []
        lefts, rights = (
            np.bincount(part, minlength=len(seen)) for part in (places[: len(left)], places[len(left) :])
        )
        return [cls(grid, seen, _ratios(lefts, rights, prior), both[first]) for prior in priors]

    @property
    def name(self) -> str:
        """Return what is looked at."""
        low, high = min(self.grid.columns), max(self.grid.columns)
        where = f"position {low}" if low == high else f"positions {low} to {high} together"
        return " and ".join([where, *(feature.name for feature in self.grid.beside)])

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        wanted = self.grid.keys(rows)
        places = np.minimum(np.searchsorted(self.seen, wanted), len(self.seen) - 1)
        return np.where(self.seen[places] == wanted, self.ratios[places], 0.0)

    def text(self, low: float, high: float, layout: Layout) -> str:
        """Return in words which outputs are guessed."""
        what = "the output is" if self.grid.edges is None else "the output is like"
        parts = []
        for side, chosen in (("right", self.ratios >= high), ("left", self.ratios <= low)):
            if chosen.any():
                shown = ", ".join(layout.text(row) for row in self.examples[chosen][:4])
                more = int(chosen.sum()) - 4
                parts.append(f"{side} when {what} {shown}" + (f" or {more} others" if more > 0 else ""))
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A weighted sum of log ratios."""

    parts: tuple[Binned | CellScore, ...]
    weights: Column
    name: str

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        total = np.zeros(len(rows))
        for part, weight in zip(self.parts, self.weights, strict=True):
            total += weight * part.of(rows)
        return total

    def text(self, low: float, high: float, _: Layout) -> str:
        """Return in words which outputs are guessed."""
        strongest = np.argsort(-np.abs(self.weights) * [np.ptp(part.ratios) for part in self.parts])[:3]
        names = ", ".join(self.parts[i].name for i in strongest)
        parts = [f"right when it is at least {high:.4g}"] if high < np.inf else []
        parts += [f"left when it is at most {low:.4g}"] if low > -np.inf else []
        return f"{self.name} (mostly of {names}): {'; '.join(parts)}"


Score = Binned | FeatureScore | CellScore | Weighted


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Whom to guess: right where the score is at least `high`, left where it is at most `low`."""

    layout: Layout
    score: Score = field(repr=False)
    low: float
    high: float

    def play(self, left: Any, right: Any) -> Tally:
        """Return how the guesses fare on outputs of the left and of the right input."""
        return self.tally(self.layout.rows(left), self.layout.rows(right))

    def tally(self, left: Matrix, right: Matrix) -> Tally:
        """Return how the guesses fare on rows of the left and of the right input."""
        correct = wrong = 0
        for rows, truth in ((left, -1), (right, 1)):
            for start in range(0, len(rows), PART):
                guesses = self._guess(rows[start : start + PART])
                correct += int(np.count_nonzero(guesses == truth))
                wrong += int(np.count_nonzero(guesses == -truth))
        return Tally(len(left) + len(right), correct, wrong, self.sides)

    @property
    def sides(self) -> int:
        """Return on how many inputs a guess may fall."""
        return int(self.high < np.inf) + int(self.low > -np.inf)

    def guess(self, sample: Any) -> NDArray[np.int8]:
        """Return +1 for right, -1 for left, 0 for a pass, for each output."""
        return self._guess(self.layout.rows(sample))

    def _guess(self, rows: Matrix) -> NDArray[np.int8]:
        scores = self.score.of(rows)
        return (scores >= self.high).astype(np.int8) - (scores <= self.low).astype(np.int8)

    def __str__(self) -> str:
        match self.score:
            case Binned() | FeatureScore() | CellScore() | Weighted():
                return f"guess {self.score.text(self.low, self.high, self.layout) or 'nothing'}"
            case never:
                assert_never(never)


def _ratios(left: NDArray[np.intp], right: NDArray[np.intp], prior: float) -> Column:
    total = max(1, int(left.sum())), max(1, int(right.sum()))
    # Pseudo-counts in proportion keep a bin seen once from looking certain.
    balance = total[1] / total[0]
    return np.asarray(np.log((right + prior * balance) / (left + prior)) - np.log(balance))


def _intervals(edges: Column, chosen: NDArray[np.bool_]) -> str:
    """Return the chosen bins as intervals [edge, next edge)."""
    ends = [-np.inf, *edges, np.inf]
    parts, start = [], None
    for place, inside in enumerate([*chosen[:-1], False]):
        if inside and start is None:
            start = ends[place]
        elif not inside and start is not None:
            parts.append((start, ends[place]))
            start = None
    words = [_interval(a, b) for a, b in parts] + (["is not a number"] if chosen[-1] else [])
    return _either(words, "intervals")


def _interval(low: float, high: float) -> str:
    if low == -np.inf:
        return f"< {high:.6g}"
    if high == np.inf:
        return f">= {low:.6g}"
    alone = high == np.nextafter(low, np.inf)
    return f"is {low:.17g}" if alone else f"in [{low:.6g}, {high:.6g})"


def _either(words: list[str], others: str) -> str:
    more = len(words) - 4
    return " or ".join(words[:4]) + (f" or in {more} other {others}" if more > 0 else "")
