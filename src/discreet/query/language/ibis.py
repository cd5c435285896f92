"""Ibis expressions as questions: Ibis writes them as SQL, and that is read like any other text.

Nothing here is needed by whoever has no Ibis: an expression can only come from somebody who loaded it.
"""

import sys
from collections.abc import Iterable
from typing import Any

from discreet.errors import QueryError
from discreet.extra import library

KINDS = {
    "integer": "int64",
    "decimal": "float64",
    "text": "string",
    "identifier": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
"""What Ibis calls the kinds of declared columns."""


def is_expression(question: object) -> bool:
    """Whether something is an expression of Ibis; it is not loaded to find out."""
    loaded = sys.modules.get("ibis.expr.types")
    return loaded is not None and isinstance(question, loaded.Expr)


def sql_of(expression: Any) -> str:
    """Return an expression of Ibis as SQL."""
    ibis = library("ibis", "ibis", "a question in Ibis")
    try:
        return str(ibis.to_sql(expression, dialect="duckdb"))
    except Exception as problem:  # Ibis raises errors of its own for what it cannot write.
        raise QueryError(
            "the Ibis expression",
            f"cannot be written as SQL ({type(problem).__name__})",
            "build it on data.ibis(...) or ibis.table(schema, name=...), without data of its own",
        ) from None


def table_of(name: str, columns: Iterable[tuple[str, str]]) -> Any:
    """Return a declared table as one of Ibis, to build expressions on; it holds no data."""
    ibis = library("ibis", "ibis", "a table in Ibis")
    return ibis.table({column: KINDS.get(kind, "string") for column, kind in columns}, name=name)
