"""What a distinguisher looks at: the numbers of an output, their differences, their summaries and their bits.

Differences of neighbouring positions undo running sums and expose noise that was drawn once and used twice.
The lowest set bit of a float exposes samplers that leave holes: which doubles can come out then depends on
the true answer.  Pooled signs gather many weak coordinates into one strong number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Layout, Matrix

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Feature:
    """One number computed from a row; where it is a tag, `words` say what it stands for."""

    name: str
    compute: Callable[[Matrix], Column]
    words: Mapping[float, str] | None = None

    def __call__(self, rows: Matrix) -> Column:
        """Return the feature of each row."""
        return self.compute(rows)


@dataclass(frozen=True, slots=True)
class Families:
    """The features of one layout, grouped by what they may be added up with."""

    positions: tuple[Feature, ...]
    differences: tuple[Feature, ...]
    summaries: tuple[Feature, ...]
    bits: tuple[Feature, ...]

    @property
    def all(self) -> tuple[Feature, ...]:
        """Return every feature once."""
        return self.positions + self.differences[1:] + self.summaries + self.bits


def families(layout: Layout, rows: Matrix) -> Families:
    """Return the features worth looking at, given some rows."""
    width = layout.width
    positions = tuple(_position(layout, column) for column in range(layout.columns))
    if width == 1:
        return Families(positions, (), (), _bits(layout, rows))
    differences = (positions[0], *(_difference(layout, column) for column in range(1, width)))
    return Families(positions, differences, _summaries(layout, rows), _bits(layout, rows))


def _position(layout: Layout, column: int) -> Feature:
    return Feature(layout.name(column), lambda rows: rows[:, column], layout.wording(column))


def _difference(layout: Layout, column: int) -> Feature:
    name = f"{layout.name(column)} - {layout.name(column - 1)}"
    return Feature(name, lambda rows: rows[:, column] - rows[:, column - 1])


def _summaries(layout: Layout, rows: Matrix) -> tuple[Feature, ...]:
    width = layout.width
    numbers = rows[:, :width]
    present = ~np.isnan(numbers)
    empty = ~present.any(axis=0)
    filled = np.where(empty, 0.0, numbers)
    middle = np.nanmedian(filled, axis=0)
    spread = np.nanmedian(np.abs(filled - middle), axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def clean(matrix: Matrix) -> Matrix:
        return np.nan_to_num(matrix[:, :width], nan=0.0)

    def signs(matrix: Matrix) -> Column:
        return np.asarray(np.nan_to_num(np.sign(matrix[:, :width] - middle)).sum(axis=1))

    def pulls(matrix: Matrix) -> Column:
        return np.asarray(np.nan_to_num(np.clip((matrix[:, :width] - middle) / spread, -2, 2)).sum(axis=1))

    return (
        Feature("sum", lambda matrix: clean(matrix).sum(axis=1)),
        Feature("largest", lambda matrix: clean(matrix).max(axis=1)),
        Feature("smallest", lambda matrix: clean(matrix).min(axis=1)),
        Feature("position of the largest", lambda matrix: clean(matrix).argmax(axis=1).astype(np.float64)),
        Feature("position of the smallest", lambda matrix: clean(matrix).argmin(axis=1).astype(np.float64)),
        Feature("positions above their middle", signs),
        Feature("clipped sum", pulls),
    )


def smallest_beside(atoms: tuple[Column, ...], columns: tuple[int, ...]) -> Feature:
    """Return the smallest value of these columns that is none of their atoms; NaN where there is none."""

    def compute(rows: Matrix) -> Column:
        least = np.full(len(rows), np.inf)
        for column in columns:
            values = rows[:, column]
            ordinary = ~np.isin(values, atoms[column]) & ~np.isnan(values)
            least = np.where(ordinary, np.minimum(least, values), least)
        return np.where(np.isinf(least), np.nan, least)

    return Feature("their smallest value", compute)


def _bits(layout: Layout, rows: Matrix) -> tuple[Feature, ...]:
    return tuple(_low_bit(layout, column) for column in range(layout.width) if not _whole(rows[:, column]))


def _whole(column: Column) -> bool:
    finite = column[np.isfinite(column)]
    return bool((finite == np.floor(finite)).all())


def _low_bit(layout: Layout, column: int) -> Feature:
    return Feature(f"lowest set bit of {layout.name(column)}", lambda rows: lowest_bit(rows[:, column]))


def lowest_bit(column: Column) -> Column:
    """Return for each float x the largest k such that 2**k divides x; 2000 for zero, NaN if not finite."""
    mantissa, exponent = np.frexp(column)
    finite = np.isfinite(column)
    whole = np.where(finite, np.abs(mantissa) * 2.0**53, 0).astype(np.int64)
    trailing = np.bitwise_count((whole & -whole) - 1).astype(np.float64)
    lowest = np.where(whole == 0, 2000.0, trailing + exponent - 53)
    return np.where(finite, lowest, np.nan)
