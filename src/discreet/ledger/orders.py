"""Renyi costs, and how much of them a budget admits: the rules of the filter once more, in another hand.

`discreet.privacy.ladder` and `discreet.privacy.filter` compute in balls and rationals; they price what is
paid.  Here the same theorems are evaluated a second time, for reading back what was paid, in decimals of many
places.  Of the others only the budget's numbers are used: if either hand is wrong, the two disagree.

A release that is epsilon-private and rho-zCDP costs at the order 1 + t, in units of 2**-64, rounded up,

    min((1 + t) rho,  epsilon,  epsilon - (ln(1 + exp(-epsilon)) - ln(1 + exp(-(2 t + 1) epsilon))) / t).

Sums of such costs that stay below

    epsilon + ln(d (1 + t)) / t + ln((1 + t) / t)

take up a part d of a budget's delta; and sums of rhos, below the largest of these over 1 + t, for any t.
Both are rounded down here, but by less than where prices are made: what was admitted there is admitted here.
"""

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from discreet.privacy.filter import Budget, PureBudget, Rule

LADDER = tuple(step << octave for octave in range(15) for step in (32, 38, 45, 54))
"""The rungs: orders less one, in 64ths."""

BITS = 64
PLACES = 60
MARGIN = Decimal(10) ** -28
"""More than decimals lose by rounding, and less than any cost is away from a whole number of units."""

FINE = Context(prec=90)
BELOW = Decimal(10) ** -60
FEWEST, MOST = -64, 192
NEAR = Decimal(2) ** -60
"""Orders less one are tried from 2**FEWEST to 2**MOST; the exponent is found this closely."""

MAIN, REST = Fraction(97, 100), Fraction(3, 400)
ASIDE = (-4, 4, 8, 12)

Route = tuple[int | None, Fraction]
"""A rung, or None for rhos, and the most that may be added up there."""


@lru_cache(4096)
def steps_of(epsilon: Fraction, rho: Fraction) -> tuple[int, ...]:
    """Return what a release costs at each rung, in whole units."""
    most, found = _units(epsilon), []
    with localcontext(Context(prec=PLACES + len(str(int(epsilon))))):
        e, step = _decimal(epsilon), (-_decimal(epsilon) / 32).exp()
        first, unit = (1 + step**32).ln(), Decimal(1 << BITS)
        for rung in LADDER:
            divergence = e - (first - (1 + step ** (32 + rung)).ln()) * 64 / rung
            units = (divergence * unit + MARGIN).to_integral_value(ROUND_CEILING)
            found.append(min(_units(rho * (64 + rung) / 64), most, int(units)))
    return tuple(found)


@lru_cache(4096)
def routes_of(budget: Budget) -> tuple[Route, ...]:
    """Return the sums of which one has to stay within its limit, unless that of the epsilons does."""
    if isinstance(budget, PureBudget):
        return ()
    epsilon, delta = budget.epsilon, budget.delta - budget.slack
    if budget.rule is Rule.CONCENTRATED:
        return ((None, _most_rho(epsilon, delta)),)
    limits = [_most(epsilon, MAIN * delta, Fraction(rung, 64)) for rung in LADDER]
    best = max(range(len(LADDER)), key=lambda rung: limits[rung] / (64 + LADDER[rung]))
    ends = best in (0, len(LADDER) - 1)
    main: Route = (None, _most_rho(epsilon, MAIN * delta)) if ends else (best, limits[best])
    near = [best + far for far in ASIDE if 0 <= best + far < len(LADDER)]
    aside = [(rung, _most(epsilon, REST * delta, Fraction(LADDER[rung], 64))) for rung in near]
    return main, *(route for route in aside if route[1] > 0)


def _most(epsilon: Fraction, delta: Fraction, t: Fraction) -> Fraction:
    """Return the largest Renyi cost of order 1 + t that is worth (epsilon, delta), rounded down."""
    with localcontext(FINE):
        return Fraction(_exactly(_decimal(epsilon), _decimal(delta), _decimal(t)) - BELOW)


def _exactly(epsilon: Decimal, delta: Decimal, t: Decimal) -> Decimal:
    return epsilon + (delta * (1 + t)).ln() / t + ((1 + t) / t).ln()


def _most_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho that is worth (epsilon, delta), rounded down: the best over all orders."""
    with localcontext(FINE):
        e, d, width = _decimal(epsilon), _decimal(delta), Decimal(1)

        def worth(exponent: Decimal) -> Decimal:
            t = Decimal(2) ** exponent
            return _exactly(e, d, t) / (1 + t)

        best = max(map(Decimal, range(FEWEST, MOST)), key=worth)
        while width > NEAR:
            width /= 2
            best = max((best, best - width, best + width), key=worth)
        return max(Fraction(0), Fraction(worth(best) - BELOW))


def _units(cost: Fraction) -> int:
    return -(-(cost.numerator << BITS) // cost.denominator)


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)
