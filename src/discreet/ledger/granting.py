"""Least privilege in PostgreSQL: what curators, analysts and auditors of a ledger may do with its tables.

Nobody gets the right to delete or truncate entries, heads, states or former keys, and triggers refuse it to
whoever has it.  Only curators add entries that set limits, admit, close, restore or change keys; the database
itself sees to that, whatever the program that connects may claim.
"""

from typing import Literal

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.pool import first_line
from discreet.ledger.store import refuse_schema

Duty = Literal["curator", "analyst", "auditor"]

READABLE = ("ledger", "entry", "head", "total", "secret", "former", "duty", "checkpoint")
READ = f"SELECT ON {', '.join(f'discreet_{table}' for table in READABLE)}"
LOCK = "UPDATE (state) ON discreet_head"
"""Whoever reads at one moment locks a head, which needs this right; a trigger refuses its use."""

REMEMBER = "SELECT, INSERT, UPDATE ON discreet_checkpoint"
WRITE = (
    "INSERT ON discreet_entry",
    "INSERT, UPDATE ON discreet_head",
    "INSERT, UPDATE, DELETE ON discreet_total",
    "INSERT, UPDATE ON discreet_secret",
    "SELECT, INSERT, UPDATE, DELETE ON discreet_lease",
)
DECIDE = ("INSERT ON discreet_former", "UPDATE (key) ON discreet_ledger")

RIGHTS: dict[Duty, tuple[str, ...]] = {
    "auditor": (READ, LOCK, REMEMBER),
    "analyst": (READ, REMEMBER, *WRITE),
    "curator": (READ, REMEMBER, *WRITE, *DECIDE),
}


def grant_ledger(url: str, member: str, duty: Duty) -> None:
    """Give a role of the database exactly what its duty needs; only the owner of the tables can do this.

    What the role could do before under another duty is taken away.
    """
    if duty not in RIGHTS:
        raise ParameterError(f"duty must be curator, analyst or auditor, got {duty!r}")
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise LedgerError(
            "a ledger in PostgreSQL needs the extra: pip install 'discreet[postgres]'"
        ) from None
    role = sql.Identifier(member)
    try:
        with psycopg.connect(url, connect_timeout=10) as database:
            found = database.execute("SELECT schema FROM discreet_ledger").fetchone()
            refuse_schema(0 if found is None else int(found[0]), "in PostgreSQL")
            schema = sql.Identifier(_only(database.execute("SELECT current_schema()").fetchone()))
            database.execute(sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {} FROM {}").format(schema, role))
            database.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
            for right in RIGHTS[duty]:
                database.execute(sql.SQL("GRANT {} TO {}").format(sql.SQL(right), role))
            database.execute("DELETE FROM discreet_duty WHERE member = %s", (member,))
            database.execute("INSERT INTO discreet_duty VALUES (%s, %s)", (member, duty))
    except psycopg.Error as error:
        raise LedgerError(f"the rights of {member} could not be granted: {first_line(error)}") from None


def _only(row: tuple[object, ...] | None) -> str:
    if row is None or not isinstance(row[0], str):
        raise LedgerError("the connection has no schema; name one in its search path")
    return row[0]
