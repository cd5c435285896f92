"""Rows of several subqueries: UNION, INTERSECT and EXCEPT."""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.inside import KEY, one_column
from discreet.query.language.refusal import fields
from discreet.query.name import HIDDEN
from discreet.query.plan import (
    EXISTS,
    STAR,
    Block,
    Call,
    Case,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Scalar,
    UnionAll,
)

Views = Mapping[str, Block]
Reader = Callable[[exp.Expr, Views], Block]
"""What reads one of the subqueries, which may use those that were named before."""


def combined(node: exp.Expr, views: Views, read: Reader) -> Block:
    """Return the rows that a set operation makes of two subqueries."""
    parts = fields(node, "with_", "this", "expression", "distinct")
    left, right = (_unwrapped(parts[key]) for key in ("this", "expression"))
    once = bool(parts.get("distinct"))
    if isinstance(node, exp.Union):
        blocks = tuple(block for side in (left, right) for block in _parts(side, views, read))
        stacked = Block(UnionAll(blocks, "stacked"), ())
        if not once:
            return stacked
        return Block(Nested(stacked, "united"), (Item(STAR, Column(None, STAR)),), distinct=True)
    if not once:
        word = type(node).__name__.upper()
        raise QueryError(f"{word} ALL", "pairs equal rows off one by one", f"write {word}, or WHERE EXISTS")
    return _compared(node, read(left, views), read(right, views))


def _unwrapped(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery):
        node = fields(node, "this")["this"]
    return node


def _parts(node: exp.Expr, views: Views, read: Reader) -> Sequence[Block]:
    """Return the blocks of a UNION ALL inside another union, which are parts of the same rows."""
    block = read(node, views)
    match block:
        case Block(UnionAll(blocks), ()) if isinstance(node, exp.Union) and not node.args.get("distinct"):
            return blocks
        case _:
            return [block]


def _compared(node: exp.Expr, left: Block, right: Block) -> Block:
    """Return INTERSECT or EXCEPT of one column: what a row is asked is whether the other has its value."""
    word = type(node).__name__.upper()
    if len(left.items) != 1 or len(right.items) != 1:
        raise QueryError(word, "compares one column", "list the person alone, or write WHERE EXISTS (...)")
    name, other = left.items[0].name, f"{HIDDEN}right"
    value = Column("compared", name)
    source = Join(
        Nested(left, "compared"), Nested(one_column(right), other), Call(EXISTS, (value,)), outer=True
    )
    met = Call("not", (Call("is_null", (Column(other, KEY),)),))
    # NULL is neither in a list nor outside it.
    there: Scalar = Case(((Call("is_null", (value,)), Literal(None)),), met)
    where = Call("not", (there,)) if isinstance(node, exp.Except) else there
    return Block(source, (Item(name, value),), where, distinct=True)
