"""Two analysts whom no single mechanism serves best: why only counts have a universally optimal one.

A mechanism is universally optimal when every analyst, whatever her prior, can remap its answers into guesses
that cost her as little as the best mechanism made for her alone.

Theorem.  Let two analysts have costs C1 and C2, optima O1 and O2, and let T be the least C1 + C2 over all
private channels that give each of them a guess of her own.  If T > O1 + O2, no mechanism is optimal for both,
so none is universally optimal.
Proof.  If K with remaps r1 and r2 served both best, then the channel that draws z from K and says
(r1(z), r2(z)) would be private, as post-processing, and would cost O1 + O2.

T is itself the optimum of one analyst, who guesses pairs: with a uniform prior over n answers, guessing
(v, w) at the truth y costs her n (p1(y) l1(v, y) + p2(y) l2(w, y)).  So three certificates prove an
exclusion: two mechanisms, which bound O1 and O2 from above, and a dual solution, which bounds T from below;
the checker of certificates knows nothing of how they were found.

Reference.  Brenner, Nissim, SIAM J. Comput. 43(5), 2014.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from discreet.errors import ParameterError
from discreet.exact.number import Real
from discreet.utility.check import check
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.optimal import Optimal, optimal
from discreet.utility.prior import Prior

LARGEST = 12
"""Answers up to which analysts are searched for: their problems grow with the square."""


@dataclass(frozen=True, slots=True)
class Analyst:
    """What somebody believes, and what a wrong guess costs her."""

    prior: Prior
    loss: Loss


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Two analysts, the best mechanism for each alone, and the best one that must serve both."""

    analysts: tuple[Analyst, Analyst]
    alone: tuple[Optimal, Optimal]
    together: Optimal

    @property
    def price(self) -> Fraction:
        """What serving both costs at least beyond the sum of their optima, read off the certificates."""
        apart = [check(best.certificate).loss for best in self.alone]
        return check(self.together.certificate).bound - sum(apart, Fraction(0))

    @property
    def proved(self) -> bool:
        """Whether no mechanism is optimal for both."""
        return self.price > 0


def exclusion(
    graph: Graph, one: Analyst, other: Analyst, epsilon: Real | None = None, *, ratio: Real | None = None
) -> Exclusion:
    """Compare serving two analysts with one mechanism against serving each with her own."""
    alone = tuple(optimal(graph, who.prior, who.loss, epsilon, ratio=ratio) for who in (one, other))
    together = optimal(
        graph, Prior.uniform(len(graph)), joint_loss(len(graph), one, other), epsilon, ratio=ratio
    )
    return Exclusion((one, other), (alone[0], alone[1]), together)


def joint_loss(answers: int, one: Analyst, other: Analyst) -> Loss:
    """Return what a pair of guesses costs both together, for a uniform prior."""
    guesses = [(v, w) for v in one.loss.guesses for w in other.loss.guesses]
    rows = [
        [
            answers * (p * first[y] + q * second[y])
            for y, (p, q) in enumerate(zip(one.prior.weights, other.prior.weights, strict=True))
        ]
        for first in one.loss.rows
        for second in other.loss.rows
    ]
    return Loss.of(rows, [str(pair) for pair in guesses])


def no_universal_mechanism(
    graph: Graph, loss: Loss | None = None, epsilon: Real | None = None, *, ratio: Real | None = None
) -> Exclusion | None:
    """Return two analysts with this loss whom no mechanism serves both best; None if none was found.

    Without a loss, guesses cost their distance in the graph.  On a path there are no such analysts.
    """
    if len(graph) > LARGEST:
        raise ParameterError(f"analysts are searched for on graphs of up to {LARGEST} answers")
    cost = distance_loss(graph) if loss is None else loss
    for first, second in combinations(_priors(graph), 2):
        found = exclusion(graph, Analyst(first, cost), Analyst(second, cost), epsilon, ratio=ratio)
        if found.proved:
            return found
    return None


def distance_loss(graph: Graph) -> Loss:
    """Return the number of steps between a guess and the truth; beyond reach, the number of answers."""
    size = len(graph)
    steps = [[size if far is None else far for far in graph.distances(w)] for w in range(size)]
    return Loss.of(steps, graph.nodes)


def _priors(graph: Graph) -> Iterator[Prior]:
    """Yield beliefs that tell graphs apart: all alike, two answers only, and lopsided ones on three."""
    size = len(graph)
    yield Prior.uniform(size)
    for weights in ((1, 1), (1, 1, 1), (3, 1, 1)):
        for chosen in combinations(range(size), len(weights)):
            spread = [0] * size
            for place, weight in zip(chosen, weights, strict=True):
                spread[place] = weight
            yield Prior.proportional(spread)
