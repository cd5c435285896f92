"""Quantiles as a choice: every value of a declared grid is a candidate, scored by its distance in rank.

Let n records lie on a grid of N values 0, ..., N-1, and let below(x) and upto(x) count the records < x and
<= x.  For a target rank t = q n + o, with q in [0, 1] and a public offset o, the value x is a perfect answer
when below(x) <= t <= upto(x).  With b a common denominator of q and o, the integer score is

    score(x) = -max(0,  b below(x) - b t,  b t - b upto(x)).

Theorem (sensitivity).  Adding one record raises n by 1 and below(x), upto(x) by 0 or 1 each, so each of the
two differences moves by b (1 - q) up or by b q down, or the reverse, and the maximum of functions moves no
more than the functions do: one record moves any score by at most b max(q, 1 - q), and m records by m times
that.  When up to m records are replaced by up to m others, the moves add up to at most b m.

Between two occupied grid values all candidates score the same, so n records give at most 2 n + 1 levels
whatever the size of the grid, and the exponential mechanism selects among them exactly.

A minimum is q = 0 and a maximum is q = 1, where the offset matters: the score cannot tell values below all
records apart, so aim o records inside, o near ln(N) / epsilon, to be likely to land among the records.

References.  Selection by rank: Smith, STOC 2011; Gillenwater, Joseph, Kulesza, ICML 2021.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.number import Real, rational, shown, whole
from discreet.exact.perturb import integers
from discreet.mechanisms.exponential import Levels
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity

SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Quantile:
    """The target rank q n + offset among n records."""

    quantile: Fraction
    offset: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", rational(self.quantile, "quantile"))
        object.__setattr__(self, "offset", rational(self.offset, "offset"))
        if not 0 <= self.quantile <= 1:
            raise ParameterError(f"quantile must lie between 0 and 1, got {shown(self.quantile)}")

    @classmethod
    def of(cls, quantile: Real, offset: Real = 0) -> "Quantile":
        """Return the target from numbers as a user writes them: Quantile.of(0.5) is the median."""
        return cls(rational(quantile, "quantile"), rational(offset, "offset"))

    @property
    def unit(self) -> int:
        """Return b, the number of score units in one rank."""
        return lcm(self.quantile.denominator, self.offset.denominator)

    def sensitivity(self, adjacency: Adjacency, records: int = 1) -> Sensitivity:
        """Return how far one unit, holding at most `records` records, moves any candidate's score."""
        number = whole(records, "records")
        if number < 1:
            raise ParameterError(f"records must be at least 1, got {shown(records)}")
        match Adjacency.of(adjacency):
            case Adjacency.ADD_REMOVE:
                each = self.unit * max(self.quantile, 1 - self.quantile)
            case Adjacency.REPLACE:
                each = Fraction(self.unit)
        return Sensitivity.of(each * number)

    def levels(self, positions: Any, counts: Any, size: int) -> Levels:
        """Return the levels of a grid of `size` values with `counts` records at increasing `positions`.

        No records at all is fine: every value of the grid is then equally good.
        """
        where, many = integers(positions), integers(counts)
        if where.ndim != 1 or where.shape != many.shape:
            raise ParameterError("positions and counts must be two lists of the same length")
        size = whole(size, "size")
        if size < 1:
            raise ParameterError(f"the grid must hold at least one value, got {shown(size)}")
        if where.size and (int(many.min()) < 0 or not _increasing(where, size)):
            raise ParameterError(
                "positions must increase strictly inside the grid, and counts not be negative"
            )
        wide = size >= SAFE or self.unit * (sum(many.tolist()) + abs(int(self.offset)) + 1) >= SAFE
        kind: Any = object if wide else np.int64
        where, many = where.astype(kind), many.astype(kind)
        upto = np.cumsum(many, dtype=kind) if many.size else many
        records = int(upto[-1]) if upto.size else 0
        # A level for each occupied value, between a level for each gap before, between and after them.
        starts = _interleave(np.concatenate([[0], where + 1]).astype(kind), where)
        ends = np.concatenate([starts[1:], np.array([size], dtype=kind)])
        around = np.concatenate([np.zeros(1, dtype=kind), upto])
        target = self.unit * self.quantile * records + self.unit * self.offset
        above = self.unit * _interleave(around, around[:-1]) - int(target)
        short = int(target) - self.unit * _interleave(around, around[1:])
        scores = -np.maximum(np.maximum(above, short), 0)
        sizes = ends - starts
        held = sizes > 0
        return Levels(scores[held], sizes[held], starts[held])


def _interleave(outer: NDArray[Any], inner: NDArray[Any]) -> NDArray[Any]:
    woven = np.empty(outer.size + inner.size, dtype=outer.dtype)
    woven[0::2], woven[1::2] = outer, inner
    return woven


def _increasing(positions: NDArray[Any], size: int) -> bool:
    inside = int(positions[0]) >= 0 and int(positions[-1]) < size
    return inside and bool(np.all(positions[1:] > positions[:-1]))
