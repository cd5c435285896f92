"""Signatures that anybody can check: what a receipt and the pinned name of an account are made of.

A mac convinces only who holds the ledger's key.  A receipt is therefore also signed (Ed25519, RFC 8032)
with a key derived from the ledger's; the public half stands in the account's name, which the manifest pins.
So a third party who has a receipt, the manifest and a look at the ledger, but no key, can tell whether the
ledger still holds what it once confirmed.
"""

import base64
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.chain import framed
from discreet.ledger.entry import Receipt


@dataclass(frozen=True, slots=True)
class Name:
    """The name of one account: its ledger, the seal of its first entry, and whose signatures to trust."""

    ledger: str
    first: str
    public: str

    def __str__(self) -> str:
        return f"{self.ledger}.{self.first}.{self.public}"

    @property
    def short(self) -> str:
        """Return enough of the name to recognise it."""
        return f"{self.ledger[:8]}.{self.first[:8]}"

    @classmethod
    def parse(cls, text: str) -> "Name":
        """Return the name that was printed as `text`."""
        parts = text.split(".")
        if len(parts) != 3 or not all(parts):
            raise ParameterError("the name of an account reads LEDGER.SEAL.PUBLIC-KEY; this text does not")
        return cls(*parts)


@lru_cache(256)  # the signature of a receipt is always the same, and repeats ask for it again
def signed(key: bytes, receipt: Receipt) -> Receipt:
    """Return a receipt with the ledger's signature."""
    signature = _private(key).sign(_text(receipt))
    text = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    return Receipt(receipt.ledger, receipt.dataset, receipt.number, receipt.mac, text)


def public_name(key: bytes) -> str:
    """Return the public half of the key that signs receipts."""
    return str(_private(key).public_key().public_bytes_raw().hex())


def check_signature(public: Iterable[str], receipt: Receipt) -> None:
    """Raise LedgerError unless a receipt was signed by the ledger that has, or had, one of these names."""
    if not any(_signed_by(name, receipt) for name in public):
        raise LedgerError("this receipt was not signed by the ledger that is asked: it proves nothing")


def _signed_by(public: str, receipt: Receipt) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = base64.urlsafe_b64decode(receipt.signature + "=" * (-len(receipt.signature) % 4))
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, _text(receipt))
    except (InvalidSignature, ValueError):
        return False
    return True


@lru_cache(16)
def _private(key: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(hmac.digest(key, b"discreet receipt signature", "sha256"))


def _text(receipt: Receipt) -> bytes:
    place = receipt.ledger.encode(), receipt.dataset.encode(), b"%d" % receipt.number
    return framed(b"discreet receipt", *place, receipt.mac.encode())
