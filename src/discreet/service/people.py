"""Who may come through the wall: names, roles, datasets, and tokens that are kept only as hashes.

A token is 256 secret bits and the public number under which its hash is found.  It is shown once, when it is
made.  Its hash is a plain SHA-256: there is nothing to guess, so there is nothing to slow down.  Beside it
stands what SCRAM needs, for clients that speak the PostgreSQL protocol.  Whoever is revoked, expired or
unknown is told the same, after the same work.
"""

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.errors import ConflictError, LedgerError, ParameterError
from discreet.service.role import PROJECT, Role
from discreet.service.wire.scram import Verifier, salt_of, verifier

DAYS = 90
"""How long a token is good for unless told otherwise."""

LONGEST_LIFE = 3660
REMEMBERED = 10_000
"""So many good tokens are recognised without reading the register."""

FILE = "discreet.people"
"""The name of the register, in the folder of the manifest."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_TOKEN = re.compile(r"dsc_([0-9a-f]{16})_([0-9a-f]{64})")
_NOBODY = hashlib.sha256(b"nobody").digest()
_GHOST = ("", Role.ANALYST.value, "", _NOBODY, "2000-01-01T00:00:00+00:00", 1)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS person (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, number TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
    expires TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE IF NOT EXISTS door (
    name TEXT PRIMARY KEY REFERENCES person(name), stored BLOB NOT NULL, server BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS reach (
    name TEXT NOT NULL REFERENCES person(name), dataset TEXT NOT NULL, PRIMARY KEY (name, dataset)
) STRICT;
CREATE TABLE IF NOT EXISTS work (
    name TEXT NOT NULL REFERENCES person(name), dataset TEXT NOT NULL, project TEXT NOT NULL,
    PRIMARY KEY (name, dataset)
) STRICT;
"""


def now() -> datetime:
    """Return the time by which tokens expire."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token: what they are, until when, and which datasets they know of."""

    name: str
    role: Role
    expires: datetime
    datasets: frozenset[str]
    revoked: bool = False
    projects: tuple[tuple[str, str], ...] = ()
    """The project they work for, by dataset, where a curator has said one."""

    def project(self, dataset: str) -> str:
        """Return the project that what they spend on a dataset counts for."""
        return dict(self.projects).get(dataset, PROJECT)

    def standing(self, at: datetime) -> str:
        """Return in one word whether the token is good."""
        return "revoked" if self.revoked else "expired" if at >= self.expires else "active"


@dataclass(frozen=True, slots=True)
class TokenMark:
    """What is kept of a token by whoever must recognise its holder again: its number and its hash."""

    number: str
    digest: bytes


def marked(token: str) -> TokenMark:
    """Return the mark of a token, or one that is nobody's where this is none."""
    match = _TOKEN.fullmatch(token)
    number, secret = match.groups() if match else ("", "")
    return TokenMark(number, _hash(secret))


@dataclass(frozen=True, slots=True)
class Doorway:
    """What the PostgreSQL protocol knows of a name before it knows who is there; nobody's looks the same."""

    salt: bytes
    verifier: Verifier | None = None
    number: str = ""


def person_name(text: str) -> str:
    """Return a name, refusing what could be taken for another one."""
    if not _NAME.fullmatch(text):
        raise ParameterError(
            "a name is up to 63 lower-case letters, digits, dots, hyphens and underscores, and begins with a "
            f"letter or digit; got {text[:63]!r}"
        )
    return text


def taken(name: str) -> ConflictError:
    """Return the refusal of a name that somebody has."""
    return ConflictError(
        f"{name} is entered already; let them ask about another dataset with `discreet analyst limit`, or "
        "make a new token with `discreet analyst rotate`"
    )


def unknown(name: str) -> ParameterError:
    """Return the refusal of a name that nobody has."""
    return ParameterError(f"nobody is entered as {name[:63]!r}; see `discreet analyst list`")


@dataclass(frozen=True, slots=True)
class People:
    """The register, a file that only its owner may read."""

    path: Path
    clock: Callable[[], datetime] = now

    def add(self, name: str, role: Role, dataset: str, *, days: int = DAYS, project: str = PROJECT) -> str:
        """Enter somebody and return their token, which cannot be had again."""
        token, number, digest = _issued()
        with self._writing() as book:
            if _row(book, person_name(name)) is not None:
                raise taken(name)
            book.execute(
                "INSERT INTO person VALUES (?, ?, ?, ?, ?, 0)",
                (name, role.value, number, digest, self._expiry(days)),
            )
            book.execute("INSERT INTO reach VALUES (?, ?)", (name, dataset))
            book.execute("INSERT INTO work VALUES (?, ?, ?)", (name, dataset, project))
            _keep(book, name, token)
        return token

    def knows(self, name: str) -> bool:
        """Return whether somebody of this name is entered."""
        if not self.path.exists():
            return False
        with self._reading() as book:
            return _row(book, name) is not None

    def allow(self, name: str, dataset: str) -> None:
        """Let somebody know of one more dataset."""
        with self._writing() as book:
            _known(book, name)
            book.execute("INSERT OR IGNORE INTO reach VALUES (?, ?)", (name, dataset))

    def assign(self, name: str, dataset: str, project: str) -> None:
        """Let what somebody spends on a dataset count for a project, by the name that the ledger has."""
        with self._writing() as book:
            _known(book, name)
            if (name, dataset) not in book.execute("SELECT name, dataset FROM reach"):
                raise unknown(name)
            book.execute("INSERT OR REPLACE INTO work VALUES (?, ?, ?)", (name, dataset, project))

    def rotate(self, name: str, *, days: int = DAYS) -> str:
        """Return a new token for somebody; the old one is worth nothing from now on."""
        token, number, digest = _issued()
        with self._writing() as book:
            _known(book, name)
            book.execute(
                "UPDATE person SET number = ?, hash = ?, expires = ?, revoked = 0 WHERE name = ?",
                (number, digest, self._expiry(days), name),
            )
            _keep(book, name, token)
        return token

    def revoke(self, name: str) -> None:
        """Make somebody's token worth nothing from now on."""
        with self._writing() as book:
            _known(book, name)
            book.execute("UPDATE person SET revoked = 1 WHERE name = ?", (name,))

    def all(self) -> tuple[Person, ...]:
        """Return everybody, by name."""
        with self._reading() as book:
            names = book.execute("SELECT name FROM person ORDER BY name").fetchall()
            return tuple(_person(book, _known(book, name)) for (name,) in names)

    def watched(self) -> "Watch":
        """Return a view of the register that remembers whom it has recognised while nobody writes there."""
        return Watch(self)

    def holder(self, token: str) -> Person | None:
        """Return whose token this is, or None if it is nobody's, revoked or expired."""
        return self.bearer(marked(token))

    def bearer(self, mark: TokenMark) -> Person | None:
        """Return whose token left this mark, or None if it is nobody's by now, revoked or expired."""
        with self._reading() as book:
            row = book.execute(
                "SELECT name, role, number, hash, expires, revoked FROM person WHERE number = ?",
                (mark.number,),
            ).fetchone()
            # Compared also where there is nothing to compare with: a wrong secret takes as long as no person.
            same = hmac.compare_digest(_NOBODY if row is None else row[3], mark.digest)
            if row is None or not same:
                return None
            person = _person(book, row)
        return person if person.standing(self.clock()) == "active" else None

    def door(self, name: str) -> Doorway:
        """Return how somebody of this name would prove to have their token; nobody's looks the same."""
        with self._reading() as book:
            if book.execute("SELECT 1 FROM sqlite_master WHERE name = 'door'").fetchone() is None:
                return Doorway(salt_of(_NOBODY, name))
            (secret,) = book.execute("SELECT value FROM secret").fetchone() or (_NOBODY,)
            found, salt = _row(book, name), salt_of(secret, name)
            kept = book.execute("SELECT stored, server FROM door WHERE name = ?", (name,)).fetchone()
            # Nobody is looked up like somebody: how long it takes does not tell who is known.
            row = _GHOST if found is None else found
            if _person(book, row).standing(self.clock()) != "active" or kept is None:
                return Doorway(salt)
            return Doorway(salt, Verifier(*kept), row[2])

    def current(self, name: str, number: str) -> Person | None:
        """Return who came in with the token of this number, unless it is worth nothing any more."""
        with self._reading() as book:
            row = _row(book, name)
            if row is None or not number or row[2] != number:
                return None
            person = _person(book, row)
        return person if person.standing(self.clock()) == "active" else None

    def _expiry(self, days: int) -> str:
        if not 1 <= days <= LONGEST_LIFE:
            raise ParameterError(f"a token is good for 1 to {LONGEST_LIFE} days, got {days}")
        return (self.clock() + timedelta(days=days)).isoformat()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        # Made with its mode, not changed afterwards: nobody else reads it in between.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        with closing(sqlite3.connect(self.path, isolation_level=None)) as book:
            book.executescript(_SCHEMA)
            book.execute("BEGIN IMMEDIATE")
            yield book
            book.execute("COMMIT")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not self.path.exists():
            raise LedgerError(
                f"there is no register of people at {self.path}; enter somebody with `discreet analyst add`"
            )
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)) as book:
            yield book


class Watch:
    """Recognises the same tokens again without reading the register anew, unless somebody has written there.

    The database itself says so, for every request: what was revoked or replaced is worth nothing at once.
    Only tokens that were good are remembered, by their hashes, so guessing fills nothing.
    """

    def __init__(self, people: People) -> None:
        self._people = people
        self._book: sqlite3.Connection | None = None
        self._version: tuple[int, int, int] | None = None
        self._known: dict[TokenMark | tuple[str, str], Person] = {}

    def holder(self, token: str) -> Person | None:
        """Return whose token this is, or None if it is nobody's, revoked or expired."""
        mark = marked(token)
        return self._recognised(mark, lambda: self._people.bearer(mark))

    def current(self, name: str, number: str) -> Person | None:
        """Return who came in with the token of this number, unless it is worth nothing any more."""
        return self._recognised((name, number), lambda: self._people.current(name, number))

    def _recognised(
        self, sign: TokenMark | tuple[str, str], look: Callable[[], Person | None]
    ) -> Person | None:
        if self._changed():
            self._known.clear()
        known = self._known.get(sign)
        if known is not None:
            return known if known.standing(self._people.clock()) == "active" else None
        found = look()
        if found is not None and len(self._known) < REMEMBERED:
            self._known[sign] = found
        return found

    def _changed(self) -> bool:
        """Return whether the register is another one, or was written to, since the last look."""
        try:
            place = os.stat(self._people.path)
            file = place.st_dev, place.st_ino
            if self._book is None or self._version is None or self._version[:2] != file:
                self.close()
                address = f"{self._people.path.resolve().as_uri()}?mode=ro"
                self._book = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
                self._version = None
            (version,) = self._book.execute("PRAGMA data_version").fetchone()
        except (OSError, sqlite3.Error):
            self.close()
            return True
        before, self._version = self._version, (*file, int(version))
        return before != self._version

    def close(self) -> None:
        """Close the register; the next look opens it again."""
        if self._book is not None:
            self._book.close()
        self._book = self._version = None


def _issued() -> tuple[str, str, bytes]:
    """Return a fresh token, the number it is found by, and what is kept of it."""
    number, secret = secrets.token_hex(8), secrets.token_hex(32)
    return f"dsc_{number}_{secret}", number, _hash(secret)


def _keep(book: sqlite3.Connection, name: str, token: str) -> None:
    """Keep what the PostgreSQL protocol needs of a token; the salt of a name is secret and never changes."""
    book.execute("INSERT OR IGNORE INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
    (secret,) = book.execute("SELECT value FROM secret").fetchone()
    kept = verifier(token, salt_of(secret, name))
    book.execute("INSERT OR REPLACE INTO door VALUES (?, ?, ?)", (name, kept.stored, kept.server))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _row(book: sqlite3.Connection, name: str) -> tuple[str, str, str, bytes, str, int] | None:
    found: tuple[str, str, str, bytes, str, int] | None = book.execute(
        "SELECT name, role, number, hash, expires, revoked FROM person WHERE name = ?", (name,)
    ).fetchone()
    return found


def _known(book: sqlite3.Connection, name: str) -> tuple[str, str, str, bytes, str, int]:
    row = _row(book, name)
    if row is None:
        raise unknown(name)
    return row


def _person(book: sqlite3.Connection, row: tuple[str, str, str, bytes, str, int]) -> Person:
    name, role, _, _, expires, revoked = row
    reach = book.execute("SELECT dataset FROM reach WHERE name = ?", (name,)).fetchall()
    datasets = frozenset(dataset for (dataset,) in reach)
    projects: tuple[tuple[str, str], ...] = ()
    # A register of an older version has no projects until somebody is entered or changed.
    if book.execute("SELECT 1 FROM sqlite_master WHERE name = 'work'").fetchone() is not None:
        found = book.execute("SELECT dataset, project FROM work WHERE name = ? ORDER BY dataset", (name,))
        projects = tuple(found.fetchall())
    return Person(name, Role(role), datetime.fromisoformat(expires), datasets, bool(revoked), projects)
