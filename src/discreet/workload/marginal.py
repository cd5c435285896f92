r"""Marginals of any order, planned without ever writing the domain out.

Decomposition.  For a set A of attributes with n_i values each, let H_A be the product over i in A of the
centring matrices I - J/n_i.  The centred tables R_A = H_A (marginal of A) are independent pieces of
information, and every marginal is put together from those of its subsets:

    marginal of B = sum over A within B of (R_A spread evenly over the attributes of B not in A).

If R_A is known with cell variance s_A p_A, p_A = prod (1 - 1/n_i), each cell of marginal B has variance
sum over A within B of s_A p_A / prod over B \ A of n_i**2.

Theorem (Gaussian, exact integers).  Measure the integer table prod(n_i) R_A with discrete Gaussian noise of
variance prod(n_i)**2 s_A on each cell.  One person moves it by squared length prod n_i (n_i - 1), so it
costs rho_A = p_A / (2 s_A).  With v_A the total weight of s_A in the workload's error, the least error at
sum rho_A = rho is (sum sqrt(v_A p_A))**2 / (2 rho), reached by s_A proportional to sqrt(p_A / v_A); no
strategy of the matrix mechanism does better.  Under replace a change of the attributes D moves table A by
twice p_A - prod over A & D of (-1/n_i) prod over A \ D of (1 - 1/n_i), and the total itself is public.

Pure privacy.  Measure tables as they are, the one of A at epsilon_A, the shares summing to epsilon.  Each
table that contains A tells about R_A with variance multiplied by the number of cells summed; the pieces are
pooled by least squares, and the shares are optimised.

References.  Xiao, He, Zhang, Kifer, "An optimal and scalable matrix mechanism for noisy marginals under
convex loss functions", NeurIPS 2023 (the decomposition, its optimality and a discrete form).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import prod, sqrt
from typing import assert_never

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import round_down, round_up
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.workload.descent import descend
from discreet.workload.forecast import Error
from discreet.workload.linear import Floats, Marginals
from discreet.workload.noise import Noise, Promise, spread

Attributes = tuple[int, ...]

_SHARE_BITS = 40
_PAIRS_ENUMERATED = 16
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True, slots=True)
class MarginalTable:
    """One table to measure: as it is, or centred and multiplied by its number of cells."""

    attributes: Attributes
    centred: bool
    noise: Noise


@dataclass(frozen=True, slots=True)
class MarginalPlan:
    """Which tables to measure with which noise, and how well the workload will be answered."""

    workload: Marginals
    adjacency: Adjacency
    tables: tuple[MarginalTable, ...]
    guarantee: Promise
    error: Error
    candidates: tuple[tuple[str, Error], ...]

    @property
    def needs(self) -> tuple[Attributes, ...]:
        """The exact tables to compute: no other one is needed, the rest are their sums."""
        wanted = {table.attributes for table in self.tables}
        return tuple(sorted(a for a in wanted if not any(set(a) < set(b) for b in wanted)))

    def variance(self, attributes: Attributes) -> float:
        """Return the variance of every cell of one marginal, which must lie within the workload."""
        return cell_variance(self.workload.sizes, attributes, self.pieces())

    def variances(self) -> dict[Attributes, float]:
        """Return the variance of every cell of each marginal of the workload."""
        known = self.pieces()
        return {chosen: cell_variance(self.workload.sizes, chosen, known) for chosen in self.workload.sets}

    def pieces(self) -> dict[Attributes, float]:
        """Return s_A for every centred piece."""
        return pieces(self.workload, self.tables, self.adjacency)


def plan_marginals(
    workload: Marginals, guarantee: Promise, adjacency: Adjacency = Adjacency.ADD_REMOVE
) -> MarginalPlan:
    """Return the plan for a set of marginals: optimal for Gaussian noise, optimised for pure noise."""
    plain = _split(workload, guarantee, adjacency)
    match guarantee:
        case Concentrated(rho, _):
            tables, spent = _residuals(workload, rho, adjacency)
            promise: Promise = Concentrated(spent)
            name = "centred tables, optimal"
        case Pure(cost):
            tables = _shared(workload, _optimal_shares(workload, cost, adjacency), adjacency)
            promise = _promise_of_shares(tables, workload.sizes, adjacency)
            name = "tables with optimised shares"
        case _:
            assert_never(guarantee)
    ours, theirs = (_error(workload, chosen, adjacency) for chosen in (tables, plain))
    if theirs.total < ours.total:
        tables, promise, ours = plain, _promise_of_shares(plain, workload.sizes, adjacency), theirs
    return MarginalPlan(
        workload, adjacency, tables, promise, ours, ((name, ours), ("each table by itself", theirs))
    )


def closure(workload: Marginals) -> list[Attributes]:
    """Return every subset of every set of the workload, smallest first."""
    found = {subset for chosen in workload.sets for subset in subsets(chosen)}
    return sorted(found, key=lambda subset: (len(subset), subset))


def weights(workload: Marginals) -> dict[Attributes, float]:
    """Return v_A: the total of the workload's variances per unit of s_A."""
    total: dict[Attributes, float] = {}
    for chosen in workload.sets:
        cells = workload.table_cells(chosen)
        for subset in subsets(chosen):
            total[subset] = total.get(subset, 0.0) + cells * _share(workload.sizes, chosen, subset)
    return total


def pieces(
    workload: Marginals, tables: tuple[MarginalTable, ...], adjacency: Adjacency
) -> dict[Attributes, float]:
    """Return s_A for every centred piece, pooling all tables that tell about it."""
    precision = dict.fromkeys(closure(workload), 0.0)
    for table in tables:
        variance = spread(table.noise)
        if table.centred:
            precision[table.attributes] += workload.table_cells(table.attributes) ** 2 / variance
            continue
        for subset in subsets(table.attributes):
            summed = workload.table_cells(table.attributes) / workload.table_cells(subset)
            precision[subset] += 1 / (variance * summed)
    public = {()} if adjacency is Adjacency.REPLACE else set()
    unseen = [
        a for a, known in precision.items() if known == 0 and a not in public and _moves(workload.sizes, a)
    ]
    if unseen:
        raise ParameterError("the tables to measure do not determine every marginal of the workload")
    return {a: 0.0 if a in public or not known else 1 / known for a, known in precision.items()}


def _residuals(
    workload: Marginals, rho: Fraction, adjacency: Adjacency
) -> tuple[tuple[MarginalTable, ...], Fraction]:
    sizes = workload.sizes
    value = weights(workload)
    sets = [
        a for a in closure(workload) if _moves(sizes, a) or (a == () and adjacency is Adjacency.ADD_REMOVE)
    ]
    price = {a: float(_price(sizes, a, adjacency)) for a in sets}
    scale = sum(sqrt(value[a] * price[a]) for a in sets) / (2 * float(rho))
    rough = {a: round_up(Fraction(scale * sqrt(price[a] / value[a])), _SHARE_BITS) for a in sets}
    # The rounded variances cost a little more or less than rho; one exact factor makes it rho.
    spent = _spent(sizes, rough, adjacency)
    factor = round_up(spent / rho, 2 * _SHARE_BITS)
    variance = {a: s * factor for a, s in rough.items()}
    tables = tuple(MarginalTable(a, True, Gaussian(variance[a] * workload.table_cells(a) ** 2)) for a in sets)
    return tables, spent / factor


def _spent(sizes: tuple[int, ...], variance: Mapping[Attributes, Fraction], adjacency: Adjacency) -> Fraction:
    """Return the rho of measuring every centred table with these variances; under replace rounded up."""
    if adjacency is Adjacency.ADD_REMOVE or len(sizes) > _PAIRS_ENUMERATED:
        return sum((_price(sizes, a, adjacency) / (2 * s) for a, s in variance.items()), Fraction(0))
    # All terms are non-negative floats, each right to a few units in the last place; so is their sum.
    changed = np.arange(1, 2 ** len(sizes))
    total = np.zeros(changed.size)
    for attributes, s in variance.items():
        alike, opposed = np.ones(changed.size), np.ones(changed.size)
        for i in attributes:
            touched = (changed >> i) & 1 == 1
            alike *= 1 - 1 / sizes[i]
            opposed *= np.where(touched & (sizes[i] > 1), -1 / sizes[i], 1 - 1 / sizes[i])
        moved = np.zeros(changed.size, dtype=bool)
        for i in attributes:
            moved |= (changed >> i) & 1 == 1
        total += np.where(moved, (alike - opposed) / float(s), 0)
    return round_up(Fraction(float(total.max())) * (1 + Fraction(1, 2**_SHARE_BITS)), 2 * _SHARE_BITS)


def _price(sizes: tuple[int, ...], attributes: Attributes, adjacency: Adjacency) -> Fraction:
    """Return the squared length one person moves R_A by, at most."""
    own = prod((Fraction(sizes[i] - 1, sizes[i]) for i in attributes), start=Fraction(1))
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return own
        case Adjacency.REPLACE:
            if not attributes:
                return Fraction(0)
            # The worst change has the most negative product: an odd number of attributes change.
            opposed = [
                prod(
                    (
                        Fraction(-1, sizes[i]) if i in changed else Fraction(sizes[i] - 1, sizes[i])
                        for i in attributes
                    ),
                    start=Fraction(1),
                )
                for changed in subsets(attributes)
                if changed
            ]
            return 2 * (own - min(opposed))


def _split(workload: Marginals, guarantee: Promise, adjacency: Adjacency) -> tuple[MarginalTable, ...]:
    """Return the plain way: every table of the workload as it is, with an equal share."""
    movable = adjacency is Adjacency.ADD_REMOVE
    moving = [a for a in workload.sets if movable or any(workload.sizes[i] > 1 for i in a)]
    if not moving:
        raise ParameterError("nobody can move the answers of this workload, so it needs no privacy")
    match guarantee:
        case Pure(cost):
            return _shared(workload, dict.fromkeys(moving, cost / len(moving)), adjacency)
        case Concentrated(rho, _):
            change = Sensitivity.spread(1 if adjacency is Adjacency.ADD_REMOVE else 2, 1)
            noise = Gaussian.calibrate(rho=rho / len(moving), sensitivity=change)
            return tuple(MarginalTable(a, False, noise) for a in moving)
        case _:
            assert_never(guarantee)


def _shared(
    workload: Marginals, shares: Mapping[Attributes, Fraction], adjacency: Adjacency
) -> tuple[MarginalTable, ...]:
    each = 1 if adjacency is Adjacency.ADD_REMOVE else 2
    noise = {
        s: Geometric.calibrate(epsilon=s, sensitivity=Sensitivity.spread(each, 1))
        for s in set(shares.values())
    }
    return tuple(MarginalTable(a, False, noise[share]) for a, share in shares.items())


def _promise_of_shares(
    tables: tuple[MarginalTable, ...], sizes: tuple[int, ...], adjacency: Adjacency
) -> Promise:
    """Return what measuring the tables as they are promises: the sum of what each one does."""
    change = Sensitivity.spread(1 if adjacency is Adjacency.ADD_REMOVE else 2, 1)
    promises = [table.noise.guarantee(change) for table in tables]
    costs = [promise.cost for promise in promises if isinstance(promise, Pure)]
    rhos = [promise.rho for promise in promises if isinstance(promise, Concentrated)]
    return Concentrated(sum(rhos, Fraction(0))) if rhos else Pure(sum(costs, Fraction(0)))


def _optimal_shares(workload: Marginals, cost: Fraction, adjacency: Adjacency) -> dict[Attributes, Fraction]:
    """Return shares of epsilon that (nearly) minimise the total error."""
    return {a: cost * part for a, part in _optimal_parts(workload, adjacency)}


@lru_cache(maxsize=64)  # a question is priced several times
def _optimal_parts(workload: Marginals, adjacency: Adjacency) -> tuple[tuple[Attributes, Fraction], ...]:
    """Return the parts that are best at any price, by descent over their logarithms."""
    sets = [
        a
        for a in closure(workload)
        if _moves(workload.sizes, a) or (a == () and adjacency is Adjacency.ADD_REMOVE)
    ]
    own = weights(workload)
    value = np.array([own[a] for a in sets])
    place = {a: k for k, a in enumerate(sets)}
    tells = np.zeros((len(sets), len(sets)))
    for a in sets:
        for subset in subsets(a):
            if subset in place:
                tells[place[subset], place[a]] = workload.table_cells(subset) / workload.table_cells(a)

    def value_and_slope(logits: Floats) -> tuple[float, Floats]:
        raised = np.exp(logits - logits.max())
        share = raised / raised.sum()
        known = tells @ np.square(share)
        slope = -2 * share * (tells.T @ (value / np.square(known)))
        total = float((value / known).sum())
        return float(np.log(total)), share * (slope - float(slope @ share)) / total

    start = np.array([0.0 if a in workload.sets else -3.0 for a in sets])
    found = descend(value_and_slope, start, steps=500, level=1e-5)
    share = np.exp(found - found.max())
    needed = {a for a in workload.sets if not any(set(a) < set(b) for b in workload.sets)}
    share = np.where([a in needed for a in sets], np.maximum(share, _NEGLIGIBLE), share)
    share = np.where(share < _NEGLIGIBLE * share.max(), 0, share)
    parts = [round_down(Fraction(float(s / share.sum())), _SHARE_BITS) for s in share]
    return tuple((a, part) for a, part in zip(sets, parts, strict=True) if part > 0)


def _error(workload: Marginals, tables: tuple[MarginalTable, ...], adjacency: Adjacency) -> Error:
    known, value = pieces(workload, tables, adjacency), weights(workload)
    return Error(sum(value[a] * s for a, s in known.items()), workload.queries)


def cell_variance(sizes: tuple[int, ...], chosen: Attributes, known: Mapping[Attributes, float]) -> float:
    """Return the variance of every cell of one marginal, given s_A of the pieces within it."""
    return sum(known[subset] * _share(sizes, chosen, subset) for subset in subsets(chosen))


def _share(sizes: tuple[int, ...], chosen: Attributes, subset: Attributes) -> float:
    inside = prod((sizes[i] - 1) / sizes[i] for i in subset)
    return inside / prod(sizes[i] ** 2 for i in chosen if i not in subset)


def subsets(chosen: Attributes) -> list[Attributes]:
    """Return every subset, the smallest first."""
    return list(chain.from_iterable(combinations(chosen, r) for r in range(len(chosen) + 1)))


def _moves(sizes: tuple[int, ...], attributes: Attributes) -> bool:
    """Whether a centred table can be other than zero: every attribute has two values at least."""
    return bool(attributes) and all(sizes[i] > 1 for i in attributes)
