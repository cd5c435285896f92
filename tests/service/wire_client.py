"""A client of the PostgreSQL protocol that says exactly what it is told to, with a SCRAM of its own."""

import base64
import hashlib
import hmac
import socket
import ssl
import struct
from typing import Any

from tests.service.world import Service

STARTUP = struct.pack("!I", 3 << 16)
TLS = struct.pack("!II", 8, 80877103)


def frame(letter: str, body: bytes = b"") -> bytes:
    return letter.encode() + struct.pack("!I", len(body) + 4) + body


def text(*parts: str) -> bytes:
    return b"".join(part.encode() + b"\0" for part in parts)


def query(sql: str) -> bytes:
    return frame("Q", text(sql))


def parse(sql: str, name: str = "", *types: int) -> bytes:
    return frame("P", text(name, sql) + struct.pack(f"!H{len(types)}I", len(types), *types))


def bind(*values: bytes | None, portal: str = "", name: str = "", form: int = 0, result: int = 0) -> bytes:
    told = [struct.pack("!i", -1) if one is None else struct.pack("!I", len(one)) + one for one in values]
    counts = struct.pack("!HHH", 1, form, len(values))
    return frame("B", text(portal, name) + counts + b"".join(told) + struct.pack("!HH", 1, result))


def describe(kind: str = "P", name: str = "") -> bytes:
    return frame("D", kind.encode() + text(name))


def execute(most: int = 0, portal: str = "") -> bytes:
    return frame("E", text(portal) + struct.pack("!I", most))


SYNC, FLUSH, GOODBYE = frame("S"), frame("H"), frame("X")


def split(said: bytes) -> list[tuple[str, bytes]]:
    """Return frames, demanding that there is nothing else."""
    found = []
    while said:
        (size,) = struct.unpack("!I", said[1:5])
        assert 4 <= size <= len(said) - 1, said[:20]
        found.append((said[:1].decode(), said[5 : 1 + size]))
        said = said[1 + size :]
    return found


def fields(body: bytes) -> dict[str, str]:
    """Return the fields of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


class Client:
    """One connection."""

    def __init__(self, service: Service, *, tls: bool = True) -> None:
        self.line: Any = socket.create_connection(("localhost", service.wire), timeout=30)
        if tls:
            self.line.sendall(TLS)
            assert self.line.recv(1) == b"S"
            self.line = service.tls().wrap_socket(self.line, server_hostname="localhost")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def send(self, *said: bytes) -> None:
        self.line.sendall(b"".join(said))

    def receive(self) -> tuple[str, bytes] | None:
        """Return the next frame, or None where the other side has closed."""
        head = self._exactly(5)
        if head is None:
            return None
        rest = self._exactly(struct.unpack("!I", head[1:])[0] - 4)
        return None if rest is None else (head[:1].decode(), rest)

    def _exactly(self, size: int) -> bytes | None:
        found = b""
        while len(found) < size:
            try:
                more = self.line.recv(size - len(found))
            except (ConnectionError, ssl.SSLEOFError):
                more = b""
            if not more:
                return None
            found += more
        return found

    def until(self, *letters: str) -> list[tuple[str, bytes]]:
        """Return frames up to one of these, or up to the end."""
        found = []
        while (one := self.receive()) is not None:
            found.append(one)
            if one[0] in letters:
                break
        return found

    def ask(self, *said: bytes) -> list[tuple[str, bytes]]:
        """Send frames and return what comes until the server is ready again."""
        self.send(*said)
        return self.until("Z")

    def start(self, user: str, database: str = "clinic", **said: str) -> None:
        words = [*("user", user, "database", database), *(part for pair in said.items() for part in pair), ""]
        body = STARTUP + text(*words)
        self.send(struct.pack("!I", len(body) + 4) + body)

    def login(self, user: str, token: str, database: str = "clinic", **said: str) -> list[tuple[str, bytes]]:
        """Prove to have a token and return all that comes after: an error, or frames up to readiness."""
        self.start(user, database, **said)
        offered = self.receive()
        assert offered is not None
        assert offered[0] == "R", offered
        first, challenge = self.challenged()
        last = proof(token, first, challenge)
        self.send(frame("p", last))
        return self.until("Z", "E")

    def challenged(self, flag: str = "n", mechanism: str = "SCRAM-SHA-256") -> tuple[str, str]:
        """Begin SCRAM and return what was said: the client's bare message and the server's challenge."""
        bare = "n=,r=" + base64.b64encode(b"a nonce of the test").decode()
        said = f"{flag},,{bare}".encode()
        self.send(frame("p", text(mechanism) + struct.pack("!I", len(said)) + said))
        answer = self.receive()
        assert answer is not None
        return bare, answer[1][4:].decode(errors="replace")


def proof(token: str, bare: str, challenge: str, binding: bytes = b"n,,", nonce: str = "") -> bytes:
    """Return the client's last message of SCRAM-SHA-256, after RFC 5802."""
    parts = dict(part.split("=", 1) for part in challenge.split(","))
    salt, rounds = base64.b64decode(parts["s"]), int(parts["i"])
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, rounds)
    key = hmac.new(salted, b"Client Key", hashlib.sha256).digest()
    without = f"c={base64.b64encode(binding).decode()},r={nonce or parts['r']}"
    signed = f"{bare},{challenge},{without}".encode()
    signature = hmac.new(hashlib.sha256(key).digest(), signed, hashlib.sha256).digest()
    hidden = (int.from_bytes(key, "big") ^ int.from_bytes(signature, "big")).to_bytes(32, "big")
    return f"{without},p={base64.b64encode(hidden).decode()}".encode()
