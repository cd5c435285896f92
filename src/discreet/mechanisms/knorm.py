"""K-norm noise on the integer lattice: the shape of the noise follows the moves that one person can cause.

Theorem.  Let f take integer vectors as values and let T be an invertible integer matrix such that one person
moves f by T u, with u an integer vector of norm at most s.  Release f + T Y, with Y an integer vector and

    Pr[Y = y] = a**|y| / C,       C the sum of a**|y| over the lattice.

By the triangle inequality the release is epsilon-private exactly when exp(epsilon) >= a**-s.  (A move that is
not T times an integer vector would leave the lattice of the noise: `norm` refuses it.)

Two norms.  For l1 the coordinates of Y are independent two-sided geometric variables, C = ((1+a)/(1-a))**d,
and with T the matrix of running sums this is noise on each item followed by summation: epsilon-private for
all prefixes together, where noise on each prefix would cost d times as much.  For l-infinity,

    C = (1-a) B,    B = sum over n >= 0 of (2n+1)**d a**n,

and Y is a uniform point of the cube {-n, ..., n}**d, with n drawn with probability (2n+1)**d a**n / B: a
point of norm m lies in all cubes with n >= m, which gives it probability a**m / ((1-a) B).  Since
B (1-a)**(d+1) is a polynomial in a with positive integer coefficients e_0, ..., e_d (Eulerian numbers of type
B), n is j plus the sum of d + 1 geometric variables, with j drawn with weight e_j a**j: exact at every step.

When useful.  When the moves of one person fill the ball.  Against independent noise calibrated to the l1 norm
of the same l-infinity moves, the mean error per coordinate is nearly halved.

References.  Hardt, Talwar, STOC 2010.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.choice import choose_powers
from discreet.exact.digits import power, proper_ratio
from discreet.exact.number import (
    Real,
    least_integer,
    listed,
    log_quotient,
    log_up,
    probability,
    shown,
    whole,
    word,
)
from discreet.exact.perturb import add, integers, narrow
from discreet.exact.sample import geometric, two_sided_geometric, uniform_below
from discreet.markup import built
from discreet.mechanisms.geometric import Geometric, ratio
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.guarantee import Pure
from discreet.privacy.sensitivity import Sensitivity

Ball = Literal["l1", "linf"]
Matrix = tuple[tuple[int, ...], ...]


MOST_DIMENSIONS = {"l1": 2**16, "linf": 2**8}
"""Beyond, the exact normaliser of a cube would take minutes, and independent noise serves as well."""


@dataclass(frozen=True, slots=True)
class KNorm:
    """Lattice noise with the norm of `ball`, seen through the invertible integer matrix `image`, if any."""

    alpha: Fraction
    dimension: int
    ball: Ball = "l1"
    image: Matrix | None = None
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "dimension", whole(self.dimension, "dimension"))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))
        word(self.ball, "ball", tuple(MOST_DIMENSIONS))
        if self.dimension < 1:
            raise ParameterError(f"dimension must be at least 1, got {shown(self.dimension)}")
        if self.dimension > MOST_DIMENSIONS[self.ball]:
            raise ParameterError(
                f"dimension must be at most {MOST_DIMENSIONS[self.ball]}, got {shown(self.dimension)}"
            )
        if self.image is not None:
            rows = tuple(
                tuple(whole(entry, "image") for entry in listed(row, "a row of image"))
                for row in listed(self.image, "image")
            )
            if len(rows) != self.dimension or any(len(row) != self.dimension for row in rows):
                raise ParameterError(f"image must be a square matrix with {self.dimension} rows")
            object.__setattr__(self, "image", rows)
            if _solve(rows, [0] * self.dimension) is None:
                raise ParameterError("image must be invertible")

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: Real,
        dimension: int,
        ball: Ball = "l1",
        image: Sequence[Sequence[int]] | None = None,
        sensitivity: Sensitivity | Real = 1,
    ) -> "KNorm":
        """Return the least noise that is epsilon-private when u has norm at most `sensitivity`."""
        rows = None if image is None else tuple(listed(row, "image") for row in listed(image, "image"))
        word(ball, "ball", tuple(MOST_DIMENSIONS))
        alpha = ratio(epsilon, _length(Sensitivity.of(sensitivity), ball))
        return cls(alpha, dimension, ball, rows, sensitivity=Sensitivity.of(sensitivity))

    def norm(self, move: Sequence[int]) -> Fraction:
        """Return the norm of u for the move T u, refusing moves off the lattice of the noise."""
        preimage = self._preimage(move)
        if any(entry.denominator != 1 for entry in preimage):
            raise ParameterError("this move is not an integer combination of the columns of image")
        sizes = [abs(entry) for entry in preimage]
        return max(sizes) if self.ball == "linf" else sum(sizes, Fraction(0))

    def pmf(self, noise: Sequence[int]) -> Fraction:
        """Return the probability that the noise T Y equals `noise`."""
        if any(entry.denominator != 1 for entry in self._preimage(noise)):
            return Fraction(0)
        return power(self.alpha, int(self.norm(noise))) / self.normaliser

    @property
    def normaliser(self) -> Fraction:
        """Return C, the sum of alpha**norm over the lattice."""
        if self.ball == "l1":
            return ((1 + self.alpha) / (1 - self.alpha)) ** self.dimension
        return (1 - self.alpha) * self._cubes

    @property
    def _cubes(self) -> Fraction:
        return power_series(lambda n: (2 * n + 1) ** self.dimension, self.dimension, self.alpha)

    def sample(self, values: Any) -> Any:
        """Return values + T Y for a vector, or for each row of an array of vectors."""
        exact = integers(values)
        if exact.ndim not in (1, 2) or exact.shape[-1] != self.dimension:
            raise ParameterError(f"values must be a vector, or rows, of {self.dimension} integers")
        rows = exact.reshape(-1, self.dimension)
        drawn = self._draw(len(rows))
        if self.image is not None:
            drawn = narrow(drawn.astype(object) @ np.array(self.image, dtype=object).T)
        return add(rows, drawn).reshape(exact.shape)

    def _draw(self, count: int) -> NDArray[Any]:
        size = self.dimension
        if self.ball == "l1":
            flat: NDArray[Any] = two_sided_geometric(self.alpha, count * size)
            return flat.reshape(count, size)
        weights = _eulerian(size)
        parts = geometric(self.alpha, count * (size + 1)).astype(object).reshape(count, size + 1).sum(axis=1)
        radii = [int(part) + choose_powers(self.alpha, range(size + 1), weights) for part in parts]
        points = [[int(x) - n for x in uniform_below(2 * n + 1, size)] for n in radii]
        return narrow(np.array(points, dtype=object).reshape(count, size))

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release when u has norm at most `sensitivity` in the norm of the ball."""
        return Pure(log_up(1 / self.alpha) * _length(moved(sensitivity, self.sensitivity, self), self.ball))

    def radius(self, beta: Real = "0.05", *, coordinate: int = 0) -> int:
        """Return the smallest r with Pr[|noise at `coordinate`| > r] <= beta."""
        stretch, terms = self._row(coordinate)
        if self.ball == "l1" and terms == 1:
            return stretch * Geometric(self.alpha).radius(beta)
        bound = probability(beta, "beta")
        guess = terms * log_quotient(bound, self.alpha)
        return stretch * least_integer(lambda r: self._beyond(r, terms) <= bound, guess)

    def mean_error(self, coordinate: int = 0) -> Fraction:
        """Return E|noise| at `coordinate`."""
        stretch, terms = self._row(coordinate)
        a, d = self.alpha, self.dimension
        if self.ball == "linf":
            total = power_series(lambda n: (2 * n + 1) ** (d - 1) * n * (n + 1), d + 1, a)
            return stretch * total / self._cubes
        return 2 * stretch * power_series(lambda k: k * _convolved(k, terms, a), terms, a)

    def variance(self, coordinate: int = 0) -> Fraction:
        """Return the variance of the noise at `coordinate`; the coordinates of Y are uncorrelated."""
        a, d = self.alpha, self.dimension
        weight = 1 if self.image is None else sum(entry**2 for entry in self.image[self._check(coordinate)])
        if self.ball == "l1":
            return weight * 2 * a / (1 - a) ** 2
        total = power_series(lambda n: (2 * n + 1) ** d * n * (n + 1), d + 2, a)
        return weight * total / (3 * self._cubes)

    def _beyond(self, r: int, terms: int) -> Fraction:
        a, d = self.alpha, self.dimension
        if self.ball == "linf":
            outer = power_series(lambda m: (2 * (r + m) + 1) ** (d - 1) * 2 * m, d, a)
            return power(a, r) * outer / self._cubes
        tail = power_series(lambda k: _convolved(r + 1 + k, terms, a), terms - 1, a)
        return 2 * power(a, r + 1) * tail

    def _row(self, coordinate: int) -> tuple[int, int]:
        """Return (stretch, terms): the coordinate is stretch times a signed sum of that many of Y's."""
        place = self._check(coordinate)
        if self.image is None:
            return 1, 1
        sizes = [abs(entry) for entry in self.image[place] if entry]
        if len(set(sizes)) == 1 and (self.ball == "l1" or len(sizes) == 1):
            return sizes[0], len(sizes)
        raise ParameterError(
            "the law of this coordinate has no closed form here: its row mixes entries of different size, or "
            "several entries of a cube; use variance"
        )

    def _check(self, coordinate: int) -> int:
        place = whole(coordinate, "coordinate")
        if not 0 <= place < self.dimension:
            raise ParameterError(
                f"coordinate must lie between 0 and {self.dimension - 1}, got {shown(coordinate)}"
            )
        return place

    def _preimage(self, vector: Sequence[int]) -> list[Fraction]:
        exact = [whole(entry, "vector") for entry in listed(vector, "vector")]
        if len(exact) != self.dimension:
            raise ParameterError(f"a vector of {self.dimension} integers is needed, got {len(exact)}")
        solution = [Fraction(entry) for entry in exact] if self.image is None else _solve(self.image, exact)
        if solution is None:
            raise ParameterError("image must be invertible")
        return solution


def running_sums(dimension: int) -> Matrix:
    """Return the matrix that turns items into their running sums."""
    return tuple(tuple(int(j <= i) for j in range(dimension)) for i in range(dimension))


def power_series(value: Callable[[int], Fraction | int], degree: int, ratio: Fraction) -> Fraction:
    """Return the sum over m >= 0 of p(m) ratio**m for a polynomial p, from its first degree + 1 values.

    In the basis of binomial coefficients, the sum of (m choose i) ratio**m is ratio**i / (1 - ratio)**(i+1),
    so with ratio = n / d and r = d - n it is d / r**(degree+1) times the sum of p's differences times
    n**i r**(degree-i): whole numbers, where p's values are.
    """
    differences = [value(m) for m in range(degree + 1)]
    rest = ratio.denominator - ratio.numerator
    total: Fraction | int = 0
    weight = 1
    for _ in range(degree + 1):
        total = total * rest + differences[0] * weight
        weight *= ratio.numerator
        differences = [after - before for before, after in itertools.pairwise(differences)]
    return total * Fraction(ratio.denominator, rest ** (degree + 1))


def _convolved(k: int, terms: int, a: Fraction) -> Fraction:
    """Return p(k) where Pr[sum = k] = a**k p(k), k >= 0, for a sum of two-sided geometric variables.

    Such a sum is the difference of two sums of `terms` one-sided variables, whose laws are negative
    binomial; the sum over the smaller one is again a polynomial times powers, of a**2.
    """
    n = terms - 1
    return (1 - a) ** (2 * terms) * power_series(lambda m: comb(m + n, n) * comb(m + k + n, n), 2 * n, a**2)


def _eulerian(dimension: int) -> list[int]:
    odd = [(2 * n + 1) ** dimension for n in range(dimension + 1)]
    return [
        sum((-1) ** i * comb(dimension + 1, i) * odd[j - i] for i in range(j + 1))
        for j in range(dimension + 1)
    ]


def _solve(matrix: Matrix, right: Sequence[int]) -> list[Fraction] | None:
    """Return the solution of matrix x = right by exact elimination; None when the matrix is singular."""
    size = len(matrix)
    rows = [[Fraction(entry) for entry in row] + [Fraction(b)] for row, b in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next((r for r in range(column, size) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for r in range(column + 1, size):
            if factor := rows[r][column] / rows[column][column]:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column], strict=True)]
    solution = [Fraction(0)] * size
    for r in reversed(range(size)):
        rest = sum((rows[r][c] * solution[c] for c in range(r + 1, size)), Fraction(0))
        solution[r] = (rows[r][size] - rest) / rows[r][r]
    return solution


def _length(change: Sensitivity, ball: Ball) -> Fraction:
    return change.linf if ball == "linf" else change.l1
