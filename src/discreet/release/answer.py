"""A private answer: values, error bars, guarantee and provenance, ready to publish."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.exact.number import Real, probability
from discreet.ledger.entry import Receipt
from discreet.markup import table
from discreet.privacy.adjacency import Unit
from discreet.query.check.formula import Public, measured
from discreet.query.price.expected import Quote
from discreet.query.price.words import caps, paid
from discreet.release.card import card
from discreet.release.noisy import Noisy
from discreet.release.table import ReleasedRow, rows
from discreet.show.number import format_number

MISSING = "a mean or variance is NULL (-) where its number of rows cannot be told from zero"


@dataclass(frozen=True, slots=True)
class Release:
    """What was released, and everything a reader needs to know about it.

    `free` says that this answer had been paid for before.  A cell is shown inside its interval, and groups
    that overlap agree; `as_drawn` gives the noisy values themselves, which are without bias and may be
    negative counts.  `made` is what all questions of a batch together make of what was drawn.
    """

    question: str
    dataset: str
    quote: Quote
    noisy: Noisy
    unit: Unit
    receipt: Receipt
    free: bool = False
    drawn: bool = False
    made: Noisy | None = None
    _kept: dict[Fraction, tuple[ReleasedRow, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def as_drawn(self) -> "Release":
        """Return the answer with its values as they were drawn, for sums and means over many of them."""
        return replace(self, drawn=True)

    def shown(self, *, postprocess: bool) -> "Release":
        """Return the answer as it is to be shown: made possible, or as it was drawn."""
        return self if postprocess else self.as_drawn()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(output.name for output in self.quote.checked.columns)

    @property
    def rows(self) -> tuple[ReleasedRow, ...]:
        """Return the released rows, each cell with its interval at the confidence of the quote."""
        return self._rows(self.quote.confidence)

    def _rows(self, confidence: Fraction) -> tuple[ReleasedRow, ...]:
        """Return the rows with intervals at a confidence, worked out once for the newest one."""
        found = self._kept.get(confidence)
        if found is None:
            found = rows(self.quote, self.noisy, confidence, as_drawn=self.drawn, made=self.made)
            self._kept.clear()
            self._kept[confidence] = found
        return found

    def __iter__(self) -> Iterator[tuple[Public, ...]]:
        return (row.cells for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def said(self) -> list[str]:
        """Return in words what error bars do not say: limits, choices, and why cells are missing."""
        return [*caps(self.quote.checked), *self.missing]

    @property
    def missing(self) -> list[str]:
        """Return in words why cells are NULL, where that is for too few rows; released values say which."""
        return [MISSING] if any(row.untold for row in self.rows) else []

    @property
    def value(self) -> Public:
        """Return the one value of an answer that has one row and one column."""
        found = self.rows
        if len(found) != 1 or len(self.columns) != 1:
            raise ValueError(
                f"the answer has {len(found)} rows and {len(self.columns)} columns, not one value"
            )
        return found[0].cells[0]

    def intervals(self, confidence: Real = "0.95") -> list[dict[str, Any]]:
        """Return one record per row: each measured column with the ends of its interval."""
        level = probability(confidence, "confidence")
        return [self._record(row, ends=True) for row in self._rows(level)]

    def records(self) -> list[dict[str, Any]]:
        """Return one plain record per row."""
        return [self._record(row, ends=False) for row in self.rows]

    def _record(self, row: ReleasedRow, *, ends: bool) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for output, cell, (low, high) in zip(self.quote.checked.columns, row.cells, row.spans, strict=True):
            record[output.name] = plain(cell)
            if ends and measured(output.formula):
                record[f"{output.name}_low"] = plain(low)
                record[f"{output.name}_high"] = plain(high)
        return record

    def to_arrow(self, *, intervals: bool = False) -> Any:
        """Return a pyarrow Table."""
        import pyarrow

        found = self.intervals(self.quote.confidence) if intervals else self.records()
        if not found:
            return pyarrow.table({name: [] for name in self.columns})
        return pyarrow.Table.from_pylist(found)

    def to_pandas(self, *, intervals: bool = False) -> Any:
        """Return a pandas DataFrame."""
        return self.to_arrow(intervals=intervals).to_pandas()

    def to_polars(self, *, intervals: bool = False) -> Any:
        """Return a Polars DataFrame."""
        import polars

        return polars.from_arrow(self.to_arrow(intervals=intervals))

    def believe(self, prior: Any, loss: Any = "absolute") -> Any:
        """Return what to believe after a released count, given a prior over 0, 1, ...; this is free."""
        from discreet.release.belief import believe

        return believe(self, prior, loss)

    def card(self) -> str:
        """Return a statement for publication: who is protected, how strongly, with which noise."""
        return card(self)

    def plot(self, path: str | None = None) -> Any:
        """Return a chart of the first measured column with its intervals, saved to `path` when given."""
        from discreet.release.picture import picture

        chart = picture(self)
        if path is not None:
            from discreet.show.save import save

            save(chart, path)
        return chart

    def __str__(self) -> str:
        from discreet.release import text

        return text.table(self)

    def __repr__(self) -> str:
        cost = "paid for before" if self.free else f"cost {paid(self.quote)}"
        said = [cost, f"± at {float(self.quote.confidence):.0%}", *self.said]
        return f"{self}\n{'; '.join(said)}"

    def _repr_html_(self) -> str:
        body = [
            [cell_text(cell, span) for cell, span in zip(row.cells, row.spans, strict=True)]
            for row in self.rows
        ]
        sure = f"intervals at {float(self.quote.confidence):.0%}"
        caption = "; ".join([paid(self.quote), sure, *self.said])
        return table(self.columns, body, caption=caption)


def plain(value: Public | Fraction) -> Any:
    """Return a released value as plain Python: rationals become floats, at the very end."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return value


def cell_text(cell: Public, span: tuple[Fraction | None, Fraction | None]) -> str:
    """Return a cell for people: the value and, when it was measured, how far off it may be."""
    if cell is None:
        return "-"
    if isinstance(cell, bool | str | date):
        return str(cell)
    low, high = span
    text = format_number(cell)
    if low is None and high is None:
        return text
    if low is not None and high is not None and low == high:
        return text
    if low is not None and high is not None and abs((high - cell) - (cell - low)) * 1000 <= high - low:
        return f"{text} ± {format_number((high - low) / 2)}"
    ends = ("…" if low is None else format_number(low), "…" if high is None else format_number(high))
    return f"{text} [{ends[0]}, {ends[1]}]"
