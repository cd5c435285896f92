"""Windows over the rows of each person: what came before, what comes next, how much so far.

A window that is partitioned by the person sees rows of one person alone, so whatever it computes is a
function of that person's rows.  Where the order of ties would decide (the row before, the first, sums of so
many rows), rows are numbered first, by all that is known of them, and the number breaks the tie: then no
answer depends on the order in which an engine reads rows that differ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Kind, Opaque, Real, Truth, Typed, Whole, truth
from discreet.query.check import function
from discreet.query.check.fixed_point import fixed_point
from discreet.query.check.per_person import true_of
from discreet.query.check.scope import UNIT, Lineage, Names, Visible, carried, renamed, resolve
from discreet.query.name import HIDDEN, folded
from discreet.query.plan import (
    WINDOW,
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
    Window,
    aggregates,
    asked_of,
    change_asked,
    constant,
    given,
    has_window,
    rebuilt,
    walk,
    window_of,
    windowed,
)
from discreet.query.statement import Inner, Query

ALIAS, GROUPS, ROWS, PLACE = f"{HIDDEN}window", f"{HIDDEN}groups", f"{HIDDEN}rows", "j"

RANKS = frozenset(("row_number", "rank", "dense_rank"))
PICKS = frozenset(("lag", "lead", "first_value", "last_value", "nth_value", "min", "max"))
TIED = frozenset(("row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"))
"""Functions that the order of ties would decide."""

WHOLE = ("rows", None, None)


def windows_of(block: Block) -> list[Scalar]:
    """Return the clauses of a block that hold windows."""
    found = [item.scalar for item in block.items if has_window(item.scalar)]
    return found if block.qualify is None else [*found, block.qualify]


_DATES = frozenset(
    ("trunc", "shift", "part", "difference", "bin", "elapsed", "at_zone", "to_day", "to_moment")
)


def dates_of_aggregates(block: Block) -> bool:
    """Whether dates are computed of aggregates, which DuckDB does not do in the query that has them."""
    having = [] if block.having is None else [block.having]
    return any(map(_dated, (*(item.scalar for item in block.items), *having)))


def _dated(scalar: Scalar) -> bool:
    parts = (part for part in walk(scalar) if isinstance(part, Call) and part.function in _DATES)
    return any(map(aggregates, parts))


def below_groups(block: Block) -> Block:
    """Return a block with groups and windows as one over a subquery that has the groups."""
    # What a group is kept for comes before windows either way.
    later = block.having if block.having is not None and _dated(block.having) else None
    clauses = [*_clauses(block), *([] if later is None else [later])]
    parts = [part for clause in clauses for part in walk(clause) if isinstance(part, Aggregate)]
    keys = {term: f"k{place}" for place, term in enumerate(block.group)}
    values = {part: f"g{place}" for place, part in enumerate(dict.fromkeys(parts))}
    items = tuple(Item(name, scalar) for scalar, name in (*keys.items(), *values.items()))
    grouped = Block(block.source, items, block.where, block.group, block.having if later is None else None)

    def meant(scalar: Scalar) -> Scalar | None:
        name = values.get(scalar) if isinstance(scalar, Aggregate) else keys.get(scalar)
        return None if name is None else Column(GROUPS, name)

    return Block(
        Nested(grouped, GROUPS),
        tuple(Item(item.name, rebuilt(item.scalar, meant)) for item in block.items),
        None if later is None else rebuilt(later, meant),
        qualify=None if block.qualify is None else rebuilt(block.qualify, meant),
    )


def inside_aggregates(block: Block) -> list[Call]:
    """Return the windows that aggregates of a block are about."""
    inside = (
        part
        for scalar in asked_of(block)
        for one in walk(scalar)
        if isinstance(one, Aggregate)
        for part in walk(one)
    )
    return list(dict.fromkeys(part for part in inside if isinstance(part, Call) and part.function == WINDOW))


def above_rows(block: Block) -> Block:
    """Return a block whose aggregates are about windows as one over a subquery that has the windows."""
    parts = [part for scalar in (*asked_of(block), *block.group) for part in walk(scalar)]
    inside = (part for one in parts if isinstance(one, Aggregate) for part in walk(one))
    shown = (
        part for scalar in (*(item.scalar for item in block.items), *block.group) for part in walk(scalar)
    )
    columns = dict.fromkeys(part for part in (*inside, *shown) if isinstance(part, Column))
    made: dict[Scalar, str] = {column: f"v{place}" for place, column in enumerate(columns)}
    made |= {call: f"w{place}" for place, call in enumerate(inside_aggregates(block))}
    items = tuple(Item(name, scalar) for scalar, name in made.items())

    def meant(scalar: Scalar) -> Scalar | None:
        return Column(ROWS, made[scalar]) if scalar in made else None

    return replace(
        change_asked(block, lambda scalar: rebuilt(scalar, meant)),
        source=Nested(Block(block.source, items, block.where), ROWS),
        where=None,
        group=tuple(rebuilt(term, meant) for term in block.group),
    )


def _clauses(block: Block) -> list[Scalar]:
    qualify = [] if block.qualify is None else [block.qualify]
    return [*(item.scalar for item in block.items), *qualify]


def serial(block: Block, inner: Lineage, where: Scalar | None, fresh: Names) -> tuple[Block, Lineage]:
    """Return the rows of a block with its windows as columns, and the block over them."""
    if not inner.private or not inner.units:
        raise _refused("needs a table with a unit")
    parts = [part for clause in _clauses(block) for part in walk(clause)]
    used = {folded(part.name) for part in parts if isinstance(part, Column)}
    inner = replace(inner, columns=tuple(c for c in inner.columns if folded(c.name) in used))
    made = _Windows(inner)
    calls = dict.fromkeys(part for part in parts if isinstance(part, Call) and part.function == WINDOW)
    columns = {
        call: Visible(ALIAS, f"w{place}", made.typed(window_of(call))) for place, call in enumerate(calls)
    }
    lineage = made.lineage(where, fresh, tuple(columns.values()))

    def meant(scalar: Scalar) -> Scalar | None:
        found = columns.get(scalar) if isinstance(scalar, Call) else None
        return None if found is None else Column(ALIAS, found.name)

    items = tuple(Item(item.name, rebuilt(item.scalar, meant)) for item in block.items)
    qualify = None if block.qualify is None else rebuilt(block.qualify, meant)
    return replace(block, items=items, where=qualify, qualify=None), lineage


@dataclass
class _Windows:
    """The windows of a block, over columns that a query below selects."""

    inner: Lineage
    below: dict[Scalar, str] = field(default_factory=dict)
    above: dict[Scalar, str] = field(default_factory=dict)
    numbered: set[str] = field(default_factory=set)
    """Columns that number all rows of a person."""

    def typed(self, window: Window) -> Typed:
        """Return what a window yields, from columns that are still to be named by `lineage`."""
        keys = [self._resolved(term, "PARTITION BY").scalar for term in window.partition]
        if not any(key in self.inner.units for key in keys):
            raise _refused("sees other people's rows unless it is PARTITION BY the person")
        order = tuple(
            replace(term, scalar=self._column(self._resolved(term.scalar, "ORDER BY").scalar))
            for term in window.order
        )
        partition = tuple(self._column(key) for key in dict.fromkeys(keys))

        def over(name: str, *arguments: Scalar) -> Column:
            return self._window(Window(name, arguments, partition, order, window.frame))

        limit = self.inner.bound if self.inner.bound is not None else self.inner.rows
        if window.function in RANKS:
            found = over(window.function)
            if window.function == "row_number" and all(key in self.inner.units for key in keys):
                self.numbered.add(found.name)
            return Typed(found, Whole(1, limit))
        if window.function == "ntile":
            # A part has one of their numbers.
            return Typed(over("ntile", *window.arguments), Whole(1, constant(window.arguments[0])), held=True)
        if window.function == "count":
            return Typed(over("count", self._argument(window).scalar), Whole(0, limit))
        if window.function in PICKS:
            return self._picked(window, over)
        if window.function in ("sum", "avg"):
            return self._added(window, over, limit)
        raise _refused(f"cannot be {window.function.upper()}")

    def _picked(self, window: Window, over: Callable[..., Column]) -> Typed:
        name = window.function
        typed = self._resolved(window.arguments[0], name.upper())
        if isinstance(typed.kind, Opaque) and name in ("min", "max"):
            raise QueryError(
                name.upper(), "an identifier of undeclared type has no order", "declare its type"
            )
        if isinstance(typed.kind, Truth) and name in ("min", "max"):
            return truth(true_of(lambda number: over(name, self._column(number)), typed.scalar))
        if name == "nth_value":
            return replace(typed, scalar=over(name, self._column(typed.scalar), window.arguments[1]))
        if name not in ("lag", "lead"):
            return replace(typed, scalar=over(name, self._column(typed.scalar)))
        distance, missing = window.arguments[1:]
        found = replace(typed, scalar=over(name, self._column(typed.scalar), distance))
        if missing == Literal(None):
            return found
        # Whether a row has one so far away, its number says: the value of that one may be missing too.
        others = [over("row_number")] if name == "lag" else [self._total(window), over("row_number")]
        left = others[0] if name == "lag" else Call("subtract", (others[0], others[1]))
        beyond = Call("le" if name == "lag" else "lt", (left, distance))
        both, kind = function.agree(name.upper(), [self._resolved(missing, name.upper()), found])
        return Typed(Case(((beyond, both[0].scalar),), both[1].scalar), kind)

    def _total(self, window: Window) -> Column:
        """Return how many rows a window's partition has."""
        keys = (self._resolved(term, "PARTITION BY").scalar for term in window.partition)
        partition = tuple(self._column(key) for key in dict.fromkeys(keys))
        return self._window(Window("count", (Literal(1),), partition, (), WHOLE))

    def _added(self, window: Window, over: Callable[..., Column], limit: int | None) -> Typed:
        """Sum in integers: a sum of doubles depends on the order of its rows."""
        name = window.function
        argument = self._resolved(window.arguments[0], name.upper())
        integer = fixed_point(name, argument, None)
        column = self._column(integer.scalar)
        total = Call("to_whole", (over("sum", column),))
        low, high = integer.low, integer.high
        if name == "avg":
            kind: Kind = Real(Fraction(low, integer.scale), Fraction(high, integer.scale))
            return Typed(Call("mean", (total, over("count", column), Literal(Fraction(integer.scale)))), kind)
        ends = (None, None) if limit is None else (min(low, 0) * limit, max(high, 0) * limit)
        if integer.scale == 1 and isinstance(argument.kind, Whole):
            return Typed(total, Whole(*ends))
        least, most = (None if end is None else Fraction(end, integer.scale) for end in ends)
        return Typed(
            Call("divide", (Call("to_real", (total,)), Literal(Fraction(integer.scale)))), Real(least, most)
        )

    def _argument(self, window: Window) -> Typed:
        typed = self._resolved(window.arguments[0], window.function.upper())
        plain = isinstance(typed.scalar, Literal)
        return typed if plain else replace(typed, scalar=self._column(typed.scalar))

    def _resolved(self, scalar: Scalar, clause: str) -> Typed:
        if has_window(scalar) or aggregates(scalar):
            raise _refused("stands in no other one")
        return function.graded(function.settle(resolve(scalar, self.inner, clause)))

    def _column(self, scalar: Scalar) -> Scalar:
        """Return the column of the query below that holds a scalar; its alias is filled in later."""
        if scalar in self.inner.units:
            return Column(None, UNIT)
        return Column(None, self.below.setdefault(scalar, f"a{len(self.below)}"))

    def _window(self, window: Window) -> Column:
        if window.function in ("row_number", "rank", "dense_rank", "ntile", "lag", "lead"):
            window = replace(window, frame=WHOLE)
        if window.function in TIED or (window.frame[0] == "rows" and window.frame != WHOLE):
            window = replace(window, order=(*window.order, Order(Column(None, PLACE))))
        call = windowed(window)
        return Column(None, self.above.setdefault(call, f"w{len(self.above)}"))

    def lineage(self, where: Scalar | None, fresh: Names, made: Sequence[Visible]) -> Lineage:
        """Return the rows with their windows beside them."""
        inner, base, own = self.inner, next(fresh), next(fresh)
        kept = [(f"c{place}", column.typed.scalar) for place, column in enumerate(inner.columns)]
        items = [*kept, *((name, scalar) for scalar, name in self.below.items()), (UNIT, given(inner.unit))]
        source = Inner(Query(tuple(items), inner.source, where), base)
        names = [name for name, _ in items]
        if any(Column(None, PLACE) in walk(call) for call in self.above):
            others = [Column(base, name) for name in names if name != UNIT]
            place = Call("rank", (Column(base, UNIT), *others))
            ranked = [(name, Column(base, name)) for name in names]
            base = next(fresh)
            source = Inner(Query((*ranked, (PLACE, place)), source), base)
        over = [(name, _named(call, base)) for call, name in self.above.items()]
        passed = [(name, Column(base, name)) for name, _ in kept] + [(UNIT, Column(base, UNIT))]
        columns = [
            replace(column, typed=replace(column.typed, scalar=Column(own, f"c{place}")))
            for place, column in enumerate(inner.columns)
        ]
        columns += [
            replace(one, typed=replace(one.typed, scalar=_named(one.typed.scalar, own))) for one in made
        ]
        numbers = tuple(Column(own, name) for name in sorted(self.numbered))
        return replace(
            inner,
            source=Inner(Query((*passed, *over), source), own),
            columns=tuple(columns),
            units=carried(inner, own, [*kept, (UNIT, given(inner.unit))]),
            unique=numbers,
            once=(),
            keyed=renamed(inner.keyed, own, kept),
            ranks=numbers,
        )


def _named(scalar: Scalar, alias: str) -> Scalar:
    """Return a scalar whose columns without a relation are those of one."""

    def own(part: Scalar) -> Scalar | None:
        return Column(alias, part.name) if isinstance(part, Column) and part.relation is None else None

    return rebuilt(scalar, own)


def _refused(reason: str) -> QueryError:
    return QueryError(
        "a window function over rows of people",
        reason,
        "write LAG(day) OVER (PARTITION BY person ORDER BY day) AS before in a subquery",
    )
