"""Declaring tables without a manifest: types from the source's schema, everything else from the caller.

Only names and types of columns are taken from a source, never a cell: bounds, key values and contribution
limits are the curator's to give.  A text file and a pandas frame have no types that no cell could change, so
there a column is text unless its declaration says what it is.
"""

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from discreet.engines.opening import describe, prepare
from discreet.engines.protocol import Origin, Preparation
from discreet.engines.records import Dialect
from discreet.errors import CatalogError
from discreet.exact.coins import source
from discreet.query.catalog.dialect import dialect
from discreet.query.catalog.manifest import Catalog, DeclaredTable, declare
from discreet.query.plan import given
from discreet.query.price.proving import preparation

_KINDS = (
    (re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?"), "integer"),
    (re.compile(r"FLOAT|DOUBLE|DECIMAL(\(.*\))?"), "decimal"),
    (re.compile(r"VARCHAR|ENUM\(.*\)", re.DOTALL), "text"),
    (re.compile(r"BOOLEAN"), "boolean"),
    (re.compile(r"DATE"), "date"),
    (re.compile(r"TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE"), "timestamp"),
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def kind_of(physical: str | None) -> str | None:
    """Return the declared type that fits an engine type, if any does; text where a source has no types."""
    if physical is None:
        return "text"
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(physical)), None)


def declared(
    data: Any, tables: Mapping[str, Any], given: Mapping[str, Any], *, name: str, budget: Mapping[str, str]
) -> tuple[Catalog, dict[str, Any]]:
    """Return the catalog of tables that are frames or paths, declared as `given`, and the frames by name.

    A file without a name of its own is called after itself, and a frame `data`.
    """
    sources = dict(tables)
    if data is not None:
        sources[_table_name(data)] = data
    if not sources:
        raise CatalogError("no table was given; name one, as in dp.open(people=frame, epsilon=1)")
    section = dict(given)
    columns = _columns(section.pop("columns", {}), tuple(sources))
    document = {
        "dataset": {"name": name},
        "budget": dict(budget),
        "tables": {table: _section(rows, section, columns[table]) for table, rows in sources.items()},
    }
    return declare(document), sources


def _table_name(data: Any) -> str:
    if isinstance(data, str) and "://" in data:
        return data.partition("#")[2].rpartition(".")[2] or "data"
    if isinstance(data, str) and data.startswith("spark:"):
        place = data.removeprefix("spark:")
        return Path(place).stem if "/" in place else place.rpartition(".")[2]
    return Path(str(data).partition("#")[0]).stem if isinstance(data, str | Path) else "data"


def _columns(given: Any, tables: tuple[str, ...]) -> dict[str, Mapping[str, Any]]:
    """Return the declared columns of each table: given as they are for one, by table for several."""
    if not isinstance(given, Mapping):
        raise CatalogError('columns=... is a mapping, as in columns={"age": "integer"}')
    if len(tables) == 1:
        return {tables[0]: given}
    for key, body in given.items():
        if key not in tables or not isinstance(body, Mapping):
            raise CatalogError(
                "columns=... of several tables goes by table, as in "
                f'columns={{"{tables[0]}": {{"age": "integer"}}}}; tables: {", ".join(tables)}'
            )
    return {table: given.get(table, {}) for table in tables}


def _section(rows: Any, section: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    settings = Dialect(**dict(dialect(section.get("csv", {}), "csv")))
    typeless = set()
    for column, physical in describe(rows, dialect=settings):
        kind = kind_of(physical)
        if physical is None:
            typeless.add(column)
        if kind is not None and column != section.get("unit"):
            # What is stored with a zone is an instant, which every engine reads in UTC.
            zone = {"zone": "UTC"} if physical == "TIMESTAMP WITH TIME ZONE" else {}
            columns[column] = {"type": kind, **zone}
    for column, spec in declared.items():
        if column not in columns and column != section.get("unit"):
            raise CatalogError(f"columns.{column}: the source has no such column that can be asked about")
        body = dict(spec) if isinstance(spec, Mapping) else {"type": spec}
        if column in typeless and "type" not in body:
            body["type"] = _told(column, body)
        found = columns.get(column, {})
        if body.get("type", found.get("type")) != "timestamp":
            found = {key: value for key, value in found.items() if key != "zone"}
        columns[column] = {**found, **body}
    return {**section, "columns": columns}


def _told(column: str, spec: Mapping[str, Any]) -> str:
    """Return the type that a declaration without one can only mean."""
    low = spec.get("low")
    if isinstance(low, date) or (isinstance(low, str) and _DAY.fullmatch(low)):
        return "date"
    if "step" in spec:
        return "decimal"
    if "values" in spec:
        return "text"
    raise CatalogError(
        f'columns.{column}: say its type, as in "{column}": {{"type": "integer", ...}}; '
        "a text file or a pandas frame does not say it in a way that no cell could change"
    )


def origins(catalog: Catalog, frames: Mapping[str, Any]) -> dict[str, Origin]:
    """Return what the engine needs to open each declared table, bounding prepared ones once, on disk."""
    found: dict[str, Origin] = {}
    for table in catalog.tables:
        rows = frames.get(table.name, _source(catalog, table))
        origin = Origin(rows, table.offered, Dialect(**dict(table.csv)), table.public)
        found[table.name] = _prepared(catalog, table, origin) if table.prepared else origin
    return found


def _source(catalog: Catalog, table: DeclaredTable) -> str:
    """Return where a table is, a folder that Spark is to read by its whole path."""
    return f"spark:{(catalog.folder / table.source).resolve()}" if table.engine else table.source


def _prepared(catalog: Catalog, table: DeclaredTable, origin: Origin) -> Origin:
    """Return the bounded copy of a table, made when this version of the data is first opened."""
    if not isinstance(origin.rows, str | Path):
        raise CatalogError(
            f"tables.{table.name}.prepared is for rows that stay where they are; bound a frame with "
            "rows_per_unit alone"
        )
    proved, unit = preparation(table), given(table.unit)
    asked = Preparation(table.name, origin, proved, unit, source().bits(63))
    return prepare(asked, f"{catalog.name}-{table.name}-{catalog.version}", catalog.folder)
