"""Small datasets with one worst-case person, and the exact integers of a question about them."""

from datetime import date, datetime
from random import Random
from typing import Any

import pyarrow

from discreet.engines.duckdb.engine import DuckDB, open_tables
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest, Exact
from discreet.engines.protocol import Origin
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.measurement import Checked
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.rewrite.statements import statements

Row = dict[str, Any]

SCHEMA = pyarrow.schema(
    [
        ("person", pyarrow.string()),
        ("version", pyarrow.int64()),
        ("ward", pyarrow.string()),
        ("city", pyarrow.string()),
        ("age", pyarrow.int64()),
        ("score", pyarrow.int64()),
        ("huge", pyarrow.int64()),
        ("cost", pyarrow.float64()),
        ("temp", pyarrow.float64()),
        ("wild", pyarrow.float64()),
        ("day", pyarrow.date32()),
        ("any_day", pyarrow.date32()),
        ("moment", pyarrow.timestamp("us")),
        ("flag", pyarrow.bool_()),
    ]
)
PEOPLE = pyarrow.schema(
    [("person", pyarrow.string()), ("version", pyarrow.int64()), ("born", pyarrow.int64())]
)

NUMBERS = (
    float("nan"),
    float("inf"),
    float("-inf"),
    1e308,
    -1e308,
    5e-324,
    -0.0,
    0.0,
    0.005,
    50.0,
    49.999,
    1e15,
)
WHOLES = (2**63 - 1, -(2**63), 0, -1, 120, 121, 2**53 + 1, 10**18)
TEXTS = (
    "",
    " ",
    "a",
    "A",
    "%",
    "_",
    "ab%c",
    "2024-01-01",
    "999999-01-01",
    "infinity",
    "-infinity",
    "5877642-06-25 (BC)",
    "5881580-07-10",
    "xa",
    "nan",
    "1e400",
    "12",
    "\u00e9\u0130",
    "x" * 300,
)
DAYS = (
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2024, 1, 1),
    date(2024, 12, 31),
    date(1970, 1, 1),
    date(2024, 2, 29),
)


def row(random: Random, person: str | None, version: int = 0, *, wild: bool = True) -> Row:
    """Return one visit; a wild one has NULLs, values far outside every bound and awkward cells."""

    def sometimes(usual: Any, odd: tuple[Any, ...]) -> Any:
        if wild and random.random() < 0.35:
            return random.choice((*odd, None))
        return usual

    return {
        "person": person,
        "version": version,
        "ward": sometimes(random.choice("ABC"), ("Z", "")),
        "city": sometimes(random.choice(("ada", "bern", "zug")), TEXTS),
        "age": sometimes(random.choice((0, 7, 41, 80, 120)), WHOLES),
        "score": sometimes(random.choice((-7, 0, 2, 5)), WHOLES),
        "huge": sometimes(random.randint(-1000, 1000), WHOLES),
        "cost": sometimes(random.choice((0.0, 0.01, 12.34, 50.0)), NUMBERS),
        "temp": sometimes(random.choice((-40.0, 0.1, 36.6, 45.0)), NUMBERS),
        "wild": sometimes(random.uniform(-9, 9), NUMBERS),
        "day": sometimes(date(2024, random.randint(1, 12), 15), DAYS),
        "any_day": sometimes(date(2023, random.randint(1, 12), 1), DAYS),
        "moment": sometimes(
            datetime(2024, 1, random.randint(1, 9), 12),
            (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)),
        ),
        "flag": sometimes(random.random() < 0.5, ()),
    }


def extreme(random: Random, person: str | None, version: int = 0) -> list[Row]:
    """Return the rows of a person who tries to move the answer as far as possible."""
    manner = random.random()
    if manner < 0.35:  # the same row over and over, at a corner of the declared ranges
        one = {
            **row(random, person, version, wild=False),
            "age": random.choice((0, 120, 10**18)),
            "score": random.choice((-7, 5)),
            "cost": random.choice((0.0, 50.0, 1e300)),
            "temp": random.choice((-40.0, 45.0, float("inf"))),
            "flag": True,
            "city": "ada",
            "day": date(2024, 3, 15),
        }
        return [dict(one) for _ in range(random.choice((1, 2, 3, 4, 9, 40)))]
    if manner < 0.6:  # in every ward, with many cities
        return [
            {**row(random, person, version, wild=False), "ward": ward, "city": f"town{number}"}
            for number, ward in enumerate("ABC" * random.randint(1, 6))
        ]
    return [row(random, person, version) for _ in range(random.randint(1, 12))]


def open_world(visits: list[Row], people: list[Row], catalog: Catalog, *, threads: int = 1) -> DuckDB:
    """Open the clinic on these rows."""
    wards = pyarrow.table(
        {"ward": ["A", "B", "B", "C", None], "floor": [1, 2, 3, 9, 0], "head": ["x", "y", "z", None, "n"]}
    )
    frames = {
        "visits": pyarrow.Table.from_pylist(visits, schema=SCHEMA),
        "people": pyarrow.Table.from_pylist(people, schema=PEOPLE),
        "wards": wards,
    }
    origins = {table.name: Origin(frames[table.name], table.offered) for table in catalog.tables}
    return open_tables(origins, threads=threads, memory="1GB")


def requests(checked: Checked) -> list[EngineRequest]:
    """Return what the engine is asked for a checked question."""
    return [EngineRequest(render(s), s.keys, s.outputs, s.cells) for s in statements(checked)]


def exact(engine: DuckDB, text: str, catalog: Catalog, choice: int = 7) -> tuple[Checked, Exact]:
    """Return a question and its exact integers."""
    checked = check(read(text), catalog)
    return checked, engine._exact(requests(checked), choice)
