"""The catalogue as clients of PostgreSQL look for it: tables about tables, made of declarations alone.

Everything in them is public: names, types and bounds that the curator declared.  Nothing counts rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Real, Text, Whole
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.service.wire import types
from discreet.service.wire.shape import of_kind

PUBLIC, SYSTEM, SCHEMA = 2200, 11, 13000
"""The numbers of the schemas public, pg_catalog and information_schema."""

OWNER = 10
CLASS = 1259
"""The number of pg_class, to which descriptions of tables refer."""

DATABASE = 5
FIRST = 16384


@dataclass(frozen=True, slots=True)
class SystemRelation:
    """A table: the names and types of its columns, and its rows.  Where it is `open` others are NULL."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Catalogued:
    """A declared table or view with its number and its columns."""

    number: int
    name: str
    kind: str
    columns: tuple[tuple[str, str, bool, str], ...]
    """Name, type, whether NULL cannot occur, and what is declared about it, in words."""


EMPTY = SystemRelation((), (), open=True)
"""What nothing is declared about: indexes, keys, functions and whatever else a system may have."""


def named(catalog: Catalog) -> tuple[Catalogued, ...]:
    """Return the declared tables and views, each with a number that stays the same while they do."""
    tables = [(table.name, "r", _offered(table)) for table in catalog.tables]
    views = [(name, "v", ()) for name, _ in catalog.views]
    return tuple(Catalogued(FIRST + n, *one) for n, one in enumerate([*tables, *views]))


def _offered(table: DeclaredTable) -> tuple[tuple[str, str, bool, str], ...]:
    """Return the columns of a table, with the one that identifies people."""
    declared = tuple(_column(column) for column in table.columns)
    if table.unit is None or table.column(table.unit) is not None:
        return declared
    return ((table.unit, "text", False, "identifies a person"), *declared)


def _column(column: DeclaredColumn) -> tuple[str, str, bool, str]:
    return column.name, of_kind(column.kind), not column.nullable, _words(column)


def _words(column: DeclaredColumn) -> str:
    """Return what is declared about a column, beyond its type."""
    match column.kind:
        case Text(values) if values is not None:
            shown = ", ".join(values[:20])
            return f"one of {shown}{', ...' if len(values) > 20 else ''}"
        case Whole(low, high) | Real(low, high) | Day(low, high) if low is not None and high is not None:
            step = getattr(column.kind, "step", None)
            return f"{low} to {high}{'' if step is None else f' in steps of {step}'}"
        case _:
            return ""


def relations(catalog: Catalog, user: str, settings: Sequence[tuple[str, str]]) -> dict[str, SystemRelation]:
    """Return the tables of the catalogue by name; those of information_schema with it before them."""
    found = named(catalog)
    return {
        "pg_namespace": _namespaces(),
        "pg_class": _classes(found),
        "pg_attribute": _attributes(found),
        "pg_type": _types(),
        "pg_database": _databases(catalog),
        "pg_roles": _roles(user),
        "pg_user": SystemRelation((("usename", "name"), ("usesysid", "oid")), ((user, OWNER),), open=True),
        "pg_description": _descriptions(found),
        "pg_settings": SystemRelation((("name", "text"), ("setting", "text")), tuple(settings), open=True),
        "pg_tables": _listed(found, "r", "tablename", "tableowner", user),
        "pg_views": _listed(found, "v", "viewname", "viewowner", user),
        "information_schema.schemata": _schemata(catalog, user),
        "information_schema.tables": _tables(catalog, found),
        "information_schema.views": _listed(found, "v", "table_name", "table_owner", user),
        "information_schema.columns": _columns(catalog, found),
    }


_ZERO = {"bool": False, "char": "", "oid": 0, "int2": 0, "int4": 0}
"""What a column has where nothing else is said; NULL for other types."""


def _made(columns: str, rows: Iterable[Mapping[str, Any]]) -> SystemRelation:
    """Return a relation whose columns are written as name:type."""
    heads = tuple((name, kind) for name, _, kind in (one.partition(":") for one in columns.split()))
    cells = (tuple(row.get(name, _ZERO.get(kind)) for name, kind in heads) for row in rows)
    return SystemRelation(heads, tuple(cells), open=True)


def _namespaces() -> SystemRelation:
    schemas = ((SYSTEM, "pg_catalog"), (PUBLIC, "public"), (SCHEMA, "information_schema"))
    rows = [{"oid": number, "nspname": name, "nspowner": OWNER} for number, name in schemas]
    return _made("oid:oid nspname:name nspowner:oid", rows)


def _classes(found: Sequence[Catalogued]) -> SystemRelation:
    usual = {"relnamespace": PUBLIC, "relowner": OWNER, "reltuples": -1.0, "relpersistence": "p"}
    return _made(
        """oid:oid relname:name relnamespace:oid reltype:oid reloftype:oid relowner:oid relam:oid
        relfilenode:oid reltablespace:oid relpages:int4 reltuples:float8 reltoastrelid:oid relhasindex:bool
        relisshared:bool relpersistence:char relkind:char relnatts:int2 relchecks:int2 relhasrules:bool
        relhastriggers:bool relhassubclass:bool relrowsecurity:bool relforcerowsecurity:bool
        relispopulated:bool relreplident:char relispartition:bool""",
        [
            {**usual, "oid": one.number, "relname": one.name, "relkind": one.kind}
            | {"relnatts": len(one.columns), "relispopulated": True, "relreplident": "d"}
            for one in found
        ],
    )


def _attributes(found: Sequence[Catalogued]) -> SystemRelation:
    rows = [
        {"attrelid": one.number, "attname": name, "attnum": place, "attnotnull": fixed, "attislocal": True}
        | {"atttypid": types.TYPES[kind].number, "attlen": types.TYPES[kind].size, "atttypmod": -1}
        | {"attstorage": "p"}
        for one in found
        for place, (name, kind, fixed, _) in enumerate(one.columns, 1)
    ]
    return _made(
        """attrelid:oid attname:name atttypid:oid attlen:int2 attnum:int2 atttypmod:int4 attnotnull:bool
        atthasdef:bool atthasmissing:bool attidentity:char attgenerated:char attisdropped:bool
        attislocal:bool attinhcount:int4 attcollation:oid attndims:int4 attstorage:char""",
        rows,
    )


SPELT = {
    "bool": "boolean",
    "int8": "bigint",
    "int2": "smallint",
    "int4": "integer",
    "float8": "double precision",
    "varchar": "character varying",
    "timestamp": "timestamp without time zone",
    "char": '"char"',
}
"""The names of types as people know them."""

_CATEGORY = {
    "bool": "B",
    "date": "D",
    "timestamp": "D",
    "text": "S",
    "varchar": "S",
    "name": "S",
    "char": "Z",
}


def type_name(number: int) -> str:
    """Return the name of a type as people know it."""
    name = types.BY_NUMBER.get(number)
    if name is None:
        return "???"
    base = name.removesuffix("[]")
    return SPELT.get(base, base) + ("[]" if name.endswith("[]") else "")


def _types() -> SystemRelation:
    rows = []
    for name, kind in types.TYPES.items():
        array = types.TYPES.get(f"{name}[]")
        rows.append(
            {
                "oid": kind.number,
                "typname": f"_{kind.of}" if kind.of else name,
                "typnamespace": SYSTEM,
                "typowner": OWNER,
                "typlen": kind.size,
                "typtype": "b",
                "typcategory": "A" if kind.of else _CATEGORY.get(name, "N"),
                "typisdefined": True,
                "typdelim": ",",
                "typelem": types.TYPES[kind.of].number if kind.of else 0,
                "typarray": 0 if array is None else array.number,
                "typtypmod": -1,
            }
        )
    return _made(
        """oid:oid typname:name typnamespace:oid typowner:oid typlen:int2 typtype:char typcategory:char
        typisdefined:bool typdelim:char typrelid:oid typelem:oid typarray:oid typnotnull:bool typbasetype:oid
        typtypmod:int4 typndims:int4 typcollation:oid""",
        rows,
    )


def _databases(catalog: Catalog) -> SystemRelation:
    row = {"oid": DATABASE, "datname": catalog.name, "datdba": OWNER, "encoding": 6, "datlocprovider": "c"}
    row |= {"datallowconn": True, "datconnlimit": -1, "datcollate": "C.UTF-8", "datctype": "C.UTF-8"}
    return _made(
        """oid:oid datname:name datdba:oid encoding:int4 datlocprovider:char datistemplate:bool
        datallowconn:bool datconnlimit:int4 datcollate:text datctype:text""",
        [row],
    )


def _roles(user: str) -> SystemRelation:
    row = {"oid": OWNER, "rolname": user, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
    return _made(
        """oid:oid rolname:name rolsuper:bool rolinherit:bool rolcreaterole:bool rolcreatedb:bool
        rolcanlogin:bool rolreplication:bool rolconnlimit:int4 rolbypassrls:bool""",
        [row],
    )


def _descriptions(found: Sequence[Catalogued]) -> SystemRelation:
    rows = [
        {"objoid": one.number, "classoid": CLASS, "objsubid": place, "description": words}
        for one in found
        for place, (_, _, _, words) in enumerate(one.columns, 1)
        if words
    ]
    return _made("objoid:oid classoid:oid objsubid:int4 description:text", rows)


def _listed(found: Sequence[Catalogued], kind: str, name: str, owner: str, user: str) -> SystemRelation:
    schema = "table_schema" if name == "table_name" else "schemaname"
    rows = [{schema: "public", name: one.name, owner: user} for one in found if one.kind == kind]
    return _made(f"{schema}:name {name}:name {owner}:name", rows)


def _schemata(catalog: Catalog, user: str) -> SystemRelation:
    rows = [
        {"catalog_name": catalog.name, "schema_name": name, "schema_owner": user}
        for name in ("information_schema", "pg_catalog", "public")
    ]
    return _made("catalog_name:name schema_name:name schema_owner:name", rows)


def _tables(catalog: Catalog, found: Sequence[Catalogued]) -> SystemRelation:
    words = {"r": "BASE TABLE", "v": "VIEW"}
    rows = [
        {"table_catalog": catalog.name, "table_schema": "public", "table_name": one.name}
        | {"table_type": words[one.kind], "is_insertable_into": "NO"}
        for one in found
    ]
    return _made(
        "table_catalog:name table_schema:name table_name:name table_type:text is_insertable_into:text", rows
    )


def _columns(catalog: Catalog, found: Sequence[Catalogued]) -> SystemRelation:
    rows = [
        {"table_catalog": catalog.name, "table_schema": "public", "table_name": one.name}
        | {"column_name": name, "ordinal_position": place, "is_nullable": "NO" if fixed else "YES"}
        | {"data_type": SPELT.get(kind, kind), "udt_name": kind}
        for one in found
        for place, (name, kind, fixed, _) in enumerate(one.columns, 1)
    ]
    return _made(
        """table_catalog:name table_schema:name table_name:name column_name:name ordinal_position:int4
        is_nullable:text data_type:text udt_name:name""",
        rows,
    )
