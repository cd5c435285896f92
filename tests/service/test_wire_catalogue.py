"""The catalogue as clients of PostgreSQL ask about it: worked out from declarations, within limits."""

from typing import Any

import pytest

from discreet.errors import QueryError
from discreet.query.catalog.manifest import declare
from discreet.service.wire.system import answered

COLUMNS = {f"c{n}": "integer" for n in range(20)}
TABLES = {f"t{n}": {"unit": "row", "columns": COLUMNS} for n in range(30)}
CATALOG = declare({"dataset": {"name": "wide"}, "budget": {"epsilon": 1}, "tables": TABLES})
FEW = declare({"dataset": {"name": "few"}, "budget": {"epsilon": 1}, "tables": {"t1": TABLES["t1"]}})


def rows(sql: str, *given: tuple[str, str | None], catalog: Any = CATALOG) -> list[list[Any]]:
    body = {"sql": sql, "parameters": given, "settings": {"server_version": "16.0"}, "rows": True}
    found: list[list[Any]] = answered(catalog, "ada", body)["rows"]
    return found


JOINED = (
    "SELECT c.relname, a.attname, t.typname FROM pg_class c JOIN pg_attribute a ON {} "
    "LEFT JOIN pg_type t ON {} WHERE c.relname {} ORDER BY 1, a.attnum"
)


def test_a_join_by_a_column_finds_what_comparing_every_pair_finds():
    """Rows are found by an index where a condition is a plain equality, and by trying otherwise."""
    fast = JOINED.format("a.attrelid = c.oid", "t.oid = a.atttypid AND true", "IN ('t1', 't2')")
    slow = JOINED.format("(a.attrelid - c.oid = 0)", "NOT (t.oid <> a.atttypid)", "LIKE 't1'")
    found = rows(fast, catalog=FEW)
    assert found == rows(slow, catalog=FEW)
    assert [row[1:] for row in found] == [[name, "int8"] for name in COLUMNS]
    text = JOINED.format("a.attrelid::text = c.oid", "t.oid::text = a.atttypid", "= 't1'")
    assert rows(text, catalog=FEW) == found


def test_a_wide_catalogue_is_within_reach_and_every_pair_of_everything_is_not():
    assert len(rows(JOINED.format("a.attrelid = c.oid", "t.oid = a.atttypid", "IS NOT NULL"))) == 600
    with pytest.raises(QueryError, match="so much work"):
        rows("SELECT 1 FROM pg_attribute a, pg_attribute b, pg_attribute c")


CASES: dict[str, list[list[Any]]] = {
    "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v')": [["30"]],
    "SELECT count(*) FROM pg_class WHERE relname NOT IN ('t1') AND NOT relname LIKE 't2%'": [["18"]],
    "SELECT relname FROM pg_class ORDER BY relname DESC LIMIT 2 OFFSET 1": [["t8"], ["t7"]],
    "SELECT DISTINCT relkind FROM pg_class UNION ALL SELECT 'x'": [["r"], ["x"]],
    "SELECT 'x' AS a UNION SELECT 'x'": [["x"]],
    "WITH k AS (SELECT oid FROM pg_class WHERE relname = 't3') SELECT count(*) FROM pg_attribute, k "
    "WHERE attrelid = k.oid": [["20"]],
    "SELECT (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid) FROM pg_class c LIMIT 1": [["20"]],
    "SELECT EXISTS (SELECT 1 FROM pg_index), NULL IS NULL, NOT NULL, 1 = NULL": [["f", "t", None, None]],
    "SELECT array_agg(relname) FROM pg_class WHERE relname ~ '^t[12]$'": [[["t1", "t2"]]],
    "SELECT 'x' = ANY (ARRAY['x', 'y']), 'z' <> ALL (ARRAY['x'])": [["t", "t"]],
    "SELECT CASE relkind WHEN 'r' THEN 'table' ELSE 'other' END FROM pg_class LIMIT 1": [["table"]],
    "SELECT current_setting('server_version'), current_schema(), version() LIKE 'PostgreSQL%'": [
        ["16.0", "public", "t"]
    ],
    "SELECT coalesce(NULL, 'x'), nullif(1, 1), 1 + 2 * 3, 'a' || 'b', upper('c')": [
        ["x", None, "7", "ab", "C"]
    ],
    "SELECT pg_catalog.format_type(20, -1), 't1'::regclass, to_regclass('nothing')": [
        ["bigint", "16385", None]
    ],
    "SELECT c.relname FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid WHERE i.indrelid IS NULL "
    "LIMIT 1": [["t0"]],
    "SELECT a.n FROM (VALUES (1), (2)) AS a (n) WHERE a.n BETWEEN 2 AND 3": [["2"]],
    "SELECT g FROM generate_series(2, 4) AS g": [["2"], ["3"], ["4"]],
}


@pytest.mark.parametrize("sql", CASES)
def test_what_clients_say_means_what_it_means_to_postgresql(sql: str):
    assert rows(sql) == CASES[sql]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t1",
        "SELECT * FROM public.t1",
        "SELECT pg_sleep(10)",
        "SELECT pg_read_file('x')",
        "SELECT lo_import('x')",
        "SELECT set_config('x', 'y', false)",
        "SELECT nothing FROM pg_namespace n JOIN t1 ON true",
        "SELECT relname ~ '(a+)+$' FROM pg_class",
        "SELECT relname FROM pg_class FOR UPDATE; SELECT 1",
        "WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT 1 FROM a) SELECT * FROM a",
        "SELECT 1 FROM pg_class ORDER BY 7",
        "DROP TABLE pg_class",
        "SELECT 'pg_nothing.x'::regclass::nonsense",
        "(" * 500 + "SELECT 1" + ")" * 500,
    ],
)
def test_what_is_not_about_the_catalogue_or_not_understood_is_refused(sql: str):
    with pytest.raises(QueryError):
        rows(sql)
