"""Concentrated differential privacy: what it costs to enter, and what it is worth on leaving.

A mechanism is rho-zCDP when its Renyi divergences of all orders a > 1 are at most rho * a.

Theorem (entering).  An epsilon-private mechanism is rho-zCDP with rho = epsilon * tanh(epsilon / 2),
and no smaller rho serves all of them.
Proof.  Every epsilon-private pair is a post-processing of binary randomised response, so it is enough to
bound that one.  Its divergence of order a is [g((a - 1/2)**2) - g(1/4)] / (a - 1) with
g(s) = ln cosh(epsilon * sqrt(s)).  The derivative of g is epsilon * tanh(u) / (2 sqrt(s)) at
u = epsilon * sqrt(s), which decreases because tanh is concave on u >= 0; so g is concave and lies below its
tangent at 1/4, whose slope is epsilon * tanh(epsilon / 2).  Since (a - 1/2)**2 - 1/4 = a (a - 1), the
divergence is at most a * epsilon * tanh(epsilon / 2).  As a tends to 1 this is attained.

Theorem (leaving).  A rho-zCDP mechanism is (epsilon, delta)-private whenever, for some order a > 1,

    delta >= exp((a - 1) (a rho - epsilon)) * (1 - 1/a)**a / (a - 1).

Proof.  With L the privacy loss, the best delta is E[(1 - exp(epsilon - L))_+], and the positive part is at
most c_a * exp((a - 1) (L - epsilon)) where c_a = max over x of (1 - exp(-x)) exp(-(a - 1) x), which is
(1 - 1/a)**a / (a - 1); the expectation of the exponential is at most exp((a - 1) a rho).

The order is found by a deterministic search in ball arithmetic and then fixed as a rational: whichever
order is used, the bound it gives is a theorem, so the search needs no proof.

References.  zCDP: Bun and Steinke, TCC 2016.  Randomised response dominates: Kairouz, Oh, Viswanath,
ICML 2015.  The conversion: Canonne, Kamath, Steinke, NeurIPS 2020.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.exact.number import ball, enclose, exp_up, from_exact, log_bounds, sqrt_up

_SEARCH_BITS = 160
_LOWEST_EXPONENT, _HIGHEST_EXPONENT = -64, 192
_SEARCH_STEPS = 80


@lru_cache(maxsize=1024)
def pure_rho(epsilon: Fraction) -> Fraction:
    """Return the smallest rho such that every epsilon-private mechanism is rho-zCDP, rounded up."""
    if epsilon == 0:
        return Fraction(0)
    return enclose(lambda: ball(epsilon) * (ball(epsilon) / 2).tanh())[1]


def best_order(objective: Callable[[arb], arb]) -> Fraction:
    """Return an order a > 1 at which `objective` is near its smallest value; any order is a valid choice.

    The search is over ln(a - 1) by ternary section on midpoints of balls, so it is the same on every machine.
    """
    low, high = Fraction(_LOWEST_EXPONENT), Fraction(_HIGHEST_EXPONENT)
    with ctx.workprec(_SEARCH_BITS):

        def value(exponent: Fraction) -> arb:
            return objective(1 + _power_of_two(exponent)).mid()

        for _ in range(_SEARCH_STEPS):
            third = (high - low) / 3
            left, right = _short(low + third), _short(high - third)
            if value(left) <= value(right):
                high = right
            else:
                low = left
        return 1 + _short(from_exact(_power_of_two(_short((low + high) / 2)).mid()), relative=True)


@lru_cache(maxsize=4096)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a rho, rounded down, such that every rho-zCDP mechanism is (epsilon, delta)-private."""

    def negated(order: arb) -> arb:
        return -_rho_at(order, epsilon, delta)

    order = best_order(negated)
    return max(Fraction(0), enclose(lambda: _rho_at(ball(order), epsilon, delta))[0])


@lru_cache(maxsize=4096)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, rounded up, at which every rho-zCDP mechanism is (epsilon, delta)-private."""
    if rho == 0:
        return Fraction(0)
    order = best_order(lambda a: _epsilon_at(a, rho, delta))
    found = enclose(lambda: _epsilon_at(ball(order), rho, delta))[1]
    # The tail bound of the privacy loss, which the orders that are searched miss where rho is tiny.
    tail = rho + sqrt_up(-4 * rho * log_bounds(delta)[0])
    return max(Fraction(0), min(found, tail))


@lru_cache(maxsize=4096)
def delta_of_rho(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta, rounded up, at which every rho-zCDP mechanism is (epsilon, delta)-private."""
    if rho == 0:
        return Fraction(0)
    order = best_order(lambda a: _log_delta_at(a, rho, epsilon))
    exponent = enclose(lambda: _log_delta_at(ball(order), rho, epsilon))[1]
    return exp_up(exponent) if exponent < 0 else Fraction(1)


def _rho_at(order: arb, epsilon: Fraction, delta: Fraction) -> arb:
    log_c = (order - 1) * (1 - 1 / order).log() - order.log()
    return (ball(epsilon) + (ball(delta).log() - log_c) / (order - 1)) / order


def _epsilon_at(order: arb, rho: Fraction, delta: Fraction) -> arb:
    return order * ball(rho) + (1 - 1 / order).log() - (ball(delta).log() + order.log()) / (order - 1)


def _log_delta_at(order: arb, rho: Fraction, epsilon: Fraction) -> arb:
    return (
        (order - 1) * (order * ball(rho) - ball(epsilon)) + (order - 1) * (1 - 1 / order).log() - order.log()
    )


def _power_of_two(exponent: Fraction) -> arb:
    return (ball(exponent) * arb(2).log()).exp()


def _short(x: Fraction, *, relative: bool = False) -> Fraction:
    """Return x cut to 80 bits after the point, or (relative) to 80 significant bits."""
    bits = 80
    if relative:
        bits += max(0, x.denominator.bit_length() - x.numerator.bit_length())
    return Fraction(x.numerator * 2**bits // x.denominator, 2**bits)
