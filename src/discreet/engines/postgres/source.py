"""Where a table lives in PostgreSQL, and how its columns become exactly the declared ones.

postgresql://HOST/DATABASE#SCHEMA.TABLE names a place and no secret: a password comes from the environment
(PGPASSWORD), a password file or a service file, and one that is written into a source is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.engines.distant import typed_columns
from discreet.engines.postgres.render import LARGE, TEMPLATES, TINY
from discreet.engines.protocol import Origin
from discreet.engines.shelter import quietly
from discreet.engines.sql import quoted
from discreet.errors import CatalogError

SCHEMES = ("postgresql://", "postgres://")

NAMED = 63
"""The longest name of the server, in bytes; longer ones are cut, and two may become one."""

_ALLOWED = (
    *("host", "hostaddr", "port", "dbname", "user", "service", "target_session_attrs"),
    *("sslmode", "sslrootcert", "sslcrl", "sslcert", "sslkey", "gssencmode", "channel_binding"),
)

LONGEST = 2**24
"""The longest text, in bytes, that is read: a server raises where it would need a gigabyte at once.

A regular expression takes four bytes for each character, and REPLACE may make as many of one.
"""

_WHOLES = ("smallint", "integer", "bigint")
_FLOATS = ("real", "double precision")
_TEXTS = ("text", "character varying", "character", "name", "enum")
_MOMENTS = ("timestamp without time zone", "timestamp with time zone")

COLUMNS = """
SELECT a.attname, CASE t.typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN format_type(t.typbasetype, NULL)
       ELSE format_type(t.oid, NULL) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY a.attnum
"""
"""The columns of a table with their types; nothing but the catalogue is read."""

RANDOM = """
WITH RECURSIVE reached (oid, kind) AS (
  SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2
  UNION
  SELECT c.oid, c.relkind FROM reached r JOIN pg_rewrite w ON w.ev_class = r.oid AND r.kind = 'v'
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
  JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
), meant (text) AS (
  SELECT CAST(w.ev_action AS text) FROM reached r JOIN pg_rewrite w ON w.ev_class = r.oid AND r.kind = 'v'
  UNION ALL
  SELECT CAST(p.polqual AS text) FROM reached r JOIN pg_policy p ON p.polrelid = r.oid
), called (oid) AS (
  SELECT CAST(f[1] AS oid) FROM meant, regexp_matches(text, ':(?:funcid|aggfnoid|winfnoid) ([0-9]+)', 'g') f
  UNION
  SELECT CAST(o.oprcode AS oid) FROM meant, regexp_matches(text, ':opno ([0-9]+)', 'g') f
  JOIN pg_operator o ON o.oid = CAST(f[1] AS oid)
)
SELECT EXISTS (SELECT FROM meant WHERE text LIKE '%{TABLESAMPLECLAUSE %')
    OR EXISTS (SELECT FROM called JOIN pg_proc p ON p.oid = called.oid WHERE p.provolatile = 'v')
"""
"""Whether a view, one that it reads, or a policy of rows samples, or calls what may change between calls."""


SHORT = f"""
SELECT c.relkind = 'r' AND NOT c.relhassubclass
   AND (c.reltoastrelid = 0 OR pg_relation_size(c.reltoastrelid) < {LONGEST // 256})
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2
"""
"""Whether no text of a table is longer than what is read, told by what is kept beside its pages.

A value that does not fit into a page, of 32 kB at most, is kept beside them, and no compression of the server
makes it less than its 255th part: a text of more than `LONGEST` bytes takes more than this.  Views, parts and
heirs of a table keep theirs elsewhere.
"""


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table of a server; two tables are in one place if their `server` is the same."""

    server: tuple[tuple[str, str], ...]
    schema: str
    table: str

    @property
    def sql(self) -> str:
        """Return the table's full name as SQL."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"


def is_server(rows: Any) -> bool:
    """Whether a source is a table of a PostgreSQL server."""
    return isinstance(rows, str) and rows.startswith(SCHEMES)


def server_of(name: str, rows: str) -> ServerTable:
    """Return the place that a source names; no message repeats it, since it may hold a password."""
    address, _, path = rows.partition("#")
    schema, _, table = path.rpartition(".")
    where = f"tables.{name}.source"
    if not table or "." in schema:
        raise CatalogError(f"{where}: name a table, as in postgresql://host/database#schema.table")
    found = quietly(lambda: _read(address), CatalogError(f"{where} is not an address of PostgreSQL"))
    for key in found:
        if key not in _ALLOWED:
            raise CatalogError(
                f"{where}: {key} does not belong there; give passwords by PGPASSWORD, a password file or "
                "a service file (postgresql://?service=NAME#schema.table)"
            )
    return ServerTable(tuple(sorted(found.items())), schema or "public", table)


def _read(address: str) -> dict[str, str]:
    return {key: str(value) for key, value in driver().conninfo.conninfo_to_dict(address).items()}


def driver() -> Any:
    """Return the library that speaks to servers."""
    try:
        import psycopg
    except ImportError:
        raise CatalogError(
            "a table in PostgreSQL needs the extra: pip install 'discreet[postgres]'"
        ) from None
    return psycopg


def offered(
    name: str, origin: Origin, place: ServerTable, stored: Mapping[str, str], *, short: bool = False
) -> str:
    """Return the definition of a table that offers exactly the declared columns with the declared types.

    Of a table whose texts are known to be `short` none is measured.
    """
    if not stored:
        raise CatalogError(f"tables.{name}.source: the server has no such table that this user may see")
    columns = typed_columns(
        name,
        origin,
        stored,
        lambda own, physical, kind: _typed(f'"__t".{quoted(own)}', physical, kind, short=short),
    )
    items = [f"{text} AS {quoted(column)}" for column, text in columns]
    listed = ", ".join(items) or "1 AS nothing"
    return f'{quoted(name)} AS NOT MATERIALIZED (\nSELECT {listed}\nFROM {place.sql} AS "__t"\n)'


def kinds(name: str, origin: Origin, stored: Mapping[str, str]) -> dict[str, str]:
    """Return the declared columns with their types, identifiers by what they are here."""

    def settled(_: str, physical: str, kind: str) -> str:
        return kind if kind != "identifier" else "integer" if physical in _WHOLES else "text"

    return dict(typed_columns(name, origin, stored, settled))


def refuse_long(tables: Mapping[str, Origin]) -> None:
    """Refuse names that a server would cut."""
    for table, origin in tables.items():
        for name in (table, *(column for column, _ in origin.columns)):
            if len(name.encode()) > NAMED:
                raise CatalogError(f"tables.{table}: a name of more than {NAMED} bytes is too long here")


def _typed(column: str, physical: str, kind: str, *, short: bool) -> str | None:
    """Return a column under a declared type, or None where the types have nothing to do with each other."""
    text = f'(CAST({column} AS text) COLLATE "C")'
    if physical in _TEXTS and not short:
        text = f"(CASE WHEN octet_length(CAST({column} AS text)) <= {LONGEST} THEN {text} END)"
    match kind, physical:
        case "integer" | "identifier", physical if physical in _WHOLES:
            return f"CAST({column} AS bigint)"
        case "integer", "numeric":
            inside = "BETWEEN -9223372036854775808 AND 9223372036854775807"
            return f"CASE WHEN {column} {inside} THEN CAST(round({column}) AS bigint) END"
        case "integer", physical if physical in _FLOATS:
            real = f"CAST({column} AS float8)"
            inside = f"{real} >= -9223372036854775808::float8 AND {real} < 9223372036854775808::float8"
            return f"CASE WHEN {inside} THEN CAST({real} AS bigint) END"
        case "decimal", physical if physical in (*_WHOLES, *_FLOATS):
            return _graded(f"CAST({column} AS float8)")
        case "decimal", "numeric":
            # Beyond these the cast itself would raise; NaN and infinity are the largest numbers.
            real = _graded(f"CAST({column} AS float8)")
            return f"CASE WHEN abs({column}) < 1e-300 THEN 0 WHEN abs({column}) < 1e300 THEN {real} END"
        case "boolean", "boolean":
            return column
        case "boolean", physical if physical in _WHOLES:
            return f"({column} <> 0)"
        case "integer", "boolean":
            return f"CAST(CAST({column} AS integer) AS bigint)"
        case _ if physical in _TEXTS and kind not in ("text", "identifier"):
            parse = {"integer": "parse_whole", "decimal": "parse_real", "boolean": "parse_truth"}
            parse |= {"date": "parse_day", "timestamp": "parse_moment"}
            return TEMPLATES[parse[kind]].format(text)
        case "text" | "identifier", "numeric":
            # NaN and infinity are nobody, and 7.0 is 7.
            inside = f"abs({column}) < numeric 'Infinity'"
            return f'CASE WHEN {inside} THEN CAST(trim_scale({column}) AS text) COLLATE "C" END'
        case "text" | "identifier", physical if physical in (*_TEXTS, *_WHOLES, "uuid", "boolean"):
            return text
        case _:
            return _moment(column, physical, kind)


def _graded(real: str) -> str:
    return f"CASE WHEN abs({real}) < {TINY} THEN 0 WHEN abs({real}) < {LARGE} THEN {real} END"


def _moment(column: str, physical: str, kind: str) -> str | None:
    own = column
    if physical == "date":
        inside = f"{column} BETWEEN date '0001-01-01' AND date '9999-12-31'"
        cast = {"date": column, "timestamp": f"CAST({column} AS timestamp)"}
    elif physical in _MOMENTS:
        # With a time zone, the moment in UTC.
        own = f"({column} AT TIME ZONE 'UTC')" if physical.endswith("with time zone") else column
        inside = f"{own} BETWEEN timestamp '0001-01-01' AND timestamp '9999-12-31 23:59:59.999999'"
        cast = {"date": f"CAST({own} AS date)", "timestamp": own}
    else:
        return None
    cast |= dict.fromkeys(("text", "identifier"), f'(CAST({own} AS text) COLLATE "C")')
    return f"CASE WHEN {inside} THEN {cast[kind]} END" if kind in cast else None


_KINDS = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "numeric": "DECIMAL",
    "date": "DATE",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    **dict.fromkeys(_MOMENTS, "TIMESTAMP"),
    **dict.fromkeys((*_TEXTS, "uuid"), "VARCHAR"),
}


def plain(physical: str) -> str:
    """Return a type by the word that catalogues of all engines use."""
    return _KINDS.get(physical, physical)
