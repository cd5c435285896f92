"""Intervals for ratios of noisy sums: every value that the noise alone could explain.

Theorem (Fieller).  Let N and D be combinations of noisy measurements whose exact values have the ratio t.
Then N - t D is noise alone, a combination with known constants, so the set of all t for which noise as large
as |N - t D| has a probability of at least b contains the exact ratio with probability at least 1 - b, however
small D is.  As a function of t the distance is linear and the quantile of the noise convex (see `tail`), so
on either side of N / D there is one place at which acceptance ends.

Theorem (variance).  Let y lie in [0, 1], with exact mean m and count n, and let t_0, t_1, t_2 be the noisy
sums of (1 - y)^2, 2 y (1 - y) and y^2.  For any u, the sum of (y - u)^2 is u^2 t_0 - u (1 - u) t_1 +
(1 - u)^2 t_2, and at u = m it is v n.  So a candidate v is accepted where some u that is accepted as a mean
leaves |that - v n| within the quantile of its noise.  A twentieth of b is spent on the mean, which the sum
of squares feels only in the square of its error, the rest on the variance; quantiles are taken of
coefficients that are largest over all accepted means, which can only widen them.  For a sample, n - 1.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import log

from discreet.query.check.formula import Mean, Public, Span, Variance
from discreet.query.price.tail import NoiseLaw, chance, parts_of

STEPS, CLOSE, TINY = 60, 1e-4, 1e-300
MEAN_SHARE = Fraction(1, 20)

Laws = Mapping[int, tuple[float, NoiseLaw]]
Surprise = Callable[[float], float]
"""How probable noise is that would explain a value, as a multiple of what makes it acceptable."""


def mean(node: Mean, noisy: Mapping[int, Public], laws: Laws, beta: Fraction) -> Span:
    """Return the means that the noise could explain; all of them where the count may be nothing."""
    if node.count.at(noisy) <= node.least:
        return node.low, node.high
    total, count = float(node.total.at(noisy)), float(node.count.at(noisy))
    above, below = ({p: float(by) for p, by in part.terms} for part in (node.total, node.count))
    low, high = _accepted(
        _ratios(above, below, total, count, laws, float(beta)),
        total / count,
        (float(node.low), float(node.high)),
    )
    return max(Fraction(low), node.low), min(Fraction(high), node.high)


def variance(node: Variance, noisy: Mapping[int, Public], laws: Laws, beta: Fraction) -> Span:
    """Return the variances that the noise could explain."""
    if node.at(noisy) is None:
        return Fraction(0), node.top
    unit = node.width**2
    empty, mixed, full = (float(Fraction(noisy[place]) / unit) for place in node.corners)  # type: ignore[arg-type]
    count, total = empty + mixed + full, full + mixed / 2
    own = {place: (step / float(unit), law) for place, (step, law) in laws.items()}
    means = _accepted(
        _ratios(
            dict(zip(node.corners, (0.0, 0.5, 1.0), strict=True)),
            dict.fromkeys(node.corners, 1.0),
            total,
            count,
            own,
            float(beta * MEAN_SHARE),
        ),
        total / count,
        (0.0, 1.0),
    )
    rows = count - 1 if node.sample else count
    squares = [
        full - 2 * u * total + u**2 * count for u in (*means, min(max(total / count, means[0]), means[1]))
    ]
    least, most = min(squares), max(squares)
    risk = float(beta * (1 - MEAN_SHARE))

    def surprise(v: float) -> float:
        distance = max(least - v * rows, v * rows - most, 0.0)
        terms = dict(zip(node.corners, _widest(means, v), strict=True))
        return chance(parts_of(terms, own), distance) / risk

    top = float(node.top / unit)
    low, high = _accepted(surprise, (full - total**2 / count) / rows, (0.0, top))
    return max(Fraction(low) * unit, Fraction(0)), min(Fraction(high) * unit, node.top)


def _widest(means: tuple[float, float], v: float) -> tuple[float, float, float]:
    """Return the largest coefficients of the three sums in a sum of squares around any of the means."""
    places = [*means, 0.5] if means[0] < 0.5 < means[1] else list(means)
    return (
        max(abs(u**2 - v) for u in places),
        max(abs(u * (1 - u) + v) for u in places),
        max(abs((1 - u) ** 2 - v) for u in places),
    )


def _ratios(
    above: Mapping[int, float],
    below: Mapping[int, float],
    total: float,
    count: float,
    laws: Laws,
    beta: float,
) -> Surprise:
    terms = [(place, above.get(place, 0.0), below.get(place, 0.0)) for place in {**above, **below}]

    def surprise(t: float) -> float:
        noise = {place: one - t * other for place, one, other in terms}
        return chance(parts_of(noise, laws), abs(total - t * count)) / beta

    return surprise


def _accepted(surprise: Surprise, guess: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Return where acceptance ends on both sides of a guess, each end rounded outwards."""
    inner = min(max(guess, ends[0]), ends[1])
    inside = surprise(inner)
    return _edge(surprise, inner, inside, ends[0]), _edge(surprise, inner, inside, ends[1])


def _edge(surprise: Surprise, inner: float, inside: float, end: float) -> float:
    """Return a place just outside of the accepted ones: secants, because tails are nearly exponential."""
    beyond = surprise(end)
    if beyond >= 1 or inside < 1:
        return end if beyond >= 1 else inner
    kept, lost, start = inner, end, inner
    above, below = log(inside), log(max(beyond, TINY))
    for _ in range(STEPS):
        if abs(lost - kept) <= CLOSE * abs(lost - start):
            break
        # A little beyond the secant, so that both sides close in.
        share = min(max(above / (above - below) + CLOSE / 4, 1e-6), 1 - 1e-3)
        middle = kept + share * (lost - kept)
        height = log(max(surprise(middle), TINY))
        if height >= 0:
            kept, above, below = middle, height, below / 2
        else:
            lost, below, above = middle, height, above / 2
    return lost
