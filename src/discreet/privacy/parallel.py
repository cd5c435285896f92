"""Parallel composition: releases about disjoint parts of the data.

Theorem.  Let the records be split into parts and let the i-th release see only the i-th part.

 - If a record's part does not depend on its value (routed *by index*, such as by a public key), one unit
   touches one part, whatever the adjacency: the whole is as private as its worst release.
 - If records are routed *by value*, adding or removing a unit still touches one part.  But replacing one
   can take it out of one part and put it into another: the whole costs what the two worst releases cost
   together.

Each guarantee must hold for its own part when a unit enters it, leaves it or, under replace, changes
within it.

References.  McSherry, SIGMOD 2009; the case of replacement by value is often overlooked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import combinations

from discreet.errors import ParameterError
from discreet.exact.number import Real
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.bounds import Bounds
from discreet.privacy.compose import Composition, compose
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import Approximate, Concentrated, Guarantee, Pure


class Routing(StrEnum):
    """How a record finds its part."""

    INDEX = "by index"
    VALUE = "by value"


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst of several guarantees, at each delta whichever that is."""

    options: tuple[Guarantee | Composition, ...]

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon that all options promise at this delta."""
        return _worst([option.epsilon(delta) for option in self.options])

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta that all options promise at this epsilon."""
        return _worst([option.delta(epsilon) for option in self.options])

    def group(self, size: int) -> "Worst":
        """Return the promise to `size` units at once, if they share a part."""
        return Worst(tuple(option.group(size) for option in self.options))

    def price(self) -> Cost:
        """Return what a filter charges."""
        prices = [option.price() for option in self.options]
        epsilons = [price.epsilon for price in prices if price.epsilon is not None]
        return Cost(
            max(epsilons) if len(epsilons) == len(prices) else None,
            max(price.rho for price in prices),
            max(price.delta for price in prices),
        )

    def simple(self) -> Approximate | Concentrated:
        """Return a single guarantee that every option keeps, for composing further."""
        price = self.price()
        if price.epsilon is not None:
            return Approximate(price.epsilon, price.delta)
        return Concentrated(price.rho, price.delta)


def parallel(
    guarantees: Sequence[Guarantee], adjacency: Adjacency | str, routing: Routing | str
) -> Guarantee | Composition | Worst:
    """Return what releases about disjoint parts promise together."""
    kind, way = Adjacency.of(adjacency), _routing(routing)
    if not guarantees:
        raise ParameterError("there is nothing to compose: give the guarantee of at least one part")
    _check_samples(guarantees, kind, way)
    singles: tuple[Guarantee | Composition, ...] = tuple(dict.fromkeys(guarantees))
    match kind, way:
        case (Adjacency.ADD_REMOVE, _) | (_, Routing.INDEX):
            return _reduced(singles)
        case Adjacency.REPLACE, Routing.VALUE:
            if len(guarantees) == 1:
                return guarantees[0]
            return _reduced(tuple(dict.fromkeys(_pair(one, two) for one, two in combinations(guarantees, 2))))
        case _:
            raise AssertionError("every adjacency and routing is covered")


def _check_samples(guarantees: Sequence[Guarantee], kind: Adjacency, way: Routing) -> None:
    """Refuse a promise about a sample where a unit may change a part in a way that it does not cover."""
    known = compose(guarantees).neighbours
    if known and known != {kind}:
        raise ParameterError(
            f"a release was sampled under {' and '.join(sorted(known))} neighbours, and says nothing about "
            f"{kind} ones; sample it under the same"
        )
    if known and kind is Adjacency.REPLACE and way is Routing.VALUE:
        raise ParameterError(
            "a replaced unit can leave one part and enter another, and a promise about m of n units drawn "
            "from a part says nothing about that; route records by index, or give the releases unsampled"
        )


def _pair(one: Guarantee, two: Guarantee) -> Guarantee | Composition:
    if isinstance(one, Pure) and isinstance(two, Pure):
        return Pure(one.cost + two.cost)
    return compose([one, two])


def _reduced(options: tuple[Guarantee | Composition, ...]) -> Guarantee | Composition | Worst:
    """Return the worst option itself where it is plain which one that is."""
    if len(options) == 1:
        return options[0]
    costs = [option.cost for option in options if isinstance(option, Pure)]
    if len(costs) == len(options):
        return Pure(max(costs))
    rhos = [option.rho for option in options if isinstance(option, Concentrated) and not option.slack]
    if len(rhos) == len(options):
        return Concentrated(max(rhos))
    return Worst(options)


def _worst(found: Sequence[Bounds]) -> Bounds:
    low = max(bounds.low for bounds in found)
    for bounds in found:
        if bounds.high is None:
            return Bounds(low, None, bounds.route, bounds.adaptive)
    top = max(found, key=lambda bounds: bounds.high or Fraction(0))
    return Bounds(low, top.high, top.route, top.adaptive)


def _routing(value: Routing | str) -> Routing:
    try:
        return Routing(value)
    except ValueError:
        choices = " or ".join(repr(str(choice)) for choice in Routing)
        raise ParameterError(f"routing must be {choices}, got {value!r}") from None
