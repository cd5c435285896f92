"""A call between two processes of one user on one machine that both hold a ledger's key.

Whoever listens does so under a name in Linux's abstract name space that only holders of the key can tell
beforehand; it leaves no file behind, and the system frees it however a process ends.  The system says who is
at the other end: somebody else's process is refused.  Both ends bring something random, from which, with the
ledger's key, the key of this call is made; every message is sealed under it with its direction and its
number.  So without the ledger's key nobody can ask for anything, answer, or repeat what was said.

A message is JSON and some bytes.  Where there are no such names, nobody listens, and nobody is called.
"""

import hmac
import json
import os
import secrets
import socket
import struct
import sys
import weakref
from contextlib import suppress
from typing import Any

from discreet.ledger.chain import framed, mac_of
from discreet.ledger.codec import canonical

LONGEST = 2**20
"""A message with more bytes than this is not sent."""

NONCE, MAC = 32, 32
SIZES = struct.Struct("!II")
WHO = struct.Struct("3i")
BACKLOG = 128

Message = tuple[Any, bytes]
_open: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


class PrivateCall:
    """One end of a call; one question is asked in it at a time."""

    def __init__(self, end: socket.socket, key: bytes, *, calling: bool) -> None:
        """Agree on a key, as the one who called or the one who listened, or raise OSError."""
        self._end = end
        self.number = end.fileno()
        self._said = self._heard = 0
        self._come = b""
        self._mine, self._theirs = (b"calls", b"hears") if calling else (b"hears", b"calls")
        own = secrets.token_bytes(NONCE)
        end.sendall(own)
        other = b""
        while len(other) < NONCE:  # the caller's first message may follow at once
            other += _some(end, NONCE - len(other))
        both = (own, other) if calling else (other, own)
        self._key = mac_of(key, framed(b"discreet call", *both))

    def say(self, said: object, payload: bytes = b"") -> None:
        """Send a message, or raise OSError."""
        text = canonical(said).encode()
        if len(text) + len(payload) > LONGEST:
            raise OSError("the message is too long")
        body = SIZES.pack(len(text), len(payload)) + text + payload
        self._end.sendall(body + self._seal(self._mine, self._said, body))
        self._said += 1

    def hear(self) -> Message:
        """Return the next message, or raise OSError if none comes or it is not the other end's."""
        while (message := self.gather()) is None:
            pass
        return message

    def gather(self) -> Message | None:
        """Take in more of the next message, and return it once it is whole; raise OSError as `hear` does.

        Since only one end speaks at a time, whatever comes belongs to one message.
        """
        self._come += _some(self._end, 2**16)
        data = self._come
        if len(data) < SIZES.size:
            return None
        size, more = SIZES.unpack_from(data)
        if size + more > LONGEST:
            raise OSError("the message is too long")
        end = SIZES.size + size + more
        if len(data) < end + MAC:
            return None
        body, self._come = data[:end], b""
        if len(data) != end + MAC or not hmac.compare_digest(
            data[end:], self._seal(self._theirs, self._heard, body)
        ):
            raise OSError("the message is not sealed by whoever holds the key")
        self._heard += 1
        return json.loads(body[SIZES.size : SIZES.size + size]), body[SIZES.size + size :]

    def quiet(self) -> bool:
        """Return whether the other end is there and waits."""
        try:
            self._end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def wait(self, patience: float) -> None:
        """From now on wait so many seconds for the other end, and then raise OSError."""
        self._end.settimeout(patience)

    def fall_silent(self) -> None:
        """End the call for both ends; whoever listens at this one hears that, and hangs up."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        """Close this end."""
        hang_up(self._end)

    def _seal(self, whose: bytes, number: int, body: bytes) -> bytes:
        return mac_of(self._key, framed(whose, b"%d" % number, body))


def _some(end: socket.socket, most: int) -> bytes:
    piece = end.recv(most)
    if not piece:
        raise OSError("the other end is gone")
    return piece


def listen(name: bytes) -> socket.socket | None:
    """Return what hears those who call this name, None where somebody else listens or nobody can."""
    if sys.platform != "linux":
        return None
    end = socket.socket(socket.AF_UNIX)
    try:
        end.bind(b"\0" + name)
        end.listen(BACKLOG)
    except OSError:
        end.close()
        return None
    _open.add(end)
    return end


def picked_up(listening: socket.socket) -> socket.socket | None:
    """Return the next call of a process of this user, None for another's; raise OSError at the end."""
    end, _ = listening.accept()
    return _own(end)


def dialled(name: bytes, patience: float) -> socket.socket | None:
    """Return the line to another process of this user that listens, None where there is none."""
    if sys.platform != "linux":
        return None
    end = socket.socket(socket.AF_UNIX)
    end.settimeout(patience)
    try:
        end.connect(b"\0" + name)
    except OSError:
        end.close()
        return None
    return _own(end)


def hang_up(end: socket.socket) -> None:
    """End a line, or listening, also for whichever thread waits there."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _own(end: socket.socket) -> socket.socket | None:
    """Return a line if another process of this user is at its other end; itself it need not call."""
    process, user, _ = WHO.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, WHO.size))
    if user != os.geteuid() or process == os.getpid():
        end.close()
        return None
    _open.add(end)
    return end


def _forget() -> None:
    """In a forked child: its parent's lines stay its parent's."""
    for end in tuple(_open):
        end.close()
    _open.clear()


os.register_at_fork(after_in_child=_forget)
