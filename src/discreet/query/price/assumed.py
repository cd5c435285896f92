"""How far off a mean or a variance may be, where its group is assumed to have some number of rows.

Theorem (mean).  Let N and D be the noisy total and count of numbers in [a, b], and q(t) the quantile of the
noise of N - t D, which is convex in t.  A mean t is accepted only where |N - t D| <= q(t), so where D >= n it
lies within max(q(a), q(b)) / n of N / D.

Theorem (variance).  On numbers in [0, 1], let e be the distance above for means, at the risk that is spent
on them, and s the largest quantile of the noise of u^2 t_0 - u (1 - u) t_1 + (1 - u)^2 t_2 - v D over u in
[0, 1] and v up to the largest variance c; coefficients are largest at 1, 1/4 + c and 1.  The sum of squares
around an accepted mean exceeds the least one by at most D e^2, so where D >= n a variance is within
(n e^2 + s) / (n - 1) of the point shown, and within (n e^2 + s) / n without the sample's correction: both
fall as D grows.  A root of it is off by no more than the root of that: |sqrt(x) - sqrt(y)| <= sqrt|x - y|.

The count is the noisy one, which is released beside; an answer with a smaller one has a wider interval, and
says so.
"""

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from discreet.query.check.formula import Formula, Mean, Operation, Variance, measured
from discreet.query.price.fieller import CLOSE, MEAN_SHARE, Laws
from discreet.query.price.tail import parts_of, quantile

if TYPE_CHECKING:
    from discreet.query.price.expected import Quote

ROUNDED = 1 + 4 * CLOSE
"""The ends of an interval are rounded outwards by a little."""


def radius_under(priced: "Quote", formula: Formula, count: Fraction) -> Fraction | None:
    """Return how far off a mean or variance of at least so many rows may be, None for anything else."""
    found = {place: priced.law(place) for place in measured(formula)}
    laws = {place: law for place, law in found.items() if law is not None}
    if len(laws) < len(found) or count <= 1:
        return None
    beta = 1 - priced.confidence
    match formula:
        case Mean():
            return min(_of_mean(formula, laws, beta, count), formula.high - formula.low)
        case Variance():
            return min(_of_variance(formula, laws, beta, count), formula.top)
        case Operation("sqrt", (Variance() as inner,)):
            squared = min(_of_variance(inner, laws, beta, count), inner.top)
            return Fraction(sqrt(squared) * ROUNDED)
        case _:
            return None


def _of_mean(node: Mean, laws: Laws, beta: Fraction, count: Fraction) -> Fraction:
    above, below = ({p: float(by) for p, by in part.terms} for part in (node.total, node.count))
    return Fraction(_reach(above, below, (float(node.low), float(node.high)), laws, beta) * ROUNDED) / count


def _of_variance(node: Variance, laws: Laws, beta: Fraction, count: Fraction) -> Fraction:
    unit = node.width**2
    own = {place: (step / float(unit), law) for place, (step, law) in laws.items()}
    halves, ones = dict(zip(node.corners, (0.0, 0.5, 1.0), strict=True)), dict.fromkeys(node.corners, 1.0)
    mean = _reach(halves, ones, (0.0, 1.0), own, beta * MEAN_SHARE) * ROUNDED / float(count)
    top = float(node.top / unit)
    largest = dict(zip(node.corners, (1.0, 0.25 + top, 1.0), strict=True))
    noise = quantile(parts_of(largest, own), float(beta * (1 - MEAN_SHARE)))
    rows = float(count) - 1 if node.sample else float(count)
    return Fraction((float(count) * mean**2 + noise) / rows * ROUNDED) * unit


def _reach(
    above: dict[int, float], below: dict[int, float], ends: tuple[float, float], laws: Laws, beta: Fraction
) -> float:
    """Return the largest quantile of the noise of N - t D over the means between two ends."""
    places = {**above, **below}
    return max(
        quantile(
            parts_of({place: above.get(place, 0.0) - t * below.get(place, 0.0) for place in places}, laws),
            float(beta),
        )
        for t in ends
    )
