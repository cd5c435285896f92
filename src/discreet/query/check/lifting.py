"""What is asked about a released table, asked of the groups that it has."""

from dataclasses import replace

from discreet.errors import QueryError
from discreet.query.name import folded, same
from discreet.query.plan import (
    Block,
    Column,
    Item,
    Nested,
    Scalar,
    aggregates,
    asked_of,
    conjunction,
    has_window,
    rebuilt,
)


def lifted(block: Block) -> Block:
    """Merge an outer block that only selects, filters and sorts a released table into that table's block."""
    if not isinstance(block.source, Nested) or aggregating(block):
        return block
    inner, alias = lifted(block.source.block), block.source.alias
    if not inner.items or inner.distinct or not aggregating(inner):
        return block
    if block.having is not None:
        raise QueryError("HAVING", "needs GROUP BY", "filter what a subquery returns with WHERE")
    outputs = {folded(item.name): item for item in inner.items}

    def meant(scalar: Scalar) -> Scalar | None:
        if not isinstance(scalar, Column):
            return None
        item = outputs.get(folded(scalar.name))
        if item is None or not (scalar.relation is None or same(scalar.relation, alias)):
            known = ", ".join(item.name for item in inner.items)
            raise QueryError(scalar.name, "no such column in the subquery", f"{alias} has {known}")
        return item.scalar

    def substitute(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, meant)

    where = None if block.where is None else substitute(block.where)
    ranked = inner.qualify is not None or any(has_window(item.scalar) for item in inner.items)
    # What filters rows that have windows must not change the windows.
    before, after = ((), (where,)) if ranked else ((where,), ())
    return replace(
        inner,
        items=tuple(Item(item.name, substitute(item.scalar)) for item in block.items) or inner.items,
        having=_both(_unaliased(inner), *before),
        qualify=_both(inner.qualify, *after, None if block.qualify is None else substitute(block.qualify)),
        order=tuple(replace(order, scalar=substitute(order.scalar)) for order in block.order),
        limit=block.limit,
        offset=block.offset,
        distinct=block.distinct,
    )


def _both(*parts: Scalar | None) -> Scalar | None:
    return conjunction(tuple(part for part in parts if part is not None))


def _unaliased(block: Block) -> Scalar | None:
    """Return a HAVING clause without the block's own names for its columns, which may be renamed above."""
    keys = {folded(term.name) for term in block.group if isinstance(term, Column)}
    outputs = {folded(item.name): item.scalar for item in block.items if folded(item.name) not in keys}

    def meant(scalar: Scalar) -> Scalar | None:
        if isinstance(scalar, Column) and scalar.relation is None:
            return outputs.get(folded(scalar.name))
        return None

    return None if block.having is None else rebuilt(block.having, meant)


def aggregating(block: Block) -> bool:
    """Whether a block makes groups of its rows."""
    return bool(block.group) or block.sets is not None or any(aggregates(part) for part in asked_of(block))
