"""People above the limit of their table, as a question: whether a limit hides much."""

from discreet.errors import CatalogError
from discreet.query.catalog.manifest import Catalog
from discreet.query.plan import Aggregate, Block, Call, Column, Item, Literal, Nested, Scan


def people_above(catalog: Catalog, table: str) -> Block:
    """Return the count of the people with more rows in a table than its limit lets count."""
    found = catalog.table(table)
    if found is not None and found.link is not None:
        raise CatalogError(
            f"table {table!r} finds its people through {found.link.table}; join that one, and count the "
            "rows of each person in a subquery"
        )
    if found is None or found.unit is None or found.rows_per_unit is None:
        raise CatalogError(f"table {table!r} has no limit of rows per person, so nobody is above one")
    rows = Block(
        Scan(found.name, found.name),
        (Item("person", Column(None, found.unit)), Item("n", Aggregate("count"))),
        group=(Column(None, found.unit),),
    )
    above = Call("gt", (Column(None, "n"), Literal(found.rows_per_unit)))
    return Block(Nested(rows, "people"), (Item("people", Aggregate("count")),), where=above)
