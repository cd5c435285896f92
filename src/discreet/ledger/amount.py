"""Prices as whole numbers over one common denominator, for whoever adds up many of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm
from operator import add
from typing import NamedTuple

from discreet.errors import LedgerError
from discreet.ledger.codec import LADDER as RENYI
from discreet.ledger.codec import canonical, write_cost
from discreet.ledger.orders import BITS, LADDER, routes_of, steps_of
from discreet.privacy.filter import Budget, Cost, PureBudget
from discreet.privacy.ladder import Curve

Amount = tuple[int | None, int, int, int, int]
"""An epsilon, a rho, a delta and a plain rho over the common denominator, and Renyi costs, packed.

Without an epsilon nothing pure is promised.  The Renyi cost at a rung is what stands there and the order
times the plain rho, which is all there is where a price says nothing more than zCDP does.
"""

NOTHING: Amount = 0, 0, 0, 0, 0
LANE = 256
"""Renyi costs at all rungs are packed into one number, side by side, and added up at once."""

WHOLE = (1 << LANE) - 1


class Most(NamedTuple):
    """The most epsilon and delta that a limit admits, and its routes, of which one will do for epsilon.

    A route is a rung, 64 times its order, and what its sum of Renyi costs may reach, times `scale` and 2**64;
    without a rung the sum is that of the rhos.
    """

    epsilon: int
    delta: int
    scale: int
    routes: tuple[tuple[int | None, int, int], ...]


class Priced(NamedTuple):
    """What one release costs: in all, without its Renyi costs, those at each rung, and how it is written.

    It is written in its own words if its Renyi costs follow from its other costs.
    """

    whole: Amount
    flat: Amount
    steps: tuple[int, ...]
    single: str


@dataclass(slots=True)
class Held:
    """What several releases cost together, ready to be written down: as `Priced`."""

    flat: Amount = NOTHING
    steps: tuple[int, ...] = ()
    single: str = ""

    def pay(self, price: Priced) -> None:
        """Add one more release."""
        if price.flat == NOTHING:
            return
        self.single = price.single if self.flat == NOTHING else ""
        self.flat = added(self.flat, price.flat)
        if price.steps:
            self.steps = tuple(map(add, self.steps, price.steps)) if self.steps else price.steps

    @property
    def whole(self) -> Amount:
        """Return all of it, with its Renyi costs."""
        return *self.flat[:4], _packed(self.steps)


def unit_of(cost: Cost) -> int:
    """Return the least denominator under which a cost is whole."""
    epsilon = 1 if cost.epsilon is None else cost.epsilon.denominator
    return lcm(epsilon, cost.rho.denominator, cost.delta.denominator, _curve(cost)[0].denominator)


def priced(cost: Cost, unit: int) -> Priced:
    """Return a cost over a denominator under which it is whole."""
    epsilon = None if cost.epsilon is None else int(cost.epsilon * unit)
    plain, steps = _curve(cost)
    flat = epsilon, int(cost.rho * unit), int(cost.delta * unit), int(plain * unit), 0
    return Priced((*flat[:4], _packed(steps)), flat, steps, _single(write_cost(cost)))


def cost_of(held: Held, unit: int) -> Cost:
    """Return in rationals what is held."""
    epsilon, rho, delta, plain, _ = held.flat
    pure = None if epsilon is None else Fraction(epsilon, unit)
    curve = None if held.single else Curve(Fraction(plain, unit), held.steps)
    return Cost(pure, Fraction(rho, unit), Fraction(delta, unit), curve)


def most_of(budget: Budget, unit: int) -> Most:
    """Return what a budget admits over a denominator; a pure one admits nothing but by its epsilon."""
    slack = 0 if isinstance(budget, PureBudget) else budget.slack
    routes: list[tuple[int | None, int, int]] = []
    for rung, most in routes_of(budget):
        if rung is None:
            routes.append((None, 64, floor(most * unit)))
        else:
            routes.append((rung, 64 + LADDER[rung], floor(most * (64 * unit << BITS))))
    return Most(int(budget.epsilon * unit), int(slack * unit), 64 * unit, tuple(routes))


def added(one: Amount, other: Amount) -> Amount:
    """Return what two amounts come to."""
    epsilon = None if one[0] is None or other[0] is None else one[0] + other[0]
    return epsilon, one[1] + other[1], one[2] + other[2], one[3] + other[3], one[4] + other[4]


def times(amount: Amount, by: int) -> Amount:
    """Return an amount over a denominator that is so many times as large."""
    epsilon, rho, delta, plain, packed = amount
    return None if epsilon is None else epsilon * by, rho * by, delta * by, plain * by, packed


def within(amount: Amount, most: Most | None) -> bool:
    """Return whether a limit, if there is one, admits an amount: within its slack, by epsilon or a route."""
    if most is None:
        return True
    epsilon, rho, delta, plain, packed = amount
    if delta > most.delta:
        return False
    if epsilon is not None and epsilon <= most.epsilon:
        return True
    for rung, order, reach in most.routes:
        if rung is None:
            if rho <= reach:
                return True
        elif most.scale * (packed >> LANE * rung & WHOLE) + (order * plain << BITS) <= reach:
            return True
    return False


def _curve(cost: Cost) -> tuple[Fraction, tuple[int, ...]]:
    """Return the plain rho of a cost, and its Renyi costs at each rung where rho does not say it all."""
    if cost.curve is not None:
        return cost.curve.plain, cost.curve.steps
    if cost.epsilon is None or not cost.epsilon or not cost.rho:
        return (Fraction(0) if cost.epsilon == 0 else cost.rho), ()
    return Fraction(0), steps_of(cost.epsilon, cost.rho)


def _packed(steps: tuple[int, ...]) -> int:
    if steps and max(steps).bit_length() > LANE - 64:
        raise LedgerError("the ledger holds a cost beyond everything that can be added up")
    return sum(step << LANE * rung for rung, step in enumerate(steps))


def _single(price: Sequence[str | None]) -> str:
    return canonical(list(price)) if len(price) == 4 and price[3] == RENYI else ""
