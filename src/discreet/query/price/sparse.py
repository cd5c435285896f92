"""A histogram of very many cells: each by itself, or blocks of like cells where rows are few.

With less than about one row times 1 / epsilon in a cell, nearly all that is released of single cells is
noise.  Whether that is so is learnt from a noisy total, within the price; if so, a split tree finds blocks of
cells that are alike, and their counts are released instead (see `discreet.workload.adaptive`, which proves
the price).

Intervals.  A cell of a block of several holds at most what the block holds, and never less than nothing.  Let
r be such that noise is below -r with probability beta at most: the block holds at most its noisy count + r,
and so does each cell, but for probability beta.  The partition is drawn before and with noise of its own, so
this holds whatever the partition is.  How wide it is depends on the blocks and is known with the answer only.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Any

from discreet.privacy.filter import Cost
from discreet.query.check.measurement import Checked, Declared, Measurement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.mechanisms.geometric import Geometric
    from discreet.workload import AdaptivePlan

FEWEST_CELLS = 1024
"""With fewer cells, each holds enough for blocks to hide more than they save."""

SHARPEST, FAINTEST = 16, Fraction(1, 10**9)
"""No data is sparse at a larger epsilon; at a smaller one for each unit no tree can be drawn."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """How a histogram is released whose cells one person moves by at most `plan.changes` in l1."""

    plan: "AdaptivePlan"

    name = "Geometric (cells, or blocks of like cells)"

    @property
    def reach(self) -> int:
        """How far one person moves the cells in l1."""
        return self.plan.changes

    @property
    def cost(self) -> Cost:
        """What one person can lose, whichever way is taken."""
        return self.plan.guarantee.price()

    @property
    def alone(self) -> "Geometric":
        """The noise of a cell where every cell is measured."""
        return self.plan.sums

    def holds(self, block: Fraction, width: int, beta: Fraction) -> tuple[Fraction, Fraction]:
        """Return what a cell of a block of this noisy count holds, in integer units, but for beta."""
        noise = self.plan.blocks
        if width == 1:
            radius = _reach(noise, beta)
            return max(block - radius, Fraction(0)), max(block + radius, Fraction(0))
        # Noise is as often below as above.
        return Fraction(0), max(block + _reach(noise, 2 * beta if 4 * beta < 1 else beta), Fraction(0))

    def release(self, counts: "NDArray[Any]") -> tuple[list[Fraction], tuple[int, ...]]:
        """Draw the noise, once: what is shown of each cell in integer units, and how wide its block is.

        There are no widths where every cell was measured.
        """
        import numpy as np

        from discreet.workload.adaptive import MeasuredBlocks, MeasuredSums

        match self.plan.measure(counts):
            case MeasuredBlocks(starts, blocks):
                widths = np.diff(np.append(starts, self.plan.cells)).tolist()
                pairs = [(int(count), width) for count, width in zip(blocks, widths, strict=True)]
                shown = [Fraction(count, width) for count, width in pairs for _ in range(width)]
                return shown, tuple(width for width in widths for _ in range(width))
            case MeasuredSums((alone,)):
                return [Fraction(int(count)) for count in alone], ()
            case _:
                raise TypeError("where only cells are asked, no sums of them are measured")

    def stored(self) -> str:
        """Return the promise as text: the same question always has the same."""
        return json.dumps(["sparse/1", self.plan.cells, str(self.plan.epsilon), self.plan.changes])


@lru_cache(maxsize=64)  # all blocks of an answer have the same
def _reach(noise: "Geometric", beta: Fraction) -> int:
    return noise.radius(beta)


def sparse(checked: Checked, measurement: Measurement, epsilon: Fraction) -> Sparse | None:
    """Return how a question is released whose cells are many and may be nearly empty; None for any other."""
    keys, reach = checked.keys, max(ceil(measurement.sensitivity.l1), 1)
    if not isinstance(keys, Declared) or len(keys.columns) != 1 or keys.columns[0].ends is None:
        return None
    if len(checked.measurements) != 1 or not measurement.counting or keys.size < FEWEST_CELLS:
        return None
    if not reach * FAINTEST <= epsilon <= SHARPEST:
        return None
    from discreet.workload import AdaptivePlan

    plan = AdaptivePlan.calibrate(epsilon=epsilon, cells=keys.size, sensitivity=reach, ranges=False)
    return Sparse(plan)
