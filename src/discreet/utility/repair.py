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
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from discreet.mechanisms.table import Table
from discreet.utility.certificate import Flow
from discreet.utility.graph import Graph
from discreet.utility.pricing import Floats, Potentials, directed
from discreet.utility.problem import Problem
from discreet.utility.search import DEPENDENT, Basis, Found

ROOM = Fraction(1, 2**50)
"""How much above 1/E, relatively, the base of the integer rays is."""

PRECISION = 64
WEIGHT_BITS = 84
REFINEMENTS = 6
DUAL_BITS = 100
SETTLED = 72
"""Row sums that differ from 1 by less than 2**-72 are refined no further."""

FLOW_BITS = 80
CLOSE = 10**12
"""Costs are at most 1: a bound that is worse by one part in so many is as good."""

Whole = list[tuple[int, int, int]]
"""A flow in multiples of one small unit: integers are reckoned with many times as fast as rationals."""


def repaired_channel(
    problem: Problem, found: Found, smallest: Fraction, epsilon: float, default: int
) -> Table:
    """Return an exactly private channel near the proposed one; `default` is the guess for the remainder."""
    potentials = found.potentials
    depth = int(-potentials.min())
    base = min((1 + ROOM) / smallest, (1 + 1 / smallest) / 2)
    bits = PRECISION + ceil(depth * log2(float(1 / base)))
    powers = list(map(fmpz, _powers(base, depth, bits)))
    rays = fmpz_mat(*potentials.shape, [powers[-h] for h in potentials.reshape(-1).tolist()])
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


def _refined(rays: fmpz_mat, bits: int, start: Floats, basis: Basis, found: Found) -> list[int]:
    """Return weights over 2**WEIGHT_BITS whose row sums are as close to 1 as refinement gets them."""
    weights = [int(weight * 2.0**WEIGHT_BITS) for weight in start.tolist()]
    inverse = np.linalg.pinv(basis.columns(found.potentials).T, rcond=DEPENDENT)
    left = _remainder(rays, bits, weights)
    for _ in range(REFINEMENTS):
        if max(map(abs, left)) >> (bits + WEIGHT_BITS - SETTLED) == 0:
            break
        error = np.array([float(Fraction(entry, 1 << (bits + WEIGHT_BITS))) for entry in left])
        change = (inverse @ basis.apply(error)).tolist()
        tried = [
            max(0, weight + int(step * 2.0**WEIGHT_BITS))
            for weight, step in zip(weights, change, strict=True)
        ]
        rest = _remainder(rays, bits, tried)
        if max(map(abs, rest)) >= max(map(abs, left)):
            break
        weights, left = tried, rest
    return weights


def _remainder(rays: fmpz_mat, bits: int, weights: Sequence[int]) -> list[int]:
    one = 1 << (bits + WEIGHT_BITS)
    return [one - int(entry) for entry in (fmpz_mat(1, len(weights), weights) * rays).entries()]


def _mixed(
    problem: Problem,
    rays: fmpz_mat,
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
    order = sorted({default, *guesses})
    each = [
        [weight if guess == one else 0 for weight, guess in zip(weights, guesses, strict=True)]
        for one in order
    ]
    columns = [list(map(int, column)) for column in (fmpz_mat(each) * rays).table()]
    rest = columns[order.index(default)]
    rest[:] = map(int.__add__, rest, _remainder(rays, bits, weights))
    rows = tuple(tuple(Fraction(entry, one) for entry in row) for row in zip(*columns, strict=True))
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


def supported_dual(
    problem: Problem, flows: Sequence[Whole], bits: int, largest: Fraction
) -> tuple[Fraction, ...]:
    """Return the largest dual that one flow per guess supports exactly, rounded down."""
    costs, unit = problem.costs()
    rooms = [_room(row, unit, flow, bits, largest) for row, flow in zip(costs, flows, strict=True)]
    scale = unit * largest.denominator << bits
    return tuple(
        Fraction((min(column) << DUAL_BITS) // scale, 1 << DUAL_BITS) for column in zip(*rooms, strict=True)
    )


def _room(row: Sequence[int], unit: int, flow: Whole, bits: int, largest: Fraction) -> list[int]:
    """Return what a flow leaves to a dual at each answer, times unit * 2**bits * the denominator of E."""
    out, back = unit * largest.denominator, unit * largest.numerator
    room = [cost * largest.denominator << bits for cost in row]
    for start, end, amount in flow:
        room[start] += amount * out
        room[end] -= amount * back
    return room


def flow_bits(largest: Fraction) -> int:
    """Return to how many bits flows are rounded: what one takes where it ends is E times as large."""
    return FLOW_BITS + ceil(largest).bit_length()


def whole_flows(graph: Graph, amounts: Floats, bits: int) -> list[Whole]:
    """Return, for each row of amounts along the directed pairs, the flow in multiples of 2**-bits."""
    pairs, unit = directed(graph).tolist(), 2.0**bits
    return [[(*pairs[k], int(row[k] * unit)) for k in np.flatnonzero(row > 0).tolist()] for row in amounts]


def told_flows(flows: Sequence[Whole], bits: int, span: Fraction) -> tuple[Flow, ...]:
    """Return flows in rationals, for costs that are `span` times as large."""
    times, scale = span.numerator, span.denominator << bits
    return tuple(
        tuple((i, j, Fraction(amount * times, scale)) for i, j, amount in flow if amount) for flow in flows
    )


def close_flows(
    problem: Problem, potentials: Potentials, amounts: Floats, target: Floats, bits: int, largest: Fraction
) -> list[Whole]:
    """Return for each guess a flow that comes close to supporting a proposed dual.

    That is the proposed flow where it is close enough.  Otherwise candidates are no flow at all and the flow
    along the spanning tree that the proposed one suggests.
    """
    costs, unit = problem.costs()
    scale = unit * largest.denominator << bits
    owed = [Fraction(d) * scale // 1 for d in target.tolist()]
    chosen = whole_flows(problem.graph, amounts, bits)

    def shortfall(row: Sequence[int], flow: Whole) -> int:
        return max(map(int.__sub__, owed, _room(row, unit, flow, bits, largest)))

    for place, (row, flow) in enumerate(zip(costs, chosen, strict=True)):
        if shortfall(row, flow) > scale // CLOSE:
            need = [
                fmpq(room - d, scale)
                for room, d in zip(_room(row, unit, [], bits, largest), owed, strict=True)
            ]
            tree = _spanning_tree(problem.graph, potentials[place].tolist(), amounts[place])
            along = _tree_flow(tree, need, _fmpq(largest), bits)
            settled = [(i, j, int(f.p << bits) // int(f.q)) for i, j, f in along]
            chosen[place] = min(([], flow, settled), key=lambda one: shortfall(row, one))
    return chosen


def exact_flows(
    problem: Problem, potentials: Potentials, amounts: Floats, dual: Sequence[Fraction], largest: Fraction
) -> tuple[Flow, ...]:
    """Return for each guess the flow along a spanning tree, or none: what is closer to supporting a dual."""
    costs, unit = problem.costs()
    times, owed = _fmpq(largest), [_fmpq(d) for d in dual]
    chosen = []
    for row, ray, hint in zip(costs, potentials.tolist(), amounts, strict=True):
        need = [fmpq(cost, unit) - d for cost, d in zip(row, owed, strict=True)]
        along = _tree_flow(_spanning_tree(problem.graph, ray, hint), need, times)
        best = along if min(_left(need, along, times)) > min(need) else []
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
    tree: Sequence[tuple[int, int | None]], need: Sequence[fmpq], largest: fmpq, bits: int | None = None
) -> Running:
    """Return the flow along a tree that settles every answer but the root, exactly or to so many bits.

    An optimal flow runs on the tight edges of the best ray, which span the graph.  Leaf by leaf, what an
    answer lacks it takes from its parent, and what it has left it hands on.
    """
    left = list(need)
    along: Running = []
    for place, parent in reversed(tree):
        if parent is None or left[place] == 0:
            continue
        if left[place] < 0:
            amount = -left[place] if bits is None else -_down(left[place], bits)
            along.append((place, parent, amount))
            left[parent] -= largest * amount
        else:
            share = left[place] / largest
            amount = share if bits is None else _down(share, bits)
            along.append((parent, place, amount))
            left[parent] += amount
    return along


def _spanning_tree(graph: Graph, ray: Sequence[int], amounts: Floats) -> list[tuple[int, int | None]]:
    """Return positions with their parents, root first, along the edges that carry most of the flow."""
    # The directed pairs of an edge stand side by side.
    carried = dict(zip(graph.edges, amounts.reshape(-1, 2).max(axis=1).tolist(), strict=True))

    def worth(edge: tuple[int, int]) -> tuple[bool, float]:
        i, j = edge
        return abs(ray[i] - ray[j]) == 1, carried[edge]

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
