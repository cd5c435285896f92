"""What the ledger asks of a database: an append-only table, one row per dataset to lock, and durability.

The store is trusted for two things only: that a committed transaction stays, and that transactions on one
dataset come one after another.  Everything read from it is checked against the seals before it is used.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from discreet.errors import LedgerError

if TYPE_CHECKING:
    from discreet.ledger.shelf import Shelf

Value = TypeVar("Value")
Asked = tuple[str, str]
"""The id of a request and the fingerprint of its question."""

SCHEMA = 4
"""The version of the tables that this code reads and writes."""


@dataclass(frozen=True, slots=True)
class LedgerIdentity:
    """What a store says about itself: a random name, and the name of the key that seals it."""

    ledger: str
    key: str


class Row(NamedTuple):
    """An entry as it is stored; `request`, `asked` and `refers` repeat the body for look-up only."""

    dataset: str
    number: int
    kind: str
    request: str | None
    asked: str | None
    refers: int | None
    body: str
    previous: bytes
    mac: bytes
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class Head:
    """Where a history ends: the head's number (0: none), the entry there, and the last entry's number."""

    number: int
    row: Row | None
    last: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a verification came: an entry's number, the account there, and the seal of both."""

    number: int
    state: str
    mac: bytes


COLUMNS = ", ".join(Row._fields)

_NOTHING = type(None)
SHAPES = frozenset(
    product(
        (str,),
        (int,),
        (str,),
        (str, _NOTHING),
        (str, _NOTHING),
        (int, _NOTHING),
        (str,),
        (bytes,),
        (bytes,),
        (bytes, _NOTHING),
    )
)
"""The types that the columns of an entry can have."""


def distinct_datasets(table: str) -> str:
    """Return a query for the datasets in a table that leaps from one to the next and reads no history."""
    following = f"SELECT min(dataset) FROM {table} WHERE dataset > name"
    leap = f"SELECT min(dataset) FROM {table} UNION ALL SELECT ({following}) FROM leap WHERE name IS NOT NULL"
    found = f"WITH RECURSIVE leap (name) AS ({leap}) SELECT name FROM leap WHERE name IS NOT NULL"
    return f"SELECT name FROM ({found}) found"


class Again(Exception):  # noqa: N818
    """A transaction lost a race and is to be run again from its beginning."""


class Unwritten(LedgerError):  # noqa: N818
    """The database refused what a turn was about to write; nothing of it was written."""


class Store(Protocol):
    """A durable place for entries; every method raises LedgerError when it cannot keep its promise."""

    name: str
    location: str
    """Where another process finds the same store; it may hold a password."""
    place: str
    """What tells this store from every other, for processes of one machine that have it open."""
    prompt: bool
    """Whether a lease is had without a journey to a server."""
    shelf: "Shelf"

    def identity(self) -> LedgerIdentity | None:
        """Return who this ledger is, or None for an empty store."""

    def create(self, identity: LedgerIdentity) -> LedgerIdentity:
        """Make the tables and name the ledger, unless another was faster; only inside `writing`."""

    def migrate(self) -> None:
        """Bring the tables of an older version up to date; only inside `writing`."""

    def gate(self, dataset: str) -> AbstractContextManager[None]:
        """Keep away the other threads of this process that use a dataset, or, without a name, the store.

        A store that can be used by several threads at once keeps none away where it need not.
        """

    def writing(self, dataset: str, asked: Sequence[Asked] = ()) -> AbstractContextManager[None]:
        """Hold the dataset's account alone; commit at the end, or roll back when an error leaves.

        `asked` is what `asked` will be asked for, so that it may be looked up along with the rest.
        What was committed is seen by others at once, but nothing may rely on it before `sync` has returned.
        """

    def sync(self) -> None:
        """Make everything durable that was committed by now, by whomever."""

    def reading(self) -> AbstractContextManager[None]:
        """See everything as it stands at one moment, while others may write."""

    def head(self, dataset: str) -> Head:
        """Return where a dataset's history ends, in one look; inside `writing` it stays there."""

    def asked(self, dataset: str, request: str, asked: str) -> tuple[Row | None, Row | None]:
        """Return the entry that reserved a request, or else the earliest answer to a question."""

    def datasets(self) -> list[str]:
        """Return the names of all datasets."""

    def append(self, row: Row, changed: list[tuple[str, str | None]]) -> None:
        """Add an entry, move the head to it and change rows of the account; only inside `writing`.

        A row whose value is None is removed.
        """

    def former_state(self, dataset: str) -> str:
        """Return the account as a text, as versions before 4 kept it."""

    def name_key(self, key: str) -> None:
        """Say which key seals new entries; only inside `writing` everything."""

    def lease(self, key: str, patience: float) -> bool:
        """Become the only one who runs this, until `release` or the end of this process.

        Waits so many seconds for others and returns whether it worked; threads may call it at once.
        """

    def settle(self, key: str) -> None:
        """Let others find, with the commit, that nothing is left to be run here; only inside `writing`."""

    def release(self, key: str, *, settled: bool = False) -> None:
        """Let others run this request; if a turn has settled it, they may already."""

    def damage(self) -> str | None:
        """Return what the database finds wrong with its own files, or None."""

    def close(self) -> None:
        """Close the connection."""


def refuse_schema(found: int, name: str) -> None:
    """Raise LedgerError unless the tables are of the version that this code knows."""
    if found > SCHEMA:
        raise LedgerError(
            f"the ledger {name} has schema version {found}, written by a newer discreet; this one knows up "
            f"to version {SCHEMA}: upgrade discreet"
        )
    if found < SCHEMA:
        raise LedgerError(
            f"the ledger {name} has schema version {found} and this discreet needs version {SCHEMA}; "
            "nothing was changed: back it up, then run discreet budget --migrate or migrate_ledger()"
        )


def typed(value: object, kind: type[Value], name: str) -> Value:
    """Return a stored value, refusing one of another type: it was not written by this code."""
    if not isinstance(value, kind):
        raise LedgerError(f"the ledger {name} is damaged: a value has the wrong type")
    return value


def checked_head(found: list[tuple[object, ...]], last: object, name: str) -> Head:
    """Return where a history ends from its number and its entry's columns, refusing wrong types."""
    if not found:
        return Head(0, None, typed(last, int, name))
    number, *columns = found[0]
    row = None if columns[0] is None else checked_row(tuple(columns), name)
    return Head(typed(number, int, name), row, typed(last, int, name))


def checked_row(values: tuple[object, ...], name: str) -> Row:
    """Return a stored entry, refusing columns of the wrong type: they were not written by this code."""
    if tuple(map(type, values)) not in SHAPES:
        raise LedgerError(f"an entry of the ledger {name} is damaged: its columns have the wrong types")
    return Row._make(cast(Iterable[Any], values))
