"""Time as arithmetic: when an answer may leave, and how often somebody may ask.  A clock is an argument."""

import math
from collections import OrderedDict
from dataclasses import dataclass, field

REMEMBERED = 10_000


def until_slot(elapsed: float, slot: float) -> float:
    """Return how long to wait until the next multiple of `slot` after a request came, 0 without slots.

    What takes longer than its slot leaves at the end of a later one: an observer learns the number of slots
    and nothing finer.
    """
    if slot <= 0:
        return 0.0
    return max(math.ceil(elapsed / slot), 1) * slot - elapsed


@dataclass(frozen=True, slots=True)
class Rates:
    """So many requests a second, or whatever else is counted, for each name; `burst` after a pause."""

    rate: float
    burst: float
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, name: str, at: float, count: float = 1) -> float:
        """Return 0 and count a request, or return after how many seconds to come again."""
        level, before = self._levels.pop(name, (self.burst, at))
        level = min(self.burst, level + max(at - before, 0.0) * self.rate)
        admitted = level >= count
        self._levels[name] = (level - count if admitted else level, at)
        if len(self._levels) > REMEMBERED:
            self._levels.popitem(last=False)
        return 0.0 if admitted else (count - level) / self.rate
