"""The best private mechanism for one analyst, with a proof.

Theorem.  Among all epsilon-private channels from true answers to guesses, one of least expected loss is
a mixture of columns E**h with integer potentials h that change by at most 1 between neighbours, and its
loss equals the largest sum of numbers d(y) with  sum over y of (prior(y) loss(w, y) - d(y)) v(y) >= 0
for every guess w and private column v.  Remapping is included: the outputs are the guesses.

`optimal` searches with floats, repairs what it finds in exact arithmetic, and returns only what the
independent checker accepts: an upper bound that the returned channel attains and a lower bound that no
private channel can beat.  Their difference is reported exactly.  For a count, the truncated geometric
mechanism with the best remap is tried first; its proof needs no search at all.

Answers in different components of the graph need not be hidden from each other, so each component is
solved on its own and the losses add up.

References.  Counts: Ghosh, Roughgarden, Sundararajan, SIAM J. Comput. 41(6), 2012.  Other graphs: Brenner,
Nissim, SIAM J. Comput. 43(5), 2014.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.errors import CertificateError, ParameterError
from discreet.exact.number import Real, log_bounds, non_negative
from discreet.mechanisms.table import Label, Table
from discreet.utility.approximate import approximate_certificate
from discreet.utility.certificate import (
    Aim,
    Certificate,
    ChannelCertificate,
    CountCertificate,
    Flow,
    LossBounds,
)
from discreet.utility.check import check
from discreet.utility.count import count_certificate, remapped_table
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.pricing import Floats, ForestPricer, LinearPricer, float_costs
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Level, Problem, Ratio, level_of, ratio_bounds
from discreet.utility.repair import (
    close_flows,
    exact_basis,
    exact_flows,
    flow_bits,
    repaired_channel,
    rounded_dual,
    supported_dual,
    told_flows,
)
from discreet.utility.search import pricer_for, search, truthful

TOLERANCE = 1e-9
EXACT_SIZE = 48
"""Up to this many answers a rational e**epsilon is solved in rationals, with gap 0."""

SETTLED = Fraction(1, 10**7)
"""Where a proof leaves a gap of more than this part of all that can be lost, another search is tried."""

Way = Literal["whole", "rays", "truth"]
"""How a mechanism is searched for: as a whole where that is small, ray by ray, or as what tells the truth."""

BELIEF = 2.0**64
"""The belief that proves a worst case is rounded to parts of this size."""


@dataclass(frozen=True, slots=True)
class Optimal:
    """A certified mechanism: what it costs at most, what every private mechanism costs at least."""

    certificate: Certificate
    verdict: LossBounds
    method: str

    @property
    def loss(self) -> Fraction:
        """A rational that the expected loss of the mechanism does not exceed."""
        return self.verdict.loss

    @property
    def bound(self) -> Fraction:
        """A rational below which no private mechanism can go."""
        return self.verdict.bound

    @property
    def gap(self) -> Fraction:
        """The difference between the two; 0 is a proof of optimality."""
        return self.verdict.gap

    @property
    def channel(self) -> Table:
        """The mechanism, as a table from true answers to guesses."""
        match self.certificate:
            case ChannelCertificate():
                return self.certificate.channel
            case CountCertificate():
                return remapped_table(self.certificate)

    @property
    def prior(self) -> Prior:
        """The prior the loss is averaged over, or the least favourable one for a worst-case loss."""
        return self.certificate.problem.prior


def optimal(
    graph: Graph,
    prior: Prior | Sequence[Real] | None,
    loss: Loss,
    epsilon: Real | None = None,
    *,
    ratio: Real | None = None,
    delta: Real = 0,
    tolerance: float = TOLERANCE,
) -> Optimal:
    """Return the certified best mechanism; without a prior, for the worst true answer.

    Privacy is given as epsilon, or as a rational ratio = e**epsilon, for which small problems are solved
    exactly.  `delta` allows approximate privacy on small domains.  `tolerance` is relative to what the
    analyst loses without any answer at all.
    """
    level = level_of(epsilon, ratio)
    slack = non_negative(delta, "delta")
    if slack >= 1:
        raise ParameterError(f"delta must be below 1, got {delta}")
    if prior is None and slack:
        raise ParameterError("the worst case is solved for delta=0 only; give a prior to use a delta")
    aim = Aim.WORST_CASE if prior is None else Aim.AVERAGE
    if prior is None:
        prior = Prior.uniform(len(graph))
    problem = Problem(graph, prior if isinstance(prior, Prior) else Prior.of(prior), loss)
    constant = _constant(problem, level, slack, aim)
    if constant is not None:
        return Optimal(constant, check(constant), "a constant guess")
    if graph.is_path and aim is Aim.AVERAGE and not slack:
        counted = _counted(problem, level)
        if counted is not None and counted.gap <= Fraction(tolerance) * loss.span:
            return counted

    def solved(way: Way) -> Optimal:
        certificate, method = _solve(_normalised(problem), level, slack, aim, tolerance, _span(loss), way)
        restored = _restored(certificate, loss)
        return Optimal(restored, check(restored), method)

    best = solved("whole")
    # The proof tells where floats lost their way; another search loses it elsewhere.
    others: tuple[Way, ...] = () if slack else ("rays", "truth")
    for way in others:
        if best.gap <= SETTLED * loss.span:
            break
        best = min(best, solved(way), key=lambda one: one.gap)
    return best


def _counted(problem: Problem, level: Level) -> Optimal | None:
    """Return the geometric mechanism with its proof, or None when it is not optimal for this loss."""
    certificate = count_certificate(problem, level)
    if certificate is None:
        return None
    try:
        return Optimal(certificate, check(certificate), "geometric mechanism with the best remap")
    except CertificateError:
        return None


def _solve(
    problem: Problem,
    level: Level,
    delta: Fraction,
    aim: Aim,
    tolerance: float,
    span: Fraction,
    way: Way,
) -> tuple[ChannelCertificate, str]:
    """Return a certificate for normalised costs, but with flows for costs `span` times as large."""
    if delta:
        return approximate_certificate(problem, level, delta, span), "direct linear program"
    parts = _parts(problem)
    solved = [_solve_part(part, level, aim, tolerance, span, way) for part in parts]
    method = "column generation" + ("" if len(parts) == 1 else f" on {len(parts)} components")
    if len(solved) == 1:
        one = solved[0]
        return ChannelCertificate(one.part.problem, level, one.channel, one.dual, one.flows, aim=aim), method
    if aim is Aim.WORST_CASE:
        problem, solved = _worst_part(problem, solved)
    return _join(problem, level, solved, aim), method


def _normalised(problem: Problem) -> Problem:
    """Return the same question with costs between 0 and 1, so that the search never sees a user's units."""
    rows = problem.loss.numerators
    low, high = min(map(min, rows)), max(map(max, rows))
    scaled = tuple(tuple(entry - low for entry in row) for row in rows)
    return Problem(problem.graph, problem.prior, Loss(problem.loss.guesses, scaled, max(high - low, 1)))


def _span(loss: Loss) -> Fraction:
    """Return what a cost of 1 in the normalised question stands for."""
    low, high = min(map(min, loss.numerators)), max(map(max, loss.numerators))
    return Fraction(max(high - low, 1), loss.denominator)


def _restored(certificate: ChannelCertificate, loss: Loss) -> ChannelCertificate:
    """Return the certificate for the costs as they were given: the dual scales with them."""
    low, span = Fraction(min(map(min, loss.numerators)), loss.denominator), _span(loss)
    problem = Problem(certificate.problem.graph, certificate.problem.prior, loss)
    dual = tuple(
        span * entry + low * mass for entry, mass in zip(certificate.dual, problem.prior.weights, strict=True)
    )
    return replace(certificate, problem=problem, dual=dual)


def _constant(problem: Problem, level: Level, delta: Fraction, aim: Aim) -> ChannelCertificate | None:
    """Return a certificate when one guess is best whatever the truth, so that no answer is needed."""
    rows, size = problem.loss.numerators, len(problem.graph)
    if aim is Aim.WORST_CASE:
        worst = [max(row) for row in rows]
        guess = worst.index(min(worst))
        hardest = rows[guess].index(worst[guess])
        if any(row[hardest] < worst[guess] for row in rows):
            return None
        belief = Prior(tuple(Fraction(int(y == hardest)) for y in range(size)))
        problem = Problem(problem.graph, belief, problem.loss)
    else:
        good = list(range(len(rows)))
        for y, mass in enumerate(problem.prior.weights):
            if mass:
                least = min(row[y] for row in rows)
                good = [w for w in good if rows[w][y] == least]
            if not good:
                return None
        guess = good[0]
    dual = tuple(
        mass * Fraction(entry, problem.loss.denominator)
        for mass, entry in zip(problem.prior.weights, rows[guess], strict=True)
    )
    output = (problem.loss.guesses[guess],)
    channel = Table(problem.graph.nodes, output, ((Fraction(1),),) * size, problem.graph.edges)
    needed = delta or not problem.graph.is_forest
    return ChannelCertificate(
        problem, level, channel, dual, ((),) * len(rows) if needed else None, delta, aim
    )


def float_epsilon(level: Level) -> float:
    """Return epsilon as a float, for searching only."""
    match level:
        case Epsilon(value):
            return float(value)
        case Ratio(value):
            return float(log_bounds(value)[0])


@dataclass(frozen=True, slots=True)
class _Part:
    places: tuple[int, ...]
    problem: Problem
    share: Fraction
    forest: bool


@dataclass(frozen=True, slots=True)
class _Solved:
    part: _Part
    channel: Table
    dual: tuple[Fraction, ...]
    flows: tuple[Flow, ...] | None


def _parts(problem: Problem) -> list[_Part]:
    forest, components = problem.graph.is_forest, problem.graph.components()
    if len(components) == 1:
        return [_Part(tuple(components[0]), problem, Fraction(1), forest)]
    found = []
    for places in components:
        weights = [problem.prior.weights[place] for place in places]
        share = sum(weights, Fraction(0))
        # A component that the analyst excludes still needs a private channel; any belief will do.
        inside = Prior.proportional(weights if share else [1] * len(places))
        part = Problem(problem.graph.part(places), inside, problem.loss.part(places))
        found.append(_Part(tuple(places), part, share, forest))
    return found


def _solve_part(part: _Part, level: Level, aim: Aim, tolerance: float, span: Fraction, way: Way) -> _Solved:
    problem, epsilon = part.problem, float_epsilon(level)
    smallest, largest = ratio_bounds(level)
    loss = float_costs(problem.loss)
    average = aim is Aim.AVERAGE
    prior = np.array([float(weight) for weight in problem.prior.weights]) if average else None
    pricer = pricer_for(problem.graph, epsilon, forest=part.forest)
    rational = average and smallest == largest and len(problem.graph) <= EXACT_SIZE
    if way == "truth":
        found = truthful(problem.graph, loss, prior)
    else:
        whole = way == "whole" and not rational
        found = search(problem.graph, loss, prior, epsilon, tolerance=tolerance, pricer=pricer, at_once=whole)
    exact = None
    if rational:
        exact = exact_basis(problem, found, smallest)
        solved = None if exact is None else _exactly(part, level, *exact, pricer, loss, found.prior, span)
        if solved is not None:
            return solved
    default = int((loss @ found.prior).argmin() if average else loss.max(axis=1).argmin())
    # A degenerate basis may be exactly optimal although its own dual is not feasible.
    channel = exact[0] if exact is not None else repaired_channel(problem, found, smallest, epsilon, default)
    if not average:
        # The prior that proves the worst case has to be a law exactly; the floats only came close.
        belief = Prior.proportional([int(weight * BELIEF) for weight in found.prior.tolist()])
        problem = Problem(problem.graph, belief, problem.loss)
        part = replace(part, problem=problem)
    if found.flows is not None:
        rays, amounts = np.zeros(loss.shape, dtype=np.int64), found.flows
        rays[found.guesses] = found.potentials
    elif isinstance(pricer, LinearPricer):
        rays, amounts = pricer.flows(found.prior * loss - found.dual)
    else:
        draft = ChannelCertificate(problem, level, channel, (), aim=aim)
        return _Solved(part, channel, _feasible_dual(draft, found.dual), None)
    bits = flow_bits(largest)
    flows = close_flows(problem, rays, amounts, found.dual, bits, largest)
    told = None if part.forest else told_flows(flows, bits, span)
    return _Solved(part, channel, supported_dual(problem, flows, bits, largest), told)


def _exactly(
    part: _Part,
    level: Level,
    channel: Table,
    dual: tuple[Fraction, ...],
    pricer: ForestPricer | LinearPricer,
    loss: Floats,
    prior: Floats,
    span: Fraction,
) -> _Solved | None:
    """Return the exact solution of a basis, or None when its dual is not feasible."""
    flows = None
    if isinstance(pricer, LinearPricer):
        rays, hints = pricer.flows(prior * loss - np.array([float(entry) for entry in dual]))
        flows = exact_flows(part.problem, rays, hints, dual, ratio_bounds(level)[1])
    if _holds(ChannelCertificate(part.problem, level, channel, dual, flows)):
        told = flows and tuple(tuple((i, j, f * span) for i, j, f in flow) for flow in flows)
        return _Solved(part, channel, dual, told)
    return None


def _worst_part(problem: Problem, solved: Sequence[_Solved]) -> tuple[Problem, list[_Solved]]:
    """Return the question with the hardest prior, which lives on the component that is worst."""
    worst = max(range(len(solved)), key=lambda k: sum(solved[k].dual))
    hard = [Fraction(0)] * len(problem.graph)
    for place, weight in zip(
        solved[worst].part.places, solved[worst].part.problem.prior.weights, strict=True
    ):
        hard[place] = weight
    shared = [
        replace(one, part=replace(one.part, share=Fraction(int(k == worst)))) for k, one in enumerate(solved)
    ]
    return Problem(problem.graph, Prior(tuple(hard)), problem.loss), shared


def _feasible_dual(draft: ChannelCertificate, dual: Floats) -> tuple[Fraction, ...]:
    """Return the dual rounded down, and lowered step by step until the checker accepts it."""
    lowered = 1e-15
    for _ in range(60):
        candidate = rounded_dual(dual, lowered)
        if _holds(replace(draft, dual=candidate)):
            return candidate
        lowered *= 4
    raise CertificateError("no bound could be certified for this question")


def _holds(certificate: Certificate) -> bool:
    try:
        check(certificate)
    except CertificateError:
        return False
    return True


def _join(problem: Problem, level: Level, solved: Sequence[_Solved], aim: Aim) -> ChannelCertificate:
    """Put the solutions of the components together; their duals and losses add up."""
    size, width = len(problem.graph), len(problem.loss.guesses)
    dual = [Fraction(0)] * size
    rows: list[dict[Label, Fraction]] = [{} for _ in range(size)]
    flows: list[list[tuple[int, int, Fraction]]] = [[] for _ in range(width)]
    for one in solved:
        for k, place in enumerate(one.part.places):
            dual[place] = one.dual[k] * one.part.share
            rows[place] = dict(zip(one.channel.outputs, one.channel.rows[k], strict=True))
        for w, flow in enumerate(one.flows or ()):
            flows[w] += [(one.part.places[i], one.part.places[j], f * one.part.share) for i, j, f in flow]
    used = [guess for guess in problem.loss.guesses if any(guess in row for row in rows)]
    channel = Table(
        problem.graph.nodes,
        tuple(used),
        tuple(tuple(row.get(guess, Fraction(0)) for guess in used) for row in rows),
        problem.graph.edges,
    )
    needed = not problem.graph.is_forest
    return ChannelCertificate(
        problem, level, channel, tuple(dual), tuple(map(tuple, flows)) if needed else None, aim=aim
    )
