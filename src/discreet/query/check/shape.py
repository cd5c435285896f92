"""Statistics of the shape of a law, said with the moments of values between 0 and 1.

With m_k the mean of z**k and v = m_2 - m_1**2,

    skewness   g = (m_3 - 3 m_1 m_2 + 2 m_1**3) / v**(3/2),
    kurtosis   h = (m_4 - 4 m_1 m_3 + 6 m_1**2 m_2 - 3 m_1**4) / v**2 - 3,

neither of which changes when values are moved or stretched.  A sample of n has the estimates
g sqrt(n (n - 1)) / (n - 2) and ((n + 1) h + 6) (n - 1) / ((n - 2) (n - 3)), as engines return them.
"""

from collections.abc import Callable
from fractions import Fraction

from discreet.query.check.formula import Constant, Formula, Operation

Moment = Callable[[int], Formula]
"""The mean of a power."""


def variance(moment: Moment, count: Formula, width: Fraction, *, sample: bool) -> Formula:
    """Return the variance of values that are `width` times as wide."""
    spread = _times(Constant(width**2), Operation("clamp", (_spread(moment), Constant(0), _QUARTER)))
    return _over(_times(spread, count), _less(count, 1)) if sample else spread


def skewness(moment: Moment, count: Formula) -> Formula:
    """Return the skewness of a sample."""
    mean, spread = moment(1), _spread(moment)
    cubes = _minus(moment(3), _times(_times(Constant(3), mean), moment(2)))
    third = _plus(cubes, _times(Constant(2), _power(mean, 3)))
    plain = _over(third, _times(spread, Operation("sqrt", (spread,))))
    return _over(_times(plain, Operation("sqrt", (_times(count, _less(count, 1)),))), _less(count, 2))


def kurtosis(moment: Moment, count: Formula) -> Formula:
    """Return how much heavier the tails of a sample are than those of the normal law."""
    excess = _plus(_times(_less(count, -1), kurtosis_pop(moment, count)), Constant(6))
    return _over(_times(excess, _less(count, 1)), _times(_less(count, 2), _less(count, 3)))


def kurtosis_pop(moment: Moment, count: Formula) -> Formula:
    """Return how much heavier the tails of all values are than those of the normal law."""
    mean, spread = moment(1), _spread(moment)
    fourth = _minus(moment(4), _times(_times(Constant(4), mean), moment(3)))
    fourth = _plus(fourth, _times(_times(Constant(6), _power(mean, 2)), moment(2)))
    fourth = _minus(fourth, _times(Constant(3), _power(mean, 4)))
    return _minus(_over(fourth, _power(spread, 2)), Constant(3))


SHAPES: dict[str, Callable[[Moment, Formula], Formula]] = {
    "skewness": skewness,
    "kurtosis": kurtosis,
    "kurtosis_pop": kurtosis_pop,
}
"""The statistics of shape by their names."""

_QUARTER = Constant(Fraction(1, 4))


def _spread(moment: Moment) -> Formula:
    return _minus(moment(2), _power(moment(1), 2))


def _plus(one: Formula, other: Formula) -> Formula:
    return Operation("add", (one, other))


def _minus(one: Formula, other: Formula) -> Formula:
    return Operation("subtract", (one, other))


def _times(one: Formula, other: Formula) -> Formula:
    return Operation("multiply", (one, other))


def _over(one: Formula, other: Formula) -> Formula:
    # NULL where the noise leaves nothing to divide by.
    return Operation("ratio", (one, other))


def _less(count: Formula, number: int) -> Formula:
    return _minus(count, Constant(number))


def _power(base: Formula, exponent: int) -> Formula:
    found = base
    for _ in range(exponent - 1):
        found = _times(found, base)
    return found
