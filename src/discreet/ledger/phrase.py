"""What a turn says to PostgreSQL: statements that are prepared once, so that many of them make one journey.

Only statements without parameters of the protocol's own can be sent together; so values are written into
them, by the escaping of the server's own library.
"""

from typing import Any

from discreet.ledger.codec import canonical
from discreet.ledger.store import COLUMNS, Row
from discreet.ledger.tables import FREE, HEAD

COMMIT = b"COMMIT"
HASTILY = b"SET LOCAL synchronous_commit = off; COMMIT"
"""Ends a turn in which nothing was written: it held a lock, and nobody waits until that is on a disk."""

_ENTRIES = f"SELECT {COLUMNS} FROM discreet_entry WHERE dataset = $1"
ASKED = (
    f"(SELECT 0, r.* FROM ({_ENTRIES} AND request = $2 AND kind = 'reserved') r) UNION ALL "
    f"(SELECT 1, a.* FROM ({_ENTRIES} AND asked = $3 AND kind = 'answered' ORDER BY number LIMIT 1) a)"
)
"""The entry that reserved a request, and the earliest answer to a question."""

_VALUES = "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
_ADDED = f"WITH added AS (INSERT INTO discreet_entry ({COLUMNS}) {_VALUES}), "
_TOTALS = (
    "INSERT INTO discreet_total SELECT $1, t.key, t.value FROM json_each_text($11) AS t "
    "ON CONFLICT (dataset, name) DO UPDATE SET value = excluded.value"
)
BEGIN = f"{_ADDED}moved AS (INSERT INTO discreet_head (dataset, number, state) VALUES ($1, $2, '')) {_TOTALS}"
ADD = f"{_ADDED}moved AS (UPDATE discreet_head SET number = $2, state = '' WHERE dataset = $1) {_TOTALS}"
"""An entry, the head that moves to it, and the rows of the account that it changes."""

DROP = "DELETE FROM discreet_total WHERE dataset = $1 AND name = $2"
"""A row of the account that goes: one at a time, since for several at once a server may look at all rows."""

_ENTRY = "(text, bigint, text, text, text, bigint, text, bytea, bytea, bytea, json)"
PREPARED = "; ".join(
    (
        "DEALLOCATE ALL",
        "PREPARE discreet_lock (text) AS SELECT FROM discreet_head WHERE dataset = $1 FOR UPDATE",
        f"PREPARE discreet_find_head (text) AS {HEAD}",
        f"PREPARE discreet_asked (text, text, text) AS {ASKED}",
        f"PREPARE discreet_begin {_ENTRY} AS {BEGIN}",
        f"PREPARE discreet_add {_ENTRY} AS {ADD}",
        f"PREPARE discreet_drop (text, text) AS {DROP}",
        f"PREPARE discreet_free (text, bigint) AS {FREE}",
    )
).encode()


def adding(escaping: Any, row: Row, changed: list[tuple[str, str | None]]) -> bytes:
    """Return what adds an entry, moves the head to it and changes rows of the account."""
    kept = canonical({name: value for name, value in changed if value is not None})
    added = executing(escaping, "discreet_begin" if row.number == 1 else "discreet_add", *row, kept)
    gone = [name for name, value in changed if value is None]
    return b"; ".join([added, *(executing(escaping, "discreet_drop", row.dataset, name) for name in gone)])


def executing(escaping: Any, name: str, *values: object) -> bytes:
    """Return what runs a prepared statement with these values."""
    return b"EXECUTE %b (%b)" % (name.encode(), b", ".join([_written(escaping, value) for value in values]))


def _written(escaping: Any, value: object) -> bytes:
    match value:
        case str():
            return bytes(escaping.escape_literal(value.encode()))
        case int():
            return b"%d" % value
        case bytes():
            return b"E'\\\\x%b'" % value.hex().encode()
        case None:
            return b"NULL"
    raise TypeError
