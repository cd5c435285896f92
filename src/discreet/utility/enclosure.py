"""Channels at the true e**epsilon: every entry between two rationals.

The documents' mechanisms have a = e**-epsilon, which is never rational for a rational epsilon.  Here
each probability is computed as a ball of Arb that contains it and kept as a pair of rationals, so that
every figure derived from it comes with certified digits.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from discreet.errors import ParameterError
from discreet.exact.number import Real, ball, from_exact, positive, round_down, round_up
from discreet.mechanisms.table import Label

BITS = 192


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A finite channel whose entries lie between two rational matrices."""

    inputs: tuple[Label, ...]
    outputs: tuple[Label, ...]
    low: tuple[tuple[Fraction, ...], ...]
    high: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        for below, above in zip(self.low, self.high, strict=True):
            if sum(below, Fraction(0)) > 1 or sum(above, Fraction(0)) < 1:
                raise ParameterError("the bounds of a row exclude every law that sums to 1")


def enclosed(
    entry: Callable[[Label, Label], arb], inputs: Sequence[Label], outputs: Sequence[Label]
) -> Enclosure:
    """Return the channel with entries entry(input, output), each evaluated as a ball."""
    low, high = [], []
    with ctx.workprec(BITS):
        for truth in inputs:
            row = [entry(truth, answer) for answer in outputs]
            low.append(tuple(max(Fraction(0), from_exact(p.lower())) for p in row))
            high.append(tuple(from_exact(p.upper()) for p in row))
    return Enclosure(tuple(inputs), tuple(outputs), tuple(low), tuple(high))


def rounded(
    rows: Iterable[Sequence[Fraction]], inputs: Sequence[Label], outputs: Sequence[Label]
) -> Enclosure:
    """Return exact rows rounded outwards to a fixed number of bits, which keeps long fractions short."""
    low, high = [], []
    for row in rows:
        low.append(tuple(round_down(p, BITS) for p in row))
        high.append(tuple(round_up(p, BITS) for p in row))
    return Enclosure(tuple(inputs), tuple(outputs), tuple(low), tuple(high))


def geometric_enclosure(n: int, epsilon: Real, sensitivity: int = 1) -> Enclosure:
    """Return the truncated geometric mechanism on 0, ..., n at the true a = e**(-epsilon / sensitivity)."""
    rate = positive(epsilon, "epsilon") / sensitivity
    with ctx.workprec(BITS):
        power = [(-ball(rate * k)).exp() for k in range(n + 1)]
        a = (-ball(rate)).exp()
        end, inner = 1 / (1 + a), (1 - a) / (1 + a)
        law = {True: [end * p for p in power], False: [inner * p for p in power]}
    span = range(n + 1)
    if n == 0:
        return Enclosure((0,), (0,), ((Fraction(1),),), ((Fraction(1),),))
    return enclosed(lambda y, z: law[z in (0, n)][abs(int(z) - int(y))], span, span)


def exponential_enclosure(distances: Sequence[Sequence[int]], epsilon: Real, factor: Real = 2) -> Enclosure:
    """Return p(z|y) proportional to exp(-epsilon d(y, z) / factor): the exponential mechanism."""
    rate = positive(epsilon, "epsilon") / positive(factor, "factor")
    size = len(distances)
    with ctx.workprec(BITS):
        power = {d: (-ball(rate * d)).exp() for row in distances for d in row}
        total = [sum((power[d] for d in row), arb(0)) for row in distances]
    return enclosed(
        lambda y, z: power[distances[int(y)][int(z)]] / total[int(y)], range(size), range(len(distances[0]))
    )


def flip_enclosure(distances: Sequence[Sequence[int]], alpha: Fraction) -> Enclosure:
    """Return permute-and-flip for a distance d, where alpha**d is the chance that a candidate is accepted.

    The law is p(i) = a(i) * integral over t in [0, 1] of the product over j != i of (1 - a(j) t); each of
    these products is the product over all candidates divided by one factor, by synthetic division.
    """
    low, high = [], []
    size = len(distances[0])
    # Coefficients reach 2**size while their alternating sum stays below 1, so that many digits cancel.
    with ctx.workprec(BITS + 4 * size):
        power = {d: ball(alpha) ** d for row in distances for d in row}
        for row in distances:
            product = [arb(1)]
            for d in row:
                shifted = [arb(0), *(power[d] * c for c in product)]
                product = [c - s for c, s in zip([*product, arb(0)], shifted, strict=True)]
            law = {d: _flip_chance(product, power[d]) for d in set(row)}
            low.append(tuple(max(Fraction(0), from_exact(law[d].lower())) for d in row))
            high.append(tuple(from_exact(law[d].upper()) for d in row))
    return Enclosure(tuple(range(len(distances))), tuple(range(size)), tuple(low), tuple(high))


def _flip_chance(product: Sequence[arb], accepted: arb) -> arb:
    quotient, total = arb(0), arb(0)
    for k, coefficient in enumerate(product[:-1]):
        quotient = coefficient + accepted * quotient
        total += quotient / (k + 1)
    return accepted * total
