"""Declared columns as codes: every value falls into one of finitely many cells, from the declarations alone.

A text has a cell for each declared value and a truth value two; a number or a date has one for each of its
values while they are few, and equal parts of its range otherwise, so that values beyond the bounds belong to
the first cell or the last.  Whatever is in none of the cells (NULL, a text that was not declared) is in the
last one, where the column may be NULL; where it may not, such a row is in no cell at all.

The code of a row is a CASE over the column.  A cell knows its values, so that one can be made up for it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

from discreet.errors import ParameterError, QueryError
from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Real, Text, Truth, Whole, word
from discreet.query.plan import Call, Case, Column, Literal, Scalar, Value

FEW = 16
"""A range of at most so many values has a cell for each, however few parts are asked for."""

MOST_PARTS = 256
"""The most cells of one column: its code compares them one by one."""

FINEST = 10**9
"""A decimal without a step is made up as one of so many places of its cell."""


@dataclass(frozen=True, slots=True)
class ColumnCells:
    """One column: its cells, and the numbers 0, 1, ... that stand for them.

    Either `values` are the cells, or cell k holds the points starts[k], ..., starts[k + 1] - 1 of a grid.
    """

    column: DeclaredColumn
    values: tuple[Value, ...] = ()
    starts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def parts(self) -> int:
        """The number of cells that hold values."""
        return len(self.values) or len(self.starts) - 1

    @property
    def size(self) -> int:
        """The number of cells, with one for what is missing where that may occur."""
        return self.parts + self.nulls

    @property
    def nulls(self) -> int:
        """The number of cells for what is missing: one, or none where that cannot occur."""
        return int(self.column.nullable)

    @property
    def coarse(self) -> bool:
        """Whether several values share a cell."""
        return any(stop - start > 1 for start, stop in pairwise(self.starts))

    def scalar(self) -> Scalar:
        """Return the number of the cell that a row falls into."""
        here = Column(None, self.name)
        missing = Literal(self.parts if self.column.nullable else None)
        if self.values:
            cases = ((Call("eq", (here, Literal(value))), Literal(k)) for k, value in enumerate(self.values))
            return Case(tuple(cases), missing)
        if isinstance(self.column.kind, Whole) and self.starts == _even(self.starts[-1], self.parts):
            return self._whole(here)
        ends = [Literal(self._end(start)) for start in self.starts[1:-1]]
        below = [(Call("lt", (here, end)), Literal(k)) for k, end in enumerate(ends)]
        # What is no number is in none of the parts, so the last one is asked for as well.
        last = Call("ge", (here, ends[-1])) if ends else Call("eq", (here, here))
        return Case((*below, (last, Literal(len(ends)))), missing)

    def grouped(self, first: Sequence[int]) -> Scalar:
        """Return the number of the group of cells that a row falls into; each begins at one of these cells.

        What is missing has a group of its own.
        """
        cells = [k for k in first if k < self.parts]
        if first[0] != 0 or any(k >= j for k, j in pairwise(first)) or len(first) - len(cells) != self.nulls:
            raise ParameterError("groups begin at the first cell and at others in order, the last for NULL")
        if not self.values:
            return replace(self, starts=(*(self.starts[k] for k in cells), self.starts[-1])).scalar()
        here = Column(None, self.name)
        number = [bisect_right(cells, k) - 1 for k in range(self.parts)]
        held = zip(self.values, number, strict=True)
        cases = ((Call("eq", (here, Literal(value))), Literal(k)) for value, k in held)
        return Case(tuple(cases), Literal(len(cells) if self.nulls else None))

    def _whole(self, here: Scalar) -> Scalar:
        """Return floor(p m / n) for the p-th of n whole numbers in m parts; NULL has a code of its own."""
        position: Scalar = Call("subtract", (here, Literal(self.point(0))))
        if self.parts < self.starts[-1]:
            scaled = Call("multiply", (position, Literal(self.parts)))
            position = Call("quotient", (scaled, Literal(self.starts[-1])))
            # The last part's number is a fact, which intervals of quotients do not tell exactly.
            position = Call("clamp", (position, Literal(0), Literal(self.parts - 1)))
        return Call("coalesce", (position, Literal(self.parts))) if self.column.nullable else position

    def label(self, cell: int) -> str:
        """Return a cell in words."""
        if cell >= self.parts:
            return "missing"
        if self.values:
            return str(self.values[cell])
        first, last = (self.point(p) for p in (self.starts[cell], self.starts[cell + 1] - 1))
        return f"{_shown(first)}" if first == last else f"{_shown(first)} to {_shown(last)}"

    def point(self, position: int) -> Value:
        """Return the value at a point of a range's grid."""
        match self.column.kind:
            case Whole(int(low)):
                return low + position
            case Day(date() as low):
                return low + timedelta(days=position)
            case Real(Fraction() as low, Fraction() as high, step):
                return min(low + position * _step(low, high, step), high)
        raise AssertionError("only ranges have points")

    def _end(self, position: int) -> Value:
        """Return where a cell begins, as a constant of the question."""
        found = self.point(position)
        return found.numerator if isinstance(found, Fraction) and found.denominator == 1 else found


def cells_of(column: DeclaredColumn, parts: int) -> ColumnCells:
    """Return the cells of a column, a range in at most so many parts; refuse what has no finite range."""
    match column.kind:
        case Text(tuple() as values) if len(values) <= MOST_PARTS:
            return ColumnCells(column, values=tuple(sorted(values)))
        case Truth():
            return ColumnCells(column, values=(False, True))
        case Whole(int() as low, int() as high):
            return ColumnCells(column, starts=_starts(high - low + 1, parts))
        case Day(date() as first, date() as last, None):
            return ColumnCells(column, starts=_starts((last - first).days + 1, parts))
        case Real(Fraction() as low, Fraction() as high, step):
            points = (high - low) // _step(low, high, step) + 1
            return ColumnCells(column, starts=_starts(int(points), parts))
        case Text(tuple()):
            raise QueryError(
                column.name,
                f"has more than {MOST_PARTS} declared values",
                "leave it out, or ask the curator for a column of coarser values",
            )
    raise QueryError(
        column.name,
        f"is {word(column.kind)} without declared {'values' if isinstance(column.kind, Text) else 'bounds'}",
        "leave it out, or ask the curator to declare what it can hold",
    )


def _starts(points: int, parts: int) -> tuple[int, ...]:
    """Return where each of so many equal parts of a grid begins, and where the last one ends."""
    return _even(points, points if points <= max(parts, FEW) else parts)


def _even(points: int, count: int) -> tuple[int, ...]:
    return tuple(-(-k * points // count) for k in range(count + 1))


def _step(low: Fraction, high: Fraction, step: Fraction | None) -> Fraction:
    if step is not None:
        return step
    return (high - low) / FINEST if high > low else Fraction(1)


def _shown(value: Value) -> str:
    return f"{float(value):g}" if isinstance(value, Fraction) else str(value)
