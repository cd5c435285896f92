"""Intervals that allow for what a limit of rows takes away, by the noisy count of people above it.

Setting.  In a group c people are above the limit; each takes from measurement i something between l_i and h_i
(`check.capping`).  C >= c but for a quarter of the risk, because the count is released with symmetric noise.

Theorem (sums).  If the measured value of sum a_i v_i lies in [x, y], its value without the limit lies between
x + C sum min(a_i l_i, a_i h_i) and y + C sum max(a_i l_i, a_i h_i).

Theorem (mean).  Let the measured mean lie in [x, y] and the measured number of rows be at least n > 0.
Without the limit at most K more rows count, all of them in [a, b], where K is what C people take from the
number of rows.  The mean is then a combination of a measured and a lost one, the lost one with a share of at
most f = K / (n + K); so it lies between (1 - f) x + f a and (1 - f) y + f b.

Theorem (variance).  With that share f, lost numbers in an interval of width R and v the measured variance,
the variance is (1 - f) v + f v' + f (1 - f) d^2, where v' is that of the lost numbers and d the distance of
both means.  It is at least (1 - f) v; and v' + d^2 is a mean square distance of numbers from a place of their
interval, at most R^2, so it is at most (1 - f) v + f R^2.  Both ends are extreme at the largest f.  That of
a sample is larger by N / (N - 1) for N rows, which is between 1 and n / (n - 1).

The risk is a quarter for C, a quarter for n where there are means or variances, and the rest for what is
measured; the parts of a formula share it as they do elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.query.check.formula import Formula, Mean, Public, Span, Variance, measured
from discreet.query.check.measurement import Capping

if TYPE_CHECKING:
    from discreet.query.price.expected import Quote

QUARTER = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Widening:
    """How the intervals of a formula's parts are widened; `beta` is the risk of the whole formula."""

    priced: "Quote"
    capping: Capping
    parts: Sequence[Formula]
    beta: Fraction

    @property
    def left(self) -> Fraction:
        """The risk that is left for what is measured."""
        return self.beta * (1 - QUARTER * (2 if self._ratios else 1))

    @property
    def _ratios(self) -> int:
        return sum(isinstance(part, Mean | Variance) for part in self.parts)

    def around(
        self, part: Formula, terms: Mapping[int, Fraction], found: Span, noisy: Mapping[int, Public]
    ) -> Span:
        """Return the interval of a part without the limit, from that of what is measured."""
        low, high = found
        if low is None or high is None:
            return found
        people = self._most(noisy)
        match part:
            case Mean():
                rows = self._rows(part, noisy)
                share = self._share(part, people, rows)
                return (1 - share) * low + share * part.low, (1 - share) * high + share * part.high
            case Variance():
                return self._spread(part, (low, high), people, noisy)
            case _:
                ends = [sorted(by * end for end in self.capping.lost[place]) for place, by in terms.items()]
                return low + people * sum(end[0] for end in ends), high + people * sum(end[1] for end in ends)

    def _most(self, noisy: Mapping[int, Public]) -> Fraction:
        """Return a number that the people above the limit do not exceed, but for a quarter of the risk."""
        # Symmetric noise is too small by more than a radius half as often as it is off by more.
        radius = self.priced.radius(self.capping.above, 2 * QUARTER * self.beta)
        if radius is None:
            raise AssertionError("the count of people above the limit has additive noise")
        return max(Fraction(noisy[self.capping.above]) + radius, Fraction(0))  # type: ignore[arg-type]

    def _rows(self, part: Mean | Variance, noisy: Mapping[int, Public]) -> Fraction:
        """Return a number of rows that are measured at least, but for a quarter of the risk in all."""
        risk = 2 * QUARTER * self.beta / self._ratios
        radius = self.priced.reach(dict(part.count.terms), risk)
        if radius is None:
            raise AssertionError("the number of rows of a mean has additive noise")
        return part.count.at(noisy) - radius

    def _share(self, part: Mean | Variance, people: Fraction, rows: Fraction) -> Fraction:
        """Return the largest share of rows that the limit may have taken away."""
        if rows <= 0:
            return Fraction(1)
        lost = people * sum(by * self.capping.lost[place][1] for place, by in part.count.terms)
        return lost / (rows + lost)

    def _spread(
        self, part: Variance, found: tuple[Fraction, Fraction], people: Fraction, noisy: Mapping[int, Public]
    ) -> Span:
        rows = self._rows(part, noisy)
        if rows <= 1:
            return Fraction(0), part.top
        share = self._share(part, people, rows)
        low, high = ((1 - share) * end for end in found)
        high += share * part.width**2
        if part.sample:
            low, high = low * (rows - 1) / rows, high * rows / (rows - 1)
        return low, max(min(high, part.top), low)


def widening(priced: "Quote", formula: Formula, parts: Sequence[Formula], beta: Fraction) -> Widening | None:
    """Return how a formula's interval is widened, None where nothing of it is lost by a limit."""
    capping = priced.checked.capping
    if capping is None or not any(any(capping.lost[place]) for place in measured(formula)):
        return None
    return Widening(priced, capping, parts, beta)
