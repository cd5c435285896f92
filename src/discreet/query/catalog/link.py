"""Units through keys: rows that belong to a person only through the rows of another table.

`unit = "orders.customer"` says that a row belongs to whoever the row of `orders` belongs to that it refers
to; which one that is says a column with `references = "orders.id"`.  A path may lead over several tables,
each of which declares its own part: that of `orders` is `customer`, that of `items` is `orders.customer`.

Promise.  A row refers to the rows of the other table with the same key.  It belongs to the person of such a
row; where several people hold rows with that key, to the one that comes first; where nobody does, to nobody,
and then it is never counted.  Who is removed takes along all rows that belong to her, in all tables.  Whoever
stays keeps all of his: the first of several people is still the first when another one is gone
(`discreet.query.proof.path`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import CatalogError
from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.kind import Day, Text, Whole, word
from discreet.query.name import folded, same

if TYPE_CHECKING:
    from discreet.query.catalog.manifest import DeclaredTable


@dataclass(frozen=True, slots=True)
class KeyLink:
    """How a row finds its person: `column` equals the column `key` of the rows of `table`."""

    column: str
    table: str
    key: str


def linked(tables: tuple["DeclaredTable", ...]) -> tuple["DeclaredTable", ...]:
    """Return tables whose paths have been followed, refusing those that lead nowhere."""
    known = {folded(table.name): table for table in tables}
    for table in tables:
        for column in table.columns:
            if column.references is not None:
                _target(column, known, f"tables.{table.name}.columns.{column.name}")
    return tuple(table if table.path is None else _followed(table, known) for table in tables)


def _target(
    column: DeclaredColumn, known: Mapping[str, "DeclaredTable"], where: str
) -> tuple["DeclaredTable", DeclaredColumn]:
    """Return the table and the key that a column refers to."""
    name, _, key = (column.references or "").rpartition(".")
    table = known.get(folded(name))
    found = None if table is None else table.column(key)
    if table is None or found is None:
        raise CatalogError(
            f'{where}.references must name a declared column of a declared table, such as "orders.id", '
            f"got {column.references!r}"
        )
    if type(found.kind) is not type(column.kind) or not isinstance(found.kind, Whole | Text | Day):
        raise CatalogError(
            f"{where}.references: {word(column.kind)} and {word(found.kind)} are compared as keys; declare "
            "both integer, both text or both date"
        )
    return table, found


def _followed(table: "DeclaredTable", known: Mapping[str, "DeclaredTable"]) -> "DeclaredTable":
    where = f"tables.{table.name}"
    first, _, rest = (table.path or "").partition(".")
    parent = known.get(folded(first))
    if parent is None or parent is table:
        raise CatalogError(
            f'{where}.unit = "{table.path}" leads through a table {first!r}, which is not declared; name a '
            "column of the table itself, or declare that one"
        )
    columns = [c for c in table.columns if c.references is not None and same(_owner(c), parent.name)]
    if len(columns) != 1:
        found = "no column refers" if not columns else "several columns refer"
        raise CatalogError(
            f'{where}.unit = "{table.path}": {found} to {parent.name}; give exactly one column '
            f'references = "{parent.name}.KEY"'
        )
    _require_person(table, parent, rest, where)
    _, key = _target(columns[0], known, f"{where}.columns.{columns[0].name}")
    return replace(table, link=KeyLink(columns[0].name, parent.name, key.name))


def _owner(column: DeclaredColumn) -> str:
    return (column.references or "").rpartition(".")[0]


def _require_person(table: "DeclaredTable", parent: "DeclaredTable", rest: str, where: str) -> None:
    """Refuse a path that ends elsewhere than the next table's own unit, or at another promise."""
    own = parent.unit if parent.path is None else parent.path
    if parent.public or own is None or not same(own, rest):
        says = "is public" if parent.public else f'declares unit = "{own or "row"}"'
        raise CatalogError(
            f'{where}.unit = "{table.path}", but {parent.name} {says}; a path ends at the person of the '
            "table that it leads through"
        )
    if parent.adjacency is not table.adjacency:
        raise CatalogError(f"{where}.neighbours must be those of {parent.name}, whose people it is about")
    if table.prepared or parent.prepared:
        raise CatalogError(
            f"{where}.unit: a prepared table neither has a unit through keys nor leads to one; drop prepared"
        )
    unit = None if parent.unit is None else parent.column(parent.unit)
    if parent.unit is not None and (unit is None or not isinstance(unit.kind, Whole | Text | Day)):
        raise CatalogError(
            f"{where}.unit: declare the type of {parent.name}.{parent.unit}, integer or text, so that people "
            "have an order"
        )
