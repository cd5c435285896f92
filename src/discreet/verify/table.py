"""Finite laws given as tables: their distance, their worst ratio, and whether they are private.

Definition (epsilon-distance).  The largest of mu1(E) - exp(epsilon) mu2(E), its mirror image and 0 over all
events E; it is attained by the event of all outcomes where the difference is positive.
"""

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import exp_bounds
from discreet.verify.explore import Quotient, sum_quotients
from discreet.verify.integrate import UNIT, add, multiply, shifted, sign

Law = Mapping[Hashable, Quotient]
"""The probability of each outcome."""


def exceeds(here: Law, there: Law, epsilon: Fraction, delta: Fraction) -> bool:
    """Decide whether the positive parts of p - exp(epsilon) q add up to more than delta."""
    parts: list[Quotient] = []
    for output, mass in here.items():
        other = there.get(output, Quotient({}, UNIT))
        top = add(
            multiply(mass.numerator, other.denominator),
            shifted(multiply(other.numerator, mass.denominator), epsilon),
            -1,
        )
        if sign(top) > 0:
            parts.append(Quotient(top, multiply(mass.denominator, other.denominator)))
    whole = sum_quotients(parts)
    return sign(add(whole.numerator, whole.denominator, -delta)) > 0


Table = Mapping[Hashable, Mapping[Hashable, Fraction]]
"""For each input, the probability of each output."""


def worst_ratio(table: Table, pairs: Iterable[tuple[Hashable, Hashable]]) -> Fraction | None:
    """Return the largest p(o | a) / p(o | b) over the pairs in both orders, or None if it is infinite.

    The mechanism is epsilon-private exactly when exp(epsilon) is at least this ratio.
    """
    worst = Fraction(1)
    for a, b in pairs:
        for first, second in ((table[a], table[b]), (table[b], table[a])):
            for output, mass in first.items():
                other = second.get(output, Fraction(0))
                if mass > 0 and other == 0:
                    return None
                if mass > worst * other:
                    worst = mass / other
    return worst


def epsilon_distance(
    first: Mapping[Hashable, Fraction], second: Mapping[Hashable, Fraction], epsilon: Fraction
) -> tuple[Fraction, Fraction]:
    """Return rationals around the epsilon-distance of two finite laws."""
    if epsilon < 0:
        raise ParameterError("epsilon must not be negative")
    low, high = exp_bounds(epsilon)
    outcomes = {**first, **second}.keys()

    def excess(p: Mapping[Hashable, Fraction], q: Mapping[Hashable, Fraction], factor: Fraction) -> Fraction:
        zero = Fraction(0)
        return sum((max(p.get(o, zero) - factor * q.get(o, zero), zero) for o in outcomes), zero)

    def largest(factor: Fraction) -> Fraction:
        return max(excess(first, second, factor), excess(second, first, factor))

    return largest(high), largest(low)


def is_private(
    table: Table,
    pairs: Iterable[tuple[Hashable, Hashable]],
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
) -> bool:
    """Decide (epsilon, delta)-privacy of a mechanism given as a table of rational probabilities."""
    for a, b in pairs:
        for first, second in ((table[a], table[b]), (table[b], table[a])):
            laws = [
                {o: Quotient({Fraction(0): m} if m else {}, UNIT) for o, m in t.items()}
                for t in (first, second)
            ]
            if exceeds(laws[0], laws[1], epsilon, delta):
                return False
    return True
