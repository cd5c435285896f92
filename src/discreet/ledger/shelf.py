"""Finding things in a ledger's tables, in the words that both databases understand.

A statement is written once, with `?` for each value; a database that marks values otherwise, or calls its
tables otherwise, says so.  Every look-up is answered by an index, and SQLite has to be told which: left to
itself it may prefer the primary key, and then reads the whole history of a dataset.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from discreet.ledger.codec import step_key
from discreet.ledger.store import COLUMNS, Checkpoint, Row, checked_row, typed

BATCH = 500
Run = Callable[[str, tuple[object, ...]], list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Shelf:
    """The entries and secrets in the tables of one database.

    `prefix` begins the names of its tables, `mark` stands for a value, and `told` says whether it wants to be
    told the index.
    """

    run: Run
    name: str
    prefix: str
    mark: str
    told: bool

    def row(self, dataset: str, number: int) -> Row | None:
        """Return one entry."""
        return _first(self._find("number = ?", dataset, number))

    def reservation(self, dataset: str, request: str) -> Row | None:
        """Return the entry that reserved this request."""
        return _first(self._find("request = ? AND kind = 'reserved'", dataset, request, index="request"))

    def answer(self, dataset: str, asked: str) -> Row | None:
        """Return the earliest answer to this question."""
        where = "asked = ? AND kind = 'answered' ORDER BY number LIMIT 1"
        return _first(self._find(where, dataset, asked, index="asked"))

    def reservations(self, dataset: str, requests: Sequence[str]) -> list[Row]:
        """Return the entries that reserved some requests."""
        where = f"request IN ({_marks(requests)}) AND kind = 'reserved'"
        return self._find(where, dataset, *requests, index="request")

    def answers(self, dataset: str, asked: Sequence[str]) -> list[Row]:
        """Return all answers to some questions, the earliest first."""
        where = f"asked IN ({_marks(asked)}) AND kind = 'answered' ORDER BY number"
        return self._find(where, dataset, *asked, index="asked")

    def outcome(self, dataset: str, reservation: int) -> Row | None:
        """Return the entry that answered or failed this reservation."""
        where = "refers = ? AND kind IN ('answered', 'failed')"
        return _first(self._find(where, dataset, reservation, index="outcome"))

    def outcomes(self, dataset: str, reservations: Sequence[int]) -> list[Row]:
        """Return the entries that answered or failed some reservations."""
        where = f"refers IN ({_marks(reservations)}) AND kind IN ('answered', 'failed')"
        return self._find(where, dataset, *reservations, index="outcome")

    def paid(self, dataset: str, first: int, last: int, words: str, most: int) -> list[Row]:
        """Return the newest reservations among the entries first .. last whose body has some words in it."""
        # By its number, backwards: an equality would offer the index of all reservations, to be sorted.
        where = (
            "number BETWEEN ? AND ? AND kind LIKE 'reserved' AND replace(body, ?, '') <> body "
            "ORDER BY number DESC LIMIT ?"
        )
        return self._find(where, dataset, first, last, words, most)

    def rows(self, dataset: str, first: int, last: int) -> Iterator[Row]:
        """Return the entries with first <= number <= last, in order, a batch at a time."""
        while first <= last:
            where = f"number BETWEEN ? AND ? ORDER BY number LIMIT {BATCH}"
            batch = self._find(where, dataset, first, last)
            yield from batch
            if len(batch) < BATCH:
                return
            first = batch[-1].number + 1

    def batch(self, dataset: str, first: int, last: int) -> list[tuple[Any, ...]]:
        """Return the columns of the entries first .. last, in order, just as they are stored."""
        where = "dataset = ? AND number BETWEEN ? AND ? ORDER BY number"
        statement = f"SELECT {COLUMNS} FROM {self.prefix}entry WHERE {where}"
        return self.run(self._marked(statement), (dataset, first, last))

    def steps(self, dataset: str, reservation: int, first: int, most: int) -> list[Row]:
        """Return at most so many entries of a stream, in order, from the one that took step `first`."""
        where = "refers = ? AND kind = 'advanced' AND asked >= ? ORDER BY asked LIMIT ?"
        return self._find(where, dataset, reservation, step_key(first), most, index="step")

    def secret(self, dataset: str, reservation: int) -> bytes | None:
        """Return the concealed state of a stream."""
        statement = f"SELECT concealed FROM {self.prefix}secret WHERE dataset = ? AND number = ?"
        found = self.run(self._marked(statement), (dataset, reservation))
        return typed(found[0][0], bytes, self.name) if found else None

    def keep_secret(self, dataset: str, reservation: int, secret: bytes) -> None:
        """Put a concealed state in the place of the one before it; only inside `writing`."""
        replaced = "ON CONFLICT (dataset, number) DO UPDATE SET concealed = excluded.concealed"
        statement = f"INSERT INTO {self.prefix}secret VALUES (?, ?, ?) {replaced}"
        self.run(self._marked(statement), (dataset, reservation, secret))

    def secrets(self, dataset: str) -> list[tuple[int, bytes]]:
        """Return the concealed states of all streams, by the number of their payment."""
        statement = f"SELECT number, concealed FROM {self.prefix}secret WHERE dataset = ? ORDER BY number"
        found = self.run(self._marked(statement), (dataset,))
        return [(typed(n, int, self.name), typed(c, bytes, self.name)) for n, c in found]

    def checkpoint(self, dataset: str) -> Checkpoint | None:
        """Return how far the last verification of a dataset came."""
        statement = f"SELECT number, state, mac FROM {self.prefix}checkpoint WHERE dataset = ?"
        found = self.run(self._marked(statement), (dataset,))
        if not found:
            return None
        number, state, mac = found[0]
        return Checkpoint(
            typed(number, int, self.name), typed(state, str, self.name), typed(mac, bytes, self.name)
        )

    def keep_checkpoint(self, dataset: str, point: Checkpoint) -> None:
        """Remember how far a verification came; only inside `writing`."""
        columns = "number = excluded.number, state = excluded.state, mac = excluded.mac"
        statement = (
            f"INSERT INTO {self.prefix}checkpoint (dataset, number, state, mac) VALUES (?, ?, ?, ?) "
            f"ON CONFLICT (dataset) DO UPDATE SET {columns}"
        )
        self.run(self._marked(statement), (dataset, point.number, point.state, point.mac))

    def former_keys(self) -> list[tuple[str, int, bytes]]:
        """Return the keys before the present one, concealed under the one after."""
        found = self.run(f"SELECT dataset, number, concealed FROM {self.prefix}former ORDER BY 1, 2 DESC", ())
        return [
            (typed(d, str, self.name), typed(n, int, self.name), typed(c, bytes, self.name))
            for d, n, c in found
        ]

    def keep_former_key(self, dataset: str, number: int, concealed: bytes) -> None:
        """Remember a key that seals no entry from `number` on; only inside `writing`."""
        statement = f"INSERT INTO {self.prefix}former (dataset, number, concealed) VALUES (?, ?, ?)"
        self.run(self._marked(statement), (dataset, number, concealed))

    def table(self, dataset: str) -> list[tuple[str, str]]:
        """Return all rows of a dataset's account, as names and values."""
        statement = f"SELECT name, value FROM {self.prefix}total WHERE dataset = ?"
        found = self.run(self._marked(statement), (dataset,))
        return [(typed(n, str, self.name), typed(v, str, self.name)) for n, v in found]

    def _find(self, where: str, dataset: str, *values: object, index: str | None = None) -> list[Row]:
        statement = _entries(self.prefix, self.mark, where, index if self.told else None)
        return [checked_row(columns, self.name) for columns in self.run(statement, (dataset, *values))]

    def _marked(self, statement: str) -> str:
        return statement.replace("?", self.mark)


@lru_cache(256)
def _entries(prefix: str, mark: str, where: str, index: str | None) -> str:
    hint = f" INDEXED BY {prefix}entry_{index}" if index is not None else ""
    statement = f"SELECT {COLUMNS} FROM {prefix}entry{hint} WHERE dataset = ? AND {where}"
    return statement.replace("?", mark)


def _marks(values: Sequence[object]) -> str:
    return ", ".join(["?"] * len(values))


def _first(found: list[Row]) -> Row | None:
    return found[0] if found else None
