"""Coins that repeat themselves, so that statistical tests give the same answer every time; NOT PRIVATE."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from discreet.exact.coins import _using


class SeededCoins:
    """A reproducible source of coins."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def bits(self, count: int) -> int:
        size = (count + 7) // 8
        return int.from_bytes(self._generator.bytes(size), "little") >> (8 * size - count)

    def words(self, count: int, width: int) -> np.ndarray:
        container = next(c for c in (8, 16, 32, 64) if c >= width)
        whole = np.frombuffer(self._generator.bytes(count * container // 8), dtype=f"<u{container // 8}")
        return whole if container == width else whole >> np.uint8(container - width)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Toss reproducible coins."""
    with _using(SeededCoins(seed)):
        yield
