"""Tables that are made of released ones: joined, put under each other, selected from.

Every leaf is the released table of a question of its own, and nothing else is looked at, so whatever is made
of them costs no privacy.  Columns are known by their places: those of the right side of a join follow those
of the left, and `NoisyTerm(n)` in a formula is the cell in column n.
"""

from dataclasses import dataclass
from typing import TypeAlias

from discreet.query.check.formula import Formula
from discreet.query.check.measurement import Checked, Ordering, Output


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """The table that one of the questions releases."""

    part: int
    width: int


@dataclass(frozen=True, slots=True)
class PairedTables:
    """Pairs of rows for which `on` holds; with `outer` also left rows without a partner, with `full` both."""

    left: "Made"
    right: "Made"
    on: Formula
    outer: bool = False
    full: bool = False

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.left.width + self.right.width


@dataclass(frozen=True, slots=True)
class PiledTables:
    """The rows of several tables, one after the other."""

    tables: tuple["Made", ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.tables[0].width


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """One SELECT from a table: `having` filters its rows before windows are computed, `qualify` after."""

    source: "Made"
    columns: tuple[Output, ...]
    having: Formula | None = None
    qualify: Formula | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.columns)


Made: TypeAlias = ReleasedTable | PairedTables | PiledTables | SelectedRows


@dataclass(frozen=True, slots=True)
class Assembly:
    """Several questions, and the one table that is made of what they release.

    `cells` is the largest number of measured cells that one value with an interval is computed from.
    """

    parts: tuple[Checked, ...]
    table: SelectedRows
    cells: int = 1
