"""Composition: what many releases promise together, from below and from above.

`compose` takes guarantees, mechanisms, or pairs (either, how many), and returns a `Composition`, itself a
guarantee.  Its numbers are `Bounds`: `high` is proved by the route it names and is what budgets use;
`low` is attained by actual mechanisms with these guarantees, so no accountant can promise less.

Slack.  A release with slack s is, with probability 1 - s, one without; so the slacks combine to
1 - (1 - s_1) ... (1 - s_k), exactly, and every route works on what they leave of delta.

Adaptivity.  All routes allow each mechanism to be chosen after seeing earlier answers, provided the
guarantees were fixed in advance ("fixed parameters").  Routes marked "fully adaptive" also allow the
guarantees themselves to be chosen on the way within their fixed total, which is what a `Filter` enforces;
a loss distribution is never used so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from math import prod
from typing import Protocol, assert_never, runtime_checkable

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, enclose, non_negative, shown
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.atoms import AtomsLoss, multiplied
from discreet.privacy.bounds import FULLY, ZERO, Bounds
from discreet.privacy.direction import CORNERS, ROUGH, PairOrder, orders, summand
from discreet.privacy.explanation import Explanation, RouteBound
from discreet.privacy.filter import Cost
from discreet.privacy.guarantee import (
    Approximate,
    Concentrated,
    Guarantee,
    Profile,
    Pure,
    group_size,
    small_delta,
)
from discreet.privacy.loss import Law, ResponseLoss, SampledLoss, Summand
from discreet.privacy.optimal import Responses
from discreet.privacy.route import (
    BASIC,
    CONCENTRATED,
    LAW,
    OPTIMAL,
    RENYI,
    ROUTES,
    Releases,
    Route,
)

_EFFORT = 2_000
"""Finite laws are multiplied out exactly while that takes no longer than inverting their transform."""

_WRITTEN_OUT = 2**12
"""The slacks of all releases are combined exactly while that takes no more than so many bits."""


@runtime_checkable
class Mechanism(Protocol):
    """Anything that states its guarantee without being told more: it knows what it was made for."""

    @property
    def guarantee(self) -> Callable[..., Guarantee]:
        """Return the privacy of one release."""
        ...


@runtime_checkable
class Profiled(Protocol):
    """A mechanism that states its whole loss law, too."""

    @property
    def profile(self) -> Callable[..., Profile]:
        """Return the loss law of one release."""
        ...


@runtime_checkable
class Parted(Protocol):
    """What says itself what composition can use: guarantees with their multiplicities."""

    @property
    def parts(self) -> tuple[tuple[Guarantee, int], ...]:
        """Return the guarantees of one use."""
        ...


@dataclass(frozen=True, slots=True)
class Composition:
    """What several releases promise together: guarantees with their multiplicities."""

    parts: tuple[tuple[Guarantee, int], ...]

    def __post_init__(self) -> None:
        if len(self.parts) > 1 and len(self.neighbours) > 1:
            raise ParameterError(
                "releases were sampled under add-remove and under replace neighbours, and neither promise "
                "says anything about the other's; sample all of them under the same"
            )

    @property
    def neighbours(self) -> frozenset[Adjacency]:
        """Return the neighbours that the sampled releases were sampled under; others may mean any."""
        laws = [part.law for part, _ in self.parts if isinstance(part, Profile)]
        return frozenset(law.adjacency for law in laws if isinstance(law, SampledLoss))

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return the smallest epsilon that the whole promises at this delta."""
        at = small_delta(delta)
        alone = self.alone()
        if alone is not None:
            return alone.epsilon(at)
        if not self.sampled:
            return self._epsilon(at, None)
        if at == 0:
            found = self._simple().epsilon()
            return replace(found, low=found.low * (1 - Fraction(1, 2**90)))
        return self._worse_epsilon(at)

    def _worse_epsilon(self, at: Fraction) -> Bounds:
        """Return the epsilon of the worse order."""
        found: list[tuple[Bounds, Bounds]] = []
        rough = self._orders(at, ROUGH)
        for place, (above, below) in enumerate(self._orders(at)):
            high = found[0][0].high if found else None
            # An order that promises as much as the other at its epsilon need not be inverted; most do so even
            # on a mesh of few corners.
            if high is None or all(
                (self._delta(high, each).high or Fraction(0)) > at for each in (rough[place][0], above)
            ):
                most = self._epsilon(at, above)
                found += [(most, self._epsilon(at, each, most.high)) for each in self._attained(below)]
        return _worse(found)

    def _epsilon(self, at: Fraction, order: PairOrder | None, near: Fraction | None = None) -> Bounds:
        """Return the epsilon at this delta, of sampled laws that of one order and of one side.

        From below it is looked for near the one given, if one is.
        """
        slack_low, slack_high = self._slack(order)
        if at < slack_high:
            return Bounds(Fraction(0), None, "no epsilon is enough: the slacks alone exceed this delta")
        releases = self.releases(order)
        left = _left(at, slack_high)
        most = left if slack_low == slack_high else _left(at, slack_low)
        if most is left and left and order is None:
            listed = releases.listed()
            if listed is not None:
                # Losses that are written out tell all, so that both ends come from them at once.
                route = OPTIMAL if isinstance(listed, Responses) else LAW
                return Bounds(*listed.epsilon(left), route.name, route.adaptive)
        if most == 0:
            total = releases.pure()
            return (
                Bounds(Fraction(0), None, "basic", FULLY) if total is None else self._exactly(releases, total)
            )
        if order is not None and not order.above:
            return Bounds(releases.least_epsilon(most, near), None)
        routes = (BASIC,) if left == 0 else _wanted(releases) if order is None else _ordered(releases)
        route, high = _best([(route, route.epsilon(releases, left)) for route in routes])
        low = releases.least_epsilon(most) if order is None else Fraction(0)
        return Bounds(low if high is None else min(low, high), high, route.name, route.adaptive)

    def delta(self, epsilon: Real) -> Bounds:
        """Return the smallest delta that the whole promises at this epsilon."""
        at = non_negative(epsilon, "epsilon")
        alone = self.alone()
        if alone is not None:
            return alone.delta(at)
        if not self.sampled:
            return self._delta(at, None)
        rough = self.most_delta(at, ROUGH)
        sides = self._orders(rough)
        highs = [self._delta(at, above) for above, _ in sides]
        worst = max(range(len(sides)), key=lambda place: highs[place].high or Fraction(0))
        return _worse([(highs[worst], self._delta(at, below)) for below in self._attained(sides[worst][1])])

    def _delta(self, at: Fraction, order: PairOrder | None) -> Bounds:
        """Return the delta at this epsilon, of sampled laws that of one order and of one side."""
        slack_low, slack_high = self._slack(order)
        releases = self.releases(order)
        if order is not None and not order.above:
            return Bounds(slack_low + (1 - slack_low) * releases.least_delta(at), None)
        routes = _wanted(releases) if order is None else _ordered(releases)
        route, found = _best([(route, route.delta(releases, at)) for route in routes])
        high = Fraction(1) if found is None else found
        low = releases.least_delta(at) if order is None else Fraction(0)
        top = min(Fraction(1), slack_high + (1 - slack_high) * high)
        return Bounds(min(slack_low + (1 - slack_low) * low, top), top, route.name, route.adaptive)

    def most_delta(self, epsilon: Fraction, corners: int = CORNERS, near: Fraction = Fraction(0)) -> Fraction:
        """Return an upper bound on delta alone, of sampled releases with so many corners of their mesh.

        It is made for a delta near the one given, if one is.
        """
        if self.alone() is not None or not self.sampled:
            return self.delta(epsilon).high or Fraction(0)
        return max(
            self._delta(epsilon, above).high or Fraction(0) for above, _ in self._orders(near, corners)
        )

    def _attained(self, below: PairOrder) -> list[PairOrder]:
        """Return an order from below in all forms that something attains."""
        several = Adjacency.REPLACE in self.neighbours and len(self) > 1
        return [below, replace(below, three=True)] if several else [below]

    @property
    def sampled(self) -> bool:
        """Whether some release is about a sample."""
        return bool(self.neighbours)

    def _orders(self, delta: Fraction, corners: int = CORNERS) -> tuple[tuple[PairOrder, PairOrder], ...]:
        return orders([(part.law, n) for part, n in self.parts if isinstance(part, Profile)], delta, corners)

    def _simple(self) -> "Composition":
        """Return what every route can use: of a sampled law its epsilon, or the law without sampling."""

        def plain(part: Guarantee) -> Guarantee:
            if not isinstance(part, Profile) or not isinstance(part.law, SampledLoss):
                return part
            law = part.law
            return Profile(law.base if law.pure is None else ResponseLoss(law.pure, law.slack))

        return Composition(tuple((plain(part), n) for part, n in self.parts))

    def group(self, size: int) -> "Composition":
        """Return what the whole promises to `size` units at once."""
        return Composition(tuple((part.group(group_size(size)), n) for part, n in self.parts))

    def explain(self, delta: Real) -> Explanation:
        """Return every route's epsilon at this delta, with its theorem."""
        at = small_delta(delta)
        bounds, simple = self.epsilon(at), self._simple()
        releases, slack = simple.releases(), simple.slack[1]
        lines = tuple(
            RouteBound(route.name, self._line(route, releases, at, slack), route.adaptive, route.theorem)
            for route in ROUTES
        )
        if self.sampled:
            # What the other routes say of the epsilon of each sample is true, too, but less.
            law = RouteBound(LAW.name, bounds.high, LAW.adaptive, LAW.theorem)
            lines = tuple(law if line.route == LAW.name else line for line in lines)
        return Explanation(at, bounds, lines)

    def price(self) -> Cost:
        """Return what a filter charges: the sum of what it charges for the parts."""
        total = Cost.zero
        for part, n in self.parts:
            total += part.price().times(n)
        return total

    def __len__(self) -> int:
        """Return the number of releases."""
        return sum(n for _, n in self.parts)

    def alone(self) -> Guarantee | None:
        """Return the single guarantee that the whole amounts to exactly, where there is one."""
        if len(self.parts) == 1 and self.parts[0][1] == 1:
            return self.parts[0][0]
        finite = [(part.law, n) for part, n in self.parts if isinstance(part, Profile)]
        atoms = tuple((law, n) for law, n in finite if isinstance(law, AtomsLoss))
        product = multiplied(atoms, _EFFORT) if len(atoms) == len(self.parts) else None
        return None if product is None else Profile(product)

    @staticmethod
    def _line(route: Route, releases: Releases, delta: Fraction, slack: Fraction) -> Fraction | None:
        return None if delta < slack else route.epsilon(releases, (delta - slack) / (1 - slack))

    @staticmethod
    def _exactly(releases: Releases, total: Fraction) -> Bounds:
        """Return the epsilon at delta 0: the sum of the largest losses, each attained."""
        if all(isinstance(law, ResponseLoss) for law, _ in releases.laws):
            return Bounds(total, total, BASIC.name, BASIC.adaptive)
        # The largest losses of other laws are rounded up to one part in 2**96 each.
        return Bounds(total * (1 - Fraction(1, 2**90)), total, BASIC.name, BASIC.adaptive)

    @property
    def slack(self) -> tuple[Fraction, Fraction]:
        """Return rationals around the probability that some release reveals everything."""
        return self._slack(None)

    def _slack(self, order: PairOrder | None) -> tuple[Fraction, Fraction]:
        found = [(_slack_of(part, order), n) for part, n in self.parts]
        slacks = [(slack, n) for slack, n in found if slack]
        if not slacks:
            return ZERO
        if len(slacks) == 1 and slacks[0][1] == 1:
            return slacks[0][0], slacks[0][0]
        if any(slack.numerator == slack.denominator for slack, _ in slacks):
            return Fraction(1), Fraction(1)

        bits = sum(n * slack.denominator.bit_length() for slack, n in slacks)
        if bits <= _WRITTEN_OUT:
            # In integers, which are shorter to multiply than fractions are to bring to lowest terms.
            kept = prod((slack.denominator - slack.numerator) ** n for slack, n in slacks)
            whole = prod(slack.denominator**n for slack, n in slacks)
            lost = Fraction(whole - kept, whole)
            return lost, lost

        def rest() -> arb:
            product = arb(1)
            for slack, n in slacks:
                product *= (1 - ball(slack)) ** n
            return 1 - product

        return enclose(rest)

    def releases(self, order: PairOrder | None = None) -> Releases:
        """Return the loss laws and the zCDP of the parts, slacks set aside; sampled laws need an order."""
        laws: dict[Summand, int] = {}
        rho, lenient = Fraction(0), False
        for part, n in self.parts:
            match part:
                case Concentrated(cost):
                    rho += n * cost
                case Pure(cost) | Approximate(cost):
                    law: Summand = ResponseLoss(cost)
                    laws[law] = laws.get(law, 0) + n
                case Profile(stated):
                    found = _standing(stated, order)
                    if found is None:
                        lenient = True
                        continue
                    law = ResponseLoss(found.cost) if isinstance(found, ResponseLoss) else found
                    laws[law] = laws.get(law, 0) + n
                case never:
                    assert_never(never)
        losing = tuple((law, n) for law, n in laws.items() if law.pure is None or law.pure)
        return Releases(losing, rho, lenient or any(_lenient(law) for law in laws))


Release = Guarantee | Composition | Mechanism


def compose(
    releases: Iterable[Release | tuple[Release, int]],
) -> Composition:
    """Return what the releases promise together.

    Each item is a guarantee, an earlier composition, or a mechanism (with its loss law if it states one, at
    the sensitivity it was made for), or a pair of one of these and a count.  A mechanism that does not know
    what it was made for is refused: compose its guarantee at a sensitivity that you name.
    """
    counted: dict[Guarantee, int] = {}
    for item in releases:
        source, count = item if isinstance(item, tuple) else (item, 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ParameterError(
                f"a release is made a whole number of times, at least once; got {shown(count)}"
            )
        for part, n in _parts_of(source):
            counted[part] = counted.get(part, 0) + n * count
    if not counted:
        raise ParameterError("there is nothing to compose: give at least one guarantee or mechanism")
    return Composition(tuple(counted.items()))


def _parts_of(source: object) -> tuple[tuple[Guarantee, int], ...]:
    if isinstance(source, Guarantee):
        return ((source, 1),)
    if not isinstance(source, type):
        if isinstance(source, Parted):
            return source.parts
        if isinstance(source, Profiled):
            return _parts_of(_stated(source.profile))
        if isinstance(source, Mechanism):
            return _parts_of(_stated(source.guarantee))
    raise ParameterError(
        f"only guarantees and mechanisms compose, got {type(source).__name__}; "
        "write m.profile(sensitivity) or m.guarantee(sensitivity) for a mechanism"
    )


def _stated(promise: object) -> object:
    """Return what a mechanism states of itself; one that must be told its sensitivity states nothing."""
    if not callable(promise):
        return promise
    try:
        signature(promise).bind()
    except TypeError:
        return promise
    return promise()


def _standing(law: Law, order: PairOrder | None) -> Summand | None:
    """Return what stands for a law in an order."""
    if order is not None:
        return summand(law, order)
    if isinstance(law, SampledLoss):
        raise ParameterError("a sampled release is known by its epsilon and delta only; ask compose for them")
    return law


def _left(delta: Fraction, slack: Fraction) -> Fraction:
    """Return what is left of delta where nothing is revealed whole: (delta - slack) / (1 - slack)."""
    a, b, c, d = delta.numerator, delta.denominator, slack.numerator, slack.denominator
    return Fraction(a * d - c * b, (d - c) * b) if slack else delta


def _slack_of(part: Guarantee, order: PairOrder | None) -> Fraction:
    match part:
        case Pure():
            return Fraction(0)
        case Approximate(slack=slack) | Concentrated(slack=slack):
            return slack
        case Profile(law):
            found = law if order is None else summand(law, order)
            return Fraction(0) if found is None else found.slack
        case never:
            assert_never(never)


def _lenient(law: Summand) -> bool:
    """Whether a law has finite losses and none above zero: taken for no loss at all it is only bounded."""
    return isinstance(law, AtomsLoss) and law.pure == 0 and any(p != q for p, q in law.atoms if q)


def _wanted(releases: Releases) -> tuple[Route, ...]:
    if not releases.tight:
        return BASIC, LAW, CONCENTRATED, RENYI
    return (OPTIMAL,) if isinstance(releases.exact, Responses) else (LAW,)


def _ordered(releases: Releases) -> tuple[Route, ...]:
    """Return the routes for one order alone; the others take what is said of a loss for both orders."""
    return (BASIC, RENYI) if releases.rho else (BASIC, LAW)


def _worse(orders: list[tuple[Bounds, Bounds]]) -> Bounds:
    """Return the bounds of the worse order, each given from above and from below."""
    low = max(below.low for _, below in orders)
    for above, _ in orders:
        if above.high is None:
            return Bounds(low, None, above.route, above.adaptive)
    worst = max((above for above, _ in orders), key=lambda bounds: bounds.high or Fraction(0))
    high = worst.high or Fraction(0)
    return Bounds(min(low, high), high, worst.route, worst.adaptive)


def _best(found: list[tuple[Route, Fraction | None]]) -> tuple[Route, Fraction | None]:
    valid = [(value, -rank, route) for rank, (route, value) in enumerate(found) if value is not None]
    if not valid:
        return found[0][0], None
    value, _, route = min(valid, key=lambda entry: entry[:2])
    return route, value
