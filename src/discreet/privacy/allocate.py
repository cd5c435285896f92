"""Composition read backwards: what each of k releases may cost, and the least noise that lets all fit.

Theorem (share).  The smallest delta at epsilon of k releases that are each c-private grows with c, so
there is a largest c at which k of them are still (epsilon, delta)-private together; optimal composition
finds it exactly, and basic composition (c = epsilon / k) and the lectures' corollary, c = epsilon / (2
sqrt(2 k ln(1/delta))), stay below it.

Both searches end on a parameter whose certified upper bound has been checked, so neither their steps nor
any assumption of monotonicity can break the promise.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf, isfinite

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, enclose, log_bounds, positive, shown, sqrt_up, whole
from discreet.privacy.compose import Mechanism, compose
from discreet.privacy.guarantee import Guarantee, small_delta
from discreet.privacy.inverse import delta_at
from discreet.privacy.loss import ResponseLoss
from discreet.privacy.optimal import Responses
from discreet.privacy.total import LossSum

_FEW = 512
"""Up to this many releases the exact sum is quicker than sampling."""

_CLOSE = Fraction(1, 2**32)
"""Searches end when the bracket is relatively this narrow."""


def budget_each(k: int, epsilon: Real, delta: Real = 0) -> Fraction:
    """Return the most that each of k pure releases may cost for the whole to be (epsilon, delta)-private.

    The answer is rounded down by about one part in 2**32.  Releases may be chosen adaptively, but not costs.
    """
    count = _count(k)
    limit, slack = positive(epsilon, "epsilon"), small_delta(delta)
    low = limit / count
    if slack == 0:
        return low
    # One release alone may cost ln((exp(epsilon) + delta) / (1 - delta)).
    single, above = enclose(lambda: ((ball(limit).exp() + ball(slack)) / (1 - ball(slack))).log())
    if count == 1:
        return single
    return _narrowed(low, above, lambda cost: _delta(count, cost, limit), slack)[0]


def corollary_each(k: int, epsilon: Real, delta: Real) -> Fraction:
    """Return the lectures' share, epsilon / (2 sqrt(2 k ln(1/delta))), rounded down."""
    count, limit, slack = _count(k), positive(epsilon, "epsilon"), small_delta(delta)
    if slack == 0:
        raise ParameterError("the corollary of advanced composition needs a delta greater than 0")
    return limit / (2 * sqrt_up(-2 * count * log_bounds(slack)[0]))


def least_noise(
    make: Callable[[Fraction], Guarantee | Mechanism], k: int, epsilon: Real, delta: Real = 0
) -> Fraction:
    """Return the least noise such that k releases of make(noise) are (epsilon, delta)-private together.

    `make` maps a positive number, more of which means more private, to a guarantee or a mechanism, such as
    `lambda variance: Profile(GaussianLoss(1 / variance))`.  The answer is the least to one part in 2**30.
    """
    count = _count(k)
    limit, slack = positive(epsilon, "epsilon"), small_delta(delta)

    def delta_of(noise: Fraction) -> Fraction:
        together = compose([(make(noise), count)])
        if slack == 0:
            high = together.epsilon().high
            return Fraction(0) if high is not None and high <= limit else Fraction(1)
        found = together.delta(limit).high
        return Fraction(1) if found is None else found

    high = Fraction(1)
    while delta_of(high) > slack:
        high *= 2
        if high > 2**120:
            raise ParameterError(f"no amount of noise of this kind makes {count} releases private enough")
    low = high / 2
    while delta_of(low) <= slack:
        low, high = low / 2, low
        if low < Fraction(1, 2**120):
            return high
    return _narrowed(high, low, delta_of, slack)[0]


def _narrowed(
    good: Fraction, bad: Fraction, delta_of: Callable[[Fraction], Fraction], delta: Fraction
) -> tuple[Fraction, Fraction]:
    """Return parameters, the first within delta and the second not, closer together than _CLOSE.

    The steps are those of the Illinois method on the logarithms, with a nudge past the root; each new
    parameter is sorted by the certified delta alone.
    """
    goal = _log(delta)
    sides = {True: (good, _log(delta_of(good)) - goal), False: (bad, _log(delta_of(bad)) - goal)}
    last, nudge = None, _CLOSE / 8
    for step in range(200):
        (good, below), (bad, above) = sides[True], sides[False]
        if abs(good - bad) <= _CLOSE * max(good, bad):
            break
        share = (
            Fraction(1, 2)
            if step % 4 == 3 or not isfinite(below - above)
            else Fraction(above / (above - below))
        )
        aim = bad + (good - bad) * min(max(share, nudge), 1 - nudge)
        if last is not None:
            aim += (good - bad) * nudge * (-1 if last else 1)
        middle = _short(min(max(aim, min(good, bad)), max(good, bad)))
        found = delta_of(middle)
        fits = found <= delta
        if last is fits:
            other, value = sides[not fits]
            sides[not fits] = (other, value / 2)
        sides[fits], last = (middle, _log(found) - goal), fits
    return sides[True][0], sides[False][0]


def _log(x: Fraction) -> float:
    return float(log_bounds(x)[1]) if x > 0 else -inf


def _delta(count: int, cost: Fraction, epsilon: Fraction) -> Fraction:
    """Return the delta of `count` releases of this cost, rounded up."""
    law = ResponseLoss(cost)
    exact = Responses.of([(law, count)]) if count <= _FEW else None
    return exact.delta(epsilon)[1] if exact is not None else delta_at(LossSum(((law, count),)), epsilon)[1]


def _count(k: int) -> int:
    count = whole(k, "k")
    if count < 1:
        raise ParameterError(f"k must be at least 1, got {shown(k)}")
    return count


def _short(x: Fraction) -> Fraction:
    """Return x cut to 64 significant bits."""
    bits = 64 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(x.numerator * 2**bits // x.denominator, 2**bits)
