"""The grid that costs are kept on, so that sums of them never grow in size.

It holds every decimal of up to 40 places and every fraction with a denominator up to 60 exactly; what does
not lie on it is rounded to the side that gives less away.
"""

from fractions import Fraction
from functools import lru_cache
from math import lcm

from discreet.privacy.zcdp import pure_rho

GRID = 10**40 * lcm(*range(1, 61))
"""Costs are multiples of 1/GRID."""


def on_grid(x: Fraction) -> Fraction:
    """Return the smallest multiple of 1/GRID at or above x."""
    return x if GRID % x.denominator == 0 else Fraction(-(-x.numerator * GRID // x.denominator), GRID)


def below_grid(x: Fraction) -> Fraction:
    """Return the largest multiple of 1/GRID at or below x."""
    return x if GRID % x.denominator == 0 else Fraction(x.numerator * GRID // x.denominator, GRID)


@lru_cache(maxsize=1024)  # what is left of a budget is shown again and again
def pure_within(rho: Fraction) -> Fraction:
    """Return the largest epsilon, to 80 bits, whose pure cost is at most rho."""
    low, high = Fraction(0), Fraction(1)
    while on_grid(pure_rho(on_grid(high))) <= rho:
        low, high = high, high * 2
    for _ in range(80):
        middle = (low + high) / 2
        if on_grid(pure_rho(on_grid(middle))) <= rho:
            low = middle
        else:
            high = middle
    return low
