"""Datasets that differ by one person each, opened once for many questions.

All contain the same other people.  With add-remove neighbours each is beside the one without the last
person; where people are replaced, any two in which the last person is someone are neighbours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import combinations
from typing import Any

from tests.query.questions import clinic
from tests.query.worlds import Row, open_world

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest, Exact
from discreet.errors import EngineError
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.rewrite.prepared import prepared_rows
from discreet.query.statement import Statement

KEY = 7
"""The choice of groups is the same everywhere."""

Person = tuple[Sequence[Row], Sequence[Row]]
"""A person's visits, and what the table of people holds."""

USUAL: Row = {
    "person": "7",
    "version": 0,
    "ward": "A",
    "city": "ada",
    "age": 40,
    "score": 1,
    "huge": 10,
    "cost": 10.0,
    "temp": 20.0,
    "wild": 1.5,
    "day": date(2024, 3, 15),
    "any_day": date(2023, 1, 1),
    "moment": datetime(2024, 1, 5, 12),
    "flag": True,
}
HIGH: Row = {
    "age": 10**18,
    "score": 10**6,
    "huge": 2**63 - 1,
    "cost": 1e300,
    "temp": 1e308,
    "wild": float("inf"),
    "day": date(9999, 12, 31),
    "any_day": date(9999, 12, 31),
    "moment": datetime(9999, 12, 31, 23),
}
LOW: Row = {
    "age": -(2**63),
    "score": -(10**6),
    "huge": -(2**63),
    "cost": -1e300,
    "temp": -1e308,
    "wild": -1e300,
    "day": date(1, 1, 1),
    "any_day": date(1, 1, 1),
    "ward": "B",
    "flag": False,
    "city": "bern",
}
INSIDE: Row = {"age": 120, "score": 5, "cost": 50.0, "temp": 45.0, "huge": 1000, "day": date(2024, 12, 31)}
ODD = (
    *("a", "A ", " A", "b", "c1", "c2", "c3", "Z", "", "0", "1", "0001-02-03", "1999-01-01", "2000-01-01"),
    *("2001-01-01", "2002-01-01", "999999-01-01", "5881580-07-10", "-infinity", "true", "1e400", "nan"),
)


def _visit(**other: Any) -> Row:
    return {**USUAL, **other}


def _born(*years: int | None, person: str | None = "7") -> list[Row]:
    return [{"person": person, "version": 0, "born": year} for year in years]


def _spread(number: int) -> Row:
    """Return one of many rows that agree in as little as possible."""
    return _visit(
        ward="ABC"[number % 3],
        city=f"town{number}",
        age=number % 121,
        score=number % 20 - 7,
        huge=(number - 19) * 10**6 + number,
        cost=number / 2,
        day=date(2024, 1 + number % 12, 1 + number % 28),
        any_day=date(2000 + number, 1, 1),
        flag=number % 2 == 0,
    )


def worst() -> tuple[Person, ...]:
    """Return the last person in several bad shapes, each bad for something else."""
    odd = [
        _visit(ward=text, city=text, age=None if n % 2 else 7, flag=None, day=date(1980 + n, 1, 1))
        for n, text in enumerate(ODD)
    ]
    nothing = {**dict.fromkeys(USUAL), "person": "7", "version": 0}
    return (
        ([_visit(**HIGH) for _ in range(40)], _born(2024, 10**9, 2024)),
        ([_visit(**LOW) for _ in range(40)], _born(1, -(10**9))),
        ([*(_spread(number) for number in range(39)), nothing], _born(1950)),
        ([_visit(**INSIDE, ward=ward) for ward in "AABBC"], _born(2024)),
        ([_visit(**INSIDE) for _ in range(3)], _born(1900)),
        ([{**_visit(**LOW), "ward": "A"}] * 3, _born(1900)),
        ([*odd, nothing], _born(None, 1960)),
        ([_visit(person=None, **INSIDE) for _ in range(30)], _born(2024, 2024, person=None)),
    )


def single() -> tuple[Person, ...]:
    """Return bad rows for tables in which every row is a person."""
    wide = (_visit(**HIGH), _visit(**LOW), _visit(**INSIDE), _visit(ward=None, age=None, flag=None))
    return tuple(([one], []) for one in (*wide, _visit(ward="Z", city="2024-01-01"), _visit(flag=False)))


def others() -> list[Row]:
    """Return the visits of everybody else: two usual people, one far above all limits, and nobody's."""
    found = [_visit(person="1", ward="B"), _visit(person="1", score=-3), _visit(person="2", age=70)]
    found += [{**_spread(number), "person": "3"} for number in (0, 1, 2, 5, 8, 13, 21, 34)]
    return [*found, _visit(person=None, ward="C"), _visit(person=None)]


@dataclass(frozen=True)
class Family:
    """Open datasets: the first lacks the last person, who is another one in each of the rest."""

    engines: tuple[DuckDB, ...]

    def pairs(self, neighbours: str) -> Iterator[tuple[int, int]]:
        """Yield the numbers of neighbouring datasets."""
        if neighbours == "replace":
            yield from combinations(range(1, len(self.engines)), 2)
        else:
            yield from ((0, place) for place in range(1, len(self.engines)))

    def integers(self, statements: Sequence[Statement], *, replaced: bool) -> list[Exact | None]:
        """Return the exact integers of every dataset that has neighbours, None where the engine raises."""
        requests = [EngineRequest(render(s), s.keys, s.outputs, s.cells) for s in statements]
        return [
            None if replaced and not place else exactly(engine, requests)
            for place, engine in enumerate(self.engines)
        ]

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def exactly(engine: DuckDB, requests: Sequence[EngineRequest]) -> Exact | None:
    """Return exact integers, or None where the engine raises."""
    try:
        return engine._exact(requests, KEY)
    except EngineError:
        return None


def family(people: Sequence[Person], rest: Sequence[Row], catalog: Catalog | None = None) -> Family:
    """Open the datasets; where the declarations say so, of the visits that a preparation keeps."""
    declared = catalog or clinic()
    born = _born(1980, person="1") + _born(1930, 1931, person="3")
    engines = []
    for visits, held in (((), ()), *people):
        engine = open_world([*rest, *visits], [*born, *held], declared)
        table = declared.table("visits")
        if table is not None and table.prepared:
            with engine:
                kept = _kept(engine, table)
            engine = open_world(kept, [*born, *held], declared)
        engines.append(engine)
    return Family(tuple(engines))


def _kept(engine: DuckDB, table: DeclaredTable) -> list[Row]:
    found = engine.connection.execute(render(prepared_rows(table)), {"choice": KEY}).fetchall()
    return [dict(zip((name for name, _ in table.offered), row, strict=True)) for row in found]


def ready(catalog: Catalog) -> Catalog:
    """Return the declarations in which the visits are prepared."""
    tables = (replace(t, prepared=True) if t.name == "visits" else t for t in catalog.tables)
    return replace(catalog, tables=tuple(tables))
