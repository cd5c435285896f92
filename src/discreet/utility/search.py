"""Column generation: the optimal channel as a mixture of a few extreme rays.

A channel is a sum of columns x(k) E**h(k), each answered with the guess that suits it best, such that
every row sums to 1.  A master program over the rays found so far gives prices; pricing finds rays that
these prices undervalue; the two meet at the optimum.  Two things keep this fast and stable.

Change of basis.  On a forest the matrix Q that inverts a**distance is tridiagonal-like, and Q turns the
ray E**h into the vector (1 - m(y)) E**h(y), where m(y) counts the neighbours of y with a larger value
(one with the same value counts a / (1 + a)).
On a path it is zero except at the turning points of h, the geometric rays become unit vectors, and the
master, hopeless in the original basis (entries from 1 down to e**-300), becomes sparse and well scaled.

Smoothing.  Pricing is done at a mixture of the master's prices and the best prices so far, which ends
the swings of plain column generation.

This is search: floats propose, and nothing here is trusted.

References.  Smoothing: Wentges, Int. Trans. Oper. Res. 4(2), 1997; Pessoa, Sadykov, Uchoa, Vanderbeck,
INFORMS J. Comput. 30(2), 2018.
"""

from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.extra import library
from discreet.utility.direct import Start, direct
from discreet.utility.graph import Graph
from discreet.utility.pricing import (
    Floats,
    ForestPricer,
    LinearPricer,
    Potentials,
    Pricer,
    steps_apart,
    values,
)

Positions = NDArray[np.int64]

SMOOTHING = 0.6
ROUNDS = 600
COST_SCALE = 1e3
"""Costs are scaled to this size so that the solver's absolute tolerance becomes a small relative one."""

CUT = 1e-13

DEPENDENT = 1e-11
"""Rays that differ by less are one to floats: weighing them against each other would magnify rounding."""

ROUGH = 1e-10
"""By how much rows may fail to sum to one before their loss is compared with a bound."""

RESCUES: tuple[tuple[str, str | float], ...] = (
    ("presolve", "on"),
    ("simplex_strategy", 4),
    ("presolve", "off"),
    ("solver", "ipm"),
    # Where 1/E is as small as the tolerance, the solver may not see that rows can sum to one.
    ("primal_feasibility_tolerance", 1e-7),
)
"""What is tried, in this order, when the solver ends without an optimum."""


@dataclass(frozen=True)
class Found:
    """What the search proposes: basic rays with weights and guesses, prices, and the prior they belong to."""

    potentials: Potentials
    weights: Floats
    guesses: Positions
    dual: Floats
    prior: Floats
    rounds: int
    flows: Floats | None = None
    """What flows for each guess along each directed pair to support the prices, where it is known."""


class Basis:
    """The rows of the master: Q times "sums to one" on a forest, the plain rows on other graphs."""

    def __init__(self, graph: Graph, epsilon: float) -> None:
        size = len(graph)
        self.forest = graph.is_forest
        self._line = graph.is_path
        if self.forest:
            a = exp(-epsilon)
            degree = np.array([len(near) for near in graph.near], dtype=float)
            self._q = np.diag(1 + degree * a * a / (1 - a * a))
            for i, j in graph.edges:
                self._q[i, j] = self._q[j, i] = -a / (1 - a * a)
            self.target = 1 - degree * a / (1 + a)
            self._flat = a / (1 + a)
            self._edges = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
        else:
            self._q = np.eye(size)
            self.target = np.ones(size)
        self._epsilon = epsilon

    def columns(self, potentials: Potentials) -> Floats:
        """Return the master's column of each ray."""
        v = values(potentials, self._epsilon)
        if not self.forest:
            return v
        factor = np.ones(potentials.shape)
        if self._line:
            rise = np.diff(potentials, axis=1)
            flat = np.where(rise == 0, self._flat, 0)
            factor[:, :-1] -= (rise > 0) + flat
            factor[:, 1:] -= (rise < 0) + flat
            return factor * v
        for i, j in self._edges:
            rise = potentials[:, j] - potentials[:, i]
            flat = np.where(rise == 0, self._flat, 0)
            factor[:, i] -= (rise > 0) + flat
            factor[:, j] -= (rise < 0) + flat
        return factor * v

    def apply(self, vector: Floats) -> Floats:
        """Return Q times a vector: it turns row sums into the master's rows, and multipliers into prices."""
        product: Floats = self._q @ vector
        return product


def search(
    graph: Graph,
    loss: Floats,
    prior: Floats | None,
    epsilon: float,
    *,
    tolerance: float,
    pricer: Pricer,
    at_once: bool = False,
) -> Found:
    """Search on a connected graph; without a prior, for the least worst-case loss.

    With `at_once` a small graph is solved as a whole first.  Its basis is less often exactly optimal.
    """
    base = loss.min(axis=0) if prior is not None else np.zeros(loss.shape[1])
    scale = COST_SCALE / max(float(np.abs((loss - base) * (1 if prior is None else prior)).max()), 1e-300)
    cost = (loss - base) * scale
    ceiling = _baseline(cost, prior)
    whole = direct(graph, cost, prior, epsilon) if at_once else None
    if whole is not None:
        weights = _summed(whole, epsilon)
        if _apart(whole, weights, cost, prior, epsilon) <= tolerance * ceiling:
            dual = (whole.dual - whole.short) / scale + base * whole.belief
            return Found(whole.potentials, weights, whole.guesses, dual, whole.belief, 0, whole.flows / scale)
    master = _Master(Basis(graph, epsilon), cost, prior)
    # The constant column makes the master feasible on every graph.
    master.add(np.zeros((1, len(graph)), dtype=np.int64), epsilon)
    believed = np.full(len(graph), 1 / len(graph)) if prior is None else prior
    start = ((believed * cost).min(axis=0), believed)
    centre, best, rounds = start, float(start[0].sum()), 0
    flows: Floats | None = None
    if whole is None:
        # The geometric rays, of which the best mechanisms of many graphs are made.
        master.add(-steps_apart(graph), epsilon)
    else:
        master.put(whole.potentials, whole.guesses, epsilon)
        if (bound := float((whole.dual - whole.short).sum())) > best:
            centre, best, flows = (whole.dual - whole.short, whole.belief), bound, whole.flows / scale
    while rounds < ROUNDS:
        rounds += 1
        solved = master.solve()
        if solved is None:
            break
        value, dual, belief = solved
        if best > value + 1e-7 * ceiling:
            # No bound can exceed the value of a feasible master: rounding deceived a round, so start over.
            centre, best, flows = start, float(start[0].sum()), None
        if value - best <= tolerance * ceiling:
            break
        mix = SMOOTHING if rounds > 1 else 0.0
        while True:
            at, believed = dual, belief
            if mix:
                at, believed = mix * centre[0] + (1 - mix) * dual, mix * centre[1] + (1 - mix) * belief
            weights = believed * cost - at
            potentials = pricer.rays(weights)
            worst, closest = pricer.worst(weights, potentials)
            if at.sum() + len(graph) * worst > best:
                best, centre, flows = float(at.sum() + len(graph) * worst), (at + worst, believed), None
            if closest is not potentials:
                potentials = np.vstack([potentials, closest])
            added = master.add(potentials, epsilon, dual, belief)
            if added or not mix:
                break
            mix = mix * 0.5 if mix > 0.2 else 0.0
        if not added:
            break
    potentials, weights, guesses = master.support()
    believed = centre[1] if prior is None else prior
    return Found(potentials, weights, guesses, centre[0] / scale + base * believed, believed, rounds, flows)


def truthful(graph: Graph, loss: Floats, prior: Floats | None) -> Found:
    """Return the best guess for each answer, each told by the ray that falls from it, which is almost alone.

    Whoever is told the truth loses least of all, and needs no flow to prove it.  A private channel comes as
    close as 1/E: for a large epsilon closer than a solver can tell.
    """
    least = loss.min(axis=0)
    belief = np.eye(len(graph))[least.argmax()] if prior is None else prior
    flows = np.zeros((len(loss), 2 * len(graph.edges)))
    guesses = loss.argmin(axis=0)
    return Found(-steps_apart(graph), np.ones(len(graph)), guesses, belief * least, belief, 0, flows)


def _summed(whole: Start, epsilon: float) -> Floats:
    """Return the weights of a whole channel, corrected so that its rows sum to one beyond the tolerance."""
    v = values(whole.potentials, epsilon)
    change = np.linalg.lstsq(v.T, 1 - whole.weights @ v, rcond=DEPENDENT)[0]
    summed: Floats = np.maximum(whole.weights + change, 0)
    return summed


def _apart(whole: Start, weights: Floats, cost: Floats, prior: Floats | None, epsilon: float) -> float:
    """Return how far apart the rays of a whole channel and its prices are in what they cost."""
    v = weights[:, None] * values(whole.potentials, epsilon)
    if np.abs(v.sum(axis=0) - 1).max() > ROUGH:
        return np.inf
    each = (v * cost[whole.guesses]).sum(axis=0)
    value = each.max() if prior is None else each @ prior
    return abs(float(value - (whole.dual - whole.short).sum()))


def pricer_for(graph: Graph, epsilon: float, *, forest: bool) -> ForestPricer | LinearPricer:
    """Return the pass on a forest and the linear program, which also yields flows, elsewhere."""
    return ForestPricer(graph, epsilon) if forest else LinearPricer(graph, epsilon)


def _baseline(cost: Floats, prior: Floats | None) -> float:
    worst = cost.max(axis=1).min() if prior is None else (cost @ prior).min()
    return max(float(worst), 1e-9)


class _Master:
    """The restricted program over the rays found so far."""

    def __init__(self, basis: Basis, cost: Floats, prior: Floats | None) -> None:
        highspy = library("highspy", "lab", "the search for an optimal mechanism")
        self._basis, self._cost, self._prior = basis, cost, prior
        self._potentials: list[Potentials] = []
        self._guesses: list[Positions] = []
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._basic = highspy.HighsBasisStatus.kBasic
        self._infinity = highspy.kHighsInf
        model: Any = highspy.Highs()
        model.setOptionValue("output_flag", False)
        model.setOptionValue("small_matrix_value", 1e-12)
        model.setOptionValue("primal_feasibility_tolerance", 1e-9)
        model.setOptionValue("dual_feasibility_tolerance", 1e-9)
        nothing = (0, np.zeros(0, np.int32), np.zeros(0))
        for sum_to in basis.target:
            model.addRow(float(sum_to), float(sum_to), *nothing)
        self._first = 0
        if prior is None:
            # One more variable, the worst-case loss itself, bounds the loss at every true answer.
            for _ in basis.target:
                model.addRow(-self._infinity, 0.0, *nothing)
            size = len(basis.target)
            rows = np.arange(size, 2 * size, dtype=np.int32)
            model.addCol(1.0, -self._infinity, self._infinity, size, rows, -np.ones(size))
            self._first = 1
        self._model = model

    def add(
        self, potentials: Potentials, epsilon: float, dual: Floats | None = None, belief: Floats | None = None
    ) -> int:
        """Add the rays, each with its best guess, that these prices undervalue; return how many."""
        v = values(potentials, epsilon)
        weights = self._prior if belief is None else belief
        if weights is None:
            guesses = np.repeat(np.arange(len(self._cost)), len(v))
            potentials, v = np.tile(potentials, (len(self._cost), 1)), np.tile(v, (len(self._cost), 1))
        else:
            priced = (v * weights) @ self._cost.T
            guesses = priced.argmin(axis=1)
            if dual is not None:
                short = priced.min(axis=1) - v @ dual < -CUT * COST_SCALE
                potentials, v, guesses = potentials[short], v[short], guesses[short]
        if not len(v):
            return 0
        return self.put(potentials, guesses, epsilon)

    def put(self, potentials: Potentials, guesses: Positions, epsilon: float) -> int:
        """Add rays with these guesses; return how many."""
        v = values(potentials, epsilon)
        matrix = self._basis.columns(potentials)
        if self._prior is None:
            matrix = np.hstack([matrix, v * self._cost[guesses]])
            price = np.zeros(len(v))
        else:
            price = (v * self._cost[guesses] * self._prior).sum(axis=1)
        matrix[np.abs(matrix) < 1e-12] = 0
        row, entry = np.nonzero(matrix)
        starts = np.searchsorted(row, np.arange(len(v))).astype(np.int32)
        self._model.addCols(
            len(v), price, np.zeros(len(v)), np.full(len(v), self._infinity),
            len(entry), starts, entry.astype(np.int32), matrix[row, entry],
        )  # fmt: skip
        self._potentials.append(potentials)
        self._guesses.append(guesses)
        return len(v)

    def solve(self) -> tuple[float, Floats, Floats] | None:
        """Return the value, the prices and the belief of the current master; None if the solver gives up."""
        if not self._run():
            return None
        size = len(self._basis.target)
        multipliers = np.array(self._model.getSolution().row_dual)
        belief = self._prior
        if belief is None:
            raw = np.maximum(-multipliers[size:], 0)
            belief = raw / raw.sum()
        value = float(self._model.getInfo().objective_function_value)
        return value, self._basis.apply(multipliers[:size]), belief

    def _run(self) -> bool:
        """Solve from the last basis; if the solver loses its way, afresh, with one method after another."""
        self._model.run()
        for option, value in RESCUES:
            if self._model.getModelStatus() == self._optimal:
                return True
            before = self._model.getOptionValue(option)[1]
            self._model.clearSolver()
            self._model.setOptionValue(option, value)
            self._model.run()
            self._model.setOptionValue(option, before)
        return bool(self._model.getModelStatus() == self._optimal)

    def support(self) -> tuple[Potentials, Floats, Positions]:
        """Return the rays of the final basis, their weights and their guesses."""
        weights = np.array(self._model.getSolution().col_value)[self._first :]
        status = self._model.getBasis().col_status[self._first :]
        potentials, guesses = np.vstack(self._potentials), np.concatenate(self._guesses)
        used = np.array([one == self._basic for one in status], dtype=bool) | (weights > 0)
        if not used.any():
            used[0] = True
        return potentials[used], np.maximum(weights[used], 0), guesses[used]
