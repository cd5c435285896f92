"""SCRAM-SHA-256 (RFC 5802, RFC 7677), the server's side: a token is proved without being sent or kept.

What is kept of a token is a verifier.  Whoever steals it can guess tokens against it, of which there are
2**256, and cannot log in with it.  With channel binding (RFC 5929, tls-server-end-point) the proof also
covers the certificate that the client saw, so nobody can stand between the two with another one.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from dataclasses import dataclass

ITERATIONS = 4096
"""The least that clients expect; there is nothing to guess in a token, so nothing to slow down."""

PLAIN = "SCRAM-SHA-256"
BOUND = "SCRAM-SHA-256-PLUS"
_END_POINT = "tls-server-end-point"


class Unproved(Exception):  # noqa: N818
    """The other side has not shown that it has the token, or did not keep to the protocol."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """What is kept of a token: enough to check a proof, and to prove that one knows it."""

    stored: bytes
    server: bytes


def verifier(token: str, salt: bytes) -> Verifier:
    """Return what is kept of a token."""
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, ITERATIONS)
    key = hmac.digest(salted, b"Client Key", "sha256")
    return Verifier(hashlib.sha256(key).digest(), hmac.digest(salted, b"Server Key", "sha256"))


def salt_of(secret: bytes, name: str) -> bytes:
    """Return the salt of a name: the same each time, and as good as random, whether anybody has the name."""
    return hmac.digest(secret, b"salt " + name.encode(), "sha256")[:16]


NOBODY = Verifier(hashlib.sha256(b"nobody").digest(), hashlib.sha256(b"nobody either").digest())


@dataclass(frozen=True, slots=True)
class Challenge:
    """The exchange after the client's first message; `binding` is what its last one must repeat."""

    bare: str
    said: str
    nonce: str
    binding: bytes

    @property
    def first(self) -> bytes:
        """Return the server's first message."""
        return self.said.encode()

    def prove(self, last: bytes, kept: Verifier | None) -> bytes:
        """Return the server's last message, or raise Unproved; the work is the same for nobody."""
        known = NOBODY if kept is None else kept
        without, proof, fields = _last(last)
        covered = f"{self.bare},{self.said},{without}".encode()
        signature = hmac.digest(known.stored, covered, "sha256")
        key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        right = hmac.compare_digest(hashlib.sha256(key).digest(), known.stored)
        same = fields.get("r") == self.nonce and _decoded(fields.get("c", "")) == self.binding
        if not (right and same) or kept is None:
            raise Unproved("the proof does not hold")
        return b"v=" + base64.b64encode(hmac.digest(known.server, covered, "sha256"))


def challenge(mechanism: str, first: bytes, salt: bytes, end_point: bytes | None) -> Challenge:
    """Return the answer to the first message; `end_point` is the hash of our certificate over TLS."""
    try:
        said = first.decode()
    except UnicodeDecodeError:
        raise Unproved("not UTF-8") from None
    flag, comma, rest = said.partition(",")
    author, again, bare = rest.partition(",")
    if not comma or not again or author:
        raise Unproved("no such identity")
    fields = _fields(bare)
    theirs = fields.get("r", "")
    if not 8 <= len(theirs) <= 256 or not all("!" <= one <= "~" for one in theirs) or "m" in fields:
        raise Unproved("no nonce")
    binding = f"{flag},,".encode()
    match mechanism, flag:
        case "SCRAM-SHA-256-PLUS", _ if flag == f"p={_END_POINT}" and end_point is not None:
            binding += end_point
        # With "y" the client says that it would have bound if we could: over TLS we can, and somebody hid it.
        case "SCRAM-SHA-256", "n":
            pass
        case "SCRAM-SHA-256", "y" if end_point is None:
            pass
        case _:
            raise Unproved("no such binding")
    nonce = theirs + secrets.token_urlsafe(18)
    told = f"r={nonce},s={base64.b64encode(salt).decode()},i={ITERATIONS}"
    return Challenge(bare, told, nonce, binding)


def _fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if len(name) != 1 or not equals or name in found:
            raise Unproved("no such field")
        found[name] = value
    return found


def _last(last: bytes) -> tuple[str, bytes, dict[str, str]]:
    """Return the client's last message without its proof, the proof, and its fields."""
    try:
        said = last.decode("ascii")
    except UnicodeDecodeError:
        raise Unproved("not ASCII") from None
    without, mark, proof = said.rpartition(",p=")
    found = _decoded(proof)
    if not mark or len(found) != 32:
        raise Unproved("no proof")
    return without, found, _fields(without)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Unproved("not base64") from None
