"""Subqueries that stand for one value: n * 100.0 / (SELECT COUNT(*) FROM t).

The value is that of a released table of one row, which is joined to all others; a block that makes groups is
released first, and what stands around its aggregates is computed from both afterwards.
"""

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.place import place_of
from discreet.query.language.refusal import fields
from discreet.query.language.tree import every
from discreet.query.name import HIDDEN, same
from discreet.query.plan import (
    COMMA,
    ONE_VALUE,
    Aggregate,
    Block,
    Call,
    Column,
    Item,
    Join,
    Nested,
    Order,
    Relation,
    Scalar,
    aggregates_of,
    asked_of,
    conjunction,
    given,
    rebuilt,
    walk,
)

VALUE, MAIN = "value", f"{HIDDEN}main"


class Beside:
    """The subqueries of one SELECT that stand for a value each."""

    def __init__(self, select: Callable[[exp.Expr], Block]) -> None:
        self._select = select
        self._found: list[tuple[str, Block]] = []

    def taken_out(self, node: exp.Expr | None) -> exp.Expr | None:
        """Return an expression in which a column stands for every subquery."""
        if node is None:
            return None
        for inner in [inner for inner in every(node, exp.Subquery) if _is_outermost(inner, node)]:
            mark = _constant(inner) or exp.column(VALUE, self._asks(inner))
            if inner is node:
                return mark
            inner.replace(mark)
        return node

    def _asks(self, node: exp.Expr) -> str:
        try:
            block = _one_value(self._select(fields(node, "this")["this"]))
        except QueryError as refused:
            raise refused.at(place_of(node)) from None
        alias = next((alias for alias, other in self._found if other == block), None)
        if alias is None:
            alias = f"{ONE_VALUE}{len(self._found)}"
            self._found.append((alias, block))
        return alias

    def source(self, found: Relation | None) -> Relation | None:
        """Return the rows of FROM, each with the values; without FROM there is one row of them."""
        for alias, block in self._found:
            value = Nested(block, alias)
            found = value if found is None else Join(found, value, COMMA, outer=True)
        return found

    def around(self, block: Block) -> Block:
        """Return a block with its values: one that makes groups is released before they are joined to it."""
        if not self._found:
            return block
        if not (block.group or block.sets is not None or aggregates_of(block)):
            return replace(block, source=given(self.source(block.source)))
        main, meant = _main(block)

        def changed(scalar: Scalar) -> Scalar:
            return rebuilt(scalar, meant)

        return Block(
            given(self.source(Nested(main, MAIN))),
            tuple(Item(item.name, changed(item.scalar)) for item in block.items),
            where=None if block.having is None else changed(block.having),
            qualify=None if block.qualify is None else changed(block.qualify),
            order=tuple(Order(changed(o.scalar), o.descending, o.nulls_first) for o in block.order),
            limit=block.limit,
            offset=block.offset,
            distinct=block.distinct,
        )


def _main(block: Block) -> tuple[Block, Callable[[Scalar], Scalar | None]]:
    """Return the release of a block's groups, and what stands for them in the clauses around it."""
    asked = [part for scalar in asked_of(block) for part in walk(scalar) if _is_measured(part)]
    if any(_uses_value(part) for part in asked):
        raise QueryError(
            "a subquery for a value inside an aggregate",
            "would let an answer decide what each person adds",
            "use it beside the aggregate, as in SUM(x) / (SELECT COUNT(*) FROM t), or write its value",
        )
    names: dict[Scalar, str] = {term: f"key{place}" for place, term in enumerate(block.group, 1)}
    for part in asked:
        names.setdefault(part, f"value{len(names)}")

    def meant(scalar: Scalar) -> Scalar | None:
        if scalar in names:
            return Column(MAIN, names[scalar])
        if isinstance(scalar, Column) and scalar.relation is None:
            keys = [term for term in block.group if isinstance(term, Column) and same(term.name, scalar.name)]
            return Column(MAIN, names[keys[0]]) if keys else None
        return None

    items = tuple(Item(name, scalar) for scalar, name in names.items())
    return Block(block.source, items, block.where, block.group, sets=block.sets), meant


def _is_measured(scalar: Scalar) -> bool:
    return isinstance(scalar, Aggregate) or (isinstance(scalar, Call) and scalar.function == "grouping")


def _uses_value(scalar: Scalar) -> bool:
    parts = [part.relation for part in walk(scalar) if isinstance(part, Column)]
    return any(relation is not None and relation.startswith(ONE_VALUE) for relation in parts)


def _constant(node: exp.Expr) -> exp.Expr | None:
    """Return what a subquery without FROM selects, where that is a constant: (SELECT 3)."""
    match node.this:
        case exp.Select(expressions=[only]) if not node.this.args.get("from_") and not only.find(exp.Query):
            fields(node, "this")
            inner = fields(node.this, "expressions")["expressions"][0]
            return exp.Paren(this=fields(inner, "this", "alias")["this"] if _is_named(inner) else inner)
    return None


def _is_named(node: exp.Expr) -> bool:
    return isinstance(node, exp.Alias)


def _is_outermost(inner: exp.Expr, top: exp.Expr) -> bool:
    """Whether a subquery stands for a value, in no other one below the top."""
    node = inner.parent
    while inner is not top and node is not None:
        if isinstance(node, exp.Query):
            return False
        if node is top:
            break
        node = node.parent
    return True


def _one_value(block: Block) -> Block:
    """Return a subquery that has one row and one column, under the name that stands for it."""
    if len(block.items) != 1:
        raise QueryError("a subquery for a value", "needs one column", "select one: (SELECT COUNT(*) FROM t)")
    (item,) = block.items
    one = not block.group and block.sets is None and aggregates_of(block)
    if not one and block.limit != 1:
        raise QueryError(
            "a subquery for a value",
            "may have many rows",
            "select an aggregate without GROUP BY, as in (SELECT COUNT(*) FROM t), or end it with LIMIT 1",
        )
    having = block.having
    order = tuple(replace(o, scalar=_named(o.scalar, item)) for o in block.order)
    return replace(
        block,
        items=(Item(VALUE, item.scalar),),
        order=order,
        having=None if having is None else conjunction((_named(having, item),)),
    )


def _named(scalar: Scalar, item: Item) -> Scalar:
    """Return a clause in which the output column goes by what it is, because its name changes."""

    def meant(part: Scalar) -> Scalar | None:
        named = isinstance(part, Column) and part.relation is None and same(part.name, item.name)
        return item.scalar if named and part != item.scalar else None

    return rebuilt(scalar, meant)
