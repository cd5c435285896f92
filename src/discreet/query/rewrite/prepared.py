"""Bounding contributions once: the statement that keeps at most m rows of every person.

Of a person's rows the first m in the order of a keyed hash of the whole row are kept; rows that are equal
are interchangeable.  Which rows of a person are kept depends on that person's rows and the key alone, so in
the prepared table every person has at most m rows by construction, and later questions need no weights.
"""

from discreet.errors import CatalogError
from discreet.query.catalog.manifest import DeclaredTable
from discreet.query.plan import Call, Column, Literal
from discreet.query.statement import Inner, Query, Statement, StoredTable


def prepared_rows(table: DeclaredTable) -> Statement:
    """Return the statement whose rows are the prepared table."""
    if table.unit is None or table.rows_per_unit is None:
        raise CatalogError(f"tables.{table.name}.prepared needs a unit and rows_per_unit")
    names = [name for name, _ in table.offered]
    own = [Column("t", name) for name in names]
    unit = Column("t", table.unit)
    # Hashed twice, as in `rewrite.weights`, so that every choice of rows is as likely as any other.
    keyed = Call("hash", (Call("hash", (Call("choice", ()), *own)),))
    rank = Call("rank", (unit, keyed, *own))
    ranked = Query(
        (*((name, Column("t", name)) for name in names), ("__j", rank)),
        StoredTable(table.name, "t"),
        Call("not", (Call("is_null", (unit,)),)),
    )
    kept = Query(
        tuple((name, Column("r", name)) for name in names),
        Inner(ranked, "r"),
        Call("le", (Column("r", "__j"), Literal(table.rows_per_unit))),
    )
    return Statement((), kept, 0, ())
