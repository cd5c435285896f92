"""Declaring tables without a manifest: types from the source's schema, everything else from the caller.

Only names and types of columns are taken from a source, never a cell: bounds, key values and contribution
limits are the curator's to give.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.engines.duckdb import Origin, describe, prepare
from discreet.errors import CatalogError
from discreet.exact.coins import source
from discreet.query.catalog import Catalog, Table, declare
from discreet.query.prepare import preparation
from discreet.query.render import render

SECTION = ("unit", "neighbours", "rows_per_unit", "groups_per_unit", "rows_per_group", "public", "columns")

_KINDS = {
    "BOOLEAN": "boolean",
    "DATE": "date",
    "VARCHAR": "text",
    "FLOAT": "decimal",
    "DOUBLE": "decimal",
}


def kind_of(physical: str) -> str | None:
    """Return the declared type that fits an engine type, if any does."""
    if "INT" in physical:
        return "integer"
    if physical.startswith("DECIMAL"):
        return "decimal"
    if physical.startswith("TIMESTAMP"):
        return "timestamp"
    return _KINDS.get(physical)


def declared(
    data: str | Path | None, given: Mapping[str, Any], *, name: str, budget: Mapping[str, str]
) -> tuple[Catalog, dict[str, Any]]:
    """Return the catalog of tables given as frames or paths, and the frames by table name."""
    section = {key: value for key, value in given.items() if key in SECTION}
    sources = {key: value for key, value in given.items() if key not in SECTION}
    if data is not None:
        sources[Path(str(data).partition("#")[0]).stem] = data
    if not sources:
        raise CatalogError("no table was given; name one, as in dp.open(people=frame, epsilon=1)")
    if len(sources) > 1 and "columns" in section:
        raise CatalogError("columns=... is for a single table; declare several tables in a manifest")
    document = {
        "dataset": {"name": name},
        "budget": dict(budget),
        "tables": {table: _section(rows, section) for table, rows in sources.items()},
    }
    return declare(document), sources


def _section(rows: Any, section: Mapping[str, Any]) -> dict[str, Any]:
    body = dict(section)
    columns: dict[str, Any] = {}
    for column, physical in describe(rows):
        kind = kind_of(physical)
        if kind is not None and column != section.get("unit"):
            columns[column] = {"type": kind}
    for column, spec in dict(section.get("columns", {})).items():
        if column not in columns and column != section.get("unit"):
            raise CatalogError(
                f"columns.{column}: the source has no such column; it has {', '.join(columns)}"
            )
        drafted = columns.get(column, {})
        columns[column] = {**drafted, **spec} if isinstance(spec, Mapping) else {**drafted, "type": spec}
    body["columns"] = columns
    return body


def origins(catalog: Catalog, frames: Mapping[str, Any]) -> dict[str, Origin]:
    """Return what the engine needs to open each declared table, bounding prepared ones once, on disk."""
    found: dict[str, Origin] = {}
    for table in catalog.tables:
        origin = Origin(frames.get(table.name, table.source), table.offered)
        found[table.name] = _prepared(catalog, table, origin) if table.prepared else origin
    return found


def _prepared(catalog: Catalog, table: Table, origin: Origin) -> Origin:
    """Return the bounded copy of a table, made when this version of the data is first opened."""
    if not isinstance(origin.rows, str | Path):
        raise CatalogError(
            f"tables.{table.name}.prepared is for files; bound a frame with rows_per_unit alone"
        )
    preparing = preparation(table)
    # The name tells copies apart that were bounded by other limits, for another unit or from another source.
    meant = sha256(
        "\n".join((render(preparing.statement), str(origin.rows), repr(origin.columns))).encode()
    ).hexdigest()[:12]
    stem = f"{catalog.name}-{table.name}-{catalog.version}-{meant}"
    target = (catalog.folder / f"{stem}.prepared.duckdb").resolve()
    if not target.exists():
        prepare(table.name, origin, preparing, source().bits(63), target, folder=catalog.folder)
    return Origin(f"{target}#{table.name}", origin.columns)
