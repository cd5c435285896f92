"""Concealing what the ledger has to remember but nobody may read: the state of a stream.

The state holds exact counts and the noise added to them, so it is as confidential as the data.  It is kept in
the store, where the ledger's promises hold, but encrypted and authenticated under a key of the stream's own,
derived from the ledger's key, which never enters the store:

    AES-256-GCM under HMAC-SHA256(key, label, ledger, dataset, reservation), with a random nonce of 96 bits

and the step bound to it.  With 2**26 steps the chance that two nonces of a stream are ever equal is below
2**-44.
"""

import hmac
import secrets

from discreet.errors import LedgerError
from discreet.ledger.chain import framed

NONCE = 12


def conceal(key: bytes, ledger: str, dataset: str, reservation: int, step: int, state: bytes) -> bytes:
    """Return a state so that only the holder of the ledger's key can read it."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE)
    cipher = AESGCM(_own_key(key, ledger, dataset, reservation))
    return nonce + cipher.encrypt(nonce, state, b"%d" % step)


def reveal(key: bytes, ledger: str, dataset: str, reservation: int, step: int, concealed: bytes) -> bytes:
    """Return the state that was concealed, or raise LedgerError if it is not that stream's at that step."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cipher = AESGCM(_own_key(key, ledger, dataset, reservation))
    try:
        return cipher.decrypt(concealed[:NONCE], concealed[NONCE:], b"%d" % step)
    except (InvalidTag, ValueError):
        raise LedgerError(
            f"the state of the stream that entry {reservation} of dataset {dataset} paid for is not its own; "
            "nothing may be released from it"
        ) from None


def _own_key(key: bytes, ledger: str, dataset: str, reservation: int) -> bytes:
    parts = b"discreet stream state", ledger.encode(), dataset.encode(), b"%d" % reservation
    return hmac.digest(key, framed(*parts), "sha256")
