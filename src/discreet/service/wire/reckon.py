"""A small interpreter of SELECT over the tables of the catalogue.

No engine is asked: what a client wants to know about tables is worked out here from declarations, which are
public.  What is not understood is refused; what takes too many steps too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key, partial
from typing import Any

from sqlglot import exp

from discreet.service.wire.expression import aggregates, called, evaluate, kind, output_name
from discreet.service.wire.relations import EMPTY, SystemRelation
from discreet.service.wire.scalar import Beyond, Context, shown, within

STEPS = 200_000
DEPTH = 40

Head = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Bound:
    """A relation under the name it has in a statement."""

    name: str
    relation: SystemRelation

    def place(self, column: str) -> int | None:
        """Return where a column stands."""
        return next((n for n, (name, _) in enumerate(self.relation.columns) if name == column), None)


@dataclass(frozen=True, slots=True)
class RowScope:
    """One row of each relation in scope, and the scope around it."""

    bound: tuple[Bound, ...]
    cells: tuple[tuple[Any, ...] | None, ...]
    outer: "RowScope | None" = None
    group: "tuple[RowScope, ...] | None" = None


@dataclass(slots=True)
class Reckoner:
    """Works out statements about the catalogue, within so many steps."""

    relations: Mapping[str, SystemRelation]
    context: Context
    parameters: Sequence[Any]
    steps: int = 0
    depth: int = 0
    _with: dict[str, SystemRelation] = field(default_factory=dict)

    def table(self, tree: exp.Expr, outer: RowScope | None = None) -> SystemRelation:
        """Return what a statement returns."""
        self.depth += 1
        if self.depth > DEPTH:
            raise Beyond("so much nesting")
        before = dict(self._with)
        try:
            for one in _with(tree):
                found = self.table(one.this, outer)
                names = [column.name for column in (one.args["alias"].columns or ())]
                self._with[one.alias.lower()] = _renamed(found, names)
            return self._statement(tree, outer)
        finally:
            self._with = before
            self.depth -= 1

    def _statement(self, tree: exp.Expr, outer: RowScope | None) -> SystemRelation:
        match tree:
            case exp.Subquery():
                return self.table(tree.this, outer)
            case exp.Union():
                left, right = self.table(tree.this, outer), self.table(tree.expression, outer)
                rows = (*left.rows, *right.rows)
                if tree.args.get("distinct"):
                    rows = tuple(_distinct(rows))
                return self._cut(
                    tree, SystemRelation(left.columns, self._sorted_plain(tree, left.columns, rows))
                )
            case exp.Values():
                rows = tuple(
                    tuple(self.value(one, outer) for one in row.expressions) for row in tree.expressions
                )
                width = len(rows[0]) if rows else 0
                return SystemRelation(tuple((f"column{n + 1}", "text") for n in range(width)), rows)
            case exp.Select():
                return self._select(tree, outer)
            case _:
                raise Beyond(type(tree).__name__)

    def _select(self, tree: exp.Select, outer: RowScope | None) -> SystemRelation:
        for clause in ("into", "windows", "qualify", "connect", "match", "sample", "laterals", "pivots"):
            if tree.args.get(clause):
                raise Beyond(clause)
        bound, rows = self._from(tree, outer)
        where = tree.args.get("where")
        if where is not None:
            rows = [row for row in rows if self.value(where.this, row) is True]
        rows = self._grouped(tree, bound, rows, outer)
        items = list(self._items(tree, bound))
        heads = tuple((name, self.kind(one, RowScope(bound, (), outer))) for name, one in items)
        sample = [(row, tuple(self.value(one, row) for _, one in items)) for row in rows]
        order = tree.args.get("order")
        if order is not None:
            sample = self._sorted(order, items, sample)
        cells: Sequence[tuple[Any, ...]] = [found for _, found in sample]
        if tree.args.get("distinct"):
            cells = list(_distinct(cells))
        return self._cut(tree, SystemRelation(heads, tuple(cells)))

    def _items(self, tree: exp.Select, bound: Sequence[Bound]) -> Iterator[tuple[str, exp.Expr]]:
        for one in tree.expressions:
            if isinstance(one, exp.Star) or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star)):
                wanted = one.table.lower() if isinstance(one, exp.Column) else ""
                for each in bound:
                    if wanted in ("", each.name):
                        for name, _ in each.relation.columns:
                            yield name, exp.column(name, table=each.name)
            else:
                yield one.alias_or_name or output_name(one), one.unalias()

    def _from(self, tree: exp.Select, outer: RowScope | None) -> tuple[tuple[Bound, ...], list[RowScope]]:
        start = tree.args.get("from_") or tree.args.get("from")
        if start is None:
            return (), [RowScope((), (), outer)]
        sources = [(start.this, None)] + [(join.this, join) for join in tree.args.get("joins") or ()]
        bound: tuple[Bound, ...] = ()
        rows = [RowScope((), (), outer)]
        for source, join in sources:
            if isinstance(source, exp.Lateral) or (isinstance(source, exp.Table) and _calls(source)):
                bound, rows = self._laterally(source, join, bound, rows)
                continue
            new = self._bound(source, outer)
            bound, rows = (*bound, new), self._joined(join, (*bound, new), rows, new)
        return bound, rows

    def _laterally(
        self, source: exp.Expr, join: Any, bound: tuple[Bound, ...], rows: list[RowScope]
    ) -> tuple[tuple[Bound, ...], list[RowScope]]:
        """Return rows joined with what a function or a LATERAL subquery returns for each."""
        found: list[RowScope] = []
        last: Bound | None = None
        for row in rows or [RowScope(bound, tuple(None for _ in bound), None)]:
            last = self._called(source, row)
            wide = (*bound, last)
            made = [RowScope(wide, (*row.cells, cells), row.outer) for cells in last.relation.rows]
            if join is not None and str(join.side).upper() == "LEFT" and not made:
                made = [RowScope(wide, (*row.cells, None), row.outer)]
            for _ in made:
                self._step()
            found += made if rows else []
        return (*bound, last) if last is not None else bound, found

    def _called(self, source: exp.Expr, row: RowScope) -> Bound:
        alias = source.args.get("alias")
        names = [column.name for column in (alias.columns if alias is not None else ())]
        if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
            return Bound(source.alias.lower(), _renamed(self.table(source.this, row), names))
        call = source.this
        name, given = called(call)
        values = [self.value(one, row) for one in given]
        sort = "text"
        match name:
            case "generate_series" | "generate_subscripts":
                first, last = (1, len(values[0] or ())) if name == "generate_subscripts" else values[:2]
                cells = [] if first is None or last is None else list(range(int(first), int(last) + 1)[:1000])
                sort = "int4"
            case "unnest":
                cells = list(values[0] or ())
            case _:
                raise Beyond(f"the function {name}")
        known = (alias.name if alias is not None else "").lower() or name
        return Bound(known, _renamed(SystemRelation(((known, sort),), tuple((one,) for one in cells)), names))

    def _bound(self, source: exp.Expr, outer: RowScope | None) -> Bound:
        alias = source.args.get("alias")
        names = [column.name for column in (alias.columns if alias is not None else ())]
        if isinstance(source, exp.Subquery | exp.Values):
            return Bound(source.alias.lower(), _renamed(self.table(source, outer), names))
        if not isinstance(source, exp.Table) or source.args.get("joins") or source.args.get("sample"):
            raise Beyond("FROM")
        name, schema = source.name.lower(), source.db.lower()
        if not schema and name in self._with:
            found = self._with[name]
        else:
            key = f"{schema}.{name}" if schema == "information_schema" else name
            if schema not in ("", "pg_catalog", "information_schema") or not key.startswith(("pg_", "info")):
                raise Beyond(f"a table {source.name[:63]!r} among those of the system")
            found = self.relations.get(key, EMPTY)
        return Bound(source.alias.lower() or name, _renamed(found, names))

    def _joined(
        self, join: Any, bound: tuple[Bound, ...], rows: list[RowScope], new: Bound
    ) -> list[RowScope]:
        side = "" if join is None else str(join.side or "").upper()
        if side not in ("", "LEFT") or (join is not None and str(join.method or "")):
            raise Beyond(f"a {side} join")
        on = None if join is None else join.args.get("on")
        using = [] if join is None else [one.name for one in join.args.get("using") or ()]
        found: list[RowScope] = []
        candidates = self._candidates(on, new)
        for row in rows:
            made = []
            for cells in candidates(row):
                wide = RowScope(bound, (*row.cells, cells), row.outer)
                self._step()
                if all(self._equal(wide, name, new) for name in using) and (
                    on is None or self.value(on, wide) is True
                ):
                    made.append(wide)
            if side == "LEFT" and not made:
                made.append(RowScope(bound, (*row.cells, None), row.outer))
            found += made
        return found

    def _candidates(self, on: Any, new: Bound) -> Callable[[RowScope], Sequence[tuple[Any, ...]]]:
        """Return which rows of a relation can match a row before it, by a column that must be equal."""
        for one in on.flatten() if isinstance(on, exp.And) else [on]:
            sides = (one.this, one.expression) if isinstance(one, exp.EQ) else ()
            for own, other in (sides, sides[::-1]) if sides else ():
                place = new.place(own.name.lower()) if _of(own, new.name) else None
                if (
                    place is None
                    or not isinstance(other, exp.Column)
                    or other.table.lower() in ("", new.name)
                ):
                    continue
                index: dict[str | None, list[tuple[Any, ...]]] = {}
                for cells in new.relation.rows:
                    index.setdefault(shown(cells[place]), []).append(cells)
                # Equal values have equal texts, whatever their types; the condition itself is checked after.
                return partial(self._found, index, other)
        return lambda _: new.relation.rows

    def _found(self, index: Any, other: exp.Expr, row: RowScope) -> Sequence[tuple[Any, ...]]:
        value = self.value(other, row)
        found: Sequence[tuple[Any, ...]] = index.get(shown(value), ()) if value is not None else ()
        return found

    def _equal(self, row: RowScope, name: str, new: Bound) -> bool:
        before = RowScope(row.bound[:-1], row.cells[:-1], row.outer)
        last = RowScope(row.bound[-1:], row.cells[-1:], None)
        column = exp.column(name)
        return bool(self.value(column, before) == self.value(column, last))

    def _grouped(
        self, tree: exp.Select, bound: tuple[Bound, ...], rows: list[RowScope], outer: RowScope | None
    ) -> list[RowScope]:
        group = tree.args.get("group")
        having = tree.args.get("having")
        if group is None and not any(aggregates(one) for one in tree.expressions) and having is None:
            return rows
        groups: dict[Any, list[RowScope]] = {}
        terms = [] if group is None else [self._term(one, tree) for one in group.expressions]
        for row in rows:
            groups.setdefault(tuple(_key(self.value(one, row)) for one in terms), []).append(row)
        if group is None and not groups:
            groups[()] = []
        empty = RowScope(bound, tuple(None for _ in bound), outer)
        made = [
            RowScope(bound, (members or [empty])[0].cells, outer, group=tuple(members))
            for members in groups.values()
        ]
        return made if having is None else [row for row in made if self.value(having.this, row) is True]

    def _term(self, one: exp.Expr, tree: exp.Select) -> exp.Expr:
        """Return what a number or an output's name in GROUP BY stands for."""
        if isinstance(one, exp.Literal) and not one.is_string:
            named: exp.Expr = tree.expressions[int(one.name) - 1].unalias()
            return named
        return one

    def _sorted(self, order: Any, items: Sequence[tuple[str, exp.Expr]], sample: list[Any]) -> list[Any]:
        names = [name for name, _ in items]

        def key(found: tuple[RowScope, tuple[Any, ...]], term: exp.Expr) -> Any:
            row, cells = found
            inner = term.this
            if isinstance(inner, exp.Literal) and not inner.is_string:
                return cells[int(inner.name) - 1]
            if isinstance(inner, exp.Column) and not inner.table and inner.name in names:
                return cells[names.index(inner.name)]
            return self.value(inner, row)

        for term in reversed(order.expressions):
            wanted = [(key(one, term), one) for one in sample]
            wanted.sort(
                key=cmp_to_key(lambda one, other: _compare(one[0], other[0])),  # type: ignore[index]
                reverse=bool(term.args.get("desc")),
            )
            sample = [one for _, one in wanted]
        return sample

    def _sorted_plain(self, tree: exp.Expr, heads: Sequence[Head], rows: Sequence[Any]) -> tuple[Any, ...]:
        order = tree.args.get("order")
        if order is None:
            return tuple(rows)
        items = [(name, exp.Null()) for name, _ in heads]
        return tuple(
            cells for _, cells in self._sorted(order, items, [(RowScope((), ()), one) for one in rows])
        )

    def _cut(self, tree: exp.Expr, found: SystemRelation) -> SystemRelation:
        offset, limit = tree.args.get("offset"), tree.args.get("limit")
        first = 0 if offset is None else int(self.value(offset.expression, None) or 0)
        if limit is None:
            return SystemRelation(found.columns, found.rows[first:])
        count = self.value(limit.args.get("expression") or limit.args.get("count"), None)
        return SystemRelation(
            found.columns, found.rows[first:] if count is None else found.rows[first : first + int(count)]
        )

    def _step(self) -> None:
        self.steps += 1
        if self.steps > STEPS:
            raise Beyond("so much work")

    def value(self, node: Any, row: RowScope | None) -> Any:
        """Return the value of an expression for a row."""
        self._step()
        return within(evaluate(self, node, row))

    def kind(self, node: Any, row: RowScope | None) -> str:
        """Return the type of an expression, without any value."""
        return kind(self, node, row)

    def first(self, tree: exp.Expr, row: RowScope | None) -> list[Any]:
        """Return the first column of a subquery."""
        return [cells[0] for cells in self.table(tree, row).rows]


def _with(tree: exp.Expr) -> Sequence[exp.CTE]:
    found = tree.args.get("with_") or tree.args.get("with")
    if found is not None and found.args.get("recursive"):
        raise Beyond("WITH RECURSIVE")
    return found.expressions if found is not None else ()


def _renamed(found: SystemRelation, names: Sequence[str]) -> SystemRelation:
    if not names:
        return found
    heads = [
        (names[n].lower() if n < len(names) else name, kind) for n, (name, kind) in enumerate(found.columns)
    ]
    return SystemRelation(tuple(heads), found.rows, found.open)


def _calls(source: exp.Table) -> bool:
    return isinstance(source.this, exp.Func | exp.Anonymous)


def _of(node: exp.Expr, table: str) -> bool:
    return isinstance(node, exp.Column) and node.table.lower() == table


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _distinct(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    seen: set[Any] = set()
    for row in rows:
        key = tuple(_key(cell) for cell in row)
        if key not in seen:
            seen.add(key)
            yield row


def _compare(one: Any, other: Any) -> int:
    """Compare two values; NULL comes last, and values of different kinds by their texts."""
    if one is None or other is None:
        return (one is None) - (other is None)
    try:
        return int(one > other) - int(one < other)
    except TypeError:
        left, right = str(one), str(other)
        return int(left > right) - int(left < right)
