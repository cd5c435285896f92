"""DuckDB: how it opens tables, how it writes statements, how it runs them."""

from discreet.engines.duckdb.engine import DuckDB, describe, open_tables, prepare

__all__ = ["DuckDB", "describe", "open_tables", "prepare"]
