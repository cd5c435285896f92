"""DuckDB: how it opens tables, how it writes statements, how it runs them."""

from discreet.engines.duckdb.engine import DuckDB, fetch, open_tables, prepare
from discreet.engines.duckdb.schema import describe

__all__ = ["DuckDB", "describe", "fetch", "open_tables", "prepare"]
