"""The seal: a keyed hash chain, so that history cannot be edited by whoever can write to the store.

    mac(n) = HMAC-SHA256(key, label, ledger, dataset, n, mac(n - 1), body(n))

Every part is preceded by its length, so no two histories have the same input.  The body holds the digest of
the account after the entry, hence the running totals are under the seal too.  Without the key nobody can make
an entry, change one, reorder them or move them to another dataset or ledger; what remains possible is to cut
the end off, and that is what the anchor is for.

The key never enters the store.  It is 32 bytes, in hexadecimal, in the environment or in a file that only its
owner can read.
"""

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from discreet.errors import LedgerError

FIRST = bytes(32)
"""What stands for the mac before the first entry."""

BLOCK = 64
"""So many bytes SHA-256 takes at a time."""

SIZES = tuple(size.to_bytes(8, "big") for size in range(4096))
"""The lengths that stand before the parts of a message."""

KEY_VARIABLE = "DISCREET_LEDGER_KEY"


def seal(key: bytes, ledger: str, dataset: str, number: int, previous: bytes, body: str) -> bytes:
    """Return the mac of one entry."""
    return sealing(key, ledger, dataset)(number, previous, body.encode())


def mac_of(key: bytes, message: bytes) -> bytes:
    """Return the HMAC-SHA256 of a message."""
    return keyed(key)(message)


@lru_cache(1024)
def sealing(key: bytes, ledger: str, dataset: str) -> Callable[[int, bytes, bytes], bytes]:
    """Return what seals many entries of one dataset, each by its number, the mac before it and its body."""
    mac = keyed(key, framed(b"discreet ledger entry", ledger.encode(), dataset.encode()))

    def sealed(number: int, previous: bytes, body: bytes) -> bytes:
        digits, size = b"%d" % number, len(body)
        length = SIZES[size] if size < len(SIZES) else size.to_bytes(8, "big")
        return mac(b"".join((SIZES[len(digits)], digits, SIZES[len(previous)], previous, length, body)))

    return sealed


@lru_cache(1024)
def keyed(key: bytes, begin: bytes = b"") -> Callable[[bytes], bytes]:
    """Return HMAC-SHA256 under a key, prepared once for all messages, each of which begins like this."""
    padded = key if len(key) <= BLOCK else hashlib.sha256(key).digest()
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded.ljust(BLOCK, b"\0")) + begin).copy
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded.ljust(BLOCK, b"\0"))).copy

    def mac(message: bytes) -> bytes:
        first, second = inner(), outer()
        first.update(message)
        second.update(first.digest())
        return second.digest()

    return mac


def framed(*parts: bytes) -> bytes:
    """Return the parts as one, each preceded by its length, so that no other parts give the same."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)])


def sealed(
    key: bytes, ledger: str, dataset: str, number: int, previous: bytes, body: str, mac: bytes
) -> bool:
    """Return whether a mac is the one this entry must carry."""
    return hmac.compare_digest(seal(key, ledger, dataset, number, previous, body), mac)


def key_name(key: bytes) -> str:
    """Return a public name for a key, so that a wrong key is told apart from a forged ledger."""
    return hmac.digest(key, b"discreet ledger key name", hashlib.sha256).hex()[:16]


def load_key(source: bytes | Path | None, *, create: bool) -> bytes:
    """Return the key from bytes, a file, or the environment; make the file on first use if `create`."""
    match source:
        case bytes():
            return _long_enough(source, "the ledger key")
        case None:
            return _from_hex(os.environ.get(KEY_VARIABLE, ""), f"the environment variable {KEY_VARIABLE}")
        case Path():
            if create:
                _create(source)
            return _from_file(source)


def _from_file(path: Path) -> bytes:
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            if stat.S_IMODE(status.st_mode) & 0o077:
                raise LedgerError(f"the ledger key {path} can be read by others; run: chmod 600 {path}")
            if status.st_uid not in (0, os.geteuid()):
                raise LedgerError(
                    f"the ledger key {path} belongs to another user, who can read and exchange it; make it "
                    "your own, or the administrator's"
                )
            return _from_hex(file.read().strip(), f"the file {path}")
    except (OSError, UnicodeDecodeError):
        raise LedgerError(
            f"the ledger key {path} is missing or unreadable; bring the key that this ledger was created "
            "with, for nothing can be verified or spent without it"
        ) from None


def _create(path: Path) -> None:
    """Make a new key file whole or not at all, leaving one that exists as it is."""
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, secrets.token_hex(32).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        sync_directory(path.parent)
    except OSError as error:
        raise LedgerError(f"the ledger key {path} cannot be created: {error.strerror}") from None


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _from_hex(text: str, where: str) -> bytes:
    try:
        return _long_enough(bytes.fromhex(text), where)
    except ValueError:
        raise LedgerError(f"{where} must hold a key of 64 hexadecimal digits") from None


def _long_enough(key: bytes, where: str) -> bytes:
    if len(key) < 32:
        raise LedgerError(f"{where} must hold a key of at least 32 bytes (64 hexadecimal digits)")
    return key
