"""Prices as a choice: every price of a grid is a candidate, scored by the money that it would bring.

Buyers are willing to pay whole numbers of cents, at most `cap`.  A price p brings R(p) = p times the number
of buyers willing to pay at least p; a price slightly too high may bring nothing, so noise on the best price
is no answer.  The score of p is floor(R(p) / unit).

Theorem (sensitivity).  One more buyer raises R(p) by p or not at all, so by 0 to cap, and raises the score
by at most ceil(cap / unit), never lowers it: the scores are monotone under add-remove.  Replacing a buyer
moves R(p) by at most cap in either direction.  Without a cap there would be no limit.

Between two neighbouring valuations the number of buyers is fixed and R is linear, so the prices of equal
score are intervals: n buyers give at most n (cap / unit + 2) levels, however many prices the grid has, and
the exponential mechanism selects among them exactly.  Rounding to units costs less than one unit of revenue.

References.  Digital goods auctions: McSherry, Talwar, FOCS 2007.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import shown, whole
from discreet.exact.perturb import SAFE, integers
from discreet.mechanisms.exponential import Levels
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity

MOST = 5_000_000
"""More levels than this are refused: a larger unit would serve as well."""


@dataclass(frozen=True, slots=True)
class Revenue:
    """The prices `low`, ..., `cap`, scored by revenue in whole units."""

    cap: int
    unit: int = 1
    low: int = 1

    def __post_init__(self) -> None:
        for name in ("cap", "unit", "low"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        if not 1 <= self.low <= self.cap:
            raise ParameterError(f"prices need 1 <= low <= cap, got low={self.low} and cap={self.cap}")
        if self.unit < 1:
            raise ParameterError(f"unit must be at least 1, got {shown(self.unit)}")

    def sensitivity(self, adjacency: Adjacency, buyers: int = 1) -> Sensitivity:
        """Return how far one unit, standing for at most `buyers` buyers, moves any price's score."""
        number = whole(buyers, "buyers")
        if number < 1:
            raise ParameterError(f"buyers must be at least 1, got {shown(buyers)}")
        match Adjacency.of(adjacency):
            case Adjacency.ADD_REMOVE | Adjacency.REPLACE:
                # Replacing moves the revenue by at most as much as adding, but in either direction.
                return Sensitivity.of(-(-self.cap * number // self.unit))

    def monotone(self, adjacency: Adjacency) -> bool:
        """Return whether one unit moves all scores the same way."""
        return Adjacency.of(adjacency) is Adjacency.ADD_REMOVE

    def levels(self, valuations: Any, counts: Any = None) -> Levels:
        """Return the levels of all prices for buyers with these valuations, each counted once or as told."""
        worth = integers(valuations)
        many = np.ones(worth.shape, dtype=np.int64) if counts is None else integers(counts)
        if worth.ndim != 1 or worth.shape != many.shape:
            raise ParameterError("valuations and counts must be two lists of the same length")
        if worth.size and (int(worth.min()) < 0 or int(many.min()) < 0):
            raise ParameterError("valuations and counts must not be negative")
        willing: dict[int, int] = {}
        for value, count in zip(worth, many, strict=True):
            capped = min(int(value), self.cap)
            willing[capped] = willing.get(capped, 0) + int(count)
        found = list(self._intervals(willing))
        scores, starts, ends = (list(column) for column in zip(*found, strict=True))
        sizes = [end - start + 1 for start, end in zip(starts, ends, strict=True)]
        return Levels(_array(scores), _array(sizes), _array(starts))

    def _intervals(self, willing: dict[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield (score, first price, last price), the prices in rising order."""
        buyers, bottom, made = sum(willing.values()), self.low, 0
        for value in sorted({*willing, self.cap}):
            if value >= bottom:
                first, last = bottom * buyers // self.unit, value * buyers // self.unit
                made += last - first + 1
                if made > MOST:
                    raise ParameterError(
                        f"unit {self.unit} makes too many levels of prices; use a larger one"
                    )
                for score in range(first, last + 1):
                    start, end = bottom, value
                    if buyers:
                        start = max(bottom, -(-score * self.unit // buyers))
                        end = min(value, -(-(score + 1) * self.unit // buyers) - 1)
                    if start <= end:
                        yield score, start, end
                bottom = value + 1
            buyers -= willing.get(value, 0)


def _array(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64 if max(values) < SAFE else object)
