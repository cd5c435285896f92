"""Where a table lives in Spark, and how its columns become exactly the declared ones.

spark:CATALOG.TABLE and spark:/FOLDER (Parquet or Delta) are read by the Spark of the environment, or else by
one that is started here; spark://HOST:PORT#TABLE by a cluster, sc://HOST:PORT#TABLE through Spark Connect.
None of them holds a secret: a token comes from the environment, and one that is written into a source is
refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.engines.distant import typed_columns
from discreet.engines.protocol import Origin
from discreet.engines.spark.render import LARGE, TEMPLATES, TINY, quoted
from discreet.errors import CatalogError

HERE, MASTER, CONNECT = "spark:", "spark://", "sc://"

_ADDRESS = re.compile(r"(spark|sc)://[A-Za-z0-9.\-\[\]:]+(,[A-Za-z0-9.\-:]+)*(/;use_ssl=true)?")
_WHOLES = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_MOMENTS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table or folder that the Spark at an address (none: the one of the environment) can read."""

    address: str
    table: tuple[str, ...] = ()
    folder: str = ""

    @property
    def sql(self) -> str:
        """Return the table's full name as SQL."""
        return ".".join(map(quoted, self.table))


def is_spark(rows: Any) -> bool:
    """Whether a source is read by Spark."""
    return isinstance(rows, str) and rows.startswith((HERE, MASTER, CONNECT))


def place_of(name: str, rows: str) -> SparkTable:
    """Return the place that a source names; no message repeats it, since it may hold a token."""
    where = f"tables.{name}.source"
    if rows.startswith((MASTER, CONNECT)):
        address, _, inside = rows.partition("#")
        if not _ADDRESS.fullmatch(address):
            raise CatalogError(
                f"{where}: an address of Spark is a host and a port, as in sc://host:15002#catalog.table; "
                "give a token by SPARK_CONNECT_AUTHENTICATE_TOKEN"
            )
    else:
        address, inside = "", rows.removeprefix(HERE)
    if "/" in inside:
        return SparkTable(address, folder=inside)
    table = tuple(inside.split("."))
    if not all(table):
        raise CatalogError(
            f"{where}: name a table, as in spark:catalog.table, or a folder, spark:/data/visits"
        )
    return SparkTable(address, table)


def offered(name: str, origin: Origin, relation: str, stored: Mapping[str, str]) -> str:
    """Return the query that offers exactly the declared columns of a relation with the declared types."""
    columns = typed_columns(
        name, origin, stored, lambda own, physical, kind: _typed(f"`__t`.{quoted(own)}", physical, kind)
    )
    items = [f"{text} AS {quoted(column)}" for column, text in columns]
    return f"SELECT {', '.join(items) or '1 AS nothing'} FROM {relation} AS `__t`"


def _typed(column: str, physical: str, kind: str) -> str | None:
    """Return a column under a declared type, or None where the types have nothing to do with each other."""
    match kind, physical:
        case "integer" | "identifier", physical if physical in _WHOLES:
            return f"CAST({column} AS BIGINT)"
        case "integer", physical if physical.startswith("decimal"):
            inside = "BETWEEN -9223372036854775808L AND 9223372036854775807L"
            return f"CASE WHEN round({column}, 0) {inside} THEN CAST(round({column}, 0) AS BIGINT) END"
        case "integer", physical if physical in _FLOATS:
            real = f"CAST({column} AS DOUBLE)"
            inside = f"{real} >= -9223372036854775808D AND {real} < 9223372036854775808D"
            return f"CASE WHEN {inside} THEN CAST(rint({real}) AS BIGINT) END"
        case "decimal", physical if physical in (*_WHOLES, *_FLOATS) or physical.startswith("decimal"):
            real = f"CAST({column} AS DOUBLE)"
            return f"CASE WHEN abs({real}) < {TINY} THEN 0D WHEN abs({real}) < {LARGE} THEN {real} END"
        case "boolean", "boolean":
            return column
        case "boolean", physical if physical in _WHOLES:
            return f"({column} <> 0)"
        case "integer", "boolean":
            return f"CAST({column} AS BIGINT)"
        case _, "string" if kind not in ("text", "identifier"):
            parse = {"integer": "parse_whole", "decimal": "parse_real", "boolean": "parse_truth"}
            parse |= {"date": "parse_day", "timestamp": "parse_moment"}
            return TEMPLATES[parse[kind]].format(column)
        case "text" | "identifier", "string":
            # Two texts that are not UTF-8 could look the same once they are read.
            return f"try_validate_utf8({column})"
        case "text" | "identifier", physical if physical in (*_WHOLES, "boolean"):
            return f"CAST({column} AS STRING)"
        case "text" | "identifier", physical if physical.startswith("decimal"):
            # 7.0 is 7, as in a column of integers.
            text = f"CAST({column} AS STRING)"
            return text if physical.endswith(",0)") else f"regexp_replace({text}, '[.]?0*$', '')"
        case _:
            return _moment(column, physical, kind)


def _moment(column: str, physical: str, kind: str) -> str | None:
    if physical == "date":
        own, inside = column, "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    elif physical in _MOMENTS:
        # With a time zone, the moment in UTC, which is that of the session.
        own = f"CAST({column} AS TIMESTAMP_NTZ)"
        inside = "BETWEEN TIMESTAMP_NTZ '0001-01-01 00:00:00' AND TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"
    else:
        return None
    types = {"date": "DATE", "timestamp": "TIMESTAMP_NTZ", "text": "STRING", "identifier": "STRING"}
    return f"CASE WHEN {own} {inside} THEN CAST({own} AS {types[kind]}) END" if kind in types else None


_KINDS = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    **dict.fromkeys(_MOMENTS, "TIMESTAMP"),
}


def plain(physical: str) -> str:
    """Return a type by the word that catalogues of all engines use."""
    return "DECIMAL" if physical.startswith("decimal") else _KINDS.get(physical, physical)
