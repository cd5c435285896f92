"""Questions of the dataframe face: what follows an aggregate works on released values, and costs nothing."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import QueryError
from discreet.query.language.frame.expression import Expression, Term, order_of, scalar_in
from discreet.query.language.named import plain_name
from discreet.query.language.written import written
from discreet.query.name import same
from discreet.query.plan import Block, Column, Item, Nested, Order, Scalar, UnionAll, conjunction

if TYPE_CHECKING:
    from discreet.query.language.frame.relation import Frame


@dataclass(frozen=True, slots=True, repr=False)
class Posed:
    """A question that is ready to be asked, and whose answer can still be filtered, sorted and cut."""

    block: Block

    def __repr__(self) -> str:
        return written(self.block)

    def having(self, *conditions: Term) -> "Posed":
        """Keep the rows of the answer for which all conditions hold."""
        return self._with(having=_also(self.block.having, conditions))

    def order_by(self, *terms: "Term | Order", descending: bool = False) -> "Posed":
        """Sort the rows of the answer: by columns of it, or by expressions such as col("n").desc()."""
        found = tuple(self._order(order_of(term)) for term in terms)
        if descending:
            found = tuple(replace(term, descending=True) for term in found)
        return self._with(order=(*self.block.order, *found))

    def limit(self, count: int, offset: int = 0) -> "Posed":
        """Keep the first rows of the answer, after skipping some."""
        for value, name in ((count, "limit"), (offset, "offset")):
            if type(value) is not int or value < 0:
                raise QueryError(name, "must be a whole number, at least 0", f"write {name}=10")
        return self._with(limit=count, offset=offset)

    def top(self, count: int, by: "Term | Order") -> "Posed":
        """Keep the rows of the answer that are largest by a column or an expression."""
        return self.order_by(replace(order_of(by), descending=True)).limit(count)

    def with_columns(self, **columns: Term) -> "Posed":
        """Add columns that are computed from the others of the answer, windows included."""
        items = (Item(plain_name(name), scalar_in(term)) for name, term in columns.items())
        return self._with(items=(*self.block.items, *items))

    def qualify(self, *conditions: Term) -> "Posed":
        """Keep the rows of the answer for which conditions on windows hold."""
        return self._with(qualify=_also(self.block.qualify, conditions))

    def rows(self, alias: str = "released") -> "Frame":
        """Return the rows of the answer as a table, to ask about them: that costs nothing more."""
        from discreet.query.language.frame.relation import Frame

        return Frame(Nested(self.block, plain_name(alias)))

    def union(self, *others: "Posed") -> "Posed":
        """Return the question for this answer and others under each other: columns by place."""
        return Posed(Block(UnionAll((self.block, *(other.block for other in others)), "stacked"), ()))

    def _order(self, order: Order) -> Order:
        """Return a term in which a column of the answer stands for what it is."""
        match order.scalar:
            case Column(None, name):
                for item in self.block.items:
                    if same(item.name, name):
                        return replace(order, scalar=item.scalar)
        return order

    def _with(self, **changes: object) -> "Posed":
        return Posed(replace(self.block, **changes))  # type: ignore[arg-type]


def _also(one: Scalar | None, conditions: tuple[Term, ...]) -> Scalar | None:
    return conjunction((*(() if one is None else (one,)), *map(scalar_in, conditions)))


def ordered(question: Posed, *by: str, descending: bool = False, limit: int | None = None) -> Posed:
    """Return the question with its answer sorted by output columns, and cut to the first rows."""
    found = question.order_by(*(Expression(Column(None, name)) for name in by), descending=descending)
    return found if limit is None else found.limit(limit)
