"""How statements are laid out for Spark: cells that are ranked within each person are exchanged once.

Cells that differ and are ranked within each person would be brought together by the cell first, and by the
person afterwards: two exchanges of nearly all rows.  Rows that are brought together by the person to begin
with have all of a person's cells in one place, and need no other; those of a bounded copy have been brought
together before.  Where rows are says nothing about which rows there are.
"""

from collections.abc import Set

from discreet.query.plan import Call, Column
from discreet.query.statement import Inner, Query, Statement, StoredTable


def together(statement: Statement, copied: Set[str] = frozenset()) -> tuple[Query, str] | None:
    """Return the rows to be brought together before their cells are ranked, and the column of the person."""
    match statement.body.source:
        case Inner(Query(items, Inner(Query(cells, Inner(rows, within), _, _, None), alias), None, (), None)):
            ranks = [scalar for _, scalar in items if isinstance(scalar, Call) and scalar.function == "rank"]
        case _:
            return None
    if isinstance(rows.source, StoredTable) and rows.source.table in copied:
        return None
    own = dict(cells)
    match [rank.arguments[0] for rank in ranks]:
        case [Column(relation, name)] if relation == alias:
            person = own.get(name)
            if isinstance(person, Column) and person.relation == within:
                return rows, person.name
    return None
