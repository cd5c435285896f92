"""What open data shows of itself: its tables, whose rows they hold, and what is declared of each column."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from discreet.errors import CatalogError
from discreet.markup import aligned, figure, table
from discreet.query.catalog.kind import Day, Kind, Real, Text, Whole, word
from discreet.query.name import same

if TYPE_CHECKING:
    from discreet.query.catalog.manifest import Catalog, DeclaredTable
    from discreet.query.language.frame import Frame

HEADS = ("table", "whose rows", "column", "declared")
SHOWN = 12
"""A table with more columns than this is shown in part."""


class OpenData:
    """Data that questions can be put to; it prints what is declared of it."""

    catalog: "Catalog"
    analyst: str

    def __repr__(self) -> str:
        return f"{_title(self.catalog, self.analyst)}\n{aligned([HEADS, *_rows(self.catalog)])}"

    def _repr_html_(self) -> str:
        return table(HEADS, _rows(self.catalog), caption=_title(self.catalog, self.analyst))

    def table(self, name: str) -> "Frame":
        """Return a declared table to ask about in Python: data.table("visits").group("ward").count()."""
        from discreet.query.language.frame import table, viewed

        view = _view(self.catalog, name)
        return (
            viewed(view, self.catalog.views) if view is not None else table(_found(self.catalog, name).name)
        )

    def ibis(self, name: str) -> Any:
        """Return a declared table to ask about in Ibis: data.query(data.ibis("visits").count())."""
        from discreet.query.language.ibis import table_of

        view = _view(self.catalog, name)
        if view is not None:
            return table_of(view, _columns(self.catalog, view))
        found = _found(self.catalog, name)
        return table_of(found.name, found.offered)


def _view(catalog: "Catalog", name: str) -> str | None:
    return next((view for view, _ in catalog.views if same(view, name)), None)


def _columns(catalog: "Catalog", view: str) -> list[tuple[str, str]]:
    """Return the columns of a view with what they hold."""
    from discreet.query.check.lineage import trace
    from discreet.query.check.scope import names
    from discreet.query.language.frame import viewed

    scope = trace(viewed(view, catalog.views).source, catalog, names())
    return [(column.name, word(column.typed.kind)) for column in scope.columns]


def _found(catalog: "Catalog", name: str) -> "DeclaredTable":
    found = catalog.table(name)
    if found is None:
        known = ", ".join(table.name for table in catalog.tables)
        raise CatalogError(f"there is no table {name!r}; declared: {known}")
    return found


def _title(catalog: "Catalog", analyst: str) -> str:
    budget = catalog.budget
    if budget is None:
        return f"Dataset {catalog.name}, asked by {analyst}"
    small = f", delta {float(budget.delta):.2g}" if budget.delta else ""
    return f"Dataset {catalog.name}, asked by {analyst}; it may cost epsilon {figure(budget.epsilon)}{small}"


def _rows(catalog: "Catalog") -> Iterator[tuple[str, str, str, str]]:
    for declared in catalog.tables:
        columns = [(column.name, _declared(column.kind)) for column in declared.columns[:SHOWN]]
        if len(declared.columns) > SHOWN:
            columns.append(("…", f"{len(declared.columns) - SHOWN} more"))
        first, *rest = columns or [("", "")]
        yield declared.name, _whose(declared), *first
        yield from (("", "", *column) for column in rest)
    for name, _ in catalog.views:
        yield name, "a view", "", ""


def _whose(declared: "DeclaredTable") -> str:
    if declared.public:
        return "public"
    if declared.person is None:
        return "each row is a person"
    most = "" if declared.rows_per_unit is None else f", at most {declared.rows_per_unit:,} each"
    return f"people by {declared.person}{most}"


def _declared(kind: Kind) -> str:
    match kind:
        case Whole(low, high) | Real(low, high):
            ends = "" if low is None or high is None else f" {figure(low)} to {figure(high)}"
        case Day(low, high):
            ends = "" if low is None or high is None else f" {low} to {high}"
        case Text(values) if values is not None:
            ends = f", {len(values):,} values"
        case _:
            ends = ""
    return f"{word(kind)}{ends}"
