"""Rows of a person in one file that Spark can tell: whoever counts by person need not exchange them.

Spark sorts rows into buckets by a hash of a column, writes the number of its bucket into the name of each
file, and later believes that equal values of that column are in one bucket.  How many buckets there are is in
a catalog, which our copies do not need otherwise: so it stands beside the rows, and a copy is a table of
Spark's own catalog for the moment in which its name is looked up.

Believing it is right for copies alone, which nobody else could write.  Rows of a folder that lies about its
buckets would be counted for a person once for every bucket.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from discreet.engines.spark.folder import NO_PATTERN
from discreet.engines.spark.render import literal, quoted

BUCKETS = "_buckets"
"""How many there are; Spark reads no file whose name begins so."""


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
    (folder / BUCKETS).write_text(str(count))


def read(session: Any, unit: str, folder: str) -> Any:
    """Return the rows of a copy, by buckets where it has some."""
    found = session.read.option(*NO_PATTERN).parquet(folder)
    if not are_in(folder) or not _forgets(session):
        return found
    columns = ", ".join(f"{quoted(field.name)} {_typed(field.dataType)}" for field in found.schema)
    clustered = f"CLUSTERED BY ({quoted(unit)}) INTO {int((Path(folder) / BUCKETS).read_text())} BUCKETS"
    with _named(session) as name:
        session.sql(
            f"CREATE TABLE {name} ({columns}) USING parquet OPTIONS ({NO_PATTERN[0]} '{NO_PATTERN[1]}') "
            f"{clustered} LOCATION {literal(folder)}"
        )
        return session.table(name)


def are_in(folder: str) -> bool:
    """Whether a copy has buckets."""
    return (Path(folder) / BUCKETS).exists()


def _forgets(session: Any) -> bool:
    """Whether the catalog is Spark's own and ends with this process: nobody's that lasts is written into."""
    own = session.conf.get("spark.sql.catalog.spark_catalog", "builtin") == "builtin"
    return bool(own and session.conf.get("spark.sql.catalogImplementation") == "in-memory")


def _typed(kind: Any) -> str:
    """Return a type as text; texts are themselves, whatever a database of the catalog takes for equal."""
    said = kind.simpleString()
    return f"{said} COLLATE UTF8_BINARY" if said == "string" else str(said)


@contextmanager
def _named(session: Any) -> Iterator[str]:
    """Yield a name that nobody has; the rows of what gets it stay when the name goes.

    It says in which catalog, since the one that is asked by default may be somebody's database.
    """
    name = f"spark_catalog.default.copy_{uuid4().hex}"
    try:
        yield name
    finally:
        session.sql(f"DROP TABLE IF EXISTS {name}")
