"""What every engine offers: the only room that sees data, behind one small protocol.

An engine is opened over declared tables, says how it would write a statement, runs statements whose claims
have been proved, all on one snapshot, and returns exact integers that nothing but the release can read.
Whatever goes wrong while a statement runs becomes one constant error that carries neither data nor the
engine's own message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from discreet.engines.exact import Exact
from discreet.engines.records import RFC_4180, Dialect
from discreet.engines.shelter import shelter
from discreet.query.proof import ProvedStatement
from discreet.query.statement import Statement

FAILED = "the engine could not finish the question; what was reserved for it stays spent"
"""The one message for everything that can go wrong after data was touched."""

UNPREPARED = "the bounded copy of a table could not be made, and nothing is left of it"
"""The one message for everything that can go wrong while rows are copied, which nobody pays for."""

PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""The modes of a file that holds raw rows, and of a folder of such files."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table's rows come from, and the declared columns with their types.

    `rows` is a path (CSV, Parquet, or DuckDB file, the table named after '#'), a table of a server
    (postgresql://HOST/DATABASE#SCHEMA.TABLE), what Spark can read (spark:CATALOG.TABLE, spark:/FOLDER,
    sc://HOST:PORT#TABLE) or a pandas, Polars or Arrow table, out of sight.  The type "identifier" keeps a
    whole number as it is and makes text of anything else.  A `public` table is about nobody, so it may travel
    to where the others are.  `copied` is the unit of a bounded copy that was made here, and so holds what it
    offers.
    """

    rows: Any
    columns: tuple[tuple[str, str], ...]
    dialect: Dialect = RFC_4180
    public: bool = False
    copied: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", shelter(self.rows))


@dataclass(frozen=True, slots=True)
class Preparation:
    """A table that is to be bounded once: the proved statement of what is kept, and the key of its choice.

    Rows of one person, told by the column `unit`, are laid out beside each other, where later questions find
    them together.  No statement depends on an order of rows, so neither does what leaves.
    """

    name: str
    origin: Origin
    proved: ProvedStatement
    unit: str
    choice: int = field(repr=False)


class Engine(Protocol):
    """Open tables that can be asked for integers."""

    def written(self, statement: Statement) -> str:
        """Return how this engine would write a statement; no data is touched."""
        ...

    def run(self, statements: Sequence[ProvedStatement], choice: int) -> Exact:
        """Return the exact integers of proved statements, all on one snapshot.

        `choice` is the fresh 64-bit key of the random choice of groups.
        """
        ...

    def interrupt(self) -> None:
        """Make whatever is running now end early, as a failure."""
        ...

    def close(self) -> None:
        """Release the files and memory."""
        ...
