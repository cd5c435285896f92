"""The catalog: what the curator declares about the data, and nothing read from it.

A manifest is a TOML file; the same values can be built in Python.  Every bound, key value and
contribution limit that the planner uses is a declaration found here or in the question, so planning is
independent of the data and its errors can be shown to anyone.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.errors import CatalogError
from discreet.exact.number import Real as Number
from discreet.exact.number import rational
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog.column import DeclaredColumn, number_kind, read_column
from discreet.query.catalog.dialect import Settings, dialect
from discreet.query.catalog.kind import Real, Whole, word
from discreet.query.catalog.link import KeyLink, linked
from discreet.query.catalog.section import checked_name, different, flag, mapping, number, only, string
from discreet.query.name import same

ROW = "row"
"""The unit of a table in which every row is its own person."""

DELTA_LIMIT = Fraction(1, 1000)
"""With probability delta a promise may fail altogether, for each person; nothing above this is one."""


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    """A declared table.

    `unit` is the column that identifies a person (None: every row is its own person).  A person counts
    with at most `rows_per_unit` rows, in at most `groups_per_unit` groups, with at most
    `rows_per_group` rows in any one group.  A `prepared` table has had its rows bounded once, on disk.
    `csv` says how a text file is written, where it differs from RFC 4180 in UTF-8.  Where rows belong to a
    person through another table, `path` is the unit as it was written, and `link` its first step.
    """

    name: str
    columns: tuple[DeclaredColumn, ...]
    source: str = ""
    engine: str = ""
    unit: str | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    rows_per_group: int | None = None
    public: bool = False
    prepared: bool = False
    csv: Settings = ()
    path: str | None = None
    link: KeyLink | None = None

    @property
    def person(self) -> str | None:
        """What identifies a person: a column, or a path to one; None where every row is its own person."""
        return self.unit if self.path is None else self.path

    @property
    def offered(self) -> tuple[tuple[str, str], ...]:
        """What an engine must offer of this table: column names with their declared types."""
        columns = tuple((column.name, word(column.kind)) for column in self.columns)
        if self.unit is None or self.column(self.unit) is not None:
            return columns
        return (*columns, (self.unit, "identifier"))

    def column(self, name: str) -> DeclaredColumn | None:
        """Return the declared column of this name (case does not matter), if there is one."""
        return next((column for column in self.columns if same(column.name, name)), None)


@dataclass(frozen=True, slots=True)
class DeclaredBudget:
    """The most that the dataset may ever cost: pure epsilon, or with delta what a filter admits.

    `questions` is about how many it is meant for, where that was declared; it decides nothing but which noise
    serves them better.  `slack` is what questions may use of delta as their own, to find group keys, where
    that was declared.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    questions: int | None = None
    slack: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """A dataset: its name, budget, declared tables, and the version of the data that is announced.

    `views` are subqueries in SQL under names of their own; a question reads them like tables.
    """

    name: str
    tables: tuple[DeclaredTable, ...]
    budget: DeclaredBudget | None = None
    ledger: str | None = None
    version: str = "1"
    views: tuple[tuple[str, str], ...] = ()
    folder: Path = field(default_factory=Path)
    account: str | None = None
    """The name of the account in the ledger that pays for this dataset, once it has one."""

    def table(self, name: str) -> DeclaredTable | None:
        """Return the declared table of this name (case does not matter), if there is one."""
        return next((table for table in self.tables if same(table.name, name)), None)

    def meant(self, path: str) -> DeclaredTable | None:
        """Return the table that a name with or without schemas before it means: main.visits is visits."""
        rest = path
        while (found := self.table(rest)) is None and "." in rest:
            rest = rest.partition(".")[2]
        return found

    def with_bounds(self, table: str, column: str, low: Number, high: Number) -> "Catalog":
        """Return the catalog in which a numeric column has these bounds, as found by a bounds question."""
        found = self.table(table)
        target = None if found is None else found.column(column)
        if found is None or target is None or not isinstance(target.kind, Whole | Real):
            raise CatalogError(f"tables.{table}.columns.{column}: not a declared numeric column")
        kind = number_kind(target.kind, rational(low, "low"), rational(high, "high"), f"{table}.{column}")
        columns = tuple(replace(c, kind=kind, auto=False) if c is target else c for c in found.columns)
        tables = tuple(replace(t, columns=columns) if t is found else t for t in self.tables)
        return replace(self, tables=tables)


def load(path: str | Path) -> Catalog:
    """Return the catalog that a TOML manifest declares."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError:
        raise CatalogError(
            f"cannot read the manifest {place}; check the path, or draft one with `discreet init`"
        ) from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise CatalogError(f"{place} is not valid TOML: {problem}") from None
    return replace(declare(document), folder=place.parent)


def declare(document: Mapping[str, Any]) -> Catalog:
    """Return the catalog that a manifest's nested mappings declare."""
    only(document, ("dataset", "budget", "tables", "views"), "the manifest")
    dataset = mapping(document.get("dataset", {}), "dataset")
    only(dataset, ("name", "ledger", "version", "account"), "dataset")
    tables = mapping(document.get("tables", {}), "tables")
    if not tables:
        raise CatalogError("the manifest declares no table; add a section [tables.NAME] with a source")
    different(tables, "tables")
    bodies = {name: mapping(body, f"tables.{name}") for name, body in tables.items()}
    _everybody(bodies)
    return Catalog(
        name=string(dataset.get("name", "dataset"), "dataset.name"),
        ledger=None if "ledger" not in dataset else string(dataset["ledger"], "dataset.ledger"),
        version=_version(dataset.get("version", "1")),
        account=None if "account" not in dataset else string(dataset["account"], "dataset.account"),
        budget=_budget(document.get("budget")),
        tables=linked(tuple(_table(name, body) for name, body in bodies.items())),
        views=_views(document.get("views", {}), tables),
    )


def _views(value: object, tables: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the subqueries that have names of their own, in the order in which they are declared."""
    views = mapping(value, "views")
    for name in views:
        checked_name(name, f"views.{name}")
    different([*tables, *views], "tables and views")
    return tuple((name, string(text, f"views.{name}")) for name, text in views.items())


def _everybody(tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a private table that forgot its unit: beside tables with one, its rows would be people."""
    private = {name: body for name, body in tables.items() if not body.get("public")}
    named = next((name for name, body in private.items() if body.get("unit") not in (None, ROW)), None)
    for name, body in private.items():
        if named is not None and body.get("unit") is None:
            raise CatalogError(
                f"tables.{name}.unit is missing, although tables.{named} says who is protected; name the "
                f'column that identifies a person, or write unit = "{ROW}" if every row of {name} is its own '
                f"person, or public = true if {name} is about nobody"
            )


def _version(value: object) -> str:
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise CatalogError(f"dataset.version must be a string or a whole number, got {value!r}")


def _budget(value: object) -> DeclaredBudget | None:
    if value is None:
        return None
    body = mapping(value, "budget")
    only(body, ("epsilon", "delta", "questions", "slack"), "budget")
    if "epsilon" not in body:
        raise CatalogError("budget.epsilon is missing; it is the most that all answers together may cost")
    epsilon = number(body["epsilon"], "budget.epsilon")
    delta = number(body.get("delta", 0), "budget.delta")
    if epsilon <= 0:
        raise CatalogError(f"budget.epsilon must be greater than 0, got {body['epsilon']}")
    if not 0 <= delta <= DELTA_LIMIT:
        raise CatalogError(
            f"budget.delta must be at least 0 and at most {float(DELTA_LIMIT):g}, got {body['delta']}; with "
            "that probability a person may not be protected at all, so take far less than one over the "
            'number of people, such as "1e-9"'
        )
    slack = number(body["slack"], "budget.slack") if "slack" in body else None
    if slack is not None and not 0 <= slack < delta:
        raise CatalogError(
            f"budget.slack is a part of budget.delta: at least 0 and below it, got {body['slack']}"
        )
    return DeclaredBudget(epsilon, delta, _limit(body, "questions", "budget"), slack)


def _table(name: str, body: Mapping[str, Any]) -> DeclaredTable:
    where = f"tables.{name}"
    checked_name(name, where)
    limits = ("rows_per_unit", "groups_per_unit", "rows_per_group")
    only(
        body,
        ("source", "engine", "unit", "neighbours", *limits, "public", "prepared", "csv", "columns"),
        where,
    )
    columns = tuple(
        read_column(column, spec, f"{where}.columns.{column}")
        for column, spec in mapping(body.get("columns", {}), f"{where}.columns").items()
    )
    different([column.name for column in columns], f"{where}.columns")
    public, prepared = flag(body, "public", where), flag(body, "prepared", where)
    path = _path(body.get("unit"), columns)
    unit = None if path is not None else _unit(body.get("unit"), columns, where)
    for column in columns:
        if column.unique and not public and unit is None and path is None:
            raise CatalogError(
                f"{where}.columns.{column.name}.unique: every row is its own person here, who has each value "
                "once anyway; leave it out, or declare unit = COLUMN"
            )
    for key in ("unit", "neighbours", *limits, "prepared"):
        if public and body.get(key):
            raise CatalogError(
                f"{where}.{key}: a public table protects nobody; leave it out, or drop public = true"
            )
    for key in limits:
        if unit is None and path is None and key in body:
            raise CatalogError(
                f"{where}.{key}: without a unit every row is its own person; declare unit = COLUMN first"
            )
    rows, groups, per_group = (_limit(body, key, where) for key in limits)
    if prepared and rows is None:
        raise CatalogError(f"{where}.prepared needs rows_per_unit, the number of rows kept for each person")
    return DeclaredTable(
        name=name,
        columns=columns,
        source=string(body.get("source", ""), f"{where}.source"),
        engine=_engine(body, where),
        unit=unit,
        adjacency=_adjacency(body.get("neighbours", "add-remove"), where),
        rows_per_unit=rows,
        groups_per_unit=groups,
        rows_per_group=per_group,
        public=public,
        prepared=prepared,
        csv=dialect(body.get("csv", {}), f"{where}.csv"),
        path=path,
    )


def _path(value: object, columns: Iterable[DeclaredColumn]) -> str | None:
    """Return a unit that leads through other tables; a column may have a dot in its name."""
    if not isinstance(value, str) or "." not in value or any(same(c.name, value) for c in columns):
        return None
    return value


def _engine(body: Mapping[str, Any], where: str) -> str:
    """Return the engine that reads a folder, if it is not the one that reads files by default."""
    engine = string(body.get("engine", ""), f"{where}.engine")
    if engine not in ("", "spark"):
        raise CatalogError(
            f'{where}.engine: only "spark" can be chosen, for a folder of Parquet files or Delta'
        )
    if engine and (":" in string(body.get("source", ""), f"{where}.source") or not body.get("source")):
        raise CatalogError(
            f'{where}.engine = "spark" goes with a folder of Parquet or Delta, source = "visits/"; any other '
            "source says by itself which engine reads it"
        )
    return engine


def _unit(value: object, columns: Iterable[DeclaredColumn], where: str) -> str | None:
    """Return the column that identifies a person, or None where every row is its own person."""
    if value is None:
        return None
    unit = string(value, f"{where}.unit")
    checked_name(unit, f"{where}.unit")
    declared = next((column for column in columns if same(column.name, unit)), None)
    if unit == ROW:
        if declared is not None:
            raise CatalogError(
                f'{where}.unit = "{ROW}" means that every row is its own person, but there is a column of '
                "that name; rename the column"
            )
        return None
    if declared is not None and isinstance(declared.kind, Real):
        raise CatalogError(
            f"{where}.columns.{declared.name}: the unit identifies people and cannot be a decimal, because "
            "two people may round to one number; declare it integer or text, or leave it out of the columns"
        )
    return unit if declared is None else declared.name


def _adjacency(value: object, where: str) -> Adjacency:
    try:
        return Adjacency(str(value))
    except ValueError:
        choices = " or ".join(f'"{member}"' for member in Adjacency)
        raise CatalogError(f"{where}.neighbours must be {choices}, got {value!r}") from None


def _limit(body: Mapping[str, Any], key: str, where: str) -> int | None:
    value = body.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**20:
        raise CatalogError(f"{where}.{key} must be a whole number from 1 to 2**20, got {value!r}")
    return value
