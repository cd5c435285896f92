"""Made-up data: rows that a dataset's declarations allow, and that have nothing to do with its people.

They are drawn where no data can be reached, from what is published about the dataset alone, so an answer on
them shows what an answer looks like, and tells nothing about anybody.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from random import Random
from typing import TYPE_CHECKING, Any

from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Moment, Opaque, Real, Text, Truth, Whole
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.name import same

if TYPE_CHECKING:
    import pyarrow

PEOPLE = 1000
ROWS = 8
"""So many rows has a public table whose size no column tells."""

MOST_EACH = 3
WORDS = ("one", "two", "three", "four", "five")
FIRST, LAST = date(2025, 1, 1), date(2025, 12, 31)


def made_up(catalog: Catalog) -> "dict[str, pyarrow.Table]":
    """Return rows for every declared table; the same declarations give the same rows."""
    return {table.name: _table(table) for table in catalog.tables}


def _table(table: DeclaredTable) -> "pyarrow.Table":
    import pyarrow

    chance = Random(table.name)  # noqa: S311 - nothing here is anybody's, and no noise
    people = list(_people(table, chance))
    rows = _public_size(table) if table.public else len(people)
    found: dict[str, Any] = {}
    for column in table.columns:
        if table.unit is not None and same(column.name, table.unit):
            found[column.name] = [_identity(column, person) for person in people]
        else:
            found[column.name] = _cells(column, rows, chance)
    if table.unit is not None and table.column(table.unit) is None:
        found[table.unit] = people
    return pyarrow.table(found)


def _people(table: DeclaredTable, chance: Random) -> Iterator[int]:
    most = 1 if table.unit is None else min(table.rows_per_unit or MOST_EACH, MOST_EACH)
    for person in range(PEOPLE):
        yield from [person] * chance.randint(1, most)


def _public_size(table: DeclaredTable) -> int:
    known = [
        len(c.kind.values) for c in table.columns if c.unique and isinstance(c.kind, Text) and c.kind.values
    ]
    return min(known, default=ROWS)


def _identity(column: DeclaredColumn, person: int) -> Any:
    match column.kind:
        case Text(values) if values:
            return values[person % len(values)]
        case Text():
            return f"person {person}"
        case Whole(low, high):
            first = 0 if low is None else low
            return first + (person if high is None else person % (high - first + 1))
        case Day(low, high):
            begin = low or FIRST
            until = high or begin + timedelta(days=99)
            return begin + timedelta(days=person % ((until - begin).days + 1))
        case _:
            return person


def _cells(column: DeclaredColumn, rows: int, chance: Random) -> list[Any]:
    if column.unique:
        kind = column.kind
        known = kind.values if isinstance(kind, Text) and kind.values else None
        return [known[row] if known else _identity(column, row) for row in range(rows)]
    return [_cell(column, chance) for _ in range(rows)]


def _cell(column: DeclaredColumn, chance: Random) -> Any:
    match column.kind:
        case Text(values):
            return chance.choice(values or WORDS)
        case Truth():
            return chance.random() < 0.5
        case Whole(low, high):
            first, last = _ends(low, high)
            # Small values are more common than large ones, as in life.
            return first + floor((last - first) * chance.random() ** 2)
        case Real(low, high, step):
            start, end = _ends(low, high)
            drawn = start + (end - start) * Fraction(chance.random() ** 2)
            return float(drawn if step is None else min(end, step * ceil(drawn / step)))
        case Day(low, high):
            begin, until = low or FIRST, high or LAST
            return begin + timedelta(days=chance.randint(0, max(0, (until - begin).days)))
        case Moment():
            return datetime(2025, 1, 1) + timedelta(minutes=chance.randrange(365 * 24 * 60))
        case Opaque():
            return chance.randrange(PEOPLE)
        case _:
            return None


def _ends(low: Any, high: Any) -> tuple[Any, Any]:
    return (0, 100) if low is None else (low, high)
