"""DuckDB: how it opens tables, how it writes statements, how it runs them."""

from discreet.engines.duckdb.engine import DuckDB, open_tables, prepare
from discreet.engines.duckdb.schema import describe

__all__ = ["DuckDB", "describe", "open_tables", "prepare"]
