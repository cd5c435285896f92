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

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, log2

import numpy as np
from flint import fmpq, fmpq_mat

from discreet.mechanisms.table import Table
from discreet.utility.certificate import Flow
from discreet.utility.graph import Graph
from discreet.utility.pricing import Floats, Potentials
from discreet.utility.problem import Problem
from discreet.utility.search import Basis, Found

ROOM = Fraction(1, 2**50)
"""How much above 1/E, relatively, the base of the integer rays is."""

PRECISION = 90
WEIGHT_BITS = 140
REFINEMENTS = 4
DUAL_BITS = 100
FLOW_BITS = 240
CLOSE = fmpq(1, 10**12)
"""Costs are at most 1: a bound that is worse by this much is as good."""


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
    return tuple(
        _fraction(_down(_fmpq(Fraction(float(entry)) - Fraction(lowered)), DUAL_BITS)) for entry in dual
    )


def supported_dual(problem: Problem, flows: Sequence[Flow], largest: Fraction) -> tuple[Fraction, ...]:
    """Return the largest dual that one flow per guess supports exactly, rounded down."""
    costs, unit = problem.costs()
    times = _fmpq(largest)
    rooms = [
        _left([fmpq(cost, unit) for cost in row], [(i, j, _fmpq(f)) for i, j, f in flow], times)
        for row, flow in zip(costs, flows, strict=True)
    ]
    return tuple(_fraction(_down(min(column), DUAL_BITS)) for column in zip(*rooms, strict=True))


def rounded_flow(flow: Mapping[tuple[int, int], float]) -> Flow:
    """Return a flow in rationals."""
    return tuple((i, j, Fraction(float(amount))) for (i, j), amount in sorted(flow.items()) if amount > 0)


def best_flows(
    problem: Problem,
    potentials: Potentials,
    hints: Sequence[Mapping[tuple[int, int], float]],
    target: Sequence[Fraction],
    largest: Fraction,
    *,
    exact: bool = False,
) -> tuple[Flow, ...]:
    """Return for each guess a flow that comes close to supporting a proposed dual.

    That is the proposed flow where it is close enough.  Otherwise candidates are no flow at all and the flow
    along the spanning tree that the proposed one suggests; its amounts are rounded unless it is to be exact.
    """
    costs, unit = problem.costs()
    times, owed = _fmpq(largest), [_fmpq(d) for d in target]
    chosen = []
    for row, ray, hint in zip(costs, potentials.tolist(), hints, strict=True):
        need = [fmpq(cost, unit) - d for cost, d in zip(row, owed, strict=True)]
        best = [(i, j, _fmpq(f)) for i, j, f in rounded_flow(hint)]
        if exact or min(_left(need, best, times)) < -CLOSE:
            along = _tree_flow(_spanning_tree(problem.graph, ray, hint), need, times, exact=exact)
            best = max(([], best, along), key=lambda flow: min(_left(need, flow, times)))
        chosen.append(tuple((i, j, _fraction(f)) for i, j, f in best))
    return tuple(chosen)


Running = list[tuple[int, int, fmpq]]
"""A flow in the rationals of the library, which reckons several times as fast."""


def _left(need: Sequence[fmpq], flow: Running, largest: fmpq) -> list[fmpq]:
    left = list(need)
    for start, end, amount in flow:
        left[start] += amount
        left[end] -= largest * amount
    return left


def _tree_flow(
    tree: Sequence[tuple[int, int | None]], need: Sequence[fmpq], largest: fmpq, *, exact: bool
) -> Running:
    """Return the flow along a tree that settles every answer but the root exactly.

    An optimal flow runs on the tight edges of the best ray, which span the graph.  Leaf by leaf, what an
    answer lacks it takes from its parent, and what it has left it hands on.
    """
    left = list(need)
    along: Running = []
    for place, parent in reversed(tree):
        if parent is None or left[place] == 0:
            continue
        if left[place] < 0:
            amount = -left[place] if exact else -_down(left[place], FLOW_BITS)
            along.append((place, parent, amount))
            left[parent] -= largest * amount
        else:
            share = left[place] / largest
            amount = share if exact else _down(share, FLOW_BITS)
            along.append((parent, place, amount))
            left[parent] += amount
    return along


def _spanning_tree(
    graph: Graph, ray: Sequence[int], hint: Mapping[tuple[int, int], float]
) -> list[tuple[int, int | None]]:
    """Return positions with their parents, root first, along the edges that carry most of the flow."""

    def worth(edge: tuple[int, int]) -> tuple[bool, float]:
        i, j = edge
        flow = max(hint.get((i, j), 0.0), hint.get((j, i), 0.0))
        return abs(ray[i] - ray[j]) == 1, flow

    group = list(range(len(graph)))

    def leader(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    kept = []
    for i, j in sorted(graph.edges, key=worth, reverse=True):
        if leader(i) != leader(j):
            group[leader(i)] = leader(j)
            kept.append((i, j))
    around: dict[int, list[int]] = {}
    for i, j in kept:
        around.setdefault(i, []).append(j)
        around.setdefault(j, []).append(i)
    # Rooted where the ray is largest, what is missing at the root is not magnified.
    start = max(range(len(graph)), key=lambda place: ray[place])
    order: list[tuple[int, int | None]] = [(start, None)]
    for place, parent in order:
        order.extend((far, place) for far in around.get(place, ()) if far != parent)
    return order


def _down(value: fmpq, bits: int) -> fmpq:
    return fmpq((value.p * 2**bits) // value.q, 2**bits)


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
