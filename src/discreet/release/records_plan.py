"""Which questions made-up records need, and what they cost: from the declarations alone.

The first question counts single columns, the second all pairs of them in groups of cells.  Both are counts by
grouping sets, like any that an analyst could ask; `made_up` says why that is enough.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import TypeAlias

from discreet.errors import CatalogError, ParameterError, QueryError
from discreet.exact.number import Real, positive
from discreet.privacy.filter import Cost
from discreet.query.catalog.column import DeclaredColumn
from discreet.query.catalog.manifest import Catalog, DeclaredTable
from discreet.query.check.coding import MOST_PARTS, ColumnCells, cells_of
from discreet.query.check.measurement import Checked
from discreet.query.check.question import Limits
from discreet.query.name import same
from discreet.query.plan import Aggregate, Block, Item, Scan
from discreet.query.price.either import Terms, portion
from discreet.query.price.expected import Quote
from discreet.release.pricing import alone, check_question, declared_budget, shared_terms

FIRST = Fraction(3, 10)
"""What the question about single columns takes of the price, where cells are worth grouping."""

PARTS = 32
"""Into how many parts a wide range is cut, unless told otherwise."""

MOST_CELLS = 200_000
"""All pairs of columns together have at most so many cells; ranges are cut into fewer parts until they do."""

NAMED = 3
"""A refusal names so many columns with their reasons."""

MOST_COLUMNS = 40
"""Pairs of more columns than that are too many to be planned together."""

Attributes: TypeAlias = tuple[int, ...]
Starts: TypeAlias = tuple[int, ...]
"""The first cell of each group of a column's cells."""
Pricing: TypeAlias = Callable[[Checked, Fraction, Terms], Quote]
"""How a checked question is priced, and proved, at an epsilon in these terms."""


@dataclass(frozen=True, slots=True)
class RecordsPlan:
    """What will be asked for made-up records of a table; no data is touched yet and nothing is paid."""

    catalog: Catalog = field(repr=False, compare=False)
    table: str
    cells: tuple[ColumnCells, ...]
    left_out: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why each of the columns that are left out cannot be made up."""
    epsilon: Fraction
    limits: Limits | None
    first: Quote = field(repr=False, compare=False)
    rest: Quote | None = field(repr=False, compare=False)
    """A question like the second one: which groups that will count is not known yet, what it costs is."""
    terms: Terms = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are made up."""
        return tuple(one.name for one in self.cells)

    @property
    def pairs(self) -> tuple[Attributes, ...]:
        """All pairs of columns, by position."""
        return tuple(combinations(range(len(self.cells)), 2))

    @property
    def cost(self) -> Cost:
        """What all questions cost together."""
        return self.first.cost if self.rest is None else self.first.cost + self.rest.cost

    @property
    def alone(self) -> tuple[Fraction, Fraction] | None:
        """The epsilon and delta that all of it would promise if nothing else were ever asked."""
        return alone(declared_budget(self.catalog), self.cost, self.epsilon)

    @property
    def left_out_why(self) -> str:
        """The columns that are left out in words, each with its reason."""
        return ", ".join(f"{name} ({why})" for name, why in zip(self.left_out, self.reasons, strict=True))

    def second(self, groups: Sequence[Starts], price: Pricing) -> Quote:
        """Return the question about pairs of these groups of cells, for what is left of the price."""
        checked = _checked(self.catalog, self.table, self.cells, self.pairs, self.limits, groups)
        return price(checked, self.epsilon, portion(self.terms, 1 - FIRST))


def plan_records(
    catalog: Catalog,
    named: str | None,
    epsilon: Real,
    columns: Sequence[str] | None,
    bins: int,
    limits: Limits | None,
    price: Pricing,
) -> RecordsPlan:
    """Return the questions for made-up records of a table, priced so that together they cost one epsilon.

    Where there are no pairs, or no column has cells enough to be grouped, one question at the whole price is
    all.
    """
    from discreet.workload.grouped import GROUPS, even_groups

    table = table_of(catalog, named)
    cells, left_out = cells_for(table, columns, bins)
    epsilon = positive(epsilon, "epsilon")
    pairs = tuple(combinations(range(len(cells)), 2))
    even = [even_groups(one.size, missing=bool(one.nulls)) for one in cells]
    leading = _checked(catalog, table.name, cells, pairs, limits, even)
    terms = shared_terms(catalog, leading, epsilon)
    facts = catalog, table.name, cells, tuple(left_out), tuple(left_out.values()), epsilon, limits
    if not pairs or all(one.size <= GROUPS for one in cells):
        whole = _checked(catalog, table.name, cells, pairs, limits)
        return RecordsPlan(*facts, price(whole, epsilon, terms), None, terms)
    single = _checked(catalog, table.name, cells, (), limits)
    first = price(single, epsilon, portion(terms, FIRST))
    rest = price(leading, epsilon, portion(terms, 1 - FIRST))
    return RecordsPlan(*facts, first, rest, terms)


def table_of(catalog: Catalog, name: str | None) -> DeclaredTable:
    """Return the private table of this name, or the only one there is."""
    private = [table for table in catalog.tables if not table.public]
    if name is None:
        if len(private) != 1:
            raise CatalogError("records are made up for one table; say which with table=...")
        return private[0]
    found = catalog.table(name)
    if found is None:
        known = ", ".join(table.name for table in private)
        raise CatalogError(f"there is no table {name!r}; declared: {known}")
    if found.public:
        raise CatalogError(f"table {found.name!r} is public; its records need not be made up")
    return found


def cells_for(
    table: DeclaredTable, names: Sequence[str] | None, parts: int
) -> tuple[tuple[ColumnCells, ...], Mapping[str, str]]:
    """Return the cells of the columns, and why those have none that are left out and were not asked for."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 2 <= parts <= MOST_PARTS:
        raise ParameterError(f"bins must be a whole number from 2 to {MOST_PARTS}, got {parts!r}")
    chosen, left_out = _offered(table, parts) if names is None else (_named(table, names, parts), {})
    if not chosen:
        raise _none(left_out)
    if len(chosen) > MOST_COLUMNS:
        raise QueryError(
            "columns", f"are more than {MOST_COLUMNS}", "name those that matter in columns=[...]"
        )
    return _fitting(chosen, parts), left_out


def _none(left_out: Mapping[str, str]) -> QueryError:
    """Return the refusal of no columns at all, with the reasons of the first few."""
    if not left_out:
        return QueryError("columns", "there are none", "name some of those that the manifest declares")
    said = [f"{name} {why}" for name, why in left_out.items()]
    more = f" and {len(said) - NAMED} more" if len(said) > NAMED else ""
    return QueryError(
        "columns",
        f"none can be made up: {', '.join(said[:NAMED])}{more}",
        f"declare bounds, or at most {MOST_PARTS} values, for those that matter",
    )


def _offered(table: DeclaredTable, parts: int) -> tuple[list[DeclaredColumn], Mapping[str, str]]:
    """Return the columns of a table that can be made up, and why the others cannot."""
    chosen, left_out = [], {}
    for column in table.columns:
        try:
            _require(table, column, parts)
            chosen.append(column)
        except QueryError as refused:
            left_out[column.name] = refused.reason
    return chosen, left_out


def _named(table: DeclaredTable, names: Sequence[str], parts: int) -> list[DeclaredColumn]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise ParameterError("columns must be a list of names")
    chosen: list[DeclaredColumn] = []
    for name in names:
        column = table.column(name)
        if column is None:
            known = ", ".join(column.name for column in table.columns)
            raise QueryError(name, "there is no such column", f"{table.name} has {known}")
        if column in chosen:
            raise QueryError(column.name, "is named twice", "name each column once")
        _require(table, column, parts)
        chosen.append(column)
    return chosen


def _require(table: DeclaredTable, column: DeclaredColumn, parts: int) -> None:
    """Refuse a column that cannot be made up."""
    keys = [table.unit, None if table.link is None else table.link.column]
    if any(key is not None and same(column.name, key) for key in keys):
        raise QueryError(column.name, "tells people apart, and no person is made up", "leave it out")
    cells_of(column, parts)


def _fitting(columns: Sequence[DeclaredColumn], parts: int) -> tuple[ColumnCells, ...]:
    """Return cells whose pairs are not too many, coarser than asked where they would be."""
    cells = tuple(cells_of(column, parts) for column in columns)
    if sum(prod(pair) for pair in combinations([one.size for one in cells], 2)) <= MOST_CELLS:
        return cells
    if parts > 2:
        return _fitting(columns, max(parts // 2, 2))
    widest = max(cells, key=lambda one: one.size).name
    raise QueryError(
        "columns",
        f"have pairs with more than {MOST_CELLS} cells in all, however coarse",
        f"name fewer of them; {widest} has the most values",
    )


def _checked(
    catalog: Catalog,
    table: str,
    cells: Sequence[ColumnCells],
    pairs: Sequence[Attributes],
    limits: Limits | None,
    groups: Sequence[Starts] | None = None,
) -> Checked:
    """Return the question that counts single columns and pairs of them, their cells or groups of these."""
    codes = (
        [one.scalar() for one in cells]
        if groups is None
        else [one.grouped(starts) for one, starts in zip(cells, groups, strict=True)]
    )
    sizes = [one.size for one in cells] if groups is None else [len(starts) for starts in groups]
    block = Block(
        Scan(table, table),
        (Item("records", Aggregate("count")),),
        group=tuple(codes),
        sets=(*pairs, *((i,) for i in range(len(cells)))),
    )
    checked = check_question(catalog, block, limits)
    if [column.values for column in checked.keys.columns] != [tuple(range(size)) for size in sizes]:
        raise AssertionError("the codes of a column are those of its cells")
    return checked
