"""Engine queries as frozen values: what the rewriter produces and the renderer prints.

Scalars are those of the plan; besides the functions of a question they may call the engine functions of
`discreet.engines.duckdb.render`, such as a sum of integers or a keyed hash, which no question can name.
"""

from dataclasses import dataclass
from typing import TypeAlias

from discreet.query.plan import Scalar, Value

ROWS = "__rows"
"""The name of the part that selects a question's rows; the other parts aggregate it."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A declared table, as the engine exposes it."""

    table: str
    alias: str


@dataclass(frozen=True, slots=True)
class Named:
    """A query defined earlier in the same statement."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Inner:
    """A query in place of a table."""

    query: "Query"
    alias: str


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Pairs of rows satisfying `on`; with `outer`, also the left rows without a partner."""

    left: "Source"
    right: "Source"
    on: Scalar
    outer: bool = False


@dataclass(frozen=True, slots=True)
class Stacked:
    """The rows of several queries, one after the other; their columns have the same names in one order."""

    queries: tuple["Query", ...]
    alias: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A table of public constants."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    alias: str


Source: TypeAlias = StoredTable | Named | Inner | JoinedRows | Stacked | Listed


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT of the engine: named output scalars, a source, and optional grouping."""

    items: tuple[tuple[str, Scalar], ...]
    source: Source
    where: Scalar | None = None
    group: tuple[Scalar, ...] = ()
    having: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """A query with its named parts; the first `keys` columns are group keys, the others exact integers.

    `outputs` names what each integer column feeds.  When `cells` is set the last key column is the
    position of a candidate of a selection, and the integers are its weights.
    """

    parts: tuple[tuple[str, Query], ...]
    body: Query
    keys: int
    outputs: tuple[str, ...]
    cells: bool = False
