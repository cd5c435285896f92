"""The entropy of a column, made of its released counts.

With n_v rows of value v and N of all, the entropy in bits is log2 N - (sum of n_v log2 n_v) / N: a function
of the table SELECT v, COUNT(*) ... GROUP BY v, which is the release.  Noisy counts below zero are none.
"""

from discreet.errors import QueryError
from discreet.query.name import HIDDEN
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Item,
    Literal,
    Nested,
    Order,
    Scalar,
    aggregates,
    aggregates_of,
    conjunction,
    rebuilt,
)

TABLE, VALUE, ROWS = f"{HIDDEN}counts", "value", "rows"


def informed(block: Block) -> Block:
    """Return a question for entropies as one about the counts that they are made of, any other as it is."""
    asked = aggregates_of(block)
    about = {one.argument for one in asked if one.function == "entropy"}
    if not about:
        return block
    others = [one for one in asked if one.function != "entropy" and one != Aggregate("count")]
    if len(about) > 1 or others or any(one.where for one in asked) or block.sets is not None:
        raise QueryError(
            "ENTROPY",
            "is made of the counts of one column's values, and stands beside COUNT(*) only",
            "ask for the others in a question of their own, and filter with WHERE",
        )
    (value,) = about
    if value is None or aggregates(value):
        raise QueryError("ENTROPY", "is of one column", "write ENTROPY(x)")
    keys = {term: f"key{place}" for place, term in enumerate(block.group)}
    items = (
        *(Item(name, term) for term, name in keys.items()),
        Item(VALUE, value),
        Item(ROWS, Aggregate("count")),
    )
    known = Call("not", (Call("is_null", (value,)),))
    where = conjunction(tuple(part for part in (block.where, known) if part is not None))
    counts = Block(block.source, items, where, (*block.group, value))

    def meant(scalar: Scalar) -> Scalar | None:
        if isinstance(scalar, Aggregate):
            return _entropy() if scalar.function == "entropy" else _total()
        return Column(TABLE, keys[scalar]) if scalar in keys else None

    return Block(
        Nested(counts, TABLE),
        tuple(Item(item.name, rebuilt(item.scalar, meant)) for item in block.items),
        group=tuple(Column(TABLE, name) for name in keys.values()),
        having=None if block.having is None else rebuilt(block.having, meant),
        order=tuple(Order(rebuilt(o.scalar, meant), o.descending, o.nulls_first) for o in block.order),
        limit=block.limit,
        offset=block.offset,
        privacy=block.privacy,
    )


def _rows() -> Scalar:
    return Call("greatest", (Column(TABLE, ROWS), Literal(0)))


def _total() -> Scalar:
    return Aggregate("sum", _rows())


def _entropy() -> Scalar:
    rows = _rows()
    some = Call("gt", (rows, Literal(0)))
    weighed = Case(
        (
            (
                some,
                Call("multiply", (rows, Call("ln", (rows,)))),
            ),
        ),
        Literal(0),
    )
    mean = Call("divide", (Aggregate("sum", weighed), _total()))
    nats = Call("subtract", (Call("ln", (_total(),)), mean))
    return Call("greatest", (Call("divide", (nats, Call("ln", (Literal(2),)))), Literal(0)))
