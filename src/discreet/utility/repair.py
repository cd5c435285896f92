"""Turns what a float search proposes into mechanisms and proofs that hold exactly.

Primal.  The rays E**h are replaced by integers close to a**h * 2**b for an `a` a hair above 1/E, so
their ratios hold with room to spare.  Their weights are refined against exact residuals until every row
sums to 1 up to a tiny remainder; all weights are then scaled by 1 - t, and the remainder, now positive
and nearly constant, is itself a private column, answered with the best constant guess.  So rows sum
to 1 exactly, ratios hold exactly, and t is about 2**-60.

Exact.  When e**epsilon is rational and the problem is small, the basis that the search ends with is
solved in rationals, primal and dual, and the gap is exactly 0.

Dual.  Lowering a dual solution keeps it feasible, so it is rounded down; on graphs with cycles it is
recomputed exactly from the rounded flows.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log2

import numpy as np
from flint import fmpq, fmpq_mat

from discreet.mechanisms.table import Table
from discreet.utility.certificate import Flow
from discreet.utility.pricing import Floats
from discreet.utility.problem import Problem
from discreet.utility.search import Basis, Found

ROOM = Fraction(1, 2**50)
"""How much above 1/E, relatively, the base of the integer rays is."""

PRECISION = 90
WEIGHT_BITS = 140
REFINEMENTS = 4
DUAL_BITS = 100


def repaired_channel(
    problem: Problem, found: Found, smallest: Fraction, epsilon: float, default: int
) -> Table:
    """Return an exactly private channel near the proposed one; `default` is the guess for the remainder."""
    potentials = found.potentials
    depth = int(-potentials.min())
    base = min((1 + ROOM) / smallest, (1 + 1 / smallest) / 2)
    bits = PRECISION + ceil(depth * log2(float(1 / base)))
    powers = _powers(base, depth, bits)
    rays = [[powers[-h] for h in row] for row in potentials.tolist()]
    weights = _refined(rays, bits, found.weights, Basis(problem.graph, epsilon), found)
    return _mixed(problem, rays, bits, weights, found.guesses.tolist(), base, default)


def _powers(base: Fraction, depth: int, bits: int) -> list[int]:
    """Return base**k * 2**bits rounded to integers, with a relative error far below ROOM."""
    guard = 32
    value, found = 1 << (bits + guard), []
    for _ in range(depth + 1):
        found.append(value >> guard)
        value = value * base.numerator // base.denominator
    return found


def _refined(rays: list[list[int]], bits: int, start: Floats, basis: Basis, found: Found) -> list[int]:
    """Return weights over 2**WEIGHT_BITS whose row sums are as close to 1 as refinement gets them."""
    weights = [int(Fraction(float(weight)) * 2**WEIGHT_BITS) for weight in start]
    inverse = np.linalg.pinv(basis.columns(found.potentials).T)
    for _ in range(REFINEMENTS):
        left = _remainder(rays, bits, weights)
        error = np.array([float(Fraction(entry, 1 << (bits + WEIGHT_BITS))) for entry in left])
        change = inverse @ basis.apply(error)
        weights = [
            max(0, weight + int(Fraction(float(step)) * 2**WEIGHT_BITS))
            for weight, step in zip(weights, change, strict=True)
        ]
    return weights


def _remainder(rays: list[list[int]], bits: int, weights: Sequence[int]) -> list[int]:
    sums = [1 << (bits + WEIGHT_BITS)] * len(rays[0])
    for weight, ray in zip(weights, rays, strict=True):
        if weight:
            sums = [total - weight * entry for total, entry in zip(sums, ray, strict=True)]
    return sums


def _mixed(
    problem: Problem,
    rays: list[list[int]],
    bits: int,
    weights: Sequence[int],
    guesses: Sequence[int],
    base: Fraction,
    default: int,
) -> Table:
    one = 1 << (bits + WEIGHT_BITS)
    worst = max(abs(entry) for entry in _remainder(rays, bits, weights))
    # With t >= 4 worst / (1 - base) the remainders of two neighbours differ by a factor below 1 / base.
    share = Fraction(4 * worst + 1, one) / (1 - base)
    kept = 0 if share >= 1 else int((1 - share) * 2**WEIGHT_BITS)
    weights = [weight * kept >> WEIGHT_BITS for weight in weights]
    size = len(problem.graph)
    columns: dict[int, list[int]] = {default: _remainder(rays, bits, weights)}
    for weight, ray, guess in zip(weights, rays, guesses, strict=True):
        if weight:
            column = columns.setdefault(guess, [0] * size)
            columns[guess] = [total + weight * entry for total, entry in zip(column, ray, strict=True)]
    order = sorted(columns)
    rows = tuple(tuple(Fraction(columns[guess][y], one) for guess in order) for y in range(size))
    outputs = tuple(problem.loss.guesses[guess] for guess in order)
    return Table(problem.graph.nodes, outputs, rows, problem.graph.edges)


def exact_basis(problem: Problem, found: Found, ratio: Fraction) -> tuple[Table, tuple[Fraction, ...]] | None:
    """Return the exact channel and dual of the proposed basis, or None when it is not a feasible basis."""
    size = len(problem.graph)
    if len(found.weights) != size:
        return None
    powers = {int(h): ratio ** int(h) for h in np.unique(found.potentials)}
    rays = [[powers[h] for h in row] for row in found.potentials.tolist()]
    matrix = fmpq_mat(size, size, [_fmpq(entry) for ray in rays for entry in ray])
    costs, unit = problem.costs()
    prices = [
        sum((Fraction(costs[guess][y], unit) * ray[y] for y in range(size)), Fraction(0))
        for guess, ray in zip(found.guesses.tolist(), rays, strict=True)
    ]
    try:
        weights = matrix.transpose().solve(fmpq_mat(size, 1, [fmpq(1)] * size))
        dual = matrix.solve(fmpq_mat(size, 1, [_fmpq(price) for price in prices]))
    except ZeroDivisionError:
        return None
    exact = [_fraction(weights[k, 0]) for k in range(size)]
    if min(exact) < 0:
        return None
    order = sorted(set(found.guesses.tolist()))
    place = {guess: k for k, guess in enumerate(order)}
    rows = [[Fraction(0)] * len(order) for _ in range(size)]
    for weight, ray, guess in zip(exact, rays, found.guesses.tolist(), strict=True):
        for y in range(size):
            rows[y][place[guess]] += weight * ray[y]
    outputs = tuple(problem.loss.guesses[guess] for guess in order)
    channel = Table(problem.graph.nodes, outputs, tuple(map(tuple, rows)), problem.graph.edges)
    return channel, tuple(_fraction(dual[y, 0]) for y in range(size))


def rounded_dual(dual: Floats, lowered: float) -> tuple[Fraction, ...]:
    """Return the dual lowered by an amount and rounded down to rationals of moderate size."""
    return tuple(_down(Fraction(float(entry)) - Fraction(lowered)) for entry in dual)


def rounded_flows(
    problem: Problem, flows: Sequence[dict[tuple[int, int], float]], largest: Fraction
) -> tuple[tuple[Flow, ...], tuple[Fraction, ...]]:
    """Return rational flows and the largest dual that they support exactly."""
    costs, unit = problem.costs()
    rational_flows = []
    dual: list[Fraction] | None = None
    for row, flow in zip(costs, flows, strict=True):
        exact = tuple((i, j, _down(Fraction(float(amount)))) for (i, j), amount in sorted(flow.items()))
        room = [Fraction(cost, unit) for cost in row]
        for i, j, amount in exact:
            room[i] += amount
            room[j] -= largest * amount
        rational_flows.append(exact)
        dual = room if dual is None else [min(a, b) for a, b in zip(dual, room, strict=True)]
    return tuple(rational_flows), tuple(_down(entry) for entry in dual or [])


def _down(value: Fraction) -> Fraction:
    return Fraction((value.numerator << DUAL_BITS) // value.denominator, 1 << DUAL_BITS)


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
