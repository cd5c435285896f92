"""The tables of a ledger in PostgreSQL, version by version; each step leads from one version to the next.

The database itself refuses to change or remove what is final, and asks who may decide: whatever program
connects, entries are only added, heads move forward one by one, and only curators set limits.
"""

from discreet.ledger.store import COLUMNS

_NEWEST = "SELECT number FROM discreet_entry WHERE dataset = $1 ORDER BY number DESC LIMIT 1"
LAST = f"SELECT coalesce(({_NEWEST}), 0)"
HEAD = (
    f"SELECT ({LAST}), h.number, {', '.join(f'e.{column}' for column in COLUMNS.split(', '))} "
    f"FROM discreet_head h LEFT JOIN LATERAL (SELECT {COLUMNS} FROM discreet_entry "
    "WHERE dataset = $1 AND number = h.number LIMIT 1) e ON TRUE WHERE h.dataset = $1"
)
"""Where a history ends; prepared once, and run together with the statement that locks it.

It was planned, as a rule, when the tables were empty, and is planned again only after the server has counted
them: so nothing here may have a second plan that is as good for no rows and reads all of many.
"""

ALIVE = """SELECT FROM pg_locks k WHERE k.locktype = 'advisory' AND k.granted AND k.pid = held.pid
    AND (k.classid::bigint << 32 | k.objid::bigint) = held.number"""
"""Whoever wrote the name in a lease still holds the lock whose number stands beside it."""

TAKE = f"""INSERT INTO discreet_lease AS held VALUES ($1, $2, pg_backend_pid())
    ON CONFLICT (name) DO UPDATE SET number = excluded.number, pid = excluded.pid
    WHERE NOT EXISTS ({ALIVE}) RETURNING 1"""
FREE = "DELETE FROM discreet_lease WHERE name = $1 AND number = $2"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE discreet_ledger (
            single BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (single),
            schema INTEGER NOT NULL, identity TEXT NOT NULL, key TEXT NOT NULL)""",
        """CREATE TABLE discreet_entry (
            dataset TEXT NOT NULL, number BIGINT NOT NULL CHECK (number > 0), kind TEXT NOT NULL,
            request TEXT, asked TEXT, refers BIGINT,
            body TEXT NOT NULL, previous BYTEA NOT NULL, mac BYTEA NOT NULL, payload BYTEA,
            PRIMARY KEY (dataset, number))""",
        "CREATE TABLE discreet_head (dataset TEXT PRIMARY KEY, number BIGINT NOT NULL, state TEXT NOT NULL)",
        "CREATE UNIQUE INDEX discreet_entry_request ON discreet_entry (dataset, request) WHERE kind = "
        "'reserved'",
        """CREATE UNIQUE INDEX discreet_entry_outcome ON discreet_entry (dataset, refers)
            WHERE kind IN ('answered', 'failed')""",
        """CREATE FUNCTION discreet_refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$""",
        """CREATE TRIGGER discreet_entry_is_final BEFORE UPDATE OR DELETE ON discreet_entry
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_entry_stays BEFORE TRUNCATE ON discreet_entry
            FOR EACH STATEMENT EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_head_moves_forward BEFORE UPDATE ON discreet_head FOR EACH ROW
            WHEN (NEW.number <> OLD.number + 1 OR NEW.dataset <> OLD.dataset)
            EXECUTE FUNCTION discreet_refuse()""",
        """CREATE TRIGGER discreet_head_stays BEFORE DELETE ON discreet_head
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
    ),
    (
        """CREATE INDEX discreet_entry_asked ON discreet_entry (dataset, asked, number)
            WHERE kind = 'answered'""",
    ),
    (
        """CREATE UNIQUE INDEX discreet_entry_step ON discreet_entry (dataset, refers, asked)
            WHERE kind = 'advanced'""",
        """CREATE TABLE discreet_secret (
            dataset TEXT NOT NULL, number BIGINT NOT NULL, concealed BYTEA NOT NULL,
            PRIMARY KEY (dataset, number))""",
        """CREATE TRIGGER discreet_secret_stays BEFORE DELETE ON discreet_secret
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
    ),
    (
        """CREATE TABLE discreet_total (
            dataset TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (dataset, name))""",
        """CREATE TABLE discreet_checkpoint (
            dataset TEXT PRIMARY KEY, number BIGINT NOT NULL, state TEXT NOT NULL, mac BYTEA NOT NULL)""",
        """CREATE TABLE discreet_former (
            dataset TEXT NOT NULL, number BIGINT NOT NULL, concealed BYTEA NOT NULL,
            PRIMARY KEY (dataset, number))""",
        "CREATE UNLOGGED TABLE discreet_lease (name TEXT PRIMARY KEY, number BIGINT NOT NULL, pid INTEGER)",
        "CREATE TABLE discreet_duty (member TEXT NOT NULL, duty TEXT NOT NULL, PRIMARY KEY (member, duty))",
        """CREATE TRIGGER discreet_former_stays BEFORE DELETE ON discreet_former
            FOR EACH ROW EXECUTE FUNCTION discreet_refuse()""",
        *(
            f"""CREATE TRIGGER discreet_{table}_is_kept BEFORE TRUNCATE ON discreet_{table}
            FOR EACH STATEMENT EXECUTE FUNCTION discreet_refuse()"""
            for table in ("ledger", "head", "secret", "total", "former", "duty")
        ),
        """CREATE FUNCTION discreet_curators_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF NOT EXISTS (
                    SELECT FROM pg_class c WHERE c.oid = TG_RELID AND pg_has_role(c.relowner, 'USAGE')
                ) AND NOT EXISTS (
                    SELECT FROM discreet_duty d JOIN pg_roles r ON r.rolname = d.member
                    WHERE d.duty = 'curator' AND pg_has_role(r.oid, 'USAGE')
                ) THEN
                    RAISE EXCEPTION 'only a curator of the ledger may do this';
                END IF;
                RETURN NEW;
            END $$""",
        """CREATE TRIGGER discreet_curators_decide BEFORE INSERT ON discreet_entry FOR EACH ROW
            WHEN (NEW.kind NOT IN ('reserved', 'retried', 'answered', 'failed', 'advanced'))
            EXECUTE FUNCTION discreet_curators_only()""",
        """CREATE TRIGGER discreet_curators_limit BEFORE INSERT OR UPDATE ON discreet_total FOR EACH ROW
            WHEN (NEW.name NOT LIKE '["spent"%' AND NEW.name NOT LIKE '["running"%'
                AND NEW.name NOT LIKE '["stream"%')
            EXECUTE FUNCTION discreet_curators_only()""",
    ),
)
