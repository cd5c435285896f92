"""Visits: who has signed in, for how long, and how a form proves that it was ours.

A cookie holds 256 random bits and nothing else.  The token itself is not kept: a visit remembers its mark,
and looks its holder up again at every request, so that revoking or rotating a token ends its visits at once.
A form carries a keyed hash of the cookie, which nobody can work out who does not run this process; so a page
of somebody else's cannot send one.
"""

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.service.people import People, Person, TokenMark, marked

LONGEST = 12 * 3600.0
"""After so many seconds somebody signs in again, and"""

IDLE = 3600.0
"""after so many without a request."""

MOST = 2000
"""So many visits are remembered; the oldest are forgotten first."""

OWN = 20
"""and so many of one token."""

NOTES = 200

_IDENTITY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who has signed in, as one request sees them."""

    identity: str
    person: Person
    notes: OrderedDict[tuple[str, int], Mapping[str, Any]]
    """What was asked for the answers that this visit was shown, by dataset and entry."""
    told: dict[str, Mapping[str, str]]
    """What is to be told once, on the next page of a dataset."""

    def note(self, dataset: str, number: int, asked: Mapping[str, Any]) -> None:
        """Remember what an answer was asked with."""
        self.notes[dataset, number] = asked
        while len(self.notes) > NOTES:
            self.notes.popitem(last=False)


@dataclass
class _Known:
    mark: TokenMark
    begun: float
    seen: float
    notes: OrderedDict[tuple[str, int], Mapping[str, Any]] = field(default_factory=OrderedDict)
    told: dict[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Visits:
    """All visits; they end with the process."""

    people: People
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _known: OrderedDict[bytes, _Known] = field(default_factory=OrderedDict)

    def begin(self, token: str, at: float) -> str | None:
        """Return the identity of a new visit for the holder of a token, None where it is nobody's."""
        mark = marked(token.strip())
        if self.people.bearer(mark) is None:
            return None
        identity = fresh()
        own = [place for place, known in self._known.items() if known.mark == mark]
        for place in own[: max(len(own) - OWN + 1, 0)]:
            del self._known[place]
        self._known[_place(identity)] = _Known(mark, at, at)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return identity

    def find(self, identity: str | None, at: float) -> Visit | None:
        """Return the visit of an identity, None where there is none, or none any more."""
        known = None if identity is None else self._known.get(_place(identity))
        if identity is None or known is None:
            return None
        person = self.people.bearer(known.mark)
        if person is None or at - known.begun > LONGEST or at - known.seen > IDLE:
            self.end(identity)
            return None
        known.seen = at
        return Visit(identity, person, known.notes, known.told)

    def end(self, identity: str) -> None:
        """Forget a visit."""
        self._known.pop(_place(identity), None)

    def seal(self, identity: str) -> str:
        """Return what a form of this visit carries."""
        return hmac.new(self._secret, b"form " + identity.encode(), hashlib.sha256).hexdigest()

    def ours(self, identity: str | None, given: str) -> bool:
        """Return whether a form came from a page of this visit."""
        wanted = self.seal(identity or "")
        return hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace")) and identity is not None


def fresh() -> str:
    """Return an identity that nobody has."""
    return secrets.token_hex(32)


def _place(identity: str) -> bytes:
    # Found by its hash: how long a look-up takes tells nothing about identities.
    return hashlib.sha256(identity.encode()).digest()


@dataclass(frozen=True, slots=True)
class Cookie:
    """How a visit travels: never to scripts, never from pages of others, and over TLS where there is any."""

    secure: bool

    @property
    def name(self) -> str:
        """Return the cookie's name; browsers refuse the prefix without TLS, or for a part of the site."""
        return "__Host-discreet" if self.secure else "discreet"

    def read(self, headers: Mapping[str, str]) -> str | None:
        """Return the identity that a request shows, None where there is none or more than one."""
        found = []
        for part in headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.name:
                found.append(value)
        return found[0] if len(found) == 1 and _IDENTITY.fullmatch(found[0]) else None

    def write(self, identity: str) -> str:
        """Return the header that sets the cookie, until the browser closes."""
        return f"{self.name}={identity}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self.secure else ''}"

    def gone(self) -> str:
        """Return the header that takes the cookie back."""
        return f"{self.write('')}; Max-Age=0"
