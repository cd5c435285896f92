"""Renyi costs on one fixed ladder of orders: what filters add up besides epsilons and rhos.

A release whose Renyi divergence of order 1 + t is at most r(t), both ways between neighbours, costs r(t) at
the rung t.  Which rungs matter depends on the budget, and limits may be set late; so sums are kept on all
rungs, which are the same for all budgets and for ever, since stored sums mean nothing without them.

Theorem.  A release that is epsilon-private and rho-zCDP costs at most, at the rung t,

    min((1 + t) rho,  epsilon - (ln(1 + exp(-epsilon)) - ln(1 + exp(-(2 t + 1) epsilon))) / t).

Proof.  The first is the definition of zCDP.  The second is ln(cosh((t + 1/2) epsilon) / cosh(epsilon / 2))
/ t, the divergence of randomised response, of which every epsilon-private pair is a post-processing.

Theorem (superadditive).  With w(epsilon) the second bound, w(a) + w(b) <= w(a + b).
Proof.  Randomised response at a and at b together is a + b-private, and its divergence is w(a) + w(b).
So a sum of releases of which only the total epsilon is remembered is never counted for too little.

References.  Mironov, CSF 2017.  Randomised response dominates: Kairouz, Oh, Viswanath, ICML 2015.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from discreet.exact.number import ball, enclose

OCTAVES = 15
RUNGS = tuple(Fraction(step * 2**octave, 64) for octave in range(OCTAVES) for step in (32, 38, 45, 54))
"""The orders less one: from 1/2 to 13824, four to each doubling."""

UNIT = 2**64
"""Costs at a rung are whole numbers of 1/UNIT, rounded up."""

_BITS = 192
"""Divergences are computed to many more bits than a unit has, whatever the epsilon."""


_ORDERS = tuple(1 + t for t in RUNGS)
_BALLS = tuple((ball(2 * t + 1), ball(t)) for t in RUNGS)
"""Rungs are exact at any precision: each is a few bits long."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Renyi costs of some releases together: order times `plain`, and the `steps` at each rung, if any."""

    plain: Fraction
    steps: tuple[int, ...] = ()

    def __add__(self, other: "Curve") -> "Curve":
        if not self.steps or not other.steps:
            return Curve(self.plain + other.plain, self.steps or other.steps)
        return Curve(self.plain + other.plain, tuple(map(int.__add__, self.steps, other.steps)))

    def times(self, number: int) -> "Curve":
        """Return the cost of so many such releases."""
        return Curve(number * self.plain, tuple(number * step for step in self.steps))

    def at(self, rung: int) -> Fraction:
        """Return the Renyi cost at one rung, of which there are len(RUNGS)."""
        rest = Fraction(self.steps[rung], UNIT) if self.steps else Fraction(0)
        return rest + (1 + RUNGS[rung]) * self.plain


@lru_cache(maxsize=4096)
def curve_of(epsilon: Fraction | None, rho: Fraction) -> Curve:
    """Return the Renyi costs of one release that is epsilon-private, unless that is None, and rho-zCDP."""
    if epsilon is None or epsilon == 0 or rho == 0:
        return Curve(Fraction(0) if epsilon == 0 else rho)
    plain = (_units(order * rho) for order in _ORDERS)
    return Curve(Fraction(0), tuple(map(min, plain, _responses(epsilon, _BALLS))))


def response_up(epsilon: Fraction, t: Fraction) -> Fraction:
    """Return the Renyi divergence of order 1 + t of every epsilon-private release, rounded up to a unit."""
    with ctx.workprec(_BITS):
        rung = ball(2 * t + 1), ball(t)
    return Fraction(_responses(epsilon, (rung,))[0], UNIT)


def _responses(epsilon: Fraction, rungs: tuple[tuple[arb, arb], ...]) -> list[int]:
    """Return that divergence in units, for the balls of 2 t + 1 and t of each rung."""
    most = _units(epsilon)
    with ctx.workprec(_BITS):
        e = ball(epsilon)
        own = (-e).exp().log1p()
        found = [((e - (own - (-odds * e).exp().log1p()) / t) * UNIT).upper() for odds, t in rungs]
    return [min(_ceiling(divergence), most) for divergence in found]


def _ceiling(exact: arb) -> int:
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return mantissa << exponent if exponent >= 0 else -(-mantissa >> -exponent)


@lru_cache(maxsize=256)
def pure_within(left: Fraction, t: Fraction) -> Fraction:
    """Return the largest epsilon, to 60 bits, whose cost at a rung is at most `left`."""
    if left <= 0:
        return Fraction(0)
    most = left.numerator * UNIT // left.denominator
    # The divergence lies between epsilon and epsilon - ln(2) / t.
    low, high = Fraction(0), left + 1 / t
    for _ in range(60 + max(0, high.numerator.bit_length() - high.denominator.bit_length())):
        middle = (low + high) / 2
        low, high = (middle, high) if response_up(middle, t) * UNIT <= most else (low, middle)
    return low


def most_at(epsilon: Fraction, delta: Fraction, t: Fraction) -> Fraction:
    """Return the largest Renyi cost of order 1 + t that converts to (epsilon, delta), rounded down."""

    def value() -> arb:
        order = 1 + ball(t)
        log_c = ball(t) * (1 - 1 / order).log() - order.log()
        return ball(epsilon) + (ball(delta).log() - log_c) / ball(t)

    return enclose(value, 80)[0]


def _units(cost: Fraction) -> int:
    return -(-cost.numerator * UNIT // cost.denominator)
