"""Fair coins that nobody can predict: a keystream keyed by the operating system.

Words come from AES-256 in counter mode under a key that the operating system draws for this thread of
this process.  The key is replaced after every gigabyte and in every forked child, so two processes never
share a word.  If the operating system cannot give a key, nothing is drawn: EntropyError, and no weaker
source takes over.  There is no seed: a generator that an outsider can reproduce offers no privacy,
whatever the mechanism on top of it proves.

Tests replace the source through `_using`, the one private seam, to enumerate coins or to force rare
branches; nothing else in the package touches it.
"""

import os
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from discreet.errors import EntropyError
from discreet.exact.process import this_process

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


class Keystream:
    """The keystream of one thread in one process.

    Nothing is locked, so a fork leaves nothing locked behind.  A stream that an exception or a signal
    interrupted in the middle of a draw stays busy, and whoever draws next takes another one.
    """

    __slots__ = ("busy", "cipher", "drawn", "pool", "process", "stock", "used")

    def __init__(self) -> None:
        self.process = this_process()
        self.busy = False
        self.cipher: CipherContext | None = None
        self.drawn = 0
        self.pool = b""
        self.used = 0
        self.stock: dict[Hashable, list[int]] = {}

    def take(self, size: int) -> bytes | NDArray[np.uint8]:
        """Return bytes that nobody else gets."""
        self.busy = True
        taken = self._generate(size) if size > POOL // 8 else self._from_pool(size)
        self.busy = False
        return taken

    def _from_pool(self, size: int) -> bytes:
        if self.used + size > len(self.pool):
            self.pool = self._generate(POOL).tobytes()
            self.used = 0
        start = self.used
        self.used = start + size
        return self.pool[start : start + size]

    def _generate(self, size: int) -> NDArray[np.uint8]:
        if self.cipher is None or self.drawn > REKEY_AFTER:
            self.cipher = Cipher(AES(_fresh_key()), CTR(bytes(BLOCK))).encryptor()
            self.drawn = 0
        out = np.empty(size + BLOCK, dtype=np.uint8)
        view = out.data
        for start in range(0, size, len(CHUNK)):
            length = min(len(CHUNK), size - start)
            zeros = CHUNK if length == len(CHUNK) else CHUNK[:length]
            self.cipher.update_into(zeros, view[start : start + length + BLOCK - 1])
        self.drawn += size
        return out[:size]


class SystemCoins:
    """Coins from keystreams that only this process can compute."""

    def __init__(self) -> None:
        self._local = local()

    def bits(self, count: int) -> int:
        """Return a uniform integer of `count` bits."""
        size = (count + 7) // 8
        return int.from_bytes(self._mine().take(size), "little") >> (8 * size - count)

    def words(self, count: int, width: int) -> Words:
        """Return `count` independent uniform integers of `width` bits (at most 64)."""
        container = 8 if width <= 8 else 16 if width <= 16 else 32 if width <= 32 else 64
        whole: Words = np.frombuffer(self._mine().take(count * container // 8), dtype=f"<u{container // 8}")
        if container == width:
            return whole
        # Many bytes are nobody else's and are changed in place; a few are part of a pool.
        return np.right_shift(
            whole, np.uint8(container - width), out=whole if whole.flags.writeable else None
        )

    def stock(self) -> dict[Hashable, list[int]]:
        """Return what was drawn ahead from this keystream, by law: it is nobody else's."""
        return self._mine().stock

    def _mine(self) -> Keystream:
        stream: Keystream | None = getattr(self._local, "stream", None)
        if stream is None or stream.busy or stream.process is not this_process():
            stream = self._local.stream = Keystream()
        return stream


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


SYSTEM = SystemCoins()
_installed: Coins = SYSTEM


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
