"""Numbers that follow from released values: a digest of them, written on for as long as it is needed.

Records made up from released tables are dealt out in an order of no meaning, and the same answers must always
give the same records.  So the order comes from a digest of the answers and from nothing else: SHAKE-256
(FIPS 202) writes it on, on every machine alike.  Nothing is hidden by it and no noise is ever drawn from it;
whoever knows the answers can compute it all.
"""

from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError


class Expansion:
    """What follows from one digest, piece by piece; the same pieces in the same order each time."""

    __slots__ = ("_digest", "_pieces")

    def __init__(self, digest: bytes) -> None:
        if not isinstance(digest, bytes) or len(digest) < 32:
            raise ParameterError("an expansion needs a digest of 32 bytes or more")
        self._digest, self._pieces = digest, 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next piece as so many words of 64 bits."""
        piece = self._pieces.to_bytes(8, "big")
        self._pieces += 1
        return np.frombuffer(shake_256(piece + self._digest).digest(8 * count), dtype="<u8").astype(np.uint64)

    def fraction(self) -> float:
        """Return a number from 0 to below 1, evenly spread."""
        return float(self.words(1)[0] >> np.uint64(11)) / 2**53

    def order(self, size: int) -> NDArray[np.int64]:
        """Return the numbers below size in any order."""
        return np.argsort(self.words(size), kind="stable")

    def between(self, low: Any, high: Any) -> NDArray[np.int64]:
        """Return for each pair of ends a whole number from low to below high.

        All are as likely as each other up to (high - low) / 2**64.
        """
        starts = np.asarray(low, dtype=np.int64)
        widths = (np.asarray(high, dtype=np.int64) - starts).astype(np.uint64)
        return starts + (self.words(starts.size) % widths).astype(np.int64)
