"""Made-up records from released tables: a forest of attributes, each drawn given one other.

Model.  Of all laws whose attributes hang together in a forest, the one nearest to a table of records (in
relative entropy) has the records' own tables on its edges, and the best forest has the largest sum of mutual
informations (Chow and Liu 1968): a maximum spanning forest, here of shrunk tables.  Pairs without any
dependence that noise could not explain get no edge.

Drawing.  A root's values are apportioned to the records by its own table; a child's, among the records that
share a value of its parent, by that row of their common table.  Apportioning n records by shares p gives each
value n p rounded up or down, with the mean n p, so that the tables of the records follow the model as nearly
as whole records can, and nothing is left to chance that need not be.

Only released values are seen.  What is left to an order of no meaning follows from a digest of them.

Reference.  The way of measuring and drawing is that of McKenna, Miklau, Sheldon, "Winning the NIST contest",
2021, with a selection that costs nothing: it is read off released tables.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.workload.expansion import Expansion
from discreet.workload.linear import Floats
from discreet.workload.marginal import Attributes
from discreet.workload.shrink import ShrunkTables, dependence

NOTICEABLE = 1e-9
"""Less mutual information than this is rounding, not dependence."""


def spanning_forest(tables: ShrunkTables, pairs: Sequence[Attributes]) -> tuple[Attributes, ...]:
    """Return the forest of pairs with the most mutual information; equal ones by their order."""
    found = {pair: dependence(tables.table(pair)) for pair in pairs}
    tree = {i: frozenset((i,)) for pair in pairs for i in pair}
    edges = []
    for pair in sorted(found, key=lambda pair: (-found[pair], pair)):
        one, other = pair
        if found[pair] > NOTICEABLE and tree[one] is not tree[other]:
            edges.append(pair)
            joined = tree[one] | tree[other]
            tree.update(dict.fromkeys(joined, joined))
    return tuple(sorted(edges))


def draw_records(
    tables: ShrunkTables, edges: Sequence[Attributes], rows: int, expansion: Expansion
) -> NDArray[Any]:
    """Return coded records, one column per attribute, whose tables follow those of the forest's edges."""
    sizes = tables.known.sizes
    if rows < 0:
        raise ParameterError(f"the number of rows must not be negative, got {rows}")
    # Codes are small, and records may be many.
    records = np.zeros((rows, len(sizes)), dtype=np.int16 if max(sizes, default=0) < 2**15 else np.int64)
    beside: dict[int, list[int]] = {i: [] for i in range(len(sizes))}
    for one, other in edges:
        beside[one].append(other)
        beside[other].append(one)
    drawn: set[int] = set()
    for root in range(len(sizes)):
        if root in drawn:
            continue
        drawn.add(root)
        records[:, root] = _dealt(tables.table((root,)), rows, expansion)
        waiting = [root]
        while waiting:
            parent = waiting.pop()
            for child in beside[parent]:
                if child not in drawn:
                    drawn.add(child)
                    waiting.append(child)
                    _draw_child(tables, records, parent, child, expansion)
    return records


def _draw_child(
    tables: ShrunkTables, records: NDArray[Any], parent: int, child: int, expansion: Expansion
) -> None:
    pair = tables.table((parent, child) if parent < child else (child, parent))
    shares = pair if parent < child else pair.T
    order = np.argsort(records[:, parent], kind="stable")
    starts = np.searchsorted(records[order, parent], np.arange(shares.shape[0] + 1))
    for value, (start, stop) in enumerate(pairwise(starts)):
        row = shares[value] if shares[value].sum() > 0 else tables.table((child,))
        records[order[start:stop], child] = _dealt(row, int(stop - start), expansion)


def _dealt(shares: Floats, rows: int, expansion: Expansion) -> NDArray[np.int64]:
    """Return values for so many records in any order, each value as often as its share says."""
    values = np.repeat(np.arange(shares.size), apportioned(shares, rows, expansion))
    return values[expansion.order(values.size)]


def apportioned(shares: Floats, rows: int, expansion: Expansion) -> NDArray[np.int64]:
    """Return whole numbers of the sum `rows`: each is rows times its share, rounded up or down.

    Systematic sampling: the k-th record goes where u + k falls among the summed expectations, for one uniform
    u, so every number has the right mean.  Shares of nothing at all count as equal ones.
    """
    even = shares if shares.sum() > 0 else np.ones_like(shares)
    order = expansion.order(even.size)
    ends = np.cumsum(even[order])
    marks = np.floor(ends / ends[-1] * rows + expansion.fraction()).astype(np.int64)
    marks[-1] = rows
    counts = np.zeros(even.size, dtype=np.int64)
    counts[order] = np.diff(np.minimum(marks, rows), prepend=0)
    return counts
