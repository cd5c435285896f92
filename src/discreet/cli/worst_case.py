"""A question audited from its SQL text to its released numbers, on invented neighbouring datasets.

The datasets follow the manifest's declarations and differ in one person, who contributes as much as the
declarations allow and more: full and overfull numbers of rows, values at the bounds, far beyond them and
missing, all in one group or spread over all.  The curator's data is never read and no ledger is touched.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import QueryError
from discreet.exact.coins import source
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Kind, Moment, Real, Text, Truth, Whole
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.check.measurement import Measurement, Private
from discreet.query.price.expected import Quote
from discreet.release.noisy import Noisy, draw
from discreet.release.opening import open_catalog
from discreet.release.session import Session, proved

OTHERS = 8
"""People whom both datasets have."""

VICTIM = 90
"""The person in whom they differ."""

WAYS = ("high", "low", "spread", "beyond", "missing")
"""How the victim's values lie: at a bound, over all values, far outside, or nowhere."""

Frames = dict[str, Any]
Cells = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DatasetPair:
    """Two datasets that differ in one person, and how."""

    name: str
    left: Frames = field(repr=False)
    right: Frames = field(repr=False)


def neighbours(catalog: Catalog) -> tuple[DatasetPair, ...]:
    """Return pairs of datasets, one for each way in which a person may stand out."""
    return tuple(
        DatasetPair(name, *_pair(catalog, name)) for name in ("high", "low", "spread", "beyond", "missing")
    )


def _pair(catalog: Catalog, way: str) -> tuple[Frames, Frames]:
    left, right = {}, {}
    for table in catalog.tables:
        if table.public:
            left[table.name] = right[table.name] = _frame(table, list(_public(table)))
            continue
        names = _identities(table, catalog)
        others = [row for person in range(OTHERS) for row in _rows(table, person, "spread", 2, names)]
        victim = list(_rows(table, VICTIM, way, _appearances(table, way), names))
        # Under replacement the number of people is public, so the victim is there before, only different.
        before = list(_rows(table, VICTIM, "low", 1, names)) if table.adjacency is Adjacency.REPLACE else []
        left[table.name], right[table.name] = _frame(table, others + before), _frame(table, others + victim)
    return left, right


def _appearances(table: DeclaredTable, way: str) -> int:
    if table.person is None:
        return 1
    limit = table.rows_per_unit or 3
    return 3 * limit + 2 if way == "beyond" else limit


def _identities(table: DeclaredTable, catalog: Catalog) -> frozenset[str]:
    """Return the columns that tell whose a row is: the unit, or keys that lead to one."""
    links = [other.link for other in catalog.tables if other.link is not None]
    names = [table.unit, None if table.link is None else table.link.column]
    names += [link.key for link in links if link.table == table.name]
    return frozenset(name for name in names if name is not None)


def _rows(
    table: DeclaredTable, person: int, way: str, count: int, identities: frozenset[str]
) -> Iterator[Cells]:
    for place in range(count):
        cells = {
            column.name: _value(column, way, person + place)
            for column in table.columns
            if column.name not in identities
        }
        yield cells | {name: _identity(table.column(name), person) for name in identities}


def _identity(column: DeclaredColumn | None, person: int) -> Any:
    match None if column is None else column.kind:
        case Text():
            return f"p{person}"
        case Day():
            return date.fromordinal(date(2000, 1, 1).toordinal() + person)
        case _:
            return person


def _public(table: DeclaredTable) -> Iterator[Cells]:
    """Yield rows of a public table such that a unique column has every declared value once."""
    unique = next((column for column in table.columns if column.unique), None)
    count = len(_choices(unique.kind)) if unique is not None else 6
    for place in range(count):
        yield {
            column.name: _choices(column.kind)[place % len(_choices(column.kind))] for column in table.columns
        }


def _value(column: DeclaredColumn, way: str, place: int) -> Any:
    choices = _choices(column.kind)
    match way:
        case "low":
            return choices[0]
        case "high":
            return choices[-1]
        case "missing" if column.nullable:
            return None
        case "beyond" if isinstance(column.kind, Whole):
            return int(choices[-1]) * 1000 + 10**6
        case "beyond" if isinstance(column.kind, Real):
            return float(choices[-1]) * 1000 + 1e6
        case _:
            return choices[place % len(choices)]


def _choices(kind: Kind) -> list[Any]:
    """Return some values of a kind, from its lowest to its highest."""
    match kind:
        case Whole(low, high):
            least, most = -1000 if low is None else low, 1000 if high is None else high
            return sorted({least, (least + most) // 2, most})
        case Real(low, high):
            bottom, top = (
                (Fraction(-1000) if low is None else low),
                (Fraction(1000) if high is None else high),
            )
            return sorted({float(bottom), float(bottom + top) / 2, float(top)})
        case Text(values):
            return list(values[:50]) if values else ["a", "b", "c"]
        case Truth():
            return [False, True]
        case Day(first, last):
            return sorted({first or date(2000, 1, 1), last or date(2030, 12, 31)})
        case Moment():
            return [datetime(2000, 1, 1), datetime(2030, 12, 31)]
        case _:
            return [0, 1]


def _frame(table: DeclaredTable, rows: list[Cells]) -> Any:
    import pyarrow as pa

    types = {
        "integer": pa.int64(),
        "decimal": pa.float64(),
        "text": pa.string(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "identifier": pa.int64(),
    }
    columns = {
        name: pa.array([row[name] for row in rows], type=types.get(word, pa.string()))
        for name, word in table.offered
    }
    return pa.table(columns)


@dataclass
class Rehearsal:
    """The way from a question to released values on invented data, without a ledger."""

    catalog: Catalog
    priced: Quote
    _open: dict[tuple[int, int], Session] = field(default_factory=dict)

    @classmethod
    def of(cls, catalog: Catalog, sql: str, **price: Any) -> "Rehearsal":
        """Check and price a question; nothing is run."""
        plain = replace(catalog, tables=tuple(replace(table, prepared=False) for table in catalog.tables))
        with _session(plain, neighbours(plain)[0].left) as session:
            priced = session.quote(sql, **price)
        if priced.parts:
            raise QueryError("the question", "is made of several released tables", "audit each of them")
        return cls(plain, priced)

    def __call__(self, frames: Frames) -> Noisy:
        """Run the question once on a dataset: engine, noise and keys, as a release does."""
        # An engine must not be used by a process that did not open it.
        place = os.getpid(), id(frames)
        if place not in self._open:
            self._open[place] = _session(self.catalog, frames)
        exact = self._open[place].engine.run(proved(self.priced), source().bits(63))
        return draw(self.priced, exact)

    def measured(self, position: int) -> "Measured":
        """Return the path to one measurement alone, in its integer units."""
        return Measured(self, position)

    @property
    def selects_keys(self) -> bool:
        """Return whether group keys are found in the data, so that their number may differ."""
        return isinstance(self.priced.checked.keys, Private)

    def close(self) -> None:
        """Close the invented data."""
        for (owner, _), session in self._open.items():
            if owner == os.getpid():
                session.close()
        self._open.clear()


@dataclass(frozen=True, slots=True)
class Measured:
    """One additive measurement of a path."""

    path: Rehearsal
    position: int

    def __call__(self, frames: Frames) -> list[Any]:
        """Return its noisy values in integer units."""
        share = self.path.priced.shares[self.position].measured
        scale = share.scale if isinstance(share, Measurement) else 1
        return [value * scale for value in self.path(frames).values[self.position]]  # type: ignore[operator]


def _session(catalog: Catalog, frames: Mapping[str, Any]) -> Session:
    return open_catalog(catalog, frames, None, analyst="audit", project="audit", timeout=None)
