"""The best mechanism when a small probability delta of more is allowed, for small domains.

Theorem.  The (epsilon, delta)-private channels are those for which amounts s(y, y', w) >= 0 exist with
p(w|y) - E p(w|y') <= s(y, y', w) and sum over w of s(y, y', w) <= delta, for neighbours y, y'.  The least
expected loss over them is a linear program; its dual is the flow bound that the checker verifies.

A proposed channel that exceeds delta is mixed with a constant answer: the positive part is convex, so
keeping a share t of the channel multiplies its delta by at most t.
"""

from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import round_down
from discreet.extra import library
from discreet.mechanisms.table import Table
from discreet.utility.certificate import ChannelCertificate
from discreet.utility.pricing import Floats, directed
from discreet.utility.problem import Level, Problem, ratio_bounds
from discreet.utility.repair import flow_bits, supported_dual, told_flows, whole_flows

LARGEST = 60_000
"""Variables beyond which the direct linear program is refused."""

SHARE_BITS = 80


def approximate_certificate(
    problem: Problem, level: Level, delta: Fraction, span: Fraction
) -> ChannelCertificate:
    """Return a certificate for the best (epsilon, delta)-private channel, its flows times `span`."""
    size, width = len(problem.graph), len(problem.loss.guesses)
    variables = (size + 2 * len(problem.graph.edges)) * width
    if variables > LARGEST:
        raise ParameterError(
            f"a delta needs a direct linear program, here with {variables} variables (at most {LARGEST}); "
            "use fewer answers, or delta=0"
        )
    smallest, largest = ratio_bounds(level)
    proposal, flows = _solve(problem, float(smallest), float(delta))
    bits = flow_bits(largest)
    whole = whole_flows(problem.graph, flows, bits)
    dual = supported_dual(problem, whole, bits, largest)
    channel = _private(problem, proposal, smallest, delta)
    told = told_flows(whole, bits, span)
    return ChannelCertificate(problem, level, channel, dual, told, delta)


def _solve(problem: Problem, ratio: float, delta: float) -> tuple[Floats, Floats]:
    sparse = library("scipy.sparse", "lab", "the search for an optimal mechanism")
    linprog = library("scipy.optimize", "lab", "the search for an optimal mechanism").linprog
    size, width = len(problem.graph), len(problem.loss.guesses)
    costs, unit = problem.costs()
    pairs = directed(problem.graph).tolist()
    cost = np.array([[entry / unit for entry in row] for row in costs])
    scale = 1 / (np.abs(cost).max() or 1.0)
    one = sparse.identity(width, format="csr")
    starts = sparse.csr_matrix(
        (np.ones(len(pairs)), (range(len(pairs)), [i for i, _ in pairs])), (len(pairs), size)
    )
    ends = sparse.csr_matrix(
        (np.ones(len(pairs)), (range(len(pairs)), [j for _, j in pairs])), (len(pairs), size)
    )
    apart = sparse.hstack([sparse.kron(starts - ratio * ends, one), -sparse.identity(len(pairs) * width)])
    ones = np.ones((1, width))
    budget = sparse.hstack(
        [sparse.csr_matrix((len(pairs), size * width)), sparse.kron(sparse.identity(len(pairs)), ones)]
    )
    sums = sparse.hstack(
        [sparse.kron(sparse.identity(size), ones), sparse.csr_matrix((size, len(pairs) * width))]
    )
    result = linprog(
        np.concatenate([(cost.T * scale).ravel(), np.zeros(len(pairs) * width)]),
        A_ub=sparse.vstack([apart, budget]).tocsr(),
        b_ub=np.concatenate([np.zeros(len(pairs) * width), np.full(len(pairs), delta)]),
        A_eq=sums.tocsr(),
        b_eq=np.ones(size),
        bounds=(0, None),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise ParameterError("the linear solver found no answer for this problem; rescale the loss")
    amounts = -result.ineqlin.marginals[: len(pairs) * width].reshape(len(pairs), width) / scale
    return np.maximum(result.x[: size * width].reshape(size, width), 0), amounts.T


def _private(
    problem: Problem,
    proposal: Floats,
    smallest: Fraction,
    delta: Fraction,
) -> Table:
    guesses = problem.loss.guesses
    rows = []
    for proposed in proposal:
        exact = [Fraction(float(entry)) for entry in proposed]
        # The largest entry absorbs what is missing from 1, so that the denominators stay powers of two.
        top = exact.index(max(exact))
        exact[top] += 1 - sum(exact, Fraction(0))
        rows.append(tuple(exact))
    channel = Table(problem.graph.nodes, guesses, tuple(rows), problem.graph.edges)
    excess = channel.delta_at_ratio(smallest)
    if excess <= delta:
        return channel
    kept = round_down(delta / excess, SHARE_BITS)
    constant = _best_constant(problem)
    mixed = tuple(
        tuple(kept * p + (1 - kept if w == constant else 0) for w, p in enumerate(row)) for row in rows
    )
    return Table(problem.graph.nodes, guesses, mixed, problem.graph.edges)


def _best_constant(problem: Problem) -> int:
    costs, _ = problem.costs()
    totals = [sum(row) for row in costs]
    return totals.index(min(totals))
