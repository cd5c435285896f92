"""Made-up records: ordinary questions, and everything else computed from their answers.

    1. single columns are counted, for three tenths of the price
    2. all pairs of columns are counted for the rest, in groups of cells that follow from the first answer
    3. records are drawn that agree with what both answers tell

Theorem.  The records are as private as one question at this epsilon.
Proof.  Both questions are counts by grouping sets, checked, proved and paid for like any other; the second
depends on the data only through the first answer, which was released.  Their prices are parts of one: pure
costs that sum to epsilon at most, or costs in zCDP that sum to what epsilon buys.  The groups and the
records are functions of the two answers.

The order in which records are dealt out follows from a digest of the answers, so the same answers always give
the same records; asked again, they are free.  A crash between the questions loses nothing: whoever
asks again goes on with the first answer.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.privacy.filter import Cost
from discreet.query.catalog.kind import Day, Real, Truth, Whole
from discreet.query.check.coding import ColumnCells
from discreet.query.check.measurement import Measurement, Sets
from discreet.query.price.together import Together
from discreet.query.price.words import lone
from discreet.query.price.words import price as price_in_words
from discreet.release.answer import Release, plain
from discreet.release.noisy import encode
from discreet.release.records_plan import Attributes, Pricing, RecordsPlan, Starts
from discreet.release.shrunk import known_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.query.price.expected import Quote
    from discreet.workload.expansion import Expansion
    from discreet.workload.grouped import GroupedTables
    from discreet.workload.shrink import KnownTables

MOST_ROWS = 10_000_000


@dataclass(frozen=True, slots=True)
class PairOff:
    """How far the records are off on one pair of columns, as far as the released tables tell.

    `off` estimates the sum over all cells of |share of the records - share of the truth|, from 0 to 2; at 2
    nothing is known, and it is None where there are no records to compare.
    The cells are those of the released table: groups of neighbours, where a column has many values.
    `deviation` is that of the noise in each of them.
    """

    columns: tuple[str, str]
    cells: int
    deviation: float
    off: float | None


@dataclass(frozen=True, slots=True, eq=False)
class MadeUp:
    """Made-up records of a table: no row is anybody's, and all of them together cost what was paid once."""

    plan: RecordsPlan
    releases: "tuple[Release, ...]"
    groups: tuple[Starts, ...]
    codes: "NDArray[Any]" = field(repr=False)
    tables: "GroupedTables" = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.plan.columns

    @property
    def cost(self) -> Cost:
        """What was paid for, now or before."""
        return self.plan.cost

    @property
    def free(self) -> bool:
        """Whether all of it had been paid for before."""
        return all(release.free for release in self.releases)

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the records."""
        return zip(*self._values(), strict=True)

    def _values(self) -> list[list[Any]]:
        """Return the values of each column; a range's cell is filled evenly."""
        expansion = expanded(self.releases, b"values", len(self))
        return [_filled(one, self.codes[:, k], expansion) for k, one in enumerate(self.plan.cells)]

    def to_arrow(self) -> Any:
        """Return a pyarrow Table."""
        import pyarrow

        kinds = [(one.name, _arrow_type(one)) for one in self.plan.cells]
        return pyarrow.table(self._values(), schema=pyarrow.schema(kinds))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return a Polars DataFrame."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def report(self) -> tuple[PairOff, ...]:
        """Return how far the records are off on each pair of columns, the worst first."""
        found = [self._off(pair) for pair in self.plan.pairs]
        return tuple(sorted(found, key=lambda one: -(one.off or 0.0)))

    def _off(self, pair: Attributes) -> PairOff:
        import numpy as np

        from discreet.workload import tabulate

        shrunk = self.tables.shrunk
        coded = np.column_stack([self.tables.grouped(self.codes[:, i], i) for i in pair])
        made = tabulate(coded, [shrunk.known.sizes[i] for i in pair], [(0, 1)])[0, 1]
        return PairOff(
            (self.columns[pair[0]], self.columns[pair[1]]),
            made.size,
            shrunk.known.variance(pair) ** 0.5,
            shrunk.off(pair, made),
        )

    def plot(self, path: str | None = None) -> Any:
        """Return a heat map of how far each pair of columns is off, saved to `path` when given."""
        from discreet.show import chart

        rows = [
            {"one": one, "other": other, "off": pair.off}
            for pair in sorted(self.report(), key=lambda pair: pair.columns)
            for one, other in (pair.columns, pair.columns[::-1])
        ]
        if not rows:
            raise ParameterError("a picture of pairs needs two columns")
        if not len(self):
            raise ParameterError("no records were made up, so there is nothing to compare")
        picture = chart.heatmap(
            rows,
            x="one",
            y="other",
            value="off",
            title="How far made-up records are off",
            subtitle="estimated sum of differences of all shares in each table of two columns",
            x_title="",
            y_title="",
            value_title="off",
        )
        if path is not None:
            from discreet.show.save import save

            save(picture, path)
        return picture

    def __repr__(self) -> str:
        said = [f"{len(self):,} made-up records of {self.plan.table}, {len(self.columns)} columns"]
        said += _accuracy(self.report())
        said += [f"left out: {self.plan.left_out_why}"] if self.plan.left_out else []
        cost = price_in_words(self.cost) + lone(self.plan.alone)
        said.append("paid for before" if self.free else f"cost {cost}")
        return "\n".join(said)


def _accuracy(found: tuple[PairOff, ...]) -> list[str]:
    """Return in words how far records are off, and of how many pairs that cannot be told."""
    from discreet.workload.shrink import FURTHEST

    if not found:
        return []
    known = [one.off for one in found if one.off is not None]
    if not known:
        return ["no records, so there is nothing to compare"]
    unknown, worst = sum(off == FURTHEST for off in known), found[0]
    said = [f"about nothing is known of {unknown} of {len(found)} tables of two columns"] if unknown else []
    if unknown < len(found):
        said.append(
            f"tables of two columns are off by about {sum(known) / len(known):.2f} (of 2), "
            f"at worst {' by '.join(worst.columns)} by {worst.off:.2f}"
        )
    return said


def make_up(
    plan: RecordsPlan,
    rows: int | None,
    price: Pricing,
    answer: "Callable[[str, Quote], Release]",
) -> MadeUp:
    """Ask both questions, the second about groups that follow from the first answer, and draw the records."""
    require_rows(rows)
    named = ", ".join(plan.columns)
    if plan.rest is None:
        only = answer(f"made-up records of {plan.table}: all pairs of {named}", plan.first)
        return drawn(plan, (only,), None, rows)
    first = answer(f"made-up records of {plan.table}: {named}", plan.first)
    groups = _groups(plan, first)
    again = plan.second(groups, price)
    if again.cost != plan.rest.cost:
        raise AssertionError("the second question costs what was said beforehand")
    second = answer(f"made-up records of {plan.table}: all pairs of groups of {named}", again)
    return drawn(plan, (first, second), groups, rows)


def _groups(plan: RecordsPlan, first: Release) -> tuple[Starts, ...]:
    """Return the groups of cells that the counts of single columns lead to."""
    from discreet.workload import ShrunkTables, groups_of

    counts = ShrunkTables(known_from(first))
    return tuple(
        groups_of(counts.table((i,)), missing=bool(cells.nulls)) for i, cells in enumerate(plan.cells)
    )


def drawn(
    plan: RecordsPlan,
    releases: "tuple[Release, ...]",
    groups: tuple[Starts, ...] | None,
    rows: int | None,
    most: int = MOST_ROWS,
) -> MadeUp:
    """Draw records that agree with what was released: so many, or as many as the noisy total says."""
    from discreet.workload import GroupedTables, draw_records

    require_rows(rows)
    *alone, together = (known_from(release) for release in releases)
    tables = GroupedTables.of(together, groups, alone[0] if alone else None)
    count = min(round(tables.total), most) if rows is None else rows
    codes = draw_records(tables, count, expanded(releases, b"records", count))
    return MadeUp(plan, releases, tables.groups, codes, tables)


def require_rows(rows: int | None) -> None:
    """Refuse a number of rows that cannot be made up."""
    if rows is None:
        return
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(f"rows must be a whole number from 1 to {MOST_ROWS}, got {rows!r}")


def expanded(releases: "tuple[Release, ...]", purpose: bytes, rows: int) -> "Expansion":
    """Return what follows from released values: it hides nothing, and is the same each time."""
    from discreet.workload.expansion import Expansion

    digest = sha256(purpose + b":%d:" % rows)
    for release in releases:
        digest.update(sha256(encode(release.noisy)).digest())
    return Expansion(digest.digest())


def known_from(release: Release) -> "KnownTables":
    """Return what the answer to one count by grouping sets tells."""
    (share,) = release.quote.shares
    keys, joint, measured = release.quote.checked.keys, share.mechanism, share.measured
    if not (isinstance(keys, Sets) and isinstance(joint, Together) and isinstance(measured, Measurement)):
        raise TypeError("only counts by grouping sets are tables of one release")
    return known_tables(keys, joint, measured.scale, release.noisy.values[0])


def _arrow_type(cells: ColumnCells) -> Any:
    import pyarrow

    match cells.column.kind:
        case Whole():
            return pyarrow.int64()
        case Real():
            return pyarrow.float64()
        case Truth():
            return pyarrow.bool_()
        case Day():
            return pyarrow.date32()
        case _:
            return pyarrow.string()


def _filled(cells: ColumnCells, codes: "NDArray[Any]", expansion: "Expansion") -> list[Any]:
    """Return a value for each code: its own, or any of its cell's, all equally often."""
    import numpy as np

    if cells.values:
        return [(*cells.values, None)[code] for code in codes.tolist()]
    there = codes < cells.parts
    starts = np.array(cells.starts)
    held = np.where(there, codes, 0).astype(np.int64)
    points = expansion.between(starts[held], starts[held + 1]).tolist()
    value = {point: plain(cells.point(point)) for point in set(points)}
    return [value[point] if here else None for point, here in zip(points, there.tolist(), strict=True)]
