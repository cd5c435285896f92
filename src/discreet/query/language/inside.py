"""Subqueries inside conditions: IN (SELECT ...) and EXISTS (SELECT ...) become joins.

A row is asked whether a subquery has a row for it.  That is a left join with the subquery, grouped by what it
is compared with, so that a row meets at most one partner; the question is then whether it met one.  Whether
the join keeps every row with one person is checked like that of any other join.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.expression import expression
from discreet.query.language.place import place_of
from discreet.query.language.refusal import fields, refusal
from discreet.query.language.tree import every
from discreet.query.name import HIDDEN
from discreet.query.plan import (
    EXISTS,
    Block,
    Call,
    Column,
    Item,
    Join,
    Nested,
    Relation,
    Scalar,
    aggregates,
)

KEY = "k0"


class Inside:
    """The subqueries that the conditions of one SELECT ask."""

    def __init__(self, select: Callable[[exp.Expr], Block]) -> None:
        self._select = select
        self._asked: list[tuple[str, Block, tuple[Scalar, ...]]] = []

    def taken_out(self, node: exp.Expr | None) -> exp.Expr | None:
        """Return an expression in which a mark stands for every subquery."""
        if node is None:
            return None
        for equal in every(node, exp.EQ):
            if isinstance(equal.expression, exp.Any) and isinstance(equal.expression.this, exp.Subquery):
                listed = exp.In(this=equal.this, query=equal.expression.this)
                if equal is node:
                    node = listed
                else:
                    equal.replace(listed)
        found = [
            inner
            for inner in every(node, exp.In, exp.Exists)
            if (isinstance(inner, exp.Exists) or inner.args.get("query")) and _outermost(inner, node)
        ]
        for inner in found:
            mark = self._asks(inner)
            if inner is node:
                return mark
            inner.replace(mark)
        return node

    def joined(self, source: Relation) -> Relation:
        """Return the rows of FROM, each with what it met in the subqueries."""
        for alias, block, arguments in self._asked:
            source = Join(source, Nested(block, alias), Call(EXISTS, arguments), outer=True)
        return source

    def _asks(self, node: exp.Expr) -> exp.Expr:
        alias = f"{HIDDEN}in{len(self._asked)}"
        met = exp.Not(this=exp.Is(this=exp.column(KEY, alias), expression=exp.Null()))
        try:
            if isinstance(node, exp.Exists):
                self._asked.append((alias, _rows(self._select(fields(node, "this")["this"])), ()))
                return exp.Paren(this=met)
            parts = fields(node, "this", "query")
            query = parts["query"]
            inner = fields(query, "this")["this"] if isinstance(query, exp.Subquery) else query
            if not isinstance(inner, exp.Select):
                raise refusal(inner)
            self._asked.append((alias, one_column(self._select(inner)), (expression(parts["this"]),)))
        except QueryError as refused:
            raise refused.at(place_of(node)) from None
        # NULL is neither in a list nor outside it.
        missing = exp.Is(this=parts["this"].copy(), expression=exp.Null())
        return exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=met)


def _outermost(inner: exp.Expr, top: exp.Expr) -> bool:
    """Whether a subquery stands in no other one below the top."""
    node = inner.parent
    while node is not None and node is not top.parent:
        if isinstance(node, exp.Select):
            return False
        node = node.parent
    return True


def _rows(block: Block) -> Block:
    """Return what EXISTS asks about: rows, whatever is selected of them."""
    if (
        block.group
        or block.sets
        or block.having is not None
        or any(aggregates(i.scalar) for i in block.items)
    ):
        raise QueryError(
            "EXISTS", "asks about rows, not about groups", "write x IN (SELECT x FROM ... GROUP BY x)"
        )
    return Block(block.source, (), block.where)


def one_column(block: Block) -> Block:
    """Return a subquery of IN; checking groups it, so that it has one row for each value."""
    if len(block.items) != 1:
        raise QueryError("IN", "needs a subquery with one column", "write x IN (SELECT x FROM ...)")
    (item,) = block.items
    plain = not (block.group or block.sets or block.having is not None or aggregates(item.scalar))
    if plain and not block.order and block.limit is None:
        return replace(block, items=(Item(KEY, item.scalar),), distinct=False)
    # Under its own name, so that ORDER BY and LIMIT are seen, and refused, as those of a subquery.
    column = Column(f"{HIDDEN}list", item.name)
    return Block(Nested(block, f"{HIDDEN}list"), (Item(KEY, column),), group=(column,))
