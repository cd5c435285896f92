"""Messages of the PostgreSQL protocol, version 3: bytes that came become values, values become bytes.

A frame is one letter, a length of four bytes that counts itself, and a body; the first one of a connection
has no letter.  Whatever is not exactly of its form is refused as a `Garbled`, never guessed at.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

VERSION = 3 << 16
TLS_WANTED = 80877103
GSS_WANTED = 80877104
CANCEL_WANTED = 80877102

FIRST_LIMIT = 10_000
"""No first message is longer, whoever sends it."""

LOGIN_LIMIT = 2_048
"""No message is longer before somebody has shown who they are."""


class Garbled(Exception):  # noqa: N818
    """What came is no message of the protocol."""


@dataclass(frozen=True, slots=True)
class Startup:
    """Somebody wants to talk: the version they speak, and what they say about themselves."""

    version: int
    said: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WantsTls:
    """Somebody asks for TLS, or, with `gss`, for an encryption that there is not."""

    gss: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants the question of another connection to be given up."""

    number: int
    secret: int


First: TypeAlias = Startup | WantsTls | Cancel


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """Statements in one text."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """A statement under a name, with the types of its parameters as far as they are given."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Values for a statement's parameters, under the name of a portal, and how rows shall be written."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """Somebody wants to know what a statement or a portal will return."""

    portal: bool
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Return the rows of a portal, at most so many; 0 for all."""

    portal: str
    most: int


@dataclass(frozen=True, slots=True)
class Close:
    """A statement or a portal is needed no more."""

    portal: bool
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """The end of a series of messages."""


@dataclass(frozen=True, slots=True)
class Flush:
    """Send what there is."""


@dataclass(frozen=True, slots=True)
class SecretStep:
    """A step of authentication."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Terminate:
    """Goodbye."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A message of the protocol that means nothing here, such as one of COPY or a function call."""

    letter: str


Message: TypeAlias = (
    PlainQuery | Parse | Bind | Describe | Execute | Close | Sync | Flush | SecretStep | Terminate | Foreign
)


@dataclass(slots=True)
class _Body:
    """A body being read, up to a place: nothing is copied but what is found."""

    body: bytes
    place: int = 0

    @property
    def rest(self) -> bytes:
        return self.body[self.place :]

    def text(self) -> str:
        end = self.body.find(b"\0", self.place)
        if end < 0:
            raise Garbled("a text does not end")
        try:
            found = self.body[self.place : end].decode()
        except UnicodeDecodeError:
            raise Garbled("a text is not UTF-8") from None
        self.place = end + 1
        return found

    def number(self, form: str) -> int:
        size = struct.calcsize(form)
        found: int = struct.unpack(form, self.piece(size))[0]
        return found

    def piece(self, size: int) -> bytes:
        begin, self.place = self.place, self.place + size
        if size < 0 or self.place > len(self.body):
            raise Garbled("a length leads beyond the message")
        return self.body[begin : self.place]

    def numbers(self, form: str) -> tuple[int, ...]:
        return tuple(self.number(form) for _ in range(self.number("!H")))

    def value(self) -> bytes | None:
        size = self.number("!i")
        return None if size == -1 else self.piece(size)

    def end(self) -> None:
        if self.place < len(self.body):
            raise Garbled("a message is longer than what it says")


def first(body: bytes) -> First:
    """Return the first message of a connection, given without its length."""
    read = _Body(body)
    match read.number("!I"):
        case code if code in (TLS_WANTED, GSS_WANTED):
            read.end()
            return WantsTls(gss=code == GSS_WANTED)
        case code if code == CANCEL_WANTED:
            found = Cancel(read.number("!I"), read.number("!I"))
            read.end()
            return found
        case version:
            said: dict[str, str] = {}
            while name := read.text():
                said[name] = read.text()
            read.end()
            return Startup(version, said)


def message(letter: bytes, body: bytes) -> Message:
    """Return a later message, given without its length."""
    read = _Body(body)
    found = _message(letter, read)
    if not isinstance(found, SecretStep | Foreign):
        read.end()
    return found


def _message(letter: bytes, read: _Body) -> Message:
    match letter:
        case b"Q":
            return PlainQuery(read.text())
        case b"P":
            return Parse(read.text(), read.text(), read.numbers("!I"))
        case b"B":
            portal, statement, formats = read.text(), read.text(), read.numbers("!H")
            values = tuple(read.value() for _ in range(read.number("!H")))
            return Bind(portal, statement, formats, values, read.numbers("!H"))
        case b"D":
            return Describe(_portal(read.piece(1)), read.text())
        case b"E":
            return Execute(read.text(), read.number("!I"))
        case b"C":
            return Close(_portal(read.piece(1)), read.text())
        case b"S":
            return Sync()
        case b"H":
            return Flush()
        case b"p":
            return SecretStep(read.rest)
        case b"X":
            return Terminate()
        case b"d" | b"c" | b"f" | b"F":
            return Foreign(letter.decode())
        case _:
            raise Garbled("a message of no known kind")


def _portal(which: bytes) -> bool:
    if which not in (b"S", b"P"):
        raise Garbled("neither a statement nor a portal")
    return which == b"P"


def frame(letter: str, body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    return letter.encode() + struct.pack("!I", len(body) + 4) + body


def text(said: str) -> bytes:
    """Return a text as it stands in messages; a zero byte, which would end it, is left out."""
    return said.replace("\0", "").encode("utf-8", "replace") + b"\0"


def authentication(step: int, body: bytes = b"") -> bytes:
    """Return a step of authentication."""
    return frame("R", struct.pack("!I", step) + body)


def parameter(name: str, value: str) -> bytes:
    """Return what the server says about itself."""
    return frame("S", text(name) + text(value))


def cancel_key(number: int, secret: int) -> bytes:
    """Return what somebody needs to have a question given up."""
    return frame("K", struct.pack("!II", number, secret))


def negotiate(unknown: Sequence[str]) -> bytes:
    """Return that the server speaks version 3.0, and which of the client's options it does not know."""
    return frame("v", struct.pack("!II", 0, len(unknown)) + b"".join(map(text, unknown)))


def ready(state: str) -> bytes:
    """Return that the next question may come: idle (I), in a transaction (T) or in a failed one (E)."""
    return frame("Z", state.encode())


def description(columns: Iterable[tuple[str, int, int, int]]) -> bytes:
    """Return the names of columns, the numbers and sizes of their types, and how values are written."""
    told = [
        text(name) + struct.pack("!IHIhih", 0, 0, kind, size, -1, form) for name, kind, size, form in columns
    ]
    return frame("T", struct.pack("!H", len(told)) + b"".join(told))


def parameters(types: Sequence[int]) -> bytes:
    """Return the types of a statement's parameters."""
    return frame("t", struct.pack(f"!H{len(types)}I", len(types), *types))


def row(cells: Sequence[bytes | None]) -> bytes:
    """Return one row."""
    told = [b"\xff\xff\xff\xff" if cell is None else struct.pack("!I", len(cell)) + cell for cell in cells]
    return frame("D", struct.pack("!H", len(told)) + b"".join(told))


def complete(tag: str) -> bytes:
    """Return that a statement is done."""
    return frame("C", text(tag))


def notice(fields: Mapping[str, str], *, error: bool = False) -> bytes:
    """Return a notice or an error, by the letters of its fields."""
    told = b"".join(letter.encode() + text(value) for letter, value in fields.items())
    return frame("E" if error else "N", told + b"\0")


PARSED, BOUND, CLOSED, NO_DATA, EMPTY, SUSPENDED = (frame(letter) for letter in "123nIs")
