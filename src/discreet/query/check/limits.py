"""Which limits on a person's contribution apply to a question, and which of them must be enforced.

A limit that holds by construction (one row per person after grouping by the person, a prepared table, a
small number of declared groups) is used as it is; another one is taken from the declarations and enforced
by the rewrite.  A limit on groups matters only where it lowers a claim: a total number of rows already bounds
every sum, so it matters in counts of people and where rows per group are limited.  There it lowers the total;
weights spread that over all of a person's groups, and only keys found in the data make a person keep few.
"""

from dataclasses import dataclass, replace

from discreet.errors import QueryError
from discreet.query.check.contribution import Contribution, contribution
from discreet.query.check.measurement import WEIGHT, Rows
from discreet.query.check.scope import Lineage
from discreet.query.plan import Scalar

FEW_STEPS = 8
"""Where one row moves an integer further, noise has so many steps that their size does not matter."""


@dataclass(frozen=True, slots=True)
class Bounding:
    """The limits of one question over a relation with `size` declared groups (None: keys are private)."""

    scope: Lineage
    size: int | None

    @property
    def single(self) -> bool:
        """Whether there is exactly one group."""
        return self.size == 1

    @property
    def structural(self) -> bool:
        """Whether people are within their limit of rows by construction."""
        bound, rows = self.scope.bound, self.scope.rows
        return bound is not None and (rows is None or bound <= rows)

    @property
    def cellwise(self) -> bool:
        """Whether limits per group have to be enforced, rather than the total alone."""
        if self.scope.per_group is None or not self.scope.units:
            return False
        rows = self._rows()
        return rows is None or self.scope.per_group < rows

    @property
    def weight(self) -> int:
        """The integer units that stand for one whole row."""
        return 1 if self.structural and not self.cellwise else WEIGHT

    def weight_for(self, reach: int) -> int:
        """Return the units of a row that adds up to `reach` integers: one where a person keeps one row whole.

        Who declares one row per person says that people have one, so that keeping one of them loses nothing;
        whoever lowers a larger limit asks about people who have more, for whom weights keep what all their
        rows say.  In whole units noise of a few steps is less than the same noise on a fine grid.
        """
        return 1 if self.scope.sole and self.scope.unit is not None and reach <= FEW_STEPS else self.weight

    def _rows(self) -> int | None:
        return self.scope.bound if self.structural else self.scope.rows

    def sums(self) -> Contribution:
        """Return the limits of counts of rows, sums and candidate weights."""
        scope, rows = self.scope, self._rows()
        if self.cellwise:
            # Weights spread a person thinly over any number of groups, so the total alone limits them.
            bound = scope.bound if self.structural else None
            reach = min((limit for limit in (self.size, bound) if limit is not None), default=None)
            groups = min((limit for limit in (scope.groups, reach) if limit is not None), default=None)
            found = contribution(scope.adjacency, rows, scope.per_group, groups, single=self.single)
            found = None if found is None else replace(found, groups=reach)
        else:
            groups = scope.bound if self.structural else None
            found = contribution(scope.adjacency, rows, None, groups, single=self.single)
        if found is None:
            raise QueryError(
                "the table",
                "does not say how many rows one person may have",
                "declare rows_per_unit (or groups_per_unit and rows_per_group), or pass rows_per_unit=...",
            )
        return found

    def people(self) -> Contribution:
        """Return the limits of counts of people: in all groups together, each adds at most so many."""
        scope = self.scope
        known = [limit for limit in (scope.bound, self.size, scope.groups, scope.rows) if limit is not None]
        if not known:
            raise QueryError(
                "GROUP BY",
                "does not say in how many groups one person may count",
                "declare groups_per_unit (or rows_per_unit), or pass groups_per_unit=...",
            )
        # With declared keys a person above the limit counts less in every group; with private ones, in fewer.
        groups = min(known) if self.person == 1 else self.size
        return Contribution(scope.adjacency, min(known), 1, groups, self.single)

    @property
    def person(self) -> int:
        """The integer units that stand for one whole person in a count of people."""
        most = self._most_people()
        return 1 if self.size is None or most is None or (most == 1 and self.scope.sole) else WEIGHT

    def _most_people(self) -> int | None:
        """Return the limit of groups per person that has to be enforced, if there is one."""
        scope = self.scope
        free = [known for known in (scope.bound, self.size) if known is not None]
        given = [known for known in (scope.groups, scope.rows) if known is not None]
        if not given or (free and min(given) >= min(free)):
            return None
        return min(given)

    def pairs(self) -> Contribution:
        """Return the limits of counts of distinct values: each person adds at most so many."""
        rows = self._rows()
        found = contribution(self.scope.adjacency, rows, None, rows, single=self.single)
        if found is None:
            raise QueryError(
                "COUNT(DISTINCT)",
                "the table does not say how many rows one person may have",
                "declare rows_per_unit, or pass rows_per_unit=...",
            )
        return found

    def rows(self, where: Scalar | None, *, people: bool) -> Rows:
        """Return the rows to aggregate with the limits that the rewrite must enforce."""
        scope = self.scope
        return Rows(
            source=scope.source,
            where=where,
            unit=scope.unit,
            adjacency=scope.adjacency,
            bound=scope.bound,
            rows=None if self.structural else scope.rows,
            per_group=scope.per_group if self.cellwise else None,
            people=self._most_people() if people else None,
        )
