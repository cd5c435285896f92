"""PostgreSQL: private tables where they live, asked by read-only transactions that leave nothing behind."""

from discreet.engines.postgres.engine import Postgres, describe, fetch, open_tables
from discreet.engines.postgres.prepared import prepare
from discreet.engines.postgres.source import is_server, server_of

__all__ = ["Postgres", "describe", "fetch", "is_server", "open_tables", "prepare", "server_of"]
