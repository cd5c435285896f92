"""Finds the private column that a set of prices undervalues most.

The columns of a private channel form the cone { v : v(y) <= E v(y') for neighbours }.  Its extreme rays
are v = E**h with integer potentials h that change by at most 1 along an edge, because the edges at which
the constraint is tight must span the graph.  For given weights r the least value of <r, v> over the
cone is found

  - on a forest by one pass from the leaves to the roots, choosing for each child the factor E when its
    subtree is worth taking and 1/E when it is not;
  - on any other graph by a small linear program over the cone, whose multipliers are the flows that
    prove the answer.

This is search: floats propose, and nothing here is trusted.
"""

from functools import cached_property
from math import exp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.extra import library
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss

Floats = NDArray[np.float64]
Potentials = NDArray[np.int64]

HUGE = 1e250
"""Beyond this a value is only a sign: the next step could overflow, and smaller terms no longer matter."""


NOISE = 4e-15


class Pricer(Protocol):
    """A way to minimise linear functions over the cone of private columns."""

    def rays(self, weights: Floats) -> Potentials:
        """Return, for each row of weights, the potentials (at most 0, some 0) of a best ray."""
        ...

    def worst(self, weights: Floats, first: Potentials) -> tuple[float, Potentials]:
        """Return the least <r, v> / <1, v> over all rows and columns, and rays that come close to it."""
        ...


def values(potentials: Potentials, epsilon: float) -> Floats:
    """Return the rays E**h."""
    rays: Floats = np.exp(epsilon * potentials)
    return rays


def directed(graph: Graph) -> Potentials:
    """Return every pair of neighbours, in both directions."""
    pairs = [pair for i, j in graph.edges for pair in ((i, j), (j, i))]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def steps_apart(graph: Graph) -> Potentials:
    """Return how many steps any two answers are apart, as many as there are answers where no chain leads."""
    size = len(graph)
    near = np.eye(size, dtype=np.float32)
    near[tuple(directed(graph).T)] = 1
    found, reached, steps = np.full((size, size), size), np.eye(size, dtype=bool), 0
    while (fresh := reached & (found > steps)).any():
        found[fresh] = steps
        reached, steps = reached @ near > 0, steps + 1
    return found


def float_costs(loss: Loss) -> Floats:
    """Return the entries of a loss as floats, for searching only."""
    try:
        return np.array(loss.numerators, dtype=float) / loss.denominator
    except OverflowError:  # numerators of more than a thousand bits: divide before converting
        return np.array([[entry / loss.denominator for entry in row] for row in loss.numerators])


class ForestPricer:
    """Pricing on a forest by one pass, for all guesses at once."""

    def __init__(self, graph: Graph, epsilon: float) -> None:
        self.epsilon = epsilon
        self._outward = [(place, parent) for place, parent in graph.outward() if parent is not None]
        self._line = graph.is_path
        self._may_overflow = epsilon * len(graph) > 500

    def rays(self, weights: Floats) -> Potentials:
        """Return, for each row of weights, the potentials (at most 0, some 0) of a best ray."""
        f = weights.T.copy()
        taken = np.zeros(f.shape, dtype=bool)
        # A value that is negative by rounding alone would be magnified by E at every step and hide the rest.
        noise = -NOISE * np.abs(f).max(axis=0)
        grow, shrink = exp(self.epsilon), exp(-self.epsilon)
        for place, parent in reversed(self._outward):
            value, chosen = f[place], taken[place]
            np.less(value, noise, out=chosen)
            f[parent] += value * np.where(chosen, grow, shrink)
            if self._may_overflow:
                np.clip(f[parent], -HUGE, HUGE, out=f[parent])
        step = 2 * taken.astype(np.int64) - 1
        if self._line:
            step[0] = 0
            np.cumsum(step, axis=0, out=step)
        else:
            roots = sorted(set(range(len(f))) - {place for place, _ in self._outward})
            step[roots] = 0
            for place, parent in self._outward:
                step[place] += step[parent]
        return np.ascontiguousarray((step - step.max(axis=0)).T)

    def worst(self, weights: Floats, first: Potentials) -> tuple[float, Potentials]:
        """Return the least <r, v> / <1, v> by Dinkelbach's iteration, and the last rays it went through.

        One pass compares columns by their value at the root, so a slight fault at a distant answer can hide
        a larger one nearby; the iteration removes one after the other until none is left, rounding included.
        """
        shift, step, potentials, last = 0.0, 0.0, first, first
        least_step = 3 * NOISE * (float(np.abs(weights).max()) or 1.0)
        for turn in range(80):
            v = values(potentials, self.epsilon)
            worth = ((weights - shift) * v).sum(axis=1)
            if not (worth < 0).any():
                break
            last = potentials
            ratio = -float((worth / v.sum(axis=1)).min())
            step = max(ratio, least_step, 2 * step if turn > 3 else 0.0)
            shift -= step
            # Rows that cost nothing at this shift cost nothing at a larger one.
            weights = weights[worth < 0]
            potentials = self.rays(weights - shift)
        return shift, last


class LinearPricer:
    """Pricing on any graph by a linear program that keeps its basis from one guess to the next."""

    def __init__(self, graph: Graph, epsilon: float) -> None:
        self._graph, self._size = graph, len(graph)
        self._epsilon = epsilon
        self._flows = self._least = np.zeros(0)
        self._shrink = exp(-epsilon)

    @cached_property
    def _apart(self) -> Potentials:
        return steps_apart(self._graph)

    @cached_property
    def _model(self) -> Any:
        highspy = library("highspy", "lab", "the search for an optimal mechanism")
        model: Any = highspy.Highs()
        model.setOptionValue("output_flag", False)
        model.setOptionValue("small_matrix_value", 1e-12)
        model.setOptionValue("primal_feasibility_tolerance", 1e-10)
        model.setOptionValue("dual_feasibility_tolerance", 1e-10)
        for _ in range(self._size):
            model.addVar(0.0, highspy.kHighsInf)
        for pair in directed(self._graph).astype(np.int32):
            model.addRow(-highspy.kHighsInf, 0.0, 2, pair, np.array([self._shrink, -1.0]))
        every = np.arange(self._size, dtype=np.int32)
        model.addRow(1.0, 1.0, self._size, every, np.ones(self._size))
        return model

    def _run(self) -> bool:
        optimal = library("highspy", "lab", "the search for an optimal mechanism").HighsModelStatus.kOptimal
        self._model.run()
        if self._model.getModelStatus() != optimal:
            self._model.clearSolver()
            self._model.run()
        return bool(self._model.getModelStatus() == optimal)

    def rays(self, weights: Floats) -> Potentials:
        """Return, for each row of weights, the potentials (at most 0, some 0) of a best ray."""
        every = np.arange(self._size, dtype=np.int32)
        found, least, flows = [], [], []
        for row in weights:
            self._model.changeColsCost(self._size, every, row)
            solved = self._run()
            solution = self._model.getSolution()
            v = np.maximum(np.array(solution.col_value), 1e-300)
            raw = np.rint(np.log(v / v.max()) / self._epsilon).astype(np.int64)
            # The smallest potentials above the rounded ones that change by at most 1 along an edge.
            found.append((raw[:, None] - self._apart).max(axis=0))
            # Without an optimum the row proves nothing, and the round gives no bound.
            least.append(float(row @ np.array(solution.col_value)) if solved else -np.inf)
            flows.append(np.maximum(-np.array(solution.row_dual)[:-1], 0) * self._shrink)
        self._least, self._flows = np.array(least), np.array(flows)
        return np.array(found)

    def worst(self, weights: Floats, first: Potentials) -> tuple[float, Potentials]:
        """Return the least <r, v> / <1, v>, which is what the linear program minimised, and its rays."""
        return min(0.0, float(self._least.min())), first

    def flows(self, weights: Floats) -> tuple[Potentials, Floats]:
        """Return for each row of weights its best ray and the flow that proves its least value."""
        return self.rays(weights), self._flows
