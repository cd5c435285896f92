"""What a source says of itself: names of columns and engine types, never a cell."""

from pathlib import Path
from typing import Any

from discreet.engines import frame, records
from discreet.engines.duckdb.engine import connected
from discreet.engines.duckdb.source import attach, described, file_of, is_tables, is_text
from discreet.engines.records import RFC_4180, Dialect
from discreet.engines.shelter import Sheltered, exposed, quietly, shelter
from discreet.errors import CatalogError


def describe(
    rows: Any, folder: Path = Path(), dialect: Dialect = RFC_4180
) -> tuple[tuple[str, str | None], ...]:
    """Return the column names and engine types of a source; no cell is looked at.

    A text file and a pandas frame have no types of their own: there None stands.
    """
    rows = shelter(rows)
    if isinstance(rows, Sheltered):
        problem = CatalogError("the frame could not be read; give a pandas, Polars or Arrow table")
        return quietly(lambda: _frame_columns(rows), problem)
    place = file_of(rows, folder)
    problem = CatalogError(
        "the source could not be read; give a .csv, .parquet or .duckdb file (FILE.duckdb#TABLE)"
    )
    return quietly(lambda: _file_columns(rows, place, dialect), problem)


def _frame_columns(rows: Sheltered) -> tuple[tuple[str, str | None], ...]:
    names, schema = frame.schema(exposed(rows))
    if schema is None:
        return tuple((name, None) for name in names)
    with connected() as engine:
        engine.connection.register("__source", schema.empty_table())
        found = engine.connection.execute('DESCRIBE SELECT * FROM "__source"').fetchall()
    return tuple((name, row[1]) for name, row in zip(names, found, strict=True))


def _file_columns(rows: str | Path, place: Path, dialect: Dialect) -> tuple[tuple[str, str | None], ...]:
    import pyarrow

    if is_text(place):
        with pyarrow.input_stream(str(place), compression="detect") as stream:
            return tuple((name, None) for name in records.read(stream, dialect).names)
    with connected() as engine:
        name = Path(str(rows).partition("#")[0]).stem
        found = attach(engine.connection, "__source", name, rows, place)
        if is_tables(place):
            # A view in the file might name another one, whose first line would be its columns.
            engine.connection.execute("SET enable_external_access = false")
        return tuple(described(engine.connection, name, found).items())
