"""How many records a release needs so that all of its answers are close.

Let k normalised counts (each the share of n records with a property) be released with independent Laplace
noise of scale c / (n epsilon), where c / n is their l1 sensitivity: c = k for any k counts, c = 2 for a
histogram when a record is replaced, and `privacy.sensitivity.workload` computes it for any workload.

Theorem (union bound).  All k answers are within alpha with probability at least 1 - beta as soon as

    n >= c ln(k / beta) / (alpha epsilon),

for each misses by alpha or more with probability exp(-n alpha epsilon / c), which must be at most beta / k.

Theorem (exactly).  The noise is independent, so some answer misses with probability
1 - (1 - exp(-n alpha epsilon / c))**k, and the least n at which this is at most beta is

    n >= -c ln(1 - (1 - beta)**(1 / k)) / (alpha epsilon).

Randomized response asks each person k questions at epsilon / k and needs about k**2 / epsilon**2 alpha**2
times as many logarithms: `RandomizedResponse.records_needed`.
"""

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, enclose, positive, probability


def records_by_union_bound(
    answers: int, *, change: Real | None = None, within: Real, epsilon: Real, beta: Real = "0.05"
) -> int:
    """Return the least n for which the union bound promises that all answers are `within` of the truth.

    `change` is n times the l1 sensitivity of the answers; for any counts it is their number.
    """
    count, unit, bound = _asked(answers, change, within, epsilon, beta)
    return _ceiling(lambda: ball(count / bound).log() / ball(unit))


def records_needed(
    answers: int, *, change: Real | None = None, within: Real, epsilon: Real, beta: Real = "0.05"
) -> int:
    """Return the least n for which all answers are `within` of the truth with probability 1 - beta.

    `change` is n times the l1 sensitivity of the answers; for any counts it is their number.
    """
    count, unit, bound = _asked(answers, change, within, epsilon, beta)
    return _ceiling(lambda: -(-(ball(1 - bound).log() / count).expm1()).log() / ball(unit))


def _asked(
    answers: int, change: Real | None, within: Real, epsilon: Real, beta: Real
) -> tuple[int, Fraction, Fraction]:
    if isinstance(answers, bool) or not isinstance(answers, int) or answers < 1:
        raise ParameterError(f"answers must be a whole number of at least 1, got {answers!r}")
    moved = Fraction(answers) if change is None else positive(change, "change")
    unit = positive(within, "within") * positive(epsilon, "epsilon") / moved
    return answers, unit, probability(beta, "beta")


def _ceiling(value: Callable[[], arb]) -> int:
    """Return the least integer from 1 on above a logarithm of an algebraic number, which is irrational."""
    bits = 96
    while True:
        low, high = enclose(value, bits)
        if low.__floor__() == high.__floor__():
            return max(1, high.__floor__() + 1)
        bits *= 2
