"""Rows of a person in one file that Spark can tell: whoever counts by person need not exchange them.

Spark sorts rows into buckets by a hash of a column, writes the number of its bucket into the name of each
file, and later believes that equal values of that column are in one bucket.  How many buckets there are is in
a catalog, which our copies do not need otherwise: so it stands beside the rows, and a copy is a table of
Spark's own catalog for the moment in which its name is looked up.  The columns stand there too: a copy of
nobody has no file that says them, and whether there is anybody must not be told.

Believing it is right for copies alone, which nobody else could write.  Rows of a folder that lies about its
buckets would be counted for a person once for every bucket.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from discreet.engines.spark.folder import NO_PATTERN
from discreet.engines.spark.render import literal, quoted
from discreet.engines.spark.session import is_remote

BUCKETS = "_buckets"
"""How many there are, and which columns; Spark reads no file whose name begins so."""

_OWN = {
    "spark.sql.defaultCatalog": "spark_catalog",
    "spark.sql.catalog.spark_catalog": "builtin",
    "spark.sql.catalogImplementation": "in-memory",
}
"""What is set where Spark's own catalog is the one that is asked, and ends with this process."""


def write(rows: Any, unit: str, folder: Path) -> None:
    """Write rows as Parquet files, those of a person beside each other in one of them."""
    session = rows.sparkSession
    if not _forgets(session):
        rows.sortWithinPartitions(quoted(unit)).write.parquet(str(folder))
        return
    count = session.sparkContext.defaultParallelism
    with _named(session) as name:
        files = rows.write.format("parquet").option("path", str(folder)).option(*NO_PATTERN)
        files.bucketBy(count, unit).sortBy(unit).saveAsTable(name)
    columns = [[field.name, field.dataType.simpleString()] for field in rows.schema.fields]
    (folder / BUCKETS).write_text(json.dumps({"buckets": count, "columns": columns}), encoding="utf-8")


def read(session: Any, unit: str, folder: str) -> Any:
    """Return the rows of a copy, by buckets where it has some and Spark can be told."""
    reader = session.read.option(*NO_PATTERN)
    if not are_in(folder):
        return reader.parquet(folder)
    said = json.loads((Path(folder) / BUCKETS).read_text(encoding="utf-8"))
    if not _forgets(session):
        return reader.schema(_listed(said["columns"])).parquet(folder)
    # Texts are themselves, whatever a database of the catalog takes for equal.
    binary = {"string": "string COLLATE UTF8_BINARY"}
    columns = _listed((column, binary.get(kind, kind)) for column, kind in said["columns"])
    with _named(session) as name:
        session.sql(
            f"CREATE TABLE {name} ({columns}) USING parquet OPTIONS ({NO_PATTERN[0]} '{NO_PATTERN[1]}') "
            f"CLUSTERED BY ({quoted(unit)}) INTO {int(said['buckets'])} BUCKETS LOCATION {literal(folder)}"
        )
        return session.table(name)


def are_in(folder: str) -> bool:
    """Whether a copy has buckets."""
    return (Path(folder) / BUCKETS).exists()


def _listed(columns: Any) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)


def _forgets(session: Any) -> bool:
    """Whether a name in the catalog ends with this process: nobody's that lasts is written into."""
    return not is_remote(session) and all(session.conf.get(name, own) == own for name, own in _OWN.items())


@contextmanager
def _named(session: Any) -> Iterator[str]:
    """Yield a name that nobody has; the rows of what gets it stay when the name goes."""
    name = f"spark_catalog.default.copy_{uuid4().hex}"
    try:
        yield name
    finally:
        session.sql(f"DROP TABLE IF EXISTS {name}")
