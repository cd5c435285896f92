"""Tables of many columns, shown nearer to the truth than they were drawn.

A question by grouping sets over a domain that is too large to be written out cannot be made possible as a
whole (see `consistent`).  Each of its tables can: it is drawn towards what its other tables say, as far as
noise explains the difference, and becomes the nearest one without negative counts that has the released total
(see `discreet.workload.shrink`).  Every table is the best by itself, so two of them may differ a little on a
column that they share.
"""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from discreet.query.check.formula import Public
from discreet.query.check.measurement import Measurement, Sets
from discreet.query.price.expected import Quote
from discreet.query.price.together import Together, rounded
from discreet.release.noisy import Noisy

if TYPE_CHECKING:
    from discreet.workload import KnownTables

Attributes = tuple[int, ...]


def shrunk(priced: Quote, noisy: Noisy) -> Noisy | None:
    """Return counts by grouping sets with every table shrunk, or None where something else was measured."""
    keys, found = priced.checked.keys, []
    for share, drawn in zip(priced.shares, noisy.values, strict=True):
        joint, measured = share.mechanism, share.measured
        if not (isinstance(keys, Sets) and isinstance(joint, Together) and isinstance(measured, Measurement)):
            return None
        if not measured.counting:
            return None
        found.append(_shrunk(keys, joint, measured.scale, drawn))
    return Noisy(noisy.keys, tuple(found))


@lru_cache(maxsize=8)  # an answer is shown again and again
def _shrunk(keys: Sets, joint: Together, scale: int, drawn: tuple[Public, ...]) -> tuple[Public, ...]:
    from discreet.workload import ShrunkTables

    tables = ShrunkTables(known_tables(keys, joint, scale, drawn))
    return tuple(rounded(Fraction(float(v))) for chosen in keys.sets for v in tables.table(chosen).flat)


def known_tables(keys: Sets, joint: Together, scale: int, drawn: tuple[Public, ...]) -> "KnownTables":
    """Return what counts by grouping sets tell: their tables as centred pieces, in natural units."""
    import numpy as np

    from discreet.workload import KnownTables, MarginalPlan
    from discreet.workload.marginal import subsets
    from discreet.workload.table import centred

    if not isinstance(joint.plan, MarginalPlan):
        raise TypeError("grouping sets are planned as marginals")
    sizes = joint.plan.workload.sizes
    values = np.array([float(value) for value in drawn])  # type: ignore[arg-type]
    pieces: dict[Attributes, Any] = {}
    start = 0
    for chosen in keys.sets:
        stop = start + prod(sizes[i] for i in chosen)
        table = values[start:stop].reshape([sizes[i] for i in chosen])
        start = stop
        for subset in subsets(chosen):
            if subset not in pieces:
                away = tuple(axis for axis, i in enumerate(chosen) if i not in subset)
                pieces[subset] = centred(table.sum(axis=away))
    variances = {a: variance / scale**2 for a, variance in joint.plan.pieces().items()}
    return KnownTables(sizes, pieces, variances)
