"""Measuring marginal tables and putting consistent ones back together.

Only `measure_marginals` sees exact counts.  What it returns, and everything computed from it, is private.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.adjacency import Adjacency
from discreet.workload.linear import Floats
from discreet.workload.marginal import Attributes, MarginalPlan
from discreet.workload.noise import grain, half_widths, spread
from discreet.workload.strategy import integers, roomy

Progress = Callable[[int, int], None]
"""Called with how many tables are done, and how many there are."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredMarginals:
    """The plan and, in its order of tables, the noisy integers."""

    plan: MarginalPlan
    noisy: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class MarginalAnswers:
    """Consistent tables: any two agree on the attributes they share."""

    plan: MarginalPlan
    centred: Mapping[Attributes, Floats]

    def table(self, attributes: Attributes) -> Floats:
        """Return one marginal, of the workload or contained in one of it."""
        if attributes not in self.centred:
            raise ParameterError(f"the marginal of attributes {attributes} was not planned for")
        sizes = self.plan.workload.sizes
        out = np.zeros([sizes[i] for i in attributes])
        for subset, piece in self.centred.items():
            if set(subset) <= set(attributes):
                shape = [sizes[i] if i in subset else 1 for i in attributes]
                out += piece.reshape(shape) / prod(sizes[i] for i in attributes if i not in subset)
        return out

    def deviation(self, attributes: Attributes) -> float:
        """Return the standard deviation of every cell of one marginal."""
        return sqrt(self.plan.variance(attributes))

    def radius(self, attributes: Attributes, beta: Real = "0.05") -> float:
        """Return a half-width that a cell of one marginal exceeds with probability about beta at most."""
        bell = all(isinstance(table.noise, Gaussian) for table in self.plan.tables)
        coarse = max(grain(table.noise) for table in self.plan.tables)
        own = np.array(self.deviation(attributes))
        return float(half_widths(own, beta, bell=bell, grain=coarse))


def tabulate(
    records: NDArray[Any], sizes: Sequence[int], sets: Sequence[Attributes]
) -> dict[Attributes, NDArray[np.int64]]:
    """Return the exact tables of coded records: one row per person, one integer column per attribute."""
    if records.ndim != 2 or records.shape[1] != len(sizes):
        raise ParameterError(f"expected one column for each of {len(sizes)} attributes")
    out = {}
    for attributes in sets:
        shape = [sizes[i] for i in attributes]
        codes = np.zeros(records.shape[0], dtype=np.int64)
        for i in attributes:
            column = np.clip(records[:, i].astype(np.int64), 0, sizes[i] - 1)
            codes = codes * sizes[i] + column
        out[attributes] = np.bincount(codes, minlength=prod(shape)).astype(np.int64).reshape(shape)
    return out


def measure_marginals(
    plan: MarginalPlan,
    tables: Mapping[Attributes, NDArray[Any]],
    *,
    progress: Progress = lambda _done, _all: None,
) -> MeasuredMarginals:
    """Return noisy integers for every table of the plan, from the exact tables the plan says it needs."""
    exact = _checked(plan, tables)
    noisy = []
    for done, table in enumerate(plan.tables):
        counts = _marginal(exact, table.attributes)
        noisy.append(table.noise.sample(_centred_integers(counts) if table.centred else counts))
        progress(done + 1, len(plan.tables))
    return MeasuredMarginals(plan, tuple(noisy))


def answer_marginals(measured: MeasuredMarginals, *, total: int | None = None) -> MarginalAnswers:
    """Return the consistent tables; under replace the public total must be given."""
    plan = measured.plan
    if plan.adjacency is Adjacency.REPLACE and total is None:
        raise ParameterError("under replace the number of people is public: give it as total")
    sizes, known = plan.workload.sizes, plan.pieces()
    found = {a: np.zeros([sizes[i] for i in a]) for a in known}
    for table, noisy in zip(plan.tables, measured.noisy, strict=True):
        cells = plan.workload.table_cells(table.attributes)
        counts = np.asarray(noisy, dtype=np.float64)
        for subset in [table.attributes] if table.centred else _within(table.attributes, known):
            summed = counts.sum(axis=tuple(k for k, i in enumerate(table.attributes) if i not in subset))
            own = plan.workload.table_cells(subset)
            scale, variance = (
                (cells, spread(table.noise) / cells**2)
                if table.centred
                else (
                    1,
                    spread(table.noise) * cells / own,
                )
            )
            found[subset] += centred(summed / scale) * (known[subset] / variance)
    if total is not None:
        found[()] = np.array(float(total))
    return MarginalAnswers(plan, found)


def _within(attributes: Attributes, known: Mapping[Attributes, float]) -> list[Attributes]:
    return [subset for subset in known if set(subset) <= set(attributes)]


def centred(counts: Floats) -> Floats:
    """Return a table without what smaller tables tell: along each attribute its mean is taken away."""
    for axis in range(counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    return counts


def _centred_integers(counts: NDArray[Any]) -> NDArray[Any]:
    """Return the centred table times its number of cells: along each attribute, n x minus the sum."""
    # Each step along an attribute of n values at most doubles n times the largest entry.
    counts = roomy(counts, 2**counts.ndim)
    for axis in range(counts.ndim):
        counts = counts * counts.shape[axis] - counts.sum(axis=axis, keepdims=True)
    return counts


def _checked(plan: MarginalPlan, tables: Mapping[Attributes, NDArray[Any]]) -> dict[Attributes, NDArray[Any]]:
    """Return the given tables that the plan can use, refusing where they do not hold all it needs."""
    sizes, exact = plan.workload.sizes, {}
    for attributes, given in tables.items():
        counts = integers(given)
        if counts.shape != tuple(sizes[i] for i in attributes):
            raise ParameterError(f"the table of attributes {attributes} must have one axis per attribute")
        exact[attributes] = roomy(counts, 1)
    for attributes in plan.needs:
        if not any(set(attributes) <= set(given) for given in exact):
            raise ParameterError(f"the exact table of attributes {attributes} is missing; see plan.needs")
    return exact


def _marginal(exact: Mapping[Attributes, NDArray[Any]], attributes: Attributes) -> NDArray[Any]:
    """Return a table as it is or summed down from the smallest one that contains it."""
    holders = [a for a in exact if set(attributes) <= set(a)]
    holder = min(holders, key=lambda a: exact[a].size)
    away = tuple(k for k, i in enumerate(holder) if i not in attributes)
    return np.asarray(exact[holder].sum(axis=away), dtype=exact[holder].dtype)
