"""The beginning of a connection: TLS, who somebody is, and which dataset they want to ask about.

Whoever is unknown, expired or revoked, or has a wrong token, is told the same after the same exchange;
whether a dataset exists is said to those alone who may ask about it.
"""

import struct
from collections.abc import Awaitable, Callable, Set
from dataclasses import dataclass
from typing import Protocol

from discreet.service.people import People, Person
from discreet.service.wire import frame, scram, setting
from discreet.service.wire.fault import PROTOCOL, Fault
from discreet.service.wire.frame import Cancel, Garbled, SecretStep, Startup, WantsTls

TRIES = 4
"""A connection may ask for encryption so often before it says who it is."""

_HEAD = struct.Struct("!cI")


class Wire(Protocol):
    """Where bytes come from and go to."""

    async def exactly(self, size: int) -> bytes:
        """Return the next bytes, or raise EOFError where there are no more."""
        ...

    def write(self, said: bytes) -> None:
        """Send bytes, soon."""
        ...

    async def flush(self) -> None:
        """Wait until what was sent is on its way."""
        ...

    async def secure(self) -> None:
        """Say that TLS may begin, and go on in it."""
        ...


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody who has shown who they are: their token's number, and the dataset they ask about."""

    person: Person
    number: str
    dataset: str
    settings: setting.SessionSettings


@dataclass(frozen=True, slots=True)
class Entrance:
    """What a login needs to know: who is known, what is served, and whether anything goes without TLS."""

    people: People
    datasets: Callable[[], Set[str]]
    encrypted: bool
    """Whether TLS can be had, and so must be used."""
    end_point: bytes | None = None
    """The hash of the certificate, to which proofs are bound."""


async def receive(line: Wire, limit: int) -> frame.Message:
    """Return the next message, refusing what is longer than the limit before it is read."""
    letter, size = _HEAD.unpack(await line.exactly(_HEAD.size))
    if not 4 <= size <= limit + 4:
        raise Garbled("a message is too long")
    return frame.message(letter, await line.exactly(size - 4))


async def enter(line: Wire, entrance: Entrance, cancel: Callable[[Cancel], Awaitable[None]]) -> Guest | None:
    """Return who has come in; None where somebody only wanted to cancel.  Refusals are raised as Fault."""
    secure = False
    for _ in range(TRIES):
        match await _first(line):
            case WantsTls(gss):
                if gss or secure or not entrance.encrypted:
                    line.write(b"N")
                    await line.flush()
                    continue
                await line.secure()
                secure = True
            case Cancel() as wanted:
                await cancel(wanted)
                return None
            case Startup() as startup:
                if entrance.encrypted and not secure:
                    raise Fault(
                        "28000", "this service is reached through TLS only", "connect with sslmode=require"
                    )
                return await _admit(line, entrance, startup, secure=secure)
    raise Garbled("nothing but wishes for encryption")


async def _first(line: Wire) -> frame.First:
    (size,) = struct.unpack("!I", await line.exactly(4))
    if not 8 <= size <= frame.FIRST_LIMIT:
        raise Garbled("a first message is too long")
    return frame.first(await line.exactly(size - 4))


async def _admit(line: Wire, entrance: Entrance, startup: Startup, *, secure: bool) -> Guest:
    if startup.version >> 16 != 3:
        raise Fault(
            "0A000",
            "only version 3 of the protocol is spoken here",
            "use a client of PostgreSQL 7.4 or later",
        )
    name = startup.said.get("user", "")
    person, number = await _prove(line, entrance, name, secure=secure)
    first, unheard = setting.startup(startup.said)
    if startup.version != frame.VERSION or unheard:
        line.write(frame.negotiate(unheard))
    return Guest(person, number, _chosen(startup, person, entrance), setting.SessionSettings(first))


async def _prove(line: Wire, entrance: Entrance, name: str, *, secure: bool) -> tuple[Person, str]:
    """Return who has proved to have the token of this name."""
    end_point = entrance.end_point if secure else None
    offered = ([scram.BOUND] if end_point is not None else []) + [scram.PLAIN]
    line.write(frame.authentication(10, b"".join(map(frame.text, offered)) + b"\0"))
    await line.flush()
    known = entrance.people.door(name)
    try:
        mechanism, said = _initial(await _secret(line))
        if mechanism not in offered:
            raise scram.Unproved("no such mechanism")
        asked = scram.challenge(mechanism, said, known.salt, end_point)
        line.write(frame.authentication(11, asked.first))
        await line.flush()
        proof = asked.prove(await _secret(line), known.verifier)
    except scram.Unproved:
        raise refused(name) from None
    person = entrance.people.current(name, known.number)
    if person is None:
        raise refused(name)
    line.write(frame.authentication(12, proof) + frame.authentication(0))
    return person, known.number


def refused(name: str) -> Fault:
    """Return what everybody is told who has not shown that they may come in."""
    return Fault(
        "28P01",
        f"password authentication failed for user {name[:63]!r}",
        "the user is your name in the register, the password your token",
    )


async def _secret(line: Wire) -> bytes:
    found = await receive(line, frame.LOGIN_LIMIT)
    if not isinstance(found, SecretStep):
        raise Garbled("no step of authentication")
    return found.body


def _initial(body: bytes) -> tuple[str, bytes]:
    """Return the mechanism that a client chose, and its first message."""
    mechanism, zero, rest = body.partition(b"\0")
    if not zero or len(rest) < 4 or struct.unpack("!i", rest[:4])[0] != len(rest) - 4:
        raise scram.Unproved("no first message")
    return mechanism.decode("ascii", "replace"), rest[4:]


def _chosen(startup: Startup, person: Person, entrance: Entrance) -> str:
    """Return the dataset that is asked for as a database; whoever has one alone need not name it."""
    known = sorted(person.datasets & entrance.datasets())
    wanted = startup.said.get("database") or person.name
    if wanted in known:
        return wanted
    if wanted == person.name and len(known) == 1:
        return known[0]
    told = ", ".join(known) or "none"
    raise Fault("3D000", f"there is no database {wanted[:63]!r} for you", f"known to you: {told}")


def garbled() -> Fault:
    """Return what somebody is told who does not keep to the protocol."""
    return Fault(PROTOCOL, "this is no message of the PostgreSQL protocol, or one that is too long")
