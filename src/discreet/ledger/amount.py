"""Prices as whole numbers over one common denominator, for whoever adds up many of them."""

from math import lcm

from discreet.privacy.filter import Cost

Amount = tuple[int | None, int, int]
"""An epsilon, a rho and a delta over the common denominator; without an epsilon nothing pure is promised."""

Most = tuple[int, int, int]
"""The most epsilon, rho and delta that a limit admits."""


def unit_of(cost: Cost) -> int:
    """Return the least denominator under which a cost is whole."""
    epsilon = 1 if cost.epsilon is None else cost.epsilon.denominator
    return lcm(epsilon, cost.rho.denominator, cost.delta.denominator)


def added(one: Amount, other: Amount) -> Amount:
    """Return what two amounts come to."""
    epsilon = None if one[0] is None or other[0] is None else one[0] + other[0]
    return epsilon, one[1] + other[1], one[2] + other[2]


def times(amount: Amount, by: int) -> Amount:
    """Return an amount so many times over."""
    return None if amount[0] is None else amount[0] * by, amount[1] * by, amount[2] * by


def within(amount: Amount, most: Most | None) -> bool:
    """Return whether a limit, if there is one, admits an amount: within its slack, by its rho or epsilon."""
    if most is None:
        return True
    epsilon, rho, delta = amount
    return delta <= most[2] and (rho <= most[1] or (epsilon is not None and epsilon <= most[0]))
