"""Which mechanism should this analyst use?  Every candidate measured with her own loss.

The geometric mechanism of a graph (see `universal`) takes part wherever the graph has one at the level asked:
on a cycle it beats every mechanism that only knows how far apart answers are, because it pays for one step
along the graph once, where a choice by distance pays twice.

Each mechanism is written out as a channel on the true answers and judged by what remains after the
best remap, since an analyst may always remap: that is post-processing and free.  Beside them stands
the certified optimum, so the winner's distance from the best possible is known, not guessed.

The inverse question is answered by bisection: the smallest epsilon at which the loss falls to a
target.  The loss never rises with epsilon, because a mechanism that is private at epsilon is private at
every larger one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import ParameterError
from discreet.exact.number import Real, positive, probability, rational
from discreet.markup import figure, listed, table
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.table import IntegerNoise
from discreet.privacy.bounds import Bounds
from discreet.utility.enclosure import Enclosure, flip_enclosure, rounded
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.optimal import Optimal, optimal
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Problem
from discreet.utility.remap import bayes_risk, scores
from discreet.utility.universal import LARGEST as SOLVED
from discreet.utility.universal import band_width, geometric_table

LARGEST = 128
OWN = "geometric of the graph"
LAPLACE_STEP = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism for the question: its channel, and its expected loss with and without a remap."""

    name: str
    channel: Enclosure
    loss: Bounds
    unmapped: Bounds | None


@dataclass(frozen=True, slots=True)
class Advice:
    """All candidates, least expected loss first, beside the certified optimum."""

    problem: Problem
    epsilon: Fraction
    candidates: tuple[Candidate, ...]
    best: Optimal

    @property
    def winner(self) -> Candidate:
        """The candidate with the least expected loss."""
        return self.candidates[0]

    @property
    def excess(self) -> Bounds:
        """How much more the winner costs than the best possible mechanism."""
        high = self.winner.loss.high if self.winner.loss.high is not None else self.winner.loss.low
        return Bounds(max(self.winner.loss.low - self.best.loss, Fraction(0)), high - self.best.bound)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Return the expected loss of every mechanism that was compared, and of the best possible one."""
        rows = [(candidate.name, candidate.loss.words) for candidate in self.candidates]
        return [*rows, ("the best possible", f"{float(self.best.loss):.9g}")]

    @property
    def _title(self) -> str:
        return f"Expected loss at ε = {figure(self.epsilon)}, after the best reading"

    def __repr__(self) -> str:
        return listed(self._title, self.facts)

    def _repr_html_(self) -> str:
        return table(("mechanism", "expected loss"), self.facts, caption=self._title)


def advise(
    graph: Graph, epsilon: Real, loss: Loss, prior: Prior | Sequence[Real], *, delta: Real | None = None
) -> Advice:
    """Compare the known mechanisms and the certified optimum on an analyst's own loss and prior.

    The Gaussian mechanism takes part only when a delta allows it; the optimum is then that of pure
    privacy all the same, so that the price of doing without delta can be seen.
    """
    level = Epsilon(positive(epsilon, "epsilon"))
    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    problem = Problem(graph, belief, loss)
    slack = None if delta is None else probability(delta, "delta")
    found = [_judged(name, channel, problem) for name, channel in _channels(graph, level, slack)]
    found.sort(key=lambda candidate: (candidate.loss.low, candidate.name))
    return Advice(problem, level.value, tuple(found), optimal(graph, belief, loss, level.value))


def candidate_names(graph: Graph, *, delta: bool = False) -> tuple[str, ...]:
    """Return the mechanisms that can answer a question with this graph."""
    return tuple(name for name, _ in _makers(graph, Fraction(1, 2) if delta else None))


def candidate_loss(
    name: str, graph: Graph, epsilon: Real, loss: Loss, prior: Prior, *, delta: Real | None = None
) -> Bounds:
    """Return the expected loss of one named mechanism, or of the "optimal" one, after the best remap."""
    if name == "optimal":
        best = optimal(graph, prior, loss, epsilon)
        return Bounds(best.bound, best.loss, best.method)
    makers = dict(_makers(graph, None if delta is None else probability(delta, "delta")))
    if name not in makers:
        raise ParameterError(f"mechanism must be one of {', '.join(['optimal', *makers])}, got {name!r}")
    _small_enough(graph)
    made = makers[name](Epsilon(positive(epsilon, "epsilon")))
    if made is None:
        raise ParameterError("this graph has no geometric mechanism at this level; ask for another mechanism")
    return bayes_risk(made, prior, loss)


def smallest_epsilon(
    graph: Graph,
    prior: Prior,
    loss: Loss,
    target: Real,
    *,
    mechanism: str = "optimal",
    precision: Real = Fraction(1, 1000),
    largest: Real = 64,
) -> Bounds:
    """Return an epsilon that brings the expected loss to `target`, and one, just below, that does not.

    The lower end is 0 when the prior alone reaches the target.
    """
    goal, step = rational(target, "target"), positive(precision, "precision")
    problem = Problem(graph, prior, loss)
    costs, unit = problem.costs()
    if Fraction(min(sum(row) for row in costs), unit) <= goal:
        return Bounds.exactly(Fraction(0), "no answer is needed")
    if Fraction(sum(map(min, zip(*costs, strict=True))), unit) > goal:
        raise ParameterError("target is below the loss of knowing the true answer, so no epsilon reaches it")

    def reached(epsilon: Fraction) -> bool:
        high = candidate_loss(mechanism, graph, epsilon, loss, prior).high
        return high is not None and high <= goal

    top = step
    while not reached(top):
        top *= 2
        if top > rational(largest, "largest"):
            raise ParameterError(f"target is not reached by any epsilon up to {largest}")
    low, high = (top / 2 if top > step else Fraction(0)), top
    while high - low > step:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return Bounds(low, high, f"bisection of the certified loss of the {mechanism} mechanism")


def curve(
    graph: Graph, prior: Prior, loss: Loss, epsilons: Sequence[Real], names: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Return rows (epsilon, mechanism, loss) for every mechanism at every epsilon, ready to be drawn."""
    everywhere = [name for name in candidate_names(graph) if name != OWN]
    chosen = ("optimal", *everywhere) if names is None else tuple(names)
    return [
        {
            "epsilon": float(rational(epsilon)),
            "mechanism": name,
            "loss": float(candidate_loss(name, graph, epsilon, loss, prior)),
        }
        for name in chosen
        for epsilon in epsilons
    ]


def _judged(name: str, channel: Enclosure, problem: Problem) -> Candidate:
    unmapped = None
    if set(channel.outputs) <= set(problem.loss.guesses):
        unmapped = _face_value(channel, problem)
    return Candidate(name, channel, bayes_risk(channel, problem.prior, problem.loss), unmapped)


def _face_value(channel: Enclosure, problem: Problem) -> Bounds:
    """Return the expected loss of taking every answer as the guess."""
    place = {guess: w for w, guess in enumerate(problem.loss.guesses)}
    lift = max(0, -min(map(min, problem.loss.numerators)))
    raised = Loss(
        problem.loss.guesses,
        tuple(tuple(entry + lift for entry in row) for row in problem.loss.numerators),
        problem.loss.denominator,
    ).gain()
    base = Fraction(lift, problem.loss.denominator)
    ends = []
    for rows in (channel.low, channel.high):
        table = scores(rows, channel.outputs, problem.prior, raised)
        taken = sum(table.entries[place[output]][z] for z, output in enumerate(channel.outputs))
        ends.append(-Fraction(taken, table.unit) - base)
    return Bounds(ends[0], ends[1], "certified interval")


def _small_enough(graph: Graph) -> None:
    if len(graph) > LARGEST:
        raise ParameterError(f"mechanisms are compared on at most {LARGEST} answers, got {len(graph)}")


def _channels(graph: Graph, level: Epsilon, delta: Fraction | None) -> Iterator[tuple[str, Enclosure]]:
    _small_enough(graph)
    for name, make in _makers(graph, delta):
        made = make(level)
        if made is not None:
            yield name, made


Maker: TypeAlias = Callable[[Epsilon], Enclosure | None]
"""A mechanism as a function of the privacy level, None where there is none at a level."""


def _makers(graph: Graph, delta: Fraction | None) -> list[tuple[str, Maker]]:
    """Return every mechanism that applies to a graph."""
    width = band_width(graph)
    makers: list[tuple[str, Maker]] = []
    if width is not None:
        makers += [
            (
                "geometric",
                lambda level: _clamped(graph, Geometric.calibrate(epsilon=level.value, sensitivity=width)),
            ),
            ("laplace", lambda level: _laplace(graph, level, width)),
            (
                "staircase",
                lambda level: _clamped(graph, Staircase.calibrate(epsilon=level.value, sensitivity=width)),
            ),
        ]
        if delta is not None:
            makers.append(("gaussian", lambda level: _gaussian(graph, level, delta, width)))
    complete = 2 * len(graph.edges) == len(graph) * (len(graph) - 1)
    if width is None and not complete and len(graph) <= SOLVED:
        # Where any two answers are neighbours it is randomized response.
        makers.append((OWN, lambda level: _own(graph, level)))
    makers.append(("exponential", lambda level: _exponential(graph, width, level)))
    makers.append(("permute-and-flip", lambda level: _flipped(graph, width, level)))
    makers.append(("randomized response", lambda level: _response(graph, level)))
    return makers


def _own(graph: Graph, level: Epsilon) -> Enclosure | None:
    """Return the geometric mechanism of a graph that is no band, if it has one at this level."""
    try:
        table = geometric_table(graph, level)
    except ParameterError:
        return None
    return rounded(table.rows, graph.nodes, graph.nodes)


def _clamped(graph: Graph, noise: IntegerNoise) -> Enclosure:
    top = len(graph) - 1
    law = {k: noise.pmf(k) for k in range(-top, top + 1)}
    below = [noise.cdf(-y) for y in range(top + 1)]
    above = [1 - noise.cdf(top - 1 - y) for y in range(top + 1)]
    rows = (
        [Fraction(1)] if top == 0 else [below[y], *(law[z - y] for z in range(1, top)), above[y]]
        for y in range(top + 1)
    )
    return rounded(rows, graph.nodes, graph.nodes)


def _laplace(graph: Graph, level: Epsilon, width: int) -> Enclosure:
    noise = Laplace.calibrate(epsilon=level.value, sensitivity=width, step=LAPLACE_STEP)
    per = int(1 / LAPLACE_STEP)
    top = (len(graph) - 1) * per
    if top == 0:
        return rounded([[Fraction(1)]], graph.nodes, (Fraction(0),))
    inner = noise.noise
    law = [inner.pmf(k) for k in range(top + 1)]
    rows = (
        [inner.cdf(-y), *(law[abs(z - y)] for z in range(1, top)), 1 - inner.cdf(top - 1 - y)]
        for y in range(0, top + 1, per)
    )
    return rounded(rows, graph.nodes, [z * LAPLACE_STEP for z in range(top + 1)])


def _gaussian(graph: Graph, level: Epsilon, delta: Fraction, width: int) -> Enclosure:
    noise = Gaussian.calibrate(epsilon=level.value, delta=delta, sensitivity=width)
    top = len(graph) - 1
    if top == 0:
        return rounded([[Fraction(1)]], graph.nodes, graph.nodes)
    inside = {k: noise.pmf(k) for k in range(top + 1)}
    tail = {k: noise.cdf(-k) for k in range(top + 1)}
    bounds = [[tail[y], *(inside[abs(z - y)] for z in range(1, top)), tail[top - y]] for y in range(top + 1)]
    low = tuple(tuple(max(p.low, Fraction(0)) for p in row) for row in bounds)
    high = tuple(tuple(Fraction(1) if p.high is None else p.high for p in row) for row in bounds)
    return Enclosure(graph.nodes, graph.nodes, low, high)


def _exponential(graph: Graph, width: int | None, level: Epsilon) -> Enclosure:
    selection = Exponential.calibrate(epsilon=level.value, sensitivity=width or 1)
    rows = (selection.pmf([-step for step in steps]) for steps in _steps(graph, width))
    return rounded(rows, graph.nodes, graph.nodes)


def _flipped(graph: Graph, width: int | None, level: Epsilon) -> Enclosure:
    selection = PermuteAndFlip.calibrate(epsilon=level.value, sensitivity=width or 1)
    law = flip_enclosure(_steps(graph, width), selection.alpha)
    return Enclosure(graph.nodes, graph.nodes, law.low, law.high)


def _steps(graph: Graph, width: int | None) -> list[list[int]]:
    """Return how far each answer is from each truth: |z - y| for numbers, steps along the graph otherwise."""
    size = len(graph)
    if width is not None:
        return [[abs(z - y) for z in range(size)] for y in range(size)]
    rows = [graph.distances(y) for y in range(size)]
    if any(step is None for row in rows for step in row):
        raise ParameterError("mechanisms are compared on connected graphs; compare each component by itself")
    return [[step or 0 for step in row] for row in rows]


def _response(graph: Graph, level: Epsilon) -> Enclosure:
    size = len(graph)
    if size == 1:
        return rounded([[Fraction(1)]], graph.nodes, graph.nodes)
    rows = RandomizedResponse.calibrate(epsilon=level.value, categories=size).channel()
    return rounded(rows, graph.nodes, graph.nodes)
