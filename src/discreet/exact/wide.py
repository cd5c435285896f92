"""Arrays of integers that 64 bits do not hold: k = head 2**bits + rest, where 0 <= rest < 2**bits.

Theorem (one rounding).  Let x = u 2**bits + v with integers u and v.  If u, v, head + u and rest + v are less
than 2**53 in size, they are floats, and so is (head + u) 2**bits.  Hence

    (head + u) 2**bits + (rest + v),

added in floats, is rounded once, to nearest: it is the float nearest to k + x, one and the same for one sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HELD = 2**51
"""Parts below this can be added to others below it in floats."""


@dataclass(frozen=True, slots=True)
class Wide:
    """An array of integers in two parts; the rests are int64, or Python integers where they are longer."""

    head: NDArray[np.int64]
    rest: NDArray[Any]
    bits: int

    def __getitem__(self, some: slice) -> "Wide":
        """Return some of them."""
        return Wide(self.head[some], self.rest[some], self.bits)

    def integers(self) -> NDArray[Any]:
        """Return the integers: int64 if that holds all of them with room to spare, else Python integers."""
        if self.bits <= 62 and self._below(1 << (62 - self.bits)):
            return np.asarray((self.head << self.bits) + self.rest)
        return np.asarray((self.head.astype(object) << self.bits) + self.rest.astype(object))

    @property
    def held(self) -> bool:
        """Whether their parts are such that floats can add others to them."""
        return 1 << self.bits <= HELD and self._below(HELD)

    def plus(self, whole: Floats) -> Floats:
        """Return the floats nearest to the sums of these, which are held, and integers below 2**(51+bits)."""
        scale = 2.0**self.bits
        upper = self.head.astype(np.float64)
        if max(whole.max(initial=0), -whole.min(initial=0)) >= HELD:
            above = np.floor(whole / scale)
            whole = whole - above * scale
            upper += above
        upper *= scale
        upper += whole + self.rest
        return upper

    def _below(self, most: int) -> bool:
        return bool(self.head.min(initial=0) >= -most and self.head.max(initial=0) < most)
