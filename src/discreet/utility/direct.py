"""The optimal channel of a small graph in one linear program, as a start for the search over rays.

The program is the dual one: a price d(y) for each true answer and a flow f(w; y, z) for each guess w along
each pair of neighbours, such that the flows support the prices,

    d(y)  <=  c(w, y) + sum over z of ( f(w; y, z) - E f(w; z, y) )        for every w and y,

and the prices add up to most.  Its multipliers are the entries of the best channel.  On graphs that are not
too large this is solved sooner than many small programs are; what it lacks is proof.  So the columns of the
channel are taken apart into rays and weights, and prices and flows bound the loss from below: where the
floats are right, both are confirmed at once, and no column has to be priced.

Theorem.  Let c > 0 be a column with |ln c(y) - ln c(z)| <= epsilon for neighbours, h = ln(c) / epsilon and
E = exp(epsilon).  With W(s) = (E - E**(1 - s)) / (E - 1), a law on [0, 1],

    c(y) = integral over s of E**floor(h(y) + s) dW(s),

and every floor(h + s) differs by at most 1 between neighbours: c is a mixture of rays, one for each interval
between the fractional parts of h, weighed by W.
Proof.  For h = k + r with 0 <= r < 1 the floor is k for s < 1 - r and k + 1 from there on, so the integral is
E**k (W(1 - r) + E (1 - W(1 - r))) = E**k E**r.  Rounding down keeps differences of at most 1 within 1.

This is search: floats propose, and nothing here is trusted.
"""

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.extra import library
from discreet.utility.graph import Graph
from discreet.utility.pricing import Floats, Potentials, directed, steps_apart

Positions = NDArray[np.int64]

ENTRIES = 10_000
"""The most entries of a channel that are solved for at once."""

TREE = 1_000, 2_000
"""The same on a forest, where pricing is a single pass, for costs that are smooth and for others."""

LARGEST = 12
"""Beyond this epsilon a step down of 1/E is so close to the solver's tolerance that it gets lost."""

FEW = 256
"""Up to so many entries flows are few."""

MANY = 850, 2_000
"""From so many entries on an interior method finds the worst case sooner, in hard and in other questions."""

PRIMAL = 4
PERTURBATION = "dual_simplex_cost_perturbation_multiplier"

_SAME = 1e-9
_NOTHING = 1e-12


@dataclass(frozen=True)
class Start:
    """Where the search begins: weighed rays with their guesses, prices, what is believed, and flows.

    Flows have a row per guess and a column per directed pair of neighbours.  By how much the price of each
    answer exceeds what the flows of some guess support is `short`, which is nowhere negative.
    """

    potentials: Potentials
    guesses: Positions
    weights: Floats
    dual: Floats
    belief: Floats
    flows: Floats
    short: Floats


def direct(graph: Graph, cost: Floats, prior: Floats | None, epsilon: float) -> Start | None:
    """Return rays, prices and belief of the whole program, or None where it is too large or fails."""
    guesses, size = cost.shape
    if epsilon > LARGEST or cost.size > _most(graph, cost, prior):
        return None
    highspy = library("highspy", "lab", "the search for an optimal mechanism")
    model: Any = highspy.Highs()
    for option, value in _options(graph, cost, prior, epsilon).items():
        model.setOptionValue(option, value)
    pairs, raised = directed(graph), 0.0
    if prior is None:
        # What is added to every cost changes no mechanism, but how soon the worst prior shows.
        raised = float(cost.max()) * (1.0 if epsilon < 0.5 else 0.5)
    _program(model, pairs, cost + raised, prior, epsilon, highspy.kHighsInf)
    if not _run(model, highspy.HighsModelStatus.kOptimal):
        return None
    solution = model.getSolution()
    columns, between = np.array(solution.col_value), guesses * len(pairs)
    channel = -np.array(solution.row_dual)[: guesses * size].reshape(guesses, size)
    believed = prior
    if believed is None:
        believed = np.maximum(columns[size + between :], 0)
        # Prices and flows scale with the belief, which sums to one only within the solver's tolerance.
        columns, believed = columns / believed.sum(), believed / believed.sum()
    dual = columns[:size] - raised * believed
    flows = np.maximum(columns[size : size + between].reshape(guesses, -1), 0) * exp(-epsilon)
    short = shortfall(pairs, believed * cost - dual, flows, epsilon)
    # The reduced cost of a flow is by how much its neighbours are closer than they may be.
    tight = np.array(solution.col_dual)[size : size + between].reshape(guesses, -1) == 0
    return Start(*rays(graph, channel, epsilon, tight), dual, believed, flows, short)


def _most(graph: Graph, cost: Floats, prior: Floats | None) -> int:
    """Return up to how many entries a channel is solved for sooner at once than ray by ray."""
    if not graph.is_forest:
        return ENTRIES
    rough = _rough(graph, cost)
    return ENTRIES if rough and prior is None else TREE[rough]


def _options(graph: Graph, cost: Floats, prior: Floats | None, epsilon: float) -> dict[str, Any]:
    """Return how the solver goes about it: each choice is the one that was quickest when measured."""
    plain: dict[str, Any] = {
        "output_flag": False,
        "presolve": "off",
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
    }
    if len(graph.edges) <= 2 * len(graph):
        # Perturbed costs help where very many bases are alike; elsewhere they take longest to undo.
        plain |= {PERTURBATION: 0.0}
    if prior is None:
        if _flat(cost) and epsilon >= 0.5:
            return plain | {"simplex_strategy": PRIMAL}
        rough, tangled = _rough(graph, cost), len(graph.edges) > len(graph)
        hard = tangled or (epsilon < 0.4 and rough)
        interior = cost.size >= MANY[not hard] and epsilon < 1 and not graph.is_forest
        return plain | ({"solver": "ipm"} if interior else {})
    return plain | ({"simplex_strategy": PRIMAL} if _few_flows(graph, cost, epsilon) else {})


def _few_flows(graph: Graph, cost: Floats, epsilon: float) -> bool:
    """Return whether one soon gets to the prices from no flow at all."""
    if epsilon >= 1.5 or not _rough(graph, cost):
        return epsilon >= 1.5
    return cost.size <= FEW or (len(graph.edges) <= len(graph) and epsilon >= 0.5)


def _flat(cost: Floats) -> bool:
    """Return whether a guess is right or wrong, and no wrong one is worse than another."""
    return bool(np.isin(cost, (cost.min(), cost.max())).all())


def _rough(graph: Graph, cost: Floats) -> bool:
    """Return whether costs of neighbours have as little in common as those of answers far apart."""
    if not graph.edges:
        return True
    starts, ends = directed(graph).T
    near = np.abs(cost[:, starts] - cost[:, ends]).mean()
    far = np.abs(cost - np.roll(cost, cost.shape[1] // 2, axis=1)).mean()
    return bool(near >= 0.5 * far)


def _run(model: Any, optimal: Any) -> bool:
    """Solve; if the solver loses its way, afresh with perturbed costs."""
    model.run()
    if model.getModelStatus() != optimal:
        model.clearSolver()
        model.setOptionValue(PERTURBATION, 1.0)
        model.run()
    return bool(model.getModelStatus() == optimal)


def shortfall(pairs: Positions, need: Floats, flows: Floats, epsilon: float) -> Floats:
    """Return by how much flows fall short of what some guess needs at each answer."""
    along = np.zeros((len(pairs), need.shape[1]))
    each = np.arange(len(pairs))
    along[each, pairs[:, 0]] += 1
    along[each, pairs[:, 1]] -= exp(epsilon)
    short: Floats = np.maximum(-(need + flows @ along).min(axis=0), 0.0)
    return short


def rays(
    graph: Graph, channel: Floats, epsilon: float, tight: NDArray[np.bool_] | None = None
) -> tuple[Potentials, Positions, Floats]:
    """Return the potentials of all rays that columns of a channel are mixtures of, their guesses and weights.

    Where it is known between which neighbours a column falls by a whole step, entries that are too small to
    be told from rounding follow from larger ones.
    """
    peak = channel.max(axis=1)
    used = np.flatnonzero(peak > _NOTHING)
    part = channel[used] / peak[used, None]
    h = np.log(np.maximum(part, _NOTHING)) / epsilon
    if tight is not None:
        h = _stepped(h, directed(graph), tight[used])
    h = np.where(np.abs(h - np.rint(h)) < _SAME, np.rint(h), h)
    ends = np.sort(h - np.floor(h), axis=1)
    # Fractional parts that differ by rounding alone are one.
    fresh = np.diff(ends, axis=1, prepend=0.0) > _SAME
    ends = np.maximum.accumulate(np.where(fresh, ends, 0.0), axis=1)
    low, high = np.insert(ends, 0, 0.0, axis=1), np.append(ends, np.ones((len(ends), 1)), axis=1)
    place, interval = np.nonzero(high > low)
    low, high = low[place, interval], high[place, interval]
    raw = np.floor(h[place] + (1 - (low + high) / 2)[:, None]).astype(np.int64)
    # Rounding may have made a step too long: the smallest potentials above that are not.
    lifted = (raw[:, :, None] - steps_apart(graph)).max(axis=1)
    law = (np.exp(epsilon * high) - np.exp(epsilon * low)) / np.expm1(epsilon)
    top = lifted.max(axis=1)
    weights: Floats = peak[used][place] * law * np.exp(epsilon * top)
    return lifted - top[:, None], used[place], weights


def _stepped(h: Floats, pairs: Positions, tight: NDArray[np.bool_]) -> Floats:
    """Return heights in which the end of a tight pair stands one step below its start."""
    above = np.tile(np.arange(h.shape[1]), (len(h), 1))
    for place, (start, end) in enumerate(pairs.tolist()):
        above[tight[:, place], end] = start
    steps = (above != np.arange(h.shape[1])).astype(np.int64)
    # Each turn doubles how far up one has looked.
    for _ in range(h.shape[1].bit_length()):
        steps += np.take_along_axis(steps, above, axis=1)
        above = np.take_along_axis(above, above, axis=1)
    found: Floats = np.take_along_axis(h, above, axis=1) - steps
    return found


def _program(
    model: Any, pairs: Positions, cost: Floats, prior: Floats | None, epsilon: float, infinity: float
) -> None:
    """State the program: a row per entry of the channel, columns for prices, flows and, if asked, belief."""
    guesses, size = cost.shape
    none, nothing = np.zeros(0, np.int32), np.zeros(0)
    limit = np.zeros(cost.size) if prior is None else (cost * prior).reshape(-1)
    model.addRows(
        cost.size, np.full(cost.size, -infinity), limit, 0, np.zeros(cost.size, np.int32), none, nothing
    )
    each = (np.arange(guesses)[None, :] * size + np.arange(size)[:, None]).astype(np.int32)
    free = np.full(size, infinity)
    _add(model, -np.ones(size), -free, each, np.ones(each.shape), infinity)
    both = (pairs[None, :, :] + (np.arange(guesses) * size)[:, None, None]).reshape(-1, 2)
    count = len(both)
    entries = np.tile([-exp(-epsilon), 1.0], (count, 1))
    _add(model, np.zeros(count), np.zeros(count), both, entries, infinity)
    if prior is None:
        model.addRow(1.0, 1.0, 0, none, nothing)
        rows = np.hstack([each, np.full((size, 1), cost.size)])
        entries = np.hstack([-cost.T, np.ones((size, 1))])
        _add(model, np.zeros(size), np.zeros(size), rows, entries, infinity)


def _add(model: Any, price: Floats, low: Floats, rows: Positions, entries: Floats, infinity: float) -> None:
    """Add columns that all have the same number of entries."""
    count, each = rows.shape
    starts = (each * np.arange(count)).astype(np.int32)
    high = np.full(count, infinity)
    model.addCols(
        count, price, low, high, rows.size, starts, rows.reshape(-1).astype(np.int32), entries.reshape(-1)
    )
