"""What engines have in common whose tables stay where they are: PostgreSQL's and Spark's.

They offer exactly the declared columns of tables that others keep, take public tables along, and run one
question at a time.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from discreet.engines.exact import Exact
from discreet.engines.protocol import FAILED, Origin
from discreet.engines.shelter import quietly
from discreet.errors import CatalogError, EngineError
from discreet.query.name import same
from discreet.query.proof import ProvedStatement, sealed
from discreet.query.statement import Statement

Place = TypeVar("Place")
"""Where a table is kept."""

Public = Mapping[str, tuple[Origin, Mapping[str, Sequence[Any]]]]
"""Public tables of other places, given column by column."""


class DistantTables(Generic[Place]):
    """Tables that are kept elsewhere, beside public ones that travel there."""

    def __init__(
        self,
        tables: Mapping[str, Origin],
        places: Mapping[str, Place],
        public: Public,
        timeout: float | None,
    ) -> None:
        self._tables, self._places, self._public = dict(tables), dict(places), dict(public)
        self._timeout = timeout
        self._turn = threading.Lock()
        self._stopped = threading.Event()

    def __repr__(self) -> str:
        return "<an engine with its tables, not shown>"

    @property
    def _columns(self) -> dict[str, dict[str, str]]:
        origins = self._tables | {name: origin for name, (origin, _) in self._public.items()}
        return {name: dict(origin.columns) for name, origin in origins.items()}

    def run(self, statements: Sequence[ProvedStatement], choice: int) -> Exact:
        """Return the exact integers of proved statements, all on the same state of the tables.

        Whatever is not a statement that the checker has proved is refused before any data is touched.
        """
        return self._exact([sealed(proved) for proved in statements], choice)

    def _exact(self, statements: Sequence[Statement], choice: int) -> Exact:
        return quietly(lambda: self._run(statements, choice), EngineError(FAILED))

    def _run(self, statements: Sequence[Statement], choice: int) -> Exact:
        """Run statements; what goes wrong may say anything, since nobody hears it."""
        raise AssertionError("each engine runs statements in its own way")


def typed_columns(
    name: str, origin: Origin, stored: Mapping[str, str], typed: Callable[[str, str, str], str | None]
) -> Iterator[tuple[str, str]]:
    """Yield the declared columns, each as text under its declared type.

    `stored` are the columns that are there with their types; `typed` writes one of a type as a declared kind,
    or returns None where the two have nothing to do with each other.
    """
    for column, kind in origin.columns:
        found = [own for own in stored if own == column] or [own for own in stored if same(own, column)]
        if len(found) != 1:
            fault = "has no column" if not found else "has several columns"
            raise CatalogError(f"tables.{name}: the table {fault} {column!r}; correct the name")
        text = typed(found[0], stored[found[0]], kind)
        if text is None:
            raise CatalogError(
                f"tables.{name}.columns.{column}: a column of type {stored[found[0]]} is no {kind}; declare "
                "another type, or offer a view that casts it"
            )
        yield column, text
