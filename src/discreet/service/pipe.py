"""Messages between the process at the network and the workers: a JSON head and a body of plain bytes.

Nothing that is read here can run: there is no pickle.  A message is two lengths of four bytes, the head, the
body.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, Protocol

LONGEST = 2**28
"""No head or body is longer, so a length that was garbled cannot ask for all memory."""

LENGTHS = struct.Struct("!II")


class Readable(Protocol):
    """Where bytes come from, all that were asked for or fewer at the end."""

    def read(self, size: int, /) -> bytes | None:
        """Return the next bytes."""
        ...


def write(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(head).encode()
    return LENGTHS.pack(len(text), len(body)) + text + body


def lengths(start: bytes) -> tuple[int, int]:
    """Return the lengths of head and body, or raise EOFError where this is no beginning of a message."""
    if len(start) != LENGTHS.size:
        raise EOFError("the other process is gone")
    head, body = LENGTHS.unpack(start)
    if max(head, body) > LONGEST:
        raise EOFError("the other process sends nonsense")
    return head, body


def read(source: Readable) -> tuple[dict[str, Any], bytes]:
    """Return the next message; raise EOFError where there is none."""
    head, body = lengths(source.read(LENGTHS.size) or b"")
    parts = source.read(head) or b"", (source.read(body) or b"") if body else b""
    if (len(parts[0]), len(parts[1])) != (head, body):
        raise EOFError("the other process is gone")
    return head_of(parts[0]), parts[1]


def head_of(text: bytes) -> dict[str, Any]:
    """Return the head of a message, or raise EOFError where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise EOFError("the other process sends nonsense")
    return found
