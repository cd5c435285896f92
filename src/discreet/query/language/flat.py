"""Subqueries that only filter a table, merged into what is asked about them.

Tools write FROM (SELECT * FROM visits WHERE age > 18) AS t1 where people write WHERE age > 18.  The rows are
the same, so it is the same question.
"""

from dataclasses import replace

from discreet.query.name import same
from discreet.query.plan import (
    Block,
    Column,
    Join,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    change_asked,
    conjunction,
    rebuilt,
)


def flat(block: Block) -> Block:
    """Return a plan without subqueries that only filter a table."""
    source = _flat(block.source)
    block = replace(block, source=source)
    match source:
        case Nested(Block(source=Scan(alias=own) as scan) as inner, alias) if inner == Block(
            scan, (), inner.where
        ):
            return replace(_renamed(block, alias, own, inner.where), source=scan)
    return block


def _flat(relation: Relation) -> Relation:
    match relation:
        case Scan():
            return relation
        case Nested(block):
            return replace(relation, block=flat(block))
        case Join(left, right):
            return replace(relation, left=_flat(left), right=_flat(right))
        case UnionAll(blocks):
            return replace(relation, blocks=tuple(map(flat, blocks)))


def _renamed(block: Block, alias: str, own: str, where: Scalar | None) -> Block:
    def meant(part: Scalar) -> Scalar | None:
        named = isinstance(part, Column) and part.relation is not None and same(part.relation, alias)
        return Column(own, part.name) if named and isinstance(part, Column) else None

    def other(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, meant)

    filtered = None if block.where is None else other(block.where)
    filters = tuple(part for part in (where, filtered) if part is not None)
    return replace(
        change_asked(block, other), where=conjunction(filters), group=tuple(map(other, block.group))
    )
