"""A bounded copy of a table on its server, made because the curator asked for it, and for its owner alone.

One transaction makes it: until that has ended nobody sees anything of it, and if it fails nothing was there.
Its rows are in the order of people, so what is told of each person is read in one place.
"""

from dataclasses import replace
from typing import Any

from discreet.engines.postgres.engine import Postgres, inspected, unreachable
from discreet.engines.postgres.render import CHOICE, render
from discreet.engines.postgres.source import NAMED, ServerTable, server_of
from discreet.engines.protocol import UNPREPARED, Origin, Preparation
from discreet.engines.shelter import quietly
from discreet.engines.sql import quoted, string
from discreet.errors import CatalogError, EngineError
from discreet.query.proof import sealed

_THERE = """
SELECT r.rolname IS NOT NULL AND c.relkind = 'r'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_roles r ON r.oid = c.relowner AND r.rolname = current_user
WHERE n.nspname = $1 AND c.relname = $2
"""
"""Whether what has a name is a table of this very user; no row where nothing has it."""

_MAY = """
SELECT has_schema_privilege(oid, 'CREATE') AND NOT pg_is_in_recovery() FROM pg_namespace WHERE nspname = $1
"""
"""Whether this user may create a table in a schema, and the server takes any."""

_OTHERS = """
SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
CROSS JOIN LATERAL (
  SELECT grantee FROM aclexplode(c.relacl)
  UNION SELECT x.grantee FROM pg_attribute a, aclexplode(a.attacl) x WHERE a.attrelid = c.oid
) g
LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE n.nspname = $1 AND c.relname = $2 AND g.grantee <> c.relowner
"""
"""Who else may do something with a table, by a grant of its own or by default, as SQL names them."""


def prepare(asked: Preparation, stem: str, digest: str) -> Origin:
    """Return the bounded copy of a table of a server, made there unless it is there.

    One of that name that belongs to somebody else is refused: what it holds is not known to be bounded.
    """
    source = server_of(asked.name, asked.origin.rows)
    copy = replace(source, table=_name(stem, digest))
    engine = Postgres({asked.name: asked.origin}, {asked.name: source}, {}, None)

    def there() -> bool:
        return quietly(lambda: _there(engine, asked.name, copy), unreachable(asked.name))

    try:
        if not there():
            quietly(lambda: _may(engine, asked.name, copy), unreachable(asked.name))
            try:
                quietly(lambda: _make(engine, asked, copy, stem), EngineError(UNPREPARED))
            except EngineError:
                # Somebody else may have been sooner, and theirs is as good.
                if not there():
                    raise
    finally:
        engine.close()
    return Origin(f"{asked.origin.rows.partition('#')[0]}#{copy.schema}.{copy.table}", asked.origin.columns)


def _name(stem: str, digest: str) -> str:
    """Return the name of a copy; a dot would end the name of a schema, and a long name would be cut."""
    ending = f"-{digest}-prepared"
    return stem.replace(".", "_").encode()[: NAMED - len(ending)].decode(errors="ignore") + ending


def _there(engine: Postgres, name: str, copy: ServerTable) -> bool:
    """Whether the copy is there, and from now on for its owner alone."""
    named = [copy.schema, copy.table]
    with engine._snapshot() as connection:
        found = connection.execute(_THERE, named).fetchone()
        shared = connection.execute(_OTHERS, named).fetchone() is not None
    if found == (False,):
        raise CatalogError(
            f"tables.{name}.prepared: what has the name of the bounded copy on the server belongs to "
            "somebody else; open the data as the user who made it, or have it dropped"
        )
    if shared:
        with engine._snapshot("READ WRITE") as connection:
            _only_for_its_owner(connection, copy)
            connection.execute("COMMIT")
    return found is not None


def _may(engine: Postgres, name: str, copy: ServerTable) -> None:
    """Refuse to begin where the source cannot be read, or nothing be created beside it."""
    inspected(engine)
    with engine._snapshot() as connection:
        if connection.execute(_MAY, [copy.schema]).fetchone() != (True,):
            raise CatalogError(
                f"tables.{name}.prepared: this user may not create a table in the schema of the source; "
                "GRANT CREATE ON SCHEMA, or leave prepared out and let rows_per_unit bound each question"
            )


def _make(engine: Postgres, asked: Preparation, copy: ServerTable, stem: str) -> None:
    with engine._snapshot("READ WRITE") as connection:
        connection.execute(f"SELECT set_config('{CHOICE}', $1, true)", [str(asked.choice)])
        (found,) = engine._definitions(connection, {asked.name}).values()
        kinds = {asked.name: dict(found.kinds)}
        rows = f"{render(sealed(asked.proved), kinds, [found.text])}\nORDER BY {quoted(asked.unit)}"
        connection.execute(f"CREATE TABLE {copy.sql} AS {rows}")
        says = string(
            f"discreet: rows of {stem}, few of each person; drop it when no manifest says this version"
        )
        connection.execute(f"COMMENT ON TABLE {copy.sql} IS {says}")
        _only_for_its_owner(connection, copy)
        # Otherwise the first questions would be planned as if there were no rows.
        connection.execute(f"ANALYZE {copy.sql}")
        connection.execute("COMMIT")


def _only_for_its_owner(connection: Any, copy: ServerTable) -> None:
    """Take what others may do with a copy of raw rows, also by default."""
    for (other,) in connection.execute(_OTHERS, [copy.schema, copy.table]).fetchall():
        connection.execute(f"REVOKE ALL ON TABLE {copy.sql} FROM {other} CASCADE")
