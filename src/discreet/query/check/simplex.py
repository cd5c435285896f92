"""What follows from the corners of a simplex: counts, sums and moments, in natural units."""

from dataclasses import dataclass
from fractions import Fraction
from math import comb

from discreet.query.check.formula import Combination, Mean

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Simplex:
    """Where the corners of a simplex are measured, and what follows from them in natural units.

    Theorem.  With y = x - low, the term of number i of d in (y + (width - y))**d sums over rows to t_i, and
    the sum of x is the sum of (low + i width / d) t_i / width**d, because i / d times the i-th term of a
    binomial law has the sum y / width.
    """

    first: int
    degree: int
    low: Fraction
    width: Fraction
    complete: bool

    @property
    def high(self) -> Fraction:
        """The upper bound of values."""
        return self.low + self.width

    @property
    def corners(self) -> tuple[int, ...]:
        """The positions of the corners of rows with a value."""
        return tuple(range(self.first, self.first + self.degree + 1))

    @property
    def count(self) -> Combination:
        """The number of rows with a value."""
        return Combination(tuple((place, 1 / self.width**self.degree) for place in self.corners), counts=True)

    @property
    def rows(self) -> Combination:
        """The number of all rows."""
        places = range(self.first, self.first + self.degree + 1 + self.complete)
        return Combination(tuple((place, 1 / self.width**self.degree) for place in places), counts=True)

    @property
    def total(self) -> Combination:
        """The sum of the values."""
        nodes = [self.low + self.width * Fraction(number, self.degree) for number in range(self.degree + 1)]
        terms = zip(self.corners, (node / self.width**self.degree for node in nodes), strict=True)
        return Combination(tuple(terms))

    def moment(self, power: int) -> Mean:
        """Return the mean of a power of (x - low) / width.

        Theorem.  With z that fraction and i of d drawn from the binomial law of z, the mean of
        C(i, k) / C(d, k) is z**k: it is how likely k of the d draws, chosen at random, all succeed.
        """
        shares = (Fraction(comb(i, power), comb(self.degree, power)) for i in range(self.degree + 1))
        terms = zip(self.corners, (share / self.width**self.degree for share in shares), strict=True)
        total = Combination(tuple((place, by) for place, by in terms if by), counts=True)
        return Mean(total, self.count, ZERO, ONE)
