"""Is one mechanism best for everybody?  Universal optimality, decided for a given question.

On a path (a count) the geometric mechanism followed by a remap attains the optimum for every prior and
every monotone loss.  On other graphs no mechanism does: an analyst's best mechanism is her own.  Both
statements become computations here: the loss of the graph's geometric mechanism with the best remap,
against the certified optimum.

The geometric mechanism of a graph has the columns x(z) a**distance(z, y), with x solving "rows sum
to 1"; on a path that is the truncated geometric, on a cycle x is constant.  For a sum whose neighbours
are up to d apart it is the truncated geometric with a**(1/d).

References.  Ghosh, Roughgarden, Sundararajan, SIAM J. Comput. 41(6), 2012.  Brenner, Nissim, SIAM J.
Comput. 43(5), 2014.
"""

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq, fmpq_mat

from discreet.errors import ParameterError
from discreet.exact.number import Real, exp_up, round_up
from discreet.mechanisms.table import Table
from discreet.privacy.bounds import Bounds
from discreet.utility.count import ALPHA_BITS, alpha_for, truncated_geometric
from discreet.utility.graph import Graph
from discreet.utility.loss import Loss
from discreet.utility.optimal import Optimal, optimal
from discreet.utility.prior import Prior
from discreet.utility.problem import Epsilon, Level, Ratio, level_of
from discreet.utility.remap import bayes_risk

LARGEST = 96
ROUNDING = Fraction(1, 2**40)
"""Relative differences below this can come from rounding alpha to a rational."""


@dataclass(frozen=True, slots=True)
class Universality:
    """What the geometric mechanism with the best remap costs, beside the certified optimum."""

    geometric: Fraction
    best: Optimal

    @property
    def excess(self) -> Bounds:
        """How much more the geometric mechanism costs than the optimum."""
        return Bounds(max(self.geometric - self.best.loss, Fraction(0)), self.geometric - self.best.bound)

    @property
    def refuted(self) -> bool:
        """Whether some private mechanism is proved to serve this analyst strictly better."""
        return self.geometric - self.best.loss > self.best.certificate.problem.loss.span * ROUNDING


def universality(
    graph: Graph, prior: Prior, loss: Loss, epsilon: Real | None = None, *, ratio: Real | None = None
) -> Universality:
    """Compare the geometric mechanism of a graph with the optimum for this prior and loss."""
    channel = geometric_table(graph, level_of(epsilon, ratio))
    cost = bayes_risk(channel, prior, loss)
    return Universality(cost.low, optimal(graph, prior, loss, epsilon, ratio=ratio))


def geometric_table(graph: Graph, level: Level) -> Table:
    """Return the geometric mechanism of a graph as an exact table."""
    width = band_width(graph)
    if width is not None:
        table = truncated_geometric(len(graph) - 1, _root_alpha(level, width))
        return Table(graph.nodes, graph.nodes, table.rows, graph.edges)
    if len(graph) > LARGEST:
        raise ParameterError(f"the geometric mechanism of this graph is computed up to {LARGEST} answers")
    return _solved(graph, alpha_for(level))


def band_width(graph: Graph) -> int | None:
    """Return d when the neighbours are exactly the positions at most d apart, else None."""
    size = len(graph)
    if not graph.edges:
        return 1 if size == 1 else None
    width = max(j - i for i, j in graph.edges)
    if width == size - 1 and size > 2:
        return None  # Any two answers are neighbours: a category, not a number.
    expected = sum(size - step for step in range(1, width + 1))
    return width if len(graph.edges) == expected else None


def _root_alpha(level: Level, width: int) -> Fraction:
    match level:
        case Epsilon(value):
            return round_up(exp_up(-value / width), ALPHA_BITS)
        case Ratio(value):
            if width == 1:
                return 1 / value
            # The smallest multiple of 2**-64 whose power is at least 1/ratio, found from a close guess.
            unit = Fraction(1, 2**ALPHA_BITS)
            guess = round_up(Fraction(float(1 / value) ** (1 / width)), ALPHA_BITS)
            while guess**width < 1 / value:
                guess += unit * 2**8
            return guess


def _solved(graph: Graph, alpha: Fraction) -> Table:
    size = len(graph)
    powers = [[_power(alpha, steps) for steps in graph.distances(z)] for z in range(size)]
    matrix = fmpq_mat(size, size, [fmpq(p.numerator, p.denominator) for row in powers for p in row])
    try:
        shares = matrix.solve(fmpq_mat(size, 1, [fmpq(1)] * size))
    except ZeroDivisionError:
        raise ParameterError(
            "this graph has no geometric mechanism: its distance powers are singular"
        ) from None
    weights = [Fraction(int(shares[z, 0].p), int(shares[z, 0].q)) for z in range(size)]
    if min(weights) < 0:
        raise ParameterError(
            "this graph has no geometric mechanism at this level: some columns would be negative"
        )
    rows = tuple(tuple(weights[z] * powers[z][y] for z in range(size)) for y in range(size))
    return Table(graph.nodes, graph.nodes, rows, graph.edges)


def _power(alpha: Fraction, steps: int | None) -> Fraction:
    return Fraction(0) if steps is None else alpha**steps
