"""Changing the key: the entry that says so is the first that the new key seals.

The key before stays in the ledger, concealed under the new one, so whoever holds the newest key can check
everything from the beginning, and nobody needs to keep an old key.  An old key that became known to others
seals nothing any more: each entry is checked under the key that was in force at its number, and no other.
What it sealed before stays as it was, since the first entry under the new key covers the mac of the last one
under the old.
"""

import hmac
import secrets
from collections.abc import Iterable

from discreet.errors import LedgerError
from discreet.ledger.chain import framed

NONCE = 12


def conceal_key(key: bytes, ledger: str, dataset: str, number: int, former: bytes) -> bytes:
    """Return a former key so that only the holder of the one after it can read it."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE)
    return nonce + AESGCM(_own_key(key)).encrypt(nonce, former, _place(ledger, dataset, number))


def earlier_keys(
    key: bytes, ledger: str, former: Iterable[tuple[str, int, bytes]]
) -> dict[str, tuple[tuple[int, bytes], ...]]:
    """Return the keys before the present one, newest first, each with the first entry it did not seal."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    found: dict[str, tuple[tuple[int, bytes], ...]] = {}
    for dataset, number, concealed in former:
        newer = found[dataset][-1][1] if dataset in found else key
        try:
            place = _place(ledger, dataset, number)
            older = AESGCM(_own_key(newer)).decrypt(concealed[:NONCE], concealed[NONCE:], place)
        except (InvalidTag, ValueError):
            raise LedgerError(
                f"a former key of dataset {dataset} was edited or exchanged, so its older entries cannot be "
                "checked; restore the newest intact copy of the ledger"
            ) from None
        found[dataset] = (*found.get(dataset, ()), (number, older))
    return found


def _own_key(key: bytes) -> bytes:
    return hmac.digest(key, b"discreet former key", "sha256")


def _place(ledger: str, dataset: str, number: int) -> bytes:
    return framed(ledger.encode(), dataset.encode(), b"%d" % number)
