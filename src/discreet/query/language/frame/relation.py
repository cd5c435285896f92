"""Tables of the dataframe face: a relation being narrowed down towards a question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from discreet.errors import QueryError
from discreet.exact.number import Real, rational
from discreet.query.language.frame.aggregate import count, row_number
from discreet.query.language.frame.column import col
from discreet.query.language.frame.constant import constant_of
from discreet.query.language.frame.expression import (
    Expression,
    Term,
    order_of,
    scalar_in,
)
from discreet.query.language.frame.posed import Posed
from discreet.query.language.inside import KEY
from discreet.query.language.named import plain_name
from discreet.query.language.sql import read
from discreet.query.language.written import identifier, written
from discreet.query.name import HIDDEN, same
from discreet.query.plan import (
    COMMA,
    EXISTS,
    STAR,
    USING,
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Order,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    Value,
    conjunction,
)

ROW = "row_of_person"
"""What the number of a row among those of its person is called."""

_STAR = Item(STAR, Column(None, STAR))


@dataclass(frozen=True, slots=True, repr=False)
class Frame:
    """A relation being narrowed down towards a question."""

    source: Relation
    condition: tuple[Scalar, ...] = ()
    keys: tuple[Item, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None

    def __repr__(self) -> str:
        """Return the rows as SQL, with what they are grouped by; no data is looked at."""
        text = written(Block(self.source, (), conjunction(self.condition)))
        by = ", ".join(item.name for item in self.keys)
        return f"{text} grouped by {by}" if by else text

    def where(self, *conditions: Term, **equal: Value) -> "Frame":
        """Keep the rows for which all conditions hold; `ward="A"` is short for an equality."""
        found = [scalar_in(condition) for condition in conditions]
        found += [(col(name) == constant_of(value)).scalar for name, value in equal.items()]
        return replace(self, condition=(*self.condition, *found))

    def group(self, *keys: Term, **named: Term) -> "Frame":
        """Form groups by columns or expressions; a keyword names an expression."""
        items = [
            Item(key if isinstance(key, str) else _name(key, len(self.keys) + n), scalar_in(key))
            for n, key in enumerate(keys)
        ]
        items += [Item(plain_name(name), scalar_in(key)) for name, key in named.items()]
        return replace(self, keys=(*self.keys, *items))

    group_by = group

    def cube(self, *keys: Term) -> "Frame":
        """Form groups by every combination of columns, down to the total of all."""
        return self.grouping(
            *(pick for size in range(len(keys), -1, -1) for pick in combinations(keys, size))
        )

    def rollup(self, *keys: Term) -> "Frame":
        """Form groups by all columns, by all but the last, and so on down to the total of all."""
        return self.grouping(*(keys[:size] for size in range(len(keys), -1, -1)))

    def grouping(self, *sets: Sequence[Term]) -> "Frame":
        """Form groups by several sets of columns at once; they are measured together and agree."""
        items, found = list(self.keys), []
        for keys in sets:
            chosen = set(range(len(self.keys)))
            for key in keys:
                scalar = scalar_in(key)
                place = next((n for n, item in enumerate(items) if item.scalar == scalar), len(items))
                if place == len(items):
                    items.append(Item(key if isinstance(key, str) else _name(key, place), scalar))
                chosen.add(place)
            found.append(tuple(sorted(chosen)))
        return replace(self, keys=tuple(items), sets=tuple(dict.fromkeys(found)))

    def alias(self, name: str) -> "Frame":
        """Give the rows a name of their own, so that a table can be joined with itself."""
        self._ungrouped("alias")
        name = plain_name(name)
        match self.source:
            case Scan(table) if not self.condition:
                return Frame(Scan(table, name))
            case Nested(block) if not self.condition:
                return Frame(Nested(block, name))
            case _:
                return Frame(Nested(Block(self.source, (), conjunction(self.condition)), name))

    def join(
        self,
        other: "Frame",
        on: "str | Sequence[str] | Expression",
        *,
        outer: bool = False,
        full: bool = False,
    ) -> "Frame":
        """Join with another table: on columns that both have, or on a condition.

        With `outer`, rows without a partner are kept, with `full` those of the other table too.  A table that
        is joined with itself needs another name: visits.join(visits.alias("other"), on="person").
        """
        left, right = self._relation("join"), other._relation("join")
        if any(same(one, another) for one in _aliases(left) for another in _aliases(right)):
            raise QueryError(
                "join", "has the same table on both sides", 'name one of them: table.alias("other")'
            )
        if isinstance(on, Expression):
            return Frame(Join(left, right, on.scalar, outer, full))
        names = (on,) if isinstance(on, str) else tuple(on)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise QueryError("join", "needs the columns that are equal", 'write on="person"')
        return Frame(
            Join(left, right, Call(USING, tuple(Literal(plain_name(name)) for name in names)), outer, full)
        )

    def semi(self, other: "Frame", on: str) -> "Frame":
        """Keep the rows whose value of a column is one of another table's: what IN says in SQL."""
        return self._asking(other, on, there=True)

    def anti(self, other: "Frame", on: str) -> "Frame":
        """Keep the rows whose value of a column is none of another table's: what NOT IN says in SQL."""
        return self._asking(other, on, there=False)

    def _asking(self, other: "Frame", on: str, *, there: bool) -> "Frame":
        step = "semi" if there else "anti"
        self._ungrouped(step)
        other._ungrouped(step)
        value = col(on).scalar
        asked = f"{HIDDEN}in{_depth(self.source)}"
        listed = Block(
            other.source, (Item(KEY, col(on.rpartition(".")[2]).scalar),), conjunction(other.condition)
        )
        met = Call("not", (Call("is_null", (Column(asked, KEY),)),))
        # NULL is neither in a list nor outside it.
        found: Scalar = Case(((Call("is_null", (value,)), Literal(None)),), met)
        return Frame(
            Join(self.source, Nested(listed, asked), Call(EXISTS, (value,)), outer=True),
            (*self.condition, found if there else Call("not", (found,))),
        )

    def union(self, *others: "Frame") -> "Frame":
        """Put the rows of several tables of the same people behind each other, columns by place."""
        rows = []
        for frame in (self, *others):
            frame._ungrouped("union")
            plain = isinstance(frame.source, Nested) and not frame.condition
            source = frame.source.block if plain and isinstance(frame.source, Nested) else None
            rows.append(source or Block(frame.source, (), conjunction(frame.condition)))
        return Frame(Nested(Block(UnionAll(tuple(rows), "stacked"), ()), "rows"))

    def cross(self, other: "Frame") -> "Frame":
        """Join every row with every row of a public table, or of released rows with others."""
        return Frame(Join(self._relation("cross"), other._relation("cross"), COMMA))

    def per(self, person: str, *keys: Term, having: Term | None = None, **values: Term) -> "Frame":
        """Aggregate per person: one row for each, with these values; with `keys`, one for each of those."""
        self._ungrouped("per")
        grouped = replace(self, keys=()).group(person, *keys)
        block = grouped._block(values)
        if having is not None:
            block = replace(block, having=scalar_in(having))
        return Frame(Nested(block, "people"))

    def first(self, person: str, by: "Term | Order", rows: int = 1) -> "Frame":
        """Keep the first rows of every person in an order."""
        return self._ranked(person, order_of(by), rows)

    def last(self, person: str, by: "Term | Order", rows: int = 1) -> "Frame":
        """Keep the last rows of every person in an order."""
        order = order_of(by)
        return self._ranked(person, replace(order, descending=not order.descending), rows)

    def _ranked(self, person: str, order: Order, rows: int) -> "Frame":
        if type(rows) is not int or rows < 1:
            raise QueryError("rows", "must be a whole number, at least 1", "write rows=1")
        number = row_number().over(order, partition=[col(person)])
        return self.with_columns(**{ROW: number}).where(col(ROW) <= rows)

    def with_columns(self, **columns: Term) -> "Frame":
        """Add columns that are computed from those of the same row."""
        self._ungrouped("with_columns")
        items = (_STAR, *(Item(plain_name(name), scalar_in(term)) for name, term in columns.items()))
        return Frame(Nested(Block(self.source, items, conjunction(self.condition)), _alias(self.source)))

    def select(self, *columns: str, **named: Term) -> "Frame":
        """Keep some columns, or give expressions names."""
        self._ungrouped("select")
        items = tuple(Item(name.rpartition(".")[2], scalar_in(col(name))) for name in columns)
        items += tuple(Item(plain_name(name), scalar_in(term)) for name, term in named.items())
        if not items:
            raise QueryError("select", "keeps no column", 'write select("person", "age")')
        return Frame(Nested(Block(self.source, items, conjunction(self.condition)), _alias(self.source)))

    def ask(self, *columns: str, **named: Term) -> Posed:
        """Return the question for rows that are released already: all their columns, or some of them.

        Those of several answers can be joined first: `now.rows("a").join(before.rows("b"), on="ward").ask()`.
        """
        self._ungrouped("ask")
        items = tuple(Item(name.rpartition(".")[2], scalar_in(col(name))) for name in columns)
        items += tuple(Item(plain_name(name), scalar_in(term)) for name, term in named.items())
        return Posed(Block(self.source, items, conjunction(self.condition)))

    def agg(self, **values: Term) -> Posed:
        """Return the question for several aggregates, named by keywords."""
        return Posed(self._block(values))

    def _block(self, values: dict[str, Term]) -> Block:
        items = (*self.keys, *(Item(plain_name(name), scalar_in(value)) for name, value in values.items()))
        group = tuple(item.scalar for item in self.keys)
        return Block(self.source, items, conjunction(self.condition), group, sets=self.sets)

    def distinct(self, *keys: Term) -> Posed:
        """Return the question which values, or combinations of them, there are."""
        return self.group(*keys).agg()

    def count(self) -> Posed:
        """Return the question for the number of rows."""
        return self.agg(count=count())

    def people(self, person: str) -> Posed:
        """Return the question for the number of people, identified by a column."""
        return self.agg(people=_of(person).distinct())

    def sum(self, of: Term) -> Posed:
        """Return the question for a sum."""
        return self.agg(sum=_of(of).sum())

    def mean(self, of: Term) -> Posed:
        """Return the question for an average."""
        return self.agg(mean=_of(of).mean())

    def variance(self, of: Term) -> Posed:
        """Return the question for a sample variance."""
        return self.agg(variance=_of(of).variance())

    def deviation(self, of: Term) -> Posed:
        """Return the question for a sample standard deviation."""
        return self.agg(deviation=_of(of).deviation())

    def median(self, of: Term) -> Posed:
        """Return the question for a median."""
        return self.agg(median=_of(of).median())

    def quantile(self, of: Term, level: Real) -> Posed:
        """Return the question for a quantile."""
        return self.agg(quantile=_of(of).quantile(level))

    def mode(self, of: Term) -> Posed:
        """Return the question for the most common value."""
        return self.agg(mode=_of(of).mode())

    def highest(self, of: Term) -> Posed:
        """Return the question for the largest value, as an extreme quantile."""
        return self.agg(highest=_of(of).highest())

    def lowest(self, of: Term) -> Posed:
        """Return the question for the smallest value, as an extreme quantile."""
        return self.agg(lowest=_of(of).lowest())

    def cdf(self, of: Term, cells: int | None = None) -> Posed:
        """Return the question how many values are at or below each one."""
        return self.agg(cdf=Expression(Aggregate("cdf", scalar_in(of), cells=cells)))

    def histogram(self, of: Term, cells: int | Sequence[Real]) -> Posed:
        """Return the question how many values fall into each of some equal cells, or between given edges."""
        cut = cells if isinstance(cells, int) else tuple(rational(edge, "edge") for edge in cells)
        return self.agg(histogram=Expression(Aggregate("histogram", scalar_in(of), cells=cut)))

    def quantiles(self, of: Term, levels: Sequence[Real], cells: int | None = None) -> Posed:
        """Return the question for several quantiles, read off one measurement."""
        shares = tuple(rational(level, "level") for level in levels)
        found = Aggregate("quantiles", scalar_in(of), cells=cells, levels=shares)
        return self.agg(quantiles=Expression(found))

    def _ungrouped(self, step: str) -> None:
        if self.keys or self.sets is not None:
            raise QueryError(step, "cannot follow group", f"{step} first, then group")

    def _relation(self, step: str) -> Relation:
        self._ungrouped(step)
        if not self.condition:
            return self.source
        return Nested(Block(self.source, (), conjunction(self.condition)), _alias(self.source))


def table(name: str) -> Frame:
    """Return a declared table to build a question on."""
    return Frame(Scan(plain_name(name), name))


def viewed(name: str, views: tuple[tuple[str, str], ...]) -> Frame:
    """Return a view that the manifest declares to build a question on."""
    return Frame(read(f"SELECT COUNT(*) FROM {identifier(name)}", (), views).source)


def _depth(relation: Relation) -> int:
    return 1 + _depth(relation.left) if isinstance(relation, Join) else 0


def _alias(relation: Relation) -> str:
    return _alias(relation.left) if isinstance(relation, Join) else relation.alias


def _aliases(relation: Relation) -> tuple[str, ...]:
    if isinstance(relation, Join):
        return *_aliases(relation.left), *_aliases(relation.right)
    return (relation.alias,)


def _name(key: Expression, place: int) -> str:
    """Return the name of a group's column: that of a plain column is its own."""
    return key.scalar.name if isinstance(key.scalar, Column) else f"key{place + 1}"


def _of(term: Term) -> Expression:
    return term if isinstance(term, Expression) else Expression(scalar_in(term))
