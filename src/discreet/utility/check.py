"""Checks certificates of optimality with integers and rationals only; it trusts nothing and solves nothing.

Let E = e**epsilon, let c(w, y) = prior(y) * loss(w, y), and let p(w|y) be a private channel, so that
every column p(w|.) lies in the cone { v >= 0 : v(y) <= E v(y') for neighbours y, y' }.

Weak duality.  If numbers d(y) satisfy  sum over y of (c(w, y) - d(y)) v(y) >= 0  for every guess w and
every v in the cone, then the expected loss of every private channel is at least the sum of d.

On a forest the smallest value of that sum is found by one pass from the leaves to the roots: with
f(y) = c(w, y) - d(y) + sum over children k of min(f(k) E, f(k) / E), it is non-negative on the cone
exactly when f is non-negative at every root.  On any graph a flow is a proof: if amounts f(y, y') >= 0
on directed pairs of neighbours satisfy

    d(y)  <=  c(w, y) + sum over y' of ( f(y, y') - E f(y', y) )        for every y,

then the condition holds for w.  With an allowance delta, the bound loses delta times the sum, over
directed pairs, of the largest f(y, y') among the guesses.

E itself is only known between two rationals: the mechanism has to satisfy its ratios with the smaller
one, and the bound has to hold with the larger one.

References.  Linear programming duality for private channels: Ghosh, Roughgarden, Sundararajan, SIAM J.
Comput. 41(6), 2012.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import assert_never

from discreet.errors import CertificateError
from discreet.mechanisms.table import Table, exact_sum
from discreet.utility.certificate import (
    Aim,
    Certificate,
    ChannelCertificate,
    CountCertificate,
    Flow,
    LossBounds,
)
from discreet.utility.graph import Graph
from discreet.utility.problem import Problem, ratio_bounds

GUARD = 100
"""Bits kept below the unit of the costs while a pass rounds downwards."""

EXACT_BITS = 1 << 13
"""Powers of alpha up to this size are kept exact; beyond, they are rounded outwards."""


def check(certificate: Certificate) -> LossBounds:
    """Return what a certificate proves, or raise CertificateError with the first thing that is wrong."""
    match certificate:
        case ChannelCertificate():
            return _check_channel(certificate)
        case CountCertificate():
            return _check_count(certificate)
        case _:
            assert_never(certificate)


def _check_channel(certificate: ChannelCertificate) -> LossBounds:
    problem, channel = certificate.problem, certificate.channel
    smallest, largest = ratio_bounds(certificate.level)
    rows, scale = _whole(channel)
    _check_private(problem.graph, channel, rows, scale, smallest, certificate.delta)
    _check_dual(problem, certificate.dual)
    price = Fraction(0)
    if certificate.flows is None:
        if certificate.delta != 0:
            raise CertificateError("a certificate with a delta needs its flows")
        _check_forest(problem.graph, *problem.costs(), certificate.dual, largest)
    else:
        price = _check_flows(problem, certificate.dual, certificate.flows, largest) * certificate.delta
    verdict = LossBounds(_channel_loss(certificate, rows, scale), exact_sum(certificate.dual) - price)
    return _consistent(verdict)


def _check_count(certificate: CountCertificate) -> LossBounds:
    problem, alpha = certificate.problem, certificate.alpha
    if not problem.graph.is_path:
        raise CertificateError(
            "the geometric mechanism is certified for counts only: the graph is not a path"
        )
    if not 0 < alpha < 1:
        raise CertificateError("alpha must lie strictly between 0 and 1")
    smallest, largest = ratio_bounds(certificate.level)
    if 1 / alpha > smallest:
        raise CertificateError("the noise is smaller than the privacy level asks: 1/alpha exceeds e**epsilon")
    size = len(problem.graph)
    if len(certificate.remap) != size or not all(
        0 <= w < len(problem.loss.guesses) for w in certificate.remap
    ):
        raise CertificateError("the remap must name one guess for each of the outputs 0, ..., n")
    _check_dual(problem, certificate.dual)
    costs, unit = problem.costs()
    _check_forest(problem.graph, costs, unit, certificate.dual, largest)
    return _consistent(LossBounds(_count_loss(certificate, costs, unit), exact_sum(certificate.dual)))


def _consistent(verdict: LossBounds) -> LossBounds:
    if verdict.gap < 0:
        raise CertificateError(
            "the bound exceeds the loss of a private mechanism, so the two cannot both be right"
        )
    return verdict


def _check_dual(problem: Problem, dual: Sequence[Fraction]) -> None:
    if min(problem.prior.weights) < 0 or exact_sum(problem.prior.weights) != 1:
        raise CertificateError("the prior is not a law: its entries must not be negative and must sum to 1")
    if len(dual) != len(problem.graph):
        raise CertificateError("the dual needs one number per true answer")


def _whole(channel: Table) -> tuple[list[list[int]], int]:
    """Return the entries over one denominator: reckoning fraction by fraction would take most of the time."""
    scale = lcm(*{entry.denominator for row in channel.rows for entry in row})
    return [[_over(entry, scale) for entry in row] for row in channel.rows], scale


def _check_private(
    graph: Graph, channel: Table, rows: list[list[int]], scale: int, smallest: Fraction, delta: Fraction
) -> None:
    if channel.inputs != graph.nodes:
        raise CertificateError("the channel must have the answers of the graph as its inputs")
    if channel.neighbours is not None and not set(graph.edges) <= set(channel.neighbours):
        # Its own guarantee would otherwise promise more than it keeps.
        raise CertificateError("the channel must count all neighbours of the graph as its own neighbours")
    if not 0 <= delta < 1:
        raise CertificateError("delta must be at least 0 and below 1")
    for row in rows:
        if min(row) < 0:
            raise CertificateError("the channel holds a negative probability")
        if sum(row) != scale:
            raise CertificateError("a row of the channel does not sum to 1 exactly")
    up, down = smallest.numerator, smallest.denominator
    allowed = delta * scale * down
    owed, most = [[a * down for a in row] for row in rows], [[b * up for b in row] for row in rows]
    for i, j in graph.edges:
        for first, second in ((owed[i], most[j]), (owed[j], most[i])):
            excess = sum(a - b for a, b in zip(first, second, strict=True) if a > b)
            if excess > allowed:
                raise CertificateError(
                    "the channel is not private at this level: two neighbours are too far apart"
                )


def _channel_loss(certificate: ChannelCertificate, rows: list[list[int]], scale: int) -> Fraction:
    problem, channel = certificate.problem, certificate.channel
    place = {guess: w for w, guess in enumerate(problem.loss.guesses)}
    if any(output not in place for output in channel.outputs):
        raise CertificateError("the channel answers something that is not a guess of the loss")
    used = zip(*(problem.loss.numerators[place[output]] for output in channel.outputs), strict=True)
    each = [sum(map(int.__mul__, row, cost)) for row, cost in zip(rows, used, strict=True)]
    unit = scale * problem.loss.denominator
    match certificate.aim:
        case Aim.AVERAGE:
            masses = problem.prior.weights
            return exact_sum([mass * loss for mass, loss in zip(masses, each, strict=True)]) / unit
        case Aim.WORST_CASE:
            return Fraction(max(each), unit)
        case _:
            assert_never(certificate.aim)


def _check_forest(
    graph: Graph, costs: Sequence[Sequence[int]], unit: int, dual: Sequence[Fraction], largest: Fraction
) -> None:
    """Run the pass from the leaves to the roots, rounding down; where that is too coarse, exactly."""
    if not graph.is_forest:
        raise CertificateError("this graph has a cycle, so the certificate needs its flows")
    inward = list(graph.outward())[::-1]
    up, down = largest.numerator, largest.denominator
    floors = [-((-d.numerator * unit << GUARD) // d.denominator) for d in dual]
    for row in costs:
        f = [(cost << GUARD) - floor for cost, floor in zip(row, floors, strict=True)]
        for place, parent in inward:
            value = f[place]
            if parent is not None:
                f[parent] += value * up // down if value < 0 else value * down // up
            elif value < 0 and _exact_root(row, unit, dual, largest, graph) < 0:
                raise CertificateError(
                    "the dual does not hold: some private column would cost less than it says"
                )


def _exact_root(
    row: Sequence[int], unit: int, dual: Sequence[Fraction], largest: Fraction, graph: Graph
) -> Fraction:
    f = [Fraction(cost, unit) - d for cost, d in zip(row, dual, strict=True)]
    worst = Fraction(0)
    for place, parent in list(graph.outward())[::-1]:
        if parent is None:
            worst = min(worst, f[place])
        else:
            f[parent] += f[place] * largest if f[place] < 0 else f[place] / largest
    return worst


def _check_flows(
    problem: Problem, dual: Sequence[Fraction], flows: Sequence[Flow], largest: Fraction
) -> Fraction:
    """Check one flow per guess and return the sum over directed pairs of the largest amount."""
    costs, unit = problem.costs()
    if len(flows) != len(costs):
        raise CertificateError("the certificate needs one flow per guess")
    near = set(problem.graph.edges) | {(j, i) for i, j in problem.graph.edges}
    # Everything over one denominator: comparing fractions one by one would take most of the time.
    parts = {d.denominator for d in dual} | {f.denominator for flow in flows for _, _, f in flow}
    scale, up, down = lcm(*parts), largest.numerator, largest.denominator
    needed = [_over(d, scale) * unit * down for d in dual]
    peak: dict[tuple[int, int], int] = {}
    for row, flow in zip(costs, flows, strict=True):
        room = [cost * scale * down for cost in row]
        for start, end, share in flow:
            if (start, end) not in near:
                raise CertificateError("a flow runs between answers that are not neighbours")
            if share.numerator < 0:
                raise CertificateError("a flow is negative")
            amount = _over(share, scale)
            room[start] += amount * unit * down
            room[end] -= amount * unit * up
            peak[start, end] = max(peak.get((start, end), 0), amount)
        if any(d > space for d, space in zip(needed, room, strict=True)):
            raise CertificateError("the dual does not hold: it exceeds what the flow of some guess supports")
    return Fraction(sum(peak.values()), scale)


def _over(value: Fraction, scale: int) -> int:
    """Return a fraction times a multiple of its denominator."""
    return value.numerator * (scale // value.denominator)


def _count_loss(certificate: CountCertificate, costs: Sequence[Sequence[int]], unit: int) -> Fraction:
    """Return the expected loss of the remapped truncated geometric, rounded up where powers are rounded."""
    alpha, n = certificate.alpha, len(certificate.problem.graph) - 1
    if n == 0:
        return Fraction(costs[certificate.remap[0]][0], unit)
    low, high, scale = _powers(alpha, n)
    ends = inside = 0
    for z, guess in enumerate(certificate.remap):
        row = costs[guess]
        near = high[z:0:-1] + high[: n + 1 - z]
        total = sum(map(int.__mul__, row, near))
        if low is not high and min(row) < 0:
            far = low[z:0:-1] + low[: n + 1 - z]
            total = sum(
                c * (above if c > 0 else below) for c, above, below in zip(row, near, far, strict=True)
            )
        if z in (0, n):
            ends += total
        else:
            inside += total
    return (Fraction(ends) + Fraction(inside) * (1 - alpha)) / (1 + alpha) / (unit * scale)


def _powers(alpha: Fraction, n: int) -> tuple[list[int], list[int], int]:
    """Return integers around alpha**k * scale for k = 0, ..., n; one list twice when they are exact."""
    p, q = alpha.numerator, alpha.denominator
    if n * q.bit_length() <= EXACT_BITS:
        exact = [p**k * q ** (n - k) for k in range(n + 1)]
        return exact, exact, q**n
    scale = 1 << GUARD
    low, high = [scale], [scale]
    for _ in range(n):
        low.append(low[-1] * p // q)
        high.append(-(-high[-1] * p // q))
    return low, high, scale
