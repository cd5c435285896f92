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
from discreet.audit.outputs import Layout, Matrix

FINE = 128
"""Values that occur are told apart up to this number; beyond it, quantiles are."""


@dataclass(frozen=True, slots=True, eq=False)
class Binned:
    """The log ratio of one feature, bin by bin; the last entry is for NaN."""

    feature: Feature
    edges: Column
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
        edges = _edges(np.concatenate([a, b]), bins)
        lefts, rights = (np.bincount(_bin(edges, x), minlength=len(edges) + 2) for x in (a, b))
        return cls(feature, edges, _ratios(lefts, rights, prior))

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        return self.ratios[_bin(self.edges, self.feature(rows))]

    def text(self, low: float, high: float) -> str:
        """Return in words which outputs are guessed."""
        parts = []
        for side, chosen in (("right", self.ratios >= high), ("left", self.ratios <= low)):
            if chosen.any():
                parts.append(f"{side} when {self.feature.name} {_intervals(self.edges, chosen)}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A feature taken as the score itself, upwards or downwards."""

    feature: Feature
    sign: int

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        return np.nan_to_num(self.feature(rows), nan=0.0) * self.sign

    def text(self, low: float, high: float) -> str:
        """Return in words which outputs are guessed."""
        up, down = (">=", "<=") if self.sign > 0 else ("<=", ">=")
        parts = [f"right when {self.feature.name} {up} {high * self.sign:g}"] if high < np.inf else []
        parts += [f"left when {self.feature.name} {down} {low * self.sign:g}"] if low > -np.inf else []
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """The log ratio of each whole output, or of each cell of a grid, that occurred; unseen ones score 0.

    `edges` holds one array per column in `columns`; without edges, outputs count as they are.
    """

    columns: slice
    edges: tuple[Column, ...] | None
    keys: NDArray[np.uint64]
    ratios: Column
    examples: Matrix

    @classmethod
    def fit(
        cls,
        left: Matrix,
        right: Matrix,
        priors: tuple[float, ...],
        *,
        bins: int | None = None,
        columns: slice = slice(None),
    ) -> "list[Whole]":
        """Learn the ratios from training rows, once for each prior; none if outputs hardly repeat."""
        both = np.concatenate([left, right])
        edges = None if bins is None else tuple(_cells(column, bins) for column in both[:, columns].T)
        keys, first, places = np.unique(
            _keys(both[:, columns], edges), return_index=True, return_inverse=True
        )
        if 2 * len(keys) > len(places):
            return []
        lefts, rights = (
            np.bincount(part, minlength=len(keys)) for part in (places[: len(left)], places[len(left) :])
        )
        return [cls(columns, edges, keys, _ratios(lefts, rights, prior), both[first]) for prior in priors]

    @property
    def name(self) -> str:
        """Return what is looked at."""
        return "positions together"

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        wanted = _keys(rows[:, self.columns], self.edges)
        places = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[places] == wanted, self.ratios[places], 0.0)

    def text(self, low: float, high: float) -> str:
        """Return in words which outputs are guessed."""
        what = "the output is" if self.edges is None else "the output is like"
        parts = []
        for side, chosen in (("right", self.ratios >= high), ("left", self.ratios <= low)):
            if chosen.any():
                shown = ", ".join(_output(row) for row in self.examples[chosen][:4])
                more = int(chosen.sum()) - 4
                parts.append(f"{side} when {what} {shown}" + (f" or {more} others" if more > 0 else ""))
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """A weighted sum of log ratios."""

    parts: tuple[Binned | Whole, ...]
    weights: Column
    name: str

    def of(self, rows: Matrix) -> Column:
        """Return the score of each row."""
        total = np.zeros(len(rows))
        for part, weight in zip(self.parts, self.weights, strict=True):
            total += weight * part.of(rows)
        return total

    def text(self, low: float, high: float) -> str:
        """Return in words which outputs are guessed."""
        strongest = np.argsort(-np.abs(self.weights) * [np.ptp(part.ratios) for part in self.parts])[:3]
        names = ", ".join(self.parts[i].name for i in strongest)
        parts = [f"right when it is at least {high:.4g}"] if high < np.inf else []
        parts += [f"left when it is at most {low:.4g}"] if low > -np.inf else []
        return f"{self.name} (mostly of {names}): {'; '.join(parts)}"


Score = Binned | Value | Whole | Weighted


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Whom to guess: right where the score is at least `high`, left where it is at most `low`."""

    layout: Layout
    score: Score = field(repr=False)
    low: float
    high: float

    def play(self, left: Any, right: Any) -> Tally:
        """Return how the guesses fare on outputs of the left and of the right input."""
        trials = correct = wrong = 0
        for sample, truth in ((left, -1), (right, 1)):
            for start in range(0, len(sample), 1 << 19):
                guesses = self.guess(sample[start : start + (1 << 19)])
                correct += int(np.count_nonzero(guesses == truth))
                wrong += int(np.count_nonzero(guesses == -truth))
            trials += len(sample)
        return Tally(trials, correct, wrong, self.sides)

    @property
    def sides(self) -> int:
        """Return on how many inputs a guess may fall."""
        return int(self.high < np.inf) + int(self.low > -np.inf)

    def guess(self, sample: Any) -> NDArray[np.int8]:
        """Return +1 for right, -1 for left, 0 for a pass, for each output."""
        scores = self.score.of(self.layout.rows(sample))
        return (scores >= self.high).astype(np.int8) - (scores <= self.low).astype(np.int8)

    def __str__(self) -> str:
        match self.score:
            case Binned() | Value() | Whole() | Weighted():
                return f"guess {self.score.text(self.low, self.high) or 'nothing'}"
            case never:
                assert_never(never)


def _ratios(left: NDArray[np.intp], right: NDArray[np.intp], prior: float) -> Column:
    total = max(1, int(left.sum())), max(1, int(right.sum()))
    # Pseudo-counts in proportion keep a bin seen once from looking certain.
    balance = total[1] / total[0]
    return np.asarray(np.log((right + prior * balance) / (left + prior)) - np.log(balance))


def _edges(values: Column, bins: int) -> Column:
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


def _bin(edges: Column, values: Column) -> NDArray[np.intp]:
    places = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, places)


def _cells(values: Column, bins: int) -> Column:
    """Return edges that set values occurring often apart and cut the rest into quantiles."""
    some = np.sort(values[:: max(1, values.size >> 15)])
    some = some[~np.isnan(some)]
    if some.size == 0:
        return np.zeros(1)
    distinct, counts = np.unique(some, return_counts=True)
    atoms = distinct[counts * 200 > some.size]
    rest = np.setdiff1d(some, atoms, assume_unique=False)
    ranks = np.linspace(0, max(0, rest.size - 1), bins + 1)[1:-1].astype(np.intp)
    cuts = rest[ranks] if rest.size else rest
    return np.unique(np.concatenate([atoms, np.nextafter(atoms, np.inf), cuts]))


def _keys(rows: Matrix, edges: tuple[Column, ...] | None) -> NDArray[np.uint64]:
    """Return one number per row, equal for equal rows or cells; others collide rarely, and harmlessly."""
    key = np.zeros(len(rows), dtype=np.uint64)
    for place, column in enumerate(rows.T):
        if edges is None:
            # Adding zero makes -0.0 and 0.0 the same, and all NaN are made one.
            part = np.ascontiguousarray(np.where(np.isnan(column), np.nan, column) + 0.0).view(np.uint64)
        else:
            part = _bin(edges[place], column).astype(np.uint64)
        key = (key ^ part) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def _output(row: Column) -> str:
    shown = [f"{x:g}" for x in row[:16]] + (["..."] if len(row) > 16 else [])
    return shown[0] if len(row) == 1 else f"({', '.join(shown)})"


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
    words = [
        f"< {b:.6g}" if a == -np.inf else f">= {a:.6g}" if b == np.inf else f"in [{a:.6g}, {b:.6g})"
        for a, b in parts
    ]
    words += ["is missing"] if chosen[-1] else []
    return " or ".join(words[:4]) + (f" or in {len(words) - 4} other intervals" if len(words) > 4 else "")
