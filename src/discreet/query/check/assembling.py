"""Questions about released tables: WITH this_year AS (...), last_year AS (...) SELECT ... FROM both, joined.

A subquery that mixes people is a release.  Where several of them are joined or put under each other, or one
is limited before something is made of it, each is a question of its own; they share the price, and all the
rest is computed from what they release.  A subquery that is named once and used twice is released once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.assembly import (
    Assembly,
    Made,
    PairedTables,
    PiledTables,
    ReleasedTable,
    SelectedRows,
)
from discreet.query.check.formula import Constant, Formula, NoisyTerm, Operation, has_windowed, measured
from discreet.query.check.measurement import Checked, Declared, KeyColumn, Ordering, Output
from discreet.query.check.reading import FORMULA_LIMIT, composed
from discreet.query.check.released import NUMBER, Kinds
from discreet.query.check.stack import BOTH
from discreet.query.check.summary import by_windows, groups, releases
from discreet.query.name import folded, same
from discreet.query.plan import (
    ONE_VALUE,
    Block,
    Call,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    has_window,
    rebuilt,
)

MOST_PARTS = 12
"""So many questions may share one price."""

Check = Callable[[Block], Checked]


def assembled(block: Block, catalog: Catalog, check: Check) -> Checked | None:
    """Return the question that several released tables make, or None where a block is about people's rows."""
    if not _assembles(block, catalog):
        _refuse_mixed(block.source, catalog, check)
        return None
    parts = _Parts(catalog, check)
    table = parts.selected(block)
    if not isinstance(table.made, SelectedRows):
        raise AssertionError("what is made of released tables is selected from them")
    found = tuple(parts.checked)
    _require_alike(found)
    cells = max([shown.cells or 1 for shown in table.columns], default=1)
    first = found[0]
    return replace(
        first,
        keys=Declared(
            tuple(KeyColumn(shown.name, Literal(None), None) for shown in table.columns if not shown.of)
        ),
        measurements=tuple(measured for part in found for measured in part.measurements),
        columns=tuple(
            Output(shown.name, _traced(shown), kind=shown.kind, end=output.end)
            for shown, output in zip(table.columns, table.made.columns, strict=True)
        ),
        having=None,
        order=(),
        limit=None,
        offset=0,
        qualify=None,
        distinct=False,
        tables=tuple(dict.fromkeys(name for part in found for name in part.tables)),
        notes=tuple(dict.fromkeys(note for part in found for note in part.notes)),
        capping=None,
        assembly=Assembly(found, table.made, cells),
    )


def _assembles(block: Block, catalog: Catalog) -> bool:
    """Whether a block is about released tables in a way that no single question is."""
    match block.source:
        case Nested(inner):
            if _assembles(inner, catalog):
                return True
            cut = inner.order or inner.limit is not None or inner.offset
            twice = _windowed(block) and _windowed(inner)
            return bool(cut or twice) and _released(block.source, catalog)
        case Join() | UnionAll() as source:
            return _released(source, catalog)
    return False


def _windowed(block: Block) -> bool:
    return block.qualify is not None or any(has_window(item.scalar) for item in block.items)


def _released(relation: Relation, catalog: Catalog) -> bool:
    """Whether a relation is made of released tables alone."""
    match relation:
        case Scan():
            return False
        case Nested(block):
            return releases(block, catalog) or _released(block.source, catalog)
        case Join(left, right):
            return _released(left, catalog) and _released(right, catalog)
        case UnionAll(blocks):
            return all(_released(Nested(block, ""), catalog) for block in blocks)


def _refuse_mixed(source: Relation, catalog: Catalog, check: Check) -> None:
    """Refuse a released table beside a public one, or where it would decide which rows of people count."""
    if not isinstance(source, Join):
        return
    _refuse_mixed(source.left, catalog, check)
    sides = (source.left, source.right)
    found = [_released(side, catalog) for side in sides]
    if any(found) == all(found):
        return
    other = sides[0 if found[1] else 1]
    if isinstance(other, Nested):
        # What is wrong with it alone is said first.
        check(other.block)
    if isinstance(other, Scan) and (table := catalog.meant(other.table)) is not None and table.public:
        raise QueryError(
            f"JOIN {other.table}",
            "joins a public table to rows that are released already",
            "join it inside the subquery, before GROUP BY",
        )
    if isinstance(source.right, Nested) and source.right.alias.startswith(ONE_VALUE):
        raise QueryError(
            "a subquery for a value beside rows of people",
            "would let an answer decide what each person adds",
            "ask for it first, and write its value or a parameter: WHERE cost > 12.5",
        )


def _require_alike(parts: Sequence[Checked]) -> None:
    first = parts[0].rows
    for other in parts[1:]:
        if other.rows.adjacency is not first.adjacency or (other.rows.unit is None) != (first.unit is None):
            raise QueryError(
                "FROM",
                "puts together answers that protect people in different ways",
                "ask for each of them in a question of its own",
            )


@dataclass(frozen=True, slots=True)
class _Shown:
    """One column of a table: where it comes from, and of how many measured cells a value is made.

    `of` are the measurements that it depends on; `cells` is None for what has no interval.
    """

    alias: str
    name: str
    kind: str | None
    of: frozenset[int]
    cells: int | None


@dataclass(frozen=True, slots=True)
class _InMaking:
    """A table that is being made, and its columns."""

    made: Made
    columns: tuple[_Shown, ...]


def _traced(shown: _Shown) -> Formula:
    """Return a formula that depends on what a column depends on; the table itself says how."""
    terms = tuple(NoisyTerm(place) for place in sorted(shown.of))
    return Operation("made of", terms) if terms else Constant(None)


@dataclass(slots=True)
class _Parts:
    """The questions that a table is made of, in the order in which they were met."""

    catalog: Catalog
    check: Check
    blocks: list[Block] = field(default_factory=list)
    checked: list[Checked] = field(default_factory=list)

    def selected(self, block: Block) -> _InMaking:
        """Return what a block makes of released tables."""
        source = self._relation(block.source)
        if groups(block):
            block = by_windows(_spelt_out(block, source))
        return _select(block, source)

    def _relation(self, relation: Relation) -> _InMaking:
        match relation:
            case Nested(block, alias):
                known = self._block(block)
                return replace(known, columns=tuple(replace(c, alias=alias) for c in known.columns))
            case Join(left, right, on, outer, full):
                return _paired(self._relation(left), self._relation(right), on, outer=outer, full=full)
            case UnionAll(blocks, alias):
                return _piled([self._block(block) for block in blocks], alias)
            case Scan():
                raise AssertionError("a table is made of released ones alone")

    def _block(self, block: Block) -> _InMaking:
        if _released(block.source, self.catalog):
            return self.selected(block)
        return self._part(block)

    def _part(self, block: Block) -> _InMaking:
        if block not in self.blocks:
            if len(self.blocks) == MOST_PARTS:
                raise QueryError(
                    "FROM", f"puts together more than {MOST_PARTS} released tables", "ask for fewer at once"
                )
            self.checked.append(self.check(block))
            self.blocks.append(block)
        place = self.blocks.index(block)
        checked = self.checked[place]
        before = sum(len(other.measurements) for other in self.checked[:place])
        columns = [
            _Shown(
                "",
                output.name,
                NUMBER if output.end else output.kind,
                frozenset(before + position for position in measured(output.formula)),
                None if has_windowed(output.formula) else int(bool(measured(output.formula))),
            )
            for output in checked.columns
        ]
        return _InMaking(ReleasedTable(place, len(columns)), tuple(columns))


def _paired(left: _InMaking, right: _InMaking, on: Scalar, *, outer: bool, full: bool) -> _InMaking:
    columns = (*left.columns, *right.columns)
    reading = _Reading(columns)
    condition = reading.kinds.condition(reading.formula(on, "ON"), "ON")
    return _InMaking(PairedTables(left.made, right.made, condition, outer, full), columns)


def _piled(tables: Sequence[_InMaking], alias: str) -> _InMaking:
    first = tables[0]
    if any(len(table.columns) != len(first.columns) for table in tables):
        raise QueryError("UNION ALL", "the parts have different numbers of columns", "select as many in each")
    columns = []
    for place, shown in enumerate(first.columns):
        own = [table.columns[place] for table in tables]
        kinds = list(dict.fromkeys(one.kind for one in own if one.kind is not None))
        if len(kinds) > 1:
            raise QueryError(
                f"UNION ALL, {shown.name}",
                f"is {kinds[0]} in one part and {kinds[1]} in another",
                "cast one of them: CAST(x AS TEXT)",
            )
        cells = [one.cells for one in own]
        most = None if None in cells else max(one for one in cells if one is not None)
        of = frozenset[int]().union(*(one.of for one in own))
        columns.append(_Shown(alias, shown.name, kinds[0] if kinds else None, of, most))
    return _InMaking(PiledTables(tuple(table.made for table in tables)), tuple(columns))


def _spelt_out(block: Block, source: _InMaking) -> Block:
    """Return a block in which every column is spelt in one way, and no output name stands for a column."""
    reading = _Reading(source.columns, block.items)

    def meant(part: Scalar) -> Scalar | None:
        return reading.spelt(part) if isinstance(part, Column) else None

    def change(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, meant)

    return replace(
        block,
        items=tuple(Item(item.name, change(item.scalar)) for item in block.items),
        where=None if block.where is None else change(block.where),
        group=tuple(map(change, block.group)),
        having=None if block.having is None else change(block.having),
        order=tuple(replace(term, scalar=change(term.scalar)) for term in block.order),
    )


def _select(block: Block, source: _InMaking) -> _InMaking:
    items = block.items or tuple(_free(source.columns))
    reading = _Reading(source.columns, items)
    kinds = reading.kinds
    columns = tuple(kinds.shown(_output(item, reading)) for item in items)
    where = None if block.where is None else reading.formula(block.where, "HAVING")
    if block.having is not None:
        raise QueryError("HAVING", "needs GROUP BY", "filter what a subquery returns with WHERE")
    qualify = None if block.qualify is None else reading.formula(block.qualify, "QUALIFY")
    made = SelectedRows(
        source.made,
        columns,
        None if where is None else kinds.condition(where, "WHERE"),
        None if qualify is None else kinds.condition(qualify, "QUALIFY"),
        tuple(
            Ordering(
                kinds.sound(reading.formula(term.scalar, "ORDER BY"), "ORDER BY"),
                term.descending,
                term.nulls_first,
            )
            for term in block.order
        ),
        block.limit,
        block.offset,
        block.distinct,
    )
    return _InMaking(made, tuple(reading.shown(output) for output in columns))


def _free(columns: Sequence[_Shown]) -> list[Item]:
    """Return all columns, those of one name told apart by a number."""
    taken: list[str] = []
    items = []
    for shown in columns:
        name, count = shown.name, 1
        while any(same(name, other) for other in taken):
            count += 1
            name = f"{shown.name}_{count}"
        taken.append(name)
        items.append(Item(name, Column(shown.alias, shown.name)))
    return items


def _output(item: Item, reading: "_Reading") -> Output:
    match item.scalar:
        case Call("interval_low" | "interval_high" as end, (argument,)):
            return Output(item.name, reading.formula(argument, "SELECT"), end.removeprefix("interval_"))
        case scalar:
            return Output(item.name, reading.formula(scalar, "SELECT"))


class _Reading:
    """How clauses about released tables are read: as formulas of their cells."""

    def __init__(self, columns: Sequence[_Shown], items: Sequence[Item] = ()) -> None:
        self.columns = columns
        self.kinds = Kinds((), [shown.kind for shown in columns])
        self._items = items
        self._inside: list[Item] = []
        self._steps = 0

    def formula(self, scalar: Scalar, clause: str) -> Formula:
        """Return a clause as a formula of cells."""
        self._steps += 1
        if self._steps > FORMULA_LIMIT:
            raise QueryError(clause, "has too many parts", "compute it from the answer")
        if not isinstance(scalar, Column):
            return composed(scalar, clause, self.formula)
        found = self.spelt(scalar)
        if isinstance(found, Column):
            return NoisyTerm(self._places(found)[0])
        return self.formula(found, clause)

    def spelt(self, column: Column) -> Scalar:
        """Return a column under its full name, or what an output name stands for."""
        places = self._places(column)
        if len(places) == 1 or (places and column.relation == BOTH):
            full = [Column(self.columns[place].alias, self.columns[place].name) for place in places]
            return full[0] if len(full) == 1 else Call("coalesce", tuple(full))
        if places:
            own = self.columns[places[0]]
            raise QueryError(
                column.name, "is a column of two subqueries", f"say which: {own.alias}.{own.name}"
            )
        item = next((item for item in self._items if same(item.name, column.name)), None)
        if item is None or column.relation is not None or len(self._inside) > len(self._items):
            known = ", ".join(dict.fromkeys(shown.name for shown in self.columns))
            raise QueryError(column.name, "no such column in the subquery", f"there are {known}")
        # Output names that lead back to themselves mean nothing: more of them than there are were followed.
        self._inside.append(item)
        found = rebuilt(item.scalar, lambda part: self.spelt(part) if isinstance(part, Column) else None)
        self._inside.pop()
        return found

    def _places(self, column: Column) -> list[int]:
        return [
            place
            for place, shown in enumerate(self.columns)
            if same(shown.name, column.name)
            and (column.relation in (None, BOTH) or folded(shown.alias) == folded(str(column.relation)))
        ]

    def shown(self, output: Output) -> _Shown:
        """Return an output as a column of the table that is made."""
        used = [self.columns[place] for place in sorted(measured(output.formula))]
        cells = [shown.cells for shown in used]
        known = None if has_windowed(output.formula) or None in cells else sum(one or 0 for one in cells)
        of = frozenset[int]().union(*(shown.of for shown in used))
        return _Shown("", output.name, NUMBER if output.end else output.kind, of, known)
