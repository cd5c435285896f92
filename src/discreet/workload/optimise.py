"""Optimised strategies for a workload: certified for Gaussian noise, computed for pure noise, per attribute.

For a single product of workloads the best Kronecker strategy optimises every attribute by itself.  For a
union of products the attributes are optimised in turn: with all others fixed, the total error is that of a
one-attribute workload whose Gram matrix is the sum of the parts', each weighted by what the other
attributes contribute to its error.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import assert_never

import numpy as np

from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload.certified import Certified, optimum
from discreet.workload.forecast import as_products, inverse_information, questions_of_cells
from discreet.workload.linear import AllRange, Floats, Identity, Prefix, Product, Total, Workload
from discreet.workload.noise import Promise
from discreet.workload.pidentity import p_identity
from discreet.workload.strategy import Dense, Kronecker, identity, information, rounded

_ROUNDS = 4
_CELLS_PER_SUM = (16, 8, 4)
_SMALL = 64
_LARGE = 2048
_NEAR = (1024, 2e-6), (_LARGE, 1e-5), (inf, 1e-4)
"""How near to the best a certified strategy is, up to so many cells."""

_KEPT = 512
"""Strategies up to this many cells are remembered: a few megabytes each at most."""

_PRODUCT_BITS = 24
_FEWEST_BITS = 4


def certified_optimum(workload: Workload, *, tolerance: float | None = None) -> Certified:
    """Return the best strategy for Gaussian noise with its certificate, for one attribute."""
    # Rounding keeps the sure side of a large matrix further from the other.
    near = next(near for most, near in _NEAR if workload.cells <= most)
    allowed = near if tolerance is None else tolerance
    return (_kept_optimum if workload.cells <= _KEPT else _optimum)(workload, allowed)


def _optimum(workload: Workload, allowed: float) -> Certified:
    match workload:
        case Prefix() | AllRange() | Identity():
            family = type(workload)
            return optimum(lambda cells: family(cells).gram(), workload.cells, tolerance=allowed)
        case _:
            return optimum(workload.gram(), workload.cells, tolerance=allowed)


def optimised(workload: Workload, guarantee: Promise) -> Dense:
    """Return an optimised integer strategy for one attribute."""
    match guarantee:
        case Concentrated():
            return rounded("certified optimum", certified_optimum(workload).matrix)
        case Pure():
            return (_kept_strategy if workload.cells <= _KEPT else _strategy)(workload)
        case _:
            assert_never(guarantee)


def _strategy(workload: Workload) -> Dense:
    return _pure(workload.gram_apply, questions_of_cells(workload))


# The best strategy is the same whatever the noise: whoever weighs prices waits for it once.
_kept_optimum, _kept_strategy = lru_cache(maxsize=16)(_optimum), lru_cache(maxsize=16)(_strategy)


def optimised_product(workload: Workload, sizes: list[int], guarantee: Promise) -> Kronecker:
    """Return an optimised Kronecker strategy for a product of workloads or a union of products."""
    parts = as_products(workload, sizes)
    # The entries of a product multiply, so its factors share the bits that keep everything within 64.
    bits = max(_FEWEST_BITS, _PRODUCT_BITS // sum(n > 1 for n in sizes)) if max(sizes) > 1 else _PRODUCT_BITS
    if len(parts) == 1:
        factors: Iterable[Dense] = (_attribute(factor, guarantee) for factor in parts[0].factors)
    else:
        factors = _alternate(parts, sizes, guarantee)
    return Kronecker(tuple(_shortened(factor, bits) for factor in factors))


def _shortened(strategy: Dense, bits: int) -> Dense:
    if int(np.abs(strategy.rows).max()) <= 2**bits:
        return strategy
    return rounded(strategy.name, strategy.rows.astype(np.float64), bits)


def _attribute(workload: Workload, guarantee: Promise) -> Dense:
    match workload:
        case Identity(cells):
            return identity(cells)
        case Total(cells) if cells == 1:
            return identity(1)
        case _:
            return optimised(workload, guarantee)


def _alternate(parts: list[Product], sizes: list[int], guarantee: Promise) -> list[Dense]:
    grams = [[factor.gram() for factor in part.factors] for part in parts]
    strategies = [identity(n) for n in sizes]
    errors = np.array([[float(np.trace(g)) for g in row] for row in grams])
    for _ in range(_ROUNDS):
        for axis in range(len(sizes)):
            weights = np.prod(np.delete(errors, axis, axis=1), axis=1)
            effective = sum(w * row[axis] for w, row in zip(weights / weights.max(), grams, strict=True))
            strategy = optimised_for(np.asarray(effective), guarantee)
            inverse = inverse_information(information(strategy)) * _cost(strategy, guarantee)
            strategies[axis] = strategy
            errors[:, axis] = [float(np.einsum("ij,ij->", row[axis], inverse)) for row in grams]
    return strategies


def optimised_for(gram: Floats, guarantee: Promise, apply: Callable[[Floats], Floats] | None = None) -> Dense:
    """Return an optimised integer strategy for the sum of squared errors that a Gram matrix stands for.

    `apply` multiplies by it, where there is a faster way than by all of its entries.
    """
    cells = gram.shape[0]
    if cells == 1:
        return identity(1)
    match guarantee:
        case Concentrated():
            return rounded("certified optimum", optimum(gram, cells).matrix)
        case Pure():
            return _pure(apply or (lambda x: gram @ x), np.diagonal(gram).copy())
        case _:
            assert_never(guarantee)


def _cost(strategy: Dense, guarantee: Promise) -> float:
    match guarantee:
        case Concentrated():
            return float(np.square(strategy.rows).sum(axis=0).max())
        case Pure():
            return float(np.abs(strategy.rows).sum(axis=0).max()) ** 2
        case _:
            assert_never(guarantee)


def _pure(gram_apply: Callable[[Floats], Floats], diagonal: Floats) -> Dense:
    """Return the best of a few p-identity strategies; large domains get one attempt with fewer steps."""
    cells = diagonal.size
    steps = 600 if cells <= _LARGE else 150
    extras = {max(1, cells // share) for share in (_CELLS_PER_SUM if cells <= _SMALL else _CELLS_PER_SUM[:1])}
    attempts = [p_identity(gram_apply, diagonal, extra, steps=steps) for extra in sorted(extras)]
    if len(attempts) == 1:
        return attempts[0]
    gram = gram_apply(np.eye(cells))

    def total(strategy: Dense) -> float:
        inverse = inverse_information(information(strategy))
        return float(np.einsum("ij,ij->", gram, inverse)) * _cost(strategy, Pure(Fraction(1)))

    return min(attempts, key=total)
