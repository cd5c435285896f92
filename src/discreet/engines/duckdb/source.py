"""Sources behind typed views: exactly the declared columns with exactly the declared types."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.engines import frame, records
from discreet.engines.delta import is_delta
from discreet.engines.duckdb.view import has_collation, refuse_random
from discreet.engines.protocol import Origin
from discreet.engines.records import Dialect
from discreet.engines.shelter import Sheltered, exposed, quietly
from discreet.engines.sql import quoted, string
from discreet.errors import CatalogError
from discreet.query.name import same

TINY, MOST = "3.054936363499605e-151", "3.2733906078961415e+150"
"""2**-500, and the largest double below 2**500."""

_DAYS = "DATE '0001-01-01'", "DATE '9999-12-31'"
_MOMENTS = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"


def _inside(value: str, low: str, high: str) -> str:
    """Return a value that is NULL outside of its range.

    It is clamped as well: an engine that has filtered rows may compute what is made of the value for all that
    were read with them, where the condition did not hold, and fail there.
    """
    return f"CASE WHEN {value} BETWEEN {low} AND {high} THEN least(greatest({value}, {low}), {high}) END"


_TYPES = {
    "integer": ("BIGINT", "TRY_CAST({0} AS BIGINT)"),
    "decimal": (
        None,
        f"CASE WHEN abs(TRY_CAST({{0}} AS DOUBLE)) BETWEEN {TINY} AND {MOST} THEN TRY_CAST({{0}} AS DOUBLE) "
        f"WHEN abs(TRY_CAST({{0}} AS DOUBLE)) < {TINY} THEN 0e0 END",
    ),
    "text": ("VARCHAR", "TRY_CAST({0} AS VARCHAR)"),
    "boolean": ("BOOLEAN", "TRY_CAST({0} AS BOOLEAN)"),
    "date": (None, _inside("TRY_CAST({0} AS DATE)", *_DAYS)),
    "timestamp": (None, _inside("TRY_CAST({0} AS TIMESTAMP)", *_MOMENTS)),
    "identifier": (None, "TRY_CAST({0} AS VARCHAR)"),
}

_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$")

_PRINTED_FIRST = ("BIGNUM", "VARINT", "JSON")
"""Whole numbers of any length, and JSON that may be none: TRY_CAST raises at them, not at their texts."""

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

_TIMES = {"TIME": ("00:00:00", "23:59:59.999999"), "TIME_NS": ("00:00:00", "23:59:59.999999999")}

_READ = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|VARINT|DECIMAL\(\d+,\d+\)|FLOAT|DOUBLE|BOOLEAN|VARCHAR|JSON|UUID|BLOB|BIT"
    r"|ENUM\(.*\)|DATE|TIME(_NS)?|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?|\"?NULL\"?",
    re.DOTALL,
)
"""Types of columns that are read: inside of any other there may be a cell that cannot be converted."""

_TEXT_FILES = {".csv", ".tsv", ".txt"}

_TABLES = {".duckdb", ".db", ".ddb"}


def place_of(rows: str | Path, folder: Path) -> Path:
    """Return the file that holds a table."""
    return (folder / str(rows).partition("#")[0]).resolve()


def file_of(rows: str | Path, folder: Path) -> Path:
    """Return the file that holds a table, and see that it is there."""
    place = place_of(rows, folder)
    if place.is_dir():
        kind = "a folder of Delta" if is_delta(place) else "a folder"
        raise CatalogError(
            f'{place} is {kind}; beside it, engine = "spark" in a manifest lets Spark read it, and so does '
            "spark:/FOLDER as a source"
        )
    if not place.is_file():
        raise CatalogError(f"there is no file {place}")
    return place


_DECODED = "CASE WHEN strlen({0}) >= 0 THEN {0} END"
"""A text of a Parquet file, decoded even where only its being there matters.

Otherwise one that is not UTF-8 would be there until a question came across any other such text, and missing
from then on: one person's cell would decide what all others' count for.
"""

Again = Callable[[], None]
"""Reads a table in a slower way, in which no text of it fails."""


def expose(connection: Any, raw: str, name: str, origin: Origin, folder: Path) -> Again | None:
    """Offer the declared columns of a source, with the declared types, under the table's name.

    The engine reads Parquet files itself, and fails at a text that is not UTF-8; for these, return what then
    offers the same table with NULL in the place of such texts.
    """
    if isinstance(origin.rows, Sheltered):
        problem = CatalogError(
            f"table {name}: the frame could not be read; give a pandas, Polars or Arrow table"
        )
        quietly(lambda: _expose_frame(connection, raw, name, origin), problem)
        return None
    try:
        place = file_of(origin.rows, folder)
    except CatalogError as refusal:
        raise CatalogError(f"tables.{name}.source: {refusal}") from None
    problem = CatalogError(f"tables.{name}.source: {place.name} could not be read; check its format")
    if is_text(place):
        quietly(lambda: _expose_records(connection, raw, name, origin, place), problem)
        return None
    if is_parquet(place):
        return quietly(lambda: _expose_parquet(connection, raw, name, origin, place), problem)
    found = quietly(lambda: attach(connection, raw, name, origin.rows, place), problem)
    columns = described(connection, name, found)
    own = "{0}"
    if is_tables(place) and quietly(lambda: has_collation(connection, raw), problem):
        # What a column takes for equal, here or there, would decide which texts are one key or one person.
        own = "({0} COLLATE C)"
    quietly(lambda: _view(connection, name, found, columns, origin, own=own), problem)
    return None


def _expose_parquet(connection: Any, raw: str, name: str, origin: Origin, place: Path) -> Again | None:
    def again() -> None:
        _expose_streamed(connection, raw, name, origin, place)

    if frame.has_odd_cells(place, [column for column, _ in origin.columns]):
        again()
        return None
    found = attach(connection, raw, name, origin.rows, place)
    _view(connection, name, found, described(connection, name, found), origin, own=_DECODED)
    return again


def _expose_streamed(connection: Any, raw: str, name: str, origin: Origin, place: Path) -> None:
    """Read the declared columns of a Parquet file into a table of the engine, batch by batch.

    That is for what the engine's own reader may fail to convert: each cell is converted by itself here.
    """
    stored = _stored(name, frame.parquet_names(place), origin, place.name)
    passing, kept = f"{raw} passing", f"{raw} kept"
    connection.register(passing, frame.parquet(place, [stored[column] for column, _ in origin.columns]))
    items = _items(described(connection, name, quoted(passing)), origin, stored)
    connection.execute(f"CREATE OR REPLACE TABLE {quoted(kept)} AS SELECT {items} FROM {quoted(passing)}")
    connection.execute(f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT * FROM {quoted(kept)}")
    connection.unregister(passing)


def _expose_frame(connection: Any, raw: str, name: str, origin: Origin) -> None:
    rows = exposed(origin.rows)
    stored = _stored(name, frame.schema(rows)[0], origin, "the frame")
    kinds = {stored[column]: kind for column, kind in origin.columns}
    connection.register(raw, frame.table(rows, kinds))
    found = connection.execute(f"DESCRIBE SELECT * FROM {quoted(raw)}").fetchall()
    _view(connection, name, quoted(raw), {row[0]: row[1] for row in found}, origin, stored)


def _expose_records(connection: Any, raw: str, name: str, origin: Origin, place: Path) -> None:
    """Read the declared columns of a text file into memory, each cell converted by itself."""
    import pyarrow

    with pyarrow.input_stream(str(place), compression="detect") as stream:
        file = records.read(stream, origin.dialect)
        stored = _stored(name, file.names, origin, place.name)
        # Where no column is declared, rows can still be counted.
        wanted = [file.names.index(stored[column]) for column, _ in origin.columns] or [0]
        schema = pyarrow.schema([(f"c{i}", pyarrow.large_string()) for i in range(len(wanted))])
        reader = pyarrow.RecordBatchReader.from_batches(schema, file.batches(wanted))
        connection.register(raw, reader)
        items = [
            f"{_typed(_present(f'c{i}', origin.dialect), 'VARCHAR', kind)} AS {quoted(column)}"
            for i, (column, kind) in enumerate(origin.columns)
        ]
        connection.execute(
            f"CREATE TABLE {quoted(name)} AS SELECT {', '.join(items) or '1 AS nothing'} FROM {quoted(raw)}"
        )
        connection.unregister(raw)


def _present(column: str, dialect: Dialect) -> str:
    if not dialect.null:
        return column
    return f"CASE WHEN {column} NOT IN ({', '.join(map(string, dialect.null))}) THEN {column} END"


def _stored(name: str, names: Sequence[str], origin: Origin, place: str) -> dict[str, str]:
    """Return the source's own name of each declared column: the same, or the only one but for case."""
    stored = {}
    for column, _ in origin.columns:
        found = [own for own in names if own == column] or [own for own in names if same(own, column)]
        if not found:
            # A file without a header would show a person's cells here.
            raise CatalogError(
                f"tables.{name}: {place} has no column {column!r}; correct the name, or for a text file "
                "without a header declare its names, csv = {header = [...]}"
            )
        if len(found) > 1:
            raise CatalogError(f"tables.{name}: {place} has several columns {column!r}; rename them")
        stored[column] = found[0]
    return stored


def is_parquet(place: Path) -> bool:
    """Whether a file is Parquet, by its name."""
    return ".parquet" in {suffix.lower() for suffix in place.suffixes}


def is_tables(place: Path) -> bool:
    """Whether a file holds tables of DuckDB, by its name."""
    return bool(_TABLES & {suffix.lower() for suffix in place.suffixes})


def pattern_of(place: Path) -> str:
    """Return the pattern of this file alone: in a name an engine takes *, ? and [ for those of many."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(place))


def attach(connection: Any, raw: str, name: str, rows: str | Path, place: Path) -> str:
    """Make a Parquet or DuckDB file readable under a hidden name, and return that name as SQL."""
    text = string(str(place))
    if is_parquet(place):
        # A folder called column=value would take the place of that column in every row.
        read = f"read_parquet({string(pattern_of(place))}, hive_partitioning = false)"
        connection.execute(f"CREATE VIEW {quoted(raw)} AS SELECT * FROM {read}")
        return quoted(raw)
    if is_tables(place):
        connection.execute(f"ATTACH {text} AS {quoted(raw)} (READ_ONLY)")
        inside = str(rows).partition("#")[2] or name
        refuse_random(connection, raw, name, inside.rpartition(".")[2])
        return ".".join([quoted(raw), *(quoted(part) for part in inside.split("."))])
    raise CatalogError(f"tables.{name}.source: {place.name} must be .csv, .parquet or .duckdb")


def described(connection: Any, name: str, found: str) -> dict[str, str]:
    """Return the columns of a relation with the engine's types."""
    rows = quietly(
        lambda: connection.execute(f"DESCRIBE SELECT * FROM {found}").fetchall(),
        CatalogError(f"tables.{name}.source: the table could not be found in its file"),
    )
    return {row[0]: row[1] for row in rows}


def _view(
    connection: Any,
    name: str,
    raw: str,
    columns: Mapping[str, str],
    origin: Origin,
    stored: Mapping[str, str] | None = None,
    own: str = "{0}",
) -> None:
    """Offer the declared columns of a relation; `own` is how one of its texts is written."""
    stored = _stored(name, tuple(columns), origin, "the source") if stored is None else stored
    items = _items(columns, origin, stored, own)
    connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT {items} FROM {raw}")


def _items(columns: Mapping[str, str], origin: Origin, stored: Mapping[str, str], own: str = "{0}") -> str:
    """Return the declared columns with the declared types, as what is selected from a relation."""
    for column in stored.values():
        if not _READ.fullmatch(columns[column]):
            word = columns[column].partition("(")[0]
            raise CatalogError(
                f"column {column!r} of type {word} tells nobody apart; offer a number, a date or a text"
            )
    written = {
        held: own.format(quoted(held)) if physical == "VARCHAR" else quoted(held)
        for held, physical in columns.items()
    }
    items = [
        f"{_typed(written[stored[column]], columns[stored[column]], kind)} AS {quoted(column)}"
        for column, kind in origin.columns
    ]
    return ", ".join(items) or "1 AS nothing"


_PRINTED = (
    "CASE WHEN NOT isfinite({0}) THEN NULL WHEN {0} = trunc({0}) AND TRY_CAST({0} AS BIGINT) IS NOT NULL "
    "THEN CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) ELSE CAST({0} AS VARCHAR) END"
)
"""A floating-point number as text: 7.0 is 7 as in a column of integers, and what is no number is missing."""


def _of_its_type(column: str, physical: str) -> str:
    """Return a cell, NULL where it is stored but lies outside of what its type can say.

    The engine takes times and decimals as others wrote them, and fails when it is to print a time outside of
    a day, or the smallest number of 128 bits.  Decimals of up to 18 digits have 64 bits and do no harm.
    """
    ends = _TIMES.get(physical)
    found = _DECIMAL.fullmatch(physical)
    if found is not None and int(found[1]) > 18:
        most = "9" * (int(found[1]) - int(found[2])) + "." + "9" * int(found[2])
        ends = f"-{most}", most
    if ends is None:
        return column
    low, high = (f"CAST('{end}' AS {physical})" for end in ends)
    return f"({_inside(column, low, high)})"


def _typed(column: str, physical: str, kind: str) -> str:
    fits, template = _TYPES[kind]
    column = _of_its_type(column, physical)
    if physical in _PRINTED_FIRST:
        column, physical = f"CAST({column} AS VARCHAR)", "VARCHAR"
    if kind in ("identifier", "text") and physical in ("DOUBLE", "FLOAT"):
        return _PRINTED.format(column)
    if kind in ("identifier", "text") and physical.startswith("DECIMAL") and not physical.endswith(",0)"):
        # 7.0 is 7, as in a column of integers.
        return f"regexp_replace(CAST({column} AS VARCHAR), '[.]?0*$', '')"
    if kind in ("identifier", "text") and physical.startswith("TIMESTAMP"):
        # At the ends of what a moment can be, writing it fails.
        return f"CAST({_TYPES['timestamp'][1].format(column)} AS VARCHAR)"
    if physical == fits or (kind == "identifier" and physical in ("VARCHAR", "DATE", "UUID", "BOOLEAN")):
        return column
    if kind == "identifier" and _WHOLE.fullmatch(physical):
        return column
    if kind == "decimal" and (_WHOLE.fullmatch(physical) or physical.startswith("DECIMAL")):
        return f"CAST({column} AS DOUBLE)"
    return template.format(column)


def is_text(place: Path) -> bool:
    """Whether a file is text, by its name."""
    return bool(_TEXT_FILES & {suffix.lower() for suffix in place.suffixes})
