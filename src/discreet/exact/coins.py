"""Fair coins that nobody can predict: a keystream keyed by the operating system.

Words come from AES-256 in counter mode under a key that the operating system draws for this
process.  The key is replaced after every gigabyte and in every forked child, so two processes never
share a word.  If the operating system cannot give a key, nothing is drawn: EntropyError, and no
weaker source takes over.  There is no seed: a generator that an outsider can reproduce offers no
privacy, whatever the mechanism on top of it proves.

Tests replace the source through `_using`, the one private seam, to enumerate coins or to force rare
branches; nothing else in the package touches it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from discreet.errors import EntropyError

Words = NDArray[np.unsignedinteger[Any]]

BLOCK = 16
POOL = 1 << 13
CHUNK = bytes(1 << 20)
REKEY_AFTER = 1 << 30


class Coins(Protocol):
    """A source of independent fair bits."""

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits."""

    def words(self, count: int, width: int) -> Words:
        """Return `count` independent uniform integers of `width` bits (at most 64)."""


class SystemCoins:
    """Coins from a keystream that only this process can compute."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._forget()

    def _forget(self) -> None:
        self._owner = 0
        self._stream: CipherContext | None = None
        self._drawn = 0
        self._pool = b""
        self._used = 0

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits."""
        size = (count + 7) // 8
        return int.from_bytes(self._bytes(size), "little") >> (8 * size - count)

    def words(self, count: int, width: int) -> Words:
        """Return `count` independent uniform integers of `width` bits (at most 64)."""
        container = next(c for c in (8, 16, 32, 64) if c >= width)
        whole: Words = np.frombuffer(self._bytes(count * container // 8), dtype=f"<u{container // 8}")
        return whole if container == width else whole >> np.uint8(container - width)

    def _bytes(self, size: int) -> bytes | NDArray[np.uint8]:
        with self._lock:
            self._mine()
            if size > POOL // 8:
                return self._keystream(size)
            if self._used + size > len(self._pool):
                self._pool = self._keystream(POOL).tobytes()
                self._used = 0
            self._used += size
            return self._pool[self._used - size : self._used]

    def _mine(self) -> None:
        # A child inherits its parent's memory; a keystream must never be used by both.
        if self._owner != os.getpid():
            self._forget()
            self._owner = os.getpid()

    def _keystream(self, size: int) -> NDArray[np.uint8]:
        if self._stream is None or self._drawn > REKEY_AFTER:
            self._stream = Cipher(AES(_fresh_key()), CTR(bytes(BLOCK))).encryptor()
            self._drawn = 0
        out = np.empty(size + BLOCK, dtype=np.uint8)
        view = out.data
        for start in range(0, size, len(CHUNK)):
            length = min(len(CHUNK), size - start)
            zeros = CHUNK if length == len(CHUNK) else CHUNK[:length]
            self._stream.update_into(zeros, view[start : start + length + BLOCK - 1])
        self._drawn += size
        return out[:size]


def _fresh_key() -> bytes:
    try:
        key = os.urandom(32)
    except (OSError, NotImplementedError):
        raise EntropyError(
            "the operating system's randomness is unavailable, so no noise can be drawn"
        ) from None
    if len(key) != 32:
        raise EntropyError("the operating system returned too little randomness, so no noise can be drawn")
    return key


_SYSTEM = SystemCoins()
_installed: Coins = _SYSTEM


def source() -> Coins:
    """Return the coins in force: the operating system's, except inside a test's `_using`."""
    return _installed


@contextmanager
def _using(coins: Coins) -> Iterator[None]:
    """Replace the source of coins while a test runs; answers drawn meanwhile are NOT PRIVATE."""
    global _installed
    before, _installed = _installed, coins
    try:
        yield
    finally:
        _installed = before
