"""Optimal composition of pure guarantees, summed term by term with certified rounding.

Theorem.  Let k releases be c_i-private and nothing else be known.  The smallest delta of the whole at
epsilon is that of independent randomised responses.  If c_i = n_i u for integers n_i and a common unit u,
let N be their sum, let Z be the product of (1 + exp(n_i u)), and let w_j be the number of subsets of the
releases with n_i summing to j, the coefficient of x**j in the product of (1 + x**n_i).  Then

    delta(epsilon) = 1/Z * sum over j of w_j max(exp(j u) - exp(epsilon + (N - j) u), 0).

Proof.  A pattern of truthful answers with n_i summing to j has probability exp(j u) / Z under one
neighbour and exp((N - j) u) / Z under the other, so all patterns with the same j have the same loss (2 j
- N) u.

For k equal costs w_j is a binomial coefficient.  In general the exact problem is #P-complete; with a
common unit it takes one product of integer polynomials.  Geometric noise on one count has the same law
with exp(-u) = alpha rational.

References.  Kairouz, Oh, Viswanath, ICML 2015; Murtagh and Vadhan, TCC 2016.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd, tanh

from flint import arb, fmpz_poly

from discreet.exact.number import ball, enclose
from discreet.privacy.loss import GeometricLoss, ResponseLoss, Summand

MOST_TERMS = 20_000
"""Longer sums are left to the loss-distribution route."""

_MOST_BITS = 2**28

FEW = 4
"""So few responses are written out pattern by pattern, whatever their costs have in common."""


@dataclass(frozen=True, slots=True)
class Responses:
    """Randomised responses with costs that are multiples of one unit: (multiple, how many)."""

    multiples: tuple[tuple[int, int], ...]
    unit: Fraction | None
    alpha: Fraction | None = None

    @classmethod
    def of(cls, laws: Sequence[tuple[Summand, int]]) -> "Responses | None":
        """Return the common form of the laws, or None if they have none or the sum would be too long."""
        responses = [(law.cost, n) for law, n in laws if isinstance(law, ResponseLoss)]
        if laws and len(responses) == len(laws):
            unit = reduce(_common, (cost for cost, _ in responses))
            found = cls(tuple((_times(cost, unit), n) for cost, n in responses), unit)
            return found if found._feasible() else None
        alphas = {law.alpha if isinstance(law, GeometricLoss) and law.shift == 1 else None for law, _ in laws}
        if len(alphas) == 1 and None not in alphas:
            found = cls(((1, sum(n for _, n in laws)),), None, alphas.pop())
            return found if found._feasible() else None
        return None

    @property
    def total(self) -> int:
        """Return N, the sum of all multiples."""
        return sum(multiple * n for multiple, n in self.multiples)

    def delta(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Return rationals around the smallest delta at this epsilon."""

        def curve() -> arb:
            total, x = arb(0), ball(epsilon).exp()
            for multiple, p, q in self._descending():
                above = self._compare(multiple, epsilon)
                if above is False:
                    break
                excess = p - x * q
                total += excess if above else arb(0, abs(excess).upper())
            return total

        if self._compare(self.total, epsilon) is False:
            return Fraction(0), Fraction(0)
        return enclose(curve)

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction]:
        """Return rationals around the smallest epsilon >= 0 at this delta > 0."""
        if not self._plainly_costs(delta) and self.delta(Fraction(0))[1] <= delta:
            return Fraction(0), Fraction(0)

        def crossing() -> arb:
            above = below = arb(0)
            level = ball(delta)
            for _, p, q in self._descending():
                # Between two losses the curve is above - exp(epsilon) below; look at it at the next loss, the
                # logarithm of p / q.
                there = above - p / q * below
                if there > level:
                    break
                if not there < level:
                    # The curve meets delta so near this loss that both pieces give the answer.
                    either = ((above - level) / below).log()
                    return either.union(((above + p - level) / (below + q)).log())
                above, below = above + p, below + q
            return ((above - level) / below).log()

        low, high = enclose(crossing)
        return max(low, Fraction(0)), max(high, Fraction(0))

    def _plainly_costs(self, delta: Fraction) -> bool:
        """Whether the dearest response alone has twice this delta at epsilon 0, which is tanh(cost / 2)."""
        if self.unit is None:
            return False
        dearest = max(multiple for multiple, _ in self.multiples)
        over, under = dearest * self.unit.numerator, self.unit.denominator
        return tanh(over / under / 2 if over < under else 0.5) > 2 * float(delta)

    def _compare(self, multiple: int, epsilon: Fraction) -> bool | None:
        """Return whether a loss of this many units exceeds epsilon, or None if too near to tell."""
        if self.unit is not None:
            return multiple * self.unit > epsilon
        loss, at = multiple * self._unit_ball(), ball(epsilon)
        return True if loss > at else False if loss < at else None

    def _unit_ball(self) -> arb:
        if self.unit is not None:
            return ball(self.unit)
        if self.alpha is None:
            raise AssertionError("responses have a unit or an alpha")
        return -ball(self.alpha).log()

    def _feasible(self) -> bool:
        count = sum(n for _, n in self.multiples)
        if len({multiple for multiple, _ in self.multiples}) == 1:
            return count <= MOST_TERMS
        return count <= FEW or (self.total <= 4 * MOST_TERMS and self.total * count <= _MOST_BITS)

    def _descending(self) -> Iterator[tuple[int, arb, arb]]:
        """Yield (loss in units, probability under P, under Q) from the largest loss down."""
        unit = self._unit_ball()
        lies = [(-multiple * unit).exp() for multiple, _ in self.multiples]
        if sum(n for _, n in self.multiples) <= FEW:
            yield from self._patterns(lies)
            return
        size = arb(1)
        for lie, (_, n) in zip(lies, self.multiples, strict=True):
            size *= (1 + lie) ** n
        p, q = 1 / size, (-self.total * unit).exp() / size
        if len(lies) == 1:
            yield from self._binomial(p, q, unit)
        else:
            yield from self._polynomial(p, q, unit)

    def _binomial(self, p: arb, q: arb, unit: arb) -> Iterator[tuple[int, arb, arb]]:
        multiple, count = self.multiples[0][0], sum(n for _, n in self.multiples)
        step = multiple * unit
        down, up = (-step).exp(), step.exp()
        for lies in range(count + 1):
            yield (count - 2 * lies) * multiple, p, q
            ratio = arb(count - lies) / (lies + 1)
            p, q = p * ratio * down, q * ratio * up

    def _patterns(self, lies: Sequence[arb]) -> Iterator[tuple[int, arb, arb]]:
        """Yield every pattern of truths and lies: under Q it is as likely as its opposite is under P."""
        found = [(0, arb(1))]
        for lie, (multiple, n) in zip(lies, self.multiples, strict=True):
            truth = 1 / (1 + lie)
            for _ in range(n):
                found = [(lost, p * truth) for lost, p in found] + [
                    (lost + multiple, p * truth * lie) for lost, p in found
                ]
        found.sort(key=_lost)
        total = self.total
        for (lost, p), (_, q) in zip(found, reversed(found), strict=True):
            yield total - 2 * lost, p, q

    def _polynomial(self, p: arb, q: arb, unit: arb) -> Iterator[tuple[int, arb, arb]]:
        ways = fmpz_poly([1])
        for multiple, n in self.multiples:
            ways *= fmpz_poly([1] + [0] * (multiple - 1) + [1]) ** n
        down, up = (-unit).exp(), unit.exp()
        for j, count in enumerate(ways.coeffs()):
            # The polynomial is symmetric, so counting lies from the top is the same as counting truths.
            if count:
                yield self.total - 2 * j, p * arb(count), q * arb(count)
            p, q = p * down, q * up


def _times(cost: Fraction, unit: Fraction) -> int:
    """Return how often the unit goes into a multiple of it, without a fraction in between."""
    return (cost.numerator * unit.denominator) // (cost.denominator * unit.numerator)


def _lost(pattern: tuple[int, arb]) -> int:
    return pattern[0]


def _common(left: Fraction, right: Fraction) -> Fraction:
    below = left.denominator * right.denominator
    return Fraction(gcd(left.numerator * right.denominator, right.numerator * left.denominator), below)
