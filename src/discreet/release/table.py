"""Post-processing: from released values to the rows that were asked for, with an interval in each cell.

By type nothing here can see exact data: the input is a `Noisy`.  HAVING, ORDER BY, LIMIT and DISTINCT are
applied to released values, so they cost nothing; rows that are not ordered come sorted by their key, so the
order in which the engine met them is not released.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from discreet.query.check.assembly import (
    Assembly,
    Made,
    PairedTables,
    PiledTables,
    ReleasedTable,
    SelectedRows,
)
from discreet.query.check.formula import (
    Formula,
    Mean,
    Operation,
    Public,
    Span,
    Variance,
    evaluate,
    exactly,
    measured,
    span,
)
from discreet.query.check.measurement import Checked, Ordering, Output, RunningGroups
from discreet.query.plan import given
from discreet.query.price.assembled import surer
from discreet.query.price.expected import Quote, told_apart
from discreet.query.price.interval import Intervals
from discreet.release.consistent import settled as settled_values
from discreet.release.noisy import Key, Noisy
from discreet.release.paired import Line, paired
from discreet.release.parted import parted
from discreet.release.quantile import quantiles
from discreet.release.whole import with_whole_counts
from discreet.release.window import compute, settled, windows

Asks = TypeVar("Asks", Checked, SelectedRows)


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """One released row: its group key, its cells, and an interval for each cell."""

    key: Key
    cells: tuple[Public, ...]
    spans: tuple[Span, ...]
    untold: bool = False
    """Whether a cell is NULL because the rows of a mean or variance cannot be told from none."""


def rows(
    priced: Quote,
    noisy: Noisy,
    confidence: Fraction | None = None,
    *,
    as_drawn: bool = False,
    made: Noisy | None = None,
) -> tuple[ReleasedRow, ...]:
    """Return the released table of a question.

    A cell is the point of its interval that is nearest to what was drawn: a count drawn as -3 is shown as 0.
    Groups that overlap are shown as `made` of what was drawn (see `consistent`), or made here.  With
    `as_drawn` a cell is the noisy value itself, which is without bias.  Counts of whole rows are shown whole
    (see `whole`).
    """
    sure = priced.confidence if confidence is None else confidence
    if priced.parts:
        return assembled(priced, noisy.parts or (noisy,), sure, as_drawn=as_drawn)
    checked = _told_apart(priced)
    checked = checked if as_drawn else with_whole_counts(checked)
    made = None if as_drawn else made or settled_values(priced, noisy)
    places = _places(priced, noisy, sure)
    if made is not None:
        places = [replace(place, values=made.at(number)) for number, place in enumerate(places)]
    return _listed(checked, places, as_drawn=as_drawn, made=made is not None)


def _listed(
    checked: Asks, places: list["_Place"], *, as_drawn: bool, made: bool = False
) -> tuple[ReleasedRow, ...]:
    """Return the rows that are asked for, out of all that there are."""
    if checked.having is not None:
        places = [place for place in places if evaluate(checked.having, place.key, place.values) is True]
    checked, places = _windowed(checked, places)
    if checked.qualify is not None:
        places = [place for place in places if evaluate(checked.qualify, place.key, place.values) is True]
    # Keys are already sorted; sorting is stable, so ties in ORDER BY keep that order.
    for ordering in reversed(checked.order):
        places.sort(key=partial(_rank, ordering), reverse=ordering.descending)
    found: list[ReleasedRow] = []
    skipped = 0
    seen: set[tuple[Public, ...]] = set()
    for place in places:
        cells = tuple(_cell(output, place) for output in checked.columns)
        if checked.distinct:
            if cells in seen:
                continue
            seen.add(cells)
        if skipped < checked.offset:
            skipped += 1
            continue
        spans = tuple(
            place.span(output.formula) if output.end is None else exactly(cell)
            for output, cell in zip(checked.columns, cells, strict=True)
        )
        spans = tuple(
            _around(cell, span) if made or _rounded(output.formula) else span
            for output, cell, span in zip(checked.columns, cells, spans, strict=True)
        )
        shown = cells if as_drawn else tuple(map(_within, cells, spans))
        untold = any(
            cell is None and _untold(output.formula, place)
            for output, cell in zip(checked.columns, cells, strict=True)
        )
        found.append(ReleasedRow(place.key, shown, spans, untold))
        if checked.limit is not None and len(found) == checked.limit:
            break
    return tuple(found) if checked.limit != 0 else ()


def _told_apart(priced: Quote) -> Checked:
    """Return the question with means and variances that are NULL where nobody can be told to be there."""
    checked, apart = priced.checked, partial(told_apart, priced)
    alone = checked.having is None and checked.qualify is None and not checked.order
    if alone and all(apart(one.formula) is one.formula for one in checked.columns):
        return checked
    return replace(
        checked,
        columns=tuple(replace(one, formula=apart(one.formula)) for one in checked.columns),
        order=tuple(replace(one, formula=apart(one.formula)) for one in checked.order),
        having=None if checked.having is None else apart(checked.having),
        qualify=None if checked.qualify is None else apart(checked.qualify),
    )


def _rounded(formula: Formula) -> bool:
    """Whether a value may be shown as a whole number that its interval misses."""
    return isinstance(formula, Operation) and formula.name == "nearly_whole"


def _untold(formula: Formula, place: "_Place") -> bool:
    """Whether a formula has a mean or variance of so few rows that it is NULL."""
    match formula:
        case Mean() | Variance():
            return formula.at(place.values) is None
        case Operation(_, arguments):
            return any(_untold(argument, place) for argument in arguments)
        case _:
            return False


def _cell(output: Output, place: "_Place") -> Public:
    """Return a released value, or an end of its interval."""
    if output.end is None:
        return evaluate(output.formula, place.key, place.values)
    low, high = place.span(output.formula)
    return low if output.end == "low" else high


def assembled(
    priced: Quote, drawn: Sequence[Noisy], confidence: Fraction, *, as_drawn: bool
) -> tuple[ReleasedRow, ...]:
    """Return the table that is made of several released ones."""
    assembly: Assembly = given(priced.checked.assembly)
    sure = surer(confidence, assembly.cells)
    tables = [
        rows(part, noisy, sure, as_drawn=as_drawn) for part, noisy in zip(priced.parts, drawn, strict=True)
    ]
    found = _made(assembly.table, [[(row.cells, row.spans) for row in table] for table in tables], as_drawn)
    keyed = [place for place, output in enumerate(priced.checked.columns) if not measured(output.formula)]
    # Which cell came from which is not followed through joins: any NULL may be one of those.
    untold = any(row.untold for table in tables for row in table)
    return tuple(
        ReleasedRow(tuple(cells[place] for place in keyed), cells, spans, untold and None in cells)
        for cells, spans in found
    )


def _made(made: Made, tables: Sequence[Sequence[Line]], as_drawn: bool) -> list[Line]:
    match made:
        case ReleasedTable(part):
            return list(tables[part])
        case PairedTables(left, right):
            return paired(made, _made(left, tables, as_drawn), _made(right, tables, as_drawn))
        case PiledTables(parts):
            return [line for part in parts for line in _made(part, tables, as_drawn)]
        case SelectedRows(source):
            places = [
                _Place((), dict(enumerate(cells)), partial(span, key=(), spans=dict(enumerate(spans))))
                for cells, spans in _made(source, tables, as_drawn)
            ]
            return [(row.cells, row.spans) for row in _listed(made, places, as_drawn=as_drawn)]


def _windowed(checked: Asks, places: list["_Place"]) -> tuple[Asks, list["_Place"]]:
    """Return the question and its groups with windows computed: they are released values like others."""
    used: list[Formula] = [column.formula for column in checked.columns]
    used += [term.formula for term in checked.order]
    known = windows([*used, *([] if checked.qualify is None else [checked.qualify])])
    if not known:
        return checked, places
    found = [compute(window, places, _sortable) for window in known]
    settled_checked = replace(
        checked,
        columns=tuple(replace(c, formula=settled(c.formula, known)) for c in checked.columns),
        order=tuple(replace(term, formula=settled(term.formula, known)) for term in checked.order),
        qualify=None if checked.qualify is None else settled(checked.qualify, known),
    )
    return settled_checked, [
        replace(
            place,
            values={**place.values, **{-1 - n: values[at] for n, values in enumerate(found)}},
            span=partial(_span, place.span),
        )
        for at, place in enumerate(places)
    ]


def _span(usual: Callable[[Formula], Span], formula: Formula) -> Span:
    """Return no interval for what a window computed: it sees groups whose intervals need not all hold."""
    return (None, None) if any(position < 0 for position in measured(formula)) else usual(formula)


def _around(cell: Public, interval: Span) -> Span:
    """Return an interval that holds the point too."""
    low, high = interval
    if not isinstance(cell, int | Fraction) or isinstance(cell, bool) or low is None or high is None:
        return interval
    return min(low, Fraction(cell)), max(high, Fraction(cell))


def _within(cell: Public, interval: Span) -> Public:
    """Return the point of an interval that is nearest to a number."""
    if not isinstance(cell, int | Fraction) or isinstance(cell, bool):
        return cell
    low, high = interval
    above = cell if low is None else max(cell, low)
    return above if high is None else min(above, high)


@dataclass(frozen=True, slots=True)
class _Place:
    """One group: its key, the released values, and how an interval for a formula of them is found."""

    key: Key
    values: dict[int, Public]
    span: Callable[[Formula], Span]


def _places(priced: Quote, noisy: Noisy, confidence: Fraction) -> list[_Place]:
    keys = priced.checked.keys
    if isinstance(keys, RunningGroups) and keys.levels:
        return [
            _Place(read.key, {0: read.value}, partial(span, key=read.key, spans={0: (read.low, read.high)}))
            for read in quantiles(priced, keys, noisy, confidence)
        ]
    if noisy.widths:
        spans = parted(priced, noisy, confidence)
        return [
            _Place(key, noisy.at(place), partial(span, key=key, spans={0: spans[place]}))
            for place, key in enumerate(noisy.keys)
        ]
    intervals = Intervals(priced, confidence)
    return [
        _Place(key, values, partial(intervals.of, key=key, noisy=values))
        for key, values in ((key, noisy.at(place)) for place, key in enumerate(noisy.keys))
    ]


def _rank(ordering: Ordering, place: _Place) -> tuple[bool, Any]:
    value = evaluate(ordering.formula, place.key, place.values)
    # A NULL goes to the end that was asked for, whichever way the others are sorted.
    last = (value is None) != (ordering.nulls_first != ordering.descending)
    return last, _sortable(value)


def _sortable(value: Public) -> Any:
    match value:
        case None:
            return 0
        case date():
            return value.isoformat()
        case _:
            return value
