"""The public part of a catalog: what an analyst needs to plan a question, and nothing about where it lies.

It has the form of a manifest without sources, so reading it back is declaring it.
"""

from collections.abc import Mapping
from typing import Any

from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Moment, Real, Text, Whole, word
from discreet.query.catalog.manifest import ROW, Catalog, DeclaredTable, declare


def published(catalog: Catalog) -> dict[str, Any]:
    """Return a catalog as JSON values: no source, dialect, ledger or folder; numbers are exact text."""
    body: dict[str, Any] = {"dataset": {"name": catalog.name, "version": catalog.version}}
    if catalog.budget is not None:
        budget = catalog.budget
        body["budget"] = {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
        if budget.questions is not None:
            body["budget"]["questions"] = budget.questions
        if budget.slack is not None:
            body["budget"]["slack"] = str(budget.slack)
    body["tables"] = {table.name: _table(table) for table in catalog.tables}
    return body | ({"views": dict(catalog.views)} if catalog.views else {})


def known(document: Mapping[str, Any]) -> Catalog:
    """Return the catalog that was published."""
    return declare(document)


def _table(table: DeclaredTable) -> dict[str, Any]:
    columns = {column.name: _column(column) for column in table.columns}
    if table.public:
        return {"public": True, "columns": columns}
    limits = {
        "rows_per_unit": table.rows_per_unit,
        "groups_per_unit": table.groups_per_unit,
        "rows_per_group": table.rows_per_group,
    }
    return {
        "unit": table.person or ROW,
        "neighbours": str(table.adjacency),
        **{key: limit for key, limit in limits.items() if limit is not None},
        **({"prepared": True} if table.prepared else {}),
        "columns": columns,
    }


def _column(column: DeclaredColumn) -> dict[str, Any]:
    body: dict[str, Any] = {"type": word(column.kind)}
    match column.kind:
        case Text(values) if values is not None:
            body["values"] = list(values)
        case Whole(low, high) | Real(low, high) | Day(low, high) | Moment(low, high):
            body |= {key: str(end) for key, end in (("low", low), ("high", high)) if end is not None}
    match column.kind:
        case Real(step=step) if step is not None:
            body["step"] = str(step)
        case Moment(zone=zone) if zone is not None:
            body["zone"] = zone
    flags = {"nullable": (column.nullable, True), "unique": (column.unique, False)}
    body |= {key: value for key, (value, usual) in flags.items() if value is not usual}
    if column.references is not None:
        body["references"] = column.references
    return body | ({"bounds": "auto"} if column.auto else {})
