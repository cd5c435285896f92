"""The optimal channel of a small graph in one linear program, as a start for the search over rays.

All entries of the channel are variables, x(w, y) for the guess w at the true answer y.  On graphs with cycles
that are not too large this is solved sooner than many small programs are; what it lacks is proof.  So its
columns are taken apart into rays, from which the master begins; its prices bound the loss from below, and the
multipliers of its inequalities are the flows that prove them: where the floats are right, the first round of
the search confirms both, and no column has to be priced.

Theorem.  Let c > 0 be a column with |ln c(y) - ln c(z)| <= epsilon for neighbours, h = ln(c) / epsilon and
E = exp(epsilon).  With W(s) = (E - E**(1 - s)) / (E - 1), a law on [0, 1],

    c(y) = integral over s of E**floor(h(y) + s) dW(s),

and every floor(h + s) differs by at most 1 between neighbours: c is a mixture of rays, one for each interval
between the fractional parts of h.
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
from discreet.utility.pricing import Floats, Potentials

Positions = NDArray[np.int64]

ENTRIES = 10_000
"""The most entries of a channel that are solved for at once."""

FEW = 1_800
"""Up to so many entries of a channel on one cycle the simplex method is the quicker."""

_SAME = 1e-6
_NOTHING = 1e-12


Hint = dict[tuple[int, int], float]
"""A flow in floats, from one answer to a neighbour."""


@dataclass(frozen=True)
class Start:
    """Where the search begins: rays with their guesses, prices, what is believed, and one flow per guess.

    By how much the prices exceed what the flows support at most is `short`, which is not negative.
    """

    potentials: Potentials
    guesses: Positions
    dual: Floats
    belief: Floats
    flows: list[Hint]
    short: float


def direct(graph: Graph, cost: Floats, prior: Floats | None, epsilon: float) -> Start | None:
    """Return rays, prices and belief of the whole program, or None where it is too large or fails."""
    guesses, size = cost.shape
    if guesses * size > ENTRIES:
        return None
    highspy = library("highspy", "lab", "the search for an optimal mechanism")
    model: Any = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("primal_feasibility_tolerance", 1e-9)
    model.setOptionValue("dual_feasibility_tolerance", 1e-9)
    if len(graph.edges) > size or guesses * size > FEW:
        # Beyond a single short cycle the simplex method goes through very many bases.
        model.setOptionValue("solver", "ipm")
    _columns(model, cost, prior, highspy.kHighsInf)
    _rows(model, graph, cost, epsilon, highspy.kHighsInf, worst=prior is None)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = model.getSolution()
    duals = np.array(solution.row_dual)
    believed = prior
    if believed is None:
        raw = np.maximum(-duals[-size:], 0)
        believed = raw / raw.sum()
    channel = np.array(solution.col_value)[: guesses * size].reshape(guesses, size)
    flows, short = _flows(graph, believed * cost - duals[:size], duals[size:], epsilon)
    return Start(*rays(graph, channel, epsilon), duals[:size], believed, flows, short)


def _flows(graph: Graph, need: Floats, multipliers: Floats, epsilon: float) -> tuple[list[Hint], float]:
    """Return the flow of each guess, and by how much they fall short of what is needed of them."""
    pairs = _pairs(graph)
    amounts = np.maximum(-multipliers[: len(need) * len(pairs)], 0).reshape(len(need), -1) * exp(-epsilon)
    left = need.copy()
    for place, (i, j) in enumerate(pairs):
        left[:, i] += amounts[:, place]
        left[:, j] -= amounts[:, place] * exp(epsilon)
    hints = [{pair: float(f) for pair, f in zip(pairs, row, strict=True) if f} for row in amounts]
    return hints, max(0.0, -float(left.min()))


def _pairs(graph: Graph) -> list[tuple[int, int]]:
    return [pair for i, j in graph.edges for pair in ((i, j), (j, i))]


def rays(graph: Graph, channel: Floats, epsilon: float) -> tuple[Potentials, Positions]:
    """Return the potentials of all rays that columns of a channel are mixtures of, and their guesses."""
    apart = np.array([graph.distances(start) for start in range(len(graph))], dtype=np.int64)
    found, guesses = [], []
    for guess, column in enumerate(channel):
        if column.max() <= _NOTHING:
            continue
        h = np.log(np.maximum(column, _NOTHING * column.max()) / column.max()) / epsilon
        parts = np.sort(h - np.floor(h))
        ends = np.concatenate([[0.0], np.unique(parts[np.diff(parts, prepend=-1.0) > _SAME]), [1.0]])
        for middle in 1 - (ends[:-1] + ends[1:]) / 2:
            raw = np.floor(h + middle).astype(np.int64)
            # Rounding may have made a step too long: the smallest potentials above that are not.
            lifted = (raw[:, None] - apart).max(axis=0)
            found.append(lifted - lifted.max())
            guesses.append(guess)
    return np.array(found), np.array(guesses)


def _columns(model: Any, cost: Floats, prior: Floats | None, infinity: float) -> None:
    entries = cost.size
    price = np.zeros(entries) if prior is None else (cost * prior).reshape(-1)
    none, nothing = np.zeros(entries, np.int32), np.zeros(0)
    model.addCols(
        entries, price, np.zeros(entries), np.full(entries, infinity), 0, none, np.zeros(0, np.int32), nothing
    )
    if prior is None:
        model.addCol(1.0, -infinity, infinity, 0, np.zeros(0, np.int32), nothing)


def _rows(model: Any, graph: Graph, cost: Floats, epsilon: float, infinity: float, *, worst: bool) -> None:
    """Add that rows sum to one, that neighbours are nearly as likely, and, if asked, the worst loss."""
    guesses, size = cost.shape
    each = (np.arange(guesses)[None, :] * size + np.arange(size)[:, None]).astype(np.int32)
    starts = (np.arange(size) * guesses).astype(np.int32)
    one = np.ones(size)
    model.addRows(size, one, one, each.size, starts, each.reshape(-1), np.ones(each.size))
    pairs = np.array(_pairs(graph), np.int32).reshape(-1, 2)
    both = (pairs[None, :, :] + (np.arange(guesses) * size)[:, None, None]).reshape(-1, 2).astype(np.int32)
    count = len(both)
    values = np.tile([exp(-epsilon), -1.0], count)
    begins = (2 * np.arange(count)).astype(np.int32)
    low, high = np.full(count, -infinity), np.zeros(count)
    model.addRows(count, low, high, 2 * count, begins, both.reshape(-1), values)
    if worst:
        bound = np.full((size, 1), cost.size, np.int32)
        places = np.hstack([each, bound])
        entries = np.hstack([cost.T, -np.ones((size, 1))])
        begins = (np.arange(size) * (guesses + 1)).astype(np.int32)
        low, high = np.full(size, -infinity), np.zeros(size)
        model.addRows(size, low, high, places.size, begins, places.reshape(-1), entries.reshape(-1))
