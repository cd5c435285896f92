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

import numpy as np

from discreet.errors import CertificateError, ParameterError
from discreet.exact.number import Real, log_bounds, non_negative
from discreet.mechanisms.table import Label, Table
from discreet.utility.approximate import approximate_certificate
from discreet.utility.certificate import Aim, Certificate, ChannelCertificate, CountCertificate, Flow, Verdict
from discreet.utility.check import check
from discreet.utility.count import count_certificate, remapped_table
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.pricing import Floats, LinearPricer
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Level, Problem, Ratio, level_of, ratio_bounds
from discreet.utility.repair import exact_basis, repaired_channel, rounded_dual, rounded_flows
from discreet.utility.search import pricer_for, search

TOLERANCE = 1e-9
EXACT_SIZE = 48
"""Up to this many answers a rational e**epsilon is solved in rationals, with gap 0."""


@dataclass(frozen=True, slots=True)
class Optimal:
    """A certified mechanism: what it costs at most, what every private mechanism costs at least."""

    certificate: Certificate
    verdict: Verdict
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
    if prior is None:
        if slack:
            raise ParameterError("the worst case is solved for delta=0 only; give a prior to use a delta")
        return _worst_case(graph, loss, level, tolerance)
    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    problem = Problem(graph, belief, loss)
    if slack:
        approximate = approximate_certificate(problem, level, slack)
        return Optimal(approximate, check(approximate), "direct linear program")
    if graph.is_path:
        certificate = count_certificate(problem, level)
        if certificate is not None:
            try:
                return Optimal(certificate, check(certificate), "geometric mechanism with the best remap")
            except CertificateError:
                pass  # The geometric mechanism is not optimal for this loss: search for what is.
    return _join(problem, level, [_solve_part(part, level, tolerance) for part in _parts(problem)])


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
    found = []
    for places in problem.graph.components():
        weights = [problem.prior.weights[place] for place in places]
        share = sum(weights, Fraction(0))
        # A component that the analyst excludes still needs a private channel; any belief will do.
        inside = Prior.proportional(weights if share else [1] * len(places))
        part = Problem(problem.graph.part(places), inside, problem.loss.part(places))
        found.append(_Part(tuple(places), part, share, problem.graph.is_forest))
    return found


def _solve_part(part: _Part, level: Level, tolerance: float) -> _Solved:
    problem = part.problem
    epsilon = float_epsilon(level)
    smallest, largest = ratio_bounds(level)
    loss = _floats(problem.loss)
    prior = np.array([float(weight) for weight in problem.prior.weights])
    pricer = pricer_for(problem.graph, epsilon, forest=part.forest)
    found = search(problem.graph, loss, prior, epsilon, tolerance=tolerance, pricer=pricer)
    if smallest == largest and len(problem.graph) <= EXACT_SIZE and part.forest:
        exact = exact_basis(problem, found, smallest)
        if exact is not None and _holds(ChannelCertificate(problem, level, *exact)):
            return _Solved(part, *exact, None)
    channel = repaired_channel(problem, found, smallest, epsilon, int((loss @ prior).argmin()))
    if isinstance(pricer, LinearPricer):
        flows, dual = rounded_flows(problem, pricer.flows(prior * loss - found.dual), largest)
        return _Solved(part, channel, dual, flows)
    return _Solved(
        part, channel, _feasible_dual(ChannelCertificate(problem, level, channel, ()), found.dual), None
    )


def _worst_case(graph: Graph, loss: Loss, level: Level, tolerance: float) -> Optimal:
    """Solve each component for its worst case; the worst component decides."""
    solved = []
    for part in _parts(Problem(graph, Prior.uniform(len(graph)), loss)):
        problem, epsilon = part.problem, float_epsilon(level)
        smallest, largest = ratio_bounds(level)
        costs = _floats(problem.loss)
        pricer = pricer_for(problem.graph, epsilon, forest=part.forest)
        found = search(problem.graph, costs, None, epsilon, tolerance=tolerance, pricer=pricer)
        channel = repaired_channel(problem, found, smallest, epsilon, int(costs.max(axis=1).argmin()))
        belief = Prior.proportional([Fraction(float(weight)) for weight in found.prior])
        hardest = Problem(problem.graph, belief, problem.loss)
        if isinstance(pricer, LinearPricer):
            flows, dual = rounded_flows(hardest, pricer.flows(found.prior * costs - found.dual), largest)
            draft = ChannelCertificate(hardest, level, channel, dual, flows, aim=Aim.WORST_CASE)
        else:
            draft = ChannelCertificate(hardest, level, channel, (), aim=Aim.WORST_CASE)
            draft = replace(draft, dual=_feasible_dual(draft, found.dual))
        solved.append((check(draft).bound, part, draft))
    worst = max(range(len(solved)), key=lambda k: solved[k][0])
    parts = [
        _Solved(replace(part, share=Fraction(int(k == worst))), draft.channel, draft.dual, draft.flows)
        for k, (_, part, draft) in enumerate(solved)
    ]
    hard = [Fraction(0)] * len(graph)
    for place, weight in zip(parts[worst].part.places, solved[worst][2].problem.prior.weights, strict=True):
        hard[place] = weight
    return _join(Problem(graph, Prior(tuple(hard)), loss), level, parts, Aim.WORST_CASE)


def _floats(loss: Loss) -> Floats:
    return np.array([[entry / loss.denominator for entry in row] for row in loss.numerators])


def _feasible_dual(draft: ChannelCertificate, dual: Floats) -> tuple[Fraction, ...]:
    """Return the dual rounded down, and lowered step by step until the checker accepts it."""
    lowered = 1e-15 * max(float(draft.problem.loss.span), 1e-300)
    for _ in range(60):
        candidate = rounded_dual(dual, lowered)
        if _holds(replace(draft, dual=candidate)):
            return candidate
        lowered *= 4
    raise ParameterError(
        "no bound could be certified for this loss; rescale it so that its entries are near 1"
    )


def _holds(certificate: ChannelCertificate) -> bool:
    try:
        check(certificate)
    except CertificateError:
        return False
    return True


def _join(problem: Problem, level: Level, solved: Sequence[_Solved], aim: Aim = Aim.AVERAGE) -> Optimal:
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
    certificate = ChannelCertificate(
        problem, level, channel, tuple(dual), tuple(map(tuple, flows)) if needed else None, aim=aim
    )
    method = "column generation" if len(solved) == 1 else f"column generation on {len(solved)} components"
    return Optimal(certificate, check(certificate), method)
