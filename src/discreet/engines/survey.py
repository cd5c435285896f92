"""Looking at a source on the curator's behalf, to draft a manifest: here types come from cells.

What is found is a proposal for somebody who may see the data anyway; nothing else in the system reads it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from discreet.engines import records
from discreet.engines.duckdb.engine import connected, open_tables
from discreet.engines.duckdb.schema import describe
from discreet.engines.duckdb.source import file_of, is_parquet, is_tables, is_text
from discreet.engines.protocol import Origin
from discreet.engines.records import RFC_4180, Dialect
from discreet.engines.shelter import quietly
from discreet.engines.spark.source import is_spark
from discreet.engines.sql import quoted, string
from discreet.errors import CatalogError
from discreet.query.name import same

_FITS = {
    "integer": "regexp_full_match({0}, '[+-]?(0|[1-9][0-9]{{0,17}})')",
    "decimal": "TRY_CAST({0} AS DOUBLE) IS NOT NULL AND NOT regexp_full_match({0}, '[+-]?0[0-9]+')",
    "date": "TRY_CAST({0} AS DATE) IS NOT NULL AND length({0}) <= 10",
    "timestamp": "TRY_CAST({0} AS TIMESTAMP) IS NOT NULL",
    "boolean": "lower({0}) IN ('true', 'false')",
}


@dataclass(frozen=True, slots=True)
class Survey:
    """A source's columns with engine types or guessed kinds, and how a text file seems to be written."""

    columns: tuple[tuple[str, str | None], ...]
    guessed: Mapping[str, str]
    csv: Mapping[str, str]


def survey(rows: str, folder: Path = Path()) -> Survey:
    """Look at a source; at the cells only of a text file, which has no schema."""
    if "://" in rows or is_spark(rows):
        # Not repeated: an address with a mistake in it may hold a password.
        raise CatalogError("drafts are made from files; write the section of a table in a server by hand")
    place = file_of(rows, folder)
    if not is_text(place):
        return Survey(describe(rows, folder), {}, {})
    return quietly(
        lambda: _text_file(place), CatalogError(f"{place.name} could not be read; check its format")
    )


def form_of(place: Path) -> str | None:
    """Return whether a file holds text, one table or several, by its name; None where it is none of ours."""
    if is_text(place):
        return "text"
    return "parquet" if is_parquet(place) else "tables" if is_tables(place) else None


def tables_in(place: Path) -> tuple[str, ...]:
    """Return the names of the tables in a file of tables; none of them is looked at."""

    def listed() -> tuple[str, ...]:
        with connected() as engine:
            engine.connection.execute(f'ATTACH {string(str(place))} AS "__source" (READ_ONLY)')
            names = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = '__source'"
            found = engine.connection.execute(f"{names} ORDER BY ALL").fetchall()
        return tuple(table if schema == "main" else f"{schema}.{table}" for schema, table in found)

    return quietly(listed, CatalogError(f"{place.name} could not be read; check its format"))


def _text_file(place: Path) -> Survey:
    csv = {**_encoding(place), **_delimiter(place)}
    dialect = replace(RFC_4180, **csv)  # type: ignore[arg-type]
    columns = describe(place, dialect=dialect)
    names = [name for name, _ in columns]
    plain = [(name, "text") for name in names if name and sum(same(name, other) for other in names) == 1]
    with open_tables({"survey": Origin(place, tuple(plain), dialect)}) as engine:
        guessed = {name: _kind(engine.connection, name) for name, _ in plain}
    return Survey(columns, guessed, csv)


def _kind(connection: Any, name: str) -> str:
    column = quoted(name)
    tests = ", ".join(f"coalesce(bool_and({fits.format(column)}), false)" for fits in _FITS.values())
    held = connection.execute(f'SELECT {tests} FROM "survey" WHERE {column} IS NOT NULL').fetchone()
    return next((kind for kind, fits in zip(_FITS, held, strict=True) if fits), "text")


def _encoding(place: Path) -> dict[str, str]:
    """Return windows-1252 for a file that is not UTF-8, the likeliest of the others."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for part in _parts(place):
            decoder.decode(part)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return {"encoding": "windows-1252"}
    return {}


def _delimiter(place: Path) -> dict[str, str]:
    """Return the sign that cuts the first record into most cells."""
    signs = (",", ";", "\t", "|")
    cells = {sign: len(_first(place, Dialect(delimiter=sign))) for sign in signs}
    best = max(signs, key=lambda sign: cells[sign])
    return {} if best == "," else {"delimiter": best}


def _first(place: Path, dialect: Dialect) -> tuple[str, ...]:
    with _opened(place) as stream:
        return records.read(stream, dialect, 2**16).names


def _parts(place: Path) -> Iterator[bytes]:
    with _opened(place) as stream:
        while part := stream.read(records.BLOCK):
            yield bytes(part)


def _opened(place: Path) -> IO[bytes]:
    import pyarrow

    stream: IO[bytes] = pyarrow.input_stream(str(place), compression="detect")
    return stream
