"""Post-processing: from released values to the rows that were asked for, with an interval in each cell.

By type nothing here can see exact data: the input is a `Noisy`.  HAVING, ORDER BY, LIMIT and DISTINCT are
applied to released values, so they cost nothing; rows that are not ordered come sorted by their key, so the
order in which the engine met them is not released.
"""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any

from discreet.query.allocate import Quote, interval
from discreet.query.formula import Public, Span, evaluate
from discreet.query.measure import Ordering
from discreet.release.noisy import Key, Noisy


@dataclass(frozen=True, slots=True)
class Row:
    """One released row: its group key, its cells, and an interval for each cell."""

    key: Key
    cells: tuple[Public, ...]
    spans: tuple[Span, ...]


def rows(priced: Quote, noisy: Noisy, confidence: Fraction | None = None) -> tuple[Row, ...]:
    """Return the released table of a question."""
    checked = priced.checked
    places = [
        place
        for place, key in enumerate(noisy.keys)
        if checked.having is None or evaluate(checked.having, key, noisy.at(place)) is True
    ]
    # Keys are already sorted; sorting is stable, so ties in ORDER BY keep that order.
    for ordering in reversed(checked.order):
        places.sort(key=partial(_rank, ordering, noisy), reverse=ordering.descending)
    found: list[Row] = []
    seen: set[tuple[Public, ...]] = set()
    for place in places:
        key, values = noisy.keys[place], noisy.at(place)
        cells = tuple(evaluate(output.formula, key, values) for output in checked.columns)
        if checked.distinct and cells in seen:
            continue
        seen.add(cells)
        spans = tuple(interval(priced, output.formula, key, values, confidence) for output in checked.columns)
        found.append(Row(key, cells, spans))
        if checked.limit is not None and len(found) == checked.limit:
            break
    return tuple(found) if checked.limit != 0 else ()


def _rank(ordering: Ordering, noisy: Noisy, place: int) -> tuple[bool, Any]:
    value = evaluate(ordering.formula, noisy.keys[place], noisy.at(place))
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
