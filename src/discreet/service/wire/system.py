"""What clients ask about the catalogue, answered from declarations; this is a worker's side."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.language.token import split
from discreet.service.wire import types
from discreet.service.wire.expression import target
from discreet.service.wire.reckon import Reckoner
from discreet.service.wire.relations import SystemRelation, named, relations
from discreet.service.wire.scalar import Beyond, Context, shown

LARGEST = 4_000_000
"""So many characters an answer has at most, each cell counted as a few more."""

_UNREADABLE = (SqlglotError, RecursionError, ValueError, TypeError, IndexError, AttributeError, KeyError)


class PlainFunctions(PostgresParser):
    """PostgreSQL's parser, for which a function is its name and its arguments."""

    FUNCTIONS = {}  # noqa: RUF012


class PostgresReader(Postgres):
    """PostgreSQL's dialect with plain functions."""

    Parser = PlainFunctions


def answered(catalog: Catalog, user: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of what was asked about the catalogue, its rows, and the types of its parameters."""
    sql, sent = str(body["sql"]), body["parameters"]
    tree = _tree(sql)
    found = _table(catalog, user, tree, [_value(*one) for one in sent], dict(body["settings"]))
    rows = [
        [_cell(cell, kind) for cell, (_, kind) in zip(row, found.columns, strict=True)] for row in found.rows
    ]
    if sum(8 + len(cell or "") for row in rows for cell in row) > LARGEST:
        raise QueryError("the catalogue", "has more to say than fits into an answer", "ask for a part of it")
    cast = _cast(tree)
    given = [cast.get(place, "text") for place in range(1, len(sent) + 1)]
    return {"columns": found.columns, "rows": rows if body["rows"] else [], "parameters": given}


def _tree(sql: str) -> exp.Expr:
    try:
        reader = PostgresReader()
        trees = reader.parser().parse(split(sql, reader), sql)
    except (QueryError, *_UNREADABLE):
        trees = []
    if len(trees) != 1 or trees[0] is None:
        raise QueryError("the question", "is not SQL that can be read", "write one SELECT statement")
    return trees[0]


def _cast(tree: exp.Expr) -> dict[int, str]:
    """Return the types to which parameters are cast where they stand."""
    found: dict[int, str] = {}
    for node in tree.find_all(exp.Parameter):
        kind = target(node.parent) if isinstance(node.parent, exp.Cast) else ""
        if kind in types.TYPES and node.name.isdecimal():
            found[int(node.name)] = kind
    return found


def _table(
    catalog: Catalog, user: str, tree: exp.Expr, given: Sequence[Any], settings: dict[str, str]
) -> SystemRelation:
    context = Context(user, catalog.name, named(catalog), settings)
    known = relations(catalog, user, tuple(sorted(settings.items())))
    try:
        return Reckoner(known, context, given).table(tree)
    except Beyond as beyond:
        raise QueryError(
            "the catalogue",
            f"{beyond} is not known to what answers for it",
            "see information_schema.tables and information_schema.columns; questions name declared tables",
        ) from None
    except (*_UNREADABLE, ArithmeticError):
        # Everything here is public, so what an interpreter of a part of SQL stumbles over tells nothing.
        raise QueryError("the catalogue", "is not asked about like this", "write it more plainly") from None


def _value(kind: str, said: str | None) -> Any:
    match kind:
        case "whole":
            return int(said or 0)
        case "truth":
            return said == "true"
        case "null" | "type":
            return None
        case _:
            return said


def _cell(value: Any, kind: str) -> types.Cell:
    if isinstance(value, list) and kind.endswith("[]"):
        return [shown(one) for one in value]
    return shown(value)
