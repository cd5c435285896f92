"""Counts: the truncated geometric mechanism with the best remap, and the proof that nothing beats it.

Theorem.  Let the true answer be a count in 0, ..., n, let a = e**-epsilon, and let the loss be monotone.
Whatever the prior, the truncated geometric mechanism

    p(z|y) = a**|z - y| * (1 / (1 + a) if z is 0 or n, else (1 - a) / (1 + a)),

followed by the guess w(z) that minimises b(z) = sum over y of prior(y) loss(w(z), y) a**|z - y|, has the
least expected loss of all epsilon-private mechanisms.  The proof is the dual d = Q b, where Q is the
tridiagonal inverse of the matrix a**|z - y|:

    d(y) = ( (1 + a**2) b(y) - a b(y - 1) - a b(y + 1) ) / (1 - a**2)      (with 1 for 1 + a**2 at both ends).

No search is needed: one product gives b, and one pass per guess checks d.

References.  Ghosh, Roughgarden, Sundararajan, SIAM J. Comput. 41(6), 2012.
"""

from fractions import Fraction

import numpy as np
from flint import fmpz_mat

from discreet.errors import ParameterError
from discreet.exact.number import round_up
from discreet.mechanisms.table import Label, Table
from discreet.utility.certificate import CountCertificate
from discreet.utility.pricing import Floats, ForestPricer, float_costs
from discreet.utility.problem import Epsilon, Level, Problem, Ratio, ratio_bounds

ALPHA_BITS = 64
EXACT_BITS = 1 << 12
LARGEST_TABLE = 256
DUAL_BITS = 100


def alpha_for(level: Level) -> Fraction:
    """Return the smallest convenient alpha that is private at this level: 1/alpha <= e**epsilon."""
    match level:
        case Epsilon():
            return round_up(1 / ratio_bounds(level)[0], ALPHA_BITS)
        case Ratio(value):
            return 1 / value


def count_certificate(problem: Problem, level: Level) -> CountCertificate | None:
    """Return the geometric mechanism with its best remap and dual; None if the dual is plainly infeasible."""
    alpha = alpha_for(level)
    n = len(problem.graph) - 1
    if isinstance(level, Ratio) and n * alpha.denominator.bit_length() <= EXACT_BITS:
        return _exact_certificate(problem, level, alpha)
    prior = np.array([float(weight) for weight in problem.prior.weights])
    cost = float_costs(problem.loss) * prior
    a = float(alpha)
    steps = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    scores = cost @ (a ** np.arange(n + 1))[steps]
    remap = scores.argmin(axis=0)
    dual = _invert(scores[remap, np.arange(n + 1)], a)
    pricer = ForestPricer(problem.graph, -float(np.log(a)))
    weights = cost - dual
    worst, _ = pricer.worst(weights, pricer.rays(weights))
    size = float(np.abs(cost).max())
    if worst < -1e-7 * size:
        return None
    # Rounding errors of the product and of the pass, with a wide margin that costs n times as little.
    lowered = Fraction(-worst + 4e-15 * size)
    down = tuple(_down(Fraction(float(entry)) - lowered) for entry in dual)
    return CountCertificate(problem, level, alpha, tuple(remap.tolist()), down)


def _exact_certificate(problem: Problem, level: Level, alpha: Fraction) -> CountCertificate:
    n = len(problem.graph) - 1
    costs, unit = problem.costs()
    p, q = alpha.numerator, alpha.denominator
    power = [p**k * q ** (n - k) for k in range(n + 1)]
    scores = fmpz_mat(costs) * fmpz_mat([[power[abs(z - y)] for z in range(n + 1)] for y in range(n + 1)])
    table = [[int(entry) for entry in row] for row in scores.tolist()]
    remap = tuple(column.index(min(column)) for column in zip(*table, strict=True))
    b = [Fraction(table[remap[z]][z], unit * q**n) for z in range(n + 1)]
    return CountCertificate(problem, level, alpha, remap, tuple(_invert_exactly(b, alpha)))


def _invert(b: Floats, a: float) -> Floats:
    if len(b) == 1:
        return b
    d = (1 + a * a) * b
    d[[0, -1]] = b[[0, -1]]
    d[1:] -= a * b[:-1]
    d[:-1] -= a * b[1:]
    result: Floats = d / (1 - a * a)
    return result


def _invert_exactly(b: list[Fraction], a: Fraction) -> list[Fraction]:
    last = len(b) - 1
    if last == 0:
        return b
    d = []
    for y, value in enumerate(b):
        near = (b[y - 1] if y else Fraction(0)) + (b[y + 1] if y < last else Fraction(0))
        d.append((value * (1 if y in (0, last) else 1 + a * a) - a * near) / (1 - a * a))
    return d


def truncated_geometric(n: int, alpha: Fraction) -> Table:
    """Return the truncated geometric mechanism on 0, ..., n as an exact table."""
    if n < 0 or not 0 < alpha < 1:
        raise ParameterError("the truncated geometric needs n >= 0 and alpha strictly between 0 and 1")
    if n > LARGEST_TABLE:
        raise ParameterError(
            f"the table of a count up to {n} is too large to write out exactly (at most {LARGEST_TABLE}); "
            "draw geometric noise, clamp it to 0..n and apply the remap instead"
        )
    if n == 0:
        return Table((0,), (0,), ((Fraction(1),),), ())
    power = [alpha**k for k in range(n + 1)]
    end, inner = 1 / (1 + alpha), (1 - alpha) / (1 + alpha)
    ends, inside = [end * x for x in power], [inner * x for x in power]
    rows = tuple((ends[y], *(inside[abs(z - y)] for z in range(1, n)), ends[n - y]) for y in range(n + 1))
    span = tuple(range(n + 1))
    return Table(span, span, rows, tuple((y, y + 1) for y in range(n)))


def remapped_table(certificate: CountCertificate) -> Table:
    """Return the certified mechanism as a table from counts to guesses."""
    problem = certificate.problem
    n = len(problem.graph) - 1
    remap: dict[Label, Label] = {z: problem.loss.guesses[guess] for z, guess in enumerate(certificate.remap)}
    table = truncated_geometric(n, certificate.alpha).then(remap)
    return Table(problem.graph.nodes, table.outputs, table.rows, table.neighbours)


def evidence(prior: tuple[Fraction, ...], alpha: Fraction) -> list[Fraction]:
    """Return sum over y of prior(y) alpha**|z - y| for every z in 0, ..., n, in one pass each way.

    Forward, F(z) = prior(z) + alpha F(z - 1); backward, B(z) = alpha (prior(z + 1) + B(z + 1)).
    """
    forward: list[Fraction] = []
    for mass in prior:
        forward.append(mass + (alpha * forward[-1] if forward else 0))
    backward = [Fraction(0)]
    for mass in reversed(prior[1:]):
        backward.append(alpha * (mass + backward[-1]))
    return [left + right for left, right in zip(forward, reversed(backward), strict=True)]


def _down(value: Fraction) -> Fraction:
    return Fraction((value.numerator << DUAL_BITS) // value.denominator, 1 << DUAL_BITS)
