"""Every engine behind one door, and rows in which every awkward cell meets every other."""

import atexit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from itertools import count, product
from typing import Any

import pyarrow
from tests.ledger.world import Server

from discreet.engines import duckdb, postgres, reference
from discreet.engines.exact import Exact
from discreet.engines.protocol import Origin
from discreet.query.plan import Call, Scalar, rebuilt
from discreet.query.statement import Inner, JoinedRows, Query, Source, Stacked, Statement

WHOLES = (0, 1, -1, 7, 10, -10, 120, 2**31, 2**53 + 1, -(2**53) - 1, 10**18, 2**63 - 1, -(2**63), None)
REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.675, 0.49999999999999994, 1e-9, 12.34, 49.999),
    *(4503599627370497.5, 9007199254740993.0, 9.223372036854775e18, 2.0**63, -(2.0**63), 1e15, 1e75, -1e76),
    *(2.0**499, 2.0**500, 1e150, 1e-150, 2.0**-500, 2.0**-501, 1e308, -1e308, 5e-324, 1.7976931348623157e308),
    *(float("nan"), float("inf"), float("-inf"), 345.0, 346.0, -360.0, -361.0, 700.0, None),
)
TEXTS = (
    *(
        "",
        " ",
        "a",
        "A",
        "ab%c",
        "a_c",
        "!",
        "%",
        "\\",
        "it's",
        "x" * 300,
        "\u00e9",
        "\u0130",
        "e\u0301",
        "\u00df",
    ),
    *(
        "\U0001f642b",
        "Z\u00c9z",
        "12",
        " 12 ",
        "+12",
        "-0",
        "1.5",
        "0x1F",
        "1_000",
        "1e3",
        "1e400",
        "1e-400",
        ".5",
    ),
    *("5.", "+.5E-3", "1e151", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "nan"),
    *(
        "00000000000000000005",
        "infinity",
        "Infinity",
        "NaN",
        "-inf",
        "1d",
        "1f",
        "\u0661\u0662",
        "12\n",
        "\t12",
    ),
    *(
        "2024-02-29",
        "2023-02-29",
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "10000-01-01",
        "2024-1-5",
        " 2024-03-01 ",
        "infinity",
    ),
    *(
        "2024-01-01 10:00:00",
        "2024-01-01T10:00:59.123456Z",
        "2024-01-01 24:00:00",
        "2024-01-01 10:00",
        "epoch",
    ),
    *(
        "2024-01-01 10:00:00+02",
        "2024-13-01",
        "2024-06-31",
        "now",
        "today",
        "yes",
        "TRUE",
        " t ",
        "0",
        "n",
        "on",
    ),
    *(
        "off",
        "T\u0130",
        "2024-01-01 (BC)",
        "20240101",
        "1,5",
        "--1",
        "+",
        ".",
        "e5",
        "1e",
        "1" * 41,
        "0.5" + "0" * 45,
    ),
    None,
)
DAYS = (
    *(
        date(1, 1, 1),
        date(1, 1, 7),
        date(9999, 12, 31),
        date(9999, 1, 31),
        date(2024, 2, 29),
        date(2023, 2, 28),
    ),
    *(
        date(2024, 12, 30),
        date(2024, 12, 29),
        date(2021, 1, 3),
        date(2021, 1, 4),
        date(1970, 1, 1),
        date(2000, 1, 31),
    ),
    *(date(1900, 3, 1), date(1582, 10, 15), date(1582, 10, 4), None),
)
MOMENTS = (
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29, 23, 59, 59)),
    *(
        datetime(2023, 12, 31, 23, 59, 59, 500000),
        datetime(2024, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        None,
    ),
)
TRUTHS = (True, False, None)

COLUMNS = (
    *(("id", "integer"), ("w", "integer"), ("v", "integer"), ("r", "decimal"), ("s", "decimal")),
    *(("t", "text"), ("u", "text"), ("d", "date"), ("e", "date"), ("m", "timestamp"), ("n", "timestamp")),
    *(("b", "boolean"), ("c", "boolean")),
)
_ARROW = {
    "integer": pyarrow.int64(),
    "decimal": pyarrow.float64(),
    "text": pyarrow.string(),
    "date": pyarrow.date32(),
    "timestamp": pyarrow.timestamp("us"),
    "boolean": pyarrow.bool_(),
}
PAIRS = (
    ("w", "v", WHOLES),
    ("r", "s", REALS),
    ("t", "u", TEXTS),
    ("d", "e", DAYS),
    ("m", "n", MOMENTS),
    ("b", "c", TRUTHS),
)


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[tuple[str, str]]) -> pyarrow.Table:
    """Return rows as an Arrow table of declared columns."""
    return pyarrow.Table.from_pylist(
        list(rows), schema=pyarrow.schema([(name, _ARROW[kind]) for name, kind in columns])
    )


def _few(column: str, values: Sequence[Any]) -> Sequence[Any]:
    return values[:: {"t": 9, "r": 2}.get(column, 1)]


def cells() -> list[dict[str, Any]]:
    """Return rows in which each awkward cell occurs with others of its kind."""
    met = {one: list(product(values, _few(one, values))) for one, _, values in PAIRS}
    count = max(map(len, met.values()))
    rows = []
    for number in range(count):
        row: dict[str, Any] = {"id": number}
        for one, other, _ in PAIRS:
            row[one], row[other] = met[one][number % len(met[one])]
        rows.append(row)
    return rows


Open = Callable[[Mapping[str, pyarrow.Table], Mapping[str, Sequence[tuple[str, str]]]], Any]
Run = Callable[[Any, Sequence[Statement], int], Exact]


def origins(
    frames: Mapping[str, pyarrow.Table], columns: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, Origin]:
    return {name: Origin(held, tuple(columns[name])) for name, held in frames.items()}


def open_reference(frames: Any, columns: Any) -> Any:
    return reference.open_tables(origins(frames, columns))


def open_duckdb(frames: Any, columns: Any) -> Any:
    return duckdb.open_tables(origins(frames, columns), threads=1, memory="1GB")


def run_reference(engine: Any, statements: Sequence[Statement], choice: int) -> Exact:
    return engine._exact(statements, choice)


def run_duckdb(engine: Any, statements: Sequence[Statement], choice: int) -> Exact:
    return engine._exact([engine._request(digested(statement)) for statement in statements], choice)


_PHYSICAL = {
    "integer": "bigint",
    "decimal": "double precision",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
    "boolean": "boolean",
}
_SCHEMAS = count()


@cache
def server() -> Server:
    """Return a server of this process, which ends with it."""
    started = Server()
    atexit.register(started.close)
    return started


def loaded(frames: Any, columns: Any) -> tuple[str, dict[str, str]]:
    """Return a new schema of the server with the given tables, and their sources."""
    import psycopg

    schema = f"engines_{next(_SCHEMAS)}"
    with psycopg.connect(server().url()) as database:
        database.execute(f"CREATE SCHEMA {schema}")
        for name, held in frames.items():
            typed = ", ".join(f'"{column}" {_PHYSICAL[kind]}' for column, kind in columns[name])
            database.execute(f'CREATE TABLE {schema}."{name}" ({typed})')
            names = [column for column, _ in columns[name]]
            with database.cursor().copy(f'COPY {schema}."{name}" FROM STDIN') as copy:
                for held_row in held.select(names).to_pylist():
                    copy.write_row([held_row[column] for column in names])
    return schema, {name: f"{server().address}#{schema}.{name}" for name in frames}


def open_postgres(frames: Any, columns: Any) -> Any:
    _, sources = loaded(frames, columns)
    return postgres.open_tables({name: Origin(sources[name], tuple(columns[name])) for name in frames})


def run_postgres(engine: Any, statements: Sequence[Statement], choice: int) -> Exact:
    return engine._exact([digested(statement) for statement in statements], choice)


ENGINES: dict[str, tuple[Open, Run]] = {
    "duckdb": (open_duckdb, run_duckdb),
    "postgres": (open_postgres, run_postgres),
}
"""The engines that must agree with the reference."""


def digested(statement: Statement) -> Statement:
    """Return a statement whose keyed choice is the one that all engines share."""

    def scalar(own: Scalar) -> Scalar:
        return rebuilt(
            own,
            lambda part: (
                Call("digest", tuple(map(scalar, part.arguments)))
                if isinstance(part, Call) and part.function == "hash"
                else None
            ),
        )

    def source(own: Source) -> Source:
        match own:
            case Inner(inner, alias):
                return Inner(query(inner), alias)
            case JoinedRows(left, right, on, outer):
                return JoinedRows(source(left), source(right), on, outer)
            case Stacked(queries, alias):
                return Stacked(tuple(map(query, queries)), alias)
            case _:
                return own

    def query(own: Query) -> Query:
        items = tuple((name, scalar(item)) for name, item in own.items)
        return replace(own, items=items, source=source(own.source))

    parts = tuple((name, query(part)) for name, part in statement.parts)
    return replace(statement, parts=parts, body=query(statement.body))
